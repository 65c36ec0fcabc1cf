"""The least that a column of a wide cell costs, from how often its values occur in a slab.

A slab holds the points that agree in all columns but some. A cell of the slab with k records has, in each of
those columns, values that occur k times in the slab, and at least two of them: each column alone tells a
price. Ranges are windows, sets are one's own value and the most frequent others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Codes, Floats, Ints
from incrowd.kernels.cell_bounds import NEVER
from incrowd.kernels.jit import inner, kernel


class Slabs(NamedTuple):
    """Points grouped: slab s has the points ``order[starts[s]:starts[s + 1]]``; `weight` is of all points."""

    order: Ints
    starts: Ints
    weight: Ints


class SlabValues(NamedTuple):
    """Room for the values of one slab: how often each code occurs, those that do, and what each costs."""

    often: Ints
    codes: Ints
    price: Floats
    rising: Ints


@inner
def _count(s: int, column: Codes, slabs: Slabs, room: SlabValues) -> Any:
    """Count the values of a slab -> how many there are; they stand by rising code."""
    values = 0
    for e in range(slabs.starts[s], slabs.starts[s + 1]):
        code = column[slabs.order[e]]
        if room.often[code] == 0:
            room.codes[values] = code
            values += 1
        room.often[code] += slabs.weight[slabs.order[e]]
    room.codes[:values].sort()
    return values


@inner
def _best_others(k: int, values: int, unit: float, room: SlabValues) -> None:
    """Of a set: each value costs one unit for every other one that it needs, the most frequent ones."""
    for a in range(values):
        room.rising[a] = room.often[room.codes[a]]
    room.rising[:values].sort()
    for a in range(values):
        own = room.often[room.codes[a]]
        others, held, skipped = 0, own, False
        for b in range(values - 1, -1, -1):
            if held >= k and others:
                break
            if not skipped and room.rising[b] == own:
                skipped = True
                continue
            held += room.rising[b]
            others += 1
        room.price[room.codes[a]] = others * unit if held >= k and others else NEVER


@inner
def _windows(
    k: int, least: int, first: int, values: int, extra: float, position: Floats, room: SlabValues, ends: Ints
) -> Any:
    """Lower the price of values from `first` on to the cheapest window with k of them -> the cheapest.

    A window holds at least `least` values and costs its width and `extra`, up to 1. ``ends[a]`` becomes the
    end of the shortest window that begins at value a; windows that begin later do not end earlier, so a
    queue of beginnings gives the cheapest window over each value.
    """
    held, end, begun = np.int64(0), first, first
    cheapest = NEVER
    for a in range(first, values):
        while end < values and (held < k or end - a < least):
            held += room.often[room.codes[end]]
            end += 1
        if held < k or end - a < least:
            break
        ends[a] = end - 1
        held -= room.often[room.codes[a]]
        begun = a + 1
    queue = np.empty(values + 1, np.int64)
    head, tail, entered, before = 0, 0, first, first - 1
    for v in range(first, values):
        while entered < begun and entered <= v:
            width = position[room.codes[ends[entered]]] - position[room.codes[entered]]
            while tail > head:
                other = queue[tail - 1]
                if position[room.codes[ends[other]]] - position[room.codes[other]] < width:
                    break
                tail -= 1
            queue[tail] = entered
            tail += 1
            entered += 1
        while before + 1 < entered and ends[before + 1] < v:
            before += 1
        while head < tail and ends[queue[head]] < v:
            head += 1
        width = NEVER
        if head < tail:
            width = position[room.codes[ends[queue[head]]]] - position[room.codes[queue[head]]]
        if before >= first:  # a window that ends too early, stretched up to here
            width = min(width, position[room.codes[v]] - position[room.codes[before]])
        if width < NEVER:
            cost = min(1.0, width + extra)
            room.price[room.codes[v]] = min(room.price[room.codes[v]], cost)
            cheapest = min(cheapest, cost)
    return cheapest


@kernel
def add_set_prices(k: int, unit: float, column: Codes, slabs: Slabs, room: SlabValues, price: Floats) -> None:
    """Add to the price (e,) of each point of the slabs what a set of its column costs at least."""
    for s in range(slabs.starts.size - 1):
        values = _count(s, column, slabs, room)
        _best_others(k, values, unit, room)
        for e in range(slabs.starts[s], slabs.starts[s + 1]):
            price[e] += room.price[column[slabs.order[e]]]
        for a in range(values):
            room.often[room.codes[a]] = 0


@kernel
def add_range_prices(
    k: int,
    share: float,
    floor: float,
    missing: int,
    position: Floats,
    column: Codes,
    slabs: Slabs,
    room: SlabValues,
    price: Floats,
) -> None:
    """Add to the price (e,) of each point of the slabs what a range of its column costs at least.

    Positions are parts of the span; ``floor`` is what ranges of this kind cost in any case. Missing beside a
    range costs an even share of the span, and its code (0, or -1) is before all numbers.
    """
    step = 1.0 / max(position.size - 1, 1)
    ends = np.empty(room.codes.size, np.int64)
    for s in range(slabs.starts.size - 1):
        values = _count(s, column, slabs, room)
        for a in range(values):
            room.price[room.codes[a]] = NEVER
        unknown = values > 0 and room.codes[0] == missing
        first = 1 if unknown else 0
        _windows(k, 2, first, values, 0.0, position, room, ends)
        if unknown:
            rest = max(k - room.often[missing], 0)
            room.price[missing] = _windows(rest, 1, first, values, step, position, room, ends)
        for e in range(slabs.starts[s], slabs.starts[s + 1]):
            price[e] += share * max(floor, room.price[column[slabs.order[e]]])
        for a in range(values):
            room.often[room.codes[a]] = 0
