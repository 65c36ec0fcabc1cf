"""Density-based outliers: local outlier factors of records, over the same distance as (p,d)-outliers.

References
----------
Breunig, Kriegel, Ng, Sander, "LOF: identifying density-based local outliers", SIGMOD 2000.
"""

from __future__ import annotations

import numpy as np

from incrowd.distance_outliers.axes import Floats
from incrowd.distance_outliers.cloud import Cloud
from incrowd.errors import TableError
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
    if len(cloud.points) <= m:
        raise TableError(
            f"{m} neighbours: only {len(cloud.points):,} different records are there; ask for fewer"
        )
    points = np.ascontiguousarray(cloud.coordinates(cloud.points))
    gap = np.array([float(axis.weight) for axis in cloud.axes])
    found: Floats = density.factors(points, cloud.counts, gap, density.reaches(points, gap, m))
    return found
