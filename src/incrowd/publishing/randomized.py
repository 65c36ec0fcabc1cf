"""Who is behind which row: drawn by chance, and as evenly as the rows allow.

Rows of equivalence classes are shuffled. Non-homogeneous rows need more: an assignment in which nobody is
behind any row with more than chance 1/k exists if and only if the consistency graph has a k-factor.
Neighbourhoods that were made k-regular are one; others are refused where they have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd import assign
from incrowd.assign import system
from incrowd.errors import Exposure, NotVerified, TableError
from incrowd.flow import Assignment, Microdata, Neighbourhoods, Partition, Regions
from incrowd.graph import Graph, consistency, factor, lambda_star
from incrowd.measures import published_from_regions
from incrowd.policy.exposures import UNSAFE_MATCHES, UNSAFE_ONE_SIDED
from incrowd.publishing.request import Request


@dataclass(frozen=True)
class MatchProbability:
    """The largest probability of a match: of the assignment as it was drawn, and the least that any has."""

    drawn: Fraction
    least: Fraction

    def to_dict(self) -> dict[str, str]:
        return {"drawn": str(self.drawn), "least": str(self.least)}


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
        row = np.argsort(self.neighbourhoods.ravel(), kind="stable") // self.neighbourhoods.shape[1]
        found: NDArray[np.int64] = self.assignment.private[row].reshape(self.neighbourhoods.shape)
        return found


def assigned(
    grouping: Partition | Neighbourhoods, regions: Regions, data: Microdata, request: Request
) -> RandomizedAssignment:
    """Draw which record is behind which row; refused where none reaches 1/k and that was not accepted."""
    algorithm, neighbourhoods = request.algorithm, grouping.neighbourhoods
    if neighbourhoods is None:
        return RandomizedAssignment(assign.whole_classes(grouping.labels.size, system))
    found = consistency(published_from_regions(regions, data.attributes), data)
    k = algorithm.k
    try:
        least = lambda_star(found)
    except TableError as problem:
        words = "rows were made that do not hold their records; nothing was written"
        raise NotVerified(f"{words}\n  {problem}") from None
    if not algorithm.randomizes:
        fixed = assign.whole_classes(len(neighbourhoods), system)
        return RandomizedAssignment(fixed, MatchProbability(Fraction(1), least))
    if neighbourhoods.regular and int(neighbourhoods.sizes[0]) == k:
        assignment = assign.by_neighbourhoods(neighbourhoods, system)
        members = neighbourhoods.members.reshape(-1, k)[assignment.region]
        return RandomizedAssignment(assignment, MatchProbability(Fraction(1, k), least), members)
    return _from_factor(found, least, k, request.policy.accept)


def _from_factor(found: Graph, least: Fraction, k: int, accept: Sequence[str]) -> RandomizedAssignment:
    """One of as many disjoint matchings as there are, up to k."""
    most = min(k, int(1 / least))  # a j-factor exists if and only if no match needs more than 1/j
    if most < k and not (UNSAFE_MATCHES.accepted(accept) or UNSAFE_ONE_SIDED.accepted(accept)):
        raise Exposure(
            UNSAFE_MATCHES.name,
            f"with any assignment, somebody is found with probability {float(least):.3f} or more, and 1/{k} "
            "was asked for; leave mend = true, or use kfactor",
        )
    assignment = assign.by_kinds(factor(found, most), found.record_of, found.row_of, system)
    return RandomizedAssignment(assignment, MatchProbability(Fraction(1, most), least))
