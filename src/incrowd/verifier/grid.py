"""Cut a piece of plain CSV into cells, all at once.

Plain means: every quote opens or closes a whole cell. Anything else (doubled quotes, carriage returns,
blank lines, NUL) is left to the csv module, which is slower and knows every case.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

QUOTE, LINE_FEED = ord('"'), ord("\n")
SHORT = 8  # bytes of a cell that fits into one number
SLOT_BITS = 16
SPREAD = np.uint64(0x9E3779B97F4A7C15)

_KEEP = np.array([(1 << (8 * length)) - 1 for length in range(SHORT + 1)], np.uint64)

Codes = NDArray[np.int32]


class Coder:
    """Numbers the cells of one column, remembering short cells in a table of slots.

    A slot holds one cell's bytes and number. A cell whose slot is taken by another is looked up in
    `numbers` each time: slower, never wrong.
    """

    def __init__(self, numbers: Mapping[str | None, int]) -> None:
        self.numbers = numbers
        self.long = _Long(numbers)
        self._bytes = np.zeros(1 << SLOT_BITS, np.uint64)
        self._number = np.full(1 << SLOT_BITS, -1, np.int32)

    def codes(self, words: NDArray[np.uint64]) -> Codes:
        """The number of each cell, given as its bytes in one number (the first byte lowest)."""
        slot = (words * SPREAD) >> np.uint64(64 - SLOT_BITS)
        found = np.where(self._bytes[slot] == words, self._number[slot], -1).astype(np.int32)
        unknown = np.flatnonzero(found < 0)
        if unknown.size:
            distinct, place = np.unique(words[unknown], return_inverse=True)
            numbers = np.array([self.long[_bytes(word)] for word in distinct.tolist()], np.int32)
            found[unknown] = numbers[place]
            self._remember(distinct, numbers)
        return found

    def _remember(self, words: NDArray[np.uint64], numbers: Codes) -> None:
        slot = (words * SPREAD) >> np.uint64(64 - SLOT_BITS)
        slot, first = np.unique(slot, return_index=True)
        free = self._number[slot] < 0
        self._bytes[slot[free]] = words[first[free]]
        self._number[slot[free]] = numbers[first[free]]


class _Long(dict[bytes, int]):
    """Numbers cells by their bytes, decoding each only once."""

    def __init__(self, numbers: Mapping[str | None, int]) -> None:
        super().__init__()
        self._numbers = numbers

    def __missing__(self, cell: bytes) -> int:
        number = self[cell] = self._numbers[cell.decode()]
        return number


def _bytes(word: int) -> bytes:
    return word.to_bytes(SHORT, "little").rstrip(b"\0")


class Grid:
    """The cells of some lines: cell (i, j) is ``data[starts[i, j]:ends[i, j]]``."""

    def __init__(self, data: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        self._data = data
        # column by column, in the order in which they are read
        self._starts = np.ascontiguousarray(starts.T, dtype=np.int32)
        self._ends = np.ascontiguousarray(ends.T, dtype=np.int32)
        padded = np.frombuffer(data + bytes(SHORT), np.uint8)
        # Every place of the text, read as the eight bytes that start there.
        self._words = np.ndarray((len(data) + 1,), "<u8", padded, strides=(1,))

    @classmethod
    def of(cls, data: bytes, delimiter: str, width: int) -> Grid | None:
        """Cut lines into cells; None if that takes more than looking for delimiters outside quotes."""
        if b'""' in data or b"\r" in data or b"\0" in data:
            return None
        text = np.frombuffer(data, np.uint8)
        cut = (text == ord(delimiter)) | (text == LINE_FEED)
        quotes = np.flatnonzero(text == QUOTE)
        if quotes.size:
            if quotes.size % 2 or not _around_cells(cut, quotes):
                return None
            cut &= (np.cumsum(text == QUOTE, dtype=np.int32) & 1) == 0
        ends = np.flatnonzero(cut)
        if ends.size % width or not _aligned(text[ends].reshape(-1, width)):
            return None
        starts = np.concatenate([[0], ends[:-1] + 1])
        quoted = text[np.minimum(starts, len(data) - 1)] == QUOTE
        return cls(data, (starts + quoted).reshape(-1, width), (ends - quoted).reshape(-1, width))

    def __len__(self) -> int:
        return int(self._starts.shape[1])

    def codes(self, column: int, coder: Coder) -> Codes:
        """The number of each cell of a column."""
        starts, ends = self._starts[column], self._ends[column]
        length = ends - starts
        long = np.flatnonzero(length > SHORT)
        if not long.size:
            return coder.codes(self._words[starts] & _KEEP[length])
        short, found = np.flatnonzero(length <= SHORT), np.empty(length.size, np.int32)
        found[short] = coder.codes(self._words[starts[short]] & _KEEP[length[short]])
        data, number = self._data, coder.long
        ends_of_cells = zip(starts[long].tolist(), ends[long].tolist(), strict=True)
        found[long] = [number[data[start:end]] for start, end in ends_of_cells]
        return found


def _around_cells(cut: NDArray[np.bool_], quotes: NDArray[np.int64]) -> bool:
    """Does every first quote follow a cut, and every second one come before a cut?"""
    before, after = quotes[::2] - 1, quotes[1::2] + 1
    opens = bool(cut[before[before >= 0]].all())
    return opens and bool((after < cut.size).all()) and bool(cut[after].all())


def _aligned(cuts: NDArray[np.uint8]) -> bool:
    """Does every line end after as many cells as there are columns?"""
    feeds = cuts == LINE_FEED
    return bool(feeds[:, -1].all()) and not feeds[:, :-1].any()
