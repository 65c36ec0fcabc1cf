"""Figures of k-join-anonymity, and of what it builds on, with a million rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from bench import Codes, Figure, cpu, kd_seconds, peak_mb, uniform
from neighbourhoods import exponent
from tables import first, microdata

from incrowd.algorithms.kja import Direct, Refinement
from incrowd.algorithms.partitions.topdown import TopDown
from incrowd.flow import Microdata
from incrowd.long_work import silent

ROWS = 1_000_000
GOALS = {50: 3.0, 10: 6.0}  # k: kd


def skewed(n: int) -> Codes:
    """Four skewed columns with domains as a census has them."""
    rng = np.random.default_rng(2)
    return np.stack([(rng.beta(2, 5, n) * size).astype(np.int32) for size in (78, 16, 800, 400)], axis=1)


def topdown_figures(kd: float) -> Iterator[Figure]:
    """Splitting around seeds and mending small groups; growth is the exponent from a quarter of the rows."""
    for table, codes in (("uniform", uniform(ROWS)[:, :4]), ("census-like", skewed(ROWS))):
        whole = microdata(codes)
        for k, goal in GOALS.items():
            recipe = TopDown(k)
            recipe.group(first(whole, 2000), (), silent)
            slow = cpu(partial(recipe.group, whole, (), silent), 2)
            quick = cpu(partial(recipe.group, first(whole, ROWS // 4), (), silent), 2)
            size, growth = f"n={ROWS} d=4 k={k}", exponent(slow, quick)
            yield Figure(f"topdown ({table})", size, slow / kd, "kd", goal, growth, peak_mb())


def joined_figures(_kd: float) -> Iterator[Figure]:
    """A million public people for ten thousand private ones, against a k-d tree of the public table."""
    own, k = 10_000, 50
    codes = np.random.default_rng(1).integers(0, 1000, (ROWS + own, 4), dtype=np.int32)
    reference = kd_seconds(codes[own:])
    table = microdata(codes)
    whole = Microdata(table.codes, table.attributes, own=np.arange(ROWS + own) < own)
    few = Microdata(table.codes[: 2 * own], table.attributes, own=np.arange(2 * own) < own)
    goals = {("mondrian", Direct): 3.0, ("mondrian", Refinement): 5.0}
    goals |= {("topdown", Direct): 15.0, ("topdown", Refinement): 15.0}
    for (base, way), goal in goals.items():
        recipe = way(k, base)
        recipe.group(few, (), silent)
        ratio = cpu(partial(recipe.group, whole, (), silent), 2) / reference
        name, size = f"{way.__name__.lower()} over {base}", f"own={own} public={ROWS} d=4 k={k}"
        yield Figure(name, size, ratio, "cKDTree, public", goal, memory=peak_mb())
