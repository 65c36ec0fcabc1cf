"""l for two sensitive columns: all worlds, all draws, for somebody who re-runs the program.

A world hands out pairs of values. The adversary knows everybody's quasi-identifiers, and even who is in which
class or tuple. Controls: classes that follow values, and a plan that puts one value into two colours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.night import NIGHT
from support.transparent_worlds import World, paths, plain_data, ways_to_hand_out

from incrowd.algorithms.nonhomogeneous.ring import tuple_rings
from incrowd.algorithms.transparent import deal
from incrowd.algorithms.transparent.method import SplitBucket, TransparentClasses
from incrowd.algorithms.transparent.plan import PlannedBucket
from incrowd.assign import Entropy
from incrowd.flow import Microdata, Sensitive
from incrowd.long_work import silent
from incrowd.models import TransparentDiversity
from incrowd.schema import Kind

Groups = Callable[["Pairs", Microdata, list[SplitBucket]], list[list[int]]]


@dataclass(frozen=True)
class Pairs:
    """Some people, and which pairs of values there are to hand out."""

    points: tuple[tuple[int, ...], ...]
    kinds: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]
    l: int  # noqa: E741  the paper's letter
    k: int

    def worlds(self) -> list[World]:
        return list(ways_to_hand_out(tuple(enumerate(self.counts))))

    def data(self, world: World) -> Microdata:
        plain = plain_data(self.points)
        columns = []
        for c, name in enumerate(("ill", "pay")):
            codes = np.array([self.kinds[kind][c] for kind in world], np.int32)
            columns.append(Sensitive(name, Kind.CATEGORICAL, codes, int(codes.max()) + 1))
        return Microdata(plain.codes, plain.attributes, tuple(columns))


def classes(_: Pairs, __: Microdata, buckets: list[SplitBucket]) -> list[list[int]]:
    return [b.people[b.labels == label].tolist() for b in buckets for label in range(b.classes)]


def tuples(table: Pairs, data: Microdata, buckets: list[SplitBucket]) -> list[list[int]]:
    rings = tuple_rings(data, buckets, table.l, table.k)
    assert rings.regular
    label = np.where(np.asarray(rings.alike), -1 - np.asarray(rings.parts), np.asarray(rings.tuples))
    return [np.flatnonzero(label == one).tolist() for one in np.unique(label)]


def largest_posterior(table: Pairs, groups: Groups) -> tuple[Fraction, int]:
    """Of any value of anybody in either column; and how many releases there are of more than one group."""
    total: dict[Any, Fraction] = defaultdict(Fraction)
    own: dict[Any, Counter[Any]] = defaultdict(Counter)
    for world in table.worlds():
        data = table.data(world)
        guards = tuple(g for name in ("ill", "pay") for g in TransparentDiversity(table.l, name).guards(data))

        def run(entropy: Entropy, data: Microdata = data, guards: Any = guards, world: World = world) -> Any:
            made = list(TransparentClasses(table.k, 1).buckets(data, guards, silent, entropy))
            found = groups(table, data, made)
            return frozenset((frozenset(g), tuple(sorted(world[i] for i in g))) for g in found)

        for weight, view in paths(run):
            total[view] += weight
            for i, kind in enumerate(world):
                for c in range(2):
                    own[view][i, c, table.kinds[kind][c]] += weight  # type: ignore[assignment]
    worst = max(Fraction(max(odds.values())) / total[view] for view, odds in own.items())
    return worst, sum(len(view) > 1 for view in total)


IN_A_ROW = ((0,), (1,), (4,), (5,), (9,), (11,))
BY_DAY = {"all four pairs": Pairs(IN_A_ROW[:4], ((0, 0), (0, 1), (1, 0), (1, 1)), (1, 1, 1, 1), 2, 2)}
BY_NIGHT = {
    "values that go together": Pairs(IN_A_ROW[:4], ((0, 0), (1, 1)), (2, 2), 2, 2),
    "three of one column": Pairs(IN_A_ROW[:5], ((0, 0), (1, 1), (2, 1), (1, 2)), (2, 1, 1, 1), 2, 2),
    "six people": Pairs(IN_A_ROW, ((0, 0), (1, 1), (0, 1), (1, 0)), (2, 2, 1, 1), 2, 2),
    "three colours": Pairs(IN_A_ROW, ((0, 0), (1, 1), (2, 2)), (2, 2, 2), 3, 3),
}
CASES = {**BY_DAY, **BY_NIGHT} if NIGHT else BY_DAY


@pytest.fixture(autouse=True)
def known_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is drawn apart from people: what holds for every order holds for whoever does not know it."""
    if not NIGHT:
        monkeypatch.setattr(deal, "order_of_values", lambda count, _: np.arange(count))


@pytest.mark.parametrize("groups", [classes, tuples])
@pytest.mark.parametrize("name", CASES)
def test_nobody_has_a_value_with_more_than_its_chance(name: str, groups: Groups) -> None:
    worst, parted = largest_posterior(CASES[name], groups)
    assert worst * CASES[name].l <= 1
    assert parted or len(CASES[name].points) < 2 * CASES[name].k


def test_classes_that_follow_values_give_them_away() -> None:
    """The control: tuples of a bucket are told apart by a value."""

    def by_value(_: Pairs, data: Microdata, buckets: list[SplitBucket]) -> list[list[int]]:
        ill = data.sensitive[0].codes
        return [g for b in buckets for v in (0, 1) if (g := b.people[ill[b.people] == v].tolist())]

    worst, _ = largest_posterior(BY_DAY["all four pairs"], by_value)
    assert worst == 1


def test_a_plan_that_looks_at_one_column_gives_the_other_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: colours by the first column alone, so that a value of the second is in both."""

    def first_column(kinds: Sequence[tuple[int, int]], counts: Sequence[int], *_: int) -> list[PlannedBucket]:
        colours = [{i: counts[i] for i, kind in enumerate(kinds) if kind[0] == value} for value in (0, 1)]
        return [PlannedBucket(tuple(colours))]

    monkeypatch.setattr(deal, "plan_several", first_column)
    worst, _ = largest_posterior(BY_DAY["all four pairs"], classes)
    assert worst > Fraction(1, 2)
