"""Which reader a file needs, by the end of its name; what was taken for what goes into the table's notes.

Letters of a text file are stored as stated, as its first bytes say, as UTF-8, or else as cp1252. UTF-8 is
what most files are, and hardly any other text is UTF-8 by accident. Windows programs of Western Europe and
America write cp1252, which nearly any bytes can be read as: so it is taken only where what comes out looks
like text of these languages, and said. Where it does not, somebody must state the encoding.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from incrowd.errors import TableError, option, unknown
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

UTF_8, WESTERN = "utf-8", "cp1252"
ENCODINGS = (
    *(UTF_8, "ascii", "utf-16", "utf-16-le", "utf-16-be", "latin-1", WESTERN),
    *("cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16)),
    *("cp437", "cp850", "cp852", "cp866", "koi8-r", "koi8-u", "mac-roman"),
    *("shift_jis", "cp932", "euc-jp", "gb18030", "gbk", "big5", "euc-kr", "cp949"),
)
_BY_CODEC = {codecs.lookup(name).name: name for name in reversed(ENCODINGS)}
_RECODED = 64 * 1024

# Three letters of a row that are not English, or a sign of trade between two letters: as Cyrillic, Polish or
# Japanese bytes look when they are read as cp1252, and as hardly any Western word does.
_ODD = re.compile(
    "[\u0080-\u024f\u2010-\u2122]{3}|[A-Za-zÀ-ÿ][¡¢£¤¥¦§¨©«¬®¯±²³¶¸¹»¼½¾¿][A-Za-zÀ-ÿ]|[\u0080-\u009f]"
    "|[A-Za-zÀ-ÿ]{3}[¹²³¼½¾¯¥£¢¤¦¨]|[£¥¢¤¯¦¼½¾¹²³][A-Za-zÀ-ÿ]|[a-zß-ÿ][ŸŠŽŒ]"
    "|[ÂÃ][\u00a0-\u00bf€‚ƒ„…†‡ˆ‰Š‹Œ‘’“”•–—˜™š›œ]|â€"  # UTF-8 with a broken character somewhere
)

Columns = Sequence[str] | None
Needed = Callable[[Sequence[str]], Collection[str]]  # of the names of columns, those whose texts are needed
Opener = Callable[[], AbstractContextManager[Stream]]


def read(
    source: object,
    *,
    columns: Sequence[str] | None = None,
    lists: bool = False,
    needed: Needed | None = None,
) -> Table:
    """Read a path, a `Source`, or a pandas, polars or pyarrow frame, as texts: all columns, or these.

    Distinct texts stand in the order of appearance, rows in the order of the source. An empty CSV cell is the
    empty text; a gap in Parquet or a frame is None. With `lists`, lists of texts in a Parquet file are read
    too, as the cells of a release: ``{F|M}``. `needed` says of the names which columns have a use: the
    others of a CSV file are checked, but have no texts. An error names file, line and column, never a cell.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "people.csv")
    >>> _ = path.write_text("age;zip\\n34;01234\\n34;\\n")
    >>> read(path).column("zip").rows()
    ['01234', '']
    >>> folder.cleanup()
    """
    if isinstance(source, Table) and columns is None:
        return source  # what was piped in is read before it is needed
    given = Source.of(source)
    if given is not None:
        return read_source(given, columns, lists, needed)
    from incrowd.tables.frames import read_frame

    return read_frame(source, columns)


def read_source(
    given: Source, columns: Columns = None, lists: bool = False, needed: Needed | None = None
) -> Table:
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
        return _read_texts(path, kind, columns, given, needed)
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


def read_standard_input(encoding: str = "") -> Table:
    """Read the text that is piped into this program: JSON lines if it begins with a brace, else CSV."""
    content = sys.stdin.buffer.read()
    kind = ".jsonl" if content[:_FIRST].lstrip().startswith(b"{") else ".csv"
    return _read_text(lambda: io.BytesIO(content), STANDARD_INPUT, kind, None, encoding)


# Texts: CSV and JSON lines, also packed


def _read_texts(path: Path, kind: str, columns: Columns, given: Source, needed: Needed | None) -> Table:
    if kind == ".zip":
        return _read_zip(path, columns, given, needed)
    packed = kind == ".gz"
    if packed:
        kind = Path(path.stem).suffix.lower()
        if kind not in TEXTS:
            raise TableError(f"{path}: the name must end in {_listed()}")

    @contextlib.contextmanager
    def opened() -> Iterator[Stream]:
        with open_regular(path) as file:
            yield Gunzip(file, path.name) if packed else file

    return _read_text(opened, path.name, kind, columns, given.encoding, needed)


def _read_zip(path: Path, columns: Columns, given: Source, needed: Needed | None) -> Table:
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
    table = _read_text(opened, path.name, kind, columns, given.encoding, needed)
    return replace(table, notes=(f"{path.name}: read {found}", *table.notes))


def _read_text(
    opened: Opener, name: str, kind: str, columns: Columns, encoding: str, needed: Needed | None = None
) -> Table:
    """As stated, as the first bytes tell, as UTF-8; if it is not that, as cp1252 where this looks right."""
    stated = known_encoding(encoding) if encoding else ""
    with opened() as stream:
        beginning = stream.read(_FIRST)
        found = stated or seen_encoding(beginning)
        try:
            table = _parsed(Replayed(beginning, stream), name, kind, columns, found, needed)
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
            table = _parsed(stream, name, kind, columns, WESTERN, None)  # all texts are looked at
    except NotThisEncoding:
        return None
    if not all(looks_western(texts) for texts in (table.names, *(column.texts for column in table.columns))):
        return None
    note = f"{name}: not UTF-8, so read as {WESTERN} (Windows, Western languages)"
    return _noted(table, f"{note}; if letters come out wrong, state the encoding")


def _noted(table: Table, note: str) -> Table:
    return replace(table, notes=(note, *table.notes))


def _parsed(
    stream: Stream, name: str, kind: str, columns: Columns, encoding: str, needed: Needed | None
) -> Table:
    text = stream if encoding == UTF_8 else Recoded(stream, encoding, name)
    if kind in JSON_LINES:
        from incrowd.tables.json_lines import read_json_lines

        return read_json_lines(text, name, columns)
    from incrowd.tables.csv_reader import read_csv

    return read_csv(text, name, columns, TEXTS[kind], needed)


# How letters are stored


def known_encoding(name: str) -> str:
    """The name by which an encoding is known here.

    Examples
    --------
    >>> known_encoding("UTF8"), known_encoding("Windows-1252"), known_encoding("ISO-8859-1")
    ('utf-8', 'cp1252', 'latin-1')
    """
    try:
        found = _BY_CODEC.get(codecs.lookup(name.strip()).name)
    except (LookupError, ValueError):
        found = None
    if found is None:
        raise TableError(unknown("an encoding that is read", [name], ENCODINGS))
    return found


def seen_encoding(beginning: bytes) -> str:
    """The encoding that the first bytes of a text tell; UTF-8 if they tell none.

    Examples
    --------
    >>> [seen_encoding(text) for text in ("age".encode("utf-16"), "age".encode("utf-16-be"), b"age")]
    ['utf-16', 'utf-16-be', 'utf-8']
    """
    if beginning.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return UTF_8  # UTF-32: refused by whoever reads it
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    head = beginning[:64] if len(beginning) % 2 == 0 or len(beginning) > 64 else beginning[:-1]
    if len(head) >= 4:
        if not any(head[1::2]) and all(head[::2]):
            return "utf-16-le"
        if not any(head[::2]) and all(head[1::2]):
            return "utf-16-be"
    return UTF_8


def looks_western(texts: Iterable[str | None]) -> bool:
    """Do texts that were read as cp1252 look like it?"""
    return not any(text and not text.isascii() and _ODD.search(text) for text in texts)


class Recoded:
    """A stream of another encoding, as UTF-8."""

    def __init__(self, stream: Stream, encoding: str, name: str) -> None:
        self._stream, self._encoding, self._name = stream, encoding, name
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        self._ended = False

    def read(self, size: int, /) -> bytes:
        data = b""
        while not data and not self._ended:
            chunk = self._stream.read(min(size, _RECODED))
            self._ended = not chunk
            data = self._recoded(chunk)
        return data

    def _recoded(self, chunk: bytes) -> bytes:
        try:
            return self._decoder.decode(chunk, final=not chunk).encode()
        except UnicodeError:
            pass  # raised below, where no exception that holds the bytes is around
        raise NotThisEncoding(
            f"{self._name} is not {self._encoding}; say how its letters are stored with {option('encoding')}"
        )


class Replayed:
    """A stream of which the first bytes were looked at."""

    def __init__(self, beginning: bytes, stream: Stream) -> None:
        self._beginning, self._stream = beginning, stream

    def read(self, size: int, /) -> bytes:
        given, self._beginning = self._beginning, b""
        return given or self._stream.read(size)


# Everything else


def _parquet(file: BinaryIO, name: str, columns: Columns, lists: bool) -> Table:
    from incrowd.tables.parquet_reader import read_parquet

    return read_parquet(file, name, columns, lists)


def parquet_files(path: Path) -> list[Path]:
    """The Parquet files of a folder that holds a table, by name; refused if it holds anything else."""
    inside = sorted(path.iterdir())
    files = [each for each in inside if each.suffix.lower() == PARQUET]
    strange = [each for each in inside if each not in files and not each.name.startswith((".", "_"))]
    if not files or len(files) > FOLDER_LIMIT or strange:
        raise TableError(
            f"{path} is a folder; one that holds a table has Parquet files and nothing else "
            f"(it has {len(files)}, and {len(strange)} other entries)"
        )
    return files


def _read_folder(path: Path, columns: Columns, lists: bool) -> Table:
    """The Parquet files of a folder, one after the other by name; they must have the same columns."""
    files = parquet_files(path)
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
