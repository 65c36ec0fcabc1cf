"""Polish: equivalence classes of any origin made cheaper by local search.

Records move to cheaper classes and dear classes dissolve, while every class keeps k records and every guard
allows it. Large tables are polished in blocks of classes that lie near each other, cut anew for each sweep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.costs import Priced, groups_of
from incrowd.contracts import Guard
from incrowd.kernels import boxtree, closure, polish, reopen

ENOUGH = 1e-4  # of the whole loss: rounds that save less are the last
ROUNDS = 8
BLOCK = 4000  # records that are polished together in a sweep
ANY_PRICE = 1e30
SPARE = 64  # empty classes for what is opened
NEAR = 16  # classes near a record among which one is opened
POOL = 48  # times k: records of those classes
DISSOLVED = 4  # times k: larger classes are not taken apart


@dataclass(frozen=True, slots=True, eq=False)
class Polish:
    """The classes of some records, in hand."""

    k: int
    table: Priced
    guards: tuple[Guard, ...]
    ids: NDArray[np.int32]  # (n,) of these records in the whole table, for the guards
    classes: polish.Classes
    seconds: polish.Seconds

    @classmethod
    def of(
        cls,
        k: int,
        table: Priced,
        labels: NDArray[np.integer],
        guards: tuple[Guard, ...] = (),
        ids: NDArray[np.int32] | None = None,
    ) -> Polish:
        """Begin with these classes (n,), numbered from 0 without gaps."""
        n, d = table.codes.shape
        labels = labels.astype(np.int64)
        bounds = groups_of(labels, table, spare=SPARE)
        classes = polish.Classes(
            codes=np.ascontiguousarray(table.codes),
            bounds=bounds,
            label=labels,
            head=np.empty(bounds.size.size, np.int64),
            after=np.empty(n, np.int64),
            before=np.empty(n, np.int64),
        )
        polish.link(classes)
        seconds = polish.Seconds(
            np.empty((2, d), np.int64), np.empty((2, d), np.int64), np.empty(d, np.uint64), np.empty(d, np.uint64)
        )
        ids = np.arange(n, dtype=np.int32) if ids is None else ids
        return cls(k, table, guards, ids, classes, seconds)

    @property
    def cost(self) -> float:
        """What all rows cost together."""
        return float((self.classes.bounds.cost * self.classes.bounds.size).sum())

    def labels(self) -> NDArray[np.int32]:
        """The class of each record, numbered from 0 without gaps."""
        return np.unique(self.classes.label, return_inverse=True)[1].reshape(-1).astype(np.int32)

    def run(self, rounds: int = ROUNDS) -> float:
        """Move and dissolve until that saves little -> what was saved."""
        saved = 0.0
        for _ in range(rounds):
            before = self.cost
            here = self.relocate() + self.dissolve()
            saved += here
            if here <= ENOUGH * before:
                break
        return saved

    def relocate(self) -> float:
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

    def reopen(self, seeds: NDArray[np.int64]) -> float:
        """Try to open a class around each of these records -> what was saved."""
        most, d = max(1500, POOL * self.k), self.table.codes.shape[1]
        bounds = groups_of(np.zeros(0, np.int64), replace(self.table, codes=self.table.codes[:0]), NEAR + 1)
        local = polish.Classes(
            codes=np.empty((most, d), np.int32),
            bounds=bounds,
            label=np.empty(most, np.int64),
            head=np.empty(NEAR + 1, np.int64),
            after=np.empty(most, np.int64),
            before=np.empty(most, np.int64),
        )
        ids, inside, near = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(NEAR, np.int64)
        return float(
            reopen.reopen_all(
                self.k, seeds, self.classes, local, ids, near, inside, self.seconds, self.table.costs
            )
        )

    def dissolve(self) -> float:
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
        return np.empty(most, np.int64), np.empty(most, np.int64), groups_of(np.zeros(0, np.int64), none, most)

    def _may_take(self, ids: NDArray[np.int64], targets: NDArray[np.int64]) -> bool:
        return all(
            self._allowed(np.concatenate([self._members(b), self.ids[ids[targets == b]]]))
            for b in np.unique(targets)
        )

    def _members(self, a: int) -> NDArray[np.int32]:
        """Who is in a class, by their index in the whole table."""
        found = np.empty(self.classes.bounds.size[a], np.int64)
        i = self.classes.head[a]
        for x in range(found.size):
            found[x], i = i, self.classes.after[i]
        return self.ids[found]

    def _allowed(self, rows: NDArray[np.int32]) -> bool:
        rows = np.sort(rows)
        return all(guard.allows(rows) for guard in self.guards)


def swept(
    k: int, table: Priced, labels: NDArray[np.int32], guards: tuple[Guard, ...], sweeps: int
) -> NDArray[np.int32]:
    """Polish classes of a large table in blocks of near ones; each sweep sees nearness in another way."""
    d = table.codes.shape[1]
    for sweep in range(sweeps):
        bounds = groups_of(labels.astype(np.int64), table)
        middle = bounds.low + bounds.high
        columns = [j for j in range(d) if j != sweep % d or d == 1]
        order = boxtree.build(middle[:, columns]).order
        upto = np.cumsum(bounds.size[order]) - 1 + (BLOCK // 2) * (sweep % 2)
        block = np.empty(order.size, np.int64)
        block[order] = upto // BLOCK
        rows = np.argsort(block[labels], kind="stable").astype(np.int32)
        ends = np.flatnonzero(np.diff(block[labels][rows])) + 1
        new, classes, saved = np.empty_like(labels), 0, 0.0
        for part in np.split(rows, ends):
            some = replace(table, codes=np.ascontiguousarray(table.codes[part]))
            own = np.unique(labels[part], return_inverse=True)[1].reshape(-1)
            work = Polish.of(k, some, own, guards, part)
            saved += work.run(rounds=2)
            new[part] = classes + work.labels()
            classes = int(new[part].max()) + 1
        labels = new
        if saved <= ENOUGH * float((bounds.cost * bounds.size).sum()):
            break
    return labels
