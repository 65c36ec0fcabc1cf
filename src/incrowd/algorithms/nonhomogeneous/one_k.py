"""Widening rows until every record fits k of them: Algorithm 5 of "k-Anonymization Revisited".

Rows only grow, so what held before holds afterwards: (k,1) becomes (k,k).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.costs import EXTENT, Priced, groups_of, priced
from incrowd.algorithms.nonhomogeneous.k_one import RecordTree
from incrowd.flow import Microdata, Neighbourhoods

if TYPE_CHECKING:
    from incrowd.kernels.one_k import Rows


AT_ONCE = 2048  # rows whose points are held in memory at a time


def widened(data: Microdata, neighbourhoods: Neighbourhoods, k: int, measure: str = "lm") -> Neighbourhoods:
    """The neighbourhoods, with those added for whom a row was widened.

    Records are looked at in their order. One that fits fewer than k rows joins the
    neighbourhoods of those whose rows get dearer by least; of equal ones that of the smaller record.
    """
    from incrowd.kernels import k_one, one_k

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


def rows_over(space: RecordTree, neighbourhoods: Neighbourhoods, plain: Priced) -> Rows:
    """The row of each record, sorted by the point that is the record."""
    from incrowd.kernels import closure, one_k

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
    return one_k.Rows(
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
