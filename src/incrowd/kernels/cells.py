"""The cheapest cell around a record that still holds k free records.

Records are points with weights; a point that is in a class has no weight left. Where every column has a
tree, the cells around a point are the vectors of levels, and one histogram counts them all. Elsewhere a cell
grows from the point by whatever makes it dearer by the least.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Bools, Bytes, Codes, Floats, Ints
from incrowd.kernels.jit import inner, kernel
from incrowd.kernels.queue import Queue, pop, push

SAME = 1e-12  # costs that differ by less are equal


class Lattice(NamedTuple):
    """The levels of all columns, end to end.

    Column j's code v at level t is at ``start[j] + v * levels[j] + t``.

    ``meet[square[j] + v * size[j] + u]`` is the lowest level of v that holds u.
    """

    levels: Ints
    stride: Ints  # of each column in a vector of levels
    size: Ints
    start: Ints
    square: Ints
    low: Codes
    high: Codes
    cost: Floats
    meet: Bytes


class Free(NamedTuple):
    """Points (m, d) with the number of free records of each; ``alive[:left[0]]`` are those that have some."""

    points: Codes
    weight: Ints
    alive: Ints
    left: Ints


class Cell(NamedTuple):
    """A cell as one level of each column, or as bounds from low to high."""

    level: Ints
    low: Ints
    high: Ints


class LevelSearch(NamedTuple):
    """Room for the search by levels around points (m, d)."""

    held: Ints  # one for each vector of levels
    price: Floats
    cell: Cell
    kept: Codes  # (m, d) the levels last found around each point
    known: Bools  # (m,) are there any?
    found: Ints  # (m,) points in the cell


@inner
def _cheapest_vector(k: int, p: int, free: Free, lattice: Lattice, held: Ints, price: Floats) -> Any:
    """The cheapest vector of levels of point p that holds k free records -> (its cost, vector), or -1.

    `held` and `price` have room for every vector.
    """
    d = lattice.levels.size
    row = np.empty(d, np.int64)
    held[:] = 0
    price[0] = 0.0
    for j in range(d):
        code, levels, step = free.points[p, j], lattice.levels[j], lattice.stride[j]
        row[j] = lattice.square[j] + code * lattice.size[j]
        first = lattice.start[j] + code * levels
        for level in range(levels - 1, -1, -1):
            more = lattice.cost[first + level]
            for at in range(step):
                price[level * step + at] = price[at] + more
    for e in range(free.left[0]):
        q = free.alive[e]
        vector = np.int64(0)
        for j in range(d):
            vector += lattice.meet[row[j] + free.points[q, j]] * lattice.stride[j]
        held[vector] += free.weight[q]
    for j in range(d):
        step = lattice.stride[j]
        width = step * lattice.levels[j]
        for begin in range(0, held.size, width):
            for at in range(begin + step, begin + width):
                held[at] += held[at - step]
    best, found = np.inf, -1
    for at in range(held.size):
        if price[at] < best - SAME and held[at] >= k:
            best, found = price[at], at
    return best, found


@kernel
def cheapest_levels(
    k: int, p: int, free: Free, lattice: Lattice, held: Ints, price: Floats, cell: Cell
) -> Any:
    """Set a cell to the cheapest levels of point p that hold k free records -> its cost, or infinity."""
    best, found = _cheapest_vector(k, p, free, lattice, held, price)
    if found >= 0:
        for j in range(lattice.levels.size):
            cell.level[j] = (found // lattice.stride[j]) % lattice.levels[j]
        spread(p, free, lattice, cell)
    return best


@kernel
def spread(p: int, free: Free, lattice: Lattice, cell: Cell) -> Any:
    """Set the bounds of a cell around point p by its levels -> its cost."""
    cost = 0.0
    for j in range(lattice.levels.size):
        at = lattice.start[j] + free.points[p, j] * lattice.levels[j] + cell.level[j]
        cell.low[j], cell.high[j] = lattice.low[at], lattice.high[at]
        cost += lattice.cost[at]
    return cost


@kernel
def raise_level(p: int, free: Free, lattice: Lattice, cell: Cell) -> Any:
    """Go up one level in the column where that costs least -> False if the cell is everything."""
    least, column = np.inf, -1
    for j in range(lattice.levels.size):
        at = lattice.start[j] + free.points[p, j] * lattice.levels[j] + cell.level[j]
        if cell.level[j] + 1 < lattice.levels[j] and lattice.cost[at + 1] - lattice.cost[at] < least:
            least, column = lattice.cost[at + 1] - lattice.cost[at], j
    if column < 0:
        return False
    cell.level[column] += 1
    return True


@kernel
def held_by(free: Free, cell: Cell, found: Ints) -> Any:
    """Which points with free records lie in a cell -> (points, records); written into `found`."""
    count, mass = 0, np.int64(0)
    d = cell.low.size
    for e in range(free.left[0]):
        q = free.alive[e]
        inside = True
        for j in range(d):
            if free.points[q, j] < cell.low[j] or free.points[q, j] > cell.high[j]:
                inside = False
                break
        if inside:
            found[count] = q
            count += 1
            mass += free.weight[q]
    return count, mass


@kernel
def take(count: int, found: Ints, free: Free) -> None:
    """Let the free records of these points be free no more."""
    for x in range(count):
        free.weight[found[x]] = 0
    kept = 0
    for e in range(free.left[0]):
        q = free.alive[e]
        if free.weight[q] > 0:
            free.alive[kept] = q
            kept += 1
    free.left[0] = kept


@kernel
def next_levels(k: int, free: Free, lattice: Lattice, search: LevelSearch, queue: Queue) -> Any:
    """The cheapest cell with k free records -> (point, points that it holds), or -1.

    What a cell around a point costs only rises as records are taken, so that the first cell that is still
    as cheap as when it was looked for is the cheapest of all.
    """
    cell = search.cell
    while queue.size[0]:
        key, p = pop(queue)
        if free.weight[p] == 0:
            continue
        if search.known[p]:
            cell.level[:] = search.kept[p]
            spread(p, free, lattice, cell)
            count, mass = held_by(free, cell, search.found)
            if mass >= k:
                return p, count
            search.known[p] = False
        cost = cheapest_levels(k, p, free, lattice, search.held, search.price, cell)
        if cost <= key + SAME:
            count, _mass = held_by(free, cell, search.found)
            return p, count
        if cost < np.inf:
            search.kept[p] = cell.level
            search.known[p] = True
            push(cost, p, queue)
    return np.int64(-1), 0
