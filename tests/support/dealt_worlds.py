"""Every way to hand out the sensitive values and every draw of `transparent` and of `ring` over tuples.

Chance is a tree of which all paths are run, so that posteriors are exact. The adversary even knows who is in
which class or tuple.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from support.tables_of_codes import CodeTable

from incrowd.algorithms.nonhomogeneous.ring import tuple_rings
from incrowd.algorithms.transparent import deal
from incrowd.algorithms.transparent.method import TransparentClasses
from incrowd.algorithms.transparent.split import ColourSplit, Ground
from incrowd.contracts import silent
from incrowd.entropy import Entropy
from incrowd.flow import Microdata, Sensitive
from incrowd.models import TransparentDiversity
from incrowd.schema import Kind

World = tuple[int, ...]  # the value of each person
View = frozenset[tuple[frozenset[int], tuple[int, ...]]]  # who is together, and with which values
Distribution = dict[Any, Fraction]


@dataclass(frozen=True)
class Small:
    """A table of a few people, and what is asked of it."""

    points: tuple[tuple[int, ...], ...]
    values: World
    l: int  # noqa: E741  the paper's letter
    k: int
    stratum: int = 1

    def data(self, world: World) -> Microdata:
        plain = plain_data(self.points)
        column = Sensitive("ill", Kind.CATEGORICAL, np.array(world, np.int32), max(world) + 1)
        return Microdata(plain.codes, plain.attributes, (column,))

    def worlds(self) -> list[World]:
        return sorted(set(itertools.permutations(self.values)))


@cache
def plain_data(points: tuple[tuple[int, ...], ...]) -> Microdata:
    size = max(map(max, points)) + 1
    return CodeTable(list(points), [("range", list(range(size)))] * len(points[0])).data


@cache
def orders(n: int) -> list[tuple[int, ...]]:
    return list(itertools.permutations(range(n)))


def paths(run: Callable[[Entropy], Any]) -> Iterator[tuple[Fraction, Any]]:
    """What a program gives with every outcome of its draws, and how likely that is.

    All its draws are orders.
    """
    taken: list[list[int]] = []
    while True:
        at, weight = 0, Fraction(1)

        def entropy(size: int) -> bytes:
            nonlocal at, weight
            n = size // 8
            choices = orders(n)
            if at == len(taken):
                taken.append([0, len(choices)])
            order, at, weight = choices[taken[at][0]], at + 1, weight / len(choices)
            keys = np.empty(n, np.uint64)
            keys[list(order)] = np.arange(n, dtype=np.uint64)
            return keys.tobytes()

        found = run(entropy)
        yield weight, found
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        if not taken:
            return
        taken[-1][0] += 1


def classes_of(table: Small, world: World, entropy: Entropy, swaps: bool = True) -> View:
    """The equivalence classes of the method `transparent`."""
    data = table.data(world)
    guards = TransparentDiversity(table.l, "ill").guards(data)
    recipe = TransparentClasses(table.k, table.stratum, swaps)
    found = []
    for bucket in recipe.buckets(data, guards, silent, entropy):
        found += [bucket.people[bucket.labels == label].tolist() for label in range(bucket.classes)]
    return seen(found, world)


def tuples_of(table: Small, world: World, entropy: Entropy) -> View:
    """The tuples of the method `ring`, as if it were known whose rows each tuple got."""
    data, k = table.data(world), -(-table.k // table.l) * table.l
    guards = TransparentDiversity(table.l, "ill").guards(data)
    buckets = list(TransparentClasses(k, table.stratum).buckets(data, guards, silent, entropy))
    rings = tuple_rings(data, buckets, table.l, k)
    assert rings.regular
    assert rings.parts is not None
    assert rings.tuples is not None
    assert rings.alike is not None
    label = np.where(rings.alike, -1 - rings.parts, rings.tuples)  # rows of a part without a draw are equal
    return seen([np.flatnonzero(label == one).tolist() for one in np.unique(label)], world)


def seen(groups: Sequence[Sequence[int]], world: World) -> View:
    return frozenset((frozenset(group), tuple(sorted(world[i] for i in group))) for group in groups)


def distribution(run: Callable[[Entropy], Any]) -> Distribution:
    found: Distribution = defaultdict(Fraction)
    for weight, view in paths(run):
        found[view] += weight
    return found


def largest_posterior(table: Small, released: Callable[[World], Distribution]) -> Fraction:
    """The largest probability of any value of anybody, over all releases that can be."""
    total: Distribution = defaultdict(Fraction)
    own: dict[Any, Counter[tuple[int, int]]] = defaultdict(Counter)
    for world in table.worlds():
        for view, weight in released(world).items():
            total[view] += weight
            for who in enumerate(world):
                own[view][who] += weight  # type: ignore[assignment]
    return max(Fraction(max(odds.values())) / total[view] for view, odds in own.items())


def drawn_table(rng: np.random.Generator, least: int = 5, most: int = 6) -> Small:
    """A table that l can be kept for, with few enough worlds."""
    while True:
        n, l = int(rng.integers(least, most + 1)), int(rng.choice([2, 2, 2, 3]))  # noqa: E741
        k = int(rng.integers(2, max(3, n // 2 + 1)))
        points = rng.integers(0, rng.integers(2, 7), (n, rng.integers(1, 3)))
        size = int(rng.integers(l, 6))
        values = tuple(np.unique(rng.integers(0, size, n), return_inverse=True)[1].reshape(-1).tolist())
        table = Small(tuple(map(tuple, points.tolist())), values, l, k, int(rng.choice([1, 6])))
        if max(Counter(values).values()) * l <= n:
            return table


@contextmanager
def remembered_splits() -> Iterator[None]:
    """Remember how buckets were split, and let the adversary know the order of values.

    It is drawn apart from people: what holds for every order holds for whoever does not know it.
    """
    split, known = ColourSplit.classes, {}
    plain = Ground.under
    under = cache(lambda points: plain(plain_data(points)))

    def remembered(self: ColourSplit, codes: NDArray[np.int32], colours: NDArray[np.int32]) -> Any:
        key = (codes.tobytes(), codes.shape, colours.tobytes(), self.l, self.need, self.swaps)
        if key not in known:
            known[key] = split(self, codes, colours)
        return known[key]

    with (
        mock.patch.object(Ground, "under", lambda data: under(tuple(map(tuple, data.codes.tolist())))),
        mock.patch.object(deal, "order_of_values", lambda count, _: np.arange(count)),
        mock.patch.object(ColourSplit, "classes", remembered),
    ):
        yield
