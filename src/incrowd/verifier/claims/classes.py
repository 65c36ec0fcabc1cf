"""Claims about equivalence classes: k-anonymity and l-diversity, counted in whole numbers and fractions.

An equivalence class is the set of rows with the same generalized texts. Texts that mean one value (1 and 1.0
in a column of numbers) are one value; missing is a value like any other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.schema import Claim, Column, Role, Schema
from incrowd.verifier.columns import CodedColumn, Ints
from incrowd.verifier.failure import decimal, require, whole
from incrowd.verifier.values import value

if TYPE_CHECKING:
    from incrowd.verifier.claims.consistency_graph import ConsistencyGraph
    from incrowd.verifier.tables import BothTables

CLOSE = 1e-7  # logarithms decide only what is farther from the limit than this


@dataclass(frozen=True, slots=True, eq=False)
class EquivalenceClasses:
    """The class of each row, the size of each class in persons, and the sensitive texts of the rows."""

    schema: Schema
    row_class: Ints
    persons: Ints
    sensitive: Mapping[str, CodedColumn]

    def column(self, claim: Claim) -> Column:
        """The sensitive column that a claim is about."""
        named = [column for column in self.schema.having(Role.SENSITIVE) if column.name == claim.column]
        require(len(named) == 1, "the claim does not name a sensitive column")
        return named[0]

    def histogram(self, claim: Claim, group: Ints | None = None) -> Histogram:
        """The values of the claim's column in their order, missing first, in each class or other group."""
        column = self.column(claim)
        found = self.sensitive[column.name]
        meaning = [_meaning(column, text, self.schema.missing) for text in found.texts]
        place = {thing: place for place, thing in enumerate(sorted(set(meaning)))}
        ranks = np.array([place[thing] for thing in meaning], np.int64)
        return Histogram.of(self.row_class if group is None else group, ranks[found.codes], len(place))


@dataclass(frozen=True, slots=True, eq=False)
class ClaimSubject:
    """What a claim is checked against.

    `classes` are those of the rows or, where values are published in buckets, those of the buckets. `graph`
    joins records and rows that are consistent. `parts` are what a witness says of the part of each row; they
    are never trusted.
    """

    classes: EquivalenceClasses
    graph: ConsistencyGraph
    tables: BothTables
    parts: NDArray[np.integer] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """How often each value occurs in each class: ``count[i]`` times ``value[i]`` in ``group[i]``.

    Sorted by group, then value; values are numbered 0..size-1 in an order that may have a meaning.
    """

    group: Ints
    value: Ints
    count: Ints
    size: int

    @classmethod
    def of(cls, groups: Ints, values: Ints, size: int) -> Histogram:
        key, count = np.unique(groups * size + values, return_counts=True)
        return cls(key // size, key % size, count.astype(np.int64), size)

    @property
    def rows(self) -> Ints:
        """The size of each class."""
        return np.bincount(self.group, self.count).astype(np.int64)

    @property
    def total(self) -> Ints:
        """How often each value occurs in the whole table."""
        return np.bincount(self.value, self.count, minlength=self.size).astype(np.int64)

    def __len__(self) -> int:
        return int(self.group[-1]) + 1


def _meaning(column: Column, text: str, missing: frozenset[str]) -> tuple[int, Any]:
    """What sorts and tells apart the values of a column; all texts that mean missing are one value."""
    if text not in missing:
        return (1, value(column, text))
    named = [place for place, value in enumerate(column.order) if value in missing]
    return (1, named[0]) if named else (0, "")


def k_anonymity(claim: Claim, subject: ClaimSubject) -> int:
    """Every class has at least k persons; with k-join-anonymity, of either table."""
    return smallest(claim, subject, "equivalence class")


def smallest(claim: Claim, subject: ClaimSubject, what: str) -> int:
    """The size of the smallest class, which must be at least k."""
    require(not claim.column, f"{claim.model} is about all rows, not about one column")
    found = int(subject.classes.persons.min())
    require(found >= whole(claim, "k"), f"the smallest {what} has {found}")
    return found


def distinct_diversity(claim: Claim, subject: ClaimSubject) -> int:
    """Every class has at least l different values."""
    reached = int(np.bincount(subject.classes.histogram(claim).group).min())
    require(reached >= whole(claim, "l"), f"one class has only {reached} different values")
    return reached


def frequency_diversity(claim: Claim, subject: ClaimSubject) -> int:
    """No value makes up more than 1/l of a class."""
    found = subject.classes.histogram(claim)
    most = np.zeros(len(found), np.int64)
    np.maximum.at(most, found.group, found.count)
    reached = int((found.rows // most).min())
    require(
        reached >= whole(claim, "l"), f"in one class more than one in {reached + 1} rows has the same value"
    )
    return reached


def entropy_diversity(claim: Claim, subject: ClaimSubject) -> str:
    """The entropy of every class is at least log l: nⁿ ≥ lⁿ · ∏ cᶜ for counts c of its n rows."""
    limit = decimal(claim, "l")
    require(limit >= 1, "l is less than 1")
    found = subject.classes.histogram(claim)
    rows, logs = found.rows, found.count * np.log(found.count)
    entropy = np.log(rows) - np.bincount(found.group, logs) / rows
    margin = entropy - math.log(limit)
    near = np.flatnonzero(np.abs(margin) <= CLOSE)
    starts = np.searchsorted(found.group, near), np.searchsorted(found.group, near, side="right")
    fair = all(_enough_entropy(found.count[a:b].tolist(), limit) for a, b in zip(*starts, strict=True))
    worst = f"{math.floor(math.exp(float(entropy.min())) * 1e4 + CLOSE) / 1e4:.4f}"
    require(fair and not (margin < -CLOSE).any(), f"one class reaches only {worst}")
    return worst


def _enough_entropy(counts: list[int], limit: Fraction) -> bool:
    n = sum(counts)
    taken = math.prod(count**count for count in counts)
    return bool(n**n * limit.denominator**n >= limit.numerator**n * taken)


def recursive_diversity(claim: Claim, subject: ClaimSubject) -> str:
    """In every class r₁ < c · (r_l + … + r_m), for counts r from the most to the least frequent value."""
    c, place = decimal(claim, "c"), whole(claim, "l")
    found = subject.classes.histogram(claim)
    order = np.lexsort((-found.count, found.group))
    group, count = found.group[order], found.count[order]
    first = np.searchsorted(group, np.arange(len(found)))
    tail = np.where(np.arange(group.size) - first[group] >= place - 1, count, 0)
    tails = np.bincount(group, tail).astype(np.int64).tolist()
    pairs = set(zip(count[first].tolist(), tails, strict=True))
    require(
        all(top < c * rest for top, rest in pairs), "in one class the most frequent value is too frequent"
    )
    worst = max(Fraction(top, rest) for top, rest in pairs)
    return rounded_up(worst)


def rounded_up(share: Fraction) -> str:
    """With four decimal places.

    Examples
    --------
    >>> rounded_up(Fraction(1, 3))
    '0.3334'
    """
    return f"{math.ceil(share * 10**4) / 10**4:.4f}"
