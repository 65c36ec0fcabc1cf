"""Who is behind which row. Rows of whole classes are shuffled; crowds of one's own need a draw.

A draw in which nobody is behind any row with more than chance 1/k exists if and only if the consistency
graph has a k-factor. Crowds that were made k-regular are one; others are refused where they have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd import assign
from incrowd.contracts import NonHomogeneous
from incrowd.entropy import Entropy
from incrowd.errors import Exposure, NotVerified, TableError
from incrowd.flow import Assignment, Neighbourhoods, Partition
from incrowd.graph import Graph, factor, lambda_star
from incrowd.policy.exposures import UNSAFE_MATCHES, UNSAFE_ONE_SIDED


@dataclass(frozen=True)
class Odds:
    """The largest probability of a match: of the draw that was made, and the least that any draw has."""

    drawn: Fraction
    least: Fraction

    def as_dict(self) -> dict[str, str]:
        return {"drawn": str(self.drawn), "least": str(self.least)}


@dataclass(frozen=True, eq=False)
class Drawn:
    """Who is behind which row; for crowds of one's own also the odds, and who made each published row.

    `parts` numbers the part of the table that each published row is from, where it was cut into parts.
    """

    assignment: Assignment
    odds: Odds | None = None
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


def draw(
    partition: Partition | Neighbourhoods,
    asked: NonHomogeneous | None,
    k: int,
    accept: Sequence[str],
    graph: Callable[[], Graph],
    entropy: Entropy,
) -> Drawn:
    """Draw who is behind which row.

    Parameters
    ----------
    partition : Partition or Neighbourhoods
        Who hides with whom.
    asked : NonHomogeneous, optional
        Who made the crowds.
    k : int
        How large crowds must be.
    accept : sequence of str
        Exposures accepted by name.
    graph : callable
        Makes the consistency graph of all records and their rows, both in the order of the table.
    entropy : callable
        Source of random bytes.

    Raises
    ------
    Exposure
        If no draw reaches 1/k, and that was not accepted.
    """
    if isinstance(partition, Partition):
        return Drawn(assign.whole_classes(partition.labels.size, entropy))
    found = graph()
    try:
        least = lambda_star(found)
    except TableError as problem:
        words = "rows were made that do not hold their records; nothing was written"
        raise NotVerified(f"{words}\n  {problem}") from None
    if asked is not None and not asked.drawn:
        return Drawn(assign.whole_classes(len(partition), entropy), Odds(Fraction(1), least))
    if partition.regular and int(partition.sizes[0]) == k:
        assignment = assign.by_crowds(partition, entropy)
        neighbourhoods = partition.members.reshape(-1, k)[assignment.region]
        parts = None if partition.parts is None else partition.parts[assignment.region]
        return Drawn(assignment, Odds(Fraction(1, k), least), neighbourhoods, parts)
    return _from_factor(found, least, k, accept, entropy)


def _from_factor(found: Graph, least: Fraction, k: int, accept: Sequence[str], entropy: Entropy) -> Drawn:
    """One of as many disjoint matchings as there are, up to k."""
    most = min(k, int(1 / least))  # a j-factor exists if and only if no match needs more than 1/j
    if most < k and not (UNSAFE_MATCHES.accepted(accept) or UNSAFE_ONE_SIDED.accepted(accept)):
        raise Exposure(
            UNSAFE_MATCHES.name,
            f"with any assignment, somebody is found with probability {float(least):.3f} or more, and 1/{k} "
            "was asked for; leave mend = true, or use kfactor",
        )
    assignment = assign.by_kinds(factor(found, most), found.record_of, found.row_of, entropy)
    return Drawn(assignment, Odds(Fraction(1, most), least))
