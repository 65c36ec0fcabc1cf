"""Cells of a CSV file as numbers: the same number for the same bytes, found for a whole column at once.

A cell is taken as words of eight bytes, cells of as many words together. The words of a cell are mixed into
one number, which says in which of three slots the cell is remembered; there its words are compared in full,
so that cells that are mixed alike cost time and never a wrong number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]

WORD = 8  # bytes that fit into one number
TINY = 2  # bytes of a cell whose number stands in a table of all such cells
FIRST_BITS, MOST_BITS = 8, 21  # slots, as a power of two: at first, and at most
SLOTS_FOR_EACH = 4  # known cell, at least, while there may be more
_SHIFTS = (0, 21, 42)  # the slots of a cell: by its highest bits, and by those below
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


def words_at(text: NDArray[np.uint8], starts: Ints, length: Ints, width: int) -> Words:
    """The cells at some places of a text as so many words each: (n, width), the first byte lowest.

    Behind the text stands a word of NULs, and what is left of a cell's last word is NULs, too. No cell has a
    NUL in it, so equal words are equal cells.
    """
    size = WORD * width
    # Every place of the text, read as the bytes that start there: each cell is copied in one go.
    windows = np.ndarray((text.size - size + 1,), f"V{size}", text, strides=(1,))
    words: Words = windows[starts].view("<u8").reshape(-1, width)
    words[:, -1] &= _KEEP[length - (size - WORD)]
    return words


def mixed(words: Words) -> Words:
    """One number for each cell, in which all its bits have a say."""
    width = words.shape[1]
    found: Words = words[:, 0] * SPREAD if width == 1 else words @ _ODD[np.arange(width) % _ODD.size]
    found ^= found >> _HALF
    found *= SPREAD
    return found


def as_bytes(words: Words) -> list[bytes]:
    """What each cell holds: numpy leaves out the NULs at the end."""
    found: list[bytes] = words.astype("<u8", copy=False).view(f"S{WORD * words.shape[1]}").ravel().tolist()
    return found


class CellCoder:
    """Numbers the cells of one column, remembering them in slots: those of as many words together.

    A cell whose slots are all taken by others is looked up in `numbers` each time: slower, never wrong.
    """

    def __init__(self, numbers: TextNumbers) -> None:
        self.cells = _Cells(numbers)
        self._slots: dict[int, _Slots] = {}
        self._tiny = np.full(1 << (8 * TINY), -1, np.int32)

    @property
    def quoted(self) -> Bools:
        """Which numbers are of cells that need quotes."""
        return np.frombuffer(self.cells.quoted, np.bool_)

    def codes_at(self, text: NDArray[np.uint8], starts: Ints, length: Ints) -> Codes:
        """The number of each cell at some places of a text, behind which a word of NULs stands."""
        longest = int(length.max(initial=0))
        first = words_at(text, starts, np.minimum(length, WORD), 1)[:, 0]
        if longest <= WORD:
            return self.codes(first, longest)
        return self.codes_of_long(first, text, starts, length)

    def codes(self, words: Words, longest: int) -> Codes:
        """The number of each cell, none of which is longer than a word."""
        return self._found_at_once(words) if longest <= TINY else self._found(words[:, None])

    def codes_of_long(self, first: Words, text: NDArray[np.uint8], starts: Ints, length: Ints) -> Codes:
        """The number of each cell at some places of a text, behind which a word of NULs stands.

        Of each cell ``first`` is the first word.
        """
        widths = np.maximum((length + (WORD - 1)) // WORD, 1)
        count = np.bincount(widths)
        few = widths.astype(np.uint16) if count.size <= 2**16 else widths  # these are sorted far sooner
        order, ends, found = np.argsort(few, kind="stable"), np.cumsum(count), np.empty(length.size, np.int32)
        for width in np.flatnonzero(count).tolist():
            some = order[ends[width] - count[width] : ends[width]]
            words = first[some, None] if width == 1 else words_at(text, starts[some], length[some], width)
            found[some] = self._found(words)
        return found

    def _found_at_once(self, words: Words) -> Codes:
        """The number of each cell of at most two bytes: every such cell has a place of its own."""
        found = self._tiny[words]
        if found.size and found.min() < 0:
            unknown = np.unique(words[found < 0])
            self._tiny[unknown] = self.cells.of_all(as_bytes(unknown[:, None]))
            found = self._tiny[words]
        return found

    def _found(self, words: Words) -> Codes:
        """The number of each cell of some that have as many words."""
        known = self._slots.get(words.shape[1])
        if known is None:
            known = self._slots[words.shape[1]] = _Slots(words.shape[1])
        mix = mixed(words)
        found = known.numbers(words, mix)
        unknown = np.flatnonzero(found < 0)
        if unknown.size:
            found[unknown] = self._learnt(known, words.take(unknown, axis=0), mix[unknown])
        return found

    def _learnt(self, known: _Slots, words: Words, mix: Words) -> Codes:
        """The number of each cell that has no slot; one of each that are mixed alike gets one, if it can."""
        _, first, which = np.unique(mix, return_index=True, return_inverse=True)
        some = words.take(first, axis=0)
        if not (some.take(which, axis=0) == words).all():  # different ones are mixed alike
            return np.array(self.cells.of_all(as_bytes(words)), np.int32)
        numbers = np.array(self.cells.of_all(as_bytes(some)), np.int32)
        known.learn(some, mix[first], numbers)
        return numbers[which]


class _Slots:
    """Cells of so many words that are known by number: each has one of its slots, and a slot one cell."""

    def __init__(self, width: int) -> None:
        self._bits = FIRST_BITS
        self._cell = np.zeros(1 << self._bits, np.int32)
        # of each known cell; the first is none, which its number says
        self._number: Codes = np.full(1, -1, np.int32)
        self._mixed: Words = np.zeros(1, np.uint64)
        self._words: Words = np.zeros((1, width), np.uint64)
        self._count = 1

    def numbers(self, words: Words, mix: Words) -> Codes:
        """The number of each cell; -1 if it is not known."""
        found, same = self._in_slots(words, mix, _SHIFTS[0])
        left = np.flatnonzero(~same)
        for shift in _SHIFTS[1:]:
            if not left.size:
                break
            again, same = self._in_slots(words.take(left, axis=0), mix[left], shift)
            found[left] = np.where(same, again, np.int32(-1))
            left = left[~same]
        return found

    def _wanted(self, mix: Words, shift: int) -> Ints:
        """The slot that each cell wants: some of its bits, from the highest on or further below."""
        return ((mix << np.uint64(shift)) >> np.uint64(64 - self._bits)).view(np.int64)

    def _in_slots(self, words: Words, mix: Words, shift: int) -> tuple[Codes, Bools]:
        """The number of the cell in each slot (-1: none), and whether it is the cell that is looked for."""
        cell = self._cell[self._wanted(mix, shift)]
        if words.shape[1] == 1:
            return self._number[cell], self._words[:, 0][cell] == words[:, 0]
        same = self._mixed[cell] == mix
        some = np.flatnonzero(same)
        alike = words if some.size == same.size else words.take(some, axis=0)
        differ = self._words.take(cell[some], axis=0) != alike
        if differ.any():
            same[some] = ~differ.any(axis=1)
        return self._number[cell], same

    def learn(self, words: Words, mix: Words, numbers: Codes) -> None:
        """Remember different cells, each in one of its slots if one is free."""
        self._make_room(len(words))
        for shift in _SHIFTS:
            slots = self._wanted(mix, shift)
            one = self._one_of_each_free(slots)
            start, self._count = self._count, self._count + one.size
            self._number = _with(self._number, start, numbers[one])
            self._mixed = _with(self._mixed, start, mix[one])
            self._words = _with(self._words, start, words.take(one, axis=0))
            self._cell[slots[one]] = np.arange(start, self._count)
            if one.size == mix.size:
                return
            others = np.ones(mix.size, np.bool_)
            others[one] = False
            left = np.flatnonzero(others)
            words, mix, numbers = words.take(left, axis=0), mix[left], numbers[left]

    def _one_of_each_free(self, slots: Ints) -> Ints:
        """Of those who want one slot, the last, if it is free."""
        free = np.flatnonzero(self._cell[slots] == 0)
        self._cell[slots[free]] = free
        last: Ints = free[self._cell[slots[free]] == free]
        self._cell[slots[free]] = 0
        return last

    def _make_room(self, more: int) -> None:
        """Have slots for so many more; if there are more then, known cells get new ones."""
        bits = self._bits
        while (1 << bits) < SLOTS_FOR_EACH * (self._count + more) and bits < MOST_BITS:
            bits += 1
        if bits > self._bits:
            known = slice(1, self._count)
            cells = self._words[known].copy(), self._mixed[known].copy(), self._number[known].copy()
            self._bits, self._cell, self._count = bits, np.zeros(1 << bits, np.int32), 1
            self.learn(*cells)


def _with(array: NDArray[Kind], start: int, more: NDArray[Kind]) -> NDArray[Kind]:
    """An array with other things from a place on; twice as long, and again, until there is room."""
    while start + len(more) > len(array):
        array = np.concatenate([array, array])
    array[start : start + len(more)] = more
    return array


class _Cells:
    """Numbers cells by what they say; ``quoted[number]`` if it needs quotes."""

    def __init__(self, numbers: TextNumbers) -> None:
        self._numbers = numbers
        self.quoted = bytearray()

    def of_all(self, cells: Sequence[bytes]) -> list[int]:
        """The number of each; there is one at least."""
        joined = b"\0".join(cells)  # no cell has a NUL in it: such pieces are left to the csv module
        numbers = self._numbers.of_all(joined.decode().split("\0"))
        self.quoted.extend(bytes(max(0, max(numbers) + 1 - len(self.quoted))))
        if _SIGNS_TO_QUOTE.search(joined):
            for cell, number in zip(cells, numbers, strict=True):
                self.quoted[number] = _SIGNS_TO_QUOTE.search(cell) is not None
        return numbers
