"""A binary tree over groups: which of them is nearest to a given one, without looking at all.

A node knows how far every union with a group inside must reach and so how little it can cost. Groups come and
go; after many changes the tree is better built anew.

A kernel is compiled once for itself and again inside each that calls it, with every array that it is given:
so there are few of them, in few layers, and what is known of a node lies in few arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Bools, Codes, Floats, Ints, Words
from incrowd.kernels.closure import (
    BY_COST,
    BY_LOG,
    BY_MASS,
    BY_RATIO,
    EPSILON,
    SET,
    TABLE,
    Costs,
    GroupBounds,
    gap,
    rare_floor,
    rounded,
    set_cost,
)
from incrowd.kernels.jit import inlined, inner, kernel

LEAF = 4  # groups in a leaf of a new tree
NOBODY = 2**62
ROOT: Any = np.int64(0)  # typed, or what is called with it is compiled once more for the literal 0
LEFT, PARENT, HEAD, FIRST, LEAST, MOST = 0, 1, 2, 3, 4, 5  # what `node` of Boxes says
MASS, COST = 0, 1  # what `dear` of Boxes says


class ClusterTree(NamedTuple):
    """A binary tree over clusters.

    `low` and `high` are the largest low and the smallest high code of the clusters inside: what every union
    with one of them must reach. `alive`, `leaf_of` and `next_in_leaf` are by cluster.
    """

    low: Codes
    high: Codes
    bits: Words
    node: Ints  # children are LEFT and LEFT + 1 (0 in a leaf); HEAD its first cluster; sizes
    dear: Floats  # the most size * cost and the most cost of a cluster
    alive: Bools  # which clusters are in the tree
    tally: Ints  # (2,) how many are, and changes since it was built
    leaf_of: Ints
    next_in_leaf: Ints
    items: Ints
    stack: Ints
    waiting: Floats


def room_for(n: int, alive: Bools, d: int, bits: int) -> ClusterTree:
    """Room for a tree over at most n groups of d columns, at first those that are alive (ids,)."""
    nodes = 2 * n + 2
    return ClusterTree(
        low=np.zeros((nodes, d), np.int32),
        high=np.zeros((nodes, d), np.int32),
        bits=np.zeros((nodes, bits), np.uint64),
        node=np.zeros((nodes, 6), np.int64),
        dear=np.zeros((nodes, 2)),
        alive=alive,
        tally=np.array([alive.sum(), 0]),
        leaf_of=np.zeros(alive.size, np.int64),
        next_in_leaf=np.zeros(alive.size, np.int64),
        items=np.zeros(n, np.int64),
        stack=np.zeros(3 * n + 9, np.int64),
        waiting=np.zeros(n + 3),
    )


@inner
def union_floor(a: int, groups: GroupBounds, node: int, boxes: ClusterTree, costs: Costs) -> Any:
    """The least that a row of a union of cluster a with a cluster in the node can cost."""
    total = 0.0
    columns = groups.low.shape[1]
    for j in range(columns):
        kind = costs.kind[j]
        if kind == SET:
            if not costs.entropy:
                total += set_cost(j, groups.bits[a, j] | boxes.bits[node, j], costs)
            continue
        low = min(groups.low[a, j], boxes.low[node, j])
        high = max(groups.high[a, j], boxes.high[node, j])
        if kind == TABLE:
            total += costs.floor[costs.table[j] + low * costs.size[j] + high]
        else:
            total += rare_floor(j, low, high, costs)
    return total / columns


@inlined
def bound(kind: int, least: float, size: int, cost: float, node: int, boxes: ClusterTree, grows: bool) -> Any:
    """No cluster in the node is nearer (rounded) to one of this size and cost, if unions cost `least`.

    `grows` says that a union costs no less than its parts.
    """
    most = boxes.dear[node, COST]
    if grows:
        least = max(least, cost)
    if kind == BY_MASS:
        found = (size + boxes.node[node, LEAST]) * least - size * cost - boxes.dear[node, MASS]
        return rounded(max(found, size * (least - cost)) if grows else found)
    if kind in (BY_COST, BY_LOG):
        apart = least - cost - most
        if grows:
            apart = max(apart, -cost)
        if kind == BY_COST:
            return rounded(apart)
        other = boxes.node[node, MOST] if apart > 0 else boxes.node[node, LEAST]
        return rounded(apart / np.log(size + other))
    if kind == BY_RATIO:
        return rounded(least / (cost + most + EPSILON))
    return rounded(least - max(cost, most))


@kernel
def nearest(kind: int, a: int, groups: GroupBounds, boxes: ClusterTree, costs: Costs) -> Any:
    """The nearest cluster in the tree but a itself -> (rounded distance, id), or id -1.

    Of equal ones the one with the smallest `first`, which also makes the smallest pair.
    """
    best, first, found = np.inf, NOBODY, -1
    boxes.stack[0] = 0
    boxes.waiting[0] = -np.inf
    waiting = 1
    while waiting:
        waiting -= 1
        node, least = boxes.stack[waiting], boxes.waiting[waiting]
        if least > best or (least == best and boxes.node[node, FIRST] >= first):
            continue
        left = boxes.node[node, LEFT]
        if left == 0:
            b = boxes.node[node, HEAD]
            while b >= 0:
                if b != a:
                    here = gap(kind, a, groups, b, groups, costs)
                    if here < best or (here == best and groups.first[b] < first):
                        best, first, found = here, groups.first[b], b
                b = boxes.next_in_leaf[b]
            continue
        begin = waiting
        for child in range(left, left + 2):
            if boxes.node[child, FIRST] == NOBODY:
                continue
            least = union_floor(a, groups, child, boxes, costs)
            value = bound(kind, least, groups.size[a], groups.cost[a], child, boxes, not costs.entropy)
            if value < best or (value == best and boxes.node[child, FIRST] < first):
                at = waiting
                if at > begin and value >= boxes.waiting[begin]:  # the nearer child is looked at first
                    boxes.stack[at], boxes.waiting[at] = boxes.stack[begin], boxes.waiting[begin]
                    at = begin
                boxes.stack[at], boxes.waiting[at] = child, value
                waiting += 1
    return best, found


@inner
def refresh(node: int, boxes: ClusterTree, groups: GroupBounds) -> None:
    """Say anew what is in a node."""
    here, dear, low, high, bits = boxes.node, boxes.dear, boxes.low, boxes.high, boxes.bits
    for j in range(low.shape[1]):
        low[node, j] = -1
        high[node, j] = 2**31 - 1
    for j in range(bits.shape[1]):
        bits[node, j] = np.uint64(0xFFFFFFFFFFFFFFFF)
    here[node, LEAST], here[node, MOST], here[node, FIRST] = NOBODY, 0, NOBODY
    dear[node, MASS], dear[node, COST] = 0.0, 0.0
    left = here[node, LEFT]
    a = here[node, HEAD]
    while left == 0 and a >= 0:
        for j in range(low.shape[1]):
            low[node, j] = max(low[node, j], groups.low[a, j])
            high[node, j] = min(high[node, j], groups.high[a, j])
        for j in range(bits.shape[1]):
            bits[node, j] &= groups.bits[a, j]
        here[node, LEAST] = min(here[node, LEAST], groups.size[a])
        here[node, MOST] = max(here[node, MOST], groups.size[a])
        here[node, FIRST] = min(here[node, FIRST], groups.first[a])
        dear[node, MASS] = max(dear[node, MASS], groups.size[a] * groups.cost[a])
        dear[node, COST] = max(dear[node, COST], groups.cost[a])
        a = boxes.next_in_leaf[a]
    for child in range(left, left + 2 if left else 0):
        for j in range(low.shape[1]):
            low[node, j] = max(low[node, j], low[child, j])
            high[node, j] = min(high[node, j], high[child, j])
        for j in range(bits.shape[1]):
            bits[node, j] &= bits[child, j]
        here[node, LEAST] = min(here[node, LEAST], here[child, LEAST])
        here[node, MOST] = max(here[node, MOST], here[child, MOST])
        here[node, FIRST] = min(here[node, FIRST], here[child, FIRST])
        dear[node, MASS] = max(dear[node, MASS], dear[child, MASS])
        dear[node, COST] = max(dear[node, COST], dear[child, COST])


@kernel
def turn(a: int, boxes: ClusterTree, groups: GroupBounds, costs: Costs) -> None:
    """Take cluster a out of the tree; if it is not there, put it into the leaf nearest to it."""
    boxes.alive[a] = not boxes.alive[a]
    boxes.tally[0] += 1 if boxes.alive[a] else -1
    boxes.tally[1] += 1
    leaf = ROOT if boxes.alive[a] else boxes.leaf_of[a]
    if boxes.alive[a]:
        while boxes.node[leaf, LEFT]:
            least, found = np.inf, boxes.node[leaf, LEFT]
            for child in range(boxes.node[leaf, LEFT], boxes.node[leaf, LEFT] + 2):
                if boxes.node[child, FIRST] != NOBODY:
                    here = union_floor(a, groups, child, boxes, costs)
                    if here < least:
                        least, found = here, child
            leaf = found
        boxes.leaf_of[a] = leaf
        boxes.next_in_leaf[a] = boxes.node[leaf, HEAD]
        boxes.node[leaf, HEAD] = a
    elif boxes.node[leaf, HEAD] == a:
        boxes.node[leaf, HEAD] = boxes.next_in_leaf[a]
    else:
        b = boxes.node[leaf, HEAD]
        while boxes.next_in_leaf[b] != a:
            b = boxes.next_in_leaf[b]
        boxes.next_in_leaf[b] = boxes.next_in_leaf[a]
    node = leaf
    while True:
        refresh(node, boxes, groups)
        if node == 0:
            return
        node = boxes.node[node, PARENT]


@kernel
def middle(j: int, items: Ints, groups: GroupBounds) -> Any:
    """Between which codes (doubled) of column j the items (m,) fall into halves -> (line, found)."""
    low, high = 2**40, -1
    for a in items:
        here = groups.low[a, j] + groups.high[a, j]
        low = min(low, here)
        high = max(high, here)
    if low == high:
        return 0, False
    top = high
    while low < high:
        line = (low + high) // 2
        count = 0
        for a in items:
            count += groups.low[a, j] + groups.high[a, j] <= line
        if 2 * count >= items.size:
            high = line
        else:
            low = line + 1
    return (low if low < top else low - 1), True


@kernel
def part(items: Ints, groups: GroupBounds, costs: Costs) -> Any:
    """Order the items (m,) into two parts -> where the second begins.

    They part at the middle of the column in which they lie furthest apart, or of the next that has a middle.
    """
    best, widest = -1.0, 0
    for j in range(groups.low.shape[1]):
        low, high = groups.low[items[0], j], groups.high[items[0], j]
        for a in items:
            low = min(low, groups.low[a, j])
            high = max(high, groups.high[a, j])
        if costs.kind[j] == TABLE:
            here = costs.cost[costs.table[j] + low * costs.size[j] + high]
        else:
            here = (high - low) / max(costs.size[j] - 1, 1)
        if here > best:
            best, widest = here, j
    for turn_of in range(groups.low.shape[1]):
        j = (widest + turn_of) % groups.low.shape[1]
        line, found = middle(j, items, groups)
        if found:
            cut = 0
            for i in range(items.size):
                a = items[i]
                if groups.low[a, j] + groups.high[a, j] <= line:
                    items[i] = items[cut]
                    items[cut] = a
                    cut += 1
            return cut
    return items.size // 2


@kernel
def plant(ids: int, groups: GroupBounds, boxes: ClusterTree, costs: Costs) -> Any:
    """Build the tree over all clusters below `ids` that are alive -> how many, which are the first items."""
    count = 0
    for a in range(ids):
        if boxes.alive[a]:
            boxes.items[count] = a
            count += 1
    boxes.tally[1] = 0
    used, waiting = 1, 1
    boxes.node[0, PARENT] = 0
    boxes.stack[0], boxes.stack[1], boxes.stack[2] = 0, 0, count
    while waiting:
        waiting -= 1
        node, first, last = (
            boxes.stack[3 * waiting],
            boxes.stack[3 * waiting + 1],
            boxes.stack[3 * waiting + 2],
        )
        boxes.node[node, LEFT] = 0
        boxes.node[node, HEAD] = -1
        if last - first <= LEAF:
            for i in range(first, last):
                a = boxes.items[i]
                boxes.leaf_of[a] = node
                boxes.next_in_leaf[a] = boxes.node[node, HEAD]
                boxes.node[node, HEAD] = a
            continue
        cut = first + part(boxes.items[first:last], groups, costs)
        boxes.node[node, LEFT] = used
        for side in range(2):
            boxes.node[used + side, PARENT] = node
            boxes.stack[3 * waiting] = used + side
            boxes.stack[3 * waiting + 1] = first if side == 0 else cut
            boxes.stack[3 * waiting + 2] = cut if side == 0 else last
            waiting += 1
        used += 2
    for node in range(used - 1, -1, -1):
        refresh(node, boxes, groups)
    return count
