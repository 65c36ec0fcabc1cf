"""Blocks of a CSV file cut into cells and numbered by compiled code, all columns in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]
Offsets = NDArray[np.int64]
WORD = 8  # bytes
FEW_SLOTS = 1 << 14  # for the distinct cells of a column: small enough to stay near the processor
MOST_SLOTS = 1 << 18  # ... for those of many blocks; a block alone may need more
ALL_SLOTS = 1 << 23  # ... of all columns together: 32 MB
ROOM = 1 << 24  # bytes of distinct cells that are longer than a word


class Cells(NamedTuple):
    """The cells of a column in a block: their numbers, and where those are that were not numbered before.

    Of the others `known` says what they were numbered as.
    """

    codes: Numbers
    starts: Offsets
    ends: Offsets
    known: Numbers


class Scanned(NamedTuple):
    """How many rows a block has, and the wanted columns."""

    rows: int
    columns: list[Cells]


class Scanner:
    """Cuts blocks one after the other. It takes its time to load, and remembers cells while there is room."""

    def __init__(self, places: Mapping[int, int], width: int) -> None:
        """Of so many columns those at some places are wanted, each at a place of its own."""
        self._place = np.array([places.get(column, -1) for column in range(width)], np.int64)
        self._wanted = len(places)
        self._most = min(MOST_SLOTS, ALL_SLOTS // max(self._wanted, 1))
        self._codes = np.empty((self._wanted, 0), np.int32)
        self._room = _words(np.empty(WORD, np.uint8))
        self._forget(FEW_SLOTS)

    def _forget(self, slots: int) -> None:
        """Begin again, with so many slots."""
        # of each column: how many cells are known, how many of these were new in the last block, and what
        # whoever asked has numbered them as
        self._seen, self._met = np.zeros((2, self._wanted), np.int32)
        self._known = [np.empty(0, np.int32)] * self._wanted
        self._slots = np.zeros((self._wanted, slots), np.int32)
        self._leads = np.empty((4, self._wanted, slots // 2 + 1), np.int64)
        self._filled = np.zeros(1, np.int64)

    def _make_room(self) -> None:
        """Have more slots, or begin a column again, if as many new cells again would be too many."""
        slots = self._slots.shape[1]
        short_of = np.flatnonzero(2 * (self._seen + self._met) + 2 > slots).tolist()
        if short_of and 4 * slots <= self._most:
            self._forget(4 * slots)
            return
        for own in short_of:
            self._slots[own], self._seen[own], self._known[own] = 0, 0, np.empty(0, np.int32)

    def learn(self, known: Sequence[Numbers]) -> None:
        """Say for each wanted column what the cells of the last scan, and those before, are numbered as."""
        self._known = list(known)

    def scan(self, text: NDArray[np.uint8], rows: int, delimiter: int, most: int) -> Scanned | None:
        """The wanted columns of a text of at most so many rows, until the next scan; None if it is odd.

        Odd is also a row of more than `most` bytes. The text ends in LF, and WORD bytes stand behind it.
        """
        windows = _words(text)
        if self._codes.shape[1] < rows:
            self._codes = np.empty((self._wanted, rows), np.int32)
        if self._room.size < text.size:
            self._room = _words(np.empty(max(ROOM, text.size + WORD), np.uint8))
            self._forget(self._slots.shape[1])
        self._make_room()
        count, before = self._numbered(windows, delimiter, most)
        if count < 0:
            self._forget(self._slots.shape[1])
            return None
        self._met = self._seen - before
        columns = zip(self._codes[:, :count], before.tolist(), self._seen.tolist(), self._known, strict=True)
        starts, ends = self._leads[0], self._leads[1]
        return Scanned(
            count,
            [
                Cells(codes, starts[own, first:last], ends[own, first:last], known)
                for own, (codes, first, last, known) in enumerate(columns)
            ],
        )

    def _numbered(self, windows: NDArray[np.uint64], delimiter: int, most: int) -> tuple[int, Numbers]:
        """How many rows a text has, and how many cells of each column were known before it."""
        from incrowd.kernels.csv_cells import FULL, NO_ROOM, number_rows

        while True:
            before = self._seen.copy()
            places = (self._place, self._slots, self._seen, self._codes, self._leads)
            count = number_rows(windows, delimiter, most, *places, self._room, self._filled)
            if count not in (FULL, NO_ROOM):
                return count, before
            slots = self._slots.shape[1]
            more = count == FULL and (4 * slots <= self._most or not before.any())
            self._forget(4 * slots if more else slots)


def _words(text: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Every place of a text, read as the eight bytes that start there."""
    return np.ndarray((text.size - WORD + 1,), np.uint64, text, strides=(1,))
