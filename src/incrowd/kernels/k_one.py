"""(k,1)-anonymity, Algorithms 3 and 4 of "k-Anonymization Revisited": a neighbourhood for each record.

What is cheapest to add is found in a tree of boxes over distinct records. A walk leaves a subtree out if
even the smallest cell over the neighbourhood and any of its points would cost more than what is found.

A kernel is compiled once for itself and again inside each that calls it, with every array that it is given,
and once more for every width of its numbers: so there are few, in few layers, and numbers have 64 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.arrays import Floats, Int, Ints
from incrowd.kernels.boxtree import BoxTree
from incrowd.kernels.closure import (
    SET,
    TABLE,
    Costs,
    GroupBounds,
    codes_between,
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
FIRST_ROOM = 1024  # points that are made room for at first
# typed, or what is called with them is compiled once more for the literal numbers
ONLY: Any = np.int64(0)
NOBODY: Any = np.int64(-1)


@inlined
def least_union(node: int, tree: BoxTree, a: int, neighbourhoods: GroupBounds, costs: Costs) -> Any:
    """The least that a row over neighbourhood a and any point below a node can cost."""
    total = 0.0
    d = tree.low.shape[1]
    for j in range(d):
        kind = costs.kind[j]
        if kind == SET:
            if not costs.entropy:
                total += set_cost(j, neighbourhoods.bits[a, j], costs)
                if not neighbourhoods.bits[a, j] & codes_between(tree.low[node, j], tree.high[node, j]):
                    total += costs.scale[j]  # any point below brings a new value
            continue
        least = min(neighbourhoods.low[a, j], tree.high[node, j])
        most = max(neighbourhoods.high[a, j], tree.low[node, j])
        if kind == TABLE:
            total += costs.floor[costs.table[j] + least * costs.size[j] + most]
        else:
            total += rare_floor(j, least, most, costs)
    return total / d


@inlined
def open_node(node: int, tree: BoxTree, stack: Ints, top: int) -> Any:
    """Let both children of a node wait, the left one on top -> how many nodes wait."""
    stack[top] = tree.left[node] + 1
    stack[top + 1] = tree.left[node]
    return top + 2


@kernel
def expand(
    k: int, points: GroupBounds, tree: BoxTree, costs: Costs, plain: Costs, own_group: GroupBounds, into: Ints
) -> None:
    """Algorithm 4 for every point: into (m, k-1) are the points that its neighbourhood grew by, -1: none.

    A step is one walk: it finds the mass in the closure (at least, if it reaches k), and which record outside
    adds least, of equal ones the one with the smallest index. Records inside the closure join first, unless
    one outside makes the row cheaper. `points` stand in the order of the tree's leaves. `plain` are costs
    that grow whenever the closure does, to tell who is inside.
    """
    stack, waiting = np.empty(DEEP, np.int64), np.empty(DEEP)
    for own in range(into.shape[0]):
        copy(ONLY, own_group, own, points)
        have, grown = np.int64(1), 0
        while have < k:
            closed = own_cost(ONLY, own_group, plain)  # the closure so far; then who adds least to it
            inside, best, found = np.int64(0), np.inf, NOBODY
            stack[0], waiting[0], top = 0, -np.inf, 1
            while top:
                top -= 1
                node = stack[top]
                if rounded(waiting[top] - own_group.cost[0]) > best:
                    continue
                left = np.int64(tree.left[node])
                if left >= 0:
                    for child in range(left, left + 2):
                        least, at = least_union(child, tree, ONLY, own_group, costs), top
                        if child > left and least >= waiting[top - 1]:  # the nearer is looked at first
                            stack[top], waiting[top], at = left, waiting[top - 1], top - 1
                        stack[at], waiting[at] = child, least
                        top += 1
                    continue
                for p in range(np.int64(tree.first[node]), np.int64(tree.last[node])):
                    union = union_cost(ONLY, own_group, p, points, costs)
                    # who is inside costs nothing, but not all who cost nothing are inside
                    if union == own_group.cost[0] and union_cost(ONLY, own_group, p, points, plain) == closed:
                        inside += points.size[p]
                        if inside >= k and not costs.entropy:
                            top = 0
                            break
                        continue
                    adds = rounded(union - own_group.cost[0])
                    if adds < best or (adds == best and points.first[p] < points.first[found]):
                        best, found = adds, p
            if best >= 0 and inside >= k:
                break
            have = have + 1 if best < 0 else inside + 1  # the cheapest record joins
            stretch(ONLY, own_group, found, points)
            own_group.cost[0] = own_cost(ONLY, own_group, costs)
            into[own, grown] = found
            grown += 1


@kernel
def nearest(
    k: int, points: GroupBounds, tree: BoxTree, costs: Costs, members: Ints, starts: Ints, into: Ints
) -> None:
    """Algorithm 3 for every point: into (m, k-1) become the other points among its k-1 nearest, -1 for none.

    Distance is the cost of a row over two records; of equal ones the smaller index is nearer. The records of
    point p, in the order of their index, are ``members[starts[p]:starts[p+1]]``.
    """
    stack = np.empty(DEEP, np.int64)
    gaps = np.empty(max(k, 1), np.float64)
    index = np.empty(max(k, 1), np.int64)
    for p in range(into.shape[0]):
        wanted = k - points.size[p]  # its equals cost nothing and come first
        if wanted <= 0:
            continue
        held = np.int64(0)
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            least = rounded(least_union(node, tree, p, points, costs))
            if held == wanted and least > gaps[held - 1]:
                continue
            if tree.left[node] >= 0:
                top = open_node(node, tree, stack, top)
                continue
            for q in range(np.int64(tree.first[node]), np.int64(tree.last[node])):
                if q != p:
                    gap = rounded(union_cost(p, points, q, points, costs))
                    for e in range(starts[q], starts[q] + min(points.size[q], wanted)):
                        held = keep(gap, members[e], q, gaps, index, into[p], held, wanted)


@kernel
def inside_of(
    first: int,
    last: int,
    rows: GroupBounds,
    closed: Floats,
    points: GroupBounds,
    tree: BoxTree,
    plain: Costs,
    ends: Ints,
) -> Any:
    """The points, ascending, in rows first..last-1, row after row.

    ``ends`` (last-first+1,) become where each row's begin, and where the last ones end. ``closed`` is what
    rows cost by `plain`, which grows whenever a closure does.
    """
    stack = np.empty(DEEP, np.int64)
    inside = np.empty(FIRST_ROOM + 16 * (last - first), np.int32)
    count = 0
    for r in range(first, last):
        ends[r - first] = count
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            if least_union(node, tree, r, rows, plain) > closed[r]:
                continue
            if tree.left[node] >= 0:
                top = open_node(node, tree, stack, top)
                continue
            if count + tree.last[node] - tree.first[node] > inside.size:
                wider = np.empty(2 * inside.size + tree.last[node] - tree.first[node], np.int32)
                for i in range(count):
                    wider[i] = inside[i]
                inside = wider
            for p in range(np.int64(tree.first[node]), np.int64(tree.last[node])):
                if union_cost(r, rows, p, points, plain) == closed[r]:
                    inside[count] = p
                    count += 1
    ends[last - first] = count
    return inside[:count]


@inlined
def keep(
    gap: float, record: int, point: int, gaps: Floats, index: Ints, which: Ints, held: Int, most: int
) -> Any:
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
