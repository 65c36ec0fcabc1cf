"""Small tables for `transparent` and `ring` over tuples, and the unchanged program run with all its draws.

The adversary knows everybody's quasi-identifiers, the program and the release, and even who is in which class
or tuple. Before, every world (a way to hand out the values) is as likely. Chance is a tree of which all paths
are run, so that posteriors are exact.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from support.tables_of_codes import CodeTable

from incrowd.algorithms.nonhomogeneous.ring import tuple_rings
from incrowd.algorithms.transparent.method import TransparentClasses
from incrowd.assign import Entropy
from incrowd.flow import Microdata, Sensitive
from incrowd.long_work import silent
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
        return list(ways_to_hand_out(tuple(sorted(Counter(self.values).items()))))

    def reordered(self) -> list[Small]:
        """The same table with as many people of each value, for all orders of values that differ."""
        orders = sorted(set(itertools.permutations(Counter(self.values).values())))
        return [replace(self, values=values_of(counts)) for counts in orders]


def values_of(counts: Sequence[int]) -> World:
    """So many people of each value, one after the other."""
    return tuple(value for value, count in enumerate(counts) for _ in range(count))


def ways_to_hand_out(left: tuple[tuple[int, int], ...]) -> Iterator[World]:
    """All distinct orders of values, of which so many are left."""
    if not left:
        yield ()
    for at, (value, count) in enumerate(left):
        rest = ((value, count - 1),) if count > 1 else ()
        for others in ways_to_hand_out(left[:at] + rest + left[at + 1 :]):
            yield (value, *others)


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


def called(found: Distribution, name: Sequence[int]) -> Distribution:
    """The same releases with other names for values."""
    return {
        frozenset((group, tuple(sorted(name[v] for v in own))) for group, own in view): weight
        for view, weight in found.items()
    }


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


# Tables that nobody chose


def compositions(n: int, most: int) -> Iterator[tuple[int, ...]]:
    """All ways to say how many of n people have each value, none more than `most`."""
    if not n:
        yield ()
    for first in range(1, min(n, most) + 1):
        yield from ((first, *rest) for rest in compositions(n - first, most))


def people(rng: np.random.Generator, n: int) -> tuple[tuple[int, ...], ...]:
    points = rng.integers(0, rng.integers(2, 7), (n, rng.integers(1, 3)))
    return tuple(map(tuple, points.tolist()))


def drawn_table(rng: np.random.Generator, n: int, most_worlds: int) -> Small:
    """A table of n people that l can be kept for, with few enough worlds."""
    while True:
        l = int(rng.choice([2, 2, 3]))  # noqa: E741
        choices = [counts for counts in compositions(n, n // l) if worlds_of(counts) <= most_worlds]
        if choices:
            values = values_of(choices[int(rng.integers(len(choices)))])
            return Small(people(rng, n), values, l, int(rng.integers(2, n // 2 + 1)), int(rng.choice([1, n])))


def worlds_of(counts: tuple[int, ...]) -> int:
    return math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))
