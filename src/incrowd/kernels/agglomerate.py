"""Merging the closest pair of clusters again and again, exactly and without looking at all pairs.

Each cluster waits in a heap under the distance to its nearest other one when it last looked. Deaths only
raise that distance, and a new cluster looks for itself, which finds its pairs with all older ones: so keys
are lower bounds, and the first entry whose two clusters are alive is the closest pair. Looking is a search in
a binary tree over the living clusters; a node knows how little a union with anything in it can cost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.boxes import Boxes, leave, nearest, plant, settle
from incrowd.kernels.closure import Costs, Groups, copy, nearest_of, own_cost, rounded, stretch
from incrowd.kernels.jit import kernel


class Rules(NamedTuple):
    """What to merge: distance, size of a ripe cluster, and whether ripe clusters are cut back to k."""

    distance: int
    k: int
    modified: bool


class Pool(NamedTuple):
    """The clusters: 0..n-1 are single records, others come after. `next_record` links a cluster's records."""

    groups: Groups
    alive: NDArray[np.bool_]
    head: NDArray[np.int64]
    tail: NDArray[np.int64]
    next_record: NDArray[np.int64]
    ripe: NDArray[np.int64]  # (g,) ids of the clusters that are done
    tally: NDArray[np.int64]  # (5,) ids used, alive, ripe, changes since the tree was built, records done
    spare: Groups  # (1,) room for the union at hand, and one record less


class Heap(NamedTuple):
    """Pairs by (distance, smaller first, larger first); ``size[0]`` of them."""

    key: NDArray[np.float64]
    firsts: NDArray[np.int64]
    own: NDArray[np.int64]
    partner: NDArray[np.int64]
    size: NDArray[np.int64]


@kernel
def before(heap: Heap, i: int, j: int) -> Any:
    return heap.key[i] < heap.key[j] or (heap.key[i] == heap.key[j] and heap.firsts[i] < heap.firsts[j])


@kernel
def swap(heap: Heap, i: int, j: int) -> None:
    heap.key[i], heap.key[j] = heap.key[j], heap.key[i]
    heap.firsts[i], heap.firsts[j] = heap.firsts[j], heap.firsts[i]
    heap.own[i], heap.own[j] = heap.own[j], heap.own[i]
    heap.partner[i], heap.partner[j] = heap.partner[j], heap.partner[i]


@kernel
def sift_down(heap: Heap) -> None:
    """Let the top entry sink to its place."""
    i = 0
    while 2 * i + 1 < heap.size[0]:
        child = 2 * i + 1
        if child + 1 < heap.size[0] and before(heap, child + 1, child):
            child += 1
        if not before(heap, child, i):
            return
        swap(heap, i, child)
        i = child


@kernel
def drop_top(heap: Heap) -> None:
    heap.size[0] -= 1
    swap(heap, 0, heap.size[0])
    sift_down(heap)


@kernel
def enter(heap: Heap, at: int, key: float, own: int, partner: int, groups: Groups) -> None:
    """Write an entry, not minding the order."""
    a, b = groups.first[own], groups.first[partner]
    heap.key[at] = key
    heap.firsts[at] = (min(a, b) << 31) | max(a, b)
    heap.own[at] = own
    heap.partner[at] = partner


@kernel
def push(heap: Heap, key: float, own: int, partner: int, groups: Groups) -> None:
    i = heap.size[0]
    heap.size[0] += 1
    enter(heap, i, key, own, partner, groups)
    while i and before(heap, i, (i - 1) // 2):
        swap(heap, i, (i - 1) // 2)
        i = (i - 1) // 2


@kernel
def join(a: int, b: int, pool: Pool, costs: Costs) -> Any:
    """A new cluster of all records of a and b -> its id."""
    groups = pool.groups
    new = pool.tally[0]
    pool.tally[0] += 1
    copy(new, groups, a, groups)
    stretch(new, groups, b, groups)
    groups.cost[new] = own_cost(new, groups, costs)
    pool.head[new] = pool.head[a]
    pool.next_record[pool.tail[a]] = pool.head[b]
    pool.tail[new] = pool.tail[b]
    return new


@kernel
def without(out: int, a: int, pool: Pool, costs: Costs) -> Any:
    """What a row of cluster a costs without the record `out`, which becomes the cluster at hand."""
    spare, singles = pool.spare, pool.groups
    begun = False
    i = pool.head[a]
    while i >= 0:
        if i != out:
            if begun:
                stretch(0, spare, i, singles)
            else:
                copy(0, spare, i, singles)
            begun = True
        i = pool.next_record[i]
    return own_cost(0, spare, costs)


@kernel
def cheapest_to_drop(a: int, pool: Pool, costs: Costs) -> Any:
    """The record without which cluster a costs least; of equal ones the last."""
    best, found = np.inf, -1
    i = pool.head[a]
    while i >= 0:
        here = rounded(without(i, a, pool, costs))
        if here < best or (here == best and i > found):
            best, found = here, i
        i = pool.next_record[i]
    return found


@kernel
def drop(out: int, a: int, pool: Pool, costs: Costs) -> None:
    """Take a record out of cluster a."""
    pool.groups.cost[a] = without(out, a, pool, costs)
    cost = pool.groups.cost[a]
    copy(a, pool.groups, 0, pool.spare)
    pool.groups.cost[a] = cost
    if pool.head[a] == out:
        pool.head[a] = pool.next_record[out]
    else:
        i = pool.head[a]
        while pool.next_record[i] != out:
            i = pool.next_record[i]
        pool.next_record[i] = pool.next_record[out]
        if pool.tail[a] == out:
            pool.tail[a] = i
    pool.next_record[out] = -1


@kernel
def revive(a: int, pool: Pool, boxes: Boxes, costs: Costs) -> None:
    pool.alive[a] = True
    pool.tally[1] += 1
    pool.tally[3] += 1
    settle(a, boxes, pool.groups, costs)


@kernel
def look_for(a: int, pool: Pool, boxes: Boxes, heap: Heap, rules: Rules, costs: Costs) -> None:
    """Enter the pair of cluster a and its nearest other one."""
    key, partner = nearest(rules.distance, a, pool.groups, boxes, costs)
    if partner >= 0:
        push(heap, key, a, partner, pool.groups)


@kernel
def merge(a: int, b: int, pool: Pool, boxes: Boxes, heap: Heap, rules: Rules, costs: Costs) -> None:
    """Merge two clusters; a ripe union goes to the output, cut back to k records if rules say so."""
    for each in (a, b):
        pool.alive[each] = False
        pool.tally[1] -= 1
        pool.tally[3] += 1
        leave(each, boxes, pool.groups)
    if pool.groups.first[b] < pool.groups.first[a]:
        a, b = b, a
    new = join(a, b, pool, costs)
    if pool.groups.size[new] < rules.k:
        revive(new, pool, boxes, costs)
        look_for(new, pool, boxes, heap, rules, costs)
        return
    dropped = -1
    while rules.modified and pool.groups.size[new] > rules.k:
        out = cheapest_to_drop(new, pool, costs)
        drop(out, new, pool, costs)
        revive(out, pool, boxes, costs)
        boxes.items[dropped + 1] = out
        dropped += 1
    pool.ripe[pool.tally[2]] = new
    pool.tally[2] += 1
    pool.tally[4] += pool.groups.size[new]
    for i in range(dropped + 1):
        look_for(boxes.items[i], pool, boxes, heap, rules, costs)


@kernel
def place_rest(pool: Pool, rules: Rules, costs: Costs) -> None:
    """Records of the last cluster, by index, each to the ripe cluster that is nearest by then."""
    for i in range(pool.next_record.size):
        if pool.next_record[i] != -2:
            continue
        a = nearest_of(rules.distance, i, pool.groups, pool.ripe[: pool.tally[2]], pool.groups, costs)
        stretch(a, pool.groups, i, pool.groups)
        pool.groups.cost[a] = own_cost(a, pool.groups, costs)
        pool.next_record[i] = pool.head[a]
        pool.head[a] = i


@kernel
def replant(pool: Pool, boxes: Boxes, costs: Costs) -> None:
    """Build the tree anew over all clusters that are alive."""
    count = 0
    for a in range(pool.tally[0]):
        if pool.alive[a]:
            boxes.items[count] = a
            count += 1
    pool.tally[3] = 0
    plant(count, pool.groups, boxes, costs)


@kernel
def agglomerate(
    pool: Pool, boxes: Boxes, heap: Heap, rules: Rules, costs: Costs, clock: Any, labels: Any
) -> None:
    """Merge until at most one cluster is not ripe; labels (n,) become the ripe cluster of each record."""
    replant(pool, boxes, costs)
    for a in range(pool.tally[0]):
        if pool.alive[a]:
            look_for(a, pool, boxes, heap, rules, costs)
    while heap.size[0]:
        a, b = heap.own[0], heap.partner[0]
        if pool.alive[a] and pool.alive[b]:
            drop_top(heap)
            merge(a, b, pool, boxes, heap, rules, costs)
            clock[1] = pool.tally[4]
            if 2 * pool.tally[3] > pool.tally[1]:
                replant(pool, boxes, costs)
        elif pool.alive[a]:
            key, partner = nearest(rules.distance, a, pool.groups, boxes, costs)
            if partner >= 0:
                enter(heap, 0, key, a, partner, pool.groups)
                sift_down(heap)
            else:
                drop_top(heap)
        else:
            drop_top(heap)
    for a in range(pool.tally[0]):
        i = pool.head[a] if pool.alive[a] else -1
        while i >= 0:
            after = pool.next_record[i]
            pool.next_record[i] = -2
            i = after
    place_rest(pool, rules, costs)
    for g in range(pool.tally[2]):
        i = pool.head[pool.ripe[g]]
        while i >= 0:
            labels[i] = g
            i = pool.next_record[i]
