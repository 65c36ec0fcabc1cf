"""Groups that grow until they are plain: a table as the kernels of ExpC want it, and how they are driven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.costs import BITS, ExactLine, family_as_tree, spans_of
from incrowd.contracts import Guard, Plainness
from incrowd.errors import PolicyError
from incrowd.flow import Attribute, Codes, Microdata
from incrowd.kernels import boxtree, expc, expc_groups, outliers, plain_corners
from incrowd.schema import Shape

if TYPE_CHECKING:
    from incrowd.distance_outliers import Space
Ints = NDArray[np.int64]
LOSSES = ("zero-based", "printed")
SMALL = 2**14  # places in the first table of nodes
LEAF = 8  # distinct records in a leaf of the tree


@dataclass(frozen=True, slots=True)
class GrowthRules:
    """When a group is done, and how long it is tried: 0 tries or patience is no limit."""

    k: int
    distinct: int
    delta: int
    tries: int
    patience: int
    fresh: bool  # do only records with a new value count until there are enough?
    plain: bool = True  # False: enough values are enough
    usual: bool = False  # does no group grow around an outlier?

    def __post_init__(self) -> None:
        if self.delta == 0:
            object.__setattr__(self, "delta", self.k)


class Growth:
    """A table whose records are grouped, with all that the kernels need between two calls.

    Codes are numbered anew where a column is published as sets: by text, missing first, as places are; the
    sets of a family depth first.
    """

    def __init__(
        self, data: Microdata, plainness: Plainness, guards: tuple[Guard, ...], rules: GrowthRules, loss: str
    ) -> None:
        self.space: Space = plainness.space
        self.plainness, self.rules = plainness, rules
        self.guards = tuple(guard for guard in guards if guard is not plainness)
        columns = [_ExpcColumn(a, data.codes[:, j], self.space) for j, a in enumerate(data.attributes)]
        self.codes = np.stack([c.rank[data.codes[:, j]] for j, c in enumerate(columns)], axis=1)
        self.back = [np.argsort(c.rank) for c in columns]
        self.known = all(column.known for column in columns)
        self.domain = _domain(data, columns, self.space, loss)
        self.pool = _pool(self.codes, self.space.values)
        values = int(self.space.values.max(initial=0)) + 1
        self.group, self.search = _room(self.codes.shape, values, self.pool, len(self.space.axes))
        self.memo = _memo(SMALL, self.codes.shape[1])
        self.test = _outlier_test(self.space)

    def release(self, records: Ints) -> None:
        """Let exactly these records be free."""
        state = self.pool.record[:, expc.STATE]
        state[state == expc.FREE] = expc.LOCKED
        state[records] = expc.FREE
        _count_free(self.pool)
        self.group.tally[expc.LEFT] = records.size

    def grow(self, seeds: Ints, clock: Ints | None = None) -> Ints:
        """Groups around the seeds, in their order, of whoever is free -> the seeds that found none.

        `labels` says then who is in which group.
        """
        tally = self.group.tally
        tally[expc.CURSOR] = 0
        while True:
            stopped = expc_groups.grow(seeds, self._state())
            if clock is not None:
                clock[1] = tally[expc.CURSOR]
            if stopped == expc.FINISHED:
                gone = self.pool.record[seeds, expc.STATE] == expc.GONE
                left: Ints = seeds[gone & (self.labels[seeds] < 0)]
                return left
            if stopped == expc.CHECK:
                rows = self.group.members[: tally[0]]
                tally[expc.QUICK] = plain_corners.YES if self._allowed(rows) else expc.REFUSED
            else:
                self._help(stopped)

    @property
    def checks(self) -> Ints:
        """How often a node was asked about, and around how many of them records were counted."""
        found: Ints = self.group.tally[[plain_corners.ASKED, plain_corners.KNOWN]]
        return found

    @property
    def labels(self) -> Ints:
        """The group of each record, -1 for those in none."""
        labels: Ints = self.pool.record[:, expc.LABEL]
        return labels

    def first_plain(self, groups: Sequence[Ints], record: int = -1) -> int:
        """The first of the groups that is done with a record (-1: as it is), or -1."""
        if not groups:
            return -1
        rows = np.concatenate(groups)
        starts = np.concatenate([[0], np.cumsum([len(group) for group in groups])])
        at = 0
        while True:
            expc_state = self._state()
            answer, found = expc_groups.first_plain(at, record, rows, starts, expc_state)
            if answer == plain_corners.NO:
                return -1
            if answer != plain_corners.YES:
                at = found
                self._help(answer)
            elif expc_state.rules.alone or self._allowed(self.group.members[: self.group.tally[0]]):
                return int(found)
            else:
                at = found + 1

    def lost(self, record: int) -> bool:
        """Is no group with this record plain: an outlier with any value, where all people are looked at?"""
        form = self.space.setting.form
        return self.rules.plain and form != "corner" and bool(self.space.lone[record])

    def _state(self) -> expc.ExpcState:
        rules, form = self.rules, self.space.setting.form
        by_corners = rules.plain and form != "candidate" and self.known
        alone = not self.guards and (not rules.plain or (by_corners and form == "corner"))
        limits = (rules.k, rules.distinct, rules.delta, rules.tries, rules.patience)
        growth = expc.ExpcRules(*limits, by_corners, alone, rules.fresh, rules.usual)
        return expc.ExpcState(growth, self.domain, self.pool, self.group, self.search, self.memo, self.test)

    def _allowed(self, rows: Ints) -> bool:
        """What the kernel does not know: people inside the box, and other promises."""
        sorted_rows = np.sort(rows).astype(np.int32)
        if not all(guard.allows(sorted_rows) for guard in self.guards):
            return False
        return not self.rules.plain or self.plainness.plain(sorted_rows)

    def _help(self, stopped: int) -> None:
        """Settle a node in whole numbers, or make room in the table of nodes."""
        if stopped == plain_corners.CORNERS:
            raise PolicyError(
                f"more than {plain_corners.MOST} corners in a group: leave columns out of "
                "[privacy.plain] columns"
            )
        if stopped == plain_corners.CROWDED:
            old = self.memo
            self.memo = _memo(2 * old.state.size, self.codes.shape[1])
            plain_corners.remember(old.keys, old.state, self.memo)
            return
        key = self.group.key.copy()
        bad = self.space.bad(self._point(key)[None, :])[0]
        state = np.array([plain_corners.BAD if bad else plain_corners.FINE], np.int8)
        plain_corners.remember(key[None, :], state, self.memo)
        self.group.tally[plain_corners.KNOWN] += 1

    def _point(self, key: Codes) -> Codes:
        """A node as the space numbers codes."""
        someone = int(np.flatnonzero(self.space.values == key[-1])[0])
        point: Codes = self.space.points(np.array([someone]))[0]
        for j, part in enumerate(self.domain.column[:, plain_corners.PART]):
            if part >= 0:
                point[part] = self.back[j][key[j]]
        return point


class _ExpcColumn:
    """One quasi-identifier: its codes numbered anew, and its permissible sets if it has some.

    Missing comes first where it lies beside the sets. Sets of more values than bits are measured by their
    width in the order of codes.
    """

    def __init__(self, attribute: Attribute, codes: Codes, space: Space) -> None:
        size, tree = len(attribute), attribute.tree
        self.attribute, self.size, self.known = attribute, size, True
        self.rank = np.arange(size, dtype=np.int32)
        self.apart = attribute.missing >= 0 and not attribute.missing_in_tree
        self.occurs = attribute.missing >= 0 and bool((codes == attribute.missing).any())
        self.nodes: list[tuple[int, int]] | None = None
        if attribute.shape is Shape.TREE and tree is not None:
            self.rank = (np.arange(size) + self.apart).astype(np.int32) % size
            self.nodes = list(
                zip((tree.low + self.apart).tolist(), (tree.high + self.apart).tolist(), strict=True)
            )
        elif attribute.shape is Shape.SET and attribute.family:
            try:
                self.rank, self.nodes = family_as_tree(attribute)
                self.apart = False
            except PolicyError:  # sets that overlap: the kernel does not know their corners, the space does
                self.known = False
        elif attribute.shape is Shape.SET:
            order = sorted(range(size), key=lambda code: (code != attribute.missing, attribute.texts[code]))
            self.rank[order] = np.arange(size, dtype=np.int32)
        self.missing = int(self.rank[attribute.missing]) if attribute.missing >= 0 else -1
        self.part = next((i for i, a in enumerate(space.axes) if a.quasi and a.name == attribute.name), -1)
        back = np.argsort(self.rank)
        places = space.axes[self.part].places if self.part >= 0 else (None,) * size
        self.places = [places[code] for code in back.tolist()]
        self.coordinate = space.cloud.scaled[self.part][back] if self.part >= 0 else np.full(size, np.nan)

    @property
    def wide(self) -> bool:
        """Do cells cost what lies between their ends?"""
        return self.nodes is None and (
            self.attribute.shape is Shape.RANGE or self.size > BITS or not self.known
        )


def _domain(
    data: Microdata, columns: list[_ExpcColumn], space: Space, loss: str
) -> plain_corners.CornerDomain:
    forest = _Nodes()
    leaves = [forest.plant(column) for column in columns]
    values = np.full((int(space.values.max(initial=0)) + 1, len(space.axes)), np.nan)
    for i in range(space.quasi, len(space.axes)):
        values[space.values, i] = space.cloud.scaled[i][space.axes[i].codes]
    table, lines, spans, start = [], [ExactLine.of(column.attribute) for column in columns], [], 0
    for column, line in zip(columns, lines, strict=True):
        kind = plain_corners.SET if column.nodes is None else plain_corners.NODE
        kind = plain_corners.LINE if column.wide else kind
        table.append([kind, start, column.size, column.missing, column.part, column.apart])
        printed = loss == "printed" and column.attribute.shape is Shape.RANGE
        spans.append(max(line.span + line.unit * printed, 1))
        start += column.size
    return plain_corners.CornerDomain(
        column=np.array(table, np.int64),
        spans=spans_of(spans, 4 * len(data) + 4),
        axis=np.concatenate([line.places for line in lines]),
        coordinate=np.concatenate([column.coordinate for column in columns]),
        leaf=np.concatenate(leaves),
        node=np.array(forest.rows, np.int64),
        values=values,
    )


class _Nodes:
    """Permissible sets of all columns, numbered through; node 0 belongs to none."""

    def __init__(self) -> None:
        self.rows = [[0] * 8]

    def plant(self, column: _ExpcColumn) -> Ints:
        """Add a column's sets -> the smallest of each code."""
        leaf = np.zeros(column.size, np.int64)
        tree, base = column.attribute.tree, len(self.rows)
        if column.nodes is None:
            return leaf
        if column.attribute.shape is Shape.TREE and tree is not None:
            for v, (low, high) in enumerate(column.nodes):
                self._enter(column, base + int(tree.parent[v]), low, high, root=v == 0)
            leaf[int(column.apart) :] = base + tree.leaf_node
            return leaf
        above: list[int] = []
        for low, high in sorted(set(column.nodes), key=lambda node: (node[0], -node[1])):
            while above and self.rows[above[-1]][2] < high:
                above.pop()
            here = len(self.rows)
            self._enter(column, above[-1] if above else here, low, high, root=not above)
            above.append(here)
            if low == high:
                leaf[low] = here
        return leaf

    def _enter(self, column: _ExpcColumn, parent: int, low: int, high: int, root: bool) -> None:
        held = [c for c in range(low, high + 1) if c != column.missing and column.places[c] is not None]
        held.sort(key=lambda code: column.places[code] or 0)
        ends = (held[0], held[-1]) if held else (-1, -1)
        # everything holds missing if anybody's value is: the cell says no more than that
        holds = column.occurs if root else low <= column.missing <= high
        beside = root and column.apart and column.occurs
        width = high - low
        self.rows.append([parent, low, high, width + beside, width + column.apart, *ends, holds])


def _pool(codes: Codes, values: Codes) -> expc.RecordPool:
    from incrowd.distance_outliers.cloud import distinct

    columns = [*codes.T, values]
    first, of, counts = distinct(columns, [int(c.max(initial=0)) + 1 for c in columns])
    tree = boxtree.build(codes[first], leaf=LEAF)
    place = np.empty(first.size, np.int64)
    place[tree.order] = np.arange(first.size)
    point = np.zeros((first.size + 1, 4), np.int64)
    point[:-1, expc.VALUE] = values[first][tree.order]
    point[1:, expc.FIRST] = np.cumsum(counts[tree.order])
    record = np.stack([place[of], np.full(of.size, expc.LOCKED), np.full(of.size, -1)], axis=1)
    left = tree.left.astype(np.int64)
    node = np.zeros((left.size, 5), np.int64)
    node[:, expc.BEGIN], node[:, expc.END], node[:, expc.CHILD] = tree.first, tree.last, left
    inner, leaves = np.flatnonzero(left >= 0), np.flatnonzero(left < 0)
    node[left[inner], expc.UP], node[left[inner] + 1, expc.UP] = inner, inner
    leaves = leaves[np.argsort(tree.first[leaves])]
    point[:-1, expc.LEAF] = np.repeat(leaves, tree.last[leaves] - tree.first[leaves])
    ids = np.argsort(record[:, expc.POINT], kind="stable")
    ints = [np.ascontiguousarray(each, np.int64) for each in (tree.points, tree.low, tree.high)]
    free = np.zeros(int(values.max(initial=0)) + 2, np.int64)
    return expc.RecordPool(ints[0], point, ids, record, ints[1], ints[2], node, free)


def _count_free(pool: expc.RecordPool) -> None:
    """Find the smallest free record of each point and of each node."""
    free = np.flatnonzero(pool.record[:, expc.STATE] == expc.FREE)
    smallest = np.full(len(pool.point), expc.NOBODY)
    np.minimum.at(smallest, pool.record[free, expc.POINT], free)
    pool.point[:, expc.SMALLEST] = smallest
    counts = np.bincount(pool.point[pool.record[free, expc.POINT], expc.VALUE], minlength=pool.free.size - 1)
    pool.free[:-1], pool.free[-1] = counts, np.count_nonzero(counts)
    below = pool.node[:, expc.BELOW]
    for v in range(len(pool.node) - 1, -1, -1):  # children lie behind their parent
        begin, end, child = pool.node[v, : expc.UP]
        below[v] = below[child : child + 2].min() if child >= 0 else smallest[begin:end].min()


def _room(
    shape: tuple[int, int], values: int, pool: expc.RecordPool, axes: int
) -> tuple[plain_corners.GrowingGroup, expc.WalkRoom]:
    n, d = shape
    group = plain_corners.GrowingGroup(
        box=np.zeros((2, 4, d), np.int64),
        has=np.zeros(values, np.int64),
        values=np.zeros(values + 1, np.int64),
        members=np.zeros(n + 1, np.int64),
        tally=np.zeros(plain_corners.TALLY, np.int64),
        ends=np.zeros((d, 4), np.int64),
        key=np.zeros(d + 1, np.int32),
        point=np.zeros(axes),
    )
    search = expc.WalkRoom(
        near=np.zeros(d, np.int64),
        found=np.zeros(expc.BATCH + 1, np.int64),
        cost=np.zeros(expc.BATCH + 1),
        stack=np.zeros(len(pool.node) + 2, np.int64),
        least=np.zeros(len(pool.node) + 2),
        banned=np.zeros(n, np.int64),
    )
    return group, search


def _memo(size: int, d: int) -> plain_corners.KnownNodes:
    return plain_corners.KnownNodes(np.zeros((size, d + 1), np.int32), np.zeros(size, np.int8))


def _outlier_test(space: Space) -> plain_corners.OutlierTest:
    cloud = space.cloud
    outline = cloud.trees(slice(space.quasi))
    return plain_corners.OutlierTest(
        cloud.forest, space.bound, cloud.room, outline, outliers.scratch(outline)
    )
