"""The original table by the verifier's own eyes: which of its readers a source needs.

CSV files (also packed, also in other encodings), JSON lines and SQLite are read here, without a line of what
publishes. What takes a library to read (Parquet, workbooks, statistics packages, DuckDB, a server), and what
is there only once (a frame, standard input), is taken as it was read; docs/reading.md says so.
"""

from __future__ import annotations

import codecs
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from incrowd.errors import TableError
from incrowd.schema import Source
from incrowd.verifier.columns import Cells, RowSource
from incrowd.verifier.csv_file import CsvRows, open_packed

TEXTS = (".csv", ".tsv", ".txt")
JSON = (".jsonl", ".ndjson")
SQLITE = b"SQLite format 3\0"
MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
AT_ONCE = 2**20


def rows_of(source: object, otherwise: RowSource) -> RowSource:
    """A file by the verifier's own reader, where it has one; of anything else the rows at hand."""
    given = Source.of(source)
    path = None if given is None else given.file
    if given is None or path is None or not path.is_file():
        return otherwise
    with open_packed(path, given.sheet) as (name, file):
        kind = Path(name).suffix.lower()
        encoding = _encoding(file, given.encoding) if kind in TEXTS + JSON else ""
    if kind in TEXTS:
        return CsvRows(path, "\t" if kind == ".tsv" else "", encoding=encoding, member=given.sheet)
    if kind in JSON:
        return JsonRows(path, given.sheet, encoding or "utf-8")
    return SqliteRows(path, given.sql) if _is_sqlite(path) else otherwise


def _encoding(file: BinaryIO, stated: str) -> str:
    """As stated; else what the first bytes tell, else UTF-8 if all of it is, else cp1252. Empty is UTF-8."""
    if stated:
        found = codecs.lookup(stated).name
        return "" if found == "utf-8" else found
    block = file.read(AT_ONCE)
    for mark, name in MARKS.items():
        if block.startswith(mark):
            return name
    if b"\0" in block[:2]:
        return "utf-16-le" if block[0] else "utf-16-be"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while block:
            decoder.decode(block)
            block = file.read(AT_ONCE)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "cp1252"
    return ""


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE


class JsonRows:
    """One JSON object a line; numbers as they are written."""

    def __init__(self, path: Path, member: str, encoding: str) -> None:
        self._path, self._member, self._encoding = path, member, encoding

    @cached_property
    def names(self) -> Sequence[str]:
        return list(dict.fromkeys(key for line in self._lines() for key in line))

    def __iter__(self) -> Iterator[Cells]:
        for line in self._lines():
            yield [_json_text(line.get(name)) for name in self.names]

    def _lines(self) -> Iterator[dict[str, Any]]:
        with open_packed(self._path, self._member) as (_, file):
            reader = codecs.getreader(self._encoding)(file)
            for line in "".join(iter(lambda: reader.read(AT_ONCE), "")).removeprefix("\ufeff").split("\n"):
                if line.strip():
                    yield json.loads(line, parse_int=str, parse_float=str)


def _json_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


class SqliteRows:
    """A table or a query of an SQLite file, opened for reading only."""

    def __init__(self, path: Path, sql: str) -> None:
        self._path, self._sql = path, sql

    @cached_property
    def names(self) -> Sequence[str]:
        with closing(self._open()) as session:
            return [column[0] for column in session.execute(self._query(session)).description]

    def __iter__(self) -> Iterator[Cells]:
        with closing(self._open()) as session:
            for row in session.execute(self._query(session)):
                yield [_sqlite_text(value) for value in row]

    def _open(self) -> sqlite3.Connection:
        session = sqlite3.connect(f"file:{quote(str(self._path.resolve()))}?mode=ro&immutable=1", uri=True)
        session.execute("PRAGMA query_only = ON")
        return session

    def _query(self, session: sqlite3.Connection) -> str:
        listed = session.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")
        tables = [name for (name,) in listed if not name.startswith("sqlite_")]
        name = self._sql or (tables[0] if len(tables) == 1 else "")
        if name in tables:
            doubled = name.replace('"', '""')
            return f'SELECT * FROM "{doubled}"'  # noqa: S608 -- a name of the database, quoted
        if not name:
            raise TableError(f"{self._path.name} does not have exactly one table")
        return name


def _sqlite_text(value: Any) -> str | None:
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return None if value is None else str(int(value)) if whole else str(value)
