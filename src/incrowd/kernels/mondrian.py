"""Cutting points again and again until no allowable cut is left.

Points are stored column by column in two buffers between which a node's rows move when it is cut: every
pass streams over one column, and the rows of a node stay in the order of their index, which is the tie
rule of relaxed cuts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import AnyInts, Codes, Floats, Ints, Marks
from incrowd.kernels.cuts import (
    ALL_TIES,
    TREE,
    Cut,
    Geometry,
    Node,
    Work,
    best_child,
    bounds,
    child_of,
    count_children,
    covering,
    extent,
    loss_after,
    mark,
    mass_upto,
    middle_of,
)
from incrowd.kernels.jit import inlined, inner, kernel, with_door

WIDEST, ROUND_ROBIN, GAIN, WORKLOAD = 0, 1, 2, 3
NEVER = 2**62
UPTO_MEDIAN, BELOW_MEDIAN, BY_TREE = 0, 1, 2  # the cuts that a column can have


class Points(NamedTuple):
    """A buffer: codes (d, n), weights (n,) or (0,) if each row counts one, and whose rows they are."""

    columns: AnyInts
    weights: Codes
    ids: Codes


class CutRules(NamedTuple):
    """How to cut: at least k on both sides, and which of the allowable cuts."""

    k: int
    choose: int
    strict: bool
    below_too: bool  # try {< median} where {<= median} fails; the printed algorithm does not
    extra_right: bool  # relaxed: an odd record goes right
    turn: int  # round robin: the column that begins
    parts: int = NEVER  # stop as soon as so many nodes wait to be cut


class Queries(NamedTuple):
    """A workload. ``upto[q, start[j]+j+c]`` counts the codes below c of attribute j that query q allows.

    ``edges[first_edge[j]:first_edge[j+1]]`` are the codes of attribute j after which some query begins or
    ends.
    """

    weight: Floats
    upto: Codes
    first_edge: Ints
    edges: Ints


@inlined
def no_cut() -> Any:
    return Cut(-1, 0, 0, ALL_TIES, 0, False)


@inlined
def allowable(mass: int, node: Node, rules: CutRules) -> Any:
    return rules.k <= mass <= node.mass - rules.k


@inner
def cut_of(
    j: int, points: Points, node: Node, rules: CutRules, geometry: Geometry, work: Work, which: int
) -> Any:
    """One of the cuts of column j: {<= median} (or below it, if that fails), {< median}, or by its tree."""
    column = points.columns[j, node.first : node.last]
    weights = points.weights[node.first : node.last]
    if which == BY_TREE:
        return tree_cut(j, column, weights, node, rules, geometry, work)
    middle, less, equal = middle_of(j, column, weights, node.mass, work)
    if not rules.strict:
        left = node.mass // 2 if rules.extra_right else (node.mass + 1) // 2
        ties = left - less
        if ties == equal:  # nothing to share out: the plain test is quicker
            ties = ALL_TIES
        return Cut(j, work.low[j], middle, ties, left, False)
    if which == UPTO_MEDIAN and allowable(less + equal, node, rules):
        return Cut(j, work.low[j], middle, ALL_TIES, less + equal, False)
    if rules.below_too and allowable(less, node, rules):
        return Cut(j, work.low[j], middle - 1, ALL_TIES, less, False)
    return no_cut()


@inner
def tree_cut(
    j: int, column: AnyInts, weights: Codes, node: Node, rules: CutRules, geometry: Geometry, work: Work
) -> Any:
    """Cut the smallest node over the column: off one child where loss decides, else into all children."""
    top, smallest = count_children(j, column, weights, geometry, work)
    if rules.choose >= GAIN:
        low, high, mass = best_child(j, column, node.mass, rules.k, geometry, work, top)
        if mass >= 0:
            return Cut(j, low, high, ALL_TIES, mass, False)
    elif smallest >= rules.k and smallest < node.mass:
        return Cut(j, 0, 0, ALL_TIES, 0, True)
    return no_cut()


@inner
def find_cut(
    points: Points, node: Node, rules: CutRules, geometry: Geometry, queries: Queries, work: Work
) -> Any:
    """The cut to make among columns not in work.tried, whose bounds are in work.low and work.high."""
    if node.mass < 2 * rules.k:
        return no_cut()
    if rules.choose >= GAIN:
        return cheapest_cut(points, node, rules, geometry, queries, work)
    return first_cut(points, node, rules, geometry, work)


@inlined
def first_cut(points: Points, node: Node, rules: CutRules, geometry: Geometry, work: Work) -> Any:
    """The cut of the widest column that has one, or of the next one whose turn it is."""
    d = points.columns.shape[0]
    while True:
        best, most = -1, -1.0
        for step in range(d):
            j = (node.turn + step) % d if rules.choose == ROUND_ROBIN else step
            if work.tried[j] or (rules.strict and work.low[j] == work.high[j]):
                continue
            if rules.choose == ROUND_ROBIN:
                best = j
                break
            wide = extent(j, work.low[j], work.high[j], geometry)
            if wide > most:
                best, most = j, wide
        if best < 0:
            return no_cut()
        by_tree = rules.strict and geometry.shape[best] == TREE
        which = BY_TREE if by_tree else UPTO_MEDIAN
        cut = cut_of(best, points, node, rules, geometry, work, which)
        if cut.dim >= 0:
            return cut
        work.tried[best] = True


@inner
def cheapest_cut(
    points: Points, node: Node, rules: CutRules, geometry: Geometry, queries: Queries, work: Work
) -> Any:
    """The cut after which least is lost; under a workload, first of all least is left in doubt."""
    best = no_cut()
    least, least_doubt = np.inf, np.inf
    side = work.side[: node.last - node.first]
    for j in range(points.columns.shape[0]):
        if work.tried[j] or (rules.strict and work.low[j] == work.high[j]):
            continue
        column = points.columns[j, node.first : node.last]
        own = 1  # a relaxed cut; strict: both medians, and a tree's
        if rules.strict:
            own = 3 if geometry.shape[j] == TREE else 2
        edges = queries.edges[queries.first_edge[j] : queries.first_edge[j + 1]]
        last_high = np.int64(-1)
        for candidate in range(own + (edges.size if rules.strict else 0)):
            if candidate < own:
                cut = cut_of(j, points, node, rules, geometry, work, candidate)
            else:
                weights = points.weights[node.first : node.last]
                cut = edge_cut(j, column, weights, edges[candidate - own], node, rules, work)
            if cut.dim < 0 or (candidate == BELOW_MEDIAN and cut.high == last_high):
                continue  # no cut, or the one that was just looked at
            last_high = cut.high
            mark(column, cut, side)
            doubt = doubt_after(node, cut, geometry, queries, work)
            loss = loss_after(points.columns, node, cut, geometry, work)
            if doubt < least_doubt or (doubt == least_doubt and loss < least):
                best, least, least_doubt = cut, loss, doubt
    return best


@inner
def edge_cut(
    j: int, column: AnyInts, weights: Codes, edge: int, node: Node, rules: CutRules, work: Work
) -> Any:
    """The cut right after the code `edge`, where a query begins or ends."""
    if edge < work.low[j] or edge >= work.high[j]:
        return no_cut()
    mass = mass_upto(column, weights, edge)
    if not allowable(mass, node, rules):
        return no_cut()
    return Cut(j, work.low[j], edge, ALL_TIES, mass, False)


@inner
def doubt_after(node: Node, cut: Cut, geometry: Geometry, queries: Queries, work: Work) -> Any:
    """Weighted mass of rows of which a query cannot say whether they match, if the node is cut."""
    doubt = 0.0
    for q in range(queries.weight.size):
        doubt += queries.weight[q] * (
            cut.mass * in_doubt(q, cut, False, geometry, queries, work)
            + (node.mass - cut.mass) * in_doubt(q, cut, True, geometry, queries, work)
        )
    return doubt


@inner
def in_doubt(q: int, cut: Cut, right: bool, geometry: Geometry, queries: Queries, work: Work) -> Any:
    """1 if query q allows some but not all of the box of one side of the cut, else 0."""
    all_allowed = True
    for j in range(geometry.shape.size):
        low, high = work.low[j], work.high[j]
        if j == cut.dim and not right:
            low, high = cut.low, cut.high
        elif j == cut.dim and cut.low <= work.low[j]:
            low = min(cut.high + (cut.ties == ALL_TIES), high)
        base = geometry.start[j] + j
        allowed = queries.upto[q, base + high + 1] - queries.upto[q, base + low]
        if allowed == 0:
            return 0
        all_allowed = all_allowed and allowed == high - low + 1
    return 0 if all_allowed else 1


@inlined
def halves(side: Marks, left: int, right: int, place: Codes) -> None:
    """Where rows go if left ones start at `left` and right ones at `right`, in their old order."""
    for i in range(side.size):
        place[i] = right if side[i] else left
        right += side[i]
        left += 1 - side[i]


@inlined
def move(source: Points, target: Points, node: Node, place: Codes) -> None:
    """Write the node's rows to their places in the other buffer."""
    m = node.last - node.first
    for j in range(source.columns.shape[0]):
        column = source.columns[j, node.first : node.last]
        into = target.columns[j]
        for i in range(m):
            into[place[i]] = column[i]
    for i in range(m):
        target.ids[place[i]] = source.ids[node.first + i]
    if source.weights.size:
        for i in range(m):
            target.weights[place[i]] = source.weights[node.first + i]


@inner
def split(
    source: Points, target: Points, node: Node, cut: Cut, geometry: Geometry, work: Work, parts: Ints
) -> Any:
    """Cut a node, moving its rows to `target`: parts (p+1,) become the borders -> number of parts."""
    side = work.side[: node.last - node.first]
    column = source.columns[cut.dim, node.first : node.last]
    if cut.children:
        count = by_child(column, cut.dim, node.first, geometry, work, parts)
    else:
        parts[0] = node.first
        parts[1] = node.first + mark(column, cut, side)
        parts[2] = node.last
        count = 2
        halves(side, parts[0], parts[1], work.place)
    move(source, target, node, work.place)
    return count


@inner
def by_child(column: AnyInts, j: int, first: int, geometry: Geometry, work: Work, parts: Ints) -> Any:
    """Places of rows sorted by the child that holds them, children as first met -> number of children."""
    top = covering(j, work.low[j], work.high[j], geometry)
    leaves = geometry.leaf[geometry.start[j] : geometry.start[j + 1]]
    for i in range(column.size):
        work.child_mass[child_of(top, leaves[column[i]], geometry)] = -1
    count = 0
    at = np.int64(first)
    for i in range(column.size):
        child = child_of(top, leaves[column[i]], geometry)
        if work.child_mass[child] != -1:
            continue
        parts[count] = at
        for h in range(i, column.size):
            if child_of(top, leaves[column[h]], geometry) == child:
                work.place[h] = at
                at += 1
        work.child_mass[child] = count
        count += 1
    parts[count] = at
    return count


@inlined
def mass_of(points: Points, first: int, last: int) -> Any:
    """Mass of rows first..last-1."""
    if points.weights.size == 0:
        return last - first
    mass = 0
    for i in range(first, last):
        mass += points.weights[i]
    return mass


@inner
def look(points: Points, node: Node, work: Work) -> None:
    """Prepare work for finding a cut of this node: its bounds, no column tried yet."""
    bounds(points.columns, node.first, node.last, work.low, work.high)
    work.tried[:] = False


@kernel
def grow(
    points: Points,
    spare: Points,
    rules: CutRules,
    geometry: Geometry,
    queries: Queries,
    work: Work,
    labels: Codes,
    stack: Ints,
) -> Any:
    """Cut the first node of a stack until nothing can be cut, or until enough nodes wait.

    A line of the stack is first row, last row + 1, mass, turn, and whether the rows are in `spare`.
    labels (n,) by row id -> (number of groups, nodes that wait: the first of the stack). Groups are numbered
    in the order in which a walk, right parts first, comes to them.
    """
    parts = np.empty(geometry.parent.size + 3, np.int64)
    top, groups = 1, 0
    while 0 < top < rules.parts:
        top -= 1
        node = Node(stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3])
        turned = stack[top, 4]
        source, target = (spare, points) if turned else (points, spare)
        if node.mass >= 2 * rules.k:
            look(source, node, work)
        cut = find_cut(source, node, rules, geometry, queries, work)
        if cut.dim < 0:
            for i in range(node.first, node.last):
                labels[source.ids[i]] = groups
            groups += 1
            work.clock[1] += node.last - node.first
            continue
        if not cut.children and max(cut.mass, node.mass - cut.mass) < 2 * rules.k:
            side = work.side[: node.last - node.first]
            mark(source.columns[cut.dim, node.first : node.last], cut, side)
            for i in range(side.size):  # both sides are final: no need to move them
                labels[source.ids[node.first + i]] = groups + side[i]
            groups += 2
            work.clock[1] += side.size
            continue
        count = split(source, target, node, cut, geometry, work, parts)
        for p in range(count):
            stack[top, 0] = parts[p]
            stack[top, 1] = parts[p + 1]
            stack[top, 2] = mass_of(target, parts[p], parts[p + 1])
            stack[top, 3] = (cut.dim + 1) % points.columns.shape[0]
            stack[top, 4] = 1 - turned
            top += 1
    return groups, top


# For those who cut node by node: compiled only where that is done.
look_alone, find_cut_alone, split_alone = with_door(look), with_door(find_cut), with_door(split)
