"""Local outlier factors (Breunig et al.): how much thinner it is around a record than around its neighbours.

Every pair of distinct points is looked at, and left as soon as it is too far. Coordinates are those of
`kernels.outliers`: scaled, NaN where missing, and a missing and a known value differ by the column's gap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.arrays import Floats, Ints
from incrowd.kernels.jit import inlined, kernel

NEAR = 1 + 1e-12  # of a squared distance: within it two are equal but for rounding


@inlined
def squared(points: Floats, gap: Floats, i: int, j: int, most: float) -> Any:
    """The squared distance of two points; something above `most` if it is above it."""
    total = 0.0
    for c in range(points.shape[1]):
        apart = points[i, c] - points[j, c]
        if np.isnan(apart):
            total += gap[c] if np.isnan(points[i, c]) != np.isnan(points[j, c]) else 0.0
        else:
            total += apart * apart
        if total > most:
            break
    return total


@kernel
def reaches(points: Floats, gap: Floats, m: int) -> Any:
    """The squared distance of each point (n, d) to the m-th nearest other one -> (n,); 1 <= m < n."""
    n = points.shape[0]
    found, least = np.empty(n), np.empty(m)
    for i in range(n):
        least[:] = np.inf
        for j in range(n):
            far = squared(points, gap, i, j, least[m - 1])
            if i != j and far < least[m - 1]:
                at = m - 1
                while at and least[at - 1] > far:
                    least[at] = least[at - 1]
                    at -= 1
                least[at] = far
        found[i] = least[m - 1]
    return found


@kernel
def factors(points: Floats, counts: Ints, gap: Floats, reach: Floats) -> Any:
    """The density and the local outlier factor of each point, which `counts` records share -> (n,), (n,)."""
    n = points.shape[0]
    density, found = np.empty(n), np.empty(n)
    for step in range(2):
        for i in range(n):
            most, total, people = reach[i] * NEAR, 0.0, 0
            for j in range(n):
                others = counts[j] - (i == j)  # nobody is a neighbour of theirs
                if others:
                    far = squared(points, gap, i, j, most)
                    if far <= most:
                        total += others * (density[j] if step else np.sqrt(max(far, reach[j])))
                        people += others
            if step:
                found[i] = total / people / density[i]
            else:
                density[i] = people / total
    return density, found


@kernel
def factor_of_last(points: Floats, counts: Ints, gap: Floats, reach: Floats, density: Floats, m: int) -> Any:
    """The factor that somebody at the last point would have, where nobody is, among the others."""
    n = points.shape[0] - 1
    least = np.full(m, np.inf)
    for j in range(n):
        far = squared(points, gap, n, j, least[m - 1])
        if far < least[m - 1]:
            at = m - 1
            while at and least[at - 1] > far:
                least[at] = least[at - 1]
                at -= 1
            least[at] = far
    most, apart, dense, people = least[m - 1] * NEAR, 0.0, 0.0, 0
    for j in range(n):
        far = squared(points, gap, n, j, most)
        if far <= most:
            apart += counts[j] * np.sqrt(max(far, reach[j]))
            dense += counts[j] * density[j]
            people += counts[j]
    return dense / people * (apart / people)
