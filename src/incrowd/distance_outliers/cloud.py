"""Records as points of scaled columns, and exact decisions about how many of them lie far from a point.

Floats count first, by the trees of `kernels.outliers`. Only where an answer hangs on distances too close to
the radius to call are those distances computed in whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, isqrt, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.distance_outliers.axes import Axis, Floats
from incrowd.flow import Codes, distinct_rows
from incrowd.kernels import outliers as kernel
from incrowd.long_work import Progress, silent

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
MARGIN = 1e-11  # of the squared radius: within it floats do not decide
BATCH = 4096
_NEVER = 2**62  # more records than any table has: the count then runs to its end


@dataclass(frozen=True, slots=True, eq=False)
class Cloud:
    """Distinct points (m, d) of codes with counts (m,), scaled by each axis's ends (smallest place, span).

    ``which`` (n,) is the point of each record, -1 for records outside. With ``scan`` every count looks at
    every point, as the papers do it, instead of trees and as far as needed. Build it with `of`.
    """

    axes: tuple[Axis, ...]
    ends: tuple[tuple[int, int], ...]
    points: Codes
    counts: Ints
    which: Codes
    scaled: tuple[Floats, ...]
    scan: bool = False
    memo: dict[tuple[Fraction, bytes], int] = field(default_factory=dict)
    grown: list[Any] = field(default_factory=list)  # the trees and their scratch room, once somebody asks

    @classmethod
    def of(cls, axes: Sequence[Axis], inside: Bools, scale: Bools, scan: bool = False) -> Cloud:
        """The records that are `inside` (n,), with distances by the extent of those in `scale` (n,)."""
        ends = tuple(axis.ends(scale) for axis in axes)
        rows = np.flatnonzero(inside)
        first, of, counts = distinct([axis.codes[rows] for axis in axes], [len(axis) for axis in axes])
        which = np.full(inside.size, -1, np.int32)
        which[rows] = of
        points = np.stack([axis.codes[rows[first]] for axis in axes], axis=1)
        scaled = tuple(axis.scaled(*end) for axis, end in zip(axes, ends, strict=True))
        return cls(tuple(axes), ends, points, counts, which, scaled, scan)

    def __len__(self) -> int:
        return int(self.counts.sum())

    def coordinates(self, points: Codes, axes: slice = slice(None)) -> Floats:
        """Points (q, d) of codes as the kernel takes them: scaled, NaN where missing."""
        columns = [x[points[:, j]] for j, x in enumerate(self.scaled[axes])]
        return np.stack(columns, axis=1) if columns else np.empty((len(points), 0))

    @property
    def forest(self) -> Any:
        return self._kernel()[0]

    @property
    def room(self) -> Any:
        """Scratch room for one thread of queries."""
        return self._kernel()[1]

    def _kernel(self) -> list[Any]:
        if not self.grown:
            forest = self.trees(slice(None))
            self.grown.extend([forest, kernel.scratch(forest)])
        return self.grown

    def trees(self, axes: slice) -> kernel.DistanceForest:
        """What counts are made in, over some of the axes; a scan has one leaf."""
        gaps = [float(axis.weight) for axis in self.axes[axes]]
        leaf = max(len(self.points), 1) if self.scan else kernel.LEAF
        return kernel.build(self.coordinates(self.points, axes), self.counts, gaps, leaf)

    def bound(self, radius: Fraction, least: int) -> kernel.Bound:
        """When the kernel has decided: at least `least` records further than the radius make a point bad."""
        reach = max(float(np.abs(x[~np.isnan(x)]).max(initial=0.0)) for x in self.scaled)
        # A coordinate is off by a few units in its last digit, and so is a difference of two; relative to the
        # squared radius that is a few times reach / radius. 64 is generous.
        doubt = MARGIN + 64 * np.finfo(np.float64).eps * (len(self.axes) + 1) * reach / float(radius)
        square = float(radius * radius)
        if doubt >= 0.5:
            return kernel.Bound(-1.0, np.inf, len(self) - least + 1, least)
        return kernel.Bound(square * (1 - doubt), square * (1 + doubt), len(self) - least + 1, least)

    def bad(self, points: Codes, radius: Fraction, least: int, progress: Progress = silent) -> Bools:
        """For points (q, d) of codes: do at least `least` records lie further than the radius? Exact."""
        bound, found = self.bound(radius, least), np.empty(len(points), np.int8)
        for start in range(0, len(points), BATCH):
            some = slice(start, start + BATCH)
            found[some] = kernel.decide_all(self.forest, bound, self.coordinates(points[some]), self.room)
            progress(min(start + BATCH, len(points)) / len(points))
        for q in np.flatnonzero(found == kernel.UNSURE).tolist():
            found[q] = self.far(points[q], radius) >= least
        return found.astype(np.bool_)

    def far(self, point: Codes, radius: Fraction) -> int:
        """How many records lie further than the radius from a point (d,) of codes. Exact."""
        key = (radius, point.astype(np.int32).tobytes())
        if key not in self.memo:
            self.memo[key] = self._far(point, radius)
        return self.memo[key]

    def _far(self, point: Codes, radius: Fraction) -> int:
        bound = self.bound(radius, _NEVER)._replace(enough=_NEVER)
        close = np.empty(len(self.points), np.int32)
        at = self.coordinates(point[None, :])[0]
        _, outside, written = kernel.weigh(self.forest, bound, at, self.room, close)
        near = self.forest.order[close[:written]]
        apart = self._exactly_far(point, near, radius)
        return int(outside) + int(self.counts[near[apart]].sum())

    def _exactly_far(self, point: Codes, others: Codes, radius: Fraction) -> Bools:
        """Which of these points of the cloud lie further than the radius, in whole numbers."""
        if not others.size:
            return np.zeros(0, np.bool_)
        squares = [axis.weight / (span * span) for axis, (_, span) in zip(self.axes, self.ends, strict=True)]
        unit = lcm(*(s.denominator for s in squares), *(axis.weight.denominator for axis in self.axes))
        total = np.zeros(others.size, object)
        for j, (axis, square) in enumerate(zip(self.axes, squares, strict=True)):
            here, each = axis.places[point[j]], int(square * unit)
            gap = int(axis.weight * unit)
            there, of = np.unique(self.points[others, j], return_inverse=True)
            total += np.array([_square(here, axis.places[c], each, gap) for c in there.tolist()], object)[of]
        return (total > floor(radius * radius * unit)).astype(np.bool_)


def _square(here: int | None, there: int | None, each: int, gap: int) -> int:
    if here is None or there is None:
        return 0 if here is there else gap
    return each * (here - there) ** 2


def far_in_line(axis: Axis, inside: Bools, end: tuple[int, int], radius: Fraction) -> Ints:
    """How many of the records inside lie further than the radius from each code of one column alone.

    In one column being within the radius is being within a whole number of units, so sorting decides exactly.
    """
    counts = np.bincount(axis.codes[inside], minlength=len(axis))
    placed = sorted((place, code) for code, place in enumerate(axis.places) if place is not None)
    places = np.array([place for place, _ in placed], object)
    upto = np.concatenate([[0], np.cumsum(counts[[code for _, code in placed]])]).astype(np.int64)
    reach = isqrt(floor(radius * radius * end[1] ** 2 / axis.weight))
    missing = int(counts.sum() - upto[-1])
    apart = axis.weight > radius * radius  # a missing and a known value
    found = np.full(len(axis), upto[-1] if apart else 0, np.int64)
    if not placed:
        return found
    small = max(abs(int(places[0])), abs(int(places[-1]))) + reach < 2**62
    lines = places.astype(np.int64) if small else places
    within = (
        upto[np.searchsorted(lines, lines + reach, "right")] - upto[np.searchsorted(lines, lines - reach)]
    )
    found[[code for _, code in placed]] = upto[-1] - within + (missing if apart else 0)
    return found


def distinct(columns: Sequence[Codes], sizes: Sequence[int]) -> tuple[Ints, Ints, Ints]:
    """Where each distinct combination of codes is first met, which of them each row has, and how often."""
    first, of = distinct_rows(columns, sizes, columns[0].size if columns else 0)
    return first, of, np.bincount(of, minlength=first.size)
