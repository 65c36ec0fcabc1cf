"""Figures of full-domain recoding: the best level vector of Adult with ARX's hierarchies."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

from bench import Figure, cpu, peak_mb
from tables import first, real_data

from incrowd import Policy
from incrowd.algorithms.partitions.incognito import Incognito
from incrowd.encode import encode
from incrowd.flow import Microdata
from incrowd.long_work import silent
from incrowd.tables import read

COLUMNS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
GOALS = {(10, "0"): 12.0, (5, "0"): None, (2, "0"): None, (10, "0.05"): None, (2, "0.05"): None}


def _adult() -> Microdata | None:
    data = real_data()
    if data is None:
        return None
    folder = data / "adult_arx"
    trees = {name: {"hierarchy": str(folder / "hierarchies" / f"{name}.csv")} for name in COLUMNS}
    table = read(folder / "adult_arx.csv")
    policy = Policy(quasi_identifiers=trees, sensitive=["salary-class"], privacy={"k": 10})
    return encode(table, policy.schema(table))


def incognito(kd: float) -> Iterator[Figure]:
    """The search and its choice by loss, from codes to groups."""
    data = _adult()
    if data is None:
        print("incognito: skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    Incognito(2).group(first(data, 500), (), silent)
    for (k, share), goal in GOALS.items():
        recipe = Incognito(k, max_suppression=share)
        ratio = cpu(partial(recipe.group, data, (), silent), 2) / kd
        size = f"n={len(data)} d=8 k={k} left out {share}"
        yield Figure("incognito (adult, 6480 vectors)", size, ratio, "kd", goal, memory=peak_mb())
