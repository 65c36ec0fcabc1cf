"""`outliers --definition lof`: who lies where it is thinner than around the neighbours.

Nothing is promised about these outliers: `plain` is about (p,d)-outliers. So it is shown how many of the ones
are among the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from incrowd.distance_outliers import Setting
from incrowd.distance_outliers.axes import axes_of
from incrowd.distance_outliers.cloud import Cloud
from incrowd.distance_outliers.counting import OutlierCounts
from incrowd.distance_outliers.density import local_outlier_factors
from incrowd.errors import InputError
from incrowd.flow import Microdata
from incrowd.long_work import Watch
from incrowd.results import Result, Row

FACTORS = ("1.2", "1.5", "2", "3", "5")
NEIGHBOURS = (10, 20, 40)  # Breunig et al. advise a range, from 10 on
MOST = 10_000  # records that are asked: every pair of them is looked at


@dataclass(frozen=True, slots=True)
class DensityCount:
    """How many of the asked have a factor above this one with m neighbours; `also` are (p,d)-outliers too."""

    neighbours: int
    factor: str
    outliers: int
    also: int
    asked: int

    @property
    def share(self) -> float:
        return self.outliers / self.asked

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"share": self.share}


@dataclass(frozen=True, repr=False)
class DensityOutliers(Result):
    """How many are outliers by their local outlier factor; ``distance`` are the (p,d)-outliers of p and d."""

    records: int
    asked: int
    p: str
    d: str
    distance: int
    grid: tuple[DensityCount, ...]
    notes: tuple[str, ...]

    @property
    def neighbours(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(at.neighbours for at in self.grid))

    @property
    def factors(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(at.factor for at in self.grid))

    def at(self, neighbours: int, factor: str) -> DensityCount:
        """One cell of the grid."""
        return next(at for at in self.grid if (at.neighbours, at.factor) == (neighbours, factor))

    def headline(self) -> str:
        first = self.at(self.neighbours[0], "1.5")
        return (
            f"{first.share:.1%} of the records have a local outlier factor above 1.5 "
            f"({first.neighbours} neighbours); {first.also:,} of these {first.outliers:,} are (p,d)-outliers"
        )

    def overview(self) -> tuple[Row, Iterable[Row]]:
        rows = ((f, *(f"{self.at(m, f).share:.1%}" for m in self.neighbours)) for f in self.factors)
        return ("LOF above", *(f"{m} neighbours" for m in self.neighbours)), rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "definition": "lof",
            "records": self.records,
            "asked": self.asked,
            "distance": {"p": self.p, "d": self.d, "outliers": self.distance},
            "grid": [at.to_dict() for at in self.grid],
            "notes": list(self.notes),
        }


def density_outliers(
    data: Microdata, base: Setting, neighbours: int | None, most: int, watch: Watch
) -> DensityOutliers:
    """Factors of everybody, or of those at even steps of a large table, among each other."""
    if neighbours is not None and neighbours < 1:
        raise InputError(f"neighbours must be at least 1, got {neighbours}")
    asked = np.arange(min(most, len(data))) * len(data) // min(most, len(data))
    inside = np.zeros(len(data), np.bool_)
    inside[asked] = True
    cloud = Cloud.of(axes_of(data, base), inside, np.ones_like(inside))
    far = OutlierCounts.of(data, base, asked.size).who(str(base.p), str(base.d))[asked]
    progress, grid = watch("finding outliers"), []
    tried = NEIGHBOURS if neighbours is None else (neighbours,)
    for number, m in enumerate(tried):
        found = local_outlier_factors(cloud, m)[cloud.which[asked]]
        for factor in FACTORS:
            above = found > float(factor)
            grid.append(DensityCount(m, factor, int(above.sum()), int((above & far).sum()), asked.size))
        progress((number + 1) / len(tried))
    notes = [
        "plain is about (p,d)-outliers: it promises nothing to those who are outliers by their factor alone"
    ]
    if asked.size < len(data):
        notes.append(f"factors are those of {asked.size:,} records at even steps of {len(data):,}")
    return DensityOutliers(
        len(data), asked.size, str(base.p), str(base.d), int(far.sum()), tuple(grid), tuple(notes)
    )
