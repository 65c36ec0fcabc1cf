"""Every way to hand out the sensitive values, every draw: what somebody who re-runs the program concludes.

The adversary knows everybody's quasi-identifiers, the program and the release, and even who is in which class
or tuple. Before, every world (a way to hand out the values) is as likely. Chance is a tree of which all paths
are run, so that posteriors are exact. Three controls, each with one rule broken, must give more away.
"""

from __future__ import annotations

import inspect
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.tables_of_codes import CodeTable

from incrowd.algorithms.nonhomogeneous.ring import tuple_rings
from incrowd.algorithms.transparent import deal
from incrowd.algorithms.transparent.deal import Bucket
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


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remember how buckets were split, and let the adversary know the order of values.

    It is drawn apart from people: what holds for every order holds for whoever does not know it.
    """
    split, known = ColourSplit.classes, {}
    plain = Ground.under
    under = cache(lambda points: plain(plain_data(points)))
    monkeypatch.setattr(Ground, "under", lambda data: under(tuple(map(tuple, data.codes.tolist()))))
    monkeypatch.setattr(deal, "order_of_values", lambda count, _: np.arange(count))

    def remembered(self: ColourSplit, codes: NDArray[np.int32], colours: NDArray[np.int32]) -> Any:
        key = (codes.tobytes(), codes.shape, colours.tobytes(), self.l, self.need, self.swaps)
        if key not in known:
            known[key] = split(self, codes, colours)
        return known[key]

    monkeypatch.setattr(ColourSplit, "classes", remembered)


NAMED = {
    "two of each, in a row": Small(((0,), (1,), (2,), (3,), (4,), (5,)), (0, 0, 1, 1, 2, 2), 2, 2),
    "one frequent value": Small(((0,), (1,), (2,), (3,), (4,), (4,)), (0, 0, 0, 1, 2, 3), 2, 2),
    "the five of the finding": Small(((0,), (2,), (3,), (4,), (4,)), (0, 0, 1, 2, 3), 2, 2),
    "strata": Small(((0,), (0,), (1,), (5,), (5,), (6,)), (0, 1, 2, 3, 4, 5), 2, 2),
    "three colours": Small(((0, 0), (0, 1), (1, 0), (3, 3), (3, 4), (4, 3)), (0, 0, 1, 1, 2, 2), 3, 3),
}
CASES = [(name, made) for name in NAMED for made in (classes_of, tuples_of) if name != "three colours"]
CASES += [("three colours", classes_of)]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("name", "made"), CASES)
def test_nobody_has_a_value_with_more_than_its_chance(name: str, made: Callable[..., View]) -> None:
    table = NAMED[name]
    found = largest_posterior(table, lambda world: distribution(lambda chance: made(table, world, chance)))
    kept = Fraction(2, 3) if name == "strata" else 1  # there three people with three values stay together
    assert found * table.l == kept


@pytest.mark.usefixtures("quick")
def test_no_table_gives_more_away(rng: np.random.Generator) -> None:
    """Tables that nobody chose: by night hundreds of them."""
    split = 0
    for made in (classes_of, tuples_of) * 2:
        table = drawn_table(rng)
        views: set[Any] = set()

        def released(world: World) -> Distribution:
            found = distribution(lambda chance: made(table, world, chance))  # noqa: B023
            views.update(found)  # noqa: B023
            return found

        assert largest_posterior(table, released) * table.l <= 1, table
        assert all(min(len(group) for group, _ in view) >= min(table.k, table.l) for view in views)
        split += any(len(view) > 1 for view in views)
    assert split


def test_renaming_values_renames_releases(rng: np.random.Generator) -> None:
    """The distribution of releases is the same but for the names: nothing depends on them."""
    table = NAMED["two of each, in a row"]
    for _ in range(2):
        world = tuple(int(v) for v in rng.permutation(table.values))
        name = tuple(int(v) for v in rng.permutation(3))
        renamed = tuple(name[v] for v in world)
        first = distribution(lambda chance: classes_of(table, world, chance))  # noqa: B023
        second = distribution(lambda chance: classes_of(table, renamed, chance))  # noqa: B023
        there = {
            frozenset((group, tuple(sorted(name[v] for v in own))) for group, own in view): weight
            for view, weight in first.items()
        }
        assert there == second
        assert len(there) > 1


def test_the_splitter_is_given_colours_and_no_values() -> None:
    """Its interface has no room for a value, and colours are numbered anew by each draw."""
    assert list(inspect.signature(ColourSplit.classes).parameters) == ["self", "codes", "colours"]
    assert set(ColourSplit.__slots__) == {"ground", "l", "need", "swaps"}
    values, people = np.array([0, 0, 1, 1], np.int32), np.arange(4)
    found = distribution(lambda chance: _colours(deal.dealt(people, values, 2, 2, chance)))
    assert found == {(0, 0, 1, 1): Fraction(1, 2), (1, 1, 0, 0): Fraction(1, 2)}


def _colours(buckets: list[Bucket]) -> tuple[int, ...]:
    (bucket,) = buckets
    assert bucket.colours is not None
    return tuple(bucket.colours.tolist())


# ---- controls: one rule broken in each


def test_a_splitter_that_sees_names_gives_values_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The colours keep their places in the plan, and the first is treated otherwise."""

    def named(colours: list[Any], _: Entropy) -> Bucket:
        people, own = np.concatenate(colours), np.repeat(range(len(colours)), [c.size for c in colours])
        order = np.argsort(people)
        return Bucket(people[order], own[order].astype(np.int32))

    def rolled(self: ColourSplit, _: Any, colours: NDArray[np.int32]) -> NDArray[np.int32]:
        labels = np.empty(colours.size, np.int32)
        for colour in range(self.l):
            rows = np.flatnonzero(colours == colour)
            labels[np.roll(rows, 1 if colour == 0 else 0)] = np.arange(rows.size) // self.need
        return np.minimum(labels, colours.size // self.l // self.need - 1).astype(np.int32)

    monkeypatch.setattr(deal, "_forgotten", named)
    monkeypatch.setattr(deal, "order_of_values", lambda count, _: np.arange(count))
    monkeypatch.setattr(ColourSplit, "classes", rolled)
    table = Small(((0,), (1,), (2,), (3,), (4,), (5,)), (0, 0, 0, 1, 1, 2), 2, 2)
    worst = largest_posterior(table, lambda w: distribution(lambda chance: classes_of(table, w, chance)))
    assert worst * table.l > 1


def test_a_veto_on_a_fixed_tree_gives_values_away() -> None:
    """No cut where a side would not keep l: what guards of other methods do."""

    def leaves(people: list[int], world: World, table: Small) -> list[list[int]]:
        sides = people[: len(people) // 2], people[len(people) // 2 :]
        counts = [max(Counter(world[i] for i in side).values()) for side in sides]
        fair = all(count * table.l <= len(side) for count, side in zip(counts, sides, strict=True))
        return [*sides] if fair else [people]

    table = Small(tuple((i,) for i in range(7)), (0, 0, 0, 1, 2, 3, 4), 2, 3)
    worst = largest_posterior(
        table, lambda world: {seen(leaves([*range(7)], world, table), world): Fraction(1)}
    )
    assert worst == Fraction(9, 17)  # nobody was parted: then two of the first three have the frequent value


@pytest.mark.usefixtures("quick")
def test_the_better_of_two_deals_gives_values_away() -> None:
    """Who deals twice and takes what loses less has chosen by values and quasi-identifiers together."""
    table = Small(((0,), (0,), (1,), (7,), (8,)), (0, 0, 1, 2, 3), 2, 2)

    def loss(view: View) -> int:
        at = [[table.points[i][0] for i in group] for group, _ in view]
        return sum(len(group) * (max(group) - min(group)) for group in at)

    def better(world: World) -> Distribution:
        once = distribution(lambda chance: classes_of(table, world, chance))
        found: Distribution = defaultdict(Fraction)
        for (one, p), (other, q) in itertools.product(once.items(), repeat=2):
            found[one if loss(one) <= loss(other) else other] += p * q
        return found

    assert largest_posterior(table, better) * table.l == Fraction(7, 5)
