"""A binary tree over groups: which of them is nearest to a given one, without looking at all.

A node knows how far every union with a group inside must reach and so how little it can cost. Groups come and
go; after many changes the tree is better built anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.closure import (
    BY_COST,
    BY_LOG,
    BY_MASS,
    BY_RATIO,
    EPSILON,
    SET,
    TABLE,
    Costs,
    Groups,
    gap,
    rare_floor,
    rounded,
    set_cost,
)
from incrowd.kernels.jit import kernel

LEAF = 4  # groups in a leaf of a new tree
NOBODY = 2**62


class Boxes(NamedTuple):
    """A binary tree over clusters; the children of a node are `left` and `left` + 1, a leaf's `left` is 0.

    `low` and `high` are the largest low and the smallest high code of the clusters inside: what every union
    with one of them must reach. `leaf_of` and `next_in_leaf` are by cluster.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    bits: NDArray[np.uint64]
    least_size: NDArray[np.int64]
    most_size: NDArray[np.int64]
    most_mass: NDArray[np.float64]  # of size * cost
    most_cost: NDArray[np.float64]
    first: NDArray[np.int64]
    left: NDArray[np.int64]
    parent: NDArray[np.int64]
    head: NDArray[np.int64]
    leaf_of: NDArray[np.int64]
    next_in_leaf: NDArray[np.int64]
    items: NDArray[np.int64]
    stack: NDArray[np.int64]
    waiting: NDArray[np.float64]


def room_for(n: int, ids: int, d: int, bits: int) -> Boxes:
    """Room for a tree over n groups of d columns, their ids below `ids`."""
    nodes = 2 * n + 2
    return Boxes(
        low=np.zeros((nodes, d), np.int32),
        high=np.zeros((nodes, d), np.int32),
        bits=np.zeros((nodes, bits), np.uint64),
        least_size=np.zeros(nodes, np.int64),
        most_size=np.zeros(nodes, np.int64),
        most_mass=np.zeros(nodes),
        most_cost=np.zeros(nodes),
        first=np.zeros(nodes, np.int64),
        left=np.zeros(nodes, np.int64),
        parent=np.zeros(nodes, np.int64),
        head=np.zeros(nodes, np.int64),
        leaf_of=np.zeros(ids, np.int64),
        next_in_leaf=np.zeros(ids, np.int64),
        items=np.zeros(n, np.int64),
        stack=np.zeros(3 * n + 9, np.int64),
        waiting=np.zeros(n + 3),
    )


@kernel
def union_floor(a: int, groups: Groups, node: int, boxes: Boxes, costs: Costs) -> Any:
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


@kernel
def bound(kind: int, a: int, groups: Groups, node: int, boxes: Boxes, costs: Costs) -> Any:
    """No cluster in the node is nearer to cluster a than this (rounded)."""
    if boxes.first[node] == NOBODY:
        return np.inf
    least = union_floor(a, groups, node, boxes, costs)
    size, cost = groups.size[a], groups.cost[a]
    most = boxes.most_cost[node]
    grows = not costs.entropy  # a union costs no less than its parts
    if grows:
        least = max(least, cost)
    if kind == BY_MASS:
        found = (size + boxes.least_size[node]) * least - size * cost - boxes.most_mass[node]
        return rounded(max(found, size * (least - cost)) if grows else found)
    if kind in (BY_COST, BY_LOG):
        apart = least - cost - most
        if grows:
            apart = max(apart, -cost)
        if kind == BY_COST:
            return rounded(apart)
        other = boxes.most_size[node] if apart > 0 else boxes.least_size[node]
        return rounded(apart / np.log(size + other))
    if kind == BY_RATIO:
        return rounded(least / (cost + most + EPSILON))
    return rounded(least - max(cost, most))


@kernel
def nearest(kind: int, a: int, groups: Groups, boxes: Boxes, costs: Costs) -> Any:
    """The nearest cluster in the tree but a itself -> (rounded distance, id), or id -1.

    Of equal ones the one with the smallest `first`, which also makes the smallest pair.
    """
    best, first, found = np.inf, NOBODY, -1
    boxes.stack[0] = 0
    boxes.waiting[0] = bound(kind, a, groups, 0, boxes, costs)
    waiting = 1
    while waiting:
        waiting -= 1
        node, least = boxes.stack[waiting], boxes.waiting[waiting]
        if least > best or (least == best and boxes.first[node] >= first):
            continue
        left = boxes.left[node]
        if left == 0:
            b = boxes.head[node]
            while b >= 0:
                if b != a:
                    here = gap(kind, a, groups, b, groups, costs)
                    if here < best or (here == best and groups.first[b] < first):
                        best, first, found = here, groups.first[b], b
                b = boxes.next_in_leaf[b]
            continue
        one = bound(kind, a, groups, left, boxes, costs)
        other = bound(kind, a, groups, left + 1, boxes, costs)
        nearer = int(other < one)  # that one is looked at first
        for child in (left + 1 - nearer, left + nearer):
            value = other if child > left else one
            if value < best or (value == best and boxes.first[child] < first):
                boxes.stack[waiting] = child
                boxes.waiting[waiting] = value
                waiting += 1
    return best, found


@kernel
def empty_box(node: int, boxes: Boxes) -> None:
    for j in range(boxes.low.shape[1]):
        boxes.low[node, j] = -1
        boxes.high[node, j] = 2**31 - 1
    for j in range(boxes.bits.shape[1]):
        boxes.bits[node, j] = np.uint64(0xFFFFFFFFFFFFFFFF)
    boxes.least_size[node] = NOBODY
    boxes.most_size[node] = 0
    boxes.most_mass[node] = 0.0
    boxes.most_cost[node] = 0.0
    boxes.first[node] = NOBODY


@kernel
def widen(node: int, boxes: Boxes, a: int, groups: Groups) -> None:
    """Let a node speak for cluster a too."""
    for j in range(groups.low.shape[1]):
        boxes.low[node, j] = max(boxes.low[node, j], groups.low[a, j])
        boxes.high[node, j] = min(boxes.high[node, j], groups.high[a, j])
    for j in range(groups.bits.shape[1]):
        boxes.bits[node, j] &= groups.bits[a, j]
    boxes.least_size[node] = min(boxes.least_size[node], groups.size[a])
    boxes.most_size[node] = max(boxes.most_size[node], groups.size[a])
    boxes.most_mass[node] = max(boxes.most_mass[node], groups.size[a] * groups.cost[a])
    boxes.most_cost[node] = max(boxes.most_cost[node], groups.cost[a])
    boxes.first[node] = min(boxes.first[node], groups.first[a])


@kernel
def refresh(node: int, boxes: Boxes, groups: Groups) -> None:
    """Say anew what is in a node."""
    empty_box(node, boxes)
    left = boxes.left[node]
    if left == 0:
        a = boxes.head[node]
        while a >= 0:
            widen(node, boxes, a, groups)
            a = boxes.next_in_leaf[a]
        return
    for child in (left, left + 1):
        for j in range(groups.low.shape[1]):
            boxes.low[node, j] = max(boxes.low[node, j], boxes.low[child, j])
            boxes.high[node, j] = min(boxes.high[node, j], boxes.high[child, j])
        for j in range(groups.bits.shape[1]):
            boxes.bits[node, j] &= boxes.bits[child, j]
        boxes.least_size[node] = min(boxes.least_size[node], boxes.least_size[child])
        boxes.most_size[node] = max(boxes.most_size[node], boxes.most_size[child])
        boxes.most_mass[node] = max(boxes.most_mass[node], boxes.most_mass[child])
        boxes.most_cost[node] = max(boxes.most_cost[node], boxes.most_cost[child])
        boxes.first[node] = min(boxes.first[node], boxes.first[child])


@kernel
def leave(a: int, boxes: Boxes, groups: Groups) -> None:
    """Take cluster a out of the tree."""
    leaf = boxes.leaf_of[a]
    if boxes.head[leaf] == a:
        boxes.head[leaf] = boxes.next_in_leaf[a]
    else:
        b = boxes.head[leaf]
        while boxes.next_in_leaf[b] != a:
            b = boxes.next_in_leaf[b]
        boxes.next_in_leaf[b] = boxes.next_in_leaf[a]
    node = leaf
    while True:
        refresh(node, boxes, groups)
        if node == 0:
            return
        node = boxes.parent[node]


@kernel
def settle(a: int, boxes: Boxes, groups: Groups, costs: Costs) -> None:
    """Put cluster a into the leaf towards which it stretches least."""
    node = 0
    while True:
        widen(node, boxes, a, groups)
        left = boxes.left[node]
        if left == 0:
            break
        one = union_floor(a, groups, left, boxes, costs) if boxes.first[left] != NOBODY else np.inf
        other = union_floor(a, groups, left + 1, boxes, costs) if boxes.first[left + 1] != NOBODY else np.inf
        node = left + int(other < one)
    boxes.leaf_of[a] = node
    boxes.next_in_leaf[a] = boxes.head[node]
    boxes.head[node] = a


@kernel
def middle(j: int, first: int, last: int, boxes: Boxes, groups: Groups) -> Any:
    """Between which codes (doubled) of column j the items first..last-1 fall into halves -> (line, found)."""
    low, high = 2**40, -1
    for i in range(first, last):
        here = groups.low[boxes.items[i], j] + groups.high[boxes.items[i], j]
        low = min(low, here)
        high = max(high, here)
    if low == high:
        return 0, False
    top = high
    while low < high:
        line = (low + high) // 2
        count = 0
        for i in range(first, last):
            a = boxes.items[i]
            count += groups.low[a, j] + groups.high[a, j] <= line
        if 2 * count >= last - first:
            high = line
        else:
            low = line + 1
    return (low if low < top else low - 1), True


@kernel
def widest(first: int, last: int, boxes: Boxes, groups: Groups, costs: Costs) -> Any:
    """The column in which the items first..last-1 lie furthest apart."""
    best, found = -1.0, 0
    for j in range(groups.low.shape[1]):
        low, high = groups.low[boxes.items[first], j], groups.high[boxes.items[first], j]
        for i in range(first, last):
            low = min(low, groups.low[boxes.items[i], j])
            high = max(high, groups.high[boxes.items[i], j])
        if costs.kind[j] == TABLE:
            here = costs.cost[costs.table[j] + low * costs.size[j] + high]
        else:
            here = (high - low) / max(costs.size[j] - 1, 1)
        if here > best:
            best, found = here, j
    return found


@kernel
def part(first: int, last: int, boxes: Boxes, groups: Groups, costs: Costs) -> Any:
    """Order the items first..last-1 into two parts -> where the second begins."""
    j = widest(first, last, boxes, groups, costs)
    for _ in range(groups.low.shape[1]):
        line, found = middle(j, first, last, boxes, groups)
        if found:
            cut = first
            for i in range(first, last):
                a = boxes.items[i]
                if groups.low[a, j] + groups.high[a, j] <= line:
                    boxes.items[i] = boxes.items[cut]
                    boxes.items[cut] = a
                    cut += 1
            return cut
        j = (j + 1) % groups.low.shape[1]
    return (first + last) // 2


@kernel
def plant(count: int, groups: Groups, boxes: Boxes, costs: Costs) -> None:
    """Build the tree over the first `count` items."""
    used, waiting = 1, 1
    boxes.parent[0] = 0
    boxes.stack[0], boxes.stack[1], boxes.stack[2] = 0, 0, count
    while waiting:
        waiting -= 1
        node, first, last = (
            boxes.stack[3 * waiting],
            boxes.stack[3 * waiting + 1],
            boxes.stack[3 * waiting + 2],
        )
        boxes.left[node] = 0
        boxes.head[node] = -1
        if last - first <= LEAF:
            for i in range(first, last):
                a = boxes.items[i]
                boxes.leaf_of[a] = node
                boxes.next_in_leaf[a] = boxes.head[node]
                boxes.head[node] = a
            continue
        cut = part(first, last, boxes, groups, costs)
        boxes.left[node] = used
        for side in range(2):
            boxes.parent[used + side] = node
            boxes.stack[3 * waiting] = used + side
            boxes.stack[3 * waiting + 1] = first if side == 0 else cut
            boxes.stack[3 * waiting + 2] = cut if side == 0 else last
            waiting += 1
        used += 2
    for node in range(used - 1, -1, -1):
        refresh(node, boxes, groups)
