"""Who is left over: insertion into plain groups, merging, leaving out; and the repair of any partition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import lcm
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import records_by_label
from incrowd.algorithms.outliers.expc_groups import Growth, GrowthRules, Ints
from incrowd.contracts import Guard, Plainness
from incrowd.flow import Attribute, Codes, Microdata, Partition
from incrowd.kernels import expc_groups
from incrowd.long_work import Progress
from incrowd.schema import Shape

if TYPE_CHECKING:
    from incrowd.distance_outliers import CellPlaces

TRIES = 32  # groups that a record is tried with in a repair
MERGES = 8  # groups that one is merged with: each of so many, then all of them together
DEAD = 2**62  # in the place of a group's smallest record: it is gone
SIZE, MISSING = 2, 3  # in `column` of the kernels' Domain


class MergingGroups:
    """Groups that come and go, and what merging with each of them costs.

    Of a group are known its smallest codes, missing aside or not, its largest codes, and a bit for each code.
    """

    def __init__(self, growth: Growth, groups: Iterable[Ints]) -> None:
        self.growth = growth
        self.members: dict[int, Ints] = {}
        spans = growth.domain.spans.span.tolist()
        self._factor = [lcm(*spans) // span for span in spans]  # of a width, in parts that all columns share
        self._box = np.zeros((64, 4, len(spans)), np.int64)
        self._wide = np.zeros((64, len(spans)), np.int64)
        self._size = np.zeros(64, np.int64)
        self._first = np.full(64, DEAD)
        self._used = 0
        for rows in groups:
            self.add(rows)

    def add(self, rows: Ints) -> int:
        """Enter a group -> its number."""
        here = self._used
        if here == self._first.size:
            self._box, self._wide = np.concatenate([self._box] * 2), np.concatenate([self._wide] * 2)
            self._size, self._first = np.tile(self._size, 2), np.tile(self._first, 2)
        self._box[here] = self._around(rows)
        self._wide[here] = self._widths(self._box[here : here + 1], self._box[here])[0]
        self._size[here], self._first[here] = rows.size, rows.min()
        self.members[here] = rows
        self._used += 1
        return here

    def replace(self, numbers: Iterable[int], rows: Ints) -> None:
        """Let one group stand where these stood."""
        for number in numbers:
            self.drop(number)
        self.add(rows)

    def drop(self, number: int) -> None:
        del self.members[number]
        self._first[number] = DEAD

    def nearest(self, rows: Ints, count: int, but: Sequence[int] = ()) -> list[int]:
        """The groups by which the loss of all rows grows least with these records, cheapest first.

        All if `count` is 0. Of equal ones the one with the smallest record.
        """
        here, spans = slice(self._used), self.growth.domain.spans
        size, first = self._size[here], self._first[here]
        wide = self._widths(self._box[here], self._around(rows))
        cost = (size + rows.size) * (wide @ spans.share) - size * (self._wide[here] @ spans.share)
        doubt = 4 * spans.slack * len(self.growth.codes)
        alive = first < DEAD
        alive[list(but)] = False
        among = np.flatnonzero(alive)
        if 0 < count < among.size:
            among = among[cost[among] <= np.partition(cost[among], count - 1)[count - 1] + doubt]
        among = among[np.argsort(cost[among], kind="stable")]

        def exactly(g: int) -> tuple[int, int]:
            both = ((size[g] + rows.size) * wide[g] - size[g] * self._wide[g]).tolist()
            return sum(w * part for w, part in zip(both, self._factor, strict=True)), int(first[g])

        found: list[int] = []
        for run in np.split(among, np.flatnonzero(np.diff(cost[among]) > doubt) + 1):  # floats part these
            found += sorted(run.tolist(), key=exactly) if run.size > 1 else run.tolist()
        return found[: count or None]

    def _widths(self, boxes: Ints, box: Ints) -> Ints:
        """How wide the cells of a row over each of the boxes and another are (g, d)."""
        wide = np.empty((len(boxes), box.shape[1]), np.int64)
        expc_groups.widths_with(boxes, box, self.growth.domain, wide)
        return wide

    def _around(self, rows: Ints) -> Ints:
        """Bounds (4, d) of records; of columns with more values than bits these are not looked at."""
        codes, column = self.growth.codes[rows].astype(np.int64), self.growth.domain.column
        bits = np.bitwise_or.reduce(np.left_shift(1, np.minimum(codes, 63)), axis=0)
        real = np.where(codes == column[:, MISSING], column[:, SIZE] - 1, codes)
        return np.stack([codes.min(axis=0), codes.max(axis=0), real.min(axis=0), bits])

    # Records that are in no group

    def insert(self, record: int, tries: int) -> bool:
        """Let a record join the cheapest group that stays plain, of the first `tries` (0: of all)."""
        numbers = self.nearest(np.array([record]), tries)
        found = self.growth.first_plain([self.members[number] for number in numbers], record)
        if found < 0:
            return False
        joined = np.append(self.members[numbers[found]], record)
        self.replace([numbers[found]], joined)
        return True

    def merge(self, rows: Ints, most: int, own: Sequence[int] = ()) -> bool:
        """Merge records, of `own` groups or of none, with the cheapest others until that is plain.

        At most with `most` of them (0: all).
        """
        union, taken = rows, list(own)
        while not most or len(taken) < most + len(own):
            near = self.nearest(union, 1, taken)
            if not near:
                return False
            union, taken = np.concatenate([union, self.members[near[0]]]), [*taken, near[0]]
            if self.growth.first_plain([union]) == 0:
                self.replace(taken, union)
                return True
        return False

    def labels(self) -> NDArray[np.int32]:
        """The group of each record, numbered by their smallest records; -1 for those in none."""
        found = np.full(len(self.growth.codes), -1, np.int32)
        for number, rows in enumerate(sorted(self.members.values(), key=lambda rows: int(rows.min()))):
            found[rows] = number
        return found


def settled(groups: MergingGroups, residue: Ints, tries: int, merges: int, progress: Progress) -> list[int]:
    """Step 3 of ExpC: each record joins a group, or makes groups merge -> those for whom neither works."""
    suppressed = []
    for i, record in enumerate(residue.tolist()):
        lost = groups.growth.lost(record)
        if lost or not (groups.insert(record, tries) or groups.merge(np.array([record]), merges)):
            suppressed.append(record)
        progress((i + 1) / residue.size)
    return suppressed


def repaired(
    partition: Partition,
    data: Microdata,
    plainness: Plainness,
    guards: tuple[Guard, ...],
    k: int,
    progress: Progress,
) -> Partition:
    """Any partition, made plain.

    Records that can have no row leave their groups, and so do those who are outliers with any value. A
    group that is not plain, or has become too small, is merged with the cheapest of its neighbours with
    which it is plain: with each of a few, then with several. If that fails, its records are put one by one
    into the cheapest group that stays plain, as are those with any value, and whoever finds none is left out
    (-1). A group in the result is plain, has k records, and every guard allows it. So is a class of several
    groups that say the same: its corners and candidates are those of each, and values only come in, so that
    no row or column of nodes becomes all bad.

    Where each column is recoded on its own, groups cannot be merged: those that are not plain are left out.
    """
    rules = GrowthRules(k, plainness.space.setting.distinct, 0, TRIES, 0, True)
    gone = plainness.space.gone
    lone = plainness.space.lone & ~gone & (partition.labels >= 0)
    labels = np.where(gone | lone, -1, partition.labels).astype(np.int32)
    if partition.slabs is not None:
        if plainness.space.setting.form == "corner":  # they may stand between corners
            labels = np.where(gone, -1, partition.labels).astype(np.int32)
        return _slabs_repaired(partition, labels, data, plainness, guards, k)
    growth = Growth(data, plainness, guards, rules, "zero-based")
    groups = MergingGroups(growth, records_by_label(labels))
    wrong = [number for number, rows in list(groups.members.items()) if growth.first_plain([rows]) < 0]
    wrong.sort(key=lambda number: int(groups.members[number].min()))
    loose: list[int] = []
    for i, number in enumerate(wrong):
        if number in groups.members and not _joined(groups, number):
            loose += np.sort(groups.members[number]).tolist()
            groups.drop(number)
        progress((i + 1) / (len(wrong) + 1))
    for record in (*loose, *np.flatnonzero(lone).tolist()):
        if not growth.lost(record):
            groups.insert(record, TRIES)
    progress(1.0)
    return Partition(groups.labels())


def _joined(groups: MergingGroups, number: int) -> bool:
    """Merge a group with one neighbour, or with several, so that the union is plain."""
    rows = groups.members[number]
    near = groups.nearest(rows, MERGES, [number])
    unions = [np.concatenate([rows, groups.members[other]]) for other in near]
    found = groups.growth.first_plain(unions)
    if found >= 0:
        groups.replace([number, near[found]], unions[found])
        return True
    return groups.merge(rows, MERGES, [number])


def _slabs_repaired(
    partition: Partition,
    labels: NDArray[np.int32],
    data: Microdata,
    plainness: Plainness,
    guards: tuple[Guard, ...],
    k: int,
) -> Partition:
    """Leave out the groups of a recoding by columns that are not plain, until all that are left are.

    A cell speaks for its slab, and says less when records of the slab are gone: so all are looked at again.
    """
    from incrowd.distance_outliers import Matrix

    matrix, others = Matrix(plainness.space), [guard for guard in guards if guard is not plainness]
    while True:
        cells = _Slabs(partition, labels, data, plainness)
        wrong = []
        for rows in records_by_label(labels):
            values = matrix.values(rows)
            good = rows.size >= k and len(values) >= plainness.space.setting.distinct
            good = good and all(guard.allows(rows.astype(np.int32)) for guard in others)
            if not (good and matrix.plain_cells(cells.of(int(rows[0])), values)):
                wrong.append(rows)
        for rows in wrong:
            labels[rows] = -1
        if not wrong:
            kept = labels >= 0
            labels[kept] = np.unique(labels[kept], return_inverse=True)[1]
            return Partition(labels, partition.slabs, partition.levels)


class _Slabs:
    """What rows say where each column is recoded on its own: a cell for each slab."""

    def __init__(
        self, partition: Partition, labels: NDArray[np.int32], data: Microdata, plainness: Plainness
    ) -> None:
        from incrowd.distance_outliers.corners import Closing

        slabs = partition.slabs
        if slabs is None:
            raise ValueError("only a recoding by columns has slabs")
        self.slabs, self.cells = slabs, []
        kept = np.flatnonzero(labels >= 0)
        for j, closing in enumerate(Closing.of(data, plainness.space.axes)):
            level = None if partition.levels is None else partition.levels[j]
            column, here = data.codes[kept, j], slabs[kept, j]
            each = (column[here == slab] for slab in np.unique(here))
            found = [closing.over(_said(data.attributes[j], codes, level)) for codes in each]
            self.cells.append(dict(zip(np.unique(here).tolist(), found, strict=True)))

    def of(self, record: int) -> tuple[CellPlaces, ...]:
        """The cells of a record's row."""
        return tuple(cells[int(self.slabs[record, j])] for j, cells in enumerate(self.cells))


def _said(attribute: Attribute, codes: Codes, level: int | None) -> Codes:
    """The codes that a slab's cell holds: of a level all below its node, whoever is there."""
    tree = attribute.tree
    if level and attribute.shape is Shape.SET:
        return np.arange(len(attribute), dtype=np.int32)
    if level is None or attribute.shape is not Shape.TREE or tree is None:
        return codes
    leaves = codes[codes < len(tree.leaves)]
    node = int(tree.leaf_node[leaves[0]]) if leaves.size else 0
    for _ in range(level if leaves.size else 0):
        node = int(tree.parent[node])
    whole = tree.high[node] - tree.low[node] + 1 == len(tree.leaves) and level > 0
    if not leaves.size and not whole:
        return codes
    held = np.array([tree.low[node], tree.high[node]], np.int32)
    return np.arange(len(attribute), dtype=np.int32) if whole else held
