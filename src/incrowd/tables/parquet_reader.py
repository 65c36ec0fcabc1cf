"""Read Parquet in a child process that may die.

A crafted Parquet file can crash its reader or make it allocate without end. So a child with limits on
memory and time opens it, allowed to touch that one file only, and sends every value as text in CSV, which
our own reader takes apart as strictly as any file. Inside, columns are called c0, c1, …: no name of the
table becomes part of a statement. The child's own words never reach the user, since they may quote data.

`connection` is the only door to DuckDB: it may open the paths it is given and nothing else, loads no
extension, keeps everything in memory, and cannot be unlocked. So a run that is killed leaves nothing of the
table in a folder for temporary files.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, BinaryIO

import numpy as np

from incrowd.errors import TableError
from incrowd.flow import Table, TextColumn
from incrowd.tables.checked_files import (
    check_shape,
    check_texts,
    check_width,
    chosen,
    too_large,
)
from incrowd.tables.csv_reader import blocks_of, read_rows
from incrowd.tables.texts import column_of, float_text, moment_texts

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NULL = "-"  # a NULL as the child writes it; any other cell is its text after one sign
_SECONDS, _SECONDS_PER_MIB = 300, 10  # of processor time that a file may take to read
_SPARE = 4 * 1024**3  # address space of the child beyond what DuckDB may use

_PARENT_DEATH_SIGNAL = 1
_NOWHERE = "/proc"  # a folder in which nobody can make a file

_LIST = "VARCHAR[]"
_MEMBER = r"\*|\\?missing|(\\[\\|{}\[\]*]|[^\\|{}\[\]*])*"  # of a cell: what would end it is escaped
_FLOATS = {"FLOAT": np.float32, "DOUBLE": np.float64}
_MOMENTS = ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
_PLAIN = (
    *("VARCHAR", "JSON", "UUID", "BOOLEAN", "TIME", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
)


def read_parquet(file: BinaryIO, source: str, columns: Sequence[str] | None, lists: bool = False) -> Table:
    """Read a Parquet file as texts. Lists of texts only if asked for: their members as a cell has them."""
    if file.read(4) != b"PAR1":
        raise TableError(f"{source} is not a Parquet file")
    with _child(file.fileno()) as child:
        try:
            table = _received(child, source, columns, lists)
        finally:
            child.kill()
    if table is None:
        raise TableError(f"{source} is damaged, or cannot be read with the memory and time allowed")
    return table


def _child(descriptor: int) -> subprocess.Popen[bytes]:
    return start_child(__name__, descriptor)


def start_child(module: str, descriptor: int, *words: str) -> subprocess.Popen[bytes]:
    """Start a reader of an open file; it can write neither into its folder nor for temporary use."""
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    return subprocess.Popen(  # noqa: S603 -- our own module
        [sys.executable, "-P", "-m", module, str(descriptor), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=[descriptor],
        cwd=_NOWHERE,
        start_new_session=True,  # Ctrl-C is for us, and we end it
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": _NOWHERE},
    )


def _received(
    child: subprocess.Popen[bytes], source: str, columns: Sequence[str] | None, lists: bool
) -> Table | None:
    """Ask the child for columns and read what it sends; None if it died."""
    answer, question = child.stdout, child.stdin
    described = _described(answer)
    if answer is None or question is None or described is None:
        return None
    names, types, rows = described
    check_shape(names, rows, source)
    places = chosen(names, columns)
    for place in places:
        if not (lists and types[place] == _LIST):
            _check_type(types[place], names[place], source)
    with contextlib.suppress(BrokenPipeError), question:
        question.write(json.dumps(places).encode() + b"\n")
    table = sent_rows(answer, [names[place] for place in places])
    if child.wait() != 0:
        return None
    if table is None or len(table) != rows:
        raise too_large(source)
    typed = zip(table.columns, (types[place] for place in places), table.names, strict=True)
    return Table(table.names, tuple(_as_texts(column, kind, name, source) for column, kind, name in typed))


def _described(answer: IO[bytes] | None) -> tuple[list[str], list[str], int] | None:
    """Names, types and number of rows as the child tells them; None if it died before it could."""
    line = answer.readline() if answer else b""
    return tuple(json.loads(line)) if line.endswith(b"\n") else None


def _check_type(kind: str, name: str, source: str) -> None:
    if kind.endswith("WITH TIME ZONE"):
        raise TableError(
            f"{source}: column {name!r} has moments with a time zone; convert them to local time without one"
        )
    if kind not in (*_PLAIN, *_FLOATS, *_MOMENTS) and not re.fullmatch(r"DECIMAL\(\d+,\d+\)", kind):
        raise TableError(
            f"{source}: column {name!r} is not of a plain type (it holds lists, records, bytes or "
            "durations); convert it to text, numbers or dates, or leave it out"
        )


def sent_rows(stream: IO[bytes], names: list[str]) -> Table | None:
    try:
        return read_rows(blocks_of(stream, "the child"), names, range(len(names)), ord(","))
    except TableError:
        return None  # the caller knows better words: lines and bytes of the child mean nothing to a user


def _as_texts(column: TextColumn, kind: str, name: str, source: str) -> TextColumn:
    texts = [None if text == NULL else (text or "")[1:] for text in column.texts]
    check_texts(texts, name, source)
    if kind in _FLOATS:
        return column_of(column.codes, [text and float_text(_FLOATS[kind](text)) for text in texts])
    if kind in _MOMENTS:
        present = [text for text in texts if text]
        found = dict(zip(present, _moments(present, kind, name, source), strict=True))
        return column_of(column.codes, [text and found[text] for text in texts])
    return TextColumn(column.codes, tuple(texts))


def _moments(texts: list[str], kind: str, name: str, source: str) -> list[str]:
    moments = None
    with contextlib.suppress(ValueError):  # before the year 1, or infinite
        moments = np.array(texts, dtype=f"datetime64[{'ns' if kind == 'TIMESTAMP_NS' else 'us'}]")
    if moments is None:
        raise TableError(f"{source}: column {name!r} holds a date outside the years 1 to 9999")
    return moment_texts(moments, name, source)


def memory() -> int:
    """Bytes that DuckDB may use: half of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


@contextlib.contextmanager
def connection(*paths: str, attached: str = "") -> Iterator[DuckDBPyConnection]:
    """Open an empty in-memory database that may touch these paths only, or read the one that is attached."""
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "extension_directory": _NOWHERE,
        "secret_directory": _NOWHERE,
        "temp_directory": "",  # no spilling: nothing that it does here needs to sort or to gather
        "memory_limit": f"{memory() // 2**20}MiB",
    }
    with duckdb.connect(config=settings) as session:
        session.execute("SET allowed_paths = ?", [list(paths)])
        if attached:
            session.execute(f"ATTACH '{attached}' AS source (READ_ONLY)")  # a number, no name of the user's
            session.execute("USE source")
        session.execute("SET enable_external_access = false")
        session.execute("SET lock_configuration = true")
        yield session


def limit(size: int) -> None:
    """Bound what a file of some size can cost, and leave no core dump with data in it."""
    seconds = _SECONDS + _SECONDS_PER_MIB * (size // 2**20)
    wanted = {
        resource.RLIMIT_AS: memory() + _SPARE,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_CORE: 0,
    }
    for which, value in wanted.items():
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


def end_with_parent() -> None:
    """Nobody is left to end us if the parent is killed (Linux; elsewhere the closed pipe has to do)."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _describe(session: DuckDBPyConnection, path: str) -> tuple[list[str], list[str], int]:
    """Names as they stand in the file, types, number of rows."""
    schema = session.execute("SELECT name, num_children FROM parquet_schema(?)", [path]).fetchall()
    names = _top_names(schema)
    check_width(len(names), "the file")
    types = [row[1] for row in session.execute(f"DESCRIBE {_select('*', len(names), path)}").fetchall()]
    (rows,) = session.execute("SELECT num_rows FROM parquet_file_metadata(?)", [path]).fetchall()[0]
    return names, types, rows


def _top_names(schema: list[tuple[str, int | None]]) -> list[str]:
    """Names of the columns among all elements of a schema, each followed by its own elements."""
    names, inside = [], 0
    for name, children in schema[1:]:
        if inside == 0:
            names.append(name)
        else:
            inside -= 1
        inside += children or 0
    return names


def _select(cells: str, width: int, path: str) -> str:
    names = ", ".join(f"c{place}" for place in range(width))
    return f"SELECT {cells} FROM read_parquet('{path}', hive_partitioning = false) AS t({names})"  # noqa: S608


def _text(place: int, kind: str) -> str:
    """The text of a cell. A list is written as a set: its members in braces, a single one bare.

    A list with a member that is NULL or not escaped as a cell's members are becomes NULL: joined, it would
    say something else than it does in the file.
    """
    cell = f"c{place}"
    if kind != _LIST:
        return f"CAST({cell} AS VARCHAR)"
    sound = f"len(list_filter({cell}, lambda x: regexp_full_match(x, '{_MEMBER}', 's'))) = len({cell})"
    several = f"'{{' || array_to_string({cell}, '|') || '}}'"
    return f"(CASE WHEN {sound} THEN CASE len({cell}) WHEN 1 THEN {cell}[1] ELSE {several} END END)"


def _serve(descriptor: int) -> None:
    """The child's whole life: describe the file, learn which columns are wanted, send them."""
    limit(os.fstat(descriptor).st_size)
    end_with_parent()
    path = f"/dev/fd/{descriptor}"
    with connection(path, "/dev/stdout") as session:
        names, types, rows = _describe(session, path)
        sys.stdout.write(json.dumps([names, types, rows]) + "\n")
        sys.stdout.flush()
        places: list[int] = json.loads(sys.stdin.readline())
        cells = ", ".join(f"coalesce('=' || {_text(place, types[place])}, '{NULL}')" for place in places)
        copy = f"COPY ({_select(cells, len(names), path)}) TO '/dev/stdout' (FORMAT csv, HEADER false)"
        session.execute(copy)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
