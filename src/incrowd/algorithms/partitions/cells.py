"""Cheapest cells first: whoever fits a cheap cell shares it, and outliers wait for what is left.

The cheapest cell that holds k free records becomes a class of all that it holds, again and again; then the
classes are polished. Large tables are cut into blocks by Mondrian first.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import Algorithm
from incrowd.algorithms.costs import MEASURES, Priced, groups_of, levels_of, priced
from incrowd.algorithms.partitions.agglomerative import allowed
from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.algorithms.polish import Polish, swept
from incrowd.contracts import AnyLimit, Choice, Guard, Limit, Progress, need_enough, register, silent
from incrowd.flow import Microdata, Partition
from incrowd.kernels import cells

WHOLE = 2**15  # records that are one block where every column has a tree
BLOCK = 6000
STEP = 4  # one of so many points of a block is looked at first, where cells are grown
LOOK = 1.15, 0.002  # by how much more than last time a cell is looked for, times and plus
SAME = 1e-12
FEW = 1000  # points that are all seeds
Rows = NDArray[np.int32]


@register("algorithm", "cells")
@dataclass(frozen=True)
class Cells(Algorithm):
    """Make the cheapest cell with k records a class, until nobody is left.

    Parameters
    ----------
    measure : str
        What a row costs: the share of each domain that its cells cover (``lm``), or the bits that are lost
        (``entropy``).
    """

    measure: str = "lm"

    paper: ClassVar[str] = "none; cheapest cells first, with local search"
    section: ClassVar[str] = "docs/claims/cells.md"
    needs: ClassVar[str] = "hierarchies for columns of more than 64 categories; slower than mondrian"
    strict: ClassVar[bool] = False  # equal records may part, and ties go by the order of records
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(1), "measure": Choice(MEASURES)}

    def group(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        need_enough(data, self.k)
        table = priced(data, self.measure)
        lattice = levels_of(data, table)
        n = len(data)
        blocks = np.zeros(n, np.int32)
        if n > (BLOCK if lattice is None else WHOLE):
            blocks = StrictMondrian(max(BLOCK // 2, self.k)).group(data, (), silent).labels
        labels, classes, done = np.empty(n, np.int32), 0, 0
        for rows in np.split(np.argsort(blocks, kind="stable"), np.cumsum(np.bincount(blocks))[:-1]):
            codes = np.ascontiguousarray(table.codes[rows])
            block = _Block(self.k, replace(table, codes=codes), lattice, guards, rows.astype(np.int32))
            labels[rows] = classes + block.classes()
            classes, done = int(labels[rows].max()) + 1, done + rows.size
            progress(done / n)
        if blocks.any():
            labels = swept(self.k, table, labels, guards, sweeps=3)
        progress(1.0)
        return Partition(allowed(labels, guards, table))


class _Block:
    """Some of the records as points with weights, and the class of each point so far, -1 while it is free."""

    def __init__(
        self, k: int, table: Priced, lattice: cells.Lattice | None, guards: tuple[Guard, ...], rows: Rows
    ) -> None:
        self.k, self.table, self.guards, self.rows = k, table, guards, rows
        points, point, weight = np.unique(table.codes, axis=0, return_inverse=True, return_counts=True)
        m = len(points)
        self.free = cells.Free(points, weight.astype(np.int64), np.arange(m), np.array([m]))
        self.label, self.point = np.full(m, -1), point.reshape(-1)
        self.members = np.split(rows[np.argsort(self.point, kind="stable")], np.cumsum(weight)[:-1])
        self.found = np.empty(m, np.int64)
        self.search = _Grown(self) if lattice is None else _Levels(self, lattice)

    def classes(self) -> NDArray[np.int32]:
        """The class of each record."""
        number = self._fill()
        labels = self.label[self.point]
        alone = labels < 0
        if alone.all():
            return np.zeros(labels.size, np.int32)
        labels[alone] = number
        work = Polish.of(self.k, self.table, labels, self.guards, self.rows)
        if alone.any():
            work.scatter(number, at_any_price=int(alone.sum()) < self.k)
        work.run()
        return work.labels()

    def _fill(self) -> int:
        """Make classes, the cheapest first -> how many."""
        heap, more = self.search.seeds()
        number = 0
        while int(self.free.left[0]):
            if not heap:
                heap, more = [(0.0, p) for p in more if self.label[p] < 0], []
                if not heap:
                    break
            key, p = heapq.heappop(heap)
            if self.label[p] >= 0:
                continue
            cost, points = self.search.look(p, key)
            if points is None:
                if cost < np.inf:
                    heapq.heappush(heap, (cost, p))
                continue
            self.label[points] = number
            number += 1
            cells.take(points.size, points, self.free)
        return number

    def allows(self, points: NDArray[np.int64]) -> bool:
        if not self.guards:
            return True
        rows = np.sort(np.concatenate([self.members[p] for p in points]))
        return all(guard.allows(rows) for guard in self.guards)


class _Levels:
    """Looks for the cheapest cell among all vectors of levels."""

    def __init__(self, block: _Block, lattice: cells.Lattice) -> None:
        d = lattice.levels.size
        self.block, self.lattice = block, lattice
        self.held = np.empty(int(np.prod(lattice.levels)), np.int64)
        self.cell = cells.Cell(np.zeros(d, np.int64), np.zeros(d, np.int64), np.zeros(d, np.int64))
        self.known: dict[int, NDArray[np.int64]] = {}

    def seeds(self) -> tuple[list[tuple[float, int]], list[int]]:
        """Where to begin, with what that costs at least; and where to go on with who is left."""
        return [(0.0, p) for p in range(self.block.label.size)], []

    def look(self, p: int, key: float) -> tuple[float, NDArray[np.int64] | None]:
        """The points of the cheapest cell around p if it costs no more than `key`; else none, and its cost."""
        block, cell, lattice = self.block, self.cell, self.lattice
        if p in self.known:
            cell.level[:] = self.known[p]
            cells.spread(p, block.free, lattice, cell)
            points, mass = self._points()
            if mass >= block.k and block.allows(points):
                return key, points
        cost = float(cells.cheapest_levels(block.k, p, block.free, lattice, self.held, cell))
        if cost == np.inf:
            return cost, None
        while block.guards and not block.allows(self._points()[0]):
            if not cells.raise_level(p, block.free, lattice, cell):
                return np.inf, None
            cost = float(cells.spread(p, block.free, lattice, cell))
        if cost > key + SAME:
            self.known[p] = cell.level.copy()
            return cost, None
        return cost, self._points()[0]

    def _points(self) -> tuple[NDArray[np.int64], int]:
        count, mass = cells.held_by(self.block.free, self.cell, self.block.found)
        return self.block.found[:count].copy(), int(mass)


class _Grown:
    """Grows a cell by what makes it dearer by the least."""

    def __init__(self, block: _Block) -> None:
        m = block.label.size
        points = replace(block.table, codes=block.free.points)
        self.block = block
        self.each = groups_of(np.arange(m), points)
        self.own = groups_of(np.zeros(0, np.int64), replace(points, codes=points.codes[:0]), 1)
        self.inside = np.empty(m, np.int64)

    def seeds(self) -> tuple[list[tuple[float, int]], list[int]]:
        """Some of the points to begin with, so that fewer are looked at; then who is left."""
        m = self.block.label.size
        first = range(0, m, STEP if m > FEW else 1)
        return [(0.0, p) for p in first], [p for p in range(m) if p % STEP] if m > FEW else []

    def look(self, p: int, key: float) -> tuple[float, NDArray[np.int64] | None]:
        """The points of a cell around p if it costs no more than `key`; else none, and what it costs at least."""
        block = self.block
        limit, need = key * LOOK[0] + LOOK[1], block.k
        while True:
            cost, count, mass = cells.grown(
                need, p, limit, block.free, self.each, self.own, block.table.costs, self.inside, block.found
            )
            if cost > limit:
                return float(cost), None
            points = block.found[:count].copy()
            if block.allows(points):
                return float(cost), points if cost <= key + SAME else None
            need = int(mass) + max(1, int(mass) // 8)
