"""Cells of a CSV file as numbers: the same number for the same bytes, found for a whole column at once.

A cell is taken as words of eight bytes. Its words are mixed into one number, which says in which of two slots
the cell is remembered; there its words are compared in full, so that cells that are mixed alike cost time and
never a wrong number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

WORD = 8  # bytes that fit into one number
TINY = 2  # bytes of a cell whose number stands in a table of all such cells
FIRST_BITS, MOST_BITS = 12, 22  # slots, as a power of two: at first, and at most
SLOTS_FOR_EACH = 4  # known cell, at least, while there may be more
_SHIFTS = (0, 22)  # two slots for each cell: by its highest bits, and by those below
SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_KEEP = np.array([(1 << (8 * length)) - 1 for length in range(WORD + 1)], np.uint64)
# What the words of a cell are multiplied by, one after the other and then from the first on again.
_ODD = np.array([pow(int(SPREAD), power, 2**64) for power in range(1, 257)], np.uint64)
_SIGNS_TO_QUOTE = re.compile(rb'[",\r\n]')


Kind = TypeVar("Kind", bound=np.generic)


class TextNumbers(Protocol):
    """Numbers texts; what was not met before gets a number of its own."""

    def __getitem__(self, text: str | None) -> int: ...

    def of_all(self, texts: Sequence[str]) -> list[int]: ...


@dataclass(frozen=True, slots=True, eq=False)
class CellWords:
    """Cells as words, the first byte lowest and NULs at the end: cell i has ``words[first[i]:first[i + 1]]``.

    Without `first` each cell has one word. No cell has a NUL in it, so equal words are equal cells.
    """

    words: Words
    first: Ints | None = None

    @classmethod
    def of(cls, windows: Words, starts: Ints, length: Ints, longest: int) -> CellWords:
        """The cells at some places of a text, of which ``windows[i]`` are the eight bytes from i on."""
        if longest <= WORD:
            return cls(windows[starts] & _KEEP[length])
        size = (length + WORD - 1) // WORD  # at least two, of cells that do not fit into one word
        first = np.concatenate([[0], np.cumsum(size)])
        words = windows[WORD * np.arange(first[-1]) + np.repeat(starts - WORD * first[:-1], size)]
        words[first[1:] - 1] &= _KEEP[length - WORD * (size - 1)]
        return cls(words, first)

    def __len__(self) -> int:
        return self.words.size if self.first is None else self.first.size - 1

    def mixed(self) -> Words:
        """One number for each cell, in which all its bits have a say."""
        if self.first is None:
            mixed = self.words * SPREAD
        else:
            turn = np.arange(self.words.size) - np.repeat(self.first[:-1], np.diff(self.first))
            mixed = np.add.reduceat(self.words * _ODD[turn % _ODD.size], self.first[:-1])
        mixed ^= mixed >> _HALF
        mixed *= SPREAD
        return mixed

    def take(self, some: Ints) -> CellWords:
        if self.first is None:
            return CellWords(self.words[some])
        size = np.diff(self.first)[some]
        first = np.concatenate([[0], np.cumsum(size)])
        return CellWords(
            self.words[np.arange(first[-1]) + np.repeat(self.first[some] - first[:-1], size)], first
        )

    def as_bytes(self) -> list[bytes]:
        """What each cell holds."""
        words = self.words.astype("<u8", copy=False)
        if self.first is None:  # numpy leaves out the NULs at the end
            found: list[bytes] = words.view(f"S{WORD}").tolist()
            return found
        flat = words.tobytes()
        return [flat[a:b].rstrip(b"\0") for a, b in pairwise((WORD * self.first).tolist())]


class CellCoder:
    """Numbers the cells of one column, remembering them in slots: short ones apart from long ones.

    A cell whose two slots are taken by others is looked up in `numbers` each time: slower, never wrong.
    """

    def __init__(self, numbers: TextNumbers) -> None:
        self.long = _Long(numbers)
        self._short_slots, self._long_slots = _Slots(), _Slots()
        self._tiny = np.full(1 << (8 * TINY), -1, np.int32)

    @property
    def quoted(self) -> NDArray[np.bool_]:
        """Which numbers are of cells that need quotes."""
        return np.frombuffer(self.long.quoted, np.bool_)

    def codes(self, windows: Words, starts: Ints, length: Ints) -> Codes:
        """The number of each cell at some places of a text, of which ``windows`` are all runs of a word."""
        cells_of: Callable[[Ints, Ints, int], CellWords] = partial(CellWords.of, windows)
        longest = int(length.max(initial=0))
        if longest <= TINY:
            return self._found_at_once(cells_of(starts, length, longest))
        if longest <= WORD:
            return self._found(self._short_slots, cells_of(starts, length, longest))
        found, long = np.empty(length.size, np.int32), length > WORD
        for known, which, most in ((self._short_slots, ~long, WORD), (self._long_slots, long, longest)):
            some = np.flatnonzero(which)
            if some.size:
                found[some] = self._found(known, cells_of(starts[some], length[some], most))
        return found

    def _found_at_once(self, cells: CellWords) -> Codes:
        """The number of each cell of at most two bytes: every such cell has a place of its own."""
        found = self._tiny[cells.words]
        if found.size and found.min() < 0:
            unknown = CellWords(np.unique(cells.words[found < 0]))
            self._tiny[unknown.words] = self.long.of_all(unknown.as_bytes())
            found = self._tiny[cells.words]
        return found

    def _found(self, known: _Slots, cells: CellWords) -> Codes:
        mixed = cells.mixed()
        found = known.numbers(cells, mixed)
        unknown = np.flatnonzero(found < 0)
        if unknown.size:  # those who get a slot are learnt, and with each all that are equal to it
            cells, mixed = cells.take(unknown), mixed[unknown]
            known.learn(cells, mixed, self.long.of_all)
            again = known.numbers(cells, mixed)
            rest = np.flatnonzero(again < 0)
            if rest.size:
                again[rest] = self.long.of_all(cells.take(rest).as_bytes())
            found[unknown] = again
        return found


class _Slots:
    """Cells that are known by number: each has one of its two slots, and a slot one cell."""

    def __init__(self) -> None:
        self._bits = FIRST_BITS
        self._cell = np.zeros(1 << self._bits, np.int32)
        # of each known cell; the first is none, which its number says
        self._number: Codes = np.full(64, -1, np.int32)
        self._mixed: Words = np.zeros(64, np.uint64)
        self._size: Ints = np.zeros(64, np.int64)
        self._first: Ints = np.zeros(64, np.int64)
        self._words: Words = np.zeros(64, np.uint64)  # of all of them, one cell after the other
        self._count, self._end = 1, 1

    def numbers(self, cells: CellWords, mixed: Words) -> Codes:
        """The number of each cell; -1 if it is not known."""
        found, same = self._in_slots(cells, self._slots(mixed, _SHIFTS[0]))
        if same.all():
            return found
        other = np.flatnonzero(~same)
        again, there = self._in_slots(cells.take(other), self._slots(mixed[other], _SHIFTS[1]))
        found[other] = np.where(there, again, np.int32(-1))
        return found

    def _slots(self, mixed: Words, shift: int) -> Ints:
        """The slot that each cell wants: some of its bits, from the highest on or further below."""
        return ((mixed << np.uint64(shift)) >> np.uint64(64 - self._bits)).view(np.int64)

    def _in_slots(self, cells: CellWords, slots: Ints) -> tuple[Codes, NDArray[np.bool_]]:
        """The number of the cell in each slot (-1: none), and whether it is the cell that is looked for."""
        cell = self._cell[slots]
        if cells.first is None:
            return self._number[cell], self._words[self._first[cell]] == cells.words
        size = np.diff(cells.first)
        same = self._size[cell] == size
        some = np.flatnonzero(same)
        if some.size:
            alike = cells if some.size == size.size else cells.take(some)
            same[some] = self._same_words(alike, self._first[cell[some]])
        return self._number[cell], same

    def _same_words(self, cells: CellWords, first: Ints) -> NDArray[np.bool_]:
        """Are the words of each cell those that are known from a place on?"""
        if cells.first is None:
            raise ValueError("these are cells of several words")
        places = np.arange(cells.words.size) + np.repeat(first - cells.first[:-1], np.diff(cells.first))
        found: NDArray[np.bool_] = np.logical_and.reduceat(
            self._words[places] == cells.words, cells.first[:-1]
        )
        return found

    def learn(self, cells: CellWords, mixed: Words, numbers_of: Callable[[list[bytes]], list[int]]) -> None:
        """Remember cells that are not known, one for each slot that is free, while more slots can be had."""
        while True:
            for shift in _SHIFTS:
                one = self._one_of_each_free(self._slots(mixed, shift))
                some = cells.take(one)
                self._keep(some, mixed[one], np.array(numbers_of(some.as_bytes()), np.int32), shift)
                rest = np.flatnonzero(self.numbers(cells, mixed) < 0)
                cells, mixed = cells.take(rest), mixed[rest]
                if not rest.size:
                    break
            if not self._more_slots() or not mixed.size:
                return

    def _one_of_each_free(self, slots: Ints) -> Ints:
        """Of those who want one slot, the last, if it is free."""
        free = np.flatnonzero(self._cell[slots] == 0)
        self._cell[slots[free]] = free
        last: Ints = free[self._cell[slots[free]] == free]
        self._cell[slots[free]] = 0
        return last

    def _keep(self, cells: CellWords, mixed: Words, numbers: Codes, shift: int) -> None:
        """Remember cells that want different slots, which are free."""
        size = np.ones(len(cells), np.int64) if cells.first is None else np.diff(cells.first)
        first = self._end + np.cumsum(size) - size
        start, self._count = self._count, self._count + len(cells)
        begin, self._end = self._end, self._end + cells.words.size
        self._number = _with(self._number, start, numbers)
        self._mixed = _with(self._mixed, start, mixed)
        self._size, self._first = _with(self._size, start, size), _with(self._first, start, first)
        self._words = _with(self._words, begin, cells.words)
        self._cell[self._slots(mixed, shift)] = np.arange(start, self._count)

    def _more_slots(self) -> bool:
        """Get more slots where there are few for what is known; cells get new ones, as far as these do."""
        bits = self._bits
        while (1 << bits) < SLOTS_FOR_EACH * self._count and bits < MOST_BITS:
            bits += 1
        if bits == self._bits:
            return False
        self._bits, self._cell = bits, np.zeros(1 << bits, np.int32)
        homeless = np.arange(1, self._count)
        for shift in _SHIFTS:
            slots = self._slots(self._mixed[homeless], shift)
            one = self._one_of_each_free(slots)
            self._cell[slots[one]] = homeless[one]
            homeless = np.delete(homeless, one)
        return True


def _with(array: NDArray[Kind], start: int, more: NDArray[Kind]) -> NDArray[Kind]:
    """An array with other things from a place on; twice as long, and again, until there is room."""
    while start + more.size > array.size:
        array = np.concatenate([array, array])
    array[start : start + more.size] = more
    return array


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
