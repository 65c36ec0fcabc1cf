"""Points against all records, where boxes around records tell too little: many columns, long distances.

The square of a distance is written as a product of what a point and a record bring along, so that a tile of
points and records is one product of two small matrices. Records from the middle of the table come first: of
ordinary points most are decided before the others are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from incrowd.verifier.domain import Bools
from incrowd.verifier.rows import Ints

RECORDS = 512  # in a tile
TILE = 2**18  # numbers multiplied for a tile: few enough that the product is not shared out to threads
CHUNKS = 4  # tiles of records between looks at who is decided

Floats = NDArray[np.float64]


class Sweep:
    """Records as the right side of the product.

    Parameters
    ----------
    positions : sequence of arrays of shape (records,)
        One for each column; not a number is missing.
    units : sequence of float
        What a missing value differs by.
    weight : array of shape (records,)
        How often each record occurs.
    limits : pair of float
        Squares up to the first are near, squares above the second are not.
    gaps : bool
        Is anything missing, in records or points?
    """

    def __init__(
        self,
        positions: Sequence[Floats],
        units: Sequence[float],
        weight: Ints,
        limits: tuple[float, float],
        gaps: bool,
    ) -> None:
        self._units, self._gaps = units, gaps
        self._sure, self._hopeless = limits
        order = np.argsort(_from_the_middle(positions, units, weight), kind="stable")
        self._right = self._features([at[order] for at in positions], of_points=False).T.copy()
        self._weight = weight[order].astype(np.float64)
        self._left = np.concatenate([np.cumsum(self._weight[::-1])[::-1], [0.0]])

    def decided(self, positions: Sequence[Floats], limit: int) -> tuple[Bools, Bools]:
        """Which points surely have more records near than `limit`, and which surely have not."""
        features = self._features(positions, of_points=True)
        sure, most = np.zeros(len(features)), np.zeros(len(features))
        left = np.arange(len(features))
        for first in range(0, self._weight.size, RECORDS * CHUNKS):
            last = min(first + RECORDS * CHUNKS, self._weight.size)
            self._count(features, left, (first, last), sure, most)
            left = left[(sure[left] <= limit) & (most[left] + self._left[last] > limit)]
            if not left.size:
                break
        many: Bools = sure > limit
        open_ = np.zeros(len(features), np.bool_)
        open_[left] = True
        return many, ~many & ~open_

    def _features(self, positions: Sequence[Floats], of_points: bool) -> Floats:
        """The factors of each point or record: their products add up to the square of the distance.

        With m = 1 for a real value and 0 for a missing one, a column adds
        m m' (x - x')² + w (m + m' - 2 m m') for the weight w.
        """
        found: list[Floats] = []
        own, ones = np.zeros(positions[0].size), np.ones(positions[0].size)
        for at, unit in zip(positions, self._units, strict=True):
            if not self._gaps:
                own += at * at
                found.append(-2 * at if of_points else at)
                continue
            real, x, w = (~np.isnan(at)).astype(np.float64), np.nan_to_num(at), unit * unit
            own += w * real
            found += [real * x * x - 2 * w * real, real, -2 * x] if of_points else [real, real * x * x, x]
        found += [own, ones] if of_points else [ones, own]
        return np.stack(found, axis=1)

    def _count(self, features: Floats, who: Ints, some: tuple[int, int], sure: Floats, most: Floats) -> None:
        height = max(TILE // (RECORDS * features.shape[1]), 1)
        for at in range(0, who.size, height):
            here = who[at : at + height]
            rows = features[here]
            for first in range(*some, RECORDS):
                records = slice(first, min(first + RECORDS, some[1]))
                square = rows @ self._right[:, records]
                near, may_be = square <= self._sure, square <= self._hopeless
                amount = near.astype(np.float64) @ self._weight[records]
                sure[here] += amount
                # Hardly ever does anything lie between.
                same = np.count_nonzero(near) == np.count_nonzero(may_be)
                most[here] += amount if same else may_be.astype(np.float64) @ self._weight[records]


def _from_the_middle(positions: Sequence[Floats], units: Sequence[float], weight: Ints) -> Floats:
    away = np.zeros(weight.size)
    for at, unit in zip(positions, units, strict=True):
        real = ~np.isnan(at)
        middle = float((at[real] * weight[real]).sum()) / max(float(weight[real].sum()), 1.0)
        away += np.where(real, at - middle, unit) ** 2
    return away
