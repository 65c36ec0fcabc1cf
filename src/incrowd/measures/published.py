"""A published table, read against the original that it was made from, or straight from its regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError, unknown
from incrowd.flow import Attribute, Cells, Codes, Microdata, Regions, Table, distinct_rows, row_keys
from incrowd.measures.cells import CellCoverage, parse_cells
from incrowd.schema import EVERYTHING, Shape

if TYPE_CHECKING:
    from incrowd.kernels import boxtree

Flags = NDArray[np.bool_]

_DENSE = 4  # count in an array while it has at most this many places for each row


@dataclass(frozen=True, slots=True, eq=False)
class ClassSizes:
    """How large equivalence classes are: each ``size`` (s,), ascending, and how many ``classes`` have it."""

    size: NDArray[np.int64]
    classes: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: NDArray[np.int64]) -> ClassSizes:
        """From the size of each class (c,)."""
        size, classes = np.unique(sizes, return_counts=True)
        return cls(size.astype(np.int64), classes.astype(np.int64))

    def __len__(self) -> int:
        """How many classes there are."""
        return int(self.classes.sum())

    @property
    def smallest(self) -> int:
        """The size of the smallest class, 0 where there is none."""
        return int(self.size[0]) if self.size.size else 0

    def quantile(self, share: Fraction) -> Fraction:
        """The size that so large a share of all classes does not exceed, between two of them as by a line.

        Examples
        --------
        >>> float(ClassSizes.of(np.array([2, 2, 3, 9])).quantile(Fraction(1, 2)))
        2.5
        """
        place = share * (len(self) - 1)
        upto, before = np.cumsum(self.classes), int(place)
        low, high = (int(self.size[np.searchsorted(upto, at, "right")]) for at in (before, -int(-place // 1)))
        return low + (high - low) * (place - before)

    @property
    def squares(self) -> int:
        """The sum of the squared sizes, exactly."""
        return sum(size * size * classes for size, classes in self.pairs)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.size.tolist(), self.classes.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Published:
    """What every published row says: row i covers cell ``rows[j][i]`` of attribute j.

    Cells that cover the same have one number. The last cell of each column is ``*``: it stands for what is
    known about a suppressed record. Nothing is known about which record is behind which row. Rows of one
    ``region`` (n,), where it is known, have the same cells.
    """

    attributes: tuple[Attribute, ...]
    cells: tuple[CellCoverage, ...]
    rows: tuple[Codes, ...]
    region: Codes | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not len(self.attributes) == len(self.cells) == len(self.rows):
            raise TableError("a published table needs cells and rows for each attribute")
        if len({column.size for column in self.rows}) > 1:
            raise TableError("the columns of a published table must have one length")

    def __len__(self) -> int:
        return self.rows[0].size if self.rows else 0

    @property
    def lines(self) -> int:
        """How many lines of `rows` there are: one for each row, if they are not counted."""
        return self.rows[0].size if self.rows else 0

    @property
    def line_weights(self) -> NDArray[np.int64] | None:
        """How many rows each line stands for; None: each is one."""
        return None

    @property
    def sizes(self) -> ClassSizes:
        """How many classes there are of which size."""
        return ClassSizes.of(self.class_sizes)

    def __repr__(self) -> str:
        return f"Published({len(self)} rows, {[a.name for a in self.attributes]})"

    def taken(self, rows: NDArray[np.bool_]) -> Published:
        """Some of the rows."""
        return Published(self.attributes, self.cells, tuple(column[rows] for column in self.rows))

    @cached_property
    def classes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first row of each equivalence class (c,), and the class of each row (n,)."""
        return distinct_rows(self.rows, [len(cells) for cells in self.cells], self.lines)

    @cached_property
    def class_sizes(self) -> NDArray[np.int64]:
        """How many rows each class of equal rows has, in no promised order."""
        return group_sizes(self.rows, [len(cells) for cells in self.cells])

    @cached_property
    def tallies(self) -> tuple[NDArray[np.int64], ...]:
        """How many rows carry each cell, for each attribute."""
        pairs = zip(self.rows, self.cells, strict=True)
        return tuple(np.bincount(column, minlength=len(cells)) for column, cells in pairs)


def published(table: Table, data: Microdata) -> Published:
    """Read published rows, ours or another tool's, in any order, against the original.

    Columns that are no quasi-identifiers of the original are not looked at.

    Examples
    --------
    >>> from incrowd.schema import Kind, Shape
    >>> sex = Attribute("sex", Kind.CATEGORICAL, Shape.SET, ("F", "M"), np.arange(2.0))
    >>> data = Microdata(np.array([[0], [1], [1]], dtype=np.int32), (sex,))
    >>> published(Table.of({"sex": ["*", "M", "{F|M}"]}), data).class_sizes.tolist()
    [2, 1]
    """
    lacking = [a.name for a in data.attributes if a.name not in table.names]
    if lacking:
        raise TableError(unknown("in the published table", lacking, table.names))
    if len(table) > len(data):
        raise TableError(
            f"the published table has {len(table)} rows and the original {len(data)}; a release has at most "
            "one row for each record, so one of the two is not the table that was meant"
        )
    cells, rows = [], []
    for attribute in data.attributes:
        column = table.column(attribute.name)
        read = parse_cells(attribute, (*column.texts, EVERYTHING))
        cells.append(read)
        rows.append(read.same[column.codes])
    return Published(data.attributes, tuple(cells), tuple(rows))


def group_sizes(columns: Sequence[Codes], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Sizes of the groups of equal rows: columns of codes (n,) below sizes[j] -> (g,), all positive.

    Examples
    --------
    >>> group_sizes([np.array([0, 1, 0]), np.array([5, 5, 5])], [2, 6]).tolist()
    [2, 1]
    """
    if not columns or not columns[0].size:
        return np.zeros(0, dtype=np.int64)
    key, top = row_keys(columns, sizes, columns[0].size)
    if top <= _DENSE * key.size:
        counts = np.bincount(key)
        return counts[counts > 0]
    return np.unique(key, return_counts=True)[1].astype(np.int64)


def covered_regions(rows: Sequence[Codes], cells: Sequence[CellCoverage]) -> boxtree.BoxRegions:
    """What rows cover, for a search among points; runs are named only where a cell has more than one."""
    from incrowd.kernels import boxtree

    low, high, begin, end = [], [], [], []
    shift = 0
    for row, column in zip(rows, cells, strict=True):
        start, stop = column.starts[row], column.starts[row + 1]
        low.append(column.first[start])
        high.append(column.last[stop - 1])
        begin.append(start + shift)
        end.append(np.where(stop - start > 1, stop, start) + shift)
        shift += column.first.size
    first = np.concatenate([column.first for column in cells])
    last = np.concatenate([column.last for column in cells])
    sides = [np.ascontiguousarray(np.stack(side, axis=1)) for side in (low, high, begin, end)]
    return boxtree.BoxRegions(sides[0], sides[1], sides[2], sides[3], first, last)


def published_from_regions(
    regions: Regions, attributes: tuple[Attribute, ...], order: NDArray[np.int64] | None = None
) -> Published:
    """What reading the texts of all rows would give: `published(published_table(...), data)`.

    `order` (n,) are the records whose regions the rows carry; by default all, as they come.
    """
    row = regions.of if order is None else regions.of[order]
    cells = [cells_of(attribute, said) for attribute, said in zip(attributes, regions.cells, strict=True)]
    rows = (read.same[regions.cell[row, j]] for j, read in enumerate(cells))
    return Published(attributes, tuple(cells), tuple(rows), region=row)


def cells_of(attribute: Attribute, cells: Cells) -> CellCoverage:
    """What the cells of a column cover; the last one, added, is the whole domain."""
    owner, runs = _set_runs(cells) if attribute.shape is Shape.SET else _box_runs(attribute, cells)
    size = len(cells) + 1
    runs = np.concatenate([runs, [[0, len(attribute) - 1]]]).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(np.append(owner, size - 1), minlength=size))])
    real = attribute.real
    ends = np.zeros((size, 2))
    if attribute.shape is Shape.RANGE and attribute.position[real].size:
        ends[:-1] = attribute.position[np.stack([cells.low, cells.high], axis=1)]
        ends[-1] = attribute.position[real][[0, -1]]
    return CellCoverage.of_runs(attribute, starts, runs, ends, _nodes(attribute, cells))


def _box_runs(attribute: Attribute, cells: Cells) -> tuple[NDArray[np.int64], Codes]:
    """Codes from low to high, and missing: beside them, or a run of its own. -> cell of each run, runs."""
    gap, here = attribute.missing, np.arange(len(cells))
    apart = cells.missing & (cells.low != gap + 1) & (cells.high != gap - 1)
    joined = cells.missing & ~apart
    low = np.where(joined, np.minimum(cells.low, gap), cells.low)
    high = np.where(joined, np.maximum(cells.high, gap), cells.high)
    some = cells.low >= 0
    owner = np.concatenate([here[some], here[apart | ~some]])
    gaps = np.full(owner.size - int(some.sum()), gap)
    runs = np.stack([np.append(low[some], gaps), np.append(high[some], gaps)], axis=1)
    order = np.lexsort([runs[:, 0], owner])
    return owner[order], runs[order].astype(np.int32)


def _set_runs(cells: Cells) -> tuple[NDArray[np.int64], Codes]:
    if cells.sets is None:
        raise ValueError("a set-shaped column needs its sets")
    codes, owner = cells.sets.codes, np.repeat(np.arange(len(cells)), np.diff(cells.sets.starts))
    begins = np.flatnonzero(np.append(True, (np.diff(codes) != 1) | (np.diff(owner) != 0)))
    ends = np.append(begins[1:], codes.size) - 1
    return owner[begins], np.stack([codes[begins], codes[ends]], axis=1)


def _nodes(attribute: Attribute, cells: Cells) -> Codes:
    """The node that each cell's text is read as, and that of the whole domain; -1 where there is none.

    Of nodes with one label, which mean the same leaves, that is the lowest. With missing outside the tree
    only the root holds both.
    """
    tree = attribute.tree
    if tree is None or cells.node is None:
        return np.full(len(cells) + 1, -1, np.int32)
    lowest = {label: node for node, label in enumerate(tree.labels)}
    named = np.array([lowest[label] for label in tree.labels], np.int32)
    named[0] = tree.covering(0, len(attribute) - 1) if len(attribute) == len(tree.leaves) else 0
    if attribute.missing_in_tree:  # written as missing, whatever stands above it
        named[(tree.low == attribute.missing) & (tree.high == attribute.missing)] = tree.leaf_node[
            attribute.missing
        ]
    found = np.where(cells.node < 0, -1, np.where(cells.missing, 0, named[cells.node]))
    return np.append(found, named[0]).astype(np.int32)


# ---- the order of usefulness


def better(first: Published, second: Published) -> bool:
    """Is the first release more useful whatever it is used for (nonhomogeneous paper, Definition 3)?

    A row is better than another if it covers no more in any column and less in one. A table is better than
    another of the same records if no record's row covers anything more and one record's row is better. Many
    tables are neither better nor worse: this is a partial order, and no table is better than itself.

    Row i of both comes from the same record. A published file is shuffled, so only the publisher can compare.

    Examples
    --------
    >>> from incrowd.schema import Kind, Shape
    >>> sex = Attribute("sex", Kind.CATEGORICAL, Shape.SET, ("F", "M"), np.arange(2.0))
    >>> data = Microdata(np.array([[0], [1]], dtype=np.int32), (sex,))
    >>> exact, coarse = (published(Table.of({"sex": rows}), data) for rows in (["F", "*"], ["*", "*"]))
    >>> better(exact, coarse), better(coarse, exact), better(exact, exact)
    (True, False, False)
    """
    inside, smaller = _compared(first, second)
    return bool(inside.all() and smaller.any())


def better_rows(first: Published, second: Published) -> Flags:
    """For each record: is its row in the first release better than its row in the second?"""
    inside, smaller = _compared(first, second)
    return inside & smaller


def _compared(first: Published, second: Published) -> tuple[Flags, Flags]:
    """For each record: does the first row cover nothing more anywhere, and does it cover fewer values?"""
    if first.attributes != second.attributes or len(first) != len(second):
        raise TableError("only releases of the same records, read against one original, can be compared")
    inside, smaller = np.ones(len(first), dtype=np.bool_), np.zeros(len(first), dtype=np.bool_)
    for j, attribute in enumerate(first.attributes):
        a, b, rows_a, rows_b = first.cells[j], second.cells[j], first.rows[j], second.rows[j]
        inside &= _inside(a, rows_a, b, rows_b, len(attribute))
        smaller |= a.count[rows_a] < b.count[rows_b]
    return inside, smaller


def _inside(a: CellCoverage, rows_a: Codes, b: CellCoverage, rows_b: Codes, size: int) -> Flags:
    """For each row: does cell rows_a of a lie within cell rows_b of b? Codes are below size.

    Runs never touch, so a run lies within a cell exactly if it lies within one run of it: the last one
    that does not start after it.
    """
    row, run = _runs_of(a, rows_a)
    other = rows_b[row].astype(np.int64)
    found = np.searchsorted(b.owner * size + b.first, other * size + a.first[run], side="right") - 1
    outside = (found < b.starts[other]) | (b.last[found] < a.last[run])
    whole = np.ones(rows_a.size, dtype=np.bool_)
    whole[row[outside]] = False
    return whole


def _runs_of(cells: CellCoverage, rows: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every run of every row: which row, which run."""
    lengths = np.diff(cells.starts)[rows]
    row = np.repeat(np.arange(rows.size), lengths)
    before = np.cumsum(lengths) - lengths
    return row, cells.starts[rows][row] + np.arange(row.size) - before[row]
