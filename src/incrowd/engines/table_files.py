"""What a table of an engine lies in, and how SQL says its texts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from incrowd.engines.texts import PACKED, TEXTS
from incrowd.errors import InputError, TableError, option
from incrowd.schema import Source
from incrowd.tables.checked_files import open_regular, sha256_of
from incrowd.tables.files import parquet_files

PARQUET = ".parquet"
WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")  # within a BIGINT
DATABASES = (".sqlite", ".sqlite3", ".db", ".duckdb")


@dataclass(frozen=True, slots=True)
class TableFiles:
    """What a table lies in: one of these kinds, its files, how it is to be read."""

    kind: str  # "parquet", "texts", "duckdb", "sqlite" or "server"
    files: tuple[Path, ...]
    given: Source

    @classmethod
    def of(cls, source: object) -> TableFiles:
        """The files of a path; refused is what an engine cannot read where it lies."""
        given = Source.of(source)
        if given is None:
            raise InputError(
                "the engine takes a file, a folder of Parquet files or a database; write the frame to a "
                f"Parquet file, or leave out {option('engine')}"
            )
        if given.is_server:
            return cls("server", (), given)
        path = Path(given.path)
        if os.path.isdir(path) and not os.path.islink(path):
            return cls("parquet", _in_folder(path), given)
        kind = path.suffix.lower()
        with open_regular(path) as file:
            beginning = file.read(16)
        if kind == PARQUET:
            if beginning[:4] != b"PAR1":
                raise TableError(f"{path.name} is not a Parquet file")
            return cls("parquet", (path,), given)
        if kind in DATABASES:
            return cls("sqlite" if beginning.startswith(b"SQLite format 3\0") else "duckdb", (path,), given)
        if kind in TEXTS or kind in PACKED:
            return cls("texts", (path,), given)
        raise TableError(
            f"{path.name}: the engine reads CSV and Parquet files and databases; convert it to one of "
            f"them, or leave out {option('engine')}"
        )

    @property
    def name(self) -> str:
        return self.given.name

    @property
    def bytes(self) -> int:
        return sum(path.stat().st_size for path in self.files)

    @property
    def read_in_place(self) -> bool:
        """Does DuckDB read it where it lies, without a copy?"""
        return self.kind in ("parquet", "duckdb")

    def fingerprint(self) -> dict[str, Any]:
        """What the audit says of the source, and what must be the same at the end as at the start."""
        if not self.files:
            return {"kind": self.name}
        digests = [sha256_of(path) for path in self.files]
        said = {key: text for key in ("encoding", "sheet", "sql") if (text := getattr(self.given, key))}
        if len(digests) == 1 and self.files[0] == Path(self.given.path):
            return {"name": self.name, "sha256": digests[0], **said}
        lines = "".join(f"{one}  {path.name}\n" for one, path in zip(digests, self.files, strict=True))
        whole = hashlib.sha256(lines.encode()).hexdigest()
        return {"name": self.name, "files": len(digests), "sha256": whole, **said}


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that an engine reads: the table, which columns of it, and the tables that it is joined with."""

    table: TableFiles
    columns: Sequence[str]
    beside: tuple[TableFiles, ...] = ()

    @property
    def all(self) -> tuple[TableFiles, ...]:
        return (self.table, *self.beside)


def _in_folder(path: Path) -> tuple[Path, ...]:
    files = parquet_files(path)
    for each in files:
        with open_regular(each) as file:
            if file.read(4) != b"PAR1":
                raise TableError(f"{each.name} is not a Parquet file")
    return tuple(files)


@dataclass
class TextTable:
    """A table as texts: its columns by name, and for each how SQL says its text.

    ``relation`` stands after FROM and has the columns c0, c1, …: no name of the table is part of a statement.
    """

    names: tuple[str, ...]
    relation: str
    types: tuple[str, ...]
    rows: int
    notes: list[str] = field(default_factory=list)
    looked_up: dict[str, str] = field(default_factory=dict)  # columns whose texts stand in a table
    published: frozenset[str] = frozenset()
    called: str = "texts"  # how tables begin that its columns are looked up in

    def text(self, name: str) -> str:
        """The text of a cell as SQL, NULL for a gap."""
        place = self.names.index(name)
        if name in self.looked_up:
            return f"{self.looked_up[name]}.text"
        return f"c{place}" if self.types[place] == "VARCHAR" else f"CAST(c{place} AS VARCHAR)"

    def is_whole(self, name: str) -> bool:
        """Does a column hold whole numbers? Then equal numbers are equal texts, and are compared quicker."""
        return self.types[self.names.index(name)] in WHOLE

    def compared(self, name: str) -> str:
        """What cells of a column are compared by, as SQL: numbers where it has these, else texts."""
        return f"c{self.names.index(name)}" if self.is_whole(name) else self.text(name)

    def joined(self, names: Iterable[str]) -> str:
        """The relation with the tables that these columns need."""
        found = self.relation
        for name in names:
            if (table := self.looked_up.get(name)) is not None:
                raw = f"CAST(c{self.names.index(name)} AS VARCHAR)"
                found += f" LEFT JOIN {table} ON {table}.raw = {raw}"
        return found
