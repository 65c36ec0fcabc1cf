"""Groups of fewer than k records: merged with the cheapest other one, or filled up from a large one."""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.arrays import Bools, Codes, Ints
from incrowd.kernels.jit import inlined, kernel
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
    WIDEST,
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


@kernel
def fill(members: Ints, inside: Bools, count: int, most: int, tree: SplitTree) -> Any:
    """Take `count` more of the members (m,) inside -> the perimeter of those inside.

    One after the other, each time the one by which it grows least; the first of equals. Gives up as soon as
    the perimeter is above `most`.
    """
    d, points, around = tree.points.shape[1], tree.points, np.int64(0)
    low, high = np.empty(d, np.int32), np.empty(d, np.int32)
    for j in range(d):
        low[j], high[j] = 2**31 - 1, -1
        for i in range(members.size):
            if inside[i]:
                low[j], high[j] = min(low[j], points[members[i], j]), max(high[j], points[members[i], j])
        around += high[j] - low[j]
    for _ in range(count):
        best, found = FAR, 0
        for i in range(members.size):
            if inside[i]:
                continue
            here = np.int64(0)
            for j in range(d):
                at = points[members[i], j]
                here += max(low[j] - at, 0) + max(at - high[j], 0)
            if here < best:
                best, found = here, i
        inside[found] = True
        around += best
        if around > most:
            return around
        for j in range(d):
            low[j], high[j] = min(low[j], points[members[found], j]), max(high[j], points[members[found], j])
    return around


@kernel
def cost_of(members: Ints, inside: Bools, tree: SplitTree) -> Any:
    """What the members (m,) cost, those inside as one group and the others as another: size * perimeter."""
    size, around0, around1 = np.int64(0), np.int64(0), np.int64(0)
    for i in range(members.size):
        size += inside[i]
    for j in range(tree.points.shape[1]):
        low0, high0, low1, high1 = FAR, -FAR, FAR, -FAR
        for i in range(members.size):
            at = np.int64(tree.points[members[i], j])
            if inside[i]:
                low1, high1 = min(low1, at), max(high1, at)
            else:
                low0, high0 = min(low0, at), max(high0, at)
        around0 += max(high0 - low0, 0)  # 0 if nobody is there
        around1 += max(high1 - low1, 0)
    return size * around1 + (members.size - size) * around0


@kernel
def halve(members: Ints, inside: Bools, rules: SplitRules, tree: SplitTree) -> None:
    """Split members (m,) that are all inside into two parts of at least k, if that costs less.

    Those of the first record stay inside.
    """
    d, m = tree.points.shape[1], members.size
    points, other = np.empty((m, d), np.int32), np.empty(m, np.bool_)
    for i in range(m):
        for j in range(d):
            points[i, j] = tree.points[members[i], j]
    u, v = seeds(points, ROOT, m, rules.exact)
    if u == v:
        return
    size = share(points, ROOT, m, u, v, rules.weighted, other)
    if m - size < rules.k:
        size = m - size
        for i in range(m):
            other[i] = not other[i]
    fill(members, other, rules.k - size, FAR, tree)
    if cost_of(members, other, tree) < cost_of(members, inside, tree):
        for i in range(m):
            inside[i] = other[i] == other[0]


# Which group


@inlined
def floor_of(node: int, g: int, need: int, box: Codes, tally: Ints) -> Any:
    """What a group in the node costs group g at least; FAR if none has as many records as are needed.

    Merged with it: how much the sum of all perimeters grows, exactly in a leaf. Where some are needed, to be
    taken from: the perimeter of g with one of its points.
    """
    around = np.int64(0)
    if tally[node, MOST] < max(need, 1):
        return FAR
    if need:
        around += tally[g, WIDEST]
        for j in range(box.shape[2]):
            around += max(box[node, LOW, j] - box[g, HIGH, j], 0)
            around += max(box[g, LOW, j] - box[node, HIGH, j], 0)
        return around
    for j in range(box.shape[2]):
        around += max(box[g, HIGH, j], box[node, REACH_HIGH, j]) - min(
            box[g, LOW, j], box[node, REACH_LOW, j]
        )
    others = tally[node, LEAST] * max(around - tally[node, WIDEST], 0)
    return tally[g, MOST] * (around - tally[g, WIDEST]) + others


@kernel
def cheapest(g: int, need: int, rules: SplitRules, tree: SplitTree) -> Any:
    """The group to merge g with, or to take from if it has what is needed -> (cost as above, leaf or NOBODY).

    Of equals the one with the smallest record. Climbs from g and looks into what lies beside the way, until
    it has seen as many nodes as the rules allow; a group that is tried for taking counts by its records.
    """
    best, first, found, left, node = FAR, FAR, NOBODY, np.int64(rules.visits), g
    stack, box, tally = tree.stack, tree.box, tree.tally
    goes_on = tally[ROOT, MOST] >= need
    while node and goes_on:
        above = tree.node[node, PARENT]
        stack[0, 0] = 2 * tree.node[above, LEFT] + 1 - node
        stack[0, 1] = floor_of(stack[0, 0], g, need, box, tally)
        node = above
        top = 1
        while top and goes_on:
            top -= 1
            at, value = stack[top, 0], stack[top, 1]
            left -= 1
            child = tree.node[at, LEFT]
            if value < FAR and (value < best or (value == best and tally[at, FIRST] < first)):
                if child:
                    for side in range(2):
                        stack[top + side, 0] = child + side
                        stack[top + side, 1] = floor_of(child + side, g, need, box, tally)
                    if stack[top, 1] < stack[top + 1, 1]:  # the nearer one is looked at first
                        stack[top, 0], stack[top + 1, 0] = child + 1, child
                        stack[top, 1], stack[top + 1, 1] = stack[top + 1, 1], stack[top, 1]
                    top += 2
                else:
                    if need:
                        members, inside = pair(g, at, tree)
                        value = fill(members, inside, rules.k - tally[g, MOST], best, tree)
                        left -= members.size
                    if value < best or (value == best and tally[at, FIRST] < first):
                        best, first, found = value, tally[at, FIRST], at
            goes_on = left > 0 or (found < 0 and need == 0)
    return best, found


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
def take(g: int, most: int, rules: SplitRules, tree: SplitTree) -> Any:
    """Fill group g up to k from a large one, if that costs less than `most` -> whether it did."""
    mine, k = tree.tally[g, MOST], np.int64(rules.k)
    _, donor = cheapest(g, 2 * k - mine, rules, tree)
    if donor < 0:
        return False
    members, inside = pair(g, donor, tree)
    before = cost_of(members, inside, tree)
    fill(members, inside, k - mine, FAR, tree)
    if cost_of(members, inside, tree) - before >= most:
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
        cost, other = cheapest(g, ROOT, rules, tree)
        if rules.take and take(g, cost, rules, tree):
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
