"""Numbers and dates: the closed interval from the smallest to the largest value of a group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Attribute, Cells, Codes
from incrowd.generalize.groups import Groups, numbered


def range_cells(
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
