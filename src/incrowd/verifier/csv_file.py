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
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.verifier.failure import require

BYTES_AT_ONCE = 2**21
NOT_CANONICAL = "is not written in its one form: line ends, blank lines or quotes that nothing needs"
DELIMITERS = ",;\t|~"
LARGEST_CELL = 2**31 - 1
MARK = "\ufeff".encode()
QUOTE, LINE_FEED = ord('"'), ord("\n")
WORD = 8  # bytes that fit into one number
WORDS = (1, 2, 4, 8, 16)  # numbers that a cell may be made of; longer ones are compared as bytes
SLOT_BITS = 16
_SHIFTS = (0, 16)  # two slots for each cell: by its highest bits, and by others
SPREAD = np.uint64(0x9E3779B97F4A7C15)

_KEEP = np.array([(1 << (8 * length)) - 1 for length in range(WORD + 1)], np.uint64)

_IN_A_CELL, _IN_A_NAME = re.compile(r'[",\r\n]'), re.compile(r'[",\r\n;\t|~]')
_SIGNS_TO_QUOTE = re.compile(rb'[",\r\n]')

Codes = NDArray[np.int32]
Words = NDArray[np.uint64]


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


class TextNumbers(Protocol):
    """Numbers texts; what was not met before gets a number of its own."""

    def __getitem__(self, text: str | None) -> int: ...

    def of_all(self, texts: Sequence[str]) -> list[int]: ...


class CellCoder:
    """Numbers the cells of one column, remembering them in tables of slots, one for each length in words.

    A cell whose two slots are taken by others is looked up in `numbers` each time: slower, never wrong.
    """

    def __init__(self, numbers: TextNumbers) -> None:
        self.long = _Long(numbers)
        self._known = {width: _Slots(width) for width in WORDS}

    @property
    def quoted(self) -> NDArray[np.bool_]:
        """Which numbers are of cells that need quotes."""
        return np.frombuffer(self.long.quoted, np.bool_)

    def codes(self, words: Sequence[Words]) -> Codes:
        """The number of each cell, given as its bytes in one or more words (the first byte lowest)."""
        known, mixed = self._known[len(words)], _mixed(words)
        found = known.numbers(words, mixed)
        unknown = np.flatnonzero(found < 0)
        for shift in _SHIFTS:
            if unknown.size:  # one cell for each free slot is learnt, and with it all that are equal to it
                cells, slots = [word[unknown] for word in words], _slots(mixed[unknown], shift)
                one = known.one_of_each_free(slots)
                chosen = [cell[one] for cell in cells]
                known.learn(chosen, slots[one], np.array(self.long.of_all(_bytes(chosen)), np.int32))
                found[unknown] = known.numbers(cells, mixed[unknown])
                unknown = unknown[found[unknown] < 0]
        if unknown.size:
            found[unknown] = self.long.of_all(_bytes([word[unknown] for word in words]))
        return found


class _Slots:
    """Cells of so many words that are known by number: each has one of its two slots, and a slot one cell."""

    def __init__(self, width: int) -> None:
        self._cell = np.zeros(1 << SLOT_BITS, np.int64)
        self._words = np.zeros((width, 64), np.uint64)  # of each cell; the first is none, as is its number
        self._number = np.full(64, -1, np.int32)
        self._count = 1

    def numbers(self, words: Sequence[Words], mixed: Words) -> Codes:
        """The number of each cell; -1 if it is not known."""
        found, same = self._in_slots(words, _slots(mixed, _SHIFTS[0]))
        if same.all():
            return found
        other = np.flatnonzero(~same)
        again, there = self._in_slots([word[other] for word in words], _slots(mixed[other], _SHIFTS[1]))
        found[other] = np.where(there, again, np.int32(-1))
        return found

    def _in_slots(self, words: Sequence[Words], slots: NDArray[np.int64]) -> tuple[Codes, NDArray[np.bool_]]:
        """The number of the cell in each slot (-1: none), and whether it is the cell that is looked for."""
        cell = self._cell[slots]
        same = self._words[0][cell] == words[0]
        for known, word in zip(self._words[1:], words[1:], strict=True):
            same &= known[cell] == word
        return self._number[cell], same

    def one_of_each_free(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of those who want one slot, the last, if it is free."""
        free = np.flatnonzero(self._cell[slots] == 0)
        self._cell[slots[free]] = free
        last: NDArray[np.int64] = free[self._cell[slots[free]] == free]
        self._cell[slots[free]] = 0
        return last

    def learn(self, words: Sequence[Words], slots: NDArray[np.int64], numbers: Codes) -> None:
        """Remember cells that want different slots, which are free."""
        end = self._count + slots.size
        while end > self._number.size:
            self._words = np.concatenate([self._words, np.zeros_like(self._words)], axis=1)
            self._number = np.concatenate([self._number, self._number])
        self._cell[slots] = np.arange(self._count, end)
        for known, word in zip(self._words, words, strict=True):
            known[self._count : end] = word
        self._number[self._count : end] = numbers
        self._count = end


def _mixed(words: Sequence[Words]) -> Words:
    """One number for each cell, in which all its bits have a say."""
    mixed = words[0] * SPREAD
    for word in words[1:]:
        mixed = (mixed ^ (mixed >> np.uint64(32)) ^ word) * SPREAD
    return mixed


def _slots(mixed: Words, shift: int) -> NDArray[np.int64]:
    """The slot that each cell wants: some of its bits, from the highest on or further below."""
    return ((mixed << np.uint64(shift)) >> np.uint64(64 - SLOT_BITS)).view(np.int64)


class _Long(dict[bytes, int]):
    """Numbers cells by their bytes, decoding each only once; ``quoted[number]`` if it needs quotes."""

    def __init__(self, numbers: TextNumbers) -> None:
        super().__init__()
        self._numbers = numbers
        self.quoted = bytearray()

    def of_all(self, cells: Sequence[bytes]) -> list[int]:
        """The number of each; those that are new are decoded all at once."""
        new = [cell for cell in dict.fromkeys(cells) if cell not in self]
        if new:
            joined = b"\0".join(new)  # no cell has a NUL in it: such pieces are left to the csv module
            numbers = self._numbers.of_all(joined.decode().split("\0"))
            self.update(zip(new, numbers, strict=True))
            self.quoted.extend(bytes(max(0, max(numbers) + 1 - len(self.quoted))))
            if _SIGNS_TO_QUOTE.search(joined):
                for cell, number in zip(new, numbers, strict=True):
                    self.quoted[number] = _SIGNS_TO_QUOTE.search(cell) is not None
        return [*map(self.__getitem__, cells)]


def _bytes(words: Sequence[Words]) -> list[bytes]:
    """The bytes of each cell. numpy leaves out the NULs at the end, and no cell has one."""
    lines = np.stack(words, axis=1).astype("<u8", copy=False)
    found: list[bytes] = lines.view(f"S{WORD * len(words)}")[:, 0].tolist()
    return found


class CsvGrid:
    """The cells of some lines: `ends` (n, width) are the places of the sign after each."""

    def __init__(self, data: bytes, ends: NDArray[np.int64], with_quotes: NDArray[np.bool_]) -> None:
        self._data, self._ends, self._with_quotes = data, ends, with_quotes
        longest = WORD * WORDS[-1]
        self._text = np.frombuffer(data + bytes(longest), np.uint8)
        # Every place of the text, read as the eight bytes that start there.
        self._words = np.ndarray((len(data) + longest - WORD + 1,), "<u8", self._text, strides=(1,))

    @classmethod
    def of(cls, data: bytes, delimiter: str, width: int) -> CsvGrid | None:
        """Cut lines into cells; None if that takes more than looking for delimiters outside quotes."""
        if b"\r" in data or b"\0" in data:
            return None
        text = np.frombuffer(data, np.uint8)
        cut = text == ord(delimiter)
        cut |= text == LINE_FEED
        ends = np.flatnonzero(cut)
        quotes = np.flatnonzero(text == QUOTE) if b'"' in data else ends[:0]
        if quotes.size:
            if quotes.size % 2 or (np.diff(quotes) == 1).any() or not _around_cells(cut, quotes):
                return None
            first, last = np.searchsorted(ends, quotes).reshape(-1, 2).T
            ends = np.delete(ends, _runs(first, last - first))
        if not ends.size or ends.size % width or not _aligned(text[ends].reshape(-1, width)):
            return None
        with_quotes = np.bincount(np.searchsorted(ends, quotes[::2]) % width, minlength=width) > 0
        return cls(data, ends.reshape(-1, width), with_quotes)

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
        if column:
            return self._ends[:, column - 1] + 1
        return np.concatenate([[0], self._ends[:-1, -1] + 1])

    def codes(self, column: int, coder: CellCoder) -> Codes:
        """The number of each cell of a column."""
        starts, ends = self._starts(column), self._ends[:, column]
        if self._with_quotes[column]:
            quoted = self._text[starts] == QUOTE
            starts, ends = starts + quoted, ends - quoted
        length = ends - starts
        longest = int(length.max())
        if longest <= WORD:
            return coder.codes(self._in_words(starts, length, 1))
        found, least = np.empty(length.size, np.int32), -1
        for width in WORDS:
            if longest <= least:
                break
            some = np.flatnonzero((length > least) & (length <= WORD * width))
            if some.size:
                found[some] = coder.codes(self._in_words(starts[some], length[some], width))
            least = WORD * width
        if longest > least:
            long = np.flatnonzero(length > least)
            places = zip(starts[long].tolist(), ends[long].tolist(), strict=True)
            found[long] = coder.long.of_all([self._data[start:end] for start, end in places])
        return found

    def _in_words(self, starts: NDArray[np.int64], length: NDArray[np.int64], width: int) -> list[Words]:
        """The bytes of some cells, eight in a word, with NULs at the end."""
        if width == 1:
            return [self._words[starts] & _KEEP[length]]
        return [
            self._words[starts + at] & _KEEP[np.clip(length - at, 0, WORD)]
            for at in range(0, WORD * width, WORD)
        ]


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
