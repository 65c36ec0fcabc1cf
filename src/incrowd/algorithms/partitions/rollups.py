"""Roll-ups of a lattice: the frequency set of each level vector, made from a small one below it.

A set of high levels is small, but the only set that lies below all vectors is nearly as large as the table.
So vectors are split in two again and again, by the level of one column. Each part has a set at the smallest
levels of its vectors, made from that of the part around it when it is first wanted: large sets are rolled up
a few times, and all others are made from small ones.
"""

from __future__ import annotations

import numpy as np

from incrowd.algorithms.partitions.levels import Counts, Frequencies, Node, Rolls

KEPT_BYTES = 2**27  # of frequency sets that are held to make others from
HALVINGS = 4.0  # of the number of combinations, for a set to be worth its making
FEW = 2048  # rows of a set that is not worth a smaller one


class RollUps:
    """Frequency sets of some columns at level vectors (m, s), which are named beforehand."""

    def __init__(self, rolls: Rolls, below: Frequencies, columns: tuple[int, ...], vectors: Counts) -> None:
        self.rolls, self.columns, self.below = rolls, columns, below
        self.whole = _Part(vectors)
        self.bytes = 0

    def make(self, vector: Node) -> Frequencies:
        return self.rolled_from(vector)[-1]

    def rolled_from(self, vector: Node) -> list[Frequencies]:
        """All sets on the way to that of a vector, which is the last: each is made from the one before."""
        part, way = self.whole, [self.below]
        while True:
            if len(part.vectors) == 1 or (len(way) > 1 and way[-1].weights.size <= FEW):
                return [*way, self.rolls.rolled(way[-1], self.columns, vector)[0]]
            if len(way) == 1 or self._smaller(part, way[-1]):
                way.append(self._set_of(part, way[-1]))
            part = part.towards(vector, self.rolls, self.columns)

    def _smaller(self, part: _Part, source: Frequencies) -> bool:
        """Might the set of a part have far fewer rows? One that has hardly fewer is not worth its making."""
        ladders = [self.rolls.ladders[j] for j in self.columns]
        levels = zip(ladders, source.levels, part.least, strict=True)
        halvings = (np.log2(each.first[a].size / each.first[b].size) for each, a, b in levels)
        return bool(sum(halvings) >= HALVINGS)

    def _set_of(self, part: _Part, source: Frequencies) -> Frequencies:
        if part.made is not None:
            return part.made
        made = self.rolls.rolled(source, self.columns, part.least)[0]
        if self.bytes + made.bytes <= KEPT_BYTES:
            self.bytes += made.bytes
            part.made = made
        return made


class _Part:
    """Some of the vectors, the set at their smallest levels, and the two parts that they are split into."""

    def __init__(self, vectors: Counts) -> None:
        self.vectors = vectors
        self.least: Node = tuple(vectors.min(axis=0).tolist())
        self.made: Frequencies | None = None
        self._column, self._level = -1, 0
        self._lower: _Part | None = None
        self._upper: _Part | None = None

    def towards(self, vector: Node, rolls: Rolls, columns: tuple[int, ...]) -> _Part:
        """The half that a vector is in."""
        if self._lower is None or self._upper is None:
            self._split(rolls, columns)
            low = self.vectors[:, self._column] <= self._level
            self._lower, self._upper = _Part(self.vectors[low]), _Part(self.vectors[~low])
        return self._lower if vector[self._column] <= self._level else self._upper

    def _split(self, rolls: Rolls, columns: tuple[int, ...]) -> None:
        """By the column in which levels differ most, as numbers of values; in the middle of the vectors."""
        low, high = self.least, self.vectors.max(axis=0).tolist()
        fewer = [
            np.log(rolls.ladders[j].first[a].size / rolls.ladders[j].first[b].size) if a < b else -1.0
            for j, a, b in zip(columns, low, high, strict=True)
        ]
        self._column = int(np.argmax(fewer))
        levels = np.sort(self.vectors[:, self._column])
        self._level = min(int(levels[(levels.size - 1) // 2]), high[self._column] - 1)
