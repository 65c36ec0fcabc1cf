"""Widening rows until every record has k matches: Algorithm 6 of "k-Anonymization Revisited".

Equal records fit the same rows, their own among them, so they lie in one strongly connected component: nodes
are distinct records. There is an arc from a record to the owner of every row that holds it. Rows only grow,
so components only merge: what is known to be one component stays one, and only when it matters whether two
more are one is a path looked for, from both ends at once and no farther than the shorter search needs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Bools, Codes, Floats, Int, Ints
from incrowd.kernels.boxtree import BoxTree
from incrowd.kernels.closure import Costs, GroupBounds, own_cost, rounded, stretch, union_cost
from incrowd.kernels.jit import inlined, kernel
from incrowd.kernels.k_one import inside_of

NONE = -1
FORTH, BACK = 0, 1
FIRST_BUDGET = 64  # arcs that a search looks at before the other end has its turn


class Web(NamedTuple):
    """The graph of points (m,), and which of them are known to be in one component.

    Arcs lead `FORTH`, to the owners of the rows that hold a point, and `BACK`: those of point p are
    ``to[way, at[way, p]:at[way, p+1]]``; ``fits`` are the rows that arcs lead forth to, ``owner[r]`` the
    point whose row r is. Arcs that came later are in lists: ``late[way, p]`` is the newest, which leads to
    ``late_to[way, e]``, ``late_next[way, e]`` the one before, -1 at the end; ``late_row`` is the row.

    `root` leads to one point of a component, `ring` to the next of its points. `seen` are stamps of searches,
    `dead` of those that led nowhere, `queue` is room for one; ``clock`` holds the last stamp, and how many
    late arcs and joined pairs there are.
    """

    owner: Ints
    fits: Codes
    at: Ints
    to: Codes
    late: Codes
    late_to: Codes
    late_next: Codes
    late_row: Codes
    root: Ints
    ring: Ints
    seen: Ints
    dead: Ints
    queue: Ints
    clock: Ints


class Widening(NamedTuple):
    """Rows that are widened: of each record (n,), and the record of each.

    ``closed`` (n,) is what rows cost by `plain`, which grows whenever a closure does.
    """

    row_of: Ints
    record: Ints
    rows: GroupBounds
    closed: Floats
    points: GroupBounds
    tree: BoxTree
    costs: Costs
    plain: Costs


@inlined
def root_of(p: Int, root: Ints) -> Any:
    """The point that stands for the component of p, as far as it is known."""
    while root[p] != p:
        root[p] = root[root[p]]
        p = root[p]
    return p


@inlined
def unite(p: int, q: int, root: Ints, ring: Ints) -> None:
    """From now on p and q are known to be in one component."""
    a, b = root_of(p, root), root_of(q, root)
    if a != b:
        root[max(a, b)] = min(a, b)
        ring[a], ring[b] = ring[b], ring[a]


@kernel
def search(start: int, way: Int, budget: Int, web: Web) -> Any:
    """Look from one end for what the other has met -> -1 if there is a path, or how many were met.

    0 if the search ended early.
    """
    stamp, queue, root = web.clock[0], web.queue, web.root
    queue[0] = start
    head, tail, used = 0, 1, 0
    while head < tail:
        p = queue[head]
        head += 1
        while True:
            e, last, late = web.at[way, p], web.at[way, p + 1], np.int64(web.late[way, p])
            used += last - e
            while e < last or late != NONE:
                if e < last:
                    q = np.int64(web.to[way, e])
                    e += 1
                else:
                    q = np.int64(web.late_to[way, late])
                    late = np.int64(web.late_next[way, late])
                q = root_of(q, root)
                if web.seen[way, q] != stamp:
                    web.seen[way, q] = stamp
                    queue[tail] = q
                    tail += 1
                    if web.seen[1 - way, q] == stamp:
                        return -1
            if used > budget:
                return 0
            p = web.ring[p]
            if p == queue[head - 1]:
                break
    return tail


@kernel
def enough(p: int, fitting: Ints, k: int, web: Web) -> Any:
    """Are k of the rows `fitting`, all that hold point p, matches?

    What is known may suffice. If not, and the answer is no, all owners among them of p's component are known.
    A path is looked for from both ends by turns: where the search forth from a component comes to an end, all
    that it met is dead; where the search back does, it has met all that lead to p.
    """
    root, seen, owner, clock = web.root, web.seen, web.owner, web.clock
    count = 0
    for i in range(fitting.size):
        count += root_of(owner[fitting[i]], root) == root_of(p, root)
        if count == k:
            return True
    clock[0] += 1
    call, whole, count = clock[0], NONE, 0
    for i in range(fitting.size):
        q = owner[fitting[i]]
        a, b = root_of(q, root), root_of(p, root)
        if a != b and web.dead[a] != call:  # p leads to q: does q lead back?
            leads = whole != NONE and seen[BACK, a] == whole
            way, budget, met = np.int64(BACK), np.int64(FIRST_BUDGET), np.int64(0)
            while whole == NONE and met == 0:
                way = 1 - way
                if way == FORTH:
                    clock[0] += 1
                    seen[FORTH, a] = seen[BACK, b] = clock[0]
                met = search(a if way == FORTH else b, way, budget, web)
                if way == BACK:
                    budget *= 4
            leads |= met < 0
            if met > 0 and way == BACK:
                whole = clock[0]
            elif met > 0:
                for j in range(met):
                    web.dead[web.queue[j]] = call
            if leads:
                unite(p, q, root, web.ring)
                a = b = root_of(p, root)
        if a == b:
            count += 1
            if count == k:
                return True
    return False


@inlined
def rows_holding(p: int, web: Web, fitting: Ints) -> Any:
    """Write down the rows that hold point p -> how many."""
    count = 0
    for e in range(web.at[FORTH, p], web.at[FORTH, p + 1]):
        fitting[count] = web.fits[e]
        count += 1
    e = web.late[FORTH, p]
    while e != NONE:
        fitting[count] = web.late_row[e]
        count += 1
        e = web.late_next[FORTH, e]
    return count


@inlined
def cheapest_to_join(r: int, fitting: Ints, work: Widening, web: Web) -> Any:
    """Of the rows `fitting` that are no match of row r's record, that whose record widens row r least.

    Of equal ones the smaller record's.
    """
    best, found, own = np.inf, NONE, root_of(web.owner[r], web.root)
    for j in range(fitting.size):
        h = fitting[j]
        if root_of(web.owner[h], web.root) != own:
            union = union_cost(r, work.rows, web.owner[h], work.points, work.costs)
            growth = rounded(union - work.rows.cost[r])
            if growth < best or (growth == best and work.record[h] < work.record[found]):
                best, found = growth, h
    return found


@inlined
def widen_row(r: int, q: int, work: Widening, web: Web, met: Bools, ends: Ints) -> None:
    """Let row r hold point q, with arcs from everybody who then is new in it."""
    rows, closed, points = work.rows, work.closed, work.points
    late, late_to, late_next, p = web.late, web.late_to, web.late_next, web.owner[r]
    for done in range(2):  # who is in the row before, and who then is new
        inside = inside_of(r, r + 1, rows, closed, points, work.tree, work.plain, ends)
        for j in range(inside.size):
            x = inside[j]
            if not done or met[x]:
                met[x] = not done
                continue
            e = web.clock[1]
            web.clock[1] += 1
            web.late_row[e], late_to[FORTH, e], late_to[BACK, e] = r, p, x
            late_next[FORTH, e], late[FORTH, x] = late[FORTH, x], e
            late_next[BACK, e], late[BACK, p] = late[BACK, p], e
        if not done:
            stretch(r, rows, q, points)
            rows.cost[r] = own_cost(r, rows, work.costs)
            closed[r] = own_cost(r, rows, work.plain)


@kernel
def upgrade(k: int, first: int, last: int, work: Widening, web: Web, joined: Ints) -> Any:
    """Algorithm 6 for records first..last-1 -> where it stopped: at `last`, or where arcs need more room.

    Pairs (row, row of the record that joined) go to `joined`. Of equal records only one row is widened: then
    all have enough.
    """
    m = web.root.size
    fitting, ends = np.empty(work.row_of.size, np.int64), np.empty(2, np.int64)
    met = np.zeros(m, np.bool_)
    for i in range(first, last):
        r = work.row_of[i]
        p = web.owner[r]
        while True:
            if web.clock[1] + m > web.late_row.size:
                return i
            count = rows_holding(p, web, fitting)
            if enough(p, fitting[:count], k, web):  # the record has k matches
                break
            # a neighbour that is no match: widening the record's own row for it makes it one
            found = cheapest_to_join(r, fitting[:count], work, web)
            widen_row(r, web.owner[found], work, web, met, ends)
            unite(p, web.owner[found], web.root, web.ring)
            joined[web.clock[2], 0], joined[web.clock[2], 1] = r, found
            web.clock[2] += 1
    return last
