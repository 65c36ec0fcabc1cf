"""Is a point far from most records? Trees of boxes over records, with two counters that stop early.

A point is bad if at least `least` records lie further than the radius; so it is good as soon as `enough`
records lie within it, and bad as soon as `least` lie outside. Whole boxes count at once, large ones first,
and whoever is decided looks no further. Floats decide only what is not close: distances between `near`
and `far` count for neither side, and a point that depends on them is unsure.

Coordinates are scaled so that the squared distance is a plain sum of squares. A missing value is NaN. Two
missing values differ by nothing, a missing and a known one by the column's `gap`; records with the same
columns missing share a tree, so that this part of the distance is one number for each tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import AnyInts, Bools, Codes, Floats, Ints, Marks
from incrowd.kernels.boxtree import part
from incrowd.kernels.jit import borrowed, kernel

GOOD, BAD, UNSURE = 0, 1, 2
LEAF = 32
_MOST_UNSURE = 256  # nodes that are handed back at once, to be settled exactly


class DistanceForest(NamedTuple):
    """Records (m, d) as columns (d, m) in the order of the leaves, ``order`` (m,) says which each was.

    Nodes 0..t-1 are the roots of the t trees. ``shape[v]`` (4,) are the first record of node v, the one after
    its last, its left child (-1 at a leaf; the right one is the node after it) and its tree. Its records lie
    from ``box[v, 0]`` to ``box[v, 1]``, NaN where missing, and weigh ``weight[v]`` together, ``weights`` (m,)
    each. ``gap`` (d,) is what a missing value adds to the squared distance from a known one. What is read
    together lies together: reading is what a query spends its time on.
    """

    columns: Floats
    order: Codes
    weights: Ints
    box: Floats
    shape: Codes
    weight: Ints
    gap: Floats


class Bound(NamedTuple):
    """When a point is decided: squared radius from below and above, records within, records outside."""

    near: float
    far: float
    enough: int
    least: int


class Scratch(NamedTuple):
    """Room for one query at a time: nodes to visit, and the part of the distance that missing values make."""

    queue: Codes
    base: Floats
    apart: Floats


class Settled(NamedTuple):
    """Nodes that were decided exactly: keys, ascending, and whether each is bad."""

    keys: Ints
    bad: Bools


NOTHING_SETTLED = Settled(np.zeros(0, np.int64), np.zeros(0, np.bool_))


def build(
    points: Floats, weights: AnyInts, gap: Sequence[float] | Floats, leaf: int = LEAF
) -> DistanceForest:
    """The trees over distinct records (m, d), NaN where missing, with whole weights (m,)."""
    points = np.ascontiguousarray(points, np.float64)
    keys = np.zeros(len(points), np.int64)
    for column in np.isnan(points).T:
        keys = np.unique(2 * keys + column, return_inverse=True)[1]  # patterns that occur, never 2**d
    order = np.argsort(keys, kind="stable").astype(np.int32)
    roots = np.concatenate([[0], np.cumsum(np.bincount(keys))]).astype(np.int32)
    box, shape = _grow(points, order, roots, leaf)
    weights = np.asarray(weights, np.int64)[order]
    upto = np.concatenate([np.zeros(1, np.int64), np.cumsum(weights)])
    weight = upto[shape[:, 1]] - upto[shape[:, 0]]
    columns = np.ascontiguousarray(points[order].T)
    return DistanceForest(columns, order, weights, box, shape, weight, np.asarray(gap, np.float64))


def scratch(forest: DistanceForest) -> Scratch:
    """Room for queries of one thread."""
    first, last, left, tree = forest.shape.T
    leaf = int((last - first)[left < 0].max(initial=0))
    return Scratch(np.empty(left.size, np.int32), np.empty(int(tree.max(initial=0)) + 1), np.empty(leaf))


@kernel
def _grow(points: Floats, order: Codes, roots: Codes, leaf: int) -> Any:
    """Split each tree at the median of its widest side until a node has at most `leaf` records.

    Permutes `order`. Tree t has order[roots[t]:roots[t+1]]. Of equally wide sides the first is split.
    """
    m, d = points.shape
    trees = roots.size - 1
    most = 4 * (m // leaf + 1) + trees + 2
    box, shape = np.empty((most, 2, d)), np.full((most, 4), -1, np.int32)
    for t in range(trees):
        shape[t, 0], shape[t, 1], shape[t, 3] = roots[t], roots[t + 1], t
    nodes, node = trees, 0
    while node < nodes:  # children lie behind their parent, so one pass visits all
        begin, end, low, high = shape[node, 0], shape[node, 1], box[node, 0], box[node, 1]
        low[:] = points[order[begin]]
        high[:] = low
        for i in range(begin + 1, end):
            for j in range(d):
                x = points[order[i], j]
                if x < low[j]:
                    low[j] = x
                elif x > high[j]:
                    high[j] = x
        widest, axis = 0.0, -1
        for j in range(d):
            if high[j] - low[j] > widest:
                widest, axis = high[j] - low[j], j
        if end - begin > leaf and axis >= 0:
            middle = (begin + end) // 2
            part(points[:, axis], order, begin, end, middle)
            shape[node, 2] = nodes
            shape[nodes, 0], shape[nodes, 1], shape[nodes, 3] = begin, middle, shape[node, 3]
            shape[nodes + 1, 0], shape[nodes + 1, 1], shape[nodes + 1, 3] = middle, end, shape[node, 3]
            nodes += 2
        node += 1
    return box[:nodes].copy(), shape[:nodes].copy()


@kernel
@borrowed
def weigh(forest: DistanceForest, bound: Bound, point: Floats, room: Scratch, close: Codes) -> Any:
    """Count around one point (d,) until it is decided -> (within, outside, close ones written).

    Within and outside are lower bounds. Records neither near nor far are written to `close` as places in the
    order of leaves; it has room for all of them, or none to leave that out. Nodes are visited level by level:
    boxes that decide much come before those that decide little.
    """
    d = point.size
    queue, base = room.queue, room.base
    tail = 0
    for v in range(queue.size):
        if forest.shape[v, 3] != v:
            break
        base[v] = 0.0
        for j in range(d):
            if np.isnan(point[j]) != np.isnan(forest.box[v, 0, j]):
                base[v] += forest.gap[j]
        queue[tail] = v
        tail += 1
    head, within, outside, written = 0, 0, 0, 0
    while head < tail:
        v = queue[head]
        head += 1
        shape, low, high = forest.shape[v], forest.box[v, 0], forest.box[v, 1]
        begin, end, left = shape[0], shape[1], shape[2]
        least = most = base[shape[3]]
        for j in range(d):
            below, above = point[j] - low[j], high[j] - point[j]
            gap = below if below < above else above  # selections, not branches, which nobody could foresee
            gap = gap if gap < 0.0 else 0.0  # nor is NaN: missing on either side is in the base
            side = above if below < above else below
            side = side if side > 0.0 else 0.0
            least += gap * gap
            most += side * side
        if least > bound.far:
            outside += forest.weight[v]
        elif most <= bound.near:
            within += forest.weight[v]
        elif left >= 0:
            queue[tail], queue[tail + 1] = left, left + 1
            tail += 2
            continue
        else:
            apart = room.apart[: end - begin]
            apart[:] = base[shape[3]]
            for j in range(d):
                column = forest.columns[j, begin:end]
                if not np.isnan(point[j] - column[0]):
                    for i in range(apart.size):
                        delta = point[j] - column[i]
                        apart[i] += delta * delta
            near, far = 0, 0
            weights = forest.weights[begin:end]
            for i in range(apart.size):
                far += weights[i] if apart[i] > bound.far else 0
                near += weights[i] if apart[i] <= bound.near else 0
            outside += far
            within += near
            if near + far < forest.weight[v] and close.size:
                for i in range(apart.size):
                    if bound.near < apart[i] <= bound.far:
                        close[written] = begin + i
                        written += 1
        if within >= bound.enough or outside >= bound.least:
            break
    return within, outside, written


@kernel
@borrowed
def decide(forest: DistanceForest, bound: Bound, point: Floats, room: Scratch) -> int:
    """GOOD, BAD or UNSURE: one point (d,), NaN where missing. Made to be called from other kernels."""
    if bound.enough <= 0:
        return GOOD
    within, outside, _ = weigh(forest, bound, point, room, room.queue[:0])
    if within >= bound.enough:
        return GOOD
    return BAD if outside >= bound.least else UNSURE


@kernel
def decide_all(forest: DistanceForest, bound: Bound, points: Floats, room: Scratch) -> Any:
    """The same for many points (q, d) -> (q,) int8."""
    found = np.empty(points.shape[0], np.int8)
    for q in range(points.shape[0]):
        found[q] = decide(forest, bound, points[q], room)
    return found


@kernel
def _node(
    forest: DistanceForest,
    bound: Bound,
    column: Floats,
    row: Floats,
    key: int,
    settled: Settled,
    point: Floats,
    room: Scratch,
) -> int:
    """Decide the point that `column` and `row` make together; what was settled exactly is looked up."""
    at, end = 0, settled.keys.size
    while at < end:
        middle = (at + end) // 2
        if settled.keys[middle] < key:
            at = middle + 1
        else:
            end = middle
    if at < settled.keys.size and settled.keys[at] == key:
        return BAD if settled.bad[at] else GOOD
    point[: column.size] = column
    point[column.size :] = row
    return decide(forest, bound, point, room)


@kernel
def settle(
    forest: DistanceForest,
    bound: Bound,
    columns: Floats,
    rows: Floats,
    settled: Settled,
    whole: bool,
    room: Scratch,
) -> tuple[Marks, Marks, Ints]:
    """Has every column, and every row, a good node? -> states (c,) and (s,), keys of unsure nodes.

    Node (i, j) is rows[i] with columns[j], and has the key i * c + j. States are GOOD, BAD (all nodes are)
    and UNSURE (it hangs on unsure nodes, or was not looked at). Unless `whole` is asked for, the first that
    is BAD ends the search. Columns take rows in turn, so that most rows have their good node by then.
    """
    c, s = columns.shape[0], rows.shape[0]
    of_column, of_row = np.full(c, UNSURE, np.int8), np.full(s, UNSURE, np.int8)
    unsure, met, turn = np.empty(_MOST_UNSURE, np.int64), 0, 0
    point = np.empty(columns.shape[1] + rows.shape[1])
    for line in range(c + s):  # all columns, then the rows that are still without a good node
        if line >= c and of_row[line - c] == GOOD:
            continue
        state = BAD
        for step in range(s if line < c else c):
            i, j = ((turn + step) % s, line) if line < c else (line - c, step)
            key = i * c + j
            found = _node(forest, bound, columns[j], rows[i], key, settled, point, room)
            if found == GOOD:
                of_column[j], of_row[i], state, turn = GOOD, GOOD, GOOD, i + 1
                break
            if found == UNSURE:
                state = UNSURE
                unsure[met] = key
                met += 1
                if met == unsure.size:
                    return of_column, of_row, unsure
        if line < c:
            of_column[line] = state
        else:
            of_row[line - c] = state
        if state == BAD and not whole:
            break
    return of_column, of_row, unsure[:met]
