"""Deal a row of records into groups in which no value has more than 1/l. See `partitions.hilbert`.

The records of a value wait in a queue, the first of each queue in a heap. Values lie by falling count, and
move by one exchange when a count falls, so that those that must be taken stand in front.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Int, Ints
from incrowd.kernels.jit import inlined, kernel

NOBODY = -1


class Waiting(NamedTuple):
    """Records that are in no group yet; a record is its place in the row.

    `value`, `group` and `after` (n,) are a record's value, its group and the next record of its value. For
    each value (v,): the first that waits, how many do, and its place in `falling`, where values lie by
    falling count; ``ends[c]`` is how many have a count of at least c. `inside` (2, v): the last group that a
    value came into, and how often.
    """

    value: Ints
    group: Ints
    after: Ints
    first: Ints
    counts: Ints
    rank: Ints
    falling: Ints
    ends: Ints
    inside: Ints


@kernel
def deal(row: Waiting, l: int, least: int, clock: Ints) -> Any:  # noqa: E741  the paper's letter
    """Groups of a row in which no value has more than 1/l -> how many.

    With `least` = l groups have l records, and fewer than l are left over; with more, at least that many and
    none is left over.
    """
    heap = [row.first[v] for v in range(row.first.size)]
    heapify(heap)
    left, groups = row.value.size, 0
    while left >= l:
        size = l if least == l else fitting_size(row, left, l, least)
        taken = take_what_must(row, heap, left, l, size, groups)
        fill(row, heap, size - taken, size // l, groups)
        left -= size
        groups += 1
        clock[1] += size
    return groups


@inlined
def fitting_size(row: Waiting, left: int, l: int, least: int) -> Any:  # noqa: E741
    """The smallest size that leaves an eligible rest, and nothing or enough for another group."""
    for size in range(least, left - least + 1):
        if fits(row, left, l, size):
            return size
    return left


@inlined
def fits(row: Waiting, left: int, l: int, size: int) -> Any:  # noqa: E741
    """Can as many be taken, of each value at most 1/l, such that each has at most 1/l of the rest?"""
    most, stay = size // l, (left - size) // l
    must, may = 0, 0
    for v in row.falling:
        count = row.counts[v]
        if count == 0 or (count <= stay and may >= size):
            break
        if count - stay > most:
            return False
        must += max(count - stay, 0)
        may += min(count, most)
        if must > size:
            return False
    return may >= size


@inlined
def take_what_must(row: Waiting, heap: list[Int], left: int, l: int, size: int, group: int) -> Any:  # noqa: E741
    """Take what would be more than 1/l of the rest -> how many. If that is too much, the earliest of it."""
    most, stay = size // l, (left - size) // l
    at_limit, total = 0, 0
    for v in row.falling:
        if row.counts[v] <= stay:
            break
        at_limit += 1
        total += min(row.counts[v] - stay, most)
    forced = row.falling[:at_limit].copy()
    if total > size:  # only near the end, and then one of each
        forced = forced[np.argsort(row.first[forced])][:size]
        for v in forced:
            take(row, heap, row.first[v], group)
    else:
        for v in forced:
            for _ in range(min(row.counts[v] - stay, most)):
                take(row, heap, row.first[v], group)
    return min(total, size)


@inlined
def fill(row: Waiting, heap: list[Int], missing: int, most: int, group: int) -> None:
    """Take the earliest that wait, of each value at most so many."""
    aside: list[Int] = [np.int64(0)]
    while missing > 0:
        place = heappop(heap)
        if row.group[place] != NOBODY:
            continue  # it was taken because it must
        v = row.value[place]
        if row.inside[0, v] == group and row.inside[1, v] == most:
            aside.append(place)
        else:
            take(row, heap, place, group)
            missing -= 1
    for place in aside[1:]:
        heappush(heap, place)


@inlined
def take(row: Waiting, heap: list[Int], place: Int, group: int) -> None:
    """Put the first record that waits of its value into a group."""
    v = row.value[place]
    row.group[place] = group
    row.inside[1, v] = row.inside[1, v] + 1 if row.inside[0, v] == group else 1
    row.inside[0, v] = group
    row.first[v] = row.after[place]
    if row.first[v] != NOBODY:
        heappush(heap, row.first[v])
    count = row.counts[v]
    row.ends[count] -= 1
    here, there = row.rank[v], row.ends[count]
    other = row.falling[there]
    row.falling[here], row.falling[there] = other, v
    row.rank[other], row.rank[v] = here, there
    row.counts[v] = count - 1


@kernel
def settle(row: Waiting, groups: int) -> None:
    """Give everybody who is left over to the nearest group without their value; of equals to the left one."""
    n = row.value.size
    has = np.full(groups, NOBODY)  # the last one left over whose value a group has
    for place in range(n):
        if row.group[place] != NOBODY:
            continue
        for other in range(n):
            if row.value[other] == row.value[place] and row.group[other] != NOBODY:
                has[row.group[other]] = place
        for step in range(1, n):
            for near in (place - step, place + step):
                free = 0 <= near < n and row.group[near] != NOBODY and has[row.group[near]] != place
                if free and row.group[place] == NOBODY:
                    row.group[place] = row.group[near]
            if row.group[place] != NOBODY:
                break
