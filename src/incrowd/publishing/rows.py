"""Rows before they are written: who shares one, and who is behind which.

Who shares a row is the algorithm's answer, after some were left out for the others and groups with outliers
were repaired. Who is behind which row is drawn by chance, as evenly as the rows allow. Rows of equivalence
classes are shuffled. Non-homogeneous rows need more: an assignment in which nobody is behind any row with
more than chance 1/k exists if and only if the consistency graph has a k-factor. Neighbourhoods that were made
k-regular are one, and no graph is needed to see it; others are refused where they have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd import assign
from incrowd.algorithms.base import Algorithm, check_feasible, records_by_label
from incrowd.algorithms.outliers.repair import repaired
from incrowd.assign import system
from incrowd.contracts import Guard, Plainness, Promise
from incrowd.errors import Exposure, Infeasible, NotVerified, TableError
from incrowd.flow import Assignment, Microdata, Neighbourhoods, Partition, Regions
from incrowd.graph import Graph, consistency, factor, lambda_star
from incrowd.long_work import Watch, silent
from incrowd.measures import published_from_regions
from incrowd.models.k_anonymity import KFactor
from incrowd.policy.exposures import UNSAFE_MATCHES, UNSAFE_ONE_SIDED
from incrowd.publishing.request import Request
from incrowd.publishing.suppression import OF_SIZE, Allowance, Saved, Suppression

K_FACTOR = KFactor.name


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """The groups of records; `saved` says what was gained where a choice was made who is left out."""

    found: Partition | Neighbourhoods
    saved: Saved | None = None


def grouped(
    everyone: Microdata,
    algorithm: Algorithm,
    promised: Sequence[Promise],
    watch: Watch,
    private: Microdata | None = None,
    allowed: Allowance | None = None,
    totals: bool = False,
) -> Grouping:
    """Run the algorithm; groups that would disclose outliers are repaired where that is promised.

    Promises are about everyone, or about the people of the `private` table. Where records may be left out,
    and the algorithm does not do that by itself, those are who cost the others most, as readers see it who
    have `totals` or not.
    """
    whom = everyone if private is None else private
    guards = _guards(promised, whom)
    plain = next((guard for guard in guards if isinstance(guard, Plainness)), None)
    if allowed is not None and plain is None and not algorithm.suppresses:
        progress, most = watch("suppress"), allowed.most(len(everyone))
        return Grouping(*_choice(everyone, algorithm, promised, most, totals).chosen(progress))
    found = algorithm.group(everyone, guards, watch("group"))
    if isinstance(found, Partition) and algorithm.suppresses:
        _check_kept(found, everyone, promised)
    if plain is None or isinstance(found, Neighbourhoods):
        return Grouping(found)
    mended = repaired(found, everyone, plain, guards, algorithm.k, watch("repair"))
    return Grouping(replace(mended, tried=found.tried))


def check_suppressed(found: Partition | Neighbourhoods, allowed: Allowance | None) -> None:
    """Refuse a grouping that leaves out more records than may be."""
    records = found.labels.size
    gone, most = records - found.kept.size, 0 if allowed is None else allowed.most(records)
    if gone == records:
        raise Infeasible(f"nothing can be published: all {records} records would have to be suppressed")
    if gone > most:
        share = "none" if allowed is None else f"max_suppression = {allowed.share}, {most} of {records}"
        raise Infeasible(
            f"{gone} of {records} records would have to be suppressed, and {share} may be; raise "
            "max_suppression, ask for less, or try another method"
        )


def _check_kept(found: Partition, everyone: Microdata, promised: Sequence[Promise]) -> None:
    """Values are promised as readers count them: in the published rows, without who was suppressed."""
    kept = found.kept
    if kept.size in (0, len(everyone)):
        return
    guards = _guards(promised, everyone.take(kept))
    for rows in records_by_label(found.of_kept().labels):
        if not all(guard.allows(rows.astype(np.int32)) for guard in guards):
            raise Infeasible(
                "without the suppressed records one equivalence class keeps less than asked for; lower "
                "max_suppression, or ask for less"
            )


def _guards(promised: Sequence[Promise], whom: Microdata) -> tuple[Guard, ...]:
    return tuple(guard for model in promised for guard in model.guards(whom))


def _choice(
    everyone: Microdata, algorithm: Algorithm, promised: Sequence[Promise], most: int, totals: bool
) -> Suppression:
    of_size = [model for model in promised if model.name in OF_SIZE]

    def by(models: Sequence[Promise], some: Microdata) -> Partition:
        check_feasible(models, some)
        found = algorithm.group(some, _guards(models, some), silent)
        if not isinstance(found, Partition):
            raise TypeError("only of equivalence classes records can be left out")
        return found

    def by_size(some: Microdata) -> Partition:
        return by(of_size, some)

    def as_promised(some: Microdata) -> Partition:
        return by(promised, some)

    values_matter = len(of_size) < len(promised)
    floor = algorithm.k if totals else None
    return Suppression(everyone, most, by_size, as_promised if values_matter else by_size, floor)


@dataclass(frozen=True)
class MatchProbability:
    """The largest probability of a match: of the assignment as it was drawn, and the least that any has.

    ``least`` is None where a k-factor is claimed: then 1/k is what is promised, and kept by construction. To
    find how far below it rows happen to lie takes the whole consistency graph.
    """

    drawn: Fraction
    least: Fraction | None = None

    def to_dict(self) -> dict[str, str]:
        least = {} if self.least is None else {"least": str(self.least)}
        return {"drawn": str(self.drawn), **least}


@dataclass(frozen=True, eq=False)
class RandomizedAssignment:
    """Which record is behind which row; of non-homogeneous rows also how likely a match is.

    `neighbourhoods` (n, k) are then the records that each published row was made over.
    """

    assignment: Assignment
    match_probability: MatchProbability | None = None
    neighbourhoods: NDArray[np.int32] | None = None

    @property
    def candidates(self) -> NDArray[np.int64] | None:
        """For each record the records that are behind the rows it may be behind (n, k); None for classes."""
        if self.neighbourhoods is None:
            return None
        found: NDArray[np.int64] = self.assignment.private[assign.rows_of_records(self.neighbourhoods)]
        return found


def assigned(
    grouping: Partition | Neighbourhoods, regions: Regions, data: Microdata, request: Request
) -> RandomizedAssignment:
    """Draw which record is behind which row; refused where none reaches 1/k and that was not accepted."""
    algorithm, neighbourhoods, accept = request.algorithm, grouping.neighbourhoods, request.policy.accept
    if neighbourhoods is None:
        return RandomizedAssignment(assign.whole_classes(grouping.labels.size, system))
    k = algorithm.k
    claimed = algorithm.model_of_k(accept) == K_FACTOR
    if claimed and neighbourhoods.regular and int(neighbourhoods.sizes[0]) == k:
        assignment = assign.by_neighbourhoods(neighbourhoods, system, algorithm.assigned_by)
        members = neighbourhoods.members.reshape(-1, k)[assignment.region]
        return RandomizedAssignment(assignment, MatchProbability(Fraction(1, k)), members)
    found = consistency(published_from_regions(regions, data.attributes), data)
    try:
        least = lambda_star(found)
    except TableError as problem:
        words = "rows were made that do not hold their records; nothing was written"
        raise NotVerified(f"{words}\n  {problem}") from None
    if not algorithm.randomizes:
        fixed = assign.whole_classes(len(neighbourhoods), system)
        return RandomizedAssignment(fixed, MatchProbability(Fraction(1), least))
    return _from_factor(found, least, k, accept, claimed)


def _from_factor(
    found: Graph, least: Fraction, k: int, accept: Sequence[str], claimed: bool
) -> RandomizedAssignment:
    """One of as many disjoint matchings as there are, up to k."""
    most = min(k, int(1 / least))  # a j-factor exists if and only if no match needs more than 1/j
    if most < k and not (UNSAFE_MATCHES.accepted(accept) or UNSAFE_ONE_SIDED.accepted(accept)):
        raise Exposure(
            UNSAFE_MATCHES.name,
            f"with any assignment, somebody is found with probability {float(least):.3f} or more, and 1/{k} "
            "was asked for; leave mend = true, or use kfactor",
        )
    assignment = assign.by_kinds(factor(found, most), found.record_of, found.row_of, system)
    odds = MatchProbability(Fraction(1, most), None if claimed else least)
    return RandomizedAssignment(assignment, odds)
