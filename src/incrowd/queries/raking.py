"""Raked columns: cells spread by how common their values are, so that the totals of a release come out.

Without totals a reader takes every value of a cell for equally likely. With them, values get weights such
that all cells together, each spread by these weights, have as many rows of each value as the totals say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from incrowd.cells import range_ends, read_cell, unescaped
from incrowd.errors import TableError
from incrowd.measures.parts import Parts
from incrowd.measures.raking import rake
from incrowd.measures.totals import Line
from incrowd.predicate import Condition, in_units
from incrowd.queries.columns import Density, PublishedColumn, RangeColumn, ValuesColumn
from incrowd.schema import EVERYTHING, Kind
from incrowd.values import read_date, read_number

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Quantity = int | Decimal | date


def raked(column: PublishedColumn, rows: Ints, lines: Sequence[Line]) -> PublishedColumn:
    """The column with weights by its totals; `rows` (c,) is how many rows have each cell."""
    if isinstance(column, RangeColumn):
        return replace(column, density=_density(column, rows, lines))
    if column.loose or not len(column.texts):
        return column
    of, counts = _line_of_values(column, lines)
    size = len(column.texts)
    owner = np.concatenate([np.repeat(np.arange(len(column)), column.sizes), np.flatnonzero(column.missing)])
    part = np.concatenate([column.member, np.full(int(column.missing.sum()), size)])
    weight = _fitted(np.ones(size + 1), owner, (part, part), rows, of, counts)
    return replace(column, weight=weight[:size], missing_weight=float(weight[size]))


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTotals:
    """The totals of a column as bounds: how many rows surely satisfy a condition, and how many at most.

    ``lines`` are cells as the rows could have them. Of values and labels, ``of`` (m + 1,) is the line that
    counts each value of ``column``, and missing after them; a line that may count ``others`` is open.
    """

    column: PublishedColumn
    rows: Ints
    of: Ints | None = None
    others: int = -1

    def bounds(self, conditions: Sequence[Condition]) -> tuple[int, int]:
        """How many rows satisfy all conditions, at least and at most."""
        if self.of is None or isinstance(self.column, RangeColumn):
            found = self.column.match(conditions)
            return int(self.rows[found.certain].sum()), int(self.rows[found.possible].sum())
        if self.column.unnamed is not None and self.column.unknown(conditions):
            return 0, int(self.rows.sum())
        allowed, might = self.column.allowed(conditions)
        lines = self.rows.size
        inside = self.of >= 0  # what is in no line nobody has
        known = np.bincount(self.of[:-1][allowed & inside[:-1]], minlength=lines)
        size = np.bincount(self.of[inside], minlength=lines)  # missing, too, which satisfies nothing
        certain, possible = (known == size) & (size > 0), known > 0
        if self.others >= 0:
            certain[self.others], possible[self.others] = False, possible[self.others] | might
        return int(self.rows[certain].sum()), int(self.rows[possible].sum())


def bounding(column: PublishedColumn, lines: Sequence[Line]) -> ColumnTotals | None:
    """The totals of a column as bounds; None where it is not known which values a label stands for."""
    rows = np.array([rows for _, rows in lines], np.int64)
    if isinstance(column, RangeColumn):
        spans = [_span(cell, column) for cell, _ in lines]
        step = column.unit or 1
        ends = [(span[0], span[1] - step) if span else (0, 0) for span, _ in spans]
        low, high = (np.array([end[side] for end in ends], column.low.dtype) for side in (0, 1))
        real = np.array([bool(span) for span, _ in spans], np.bool_)
        missing = np.array([lost for _, lost in spans], np.bool_)
        return ColumnTotals(
            replace(column, low=low, high=high, real=real, missing=missing, density=None), rows
        )
    if column.loose:
        return None
    of, _ = _line_of_values(column, lines)
    rest = next((number for number, (cell, _) in enumerate(lines) if cell == EVERYTHING), -1)
    return ColumnTotals(column, rows, of, rest if column.open.any() else -1)


def _fitted(
    values: Floats, owner: Ints, runs: tuple[Ints, Ints], rows: Ints, of: Ints, counts: Ints
) -> Floats:
    """Weights of parts; runs of parts (first, last) belong to cells `owner`."""
    cells, place = np.unique(owner, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(place))]).astype(np.int64)
    first, last = (ends[order].astype(np.int64) for ends in runs)
    return rake(Parts(values, starts, first, last), rows[cells], of, counts).weights


def _line_of_values(column: ValuesColumn, lines: Sequence[Line]) -> tuple[Ints, Ints]:
    """For each value, and missing after them, the narrowest line that holds it, -1 if none does."""
    of = np.full(len(column.texts) + 1, -1, np.int64)
    members = []
    for cell, _ in lines:
        read = read_cell(cell)
        named = [place for atom in read.atoms for place in column.meant.get(unescaped(atom), ())]
        everything = range(len(of)) if cell == EVERYTHING else ()
        members.append([*everything, *named, *([len(of) - 1] if read.missing else [])])
    for line in sorted(range(len(lines)), key=lambda line: len(members[line]), reverse=True):
        of[members[line]] = line
    return of, np.array([rows for _, rows in lines], np.int64)


def _density(column: RangeColumn, rows: Ints, lines: Sequence[Line]) -> Density:
    """Parts are stretches between the ends of cells and lines, in steps; missing is the part after them."""
    step = column.unit or 1
    spans = [_span(cell, column) for cell, _ in lines]
    low, high = (np.array(ends, object) for ends in (column.low, column.high))
    real = np.flatnonzero(column.real)
    ends = [*low[real], *(high[real] + step), *(end for span, _ in spans for end in span)]
    edges = np.unique(np.array(ends, object)) if ends else np.array([0, step], object)
    of = np.full(edges.size, -1, np.int64)  # the last one is missing
    for number, (span, missing) in enumerate(spans):
        if span:
            of[np.searchsorted(edges, span[0]) : np.searchsorted(edges, span[1])] = number
        if missing:
            of[-1] = number
    lost = np.flatnonzero(column.missing)
    first = np.concatenate([np.searchsorted(edges, low[real]), np.full(lost.size, edges.size - 1)])
    last = np.concatenate([np.searchsorted(edges, high[real] + step) - 1, np.full(lost.size, edges.size - 1)])
    counts = np.array([rows for _, rows in lines], np.int64)
    values = np.append(np.diff(edges).astype(np.float64) / step, 1.0)
    weight = _fitted(values, np.concatenate([real, lost]), (first, last), rows, of, counts)
    return Density(edges.astype(np.float64), weight[:-1], float(weight[-1]))


def _span(cell: str, column: RangeColumn) -> tuple[tuple[int, int] | tuple[()], bool]:
    """From where up to where a line counts, in the column's units, and whether it counts missing."""
    read = read_cell(cell)
    if not read.atoms:
        return (), read.missing
    value: Callable[[str], Quantity | None] = read_number if column.kind is Kind.NUMERIC else read_date
    low, high = (value(end) for end in (range_ends(read.atoms[0]) or [(read.atoms[0], read.atoms[0])])[0])
    if low is None or high is None:
        raise TableError(f"a total of {column.name} is no value or range of its kind")
    return (in_units(low, column.scale), in_units(high, column.scale) + (column.unit or 1)), read.missing
