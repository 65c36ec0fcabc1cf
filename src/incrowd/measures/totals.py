"""One-way totals as a release states them: how many rows have which value of a quasi-identifier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import Attribute, Table
from incrowd.measures.boxes import Among, Between
from incrowd.measures.cells import CellCoverage, parse_cells
from incrowd.measures.raking import OneWayTotal
from incrowd.schema import Shape

TOTALS = "totals"  # the key of the manifest that names the file
FILE = "totals.csv"
HEADER = ("column", "value", "rows")

Ints = NDArray[np.int64]
Line = tuple[str, int]  # a cell, and how many rows it counts


def lines_by_column(table: Table) -> dict[str, list[Line]]:
    """The lines of a file of totals."""
    if table.names != HEADER:
        raise TableError(f"{FILE} does not have the columns {', '.join(HEADER)}")
    found: dict[str, list[Line]] = {}
    for column, cell, rows in table:
        if column is None or cell is None or rows is None or not rows.isdecimal():
            raise TableError(f"{FILE} has a line that is none: a cell is empty, or no number of rows")
        found.setdefault(column, []).append((cell, int(rows)))
    return found


def one_way_totals(
    table: Table | None, attributes: Sequence[Attribute]
) -> dict[str, tuple[OneWayTotal, ...]] | None:
    """The totals of each column, for raking: the widest first, since the narrowest that holds a value counts.

    None where a release states none.
    """
    if table is None:
        return None
    stated = lines_by_column(table)
    return {each.name: _sides(each, stated[each.name]) for each in attributes if each.name in stated}


def _sides(attribute: Attribute, lines: Sequence[Line]) -> tuple[OneWayTotal, ...]:
    held = parse_cells(attribute, [cell for cell, _ in lines])
    widest = np.argsort(-held.count, kind="stable").tolist()
    return tuple(OneWayTotal(_side(attribute, held, line), lines[line][1]) for line in widest)


def _side(attribute: Attribute, held: CellCoverage, line: int) -> Between | Among:
    if attribute.shape is Shape.RANGE and held.low[line] >= 0:
        return Between(float(held.lower[line]), float(held.upper[line]), bool(held.missing[line]))
    return Among(held_codes(held, line, len(attribute)))


def held_codes(held: CellCoverage, line: int, size: int) -> NDArray[np.bool_]:
    """Which codes a cell covers."""
    codes = np.zeros(size, np.bool_)
    for run in range(held.starts[line], held.starts[line + 1]):
        codes[held.first[run] : held.last[run] + 1] = True
    return codes


def line_of_codes(attribute: Attribute, lines: Sequence[Line]) -> tuple[Ints, Ints]:
    """The narrowest line that holds each code, -1 if none does; and how many rows each line counts."""
    held = parse_cells(attribute, [cell for cell, _ in lines])
    of = np.full(len(attribute), -1, np.int64)
    for line in np.argsort(-held.count, kind="stable").tolist():
        of[held_codes(held, line, len(attribute))] = line
    return of, np.array([rows for _, rows in lines], np.int64)
