"""How many records are outliers at many p and d: nobody is asked twice, and every answer is exact.

In a large table only records at even steps are asked whether they are outliers, and only among each other.
Removal and scale are those of the whole table.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from math import ceil, floor, isqrt
from typing import Any

import numpy as np

from incrowd.contracts import exact
from incrowd.distance_outliers.axes import Axis, Floats, axes_of
from incrowd.distance_outliers.cloud import Bools, Cloud, Ints
from incrowd.distance_outliers.setting import Setting
from incrowd.distance_outliers.space import Space, stranded
from incrowd.flow import Microdata

STEPS = 9  # of d, from near pairs to far ones
PAIRED = 400  # records whose pairs show which distances there are
UNIT = 100  # d is proposed in hundredths
_KEPT = 8  # clouds that are kept, each with its trees


@dataclass(frozen=True, slots=True)
class OutlierCount:
    """How many stand out at one p and d, as `publish` would take them: both are lowered by the margin, but
    for the question who is removed, and so for the scale.

    Of the ``asked`` records ``outliers`` stand out. Of all ``records`` ``removed`` do by their sensitive
    values alone, and would have no row. The first count has those of the second among it.
    """

    p: str
    d: str
    outliers: int
    asked: int
    removed: int
    records: int

    @property
    def share(self) -> float:
        return self.outliers / self.asked

    @property
    def removed_share(self) -> float:
        return self.removed / self.records

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"share": self.share, "removed_share": self.removed_share}


@dataclass(frozen=True, slots=True)
class DistancePart:
    """A column's part of the squared distance between two records, on average over pairs.

    ``instead`` is the weight that would give it the part that others have on average; empty unless it has
    far more.
    """

    column: str
    weight: str
    sensitive: bool
    share: float
    instead: str = ""


def hundredths(units: int) -> str:
    return f"{units // UNIT}.{units % UNIT:02}"


@dataclass(frozen=True, eq=False)
class _Monotone:
    """Who of a cloud is bad, for one radius after the other.

    Who is bad stays so at a smaller p and a smaller radius. So whoever was good at smaller ones, or bad at
    larger ones, need not be asked again.
    """

    cloud: Cloud
    size: int
    known: list[tuple[Fraction, Fraction, Bools]] = field(default_factory=list)

    def bad(self, p: Fraction, radius: Fraction) -> Bools:
        found, open_ = np.zeros(len(self.cloud.points), np.bool_), np.ones(len(self.cloud.points), np.bool_)
        for share, distance, bad in self.known:
            if share >= p and distance >= radius:
                found |= bad
            if share <= p and distance <= radius:
                open_ &= bad
        ask = np.flatnonzero(open_ & ~found)
        if ask.size:
            found[ask] = self.cloud.bad(self.cloud.points[ask], radius, ceil(p * self.size))
        self.known.append((p, radius, found))
        return found


@dataclass(frozen=True, eq=False)
class OutlierCounts:
    """The table, who of it is asked, and what is known of them so far."""

    data: Microdata
    base: Setting
    axes: tuple[Axis, ...]
    asked: Ints
    sensitive: _Monotone
    rest: dict[bytes, _Monotone] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Microdata, base: Setting, most: int) -> OutlierCounts:
        axes, everybody = axes_of(data, base), np.ones(len(data), np.bool_)
        asked = min(most, len(data))
        sensitive = Cloud.of([axis for axis in axes if not axis.quasi], everybody, everybody)
        return cls(data, base, axes, np.arange(asked) * len(data) // asked, _Monotone(sensitive, len(data)))

    def who(self, p: str, d: str) -> Bools:
        """Which records stand out at p and d (n,), of those who are asked."""
        setting = replace(self.base, p=p, d=d)
        removed = self._removed(setting)
        left = self._left(removed)
        bad = left.bad(setting.p0, setting.d0) if len(left.cloud) else np.zeros(0, np.bool_)
        found = np.zeros(len(self.data), np.bool_)
        found[self.asked] = removed[self.asked]
        there = left.cloud.which >= 0
        found[there] = bad[left.cloud.which[there]]
        return found

    def count(self, p: str, d: str) -> OutlierCount:
        """How many stand out at p and d."""
        setting = replace(self.base, p=p, d=d)
        removed = self._removed(setting)
        gone = removed | self._stranded(removed, setting)
        outliers = int(self.who(p, d).sum())
        return OutlierCount(
            str(setting.p), str(setting.d), outliers, self.asked.size, int(gone.sum()), len(self.data)
        )

    def _stranded(self, removed: Bools, setting: Setting) -> Bools:
        """Whom only the margin makes outliers by sensitive values alone."""
        sensitive = self.sensitive
        if setting.removal != "none" and not removed.any():
            return sensitive.bad(setting.p0, setting.d0)[sensitive.cloud.which]
        return stranded(sensitive.cloud.axes, removed, setting)

    def _removed(self, setting: Setting) -> Bools:
        """Who is removed, as `Space` decides it, but that nobody is asked twice."""
        sensitive = self.sensitive
        if setting.removal == "none":
            return np.zeros(len(self.data), np.bool_)
        found = sensitive.bad(exact(setting.p), exact(setting.d))[sensitive.cloud.which]
        if setting.removal == "repeat" and found.any():
            return Space.of(self.data, setting).removed
        return found

    def _left(self, removed: Bools) -> _Monotone:
        """Those who are asked and not removed, scaled by all who are left."""
        key = np.packbits(removed).tobytes()
        if key not in self.rest:
            if len(self.rest) == _KEPT:
                del self.rest[next(iter(self.rest))]
            scale = ~removed if self.base.rescale == "yes" else np.ones_like(removed)
            inside = np.zeros_like(removed)
            inside[self.asked] = ~removed[self.asked]
            self.rest[key] = _Monotone(Cloud.of(self.axes, inside, scale), self.asked.size)
        return self.rest[key]

    def widest(self) -> int:
        """From here on, in hundredths, nobody is further away: no column adds more than its weight."""
        square = sum((axis.weight for axis in self.axes), Fraction(0)) * UNIT**2
        return isqrt(ceil(square)) + 1 + ceil(exact(self.base.margin) * UNIT)

    def distances(self, margin: Fraction) -> list[str]:
        """Distances between near pairs, between far ones, and even steps from the ones to the others."""
        pairs = np.sqrt(_squares(self._left(np.zeros(len(self.data), np.bool_)).cloud).sum(axis=0))
        near, far = (float(np.quantile(pairs, q)) for q in (0.02, 0.999)) if pairs.size else (0.0, 0.0)
        least = floor(margin * UNIT) + 1
        steps = np.linspace(near, far, STEPS) + float(margin)
        return [hundredths(max(least, round(step * UNIT))) for step in steps.tolist()]

    def parts(self, at: OutlierCount) -> tuple[DistancePart, ...]:
        """What makes up the squared distance, largest first, as scaled at this p and d."""
        cloud = self._left(self._removed(replace(self.base, p=at.p, d=at.d))).cloud
        sums = _squares(cloud).sum(axis=1)
        shares = sums / max(float(sums.sum()), np.finfo(np.float64).tiny)
        found = [
            _part(axis, self.base.weight(axis.name), share, len(self.axes))
            for axis, share in zip(self.axes, shares.tolist(), strict=True)
        ]
        return tuple(sorted(found, key=lambda part: -part.share))


def _squares(cloud: Cloud) -> Floats:
    """Squared differences (columns, pairs) between some records of a cloud, those at even steps."""
    rows = np.flatnonzero(cloud.which >= 0)
    some = min(PAIRED, rows.size)
    points = cloud.points[cloud.which[rows[np.arange(some) * rows.size // max(some, 1)]]]
    one, other = np.triu_indices(some, 1)
    found = np.empty((len(cloud.axes), one.size))
    for j, axis in enumerate(cloud.axes):
        at = cloud.scaled[j][points[:, j]]
        gone = np.isnan(at)
        apart = np.where(gone[one] == gone[other], 0.0, float(axis.weight))
        found[j] = np.where(gone[one] | gone[other], apart, (at[one] - at[other]) ** 2)
    return found


def _part(axis: Axis, weight: str, share: float, columns: int) -> DistancePart:
    """A column dominates if it has about twice its even part: over 2/3 of two, 1/2 of three, 1/5 of nine."""
    fair = float(axis.weight) * (1 - share) / (columns - 1) / share if columns > 1 and share else 0.0
    if share <= 2 / (columns + 1) or fair < 0.01:
        return DistancePart(axis.name, weight, not axis.quasi, share)
    return DistancePart(axis.name, weight, not axis.quasi, share, f"{fair:.2f}".rstrip("0"))
