"""Widening rows until every record has k matches: Algorithm 6 of "k-Anonymization Revisited".

A match is a row that some assignment of all records to all rows gives to the record; the others an adversary
who knows everybody rules out. Rows only grow, so what held before holds afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.costs import EXTENT, Priced, priced
from incrowd.algorithms.nonhomogeneous.k_one import RecordTree
from incrowd.algorithms.nonhomogeneous.one_k import joined_by, rows_over
from incrowd.contracts import Progress, silent
from incrowd.flow import Microdata, Neighbourhoods

if TYPE_CHECKING:
    from incrowd.kernels.global_1k import Web
    from incrowd.kernels.one_k import Rows

AT_ONCE = 2048  # records between two words about progress
ROOM = 1 << 20  # arcs that are made room for at first, at most


def global_neighbourhoods(
    data: Microdata, neighbourhoods: Neighbourhoods, k: int, measure: str = "lm", progress: Progress = silent
) -> Neighbourhoods:
    """The neighbourhoods, with those added for whom a row was widened.

    Records are looked at in their order. While one has fewer than k matches, its own row is widened for the
    record, among those whose rows it fits but does not match, that makes it dearer by least; of equal ones
    the smaller. They must be (k,k)-anonymous: then everyone fits k rows, and that ends.
    """
    from incrowd.kernels import global_1k

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


def _web(space: RecordTree, rows: Rows, plain: Priced) -> Web:
    """The graph of distinct records, with its components."""
    from incrowd.kernels import boxtree, global_1k, k_one
    from incrowd.kernels.flow import strong_components

    m, n = space.points.size.size, rows.record.size
    ends = np.empty(n + 1, np.int64)
    inside = k_one.inside_of(0, n, rows.groups, rows.plain, space.points, space.tree, plain.costs, ends)
    fits_at, fits = boxtree.turned(ends, inside, m)
    owner = np.repeat(np.arange(m), np.diff(rows.starts))
    to = owner[fits].astype(np.int32)
    root, ring = _known(strong_components(fits_at, to))
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


def _roomier(web: Web) -> Web:
    """The same graph with room for more arcs, twice as many at least: a widened row may hold every point."""
    points = web.root.size
    more = web.late_row.size + 2 * points + min(ROOM, points * points)
    grown = {}
    for name in ("late_to", "late_next", "late_row"):
        old = getattr(web, name)
        grown[name] = np.concatenate([old, np.full((*old.shape[:-1], more), -1, np.int32)], axis=-1)
    return web._replace(**grown)
