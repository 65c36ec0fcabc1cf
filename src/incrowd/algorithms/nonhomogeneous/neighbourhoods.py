"""(k,1), (1,k) and global (1,k) neighbourhoods: Algorithms 3 to 6 of "k-Anonymization Revisited".

Each record gets a neighbourhood of its own, so that its row is consistent with at least k records: (k,1).
That alone protects nobody: others may fit few rows, or one. Then rows are widened until every record fits k
of them: (k,1) becomes (k,k). At last they are widened until every record has k matches. A match is a row that
some assignment of all records to all rows gives to the record; the others an adversary who knows everybody
rules out. Rows only grow, so what held before holds afterwards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import need_enough
from incrowd.algorithms.costs import EXTENT, MEASURES, Priced, groups_of, priced
from incrowd.contracts import AnyLimit, Choice, Limit, Limited
from incrowd.flow import Microdata, Neighbourhoods
from incrowd.kernels import boxtree, closure, flow, global_1k, k_one, one_k
from incrowd.long_work import Progress, silent

AT_ONCE = 2048  # rows whose points are held in memory at a time, and records between two words on progress
ROOM = 1 << 20  # arcs that are made room for at first, at most


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
        members = np.argsort(space.ids, kind="stable")
        costs, starts = space.table.costs, space.starts()
        k_one.nearest(self.k, space.points, space.tree, costs, members, starts, grown)


@dataclass(frozen=True)
class Expansion(NeighbourhoodGrowth):
    """Algorithm 4: each neighbourhood grows by the record that adds least to the cost of its row."""

    def _grow(self, space: RecordTree, grown: NDArray[np.int64]) -> None:
        plain = priced(space.data, EXTENT).costs
        costs = space.table.costs
        k_one.expand(self.k, space.points, space.tree, costs, plain, space.scratch(), grown)


@dataclass(frozen=True, slots=True, eq=False)
class RecordTree:
    """Distinct records as points in a tree of boxes, and which of them each record is."""

    data: Microdata
    table: Priced
    ids: NDArray[np.int64]
    points: closure.GroupBounds
    tree: boxtree.BoxTree

    @classmethod
    def over(cls, data: Microdata, measure: str) -> RecordTree:
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

    def scratch(self) -> closure.GroupBounds:
        """Room for one neighbourhood."""
        return groups_of(np.zeros(self.ids.size, np.int64), self.table)

    def around(self, grown: NDArray[np.int64]) -> Neighbourhoods:
        """Each record with one record of every point that its neighbourhood grew by."""
        others = grown[self.ids]
        others = np.where(others >= 0, self.points.first[others], -1)
        whole = np.concatenate([np.arange(self.ids.size)[:, None], others], axis=1)
        sizes = (whole >= 0).sum(axis=1)
        return Neighbourhoods(np.concatenate([[0], np.cumsum(sizes)]), whole[whole >= 0].astype(np.int32))


def widened(data: Microdata, neighbourhoods: Neighbourhoods, k: int, measure: str = "lm") -> Neighbourhoods:
    """The neighbourhoods, with those added for whom a row was widened.

    Records are looked at in their order. One that fits fewer than k rows joins the
    neighbourhoods of those whose rows get dearer by least; of equal ones that of the smaller record.
    """
    space, extent = RecordTree.over(data, measure), priced(data, EXTENT)
    plain, costs, n = extent.costs, space.table.costs, len(data)
    rows, fits = rows_over(space, neighbourhoods, extent), np.zeros(space.points.size.size, np.int64)
    for first in range(0, n, AT_ONCE):
        last = min(first + AT_ONCE, n)
        ends = np.empty(last - first + 1, np.int64)
        inside = k_one.inside_of(first, last, rows.groups, rows.plain, space.points, space.tree, plain, ends)
        fits += np.bincount(inside, minlength=fits.size)
    one_k.note(0, n, rows, costs)
    pairs = one_k.widen(k, space.ids, fits, space.points, rows, space.tree, costs, plain)
    return joined_by(neighbourhoods, rows.record[pairs[:, 0]], pairs[:, 1])


def rows_over(space: RecordTree, neighbourhoods: Neighbourhoods, plain: Priced) -> one_k.OwnRows:
    """The row of each record, sorted by the point that is the record."""
    n, d = space.table.codes.shape
    record = np.argsort(space.ids, kind="stable")
    place = np.empty(n, np.int64)
    place[record] = np.arange(n)
    owner = place[np.repeat(np.arange(n), neighbourhoods.sizes)]
    groups = groups_of(owner, replace(space.table, codes=space.table.codes[neighbourhoods.members]))
    own = groups.cost.copy()
    closure.price(n, groups, plain.costs)
    plain_cost = groups.cost.copy()
    groups.cost[:] = own
    nodes, left = space.tree.left.size, space.tree.left
    inner, leaves = np.flatnonzero(left >= 0), np.flatnonzero(left < 0)
    parent = np.zeros(nodes, np.int64)
    parent[left[inner]] = parent[left[inner] + 1] = inner
    leaves = leaves[np.argsort(space.tree.first[leaves], kind="stable")]
    leaf = np.repeat(leaves, space.tree.last[leaves] - space.tree.first[leaves])  # of each point
    return one_k.OwnRows(
        groups=groups,
        plain=plain_cost,
        record=record,
        starts=space.starts(),
        low=np.full((nodes, d), np.iinfo(np.int32).max, np.int32),
        high=np.full((nodes, d), -1, np.int32),
        met=np.zeros((nodes, groups.bits.shape[1]), np.uint64),
        dear=np.zeros((nodes, d)),
        parent=parent,
        leaf=leaf[space.ids[record]],
    )


def joined_by(
    neighbourhoods: Neighbourhoods, record: NDArray[np.int64], member: NDArray[np.int64]
) -> Neighbourhoods:
    """Neighbourhoods with more members: `member` joins that of `record`."""
    owner = np.concatenate([np.repeat(np.arange(len(neighbourhoods)), neighbourhoods.sizes), record])
    members = np.concatenate([neighbourhoods.members, member]).astype(np.int32)
    order = np.argsort(owner, kind="stable")
    sizes = np.bincount(owner, minlength=len(neighbourhoods))
    return Neighbourhoods(np.concatenate([[0], np.cumsum(sizes)]), members[order])


def global_neighbourhoods(
    data: Microdata, neighbourhoods: Neighbourhoods, k: int, measure: str = "lm", progress: Progress = silent
) -> Neighbourhoods:
    """The neighbourhoods, with those added for whom a row was widened.

    Records are looked at in their order. While one has fewer than k matches, its own row is widened for the
    record, among those whose rows it fits but does not match, that makes it dearer by least; of equal ones
    the smaller. They must be (k,k)-anonymous: then everyone fits k rows, and that ends.
    """
    space = RecordTree.over(data, measure)
    plain = priced(data, EXTENT)
    rows = rows_over(space, neighbourhoods, plain)
    web = _web(space, rows, plain)
    row_of = np.empty(len(data), np.int64)
    row_of[rows.record] = np.arange(len(data))
    ground = rows.groups, rows.plain, space.points, space.tree, space.table.costs, plain.costs
    work = global_1k.Widening(row_of, rows.record, *ground)
    joined = np.empty((web.root.size, 2), np.int64)  # each pair joins two components
    done = 0
    while done < len(data):
        last = min(done + AT_ONCE, len(data))
        stopped = global_1k.upgrade(k, done, last, work, web, joined)
        web = web if stopped == last else _roomier(web)
        done = stopped
        progress(done / len(data))
    pairs = joined[: web.clock[2]]
    return joined_by(neighbourhoods, rows.record[pairs[:, 0]], rows.record[pairs[:, 1]])


def _web(space: RecordTree, rows: one_k.OwnRows, plain: Priced) -> global_1k.Web:
    """The graph of distinct records, with its components."""
    m, n = space.points.size.size, rows.record.size
    ends = np.empty(n + 1, np.int64)
    inside = k_one.inside_of(0, n, rows.groups, rows.plain, space.points, space.tree, plain.costs, ends)
    fits_at, fits = boxtree.turned(ends, inside, m)
    owner = np.repeat(np.arange(m), np.diff(rows.starts))
    to = owner[fits].astype(np.int32)
    root, ring = _known(flow.strong_components(fits_at, to))
    web = global_1k.Web(
        owner=owner,
        fits=fits,
        at=np.stack([fits_at, ends[rows.starts]]),
        to=np.stack([to, inside]),
        late=np.full((2, m), -1, np.int32),
        late_to=np.zeros((2, 0), np.int32),
        late_next=np.zeros((2, 0), np.int32),
        late_row=np.zeros(0, np.int32),
        root=root,
        ring=ring,
        seen=np.zeros((2, m), np.int64),
        dead=np.zeros(m, np.int64),
        queue=np.empty(m, np.int64),
        clock=np.zeros(3, np.int64),
    )
    return _roomier(web)


def _known(labels: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each point the first of its component, and the next one, around in a ring."""
    order = np.argsort(labels, kind="stable")
    first = np.concatenate([[True], np.diff(labels[order]) > 0])
    starts = np.flatnonzero(first)
    root, ring = np.empty(labels.size, np.int64), np.empty(labels.size, np.int64)
    root[order] = order[starts[np.cumsum(first) - 1]]
    ring[order[:-1]] = order[1:]
    ring[order[np.append(starts[1:], labels.size) - 1]] = order[starts]
    return root, ring


def _roomier(web: global_1k.Web) -> global_1k.Web:
    """The same graph with room for more arcs, twice as many at least: a widened row may hold every point."""
    points = web.root.size
    more = web.late_row.size + 2 * points + min(ROOM, points * points)
    grown = {}
    for name in ("late_to", "late_next", "late_row"):
        old = getattr(web, name)
        grown[name] = np.concatenate([old, np.full((*old.shape[:-1], more), -1, np.int32)], axis=-1)
    return web._replace(**grown)
