"""Generalization: the smallest permissible region over each equivalence class or neighbourhood.

Every column has cells of its shape: closed intervals of numbers and dates, the lowest node of a hierarchy,
or the set of values, closed in the family of permissible sets where one is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import partial

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import (
    Attribute,
    Cells,
    Codes,
    Microdata,
    Neighbourhoods,
    Partition,
    Regions,
    ValueSets,
    distinct_rows,
)
from incrowd.hierarchy import Hierarchy
from incrowd.kernels import segments
from incrowd.long_work import side_by_side
from incrowd.schema import Shape
from incrowd.values import EXACT

MANY = 1_000_000  # entries from which on compiling a loop pays off
SPARSE = 8  # times as many possible keys as there are: from there on sorting them is quicker than a table
BITS = 62  # values up to which a set is one number
DENSE = 2**27  # groups times values up to which presence is a table


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups 0..g-1, end to end: entry e says that record ``order[e]`` is in group ``owner[e]``.

    Group g has the entries ``starts[g]`` up to the next start. In a partition every record has one entry; a
    record may be in several neighbourhoods.
    """

    order: NDArray[np.int64]
    owner: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, labels: Codes) -> Groups:
        """The groups of a partition."""
        sizes = np.bincount(labels)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if sizes.size else np.zeros(0, np.int64)
        order = _by_label(labels)
        return cls(order, labels[order].astype(np.int64), starts)

    @classmethod
    def around(cls, neighbourhoods: Neighbourhoods) -> Groups:
        """One group for each record: its neighbourhood."""
        owner = np.repeat(np.arange(len(neighbourhoods)), neighbourhoods.sizes)
        return cls(neighbourhoods.members.astype(np.int64), owner, neighbourhoods.starts[:-1])

    def and_(self, others: Groups) -> Groups:
        """These groups, and then the others."""
        return Groups(
            np.concatenate([self.order, others.order]),
            np.concatenate([self.owner, others.owner + len(self)]),
            np.concatenate([self.starts, others.starts + self.order.size]),
        )

    def __len__(self) -> int:
        return self.starts.size

    @property
    def first(self) -> NDArray[np.int64]:
        """One record of each group."""
        return self.order[self.starts]

    def bounds(self, codes: Codes) -> tuple[Codes, Codes]:
        """Smallest and largest code of each group."""
        if self.order.size > MANY:
            low, high = np.empty(len(self), np.int32), np.empty(len(self), np.int32)
            segments.bounds(codes, self.order, self.starts, low, high)
            return low, high
        ordered = codes[self.order]
        return np.minimum.reduceat(ordered, self.starts), np.maximum.reduceat(ordered, self.starts)


def generalize(
    data: Microdata, partition: Partition | Neighbourhoods, means: tuple[str, ...] = (), least: int = 5
) -> Regions:
    """The region of each record's row.

    `means` names columns whose class mean is published beside the range. Classes with fewer than `least`
    known values publish none: range and mean of three give all three away.

    Groups with equal cells become one region, so a region is what an outsider sees as an equivalence class.
    Neighbourhoods that are not k-regular count on all that lies between their smallest and largest code,
    missing included; regular ones name everyone they count on.
    """
    whole = Groups.around(partition) if isinstance(partition, Neighbourhoods) else Groups.of(partition.labels)
    convex = isinstance(partition, Neighbourhoods) and not partition.regular
    columns_of = [partial(_column, data, partition, j, whole, convex) for j in range(len(data.attributes))]
    found = side_by_side(columns_of, len(data))
    columns = [cell for _, cell in found]
    first, of_group = distinct_rows(columns, [len(cells) for cells, _ in found], columns[0].size)
    of = of_group.astype(np.int32)
    if isinstance(partition, Partition):
        of = of[partition.labels]
    rows = np.stack([cell[first] for cell in columns], axis=1).astype(np.int32)
    texts = means_of(data, Groups.of(of), means, least) if means else {}
    return Regions(of, rows, tuple(cells for cells, _ in found), texts)


def _column(
    data: Microdata, partition: Partition | Neighbourhoods, j: int, whole: Groups, convex: bool
) -> tuple[Cells, NDArray[np.int64]]:
    """The distinct cells of column j, and which of them each group has (g,)."""
    attribute, codes = data.attributes[j], np.ascontiguousarray(data.codes[:, j])
    if isinstance(partition, Neighbourhoods):
        return _neighbourhood_cells(attribute, codes, partition, j, whole, convex)
    if partition.slabs is None:
        return _smallest_cells(attribute, codes, whole)
    slabs = partition.slabs[:, j]
    level = None if partition.levels is None else partition.levels[j]
    cells, of_slab = _slab_cells(attribute, codes, Groups.of(slabs), level)
    return cells, of_slab[slabs[whole.first]]


def _slab_cells(
    attribute: Attribute, codes: Codes, slabs: Groups, level: int | None
) -> tuple[Cells, NDArray[np.int64]]:
    """Cells over slabs. At a level, trees and sets publish its value, whoever is there; ranges do not."""
    if level is not None and attribute.shape is Shape.TREE:
        return _level_cells(attribute, codes, slabs, level)
    if level and attribute.shape is Shape.SET:
        return _everything(attribute), np.zeros(len(slabs), np.int64)
    return _smallest_cells(attribute, codes, slabs)


def _everything(attribute: Attribute) -> Cells:
    """The one cell of a set column at its highest level: all its values, also those that no record has."""
    size = len(attribute)
    whole = ValueSets(np.array([0, size]), np.arange(size, dtype=np.int32))
    ends = np.array([0], np.int32), np.array([size - 1], np.int32)
    return Cells(*ends, np.array([attribute.missing >= 0]), sets=whole)


def _neighbourhood_cells(
    attribute: Attribute, codes: Codes, partition: Neighbourhoods, j: int, groups: Groups, convex: bool
) -> tuple[Cells, NDArray[np.int64]]:
    """Cells over neighbourhoods, and in the columns that the partition marks over whole parts.

    Cells that no row has are left out: whatever lists cells would name what is hidden.
    """
    if partition.whole is None or partition.parts is None or not partition.whole[:, j].any():
        return _smallest_cells(attribute, codes, groups, convex)
    cells, of = _smallest_cells(attribute, codes, groups.and_(Groups.of(partition.parts)), convex)
    own, of_part = of[: len(partition)], of[len(partition) :]
    used, shown = np.unique(
        np.where(partition.whole[:, j], of_part[partition.parts], own), return_inverse=True
    )
    return cells.take(used), shown.reshape(-1)


def _smallest_cells(
    attribute: Attribute, codes: Codes, groups: Groups, convex: bool = False
) -> tuple[Cells, NDArray[np.int64]]:
    if attribute.shape is Shape.RANGE:
        return _range_cells(attribute, codes, groups, convex)
    if attribute.shape is Shape.TREE:
        return _tree_cells(attribute, codes, groups, convex)
    return _set_cells(attribute, codes, groups)


def _range_cells(
    attribute: Attribute, codes: Codes, groups: Groups, convex: bool = False
) -> tuple[Cells, NDArray[np.int64]]:
    """The distinct intervals of a column, and which of them each group has; missing is kept beside.

    Where groups are `convex` missing lies before the smallest number, and a group holds all between.
    """
    low, high = groups.bounds(codes)
    missing = np.zeros(len(groups), np.bool_)
    if attribute.missing == 0:
        missing = low == 0
        low = groups.bounds(np.where(codes == 0, len(attribute), codes).astype(np.int32))[0]
        low = np.where(high == 0, -1, np.where(missing & convex, 1, low))
        high = np.where(high == 0, -1, high)
    key = (low.astype(np.int64) + 1) * (len(attribute) + 1) + high + 1
    first, of = numbered(key * 2 + missing, 2 * (len(attribute) + 1) ** 2)
    return Cells(low[first].astype(np.int32), high[first].astype(np.int32), missing[first]), of


def numbered(keys: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number keys below `size` in their order -> where each number is first met, and the number of each key.

    Examples
    --------
    >>> [part.tolist() for part in numbered(np.array([7, 2, 7]), 10)]
    [[1, 0], [1, 0, 1]]
    """
    if size > SPARSE * keys.size:
        _, first, of = np.unique(keys, return_index=True, return_inverse=True)
        return first, of
    seen = np.zeros(size, np.bool_)
    seen[keys] = True
    of = (np.cumsum(seen) - 1)[keys]
    first = np.empty(int(np.count_nonzero(seen)), np.int64)
    first[of[::-1]] = np.arange(keys.size - 1, -1, -1)
    return first, of


def _tree_cells(
    attribute: Attribute, codes: Codes, groups: Groups, convex: bool = False
) -> tuple[Cells, NDArray[np.int64]]:
    """The distinct nodes of a column, and which of them each group has.

    A missing value that the hierarchy names is a leaf like any other; otherwise it is kept beside the node,
    but the root stands for everything. Where groups are `convex` only the root holds missing and a leaf.
    """
    tree = attribute.tree
    if tree is None:
        raise ValueError("a tree-shaped attribute needs its hierarchy")
    low, high = groups.bounds(codes)
    beside = len(tree.leaves)  # the code of a missing value outside the tree
    missing = high == beside
    only = low == beside
    if missing.any():
        high = groups.bounds(np.where(codes == beside, -1, codes).astype(np.int32))[1]
    node = tree.coverings(np.where(only, 0, low), np.where(only, 0, high))
    node = np.where(only, -1, np.where(missing & convex, 0, node))
    missing |= (node == 0) & (len(attribute) > beside)
    return _distinct_nodes(tree, node, missing)


def _level_cells(
    attribute: Attribute, codes: Codes, groups: Groups, level: int
) -> tuple[Cells, NDArray[np.int64]]:
    """The same where each group holds what lies below one node of a level: that node, whoever is there.

    A node over all leaves is published as the root (above level 0), which also holds a missing value outside
    the tree.
    """
    tree = attribute.tree
    if tree is None:
        raise ValueError("a tree-shaped attribute needs its hierarchy")
    beside = len(tree.leaves)
    low = groups.bounds(codes)[0]
    node = tree.leaf_node[np.where(low == beside, 0, low)]
    for _ in range(level):
        node = tree.parent[node]
    all_below = tree.sizes()[node] == beside
    node = np.where(all_below & (level > 0), 0, np.where(low == beside, -1, node))
    return _distinct_nodes(tree, node, (node < 0) | ((node == 0) & (len(attribute) > beside)))


def _distinct_nodes(
    tree: Hierarchy, node: NDArray[np.int32], missing: NDArray[np.bool_]
) -> tuple[Cells, NDArray[np.int64]]:
    """The distinct cells, given node and missing of each group, and which of them each group has."""
    _, first, of = np.unique(node.astype(np.int64) * 2 + missing, return_index=True, return_inverse=True)
    at = node[first].astype(np.int32)
    real = at >= 0
    return (
        Cells(
            low=np.where(real, tree.low[at], -1).astype(np.int32),
            high=np.where(real, tree.high[at], -1).astype(np.int32),
            missing=missing[first],
            node=at,
        ),
        of,
    )


def _set_cells(attribute: Attribute, codes: Codes, groups: Groups) -> tuple[Cells, NDArray[np.int64]]:
    """The distinct sets of a column, and which of them each group has. Missing is a member like others."""
    few = len(attribute) <= BITS
    sets, of = _by_bits(codes, groups) if few else _by_codes(codes, groups, len(attribute))
    if attribute.family:
        sets, of = _closed(attribute.family, sets, of)
    return _cells_of_sets(attribute, sets), of


def _by_bits(codes: Codes, groups: Groups) -> tuple[ValueSets, NDArray[np.int64]]:
    """Distinct sets where each value can have a bit of its own, and the set of each group."""
    bits = np.left_shift(np.int64(1), codes[groups.order])
    masks, of = np.unique(np.bitwise_or.reduceat(bits, groups.starts), return_inverse=True)
    owner, code = np.nonzero((masks[:, None] >> np.arange(BITS)) & 1)
    return _end_to_end(np.bincount(owner, minlength=masks.size), code), of


def _by_codes(codes: Codes, groups: Groups, size: int) -> tuple[ValueSets, NDArray[np.int64]]:
    """The same for any number of values: sets of one length are compared code by code."""
    sets = _sets_of_groups(codes, groups, size)
    lengths = np.diff(sets.starts)
    of = np.empty(len(groups), np.int64)
    found: list[Codes] = []
    counts: list[NDArray[np.int64]] = []
    met = 0
    for length in np.unique(lengths).tolist():
        here = np.flatnonzero(lengths == length)
        rows = sets.codes[sets.starts[here][:, None] + np.arange(length)]
        distinct, which = _distinct_rows(rows)
        of[here] = met + which
        met += len(distinct)
        found.append(distinct.ravel())
        counts.append(np.full(len(distinct), length))
    return _end_to_end(np.concatenate(counts), np.concatenate(found)), of


def _distinct_rows(rows: Codes) -> tuple[Codes, NDArray[np.int64]]:
    """The distinct rows, and which of them each row is."""
    as_one = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, of = np.unique(as_one, return_index=True, return_inverse=True)
    return rows[first], of


def _end_to_end(counts: NDArray[np.int64], codes: NDArray[np.integer]) -> ValueSets:
    return ValueSets(np.concatenate([[0], np.cumsum(counts)]), codes.astype(np.int32))


def _sets_of_groups(codes: Codes, groups: Groups, size: int) -> ValueSets:
    """The values of each group, ascending."""
    if len(groups) * size > DENSE:
        values, counts = np.empty(groups.order.size, np.int32), np.empty(len(groups), np.int64)
        filled = segments.distinct(codes, groups.order, groups.starts, values, counts)
        return _end_to_end(counts, values[:filled])
    present = np.zeros(len(groups) * size, np.bool_)
    present[groups.owner * size + codes[groups.order]] = True
    pairs = np.flatnonzero(present)
    return _end_to_end(np.bincount(pairs // size, minlength=len(groups)), pairs % size)


def _closed(
    family: tuple[frozenset[int], ...], sets: ValueSets, of: NDArray[np.int64]
) -> tuple[ValueSets, NDArray[np.int64]]:
    """Replace each set by the smallest permissible one that holds it."""
    by_size = sorted(family, key=len)
    closed: dict[frozenset[int], int] = {}
    to = np.empty(len(sets), np.int64)
    for i in range(len(sets)):
        wanted = frozenset(sets.of(i).tolist())
        smallest = next(member for member in by_size if wanted <= member)
        to[i] = closed.setdefault(smallest, len(closed))
    members = [sorted(member) for member in closed]
    counts = np.array([len(member) for member in members], np.int64)
    return _end_to_end(counts, np.concatenate([np.array(member) for member in members])), to[of]


def _cells_of_sets(attribute: Attribute, sets: ValueSets) -> Cells:
    return Cells(
        low=sets.codes[sets.starts[:-1]],
        high=sets.codes[sets.starts[1:] - 1],
        missing=np.logical_or.reduceat(sets.codes == attribute.missing, sets.starts[:-1]),
        sets=sets,
    )


def means_of(
    data: Microdata, groups: Groups, names: tuple[str, ...], least: int
) -> dict[str, tuple[str, ...]]:
    """Mean texts of each class for the columns named; empty where fewer than `least` values are known.

    Numbers are summed as whole numbers of their smallest decimal unit, so no digit depends on the order of
    rows. The mean is rounded half to even, to one decimal more than the column has.
    """
    found = {}
    for j, attribute in enumerate(data.attributes):
        if attribute.name in names:
            found[attribute.name] = _means(attribute, data.codes[:, j], groups, least)
    return found


def _means(attribute: Attribute, codes: Codes, groups: Groups, least: int) -> tuple[str, ...]:
    known = codes != attribute.missing
    numbers = [
        Decimal(text) if code != attribute.missing else Decimal(0)
        for code, text in enumerate(attribute.texts)
    ]
    decimals = max((max(0, -int(number.as_tuple().exponent)) for number in numbers), default=0)
    units = np.array([int(number.scaleb(decimals, EXACT)) for number in numbers], dtype=object)
    sums = np.add.reduceat(units[codes[groups.order]] * known[groups.order], groups.starts)
    counts = np.add.reduceat(known[groups.order].astype(np.int64), groups.starts)
    return tuple(
        mean_text(int(total), int(count), decimals) if count >= least else ""
        for total, count in zip(sums, counts, strict=True)
    )


def mean_text(total: int, count: int, decimals: int) -> str:
    """``total / count`` units of 10^-decimals, rounded half to even with one more decimal.

    Examples
    --------
    >>> mean_text(71, 2, 0), mean_text(1, 3, 0), mean_text(-1, 4, 1)
    ('35.5', '0.3', '-0.02')
    """
    scaled, rest = divmod(10 * total, count)
    if 2 * rest > count or (2 * rest == count and scaled % 2):
        scaled += 1
    return format(Decimal(scaled).scaleb(-decimals - 1, EXACT), "f")


def _by_label(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """The places of labels below their number by rising label, equal ones as they stand.

    A stable argsort, in a fifth of the time: labels and places are sorted as one number, which has no ties.

    Examples
    --------
    >>> _by_label(np.array([1, -1, 0, 1, 0]))
    array([1, 2, 4, 0, 3])
    """
    both = labels.astype(np.int64)
    both *= labels.size
    both += np.arange(labels.size)
    both.sort()
    both %= max(labels.size, 1)
    return both
