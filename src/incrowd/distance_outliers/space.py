"""A table as points: who is removed, who is an outlier, and which points would be."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import exact
from incrowd.distance_outliers.axes import Axis, axes_of
from incrowd.distance_outliers.cloud import Bools, Cloud, Ints, distinct, far_in_line
from incrowd.distance_outliers.density import LocalDensity
from incrowd.distance_outliers.setting import Setting
from incrowd.flow import Codes, Microdata
from incrowd.kernels import outliers
from incrowd.long_work import Progress, silent


@dataclass(frozen=True, eq=False)
class Space:
    """The table as exact points over the columns that take part. Build it with `of`.

    A point is given by codes (d,), one for each axis: quasi-identifiers in their order, then sensitive
    columns. ``removed`` (n,) are the records whose sensitive values alone make them outliers, at p and d as
    they are set; everybody else is the rest, and outliers are found among them: a point is one if at least
    ``least`` of the rest lie further than ``radius``, which are lowered by the margin.

    Examples
    --------
    >>> from incrowd.encode import encode
    >>> from incrowd.flow import Table
    >>> from incrowd.schema import Column, Kind, Role, Schema
    >>> table = Table.of({"age": ["20", "21", "22", "90"], "pay": ["3", "5", "4", "3"]})
    >>> roles = {"age": Role.QUASI, "pay": Role.SENSITIVE}
    >>> schema = Schema(tuple(Column(name, role, Kind.NUMERIC) for name, role in roles.items()))
    >>> space = Space.of(encode(table, schema), Setting(p="0.75", d="0.9", distinct=2, margin=0))
    >>> space.outliers().tolist(), space.removed.any()
    ([False, False, False, True], np.False_)
    """

    data: Microdata
    setting: Setting
    cloud: Cloud
    removed: Bools
    p0: Fraction
    radius: Fraction
    density: LocalDensity | None = None  # if there, outliers are those by density

    @classmethod
    def of(cls, data: Microdata, setting: Setting, scan: bool = False) -> Space:
        """Remove whom the setting removes, and lay out the rest; with `scan` for counts that look at all.

        Raises
        ------
        PolicyError
            A column that the setting names is not there, or none of them is sensitive.
        """
        axes = axes_of(data, setting)
        removed = _removed([axis for axis in axes if not axis.quasi], setting, len(data))
        rest = ~removed
        cloud = Cloud.of(axes, rest, rest if setting.rescale == "yes" else np.ones_like(rest), scan)
        return cls(data, setting, cloud, removed, setting.p0, setting.d0)

    def at(self, p: float | str, d: float | str) -> Space:
        """The same records, scale and trees with another p and d, taken as they are (without a margin)."""
        return replace(self, p0=exact(p), radius=exact(d))

    def over(self, names: Collection[str]) -> Space:
        """The same records, scale, p and d with the distance over some of the columns only."""
        axes, rest = [axis for axis in self.axes if axis.name in names], ~self.removed
        scale = rest if self.setting.rescale == "yes" else np.ones_like(rest)
        return replace(self, cloud=Cloud.of(axes, rest, scale, self.cloud.scan))

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.cloud.axes

    @cached_property
    def quasi(self) -> int:
        """How many of the axes are quasi-identifiers; they stand first."""
        return sum(axis.quasi for axis in self.axes)

    @property
    def size(self) -> int:
        """Records of the original, removed ones included."""
        return len(self.data)

    @cached_property
    def rest(self) -> Ints:
        """The records that are not removed."""
        return np.flatnonzero(~self.removed)

    @cached_property
    def gone(self) -> Bools:
        """Who has no row (n,): the removed, and whom the margin makes outliers by sensitive values alone.

        The latter still count among the rest: removal and scale do not depend on the margin.
        """
        return self.removed | stranded(self.axes[self.quasi :], self.removed, self.setting)

    @property
    def least(self) -> int:
        """From how many far records on a point is an outlier."""
        return ceil(self.p0 * self.size)

    @cached_property
    def values(self) -> Codes:
        """The combination of sensitive values of each record (n,), numbered."""
        sensitive = self.axes[self.quasi :]
        found = distinct([axis.codes for axis in sensitive], [len(axis) for axis in sensitive])[1]
        return found.astype(np.int32)

    @cached_property
    def bound(self) -> outliers.Bound:
        """When the kernel has decided a point."""
        return self.cloud.bound(self.radius, self.least)

    def points(self, rows: NDArray[np.integer]) -> Codes:
        """The records (indices) as points (q, d) of codes."""
        return np.stack([axis.codes[rows] for axis in self.axes], axis=1)

    def bad(self, points: Codes, progress: Progress = silent) -> Bools:
        """Which of these points (q, d) of codes are outliers, whether or not somebody is there.

        Exact, but for outliers by density, which floats decide.
        """
        if self.density is not None:
            return self.density.bad(self.cloud, points)
        return self.cloud.bad(points, self.radius, self.least, progress)

    def outliers(self, progress: Progress = silent) -> Bools:
        """Which records are outliers (n,). Removed records are not tested again: False."""
        found = self.bad(self.cloud.points, progress)
        return np.where(self.removed, False, found[self.cloud.which] if found.size else False)

    @cached_property
    def lone(self) -> Bools:
        """Which records are outliers by their quasi-identifiers alone, so with any value (n,).

        Removed ones are not tested again. No class holds them where all people inside it are looked at.
        """
        axes, rest = self.axes[: self.quasi], ~self.removed
        if not axes or not rest.any():
            return np.zeros_like(rest)
        cloud = Cloud.of(axes, rest, rest if self.setting.rescale == "yes" else np.ones_like(rest))
        return rest & cloud.bad(cloud.points, self.radius, self.least)[cloud.which]


def _removed(axes: Sequence[Axis], setting: Setting, n: int) -> Bools:
    """Records whose sensitive values alone make them outliers, once or until there are none."""
    removed = np.zeros(n, np.bool_)
    everybody, least = ~removed, ceil(exact(setting.p) * n)
    while setting.removal != "none" and not removed.all():
        rest = ~removed
        scale = rest if setting.rescale == "yes" else everybody
        found = _outlying(axes, rest, scale, exact(setting.d), least)
        removed = removed | found
        if setting.removal == "once" or not found.any():
            break
    return removed


def stranded(axes: Sequence[Axis], removed: Bools, setting: Setting) -> Bools:
    """Who of the rest is an outlier by these sensitive axes alone at the lowered p and d (n,)."""
    rest = ~removed
    if setting.removal == "none" or not exact(setting.margin) or not rest.any():
        return np.zeros_like(removed)
    scale = rest if setting.rescale == "yes" else np.ones_like(rest)
    return _outlying(axes, rest, scale, setting.d0, ceil(setting.p0 * removed.size))


def _outlying(axes: Sequence[Axis], rest: Bools, scale: Bools, radius: Fraction, least: int) -> Bools:
    if len(axes) == 1:
        far = far_in_line(axes[0], rest, axes[0].ends(scale), radius)
        return rest & (far >= least)[axes[0].codes]
    cloud = Cloud.of(axes, rest, scale)
    return rest & cloud.bad(cloud.points, radius, least)[cloud.which]
