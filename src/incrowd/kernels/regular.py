"""From neighbourhoods of any size to k-regular ones: every row over k records, every record in k rows.

What rows hold already is free; a flow over it leaves few pairs open. Those are closed where that widens rows
least. Records stand in the order of the tree's leaves; row x is that of record x.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Bools, Codes, Ints
from incrowd.kernels.boxtree import BoxTree
from incrowd.kernels.closure import Costs, GroupBounds, own_cost, price, stretch, union_cost
from incrowd.kernels.jit import inlined, kernel
from incrowd.kernels.k_one import DEEP, inside_of, least_union

WINDOW = 256  # how many leftovers are compared with one
AT_ONCE = 2048  # rows whose points are held in memory at a time


class PointTree(NamedTuple):
    """Points as the tree holds them; p is records ``starts[p]..starts[p+1]-1``."""

    starts: Ints
    points: GroupBounds
    tree: BoxTree


class Factor(NamedTuple):
    """Row v, now[v], is made over ``members[v, :held[v]]`` (n, k), its own first; `load` counts rows."""

    members: Codes
    held: Ints
    load: Ints
    records: GroupBounds
    now: GroupBounds


def free_pairs(rows: GroupBounds, space: PointTree, plain: Costs, into: Codes) -> None:
    """into (n, most) become others that each row holds, -1 where there are no more.

    Those that fit few rows come first, for others find a place elsewhere. Of equal records every row begins
    with another one. `plain` grows with every closure.
    """
    n, m = into.shape[0], space.points.size.size
    priced = rows._replace(cost=np.zeros(n))
    price(n, priced, plain)
    fits, rank, order = np.zeros(m, np.int64), np.empty(m, np.int64), np.empty(0, np.int64)
    for counted in (False, True):
        for first in range(0, n, AT_ONCE):
            last = min(first + AT_ONCE, n)
            ends = np.empty(last - first + 1, np.int64)
            inside = inside_of(first, last, rows, priced.cost, space.points, space.tree, plain, ends)
            if counted:
                keys = np.repeat(np.arange(last - first) * m, np.diff(ends)) + rank[inside]
                _take(first, ends, order[np.sort(keys) % m], space.starts, into)
            else:
                fits += np.bincount(inside, minlength=m)
        order = np.argsort(fits, kind="stable")
        rank[order] = np.arange(m)


@kernel
def _take(begin: int, ends: Ints, found: Ints, starts: Ints, into: Codes) -> None:
    """Write down the records of the points found for each row from `begin` on, in their order."""
    most = into.shape[1]
    for row in range(ends.size - 1):
        r, taken = begin + row, 0
        for e in range(ends[row], ends[row + 1]):
            first = starts[found[e]]
            size = starts[found[e] + 1] - first
            for i in range(size):
                if taken == most:
                    break
                x = first + (r - first + 1 + i) % size
                if x != r:
                    into[r, taken] = x
                    taken += 1


def near_pairs(
    limit: float, lacking: Bools, spare: Bools, rows: GroupBounds, space: PointTree, costs: Costs, into: Codes
) -> None:
    """into (n, most) become the `spare` records that widen each `lacking` row least, by `limit` at most."""
    starts, tree = space.starts, space.tree
    upto = np.concatenate([np.zeros(1, np.int64), np.cumsum(spare)])[starts]
    some, count = upto[tree.last] > upto[tree.first], np.diff(upto)
    _near(limit, lacking, Spare(spare, some, count), rows, space, costs, into)


class Spare(NamedTuple):
    """Records that could be in more rows, which nodes lie above `some`, and how many of them points have."""

    record: Bools
    some: Bools
    counts: Ints


@kernel
def _near(
    limit: float,
    lacking: Bools,
    spare: Spare,
    rows: GroupBounds,
    space: PointTree,
    costs: Costs,
    into: Codes,
) -> None:
    """See `near_pairs`."""
    starts, points, tree = space.starts, space.points, space.tree
    most = into.shape[1]
    stack, gaps = np.empty(DEEP, np.int64), np.empty(most)
    for r in range(into.shape[0]):
        if not lacking[r]:
            continue
        held, top = 0, 1
        stack[0] = 0
        while top:
            top -= 1
            node = stack[top]
            bound = rows.cost[r] + (limit if held < most else gaps[most - 1])
            if not spare.some[node] or least_union(node, tree, r, rows, costs) > bound:
                continue
            if tree.left[node] >= 0:
                left: Any = np.int64(tree.left[node])
                one = least_union(left, tree, r, rows, costs)
                two = least_union(left + 1, tree, r, rows, costs)
                # the nearer one is looked at first, and spares the other
                far = left if two < one else left + 1
                stack[top], stack[top + 1] = far, 2 * left + 1 - far
                top += 2
                continue
            for p in range(np.int64(tree.first[node]), np.int64(tree.last[node])):
                if not spare.counts[p]:
                    continue
                grows = union_cost(r, rows, p, points, costs) - rows.cost[r]
                if grows > limit:
                    continue
                size = starts[p + 1] - starts[p]
                for i in range(size):
                    if held == most and grows >= gaps[most - 1]:
                        break
                    x = starts[p] + (r + i) % size
                    if spare.record[x] and x != r:
                        at = min(held, most - 1)
                        while at > 0 and grows < gaps[at - 1]:
                            gaps[at], into[r, at] = gaps[at - 1], into[r, at - 1]
                            at -= 1
                        gaps[at], into[r, at] = grows, x
                        held = min(held + 1, most)


def read_pairs(row: Ints, record: Ints, used: Bools, members: Codes, held: Ints, load: Ints) -> None:
    """Everyone's own pair, then those of the pairs (m,), sorted by row, that are used."""
    n, row, record = held.size, row[used], record[used]
    more = np.bincount(row, minlength=n)
    members[:, 0] = np.arange(n)
    members[row, 1 + np.arange(row.size) - (np.cumsum(more) - more)[row]] = record
    held[:], load[:] = 1 + more, 1 + np.bincount(record, minlength=n)


@inlined
def _growth(v: int, u: Any, f: Factor, costs: Costs) -> Any:
    """By how much row v gets dearer if it must hold record u; never, if it holds it already."""
    for i in range(f.held[v]):
        if f.members[v, i] == u:
            return np.inf
    return union_cost(v, f.now, u, f.records, costs) - f.now.cost[v]


@inlined
def _join(u: Any, v: Any, f: Factor, costs: Costs) -> None:
    """Let row v hold record u."""
    f.members[v, f.held[v]] = u
    f.held[v] += 1
    f.load[u] += 1
    stretch(v, f.now, u, f.records)
    f.now.cost[v] = own_cost(v, f.now, costs)


def pair_leftovers(k: int, space: PointTree, f: Factor, costs: Costs) -> None:
    """Pair records in too few rows with rows over too few records."""
    units = k * f.load.size - int(f.load.sum())
    records, rows = np.empty(units, np.int64), np.empty(units, np.int64)
    left = _pair(k, space.starts, space.tree, records, rows, f, costs)
    if left:  # as many of both
        _close(records[:left], rows[:left], f, costs)


@kernel
def _pair(k: int, starts: Ints, tree: BoxTree, records: Ints, rows: Ints, f: Factor, costs: Costs) -> Any:
    """Pair what waits, bottom up in the tree -> how many wait in the end, first in `records` and `rows`.

    Both wait on stacks, and those of a node lie on top when it is left: then the last of the fewer kind is
    paired with its cheapest, while there is a pair.
    """
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
            for x in range(starts[tree.first[node]], starts[tree.last[node]]):
                for _ in range(k - f.load[x]):
                    records[n_records] = x
                    n_records += 1
                for _ in range(k - f.held[x]):
                    rows[n_rows] = x
                    n_rows += 1
        top -= 1
        while n_records > begin[top, 0] and n_rows > begin[top, 1]:
            some_records, some_rows = n_records - begin[top, 0], n_rows - begin[top, 1]
            best, at_record, at_row, fewer = np.inf, -1, -1, some_records <= some_rows
            for i in range(min(max(some_records, some_rows), WINDOW)):
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
    return n_records


@kernel
def _close(records: Ints, rows: Ints, f: Factor, costs: Costs) -> None:
    """Pair each record that waits with a row that waits and does not hold it.

    If all hold record u, another row takes it, and row v one of its records. The other is full: k-1 besides
    its own, none of them u. Row v holds u, so k-2 of those at most.
    """
    n = f.held.size
    for i in range(records.size):
        u, at = records[i], i
        while at < rows.size and _growth(rows[at], u, f, costs) == np.inf:
            at += 1
        if at < rows.size:
            rows[i], rows[at] = rows[at], rows[i]
        v = rows[i]
        if at == rows.size:
            best, at_row, at_slot, seen = np.inf, np.int64(-1), -1, 0
            for step in range(1, n):
                a = (u + step) % n
                there = _growth(a, u, f, costs)
                if there == np.inf:
                    continue
                for slot in range(1, f.held[a]):
                    grows = there + _growth(v, np.int64(f.members[a, slot]), f, costs)
                    if grows < best:
                        best, at_row, at_slot = grows, a, slot
                seen += 1
                if seen >= WINDOW and at_row >= 0:
                    break
            b = np.int64(f.members[at_row, at_slot])
            f.held[at_row] -= 1
            f.members[at_row, at_slot] = f.members[at_row, f.held[at_row]]
            f.load[b] -= 1
            _join(u, at_row, f, costs)
            u = b
        _join(u, v, f, costs)
