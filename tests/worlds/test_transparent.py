"""Every way to hand out the sensitive values, every draw: what somebody who re-runs the program concludes.

The adversary knows everybody's quasi-identifiers, the program and the release, and even who is in which class
or tuple. Before, every world (a way to hand out the values) is as likely. Chance is a tree of which all paths
are run, so that posteriors are exact. Three controls, each with one rule broken, must give more away.

Larger tables are in `test_transparent_deals.py`, by a shorter way that is compared with this one here.
"""

from __future__ import annotations

import inspect
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support import transparent_deals
from support.transparent_deals import Classes, Released, Tuples
from support.transparent_worlds import (
    Distribution,
    Small,
    View,
    World,
    called,
    classes_of,
    distribution,
    largest_posterior,
    plain_data,
    seen,
    tuples_of,
)

from incrowd.algorithms.transparent import deal
from incrowd.algorithms.transparent.deal import Bucket
from incrowd.algorithms.transparent.split import ColourSplit, Ground
from incrowd.assign import Entropy


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
BY_DEALS = {classes_of: Classes, tuples_of: Tuples}
CASES = [(name, made) for name in NAMED for made in BY_DEALS if name != "three colours"]
CASES += [("three colours", classes_of)]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("name", "made"), CASES)
def test_nobody_has_a_value_with_more_than_its_chance(name: str, made: Callable[..., View]) -> None:
    """And what is counted by choices instead of orders is the same."""
    table = NAMED[name]
    shorter = BY_DEALS[made](table)

    def released(world: World) -> Distribution:
        found = distribution(lambda chance: made(table, world, chance))
        assert found == transparent_deals.distribution(shorter, world)
        return found

    found = largest_posterior(table, released)
    kept = Fraction(2, 3) if name == "strata" else 1  # there three people with three values stay together
    assert found * table.l == kept


def test_renaming_values_renames_releases(rng: np.random.Generator) -> None:
    """The distribution of releases is the same but for the names: nothing depends on them."""
    table = NAMED["two of each, in a row"]
    for _ in range(2):
        world = tuple(int(v) for v in rng.permutation(table.values))
        name = tuple(int(v) for v in rng.permutation(3))
        renamed = tuple(name[v] for v in world)
        first = distribution(partial(classes_of, table, world))
        second = distribution(partial(classes_of, table, renamed))
        assert (there := called(first, name)) == second
        assert len(there) > 1


@pytest.mark.parametrize("made", BY_DEALS)
def test_an_order_of_values_is_another_way_to_call_them(made: Callable[..., View]) -> None:
    """So it is enough to go through tables whose values are called in another order, each with one order."""
    table, world = NAMED["the five of the finding"], (0, 1, 0, 2, 3)
    orders = [*transparent_deals.by_order(BY_DEALS[made](table), world)]
    one_by_one: Distribution = defaultdict(Fraction)
    for view, weight in itertools.chain(*(found.items() for found in orders)):
        one_by_one[view] += weight / len(orders)
    assert distribution(partial(made, table, world)) == one_by_one
    assert len(orders) == 24
    assert any(found != orders[0] for found in orders)


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


def spans(view: View, ages: Sequence[int]) -> frozenset[tuple[int, int, tuple[int, ...]]]:
    """What rows show of who is together: ages that overlap are one part, with all its values."""
    parts: list[tuple[int, int, tuple[int, ...]]] = []
    for low, high, own in sorted(
        (min(ages[i] for i in who), max(ages[i] for i in who), v) for who, v in view
    ):
        if parts and low <= parts[-1][1]:
            first, last, others = parts.pop()
            parts.append((first, max(last, high), tuple(sorted(others + own))))
        else:
            parts.append((low, high, own))
    return frozenset(parts)


@pytest.mark.parametrize("made", [Classes, Tuples])
def test_five_people_of_whom_one_was_certain(made: type[Released]) -> None:
    """Once, with values d a d b c, it was certain that the third has d: now nobody has a value above 1/2.

    The adversary sees rows alone, and does not know who is in which class.
    """
    ages, truth = (1, 3, 4, 5, 5), (0, 1, 0, 2, 3)
    table = NAMED["the five of the finding"]
    found = made(table)
    odds: dict[Any, dict[World, Fraction]] = defaultdict(dict)
    for world in table.worlds():
        shown: Distribution = defaultdict(Fraction)
        for order in transparent_deals.by_order(found, world):
            for view, weight in order.items():
                shown[spans(view, ages)] += weight
        for seen_, weight in shown.items():
            odds[seen_][world] = weight
    chances = {seen_: chances_of(of, 5, 4) for seen_, of in odds.items()}
    assert len(table.worlds()) == 60
    assert max(max(own.values()) for own in chances.values()) == Fraction(1, 2)
    whole = frozenset({(1, 5, (0, 0, 1, 2, 3))})
    assert truth in odds[whole]
    less = Fraction(19, 48)
    assert [chances[whole][i, 0] for i in range(5)] == [less, less, Fraction(5, 12), less, less]


def chances_of(worlds: Mapping[World, Fraction], people: int, values: int) -> dict[tuple[int, int], Fraction]:
    total = sum(worlds.values())
    return {
        (i, v): sum((w for world, w in worlds.items() if world[i] == v), Fraction(0)) / total
        for i in range(people)
        for v in range(values)
    }


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
