"""Which people of a public table lie inside the boxes of groups. See `hide.joining`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.jit import inlined, kernel

NOBODY = -1


@kernel
def bounds_of_groups(codes: NDArray[np.int32], labels: Any, gap: Any, low: Any, high: Any, gaps: Any) -> None:
    """Codes (n, d) of groups -> low, high (g, d) over all codes but gap[j], and gaps (g, d): does it occur?

    A group that has nothing but gaps in a column keeps low above high.
    """
    n, d = codes.shape
    for i in range(n):
        g = labels[i]
        for j in range(d):
            code = codes[i, j]
            if code == gap[j]:
                gaps[g, j] = True
            else:
                low[g, j] = min(low[g, j], code)
                high[g, j] = max(high[g, j], code)


@kernel
def list_groups(low: Any, high: Any, starts: Any, listed: Any) -> None:
    """Bounds of one column (g,) -> the groups that hold each code, ascending: listed[starts[c]:starts[c+1]].

    `starts` comes as the number of groups that hold each code, one place further on.
    """
    size = starts.size - 1
    for c in range(size):
        starts[c + 1] += starts[c]
    at = starts[:-1].copy()
    for g in range(low.size):
        for c in range(low[g], high[g] + 1):
            listed[at[c]] = g
            at[c] += 1


@inlined
def lies_in(
    code: int, g: int, j: int, gap: Any, low: Any, high: Any, gaps: Any, named: Any, first: Any
) -> bool:
    """Does the group's box hold this code in column j? `named` (g, all sets) are members of sets."""
    if code == gap[j]:
        return bool(gaps[g, j])
    if code < low[g, j] or code > high[g, j]:
        return False
    return first[j] < 0 or bool(named[g, first[j] + code])


@kernel
def first_holders(
    codes: NDArray[np.int32],
    by: int,
    starts: Any,
    listed: Any,
    gap: Any,
    low: Any,
    high: Any,
    gaps: Any,
    named: Any,
    first: Any,
    found: NDArray[np.int32],
) -> None:
    """Codes (m, d) -> found (m,): the first group whose box holds each, NOBODY if none does.

    `listed` are the groups that hold each code of column `by`; for its gap, all are tried.
    """
    m, d = codes.shape
    groups = low.shape[0]
    for i in range(m):
        found[i] = NOBODY
        key = codes[i, by]
        everyone = key == gap[by]
        a, b = (0, groups) if everyone else (starts[key], starts[key + 1])
        for at in range(a, b):
            g = at if everyone else listed[at]
            inside = True
            for j in range(d):
                if not lies_in(codes[i, j], g, j, gap, low, high, gaps, named, first):
                    inside = False
                    break
            if inside:
                found[i] = g
                break
