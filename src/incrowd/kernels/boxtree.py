"""A tree of boxes over points, which answers how many points, and which, lie in each of many regions.

A region is a box with both ends inside, or, where a side is no interval, a box with runs of codes on
that side. Subtrees that lie wholly inside are counted without being entered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import AnyInts, Codes, Floats, Ints
from incrowd.kernels.jit import inlined, kernel

LEAF = 16
_DEEP = 64  # halving: no tree over 32-bit numbers of points is deeper


class BoxTree(NamedTuple):
    """Points (m, d) in the order of the leaves, ``order`` (m,) says which each was.

    Node t covers points ``first[t]..last[t]-1``, which lie from ``low[t]`` to ``high[t]``; its children are
    ``left[t]`` and the node after it, -1 at a leaf. Node 0 is the root. ``upto`` (m+1,) are sums of weights.
    """

    points: Codes
    order: Codes
    low: Codes
    high: Codes
    first: Codes
    last: Codes
    left: Codes
    upto: Ints


class BoxRegions(NamedTuple):
    """Regions (q, d): from ``low`` to ``high``; where ``begin < end`` only the runs ``first[r]..last[r]``.

    Runs r in ``begin[i, j]..end[i, j]-1`` are sorted and do not touch. Ends of the first and last run are
    ``low`` and ``high``.
    """

    low: Codes
    high: Codes
    begin: Ints
    end: Ints
    first: Codes
    last: Codes


def boxes(low: AnyInts, high: AnyInts) -> BoxRegions:
    """Plain boxes (q, d), both ends inside."""
    none, no_run = np.zeros(low.shape, np.int64), np.zeros(0, np.int32)
    return BoxRegions(_ints(low), _ints(high), none, none, no_run, no_run)


def build(points: AnyInts, weights: AnyInts | None = None, leaf: int = LEAF) -> BoxTree:
    """The tree over points (m, d), d >= 1, with whole weights (m,), 1 if not given."""
    points = _ints(points)
    order = np.arange(points.shape[0], dtype=np.int32)
    low, high, first, last, left = _grow(points, order, leaf)
    sums = np.ones(order.size, np.int64) if weights is None else np.asarray(weights, np.int64)[order]
    upto = np.concatenate([np.zeros(1, np.int64), np.cumsum(sums)])
    return BoxTree(points[order], order, low, high, first, last, left, upto)


def count_inside(tree: BoxTree, regions: BoxRegions) -> Any:
    """The weight of the points in each region -> (q,) int64."""
    return _search(tree, regions, tree.upto, np.empty(0, np.int32))


def report_inside(tree: BoxTree, regions: BoxRegions) -> tuple[Ints, Codes]:
    """The points in each region -> CSR (indptr (q+1,) int64, indices int32), in no promised order."""
    one_each = np.arange(tree.order.size + 1)
    each = _search(tree, regions, one_each, np.empty(0, np.int32))
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(each)])
    indices = np.empty(indptr[-1], np.int32)
    _search(tree, regions, one_each, indices)
    return indptr, indices


def turned(indptr: Ints, indices: AnyInts, columns: int) -> tuple[Ints, Codes]:
    """The same CSR seen from its columns; the rows of each column ascend."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(indices, minlength=columns))])
    return ends, _turn(indptr, indices, ends[:-1].copy())


def _ints(values: AnyInts) -> Codes:
    return np.ascontiguousarray(values, dtype=np.int32)


@kernel
def _grow(points: Codes, order: Codes, leaf: int) -> Any:
    """Split at the median of the widest side until a node has at most `leaf` points; permutes `order`.

    Sides are compared as shares of the root's. Of equally wide sides the first is split.
    """
    m, d = points.shape
    most = 1
    while most * leaf < m:
        most *= 2
    most = 4 * most
    low, high = np.zeros((most, d), np.int32), np.full((most, d), -1, np.int32)
    first, last, left = np.zeros(most, np.int32), np.zeros(most, np.int32), np.full(most, -1, np.int32)
    last[0] = m
    nodes, node = 1, 0
    while node < nodes:  # children lie behind their parent, so one pass visits all
        begin, end = first[node], last[node]
        widest, axis = 0.0, -1
        for j in range(d):
            if begin < end:
                least = most_seen = points[order[begin], j]
                for i in range(begin + 1, end):
                    x = points[order[i], j]
                    least, most_seen = min(least, x), max(most_seen, x)
                low[node, j], high[node, j] = least, most_seen
            share = (high[node, j] - low[node, j]) / max(high[0, j] - low[0, j], 1)
            if share > widest:
                widest, axis = share, j
        if end - begin > leaf and axis >= 0:
            middle = (begin + end) // 2
            part(points[:, axis], order, begin, end, middle)
            left[node] = nodes
            first[nodes], last[nodes] = begin, middle
            first[nodes + 1], last[nodes + 1] = middle, end
            nodes += 2
        node += 1
    return low[:nodes].copy(), high[:nodes].copy(), first[:nodes], last[:nodes], left[:nodes]


@kernel
def part(values: Codes | Floats, order: Codes, begin: int, end: int, middle: int) -> None:
    """Permute order[begin:end] so that no value before `middle` exceeds one behind it."""
    lo, hi = begin, end - 1
    while lo < hi:
        a, b, c = values[order[lo]], values[order[(lo + hi) // 2]], values[order[hi]]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = lo, hi
        while i <= j:
            while values[order[i]] < pivot:
                i += 1
            while values[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            hi = j
        elif middle >= i:
            lo = i
        else:
            return


@inlined
def _stands(regions: BoxRegions, q: int, low: Codes, high: Codes) -> Any:
    """How the box low..high (d,) stands to region q: 0 outside, 1 partly inside or unknown, 2 inside."""
    stands = 2
    for j in range(low.size):
        if high[j] < regions.low[q, j] or low[j] > regions.high[q, j]:
            return 0
        if low[j] < regions.low[q, j] or high[j] > regions.high[q, j]:
            stands = 1
        r, end = regions.begin[q, j], regions.end[q, j]
        if r < end:
            while r < end and regions.last[r] < low[j]:
                r += 1
            if r == end or regions.first[r] > high[j]:
                return 0
            if regions.first[r] > low[j] or regions.last[r] < high[j]:
                stands = 1
    return stands


@kernel
def _search(tree: BoxTree, regions: BoxRegions, upto: Ints, indices: Codes) -> Any:
    """Sums of `upto` over the points in each region; the points go to `indices`, unless that is empty."""
    found = np.zeros(regions.low.shape[0], np.int64)
    stack = np.empty(_DEEP, np.int32)
    at = 0
    for q in range(found.size):
        stack[0], top = 0, 1
        while top:
            top -= 1
            node = stack[top]
            stands = _stands(regions, q, tree.low[node], tree.high[node])
            if stands == 1 and tree.left[node] >= 0:
                stack[top], stack[top + 1] = tree.left[node] + 1, tree.left[node]
                top += 2
            elif stands == 2 and not indices.size:
                found[q] += upto[tree.last[node]] - upto[tree.first[node]]
            elif stands:
                for i in range(tree.first[node], tree.last[node]):
                    if stands == 2 or _stands(regions, q, tree.points[i], tree.points[i]) == 2:
                        found[q] += upto[i + 1] - upto[i]
                        if indices.size:
                            indices[at] = tree.order[i]
                            at += 1
    return found


@kernel
def _turn(indptr: Ints, indices: AnyInts, at: Ints) -> Any:
    """Row numbers sorted by column; `at` is where each column starts, and is used up."""
    rows = np.empty(indices.size, np.int32)
    for row in range(indptr.size - 1):
        for e in range(indptr[row], indptr[row + 1]):
            rows[at[indices[e]]] = row
            at[indices[e]] += 1
    return rows
