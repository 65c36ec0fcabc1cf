"""Figures of rings: putting records in a row and cutting it, randomized assignment, all together.

One lexsort is the processor time of `np.lexsort` for a table of as many rows and six uniform codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from bench import Codes, Figure, cpu, peak_mb, uniform
from tables import microdata

from incrowd.algorithms.nonhomogeneous.ring import Ring
from incrowd.algorithms.partitions.hilbert import Hilbert
from incrowd.algorithms.partitions.lexicographic import Lexicographic, RowPartition
from incrowd.assign import by_neighbourhoods, figure_seven, one_of_disjoint_matchings
from incrowd.flow import Microdata
from incrowd.generalize import generalize
from incrowd.long_work import silent

ROWS = 100_000
MANY, K = 1_000_000, 10
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


def rows_cut(kd: float) -> Iterator[Figure]:
    """Records sorted along a curve, or by their codes, and cut into parts of k and more."""
    table = uniform(MANY)
    whole, few = microdata(table), microdata(table[:2000])
    recipes: list[tuple[str, RowPartition, float | None]] = [
        ("hilbert", Hilbert(K), 1.1),
        ("lexicographic", Lexicographic(K), None),
    ]
    for name, recipe, goal in recipes:
        recipe.parts(few, (), silent)
        ratio = cpu(lambda recipe=recipe: recipe.parts(whole, (), silent), 3) / kd  # type: ignore[misc]
        yield Figure(f"{name} (uniform)", f"n={MANY} d=6 k={K}", ratio, "kd", goal, memory=peak_mb())


def whole_ring(kd: float) -> Iterator[Figure]:
    """Parts, rings, their cells and the randomized assignment: from codes to assigned regions."""
    table = uniform(MANY)
    whole, few = microdata(table), microdata(table[:2000])
    for order in ("lexicographic", "hilbert"):
        recipe = Ring(K, order)
        _ring(recipe, few)
        ratio = cpu(partial(_ring, recipe, whole), 3) / kd
        yield Figure(f"ring, {order} (uniform)", f"n={MANY} d=6 k={K}", ratio, "kd", 4.0, memory=peak_mb())


def _ring(recipe: Ring, data: Microdata) -> None:
    neighbourhoods = recipe.group(data, (), silent)
    generalize(data, neighbourhoods)
    by_neighbourhoods(neighbourhoods)
