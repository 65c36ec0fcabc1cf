"""Density-based outliers: local outlier factors of records, over the same distance as (p,d)-outliers.

References
----------
Breunig, Kriegel, Ng, Sander, "LOF: identifying density-based local outliers", SIGMOD 2000.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from incrowd.distance_outliers.axes import Floats
from incrowd.distance_outliers.cloud import Bools, Cloud, Ints
from incrowd.errors import TableError
from incrowd.flow import Codes
from incrowd.kernels import density


def local_outlier_factors(cloud: Cloud, m: int) -> Floats:
    r"""The local outlier factor of each distinct point of a cloud (points,).

    The neighbours of a record are all others within its m-distinct-distance, that to the m-th nearest point
    that is not its own: ties belong to them, and so do records that are equal to it. With the reachability
    :math:`r(a, b) = \max(\text{distance of b to its m-th}, |a - b|)`

    .. math:: \mathrm{lrd}(a) = \frac{|N(a)|}{\sum_{b \in N(a)} r(a, b)} \qquad
              \mathrm{LOF}(a) = \frac{1}{|N(a)|} \sum_{b \in N(a)} \frac{\mathrm{lrd}(b)}{\mathrm{lrd}(a)}

    About 1 where it is as dense as around the neighbours, more where it is thinner.

    Raises
    ------
    TableError
        There are no m points beside each.

    Examples
    --------
    >>> from incrowd.distance_outliers.axes import Axis
    >>> codes, places = np.arange(5, dtype=np.int32), (0, 1, 2, 3, 12)
    >>> axis = Axis("age", 0, True, codes, places, -1, ("0", "1", "2", "3", "12"), 1)
    >>> cloud = Cloud.of([axis], np.ones(5, bool), np.ones(5, bool))
    >>> local_outlier_factors(cloud, 2).round(2).tolist()
    [1.0, 1.0, 1.0, 1.0, 6.33]
    """
    return LocalDensity.of(cloud, m).factors


@dataclass(frozen=True, slots=True, eq=False)
class LocalDensity:
    """What local outlier factors with m neighbours are made of; a point is bad if its factor is `above`."""

    m: int
    points: Floats
    counts: Ints
    gap: Floats
    reach: Floats
    density: Floats
    factors: Floats
    place: Mapping[bytes, int]
    above: float = 0.0

    @classmethod
    def of(cls, cloud: Cloud, m: int, above: float = 0.0) -> LocalDensity:
        """Of the records of a cloud."""
        _need(cloud, m)
        points = np.ascontiguousarray(cloud.coordinates(cloud.points))
        gap = np.array([float(axis.weight) for axis in cloud.axes])
        reach = density.reaches(points, gap, m)
        place = {point.tobytes(): i for i, point in enumerate(cloud.points.astype(np.int32))}
        dense, found = density.factors(points, cloud.counts, gap, reach)
        return cls(m, points, cloud.counts, gap, reach, dense, found, place, above)

    def bad(self, cloud: Cloud, points: Codes) -> Bools:
        """Which of these points (q, d) of codes are outliers: the record there, or who would be there."""
        coordinates, codes = cloud.coordinates(points), points.astype(np.int32)
        found = np.empty(len(points), np.bool_)
        for q, point in enumerate(codes):
            here = self.place.get(point.tobytes(), -1)
            found[q] = (self.factors[here] if here >= 0 else self._at(coordinates[q])) > self.above
        return found

    def _at(self, point: Floats) -> float:
        whole = np.ascontiguousarray(np.vstack([self.points, point]))
        return float(density.factor_of_last(whole, self.counts, self.gap, self.reach, self.density, self.m))


def _need(cloud: Cloud, m: int) -> None:
    if len(cloud.points) <= m:
        raise TableError(
            f"{m} neighbours: only {len(cloud.points):,} different records are there; ask for fewer"
        )
