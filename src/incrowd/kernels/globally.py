"""Widening rows until every record has k matches: Algorithm 6 of "k-Anonymization Revisited".

Equal records fit the same rows, their own among them, so they lie in one strongly connected component: nodes
are distinct records. There is an arc from a record to the owner of every row that holds it. Rows only grow,
so components only merge: what is known to be one component stays one, and only when it matters whether two
more are one is a path looked for, from both ends at once and no farther than the shorter search needs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.boxtree import BoxTree
from incrowd.kernels.closure import Costs, Groups, own_cost, rounded, stretch, union_cost
from incrowd.kernels.expansion import DEEP, least_union
from incrowd.kernels.jit import inlined, kernel
from incrowd.kernels.widening import Rows, one_row

NONE = -1
FIRST_BUDGET = 64  # arcs that a search looks at before the other end has its turn


class Links(NamedTuple):
    """Which point lies in which row.

    Row r holds ``inside[inside_at[r]:inside_at[r+1]]``, point p fits ``fits[fits_at[p]:fits_at[p+1]]``.
    What came later is in lists: link e joins row ``late_row[e]`` and point ``late_point[e]``; ``of_row``,
    ``of_point`` are the newest links and ``row_next``, ``point_next`` the ones before, -1 at the end.
    """

    inside_at: Any
    inside: Any
    fits_at: Any
    fits: Any
    of_row: Any
    of_point: Any
    late_row: Any
    late_point: Any
    row_next: Any
    point_next: Any


class Web(NamedTuple):
    """The graph of points (m,), and which of them are known to be in one component.

    ``owner[r]`` is the point whose row r is, rows of point p are ``starts[p]..starts[p+1]-1``. `root` leads
    to one point of a component, `ring` to the next of its points. `forth` and `back` are stamps of searches,
    `dead` of those that led nowhere, `queue` is room for one; ``clock`` holds the last stamp, and how many
    late links and joined pairs there are.
    """

    links: Links
    owner: Any
    starts: Any
    root: Any
    ring: Any
    forth: Any
    back: Any
    dead: Any
    queue: Any
    clock: Any


class Ground(NamedTuple):
    """Rows and points, the tree that holds the points, what cells cost, and costs that tell who is inside."""

    rows: Rows
    points: Groups
    tree: BoxTree
    costs: Costs
    plain: Costs


@kernel
def holds(r: int, ground: Ground, found: Any) -> Any:
    """The points that row r holds, into `found` (m,) -> how many."""
    rows, points, tree, plain = ground.rows, ground.points, ground.tree, ground.plain
    stack = np.empty(DEEP, np.int64)
    stack[0], top, count = 0, 1, 0
    closed = rows.plain[r]
    slot = one_row(r, rows)
    while top:
        top -= 1
        node = stack[top]
        if least_union(tree.low[node], tree.high[node], slot, plain) > closed:
            continue
        if tree.left[node] >= 0:
            stack[top] = tree.left[node] + 1
            stack[top + 1] = tree.left[node]
            top += 2
            continue
        for p in range(tree.first[node], tree.last[node]):
            if union_cost(r, rows.groups, p, points, plain) == closed:
                found[count] = p
                count += 1
    return count


@kernel
def all_inside(ground: Ground, ends: Any) -> Any:
    """The points in every row, row after row -> (e,); ``ends`` (n+1,) becomes where each row's begin."""
    found = np.empty(ground.points.size.size, np.int32)
    inside = np.empty(16 * ends.size, np.int32)
    for r in range(ends.size - 1):
        count = holds(r, ground, found)
        at = ends[r]
        if at + count > inside.size:
            wider = np.empty(2 * inside.size + count, np.int32)
            wider[:at] = inside[:at]
            inside = wider
        inside[at : at + count] = found[:count]
        ends[r + 1] = at + count
    return inside[: ends[-1]].copy()


@inlined
def root_of(p: int, root: Any) -> Any:
    """The point that stands for the component of p, as far as it is known."""
    while root[p] != p:
        root[p] = root[root[p]]
        p = root[p]
    return p


@inlined
def unite(p: int, q: int, web: Web) -> None:
    """From now on p and q are known to be in one component."""
    a, b = root_of(p, web.root), root_of(q, web.root)
    if a != b:
        web.root[max(a, b)] = min(a, b)
        web.ring[a], web.ring[b] = web.ring[b], web.ring[a]


@inlined
def meet(p: int, stamp: int, seen: Any, tail: int, web: Web) -> Any:
    """Put the component of p into the queue, unless it was there -> end of the queue."""
    q = root_of(p, web.root)
    if seen[q] != stamp:
        seen[q] = stamp
        web.queue[tail] = q
        tail += 1
    return tail


@inlined
def step_forth(p: int, stamp: int, seen: Any, tail: int, web: Web) -> Any:
    """Meet the owners of the rows that hold point p -> end of the queue."""
    links = web.links
    for e in range(links.fits_at[p], links.fits_at[p + 1]):
        tail = meet(web.owner[links.fits[e]], stamp, seen, tail, web)
    e = links.of_point[p]
    while e != NONE:
        tail = meet(web.owner[links.late_row[e]], stamp, seen, tail, web)
        e = links.point_next[e]
    return tail


@inlined
def step_back(p: int, stamp: int, seen: Any, tail: int, web: Web) -> Any:
    """Meet the points in the rows of point p -> end of the queue."""
    links, first, last = web.links, web.starts[p], web.starts[p + 1]
    for e in range(links.inside_at[first], links.inside_at[last]):
        tail = meet(links.inside[e], stamp, seen, tail, web)
    for r in range(first, last):
        e = links.of_row[r]
        while e != NONE:
            tail = meet(links.late_point[e], stamp, seen, tail, web)
            e = links.row_next[e]
    return tail


@kernel
def search(start: int, forward: bool, budget: int, web: Web) -> Any:
    """Look from one end for what the other has met -> (a path was found, how many were met if that is all).

    The second is 0 if the search ended early.
    """
    stamp, links = web.clock[0], web.links
    seen, wanted = (web.forth, web.back) if forward else (web.back, web.forth)
    web.queue[0] = start
    head, tail, used = 0, 1, 0
    while head < tail:
        p = web.queue[head]
        head += 1
        while True:
            before = tail
            if forward:
                used += links.fits_at[p + 1] - links.fits_at[p]
                tail = step_forth(p, stamp, seen, tail, web)
            else:
                used += links.inside_at[web.starts[p + 1]] - links.inside_at[web.starts[p]]
                tail = step_back(p, stamp, seen, tail, web)
            for i in range(before, tail):
                if wanted[web.queue[i]] == stamp:
                    return True, 0
            if used > budget:
                return False, 0
            p = web.ring[p]
            if p == web.queue[head - 1]:
                break
    return False, tail


@kernel
def leads(a: int, b: int, call: int, web: Web) -> Any:
    """Is there a path from component a to b (their roots)? -> 1 yes, 0 no, -1 no, and `back` is whole.

    Where a's search came to an end, all that it met is marked as `dead` with the number of the `call`.
    """
    budget = FIRST_BUDGET
    while True:
        web.clock[0] += 1
        web.forth[a] = web.back[b] = web.clock[0]
        found, met = search(a, True, budget, web)
        if found:
            return 1
        if met:
            for i in range(met):
                web.dead[web.queue[i]] = call
            return 0
        found, met = search(b, False, budget, web)
        if found:
            return 1
        if met:
            return -1
        budget *= 4


@kernel
def rows_of(p: int, links: Links, into: Any) -> Any:
    """Every row that holds point p, into `into` (n,) -> how many."""
    count = links.fits_at[p + 1] - links.fits_at[p]
    into[:count] = links.fits[links.fits_at[p] : links.fits_at[p + 1]]
    e = links.of_point[p]
    while e != NONE:
        into[count] = links.late_row[e]
        count += 1
        e = links.point_next[e]
    return count


@kernel
def enough(p: int, fitting: Any, k: int, web: Web) -> Any:
    """Are k of the rows `fitting`, all that hold point p, matches?

    What is known may suffice. If not, and the answer is no, all owners among them of p's component are known.
    """
    count = 0
    for i in range(fitting.size):
        count += root_of(web.owner[fitting[i]], web.root) == root_of(p, web.root)
        if count == k:
            return True
    web.clock[0] += 1
    call, whole, count = web.clock[0], -1, 0
    for i in range(fitting.size):
        q = web.owner[fitting[i]]
        a, b = root_of(q, web.root), root_of(p, web.root)
        if a != b and web.dead[a] != call:  # p leads to q: does q lead back?
            answer = int(web.back[a] == whole) if whole >= 0 else leads(a, b, call, web)
            if answer < 0:
                whole = web.clock[0]
            elif answer:
                unite(p, q, web)
                a = b = root_of(p, web.root)
        if a == b:
            count += 1
            if count == k:
                return True
    return False


@kernel
def cheapest_stranger(r: int, p: int, fitting: Any, ground: Ground, web: Web) -> Any:
    """Of the rows `fitting` that are no match of p, the one whose record adds least to row r.

    Of equal ones that of the smaller record.
    """
    rows = ground.rows
    best, found = np.inf, NONE
    own = root_of(p, web.root)
    for i in range(fitting.size):
        h = fitting[i]
        q = web.owner[h]
        if root_of(q, web.root) == own:
            continue
        growth = union_cost(r, rows.groups, q, ground.points, ground.costs) - rows.groups.cost[r]
        growth = rounded(growth)
        if growth < best or (growth == best and rows.record[h] < rows.record[found]):
            best, found = growth, h
    return found


@kernel
def mark(r: int, links: Links, met: Any, value: bool) -> None:
    """Mark the points that are linked with row r."""
    for e in range(links.inside_at[r], links.inside_at[r + 1]):
        met[links.inside[e]] = value
    e = links.of_row[r]
    while e != NONE:
        met[links.late_point[e]] = value
        e = links.row_next[e]


@kernel
def widen(r: int, q: int, ground: Ground, web: Web, found: Any, met: Any) -> None:
    """Let row r hold point q, and link it with all that it holds then."""
    rows, links = ground.rows, web.links
    stretch(r, rows.groups, q, ground.points)
    rows.groups.cost[r] = own_cost(r, rows.groups, ground.costs)
    rows.plain[r] = own_cost(r, rows.groups, ground.plain)
    mark(r, links, met, True)
    for i in range(holds(r, ground, found)):
        p = found[i]
        if not met[p]:
            e = web.clock[1]
            web.clock[1] += 1
            links.late_row[e], links.late_point[e] = r, p
            links.row_next[e], links.of_row[r] = links.of_row[r], e
            links.point_next[e], links.of_point[p] = links.of_point[p], e
    mark(r, links, met, False)


@kernel
def upgrade(k: int, first: int, last: int, row_of: Any, ground: Ground, web: Web, joined: Any) -> Any:
    """Algorithm 6 for records first..last-1 -> where it stopped: at `last`, or where links need more room.

    ``row_of`` (n,) is the row of each record; pairs (row, row of the record that joined) go to `joined`.
    """
    m = web.root.size
    fitting = np.empty(row_of.size, np.int64)
    found, met = np.empty(m, np.int32), np.zeros(m, np.bool_)
    for i in range(first, last):
        r = row_of[i]
        p = web.owner[r]
        while True:
            if web.clock[1] + m > web.links.late_row.size:
                return i
            count = rows_of(p, web.links, fitting)
            if enough(p, fitting[:count], k, web):
                break
            h = cheapest_stranger(r, p, fitting[:count], ground, web)
            widen(r, web.owner[h], ground, web, found, met)
            unite(p, web.owner[h], web)
            joined[web.clock[2]] = r, h
            web.clock[2] += 1
    return last
