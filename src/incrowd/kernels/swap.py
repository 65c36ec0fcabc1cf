"""Local search over equivalence classes: two records of different classes change places.

Classes of exactly k records cannot give anybody away; they can still swap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.arrays import Floats, Ints
from incrowd.kernels.closure import SET, Costs
from incrowd.kernels.jit import inner, kernel
from incrowd.kernels.polish import (
    LEAST_GAIN,
    NOBODY,
    ChainedClasses,
    Seconds,
    cell_loss,
    cost_without,
    dearer,
    find_seconds,
    join,
    leave,
    set_loss,
    shrink,
)


@kernel
def cost_instead(i: int, j: int, classes: ChainedClasses, seconds: Seconds, costs: Costs) -> Any:
    """What a row costs of the class that `seconds` tell of, if record i of it leaves and j comes."""
    d = classes.codes.shape[1]
    total = 0.0
    for c in range(d):
        out, new = classes.codes[i, c], classes.codes[j, c]
        if costs.kind[c] == SET:
            alone = (np.uint64(1) << np.uint64(out)) & ~seconds.twice[c]
            total += set_loss(c, (seconds.once[c] & ~alone) | (np.uint64(1) << np.uint64(new)), costs)
        else:
            low = min(seconds.low[1 if out == seconds.low[0, c] else 0, c], new)
            high = max(seconds.high[1 if out == seconds.high[0, c] else 0, c], new)
            total += cell_loss(c, low, high, costs)
    return total / d


@kernel
def most_freed(a: int, classes: ChainedClasses, seconds: Seconds, costs: Costs) -> Any:
    """By how much at most a row of class a gets cheaper if one record leaves; `seconds` are of it then."""
    if classes.bounds.size[a] < 2:
        return 0.0
    find_seconds(a, classes, seconds, costs)
    least = classes.bounds.cost[a]
    i = classes.head[a]
    while i >= 0:
        least = min(least, cost_without(i, classes, seconds, costs))
        i = classes.after[i]
    return classes.bounds.cost[a] - least


@kernel
def free_all(freed: Floats, classes: ChainedClasses, seconds: Seconds, costs: Costs) -> None:
    """Write down for every class what `most_freed` says."""
    for a in range(classes.head.size):
        freed[a] = most_freed(a, classes, seconds, costs)


@kernel
def exchange(
    i: int, j: int, freed: Floats, classes: ChainedClasses, seconds: Seconds, others: Seconds, costs: Costs
) -> None:
    """Let records i and j change places."""
    a, b = classes.label[i], classes.label[j]
    leave(i, classes)
    leave(j, classes)
    join(b, i, classes)
    join(a, j, classes)
    classes.bounds.size[a] += 1
    classes.bounds.size[b] += 1
    shrink(a, classes, seconds, costs)
    shrink(b, classes, others, costs)
    freed[a] = most_freed(a, classes, seconds, costs)
    freed[b] = most_freed(b, classes, others, costs)


@inner
def _next_within_reach(
    first: int, i: int, gain: float, freed: Floats, classes: ChainedClasses, costs: Costs
) -> Any:
    """The next class that record i may go to for less than it gains, if the best of it leaves; or -1."""
    bounds, own = classes.bounds, classes.label[i]
    for b in range(first, classes.head.size):
        if b == own or bounds.size[b] == 0:
            continue
        limit = gain / bounds.size[b] + freed[b]
        if dearer(b, i, classes.codes, bounds, costs, limit) < np.inf:
            return b
    return NOBODY


@inner
def best_swap(
    i: int, freed: Floats, classes: ChainedClasses, seconds: Seconds, others: Seconds, costs: Costs
) -> Any:
    """The record that i should change places with -> (record or -1, what that saves).

    `seconds` are those of i's class. Taking a record out of B and i frees no more than taking it out of B
    does, for ranges and sets; where trees make that false, a swap may be missed, never a wrong one found.
    """
    bounds = classes.bounds
    a = classes.label[i]
    size = bounds.size[a]
    gain = size * (bounds.cost[a] - cost_without(i, classes, seconds, costs))
    best, found = LEAST_GAIN, NOBODY
    if gain <= LEAST_GAIN:
        return found, 0.0
    b = _next_within_reach(0, i, gain - best, freed, classes, costs)
    while b >= 0:
        count = bounds.size[b]
        most = (gain - best) / count + bounds.cost[b]
        find_seconds(b, classes, others, costs)
        j = classes.head[b]
        while j >= 0:
            theirs = cost_instead(j, i, classes, others, costs)
            if theirs < most:
                own = cost_instead(i, j, classes, seconds, costs)
                saves = size * (bounds.cost[a] - own) + count * (bounds.cost[b] - theirs)
                if saves > best:
                    best, found = saves, j
                    most = (gain - best) / count + bounds.cost[b]
            j = classes.after[j]
        b = _next_within_reach(b + 1, i, gain - best, freed, classes, costs)
    return found, best if found >= 0 else 0.0


@kernel
def next_swap(
    at: Ints,
    order: Ints,
    freed: Floats,
    classes: ChainedClasses,
    seconds: Seconds,
    others: Seconds,
    costs: Costs,
) -> Any:
    """Find two records that should change places -> (record, record, what that saves), or -1.

    `at[0]` is the place in `order`, the records to look at.
    """
    while at[0] < order.size:
        i = order[at[0]]
        at[0] += 1
        a = classes.label[i]
        if classes.bounds.cost[a] <= LEAST_GAIN or classes.bounds.size[a] < 2:
            continue
        find_seconds(a, classes, seconds, costs)
        j, saves = best_swap(i, freed, classes, seconds, others, costs)
        if j >= 0:
            return i, j, saves
    return NOBODY, NOBODY, 0.0


@kernel
def swap_all(
    order: Ints, freed: Floats, classes: ChainedClasses, seconds: Seconds, others: Seconds, costs: Costs
) -> Any:
    """Let records change places, in this order -> what that saved."""
    at = np.zeros(1, np.int64)
    free_all(freed, classes, seconds, costs)
    saved = 0.0
    while True:
        i, j, saves = next_swap(at, order, freed, classes, seconds, others, costs)
        if i < 0:
            return saved
        exchange(i, j, freed, classes, seconds, others, costs)
        saved += saves
