"""ExpC, steps 1 and 2 of its loop: seeds, records that join and are let go, and groups that are closed."""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.arrays import Ints
from incrowd.kernels.closure import count_of
from incrowd.kernels.expc import (
    ACTIVE,
    BANNED,
    BANS,
    BEGIN,
    BELOW,
    CHECK,
    CHILD,
    CURSOR,
    END,
    FINISHED,
    FIRST,
    FREE,
    GONE,
    GROUPS,
    LABEL,
    LEAF,
    LEFT,
    LOCKED,
    NEAR,
    NOBODY,
    NUM,
    ON_BOUNDS,
    PENDING,
    POINT,
    QUICK,
    SMALLEST,
    STATE,
    TAKEN,
    UNTOLD,
    UP,
    VALUE,
    ExpcState,
    RecordPool,
    WalkRoom,
    name_node,
)
from incrowd.kernels.expc_choice import choose
from incrowd.kernels.jit import borrowed, inner, kernel
from incrowd.kernels.plain_corners import (
    ALL,
    APART,
    ASK,
    ASKED,
    HIGH,
    KIND,
    LINE,
    LOW,
    MASK,
    MEMBERS,
    MORE,
    NO,
    NONE,
    REAL,
    SET,
    START,
    VALUES,
    WIDTH,
    YES,
    CornerDomain,
    GrowingGroup,
    clear,
    join,
    no_outlier,
    node_over,
    plain,
)


@inner
@borrowed
def put(record: int, state: int, pool: RecordPool) -> None:
    """Say what is with a record, and who is the smallest free one around it."""
    p = pool.record[record, POINT]
    value, some = pool.point[p, VALUE], pool.free.size - 1
    pool.free[some] -= pool.free[value] > 0
    pool.free[value] += (state == FREE) - (pool.record[record, STATE] == FREE)
    pool.free[some] += pool.free[value] > 0
    pool.record[record, STATE] = state
    smallest = NOBODY
    for i in range(pool.point[p, FIRST], pool.point[p + 1, FIRST]):
        if pool.record[pool.ids[i], STATE] == FREE:
            smallest = pool.ids[i]
            break
    pool.point[p, SMALLEST] = smallest
    v = pool.point[p, LEAF]
    least = NOBODY
    for each in range(pool.node[v, BEGIN], pool.node[v, END]):
        least = min(least, pool.point[each, SMALLEST])
    while pool.node[v, BELOW] != least:
        pool.node[v, BELOW] = least
        if v == 0:
            break
        v = pool.node[v, UP]
        child = pool.node[v, CHILD]
        least = min(pool.node[child, BELOW], pool.node[child + 1, BELOW])


@inner
@borrowed
def let_go(domain: CornerDomain, pool: RecordPool, group: GrowingGroup, search: WalkRoom) -> None:
    """Take the record out of the group that lies on most bounds, not the seed; it does not come back.

    Of equal ones the smallest.
    """
    members, count, box = group.members, group.tally[MEMBERS], group.box[0]
    most, worst = -1, -1
    for i in range(1, count):
        codes, bounds = pool.codes[pool.record[members[i], POINT]], 0
        for j in range(codes.size):
            at, axis = domain.column[j, START], domain.axis
            here = axis[at + codes[j]]
            bounds += here == axis[at + box[LOW, j]] or here == axis[at + box[HIGH, j]]
        if bounds > most or (bounds == most and members[i] < members[worst]):
            most, worst = bounds, i
    put(members[worst], BANNED, pool)
    search.banned[group.tally[BANS]] = members[worst]
    group.tally[BANS] += 1
    clear(group)
    for i in range(count):  # who stays moves up; nobody is overwritten before that
        if i != worst:
            p = pool.record[members[i], POINT]
            join(members[i], pool.codes[p], pool.point[p, VALUE], domain.column, group)


@kernel
@borrowed
def close(succeeded: bool, pool: RecordPool, group: GrowingGroup, search: WalkRoom) -> None:
    """End a group: number it, or let all but the seed go; those let go on the way are free again."""
    tally = group.tally
    for i in range(tally[MEMBERS]):
        gone = succeeded or i == 0
        put(group.members[i], GONE if gone else FREE, pool)
        if succeeded:
            pool.record[group.members[i], LABEL] = tally[GROUPS]
    for i in range(tally[BANS]):
        put(search.banned[i], FREE, pool)
    if succeeded:
        tally[GROUPS] += 1
        tally[LEFT] -= tally[MEMBERS] - 1
    tally[ACTIVE], tally[BANS] = 0, 0
    clear(group)


@kernel
@borrowed
def done(expc: ExpcState) -> Any:
    """Is the group large, diverse and plain in the corner form? YES, NO, or why that is not known."""
    rules, group = expc.rules, expc.group
    if group.tally[MEMBERS] < rules.k or group.tally[VALUES] < rules.distinct:
        return NO
    if not rules.by_corners:
        return YES
    return plain(ALL, NONE, expc.domain, group, expc.memo, expc.test)


@inner
@borrowed
def open_next(seeds: Ints, expc: ExpcState) -> Any:
    """Begin a group with the next seed that is in none -> YES, or why that is not known.

    Where only usual people are seeds, an outlier is gone at once.
    """
    domain, pool, group = expc.domain, expc.pool, expc.group
    tally = group.tally
    while tally[CURSOR] < seeds.size and tally[ACTIVE] == 0:
        seed = seeds[tally[CURSOR]]
        state, p = pool.record[seed, STATE], pool.record[seed, POINT]
        answer = YES
        if expc.rules.usual and state == FREE:
            name_node(p, pool, group)
            answer = no_outlier(domain, group, expc.memo, expc.test)
            if answer >= ASK:
                return answer
        tally[CURSOR] += 1
        if state in (FREE, LOCKED):
            tally[LEFT] -= 1 if state == FREE else 0
            if answer == NO:
                put(seed, GONE, pool)
                continue
            put(seed, TAKEN, pool)
            clear(group)
            join(seed, pool.codes[p], pool.point[p, VALUE], domain.column, group)
            tally[NUM], tally[ACTIVE], tally[QUICK], tally[PENDING] = 0, 1, UNTOLD, 0
    return YES


@kernel
@borrowed
def grow(seeds: Ints, expc: ExpcState) -> Any:
    """Groups around the seeds, in their order, of whoever is free -> FINISHED, or why it stops.

    At CHECK a group is plain here and waits for other guards: the caller sets ``tally[QUICK]`` to YES, or to
    REFUSED, which makes it grow further.
    """
    rules, domain, pool, group = expc.rules, expc.domain, expc.pool, expc.group
    search, tally = expc.search, group.tally
    while True:
        asked = tally[ASKED]  # what is not known yet is asked again
        if tally[ACTIVE] == 0:  # step 1: the next seed
            answer = open_next(seeds, expc)
            if answer >= ASK:
                tally[ASKED] = asked
                return answer
            if tally[ACTIVE] == 0:
                return FINISHED
        if tally[QUICK] == UNTOLD:  # step 2: is the group plain as it is?
            answer = done(expc)
            if answer >= ASK:
                tally[ASKED] = asked
                return answer
            tally[QUICK] = answer
            if answer == YES and not rules.alone:
                return CHECK
        # not yet: grow by the cheapest nearest record; after delta steps in vain exchange one on the bounds
        succeeded = tally[QUICK] == YES
        seed_value = pool.point[pool.record[group.members[0], POINT], VALUE]
        values = pool.free[pool.free.size - 1] + (pool.free[seed_value] == 0)
        hopeless = tally[NUM] == 0 and values < rules.distinct
        stuck = tally[PENDING] == 1 and tally[NUM] >= rules.delta and tally[QUICK] == NO
        room = rules.patience if rules.patience else tally[LEFT]
        answer, p = YES, NONE
        if not (succeeded or hopeless) and (stuck or tally[NUM] <= rules.delta + room):
            kind = ON_BOUNDS if stuck else NEAR
            answer, p = choose(kind, expc)
        if answer >= ASK:
            tally[ASKED] = asked
            return answer
        if succeeded or (p < 0 and not stuck):
            close(succeeded, pool, group, search)
            continue
        tally[QUICK], tally[PENDING] = UNTOLD, 0 if stuck else 1
        if p < 0:
            let_go(domain, pool, group, search)
            continue
        record = pool.point[p, SMALLEST]
        put(record, TAKEN, pool)
        join(record, pool.codes[p], pool.point[p, VALUE], domain.column, group)
        tally[NUM] += 0 if stuck else 1


@kernel
@borrowed
def widths_with(boxes: Ints, box: Ints, domain: CornerDomain, wide: Ints) -> None:
    """How wide the cells of a row over each of some boxes (g, 4, d) and another (4, d) are: wide (g, d)."""
    for g in range(wide.shape[0]):
        for j in range(box.shape[1]):
            column = domain.column[j]
            low, high = min(boxes[g, LOW, j], box[LOW, j]), max(boxes[g, HIGH, j], box[HIGH, j])
            wide[g, j] = 0
            if column[KIND] == SET:
                wide[g, j] = count_of(np.uint64(boxes[g, MASK, j] | box[MASK, j])) - 1
            elif column[KIND] == LINE:
                wide[g, j] = domain.axis[column[START] + high] - domain.axis[column[START] + low]
            elif column[APART] == 0 or low > 0:
                wide[g, j] = domain.node[node_over(column[START], low, high, domain.leaf, domain.node), WIDTH]
            elif high > 0:  # missing is code 0, beside all sets
                low = min(boxes[g, REAL, j], box[REAL, j])
                wide[g, j] = domain.node[node_over(column[START], low, high, domain.leaf, domain.node), MORE]


@kernel
@borrowed
def first_plain(first: int, record: int, rows: Ints, starts: Ints, expc: ExpcState) -> Any:
    """The first of some groups, from number `first` on, that is plain with a record -> (YES, which).

    Group i has the records ``rows[starts[i]:starts[i+1]]``; -1 is no further record. If there is none
    (NO, -1); or why that is not known.
    """
    domain, pool, group = expc.domain, expc.pool, expc.group
    for g in range(first, starts.size - 1):
        clear(group)
        for i in range(starts[g] - (1 if record >= 0 else 0), starts[g + 1]):
            who = rows[i] if i >= starts[g] else record
            p = pool.record[who, POINT]
            join(who, pool.codes[p], pool.point[p, VALUE], domain.column, group)
        asked = group.tally[ASKED]
        answer = done(expc)
        if answer >= ASK:
            group.tally[ASKED] = asked
        if answer != NO:
            return answer, g
    return NO, -1
