"""The cheapest cell around a record that still holds k free records.

Records are points with weights; a point that is in a class has no weight left. Where every column has a
tree, the cells around a point are the vectors of levels, and one histogram counts them all. Elsewhere a cell
grows from the point by whatever makes it dearer by the least.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Bytes, Codes, Floats, Ints
from incrowd.kernels.closure import (
    SET,
    TABLE,
    Costs,
    GroupBounds,
    copy,
    count_of,
    own_cost,
    rare_cost,
    set_cost,
    stretch,
)
from incrowd.kernels.jit import inlined, kernel
from incrowd.kernels.k_one import ONLY

SAME = 1e-12  # costs that differ by less are equal


class Lattice(NamedTuple):
    """The levels of all columns, end to end: column j's code v at level t is at ``start[j] + v * levels[j] + t``.

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


@kernel
def cheapest_levels(k: int, p: int, free: Free, lattice: Lattice, held: Ints, cell: Cell) -> Any:
    """The cheapest vector of levels of point p that holds k free records -> its cost, infinity if none does.

    `held` has room for every vector.
    """
    d = lattice.levels.size
    held[:] = 0
    for e in range(free.left[0]):
        q = free.alive[e]
        at = np.int64(0)
        for j in range(d):
            row = lattice.square[j] + free.points[p, j] * lattice.size[j]
            at += lattice.meet[row + free.points[q, j]] * lattice.stride[j]
        held[at] += free.weight[q]
    for j in range(d):
        step = lattice.stride[j]
        width = step * lattice.levels[j]
        for begin in range(0, held.size, width):
            for at in range(begin + step, begin + width):
                held[at] += held[at - step]
    best, found = np.inf, np.int64(-1)
    for at in range(held.size):
        if held[at] < k:
            continue
        cost = 0.0
        for j in range(d):
            level = (at // lattice.stride[j]) % lattice.levels[j]
            cost += lattice.cost[lattice.start[j] + free.points[p, j] * lattice.levels[j] + level]
            if cost >= best:
                break
        if cost < best - SAME:
            best, found = cost, at
    if found >= 0:
        for j in range(d):
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
    """Which points with free records lie in a cell -> (how many points, how many records); first in `found`."""
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


@inlined
def _union_below(q: int, each: GroupBounds, own: GroupBounds, costs: Costs, most: float) -> Any:
    """What the cell costs with point q too; infinity if that is above a d-th of `most`."""
    total = 0.0
    for j in range(costs.kind.size):
        kind = costs.kind[j]
        if kind == SET:
            bits = own.bits[0, j] | each.bits[q, j]
            total += set_cost(j, bits, costs) if costs.entropy else (count_of(bits) - 1) * costs.scale[j]
        else:
            low = min(own.low[0, j], each.low[q, j])
            high = max(own.high[0, j], each.high[q, j])
            if kind == TABLE:
                total += costs.cost[costs.table[j] + low * costs.size[j] + high]
            else:
                total += rare_cost(j, low, high, costs)
        if total > most:
            return np.inf
    return total / costs.kind.size


@kernel
def grown(
    need: int,
    p: int,
    limit: float,
    free: Free,
    each: GroupBounds,
    own: GroupBounds,
    costs: Costs,
    inside: Ints,
    found: Ints,
) -> Any:
    """Grow a cell around point p until it holds `need` free records -> (cost, points, records); first in `found`.

    Every step takes in the point that makes the cell dearer by the least. Above `limit` it stops, and what it
    says is what the cell costs at least. `each` are the points, group 0 of `own` becomes the cell.
    """
    copy(ONLY, own, p, each)
    left = free.left[0]
    count, mass = 0, np.int64(0)
    inside[:left] = 0
    d = costs.kind.size
    while True:
        best, nearest = np.inf, np.int64(-1)
        for e in range(left):
            if inside[e]:
                continue
            q = free.alive[e]
            cost = _union_below(q, each, own, costs, best * d)
            if cost <= own.cost[0] + SAME:
                inside[e] = 1
                found[count] = q
                count += 1
                mass += free.weight[q]
            elif cost < best:
                best, nearest = cost, q
        if mass >= need:
            return own.cost[0], count, mass
        if nearest < 0:
            return np.inf, count, mass
        if best > limit:
            return best, 0, mass
        stretch(ONLY, own, nearest, each)
        own.cost[0] = own_cost(ONLY, own, costs)
