"""Full-domain recoding: every column has levels, each coarser than the one below; the last is everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Attribute, Codes, Microdata
from incrowd.hierarchy import Hierarchy
from incrowd.kernels import incognito
from incrowd.schema import Shape

Counts = NDArray[np.int64]
Node = tuple[int, ...]
MOST_PACKED = 2**62  # combinations of values that one whole number can tell apart
_FINEST = 2.0**40  # widths below this part of a range are not told apart
_NEAR = 1e-6  # of the smallest gap: offsets are rounded, and 0.3 is three times 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """The levels of one column: at level h code c lies in part ``parts[h][c]``, numbered from 0 without gaps.

    Level 0 are the values themselves. ``first[h]`` is one code of each part. ``beyond[h]`` says how many
    values a part has beyond its first; it is empty for ranges, whose cells are charged by what lies in them.
    """

    attribute: Attribute
    parts: tuple[Codes, ...]
    first: tuple[Codes, ...]
    beyond: tuple[Counts, ...]

    @property
    def height(self) -> int:
        return len(self.parts) - 1

    def up(self, below: int, above: int) -> Codes:
        """The part at level `above` of each part at level `below`."""
        return self.parts[above][self.first[below]]

    def lost(self, level: int, weight: Counts) -> Fraction:
        """The loss of all cells, each between 0 and 1, if this many records (m,) have each code."""
        others = len(self.attribute) - 1
        if others < 1:
            return Fraction(0)
        if self.attribute.shape is not Shape.RANGE:
            return Fraction(int(weight @ self.beyond[level][self.parts[level]]), others)
        return sum(_widths(self.attribute, self.parts[level], weight), Fraction(0))

    def lost_by_parts(self, level: int, part: Codes, weight: Counts) -> Fraction:
        """The same of a column that is no range, by classes: this many records (c,) lie in part[c]."""
        return Fraction(int(weight @ self.beyond[level][part]), max(len(self.attribute) - 1, 1))


def ladder_of(attribute: Attribute) -> Ladder:
    """The levels of a column.

    A hierarchy has those that are written in its rows. A missing value that is no leaf stands alone until
    there is one part, and is in it from there on. Numbers and dates without a hierarchy have their values,
    then intervals of 2, 4, 8, … times the smallest gap between two values, counted from the smallest value,
    until one holds all; levels that would change nothing are left out. Sets have their values, then
    everything.

    Examples
    --------
    >>> from incrowd.schema import Kind
    >>> texts = ("35", "36", "37", "38")
    >>> age = Attribute("age", Kind.NUMERIC, Shape.RANGE, texts, np.array([0.0, 1.0, 2.0, 3.0]))
    >>> [part.tolist() for part in ladder_of(age).parts]
    [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]]
    """
    size = len(attribute)
    if attribute.tree is not None:
        raw = _tree_levels(attribute.tree, size)
    elif attribute.shape is Shape.RANGE:
        raw = _widening(attribute)
    else:
        raw = [np.arange(size), *([np.zeros(size, np.int64)] if size > 1 else [])]
    numbered = [np.unique(level, return_index=True, return_inverse=True) for level in raw]
    return Ladder(
        attribute,
        tuple(of.astype(np.int32) for _, _, of in numbered),
        tuple(first.astype(np.int32) for _, first, _ in numbered),
        () if attribute.shape is Shape.RANGE else tuple(np.bincount(of) - 1 for _, _, of in numbered),
    )


def _tree_levels(tree: Hierarchy, size: int) -> list[Counts]:
    """The node of each leaf at each level; missing beside the tree is its own until one node is left."""
    node, levels = tree.leaf_node, [np.arange(size)]
    for _ in range(tree.height):
        node = tree.parent[node]
        whole = bool((node == node[0]).all())
        levels.append(np.zeros(size, np.int64) if whole else np.append(node, [-1] * (size - node.size)))
    return levels


def _widening(attribute: Attribute) -> list[Counts]:
    """Intervals that double, as numbers of their own; missing (-1) joins the one that holds all."""
    size, position = len(attribute), attribute.position[attribute.real]
    alone = [-1] * (size - position.size)
    levels = [np.arange(size)]
    if size < 2:
        return levels
    gaps = np.diff(position)
    gap = max(float(gaps[gaps > 0].min(initial=np.inf)), attribute.span / _FINEST)
    place = (
        np.floor(position / gap + _NEAR).astype(np.int64)
        if gap < np.inf
        else np.zeros(position.size, np.int64)
    )
    # Halving whole numbers nests by construction, however the places were rounded.
    left = position.size
    while (place := place >> 1).any():
        parts = int(np.count_nonzero(np.diff(place))) + 1
        if parts < left:
            levels.append(np.append(alone, place).astype(np.int64))
        left = parts
    return [*levels, np.zeros(size, np.int64)]


def _widths(attribute: Attribute, part: Codes, weight: Counts) -> list[Fraction]:
    """The loss of each part of a range, by the records that are there, times their number."""
    there = np.flatnonzero(weight)
    real = there[there != attribute.missing] if attribute.missing == 0 else there
    parts = int(part.max()) + 1
    total = np.bincount(part, weight, parts).astype(np.int64)  # exact below 2^53 records
    low, high = np.full(parts, len(attribute)), np.full(parts, -1)
    np.minimum.at(low, part[real], real)
    np.maximum.at(high, part[real], real)
    with_missing = np.zeros(parts, np.bool_)
    with_missing[part[np.setdiff1d(there, real)]] = True
    wide = (high >= 0) & ((low < high) | with_missing)
    return [
        int(total[p]) * _width(attribute, int(low[p]), int(high[p]), bool(with_missing[p]))
        for p in np.flatnonzero(wide).tolist()
    ]


def _width(attribute: Attribute, low: int, high: int, with_missing: bool) -> Fraction:
    """A cell's share of its domain, as `measure.loss` charges it: missing counts as one of the values."""
    others = len(attribute) - 1
    if attribute.span == 0:
        return Fraction(high - low + with_missing, others)
    width = Fraction(attribute.position[high]) - Fraction(attribute.position[low])
    return min(width / Fraction(attribute.span) + Fraction(int(with_missing), others), Fraction(1))


@dataclass(frozen=True, slots=True, eq=False)
class LevelFrequencies:
    """A frequency set: distinct rows (f, s) of some columns at some levels, and how many records each has."""

    columns: tuple[int, ...]
    levels: Node
    rows: Codes
    weights: Counts

    @property
    def bytes(self) -> int:
        return self.rows.nbytes + self.weights.nbytes


class Rolls:
    """Frequency sets of a table, each made from a finer one and never from the table."""

    def __init__(self, data: Microdata) -> None:
        self.ladders = [ladder_of(attribute) for attribute in data.attributes]
        self.records = len(data)
        every = tuple(range(len(self.ladders)))
        once = LevelFrequencies(every, (0,) * len(every), data.codes, np.ones(len(data), np.int64))
        self.distinct, self.row_of = self.rolled(once, every, once.levels)

    def rolled(
        self, source: LevelFrequencies, columns: Sequence[int], levels: Node
    ) -> tuple[LevelFrequencies, Codes]:
        """The frequency set of some of its columns, at no lower levels; and what became of each row."""
        at = [source.columns.index(j) for j in columns]
        lifts = [self.ladders[j].up(source.levels[c], h) for j, c, h in zip(columns, at, levels, strict=True)]
        start = np.cumsum([0, *(lift.size for lift in lifts)])[:-1]
        f = len(source.rows)
        rows = source.rows if len(at) == source.rows.shape[1] else source.rows[:, at]
        slots = np.empty(1 << max(2 * f - 1, 1).bit_length(), np.int32)
        out, counts, label = np.empty((f, len(at)), np.int32), np.empty(f, np.int64), np.empty(f, np.int32)
        rows = np.ascontiguousarray(rows, np.int32)
        radix = [self.ladders[j].first[level].size for j, level in zip(columns, levels, strict=True)]
        packed = np.empty(f if prod(radix) <= MOST_PACKED else 0, np.int64)
        up, radixes = np.concatenate(lifts), np.array(radix, np.int64)
        found = incognito.roll(rows, source.weights, up, start, radixes, slots, packed, out, counts, label)
        made = LevelFrequencies(tuple(columns), tuple(levels), out[:found].copy(), counts[:found].copy())
        return made, label
