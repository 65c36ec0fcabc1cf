"""Sessions of engines, and DuckDB's: it touches the files it is given, nothing else; its words reach nobody.

What does not fit into its memory it spills into a private folder, which nobody else may enter. Encrypting
that would take an extension, and none is loaded.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.resources import Resources
from incrowd.errors import InputError, TableError, option
from incrowd.system import NOWHERE

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SPILL = "spill"
BYTES_A_JOINED = 160  # of a row of a few numbers in a join, with room for all else that is held meanwhile
Arrays = Mapping[str, NDArray[Any]]


class Session(Protocol):
    """What an engine asks of a database, in DuckDB's SQL. Rows that it saves are Parquet."""

    @property
    def joined_at_once(self) -> int:
        """How many rows of a few numbers one side of a join may have."""
        ...

    def run(self, sql: str, *parameters: object) -> None: ...

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]: ...

    def number(self, sql: str) -> int: ...

    def arrays(self, sql: str) -> dict[str, NDArray[Any]]: ...

    def load(self, name: str, columns: Arrays, types: Mapping[str, str] | None = None) -> None: ...

    def append(self, name: str, columns: Arrays, types: Mapping[str, str] | None = None) -> None: ...

    def save(self, query: str, path: Path, by: str = "") -> None: ...


class DuckSession:
    """SQL in, rows or arrays out; errors never quote a cell."""

    def __init__(self, connection: DuckDBPyConnection, memory: int) -> None:
        self._connection = connection
        self.memory = memory  # bytes that it may use

    @property
    def joined_at_once(self) -> int:
        return self.memory // BYTES_A_JOINED

    def run(self, sql: str, *parameters: object) -> None:
        with _in_our_words():
            self._connection.execute(sql, list(parameters))

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        with _in_our_words():
            return self._connection.execute(sql, list(parameters)).fetchall()

    def number(self, sql: str) -> int:
        """The one number that a query gives; 0 for NULL."""
        return int(self.rows(sql)[0][0] or 0)

    def arrays(self, sql: str) -> dict[str, NDArray[Any]]:
        """Columns by name; NULL in a column of texts is None."""
        with _in_our_words():
            found = self._connection.execute(sql).fetchnumpy()
        return {name: _plain(array) for name, array in found.items()}

    def load(self, name: str, columns: Arrays, types: Mapping[str, str] | None = None) -> None:
        """Make a table of arrays."""
        self._insert(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT", columns, types or {})

    def append(self, name: str, columns: Arrays, types: Mapping[str, str] | None = None) -> None:
        """Add rows to a table."""
        self._insert(f"INSERT INTO {name} SELECT", columns, types or {})

    def save(self, query: str, path: Path, by: str = "", compression: str = "") -> None:
        """Write the rows of a query: one Parquet file or, `by` a column, a folder of each value."""
        how = ["FORMAT parquet"]
        how += [f"COMPRESSION {compression}"] if compression else []
        how += [f"PARTITION_BY ({by})", "COMPRESSION lz4"] if by else []
        self.run(f"COPY ({query}) TO {quoted_text(str(path))} ({', '.join(how)})")

    def _insert(self, statement: str, columns: Arrays, types: Mapping[str, str]) -> None:
        cells = ", ".join(
            f"CAST({column} AS {types[column]}) AS {column}" if column in types else column
            for column in columns
        )
        with _in_our_words():
            self._connection.register("given_", dict(columns))
            try:
                self._connection.execute(f"{statement} {cells} FROM given_")
            finally:
                self._connection.unregister("given_")


def _plain(array: Any) -> NDArray[Any]:
    """Masked arrays of texts as objects, of numbers as they are: no query here gives NULL for a number."""
    if not isinstance(array, np.ma.MaskedArray):
        return np.asarray(array)
    if array.dtype == object:
        texts = array.data.copy()
        texts[np.ma.getmaskarray(array)] = None
        return np.asarray(texts)
    return np.asarray(array.data)


@contextmanager
def duck_session(
    folder: Path,
    resources: Resources,
    files: Sequence[Path] = (),
    folders: Sequence[Path] = (),
    attached: Path | None = None,
) -> Iterator[DuckSession]:
    """A session that may touch these files, these folders and its own private one, or read a database."""
    import duckdb

    spill = folder / SPILL
    spill.mkdir(mode=0o700, exist_ok=True)
    settings: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "extension_directory": NOWHERE,
        "secret_directory": NOWHERE,
        "temp_directory": str(spill),
        "enable_external_file_cache": "false",  # what is read once need not stay in memory
        "preserve_insertion_order": "true",
        "memory_limit": f"{resources.for_database // 2**20}MiB",
        "threads": resources.threads,
    }
    with duckdb.connect(config=settings) as connection:
        session = DuckSession(connection, resources.for_database)
        session.run("SET allowed_paths = ?", [str(path.absolute()) for path in files])
        session.run("SET allowed_directories = ?", [f"{path.absolute()}/" for path in (folder, *folders)])
        if attached is not None:
            session.run(f"ATTACH {quoted_text(str(attached.absolute()))} AS source (READ_ONLY)")
        session.run("SET enable_external_access = false")
        session.run("SET lock_configuration = true")
        yield session


@contextmanager
def _in_our_words() -> Iterator[None]:
    """DuckDB's own words may quote data; ours are raised where no exception that holds them is around."""
    import duckdb

    said: InputError | None = None
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.OutOfMemoryException as problem:
        room = "temp_directory" in str(problem) or "disk" in str(problem).lower()
        what = "make room on the disk of the release, or " if room else ""
        said = InputError(f"DuckDB needs more than it may use: {what}raise {option('memory')}")
    except duckdb.IOException as problem:
        full = "No space left" in str(problem) or "disk" in str(problem).lower()
        said = InputError(
            "the disk of the release is full; make room, or write to another one"
            if full
            else "DuckDB cannot read the table or write beside the release"
        )
    except duckdb.Error as problem:
        said = TableError(f"DuckDB stopped at a step of the engine ({type(problem).__name__})")
    if said is not None:
        raise said


def quoted(name: str) -> str:
    """A name of a column where a statement must carry it."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """A text where a statement must carry it."""
    return "'" + text.replace("'", "''") + "'"


def parquet_sql(path: Path) -> str:
    """Parquet files, one or all that a pattern means, where a statement reads them."""
    return f"read_parquet({quoted_text(str(path))}, hive_partitioning = false)"


def remove(path: Path) -> None:
    """Remove what a session saved, a file or a folder of files."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
