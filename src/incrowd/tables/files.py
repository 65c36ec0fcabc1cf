"""Which reader a file needs, by the end of its name; what was taken for what goes into the table's notes."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from incrowd.errors import TableError, option
from incrowd.flow import Table, TextColumn
from incrowd.schema import Source
from incrowd.tables.checked_files import (
    FOLDER_LIMIT,
    Gunzip,
    NotThisEncoding,
    Stream,
    check_size,
    open_regular,
)
from incrowd.tables.encodings import (
    UTF_8,
    WESTERN,
    Recoded,
    Replayed,
    known_encoding,
    looks_western,
    seen_encoding,
)
from incrowd.tables.texts import column_of

TEXTS = {
    ".csv": None,
    ".txt": None,
    ".tsv": ord("\t"),
    ".jsonl": None,
    ".ndjson": None,
}  # with their delimiter
JSON_LINES = (".jsonl", ".ndjson")
PACKED = (".gz", ".zip")
WORKBOOKS = {".xlsx": "xlsx", ".xlsm": "xlsx", ".ods": "ods"}
STATISTICS = {".dta": "dta", ".sav": "sav", ".zsav": "zsav", ".sas7bdat": "sas7bdat", ".xpt": "xpt"}
DATABASES = (".sqlite", ".sqlite3", ".db", ".duckdb")
PARQUET = ".parquet"
STANDARD_INPUT = "standard input"

_FIRST = 64 * 1024
_SQLITE, _DUCKDB = b"SQLite format 3\0", b"DUCK"

Columns = Sequence[str] | None
Opener = Callable[[], AbstractContextManager[Stream]]


def read_source(given: Source, columns: Columns = None, lists: bool = False) -> Table:
    """Read what a path, or a path and how to read it, names."""
    if given.is_server:
        from incrowd.tables.databases import read_postgres

        _check_options(given, "sql")
        return read_postgres(str(given.path), columns, given.sql)
    path = Path(given.path)
    if os.path.isdir(path) and not os.path.islink(path):  # of a path that cannot be, Path.is_dir raises
        _check_options(given)
        return _read_folder(path, columns, lists)
    kind = "".join(suffix.lower() for suffix in path.suffixes[-1:])
    if kind in TEXTS or kind in PACKED:
        _check_options(given, "encoding", *(["sheet"] if kind == ".zip" else []))
        return _read_texts(path, kind, columns, given)
    if kind == PARQUET:
        _check_options(given)
        with open_regular(path) as file:
            return _parquet(file, path.name, columns, lists)
    if kind in WORKBOOKS or kind in STATISTICS:
        from incrowd.tables.isolated_reader import read_isolated

        _check_options(given, *(["sheet"] if kind in WORKBOOKS else []))
        with open_regular(path) as file:
            return read_isolated((WORKBOOKS | STATISTICS)[kind], file, path.name, columns, given.sheet)
    if kind in DATABASES:
        _check_options(given, "sql")
        return _read_database(path, columns, given.sql)
    raise TableError(f"{path}: the name must end in {_listed()}")


def _listed() -> str:
    texts = f"{', '.join(TEXTS)} (or one of these and .gz, or .zip)"
    return f"{texts}, {PARQUET}, {', '.join((*WORKBOOKS, *STATISTICS))}, {', '.join(DATABASES)}"


def _check_options(given: Source, *fitting: str) -> None:
    strange = [name for name in ("encoding", "sheet", "sql") if getattr(given, name) and name not in fitting]
    if strange:
        raise TableError(f"{given.name} is no file for which {option(strange[0])} can be said")


def read_standard_input(stream: BinaryIO, encoding: str = "") -> Table:
    """Read text that is piped in: JSON lines if it begins with a brace, else CSV."""
    content = stream.read()
    kind = ".jsonl" if content[:_FIRST].lstrip().startswith(b"{") else ".csv"
    return _read_text(lambda: io.BytesIO(content), STANDARD_INPUT, kind, None, encoding)


# Texts: CSV and JSON lines, also packed


def _read_texts(path: Path, kind: str, columns: Columns, given: Source) -> Table:
    if kind == ".zip":
        return _read_zip(path, columns, given)
    packed = kind == ".gz"
    if packed:
        kind = Path(path.stem).suffix.lower()
        if kind not in TEXTS:
            raise TableError(f"{path}: the name must end in {_listed()}")

    @contextlib.contextmanager
    def opened() -> Iterator[Stream]:
        with open_regular(path) as file:
            yield Gunzip(file, path.name) if packed else file

    return _read_text(opened, path.name, kind, columns, given.encoding)


def _read_zip(path: Path, columns: Columns, given: Source) -> Table:
    from incrowd.tables.zip_archive import member_of

    found = ""

    @contextlib.contextmanager
    def opened() -> Iterator[Stream]:
        with open_regular(path) as file, member_of(file, path.name, given.sheet) as (_, stream):
            yield stream

    with open_regular(path) as file, member_of(file, path.name, given.sheet) as (name, _):
        found = name
    kind = Path(found).suffix.lower()
    if kind not in TEXTS:
        raise TableError(f"{path.name} holds a file that does not end in {', '.join(TEXTS)}; unpack it")
    table = _read_text(opened, path.name, kind, columns, given.encoding)
    return replace(table, notes=(f"{path.name}: read {found}", *table.notes))


def _read_text(opened: Opener, name: str, kind: str, columns: Columns, encoding: str) -> Table:
    """As stated, as the first bytes tell, as UTF-8; if it is not that, as cp1252 where this looks right."""
    stated = known_encoding(encoding) if encoding else ""
    with opened() as stream:
        beginning = stream.read(_FIRST)
        found = stated or seen_encoding(beginning)
        try:
            table = _parsed(Replayed(beginning, stream), name, kind, columns, found)
            return table if found == UTF_8 else _noted(table, f"{name}: read as {found}")
        except NotThisEncoding:
            if stated or found != UTF_8:
                raise
    western = _read_western(opened, name, kind, columns)
    if western is not None:
        return western
    raise TableError(
        f"{name} is not UTF-8, and does not look like {WESTERN}; say how its letters are stored with "
        f"{option('encoding')}, such as cp1250, cp1251, shift_jis or gb18030"
    )


def _read_western(opened: Opener, name: str, kind: str, columns: Columns) -> Table | None:
    """As cp1252; None if it cannot be that, or does not look like it."""
    try:
        with opened() as stream:
            table = _parsed(stream, name, kind, columns, WESTERN)
    except NotThisEncoding:
        return None
    if not all(looks_western(texts) for texts in (table.names, *(column.texts for column in table.columns))):
        return None
    note = f"{name}: not UTF-8, so read as {WESTERN} (Windows, Western languages)"
    return _noted(table, f"{note}; if letters come out wrong, state the encoding")


def _noted(table: Table, note: str) -> Table:
    return replace(table, notes=(note, *table.notes))


def _parsed(stream: Stream, name: str, kind: str, columns: Columns, encoding: str) -> Table:
    text = stream if encoding == UTF_8 else Recoded(stream, encoding, name)
    if kind in JSON_LINES:
        from incrowd.tables.json_lines import read_json_lines

        return read_json_lines(text, name, columns)
    from incrowd.tables.csv_reader import read_csv

    return read_csv(text, name, columns, TEXTS[kind])


# Everything else


def _parquet(file: BinaryIO, name: str, columns: Columns, lists: bool) -> Table:
    from incrowd.tables.parquet_reader import read_parquet

    return read_parquet(file, name, columns, lists)


def _read_folder(path: Path, columns: Columns, lists: bool) -> Table:
    """The Parquet files of a folder, one after the other by name; they must have the same columns."""
    inside = sorted(path.iterdir())
    files = [each for each in inside if each.suffix.lower() == PARQUET]
    strange = [each for each in inside if each not in files and not each.name.startswith((".", "_"))]
    if not files or len(files) > FOLDER_LIMIT or strange:
        raise TableError(
            f"{path} is a folder; one that holds a table has Parquet files and nothing else "
            f"(it has {len(files)}, and {len(strange)} other entries)"
        )
    parts: list[Table] = []
    for each in files:
        with open_regular(each) as file:
            part = _parquet(file, each.name, columns, lists)
        if parts and set(part.names) != set(parts[0].names):
            raise TableError(f"{path}: {each.name} has other columns than {files[0].name}")
        parts.append(part)
    check_size(sum(map(len, parts)), path.name)
    return replace(_stacked(parts), notes=(f"{path.name}: {len(files)} Parquet files",))


def _stacked(parts: Sequence[Table]) -> Table:
    """Tables of the same columns, one below the other."""
    columns = []
    for name in parts[0].names:
        seen: dict[str | None, int] = {}
        codes = []
        for column in (part.column(name) for part in parts):
            known = np.array([seen.setdefault(text, len(seen)) for text in column.texts], np.int64)
            codes.append(known[column.codes])
        columns.append(column_of(np.concatenate(codes), list(seen)))
    return Table(parts[0].names, tuple(_narrow(column) for column in columns))


def _narrow(column: TextColumn) -> TextColumn:
    return TextColumn(column.codes.astype(np.int32), column.texts)


def _read_database(path: Path, columns: Columns, sql: str) -> Table:
    from incrowd.tables.databases import read_sqlite
    from incrowd.tables.isolated_reader import read_isolated

    with open_regular(path) as file:
        beginning = file.read(16)
        if beginning == _SQLITE:
            return read_sqlite(path, path.name, columns, sql)
        if beginning[8:12] == _DUCKDB:
            return read_isolated("duckdb", file, path.name, columns, sql)
    raise TableError(f"{path.name} is neither an SQLite nor a DuckDB database")
