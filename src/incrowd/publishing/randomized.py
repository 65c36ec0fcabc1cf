"""Which record is behind which row, as it was drawn, and how likely a match is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Assignment


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
