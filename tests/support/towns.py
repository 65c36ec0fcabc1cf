"""Towns: people of a public table, every candidate for the private one, and what each release shows of it.

Each town has 6 to 8 people. Every set of them, of whatever size, is a world, and all are equally likely. The
adversary knows the public table, the release, the program, who shares a class, and even the order in which
people were mixed.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from support.tables_of_codes import CodeTable

from incrowd.algorithms.kja import KJoinAnonymization
from incrowd.assign import Entropy
from incrowd.errors import Infeasible
from incrowd.flow import Microdata, Sensitive
from incrowd.long_work import silent
from incrowd.schema import Kind

AXES: list[tuple[str, Any]] = [
    ("range", list(range(7))),
    ("set", 4),
    (
        "tree",
        [[frozenset({i}), frozenset({0, 1} if i < 2 else {2, 3}), frozenset(range(4))] for i in range(4)],
    ),
]
Values = Mapping[int, int]
Worlds = list[tuple[frozenset[int], Values]]


@dataclass(frozen=True)
class Disclosed:
    """What a release shows of a world: the people of classes, numbers of private ones, groups with values."""

    classes: frozenset[tuple[frozenset[int], int | None]]
    groups: frozenset[tuple[frozenset[frozenset[int]], tuple[int, ...]]]


@dataclass(frozen=True)
class Town:
    """People of a public table, how they are mixed, k, and how many of them are private."""

    data: Microdata
    keys: Sequence[int]
    k: int
    private: int

    def worlds(self) -> Iterator[frozenset[int]]:
        """Those with as many private people."""
        return map(frozenset, itertools.combinations(range(len(self.data)), self.private))

    def all_worlds(self) -> Iterator[frozenset[int]]:
        for private in range(1, len(self.data) + 1):
            yield from replace(self, private=private).worlds()

    def mixed(self, people: Sequence[int]) -> Entropy:
        """A source that mixes people in the same way, whoever of them stands first."""
        return lambda _size: np.array([self.keys[i] for i in people], np.uint64).tobytes()

    def release(
        self, way: KJoinAnonymization, world: frozenset[int], values: Values, models: Sequence[Any] = ()
    ) -> Disclosed | None:
        """What is published in this world, None if it is refused. Private people stand first."""
        people = [*sorted(world), *sorted(set(range(len(self.data))) - world)]
        codes, own = self.data.codes[people], np.arange(len(people)) < len(world)
        held = np.array([values.get(i, 0) for i in sorted(world)], np.int32)
        named = Sensitive("d", Kind.CATEGORICAL, held, 9)
        private = Microdata(codes[own], self.data.attributes, (named,))
        if any(model.infeasible(private) for model in models):
            return None
        guards = tuple(guard for model in models for guard in model.guards(private))
        everyone = Microdata(codes, self.data.attributes, own=own)
        try:
            found = way.group(everyone, guards, silent, self.mixed(people))
        except Infeasible:
            return None
        return disclosed(way, people, world, values, found.labels, found.buckets)


def disclosed(
    way: KJoinAnonymization,
    people: Sequence[int],
    world: frozenset[int],
    values: Values,
    labels: Any,
    buckets: Any,
) -> Disclosed:
    members: dict[int, set[int]] = defaultdict(set)
    groups: dict[int, set[int]] = defaultdict(set)
    for place, person in enumerate(people):
        if labels[place] >= 0:
            members[int(labels[place])].add(person)
            if buckets is not None:
                groups[int(buckets[place])].add(int(labels[place]))
    counted = way.most_present_share is not None
    shown = {c: (frozenset(who), len(who & world) if counted else None) for c, who in members.items()}
    told = [
        (
            frozenset(frozenset(members[c]) for c in inside),
            tuple(sorted(values.get(i, 0) for c in inside for i in members[c] & world)),
        )
        for inside in groups.values()
    ]
    return Disclosed(frozenset(shown.values()), frozenset(told))


def towns(seed: int, tables: int) -> Iterator[Town]:
    rng = np.random.default_rng(seed)
    return (drawn_town(rng) for _ in range(tables))


def drawn_town(rng: np.random.Generator, most: int = 8) -> Town:
    """Any people, k and number of private ones."""
    n, k = int(rng.integers(6, most + 1)), int(rng.integers(2, 4))
    axes = [AXES[i] for i in rng.integers(0, 3, int(rng.integers(1, 3)))]
    sizes = [7 if kind == "range" else 4 for kind, _ in axes]
    points = [tuple(int(rng.integers(0, size)) for size in sizes) for _ in range(n)]
    keys = rng.permutation(n).tolist()
    return Town(CodeTable(points, axes).data, keys, k, int(rng.integers(k, n)))


def wrong_about(town: Town, fits: Sequence[frozenset[int]], seen: Disclosed) -> list[str]:
    """In which ways people of a release are told apart, of all worlds that give it."""
    found = []
    chance = [Fraction(sum(i in world for world in fits), len(fits)) for i in range(len(town.data))]
    for people, private in seen.classes:
        of = {chance[i] for i in people}
        mixed = [world for world in fits if not people <= world]
        if len(of) > 1:
            found.append("uneven")
        if mixed and 1 in of:
            found.append("certain")
        if sum(chance[i] > 0 for i in people) < town.k:
            found.append("crowd below k")
        if private is not None and of != {Fraction(private, len(people))}:
            found.append("not the share that is published")
    found += ["group below k" for _, values in seen.groups if len(values) < town.k]
    return found


def faults_in(town: Town, way: KJoinAnonymization) -> Counter[str]:
    """What goes wrong in all worlds of a town; also for whoever knows how many people are private."""
    by: dict[Disclosed, list[frozenset[int]]] = defaultdict(list)
    for world in town.all_worlds():
        seen = town.release(way, world, {})
        if seen is not None:
            by[seen].append(world)
    found = Counter({"releases": len(by), "sizes": 0})
    for seen, fits in by.items():
        sizes = [[world for world in fits if len(world) == size] for size in {*map(len, fits)}]
        found["sizes"] += len(sizes) > 1
        known = sizes if len(sizes) > 1 else []
        found.update({fault for worlds in (fits, *known) for fault in wrong_about(town, worlds, seen)})
    return found


def faults(way: Any, some: Iterable[Town]) -> Counter[str]:
    """What goes wrong in some towns; `way` makes the method for a k."""
    found: Counter[str] = Counter()
    for town in some:
        found.update(faults_in(town, way(town.k)))
    return found


def posterior(town: Town, way: KJoinAnonymization, models: Sequence[Any], held: Sequence[int]) -> Fraction:
    """The largest probability with which somebody private has some value, over all releases."""
    by: dict[Disclosed, list[Values]] = defaultdict(list)
    for world in town.worlds():
        for order in set(itertools.permutations(held)):
            values = dict(zip(sorted(world), order, strict=True))
            seen = town.release(way, world, values, models)
            if seen is not None:
                by[seen].append(values)
    worst = Fraction(0)
    for fits in by.values():
        for person in range(len(town.data)):
            has = Counter(values[person] for values in fits if person in values)
            if has:
                worst = max(worst, Fraction(max(has.values()), has.total()))
    return worst


def value_towns(seed: int, tables: int) -> Iterator[tuple[Town, list[int]]]:
    rng = np.random.default_rng(seed)
    return (drawn_values(rng) for _ in range(tables))


def drawn_values(rng: np.random.Generator) -> tuple[Town, list[int]]:
    """A town of at most seven, with values that no more than half of the private people share."""
    while True:
        town = drawn_town(rng, 7)
        held = sorted(int(v) for v in rng.integers(0, 4, town.private))
        if town.private in (4, 5) and max(Counter(held).values()) * 2 <= town.private:
            return Town(town.data, town.keys, 2, town.private), held
