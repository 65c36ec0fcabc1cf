"""Single-dimensional partitioning: each column is cut on its own, for all records alike.

The comparison that the multidimensional paper draws: a cut must leave k records on both sides of *every*
region that it meets, so few cuts are possible and groups can grow with the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import MULTIDIMENSIONAL, Algorithm, need_enough
from incrowd.contracts import AnyLimit, Choice, Guard, Limit, register
from incrowd.flow import Microdata, Partition
from incrowd.kernels import single
from incrowd.long_work import Progress


@register("algorithm", "single")
@dataclass(frozen=True)
class SingleDimensional(Algorithm):
    """Repeat allowable single-dimensional cuts until there is none.

    Parameters
    ----------
    choose : str
        Which column is cut next: each in turn (``round-robin``), or always the first that can be cut
        (``axis``). In a column the slab with most records is cut first, nearest its median.
    """

    choose: str = "round-robin"
    paper: ClassVar[str] = MULTIDIMENSIONAL
    section: ClassVar[str] = "2.2, single-dimensional partitioning"
    publishes: ClassVar[str] = "each column recoded on its own, the same for all records"
    recodes: ClassVar[bool] = True
    needs: ClassVar[str] = "nothing; loses far more than mondrian, for comparison"
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        "k": Limit(1),
        "choose": Choice(("round-robin", "axis")),
    }

    def group(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        """The group of each record, and in which slab of each column a record lies."""
        need_enough(data, self.k)
        space = _SlabGrid(data.codes, self.k, guards)
        axis, misses, d = 0, 0, data.codes.shape[1]
        while misses < d:
            if space.cut(axis):
                misses = 0
                axis = axis if self.choose == "axis" else (axis + 1) % d
            else:
                misses += 1
                axis = (axis + 1) % d
            progress(space.share_settled())
        return Partition(space.region, space.slabs())


class _SlabGrid:
    """All points in their regions, and for each axis its slabs as borders in the sorted order."""

    def __init__(self, codes: NDArray[np.int32], k: int, guards: tuple[Guard, ...]) -> None:
        n, d = codes.shape
        small = codes.size == 0 or int(codes.max()) < 2**15
        self.k = k
        self.guards = guards
        narrow = codes.astype(np.int16) if small else codes  # short keys sort in linear time
        self.order = [np.argsort(narrow[:, j], kind="stable").astype(np.int32) for j in range(d)]
        self.codes = [narrow[order, j] for j, order in enumerate(self.order)]
        self.borders = [[0, n] for _ in range(d)]
        self.settled: list[set[int]] = [set() for _ in range(d)]  # slabs (by first row) that are done with
        self.region = np.zeros(n, np.int32)
        self.regions = 1
        self.count, self.fresh = single.empty_marks(n // max(k, 1) + 2)

    def cut(self, axis: int) -> bool:
        """Cut the fullest slab of an axis that can be cut; False if none can."""
        borders = self.borders[axis]
        slabs = sorted(pairwise(borders), key=lambda s: (s[0] - s[1], s[0]))
        for first, last in slabs:
            if first in self.settled[axis]:
                continue
            at = self._find(axis, first, last)
            if at > 0 and self._apply(axis, first, first + at, last):
                return True
            # cutting other axes only makes regions smaller: what cannot be cut now never can
            self.settled[axis].add(first)
        return False

    def _find(self, axis: int, first: int, last: int) -> int:
        codes = self.codes[axis][first:last]
        order = self.order[axis][first:last]
        regions = self.regions // (len(self.borders[axis]) - 1)
        low, high = single.allowed_codes(codes, order, self.region, self.k, regions, self.count)
        return int(single.nearest_middle(codes, low, high)) if low < high else -1

    def _apply(self, axis: int, first: int, at: int, last: int) -> bool:
        right = self.order[axis][at:last]
        before = self.region[right].copy() if self.guards else right
        regions = single.cut_regions(right, self.region, self.fresh, self.regions)
        if self.guards and not self._allowed(self.order[axis][first:last]):
            self.region[right] = before
            return False
        self.regions = int(regions)
        self.borders[axis] = sorted([*self.borders[axis], at])
        return True

    def _allowed(self, rows: NDArray[np.int32]) -> bool:
        """Do all guards allow each region among these rows?"""
        by_region = rows[np.argsort(self.region[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(self.region[by_region])) + 1
        return all(guard.allows(part) for part in np.split(by_region, starts) for guard in self.guards)

    def share_settled(self) -> float:
        slabs = sum(len(borders) - 1 for borders in self.borders)
        return sum(map(len, self.settled)) / slabs

    def slabs(self) -> NDArray[np.int32]:
        """The slab of each record in each column (n, d)."""
        slabs = np.empty((self.region.size, len(self.order)), np.int32)
        for j, order in enumerate(self.order):
            single.slab_of(order, np.array(self.borders[j], np.int64), slabs[:, j])
        return slabs
