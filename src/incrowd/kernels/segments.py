"""Codes of many groups, end to end: their bounds, and their distinct values. See `generalize.Groups`."""

from __future__ import annotations

from incrowd.kernels.arrays import Codes, Ints
from incrowd.kernels.jit import kernel


@kernel
def bounds(codes: Codes, order: Ints, starts: Ints, low: Codes, high: Codes) -> None:
    """Entries order[starts[g]:starts[g+1]] of codes (n,) -> low, high (g,); the last group ends the order."""
    groups = starts.size
    for g in range(groups):
        last = starts[g + 1] if g + 1 < groups else order.size
        least = most = codes[order[starts[g]]]
        for e in range(starts[g] + 1, last):
            code = codes[order[e]]
            least, most = min(least, code), max(most, code)
        low[g], high[g] = least, most


@kernel
def distinct(codes: Codes, order: Ints, starts: Ints, values: Codes, counts: Ints) -> int:
    """The same entries -> values, the distinct codes of each group ascending; counts (g,); how many."""
    groups, filled = starts.size, 0
    for g in range(groups):
        first, last = starts[g], starts[g + 1] if g + 1 < groups else order.size
        for e in range(first, last):
            values[filled + e - first] = codes[order[e]]
        here = values[filled : filled + last - first]
        here.sort()
        kept = 1
        for e in range(1, here.size):
            if here[e] != here[kept - 1]:
                here[kept] = here[e]
                kept += 1
        counts[g] = kept
        filled += kept
    return filled
