"""(k,1)-anonymity, a neighbourhood for each record: Algorithms 3 and 4 of "k-Anonymization Revisited".

A row made so is consistent with at least k records. That alone protects nobody: others may fit few rows, or
one. It is the first step towards (k,k).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.costs import EXTENT, MEASURES, Priced, groups_of, priced
from incrowd.contracts import AnyLimit, Choice, Limit, Limited, need_enough
from incrowd.flow import Microdata, Neighbourhoods

if TYPE_CHECKING:
    from incrowd.kernels.boxtree import BoxTree
    from incrowd.kernels.closure import GroupBounds


@dataclass(frozen=True)
class NeighbourhoodGrowth(Limited, ABC):
    """Each record gets a neighbourhood of its own; the measure is what rows cost: ``lm`` or ``entropy``."""

    k: int
    measure: str = "lm"
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(1), "measure": Choice(MEASURES)}

    def neighbourhoods(self, data: Microdata) -> Neighbourhoods:
        """The records that make each row; those that its closure holds anyway are not listed."""
        need_enough(data, self.k)
        space = RecordTree.over(data, self.measure)
        grown = np.full((space.points.size.size, max(self.k - 1, 0)), -1, np.int64)
        self._grow(space, grown)
        return space.around(grown)

    @abstractmethod
    def _grow(self, space: RecordTree, grown: NDArray[np.int64]) -> None:
        """Say which points each point's neighbourhood grows by."""


@dataclass(frozen=True)
class Nearest(NeighbourhoodGrowth):
    """Algorithm 3: each record with the k-1 others that are cheapest to pair it with."""

    def _grow(self, space: RecordTree, grown: NDArray[np.int64]) -> None:
        from incrowd.kernels import k_one

        members = np.argsort(space.ids, kind="stable")
        costs, starts = space.table.costs, space.starts()
        k_one.nearest(self.k, space.points, space.tree, costs, members, starts, grown)


@dataclass(frozen=True)
class Expansion(NeighbourhoodGrowth):
    """Algorithm 4: each neighbourhood grows by the record that adds least to the cost of its row."""

    def _grow(self, space: RecordTree, grown: NDArray[np.int64]) -> None:
        from incrowd.kernels import k_one

        plain = priced(space.data, EXTENT).costs
        costs = space.table.costs
        k_one.expand(self.k, space.points, space.tree, costs, plain, space.scratch(), grown)


@dataclass(frozen=True, slots=True, eq=False)
class RecordTree:
    """Distinct records as points in a tree of boxes, and which of them each record is."""

    data: Microdata
    table: Priced
    ids: NDArray[np.int64]
    points: GroupBounds
    tree: BoxTree

    @classmethod
    def over(cls, data: Microdata, measure: str) -> RecordTree:
        from incrowd.kernels import boxtree

        table = priced(data, measure)
        distinct, ids = np.unique(table.codes, axis=0, return_inverse=True)
        tree = boxtree.build(distinct)
        place = np.empty(tree.order.size, np.int64)
        place[tree.order] = np.arange(tree.order.size)
        ids = place[ids.reshape(-1)]  # points are numbered as the leaves of the tree hold them
        return cls(data, table, ids, groups_of(ids, table), tree)

    def starts(self) -> NDArray[np.int64]:
        """Where the records of each point begin, and end, if they are sorted by point."""
        return np.concatenate([[0], np.cumsum(self.points.size)])

    def scratch(self) -> GroupBounds:
        """Room for one neighbourhood."""
        return groups_of(np.zeros(self.ids.size, np.int64), self.table)

    def around(self, grown: NDArray[np.int64]) -> Neighbourhoods:
        """Each record with one record of every point that its neighbourhood grew by."""
        others = grown[self.ids]
        others = np.where(others >= 0, self.points.first[others], -1)
        whole = np.concatenate([np.arange(self.ids.size)[:, None], others], axis=1)
        sizes = (whole >= 0).sum(axis=1)
        return Neighbourhoods(np.concatenate([[0], np.cumsum(sizes)]), whole[whole >= 0].astype(np.int32))
