"""Every way to hand out the sensitive values, every draw: what somebody who re-runs the program concludes.

The adversary knows everybody's quasi-identifiers, the program and the release, and even who is in which class
or tuple. Before, every world (a way to hand out the values) is as likely. Chance is a tree of which all paths
are run, so that posteriors are exact. Three controls, each with one rule broken, must give more away.
"""

from __future__ import annotations

import inspect
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.dealt_worlds import (
    Distribution,
    Small,
    View,
    World,
    classes_of,
    distribution,
    drawn_table,
    largest_posterior,
    remembered_splits,
    seen,
    tuples_of,
)

from incrowd.algorithms.transparent import deal
from incrowd.algorithms.transparent.deal import Bucket
from incrowd.algorithms.transparent.split import ColourSplit
from incrowd.entropy import Entropy


@pytest.fixture
def quick() -> Iterator[None]:
    with remembered_splits():
        yield


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
        first = distribution(partial(classes_of, table, world))
        second = distribution(partial(classes_of, table, renamed))
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
