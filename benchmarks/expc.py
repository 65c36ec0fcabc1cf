"""Figures of ExpC and of the approaches that the paper compares it with, on real people with a wage."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from bench import Figure, peak_mb
from tables import real_data

from incrowd.algorithms.outliers.expc import Expanding, ExpC, NonOutliersFirst, OutliersFirst
from incrowd.models import Plain
from incrowd.reproduce.outliers.trials import load_workers

ROWS, QUASI, K, RUNS = 50_000, 5, 15, 3
APPROACHES: tuple[type[Expanding], ...] = (ExpC, NonOutliersFirst, OutliersFirst)


def expansion_by_outliers(kd: float) -> Iterator[Figure]:
    """50,000 people, p=0.8 and the d at which about one of a hundred stands out; corner form, as printed."""
    folder = real_data()
    if folder is None:
        print("expc: skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    workers = load_workers(folder)
    model = Plain(p="0.8", d="1.2", distinct=K, margin=0, form="corner")
    small = workers.sample(1000, QUASI)
    for approach in APPROACHES:
        approach(K).grouping(small, model.guards(small))
    data = workers.sample(ROWS, QUASI)
    guards = model.guards(data)
    best = dict.fromkeys(APPROACHES, float("inf"))
    for _ in range(RUNS):  # by turns, so that what else the machine does meets all of them
        for approach in APPROACHES:
            start = time.process_time()
            approach(K).grouping(data, guards)
            best[approach] = min(best[approach], time.process_time() - start)
    what = f"n={ROWS} d={QUASI} k={K}"
    yield Figure("expc", what, best[ExpC] / kd, "kd", 75.0, memory=peak_mb())
    for rival, name in ((NonOutliersFirst, "gnof"), (OutliersFirst, "gof")):
        yield Figure(f"expc over {name}", what, best[ExpC] / best[rival], name, 1.0)
