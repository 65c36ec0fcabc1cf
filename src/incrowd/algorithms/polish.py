"""Polish: equivalence classes of any origin made cheaper by local search.

Records move to cheaper classes, two records change places, and dear classes dissolve, while every class keeps
k records and every guard allows it. Each step lowers the loss, so that it may end after any of them. Large
tables are polished in blocks of classes that lie near each other, cut anew for each sweep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.costs import Priced, fewest_values_first, groups_of
from incrowd.algorithms.deadline import Deadline
from incrowd.contracts import Guard
from incrowd.kernels import boxtree, closure, polish, swap
from incrowd.long_work import Progress

LITTLE = 5e-4  # of the whole loss: rounds and sweeps that save less are the last
ROUNDS = 8
SWEEPS = 6
BLOCK = 4000  # records that are polished together in a sweep
DISSOLVED = 4  # times k: larger classes are not taken apart
ANY_PRICE = 1e30
Labels = NDArray[np.int32]


def polished(
    k: int,
    table: Priced,
    labels: Labels,
    guards: tuple[Guard, ...],
    progress: Progress,
    deadline: Deadline | None = None,
    sweeps: int = SWEEPS,
) -> Labels:
    """Polish classes that the guards allow, in blocks of near ones, which are cut anew in each sweep."""
    table = fewest_values_first(table)
    n = len(labels)
    several = n > BLOCK
    for sweep in range(sweeps if several else 1):
        new, classes, saved, done = np.empty_like(labels), 0, 0.0, 0
        before = groups_of(labels.astype(np.int64), table)
        for part in _blocks(before, labels, sweep) if several else [np.arange(n, dtype=np.int32)]:
            own = np.unique(labels[part], return_inverse=True)[1].reshape(-1).astype(np.int32)
            if deadline is None or not deadline.over():
                some = replace(table, codes=np.ascontiguousarray(table.codes[part]))
                work = Polish.of(k, some, own, guards, part)
                saved += work.run(2 if several else ROUNDS)
                own = work.labels()
            new[part] = classes + own
            classes, done = classes + int(own.max()) + 1, done + part.size
            progress(min(1.0, (sweep + done / n) / sweeps))
        labels = new
        if saved <= LITTLE * float((before.cost * before.size).sum()):
            break
    progress(1.0)
    return labels


def _blocks(bounds: closure.GroupBounds, labels: Labels, sweep: int) -> list[Labels]:
    """The records of classes that lie near each other if one column is left out; shifted every other time."""
    middle, d = bounds.low + bounds.high, bounds.low.shape[1]
    columns = [j for j in range(d) if j != sweep % d or d == 1]
    order = boxtree.build(middle[:, columns]).order
    upto = np.cumsum(bounds.size[order]) - 1 + (BLOCK // 2) * (sweep % 2)
    block = np.empty(order.size, np.int64)
    block[order] = upto // BLOCK
    return records_of(block, labels)


def records_of(block: NDArray[np.int64], labels: Labels) -> list[Labels]:
    """The records of each block, given the block of each class (g,)."""
    rows = np.argsort(block[labels], kind="stable").astype(np.int32)
    return np.split(rows, np.flatnonzero(np.diff(block[labels][rows])) + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Polish:
    """The classes of some records, in hand."""

    k: int
    table: Priced
    guards: tuple[Guard, ...]
    ids: NDArray[np.int32]  # (n,) of these records in the whole table, for the guards
    classes: polish.ChainedClasses
    seconds: polish.Seconds
    others: polish.Seconds

    @classmethod
    def of(
        cls,
        k: int,
        table: Priced,
        labels: NDArray[np.integer],
        guards: tuple[Guard, ...] = (),
        ids: NDArray[np.int32] | None = None,
    ) -> Polish:
        """Begin with these classes (n,), numbered from 0 without gaps; the costs are those of loss."""
        n = len(table.codes)
        label = labels.astype(np.int64)
        bounds = groups_of(label, table)
        classes = polish.ChainedClasses(
            codes=np.ascontiguousarray(table.codes),
            bounds=bounds,
            label=label,
            head=np.empty(bounds.size.size, np.int64),
            after=np.empty(n, np.int64),
            before=np.empty(n, np.int64),
        )
        polish.link(classes)
        d = table.codes.shape[1]
        ids = np.arange(n, dtype=np.int32) if ids is None else ids
        return cls(k, table, guards, ids, classes, polish.seconds_of(d), polish.seconds_of(d))

    @property
    def cost(self) -> float:
        """What all rows cost together."""
        return float((self.classes.bounds.cost * self.classes.bounds.size).sum())

    def labels(self) -> Labels:
        """The class of each record, numbered from 0 without gaps."""
        return np.unique(self.classes.label, return_inverse=True)[1].reshape(-1).astype(np.int32)

    def run(self, rounds: int = ROUNDS) -> float:
        """Move, swap and dissolve until that saves little -> what was saved."""
        saved = 0.0
        for number in range(rounds):
            before = self.cost
            here = self.relocate() + self.swap() + (0.0 if number else self.dissolve())
            saved += here
            if here <= LITTLE * before:
                break
        return saved

    def relocate(self) -> float:
        """Let single records go to classes that pay less for them than they save -> what was saved."""
        order = np.argsort(-self.classes.bounds.cost, kind="stable")
        if not self.guards:
            return float(polish.relocate(self.k, order, self.classes, self.seconds, self.table.costs))
        at, saved = np.array([0, -1]), 0.0
        while True:
            record, to, saves = polish.next_move(
                self.k, order, at, self.classes, self.seconds, self.table.costs
            )
            if record < 0:
                return saved
            stay = self._members(self.classes.label[record])
            joined = np.append(self._members(to), self.ids[record])
            if self._allowed(stay[stay != self.ids[record]]) and self._allowed(joined):
                polish.move(record, to, self.classes, self.seconds, self.table.costs)
                saved += saves

    def swap(self) -> float:
        """Let records of two classes change places -> what was saved."""
        order = np.argsort(-self.classes.bounds.cost[self.classes.label], kind="stable")
        freed = np.zeros(self.classes.head.size)
        work = (freed, self.classes, self.seconds, self.others, self.table.costs)
        if not self.guards:
            return float(swap.swap_all(order, *work))
        swap.free_all(*work[:3], self.table.costs)
        at, saved = np.zeros(1, np.int64), 0.0
        while True:
            one, other, saves = swap.next_swap(at, order, *work)
            if one < 0:
                return saved
            a, b = (self._members(self.classes.label[each]) for each in (one, other))
            first, second = self.ids[one], self.ids[other]
            if self._allowed(np.append(a[a != first], second)) and self._allowed(
                np.append(b[b != second], first)
            ):
                swap.exchange(one, other, *work)
                saved += saves

    def dissolve(self) -> float:
        """Take classes apart whose records pay less elsewhere -> what was saved."""
        order = np.argsort(-self.classes.bounds.cost, kind="stable")
        ids, targets, room = self._room(DISSOLVED * self.k)
        if not self.guards:
            return float(polish.dissolve(order, self.classes, self.table.costs, ids, targets, room))
        saved = 0.0
        for a in order:
            count = int(self.classes.bounds.size[a])
            worth = count * self.classes.bounds.cost[a]
            saves = float(polish.scatter(a, worth, self.classes, self.table.costs, ids, targets, room))
            if saves > 0 and self._may_take(ids[:count], targets[:count]):
                polish.send(count, ids, targets, self.classes, self.table.costs)
                saved += saves
        return saved

    def scatter(self, a: int, at_any_price: bool) -> None:
        """Let the records of class a, however many, go elsewhere if that saves something, or at any price."""
        bounds = self.classes.bounds
        count = int(bounds.size[a])
        ids, targets, room = self._room(count)
        worth = ANY_PRICE if at_any_price else count * bounds.cost[a]
        if polish.scatter(a, worth, self.classes, self.table.costs, ids, targets, room) > 0:
            polish.send(count, ids, targets, self.classes, self.table.costs)

    def _room(self, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64], closure.GroupBounds]:
        """Where the records of a class are written down, where they go, and what is taken back."""
        none = replace(self.table, codes=self.table.codes[:0])
        return (
            np.empty(most, np.int64),
            np.empty(most, np.int64),
            groups_of(np.zeros(0, np.int64), none, most),
        )

    def _may_take(self, ids: NDArray[np.int64], targets: NDArray[np.int64]) -> bool:
        return all(
            self._allowed(np.concatenate([self._members(b), self.ids[ids[targets == b]]]))
            for b in np.unique(targets)
        )

    def _members(self, a: int) -> NDArray[np.int32]:
        """Who is in a class, by their index in the whole table."""
        found = np.empty(self.classes.bounds.size[a], np.int64)
        polish.members(a, self.classes, found)
        return self.ids[found]

    def _allowed(self, rows: NDArray[np.int32]) -> bool:
        rows = np.sort(rows)
        return all(guard.allows(rows) for guard in self.guards)
