"""The answer to a query: bounds and estimates of COUNT, SUM, AVG, MIN and MAX, and what they assume.

Every row is about one person whose values lie in its cells. So a row is asked about for certain, perhaps, or
not. Where rows and values meet in groups only, a group has N rows, of which w are of people with the values
that are asked for, and nobody knows which: then some rows are taken by force, the others by choice, and
bounds come from the worst choices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.queries.columns import Flags, Floats, Wholes
from incrowd.results import Result, Row

Bound = int | Fraction | date


@dataclass(frozen=True, repr=False)
class Answer(Result):
    """An aggregate: certain bounds, and an estimate with what it takes for granted.

    ``lower`` and ``upper`` hold for every table that the release may be about; None is unknown. ``nobody``
    says whether it may be that no known value is asked about: then SUM is 0, and AVG, MIN and MAX, which
    are NULL, have bounds for the case that there is one. ``estimate`` is None where nothing can be taken
    for granted; ``assumption`` says what was, or why nothing. ``matches`` says that no region is cut: how
    many people are asked about is certain. ``rows`` is how many rows may be theirs, ``about`` whom the
    answer speaks of. ``interval`` is where a count lies in about 95 of 100 queries (`intervals`), None where
    there is no such. ``hints`` name values that the release does not, and what was probably meant.
    ``groups`` has an answer for each value of the column ``by``, that of GROUP BY.
    """

    aggregate: str
    lower: Bound | None
    upper: Bound | None
    estimate: float | None
    assumption: str
    matches: bool
    nobody: bool
    rows: int
    about: str
    interval: tuple[float, float] | None = None
    hints: tuple[str, ...] = ()
    by: str = ""
    groups: Mapping[str, Answer] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """Is the answer certain?"""
        return self.lower is not None and self.lower == self.upper and not (self.nobody and self._needs_one)

    @property
    def _needs_one(self) -> bool:
        return self.aggregate in ("AVG", "MIN", "MAX")

    @property
    def exact_groups(self) -> int:
        """Of how many groups the answer is certain."""
        return sum(answer.exact for answer in self.groups.values())

    def headline(self) -> str:
        hints = "".join(f"; {hint}" for hint in self.hints)
        if self.by:
            return f"{self.aggregate} by {self.by}: {self.grouped()}{hints}"
        return self._alone() + hints

    def grouped(self) -> str:
        """How many groups there are, and how many answers are certain."""
        size, certain = len(self.groups), self.exact_groups
        if not size:
            return "no value of it fits the condition"
        words = (
            "all of them" if certain == size else "none of them" if not certain else f"{certain:,} of them"
        )
        if size == 1:
            return f"1 group, {'exact' if certain else 'not exact'}"
        return f"{size:,} groups, {words} exact"

    def _alone(self) -> str:
        if self.exact:
            return f"{self.aggregate} is exactly {exact_text(self.lower)}"
        if self.lower is None or self.upper is None:
            return f"{self.aggregate} is unknown"
        guess = "" if self.estimate is None else f", estimated {self.estimate:,.4g}"
        return f"{self.aggregate} is from {exact_text(self.lower)} to {exact_text(self.upper)}{guess}"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        answers = self.groups or {"": self}
        rows = (
            (
                value,
                exact_text(one.lower),
                exact_text(one.upper),
                one.estimate,
                "" if one.interval is None else "{:,.1f} to {:,.1f}".format(*one.interval),
            )
            for value, one in answers.items()
        )
        return (self.by or "value", "at least", "at most", "estimate", "95 % interval"), rows

    def to_dict(self) -> dict[str, Any]:
        """In words that JSON knows: fractions and days are texts."""
        found: dict[str, Any] = {
            "aggregate": self.aggregate,
            "lower": exact_text(self.lower),
            "upper": exact_text(self.upper),
            "estimate": self.estimate,
            "interval": None if self.interval is None else list(self.interval),
            "assumption": self.assumption,
            "exact": self.exact,
            "matches": self.matches,
            "nobody": self.nobody,
            "rows": self.rows,
            "about": self.about,
            "hints": list(self.hints),
        }
        groups = [{"value": value, **answer.to_dict()} for value, answer in self.groups.items()]
        return {**found, **({"by": self.by, "groups": groups} if self.by else {})}


def exact_text(bound: Bound | None) -> int | str | None:
    """A bound for JSON.

    Examples
    --------
    >>> exact_text(Fraction(73, 2)), exact_text(Fraction(4)), exact_text(None)
    ('73/2', 4, None)
    """
    if isinstance(bound, date):
        return bound.isoformat()
    if isinstance(bound, Fraction):
        return int(bound) if bound.denominator == 1 else str(bound)
    return bound


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
