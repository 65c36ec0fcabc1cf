"""From crowds of any size to a k-regular one: every row over k records, every record in k rows.

What rows hold already is free; a flow over it leaves few pairs open. Those are closed where that widens rows
least. At last rows exchange members: each row of a block gives one away, and the best way to hand them out
again is an assignment problem. Records stand in the order of the tree's leaves; row x is that of record x.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.boxtree import BoxTree
from incrowd.kernels.closure import Costs, Groups, copy, own_cost, rounded, union_cost
from incrowd.kernels.expansion import DEEP, least_union
from incrowd.kernels.jit import inlined, kernel

WINDOW = 256  # how many leftovers are compared with one
BLOCK = 64  # rows that exchange members at once
FORBIDDEN = 1e4  # dearer than all rows of a block together
GAIN = 1e-9  # less is rounding


class Space(NamedTuple):
    """Points as the tree holds them; p is records ``starts[p]..starts[p+1]-1``. `room` is for one crowd."""

    starts: Any
    points: Groups
    tree: BoxTree
    room: Groups


class Factor(NamedTuple):
    """Row v, now[v], is made over ``members[v, :held[v]]`` (n, k), its own first; `load` counts rows."""

    members: Any
    held: Any
    load: Any
    records: Groups
    now: Groups


@kernel
def _inside(row: int, rows: Groups, space: Space, plain: Costs, stack: Any, found: Any) -> Any:
    """Which points a row holds: `found` (m,) becomes them -> how many. `plain` grows with every closure."""
    tree, room = space.tree, space.room
    copy(0, room, row, rows)
    closed = own_cost(0, room, plain)
    held, top = 0, 1
    stack[0] = 0
    while top:
        top -= 1
        node = stack[top]
        if least_union(tree.low[node], tree.high[node], room, plain) > closed:
            continue
        if tree.left[node] >= 0:
            stack[top], stack[top + 1] = tree.left[node] + 1, tree.left[node]
            top += 2
            continue
        for p in range(tree.first[node], tree.last[node]):
            if union_cost(0, room, p, space.points, plain) == closed:
                found[held] = p
                held += 1
    return held


@kernel
def free_pairs(rows: Groups, space: Space, plain: Costs, into: Any) -> None:
    """into (n, most) become others that each row holds, -1 where there are no more.

    Those that fit few rows come first, for others find a place elsewhere. Of equal records every row begins
    with another one.
    """
    m, most = space.points.size.size, into.shape[1]
    fits = np.zeros(m, np.int64)
    stack, found = np.empty(DEEP, np.int64), np.empty(m, np.int64)
    for r in range(into.shape[0]):
        held = _inside(r, rows, space, plain, stack, found)
        for i in range(held):
            fits[found[i]] += 1
    for r in range(into.shape[0]):
        held = _inside(r, rows, space, plain, stack, found)
        taken = 0
        for at in np.argsort(fits[found[:held]], kind="mergesort"):
            first = space.starts[found[at]]
            size = space.starts[found[at] + 1] - first
            for i in range(size):
                if taken == most:
                    break
                x = first + (r - first + 1 + i) % size
                if x != r:
                    into[r, taken] = x
                    taken += 1


@kernel
def near_pairs(
    limit: float, lacking: Any, spare: Any, rows: Groups, space: Space, costs: Costs, into: Any
) -> None:
    """into (n, most) become the `spare` records that widen each `lacking` row least, by `limit` at most."""
    tree, points, room, starts = space.tree, space.points, space.room, space.starts
    most = into.shape[1]
    stack, gaps = np.empty(DEEP, np.int64), np.empty(most)
    some, count = _spare_below(spare, starts, tree)
    for r in range(into.shape[0]):
        if not lacking[r]:
            continue
        copy(0, room, r, rows)
        held, top = 0, 1
        stack[0] = 0
        while top:
            top -= 1
            node = stack[top]
            bound = rows.cost[r] + (limit if held < most else gaps[most - 1])
            if not some[node] or least_union(tree.low[node], tree.high[node], room, costs) > bound:
                continue
            if tree.left[node] >= 0:
                stack[top], stack[top + 1] = tree.left[node] + 1, tree.left[node]
                top += 2
                continue
            for p in range(tree.first[node], tree.last[node]):
                grows = union_cost(0, room, p, points, costs) - rows.cost[r]
                if not count[p] or grows > limit:
                    continue
                size = starts[p + 1] - starts[p]
                for i in range(size):
                    if held == most and grows >= gaps[most - 1]:
                        break
                    x = starts[p] + (r + i) % size
                    if spare[x] and x != r:
                        at = min(held, most - 1)
                        while at > 0 and grows < gaps[at - 1]:
                            gaps[at], into[r, at] = gaps[at - 1], into[r, at - 1]
                            at -= 1
                        gaps[at], into[r, at] = grows, x
                        held = min(held + 1, most)


@kernel
def _spare_below(spare: Any, starts: Any, tree: BoxTree) -> Any:
    """Which nodes lie above a spare record, and how many of those each point has."""
    some, count = np.zeros(tree.left.size, np.bool_), np.zeros(starts.size - 1, np.int64)
    for node in range(tree.left.size - 1, -1, -1):  # children lie behind their parents
        if tree.left[node] >= 0:
            some[node] = some[tree.left[node]] or some[tree.left[node] + 1]
            continue
        for p in range(tree.first[node], tree.last[node]):
            for x in range(starts[p], starts[p + 1]):
                count[p] += spare[x]
            some[node] |= count[p] > 0
    return some, count


@kernel
def read_pairs(row: Any, record: Any, used: Any, members: Any, held: Any, load: Any) -> None:
    """Everyone's own pair, then those of the pairs (m,) that are used."""
    members[:, 0] = np.arange(held.size)
    held[:], load[:] = 1, 1
    for e in range(row.size):
        if used[e]:
            members[row[e], held[row[e]]] = record[e]
            held[row[e]] += 1
            load[record[e]] += 1


@inlined
def holds(row: Any, held: int, x: int) -> Any:
    """Is x among the first of a row?"""
    found = False
    for i in range(held):
        found |= row[i] == x
    return found


@inlined
def stretch(s: int, groups: Groups, x: int, records: Groups) -> None:
    """Let group s hold record x too: bounds and bits."""
    for j in range(groups.low.shape[1]):
        groups.low[s, j] = min(groups.low[s, j], records.low[x, j])
        groups.high[s, j] = max(groups.high[s, j], records.high[x, j])
    for j in range(groups.bits.shape[1]):
        groups.bits[s, j] |= records.bits[x, j]


@kernel
def _join(u: Any, v: int, f: Factor, costs: Costs) -> None:
    """Let row v hold record u."""
    f.members[v, f.held[v]] = u
    f.held[v] += 1
    f.load[u] += 1
    stretch(v, f.now, u, f.records)
    f.now.cost[v] = own_cost(v, f.now, costs)


@kernel
def _growth(v: int, u: Any, f: Factor, costs: Costs) -> Any:
    """By how much row v gets dearer if it must hold record u; never, if it holds it already."""
    if holds(f.members[v], f.held[v], u):
        return np.inf
    return union_cost(v, f.now, u, f.records, costs) - f.now.cost[v]


@kernel
def pair_leftovers(k: int, space: Space, f: Factor, costs: Costs) -> None:
    """Pair records in too few rows with rows over too few records, bottom up in the tree.

    Both wait on stacks, and those of a node lie on top when it is left.
    """
    tree = space.tree
    units = k * f.load.size - f.load.sum()
    records, rows = np.empty(units, np.int64), np.empty(units, np.int64)
    n_records, n_rows = 0, 0
    stack, seen = np.empty(DEEP, np.int64), np.zeros(DEEP, np.bool_)
    begin = np.zeros((DEEP, 2), np.int64)
    stack[0], top = 0, 1
    while top:
        node = stack[top - 1]
        if not seen[top - 1]:
            seen[top - 1] = True
            begin[top - 1, 0], begin[top - 1, 1] = n_records, n_rows
            if tree.left[node] >= 0:
                stack[top], stack[top + 1] = tree.left[node] + 1, tree.left[node]
                seen[top], seen[top + 1] = False, False
                top += 2
                continue
            for x in range(space.starts[tree.first[node]], space.starts[tree.last[node]]):
                for _ in range(k - f.load[x]):
                    records[n_records] = x
                    n_records += 1
                for _ in range(k - f.held[x]):
                    rows[n_rows] = x
                    n_rows += 1
        top -= 1
        paired = _pair(records[begin[top, 0] : n_records], rows[begin[top, 1] : n_rows], f, costs)
        n_records, n_rows = n_records - paired, n_rows - paired
    for i in range(n_records):  # as many rows wait
        at = i
        while at < n_rows and holds(f.members[rows[at]], f.held[rows[at]], records[i]):
            at += 1
        if at < n_rows:
            rows[i], rows[at] = rows[at], rows[i]
            _join(records[i], rows[i], f, costs)
        else:
            _detour(records[i], rows[i], f, costs)


@kernel
def _pair(records: Any, rows: Any, f: Factor, costs: Costs) -> Any:
    """Pair what waits, the last of the fewer kind with its cheapest, while there is a pair -> how many."""
    n_records, n_rows = records.size, rows.size
    while n_records and n_rows:
        best, at_record, at_row, fewer = np.inf, -1, -1, n_records <= n_rows
        for i in range(min(max(n_records, n_rows), WINDOW)):
            a = n_records - 1 if fewer else n_records - 1 - i
            b = n_rows - 1 - i if fewer else n_rows - 1
            grows = _growth(rows[b], records[a], f, costs)
            if grows < best:
                best, at_record, at_row = grows, a, b
        if at_record < 0:
            break
        _join(records[at_record], rows[at_row], f, costs)
        n_records, n_rows = n_records - 1, n_rows - 1
        records[at_record], rows[at_row] = records[n_records], rows[n_rows]
    return records.size - n_records


@kernel
def _detour(u: int, v: int, f: Factor, costs: Costs) -> None:
    """Let another row take record u, and row v one of its records; all rows that lack some hold u.

    So the other is full: k-1 besides its own, none of them u. Row v holds u, so k-2 of those at most.
    """
    best, at_row, at_slot, seen = np.inf, -1, -1, 0
    for step in range(1, f.held.size):
        a = (u + step) % f.held.size
        there = _growth(a, u, f, costs)
        if there == np.inf:
            continue
        for i in range(1, f.held[a]):
            grows = there + _growth(v, np.int64(f.members[a, i]), f, costs)
            if grows < best:
                best, at_row, at_slot = grows, a, i
        seen += 1
        if seen >= WINDOW and at_row >= 0:
            break
    b = np.int64(f.members[at_row, at_slot])  # one width everywhere: compiled once
    f.held[at_row] -= 1
    f.members[at_row, at_slot] = f.members[at_row, f.held[at_row]]
    f.load[b] -= 1
    _join(u, at_row, f, costs)
    _join(b, v, f, costs)


@inlined
def mixed(value: int) -> Any:
    """A number that looks drawn, but is the same every time."""
    for _ in range(2):
        value = ((value >> 16) ^ value) * 73244475 & 0xFFFFFFFF
    return (value >> 16) ^ value


@kernel
def _without(v: int, slot: int, f: Factor, s: int, rests: Groups, costs: Costs) -> Any:
    """Group s of `rests` becomes row v without the member in a slot -> what it costs."""
    rests.low[s], rests.high[s], rests.bits[s] = f.records.low[v], f.records.high[v], f.records.bits[v]
    for i in range(1, f.members.shape[1]):
        if i != slot:
            stretch(s, rests, f.members[v, i], f.records)
    return own_cost(s, rests, costs)


@kernel
def _give(v: int, turn: int, f: Factor, s: int, rests: Groups, costs: Costs) -> Any:
    """Which member row v gives away, and what it costs without: the one it gains most by, or any.

    If all gave their dearest, none could take two such and free another row.
    """
    chance = mixed(v + 7919 * turn)
    slot = 1 + (chance >> 1) % (f.members.shape[1] - 1)
    if chance % 2 == 0:
        least = np.inf
        for i in range(1, f.members.shape[1]):
            cost = rounded(_without(v, i, f, s, rests, costs))
            if cost < least:
                least, slot = cost, i
    return slot, _without(v, slot, f, s, rests, costs)


@kernel
def exchange(order: Any, turn: int, f: Factor, rests: Groups, costs: Costs) -> Any:
    """Let the rows of each block, in an order (n,), hand out one member each anew -> what that saved."""
    cost = np.empty((BLOCK, BLOCK))
    given, slot = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    saved = 0.0
    for begin in range(-(turn % 2) * (BLOCK // 2), order.size, BLOCK):  # blocks overlap from turn to turn
        rows = order[max(begin, 0) : begin + BLOCK]
        hope = costs.entropy  # a wider row may be cheaper
        for s in range(rows.size):
            slot[s], rest = _give(rows[s], turn, f, s, rests, costs)
            given[s] = f.members[rows[s], slot[s]]
            hope |= rest < f.now.cost[rows[s]] - GAIN
        if not hope:
            continue
        before, after = 0.0, 0.0
        for s in range(rows.size):
            before += f.now.cost[rows[s]]
            for t in range(rows.size):
                x = given[t]
                if x != given[s] and holds(f.members[rows[s]], f.members.shape[1], x):
                    cost[s, t] = FORBIDDEN
                else:
                    cost[s, t] = union_cost(s, rests, x, f.records, costs)
        taker = assigned(cost, rows.size)
        for t in range(rows.size):
            after += cost[taker[t], t]
        if after < before - GAIN:
            saved += before - after
            for t in range(rows.size):
                v = rows[taker[t]]
                f.members[v, slot[taker[t]]] = given[t]
                f.now.cost[v] = cost[taker[t], t]
    return saved


@kernel
def assigned(cost: Any, m: int) -> Any:
    """The cheapest way to give each of m columns a row of its own -> row of each column (m,).

    Rows come in one after the other, each by the shortest way of changes; position m stands for nobody.
    """
    of_row, of_column = np.zeros(m), np.zeros(m + 1)
    taker, back = np.full(m + 1, -1), np.zeros(m, np.int64)
    least, done = np.empty(m), np.empty(m + 1, np.bool_)
    for i in range(m):
        taker[m], column = i, m
        least[:], done[:] = np.inf, False
        while taker[column] >= 0:
            done[column] = True
            row, step, nearest = taker[column], np.inf, -1
            for j in range(m):
                if not done[j]:
                    here = cost[row, j] - of_row[row] - of_column[j]
                    if here < least[j]:
                        least[j], back[j] = here, column
                    if least[j] < step:
                        step, nearest = least[j], j
            for j in range(m + 1):
                if done[j]:
                    of_row[taker[j]] += step
                    of_column[j] -= step
                elif j < m:
                    least[j] -= step
            column = nearest
        while column != m:
            taker[column] = taker[back[column]]
            column = back[column]
    return taker[:m]
