"""ExpC: which candidate joins a group. The cheapest with which it is plain, else the cheapest of all."""

from __future__ import annotations

from typing import Any

from incrowd.kernels.expc import (
    ANY,
    BATCH,
    BEGIN,
    BELOW,
    CHANGING,
    CHILD,
    END,
    FIRST_ROW,
    NEAR,
    NEW_VALUE,
    NOBODY,
    ON_BOUNDS,
    ONE,
    QUICK,
    SMALLEST,
    VALUE,
    ExpcState,
    changes,
    eligible,
    measure_near,
    name_node,
    precedes,
    select,
    stretched,
)
from incrowd.kernels.jit import borrowed, inner, kernel
from incrowd.kernels.plain_corners import ASK, MEMBERS, NO, VALUES, WITH, YES, no_outlier, plain, widen


@inner
@borrowed
def best_of_all(kind: int, who: int, large: bool, expc: ExpcState) -> Any:
    """The cheapest with which the group is plain, of all that matter -> (YES or why that is open, point).

    Without a limit of tries nobody need stand in a row by cost: one walk keeps the best, and passes by whom
    it cannot be. On bounds the cheapest who is no outlier, if with nobody the group is plain. -1: nobody.
    """
    rules, domain, pool, group, near = expc.rules, expc.domain, expc.pool, expc.group, expc.search.near
    memo, test, box, stack = expc.memo, expc.test, group.box[0], expc.search.stack
    nodes, points, codes, lows, highs = pool.node, pool.point, pool.codes, pool.low, pool.high
    best, best_cost, spare, spare_cost = -1, 0.0, -1, 0.0
    stack[0], top = 0, 1
    while top:
        top -= 1
        v = stack[top]
        if nodes[v, BELOW] == NOBODY or not eligible(kind, lows, highs, v, domain, box, near):
            continue
        if best >= 0:
            gap = stretched(lows, highs, v, FIRST_ROW, domain, box) - best_cost
            behind = nodes[v, BELOW] > points[best, SMALLEST]
            if not precedes(gap, behind, lows, highs, v, codes, best, domain, box):
                continue
        if nodes[v, CHILD] >= 0:
            stack[top], stack[top + 1] = nodes[v, CHILD] + 1, nodes[v, CHILD]
            top += 2
            continue
        for p in range(nodes[v, BEGIN], nodes[v, END]):
            record, value = points[p, SMALLEST], points[p, VALUE]
            if record == NOBODY or not eligible(kind, codes, codes, p, domain, box, near):
                continue
            known = group.has[value] > 0
            matters = not known or (who != NEW_VALUE and (who == ANY or changes(codes[p], domain, box)))
            if not matters and kind == NEAR:
                continue
            cost = stretched(codes, codes, p, FIRST_ROW, domain, box)
            if best >= 0:
                behind = record > points[best, SMALLEST]
                if not precedes(cost - best_cost, behind, codes, codes, p, codes, best, domain, box):
                    continue
            if kind == ON_BOUNDS:  # a group that is stuck takes no outlier in
                name_node(p, pool, group)
                answer = no_outlier(domain, group, memo, test)
                if answer >= ASK:
                    return answer, -1
                if answer == NO:
                    continue
                cheaper = spare < 0
                if spare >= 0:
                    behind = record > points[spare, SMALLEST]
                    cheaper = precedes(cost - spare_cost, behind, codes, codes, p, codes, spare, domain, box)
                if cheaper:
                    spare, spare_cost = p, cost
                if not (large and matters):
                    continue
            widen(box, codes[p], domain.column, group.box[1])
            answer = plain(WITH, value, domain, group, memo, test) if rules.by_corners else YES
            if answer >= ASK:
                return answer, -1
            if answer == YES:
                best, best_cost = p, cost
    return YES, best if best >= 0 else spare


@kernel
@borrowed
def choose(kind: int, expc: ExpcState) -> Any:
    """Who is to join -> (YES or why that is not known, point; -1 if there is nobody).

    The cheapest with which the group is plain, of the first TRIES that matter; else the cheapest of all.
    """
    rules, domain, pool, group = expc.rules, expc.domain, expc.pool, expc.group
    search, memo, test = expc.search, expc.memo, expc.test
    tally, found, box = group.tally, search.found, group.box[0]
    # who matters: until there are enough values a new one, then whoever changes the group's cells
    large = tally[MEMBERS] + 1 >= rules.k and tally[VALUES] + 1 >= rules.distinct
    cheapest, tried, who = -1, 0, ANY
    if tally[VALUES] < rules.distinct:
        who = NEW_VALUE
    elif tally[QUICK] == NO and tally[MEMBERS] >= rules.k:
        who = CHANGING
    found[BATCH] = -1
    all_of = NEW_VALUE if who == NEW_VALUE and rules.fresh else ANY
    if kind == NEAR:
        measure_near(all_of, expc)
    most = BATCH if large or kind == ON_BOUNDS else ONE
    all_of_them = rules.tries == 0
    if all_of_them and kind == ON_BOUNDS:
        return best_of_all(kind, who, large, expc)
    while True:
        # the cheapest of all first, to fall back upon; then batches of those that matter, by cost
        first = cheapest < 0 and kind == NEAR
        among = ANY if kind == ON_BOUNDS else all_of if first else who
        count = select(kind, ONE if first else most, among, expc)
        if first:
            if count == 0 or not large:
                return YES, found[0] if count else -1
            cheapest = found[0]
            if all_of_them:
                answer, p = best_of_all(kind, who, large, expc)
                return answer, p if p >= 0 or answer >= ASK else cheapest
            continue
        for i in range(count):
            p = found[i]
            codes, value = pool.codes[p], pool.point[p, VALUE]
            if kind == ON_BOUNDS:  # a group that is stuck takes no outlier in
                name_node(p, pool, group)
                answer = no_outlier(domain, group, memo, test)
                if answer == NO:
                    continue
                if answer != YES:
                    return answer, -1
                cheapest = p if cheapest < 0 else cheapest
                if not large:
                    return YES, cheapest
                known = group.has[value] > 0
                if known and (who == NEW_VALUE or (who == CHANGING and not changes(codes, domain, box))):
                    continue
            widen(box, codes, domain.column, group.box[1])
            answer = plain(WITH, value, domain, group, memo, test) if rules.by_corners else YES
            if answer >= ASK:
                return answer, -1
            if answer == YES:
                return YES, p
            tried += 1
            if tried == rules.tries:
                return YES, cheapest
        if count < most:
            return YES, cheapest
        found[BATCH], search.cost[BATCH] = found[count - 1], search.cost[count - 1]
