"""The ranks that published cells hold, of all distinct cells of a column at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.verifier.columns import Bools, Ints

MISSING_RANK = 0
MOST_BITS = 2**29  # of a bitmap: 64 MB
_WORD = 64


@dataclass(frozen=True, slots=True)
class CellRegion:
    """What one cell holds: ranks low..high, or only `members` of them; and missing or not."""

    low: int
    high: int
    missing: bool = False
    members: frozenset[int] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ListedSets:
    """Sets among the cells: cell ``places[i]`` lists ``ranks[starts[i]:starts[i+1]]``, in the order written.

    ``atoms`` are the texts that were taken for these ranks.
    """

    places: Ints
    starts: Ints
    ranks: Ints
    atoms: frozenset[str]

    def others(self, count: int) -> Ints:
        """The places of the cells that are not listed here, if there are so many."""
        listed = np.zeros(count + self.places.size, np.bool_)
        listed[self.places] = True
        return np.flatnonzero(~listed)

    @property
    def owner(self) -> Ints:
        """The place of the cell of each rank."""
        return np.repeat(self.places, np.diff(self.starts))

    def ends(self) -> tuple[Ints, Ints]:
        """The smallest and the largest rank of each."""
        begin = self.starts[:-1]
        return np.minimum.reduceat(self.ranks, begin), np.maximum.reduceat(self.ranks, begin)


@dataclass(frozen=True, slots=True, eq=False)
class CellRegions:
    """The regions of a column's distinct cells, for looking up many at once."""

    low: Ints
    high: Ints
    missing: Bools
    spread: Bools  # is the region a set, whose members are in `keys`?
    keys: Ints  # cell * size + rank, ascending
    size: int
    bitmap: Bitmap | None = None  # of the keys; None if there are none, or it would be too large

    @classmethod
    def of(cls, found: Sequence[CellRegion], sets: ListedSets, size: int) -> CellRegions:
        """Regions in a domain of so many ranks: of sets, and of all other cells, which were read singly."""
        others = sets.others(len(found))
        n = len(found) + sets.places.size
        (low, high), missing, spread = np.empty((2, n), np.int64), np.zeros(n, np.bool_), np.ones(n, np.bool_)
        low[others], high[others] = [r.low for r in found], [r.high for r in found]
        missing[others], spread[others] = [r.missing for r in found], [r.members is not None for r in found]
        if sets.places.size:
            low[sets.places], high[sets.places] = sets.ends()
        by_place = zip(others.tolist(), found, strict=True)
        members = (at * size + rank for at, region in by_place for rank in region.members or ())
        keys = np.concatenate([np.fromiter(members, np.int64), sets.owner * size + sets.ranks])
        keys.sort()
        return cls(low, high, missing, spread, keys, size, Bitmap.of(keys, n * size))

    def hold(self, cells: Ints, ranks: Ints) -> Bools:
        """Does cell i hold rank i? (cells may be fewer, if they stand beside ranks as numpy broadcasts)"""
        inside: Bools = (self.low[cells] <= ranks) & (ranks <= self.high[cells])
        if self.keys.size:
            inside &= ~self.spread[cells] | self._lists(cells, ranks)
        inside |= self.missing[cells] & (ranks == MISSING_RANK)
        return inside

    def meet(self, cells: Ints, first: Ints, last: Ints) -> Bools:
        """Does cell i hold one of the ranks first[i]..last[i]?"""
        found: Bools = np.maximum(self.low[cells], first) <= np.minimum(self.high[cells], last)
        sets = self._sets_among(cells)
        found[sets] = self._members(cells[sets], first[sets], last[sets]) > 0
        found |= self.missing[cells] & (first == MISSING_RANK)
        return found

    def contain(self, cells: Ints, first: Ints, last: Ints) -> Bools:
        """Does cell i hold all of the ranks first[i]..last[i]?"""
        real = np.where(self.missing[cells], np.maximum(first, MISSING_RANK + 1), first)
        all_of: Bools = (self.low[cells] <= real) & (last <= self.high[cells])
        sets = self._sets_among(cells)
        all_of[sets] = self._members(cells[sets], real[sets], last[sets]) == last[sets] - real[sets] + 1
        return all_of | (real > last)

    def _sets_among(self, cells: Ints) -> Ints:
        return np.flatnonzero(self.spread[cells]) if self.keys.size else np.empty(0, np.int64)

    def _lists(self, cells: Ints, ranks: Ints) -> Bools:
        """Does set i list rank i?"""
        if self.bitmap is not None:
            return self.bitmap.holds(cells * self.size + ranks)
        return self._members(cells, ranks, ranks) > 0

    def _members(self, cells: Ints, first: Ints, last: Ints) -> Ints:
        """How many of the ranks first[i]..last[i] set i lists."""
        return self._below(cells * self.size + last + 1) - self._below(cells * self.size + first)

    def _below(self, numbers: Ints) -> Ints:
        """How many keys are below each number."""
        return np.searchsorted(self.keys, numbers) if self.bitmap is None else self.bitmap.below(numbers)


@dataclass(frozen=True, slots=True, eq=False)
class Bitmap:
    """A set of numbers: bit i of ``words[w]`` stands for 64 w + i, ``before[w]`` counts those below 64 w.

    It is far smaller than a list of counts, and far quicker than searching.
    """

    words: NDArray[np.uint64]
    before: Ints

    @classmethod
    def of(cls, keys: Ints, size: int) -> Bitmap | None:
        """Of ascending numbers below `size`; None if there are none, or the bitmap would be too large.

        Examples
        --------
        >>> found = Bitmap.of(np.array([3, 64, 70]), 80)
        >>> found.holds(np.array([3, 4, 64])).tolist(), found.below(np.array([3, 4, 70, 80])).tolist()
        ([True, False, True], [0, 1, 2, 3])
        """
        if not keys.size or size > MOST_BITS:
            return None
        words = np.zeros(size // _WORD + 1, np.uint64)
        np.bitwise_or.at(words, keys // _WORD, np.uint64(1) << (keys % _WORD).astype(np.uint64))
        counts = np.bitwise_count(words).astype(np.int64)
        return cls(words, np.cumsum(counts) - counts)

    def holds(self, numbers: Ints) -> Bools:
        """Which of these numbers are in the set?"""
        bit = self.words[numbers // _WORD] >> (numbers % _WORD).astype(np.uint64)
        return (bit & np.uint64(1)).astype(np.bool_)

    def below(self, numbers: Ints) -> Ints:
        """How many of the set are below each number."""
        word = numbers // _WORD
        lower = (np.uint64(1) << (numbers % _WORD).astype(np.uint64)) - np.uint64(1)
        return self.before[word] + np.bitwise_count(self.words[word] & lower)
