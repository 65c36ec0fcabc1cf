"""Large moves of the local search: a new class is opened around a record among the classes near it.

The classes near a record are taken as a small table of their own. A cell grows around the record, draws in
whom that helps, classes that fall below k dissolve, and single records move; what comes out cheaper counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.arrays import Ints
from incrowd.kernels.closure import SET, Costs, own_cost
from incrowd.kernels.jit import kernel
from incrowd.kernels.polish import (
    LEAST_GAIN,
    Classes,
    Seconds,
    cheapest_class,
    cost_with,
    join,
    leave,
    move,
    relocate,
    shrink,
    widen,
)

SAME = 1e-12
BEYOND = 3  # how many steps a cell grows on after it holds k


@kernel
def nearest_classes(i: int, classes: Classes, costs: Costs, near: Ints) -> Any:
    """The own class of record i, then the others by what a row of theirs would cost with it -> how many."""
    most = near.size
    key = np.empty(most)
    near[0], key[0], count = classes.label[i], -1.0, 1
    for b in range(classes.head.size):
        if b == near[0] or classes.bounds.size[b] == 0:
            continue
        cost = cost_with(b, i, classes, costs, key[count - 1] if count == most else np.inf)
        if cost == np.inf or (count == most and cost >= key[count - 1]):
            continue
        at = min(count, most - 1)
        while at > 1 and key[at - 1] > cost:
            key[at], near[at] = key[at - 1], near[at - 1]
            at -= 1
        key[at], near[at] = cost, b
        count = min(count + 1, most)
    return count


@kernel
def gather(count: int, near: Ints, classes: Classes, local: Classes, ids: Ints) -> Any:
    """Copy the first classes of `near` as far as there is room -> (classes, records); `ids` are the records."""
    held = 0
    local.head[:] = -1
    local.bounds.size[:] = 0
    local.bounds.cost[:] = 0.0
    for u in range(count):
        b = near[u]
        if held + classes.bounds.size[b] > ids.size:
            return u, held
        i = classes.head[b]
        while i >= 0:
            ids[held] = i
            local.codes[held] = classes.codes[i]
            join(u, held, local)
            held += 1
            i = classes.after[i]
        local.bounds.low[u], local.bounds.high[u] = classes.bounds.low[b], classes.bounds.high[b]
        local.bounds.bits[u] = classes.bounds.bits[b]
        local.bounds.size[u], local.bounds.cost[u] = classes.bounds.size[b], classes.bounds.cost[b]
    return count, held


@kernel
def start_cell(z: int, i: int, local: Classes, costs: Costs) -> None:
    """Let class z be the cell of record i, without anybody in it."""
    for j in range(local.codes.shape[1]):
        code = local.codes[i, j]
        local.bounds.low[z, j], local.bounds.high[z, j] = code, code
        if costs.kind[j] == SET:
            local.bounds.bits[z, j] = np.uint64(1) << np.uint64(code)
    local.bounds.cost[z] = own_cost(z, local.bounds, costs)


@kernel
def grow_cell(k: int, z: int, start: int, held: int, local: Classes, costs: Costs, inside: Ints) -> Any:
    """Grow the cell of class z from a record -> which step was best; `inside` (held,) says when each came in.

    A step's value is what those inside would save. 0 if no step with k records inside saves anything.
    """
    bounds = local.bounds
    start_cell(z, start, local, costs)
    inside[:held] = 0
    value, best, step, beyond = 0.0, 0, 0, 0
    while True:
        step += 1
        cost = bounds.cost[z]
        nearest, least = -1, np.inf
        for e in range(held):
            if inside[e]:
                continue
            with_it = cost_with(z, e, local, costs, least)
            if with_it <= cost + SAME:
                inside[e] = step
            elif with_it < least:
                nearest, least = e, with_it
        count, here = 0, 0.0
        for e in range(held):
            if inside[e]:
                count += 1
                here += max(0.0, bounds.cost[local.label[e]] - cost)
        if count >= k:
            if here > value:
                value, best = here, step
            beyond += 1
        if nearest < 0 or beyond > BEYOND or least >= bounds.cost[local.label[start]]:
            return best
        size = bounds.size[z]
        widen(z, nearest, local, costs)
        bounds.size[z] = size


@kernel
def draw_in(
    k: int, z: int, start: int, step: int, held: int, inside: Ints, local: Classes, seconds: Seconds, costs: Costs
) -> Any:
    """Let class z take whom it holds by this step and whom that helps -> False if they are fewer than k.

    A class that would keep fewer than k, but more than half, keeps k; others that fall below k dissolve.
    """
    bounds = local.bounds
    start_cell(z, start, local, costs)
    for e in range(held):
        if inside[e] and inside[e] <= step:
            widen(z, e, local, costs)
    cell = bounds.cost[z]
    bounds.size[z] = 0
    taken = np.zeros(z, np.int64)
    for e in range(held):
        u = local.label[e]
        if inside[e] and inside[e] <= step and bounds.cost[u] > cell + SAME:
            taken[u] += 1
    count = 0
    for u in range(z):
        rest = bounds.size[u] - taken[u]
        if 0 < rest < k and 2 * rest > k:
            taken[u] = max(0, bounds.size[u] - k)
        count += taken[u]
    while count < k:  # then those give all, dearest first, that were to keep k
        dearest, most = -1, -1.0
        for u in range(z):
            some = 0
            e = local.head[u]
            while e >= 0:
                some += inside[e] and inside[e] <= step
                e = local.after[e]
            if bounds.cost[u] > cell + SAME and some > taken[u] and bounds.cost[u] > most:
                dearest, most = u, bounds.cost[u]
        if dearest < 0:
            return False
        some = 0
        e = local.head[dearest]
        while e >= 0:
            some += inside[e] and inside[e] <= step
            e = local.after[e]
        count += some - taken[dearest]
        taken[dearest] = some
    for e in range(held):
        u = local.label[e]
        if u != z and inside[e] and inside[e] <= step and taken[u] > 0:
            taken[u] -= 1
            leave(e, local)
            join(z, e, local)
            bounds.size[z] += 1
    for u in range(z + 1):
        shrink(u, local, seconds, costs)
    for u in range(z):
        if 0 < bounds.size[u] < k:
            while local.head[u] >= 0:
                e = local.head[u]
                _, b = cheapest_class(e, u, 1e30, local, costs)
                if b < 0:
                    return False
                move(e, b, local, seconds, costs)
    return True


@kernel
def reopen(
    k: int,
    i: int,
    classes: Classes,
    local: Classes,
    ids: Ints,
    near: Ints,
    inside: Ints,
    seconds: Seconds,
    costs: Costs,
) -> Any:
    """Try to open a class around record i -> (what that saves, classes, records) of `local`; 0 if nothing."""
    count = nearest_classes(i, classes, costs, near)
    count, held = gather(count, near, classes, local, ids)
    if count < 2:
        return 0.0, 0, 0
    before, start = 0.0, 0
    for u in range(count):
        before += local.bounds.size[u] * local.bounds.cost[u]
    while ids[start] != i:
        start += 1
    step = grow_cell(k, count, start, held, local, costs, inside)
    if step == 0 or not draw_in(k, count, start, step, held, inside, local, seconds, costs):
        return 0.0, 0, 0
    relocate(k, np.arange(count + 1), local, seconds, costs)
    after = 0.0
    for u in range(count + 1):
        after += local.bounds.size[u] * local.bounds.cost[u]
    return (before - after if before - after > LEAST_GAIN else 0.0), count, held


@kernel
def accept(
    new: int, count: int, held: int, near: Ints, ids: Ints, classes: Classes, local: Classes, seconds: Seconds, costs: Costs
) -> None:
    """Let the classes be what they are in `local`; the opened one becomes class `new`, which was empty."""
    for e in range(held):
        u = local.label[e]
        b = new if u == count else near[u]
        if classes.label[ids[e]] != b:
            leave(ids[e], classes)
            join(b, ids[e], classes)
            classes.bounds.size[b] += 1
    for u in range(count + 1):
        shrink(new if u == count else near[u], classes, seconds, costs)


@kernel
def reopen_all(
    k: int,
    seeds: Ints,
    classes: Classes,
    local: Classes,
    ids: Ints,
    near: Ints,
    inside: Ints,
    seconds: Seconds,
    costs: Costs,
) -> Any:
    """Try to open classes around these records, one after the other -> what that saved."""
    saved, empty = 0.0, 0
    for x in range(seeds.size):
        i = seeds[x]
        if classes.bounds.cost[classes.label[i]] <= LEAST_GAIN:
            continue
        while empty < classes.head.size and classes.bounds.size[empty] > 0:
            empty += 1
        if empty == classes.head.size:
            empty = 0
            while empty < classes.head.size and classes.bounds.size[empty] > 0:
                empty += 1
            if empty == classes.head.size:
                break
        saves, count, held = reopen(k, i, classes, local, ids, near, inside, seconds, costs)
        if saves > 0:
            accept(empty, count, held, near, ids, classes, local, seconds, costs)
            saved += saves
    return saved
