"""What neighbourhoods are measured against: Algorithm 4 by looking at every record at every step.

Compiled like the project's own kernels, so that only the idea is compared. All attributes must have tables of
costs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.closure import Costs, rounded
from incrowd.kernels.jit import inlined, kernel


@inlined
def stretched(low: Any, high: Any, point: Any, costs: Costs) -> Any:
    """What a row from low to high (d,) costs if it must hold the point (d,) too."""
    total = 0.0
    for c in range(low.size):
        least, most = min(low[c], point[c]), max(high[c], point[c])
        total += costs.cost[costs.table[c] + least * costs.size[c] + most]
    return total / low.size


@inlined
def grow(low: Any, high: Any, point: Any) -> None:
    for c in range(low.size):
        low[c], high[c] = min(low[c], point[c]), max(high[c], point[c])


@kernel
def plain_scan(k: int, codes: Any, sample: Any, costs: Costs) -> Any:
    """Algorithm 4 as printed for the records `sample`: a scan of all (n, d) per step -> what rows cost."""
    paid = np.zeros(sample.size)
    for s in range(sample.size):
        low, high = codes[sample[s]].copy(), codes[sample[s]].copy()
        inside = np.zeros(codes.shape[0], np.bool_)
        inside[sample[s]] = True
        for _ in range(k - 1):
            best, found = np.inf, -1
            for j in range(codes.shape[0]):
                if not inside[j]:
                    adds = rounded(stretched(low, high, codes[j], costs) - paid[s])
                    if adds < best:
                        best, found = adds, j
            inside[found] = True
            grow(low, high, codes[found])
            paid[s] = stretched(low, high, codes[found], costs)
    return paid


@kernel
def distinct_scan(k: int, points: Any, weight: Any, first: Any, sample: Any, costs: Costs) -> Any:
    """The same for points (m, d) that stand for `weight` records each; those in the closure join at once."""
    paid = np.zeros(sample.size)
    for s in range(sample.size):
        low, high = points[sample[s]].copy(), points[sample[s]].copy()
        while True:
            inside = 0
            best, found = np.inf, -1
            for j in range(points.shape[0]):
                adds = rounded(stretched(low, high, points[j], costs) - paid[s])
                if adds <= 0:
                    inside += weight[j]
                elif adds < best or (adds == best and first[j] < first[found]):
                    best, found = adds, j
            if inside >= k:
                break
            grow(low, high, points[found])
            paid[s] = stretched(low, high, points[found], costs)
    return paid
