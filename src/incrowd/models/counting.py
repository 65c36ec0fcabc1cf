"""How the values of a class are counted: in rows, or in persons.

Where persons have several rows, a promise about values must hold counted either way. In rows, every row
counts one: that is the chance of the value of a row. In persons, everybody has one vote in the whole table,
which their rows share evenly: nobody counts more for having more rows. Votes of two classes add up, so that
what merging keeps in rows, it keeps in persons. They are whole numbers of the least unit that parts a vote.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import Rule
from incrowd.flow import Codes, Microdata

SMALL = 2**30  # products of two numbers of votes below it fit into 64 bits
Counts = NDArray[Any]  # int64, or Python's whole numbers where these would overflow


def tally(codes: NDArray[np.integer], size: int) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
    """The distinct codes, ascending, and how often each occurs; all codes are below `size`.

    Linear for many codes. Few codes of a large domain are sorted instead, so that a small class never
    pays for values it does not hold. `codes` is overwritten.

    Examples
    --------
    >>> [part.tolist() for part in tally(np.array([7, 2, 7]), 1000)]
    [[2, 7], [1, 2]]
    """
    if codes.size >= size:
        counts = np.bincount(codes)
        (values,) = counts.nonzero()
        return values, counts.take(values)
    codes.sort()
    edge = np.empty(codes.size + 1, dtype=np.bool_)
    edge[0] = edge[-1] = True
    np.not_equal(codes[1:], codes[:-1], out=edge[1:-1])
    (at,) = edge.nonzero()
    return codes.take(at[:-1]), at[1:] - at[:-1]


def dense(codes: Codes) -> tuple[Codes, int]:
    """The same codes numbered without gaps, in the same order, and how many there are.

    Examples
    --------
    >>> dense(np.array([5, 0, 5], dtype=np.int32))
    (array([1, 0, 1], dtype=int32), 2)
    """
    seen = np.bincount(codes) > 0
    return (np.cumsum(seen, dtype=np.int32) - 1)[codes], int(np.count_nonzero(seen))


class Counting(Protocol):
    """Counts the values of one column in a class; values are 0..size-1."""

    @property
    def size(self) -> int: ...

    def count(self, rows: NDArray[np.int32]) -> tuple[NDArray[np.integer], Counts]:
        """The distinct values of these rows, ascending, and how much each counts."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class InRows:
    """Every row counts one."""

    codes: Codes
    size: int

    def count(self, rows: NDArray[np.int32]) -> tuple[NDArray[np.integer], Counts]:
        return tally(self.codes.take(rows), self.size)


@dataclass(frozen=True, slots=True, eq=False)
class InPersons:
    """Everybody has one vote, which their rows share: a row of somebody with c rows counts 1/c of a vote.

    ``pairs`` (n,) numbers value and c of each row; ``value`` and ``part`` are those of a pair, the part in
    units of which `unit` make a vote. Counting pairs first keeps sums short, whatever the unit.

    Examples
    --------
    >>> votes = InPersons.of(np.array([0, 1, 1]), 2, np.array([7, 7, 3]))
    >>> [part.tolist() for part in votes.count(np.arange(3))], votes.unit
    ([[0, 1], [1, 3]], 2)
    """

    pairs: Codes
    value: NDArray[np.int64]
    part: Counts
    size: int
    unit: int

    @classmethod
    def of(cls, codes: Codes, size: int, persons: Codes) -> InPersons:
        rows = np.bincount(persons)[persons]
        most = int(rows.max(initial=0)) + 1
        key, pairs = np.unique(codes.astype(np.int64) * most + rows, return_inverse=True)
        value, sizes = key // most, key % most
        unit = math.lcm(*map(int, np.unique(sizes)))
        small = unit * codes.size < SMALL
        part = np.array([unit // int(c) for c in sizes], np.int64 if small else object)
        return cls(pairs.astype(np.int32), value, part, size, unit)

    def count(self, rows: NDArray[np.int32]) -> tuple[NDArray[np.integer], Counts]:
        pairs, times = tally(self.pairs.take(rows), self.part.size)
        values = self.value.take(pairs)
        starts = np.flatnonzero(np.diff(values, prepend=-1))
        if not starts.size:
            return values, times
        return values.take(starts), np.add.reduceat(self.part.take(pairs) * times, starts)


@dataclass(frozen=True, slots=True, eq=False)
class BothWays:
    """The rule that a class keeps a promise counted in rows and counted in persons; `worse` takes the two."""

    in_rows: Rule
    in_persons: Rule
    worse: Callable[..., int | float | Fraction]

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return self.in_rows.allows(rows) and self.in_persons.allows(rows)

    def reached(self, rows: NDArray[np.int32]) -> int | float | Fraction:
        return self.worse(self.in_rows.reached(rows), self.in_persons.reached(rows))


def counted_both_ways(
    data: Microdata, codes: Codes, rule: Callable[[Counting], Rule], more_is_safer: bool
) -> Rule:
    """A rule about gapless `codes` (n,): in rows, and where persons have several rows in persons as well."""
    size = int(codes.max(initial=-1)) + 1
    in_rows = rule(InRows(codes, size))
    if data.entity is None:
        return in_rows
    in_persons = rule(InPersons.of(codes, size, data.entity))
    return BothWays(in_rows, in_persons, min if more_is_safer else max)
