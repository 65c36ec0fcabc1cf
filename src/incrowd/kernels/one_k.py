"""Widening rows until every record fits k of them: Algorithm 5 of "k-Anonymization Revisited".

Rows hang in the tree of boxes where their own records lie. A node knows the bounds of its rows and what
their dearest cells cost, so whole subtrees can be left out when the cheapest rows to widen are looked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Codes, Floats, Ints, Words
from incrowd.kernels.boxtree import BoxTree
from incrowd.kernels.closure import (
    SET,
    TABLE,
    Costs,
    GroupBounds,
    own_cost,
    rare_cost,
    rounded,
    stretch,
    union_cost,
)
from incrowd.kernels.jit import inlined, inner, kernel
from incrowd.kernels.k_one import DEEP, inside_of, keep, open_node


class OwnRows(NamedTuple):
    """Rows (n,) sorted by the point that is their own record, and what a search must know about them.

    Row r of `groups` is that of record ``record[r]``; rows of point p are ``starts[p]..starts[p+1]-1``.
    `low`, `high` (nodes, d) bound the rows below a node, `met` (nodes, d) or (nodes, 0) are all codes in
    their sets, `dear` (nodes, d) what their other cells cost at most;
    `leaf` (n,) and `parent` (nodes,) lead up from a row.
    """

    groups: GroupBounds
    plain: Floats
    record: Ints
    starts: Ints
    low: Codes
    high: Codes
    met: Words
    dear: Floats
    parent: Ints
    leaf: Ints


@inlined
def cell_cost(j: int, low: int, high: int, costs: Costs) -> Any:
    """What the smallest cell over low..high costs, of an attribute that is not published as sets."""
    if costs.kind[j] == TABLE:
        return costs.cost[costs.table[j] + low * costs.size[j] + high]
    return rare_cost(j, low, high, costs)


@kernel
def note(first: int, last: int, rows: OwnRows, costs: Costs) -> None:
    """Let every node above rows first..last-1 know how far they reach."""
    low, high, dear, groups = rows.low, rows.high, rows.dear, rows.groups
    for r in range(first, last):
        node, below = rows.leaf[r], np.int64(-1)
        while node != below:  # the root is its own parent
            known = True
            for j in range(low.shape[1]):
                least, most = groups.low[r, j], groups.high[r, j]
                if costs.kind[j] == SET:
                    if groups.bits[r, j] & ~rows.met[node, j]:
                        known = False
                        rows.met[node, j] |= groups.bits[r, j]
                    continue
                cost = cell_cost(j, least, most, costs)
                if least < low[node, j] or most > high[node, j] or cost > dear[node, j]:
                    known = False
                    low[node, j] = min(low[node, j], least)
                    high[node, j] = max(high[node, j], most)
                    dear[node, j] = max(dear[node, j], cost)
            if known:  # then all above know it too
                break
            node, below = rows.parent[node], node


@inner
def cheapest_rows(
    p: int,
    wanted: int,
    points: GroupBounds,
    rows: OwnRows,
    tree: BoxTree,
    costs: Costs,
    plain: Costs,
    which: Ints,
) -> Any:
    """The rows that do not hold point p and are cheapest to widen for it; ties to the smaller record.

    `which` (wanted or more,) become they -> how many.
    """
    low, high, groups, d = rows.low, rows.high, rows.groups, rows.low.shape[1]
    gaps = np.empty(wanted, np.float64)
    index = np.empty(wanted, np.int64)
    held = np.int64(0)
    stack = np.empty(DEEP, np.int64)
    stack[0], top = 0, 1
    while top:
        top -= 1
        node = stack[top]
        if held == wanted and not costs.entropy:  # in bits a wider row may be cheaper
            growth = 0.0  # the least by which any row below the node gets dearer
            for j in range(d):
                code = points.low[p, j]
                if costs.kind[j] == SET:
                    if not points.bits[p, j] & rows.met[node, j]:
                        growth += costs.scale[j]
                elif code < low[node, j] or code > high[node, j]:
                    cell = cell_cost(j, min(code, high[node, j]), max(code, low[node, j]), costs)
                    growth += max(0.0, cell - rows.dear[node, j])
            if rounded(growth / d) > gaps[held - 1]:
                continue
        if tree.left[node] >= 0:
            top = open_node(node, tree, stack, top)
            continue
        for r in range(rows.starts[tree.first[node]], rows.starts[tree.last[node]]):
            if union_cost(r, groups, p, points, plain) != rows.plain[r]:
                growth = rounded(union_cost(r, groups, p, points, costs) - groups.cost[r])
                held = keep(growth, rows.record[r], r, gaps, index, which, held, wanted)
    return held


@kernel
def widen(
    k: int,
    ids: Ints,
    fits: Ints,
    points: GroupBounds,
    rows: OwnRows,
    tree: BoxTree,
    costs: Costs,
    plain: Costs,
) -> Any:
    """Algorithm 5, record by record -> pairs (row, record) that were joined (m, 2).

    ``fits`` (points,) counts the rows that hold each point.
    """
    groups, ends, which = rows.groups, np.empty(2, np.int64), np.empty(max(k, 1), np.int64)
    joined, count = np.empty((ids.size, 2), np.int64), 0
    for i in range(ids.size):
        p = ids[i]
        if fits[p] >= k:
            continue
        held = cheapest_rows(p, k - fits[p], points, rows, tree, costs, plain, which)
        if count + held > joined.shape[0]:
            wider = np.empty((2 * joined.shape[0] + held, 2), np.int64)
            for e in range(count):  # copied as slices, messages about their shapes would be compiled too
                wider[e, 0], wider[e, 1] = joined[e, 0], joined[e, 1]
            joined = wider
        for h in range(held):
            r = which[h]
            for change in range(-1, 2, 2):  # what it held counts no more, what it holds then does
                if change > 0:
                    stretch(r, groups, p, points)
                    groups.cost[r] = own_cost(r, groups, costs)
                    rows.plain[r] = own_cost(r, groups, plain)
                for q in inside_of(r, r + 1, groups, rows.plain, points, tree, plain, ends):
                    fits[q] += change
            note(r, r + 1, rows, costs)
            joined[count, 0], joined[count, 1] = r, i
            count += 1
    return joined[:count]
