"""What claims are checked against: both tables, equivalence classes of rows, and the consistency graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.schema import Claim, Column, Role, Schema
from incrowd.verifier.cell_coder import Codes
from incrowd.verifier.claims.buckets import OriginalValues
from incrowd.verifier.claims.consistency_graph import ConsistencyGraph
from incrowd.verifier.claims.join import JoinedPeople, PrivateCounts
from incrowd.verifier.columns import CodedColumn, Ints
from incrowd.verifier.domain import ColumnDomain
from incrowd.verifier.failure import require
from incrowd.verifier.truth import CodedTables
from incrowd.verifier.values import value


@dataclass(frozen=True, slots=True, eq=False)
class BothTables:
    """Both tables as numbers: for truth, and what else claims and means are about."""

    coded: CodedTables
    quasi: Mapping[str, CodedColumn]  # original
    entity: Codes | None  # original
    means: Mapping[str, CodedColumn]  # published
    sensitive: Mapping[str, CodedColumn]  # published in the rows
    bucketed: OriginalValues | None  # original, where values are published in buckets
    groups: CodedColumn | None  # published
    values: Mapping[str, CodedColumn]  # the same columns of the original, with the same numbers
    domains: Mapping[str, ColumnDomain]  # of each quasi-identifier
    cells: Mapping[str, Sequence[str]]  # published, each distinct one once
    counts: PrivateCounts | None = None  # published
    people: JoinedPeople | None = None  # of both tables, where a public one is joined

    @property
    def own(self) -> int:
        """How many records the original has."""
        return self.coded.record_private.size if self.people is None else self.people.own


@dataclass(frozen=True, slots=True, eq=False)
class EquivalenceClasses:
    """The class of each row, the size of each class in persons, and the sensitive texts of the rows.

    `owners` is there where a person may have several rows.
    """

    schema: Schema
    row_class: Ints
    persons: Ints
    sensitive: Mapping[str, CodedColumn]
    owners: Owners | None = None

    def column(self, claim: Claim) -> Column:
        """The sensitive column that a claim is about."""
        named = [column for column in self.schema.having(Role.SENSITIVE) if column.name == claim.column]
        require(len(named) == 1, "the claim does not name a sensitive column")
        return named[0]

    def values(self, claim: Claim) -> tuple[Ints, int]:
        """The value of each row in the claim's column, numbered in order, missing first; and how many."""
        codes, meaning = self.meanings(claim)
        place = {thing: place for place, thing in enumerate(sorted(set(meaning)))}
        ranks = np.array([place[thing] for thing in meaning], np.int64)
        return ranks[codes], len(place)

    def meanings(self, claim: Claim) -> tuple[Codes, list[tuple[int, Any]]]:
        """The text of each row in the claim's column as a number, and what each of these texts means."""
        column = self.column(claim)
        found = self.sensitive[column.name]
        return found.codes, [_meaning(column, text, self.schema.missing) for text in found.texts]

    def histogram(self, claim: Claim, group: Ints | None = None) -> Histogram:
        """The values of the claim's column in each class or other group, counted in rows."""
        return Histogram.of(self.row_class if group is None else group, *self.values(claim))

    def histograms(self, values: Ints, size: int) -> list[Histogram]:
        """Some values of the rows in each class: counted in rows, and in votes where persons have several."""
        found = [Histogram.of(self.row_class, values, size)]
        if self.owners is not None:
            found.append(Histogram.of_votes(self.row_class, values, size, self.owners.rows_of_owner))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """Whose row each is, and how many of the published rows its owner has.

    Where boxes overlap several records may fit a row. Unless it was `linked`, one of them was taken.
    """

    owner: Ints
    rows_of_owner: Ints
    linked: bool

    @classmethod
    def of(cls, entity: Codes | None, match: Ints, linked: bool) -> Owners | None:
        """`entity` is the person of each record, `match` the record of each row."""
        if entity is None:
            return None
        owner = entity[match].astype(np.int64)
        return cls(owner, np.bincount(owner)[owner], linked)

    @property
    def doubt(self) -> str:
        """What to say of persons who were counted by any assignment that fits."""
        return "" if self.linked else "; the links of the audit say whose row each is, and were not there"

    def largest(self, row_class: Ints) -> Ints:
        """How many rows of each class the person has who has most of them."""
        size = int(self.owner.max()) + 1
        pair, rows = np.unique(row_class * size + self.owner, return_counts=True)
        most = np.zeros(int(row_class.max()) + 1, np.int64)
        np.maximum.at(most, pair // size, rows)
        return most


@dataclass(frozen=True, slots=True, eq=False)
class ClaimSubject:
    """What a claim is checked against.

    `classes` are those of the rows or, where values are published in buckets, those of the buckets. `graph`
    joins records and rows that are consistent. `histories` are those of a series.
    """

    classes: EquivalenceClasses
    graph: ConsistencyGraph
    tables: BothTables
    histories: object = None


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """How much each value counts in each class: ``count[i]`` for ``value[i]`` in ``group[i]``.

    Sorted by group, then value; values are numbered 0..size-1 in an order that may have a meaning. Counts are
    rows; or votes, whole numbers of Python in the least unit that divides one.
    """

    group: Ints
    value: Ints
    count: NDArray[Any]
    size: int

    @classmethod
    def of(cls, groups: Ints, values: Ints, size: int) -> Histogram:
        key, count = np.unique(groups * size + values, return_counts=True)
        return cls(key // size, key % size, count.astype(np.int64), size)

    @classmethod
    def of_votes(cls, groups: Ints, values: Ints, size: int, rows_of_owner: Ints) -> Histogram:
        """Everybody has one vote, which all their rows share: one in c rows of somebody counts 1/c."""
        unit = math.lcm(*np.unique(rows_of_owner).tolist())
        most = int(rows_of_owner.max()) + 1
        key, times = np.unique((groups * size + values) * most + rows_of_owner, return_counts=True)
        pairs = zip((key % most).tolist(), times.tolist(), strict=True)
        votes = [unit // rows * often for rows, often in pairs]
        kind, place = np.unique(key // most, return_inverse=True)
        return cls(kind // size, kind % size, sums_of(place, np.array(votes, object), kind.size), size)

    @property
    def rows(self) -> NDArray[Any]:
        """The size of each class."""
        return sums_of(self.group, self.count, len(self))

    @property
    def total(self) -> NDArray[Any]:
        """How much each value counts in the whole table."""
        return sums_of(self.value, self.count, self.size)

    def __len__(self) -> int:
        return int(self.group[-1]) + 1


def sums_of(place: Ints, amount: NDArray[Any], size: int) -> NDArray[Any]:
    """The exact sum of what is at each place."""
    found = np.zeros(size, amount.dtype)
    np.add.at(found, place, amount)
    return found


def _meaning(column: Column, text: str, missing: frozenset[str]) -> tuple[int, Any]:
    """What sorts and tells apart the values of a column; all texts that mean missing are one value."""
    if text not in missing:
        return (1, value(column, text))
    named = [place for place, value in enumerate(column.order) if value in missing]
    return (1, named[0]) if named else (0, "")
