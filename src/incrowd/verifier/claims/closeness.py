"""Claims of t-closeness: the earth mover's distance of each class from the whole table, in whole numbers.

Each distance gives numerators and denominators, one of each for every class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from incrowd.schema import Claim, Column, Kind
from incrowd.verifier.claims.classes import rounded_up
from incrowd.verifier.claims.nonhomogeneous import candidate_values
from incrowd.verifier.claims.subject import ClaimSubject, EquivalenceClasses, Histogram
from incrowd.verifier.columns import Ints
from incrowd.verifier.failure import CheckFailed, decimal, require
from incrowd.verifier.values import HierarchyTree, tree_of

CELLS_AT_ONCE = 2_000_000
SAFE_IN_INT64 = 2**62
CLOSE = 1e-9  # floats decide only what differs by more than this

Counted = Callable[[Ints, int], list[Histogram]]
Shares = tuple[Sequence[int], Sequence[int]]


def t_closeness(claim: Claim, subject: ClaimSubject) -> str:
    """No class is farther than t from the whole table, in earth mover's distance."""
    worst = _worst(claim, subject.classes, subject.classes.histograms)
    require(
        worst <= decimal(claim, "t"),
        f"one class is at a distance of {rounded_up(worst)} from the whole table",
    )
    return rounded_up(worst)


def candidate_closeness(claim: Claim, subject: ClaimSubject) -> str:
    """The k rows that may be anybody's are no farther than t from the whole table."""

    def counted(values: Ints, size: int) -> list[Histogram]:
        return [candidate_values(claim, subject, values, size)]

    worst = _worst(claim, subject.classes, counted)
    far = f"the rows that may be one person's are at a distance of {rounded_up(worst)} from the whole table"
    require(worst <= decimal(claim, "t"), far)
    return rounded_up(worst)


def _worst(claim: Claim, classes: EquivalenceClasses, counted: Counted) -> Fraction:
    """The farthest group, in earth mover's distance."""
    distance = str(claim.parameters["distance"])
    if distance == "equal":
        found = [equal(way) for way in counted(*classes.values(claim))]
    elif distance == "ordered":
        require(classes.column(claim).kind is not Kind.CATEGORICAL, "the values of the column have no order")
        found = [ordered(way) for way in counted(*classes.values(claim))]
    elif distance == "hierarchical":
        tree, leaves = _leaves_of_rows(claim, classes)
        found = [hierarchical(way, tree) for way in counted(leaves, len(tree.leaf))]
    else:
        raise CheckFailed("the verifier does not know this distance")
    return max(map(farthest, found))


def _leaves_of_rows(claim: Claim, classes: EquivalenceClasses) -> tuple[HierarchyTree, Ints]:
    """The hierarchy of the claim's column, and the leaf of each row's value."""
    column = classes.column(claim)
    found = classes.sensitive[column.name]
    tree, leaf = _leaves(column, found.texts, classes.schema.missing)
    return tree, leaf[found.codes]


def _leaves(column: Column, texts: Sequence[str], missing: frozenset[str]) -> tuple[HierarchyTree, Ints]:
    """The leaf of each text. Missing that is no leaf hangs from the root by itself."""
    require(bool(column.levels), "the column has no hierarchy")
    levels = list(column.levels)
    if len({row[-1] for row in levels}) > 1 or len(levels[0]) == 1:
        levels = [(*row, "") for row in levels]
    named = next((row[0] for row in levels if row[0] in missing), None)
    if named is None and any(text in missing for text in texts):
        named = "\0"
        levels.append((*[named] * (len(levels[0]) - 1), levels[0][-1]))
    tree = tree_of(levels)
    leaves = [named if text in missing else text for text in texts]
    places = [tree.leaf.get(leaf or "", -1) for leaf in leaves]
    require(min(places) >= 0, "a value of the column is not in its hierarchy")
    return tree, np.array(places, np.int64)


def _wide(largest: int) -> Any:
    """A number type in which sums up to `largest` are exact."""
    return np.int64 if largest < SAFE_IN_INT64 else object


def equal(found: Histogram) -> Shares:
    """½ Σ |p - q|. Values a class lacks count with their whole share, and need not be listed."""
    n = int(found.rows.sum())
    kind = _wide(4 * n * n)
    rows, total, count = (part.astype(kind) for part in (found.rows, found.total, found.count))
    here = (count * n, total[found.value] * rows[found.group])
    change = np.abs(here[0] - here[1]) - here[1]
    sums = rows * n
    np.add.at(sums, found.group, change)
    return sums.tolist(), [2 * n * size for size in rows.tolist()]


def ordered(found: Histogram) -> Shares:
    """1/(m-1) Σ |P_v - Q_v| over cumulated shares, summed in closed form between a class's own values."""
    n, steps = int(found.rows.sum()), max(found.size - 1, 1)
    kind = _wide(4 * n * n * found.size)
    rows, total, count = (part.astype(kind) for part in (found.rows, found.total, found.count))
    below = np.cumsum(total)  # rows of the table up to each value
    summed = np.concatenate([np.zeros(1, kind), np.cumsum(below)])
    first = np.searchsorted(found.group, np.arange(len(found)))
    last = np.append(first[1:], found.group.size) - 1
    running = np.cumsum(count)
    up_to = running - (running[first] - count[first])[found.group]
    end = np.append(found.value[1:], found.size)
    end[last] = found.size
    # Before its first value a class has nothing; then it keeps `up_to` rows until its next value.
    group = np.concatenate([np.arange(len(found)), found.group])
    low = np.concatenate([np.zeros(len(found), np.int64), found.value])
    high = np.concatenate([found.value[first], end])
    own, all_rows = np.concatenate([np.zeros(len(found), kind), up_to]) * n, rows[group]
    turn = np.clip(np.searchsorted(below, own // all_rows, side="right"), low, high)
    less = own * (turn - low) - all_rows * (summed[turn] - summed[low])
    more = all_rows * (summed[high] - summed[turn]) - own * (high - turn)
    sums = np.zeros(len(found), kind)
    np.add.at(sums, group, less + more)
    return sums.tolist(), [steps * n * size for size in rows.tolist()]


def hierarchical(found: Histogram, tree: HierarchyTree) -> Shares:
    """Σ over inner nodes of height/H · min(surplus, lack) among their children (Li et al. 2007)."""
    n = int(found.rows.sum())
    kind = _wide(4 * n * n * (tree.height + 1))
    rows, total, count = (part.astype(kind) for part in (found.rows, found.total, found.count))
    sums: list[int] = []
    for start in range(0, len(found), step := max(1, CELLS_AT_ONCE // found.size)):
        here = slice(*np.searchsorted(found.group, [start, start + step]))
        size = rows[start : start + step, None]
        extra = -total[None, :] * size
        np.add.at(extra, (found.group[here] - start, found.value[here]), count[here] * n)
        sums += _costs(extra, tree).tolist()
    return sums, [tree.height * n * size for size in rows.tolist()]


def _costs(extra: Ints, tree: HierarchyTree) -> Ints:
    """What moving costs inside each node, for classes (one per line) and leaves (depth first)."""
    cost = np.zeros(extra.shape[0], extra.dtype)
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
