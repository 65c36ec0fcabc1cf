"""All worlds of `transparent` and of `ring` over tuples for tables of eight people and more, exactly.

Chance is asked for orders of hands, but which of its people a bucket gets is all that comes of one, and every
choice is as likely. So choices are gone through instead of orders, and what the splitter makes of people with
colours is looked up. `tests/worlds/test_transparent.py` compares this with the program, run draw by draw.

The order of values, which settles ties between them, is known to the adversary here. It is drawn apart from
people: what holds for every order holds for whoever does not know it. Values of other frequencies in each
place are other orders (`Small.reordered`).
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from support.transparent_worlds import Distribution, Small, World, called, plain_data

from incrowd.algorithms.nonhomogeneous.ring import tuple_rings
from incrowd.algorithms.transparent.method import SplitBucket
from incrowd.algorithms.transparent.plan import PlannedBucket, plan
from incrowd.algorithms.transparent.split import ColourSplit, Ground
from incrowd.algorithms.transparent.strata import strata
from incrowd.flow import Neighbourhoods

People = tuple[int, ...]
Coloured = tuple[People, People | None]  # the people of a bucket, ascending, and their colours
Groups = tuple[People, ...]  # who is together in a release, in a fixed order
Shown = tuple[tuple[int, ...], ...]  # the values of each group, sorted


@cache
def planned(counts: tuple[int, ...], l: int, k: int) -> list[PlannedBucket]:  # noqa: E741
    return plan(counts, l, k)


@cache
def divisions(hand: People, sizes: tuple[int, ...]) -> list[tuple[People, ...]]:
    """All ways to part a hand into piles of these sizes."""
    if not sizes:
        return [()]
    found = []
    for pile in itertools.combinations(hand, sizes[0]):
        rest = tuple(i for i in hand if i not in pile)
        found += [(pile, *others) for others in divisions(rest, sizes[1:])]
    return found


@cache
def numberings(colours: int) -> list[tuple[int, ...]]:
    return list(itertools.permutations(range(colours)))


def dealt(hands: Sequence[People], buckets: Sequence[PlannedBucket]) -> Iterator[tuple[Coloured, ...]]:
    """All ways to deal hands into buckets and to number colours, each as likely as another."""
    piles = [
        [
            (b, c, colour[value])
            for b, one in enumerate(buckets)
            for c, colour in enumerate(one.colours)
            if value in colour
        ]
        for value in range(len(hands))
    ]
    ways = [
        divisions(hand, tuple(count for _, _, count in own)) for hand, own in zip(hands, piles, strict=True)
    ]
    names = [numberings(len(one.colours)) for one in buckets]
    for chosen in itertools.product(*ways):
        held: list[list[tuple[int, int]]] = [[] for _ in buckets]
        for own, parts in zip(piles, chosen, strict=True):
            for (b, c, _), part in zip(own, parts, strict=True):
                held[b] += [(person, c) for person in part]
        sides = [sorted(own) for own in held]
        for number in itertools.product(*names):
            yield tuple(
                (
                    tuple(person for person, _ in own),
                    tuple(name[c] for _, c in own) if len(name) > 1 else None,
                )
                for own, name in zip(sides, number, strict=True)
            )


@dataclass
class Released(ABC):
    """What a table's worlds give, by looking up what was made of the same buckets before."""

    table: Small
    swaps: bool = True
    made: dict[tuple[Coloured, ...], Any] = field(default_factory=dict)
    cut: dict[World, list[People]] = field(default_factory=dict)
    split: dict[Coloured, SplitBucket] = field(default_factory=dict)

    @property
    @abstractmethod
    def k(self) -> int:
        """The smallest class."""

    @abstractmethod
    def groups_of(self, buckets: Sequence[SplitBucket]) -> Any:
        """What the release shows of who is together."""

    @property
    def ground(self) -> Ground:
        return Ground.under(plain_data(self.table.points))

    def deals(self, world: World) -> list[tuple[Coloured, ...]]:
        """All deals of a world, each as likely."""
        found = []
        for stratum in self.strata(world):
            present = sorted({world[i] for i in stratum})
            hands = [tuple(i for i in stratum if world[i] == value) for value in present]
            buckets = planned(tuple(map(len, hands)), self.table.l, self.k)
            found.append(list(dealt(hands, buckets)))
        return [tuple(itertools.chain(*parts)) for parts in itertools.product(*found)]

    def strata(self, world: World) -> list[People]:
        """Values are called by the order in which they occur: strata count them, and know no names."""
        first = {value: number for number, value in enumerate(dict.fromkeys(world))}
        alike = tuple(first[value] for value in world)
        if alike not in self.cut:
            least = max(self.k, self.table.stratum)
            codes = np.array(alike, np.int32)
            parts = strata(plain_data(self.table.points), codes, self.table.l, least, self.ground)
            self.cut[alike] = [tuple(part.tolist()) for part in parts]
        return self.cut[alike]

    def groups(self, deal: tuple[Coloured, ...]) -> Any:
        if deal not in self.made:
            self.made[deal] = self.groups_of([self.bucket(*bucket) for bucket in deal])
        return self.made[deal]

    def bucket(self, people: People, colours: People | None) -> SplitBucket:
        if (people, colours) not in self.split:
            at = np.array(people)
            if colours is None:
                one = SplitBucket(at, np.zeros(at.size, np.int32), None)
            else:
                own = np.array(colours, np.int32)
                recipe = ColourSplit(self.ground, self.table.l, -(-self.k // self.table.l), self.swaps)
                one = SplitBucket(at, recipe.classes(plain_data(self.table.points).codes[at], own), own)
            self.split[people, colours] = one
        return self.split[people, colours]


@dataclass
class Classes(Released):
    """The equivalence classes of the method `transparent`."""

    @property
    def k(self) -> int:
        return self.table.k

    def groups_of(self, buckets: Sequence[SplitBucket]) -> Groups:
        found = []
        for one in buckets:
            found += [tuple(one.people[one.labels == label].tolist()) for label in range(one.classes)]
        return tuple(sorted(found))


@dataclass
class Tuples(Released):
    """The tuples of the method `ring`, as if it were known whose rows each tuple got."""

    @property
    def k(self) -> int:
        return -(-self.table.k // self.table.l) * self.table.l

    def neighbourhoods(self, buckets: Sequence[SplitBucket]) -> Neighbourhoods:
        return tuple_rings(plain_data(self.table.points), buckets, self.table.l, self.k)

    def groups_of(self, buckets: Sequence[SplitBucket]) -> Any:
        return self.tuples(buckets)

    def tuples(self, buckets: Sequence[SplitBucket]) -> Groups:
        rings = self.neighbourhoods(buckets)
        assert rings.parts is not None
        assert rings.tuples is not None
        assert rings.alike is not None
        label = np.where(rings.alike, -1 - rings.parts, rings.tuples)
        return tuple(sorted(tuple(np.flatnonzero(label == one).tolist()) for one in np.unique(label)))


def shown(groups: Groups, world: World) -> Shown:
    return tuple(tuple(sorted([world[i] for i in group])) for group in groups)


def distribution(made: Released, world: World) -> Distribution:
    """What one world gives, in the words of `transparent_worlds`."""
    found: Distribution = defaultdict(Fraction)
    deals = made.deals(world)
    for deal in deals:
        groups = made.groups(deal)
        pairs = zip(groups, shown(groups, world), strict=True)
        found[frozenset((frozenset(group), own) for group, own in pairs)] += Fraction(1, len(deals))
    return found


def by_order(made: Released, world: World) -> Iterator[Distribution]:
    """What one world gives, for each order of values that can be drawn; all people are one stratum."""
    values = sorted(set(world))
    for order in itertools.permutations(values):
        found = distribution(made, tuple(order[value] for value in world))
        yield called(found, [order.index(value) for value in values])


@dataclass
class Posterior:
    """What the adversary believes after each release that there can be."""

    releases: int = 0
    split: int = 0  # releases of more than one group
    largest: Fraction = Fraction(0)
    uneven: int = 0  # pairs of a person and a value that are likelier, or less likely, than in their group


def posterior(made: Released) -> Posterior:
    """Over all worlds. Weights are whole numbers, so that nothing is rounded."""
    table = made.table
    n, kinds = len(table.points), max(table.values) + 1
    scale = math.factorial(n) * math.factorial(table.l) ** n
    own: dict[tuple[Groups, Shown], list[int]] = defaultdict(lambda: [0] * (n * kinds))
    for world in table.worlds():
        deals = made.deals(world)
        weight, rest = divmod(scale, len(deals))
        assert rest == 0
        places = [i * kinds + value for i, value in enumerate(world)]
        for deal in deals:
            groups = made.groups(deal)
            weights = own[groups, shown(groups, world)]
            for place in places:
                weights[place] += weight
    found = Posterior(len(own))
    for (groups, values), weights in own.items():
        _believe(found, groups, values, weights, kinds)
    return found


def _believe(found: Posterior, groups: Groups, values: Shown, weights: Sequence[int], kinds: int) -> None:
    total = sum(weights[:kinds])
    found.split += len(groups) > 1
    found.largest = max(found.largest, Fraction(max(weights), total))
    for group, held in zip(groups, values, strict=True):
        counts: Mapping[int, int] = Counter(held)
        for person, value in itertools.product(group, range(kinds)):
            found.uneven += weights[person * kinds + value] * len(group) != counts.get(value, 0) * total
