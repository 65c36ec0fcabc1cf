"""Equal rows of several columns of codes: a number for each row, and where each distinct one stands first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_MOST_KEYS = 2**62  # keys up to it fit an int64


def row_keys(columns: Sequence[NDArray[np.integer]], sizes: Sequence[int], n: int) -> tuple[Ints, int]:
    """One number for each of n rows, in their lexicographic order, and a number that all lie below.

    Columns (n,) of codes below sizes[j] are digits of a mixed radix. Before a number would outgrow 64 bits,
    those that occur are numbered afresh.

    Examples
    --------
    >>> row_keys([np.array([0, 1, 0]), np.array([5, 2, 5])], [2, 6], 3)
    (array([5, 8, 5]), 12)
    """
    key, top = np.zeros(n, np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if top * size > _MOST_KEYS:
            met, key = np.unique(key, return_inverse=True)
            top = met.size
        key = key * size + column
        top *= size
    return key, top


def distinct_rows(columns: Sequence[NDArray[np.integer]], sizes: Sequence[int], n: int) -> tuple[Ints, Ints]:
    """Where each distinct row of columns (n,) of codes below sizes[j] is first met, and which each row is."""
    key, _ = row_keys(columns, sizes, n)
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return first.astype(np.int64), which.astype(np.int64)
