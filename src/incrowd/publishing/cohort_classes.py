"""What a method does for a series: classes of some people as they are now, and what classes lose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import Algorithm, records_by_label
from incrowd.cohorts import NONE, Allowed, Ints
from incrowd.contracts import Promise
from incrowd.errors import Infeasible
from incrowd.flow import Codes, Microdata, Partition
from incrowd.generalize import generalize
from incrowd.long_work import silent
from incrowd.measures import published_from_regions
from incrowd.measures.loss import GlobalPenalty, MeasuredColumn

Floats = NDArray[np.float64]
DIGITS = 53  # bits of a float
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
        each = lost_by_classes(*self._shown(cohort, as_of)).tolist()
        return [Fraction(lost) / len(self.data.attributes) for lost in each]

    def mean_loss(self, cohort: Codes, as_of: Codes) -> Fraction:
        labels = cohort[cohort != NONE]
        if not labels.size:
            return NO_CLASS
        lost = lost_by_classes(*self._shown(cohort, as_of))
        return mean_of(lost, np.bincount(labels)) / len(self.data.attributes)

    def _shown(self, cohort: Codes, as_of: Codes) -> tuple[Microdata, Codes]:
        """Everybody's quasi-identifiers as of the date of their cohort, and the cohort of each."""
        people = np.flatnonzero(cohort != NONE)
        labels = cohort[people]
        rows = np.where(as_of[labels] == self.number, self.today[people], self.before[people])
        return self._columns.take(rows), labels

    @cached_property
    def _columns(self) -> Microdata:
        """The quasi-identifiers alone."""
        return Microdata(self.data.codes, self.data.attributes)


def lost_by_classes(data: Microdata, labels: NDArray[np.integer[Any]]) -> Floats:
    """The shares of their domains that the cells of each class cover, added up (g,): GCP times columns."""
    regions = generalize(data, Partition(labels.astype(np.int32)))
    shown = published_from_regions(regions, data.attributes)
    each = np.zeros(len(regions))
    for j, attribute in enumerate(data.attributes):
        column = MeasuredColumn(attribute, shown.cells[j], data, j)
        if len(attribute) > 1:
            each += GlobalPenalty().costs(column)[shown.cells[j].same[regions.cell[:, j]]]
    first = np.unique(labels, return_index=True)[1]
    found: Floats = each[regions.of[first]]
    return found


def mean_of(lost: Floats, people: Ints) -> Fraction:
    """The mean over all people of what their classes lose, without rounding.

    Examples
    --------
    >>> mean_of(np.array([0.5, 0.1]), np.array([1, 2])) == (Fraction(0.5) + 2 * Fraction(0.1)) / 3
    True
    """
    share, exponent = np.frexp(lost)
    whole = (share * 2.0**DIGITS).astype(np.int64)
    total = Fraction(0)
    for power in np.unique(exponent).tolist():
        some = exponent == power
        units = int((whole[some].astype(object) * people[some].astype(object)).sum())
        total += Fraction(units) * Fraction(2) ** (power - DIGITS)
    return total / int(people.sum())


def at_most(limit: Fraction) -> float:
    """The largest float that is at most a limit: whatever is more, is more than the limit.

    Examples
    --------
    >>> at_most(Fraction(1, 10)) < Fraction(1, 10) < np.nextafter(at_most(Fraction(1, 10)), 1)
    True
    """
    near = float(limit)
    return near if Fraction(near) <= limit else float(np.nextafter(near, -np.inf))
