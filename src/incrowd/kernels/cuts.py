"""Where a set of points can be cut: medians, children of a tree node, and what a cut would cost.

A cut sends rows with ``low <= code <= high`` to the left, of the rows equal to `high` only the first
`ties`. Masses are sums of weights: one for each row, or the number of equal records that it stands for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import AnyInts, Bools, Codes, Floats, Ints, Marks
from incrowd.kernels.jit import inlined, inner

RANGE, SET, TREE = 0, 1, 2
ALL_TIES = 2**62
BITS = 64
SMALL = 512  # rows up to which a median is found by halving the range


class Geometry(NamedTuple):
    """Where codes lie and what a set of them costs, for all attributes end to end.

    Attribute j owns ``start[j]:start[j+1]`` of `position` and `leaf`. `scale` is one over its span (for
    sets: over the number of its other values). `parent`, `high` and `cost` are of tree nodes.
    """

    shape: Marks
    scale: Floats
    start: Ints
    position: Floats
    leaf: Codes
    parent: Codes
    high: Codes
    cost: Floats


class Cut(NamedTuple):
    """A cut of column `dim` with `mass` on the left; `dim` is -1 where there is none.

    `children` says that instead the smallest tree node over the rows is cut into all its children.
    """

    dim: int
    low: int
    high: int
    ties: int
    mass: int
    children: bool


class Node(NamedTuple):
    """Rows first..last-1 of a buffer with their mass, and whose turn it is in a round robin."""

    first: int
    last: int
    mass: int
    turn: int


class Work(NamedTuple):
    """Scratch space of one run."""

    tally: Ints  # (buckets,)
    side: Marks  # (n,)
    place: Codes  # (n,)
    low: Ints  # (d,) bounds of the node at hand
    high: Ints  # (d,)
    tried: Bools  # (d,) columns that are out of question for it
    stamp: Ints  # (2, codes of all attributes) when a code was last seen on a side
    clock: Ints  # (2,) the time of `stamp`; rows done so far
    child_mass: Ints  # (tree nodes,)
    child_low: Ints  # (tree nodes,)
    child_high: Ints  # (tree nodes,)


@inlined
def covering(j: int, low: int, high: int, geometry: Geometry) -> Any:
    """Smallest node of attribute j's tree over leaves low..high."""
    node = geometry.leaf[geometry.start[j] + low]
    while geometry.high[node] < high:
        node = geometry.parent[node]
    return node


@inlined
def extent(j: int, low: int, high: int, geometry: Geometry) -> Any:
    """Normalised width of codes low..high of attribute j, counted in values; of a tree, its node's cost."""
    if geometry.shape[j] == TREE:
        return geometry.cost[covering(j, low, high, geometry)]
    start = geometry.start[j]
    return (geometry.position[start + high] - geometry.position[start + low]) * geometry.scale[j]


@inlined
def bounds(columns: AnyInts, first: int, last: int, low: Ints, high: Ints) -> None:
    """Smallest and largest code of each column over rows first..last-1, into low, high (d,)."""
    for j in range(columns.shape[0]):
        column = columns[j, first:last]
        least = column[0]
        most = column[0]
        for i in range(column.size):
            least = min(least, column[i])
            most = max(most, column[i])
        low[j] = least
        high[j] = most


@inlined
def median(column: AnyInts, weights: Codes, low: int, high: int, total: int, tally: Ints) -> Any:
    """Lower median: codes (m,), weights (m,) or (0,) -> (code, mass below it, mass of it).

    Narrows the range by tallies of at most `tally.size` buckets.
    """
    wanted = (total + 1) // 2
    below = 0
    whole = True
    while True:
        shift = 0
        while ((high - low) >> shift) >= tally.size:
            shift += 1
        tally[: ((high - low) >> shift) + 1] = 0
        if whole and shift == 0 and weights.size == 0:  # the common case, kept free of tests
            for i in range(column.size):
                tally[column[i] - low] += 1
        else:
            for i in range(column.size):
                if low <= column[i] <= high:
                    tally[(column[i] - low) >> shift] += weights[i] if weights.size else 1
        bucket = 0
        while below + tally[bucket] < wanted:
            below += tally[bucket]
            bucket += 1
        low += bucket << shift
        if shift == 0:
            return low, below, tally[bucket]
        high = min(high, low + (1 << shift) - 1)
        whole = False


@inlined
def small_median(column: AnyInts, weights: Codes, low: int, high: int, total: int) -> Any:
    """As `median`, by halving the range of codes: quicker than a tally for few rows."""
    wanted = (total + 1) // 2
    while low < high:
        middle = (low + high) // 2
        if mass_upto(column, weights, middle) >= wanted:
            high = middle
        else:
            low = middle + 1
    below = mass_upto(column, weights, low - 1)
    return low, below, mass_upto(column, weights, low) - below


@inlined
def mass_upto(column: AnyInts, weights: Codes, code: int) -> Any:
    """Mass of the rows with at most this code."""
    most = column.dtype.type(code)
    if weights.size:
        mass = 0
        for i in range(column.size):
            mass += weights[i] if column[i] <= most else 0
        return mass
    rows = np.int32(0)
    for i in range(column.size):
        rows += np.int32(column[i] <= most)
    return np.int64(rows)


@inlined
def middle_of(j: int, column: AnyInts, weights: Codes, total: int, work: Work) -> Any:
    """Lower median of column j over the node at hand, with the masses below it and of it."""
    if column.size <= SMALL:
        return small_median(column, weights, work.low[j], work.high[j], total)
    return median(column, weights, work.low[j], work.high[j], total, work.tally)


@inner
def count_children(j: int, column: AnyInts, weights: Codes, geometry: Geometry, work: Work) -> Any:
    """Tally rows by the child of the smallest node over them -> (node, mass of the smallest child).

    Fills child_mass, child_low, child_high for the children that are inhabited.
    """
    node = covering(j, work.low[j], work.high[j], geometry)
    leaves = geometry.leaf[geometry.start[j] : geometry.start[j + 1]]
    for i in range(column.size):
        work.child_mass[child_of(node, leaves[column[i]], geometry)] = 0
    for i in range(column.size):
        child = child_of(node, leaves[column[i]], geometry)
        if work.child_mass[child] == 0:
            work.child_low[child] = column[i]
            work.child_high[child] = column[i]
        work.child_mass[child] += weights[i] if weights.size else 1
        work.child_low[child] = min(work.child_low[child], column[i])
        work.child_high[child] = max(work.child_high[child], column[i])
    smallest = np.int64(ALL_TIES)
    for i in range(column.size):
        smallest = min(smallest, work.child_mass[child_of(node, leaves[column[i]], geometry)])
    return node, smallest


@inlined
def child_of(node: int, leaf: int, geometry: Geometry) -> Any:
    """The child of `node` above (or at) the node of a leaf; the leaf itself if it is `node`."""
    while leaf != node and geometry.parent[leaf] != node:
        leaf = geometry.parent[leaf]
    return leaf


@inner
def best_child(j: int, column: AnyInts, total: int, k: int, geometry: Geometry, work: Work, node: int) -> Any:
    """The child that is cheapest to cut off, both sides keeping k -> (low, high, mass), or mass -1.

    Cheapest: the largest drop in the attribute's own loss; of equal ones the one with the lowest code.
    """
    leaves = geometry.leaf[geometry.start[j] : geometry.start[j + 1]]
    best = 0.0
    low, high, found = 0, 0, -1
    for i in range(column.size):
        child = child_of(node, leaves[column[i]], geometry)
        mass = work.child_mass[child]
        if mass >= k and total - mass >= k:
            inside = covering(j, work.child_low[child], work.child_high[child], geometry)
            drop = mass * (geometry.cost[node] - geometry.cost[inside])
            if found < 0 or drop > best or (drop == best and work.child_low[child] < low):
                best = drop
                low, high, found = work.child_low[child], work.child_high[child], mass
    return low, high, found


@inlined
def mark(column: AnyInts, cut: Cut, side: Marks) -> Any:
    """Say for each row whether the cut sends it right: side (m,) becomes 0 or 1 -> rows on the left."""
    rows = 0
    if cut.ties == ALL_TIES:
        for i in range(column.size):
            side[i] = (column[i] < cut.low) | (column[i] > cut.high)
            rows += 1 - side[i]
        return rows
    ties = cut.ties
    for i in range(column.size):
        tie = column[i] == cut.high
        side[i] = (column[i] > cut.high) | (tie & (ties <= 0))
        ties -= tie
        rows += 1 - side[i]
    return rows


@inlined
def side_bounds(column: AnyInts, side: Marks, low: int, high: int) -> Any:
    """Bounds of both sides -> (left low, left high, right low, right high), given those of all rows."""
    first = column.dtype.type(low)
    last = column.dtype.type(high)
    left_low, left_high, right_low, right_high = last, first, last, first
    for i in range(column.size):
        code = column[i]
        left_low = min(left_low, last if side[i] else code)
        left_high = max(left_high, first if side[i] else code)
        right_low = min(right_low, code if side[i] else last)
        right_high = max(right_high, code if side[i] else first)
    return left_low, left_high, right_low, right_high


@inner
def side_counts(column: AnyInts, side: Marks, start: int, work: Work) -> Any:
    """How many different codes each side has -> (left, right)."""
    work.clock[0] += 1
    now = work.clock[0]
    left = 0
    right = 0
    for i in range(column.size):
        at = start + column[i]
        if work.stamp[side[i], at] != now:
            work.stamp[side[i], at] = now
            if side[i]:
                right += 1
            else:
                left += 1
    return left, right


@inlined
def side_bits(column: AnyInts, side: Marks) -> Any:
    """As `side_counts`, for columns with so few codes that each has a bit of its own."""
    none = np.uint64(0)
    right = np.uint64(0)
    left = np.uint64(0)
    for i in range(column.size):
        bit = np.uint64(1) << np.uint64(column[i])
        right |= bit if side[i] else none
        left |= none if side[i] else bit
    return ones(left), ones(right)


@inlined
def ones(bits: np.uint64) -> Any:
    """How many bits are set."""
    count = 0
    while bits:
        bits &= bits - np.uint64(1)
        count += 1
    return count


@inner
def loss_after(columns: AnyInts, node: Node, cut: Cut, geometry: Geometry, work: Work) -> Any:
    """Loss of all cells if the node is cut as `work.side` says."""
    left, right = cut.mass, node.mass - cut.mass
    loss = 0.0
    for j in range(columns.shape[0]):
        if work.low[j] == work.high[j]:
            continue
        column = columns[j, node.first : node.last]
        if geometry.shape[j] == SET:
            if geometry.start[j + 1] - geometry.start[j] <= BITS:
                here, there = side_bits(column, work.side)
            else:
                here, there = side_counts(column, work.side, geometry.start[j], work)
            loss += ((here - 1) * left + (there - 1) * right) * geometry.scale[j]
        else:
            a, b, c, d = side_bounds(column, work.side, work.low[j], work.high[j])
            loss += extent(j, a, b, geometry) * left + extent(j, c, d, geometry) * right
    return loss
