"""Hilbert order: put near records side by side on a curve, then cut the row where it costs least.

Ghinita, Karras, Kalnis, Mamoulis, "Fast Data Anonymization with Low Information Loss", VLDB 2007: the
baselines HR and HS of "Non-homogeneous Generalization in Privacy Preserving Data Publishing".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from incrowd.contracts import AnyLimit, Guard, Limit, Progress, need_enough
from incrowd.flow import Codes, Microdata
from incrowd.hide.lexicographic import InARow, Parts, in_order, keeping, places_of
from incrowd.hide.watch import watched

WORD = 63  # bits of the curve that are compared at once


@dataclass(frozen=True)
class Hilbert(InARow):
    """Sort along the Hilbert curve; of all cuts into parts of k to 2k-1 records take those that lose least.

    Parameters
    ----------
    k : int
        Every part keeps at least k records.
    """

    k: int

    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(1)}

    def parts(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Parts:
        from incrowd.kernels.hilbert import cheapest_cuts

        need_enough(data, self.k)
        n = len(data)
        order = curve_order(data)
        places = places_of(data)
        starts = np.cumsum([0, *(each.size for each in places)])
        begins, clock = np.zeros(n, np.bool_), np.zeros(2, np.int64)
        with watched(progress, clock, n):
            cheapest_cuts(data.codes, order, np.concatenate(places), starts, self.k, clock, begins)
        return keeping(Parts(order, np.append(np.flatnonzero(begins), n)), guards, data)


def curve_order(data: Microdata) -> Codes:
    """Records along the Hilbert curve over the grid of codes; equal ones by index.

    All columns have as many bits as the largest domain needs.

    Examples
    --------
    >>> from incrowd.schema import Kind, Shape
    >>> from incrowd.flow import Attribute
    >>> side = Attribute("side", Kind.NUMERIC, Shape.RANGE, ("0", "1"), np.array([0.0, 1.0]))
    >>> codes = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], np.int32)
    >>> curve_order(Microdata(codes, (side, side))).tolist()
    [3, 2, 1, 0]
    """
    from incrowd.kernels.hilbert import curve_words

    n, d = data.codes.shape
    bits = max(1, *((len(attribute) - 1).bit_length() for attribute in data.attributes))
    words = np.zeros((-(-bits * d // WORD), n), np.int64)
    curve_words(data.codes, bits, words)
    return in_order(list(words))
