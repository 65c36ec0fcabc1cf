"""Exact tests for (p,d)-outliers, and for plain groups: those that disclose no outlier.

`Setting` says what counts as an outlier, `Space` is a table as points and decides, `Matrix` looks at groups.
Decisions are those of exact arithmetic; floats only settle what is not close.
"""

from __future__ import annotations

from incrowd.distance_outliers.corners import CellPlaces
from incrowd.distance_outliers.matrix import BadLines, GroupPlainness, Matrix
from incrowd.distance_outliers.setting import Setting
from incrowd.distance_outliers.space import Space

__all__ = ["BadLines", "CellPlaces", "GroupPlainness", "Matrix", "Setting", "Space"]
