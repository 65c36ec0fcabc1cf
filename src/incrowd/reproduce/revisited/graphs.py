"""Who fits which row of (k,k), what an adversary rules out, and how times grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil

import numpy as np

from incrowd.algorithms.nonhomogeneous.neighbourhoods import global_neighbourhoods
from incrowd.flow import Microdata, Neighbourhoods
from incrowd.graph.components import components
from incrowd.graph.consistency import consistency
from incrowd.reproduce.revisited.trials import ALGORITHMS, EXPANSION, KK_ALGORITHMS, MEASURES, art
from incrowd.reproduce.trial import rows_of, timed

EPSILONS = (0.0, 0.2, 0.5, 1.0)  # of ((1+e)k, (1+e)k)


@dataclass(frozen=True, slots=True)
class GraphPoint:
    """What became of (k,k) on one sample, by Algorithms 4 and 5 and LM.

    `most` is the largest number of rows that a record fits, `above` the share of records that fit more than
    2k. `matched` is by epsilon the share of records with at least k matches in ((1+e)k,(1+e)k). `one` is the
    share of those whose row Algorithm 6 widened that needed one step, None if it widened none.
    """

    most: int
    above: float
    matched: Mapping[float, float]
    one: float | None


def graph_point(data: Microdata, k: int) -> GraphPoint:
    """Made, read again as texts, and looked at as an adversary does who knows everybody."""
    matched: dict[float, float] = {}
    for epsilon in EPSILONS:
        size = ceil(k * (1 + epsilon))
        grouped = KK_ALGORITHMS[EXPANSION](data, size, MEASURES["LM"])
        graph = consistency(rows_of(data, grouped), data)
        weights, whole = graph.record_weight, graph.record_weight.sum()
        matches = components(graph, np.arange(len(data))).matches().records
        matched[epsilon] = float(weights[matches >= k].sum() / whole)
        if not epsilon:
            fits = graph.degrees().records
            most, above = int(fits.max()), float(weights[fits > 2 * k].sum() / whole)
            assert isinstance(grouped, Neighbourhoods)  # noqa: S101  # as (k,k) always is
            steps = global_neighbourhoods(data, grouped, k, MEASURES["LM"]).sizes - grouped.sizes
    widened_for = steps[steps > 0]
    one = float((widened_for == 1).mean()) if widened_for.size else None
    return GraphPoint(most, above, matched, one)


TIMED = {"agglomerative": "(10), Algorithm 1", "(k,k)": EXPANSION}


@dataclass(frozen=True, slots=True)
class TimePoint:
    """Processor seconds by algorithm."""

    seconds: Mapping[str, float]


def time_point(n: int, seed: int, k: int = 5) -> TimePoint:
    """The quicker of two runs on ART."""
    data = art(n, seed)
    runs = {name: partial(ALGORITHMS[algorithm], data, k, "lm") for name, algorithm in TIMED.items()}
    return TimePoint({name: min(timed(run)[1] for _ in range(2)) for name, run in runs.items()})
