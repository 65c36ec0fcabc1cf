"""Sums of products by this thread alone: numpy would share large ones out to threads of a library of its own.

Those wait for more work without sleeping, and so take processors from the threads of `long_work`; and what
they add up depends on how many they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MATRICES, A_ROW = 2**18, 9_000  # products that are not shared out: of two matrices, of a row and a matrix


def product(left: NDArray[Any], right: NDArray[Any]) -> Floats:
    """The product of a matrix or a row and a matrix.

    Examples
    --------
    >>> product(np.array([[1, 2], [3, 4]]), np.array([[1.0], [0.5]])).tolist()
    [[2.0], [5.0]]
    """
    one, other = left.astype(np.float64, copy=False), right.astype(np.float64, copy=False)
    found = np.zeros((*left.shape[:-1], right.shape[1]))
    both = left.ndim > 1 and min(found.shape) > 1
    at_once = max((MATRICES if both else A_ROW) // max(found.size, 1), 1)
    for start in range(0, right.shape[0], at_once):
        found += one[..., start : start + at_once] @ other[start : start + at_once]
    return found
