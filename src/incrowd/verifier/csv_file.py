"""Reading CSV files, independently of the reader that publishes: by rows, or all cells of a column at once.

Pieces of a file in which every quote opens or closes a whole cell are cut into cells all at once. Anything
else (doubled quotes, carriage returns, blank lines, NUL) is left to the csv module, which is slower and knows
every case.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.verifier.cell_coder import WORD, CellCoder, Codes
from incrowd.verifier.failure import require

BYTES_AT_ONCE = 2**21
NOT_CANONICAL = "is not written in its one form: line ends, blank lines or quotes that nothing needs"
DELIMITERS = ",;\t|~"
LARGEST_CELL = 2**31 - 1
MARK = "\ufeff".encode()
QUOTE, LINE_FEED = ord('"'), ord("\n")
_IN_A_CELL, _IN_A_NAME = re.compile(r'[",\r\n]'), re.compile(r'[",\r\n;\t|~]')


class CsvRows:
    """A CSV file, gzipped if its name ends in .gz, the `member` of an archive if it ends in .zip.

    It has a header and is in UTF-8, or in the `encoding`. Without a delimiter, the header decides: the one of
    ``, ; tab | ~`` that cuts it into most names. A byte order mark is skipped. One that must be
    `canonical` is written as a release is: commas, line feeds, UTF-8 without a mark, and quotes only where a
    cell needs them.
    """

    def __init__(
        self,
        path: str | Path,
        delimiter: str = "",
        canonical: bool = False,
        encoding: str = "",
        member: str = "",
    ) -> None:
        self.path = Path(path)
        self._encoding, self._member = encoding, member
        self._delimiters = delimiter or DELIMITERS
        self.canonical = canonical

    @property
    def names(self) -> Sequence[str]:
        return self._layout[1]

    @property
    def delimiter(self) -> str:
        return self._layout[0]

    def __iter__(self) -> Iterator[list[str]]:
        for piece in self.pieces():
            rows = self.parsed(piece)
            require(not self.canonical or csv_text(rows) == piece, f"{self.path.name} {NOT_CANONICAL}")
            yield from rows

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
        if not names or (self.canonical and csv_text([names], header=True) != header):
            raise TableError(f"{self.path.name} has no header, or not one as releases write it")
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
            if not self.canonical and rest == MARK:
                rest = b""
            while block := file.read(BYTES_AT_ONCE):
                rest += block
                end = _last_line_end(rest)
                if end:
                    yield rest[:end]
                    rest = rest[end:]
            if rest:
                yield rest if rest.endswith(b"\n") or self.canonical else rest + b"\n"

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        with open_packed(self.path, self._member) as (_, file):
            yield _InUtf8(file, self._encoding) if self._encoding else file  # type: ignore[misc]

    @contextmanager
    def _problems_named(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError:
            raise TableError(f"{self.path.name} is not {self._encoding or 'UTF-8'}") from None
        except (csv.Error, OSError, EOFError, zlib.error, zipfile.BadZipFile) as problem:
            reason = type(problem).__name__
            raise TableError(f"{self.path.name} cannot be read as CSV ({reason})") from None


@contextmanager
def open_packed(path: Path, member: str = "") -> Iterator[tuple[str, BinaryIO]]:
    """A file, what a .gz holds, or the only file of a .zip (or the one that is named), with its name."""
    packed = path.suffix.lower()
    if packed == ".zip":
        with zipfile.ZipFile(path) as archive:
            names = [n for n in archive.namelist() if not n.endswith("/") and "__MACOSX/" not in n]
            name = member or names[0]
            with archive.open(name) as inside:
                yield name, inside  # type: ignore[misc]
    else:
        opened: Any = gzip.open if packed == ".gz" else open
        with opened(path, "rb") as file:
            yield path.stem if packed == ".gz" else path.name, file


class _InUtf8:
    """A file in another encoding, as its bytes would be in UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._text = io.TextIOWrapper(file, encoding, newline="")
        self._first = True

    def read(self, size: int) -> bytes:
        text = self._text.read(size)
        if self._first:
            text, self._first = text.removeprefix("\ufeff"), False
        return text.encode()


def csv_text(rows: Sequence[Sequence[str]], header: bool = False) -> bytes:
    """Rows as a release writes them; in a header, what a reader might take for the delimiter is quoted, too.

    Examples
    --------
    >>> csv_text([["a", "b;c"], ["a,b", ""]])
    b'a,b;c\\n"a,b",\\n'
    """
    needs = _IN_A_NAME if header else _IN_A_CELL
    lines = []
    for row in rows:
        blank = len(row) == 1 and not row[0]  # as it is, it would be a blank line
        cells = ('"' + cell.replace('"', '""') + '"' if blank or needs.search(cell) else cell for cell in row)
        lines.append(",".join(cells) + "\n")
    return "".join(lines).encode()


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


class CsvGrid:
    """The cells of some lines: `ends` (width, n) are the places of the sign after each."""

    def __init__(self, data: bytes, ends: NDArray[np.int32], with_quotes: NDArray[np.bool_]) -> None:
        self._ends, self._with_quotes = ends, with_quotes
        self._text = np.frombuffer(data + bytes(WORD), np.uint8)
        # Every place of the text, read as the eight bytes that start there.
        self._windows = np.ndarray((len(data) + 1,), "<u8", self._text, strides=(1,))

    @classmethod
    def of(cls, data: bytes, delimiter: str, width: int) -> CsvGrid | None:
        """Cut lines into cells; None if that takes more than looking for delimiters outside quotes."""
        if b"\r" in data or b"\0" in data or len(data) > LARGEST_CELL:
            return None
        text = np.frombuffer(data, np.uint8)
        cut = text == ord(delimiter)
        cut |= text == LINE_FEED
        in_quotes = np.empty(0, np.int64)  # cells that are, counted from the first on
        if b'"' not in data:
            ends = np.flatnonzero(cut)
        else:
            marks = np.flatnonzero(cut | (text == QUOTE))
            is_quote = text[marks] == QUOTE
            places = np.flatnonzero(is_quote)
            quotes = marks[places]
            if quotes.size % 2 or (np.diff(quotes) == 1).any() or not _around_cells(cut, quotes):
                return None
            opens, inside = places[::2], np.diff(places)[::2] - 1
            is_quote[_runs(opens + 1, inside)] = (
                True  # what stands inside quotes ends no cell, as they do not
            )
            ends = marks[~is_quote]
            in_quotes = opens - 2 * np.arange(opens.size) - (np.cumsum(inside) - inside)
        if not ends.size or ends.size % width or not _aligned(text[ends].reshape(-1, width)):
            return None
        with_quotes = np.bincount(in_quotes % width, minlength=width) > 0
        return cls(data, ends.reshape(-1, width).T.astype(np.int32, order="C"), with_quotes)

    def quoted(self, column: int) -> NDArray[np.bool_]:
        """Which cells of a column are in quotes."""
        starts = self._starts(column)
        return self._text[starts] == QUOTE if self._with_quotes[column] else np.zeros(starts.size, np.bool_)

    def quoted_as_needed(self, column: int, coder: CellCoder, codes: Codes) -> bool:
        """Are exactly those cells of a column in quotes that need them? Their numbers are `codes`."""
        # what needs quotes and has none was cut at its comma or line feed
        return not self._with_quotes[column] or bool((self.quoted(column) == coder.quoted[codes]).all())

    def _starts(self, column: int) -> NDArray[np.int64]:
        """Where each cell of a column starts, at its quote if it has one."""
        starts: NDArray[np.int64] = self._ends[column - 1].astype(np.int64) + 1
        return starts if column else np.concatenate([[0], starts[:-1]])

    def length(self, column: int) -> int:
        """How many bytes the cells of a column have, with their quotes."""
        return int((self._ends[column] - self._starts(column)).sum())

    def codes(self, column: int, coder: CellCoder) -> Codes:
        """The number of each cell of a column."""
        starts, ends = self._starts(column), self._ends[column].astype(np.int64)
        if self._with_quotes[column]:
            quoted = self._text[starts] == QUOTE
            starts, ends = starts + quoted, ends - quoted
        return coder.codes(self._windows, starts, ends - starts)


def _around_cells(cut: NDArray[np.bool_], quotes: NDArray[np.int64]) -> bool:
    """Does every first quote follow a cut, and every second one come before a cut?"""
    before, after = quotes[::2] - 1, quotes[1::2] + 1
    opens = bool(cut[before[before >= 0]].all())
    return opens and bool((after < cut.size).all()) and bool(cut[after].all())


def _runs(start: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places ``start[i], start[i] + 1, …``, ``size[i]`` of them."""
    ends = np.cumsum(size)
    places: NDArray[np.int64] = np.arange(ends[-1]) + np.repeat(start - (ends - size), size)
    return places


def _aligned(cuts: NDArray[np.uint8]) -> bool:
    """Does every line end after as many cells as there are columns?"""
    feeds = cuts == LINE_FEED
    return bool(feeds[:, -1].all()) and not feeds[:, :-1].any()
