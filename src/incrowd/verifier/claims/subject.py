"""What claims are checked against: both tables, equivalence classes of rows, and the consistency graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.schema import Claim, Column, Role, Schema
from incrowd.verifier.claims.buckets import OriginalValues
from incrowd.verifier.claims.consistency_graph import ConsistencyGraph
from incrowd.verifier.claims.join import JoinedPeople, PrivateCounts
from incrowd.verifier.columns import CodedColumn, Ints
from incrowd.verifier.csv_file import Codes
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
