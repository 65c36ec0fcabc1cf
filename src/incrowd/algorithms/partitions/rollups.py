"""Roll-ups of a lattice: the frequency set of each level vector, made from the smallest one known below it.

A set of high levels is small, but at first only that of the whole table lies below it. So where a large set
would be rolled up, one half way between the two is made before: others will be made from it, too.
"""

from __future__ import annotations

import numpy as np

from incrowd.algorithms.partitions.levels import LevelFrequencies, Node, Rolls

KEPT_BYTES = 2**28  # of frequency sets that are held to make others from
MOST_KEPT = 2**13  # of them
WORTH = 0.75  # of the rows of what it was made from: a set of more is not held
LARGE = 20_000  # rows of a set that is rolled up in two steps


class RollUps:
    """Frequency sets of all columns at any level vectors."""

    def __init__(self, rolls: Rolls) -> None:
        self.rolls, self.columns = rolls, rolls.distinct.columns
        self.kept = [rolls.distinct]
        self.levels = np.zeros((MOST_KEPT + 1, len(self.columns)), np.int64)
        self.sizes = np.full(MOST_KEPT + 1, rolls.distinct.weights.size)
        self.bytes = 0

    def make(self, vector: Node) -> LevelFrequencies:
        """The frequency set at a level vector."""
        source = self._below(vector)
        if source.weights.size > LARGE:
            half = tuple((low + high) // 2 for low, high in zip(source.levels, vector, strict=True))
            if half != source.levels:
                self._keep(self.rolls.rolled(source, self.columns, half)[0], source)
                source = self._below(vector)
        made = self.rolls.rolled(source, self.columns, vector)[0]
        self._keep(made, source)
        return made

    def _below(self, vector: Node) -> LevelFrequencies:
        """The smallest set that others at this vector can be made from; of equal ones the first."""
        count = len(self.kept)
        fits = np.flatnonzero((self.levels[:count] <= vector).all(axis=1))
        return self.kept[int(fits[np.argmin(self.sizes[fits])])]

    def _keep(self, made: LevelFrequencies, source: LevelFrequencies) -> None:
        """Hold a set for others, if it has far fewer rows than what it was made from, and there is room."""
        count, size = len(self.kept), made.weights.size
        fewer = size <= WORTH * source.weights.size
        if fewer and count <= MOST_KEPT and self.bytes + made.bytes <= KEPT_BYTES:
            self.levels[count], self.sizes[count] = made.levels, size
            self.kept.append(made)
            self.bytes += made.bytes
