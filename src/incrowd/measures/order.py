"""The order of usefulness of the nonhomogeneous paper (Definition 3).

A row is better than another if it covers no more in any column and less in one. A table is better than
another of the same records if no record's row covers anything more and one record's row is better. Many
tables are neither better nor worse: this is a partial order, and no table is better than itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import Codes
from incrowd.measures.cells import CellCoverage
from incrowd.measures.published import Published

Flags = NDArray[np.bool_]


def better(first: Published, second: Published) -> bool:
    """Is the first release more useful whatever it is used for?

    Row i of both comes from the same record. A published file is shuffled, so only the publisher can compare.

    Examples
    --------
    >>> from incrowd.flow import Attribute, Microdata, Table
    >>> from incrowd.measures.published import published
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
