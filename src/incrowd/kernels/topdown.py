"""Two-clustering again and again, and the groups that are too small mended in the tree that it leaves.

Points are whole numbers in each column's own unit, perimeters sums of widths as shares of the spans, and
compared exactly: so ties are exact. A node of the tree knows how far every union with a group inside must
reach, and the box around all of them: so the cheapest group is found without looking at all. A leaf is a
group.

A kernel is compiled again inside each that calls it, with every array that it is given: so there are few
arrays, loops instead of slices, and one type of number for nodes and places.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import AnyInts, Bools, Codes, Floats, Ints
from incrowd.kernels.exact import Spans, sign
from incrowd.kernels.jit import inlined, inner, kernel

FAR: Any = np.int64(2**62)
ROOT: Any = np.int64(0)  # typed, or what is called with it is compiled once more for the literal 0
ROUNDS = 3  # of looking for the farthest from the farthest
MOST_SIGNS = 16  # columns up to which the farthest pair is found by directions
REACH_LOW, REACH_HIGH, LOW, HIGH = 0, 1, 2, 3  # what `box` of SplitTree says
LEAST, MOST, FIRST = 0, 1, 2  # what `tally` of SplitTree says
PARENT, LEFT, HEAD, END = 0, 1, 2, 3  # what `node` of SplitTree says


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
    then the box around them; `tally` (nodes, 3) their least and most size and the smallest record, `widest`
    (nodes,) the widest perimeter. A leaf lists its points in the order of records, from its first one by
    `follows`. `stack` and `least` (nodes + 2,) are nodes to look at, and what they cost at least.
    """

    points: AnyInts
    ids: Codes
    node: Ints
    box: Ints
    tally: Ints
    widest: Floats
    follows: Ints
    stack: Ints
    least: Floats
    spans: Spans


# Splitting


@inner
def longer(a: int, b: int, u: int, v: int, points: AnyInts, spans: Spans) -> Any:
    """Is the perimeter of points a and b longer (1) than that of u and v, as long (0), or shorter (-1)?"""
    spans.times[0] = 1
    for j in range(points.shape[1]):
        spans.widths[0, j] = abs(points[a, j] - points[b, j]) - abs(points[u, j] - points[v, j])
    return sign(1, spans)


@inner
def farthest(u: int, points: AnyInts, first: int, last: int, spans: Spans) -> Any:
    """Which of the points first..last-1 is farthest from point u -> (point, perimeter of both); the first."""
    best, found, part, slack = 0.0, u, spans.share, 2 * spans.slack
    for i in range(first, last):
        here = 0.0
        for j in range(part.size):
            here += abs(points[i, j] - points[u, j]) * part[j]
        if here >= best - slack and (here > best + slack or longer(u, i, u, found, points, spans) > 0):
            best, found = here, i
    return found, best


@kernel
def far_by_pairs(points: AnyInts, first: int, last: int, spans: Spans) -> Any:
    """The two of the points first..last-1 that are farthest apart: the first pair of equals."""
    best, a, b, slack = 0.0, first, first, 2 * spans.slack
    for i in range(first, last):
        other, here = farthest(i, points, i, last, spans)
        if here >= best - slack and (here > best + slack or longer(i, other, a, b, points, spans) > 0):
            best, a, b = here, i, other
    return a, b


@kernel
def before(i: int, other: int, signs: int, points: AnyInts, spans: Spans) -> Any:
    """Does point i lie before another one in a direction?"""
    spans.times[0] = 1
    for j in range(points.shape[1]):
        gap = np.int64(points[i, j]) - points[other, j]
        spans.widths[0, j] = -gap if (signs >> j) & 1 else gap
    return sign(1, spans) < 0


@kernel
def far_by_signs(points: AnyInts, first: int, last: int, spans: Spans) -> Any:
    """The same by directions: the farthest pair is the ends of the points along one of 2^(d-1).

    All ends at both sides of a direction in which the points reach farthest are farthest pairs, and every
    farthest pair is so for some direction.
    """
    d, part, slack = points.shape[1], spans.share, 2 * spans.slack
    best, a, b = 0.0, first, first
    for signs in range(1 << (d - 1)):
        low, high, at_low, at_high = np.inf, -np.inf, first, first
        for i in range(first, last):
            here = 0.0
            for j in range(d):
                here += (-points[i, j] if (signs >> j) & 1 else points[i, j]) * part[j]
            if here < low + slack and (here < low - slack or before(i, at_low, signs, points, spans)):
                low, at_low = here, i
            if here > high - slack and (here > high + slack or before(at_high, i, signs, points, spans)):
                high, at_high = here, i
        u, v, gap = min(at_low, at_high), max(at_low, at_high), high - low - best
        order = 1 if gap > 0 else -1
        if abs(gap) <= slack:
            order = longer(u, v, a, b, points, spans)
        if order > 0 or (order == 0 and (u < a or (u == a and v < b))):
            best, a, b = high - low, u, v
    return a, b


@kernel
def seeds(points: AnyInts, first: int, last: int, exact: bool, spans: Spans) -> Any:
    """Two of the points first..last-1, far apart, the earlier one first; twice the first if all are equal."""
    d = points.shape[1]
    if exact and (d > MOST_SIGNS or last - first <= 1 << (d - 1)):
        u, v = far_by_pairs(points, first, last, spans)
    elif exact:
        u, v = far_by_signs(points, first, last, spans)
    else:
        u, v = first, first
        for _ in range(ROUNDS):
            u = v
            v, _far = farthest(u, points, first, last, spans)
    alike = True
    for j in range(d):
        alike = alike and points[u, j] == points[v, j]
    return (first, first) if alike else (min(u, v), max(u, v))


@inner
def to_second(sizes: Ints, box: Ints, point: AnyInts, weighted: bool, spans: Spans) -> Any:
    """Does a point (d,) go to the second of two groups with these sizes (2,) and boxes (2, 2, d)?"""
    for s in range(2):
        turn = 2 * s - 1
        spans.times[2 * s] = turn * (sizes[s] + 1 if weighted else 1)
        spans.times[2 * s + 1] = turn if weighted else 0
        for j in range(point.size):
            low, high = box[s, 0, j], box[s, 1, j]
            spans.widths[2 * s, j] = max(low - point[j], 0) + max(point[j] - high, 0)
            spans.widths[2 * s + 1, j] = high - low
    return sign(4, spans) < 0


@kernel
def share(
    points: AnyInts, first: int, last: int, u: int, v: int, weighted: bool, side: Bools, spans: Spans
) -> Any:
    """Share points first..last-1 out between seeds u and v: side (n,) by point -> how many are with v.

    Each goes where the perimeter grows least; weighted, where the sum of all perimeters does. The first seed
    gets ties.
    """
    d, part, slack = points.shape[1], spans.share, 2 * spans.slack
    box, sizes, around = np.empty((2, 2, d), np.int64), np.ones(2, np.int64), np.zeros(2)
    for j in range(d):
        box[0, 0, j], box[1, 0, j] = points[u, j], points[v, j]
        box[0, 1, j], box[1, 1, j] = points[u, j], points[v, j]
    for i in range(first, last):
        if i in (u, v):
            side[i] = i == v
            continue
        grow0, grow1 = 0.0, 0.0
        for j in range(d):
            at = points[i, j]
            grow0 += max(box[0, 0, j] - at, at - box[0, 1, j], 0) * part[j]
            grow1 += max(box[1, 0, j] - at, at - box[1, 1, j], 0) * part[j]
        gap, weight = grow1 - grow0, 1
        if weighted:
            gap = around[1] + (sizes[1] + 1) * grow1 - around[0] - (sizes[0] + 1) * grow0
            weight = sizes[0] + sizes[1] + 2
        side[i] = gap < 0
        if abs(gap) <= weight * slack:
            side[i] = to_second(sizes, box, points[i], weighted, spans)
        s = 1 if side[i] else 0
        sizes[s] += 1
        if (grow1 if side[i] else grow0) > 0:
            around[s] = 0.0
            for j in range(d):
                box[s, 0, j] = min(box[s, 0, j], points[i, j])
                box[s, 1, j] = max(box[s, 1, j], points[i, j])
                around[s] += (box[s, 1, j] - box[s, 0, j]) * part[j]
    return sizes[1]


@inlined
def move(points: AnyInts, ids: Codes, first: int, last: int, side: Bools, spare: AnyInts) -> None:
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
def grow(points: AnyInts, ids: Codes, rules: SplitRules, spans: Spans, nodes: Ints, clock: Ints) -> Any:
    """Split points (n, d) and their ids until groups have at most k, or are equal -> number of nodes.

    Equal points are chopped into pieces of k; the last one keeps the rest.
    """
    n, d = points.shape
    spare, side = np.empty((n, d + 1), points.dtype), np.empty(n, np.bool_)
    stack = np.empty(n + 1, np.int64)
    nodes[0, PARENT], nodes[0, HEAD], nodes[0, END], stack[0] = 0, 0, n, 0
    top, used = 1, 1
    while top:
        top -= 1
        node = stack[top]
        first, last = nodes[node, HEAD], nodes[node, END]
        nodes[node, LEFT] = 0
        m = last - first
        if m > rules.k:
            u, v = seeds(points, first, last, rules.exact, spans)
            if u < v:
                cut = last - share(points, first, last, u, v, rules.weighted, side, spans)
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
    box, tally, d = tree.box, tree.tally, tree.box.shape[2]
    for j in range(d):
        box[leaf, LOW, j], box[leaf, HIGH, j] = FAR, -1
        box[leaf, REACH_LOW, j], box[leaf, REACH_HIGH, j] = -1, FAR
    at, size = tree.node[leaf, HEAD], 0
    tally[leaf, FIRST] = FAR if at < 0 else tree.ids[at]
    while at >= 0:
        for j in range(d):
            box[leaf, LOW, j] = min(box[leaf, LOW, j], tree.points[at, j])
            box[leaf, HIGH, j] = max(box[leaf, HIGH, j], tree.points[at, j])
        size += 1
        at = tree.follows[at]
    tally[leaf, LEAST], tally[leaf, MOST], tree.widest[leaf] = size if size else FAR, size, 0.0
    for j in range(d if size else 0):
        box[leaf, REACH_LOW, j], box[leaf, REACH_HIGH, j] = box[leaf, LOW, j], box[leaf, HIGH, j]
        tree.widest[leaf] += (box[leaf, HIGH, j] - box[leaf, LOW, j]) * tree.spans.share[j]


@inner
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
    for what in range(3):
        first, second = tally[a, what], tally[a + 1, what]
        here = max(first, second) if what == MOST else min(first, second)
        other = other or here != tally[node, what]
        tally[node, what] = here
    widest = max(tree.widest[a], tree.widest[a + 1])
    other = other or widest != tree.widest[node]
    tree.widest[node] = widest
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
