"""Randomized assignment: which record is behind which row.

Rows of equivalence classes are shuffled. Non-homogeneous rows need more: an assignment in which nobody is
behind any row with more than chance 1/k exists if and only if the consistency graph has a k-factor.
Neighbourhoods that were made k-regular are one; others are refused where they have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd import assign
from incrowd.algorithms.base import Algorithm
from incrowd.entropy import Entropy
from incrowd.errors import Exposure, NotVerified, TableError
from incrowd.flow import Assignment, Neighbourhoods, Partition
from incrowd.graph import Graph, factor, lambda_star
from incrowd.policy.exposures import UNSAFE_MATCHES, UNSAFE_ONE_SIDED


@dataclass(frozen=True)
class MatchProbability:
    """The largest probability of a match: of the assignment as it was drawn, and the least that any has."""

    drawn: Fraction
    least: Fraction

    def as_dict(self) -> dict[str, str]:
        return {"drawn": str(self.drawn), "least": str(self.least)}


@dataclass(frozen=True, eq=False)
class RandomizedAssignment:
    """Which record is behind which row; of non-homogeneous rows also how likely a match is.

    `neighbourhoods` (n, k) are then the records that each published row was made over, and `parts` numbers
    the part of the table that it is from, where the table was cut into parts.
    """

    assignment: Assignment
    match_probability: MatchProbability | None = None
    neighbourhoods: NDArray[np.int32] | None = None
    parts: NDArray[np.int32] | None = None

    @property
    def candidates(self) -> NDArray[np.int64] | None:
        """For each record the records that are behind the rows it may be behind (n, k); None for classes."""
        if self.neighbourhoods is None:
            return None
        row = np.argsort(self.neighbourhoods.ravel(), kind="stable") // self.neighbourhoods.shape[1]
        found: NDArray[np.int64] = self.assignment.private[row].reshape(self.neighbourhoods.shape)
        return found


def assigned(
    grouping: Partition | Neighbourhoods,
    algorithm: Algorithm,
    accept: Sequence[str],
    graph: Callable[[], Graph],
    entropy: Entropy,
) -> RandomizedAssignment:
    """Draw which record is behind which row; refused where none reaches 1/k and that was not accepted.

    `graph` makes the consistency graph of all records and their rows, both in the order of the table.
    """
    neighbourhoods = grouping.neighbourhoods
    if neighbourhoods is None:
        return RandomizedAssignment(assign.whole_classes(grouping.labels.size, entropy))
    found, k = graph(), algorithm.k
    try:
        least = lambda_star(found)
    except TableError as problem:
        words = "rows were made that do not hold their records; nothing was written"
        raise NotVerified(f"{words}\n  {problem}") from None
    if not algorithm.randomizes:
        fixed = assign.whole_classes(len(neighbourhoods), entropy)
        return RandomizedAssignment(fixed, MatchProbability(Fraction(1), least))
    if neighbourhoods.regular and int(neighbourhoods.sizes[0]) == k:
        assignment = assign.by_neighbourhoods(neighbourhoods, entropy)
        members = neighbourhoods.members.reshape(-1, k)[assignment.region]
        parts = None if neighbourhoods.parts is None else neighbourhoods.parts[assignment.region]
        return RandomizedAssignment(assignment, MatchProbability(Fraction(1, k), least), members, parts)
    return _from_factor(found, least, k, accept, entropy)


def _from_factor(
    found: Graph, least: Fraction, k: int, accept: Sequence[str], entropy: Entropy
) -> RandomizedAssignment:
    """One of as many disjoint matchings as there are, up to k."""
    most = min(k, int(1 / least))  # a j-factor exists if and only if no match needs more than 1/j
    if most < k and not (UNSAFE_MATCHES.accepted(accept) or UNSAFE_ONE_SIDED.accepted(accept)):
        raise Exposure(
            UNSAFE_MATCHES.name,
            f"with any assignment, somebody is found with probability {float(least):.3f} or more, and 1/{k} "
            "was asked for; leave mend = true, or use kfactor",
        )
    assignment = assign.by_kinds(factor(found, most), found.record_of, found.row_of, entropy)
    return RandomizedAssignment(assignment, MatchProbability(Fraction(1, most), least))
