"""The judge's own reading: texts in, numbers out, without ever holding a table of texts."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.verifier.fault import Fault, need
from incrowd.verifier.grid import Coder, Grid

Ints = NDArray[np.int64]
Cells = Sequence[str | None]

ROWS_AT_ONCE = 256
BYTES_AT_ONCE = 2**19
DELIMITERS = ",;\t|"
LARGEST_CELL = 2**31 - 1
MARK = "\ufeff".encode()

_STARTS = tuple("'=+-@\t\r")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")
_DANGEROUS = re.compile(r"[=+\-@\t\r]")
_PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class Rows(Protocol):
    """A table as texts. None is NULL."""

    @property
    def names(self) -> Sequence[str]: ...

    def __iter__(self) -> Iterator[Cells]: ...


class CsvRows:
    """A CSV file, gzipped if its name ends in .gz.

    Parameters
    ----------
    path : path
        A file with a header, in UTF-8.
    delimiter : str
        Without one, the header decides: the one of ``, ; tab |`` that cuts it into most names.
    marked : bool
        May the file start with a byte order mark? Where it may not, the mark is part of the first name.
    """

    def __init__(self, path: str | Path, delimiter: str = "", marked: bool = True) -> None:
        self.path = Path(path)
        self._delimiters = delimiter or DELIMITERS
        self._marked = marked

    @property
    def names(self) -> Sequence[str]:
        return self._layout[1]

    @property
    def delimiter(self) -> str:
        return self._layout[0]

    def __iter__(self) -> Iterator[Cells]:
        for piece in self.pieces():
            yield from self.parsed(piece)

    def pieces(self) -> Iterator[bytes]:
        """The file after its header, cut where lines end."""
        _ = self.names  # a file without a header is an error, not a table without rows
        pieces = self._pieces()
        first = next(pieces, b"")
        if below := first[len(self._header_of(first)) :]:
            yield below
        yield from pieces

    def parsed(self, piece: bytes) -> list[list[str]]:
        """The rows of a piece, by the csv module. Blank lines are no rows, unless a row is one cell."""
        with self._problems_named():
            rows = _parsed(piece, self.delimiter)
        return [row or [""] for row in rows if row or len(self.names) == 1]

    @cached_property
    def _layout(self) -> tuple[str, list[str]]:
        """The delimiter and the header."""
        csv.field_size_limit(LARGEST_CELL)
        header = self._header_of(next(self._pieces(), b""))
        with self._problems_named():
            found = {mark: names for mark in self._delimiters if (names := _header(header, mark)) is not None}
            if not found:
                raise csv.Error("no delimiter fits")
        delimiter, names = max(found.items(), key=lambda layout: len(layout[1]))
        if not names:
            raise TableError(f"{self.path.name} has no header")
        return delimiter, names

    def _header_of(self, piece: bytes) -> bytes:
        """The first line of a piece; a line feed inside quotes does not end it."""
        end = piece.find(b"\n") + 1
        while end and piece[:end].count(b'"') % 2:
            end = piece.find(b"\n", end) + 1
        return piece[:end] if end else piece

    def _pieces(self) -> Iterator[bytes]:
        with self._problems_named(), self._open() as file:
            rest = file.read(len(MARK))
            if self._marked and rest == MARK:
                rest = b""
            while block := file.read(BYTES_AT_ONCE):
                rest += block
                end = _last_line_end(rest)
                if end:
                    yield rest[:end]
                    rest = rest[end:]
            if rest:
                yield rest if rest.endswith(b"\n") else rest + b"\n"

    def _open(self) -> BinaryIO:
        opened: Any = gzip.open if self.path.suffix.lower() == ".gz" else open
        file: BinaryIO = opened(self.path, "rb")
        return file

    @contextmanager
    def _problems_named(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError:
            raise TableError(f"{self.path.name} is not UTF-8; save it as UTF-8") from None
        except (csv.Error, OSError, EOFError, zlib.error) as problem:
            reason = type(problem).__name__
            raise TableError(f"{self.path.name} cannot be read as CSV ({reason})") from None


def _header(line: bytes, delimiter: str) -> list[str] | None:
    """The names in a header; None if it makes no sense with this delimiter: `"a","b"` has none with `;`."""
    try:
        return (_parsed(line, delimiter) or [[]])[0]
    except csv.Error:
        return None


def _parsed(piece: bytes, delimiter: str) -> list[list[str]]:
    lines = io.StringIO(piece.decode(), newline="")
    return list(csv.reader(lines, delimiter=delimiter, strict=True))


def _last_line_end(text: bytes) -> int:
    """Where the last line ends that is complete: after a line feed outside quotes. 0 if there is none."""
    end = text.rfind(b"\n") + 1
    quotes = text.count(b'"', 0, end)
    while end and quotes % 2:
        before = text.rfind(b"\n", 0, end - 1) + 1
        quotes -= text.count(b'"', before, end)
        end = before
    return end


class Numbering(dict[Any, int]):
    """Numbers things as they are met: 0, 1, 2, …"""

    def __missing__(self, thing: Hashable) -> int:
        number = self[thing] = len(self)
        return number


class Restoring(dict[str | None, int]):
    """Numbers texts by what they say once a protection is undone; NULL says `null`."""

    def __init__(self, numbers: Numbering, undo: Callable[[str], str], null: str = "") -> None:
        super().__init__()
        self.numbers = numbers
        self._undo, self._null = undo, null

    def __missing__(self, text: str | None) -> int:
        number = self[text] = self.numbers[self._null if text is None else self._undo(text)]
        return number


def restored(text: str) -> str:
    """A text of a published CSV file without its protection against being run as a formula.

    Examples
    --------
    >>> restored("'=1+1"), restored("-5"), restored("'s-Hertogenbosch")
    ('=1+1', '-5', "'s-Hertogenbosch")
    """
    if not text.startswith(_STARTS):
        return text
    if _GUARDED.match(text):
        return text[1:]
    if _DANGEROUS.match(text) and not _PLAIN_NUMBER.fullmatch(text):
        raise Fault("a text that a spreadsheet would run as a formula is not protected")
    return text


def as_is(text: str) -> str:
    """Outside CSV nothing is protected."""
    return text


Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """A column of texts, each distinct text once: row i says ``texts[codes[i]]``."""

    codes: Codes
    texts: Sequence[Any]


Picks = Sequence[tuple[int, Mapping[str | None, int]]]


def numbers_of(rows: Rows, picks: Picks, what: str) -> list[Codes]:
    """Read all rows once; for each picked column, the number of each row's text."""
    parts: list[list[Codes]] = [[np.empty(0, np.int32)] for _ in picks]
    blocks = _csv_blocks(rows, picks, what) if isinstance(rows, CsvRows) else _blocks(rows, picks, what)
    for block in blocks:
        for part, codes in zip(parts, block, strict=True):
            part.append(codes)
    return [np.concatenate(part) for part in parts]


def _blocks(rows: Rows, picks: Picks, what: str) -> Iterator[list[Codes]]:
    width, stream = len(rows.names), iter(rows)
    while block := list(islice(stream, ROWS_AT_ONCE)):
        yield _numbered(block, picks, width, what)


def _csv_blocks(rows: CsvRows, picks: Picks, what: str) -> Iterator[list[Codes]]:
    """Plain pieces of a file are cut into cells all at once, others row by row."""
    coders = [(place, Coder(numbers)) for place, numbers in picks]
    width = len(rows.names)
    for piece in rows.pieces():
        grid = Grid.of(piece, rows.delimiter, width)
        if grid is not None:
            yield [grid.codes(place, coder) for place, coder in coders]
        else:
            yield _numbered(rows.parsed(piece), picks, width, what)


def _numbered(block: Sequence[Cells], picks: Picks, width: int, what: str) -> list[Codes]:
    need(set(map(len, block)) <= {width}, f"{what} has rows with more or fewer cells than its header")
    columns = list(zip(*block, strict=True)) or [()] * width
    return [
        np.fromiter(map(numbers.__getitem__, columns[place]), np.int32, len(block))
        for place, numbers in picks
    ]


def fold(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> Ints:
    """One number for each distinct combination of columns, 0..m-1 in the order of the combinations."""
    key, size = np.zeros(columns[0].size, np.int64), 1
    for codes, radix in zip(columns, sizes, strict=True):
        if size * radix >= 2**62:
            key, size = _ranked(key)
        key, size = key * radix + codes, size * radix
    return _ranked(key)[0]


def _ranked(key: Ints) -> tuple[Ints, int]:
    distinct, place = np.unique(key, return_inverse=True)
    return place.reshape(-1).astype(np.int64, copy=False), distinct.size
