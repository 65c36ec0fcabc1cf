"""What a method does for a series: classes of some people as they are now, and what classes lose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import Algorithm
from incrowd.cohorts import NONE, Allowed, Ints
from incrowd.contracts import Promise
from incrowd.errors import Infeasible
from incrowd.flow import Codes, Microdata, Partition, records_by_label
from incrowd.generalize import generalize
from incrowd.long_work import silent
from incrowd.measures import published_from_regions
from incrowd.measures.loss import GlobalPenalty, MeasuredColumn

NO_CLASS = Fraction(1)  # what the first classes are compared with: no class loses more


@dataclass(frozen=True, slots=True, eq=False)
class _Past:
    """The guard that people, records of a table, may be torn from others of their history."""

    people: Ints
    allowed: Allowed

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return self.allowed(np.sort(self.people[rows]))


@dataclass(frozen=True, eq=False)
class CohortClasses:
    """A method over the rows of today (``today[p]`` is the row of person p) and those of the last release.

    Both are in one table, ``data``, so that losses are of one domain. Whoever has no such row has -1.
    """

    data: Microdata
    algorithm: Algorithm
    promised: Sequence[Promise]
    today: Ints
    before: Ints
    number: int

    def parts(self, people: Ints, least: int, allowed: Allowed | None) -> list[Ints]:
        some = self.data.take(self.today[people])
        guards = tuple(guard for promise in self.promised for guard in promise.guards(some))
        if allowed is not None:
            guards += (_Past(people, allowed),)
        try:
            found = replace(self.algorithm, k=least).group(some, guards, silent)
        except Infeasible:
            return [people]
        if not isinstance(found, Partition) or (found.labels < 0).any():
            raise TypeError("a method of a series makes classes of everybody")
        return [np.sort(people[rows]) for rows in records_by_label(found.labels)]

    def outermost_first(self, people: Ints) -> Ints:
        """By their distance from the middle of each column, as a share of its domain."""
        if not people.size:
            return people
        codes = self.data.codes[self.today[people]]
        far = np.zeros(people.size)
        for j, attribute in enumerate(self.data.attributes):
            where = attribute.position[codes[:, j]]
            far += np.abs(where - np.sort(where)[where.size // 2]) / max(
                float(np.ptp(attribute.position)), 1.0
            )
        return people[np.argsort(-far, kind="stable")]

    def losses(self, cohort: Codes, as_of: Codes) -> list[Fraction]:
        people = np.flatnonzero(cohort != NONE)
        labels = cohort[people]
        rows = np.where(as_of[labels] == self.number, self.today[people], self.before[people])
        return self._losses(rows, labels)

    def mean_loss(self, cohort: Codes, as_of: Codes) -> Fraction:
        labels = cohort[cohort != NONE]
        if not labels.size:
            return NO_CLASS
        lost = zip(self.losses(cohort, as_of), np.bincount(labels).tolist(), strict=True)
        return sum((loss * people for loss, people in lost), Fraction(0)) / int(labels.size)

    def _losses(self, rows: Ints, labels: Codes) -> list[Fraction]:
        """What each class loses: the mean share of the domain that its cells cover (GCP)."""
        some = self._columns.take(rows)
        regions = generalize(some, Partition(labels.astype(np.int32)))
        shown = published_from_regions(regions, some.attributes)
        each = np.zeros(len(regions))
        for j, attribute in enumerate(some.attributes):
            column = MeasuredColumn(attribute, shown.cells[j], some.codes[:, j])
            if len(attribute) > 1:
                each += GlobalPenalty().costs(column)[shown.cells[j].same[regions.cell[:, j]]]
        first = np.unique(labels, return_index=True)[1]
        return [Fraction(float(each[region])) / len(some.attributes) for region in regions.of[first].tolist()]

    @cached_property
    def _columns(self) -> Microdata:
        """The quasi-identifiers alone."""
        return Microdata(self.data.codes, self.data.attributes)
