"""The two-way error where rows are not in memory: tables of two columns are counted elsewhere, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.measures.products import product
from incrowd.measures.two_way import TwoWayError, errors_of_columns, pairs_of, variation

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
PairCounts = tuple[Ints, Ints, Ints]  # codes of the first column, of the second, and how many rows have both
AT_ONCE = 100_000  # pairs of cells that are spread at once


@dataclass(frozen=True, slots=True, eq=False)
class BinnedColumn:
    """A published column in bins: people of each bin (b,), rows with each cell (c,), shares of cells (c, b).

    In ``exact`` columns a cell is a bin.
    """

    name: str
    margin: Ints
    carried: Ints
    share: Floats
    exact: bool = False


def two_way_of_counts(
    columns: Sequence[BinnedColumn],
    true: Callable[[int, int], PairCounts],
    shown: Callable[[int, int], PairCounts],
    withheld: Sequence[str] = (),
) -> TwoWayError:
    """Measure E2 as `two_way_error` does.

    `true` counts the people in each pair of bins of two columns, `shown` the rows with each pair of cells.
    """
    errors = []
    for i, j in pairs_of(len(columns)):
        first, second = columns[i], columns[j]
        table = np.zeros((first.margin.size, second.margin.size), np.int64)
        a, b, people = true(i, j)
        table[a, b] = people
        single = np.multiply.outer(first.margin, second.margin)
        estimated = _spread(first.share, second.share, shown(i, j))
        errors.append((variation(table, estimated), variation(table, single)))
    one_way = [variation(column.margin, product(column.carried, column.share)) for column in columns]
    return errors_of_columns({column.name: column.exact for column in columns}, one_way, errors, withheld)


def _spread(first: Floats, second: Floats, counted: PairCounts) -> Floats:
    """Rows of each pair of cells, spread over the bins of both columns."""
    a, b, rows = counted
    found = np.zeros((first.shape[1], second.shape[1]))
    for start in range(0, rows.size, AT_ONCE):
        part = slice(start, start + AT_ONCE)
        found += product((first[a[part]] * rows[part, None]).T, second[b[part]])
    return found
