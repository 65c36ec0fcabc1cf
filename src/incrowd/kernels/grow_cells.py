"""The next cheapest cell where columns are ranges or sets: cells grow from a point by what costs least.

A cell that grew stays remembered until its turn comes, and is grown anew only if it lost too many records.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Bools, Floats, Ints
from incrowd.kernels.cells import SAME, Free
from incrowd.kernels.closure import SET, Costs, GroupBounds, copy, stretch
from incrowd.kernels.jit import inner, kernel
from incrowd.kernels.k_one import ONLY
from incrowd.kernels.polish import NOBODY, cell_loss, row_loss
from incrowd.kernels.queue import Queue, pop, push

CHUNK = 8


class GrowingCells(NamedTuple):
    """Cells that grow around points (m, d)."""

    each: GroupBounds  # the points themselves
    chunks: GroupBounds  # of `CHUNK` points each, which lie near each other; their sizes are free records
    kept: GroupBounds  # (m) the cell last found around each point
    known: Bools  # (m,) is there one?
    own: GroupBounds  # (2) the cell that grows, and what it was a step before
    maybe: Ints  # (m,) points that the cell can still take in
    more: Floats  # (m,) what each of them would add, over all columns
    found: Ints  # (m,) points in the cell


@kernel
def take(count: int, free: Free, growth: GrowingCells) -> None:
    """Let the free records of the first points in `found` be free no more."""
    for x in range(count):
        q = growth.found[x]
        growth.chunks.size[q // CHUNK] -= free.weight[q]
        free.weight[q] = 0


# A call in a loop counts references to all arrays that it passes in every turn, which takes ten times as long
# as the little that is done there: so loops over points stand alone, over arrays with names of their own.


@kernel
def inside(free: Free, growth: GrowingCells, costs: Costs) -> Any:
    """Which free points the cell holds -> (how many, how many records)."""
    kind, own, chunks = costs.kind, growth.own, growth.chunks
    low, high, bits = own.low[0], own.high[0], own.bits[0]
    first, last, some, free_in = chunks.low, chunks.high, chunks.bits, chunks.size
    points, weight, found = free.points, free.weight, growth.found
    count, mass = 0, np.int64(0)
    for c in range(free_in.size):
        if free_in[c] == 0:
            continue
        for j in range(kind.size):
            if kind[j] == SET:
                if bits[j] & some[c, j] == 0:
                    break
            elif last[c, j] < low[j] or first[c, j] > high[j]:
                break
        else:
            for q in range(c * CHUNK, min((c + 1) * CHUNK, weight.size)):
                if weight[q] == 0:
                    continue
                for j in range(kind.size):
                    code = points[q, j]
                    if kind[j] == SET:
                        if not bits[j] & (np.uint64(1) << np.uint64(code)):
                            break
                    elif code < low[j] or code > high[j]:
                        break
                else:
                    found[count] = q
                    count += 1
                    mass += weight[q]
    return count, mass


@inner
def _within_reach(limit: float, free: Free, growth: GrowingCells, costs: Costs) -> Any:
    """Write down which points the cell may take in for up to `limit` -> (how many, the next above it)."""
    kind, scale, own, chunks = costs.kind, costs.scale, growth.own, growth.chunks
    low, high, bits, cost, d = own.low[0], own.high[0], own.bits[0], own.cost[0], costs.kind.size
    first, last, some, free_in = chunks.low, chunks.high, chunks.bits, chunks.size
    points, weight, maybe, more = free.points, free.weight, growth.maybe, growth.more
    left, beyond = 0, np.inf
    for c in range(free_in.size):
        if free_in[c] == 0:
            continue
        adds, most = 0.0, (beyond - cost) * d
        for j in range(d):  # no point of the chunk adds less
            if kind[j] == SET:
                if bits[j] & some[c, j] == 0:
                    adds += scale[j]
            elif last[c, j] < low[j]:
                adds += cell_loss(j, last[c, j], high[j], costs) - cell_loss(j, low[j], high[j], costs)
            elif first[c, j] > high[j]:
                adds += cell_loss(j, low[j], first[c, j], costs) - cell_loss(j, low[j], high[j], costs)
            if adds > most:
                break
        if adds > most:
            continue
        for q in range(c * CHUNK, min((c + 1) * CHUNK, weight.size)):
            if weight[q] == 0:
                continue
            adds, most = 0.0, (beyond - cost) * d
            for j in range(d):
                code = points[q, j]
                if kind[j] == SET:
                    if not bits[j] & (np.uint64(1) << np.uint64(code)):
                        adds += scale[j]
                elif code < low[j]:
                    adds += cell_loss(j, code, high[j], costs) - cell_loss(j, low[j], high[j], costs)
                elif code > high[j]:
                    adds += cell_loss(j, low[j], code, costs) - cell_loss(j, low[j], high[j], costs)
                if adds > most:
                    break
            if adds > most:
                continue
            if cost + adds / d > limit + SAME:
                beyond = min(beyond, cost + adds / d)
            else:
                maybe[left], more[left] = q, adds / d * d
                left += 1
    return left, beyond


@inner
def _sorted_out(left: int, count: int, limit: float, free: Free, growth: GrowingCells, d: int) -> Any:
    """Of the points within reach: who is inside, who is nearest, who is too far by now.

    Returns how many stay within reach, how many are inside, their records, the nearest, the next above.
    """
    maybe, more, cost = growth.maybe, growth.more, growth.own.cost[0]
    least, nearest, kept, mass, beyond = np.inf, NOBODY, 0, np.int64(0), np.inf
    for e in range(left):
        q, adds = maybe[e], more[e]
        if adds <= SAME:
            growth.found[count] = q
            count += 1
            mass += free.weight[q]
        elif cost + adds / d > limit + SAME:
            beyond = min(beyond, cost + adds / d)
        else:
            maybe[kept], more[kept] = q, adds
            kept += 1
            if adds < least:
                least, nearest = adds, q
    return kept, count, mass, nearest, beyond


@inner
def _now_adds(left: int, free: Free, growth: GrowingCells, costs: Costs) -> None:
    """The cell has grown by a step: write down anew what the others add, in the columns that changed."""
    own, maybe, more, points = growth.own, growth.maybe, growth.more, free.points
    for j in range(costs.kind.size):
        if costs.kind[j] == SET:
            new, scale = own.bits[0, j] & ~own.bits[1, j], costs.scale[j]
            if new:
                for e in range(left):
                    if new & (np.uint64(1) << np.uint64(points[maybe[e], j])):
                        more[e] -= scale
            continue
        low, high, was_low, was_high = own.low[0, j], own.high[0, j], own.low[1, j], own.high[1, j]
        if low == was_low and high == was_high:
            continue
        rise = cell_loss(j, low, high, costs) - cell_loss(j, was_low, was_high, costs)
        for e in range(left):
            code = points[maybe[e], j]
            if was_low <= code <= was_high:
                continue
            before = cell_loss(j, min(was_low, code), max(was_high, code), costs)
            more[e] += cell_loss(j, min(low, code), max(high, code), costs) - before - rise


@kernel
def grown(need: int, p: int, limit: float, free: Free, growth: GrowingCells, costs: Costs) -> Any:
    """Grow a cell around point p until it holds `need` free records -> (cost, points, records).

    Every step takes in the point that makes the cell dearer by the least. Above `limit` it stops with no
    points, and what it says is what the cell costs at least. What costs just `limit` but for rounding counts
    as within it: else a point could be too far at first and lie inside in the end.
    """
    own, d = growth.own, costs.kind.size
    copy(ONLY, own, p, growth.each)
    left, beyond = _within_reach(limit, free, growth, costs)
    count, mass = 0, np.int64(0)
    while True:
        left, count, came, nearest, next_above = _sorted_out(left, count, limit, free, growth, d)
        mass += came
        beyond = min(beyond, next_above)
        if mass >= need:
            return own.cost[0], count, mass
        if nearest < 0:
            return beyond, 0, mass
        copy(1, own, ONLY, own)
        stretch(ONLY, own, nearest, growth.each)
        own.cost[0] = row_loss(ONLY, own, costs)
        _now_adds(left, free, growth, costs)


@kernel
def keep(p: int, growth: GrowingCells) -> None:
    """Remember the cell as that around point p, by what it grew over.

    A node of a tree may hold more points, beyond these bounds. They stay free when its turn comes: that costs
    about the same (measured on the demo: .2123 against .2125 where the node takes them in).
    """
    copy(p, growth.kept, ONLY, growth.own)
    growth.known[p] = True


@kernel
def next_grown(
    k: int, times: float, first: float, free: Free, growth: GrowingCells, queue: Queue, costs: Costs
) -> Any:
    """The cheapest cell with k free records -> (point, cost, points that it holds), or -1.

    A cell is looked for up to `times` its key, and `first`; if it costs more it waits under what it costs.
    """
    own = growth.own
    while queue.size[0]:
        key, p = pop(queue)
        if free.weight[p] == 0:
            continue
        if growth.known[p]:
            copy(ONLY, own, p, growth.kept)
            count, mass = inside(free, growth, costs)
            if mass >= k:
                return p, own.cost[0], count
            growth.known[p] = False
        cost, count, _mass = grown(k, p, max(key * times, first), free, growth, costs)
        if count and cost <= key + SAME:
            return p, cost, count
        if count:
            keep(p, growth)
        if cost < np.inf:
            push(cost, p, queue)
    return NOBODY, np.inf, 0
