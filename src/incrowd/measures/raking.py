"""Raking: values weighted so that cells, spread by these weights, reproduce one-way totals.

A reader who knows nothing else spreads a cell evenly over its values. Who also knows how many people the
whole table has of each value, or of each stretch of values, can do better: give every value a weight w,
spread a cell by P(v | cell) = w(v) / (sum of w over the cell's values), and choose the weights so that the
totals come out. That is iterative proportional fitting of the table cells × totals, with the rows of each
cell on one margin and the totals on the other; where a cell covers nothing of a total, the table has a zero
that stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.measures.parts import PartedColumn, Parts, Side

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ROUNDS = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class OneWayTotal:
    """How many rows of the whole table have a value of this side of a column."""

    side: Side
    rows: int

    def __post_init__(self) -> None:
        if self.rows < 0:
            raise TableError("a one-way total is a number of rows, and none is below 0")


@dataclass(frozen=True, slots=True, eq=False)
class Raked:
    """Weights of v parts, and how far the estimated totals are from those that were given.

    ``off`` is the share of all rows that stand in the wrong total, ``rounds`` how often weights were fitted.
    """

    weights: Floats
    off: float
    rounds: int


def rake(parts: Parts, rows: Floats | Ints, of: Ints, totals: Floats | Ints, rounds: int = ROUNDS) -> Raked:
    """Fit weights of parts so that cells spread by them reproduce totals.

    Parameters
    ----------
    parts : Parts
        What c cells cover of v parts, and how many values each part holds.
    rows : array of shape (c,)
        How many rows carry each cell.
    of : array of shape (v,)
        The total that each part belongs to, -1 for none. Parts of one total get one weight.
    totals : array of shape (g,)
        Rows of each total. They are scaled to the rows of all cells; if parts without a total are left, what
        the totals lack of all rows is theirs.
    rounds : int
        Fitting ends after so many rounds, or when at most a millionth of the rows is in the wrong total.

    Returns
    -------
    Raked
        Totals that contradict the cells are not reached: `off` says by how much. A cell over values that
        weigh nothing is left to the caller (`Parts.shares` spreads it evenly).

    References
    ----------
    Deming and Stephan: On a least squares adjustment of a sampled frequency table, 1940.

    Examples
    --------
    >>> parts = Parts(np.ones(3), np.array([0, 1, 2]), np.array([0, 1]), np.array([1, 2]))
    >>> found = rake(parts, np.array([4, 4]), np.arange(3), np.array([3, 2, 3]))
    >>> parts.shares(found.weights, np.arange(3), 3).round(3).tolist()
    [[0.75, 0.25, 0.0], [0.0, 0.25, 0.75]]
    """
    size, people = totals.size, float(rows.sum())
    wanted = np.append(totals.astype(np.float64), 0.0)
    named = float(wanted.sum())
    group = np.where(of < 0, size, of)
    if (of < 0).any() and named < people:
        wanted[size] = people - named
    else:
        wanted *= people / named if named else 0.0
    from incrowd.kernels import spread

    runs = parts.starts, parts.first, parts.last
    weight, off, done = spread.fit(parts.values, group, *runs, rows.astype(np.float64), wanted, rounds)
    return Raked(weight[group], off, done)


def rake_column(column: PartedColumn, rows: Floats | Ints, totals: Sequence[OneWayTotal]) -> Raked:
    """Fit the weights of a column's parts, which were made with the sides of these totals (`parted`)."""
    return rake(column.parts, rows, column.side, np.array([total.rows for total in totals], np.int64))
