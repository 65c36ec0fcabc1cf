"""What the smallest permissible cell over some codes costs, and what merging two groups costs.

A group is known by its smallest and largest code in each column and, where a column is published as sets,
by a bit for each code. Leaves of trees are numbered depth first, so the two codes fix the node.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Codes, Floats, Ints, Marks, Words
from incrowd.kernels.jit import inlined, kernel

TABLE, LINE, TREE, SET = 0, 1, 2, 3
BY_MASS, BY_COST, BY_LOG, BY_RATIO, ONE_SIDED = 0, 1, 2, 3, 4  # distances 8, 9, 10, 11, nc
EPSILON = 0.1  # of distance 11
ROUNDED = 1e10  # distances that agree to ten decimals are equal


class Costs(NamedTuple):
    """What cells cost, for all attributes end to end.

    A small attribute has a table of all pairs (low, high): ``cost[table[j] + low * size[j] + high]``. `floor`
    is the same for the cheapest cell that holds all of low..high: entropy may fall when a cell grows.
    Others read their codes at ``start[j]:start[j+1]`` and running sums at ``start[j] + j``.
    """

    kind: Marks
    size: Ints
    table: Ints
    start: Ints
    scale: Floats
    entropy: bool
    cost: Floats
    floor: Floats
    position: Floats
    mass: Floats  # running sums of how often codes occur
    logs: Floats  # running sums of count * log2(count)
    leaf: Codes
    parent: Codes
    high: Codes
    node_cost: Floats
    node_floor: Floats


class GroupBounds(NamedTuple):
    """Groups of records: their bounds (g, d), bits (g, d) or (g, 0), what a row of theirs costs, their size.

    `first` is the smallest index among a group's records.
    """

    low: Codes
    high: Codes
    bits: Words
    cost: Floats
    size: Ints
    first: Ints


@inlined
def entropy_of(mass: float, logs: float) -> Any:
    """Bits of a distribution, from the sums of its counts and of count * log2(count)."""
    return max(0.0, np.log2(mass) - logs / mass) if mass > 0 else 0.0


@inlined
def count_of(bits: np.uint64) -> Any:
    """How many bits are set: sums of ever more neighbours, side by side in one number."""
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inlined
def codes_between(low: int, high: int) -> Any:
    """The bits of the codes low..high, both below 64."""
    return (~np.uint64(0) >> np.uint64(63 - (high - low))) << np.uint64(low)


@kernel
def set_cost(j: int, bits: np.uint64, costs: Costs) -> Any:
    """What publishing exactly these codes of attribute j costs."""
    if not costs.entropy:
        return (count_of(bits) - 1) * costs.scale[j]
    at = costs.start[j] + j
    mass, logs = 0.0, 0.0
    for code in range(costs.size[j]):
        if (bits >> np.uint64(code)) & np.uint64(1):
            mass += costs.mass[at + code + 1] - costs.mass[at + code]
            logs += costs.logs[at + code + 1] - costs.logs[at + code]
    return entropy_of(mass, logs) if bits & (bits - np.uint64(1)) else 0.0


@kernel
def rare_cost(j: int, low: int, high: int, costs: Costs) -> Any:
    """As `cell_cost` for attributes that are too large for a table."""
    start = costs.start[j]
    if costs.kind[j] == TREE:
        node = costs.leaf[start + low]
        while costs.high[node] < high:
            node = costs.parent[node]
        return costs.node_cost[node]
    if low == high:
        return 0.0
    if costs.entropy:
        a, b = start + j + low, start + j + high + 1
        return entropy_of(costs.mass[b] - costs.mass[a], costs.logs[b] - costs.logs[a])
    return (costs.position[start + high] - costs.position[start + low]) * costs.scale[j]


@kernel
def rare_floor(j: int, low: int, high: int, costs: Costs) -> Any:
    """The least that any cell over low..high costs, for attributes that are too large for a table."""
    if costs.kind[j] == TREE:
        node = costs.leaf[costs.start[j] + low]
        while costs.high[node] < high:
            node = costs.parent[node]
        return costs.node_floor[node]
    return 0.0 if costs.entropy else rare_cost(j, low, high, costs)


@inlined
def union_cost(a: int, one: GroupBounds, b: int, other: GroupBounds, costs: Costs) -> Any:
    """What a row of the union of group a of `one` and group b of `other` costs: the mean of its cells."""
    total = 0.0
    columns = one.low.shape[1]
    for j in range(columns):
        kind = costs.kind[j]
        if kind == SET:
            total += set_cost(j, one.bits[a, j] | other.bits[b, j], costs)
            continue
        low = min(one.low[a, j], other.low[b, j])
        high = max(one.high[a, j], other.high[b, j])
        if kind == TABLE:
            total += costs.cost[costs.table[j] + low * costs.size[j] + high]
        else:
            total += rare_cost(j, low, high, costs)
    return total / columns


@kernel
def own_cost(a: int, groups: GroupBounds, costs: Costs) -> Any:
    """What a row of group a costs."""
    return union_cost(a, groups, a, groups, costs)


@inlined
def distance(kind: int, union: float, a: float, b: float, size_a: int, size_b: int) -> Any:
    """One of the paper's distances, given what rows cost; grows with the cost of the union."""
    if kind == BY_MASS:
        return (size_a + size_b) * union - size_a * a - size_b * b
    if kind == BY_COST:
        return union - a - b
    if kind == BY_LOG:
        return (union - a - b) / np.log(size_a + size_b)
    if kind == BY_RATIO:
        return union / (a + b + EPSILON)
    return min(union - a, union - b)


@inlined
def rounded(value: float) -> Any:
    """Ten decimals, as a whole number."""
    return np.floor(value * ROUNDED + 0.5)


@inlined
def gap(kind: int, a: int, one: GroupBounds, b: int, other: GroupBounds, costs: Costs) -> Any:
    """Rounded distance between group a of `one` and group b of `other`."""
    union = union_cost(a, one, b, other, costs)
    return rounded(distance(kind, union, one.cost[a], other.cost[b], one.size[a], other.size[b]))


@kernel
def stretch(a: int, one: GroupBounds, b: int, other: GroupBounds) -> None:
    """Let group a of `one` hold group b of `other` too: bounds, bits, size and first; not the cost."""
    for j in range(one.low.shape[1]):
        one.low[a, j] = min(one.low[a, j], other.low[b, j])
        one.high[a, j] = max(one.high[a, j], other.high[b, j])
    for j in range(one.bits.shape[1]):
        one.bits[a, j] |= other.bits[b, j]
    one.size[a] += other.size[b]
    one.first[a] = min(one.first[a], other.first[b])


@kernel
def copy(a: int, one: GroupBounds, b: int, other: GroupBounds) -> None:
    """Let group a of `one` be group b of `other`."""
    for j in range(one.low.shape[1]):
        one.low[a, j] = other.low[b, j]
        one.high[a, j] = other.high[b, j]
    for j in range(one.bits.shape[1]):
        one.bits[a, j] = other.bits[b, j]
    one.cost[a] = other.cost[b]
    one.size[a] = other.size[b]
    one.first[a] = other.first[b]


@kernel
def nearest_of(kind: int, a: int, one: GroupBounds, among: Ints, other: GroupBounds, costs: Costs) -> Any:
    """Which of the groups `among` (m,) of `other` is nearest to group a of `one`, not a itself -> id or -1.

    Of equal ones the one with the smallest `first`.
    """
    best, found = np.inf, -1
    for i in range(among.size):
        b = among[i]
        if one.first[a] == other.first[b]:
            continue
        here = gap(kind, a, one, b, other, costs)
        if found < 0 or here < best or (here == best and other.first[b] < other.first[found]):
            best, found = here, b
    return found


@kernel
def absorb(a: int, b: int, groups: GroupBounds, costs: Costs) -> None:
    """Merge group b into group a."""
    stretch(a, groups, b, groups)
    groups.cost[a] = own_cost(a, groups, costs)


@kernel
def price(count: int, groups: GroupBounds, costs: Costs) -> None:
    """Set the cost of the first `count` groups; an empty one costs nothing."""
    for a in range(count):
        if groups.size[a]:
            groups.cost[a] = own_cost(a, groups, costs)
