"""The permissible cells of a column, relaxed: parts of its domain, and what a cell in a part costs at least.

A lower bound needs no cell to be listed. It needs, of each column, a few relaxations such that every cell
that may be published is accounted for by one of them: all its values lie in one part, and it costs no less
than the price that the relaxation has for any of them. Fewer relaxations make a bound quicker and lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Attribute
from incrowd.schema import Shape

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIXED, WINDOW, MEMBERS = "fixed", "window", "members"
SHIFTS = 2  # grids of blocks, side by side, for ranges of up to one width
WIDEST = 1 / 8  # of the span: ranges beyond this are of one kind
SAFE = 1 + 1e-6  # blocks are longer by this, whatever the rounding of their ends


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """Cells of one kind: the part (m,) of each code, and the least price (m,) of a cell that holds it.

    Beyond the price, a range or a set that holds more than one value costs what its frequencies say: `search`
    is WINDOW or MEMBERS. Cells of a kind that `needs` missing hold it beside something else.
    """

    part: Ints
    price: Floats
    search: str = FIXED
    needs: bool = False


def relaxations(attribute: Attribute, brackets: int = 0) -> list[Relaxation]:
    """What accounts for every permissible cell of a column, finest parts first; prices from 0 to 1.

    `brackets` is how many widths of ranges are told apart.
    """
    size = len(attribute)
    if size < 2:
        return [Relaxation(np.zeros(size, np.int64), np.zeros(size))]
    if attribute.shape is Shape.TREE:
        return _levels(attribute)
    exact = Relaxation(np.arange(size), np.zeros(size))
    if attribute.shape is Shape.RANGE and attribute.span > 0:
        return [exact, *_blocks(attribute, brackets)]
    if attribute.shape is Shape.SET and attribute.family:
        return [exact, *_families(attribute)]
    return [exact, Relaxation(np.zeros(size, np.int64), np.zeros(size), MEMBERS)]


def _levels(attribute: Attribute) -> list[Relaxation]:
    """Nodes by their depth below the root: whoever is below a node of this depth is in its part.

    Counted from the leaves, a node over branches of different height would be in two levels, and in neither
    with all that it holds. Missing beside the tree may stand with any node, which is no tree any more: such
    cells are all of one part, at the price of the cheapest.
    """
    tree, size = attribute.tree, len(attribute)
    if tree is None:
        raise ValueError("a tree-shaped attribute needs its hierarchy")
    leaves, sizes = len(tree.leaves), tree.sizes()
    depth = np.zeros(sizes.size, np.int64)
    for node in range(1, sizes.size):
        above = tree.parent[node]
        depth[node] = depth[above] + (sizes[node] < sizes[above])
    beside = np.arange(leaves, size)
    found = []
    for level in range(int(depth[tree.leaf_node].max()), -1, -1):
        at = tree.leaf_node
        while (deep := depth[at] > level).any():
            at = np.where(deep, tree.parent[at], at)
        part = np.concatenate([tree.low[at], beside]).astype(np.int64)
        price = np.concatenate([(sizes[at] - 1) / (size - 1), np.zeros(beside.size)])
        found.append(Relaxation(part, price))
    if beside.size:
        everything = np.zeros(size, np.int64)
        found.append(Relaxation(everything, np.full(size, 1 / (size - 1)), needs=True))
    return found


def _blocks(attribute: Attribute, brackets: int) -> list[Relaxation]:
    """Ranges by their width: those of up to a width lie in a block of one of a few grids, the rest anywhere.

    Of `SHIFTS` grids whose blocks are longer than the width by one shift, a range can be cut by all but one.
    With missing beside ranges there is one kind alone.
    """
    size = len(attribute)
    everything = Relaxation(np.zeros(size, np.int64), np.zeros(size), WINDOW)
    if attribute.missing >= 0 or not brackets:
        return [everything]
    place = (attribute.position - attribute.position[0]) / attribute.span
    found, floor = [], 0.0
    for bracket in range(brackets, 0, -1):
        width = WIDEST * 0.5 ** (bracket - 1)
        period = width * SHIFTS / (SHIFTS - 1) * SAFE
        for shift in range(SHIFTS):
            part = np.floor((place + shift * period / SHIFTS) / period).astype(np.int64)
            found.append(Relaxation(part, np.full(size, floor), WINDOW))
        floor = width
    return [*found, replace(everything, price=np.full(size, floor))]


def _families(attribute: Attribute) -> list[Relaxation]:
    """Permissible sets by their size: those of up to a size, joined where they meet, are the parts."""
    size = len(attribute)
    part, found = np.arange(size), []
    members = {*attribute.family, frozenset(range(size))}
    for count in sorted({len(member) for member in members} - {1}):
        price = np.full(size, np.inf)
        for member in members:
            if len(member) == count:
                codes = np.array(sorted(member))
                price[codes] = (count - 1) / (size - 1)
                part = np.where(np.isin(part, part[codes]), part[codes].min(), part)
        found.append(Relaxation(part, price))
    return found


def fitted(attributes: Sequence[Attribute], most: int, brackets: int = 0) -> list[list[Relaxation]]:
    """Relaxations of all columns, such that at most so many combinations of them are left.

    Widths of ranges are told apart as long as there is room. Where there is too little, two neighbouring
    kinds of some column become one, with the parts of the coarser and the lower price, where least is lost.
    """
    columns = [relaxations(attribute) for attribute in attributes]
    for told in range(1, brackets + 1):
        finer = [relaxations(attribute, told) for attribute in attributes]
        if prod(map(len, finer)) > most:
            break
        columns = finer
    while prod(map(len, columns)) > max(most, 1):
        j, at = min(
            ((j, at) for j, kinds in enumerate(columns) for at in range(len(kinds) - 1)),
            key=lambda place: _lost(*columns[place[0]][place[1] : place[1] + 2]),
        )
        one, other = columns[j][at : at + 2]
        columns[j][at : at + 2] = [Relaxation(other.part, np.minimum(one.price, other.price))]
    return columns


def _lost(one: Relaxation, other: Relaxation) -> tuple[float, float]:
    """What is lost where two kinds become one: which share of the dearer price, and how much.

    Cheap cells matter most: if their exact values and the next level became one, all would cost nothing.
    """
    both = np.isfinite(one.price) & np.isfinite(other.price)
    if not both.any():
        return 0.0, 0.0
    low, high = one.price[both].mean(), _typical(other)[both].mean()
    return 1 - low / high if high > 0 else 0.0, high - low


def _typical(kind: Relaxation) -> Floats:
    """Prices, those that frequencies say taken for one step of the domain."""
    return kind.price if kind.search == FIXED else np.maximum(kind.price, 1 / (kind.price.size - 1))
