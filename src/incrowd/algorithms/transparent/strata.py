"""STRATA: parts of the table that are cut by quasi-identifiers, as far as the release itself tells.

A cut may depend on how often the commonest value of a node occurs, and on nothing else about values. The
release shows all values of every stratum, so whoever re-runs the program knows that number, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.algorithms.transparent.split import Ground, grouped
from incrowd.flow import Codes, Microdata
from incrowd.kernels import transparent as kernels

Ints = NDArray[np.int64]


def strata(data: Microdata, values: Codes, l: int, least: int, ground: Ground) -> list[Ints]:  # noqa: E741
    """The people of each stratum, ascending. Values are those of one column (n,), or of several (m, n).

    Both sides of a cut have `least` people, and l times as many as have the commonest value of the node, in
    whichever column.
    """
    columns = np.atleast_2d(values)
    values = columns + np.arange(len(columns), dtype=np.int32)[:, None] * (columns.max(initial=0) + 1)
    labels = np.empty(len(data), np.int32)
    points, spare = ground.buffers(ground.columns(data.codes))
    about = ground.geometry, ground.queries, ground.work
    kernels.cut_strata(points, spare, StrictMondrian(least).rules(), about, values, l, labels)
    order, starts = grouped(labels)
    return [part.astype(np.int64) for part in np.split(order, starts[1:-1])]
