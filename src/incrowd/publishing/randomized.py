"""Who is behind which row: drawn by chance, and as evenly as the rows allow.

Rows of equivalence classes are shuffled. Non-homogeneous rows need more: an assignment in which nobody is
behind any row with more than chance 1/k exists if and only if the consistency graph has a k-factor.
Neighbourhoods that were made k-regular are one, and no graph is needed to see it; others are refused where
they have none.
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
from incrowd.models.k_anonymity import KFactor
from incrowd.policy.exposures import UNSAFE_MATCHES, UNSAFE_ONE_SIDED
from incrowd.publishing.request import Request

K_FACTOR = KFactor.name


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
        assignment = assign.by_neighbourhoods(neighbourhoods, system)
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
