"""Figures of drawing who is behind which row: rings in many partitions, and one graph that hangs together.

One lexsort is the processor time of `np.lexsort` for a table of as many rows and six uniform codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from bench import Codes, Figure, cpu, peak_mb, uniform

from incrowd.assign import figure_seven, one_of_disjoint_matchings

ROWS = 100_000
GOALS = {(10, 19): 1.0, (100, 199): 20.0}  # (k, records of a partition): lexsorts


def rings(n: int, k: int, size: int) -> Codes:
    """The rows that each record may have, in partitions of `size` records one after the other."""
    one = (np.arange(size)[:, None] - np.arange(k)) % size
    starts = size * np.arange(n // size)
    return (starts[:, None, None] + one).reshape(-1, k).astype(np.int32)


def tangle(n: int, k: int) -> Codes:
    """A random regular graph, in which nothing lies near anything."""
    rng = np.random.default_rng(3)
    return np.stack([rng.permutation(n) for _ in range(k)], axis=1).astype(np.int32)


def assignments(_: float) -> Iterator[Figure]:
    """One of k disjoint matchings, against sorting the table."""
    table = uniform(ROWS)
    sort = cpu(partial(np.lexsort, table.T))
    for (k, size), goal in GOALS.items():
        edges = rings(ROWS, k, size)
        one_of_disjoint_matchings(edges[: 2 * size])
        ratio = cpu(partial(one_of_disjoint_matchings, edges)) / sort
        said = f"n={ROWS} k={k} P={size}"
        yield Figure("assignment (rings)", said, ratio, "lexsort", goal, memory=peak_mb())
    for name, edges in (("one ring", rings(ROWS, 100, ROWS)), ("one tangle", tangle(ROWS, 100))):
        ratio = cpu(partial(one_of_disjoint_matchings, edges), 2) / sort
        yield Figure(f"assignment ({name})", f"n={ROWS} k=100", ratio, "lexsort", memory=peak_mb())
    edges = rings(ROWS, 10, 19)
    figure_seven(edges[:19])
    ratio = cpu(partial(figure_seven, edges), 1) / sort
    yield Figure("assignment, Figure 7 as printed (rings)", f"n={ROWS} k=10 P=19", ratio, "lexsort")
