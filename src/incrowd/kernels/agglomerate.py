"""Merging the closest pair of clusters again and again, exactly and without looking at all pairs.

Each cluster waits in a heap under the distance to its nearest other one when it last looked. Deaths only
raise that distance, and a new cluster looks for itself, which finds its pairs with all older ones: so keys
are lower bounds, and the first entry whose two clusters are alive is the closest pair. Looking is a search in
a binary tree over the living clusters; a node knows how little a union with anything in it can cost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Bools, Codes, Floats, Ints
from incrowd.kernels.boxes import ClusterTree, nearest, plant, turn
from incrowd.kernels.closure import Costs, GroupBounds, copy, nearest_of, own_cost, rounded, stretch
from incrowd.kernels.jit import inner, kernel

NONE: Any = np.int64(0)  # typed, or what is called with it is compiled once more for the literal 0


class MergeRules(NamedTuple):
    """What to merge: distance, size of a ripe cluster, and whether ripe clusters are cut back to k."""

    distance: int
    k: int
    modified: bool


class ClusterPool(NamedTuple):
    """The clusters: 0..n-1 are single records, others come after. `next_record` links a cluster's records."""

    groups: GroupBounds  # the last one is room for a cluster with one record less
    head: Ints
    tail: Ints
    next_record: Ints
    ripe: Ints  # (g,) ids of the clusters that are done
    tally: Ints  # (3,) ids used, ripe, records done


class Heap(NamedTuple):
    """Pairs by (distance, smaller first, larger first)."""

    key: Floats
    pair: Ints  # (room, 3) both firsts as one number, the cluster that looked, its neighbour


@kernel
def push(heap: Heap, size: int, key: float, own: int, partner: int, groups: GroupBounds) -> Any:
    """Enter a pair -> how many there are."""
    a, b = groups.first[own], groups.first[partner]
    firsts = (min(a, b) << 31) | max(a, b)
    i = size
    while i:
        up = (i - 1) // 2
        if heap.key[up] < key or (heap.key[up] == key and heap.pair[up, 0] <= firsts):
            break
        heap.key[i] = heap.key[up]
        for c in range(3):
            heap.pair[i, c] = heap.pair[up, c]
        i = up
    heap.key[i] = key
    heap.pair[i, 0], heap.pair[i, 1], heap.pair[i, 2] = firsts, own, partner
    return size + 1


@inner
def drop_top(heap: Heap, size: int) -> Any:
    """Take the first pair out -> how many are left."""
    last = size - 1
    key, firsts = heap.key[last], heap.pair[last, 0]
    i = 0
    while 2 * i + 1 < last:
        child = 2 * i + 1
        other = child + 1
        if other < last and (
            heap.key[other] < heap.key[child]
            or (heap.key[other] == heap.key[child] and heap.pair[other, 0] < heap.pair[child, 0])
        ):
            child = other
        if key < heap.key[child] or (key == heap.key[child] and firsts <= heap.pair[child, 0]):
            break
        heap.key[i] = heap.key[child]
        for c in range(3):
            heap.pair[i, c] = heap.pair[child, c]
        i = child
    heap.key[i] = key
    for c in range(3):
        heap.pair[i, c] = heap.pair[last, c]
    return last


@inner
def shed(a: int, pool: ClusterPool, costs: Costs) -> Any:
    """Take the record out without which cluster a costs least; of equal ones the last.

    Each is tried in turn, then the best once more, which leaves the last group as what cluster a becomes.
    """
    groups, after = pool.groups, pool.next_record
    room = groups.size.size - 1
    best, out, before_out = np.inf, -1, -1
    i, previous = pool.head[a], -1
    while True:
        one = i if i >= 0 else out
        begun = False
        b = pool.head[a]
        while b >= 0:
            if b != one and begun:
                stretch(room, groups, b, groups)
            elif b != one:
                copy(room, groups, b, groups)
                begun = True
            b = after[b]
        groups.cost[room] = own_cost(room, groups, costs)
        if i < 0:
            break
        here = rounded(groups.cost[room])
        if here < best or (here == best and i > out):
            best, out, before_out = here, i, previous
        i, previous = after[i], i
    copy(a, groups, room, groups)
    if before_out < 0:
        pool.head[a] = after[out]
    else:
        after[before_out] = after[out]
    if pool.tail[a] == out:
        pool.tail[a] = before_out
    after[out] = -1
    return out


@kernel
def merge(a: int, b: int, pool: ClusterPool, rules: MergeRules, costs: Costs, new: Ints) -> Any:
    """Merge two clusters -> how many are alive because of that, their ids in `new`.

    A ripe union goes to the output, cut back to k records if rules say so.
    """
    groups, tally = pool.groups, pool.tally
    if groups.first[b] < groups.first[a]:
        a, b = b, a
    union = tally[0]
    tally[0] += 1
    copy(union, groups, a, groups)
    stretch(union, groups, b, groups)
    groups.cost[union] = own_cost(union, groups, costs)
    pool.head[union] = pool.head[a]
    pool.next_record[pool.tail[a]] = pool.head[b]
    pool.tail[union] = pool.tail[b]
    if groups.size[union] < rules.k:
        new[0] = union
        return 1
    count = 0
    while rules.modified and groups.size[union] > rules.k:
        new[count] = shed(union, pool, costs)
        count += 1
    pool.ripe[tally[1]] = union
    tally[1] += 1
    tally[2] += groups.size[union]
    return count


@inner
def place_rest(pool: ClusterPool, alive: Bools, rules: MergeRules, costs: Costs, labels: Codes) -> None:
    """Records of the last cluster, by index, each to the ripe cluster that is nearest by then; labels.

    -2 marks records that are not placed yet.
    """
    for a in range(pool.tally[0]):
        i = pool.head[a] if alive[a] else -1
        while i >= 0:
            after = pool.next_record[i]
            pool.next_record[i] = -2
            i = after
    for i in range(pool.next_record.size):
        if pool.next_record[i] != -2:
            continue
        a = nearest_of(rules.distance, i, pool.groups, pool.ripe[: pool.tally[1]], pool.groups, costs)
        stretch(a, pool.groups, i, pool.groups)
        pool.groups.cost[a] = own_cost(a, pool.groups, costs)
        pool.next_record[i] = pool.head[a]
        pool.head[a] = i
    for g in range(pool.tally[1]):
        i = pool.head[pool.ripe[g]]
        while i >= 0:
            labels[i] = g
            i = pool.next_record[i]


@kernel
def agglomerate(
    pool: ClusterPool,
    boxes: ClusterTree,
    heap: Heap,
    rules: MergeRules,
    costs: Costs,
    clock: Ints,
    labels: Codes,
) -> None:
    """Merge until at most one cluster is not ripe; labels (n,) become the ripe cluster of each record.

    It ends early, without labels, once somebody else makes clock[0] negative.
    """
    looking, size = plant(pool.tally[0], pool.groups, boxes, costs), NONE
    while looking or size:
        if clock[0] < 0:
            return
        if looking:
            looking -= 1
            a = boxes.items[looking]
            if not boxes.alive[a]:
                turn(a, boxes, pool.groups, costs)
        else:
            if 2 * boxes.tally[1] > boxes.tally[0]:
                plant(pool.tally[0], pool.groups, boxes, costs)
            a, b = heap.pair[0, 1], heap.pair[0, 2]
            size = drop_top(heap, size)
            if not boxes.alive[a]:
                continue
            if boxes.alive[b]:
                for each in (a, b):
                    turn(each, boxes, pool.groups, costs)
                looking = merge(a, b, pool, rules, costs, boxes.items)
                clock[1] = pool.tally[2]
                continue
        key, partner = nearest(rules.distance, a, pool.groups, boxes, costs)
        if partner >= 0:
            size = push(heap, size, key, a, partner, pool.groups)
    place_rest(pool, boxes.alive, rules, costs, labels)
