"""How far values of records may be raised until some cell with k records costs less than they say.

Every record i has a value y[i]. A cell with at least k records must cost at least the mean of the k largest
values in it; the ratio of a record is the least that some cell around it costs, divided by that mean. Records
are points with weights. Cells are visited as groups: points that a relaxed cell may hold, each with a price
that no cell of the group around this point is below.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Bools, Codes, Floats, Ints, Words
from incrowd.kernels.jit import inlined, inner, kernel

NEVER = 1e18  # a price that nothing has


class Weighted(NamedTuple):
    """Points (m, d), how many records each stands for, and a bit for each column in which it is missing."""

    points: Codes
    weight: Ints
    missing: Ints


class Levels(NamedTuple):
    """What the columns offer, end to end: option t of column j has its codes from ``start[j] + t * size[j]``.

    ``part`` is a random number for each part of the domain: points of one cell have one sum. Two cells with
    one sum would be taken for one larger cell, which makes a bound lower, never wrong. An option that
    ``needs`` missing counts only in groups that hold a point which is missing there.
    """

    options: Ints
    size: Ints
    start: Ints
    part: Words
    price: Floats
    needs: Bools
    first: Ints  # of each column's options in `needs`


class CellTable(NamedTuple):
    """Open hashing: a slot belongs to the vector of options that is its stamp."""

    stamp: Ints
    key: Words
    mass: Ints
    top: Floats
    held: Ints


class Partial(NamedTuple):
    """What is left after so many columns: row j has ``points[j]`` points, their sums and their costs."""

    points: Ints
    point: Ints
    key: Words
    cost: Floats
    slot: Ints


@inlined
def _slot(key: np.uint64, stamp: int, table: CellTable) -> Any:
    """The slot of a cell, or the free one where it would be."""
    last = table.stamp.size - 1
    mixed = (key ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    at = np.int64(mixed >> np.uint64(34)) & last
    while table.stamp[at] == stamp and table.key[at] != key:
        at = (at + 1) & last
    return at


@inner
def _extend(
    k: int,
    j: int,
    option: int,
    stamp: int,
    y: Floats,
    reach: Floats,
    given: Weighted,
    levels: Levels,
    table: CellTable,
    left: Partial,
) -> Any:
    """Add an option of column j to the points of row j -> how many points row j + 1 has.

    Left are those whose cells, as far as they are known, hold k records and cost less than one of them
    reaches. Points stand by falling reach: if the first of a cell does not reach its price, no other does.
    """
    at = levels.start[j] + option * levels.size[j]
    seen = 0
    for e in range(left.points[j]):
        i = left.point[j, e]
        code = at + given.points[i, j]
        cost, key = left.cost[j, e] + levels.price[code], left.key[j, e] + levels.part[code]
        slot = _slot(key, stamp, table)
        if table.stamp[slot] != stamp:
            if cost >= reach[i]:
                continue
            table.stamp[slot], table.key[slot] = stamp, key
            table.mass[slot], table.top[slot], table.held[slot] = 0, 0.0, 0
        if table.mass[slot] < k:
            table.top[slot] += min(given.weight[i], k - table.mass[slot]) * y[i]
        table.mass[slot] += given.weight[i]
        table.held[slot] |= given.missing[i]
        left.point[j + 1, seen], left.key[j + 1, seen] = i, key
        left.cost[j + 1, seen], left.slot[seen] = cost, slot
        seen += 1
    kept = 0
    for e in range(seen):
        if table.mass[left.slot[e]] >= k:
            left.point[j + 1, kept], left.key[j + 1, kept] = left.point[j + 1, e], left.key[j + 1, e]
            left.cost[j + 1, kept], left.slot[kept] = left.cost[j + 1, e], left.slot[e]
            kept += 1
    left.points[j + 1] = kept
    return kept


@kernel
def ratios_in_levels(
    k: int, y: Floats, reach: Floats, given: Weighted, levels: Levels, table: CellTable, ratio: Floats
) -> None:
    """Lower `ratio` (m,) by all cells that one option of each column makes.

    Cells that cost as much as their first point reaches are left out. Points stand by falling reach and y.
    """
    m, d = given.points.shape
    left = Partial(
        np.zeros(d + 1, np.int64),
        np.zeros((d + 1, m), np.int64),
        np.zeros((d + 1, m), np.uint64),
        np.zeros((d + 1, m)),
        np.zeros(m, np.int64),
    )
    left.points[0] = m
    left.point[0] = np.arange(m)
    chosen = np.full(d, -1)
    stamp, j = 0, 0
    while j >= 0:
        chosen[j] += 1
        if chosen[j] == levels.options[j]:
            chosen[j] = -1
            j -= 1
            continue
        stamp += 1
        kept = _extend(k, j, chosen[j], stamp, y, reach, given, levels, table, left)
        if kept == 0:
            continue
        if j + 1 < d:
            j += 1
            continue
        need = np.int64(0)
        for column in range(min(d, 63)):
            if levels.needs[levels.first[column] + chosen[column]]:
                need |= np.int64(1) << column
        for e in range(kept):
            slot = left.slot[e]
            if table.top[slot] > 0 and table.held[slot] & need == need:
                i = left.point[d, e]
                ratio[i] = min(ratio[i], k * left.cost[d, e] / table.top[slot])


@inlined
def _sift(heap: Floats, mass: Ints, at: int, size: int) -> None:
    """Let the entry at a place sink to where nothing below is smaller."""
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[at] <= heap[child]:
            break
        heap[at], heap[child] = heap[child], heap[at]
        mass[at], mass[child] = mass[child], mass[at]
        at = child


@kernel
def ratios_in_groups(
    k: int, starts: Ints, order: Ints, price: Floats, weight: Ints, y: Floats, ratio: Floats
) -> None:
    """Lower `ratio` by groups: g has the points ``order[starts[g]:starts[g + 1]]`` by rising `price` (e,).

    A cell of the group costs at least the largest price of its points; so of each price the points up to it
    count. The k largest values are kept in a heap, smallest first.
    """
    most = 1
    for g in range(starts.size - 1):
        most = max(most, starts[g + 1] - starts[g])
    heap, held, found = np.empty(most + 1), np.empty(most + 1, np.int64), np.empty(most)
    for g in range(starts.size - 1):
        first, last = starts[g], starts[g + 1]
        size, mass, total = 0, np.int64(0), 0.0
        for e in range(first, last):
            i = order[e]
            at = size
            heap[at], held[at] = y[i], min(weight[i], k)
            mass += held[at]
            total += held[at] * y[i]
            size += 1
            while at and heap[(at - 1) // 2] > heap[at]:
                up = (at - 1) // 2
                heap[at], heap[up] = heap[up], heap[at]
                held[at], held[up] = held[up], held[at]
                at = up
            while mass - held[0] >= k:
                mass -= held[0]
                total -= held[0] * heap[0]
                size -= 1
                heap[0], held[0] = heap[size], held[size]
                _sift(heap, held, 0, size)
            top = total - max(0, mass - k) * heap[0]
            found[e - first] = k * price[e] / top if mass >= k and top > 0 else NEVER
        least = NEVER
        for e in range(last - 1, first - 1, -1):
            least = min(least, found[e - first])
            ratio[order[e]] = min(ratio[order[e]], least)
