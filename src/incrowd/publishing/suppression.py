"""Who is left out of a release: how many may be, and who of them should be.

Methods that make equivalence classes leave out whoever widens the rows of others most, if two-column tables
of the quasi-identifiers come clearly nearer to the truth; those who are left out are missing in these tables.
The choice looks at quasi-identifiers alone. Whoever knows them can make it again, so the release says how
many were left out. Where outliers are hidden (`plain`) sensitive values have a say, and even the number
would disclose that there is one: it is not told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import Algorithm, all_methods, method
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Microdata, Partition
from incrowd.generalize import generalize
from incrowd.long_work import Progress
from incrowd.measures import Combinations, published_from_regions, quasi_identifier_error, shrinkage
from incrowd.measures.totals import one_way_totals
from incrowd.measures.two_way import percent
from incrowd.models import KAnonymity, KPersons
from incrowd.models.series import SeriesK
from incrowd.policy import Policy
from incrowd.publishing.totals import totals
from incrowd.values import number_text

WITH_PLAIN = "0.05"  # of all records, where outliers are to be hidden and the policy says nothing
OF_SIZE = (KAnonymity.name, KPersons.name, SeriesK.name)  # models that look at no sensitive value
WORTH_IT = 0.99  # nobody is left out for less than a hundredth of the error
PARTS = (4, 2, 1)  # a quarter, a half and all of those who may be left out are tried

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Allowance:
    """The share of records that may be left out, as the manifest states it.

    With `hidden` nobody is told how many were.
    """

    share: str
    hidden: bool = False

    def most(self, records: int) -> int:
        return int(Fraction(self.share) * records)

    def to_dict(self, published: int, records: int) -> dict[str, object]:
        """What the manifest states about rows."""
        gone = None if self.hidden else records - published
        return {"published": published, "suppressed": gone, "max_suppression": self.share}


def leaves_out(recipe: type[Algorithm]) -> bool:
    """Can records be left out of what this method makes, without `plain`?

    Of classes, yes. With a randomized assignment, in buckets and with a public table everybody must have a
    row; what is transparent may not look at what a choice makes of the rows.
    """
    fixed = recipe.overlapping or recipe.buckets or recipe.joins or recipe.transparent
    return not (fixed or recipe.needs_plain)


def allowance_of(policy: Policy) -> Allowance | None:
    """How many may be left out; None where everybody must have a row."""
    said, plain = policy.privacy.max_suppression, policy.privacy.plain is not None
    if plain:
        return Allowance(WITH_PLAIN if said is None else number_text(Decimal(said)), hidden=True)
    if said is None or not Fraction(said):
        return None
    if not leaves_out(method(policy.method)):
        others = ", ".join(name for name, recipe in all_methods().items() if leaves_out(recipe))
        raise PolicyError(
            f"[privacy]: {policy.method} leaves nobody out, so max_suppression means nothing; leave it out, "
            f"or take one of {others}"
        )
    return Allowance(number_text(Decimal(said)))


@dataclass(frozen=True, slots=True)
class Saved:
    """What leaving out `left_out` of `records` changed, of whom `most` might be.

    ``error`` is E2 of the quasi-identifiers alone (`quasi_identifier_error`), ``without`` what it is if
    everybody has a row; None if then no release keeps the promise.
    """

    records: int
    most: int
    left_out: int
    error: float
    without: float | None

    @property
    def worse(self) -> bool:
        return self.without is not None and self.error > self.without

    def sentence(self) -> str:
        if not self.left_out:
            some = f"up to {self.most:,} of {self.records:,} records may be"
            return f"suppressed: nobody; {some}, and it would save nothing"
        gone = f"suppressed: {self.left_out:,} of {self.records:,} records"
        if self.without is None:
            return f"{gone}; with everybody in it nothing could be published"
        return (
            f"{gone}; in two-column tables of quasi-identifiers {percent(self.error)} of people stand in the "
            f"wrong cell, those who are left out counted; with everybody {percent(self.without)}"
        )

    def warning(self) -> str:
        return (
            f"leaving out {self.left_out:,} records makes this release worse: who is left out is chosen by "
            "quasi-identifiers and k alone, and classes that keep l or t gain nothing by it; leave out "
            "max_suppression"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "most": self.most,
            "left_out": self.left_out,
            "error": self.error,
            "without": self.without,
        }


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """The classes of those who are kept, and the error of their release."""

    kept: Ints
    partition: Partition
    error: float


Grouper = Callable[[Microdata], Partition]  # groups some records, or raises `Infeasible`


@dataclass(frozen=True, slots=True, eq=False)
class Suppression:
    """Leaves out up to `most` records of a table, where that brings two-column tables nearer to the truth.

    `by_size` groups records by their quasi-identifiers; it alone has a say in who is left out. `promised`
    groups with all that is promised, and may be the same. With a `floor` readers have totals, in lines of
    so many persons.
    """

    data: Microdata
    most: int
    by_size: Grouper
    promised: Grouper
    floor: int | None = None

    def chosen(self, progress: Progress) -> tuple[Partition, Saved]:
        """The groups of those who are kept, -1 for the others, and what it saves."""
        everyone = np.arange(len(self.data))
        full = self._tried(everyone, self.by_size)
        trials = [full]
        found = shrinkage(self.data, full.partition.labels)
        parts = sorted({self.most // part for part in PARTS} - {0})
        for number, budget in enumerate(parts, 1):
            kept = np.flatnonzero(~np.isin(found.of, _first(found, budget)))
            if kept.size < trials[-1].kept.size:
                trials += self._feasible(kept)
            progress(number / len(parts))
        worth = [trial for trial in trials if trial.error <= WORTH_IT * full.error]
        best = min(worth, key=lambda trial: (trial.error, -trial.kept.size), default=full)
        if self.promised is not self.by_size:
            return self._as_promised(best.kept)
        return self._everyone(best), self._saved(best, full)

    def _as_promised(self, kept: Ints) -> tuple[Partition, Saved]:
        """The same people with everything that is promised; values have no say in who they are."""
        n = len(self.data)
        try:
            made = self._tried(kept, self.promised)
        except Infeasible as problem:
            if kept.size == n:
                raise
            raise Infeasible(
                f"{problem}\nso it is without the {n - kept.size} records that max_suppression leaves out; "
                "with everybody it may be possible: leave out max_suppression"
            ) from None
        full: _Trial | None = None
        with suppress(Infeasible):
            full = made if kept.size == n else self._tried(np.arange(n), self.promised)
        return self._everyone(made), self._saved(made, full)

    def _tried(self, kept: Ints, grouper: Grouper) -> _Trial:
        some = self.data if kept.size == len(self.data) else self.data.take(kept)
        partition = grouper(some)
        shown = published_from_regions(generalize(some, partition), self.data.attributes)
        stated = None if self.floor is None else totals(some, self.floor)
        given = one_way_totals(stated, self.data.attributes)
        return _Trial(kept, partition, quasi_identifier_error(self.data, shown, given))

    def _feasible(self, kept: Ints) -> Iterable[_Trial]:
        try:
            return [self._tried(kept, self.by_size)]
        except Infeasible:  # too few are left, or too few persons
            return []

    def _everyone(self, trial: _Trial) -> Partition:
        """A partition of some records as one of all."""
        made, n = trial.partition, len(self.data)
        if trial.kept.size == n:
            return made
        labels = np.full(n, -1, np.int32)
        labels[trial.kept] = made.labels
        slabs = None
        if made.slabs is not None:
            slabs = np.zeros((n, made.slabs.shape[1]), np.int32)
            slabs[trial.kept] = made.slabs
        return Partition(labels, slabs, made.levels, tried=made.tried)

    def _saved(self, made: _Trial, full: _Trial | None) -> Saved:
        n = len(self.data)
        return Saved(n, self.most, n - made.kept.size, made.error, None if full is None else full.error)


def _first(found: Combinations, budget: int) -> list[int]:
    """The combinations that save others most, as many as there may be; all who share one, or nobody."""
    taken = []
    for combination in found.dearest():
        if found.records[combination] <= budget:
            taken.append(combination)
            budget -= int(found.records[combination])
        if not budget:
            break
    return taken
