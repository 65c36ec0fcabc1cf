"""Blocks of a CSV file cut into cells and numbered by compiled code, all columns in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]
Offsets = NDArray[np.int64]
WORD = 8  # bytes
FEW_SLOTS = 1 << 14  # for the distinct cells of a column in a block: small enough to stay near the processor


class Cells(NamedTuple):
    """The cells of a column in a block: numbers as they are met, and where each distinct one is."""

    codes: Numbers
    starts: Offsets
    ends: Offsets


class Scanned(NamedTuple):
    """How many rows a block has, and the wanted columns."""

    rows: int
    columns: list[Cells]


class Scanner:
    """Cuts blocks one after the other; it takes its time to load, and remembers nothing but its room."""

    def __init__(self, places: Mapping[int, int], width: int) -> None:
        """Of so many columns those at some places are wanted, each at a place of its own."""
        self._place = np.array([places.get(column, -1) for column in range(width)], np.int64)
        self._wanted = len(places)
        self._seen = np.zeros(self._wanted, np.int32)
        self._codes = np.empty((self._wanted, 0), np.int32)
        self._leads = np.empty((3, self._wanted, 0), np.int64)
        self._forget(FEW_SLOTS)

    def _forget(self, slots: int) -> None:
        """Begin again, with so many slots."""
        self._slots = np.full((self._wanted, slots), -1, np.int32)
        self._seen[:] = 0

    def scan(self, text: NDArray[np.uint8], rows: int, delimiter: int, most: int) -> Scanned | None:
        """The wanted columns of a text of at most so many rows, until the next scan; None if it is odd.

        Odd is also a row of more than `most` bytes. The text ends in LF, and WORD bytes stand behind it.
        """
        from incrowd.kernels.csv_cells import FULL, number_rows

        windows: NDArray[np.uint64] = np.ndarray((text.size - WORD + 1,), np.uint64, text, strides=(1,))
        if self._codes.shape[1] < rows:
            self._codes = np.empty((self._wanted, rows), np.int32)
            self._leads = np.empty((3, self._wanted, rows), np.int64)
        if int(self._seen.max(initial=0)) > np.iinfo(np.int32).max - rows:
            self._forget(self._slots.shape[1])
        before, count = self._seen.copy(), FULL
        while count == FULL:
            given = (windows, delimiter, most, self._place, self._slots, self._seen, self._codes, self._leads)
            count = number_rows(*given)
            if count == FULL:
                self._forget(4 * self._slots.shape[1])
                before[:] = 0
        if count < 0:
            return None
        met = (self._seen - before).tolist()
        columns = zip(self._codes[:, :count], self._leads[0], self._leads[1], met, strict=True)
        return Scanned(count, [Cells(own, starts[:size], ends[:size]) for own, starts, ends, size in columns])
