"""Figures of outliers: points of mixed values against a tree of scipy, and plain groups of a whole table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from bench import Codes, Figure, cpu, peak_mb
from tables import microdata

from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.distance_outliers import Matrix, Setting, Space
from incrowd.flow import Microdata, Sensitive
from incrowd.long_work import silent
from incrowd.schema import Kind

ROWS, POINTS, FEW = 500_000, 2000, 200
GROUPED, K = 50_000, 15
TRIED = (("0.1", "0.999"), ("0.1", "0.99"), ("0.3", "0.999"), ("0.3", "0.99"))


def skewed(n: int, domains: tuple[int, ...]) -> Codes:
    rng = np.random.default_rng(2)
    return np.stack([(rng.beta(2, 5, n) * size).astype(np.int32) for size in domains], axis=1)


def table(n: int, domains: tuple[int, ...]) -> Microdata:
    """Skewed columns, the last of them sensitive."""
    codes = skewed(n, domains)
    pay = Sensitive("pay", Kind.NUMERIC, codes[:, -1].copy(), domains[-1])
    return replace(microdata(codes[:, :-1].copy()), sensitive=(pay,))


def mixed_corners(_kd: float) -> Iterator[Figure]:
    """Is a point far from most? Its values come from different records, as those of corners do."""
    from scipy.spatial import cKDTree

    data = table(ROWS, (78, 2, 16, 800, 50, 400))
    rng = np.random.default_rng(3)
    setting = Setting(p=1, d=1, distinct=2, margin=0, removal="none")
    space = Space.of(data, setting)
    records = space.points(np.arange(ROWS))
    points = np.stack([column[rng.integers(0, ROWS, POINTS)] for column in records.T], axis=1)
    scaled, asked = space.cloud.coordinates(records), space.cloud.coordinates(points)
    tree = cKDTree(scaled)
    for d, p in TRIED:
        at = space.at(p, d)
        few = slice(None) if d == "0.1" else slice(FEW)  # where scipy needs milliseconds for each
        count = partial(tree.query_ball_point, asked[few], float(d), return_length=True)
        bad = at.bad(points)
        if ((ROWS - count() >= at.least) != bad[few]).any():
            raise RuntimeError("the two trees count differently")
        ours, theirs = cpu(partial(at.bad, points), 3) / POINTS, cpu(count, 2) / len(asked[few])
        yield Figure(f"outliers d={d} p={p}", f"n={ROWS} d=6", ours / theirs, "cKDTree count", 0.2)


def plain_groups(kd: float) -> Iterator[Figure]:
    """All groups of a table of 50,000 records, five quasi-identifiers and a sensitive column."""
    data = table(GROUPED, (78, 2, 16, 50, 9, 500))
    order, starts = StrictMondrian(K).group(data, (), silent).members()
    groups = np.split(order.astype(np.int32), starts[1:-1])
    for form in ("corner", "both"):
        matrix = Matrix(Space.of(data, Setting(p="0.8", d="0.85", distinct=2, form=form)))
        matrix.plain(groups[0])
        seconds = cpu(lambda matrix=matrix: [matrix.plain(rows) for rows in groups], 2)  # type: ignore[misc]
        name = f"plain groups, {form} ({len(groups)} of them)"
        yield Figure(name, f"n={GROUPED} d=6 k={K}", seconds / kd, "kd", 6.0, memory=peak_mb())


def outlier_figures(kd: float) -> Iterator[Figure]:
    yield from mixed_corners(kd)
    yield from plain_groups(kd)
