"""Two-clustering again and again, and the groups that are too small mended in the tree that it leaves.

Points are whole numbers, so perimeters (sums of the widths of a box) and ties are exact. A node of the tree
knows how far every union with a group inside must reach, and the box around all of them: so the cheapest
group is found without looking at all. A leaf is a group.

A kernel is compiled again inside each that calls it, with every array that it is given: so there are few
arrays, loops instead of slices, and one type of number for nodes and places.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Bools, Codes, Ints
from incrowd.kernels.jit import inlined, kernel

FAR: Any = np.int64(2**62)
ROOT: Any = np.int64(0)  # typed, or what is called with it is compiled once more for the literal 0
ROUNDS = 3  # of looking for the farthest from the farthest
MOST_SIGNS = 16  # columns up to which the farthest pair is found by directions
REACH_LOW, REACH_HIGH, LOW, HIGH = 0, 1, 2, 3  # what `box` of Tree says
LEAST, MOST, WIDEST, FIRST = 0, 1, 2, 3  # what `tally` of Tree says
PARENT, LEFT, HEAD, END = 0, 1, 2, 3  # what `node` of Tree says


class SplitRules(NamedTuple):
    """How records are shared out and small groups mended; `visits` is how many nodes may be looked at."""

    k: int
    weighted: bool
    exact: bool
    take: bool
    resplit: bool
    visits: int


class SplitTree(NamedTuple):
    """The nodes of the splits, in the order in which they were made.

    `node` (nodes, 4) has the parent, the left child (the right one comes next; 0 in a leaf), the first point
    and where the points end. `box` (nodes, 4, d) has the largest low and smallest high of the groups inside,
    then the box around them; `tally` (nodes, 4) their least and most size, the widest perimeter, and the
    smallest record. A leaf lists its points in the order of records, from its first one by `follows`.
    """

    points: Codes
    ids: Codes
    node: Ints
    box: Codes
    tally: Ints
    follows: Ints
    stack: Ints  # (nodes + 2, 2) nodes to look at, and what they cost at least


# Splitting


@kernel
def farthest(u: int, points: Codes, first: int, last: int) -> Any:
    """Which of the points first..last-1 is farthest from point u -> (point, perimeter of both); the first."""
    best, found = np.int64(-1), first
    for i in range(first, last):
        here = np.int64(0)
        for j in range(points.shape[1]):
            here += abs(points[i, j] - points[u, j])
        if here > best:
            best, found = here, i
    return found, best


@kernel
def far_by_pairs(points: Codes, first: int, last: int) -> Any:
    """The two of the points first..last-1 that are farthest apart: the first pair of equals."""
    best, a, b = np.int64(-1), first, first
    for i in range(first, last):
        other, here = farthest(i, points, i, last)
        if here > best:
            best, a, b = here, i, other
    return a, b


@kernel
def far_by_signs(points: Codes, first: int, last: int) -> Any:
    """The same by directions: the farthest pair is the ends of the points along one of 2^(d-1).

    All ends at both sides of a direction in which the points reach farthest are farthest pairs, and every
    farthest pair is so for some direction.
    """
    d = points.shape[1]
    best, a, b = np.int64(-1), first, first
    for signs in range(1 << (d - 1)):
        low, high, at_low, at_high = FAR, -FAR, first, first
        for i in range(first, last):
            here = np.int64(points[i, 0])
            for j in range(1, d):
                here += -points[i, j] if (signs >> (j - 1)) & 1 else points[i, j]
            if here < low:
                low, at_low = here, i
            if here > high:
                high, at_high = here, i
        u, v = min(at_low, at_high), max(at_low, at_high)
        if high - low > best or (high - low == best and (u < a or (u == a and v < b))):
            best, a, b = high - low, u, v
    return a, b


@kernel
def seeds(points: Codes, first: int, last: int, exact: bool) -> Any:
    """Two of the points first..last-1, far apart, the earlier one first; twice the first if all are equal."""
    d = points.shape[1]
    if exact and (d > MOST_SIGNS or last - first <= 1 << (d - 1)):
        u, v = far_by_pairs(points, first, last)
    elif exact:
        u, v = far_by_signs(points, first, last)
    else:
        u, v = first, first
        for _ in range(ROUNDS):
            u = v
            v, _far = farthest(u, points, first, last)
    alike = True
    for j in range(d):
        alike = alike and points[u, j] == points[v, j]
    return (first, first) if alike else (min(u, v), max(u, v))


@kernel
def share(points: Codes, first: int, last: int, u: int, v: int, weighted: bool, side: Bools) -> Any:
    """Share points first..last-1 out between seeds u and v: side (n,) by point -> how many are with v.

    Each goes where the perimeter grows least; weighted, where the sum of all perimeters does. The first seed
    gets ties.
    """
    d = points.shape[1]
    low, high = np.empty((2, d), np.int32), np.empty((2, d), np.int32)
    for j in range(d):
        low[0, j], low[1, j], high[0, j], high[1, j] = points[u, j], points[v, j], points[u, j], points[v, j]
    around0, around1, size0, size1 = np.int64(0), np.int64(0), np.int64(1), np.int64(1)
    for i in range(first, last):
        if i in (u, v):
            side[i] = i == v
            continue
        grow0, grow1 = np.int64(0), np.int64(0)
        for j in range(d):
            at = points[i, j]
            grow0 += max(low[0, j] - at, 0) + max(at - high[0, j], 0)
            grow1 += max(low[1, j] - at, 0) + max(at - high[1, j], 0)
        if weighted:
            to = around1 + (size1 + 1) * grow1 < around0 + (size0 + 1) * grow0
        else:
            to = grow1 < grow0
        side[i] = to
        if to:
            around1, size1 = around1 + grow1, size1 + 1
        else:
            around0, size0 = around0 + grow0, size0 + 1
        if (grow1 if to else grow0) > 0:
            s = 1 if to else 0
            for j in range(d):
                low[s, j] = min(low[s, j], points[i, j])
                high[s, j] = max(high[s, j], points[i, j])
    return size1


@inlined
def move(points: Codes, ids: Codes, first: int, last: int, side: Bools, spare: Codes) -> None:
    """Order points first..last-1 and their ids by their side, otherwise as they were."""
    left, right = first, 0
    d = points.shape[1]
    for i in range(first, last):
        if side[i]:
            for j in range(d):
                spare[right, j] = points[i, j]
            spare[right, d] = ids[i]
            right += 1
        else:
            for j in range(d):
                points[left, j] = points[i, j]
            ids[left] = ids[i]
            left += 1
    for i in range(right):
        for j in range(d):
            points[left + i, j] = spare[i, j]
        ids[left + i] = spare[i, d]


@kernel
def grow(points: Codes, ids: Codes, rules: SplitRules, nodes: Ints, clock: Ints) -> Any:
    """Split points (n, d) and their ids until groups have at most k, or are equal -> number of nodes.

    Equal points are chopped into pieces of k; the last one keeps the rest.
    """
    n, d = points.shape
    spare, side, stack = np.empty((n, d + 1), np.int32), np.empty(n, np.bool_), np.empty(n + 1, np.int64)
    nodes[0, PARENT], nodes[0, HEAD], nodes[0, END], stack[0] = 0, 0, n, 0
    top, used = 1, 1
    while top:
        top -= 1
        node = stack[top]
        first, last = nodes[node, HEAD], nodes[node, END]
        nodes[node, LEFT] = 0
        m = last - first
        if m > rules.k:
            u, v = seeds(points, first, last, rules.exact)
            if u < v:
                cut = last - share(points, first, last, u, v, rules.weighted, side)
                move(points, ids, first, last, side, spare)
            else:
                cut = first + m // rules.k // 2 * rules.k
            if first < cut:
                nodes[node, LEFT] = used
                for child in range(used, used + 2):
                    nodes[child, PARENT] = node
                    nodes[child, HEAD] = first if child == used else cut
                    nodes[child, END] = cut if child == used else last
                    stack[top] = child
                    top += 1
                used += 2
        if nodes[node, LEFT] == 0:
            clock[1] += m
    return used


# The tree over groups


@kernel
def measure(leaf: int, tree: SplitTree) -> None:
    """Say anew what is in a leaf, from its points: a list that may be empty."""
    box, tally = tree.box, tree.tally
    d = box.shape[2]
    for j in range(d):
        box[leaf, LOW, j], box[leaf, HIGH, j] = 2**31 - 1, -1
        box[leaf, REACH_LOW, j], box[leaf, REACH_HIGH, j] = -1, 2**31 - 1
    at, size = tree.node[leaf, HEAD], 0
    tally[leaf, FIRST] = FAR if at < 0 else tree.ids[at]
    while at >= 0:
        for j in range(d):
            box[leaf, LOW, j] = min(box[leaf, LOW, j], tree.points[at, j])
            box[leaf, HIGH, j] = max(box[leaf, HIGH, j], tree.points[at, j])
        size += 1
        at = tree.follows[at]
    tally[leaf, LEAST], tally[leaf, MOST], tally[leaf, WIDEST] = size if size else FAR, size, 0
    for j in range(d if size else 0):
        box[leaf, REACH_LOW, j], box[leaf, REACH_HIGH, j] = box[leaf, LOW, j], box[leaf, HIGH, j]
        tally[leaf, WIDEST] += box[leaf, HIGH, j] - box[leaf, LOW, j]


@kernel
def refresh(node: int, tree: SplitTree) -> Any:
    """Say anew what is in a node with children -> whether that is something else."""
    a, box, tally = tree.node[node, LEFT], tree.box, tree.tally
    other = False
    for what in range(4):
        largest = what in (REACH_LOW, HIGH)
        for j in range(box.shape[2]):
            one, two = box[a, what, j], box[a + 1, what, j]
            value = max(one, two) if largest else min(one, two)
            other = other or value != box[node, what, j]
            box[node, what, j] = value
    for what in range(4):
        first, second = tally[a, what], tally[a + 1, what]
        here = max(first, second) if what in (MOST, WIDEST) else min(first, second)
        other = other or here != tally[node, what]
        tally[node, what] = here
    return other


@kernel
def changed(leaf: int, tree: SplitTree) -> None:
    """Say anew what is in a leaf and in the nodes above it."""
    measure(leaf, tree)
    node = leaf
    while node:
        node = tree.node[node, PARENT]
        if not refresh(node, tree):
            return


@kernel
def start(tree: SplitTree) -> None:
    """The tree over the groups that splitting has left."""
    for node in range(tree.node.shape[0] - 1, -1, -1):
        if tree.node[node, LEFT]:
            refresh(node, tree)
            continue
        first, last = tree.node[node, HEAD], tree.node[node, END]
        for at in range(first, last):
            tree.follows[at] = at + 1 if at + 1 < last else -1
        measure(node, tree)
