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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.verifier.cell_coder import WORD, Bools, CellCoder, Codes, Ints, Words, words_at
from incrowd.verifier.failure import require

BYTES_AT_ONCE, LINES_AT_ONCE, MOST_BYTES_AT_ONCE = 2**20, 50_000, 2**23
BYTES_TO_CUT = 2**19  # of whole lines: what is done to these stays near the processor
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
            size = 0
            while block := file.read(size or BYTES_AT_ONCE):
                rest += block
                end = _last_line_end(rest)
                if end:
                    size = size or _bytes_of_lines(rest[:end])
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


def _bytes_of_lines(some: bytes) -> int:
    """How many bytes to read at once, if lines are as long as these."""
    return min(max(BYTES_AT_ONCE, LINES_AT_ONCE * len(some) // some.count(b"\n")), MOST_BYTES_AT_ONCE)


def _last_line_end(text: bytes, begin: int = 0, stop: int | None = None) -> int:
    """Where the last line ends that is complete: after a line feed outside quotes. 0 if there is none."""
    end = text.rfind(b"\n", begin, stop) + 1
    quotes = np.count_nonzero(np.frombuffer(text, np.uint8)[begin:end] == QUOTE) if end else 0
    while end and quotes % 2:
        before = text.rfind(b"\n", begin, end - 1) + 1
        quotes -= text.count(b'"', before, end)
        end = before
    return end


@dataclass(frozen=True, slots=True, eq=False)
class _Lines:
    """The cells of some lines, row by row (n, width); the first word of each column by column."""

    starts: Ints
    length: Ints
    quoted: Bools
    longest: Ints  # of each column
    words: Words

    @classmethod
    def of(cls, text: NDArray[np.uint8], starts: Ints, length: Ints, quoted: Bools) -> _Lines:
        words = words_at(text, starts.ravel(), np.minimum(length, WORD).ravel(), 1).reshape(starts.shape)
        return cls(starts, length, quoted, length.max(axis=0), np.ascontiguousarray(words.T))


class CsvGrid:
    """The cells of some lines, of which those of some columns are wanted."""

    def __init__(self, text: NDArray[np.uint8], rank: Mapping[int, int], parts: Sequence[_Lines]) -> None:
        self._text, self._rank, self._parts = text, rank, parts
        self._longest = np.max([part.longest for part in parts], axis=0)
        self._with_quotes = np.any([part.quoted.any(axis=0) for part in parts], axis=0)

    @classmethod
    def of(
        cls, data: bytes, delimiter: str, width: int, wanted: Sequence[int] | None = None
    ) -> CsvGrid | None:
        """Cut lines into cells; None if that takes more than looking for delimiters outside quotes."""
        if not data or b"\r" in data or b"\0" in data or len(data) > LARGEST_CELL:
            return None
        text = np.frombuffer(data + bytes(WORD), np.uint8)
        parts, at = list[_Lines](), 0
        while at < len(data):
            end = _last_line_end(data, at, at + BYTES_TO_CUT) or len(data)
            lines = _lines_of(text, at, end, ord(delimiter), width, wanted)
            if lines is None:
                return None
            parts.append(lines)
            at = end
        columns = range(width) if wanted is None else wanted
        return cls(text, {place: rank for rank, place in enumerate(columns)}, parts)

    def quoted(self, column: int) -> Bools:
        """Which cells of a column are in quotes."""
        return np.concatenate([part.quoted[:, self._rank[column]] for part in self._parts])

    def quoted_as_needed(self, column: int, coder: CellCoder, codes: Codes) -> bool:
        """Are exactly those cells of a column in quotes that need them? Their numbers are `codes`."""
        # what needs quotes and has none was cut at its comma or line feed
        some = self._with_quotes[self._rank[column]]
        return not some or bool((self.quoted(column) == coder.quoted[codes]).all())

    def longest(self, column: int) -> int:
        """How many bytes the longest cell of a column has."""
        return int(self._longest[self._rank[column]])

    def codes(self, column: int, coder: CellCoder) -> Codes:
        """The number of each cell of a column."""
        own, longest = self._rank[column], self.longest(column)
        words = np.concatenate([part.words[own] for part in self._parts])
        if longest <= WORD:
            return coder.codes(words, longest)
        starts = np.concatenate([part.starts[:, own] for part in self._parts])
        length = np.concatenate([part.length[:, own] for part in self._parts])
        return coder.codes_of_long(words, self._text, starts, length)


def _lines_of(
    text: NDArray[np.uint8], begin: int, end: int, delimiter: int, width: int, wanted: Sequence[int] | None
) -> _Lines | None:
    """Some lines of a text, cut into cells; None if that takes more."""
    lines = text[begin:end]
    cut = lines == delimiter
    cut |= lines == LINE_FEED
    is_quote = lines == QUOTE
    in_quotes = np.empty(0, np.int64)  # cells that are, counted from the first on
    if not is_quote.any():
        ends = np.flatnonzero(cut)
    else:
        marks = np.flatnonzero(cut | is_quote)
        is_quote = is_quote[marks]
        places = np.flatnonzero(is_quote)
        quotes = marks[places]
        if quotes.size % 2 or (np.diff(quotes) == 1).any() or not _around_cells(cut, quotes):
            return None
        opens, inside = places[::2], np.diff(places)[::2] - 1
        is_quote[_runs(opens + 1, inside)] = True  # what stands inside quotes ends no cell, as they do not
        ends = marks[~is_quote]
        in_quotes = opens - 2 * np.arange(opens.size) - (np.cumsum(inside) - inside)
    if not ends.size or ends.size % width or not _aligned(lines[ends].reshape(-1, width)):
        return None
    starts = np.empty_like(ends)
    starts[0], starts[1:] = 0, ends[:-1] + 1
    length, quoted = ends - starts, np.zeros(ends.size, np.bool_)
    starts[in_quotes] += 1
    length[in_quotes] -= 2
    quoted[in_quotes] = True
    starts += begin
    return _Lines.of(text, *(_of_columns(cells, width, wanted) for cells in (starts, length, quoted)))


def _of_columns(cells: NDArray[Any], width: int, wanted: Sequence[int] | None) -> NDArray[Any]:
    """Something of each cell, one after the other -> by rows, of the columns that are wanted."""
    rows = cells.reshape(-1, width)
    return rows if wanted is None else rows[:, wanted]


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
