"""The lattice of level vectors: which of them leave few enough records in small classes.

That is monotone: lifting a column only merges classes, and who is in a class of k stays in one. So what lies
above a vector that is good is good, and what lies below one that is not is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.partitions.levels import Node
from incrowd.algorithms.partitions.rollups import RollUps
from incrowd.errors import PolicyError
from incrowd.long_work import Progress

MOST_NODES = 1_000_000

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Explored:
    """The lattice of a table: which level vectors are k-anonymous.

    ``heights`` are the highest levels, ``anonymous`` all vectors that keep k in lexicographic order,
    ``minimal`` those that lie above no other of them, ``nodes`` how many vectors there are, and ``checked``
    of how many classes were counted.
    """

    heights: Node
    anonymous: tuple[Node, ...]
    minimal: tuple[Node, ...]
    nodes: int
    checked: int


class LatticeSearch:
    """Chains of vectors, each lifted from the one before, are searched by halves.

    What lies above a good vector is good, and what lies below a bad one is bad: neither is counted. A vector
    of fewer columns is one of all columns with the others at their highest level, so it needs no search of
    its own.
    """

    def __init__(self, sets: RollUps, k: int, budget: int) -> None:
        self.sets, self.k, self.budget = sets, k, budget
        self.records = sets.rolls.records
        self.shape = tuple(ladder.height + 1 for ladder in sets.rolls.ladders)
        self.checked = 0
        if prod(self.shape) > MOST_NODES:
            raise PolicyError(
                f"there are {prod(self.shape)} ways to choose a level for each of {len(self.shape)} columns, "
                f"more than {MOST_NODES}; give hierarchies with fewer levels, or name the levels"
            )
        self.unknown, self.good = np.ones(self.shape, np.bool_), np.zeros(self.shape, np.bool_)

    def explored(self, progress: Progress) -> Explored:
        vectors = np.argwhere(self.unknown)
        for node in map(tuple, vectors[np.argsort(vectors.sum(axis=1), kind="stable")].tolist()):
            if self.unknown[node]:
                self.settle(node)
                progress(self.share())
        return Explored(
            tuple(length - 1 for length in self.shape),
            _nodes(self.good),
            _nodes(_lowest(self.good)),
            self.good.size,
            self.checked,
        )

    def share(self) -> float:
        """The share of vectors that are settled."""
        return 1 - np.count_nonzero(self.unknown) / self.unknown.size

    def settle(self, node: Node) -> None:
        """Find out whether a vector is good, with others that lie above it."""
        self._halve(self._chain(node))

    def is_minimal(self, node: Node) -> bool:
        """Is a good vector above no other, if all that lie below it are settled?"""
        return not any(
            level and self.good[(*node[:j], level - 1, *node[j + 1 :])] for j, level in enumerate(node)
        )

    def _chain(self, node: Node) -> list[Node]:
        """Vectors from this one upwards, as long as one is unknown; the column that is lowest is lifted."""
        chain = [node]
        while True:
            above = [
                (level / (length - 1), j)
                for j, (level, length) in enumerate(zip(node, self.shape, strict=True))
                if level + 1 < length and self.unknown[(*node[:j], level + 1, *node[j + 1 :])]
            ]
            if not above:
                return chain
            j = min(above)[1]
            node = (*node[:j], node[j] + 1, *node[j + 1 :])
            chain.append(node)

    def _halve(self, chain: list[Node]) -> None:
        """Find the lowest good vector of a chain, and what follows from it and from those below."""
        low, high = 0, len(chain)
        while low < high:
            middle = (low + high) // 2
            if self._is_good(chain[middle]):
                above = tuple(slice(level, None) for level in chain[middle])
                self.good[above], self.unknown[above], high = True, False, middle
            else:
                below = tuple(slice(None, level + 1) for level in chain[middle])
                self.unknown[below], low = False, middle + 1

    def _is_good(self, node: Node) -> bool:
        self.checked += 1
        weights = self.sets.make(node).weights
        small = int(weights[weights < self.k].sum())
        return small <= self.budget and small < self.records


def _nodes(flags: Flags) -> tuple[Node, ...]:
    return tuple(map(tuple, np.argwhere(flags).tolist()))


def _lowest(flags: Flags) -> Flags:
    """Those that are set and have none set just below; what is set is closed upwards."""
    lowest = flags.copy()
    for axis in range(flags.ndim):
        above = [slice(None)] * flags.ndim
        above[axis] = slice(1, None)
        under = [slice(None)] * flags.ndim
        under[axis] = slice(None, -1)
        lowest[tuple(above)] &= ~flags[tuple(under)]
    return lowest
