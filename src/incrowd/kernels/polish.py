"""Local search over equivalence classes: single records move to other classes, and dear classes dissolve.

What a class costs is the cost of its rows times their number. A record leaves a class of more than k if that
saves more than its new class pays. A class dissolves if all its records find room elsewhere for less.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Codes, Ints, Words
from incrowd.kernels.closure import LINE, SET, TABLE, Costs, GroupBounds, count_of
from incrowd.kernels.jit import inlined, inner, kernel

LEAST_GAIN = 1e-9  # less is rounding
NOBODY: Any = np.int64(-1)


class ChainedClasses(NamedTuple):
    """Classes of records (n, d): their bounds, and who is in them as chains that are linked both ways."""

    codes: Codes
    bounds: GroupBounds
    label: Ints  # (n,)
    head: Ints  # (g,) the first record of each class, -1 if it is empty
    after: Ints  # (n,)
    before: Ints  # (n,)


class Seconds(NamedTuple):
    """Per column of one class: the two lowest and two highest codes, values that occur once and more."""

    low: Ints  # (2, d)
    high: Ints  # (2, d)
    once: Words  # (d,)
    twice: Words  # (d,)


def seconds_of(d: int) -> Seconds:
    """Room for what is told of one class of d columns."""
    return Seconds(
        np.empty((2, d), np.int64), np.empty((2, d), np.int64), np.empty(d, np.uint64), np.empty(d, np.uint64)
    )


@inlined
def cell_loss(j: int, low: Any, high: Any, costs: Costs) -> Any:
    """What the smallest cell over codes low..high of a column that is no set costs, paid by loss.

    A call of anything that is compiled apart would make the loops around this five times slower.
    """
    if costs.kind[j] == TABLE:
        return costs.cost[costs.table[j] + low * costs.size[j] + high]
    start = costs.start[j]
    if costs.kind[j] == LINE:
        return (costs.position[start + high] - costs.position[start + low]) * costs.scale[j]
    node = costs.leaf[start + low]
    while costs.high[node] < high:
        node = costs.parent[node]
    return costs.node_cost[node]


@inlined
def set_loss(j: int, bits: Any, costs: Costs) -> Any:
    """What publishing exactly these codes costs, paid by loss."""
    return (count_of(bits) - 1) * costs.scale[j]


@inlined
def dearer(a: int, i: int, codes: Codes, bounds: GroupBounds, costs: Costs, limit: float) -> Any:
    """By how much a row of class a gets dearer if record i joins; infinity if that is above `limit`."""
    d = codes.shape[1]
    total, most = 0.0, limit * d
    for j in range(d):
        code = codes[i, j]
        if costs.kind[j] == SET:
            if bounds.bits[a, j] & (np.uint64(1) << np.uint64(code)):
                continue
            total += costs.scale[j]
        else:
            low, high = bounds.low[a, j], bounds.high[a, j]
            if low <= code <= high:
                continue
            total += cell_loss(j, min(low, code), max(high, code), costs) - cell_loss(j, low, high, costs)
        if total > most:
            return np.inf
    return total / d


@kernel
def cost_without(i: int, classes: ChainedClasses, seconds: Seconds, costs: Costs) -> Any:
    """What a row of a record's class costs if it leaves."""
    d = classes.codes.shape[1]
    total = 0.0
    for j in range(d):
        code = classes.codes[i, j]
        if costs.kind[j] == SET:
            bit = np.uint64(1) << np.uint64(code)
            alone = bit & ~seconds.twice[j]
            total += set_loss(j, seconds.once[j] & ~alone, costs)
        else:
            low = seconds.low[1 if code == seconds.low[0, j] else 0, j]
            high = seconds.high[1 if code == seconds.high[0, j] else 0, j]
            total += cell_loss(j, low, high, costs)
    return total / d


@kernel
def row_loss(a: int, bounds: GroupBounds, costs: Costs) -> Any:
    """What a row of class a costs."""
    total = 0.0
    for j in range(costs.kind.size):
        if costs.kind[j] == SET:
            total += set_loss(j, bounds.bits[a, j], costs)
        else:
            total += cell_loss(j, bounds.low[a, j], bounds.high[a, j], costs)
    return total / costs.kind.size


@kernel
def find_seconds(a: int, classes: ChainedClasses, seconds: Seconds, costs: Costs) -> None:
    """Look at everyone in class a."""
    d = classes.codes.shape[1]
    low, high, once, twice = seconds.low, seconds.high, seconds.once, seconds.twice
    low[:], high[:] = np.iinfo(np.int32).max, -1
    once[:], twice[:] = np.uint64(0), np.uint64(0)
    i = classes.head[a]
    while i >= 0:
        for j in range(d):
            code = classes.codes[i, j]
            if costs.kind[j] == SET:
                bit = np.uint64(1) << np.uint64(code)
                twice[j] |= once[j] & bit
                once[j] |= bit
                continue
            if code < low[0, j]:
                low[1, j], low[0, j] = low[0, j], code
            elif code < low[1, j]:
                low[1, j] = code
            if code > high[0, j]:
                high[1, j], high[0, j] = high[0, j], code
            elif code > high[1, j]:
                high[1, j] = code
        i = classes.after[i]


@kernel
def widen(a: int, i: int, classes: ChainedClasses, costs: Costs) -> None:
    """Let the bounds of class a hold record i too."""
    bounds = classes.bounds
    for j in range(classes.codes.shape[1]):
        code = classes.codes[i, j]
        bounds.low[a, j] = min(bounds.low[a, j], code)
        bounds.high[a, j] = max(bounds.high[a, j], code)
        if costs.kind[j] == SET:
            bounds.bits[a, j] |= np.uint64(1) << np.uint64(code)
    bounds.size[a] += 1
    bounds.cost[a] = row_loss(a, bounds, costs)


@kernel
def shrink(a: int, classes: ChainedClasses, seconds: Seconds, costs: Costs) -> None:
    """Set the bounds of class a by its records, which have changed; `seconds` become those of it."""
    find_seconds(a, classes, seconds, costs)
    bounds = classes.bounds
    for j in range(classes.codes.shape[1]):
        if costs.kind[j] == SET:
            bounds.bits[a, j] = seconds.once[j]
        else:
            bounds.low[a, j], bounds.high[a, j] = seconds.low[0, j], seconds.high[0, j]
    if classes.head[a] >= 0:
        bounds.cost[a] = row_loss(a, bounds, costs)
    else:
        bounds.cost[a] = 0.0


@kernel
def join(a: int, i: int, classes: ChainedClasses) -> None:
    """Put record i in front of class a's chain."""
    classes.label[i] = a
    classes.before[i], classes.after[i] = -1, classes.head[a]
    if classes.head[a] >= 0:
        classes.before[classes.head[a]] = i
    classes.head[a] = i


@inner
def leave(i: int, classes: ChainedClasses) -> None:
    """Take record i out of its class's chain; the bounds are not changed."""
    a = classes.label[i]
    if classes.before[i] >= 0:
        classes.after[classes.before[i]] = classes.after[i]
    else:
        classes.head[a] = classes.after[i]
    if classes.after[i] >= 0:
        classes.before[classes.after[i]] = classes.before[i]
    classes.bounds.size[a] -= 1


@inner
def cheapest_class(i: int, own: int, limit: float, classes: ChainedClasses, costs: Costs) -> Any:
    """Which class pays least for taking record i, below `limit` -> (price, class or -1); not class `own`."""
    bounds = classes.bounds
    best, found = limit, NOBODY
    for b in range(classes.head.size):
        size, cost = bounds.size[b], bounds.cost[b]
        if b == own or size == 0 or cost >= best:
            continue
        more = dearer(b, i, classes.codes, bounds, costs, (best - cost) / (size + 1))
        if more < np.inf:
            price = cost + (size + 1) * more
            if price < best:
                best, found = price, b
    return best, found


@kernel
def move(i: int, b: int, classes: ChainedClasses, seconds: Seconds, costs: Costs) -> None:
    """Let record i go to class b; `seconds` become those of the class that it left."""
    a = classes.label[i]
    leave(i, classes)
    shrink(a, classes, seconds, costs)
    join(b, i, classes)
    widen(b, i, classes, costs)


@kernel
def next_move(k: int, order: Ints, at: Ints, classes: ChainedClasses, seconds: Seconds, costs: Costs) -> Any:
    """Find a record that should move -> (record, class it should go to, what that saves), or -1.

    `at` holds the place in `order`, the classes to look at, and the next record there; -1 begins a class.
    """
    bounds = classes.bounds
    while at[0] < order.size:
        a = order[at[0]]
        i = at[1]
        if i == -1:
            i = classes.head[a] if bounds.size[a] > k else NOBODY
        if i >= 0:
            find_seconds(a, classes, seconds, costs)
        while i >= 0 and bounds.size[a] > k:
            size = bounds.size[a]
            saves = size * bounds.cost[a] - (size - 1) * cost_without(i, classes, seconds, costs)
            if saves > LEAST_GAIN:
                price, b = cheapest_class(i, a, saves - LEAST_GAIN, classes, costs)
                if b >= 0:
                    at[1] = classes.after[i]
                    if at[1] < 0:
                        at[0] += 1
                    return i, b, saves - price
            i = classes.after[i]
        at[0] += 1
        at[1] = -1
    return NOBODY, NOBODY, 0.0


@kernel
def relocate(k: int, order: Ints, classes: ChainedClasses, seconds: Seconds, costs: Costs) -> Any:
    """Let records move, class by class -> what that saved."""
    at = np.array([0, -1])
    saved = 0.0
    while True:
        i, b, saves = next_move(k, order, at, classes, seconds, costs)
        if i < 0:
            return saved
        move(i, b, classes, seconds, costs)
        saved += saves


@kernel
def scatter(
    a: int, worth: float, classes: ChainedClasses, costs: Costs, ids: Ints, targets: Ints, room: GroupBounds
) -> Any:
    """How the records of class a would go elsewhere for less than `worth` -> what is left of it, or 0.

    They are written into `ids`, and where to into `targets`. Nothing is changed: the bounds of classes that
    were widened on the way are taken back from `room`.
    """
    bounds = classes.bounds
    size = bounds.size[a]
    if size == 0 or size > ids.size or worth <= LEAST_GAIN:
        return 0.0
    c = 0
    i = classes.head[a]
    while i >= 0:
        ids[c] = i
        c += 1
        i = classes.after[i]
    spent, placed = 0.0, 0
    while placed < c:
        price, b = cheapest_class(ids[placed], a, worth - spent - LEAST_GAIN, classes, costs)
        if b < 0:
            break
        room.low[placed], room.high[placed] = bounds.low[b], bounds.high[b]
        room.bits[placed] = bounds.bits[b]
        room.cost[placed] = bounds.cost[b]
        targets[placed] = b
        spent += price
        widen(b, ids[placed], classes, costs)
        placed += 1
    for p in range(placed - 1, -1, -1):
        b = targets[p]
        bounds.low[b], bounds.high[b] = room.low[p], room.high[p]
        bounds.bits[b] = room.bits[p]
        bounds.cost[b] = room.cost[p]
        bounds.size[b] -= 1
    return worth - spent if placed == c else 0.0


@kernel
def send(count: int, ids: Ints, targets: Ints, classes: ChainedClasses, costs: Costs) -> None:
    """Let the first `count` records go where they should; the class that they leave is empty then."""
    for p in range(count):
        a = classes.label[ids[p]]
        leave(ids[p], classes)
        classes.bounds.cost[a] = 0.0
        join(targets[p], ids[p], classes)
        widen(targets[p], ids[p], classes, costs)


@kernel
def dissolve(
    order: Ints, classes: ChainedClasses, costs: Costs, ids: Ints, targets: Ints, room: GroupBounds
) -> Any:
    """Dissolve the classes that are worth less than their records elsewhere -> what that saved."""
    saved = 0.0
    for x in range(order.size):
        a = order[x]
        gain = scatter(a, classes.bounds.size[a] * classes.bounds.cost[a], classes, costs, ids, targets, room)
        if gain > 0:
            saved += gain
            send(classes.bounds.size[a], ids, targets, classes, costs)
    return saved


@kernel
def link(classes: ChainedClasses) -> None:
    """Chain the records of each class, in the order of their index."""
    classes.head[:] = -1
    for i in range(classes.label.size - 1, -1, -1):
        join(classes.label[i], i, classes)


@kernel
def members(a: int, classes: ChainedClasses, found: Ints) -> None:
    """Write down who is in class a."""
    i = classes.head[a]
    for x in range(found.size):
        found[x] = i
        i = classes.after[i]
