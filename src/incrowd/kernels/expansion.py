"""A crowd for each record: what is cheapest to add, found in a tree of boxes over distinct records.

A step is one walk over the tree. It counts the records that lie in the crowd's closure already, which cost
nothing to add, and finds the record outside that adds least. A subtree is left out if even the smallest
cell over the crowd and any of its points would cost more than what is found.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.boxtree import BoxTree
from incrowd.kernels.closure import (
    SET,
    TABLE,
    Costs,
    Groups,
    copy,
    own_cost,
    rare_floor,
    rounded,
    set_cost,
    stretch,
    union_cost,
)
from incrowd.kernels.jit import inlined, kernel

DEEP = 128


@inlined
def least_union(low: Any, high: Any, crowd: Groups, costs: Costs) -> Any:
    """The least that a row over the crowd and any point from low to high (d,) can cost."""
    total = 0.0
    d = low.size
    for j in range(d):
        kind = costs.kind[j]
        if kind == SET:
            total += 0.0 if costs.entropy else set_cost(j, crowd.bits[0, j], costs)
            continue
        least = min(crowd.low[0, j], high[j])
        most = max(crowd.high[0, j], low[j])
        if kind == TABLE:
            total += costs.floor[costs.table[j] + least * costs.size[j] + most]
        else:
            total += rare_floor(j, least, most, costs)
    return total / d


@kernel
def cheapest(
    k: int, crowd: Groups, points: Groups, tree: BoxTree, costs: Costs, plain: Costs, stack: Any
) -> Any:
    """One step -> (mass in the closure, at least if it reaches k; what the best outside adds, which it is).

    `points` stand in the order of the tree's leaves. `plain` are costs that grow whenever the closure does,
    to tell who is inside. Of records that add the same, the one with the smallest index.
    """
    inside = np.int64(0)
    best, found = np.inf, -1
    stack[0], top = 0, 1
    closed = own_cost(0, crowd, plain)
    while top:
        top -= 1
        node = stack[top]
        if rounded(least_union(tree.low[node], tree.high[node], crowd, costs) - crowd.cost[0]) > best:
            continue
        if tree.left[node] >= 0:
            left = tree.left[node]
            one = least_union(tree.low[left], tree.high[left], crowd, costs)
            two = least_union(tree.low[left + 1], tree.high[left + 1], crowd, costs)
            far = left if two < one else left + 1
            stack[top] = far
            stack[top + 1] = 2 * left + 1 - far
            top += 2
            continue
        for p in range(tree.first[node], tree.last[node]):
            union = union_cost(0, crowd, p, points, costs)
            # who is inside costs nothing, but not all who cost nothing are inside
            if union == crowd.cost[0] and union_cost(0, crowd, p, points, plain) == closed:
                inside += points.size[p]
                if inside >= k and not costs.entropy:
                    return inside, best, found
                continue
            adds = rounded(union - crowd.cost[0])
            if adds < best or (adds == best and points.first[p] < points.first[found]):
                best, found = adds, p
    return inside, best, found


@kernel
def expand(
    k: int, points: Groups, tree: BoxTree, costs: Costs, plain: Costs, crowd: Groups, into: Any
) -> None:
    """Algorithm 4 for every point: into (m, k-1) become the points that its crowd grew by, -1 for none.

    Records inside the closure join first, unless one outside makes the row cheaper.
    """
    stack = np.empty(DEEP, np.int64)
    for p in range(into.shape[0]):
        copy(0, crowd, p, points)
        have, grown = np.int64(1), 0
        while have < k:
            inside, adds, found = cheapest(k, crowd, points, tree, costs, plain, stack)
            if adds >= 0 and inside >= k:
                break
            have = have + 1 if adds < 0 else inside + 1
            stretch(0, crowd, found, points)
            crowd.cost[0] = own_cost(0, crowd, costs)
            into[p, grown] = found
            grown += 1


@kernel
def nearest(
    k: int, points: Groups, tree: BoxTree, costs: Costs, members: Any, crowd: Groups, into: Any
) -> None:
    """Algorithm 3 for every point: into (m, k-1) become the other points among its k-1 nearest, -1 for none.

    Distance is the cost of a row over two records; of equal ones the smaller index is nearer. `members`
    (n,) are the records of each point in the order of their index, point after point.
    """
    stack = np.empty(DEEP, np.int64)
    gaps = np.empty(max(k, 1), np.float64)
    index = np.empty(max(k, 1), np.int64)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(points.size)))
    for p in range(into.shape[0]):
        wanted = k - points.size[p]  # its equals cost nothing and come first
        if wanted <= 0:
            continue
        copy(0, crowd, p, points)
        held = 0
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            least = rounded(least_union(tree.low[node], tree.high[node], crowd, costs))
            if held == wanted and least > gaps[held - 1]:
                continue
            if tree.left[node] >= 0:
                stack[top] = tree.left[node] + 1
                stack[top + 1] = tree.left[node]
                top += 2
                continue
            for q in range(tree.first[node], tree.last[node]):
                if q != p:
                    gap = rounded(union_cost(0, crowd, q, points, costs))
                    for e in range(starts[q], starts[q] + min(points.size[q], wanted)):
                        held = keep(gap, members[e], q, gaps, index, into[p], held, wanted)


@inlined
def keep(gap: float, record: int, point: int, gaps: Any, index: Any, which: Any, held: int, most: int) -> Any:
    """Put a record where it belongs among the nearest so far -> how many there are."""
    at = held
    while at > 0 and (gap < gaps[at - 1] or (gap == gaps[at - 1] and record < index[at - 1])):
        at -= 1
    if at == most:
        return held
    last = min(held, most - 1)
    for i in range(last, at, -1):
        gaps[i], index[i], which[i] = gaps[i - 1], index[i - 1], which[i - 1]
    gaps[at], index[at], which[at] = gap, record, point
    return last + 1
