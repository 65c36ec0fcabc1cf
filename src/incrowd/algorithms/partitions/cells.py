"""Cheapest cells first: whoever fits a cheap cell shares it, and outliers wait for what is left.

The cheapest cell that holds k free records becomes a class of all that it holds, again and again; then the
classes are polished. Large tables are cut into blocks by Mondrian first. Mondrian's classes are where it
begins, and whatever comes later is taken only if it is cheaper: more time never gives a worse result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import Algorithm, need_enough
from incrowd.algorithms.column_weights import weighted
from incrowd.algorithms.costs import Priced, cost_of, fewest_values_first, groups_of, priced
from incrowd.algorithms.deadline import Deadline
from incrowd.algorithms.levels import levels_of
from incrowd.algorithms.partitions.agglomerative import allowed
from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.algorithms.polish import Polish, polished, records_of
from incrowd.contracts import AnyLimit, ColumnWeights, Guard, Limit, register
from incrowd.flow import Microdata, Partition
from incrowd.kernels import boxtree, cells, grow_cells, queue
from incrowd.long_work import Progress, part_of, silent

WHOLE = 2**15  # records that are one block where every column has a tree
BLOCK = 6000
LOOK = 1.5  # times what a cell costs at least: so far it is looked for
FIRST = 1.0  # of the mean cost so far: so far cells are looked for at first
PER_SEED = 25  # where cells are grown: of k records one in so many is a seed
LARGE = 2**17  # from so many records on time matters more
PER_SEED_IN_LARGE, BLOCK_IN_LARGE = 5, 3000
Labels = NDArray[np.int32]
Points = NDArray[np.int64]


@register("algorithm", "cells")
@dataclass(frozen=True)
class Cells(Algorithm):
    """Make the cheapest cell with k records a class, until nobody is left; then polish.

    Parameters
    ----------
    weights : dict
        How much the columns count: ``{age = 2, zip = 0.5}``. Others count 1.
    seconds : int
        End after about so much time with the best that was found; 0 takes the time it needs. What is
        published depends on the machine then.
    """

    weights: Any = ()
    seconds: int = 0

    paper: ClassVar[str] = "none; cheapest cells first, with local search"
    section: ClassVar[str] = "docs/claims/cells.md"
    needs: ClassVar[str] = "hierarchies for columns of more than 64 categories; slower than mondrian"
    strict: ClassVar[bool] = False  # equal records may part, and ties go by the order of records
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        "k": Limit(1),
        "weights": ColumnWeights(),
        "seconds": Limit(0),
    }

    def group(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        need_enough(data, self.k)
        table = weighted(priced(data, "lm"), data, dict(self.weights))
        deadline = Deadline.after(self.seconds) if self.seconds else None
        steps = _Steps(progress)
        labels = StrictMondrian(self.k).group(data, guards, steps.next(0.1)).labels
        labels = self._filled(data, table, labels, guards, steps.next(0.6), deadline)
        return Partition(polished(self.k, table, labels, guards, steps.next(1.0), deadline))

    def _filled(
        self,
        data: Microdata,
        table: Priced,
        labels: Labels,
        guards: tuple[Guard, ...],
        progress: Progress,
        deadline: Deadline | None,
    ) -> Labels:
        """Block by block the cheapest cells first, where they cost less than the classes that there are."""
        lattice = levels_of(data, table)
        if lattice is None:
            table = fewest_values_first(table)
        n = len(data)
        block_size, per_seed = (BLOCK, PER_SEED) if n <= LARGE else (BLOCK_IN_LARGE, PER_SEED_IN_LARGE)
        size = n if lattice is not None and n <= WHOLE else block_size
        new, classes, done = np.empty_like(labels), 0, 0
        for rows in _runs(labels, size):
            some = replace(table, codes=np.ascontiguousarray(table.codes[rows]))
            best = np.unique(labels[rows], return_inverse=True)[1].reshape(-1).astype(np.int32)
            block = PointBlock(self.k, some, lattice, guards, rows, cost_of(best, some) / rows.size, per_seed)
            found = block.filled(deadline, part_of(progress, done / n, rows.size / n))
            if found is not None and cost_of(found, some) < cost_of(best, some):
                best = found
            best = block.polished(best, deadline)
            new[rows] = classes + best
            classes, done = classes + int(best.max()) + 1, done + rows.size
            progress(done / n)
        return new


class _Steps:
    """Progress of steps that follow each other."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.done = progress, 0.0

    def next(self, upto: float) -> Progress:
        """The progress of the next step, which ends at this share of the whole."""
        begin = self.done
        self.done = max(upto, begin)
        return part_of(self.progress, begin, self.done - begin)


def _runs(labels: Labels, size: int) -> list[Labels]:
    """The records of classes that follow each other in Mondrian's tree, about `size` at a time."""
    return records_of((np.cumsum(np.bincount(labels)) - 1) // size, labels)


class PointBlock:
    """Some of the records as points with weights, and the class of each point so far, -1 while it is free."""

    def __init__(
        self,
        k: int,
        table: Priced,
        lattice: cells.Lattice | None,
        guards: tuple[Guard, ...],
        rows: Labels,
        before: float = 0.0,
        per_seed: int = PER_SEED,
    ) -> None:
        self.k, self.table, self.guards, self.rows = k, table, guards, rows
        self.per_seed = per_seed
        self.own_guards = tuple(_Within(guard, rows) for guard in guards)
        self.before = before  # what a row costs on average in the classes that there are
        points, point, weight = np.unique(table.codes, axis=0, return_inverse=True, return_counts=True)
        order = boxtree.build(points).order  # near points lie near each other
        self.point = np.argsort(order)[point.reshape(-1)]
        m = len(points)
        self.free = cells.Free(
            np.ascontiguousarray(points[order]), weight[order].astype(np.int64), np.arange(m), np.array([m])
        )
        self.label = np.full(m, -1)
        self.members = np.split(rows[np.argsort(self.point, kind="stable")], np.cumsum(weight[order])[:-1])
        self.search: Search = GrownCells(self) if lattice is None else LevelCells(self, lattice)

    def filled(self, deadline: Deadline | None, progress: Progress) -> Labels | None:
        """The class of each record, as the guards allow; None if that is impossible, or takes too long."""
        number, taken = 0, 0
        while (points := self._next()) is not None:
            if deadline is not None and deadline.over():
                return None
            self.label[points] = number
            number, taken = number + 1, taken + int(self.free.weight[points].sum())
            self.search.take(points)
            if number % 64 == 0:
                progress(taken / self.rows.size)
        labels = self.label[self.point].astype(np.int32)
        alone = labels < 0
        if number == 0:
            return None
        if alone.any():
            labels[alone] = number
            work = Polish.of(self.k, self.table, labels, self.guards, self.rows)
            work.scatter(number, at_any_price=int(alone.sum()) < self.k)
            labels = work.labels()
        return self._repaired(labels)

    def polished(self, labels: Labels, deadline: Deadline | None) -> Labels:
        """These classes of the block's records after one sweep: whatever comes first, cheap ones stay."""
        return polished(self.k, self.table, labels, self.own_guards, silent, deadline, sweeps=1)

    def _repaired(self, labels: Labels) -> Labels | None:
        """Merge what the guards do not allow; None if even all together are not."""
        if not self.guards:
            return labels
        merged = allowed(labels, self.own_guards, self.table)
        everyone = np.arange(merged.size, dtype=np.int32)
        fine = merged.any() or all(guard.allows(everyone) for guard in self.own_guards)
        return merged if fine else None

    def _next(self) -> Points | None:
        """The points of the next class; a cell that a guard does not allow grows, and waits for its turn."""
        while True:
            p, points = self.search.cheapest()
            if p < 0 or self.allows(points):
                return points if p >= 0 else None
            self.search.widen(p)

    def allows(self, points: Points) -> bool:
        if not self.guards:
            return True
        rows = np.sort(np.concatenate([self.members[p] for p in points]))
        return all(guard.allows(rows) for guard in self.guards)


@dataclass(frozen=True, slots=True)
class _Within:
    """A guard of the whole table, asked by the places of records in a block."""

    guard: Guard
    rows: Labels

    def allows(self, rows: Labels) -> bool:
        return self.guard.allows(np.sort(self.rows[rows]))


class Search(ABC):
    """Finds cells around the free points of a block, the cheapest first."""

    block: PointBlock

    @abstractmethod
    def cheapest(self) -> tuple[int, Points]:
        """The cheapest cell with enough free records: around which point, and the points in it; or -1."""

    @abstractmethod
    def take(self, points: Points) -> None:
        """These points, found last, are free no more."""

    @abstractmethod
    def widen(self, p: int) -> None:
        """The cell found last around p is not allowed: let a wider one wait that is, if there is one."""


class LevelCells(Search):
    """Looks for the cheapest cell among all vectors of levels."""

    def __init__(self, block: PointBlock, lattice: cells.Lattice) -> None:
        m, d = block.free.points.shape
        vectors = int(np.prod(lattice.levels))
        self.block, self.lattice = block, lattice
        self.waiting = queue.queue_of(m)
        self.room = cells.LevelSearch(
            held=np.empty(vectors, np.int64),
            price=np.empty(vectors),
            cell=cells.Cell(np.zeros(d, np.int64), np.zeros(d, np.int64), np.zeros(d, np.int64)),
            kept=np.zeros((m, d), np.int32),
            known=np.zeros(m, np.bool_),
            found=np.empty(m, np.int64),
        )

    def cheapest(self) -> tuple[int, Points]:
        block = self.block
        p, count = cells.next_levels(block.k, block.free, self.lattice, self.room, self.waiting)
        return int(p), self.room.found[:count].copy()

    def take(self, points: Points) -> None:
        cells.take(points.size, points, self.block.free)

    def widen(self, p: int) -> None:
        room, free = self.room, self.block.free
        while cells.raise_level(p, free, self.lattice, room.cell):
            cost = float(cells.spread(p, free, self.lattice, room.cell))
            count, _ = cells.held_by(free, room.cell, room.found)
            if self.block.allows(room.found[:count]):
                room.kept[p], room.known[p] = room.cell.level, True
                queue.push(cost, p, self.waiting)
                return


class GrownCells(Search):
    """Grows cells by what makes them dearer by the least; of large classes not every point is a seed."""

    def __init__(self, block: PointBlock) -> None:
        m = len(block.free.points)
        points = replace(block.table, codes=block.free.points)
        none = replace(points, codes=points.codes[:0])
        chunk = np.arange(m) // grow_cells.CHUNK
        chunks = groups_of(chunk, points)
        chunks.size[:] = np.bincount(chunk, block.free.weight)
        self.block = block
        self.step = max(1, block.k // block.per_seed)
        self.waiting = queue.queue_of(m)
        self.waiting.who[:] = np.arange(m) * self.step
        self.waiting.size[0] = -(-m // self.step)
        self.room = grow_cells.GrowingCells(
            each=groups_of(np.arange(m), points),
            chunks=chunks,
            kept=groups_of(np.zeros(0, np.int64), none, m),
            known=np.zeros(m, np.bool_),
            own=groups_of(np.zeros(0, np.int64), none, 2),
            maybe=np.empty(m, np.int64),
            more=np.empty(m),
            found=np.empty(m, np.int64),
        )
        self.last, self.first = 0.0, FIRST * block.before

    def cheapest(self) -> tuple[int, Points]:
        p, count = self._next()
        if p < 0 and self.step > 1:
            for each in np.flatnonzero(self.block.free.weight):  # who is left are seeds, too
                queue.push(self.last, int(each), self.waiting)
            self.step = 1
            p, count = self._next()
        return p, self.room.found[:count].copy()

    def _next(self) -> tuple[int, int]:
        block = self.block
        p, cost, count = grow_cells.next_grown(
            block.k, LOOK, self.first, block.free, self.room, self.waiting, block.table.costs
        )
        if p >= 0:
            self.last = max(self.last, float(cost))
        return int(p), int(count)

    def take(self, points: Points) -> None:
        self.room.found[: points.size] = points
        grow_cells.take(points.size, self.block.free, self.room)

    def widen(self, p: int) -> None:
        block, room = self.block, self.room
        need, mass = block.k, 0
        while True:
            need = max(need + 1, mass + max(1, mass // 8))
            cost, count, mass = grow_cells.grown(need, p, np.inf, block.free, room, block.table.costs)
            if count == 0:
                return
            # Whom it holds, not whom it was grown over: so it is looked at when its turn comes, and what is
            # not allowed then would be widened to the same cell for ever.
            count, mass = grow_cells.inside(block.free, room, block.table.costs)
            if mass >= block.k and block.allows(room.found[:count]):
                grow_cells.keep(p, room)
                queue.push(float(cost), p, self.waiting)
                return
