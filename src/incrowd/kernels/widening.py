"""Widening rows until every record fits k of them: Algorithm 5 of "k-Anonymization Revisited".

Rows hang in the tree of boxes where their own records lie. A node knows the bounds of its rows and what
their dearest cells cost, so whole subtrees can be left out when the cheapest rows to widen are looked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.boxtree import BoxTree
from incrowd.kernels.closure import (
    SET,
    TABLE,
    Costs,
    Groups,
    own_cost,
    rare_cost,
    rounded,
    stretch,
    union_cost,
)
from incrowd.kernels.expansion import DEEP, keep, least_union
from incrowd.kernels.jit import inlined, kernel


class Rows(NamedTuple):
    """Rows (n,) sorted by the point that is their own record, and what a search must know about them.

    Row r of `groups` is that of record ``record[r]``; rows of point p are ``starts[p]..starts[p+1]-1``.
    `low`, `high` (nodes, d) bound the rows below a node, `dear` (nodes, d) what their cells cost at most;
    `parent` (nodes,) and `leaf` (points,) lead up from a row.
    """

    groups: Groups
    plain: Any
    record: Any
    starts: Any
    low: Any
    high: Any
    dear: Any
    parent: Any
    leaf: Any


@inlined
def cell_cost(j: int, low: int, high: int, costs: Costs) -> Any:
    """What the smallest cell over low..high costs, of an attribute that is not published as sets."""
    if costs.kind[j] == TABLE:
        return costs.cost[costs.table[j] + low * costs.size[j] + high]
    return rare_cost(j, low, high, costs)


@kernel
def hang(rows: Rows, tree: BoxTree, costs: Costs) -> None:
    """Find parents, leaves and bounds of all nodes; children lie behind their parents."""
    d = rows.low.shape[1]
    for node in range(tree.left.size):
        if tree.left[node] >= 0:
            rows.parent[tree.left[node]] = node
            rows.parent[tree.left[node] + 1] = node
        else:
            for p in range(tree.first[node], tree.last[node]):
                rows.leaf[p] = node
                for r in range(rows.starts[p], rows.starts[p + 1]):
                    note(r, node, rows, costs)
    for node in range(tree.left.size - 1, 0, -1):
        above = rows.parent[node]
        for j in range(d):
            rows.low[above, j] = min(rows.low[above, j], rows.low[node, j])
            rows.high[above, j] = max(rows.high[above, j], rows.high[node, j])
            rows.dear[above, j] = max(rows.dear[above, j], rows.dear[node, j])


@inlined
def note(r: int, node: int, rows: Rows, costs: Costs) -> None:
    """Let the bounds of a node hold row r."""
    for j in range(rows.low.shape[1]):
        low, high = rows.groups.low[r, j], rows.groups.high[r, j]
        rows.low[node, j] = min(rows.low[node, j], low)
        rows.high[node, j] = max(rows.high[node, j], high)
        if costs.kind[j] != SET:
            rows.dear[node, j] = max(rows.dear[node, j], cell_cost(j, low, high, costs))


@inlined
def least_growth(node: int, p: int, points: Groups, rows: Rows, costs: Costs) -> Any:
    """The least by which any row below a node gets dearer if it must hold point p."""
    if costs.entropy:
        return -np.inf  # a wider row may be cheaper
    growth = 0.0
    d = rows.low.shape[1]
    for j in range(d):
        code = points.low[p, j]
        if costs.kind[j] != SET and (code < rows.low[node, j] or code > rows.high[node, j]):
            cell = cell_cost(j, min(code, rows.high[node, j]), max(code, rows.low[node, j]), costs)
            growth += max(0.0, cell - rows.dear[node, j])
    return growth / d


@kernel
def count_fits(
    r: int, before: Groups, rows: Rows, points: Groups, tree: BoxTree, plain: Costs, fits: Any
) -> None:
    """Count row r for every point that it holds and that `before` (its slot 0, if it has a size) did not."""
    stack = np.empty(DEEP, np.int64)
    stack[0], top = 0, 1
    closed = rows.plain[r]
    first_time = before.size[0] == 0
    earlier = 0.0 if first_time else own_cost(0, before, plain)
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
            if union_cost(r, rows.groups, p, points, plain) == closed and (
                first_time or union_cost(0, before, p, points, plain) != earlier
            ):
                fits[p] += 1


@inlined
def one_row(r: int, rows: Rows) -> Any:
    """Row r as a group of its own."""
    groups = rows.groups
    return Groups(
        groups.low[r : r + 1],
        groups.high[r : r + 1],
        groups.bits[r : r + 1],
        groups.cost[r : r + 1],
        groups.size[r : r + 1],
        groups.first[r : r + 1],
    )


@kernel
def cheapest_rows(
    p: int, wanted: int, points: Groups, rows: Rows, tree: BoxTree, costs: Costs, plain: Costs
) -> Any:
    """The rows that do not hold point p and are cheapest to widen for it; ties to the smaller record."""
    gaps = np.empty(wanted, np.float64)
    index = np.empty(wanted, np.int64)
    which = np.full(wanted, -1, np.int64)
    held = 0
    stack = np.empty(DEEP, np.int64)
    stack[0], top = 0, 1
    while top:
        top -= 1
        node = stack[top]
        if held == wanted and rounded(least_growth(node, p, points, rows, costs)) > gaps[held - 1]:
            continue
        if tree.left[node] >= 0:
            stack[top] = tree.left[node] + 1
            stack[top + 1] = tree.left[node]
            top += 2
            continue
        for r in range(rows.starts[tree.first[node]], rows.starts[tree.last[node]]):
            if union_cost(r, rows.groups, p, points, plain) != rows.plain[r]:
                growth = rounded(union_cost(r, rows.groups, p, points, costs) - rows.groups.cost[r])
                held = keep(growth, rows.record[r], r, gaps, index, which, held, wanted)
    return which[:held]


@kernel
def widen(
    k: int, ids: Any, points: Groups, rows: Rows, tree: BoxTree, costs: Costs, plain: Costs, before: Groups
) -> Any:
    """Algorithm 5, record by record -> pairs (row, record) that were joined (m, 2)."""
    fits = np.zeros(points.size.size, np.int64)
    before.size[0] = 0
    for r in range(rows.record.size):
        count_fits(r, before, rows, points, tree, plain, fits)
    joined = [(0, 0)][:0]
    for i in range(ids.size):
        p = ids[i]
        if fits[p] >= k:
            continue
        for r in cheapest_rows(p, k - fits[p], points, rows, tree, costs, plain):
            before.low[0], before.high[0] = rows.groups.low[r], rows.groups.high[r]
            before.bits[0], before.size[0] = rows.groups.bits[r], 1
            stretch(r, rows.groups, p, points)
            rows.groups.cost[r] = own_cost(r, rows.groups, costs)
            rows.plain[r] = own_cost(r, rows.groups, plain)
            count_fits(r, before, rows, points, tree, plain, fits)
            note_up(r, rows, costs)
            joined.append((r, i))
    return joined


@inlined
def note_up(r: int, rows: Rows, costs: Costs) -> None:
    """Let every node above row r know that it grew."""
    node = rows.leaf[point_of(r, rows.starts)]
    while True:
        note(r, node, rows, costs)
        if node == 0:
            return
        node = rows.parent[node]


@inlined
def point_of(r: int, starts: Any) -> Any:
    """The point whose rows hold row r."""
    return np.searchsorted(starts, r, side="right") - 1
