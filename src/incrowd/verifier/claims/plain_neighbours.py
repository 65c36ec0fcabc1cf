"""Counting neighbours for claims of plain classes: has a point few records near it?

The counts are those of exact arithmetic. Records are cut into parts as in `kd_tree`. A point goes down to the
parts that it is neither sure to reach nor sure to miss, until what is sure decides. Floats decide with a
margin; what lies within the margin is decided in whole numbers, for the points for which it matters. Where
boxes around records tell too little (many columns, long distances), points are compared with all records by
products of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd.verifier.claims.kd_tree import cut
from incrowd.verifier.claims.plain_distance import ABSENT, ExactDistance, PlainAxis
from incrowd.verifier.columns import Bools, Ints, first_of_each, fold, sums, within

POINTS_AT_ONCE = 4096
PAIRS_AT_ONCE = 200_000
SWEPT_AT_ONCE = 100_000
PARTS_EACH = 64  # parts that a point meets, from which on all records are looked at instead; but
RECORDS_A_PART = 256  # the more records there are, the more parts are worth while
CLOSE = 1e-9  # of the distance: floats decide only what is farther from it than this
ROUNDING = 1e-14  # of the largest number met; a difference of two floats is wrong by less
SQUARES = 1e-13  # of the square of the largest number; a square that is a sum of products is wrong by less
FAR = 10  # times the distance: whoever is farther away is put here, so that numbers stay small
GRID = 2.0**30
RECORDS = 512  # in a tile of a product
TILE = 2**18  # numbers multiplied for a tile: few enough that the product is not shared out to threads
CHUNKS = 4  # tiles of records between looks at who is decided

Floats = NDArray[np.float64]
Points = Sequence[Ints]
Undecided = tuple[
    Ints, Ints, Ints, Ints
]  # points, how many are surely near each; pairs: point, part or record


@dataclass(frozen=True, slots=True, eq=False)
class _PlacedColumn:
    """One column of the records: positions by value, and what the parts of the table hold.

    Positions count in spans, times the root of the weight: squares of differences add up. `unit` is what a
    missing value differs by. Part i has real values in ``low[i]..high[i]`` (none: infinite), and missing ones
    if ``gap[i]``.
    """

    position: Floats
    unit: float
    low: Floats
    high: Floats
    gap: Bools

    def bounds(self, values: Ints, part: Ints) -> tuple[Floats, Floats]:
        """The smallest and the largest difference between value i and what part i holds."""
        x, low, high = self.position[values], self.low[part], self.high[part]
        near: Floats = np.maximum(np.maximum(low - x, x - high), 0.0)
        far: Floats = np.maximum(x - low, high - x)
        absent = values == ABSENT
        if not absent.any() and not self.gap[0]:
            return near, far
        gap, real = self.gap[part], low <= high
        near = np.where(gap, np.minimum(near, self.unit), near)
        far = np.where(gap, np.maximum(far, self.unit), far)
        near = np.where(absent, np.where(gap, 0.0, self.unit), near)
        far = np.where(absent, np.where(real, self.unit, 0.0), far)
        return near, far

    def between(self, one: Ints, other: Ints) -> Floats:
        gone = (one == ABSENT).astype(np.int64) + (other == ABSENT)
        steps: Floats = np.abs(self.position[one] - self.position[other])
        return np.where(gone == 1, self.unit, np.where(gone == 2, 0.0, steps)) if gone.any() else steps


class NearbyCounts:
    """Records, and which points have few of them near.

    The axes are the columns that take part; a point is a value in each. `members` are the records that are
    counted, `scale` those whose spans are the units of distance. A record is near within `reach`.
    """

    def __init__(self, axes: Sequence[PlainAxis], members: Ints, scale: Ints, reach: Fraction) -> None:
        codes = [axis.records[members] for axis in axes]
        kind = fold(codes, [len(axis.places) for axis in axes])
        first = first_of_each(kind)
        self.size, self._exact = members.size, ExactDistance(axes, scale, reach)
        positions = [
            _positions(axis, *ends, reach) for axis, ends in zip(axes, self._exact.ends, strict=True)
        ]
        units = [math.sqrt(axis.weight) for axis in axes]
        ranks = [_ranks(at[own[first]], unit) for at, own, unit in zip(positions, codes, units, strict=True)]
        parts = cut(ranks, units)
        order, tree = first[parts.order], slice(parts.whole, None)
        self._depth, self._start, self._stop = parts.depth, parts.start[tree], parts.stop[tree]
        self._values = [own[order] for own in codes]
        self._weight = np.bincount(kind)[parts.order]
        before = np.concatenate([[0], np.cumsum(self._weight)])
        self._many = before[self._stop] - before[self._start]
        self._columns = [
            self._column(at, own, unit) for at, own, unit in zip(positions, self._values, units, strict=True)
        ]
        largest = sum(float(np.nanmax(np.abs(c.position), initial=0)) + c.unit for c in self._columns)
        sure = float(reach) * (1 - CLOSE) - ROUNDING * largest
        self._sure = sure**2 if sure > 0 else -1.0
        self._hopeless = (float(reach) * (1 + CLOSE) + ROUNDING * largest) ** 2
        self._cancelled = SQUARES * largest**2
        self._sweeps: dict[bool, ProductSweep] = {}

    def _column(self, position: Floats, own: Ints, unit: float) -> _PlacedColumn:
        at, gone = position[own], own == ABSENT
        low, high, gap = [], [], []
        for level in range(self._depth + 1):
            starts = self._start[(1 << level) - 1 : (2 << level) - 1]
            low.append(np.minimum.reduceat(np.where(gone, np.inf, at), starts))
            high.append(np.maximum.reduceat(np.where(gone, -np.inf, at), starts))
            gap.append(np.logical_or.reduceat(gone, starts))
        return _PlacedColumn(position, unit, np.concatenate(low), np.concatenate(high), np.concatenate(gap))

    def centrality(self, some: Sequence[int], points: Points) -> Floats:
        """How far points lie from the middle of all records, in some of the columns; a rule of thumb."""
        away = np.zeros(points[0].size if points else 1)
        for j, values in zip(some, points, strict=True):
            column = self._columns[j]
            middle = _middle(column.position[self._values[j]], self._weight)
            away += np.where(values == ABSENT, column.unit, column.position[values] - middle) ** 2
        return away

    def few(self, points: Points, limit: int) -> Bools:
        """Which points have at most `limit` records near?"""
        size = points[0].size
        found = np.full(size, limit >= self.size)
        if 0 <= limit < self.size:
            stubborn = [np.empty(0, np.int64)]
            for at in range(0, size, POINTS_AT_ONCE):
                who = np.arange(at, min(at + POINTS_AT_ONCE, size))
                stubborn += self._descend(points, who, limit, found)
            self._swept(points, np.concatenate(stubborn), limit, found)
        return found

    def _sweep(self, points: Sequence[Floats]) -> ProductSweep:
        """All records, with or without room for missing values."""
        gaps = any(column.gap[0] for column in self._columns) or any(np.isnan(at).any() for at in points)
        if gaps not in self._sweeps:
            at = [c.position[own] for c, own in zip(self._columns, self._values, strict=True)]
            units = [column.unit for column in self._columns]
            limits = (self._sure - self._cancelled, self._hopeless + self._cancelled)
            self._sweeps[gaps] = ProductSweep(at, units, self._weight, limits, gaps)
        return self._sweeps[gaps]

    def _swept(self, points: Points, who: Ints, limit: int, found: Bools) -> None:
        """Against all records, first by floats, and in whole numbers where that does not decide."""
        for at in range(0, who.size, SWEPT_AT_ONCE):
            some = who[at : at + SWEPT_AT_ONCE]
            where = [c.position[values[some]] for c, values in zip(self._columns, points, strict=True)]
            many, few = self._sweep(where).decided(where, limit)
            found[some[few]] = True
            left, step = some[~many & ~few], max(PAIRS_AT_ONCE // self._weight.size, 1)
            for first in range(0, left.size, step):
                last = left[first : first + step]
                nothing = np.zeros(last.size, np.int64)
                self._look(points, limit, found, (last, nothing, np.arange(last.size), nothing))

    def _descend(self, points: Points, who: Ints, limit: int, found: Bools) -> Iterator[Ints]:
        """Down the parts; points that are decided drop out, many pairs of point and part are halved.

        Points that meet too many parts are given back: to look at all records is then quicker.
        """
        most_parts = max(PARTS_EACH, self._weight.size // RECORDS_A_PART)
        waiting = [(0, who, np.zeros(who.size, np.int64), np.arange(who.size), np.zeros(who.size, np.int64))]
        while waiting:
            level, who, sure, point, part = waiting.pop()
            bounds = self._bounds(points, who[point], part)
            undecided = self._settle(limit, found, (who, sure, point, part), bounds, self._many[part])
            if level == self._depth:
                self._look(points, limit, found, undecided)
                continue
            who, sure, point, part = undecided
            if point.size > most_parts * who.size:
                yield who
                continue
            point, part = np.repeat(point, 2), np.stack([2 * part + 1, 2 * part + 2], axis=1).ravel()
            waiting += [(level + 1, *piece) for piece in _halves(who, sure, point, part)]

    def _bounds(self, points: Points, who: Ints, part: Ints) -> tuple[Floats, Floats]:
        near, far = np.zeros(who.size), np.zeros(who.size)
        for column, values in zip(self._columns, points, strict=True):
            least, most = column.bounds(values[who], part)
            near += least * least
            far += most * most
        return near, far

    def _settle(
        self, limit: int, found: Bools, pairs: Undecided, bounds: tuple[Floats, Floats], amount: Ints
    ) -> Undecided:
        """Count pairs that are surely near, drop those that surely are not; give back who is undecided."""
        (who, sure, point, other), (near, far) = pairs, bounds
        sure = sure + sums(point, np.where(far <= self._sure, amount, 0), who.size)
        left = (far > self._sure) & (near <= self._hopeless)
        point, other = point[left], other[left]
        most = sure + sums(point, amount[left], who.size)
        found[who[most <= limit]] = True
        undecided = (sure <= limit) & (most > limit)
        number, keep = np.cumsum(undecided) - 1, undecided[point]  # who is left is numbered anew
        return who[undecided], sure[undecided], number[point[keep]], other[keep]

    def _look(self, points: Points, limit: int, found: Bools, undecided: Undecided) -> None:
        """At single records, of parts that nothing lies below."""
        who, sure, point, part = undecided
        size = self._stop[part] - self._start[part]
        record = within(self._start[part], size)
        point = np.repeat(point, size)
        square = np.zeros(point.size)
        for column, values, own in zip(self._columns, points, self._values, strict=True):
            square += column.between(values[who[point]], own[record]) ** 2
        undecided = (who, sure, point, record)
        undecided = self._settle(limit, found, undecided, (square, square), self._weight[record])
        who, sure, point, record = undecided
        pairs = [(v[who[point]], own[record]) for v, own in zip(points, self._values, strict=True)]
        near = self._exact.near([one for one, _ in pairs], [other for _, other in pairs])
        sure = sure + sums(point, np.where(near, self._weight[record], 0), who.size)
        found[who[sure <= limit]] = True


def _positions(axis: PlainAxis, low: int, high: int, reach: Fraction) -> Floats:
    span, unit = high - low, math.sqrt(axis.weight)
    beyond = span * (2 + math.ceil(FAR * float(reach) / unit))
    least, most = low - beyond, high + beyond
    found = [math.nan if at is None else (min(max(at, least), most) - low) / span for at in axis.places]
    return np.array(found) * unit


def _ranks(position: Floats, unit: float) -> Ints:
    """Whole numbers to cut records by; missing lies beside the others."""
    return np.rint(np.where(np.isnan(position), -0.5, position / unit) * GRID).astype(np.int64)


def _halves(who: Ints, sure: Ints, point: Ints, part: Ints) -> Iterator[Undecided]:
    """Pieces with few enough pairs, unless of one point; pairs are in the order of their points."""
    if not who.size:
        return
    if point.size <= PAIRS_AT_ONCE or who.size == 1:
        yield who, sure, point, part
        return
    middle = who.size // 2
    at = int(np.searchsorted(point, middle))
    yield from _halves(who[:middle], sure[:middle], point[:at], part[:at])
    yield from _halves(who[middle:], sure[middle:], point[at:] - middle, part[at:])


class ProductSweep:
    """Points against all records; records are the right side of a product of matrices.

    The square of a distance is written as a product of what a point and a record bring along, so that a tile
    of points and records is one product of two small matrices. Records from the middle of the table come
    first: of ordinary points most are decided before the others are looked at.

    Not a number is a missing position, and `units` are what it differs by; `gaps` says whether anything is
    missing, in records or points. `weight` is how often each record occurs. Squares up to the first of the
    `limits` are near, squares above the second are not.
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
        away = np.zeros(weight.size)
        for at, unit in zip(positions, units, strict=True):
            away += np.where(np.isnan(at), unit, at - _middle(at, weight)) ** 2
        order = np.argsort(away, kind="stable")
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


def _middle(at: Floats, weight: Ints) -> float:
    """The mean place of those records that are not missing."""
    real = ~np.isnan(at)
    return float((at[real] * weight[real]).sum()) / max(float(weight[real].sum()), 1.0)
