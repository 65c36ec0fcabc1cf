"""The assignment problem: give each column a row of its own at the least sum (Kuhn; Jonker and Volgenant)."""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.arrays import Floats
from incrowd.kernels.jit import kernel


@kernel
def assigned(cost: Floats, m: int) -> Any:
    """The cheapest way to give each of m columns a row of its own -> row of each column (m,).

    Rows come in one after the other, each by the shortest way of changes; position m stands for nobody.
    """
    of_row, of_column = np.zeros(m), np.zeros(m + 1)
    taker, back = np.full(m + 1, -1), np.zeros(m, np.int64)
    least, done = np.empty(m), np.empty(m + 1, np.bool_)
    for i in range(m):
        taker[m], column = i, m
        least[:], done[:] = np.inf, False
        while taker[column] >= 0:
            done[column] = True
            row, step, nearest = taker[column], np.inf, -1
            for j in range(m):
                if not done[j]:
                    here = cost[row, j] - of_row[row] - of_column[j]
                    if here < least[j]:
                        least[j], back[j] = here, column
                    if least[j] < step:
                        step, nearest = least[j], j
            for j in range(m + 1):
                if done[j]:
                    of_row[taker[j]] += step
                    of_column[j] -= step
                elif j < m:
                    least[j] -= step
            column = nearest
        while column != m:
            taker[column] = taker[back[column]]
            column = back[column]
    return taker[:m]
