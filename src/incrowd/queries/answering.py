"""Bounds and estimates of COUNT, SUM, AVG, MIN and MAX over rows that satisfy a predicate, or may.

Every row is about one person whose values lie in its cells. So a row is asked about for certain, perhaps, or
not. Where rows and values meet in groups only, a group has N rows, of which w are of people with the values
that are asked for, and nobody knows which: then some rows are taken by force, the others by choice, and
bounds come from the worst choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd.queries.columns import Flags, Floats, Wholes

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """Values of which some are taken for certain (`forced`) and more perhaps (`optional`), with how many."""

    value: Wholes
    forced: Ints
    optional: Ints

    @property
    def some(self) -> Flags:
        return (self.forced > 0) | (self.optional > 0)


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """Rows or lines that may be asked about, e of them.

    ``certain`` and ``count`` (e,) tell whether for certain, and how many there are of each. Where they meet
    in groups, ``group`` (e,) is theirs, at least ``least`` (g,) of a group are taken and at most ``most``.
    """

    count: Ints
    certain: Flags
    group: Ints | None = None
    least: Ints | None = None
    most: Ints | None = None

    def choose(self, value: Wholes, smallest: bool) -> Chosen:
        """What is taken if values are to be small, or large."""
        if self.group is None or self.least is None or self.most is None:
            forced = np.where(self.certain, self.count, 0)
            return Chosen(value, forced, self.count - forced)
        rank = np.unique(value if smallest else -value, return_inverse=True)[1].reshape(-1)
        order = np.lexsort((rank, self.group))
        forced = _first(self.least, self.group, np.where(self.certain, self.count, 0), order)
        optional = _first(self.most - self.least, self.group, self.count - forced, order)
        return Chosen(value, forced, optional)

    @property
    def bounds(self) -> tuple[int, int]:
        """How many are taken at least and at most."""
        if self.least is None or self.most is None:
            return int(self.count[self.certain].sum()), int(self.count.sum())
        return int(self.least.sum()), int(self.most.sum())


def _first(wanted: Ints, group: Ints, count: Ints, order: Ints) -> Ints:
    """Of each group the first so many, in the given order, which goes through one group after the other."""
    sorted_count, sorted_group = count[order], group[order]
    upto = np.cumsum(sorted_count)
    starts = np.flatnonzero(np.diff(sorted_group, prepend=-1))
    before_group = np.repeat(upto[starts] - sorted_count[starts], np.diff([*starts.tolist(), order.size]))
    before = upto - sorted_count - before_group
    taken = np.zeros(count.size, np.int64)
    taken[order] = np.clip(wanted[sorted_group] - before, 0, sorted_count)
    return taken


Bounds = tuple[int | Fraction, int | Fraction]


def sums(low: Chosen, high: Chosen) -> Bounds:
    """The least and the largest sum; of nobody it is 0."""
    least = _dot(low.forced, low.value) + _dot(low.optional, np.minimum(low.value, 0))
    most = _dot(high.forced, high.value) + _dot(high.optional, np.maximum(high.value, 0))
    return least, most


def averages(low: Chosen, high: Chosen) -> Bounds:
    """The least and the largest average, if there is any value."""
    least = _least_average(low)
    turned = _least_average(Chosen(-high.value, high.forced, high.optional))
    return least, -turned


def _least_average(chosen: Chosen) -> Fraction:
    """Take what lies below the average, until nothing does: each round it falls, and it has few values.

    References
    ----------
    Dinkelbach: On Nonlinear Fractional Programming, 1967.
    """
    forced = int(chosen.forced.sum())
    if not forced:
        return Fraction(int(chosen.value[chosen.optional > 0].min()))
    certain = _dot(chosen.forced, chosen.value)
    total, people = certain, forced
    while True:
        below = (chosen.value * people < total) & (chosen.optional > 0)
        more = certain + _dot(chosen.optional[below], chosen.value[below])
        others = forced + int(chosen.optional[below].sum())
        if more * people >= total * others:
            return Fraction(total, people)
        total, people = more, others


def smallest(low: Chosen, high: Chosen) -> Bounds:
    """Between which numbers the smallest value lies, if there is any."""
    certain = high.value[high.forced > 0]
    most = certain.min() if certain.size else high.value[high.some].max()
    return int(low.value[low.some].min()), int(most)


def largest(low: Chosen, high: Chosen) -> Bounds:
    """Between which numbers the largest value lies, if there is any."""
    certain = low.value[low.forced > 0]
    least = certain.max() if certain.size else low.value[low.some].min()
    return int(least), int(high.value[high.some].max())


BOUNDS: Mapping[str, Callable[[Chosen, Chosen], Bounds]] = {
    "SUM": sums,
    "AVG": averages,
    "MIN": smallest,
    "MAX": largest,
}


def _dot(count: Ints, value: Wholes) -> int:
    """A sum of products; values are small enough, or Python's own numbers."""
    return int((count * value).sum())


def weighted(aggregate: str, weight: Floats, middle: Floats) -> float | None:
    """The estimate: every value counts by its weight. None for MIN and MAX, and where nothing weighs."""
    # no dot product: its threads cost more than they save, and its last digits depend on them
    if aggregate == "SUM":
        return float((weight * middle).sum())
    total = float(weight.sum())
    return float((weight * middle).sum()) / total if aggregate == "AVG" and total else None
