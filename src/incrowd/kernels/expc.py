"""ExpC: a group grows around a seed by what is cheapest, until it is plain.

Distinct records stand in a tree of boxes. Every node knows the smallest free record below it, so that a walk
finds who is nearest in a column, or cheapest to add, without a look at all. Losses are whole numbers, so
ties are exact. A kernel that stops has changed nothing since the last record came or went, and goes on there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.closure import codes_between, count_of
from incrowd.kernels.jit import kernel
from incrowd.kernels.plain_corners import (
    APART,
    ASK,
    BOTTOM,
    HIGH,
    HOLDS,
    KIND,
    LINE,
    LOW,
    MASK,
    MEMBERS,
    MISSING,
    MORE,
    NO,
    NODE,
    PRICE,
    REAL,
    SET,
    SIZE,
    START,
    TOP,
    VALUES,
    WITH,
    YES,
    Crowd,
    Domain,
    Judge,
    Memo,
    judged,
    node_over,
    plain,
    widen,
)

FULL = 2**32  # what a cell costs that says nothing
NOBODY = 2**62
# typed, or what is called with them is compiled once more for each literal number
FREE: Any = np.int64(0)  # what is with a record
TAKEN: Any = np.int64(1)
BANNED: Any = np.int64(2)
GONE: Any = np.int64(3)
LOCKED: Any = np.int64(4)
FINISHED, CHECK = -1, -2  # why `grow` stops, beside what `plain` says
# in `tally` of Crowd: steps, is a group open, is it plain, was one just added, the next seed, free records,
# groups, records that were let go
NUM, ACTIVE, QUICK, PENDING, CURSOR, LEFT, GROUPS, BANS = 5, 6, 7, 8, 9, 10, 11, 12
UNTOLD, REFUSED = -3, -4  # of QUICK: not looked at yet; plain, but other judges refuse it
K, DISTINCT, DELTA, TRIES, PATIENCE, BY_CORNERS, ALONE, FRESH, USUAL = 0, 1, 2, 3, 4, 5, 6, 7, 8  # `rules`
NEAR: Any = np.int64(0)  # who is looked for
ON_BOUNDS: Any = np.int64(1)
ANY: Any = np.int64(0)  # who matters
CHANGING: Any = np.int64(1)
NEW_VALUE: Any = np.int64(2)
BATCH: Any = np.int64(32)
ONE: Any = np.int64(1)
VALUE, FIRST, LEAF, SMALLEST = 0, 1, 2, 3  # in `point` of Pool
POINT, STATE, LABEL = 0, 1, 2  # in `record` of Pool
BEGIN, END, CHILD, UP, BELOW = 0, 1, 2, 3, 4  # in `node` of Pool


class Pool(NamedTuple):
    """Distinct records (m, d) in a tree of boxes, with their records.

    Point p has the records ``ids[FIRST of p : FIRST of p+1]``, ascending; SMALLEST is the smallest free one.
    Node v covers the points BEGIN to END; its children are CHILD and the node after it, -1 at a leaf; BELOW
    is the smallest free record in it. ``free`` counts the free records with each value; its last entry says
    how many values have some.
    """

    codes: Any
    point: Any
    ids: Any
    record: Any
    low: Any
    high: Any
    node: Any
    free: Any


class Search(NamedTuple):
    """Room for walks: how near the nearest is, the cheapest so far, what waits, and who may not come back.

    ``found`` (BATCH+1, 2) are points with their cost; the last row is a record that was seen, with its cost:
    a walk goes on behind it.
    """

    near: Any
    found: Any
    stack: Any
    banned: Any


@kernel
def stretched(low: Any, high: Any, domain: Domain, box: Any) -> Any:
    """What the group's row costs at least with anybody between these codes (d,); exactly, if they are one."""
    total = 0
    for j in range(low.size):
        column, a, b = domain.column[j], low[j], high[j]
        if column[KIND] == SET:
            bits = np.uint64(box[MASK, j])
            more = 0 if bits & codes_between(a, b) else 1
            total += (count_of(bits) + more - 1) * FULL // max(column[SIZE] - 1, 1)
            continue
        if column[KIND] == LINE:
            at = column[START]
            total += domain.axis[at + max(box[HIGH, j], a)] - domain.axis[at + min(box[LOW, j], b)]
            continue
        price, start, end = PRICE, box[LOW, j], box[HIGH, j]
        if column[APART]:  # missing is code 0, beside all sets
            start = box[REAL, j]
            if box[LOW, j] == 0 or b == 0:
                price = MORE
            if a == 0:  # it may be missing: then nothing need be stretched
                if end <= 0:
                    continue
                a, b = start, start
        start, end = min(start, b), max(end, a)
        total += domain.node[node_over(column[START], start, end, domain.leaf, domain.node), price]
    return total


@kernel
def away(j: int, low: int, high: int, domain: Domain, box: Any) -> Any:
    """How far the codes low..high lie from the group's, at least."""
    at, axis = domain.column[j, START], domain.axis
    return max(axis[at + box[LOW, j]] - axis[at + high], axis[at + low] - axis[at + box[HIGH, j]], 0)


@kernel
def changes(codes: Any, domain: Domain, box: Any) -> Any:
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


@kernel
def eligible(kind: int, low: Any, high: Any, domain: Domain, box: Any, near: Any) -> Any:
    """Can anybody between these codes (d,) be one who is looked for? Exact for a single record."""
    for j in range(low.size):
        if kind == NEAR:
            if away(j, low[j], high[j], domain, box) <= near[j]:
                return True
            continue
        at, axis = domain.column[j, START], domain.axis
        inside = axis[at + low[j]] > axis[at + box[LOW, j]]
        if inside and axis[at + high[j]] < axis[at + box[HIGH, j]]:
            return False
    return kind == ON_BOUNDS


@kernel
def measure_near(who: int, domain: Domain, pool: Pool, crowd: Crowd, search: Search) -> None:
    """How far the nearest free record lies in each column: of all, or of those that bring a new value."""
    near, stack, box = search.near, search.stack, crowd.box[0]
    near[:] = NOBODY
    stack[0, 0], top = 0, 1
    while top:
        top -= 1
        v = stack[top, 0]
        better = False
        if pool.node[v, BELOW] != NOBODY:
            for j in range(near.size):
                better |= away(j, pool.low[v, j], pool.high[v, j], domain, box) < near[j]
        child = pool.node[v, CHILD]
        if better and child >= 0:
            stack[top, 0], stack[top + 1, 0] = child, child + 1
            top += 2
        elif better:
            for p in range(pool.node[v, BEGIN], pool.node[v, END]):
                passed = who == NEW_VALUE and crowd.has[pool.point[p, VALUE]] > 0
                if pool.point[p, SMALLEST] != NOBODY and not passed:
                    for j in range(near.size):
                        code = pool.codes[p, j]
                        near[j] = min(near[j], away(j, code, code, domain, box))


@kernel
def select(kind: int, most: int, who: int, domain: Domain, pool: Pool, crowd: Crowd, search: Search) -> Any:
    """The cheapest `most` free points behind the last -> how many; in ``search.found``, with their cost.

    By loss, then by record. Of all, of those that change what the group says, or that bring a new value.
    """
    box, found, stack, near = crowd.box[0], search.found, search.stack, search.near
    count = 0
    stack[0, 0], stack[0, 1], top = 0, 0, 1
    while top:
        top -= 1
        v, least = stack[top, 0], stack[top, 1]
        node = pool.node[v]
        if count == most:
            worst = pool.point[found[count - 1, 0], SMALLEST]
            if least > found[count - 1, 1] or (least == found[count - 1, 1] and node[BELOW] > worst):
                continue
        if node[CHILD] >= 0:
            held = top
            for child in range(node[CHILD], node[CHILD] + 2):
                if pool.node[child, BELOW] == NOBODY:
                    continue
                if not eligible(kind, pool.low[child], pool.high[child], domain, box, near):
                    continue
                least, at = stretched(pool.low[child], pool.high[child], domain, box), top
                if top > held and least >= stack[held, 1]:  # the cheaper is looked at first
                    stack[top, 0], stack[top, 1], at = stack[held, 0], stack[held, 1], held
                stack[at, 0], stack[at, 1] = child, least
                top += 1
            continue
        for p in range(node[BEGIN], node[END]):
            record, codes = pool.point[p, SMALLEST], pool.codes[p]
            known = crowd.has[pool.point[p, VALUE]] > 0
            if record == NOBODY or (who == NEW_VALUE and known):
                continue
            cost = stretched(codes, codes, domain, box)
            if cost < found[BATCH, 1] or (cost == found[BATCH, 1] and record <= found[BATCH, 0]):
                continue
            at = count
            while at and (
                found[at - 1, 1] > cost
                or (found[at - 1, 1] == cost and pool.point[found[at - 1, 0], SMALLEST] > record)
            ):
                at -= 1
            if at == most or not eligible(kind, codes, codes, domain, box, near):
                continue
            if who == CHANGING and known and not changes(codes, domain, box):
                continue
            count = min(count + 1, most)
            for i in range(count - 1, at, -1):
                found[i, 0], found[i, 1] = found[i - 1, 0], found[i - 1, 1]
            found[at, 0], found[at, 1] = p, cost
    return count


@kernel
def choose(
    kind: int,
    rules: Any,
    domain: Domain,
    pool: Pool,
    crowd: Crowd,
    search: Search,
    memo: Memo,
    judge: Judge,
) -> Any:
    """Who is to join -> (YES or why it cannot be told, point; -1 if there is nobody).

    The cheapest with which the group is plain, of the first TRIES that matter; else the cheapest of all.
    """
    tally, found, box = crowd.tally, search.found, crowd.box[0]
    large = tally[MEMBERS] + 1 >= rules[K] and tally[VALUES] + 1 >= rules[DISTINCT]
    cheapest, tried, who = -1, 0, ANY
    if tally[VALUES] < rules[DISTINCT]:
        who = NEW_VALUE
    elif tally[QUICK] == NO and tally[MEMBERS] >= rules[K]:
        who = CHANGING
    found[BATCH, 0], found[BATCH, 1] = -1, -1
    all_of = NEW_VALUE if who == NEW_VALUE and rules[FRESH] else ANY
    if kind == NEAR:
        measure_near(all_of, domain, pool, crowd, search)
    most = BATCH if large or kind == ON_BOUNDS else ONE
    while True:
        first = cheapest < 0 and kind == NEAR
        among = ANY if kind == ON_BOUNDS else all_of if first else who
        count = select(kind, ONE if first else most, among, domain, pool, crowd, search)
        if first:
            if count == 0 or not large:
                return YES, found[0, 0] if count else -1
            cheapest = found[0, 0]
            continue
        for i in range(count):
            p = found[i, 0]
            codes, value = pool.codes[p], pool.point[p, VALUE]
            if kind == ON_BOUNDS:
                crowd.key[: codes.size] = codes
                crowd.key[codes.size] = value
                answer = judged(domain, crowd, memo, judge)
                if answer >= ASK:
                    return answer, -1
                if answer == NO:
                    continue
                cheapest = p if cheapest < 0 else cheapest
                if not large:
                    return YES, cheapest
                known = crowd.has[value] > 0
                if known and (who == NEW_VALUE or (who == CHANGING and not changes(codes, domain, box))):
                    continue
            widen(box, codes, domain.column, crowd.box[1])
            answer = plain(WITH, value, domain, crowd, memo, judge) if rules[BY_CORNERS] else YES
            if answer >= ASK:
                return answer, -1
            if answer == YES:
                return YES, p
            tried += 1
            if tried == rules[TRIES]:
                return YES, cheapest
        if count < most:
            return YES, cheapest
        found[BATCH, 1] = found[count - 1, 1]
        found[BATCH, 0] = pool.point[found[count - 1, 0], SMALLEST]
