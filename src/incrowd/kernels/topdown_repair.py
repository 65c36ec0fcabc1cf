"""Groups of fewer than k records: merged with the cheapest other one, or filled up from a large one."""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.arrays import Bools, Codes, Ints
from incrowd.kernels.exact import below, compare_rows, sign
from incrowd.kernels.jit import inlined, inner, kernel
from incrowd.kernels.topdown import (
    FAR,
    FIRST,
    HEAD,
    HIGH,
    LEAST,
    LEFT,
    LOW,
    MOST,
    PARENT,
    REACH_HIGH,
    REACH_LOW,
    ROOT,
    SplitRules,
    SplitTree,
    changed,
    seeds,
    share,
)

NOBODY: Any = np.int64(-1)


# Two groups, and how their members are dealt out


@kernel
def pair(a: int, b: int, tree: SplitTree) -> Any:
    """The points of two groups in the order of records (m,), and which of them are inside the first (m,)."""
    members = np.empty(tree.tally[a, MOST] + tree.tally[b, MOST], np.int64)
    inside = np.empty(members.size, np.bool_)
    one, two = tree.node[a, HEAD], tree.node[b, HEAD]
    for i in range(members.size):
        inside[i] = two < 0 or (one >= 0 and tree.ids[one] < tree.ids[two])
        if inside[i]:
            members[i] = one
            one = tree.follows[one]
        else:
            members[i] = two
            two = tree.follows[two]
    return members, inside


@kernel
def deal(members: Ints, inside: Bools, a: int, b: int, tree: SplitTree) -> None:
    """Let leaf a have the members (m,) that are inside, and leaf b the others."""
    tree.node[a, HEAD], tree.node[b, HEAD] = NOBODY, NOBODY
    for i in range(members.size - 1, -1, -1):
        leaf = a if inside[i] else b
        tree.follows[members[i]] = tree.node[leaf, HEAD]
        tree.node[leaf, HEAD] = members[i]
    changed(b, tree)
    changed(a, tree)


@inner
def nearer(i: int, other: int, box: Ints, tree: SplitTree) -> Any:
    """Does a box (2, d) grow less with point i than with another one?"""
    spans, points = tree.spans, tree.points
    for j in range(points.shape[1]):
        spans.widths[0, j] = max(box[0, j] - points[i, j], points[i, j] - box[1, j], 0)
        spans.widths[1, j] = max(box[0, j] - points[other, j], points[other, j] - box[1, j], 0)
    return compare_rows(spans) < 0


@inner
def fill(members: Ints, inside: Bools, count: int, most: float, wide: Ints, tree: SplitTree) -> Any:
    """Take `count` more of the members (m,) inside -> the perimeter of those inside; their widths in `wide`.

    One after the other, each time the one by which it grows least; the first of equals. Gives up as soon as
    the perimeter is above `most`.
    """
    d, points, part, slack = tree.points.shape[1], tree.points, tree.spans.share, 2 * tree.spans.slack
    box = np.empty((2, d), np.int64)
    for j in range(d):
        box[0, j], box[1, j] = FAR, -1
        for i in range(members.size):
            if inside[i]:
                box[0, j], box[1, j] = (
                    min(box[0, j], points[members[i], j]),
                    max(box[1, j], points[members[i], j]),
                )
    around = 0.0
    for taken in range(count + 1):
        if taken:
            best, found = np.inf, -1
            for i in range(members.size):
                if inside[i] or best == 0.0:  # nobody is nearer than one inside the box
                    continue
                here = 0.0
                for j in range(d):
                    at = points[members[i], j]
                    here += max(box[0, j] - at, at - box[1, j], 0) * part[j]
                if here < best + slack and (
                    here < best - slack or nearer(members[i], members[found], box, tree)
                ):
                    best, found = here, i
            inside[found] = True
            for j in range(d):
                at = points[members[found], j]
                box[0, j], box[1, j] = min(box[0, j], at), max(box[1, j], at)
        around = 0.0
        for j in range(d):
            wide[j] = box[1, j] - box[0, j]
            around += wide[j] * part[j]
        if around > most:
            break
    return around


@inner
def cost_of(members: Ints, inside: Bools, row: int, turn: int, tree: SplitTree) -> Any:
    """What the members (m,) cost, those inside as one group and the others as another: size * perimeter.

    The same is laid out in two rows of widths, with the sign `turn`.
    """
    spans, size, total = tree.spans, np.int64(0), 0.0
    for i in range(members.size):
        size += inside[i]
    for t in range(2):
        weight = size if t else members.size - size
        spans.times[row + t] = turn * weight
        for j in range(tree.points.shape[1]):
            low, high = FAR, -FAR
            for i in range(members.size):
                if inside[i] == (t == 1):
                    at = np.int64(tree.points[members[i], j])
                    low, high = min(low, at), max(high, at)
            spans.widths[row + t, j] = max(high - low, 0)  # 0 if nobody is there
            total += weight * (spans.widths[row + t, j] * spans.share[j])
    return total


@kernel
def halve(members: Ints, inside: Bools, rules: SplitRules, tree: SplitTree) -> None:
    """Split members (m,) that are all inside into two parts of at least k, if that costs less.

    Those of the first record stay inside.
    """
    d, m = tree.points.shape[1], members.size
    points, other = np.empty((m, d), tree.points.dtype), np.empty(m, np.bool_)
    for i in range(m):
        for j in range(d):
            points[i, j] = tree.points[members[i], j]
    u, v = seeds(points, ROOT, m, rules.exact, tree.spans)
    if u == v:
        return
    size = share(points, ROOT, m, u, v, rules.weighted, other, tree.spans)
    if m - size < rules.k:
        size = m - size
        for i in range(m):
            other[i] = not other[i]
    fill(members, other, rules.k - size, np.inf, np.empty(d, np.int64), tree)
    gap = cost_of(members, other, 0, 1, tree) - cost_of(members, inside, 2, -1, tree)
    if below(gap, 2 * m, 4, tree.spans):
        for i in range(m):
            inside[i] = other[i] == other[0]


# Which group


@inlined
def floor_of(node: int, g: int, need: int, tree: SplitTree) -> Any:
    """What a group in the node costs group g at least; infinite if none has as many records as are needed.

    Merged with it: how much the sum of all perimeters grows, exactly in a leaf. Where some are needed, to be
    taken from: the perimeter of g with one of its points.
    """
    box, tally, part, around = tree.box, tree.tally, tree.spans.share, 0.0
    if tally[node, MOST] < max(need, 1):
        return np.inf
    if need:
        around += tree.widest[g]
        for j in range(part.size):
            apart = max(box[node, LOW, j] - box[g, HIGH, j], box[g, LOW, j] - box[node, HIGH, j], 0)
            around += apart * part[j]
        return around
    for j in range(part.size):
        high = max(box[g, HIGH, j], box[node, REACH_HIGH, j])
        around += (high - min(box[g, LOW, j], box[node, REACH_LOW, j])) * part[j]
    others = tally[node, LEAST] * max(around - tree.widest[node], 0.0)
    return tally[g, MOST] * (around - tree.widest[g]) + others


@kernel
def merged(g: int, other: int, row: int, turn: int, tree: SplitTree) -> Any:
    """How much dearer groups g and another are as one; laid out in three rows of widths, with a sign."""
    box, tally, spans, total = tree.box, tree.tally, tree.spans, 0.0
    sizes = (tally[g, MOST], tally[other, MOST])
    spans.times[row], spans.times[row + 1] = turn * (sizes[0] + sizes[1]), -turn * sizes[0]
    spans.times[row + 2] = -turn * sizes[1]
    for j in range(box.shape[2]):
        low, high = min(box[g, LOW, j], box[other, LOW, j]), max(box[g, HIGH, j], box[other, HIGH, j])
        spans.widths[row, j] = high - low
        spans.widths[row + 1, j] = box[g, HIGH, j] - box[g, LOW, j]
        spans.widths[row + 2, j] = box[other, HIGH, j] - box[other, LOW, j]
        for t in range(row, row + 3):
            total += turn * spans.times[t] * (spans.widths[t, j] * spans.share[j])
    return total


@inner
def compared(g: int, one: int, two: int, need: int, wide: Ints, best: Ints, tree: SplitTree) -> Any:
    """Does g cost less with one group than with another (-1), as much (0), or more? If filled, by widths."""
    if need:
        tree.spans.times[0] = 1
        for j in range(wide.size):
            tree.spans.widths[0, j] = wide[j] - best[j]
        return sign(1, tree.spans)
    merged(g, one, 0, 1, tree)
    merged(g, two, 3, -1, tree)
    return sign(6, tree.spans)


@kernel
def cheapest(g: int, need: int, rules: SplitRules, tree: SplitTree) -> Any:
    """The group to merge g with, or to take from if it has what is needed -> leaf or NOBODY.

    Of equals the one with the smallest record. Climbs from g and looks into what lies beside the way, until
    it has seen as many nodes as the rules allow; a group that is tried for taking counts by its records.
    """
    best, found, left, node = np.inf, NOBODY, np.int64(rules.visits), g
    stack, least, tally, spans = tree.stack, tree.least, tree.tally, tree.spans
    wide, widest = np.empty(spans.span.size, np.int64), np.empty(spans.span.size, np.int64)
    weight = 2 if need else 4 * (tally[g, MOST] + tally[ROOT, MOST])
    doubt = weight * spans.slack
    goes_on = tally[ROOT, MOST] >= need
    while node and goes_on:
        above = tree.node[node, PARENT]
        stack[0] = 2 * tree.node[above, LEFT] + 1 - node
        least[0] = floor_of(stack[0], g, need, tree)
        node = above
        top = 1
        while top and goes_on:
            top -= 1
            at, value = stack[top], least[top]
            left -= 1
            child = tree.node[at, LEFT]
            ahead = found < 0 or tally[at, FIRST] < tally[found, FIRST]
            if value < np.inf and (value < best + doubt or (value == best + doubt and ahead)):
                if child:
                    for side in range(2):
                        stack[top + side] = child + side
                        least[top + side] = floor_of(child + side, g, need, tree)
                    if least[top] < least[top + 1]:  # the nearer one is looked at first
                        stack[top], stack[top + 1] = child + 1, child
                        least[top], least[top + 1] = least[top + 1], least[top]
                    top += 2
                else:
                    if need:
                        members, inside = pair(g, at, tree)
                        value = fill(members, inside, rules.k - tally[g, MOST], best + doubt, wide, tree)
                        left -= members.size
                    order = -1.0 if found < 0 else value - best
                    if abs(order) <= doubt:
                        order = compared(g, at, found, need, wide, widest, tree)
                    if order < 0 or (order == 0 and tally[at, FIRST] < tally[found, FIRST]):
                        best, found = value, at
                        wide, widest = widest, wide
            goes_on = left > 0 or (found < 0 and need == 0)
    return found


# Mending


@kernel
def join(g: int, other: int, resplit: bool, rules: SplitRules, tree: SplitTree) -> None:
    """Let group g have all of the other one, which is empty then, unless both together are split again."""
    members, inside = pair(g, other, tree)
    for i in range(members.size):
        inside[i] = True
    if resplit and members.size >= 2 * rules.k:
        halve(members, inside, rules, tree)
    deal(members, inside, g, other, tree)


@kernel
def take(g: int, other: int, rules: SplitRules, tree: SplitTree) -> Any:
    """Fill group g up to k from a large one, if that costs less than to merge it with another -> did it?"""
    mine, k = tree.tally[g, MOST], np.int64(rules.k)
    donor = cheapest(g, 2 * k - mine, rules, tree)
    if donor < 0:
        return False
    members, inside = pair(g, donor, tree)
    before = inside.copy()
    fill(members, inside, k - mine, np.inf, np.empty(tree.spans.span.size, np.int64), tree)
    gap = cost_of(members, inside, 0, 1, tree) - cost_of(members, before, 2, -1, tree)
    gap -= merged(g, other, 4, -1, tree)
    weight = 2 * (members.size + mine + tree.tally[other, MOST])
    if not below(gap, weight, 7, tree.spans):
        return False
    deal(members, inside, g, donor, tree)
    return True


@kernel
def mend(groups: Ints, rules: SplitRules, tree: SplitTree, clock: Ints) -> None:
    """Mend each of these groups (m,), all of one size, unless another of them has taken it."""
    size = tree.tally[groups[0], MOST]
    for i in range(groups.size):
        g = groups[i]
        if tree.tally[g, MOST] != size:
            continue
        other = cheapest(g, ROOT, rules, tree)
        if rules.take and take(g, other, rules, tree):
            clock[1] += size
        else:
            join(g, other, rules.resplit, rules, tree)


@kernel
def label_all(tree: SplitTree, labels: Codes) -> None:
    """Number the groups in the order of the tree: labels (n,) by record."""
    count = 0
    for leaf in range(tree.node.shape[0]):
        if tree.node[leaf, LEFT] == 0 and tree.tally[leaf, MOST] > 0:
            at = tree.node[leaf, HEAD]
            while at >= 0:
                labels[tree.ids[at]] = count
                at = tree.follows[at]
            count += 1


@kernel
def records_of(leaf: int, tree: SplitTree) -> Any:
    """The records of a group (m,), in order."""
    found = np.empty(tree.tally[leaf, MOST], np.int32)
    at = tree.node[leaf, HEAD]
    for i in range(found.size):
        found[i] = tree.ids[at]
        at = tree.follows[at]
    return found
