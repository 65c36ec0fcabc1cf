"""Figures of non-homogeneous generalization: Algorithms 4, 5 and 6 of "k-Anonymization Revisited"."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np
from bench import Figure, cpu, peak_mb
from scans import distinct_scan, plain_scan
from tables import adult_with_trees, census_with_trees, first, microdata

from incrowd.algorithms.costs import groups_of, priced
from incrowd.algorithms.nonhomogeneous.kfactor import WHOLE, KFactorNeighbourhoods
from incrowd.algorithms.nonhomogeneous.neighbourhoods import Expansion, global_neighbourhoods, widened
from incrowd.flow import Microdata, Neighbourhoods
from incrowd.long_work import silent

K = 10
ADULT_ROWS, CENSUS_ROWS, SAMPLE = 30_000, 100_000, 200


def exponent(whole: float, quarter: float) -> float:
    """Time grows with this power of the rows."""
    return float(np.log(whole / quarter) / np.log(4))


def expansion(kd: float) -> Iterator[Figure]:
    """Algorithm 4 on Adult, and how many times faster it is than scans, timed on a sample of the records."""
    data = adult_with_trees()
    if data is None:
        print("expansion: skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    data, recipe = first(data, ADULT_ROWS), Expansion(K)
    neighbourhoods = recipe.neighbourhoods(data)
    seconds = cpu(partial(recipe.neighbourhoods, data), 3)
    quarter = cpu(partial(recipe.neighbourhoods, first(data, ADULT_ROWS // 4)), 3)
    growth = exponent(seconds, quarter)
    size = f"n={ADULT_ROWS} d=8 k={K}"
    yield Figure("expansion (adult)", size, seconds / kd, "kd", None, growth, peak_mb())
    for name, slow, goal in scans(data, neighbourhoods):
        against = f"expansion, against a {name} scan"
        yield Figure(against, size, slow / seconds, "times faster", goal, more=True)


def scans(data: Microdata, neighbourhoods: Neighbourhoods) -> Iterator[tuple[str, float, float | None]]:
    """Processor seconds for all records by scanning, and the goal. Rows must cost as with Algorithm 4."""
    table, rng = priced(data, "lm"), np.random.default_rng(4)
    points, lead, weight = np.unique(table.codes, axis=0, return_index=True, return_counts=True)
    some = rng.choice(len(data), SAMPLE, replace=False)
    few = rng.choice(len(points), SAMPLE, replace=False)
    plain = partial(plain_scan, K, table.codes, some, table.costs)
    distinct = partial(distinct_scan, K, points, weight, lead, few, table.costs)
    owner = np.repeat(np.arange(len(data)), neighbourhoods.sizes)
    ours = groups_of(owner, replace(table, codes=table.codes[neighbourhoods.members])).cost
    for name, scan, expected, share, goal in (
        ("plain", plain, ours[some], SAMPLE / len(data), 40.0),
        ("distinct", distinct, ours[lead[few]], SAMPLE / len(points), None),
    ):
        if not np.allclose(scan(), expected, atol=1e-9):
            raise RuntimeError(f"the {name} scan finds other rows")
        yield name, cpu(scan, 2) / share, goal


@cache
def census(n: int) -> tuple[Microdata, Neighbourhoods] | None:
    """People of the census, with the neighbourhoods of Algorithm 4."""
    data = census_with_trees(CENSUS_ROWS)
    if data is None:
        return None
    data = first(data, n)
    return data, Expansion(K).neighbourhoods(data)


def one_k(kd: float) -> Iterator[Figure]:
    """Algorithm 5 alone, on the neighbourhoods of Algorithm 4."""
    whole, quarter = census(CENSUS_ROWS), census(CENSUS_ROWS // 4)
    if whole is None or quarter is None:
        print("(1,k): skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    slow, quick = (
        cpu(partial(widened, data, neighbourhoods, K), 2) for data, neighbourhoods in (whole, quarter)
    )
    size, growth = f"n={CENSUS_ROWS} d=8 k={K}", exponent(slow, quick)
    yield Figure("(1,k), Algorithm 5 (census)", size, slow / kd, "kd", 20.0, growth, peak_mb())


def global_1k(kd: float) -> Iterator[Figure]:
    """Algorithm 6 alone, on the neighbourhoods of Algorithms 4 and 5, and all three together."""
    whole, quarter = census(CENSUS_ROWS), census(CENSUS_ROWS // 4)
    if whole is None or quarter is None:
        print("global (1,k): skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    size = f"n={CENSUS_ROWS} d=8 k={K}"
    slow, quick = (
        cpu(partial(global_neighbourhoods, data, widened(data, neighbourhoods, K), K), 2)
        for data, neighbourhoods in (whole, quarter)
    )
    growth = exponent(slow, quick)
    yield Figure("global (1,k), Algorithm 6 (census)", size, slow / kd, "kd", 75.0, growth, peak_mb())
    slow, quick = (cpu(partial(all_three, data), 1) for data, _ in (whole, quarter))
    growth = exponent(slow, quick)
    yield Figure("global (1,k), Algorithms 4 to 6 (census)", size, slow / kd, "kd", 75.0, growth, peak_mb())


def all_three(data: Microdata) -> Neighbourhoods:
    return global_neighbourhoods(data, widened(data, Expansion(K).neighbourhoods(data), K), K)


def kfactor(kd: float) -> Iterator[Figure]:
    """kfactor in blocks, on invented people: both tables are larger than what is one block."""
    n, method = 8 * WHOLE, KFactorNeighbourhoods(K)
    rng = np.random.default_rng(2)
    sizes = (78, 2, 16, 800, 50, 400)
    people = microdata(np.stack([(rng.beta(2, 5, n) * size).astype(np.int32) for size in sizes], axis=1))
    method.group(first(people, 500), (), silent)
    slow, quick = (
        cpu(partial(method.group, data, (), silent), 1) for data in (people, first(people, n // 4))
    )
    size, growth = f"n={n} d={len(sizes)} k={K}", exponent(slow, quick)
    yield Figure("kfactor (invented)", size, slow / kd, "kd", None, growth, peak_mb())
