"""Rings over Anatomy's groups: who is behind a row has exactly 1/k, and a value at most 1/l.

All worlds, all draws of groups and all assignments, for an adversary who re-runs the program and even knows
who is in which group. A control, whose groups follow values, must give more away.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from support.night import NIGHT
from support.transparent_worlds import Small, World, values_of
from support.tuple_rows import assignments
from support.worlds import Outcomes, outcomes

from incrowd.algorithms import anatomy
from incrowd.algorithms.anatomy import Anatomy
from incrowd.algorithms.nonhomogeneous.ring import Ring
from incrowd.flow import Neighbourhoods
from incrowd.long_work import silent
from incrowd.models import CandidateDiversity

AGES = ((3,), (0,), (7,), (5,), (1,), (9,), (6,))
BY_DAY = {"a ring of three": Small(AGES[:5], values_of((2, 2, 1)), 2, 2)}
BY_NIGHT = {
    "four values": Small(AGES[:5], values_of((2, 1, 1, 1)), 2, 2),
    "two rings of three": Small(AGES[:6], values_of((3, 2, 1)), 2, 2),
    "merged groups": Small(AGES[:6], values_of((2, 2, 2)), 2, 4),
    "a value too often": Small(AGES[:6], values_of((3, 3)), 2, 4),
    "three colours": Small(AGES[:5], values_of((1, 1, 1, 1, 1)), 3, 3),
}
CASES = {**BY_DAY, **BY_NIGHT} if NIGHT else BY_DAY
Laid = tuple[tuple[int, ...], tuple[int, ...], tuple[bool, ...]]  # members, parts, and whose rows are equal


def dealt(table: Small, world: World) -> tuple[int, ...]:
    """The group of each person."""
    data = table.data(world)
    guards = CandidateDiversity(table.l, "ill").guards(data)
    return tuple(Anatomy(table.k).drawn_buckets(data, guards, silent).tolist())


@cache
def laid(table: Small, world: World, groups: tuple[int, ...]) -> Laid:
    data = table.data(world)
    guards = CandidateDiversity(table.l, "ill").guards(data)
    drawn = patch.object(Anatomy, "drawn_buckets", lambda *_: np.array(groups, np.int32))
    with drawn:
        found = Ring(table.k, groups="anatomy").group(data, guards, silent)
    assert found.parts is not None
    assert found.alike is not None
    return tuple(found.members.tolist()), tuple(found.parts.tolist()), tuple(found.alike.tolist())


def released(table: Small, most: int = 5_000) -> Callable[[World], Outcomes]:
    """What each world gives: groups are drawn in all ways, and rings are laid over them."""

    def run(world: World) -> Outcomes:
        found: dict[Any, Fraction] = defaultdict(Fraction)
        for groups, chance in outcomes(lambda: dealt(table, world), most).items():
            found[laid(table, world, groups)] += chance
        return found

    return run


def rings_of(members: tuple[int, ...], parts: tuple[int, ...], equal: tuple[bool, ...]) -> Neighbourhoods:
    n = len(parts)
    whole = np.broadcast_to(np.array(equal)[:, None], (n, 1))
    starts = np.arange(n + 1) * (len(members) // n)
    around, part = np.array(members, np.int32), np.array(parts, np.int32)
    return Neighbourhoods(starts, around, part, whole, np.array(equal))


class Beliefs:
    """What the adversary believes after each release: who is behind which row, and has which value."""

    def __init__(self, table: Small, made: Callable[[World], Outcomes]) -> None:
        self.rows: Fraction = Fraction(0)  # the largest probability of a person and a row of a ring
        self.value: Fraction = Fraction(0)
        self.rings = 0  # releases with a ring in it
        drawn: dict[Any, dict[tuple[int, ...], Fraction]] = {}
        seen: dict[Any, Counter[tuple[int, int, int]]] = defaultdict(Counter)
        for world in table.worlds():
            for found, chance in made(world).items():
                if found not in drawn:
                    drawn[found] = assignments(rings_of(*found))  # type: ignore[misc]
                for private, odds in drawn[found].items():
                    shown = tuple(world[i] for i in private)
                    for row, i in enumerate(private):
                        seen[self.view(found, shown)][i, row, world[i]] += chance * odds  # type: ignore[assignment]
        for (found, _), weights in seen.items():
            self.add(found, weights)

    @staticmethod
    def view(found: Any, shown: tuple[int, ...]) -> Any:
        """Rows with their values; where all rows of a group are equal, its values without an order."""
        _, parts, equal = found
        own = [value for value, whole in zip(shown, equal, strict=True) if not whole]
        together = sorted((p, v) for p, v, whole in zip(parts, shown, equal, strict=True) if whole)
        return found, (tuple(own), tuple(together))

    def add(self, found: Any, weights: Counter[tuple[int, int, int]]) -> None:
        n = len(found[1])
        total = Fraction(sum(weights.values())) / n
        by_row, by_value = Counter[Any](), Counter[Any]()
        for (i, row, value), weight in weights.items():
            by_value[i, value] += weight
            if not found[2][row]:
                by_row[i, row] += weight
        self.rings += bool(by_row)
        self.rows = max([self.rows, *(weight / total for weight in by_row.values())])
        self.value = max([self.value, *(weight / total for weight in by_value.values())])


@pytest.mark.parametrize("name", CASES)
def test_nobody_is_found_and_no_value_is_likelier_than_promised(name: str) -> None:
    table = CASES[name]
    found = Beliefs(table, released(table, 50_000))
    assert found.value <= Fraction(1, table.l)
    if name == "a value too often":
        assert not found.rings
    else:
        assert found.rings
        assert found.rows == Fraction(1, table.k)


def test_groups_that_follow_people_give_values_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: who of those with a value is in which group is not drawn, but follows their ages."""
    table = BY_DAY["a ring of three"]
    monkeypatch.setattr(anatomy, "shuffled", lambda n, _entropy: np.argsort([age for (age,) in AGES[:n]]))
    found = Beliefs(table, released(table))
    assert found.value > Fraction(1, table.l)
