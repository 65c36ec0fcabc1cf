"""CSV files, block by block, by the one reader of texts that incrowd has: same cells, same refusals.

DuckDB's own reader of CSV is not used. It would take some files for others than they are: quotes in the
middle of a cell, empty lines, other encodings.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path

from incrowd.errors import TableError, option
from incrowd.flow import Table
from incrowd.schema import Source
from incrowd.tables.checked_files import (
    Gunzip,
    NotThisEncoding,
    Stream,
    check_names,
    check_width,
    open_regular,
)
from incrowd.tables.csv_reader import blocks_of, read_rows
from incrowd.tables.files import (
    UTF_8,
    WESTERN,
    Recoded,
    Replayed,
    known_encoding,
    looks_western,
    seen_encoding,
)

TEXTS = {".csv": None, ".txt": None, ".tsv": ord("\t")}  # with their delimiter
PACKED = (".gz", ".zip")
_FIRST = 64 * 1024

Opener = Callable[[], AbstractContextManager[Stream]]


class Blocks:
    """The rows of a text file, some at a time, with what was taken for what.

    Iterating gives tables with all columns. It may be done again: a file that turns out not to be UTF-8 is
    begun anew, and `NotThisEncoding` says so.
    """

    def __init__(self, given: Source) -> None:
        self._path = Path(given.path)
        self.name = self._path.name
        self._opened, kind, self.notes = _opener(given)
        if kind not in TEXTS:
            raise TableError(
                f"{self.name}: the engine reads CSV and Parquet files and databases; convert it to one"
            )
        self._delimiter = TEXTS[kind]
        self._encoding = known_encoding(given.encoding) if given.encoding else ""
        self._guess = not given.encoding

    def __iter__(self) -> Iterator[Table]:
        with self._opened() as stream:
            beginning = stream.read(_FIRST)
            encoding = self._encoding or seen_encoding(beginning)
            whole = Replayed(beginning, stream)
            text = whole if encoding == UTF_8 else Recoded(whole, encoding, self.name)
            try:
                for table in self._tables(text):
                    if self._guess and encoding == WESTERN:
                        self._check_western(table)
                    yield table
            except NotThisEncoding:
                if not self._guess or encoding != UTF_8:
                    raise
                self._encoding = WESTERN
                self.notes.append(
                    f"{self.name}: not UTF-8, so read as {WESTERN} (Windows, Western languages)"
                )
                raise
            if not self._guess or encoding not in (UTF_8, WESTERN):
                self.notes.append(f"{self.name}: read as {encoding}")

    @property
    def may_be_western(self) -> bool:
        """Is it worth another try as cp1252?"""
        return self._guess and self._encoding == WESTERN

    def _tables(self, text: Stream) -> Iterator[Table]:
        blocks = blocks_of(text, self.name)
        first = next(blocks, None)
        if first is None:
            raise TableError(f"{self.name} is empty")
        header, rest = first.split_header()
        delimiter = header.delimiter() if self._delimiter is None else self._delimiter
        width = header.cell_ends(delimiter).size
        check_width(width, self.name)
        row = read_rows([header], [f"{place}" for place in range(width)], range(width), delimiter)
        names = [column.texts[0] or "" for column in row.columns]
        check_names(names, self.name)
        for block in chain([rest] if rest else [], blocks):
            yield read_rows([block], names, range(width), delimiter)

    def _check_western(self, table: Table) -> None:
        texts: Sequence[Sequence[str | None]] = (table.names, *(column.texts for column in table.columns))
        if not all(map(looks_western, texts)):
            raise TableError(
                f"{self.name} is not UTF-8, and does not look like {WESTERN}; say how its letters are stored "
                f"with {option('encoding')}, such as cp1250, cp1251, shift_jis or gb18030"
            )


def _opener(given: Source) -> tuple[Opener, str, list[str]]:
    """How the text is opened, the end of its name, and what to say of it."""
    path = Path(given.path)
    kind = path.suffix.lower()
    if kind == ".zip":
        return _zipped(path, given.sheet)

    @contextlib.contextmanager
    def opened() -> Iterator[Stream]:
        with open_regular(path) as file:
            yield Gunzip(file, path.name) if kind == ".gz" else file

    return opened, Path(path.stem).suffix.lower() if kind == ".gz" else kind, []


def _zipped(path: Path, member: str) -> tuple[Opener, str, list[str]]:
    from incrowd.tables.zip_archive import member_of

    @contextlib.contextmanager
    def opened() -> Iterator[Stream]:
        with open_regular(path) as file, member_of(file, path.name, member) as (_, stream):
            yield stream

    with open_regular(path) as file, member_of(file, path.name, member) as (name, _):
        return opened, Path(name).suffix.lower(), [f"{path.name}: read {name}"]
