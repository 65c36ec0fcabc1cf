"""How far each class lies from the whole table: earth mover's distances in whole numbers.

Each function gives numerators and denominators, one of each for every class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from incrowd.verifier.fault import need
from incrowd.verifier.rows import Ints
from incrowd.verifier.values import Tree

CELLS_AT_ONCE = 2_000_000
SAFE_IN_INT64 = 2**62
CLOSE = 1e-9  # floats decide only what differs by more than this

Shares = tuple[Sequence[int], Sequence[int]]


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """How often each value occurs in each class: ``count[i]`` times ``value[i]`` in ``group[i]``.

    Sorted by group, then value; values are numbered 0..size-1 in an order that may have a meaning.
    """

    group: Ints
    value: Ints
    count: Ints
    size: int

    @classmethod
    def of(cls, groups: Ints, values: Ints, size: int) -> Histogram:
        key, count = np.unique(groups * size + values, return_counts=True)
        return cls(key // size, key % size, count.astype(np.int64), size)

    @property
    def rows(self) -> Ints:
        """The size of each class."""
        return np.bincount(self.group, self.count).astype(np.int64)

    @property
    def total(self) -> Ints:
        """How often each value occurs in the whole table."""
        return np.bincount(self.value, self.count, minlength=self.size).astype(np.int64)

    def __len__(self) -> int:
        return int(self.group[-1]) + 1


def _wide(largest: int) -> Any:
    """A number type in which sums up to `largest` are exact."""
    return np.int64 if largest < SAFE_IN_INT64 else object


def equal(found: Histogram) -> Shares:
    """½ Σ |p - q|. Values a class lacks count with their whole share, and need not be listed."""
    rows, total = found.rows, found.total
    n = int(rows.sum())
    kind = _wide(4 * n * n)
    here = (found.count.astype(kind) * n, total[found.value].astype(kind) * rows[found.group])
    change = np.abs(here[0] - here[1]) - here[1]
    sums = rows.astype(kind) * n
    np.add.at(sums, found.group, change)
    return sums.tolist(), [2 * n * size for size in rows.tolist()]


def ordered(found: Histogram) -> Shares:
    """1/(m-1) Σ |P_v - Q_v| over cumulated shares, summed in closed form between a class's own values."""
    rows, steps = found.rows, max(found.size - 1, 1)
    n = int(rows.sum())
    kind = _wide(4 * n * n * found.size)
    below = np.cumsum(found.total)  # rows of the table up to each value
    summed = np.concatenate([[0], np.cumsum(below.astype(kind))]).astype(kind)
    first = np.searchsorted(found.group, np.arange(len(found)))
    last = np.append(first[1:], found.group.size) - 1
    running = np.cumsum(found.count)
    up_to = running - (running[first] - found.count[first])[found.group]
    end = np.append(found.value[1:], found.size)
    end[last] = found.size
    # Before its first value a class has nothing; then it keeps `up_to` rows until its next value.
    group = np.concatenate([np.arange(len(found)), found.group])
    low = np.concatenate([np.zeros(len(found), np.int64), found.value])
    high = np.concatenate([found.value[first], end])
    mine = np.concatenate([np.zeros(len(found), np.int64), up_to])
    turn = np.clip(np.searchsorted(below, mine * n // rows[group], side="right"), low, high)
    own, all_rows = mine.astype(kind) * n, rows[group].astype(kind)
    less = own * (turn - low) - all_rows * (summed[turn] - summed[low])
    more = all_rows * (summed[high] - summed[turn]) - own * (high - turn)
    sums = np.zeros(len(found), kind)
    np.add.at(sums, group, less + more)
    return sums.tolist(), [steps * n * size for size in rows.tolist()]


def hierarchical(found: Histogram, tree: Tree) -> Shares:
    """Σ over inner nodes of height/H · min(surplus, lack) among their children (Li et al. 2007)."""
    rows, total = found.rows, found.total
    n = int(rows.sum())
    need(4 * n * n * (tree.height + 1) < SAFE_IN_INT64, "the table is too large for this distance")
    sums: list[int] = []
    for start in range(0, len(found), step := max(1, CELLS_AT_ONCE // found.size)):
        here = slice(*np.searchsorted(found.group, [start, start + step]))
        size = rows[start : start + step, None]
        extra = -total[None, :] * size
        np.add.at(extra, (found.group[here] - start, found.value[here]), found.count[here] * n)
        sums += _costs(extra, tree).tolist()
    return sums, [tree.height * n * size for size in rows.tolist()]


def _costs(extra: Ints, tree: Tree) -> Ints:
    """What moving costs inside each node, for classes (one per line) and leaves (depth first)."""
    cost = np.zeros(extra.shape[0], np.int64)
    children = tree.starts[0]
    for height, nodes in enumerate(tree.starts[1:], 1):
        first = np.searchsorted(children, nodes)
        surplus = np.add.reduceat(np.maximum(extra, 0), first, axis=1)
        lack = np.add.reduceat(np.maximum(-extra, 0), first, axis=1)
        cost += height * np.minimum(surplus, lack).sum(axis=1)
        extra, children = surplus - lack, nodes
    return cost


def farthest(shares: Shares) -> Fraction:
    """The largest of some fractions; floats only leave out what is far below it."""
    tops, bottoms = shares
    rough = np.array([top / bottom for top, bottom in zip(tops, bottoms, strict=True)])
    near = np.flatnonzero(rough >= rough.max() - CLOSE).tolist()
    return max(Fraction(tops[i], bottoms[i]) for i in near)
