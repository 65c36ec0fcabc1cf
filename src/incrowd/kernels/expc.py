"""ExpC (Wang, Liu), Algorithm 1: a group grows around a seed by what is cheapest, until it is plain.

Distinct records stand in a tree of boxes. Every node knows the smallest free record below it, so that a walk
finds who is nearest in a column, or cheapest to add, without a look at all. Distances are whole numbers of
each column, losses sums of fractions that are compared exactly: so ties are exact. A kernel that stops has
changed nothing since the last record came or went, and goes on there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Floats, Ints
from incrowd.kernels.closure import codes_between, count_of
from incrowd.kernels.exact import compare_rows
from incrowd.kernels.jit import borrowed, inlined, inner, kernel
from incrowd.kernels.plain_corners import (
    APART,
    BOTTOM,
    HIGH,
    HOLDS,
    KIND,
    LINE,
    LOW,
    MASK,
    MISSING,
    MORE,
    NODE,
    REAL,
    SET,
    START,
    TOP,
    WIDTH,
    CornerDomain,
    GrowingGroup,
    KnownNodes,
    OutlierTest,
    node_over,
)

NOBODY = 2**62
# typed, or what is called with them is compiled once more for each literal number
FREE: Any = np.int64(0)  # what is with a record
TAKEN: Any = np.int64(1)
BANNED: Any = np.int64(2)
GONE: Any = np.int64(3)
LOCKED: Any = np.int64(4)
FINISHED, CHECK = -1, -2  # why `grow` stops, beside what `plain` says
# in `tally` of GrowingGroup: steps, is a group open, is it plain, was one just added, the next seed, free
# records, groups, records that were let go
NUM, ACTIVE, QUICK, PENDING, CURSOR, LEFT, GROUPS, BANS = 5, 6, 7, 8, 9, 10, 11, 12
UNTOLD, REFUSED = -3, -4  # of QUICK: not looked at yet; plain, but another guard refuses it
NEAR: Any = np.int64(0)  # who is looked for
ON_BOUNDS: Any = np.int64(1)
ANY: Any = np.int64(0)  # who matters
CHANGING: Any = np.int64(1)
NEW_VALUE: Any = np.int64(2)
BATCH: Any = np.int64(32)
ONE: Any = np.int64(1)
FIRST_ROW: Any = np.int64(0)  # of widths
SECOND_ROW: Any = np.int64(1)
VALUE, FIRST, LEAF, SMALLEST = 0, 1, 2, 3  # in `point` of RecordPool
POINT, STATE, LABEL = 0, 1, 2  # in `record` of RecordPool
BEGIN, END, CHILD, UP, BELOW = 0, 1, 2, 3, 4  # in `node` of RecordPool


class RecordPool(NamedTuple):
    """Distinct records (m, d) in a tree of boxes, with their records.

    Point p has the records ``ids[FIRST of p : FIRST of p+1]``, ascending; SMALLEST is the smallest free one.
    Node v covers the points BEGIN to END; its children are CHILD and the node after it, -1 at a leaf; BELOW
    is the smallest free record in it. ``free`` counts the free records with each value; its last entry says
    how many values have some.
    """

    codes: Ints
    point: Ints
    ids: Ints
    record: Ints
    low: Ints
    high: Ints
    node: Ints
    free: Ints


class WalkRoom(NamedTuple):
    """Room for walks: how near the nearest is, the cheapest so far, what waits, and who may not come back.

    ``found`` (BATCH+1,) are points with their cost; the last one was seen: a walk goes on behind it.
    """

    near: Ints
    found: Ints
    cost: Floats
    stack: Ints
    least: Floats
    banned: Ints


class ExpcRules(NamedTuple):
    """When a group is done, and how long it is tried: 0 tries or patience is no limit.

    ``by_corners``: the corner form is looked at here. ``alone``: no other guard is asked.
    ``fresh``: until there are enough values, only records with a new one count. ``usual``: no outlier is
    a seed.
    """

    k: int
    distinct: int
    delta: int
    tries: int
    patience: int
    by_corners: bool
    alone: bool
    fresh: bool
    usual: bool


class ExpcState(NamedTuple):
    """All that ExpC works on."""

    rules: ExpcRules
    domain: CornerDomain
    pool: RecordPool
    group: GrowingGroup
    search: WalkRoom
    memo: KnownNodes
    test: OutlierTest


# A row that is taken out of an array, and an array that is passed on, are counted as references, which takes
# longer than the little that is done with them: so rows are named by their place, and small steps inlined.


@inlined
@borrowed
def stretched(low: Ints, high: Ints, at: int, row: int, domain: CornerDomain, box: Ints) -> Any:
    """What the group's row costs at least with anybody between codes low[at]..high[at], but for rounding.

    How wide its cells are is laid out in a row of widths.
    """
    columns, axis, leaf, nodes = domain.column, domain.axis, domain.leaf, domain.node
    widths, share, total = domain.spans.widths, domain.spans.share, 0.0
    for j in range(columns.shape[0]):
        a, b, first, last, cell = low[at, j], high[at, j], box[LOW, j], box[HIGH, j], WIDTH
        kind, apart, start = columns[j, KIND], columns[j, APART], columns[j, START]
        if kind == SET:
            bits = np.uint64(box[MASK, j])
            wide = count_of(bits) - (1 if bits & codes_between(a, b) else 0)
        elif kind == LINE:
            wide = axis[start + max(last, a)] - axis[start + min(first, b)]
        elif apart and a == 0 and last <= 0:  # all are missing, or may be
            wide = np.int64(0)
        else:
            if apart:  # missing is code 0, beside all sets
                cell = MORE if first == 0 or b == 0 else WIDTH
                first = box[REAL, j]
                if a == 0:  # it may be missing: then nothing need be stretched
                    a, b = first, first
            wide = nodes[node_over(start, min(first, b), max(last, a), leaf, nodes), cell]
        widths[row, j] = wide
        total += wide * share[j]
    return total


@inner
@borrowed
def compared(low: Ints, high: Ints, at: int, codes: Ints, other: int, domain: CornerDomain, box: Ints) -> Any:
    """Does the row cost less with anybody between these codes than with others (-1), as much (0), or more?"""
    stretched(low, high, at, FIRST_ROW, domain, box)
    stretched(codes, codes, other, SECOND_ROW, domain, box)
    return compare_rows(domain.spans)


@inlined
@borrowed
def precedes(
    gap: float,
    behind: bool,
    low: Ints,
    high: Ints,
    at: int,
    codes: Ints,
    other: int,
    domain: CornerDomain,
    box: Ints,
) -> Any:
    """Does anybody between codes low[at]..high[at] come before a record with the codes of another?

    By loss, then by record. `gap` is by how much they cost more, in floats; `behind` whether the record of
    the other is smaller.
    """
    if abs(gap) > 2 * domain.spans.slack:
        return gap < 0
    order = compared(low, high, at, codes, other, domain, box) if domain.spans.slack else 0
    return order < 0 or (order == 0 and not behind)


@inlined
@borrowed
def away(j: int, low: int, high: int, columns: Ints, axis: Ints, box: Ints) -> Any:
    """How far the codes low..high lie from the group's, at least."""
    at = columns[j, START]
    return max(axis[at + box[LOW, j]] - axis[at + high], axis[at + low] - axis[at + box[HIGH, j]], 0)


@kernel
@borrowed
def changes(codes: Ints, domain: CornerDomain, box: Ints) -> Any:
    """Would these codes (d,) change the group's cells?"""
    for j in range(codes.size):
        column, code = domain.column[j], codes[j]
        gone = column[APART] == 1 and code == column[MISSING]
        if gone and box[LOW, j] == code:
            continue
        if column[KIND] == NODE and (box[HIGH, j] > 0 or not column[APART]):
            start = box[REAL, j] if column[APART] else box[LOW, j]
            node = domain.node[node_over(column[START], start, box[HIGH, j], domain.leaf, domain.node)]
            if (code < node[BOTTOM] or code > node[TOP]) and not (gone and node[HOLDS]):
                return True
        elif column[KIND] == SET:
            if not (np.uint64(box[MASK, j]) >> np.uint64(code)) & np.uint64(1):
                return True
        elif gone or code < box[REAL, j] or code > box[HIGH, j]:
            return True
    return False


@inlined
@borrowed
def eligible(kind: int, low: Ints, high: Ints, at: int, domain: CornerDomain, box: Ints, near: Ints) -> Any:
    """Can anybody between codes low[at]..high[at] be one who is looked for? Exact for a single record."""
    columns, axis = domain.column, domain.axis
    for j in range(near.size):
        a, b, start = low[at, j], high[at, j], columns[j, START]
        if kind == NEAR:
            if away(j, a, b, columns, axis, box) <= near[j]:
                return True
        elif axis[start + a] > axis[start + box[LOW, j]] and axis[start + b] < axis[start + box[HIGH, j]]:
            return False
    return kind == ON_BOUNDS


@inlined
@borrowed
def name_node(p: int, pool: RecordPool, group: GrowingGroup) -> None:
    """Let ``group.key`` be a point of the pool with its own value."""
    key, codes = group.key, pool.codes
    for j in range(codes.shape[1]):
        key[j] = codes[p, j]
    key[codes.shape[1]] = pool.point[p, VALUE]


@inner
@borrowed
def measure_near(who: int, expc: ExpcState) -> None:
    """How far the nearest free record lies in each column: of all, or of those that bring a new value."""
    pool, columns, axis, has = expc.pool, expc.domain.column, expc.domain.axis, expc.group.has
    nodes, points, codes, lows, highs = pool.node, pool.point, pool.codes, pool.low, pool.high
    near, stack, box = expc.search.near, expc.search.stack, expc.group.box[0]
    near[:] = NOBODY
    stack[0], top = 0, 1
    while top:
        top -= 1
        v = stack[top]
        better, child = False, nodes[v, CHILD]
        if nodes[v, BELOW] != NOBODY:
            for j in range(near.size):
                better |= away(j, lows[v, j], highs[v, j], columns, axis, box) < near[j]
        if better and child >= 0:
            stack[top], stack[top + 1] = child, child + 1
            top += 2
        elif better:
            for p in range(nodes[v, BEGIN], nodes[v, END]):
                passed = who == NEW_VALUE and has[points[p, VALUE]] > 0
                if points[p, SMALLEST] != NOBODY and not passed:
                    for j in range(near.size):
                        near[j] = min(near[j], away(j, codes[p, j], codes[p, j], columns, axis, box))


@inner
@borrowed
def select(kind: int, most: int, who: int, expc: ExpcState) -> Any:
    """The cheapest `most` free points behind the last -> how many; in ``search.found``, with their cost.

    By loss, then by record. Of all, of those that change what the group says, or that bring a new value.
    """
    domain, group, search = expc.domain, expc.group, expc.search
    box, found, costs, near = group.box[0], search.found, search.cost, search.near
    stack, bound, has = search.stack, search.least, group.has
    pool, nodes, points = expc.pool, expc.pool.node, expc.pool.point
    all_codes, lows, highs = pool.codes, pool.low, pool.high
    count, last = 0, found[BATCH]
    stack[0], bound[0], top = 0, 0.0, 1
    while top:
        top -= 1
        v, least = stack[top], bound[top]
        if count == most:
            worst = found[count - 1]
            gap, behind = least - costs[count - 1], nodes[v, BELOW] > points[worst, SMALLEST]
            if not precedes(gap, behind, lows, highs, v, all_codes, worst, domain, box):
                continue
        if nodes[v, CHILD] >= 0:  # children that may hold somebody wait, with what they cost at least
            held = top
            for child in range(nodes[v, CHILD], nodes[v, CHILD] + 2):
                if nodes[child, BELOW] == NOBODY:
                    continue
                if not eligible(kind, lows, highs, child, domain, box, near):
                    continue
                at, least = top, stretched(lows, highs, child, FIRST_ROW, domain, box)
                if top > held and least >= bound[held]:  # the cheaper is looked at first
                    stack[top], bound[top], at = stack[held], bound[held], held
                stack[at], bound[at] = child, least
                top += 1
            continue
        for p in range(nodes[v, BEGIN], nodes[v, END]):
            record, known = points[p, SMALLEST], has[points[p, VALUE]] > 0
            if record == NOBODY or (who == NEW_VALUE and known) or p == last:
                continue
            cost = stretched(all_codes, all_codes, p, FIRST_ROW, domain, box)
            if last >= 0:
                gap, behind = cost - costs[BATCH], record > points[last, SMALLEST]
                if precedes(gap, behind, all_codes, all_codes, p, all_codes, last, domain, box):
                    continue
            at = count  # its place among the cheapest so far
            while at:
                other = found[at - 1]
                gap, behind = cost - costs[at - 1], record > points[other, SMALLEST]
                if not precedes(gap, behind, all_codes, all_codes, p, all_codes, other, domain, box):
                    break
                at -= 1
            if at == most or not eligible(kind, all_codes, all_codes, p, domain, box, near):
                continue
            if who == CHANGING and known and not changes(all_codes[p], domain, box):
                continue
            count = min(count + 1, most)
            for i in range(count - 1, at, -1):
                found[i], costs[i] = found[i - 1], costs[i - 1]
            found[at], costs[at] = p, cost
    return count
