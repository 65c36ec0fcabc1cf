"""Widening rows until every record has k matches: Algorithm 6 of "k-Anonymization Revisited".

A match is a row that some assignment of all records to all rows gives to the record; the others an adversary
who knows everybody rules out. Rows only grow, so what held before holds afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import Progress, silent
from incrowd.flow import Crowds, Microdata
from incrowd.hide.costs import EXTENT, priced
from incrowd.hide.expansion import Space
from incrowd.hide.widening import joined_by, rows_over

if TYPE_CHECKING:
    from incrowd.kernels.globally import Ground, Links, Web

AT_ONCE = 2048  # records between two words about progress
ROOM = 1 << 20  # links that are made room for at first


def global_crowds(
    data: Microdata, crowds: Crowds, k: int, measure: str = "lm", progress: Progress = silent
) -> Crowds:
    """The crowds, with those added for whom a row was widened.

    Records are looked at in their order. While one has fewer than k matches, its own row is widened for the
    record, among those whose rows it fits but does not match, that makes it dearer by least; of equal ones
    the smaller. The crowds must be (k,k)-anonymous: then everyone fits k rows, and that ends.
    """
    from incrowd.kernels import globally

    space = Space.over(data, measure)
    plain = priced(data, EXTENT)
    rows = rows_over(space, crowds, plain)
    ground = globally.Ground(rows, space.points, space.tree, space.table.costs, plain.costs)
    web = _web(ground)
    row_of = np.empty(len(data), np.int64)
    row_of[rows.record] = np.arange(len(data))
    joined = np.empty((web.root.size, 2), np.int64)  # each pair joins two components
    done = 0
    while done < len(data):
        last = min(done + AT_ONCE, len(data))
        stopped = globally.upgrade(k, done, last, row_of, ground, web, joined)
        web = web if stopped == last else web._replace(links=_roomier(web.links))
        done = stopped
        progress(done / len(data))
    pairs = joined[: web.clock[2]]
    return joined_by(crowds, rows.record[pairs[:, 0]], rows.record[pairs[:, 1]])


def _web(ground: Ground) -> Web:
    """The graph of distinct records, with its components."""
    from incrowd.kernels import boxtree, globally
    from incrowd.kernels.flow import strong_components

    rows = ground.rows
    m, n = ground.points.size.size, rows.record.size
    ends = np.zeros(n + 1, np.int64)
    inside = globally.all_inside(ground, ends)
    fits_at, fits = boxtree.turned(ends, inside, m)
    owner = np.repeat(np.arange(m), np.diff(rows.starts)).astype(np.int32)
    root, ring = _known(strong_components(fits_at, owner[fits]))
    nothing = np.zeros(0, np.int32)
    none_yet = np.full(n, -1, np.int32), np.full(m, -1, np.int32)
    links = globally.Links(ends, inside, fits_at, fits, *none_yet, nothing, nothing, nothing, nothing)
    return globally.Web(
        links=_roomier(links),
        owner=owner,
        starts=rows.starts,
        root=root,
        ring=ring,
        forth=np.zeros(m, np.int64),
        back=np.zeros(m, np.int64),
        dead=np.zeros(m, np.int64),
        queue=np.empty(m, np.int64),
        clock=np.zeros(3, np.int64),
    )


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


def _roomier(links: Links) -> Links:
    """The same links with room for more, twice as many at least: a widened row may hold every point."""
    size = 2 * links.late_row.size + 2 * links.of_point.size + ROOM
    grown = {}
    for name in ("late_row", "late_point", "row_next", "point_next"):
        old = getattr(links, name)
        grown[name] = np.full(size, -1, np.int32)
        grown[name][: old.size] = old
    return links._replace(**grown)
