"""Who is behind which row of rings over tuples: the program's own assignment, with all that it can draw.

Tuples of a ring get rows by a fair coin where each has two, and by a law with weights where it has three or
four and the ring is small; larger rings do not come out of classes of less than 2k people. Who of a tuple has
which of its rows changes nothing that can be seen: its rows are equal but for the values.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
from support.transparent_deals import Coloured, Groups, People, Shown, Tuples
from support.transparent_worlds import World
from support.worlds import Draws

from incrowd import assign
from incrowd.algorithms.transparent.method import SplitBucket
from incrowd.flow import Neighbourhoods
from incrowd.kernels import matching


@dataclass(frozen=True)
class Rows:
    """Rows of a release by the people whose own they are: a tuple, or a part whose rows are all equal."""

    own: Groups
    around: Groups  # the people over whom the rows of each are made
    taken: tuple[tuple[tuple[int, ...], Fraction], ...]  # whose rows each may get, and how likely


class _Coins:
    """Random bytes for kernels, one at a time, and for a fair coin only."""

    def __init__(self, draws: Draws) -> None:
        self.draws = draws

    def feed(self, step: Any) -> None:
        left = np.empty(0, np.uint8)
        while (read := step(left, 0)) == matching.OUT_OF_BYTES:
            assert step.func is matching.halve, "this draw is no coin"
            left = np.array([self.draws.below(2)], np.uint8)
        assert read == left.size


@contextmanager
def _drawing(draws: Draws) -> Iterator[None]:
    """The assignment draws from here; orders stay as they are."""
    with (
        patch.object(assign, "draws_below", draws.draws_below),
        patch.object(assign, "shuffled", lambda n, _entropy: np.arange(n)),
        patch.object(assign, "_RandomBytes", lambda _entropy, _size: _Coins(draws)),
    ):
        yield


def assignments(rings: Neighbourhoods) -> dict[People, Fraction]:
    """The record behind each row, for all that can be drawn."""
    draws, found = Draws(), defaultdict[People, Fraction](Fraction)
    while True:
        with _drawing(draws):
            made = assign.by_neighbourhoods(rings)
        assert made.region.tolist() == list(range(len(rings)))
        found[tuple(made.private.tolist())] += draws.chance
        if not draws.next():
            return found


@dataclass
class TupleRows(Tuples):
    """What a release of rings over tuples shows: whose rows say what, with which values."""

    drawn: Callable[[Neighbourhoods], dict[People, Fraction]] = assignments

    def groups_of(self, buckets: Sequence[SplitBucket]) -> Rows:
        own = self.tuples(buckets)
        rings = self.neighbourhoods(buckets)
        of = {person: number for number, group in enumerate(own) for person in group}
        equal = {
            number for number, group in enumerate(own) if rings.alike is not None and rings.alike[group[0]]
        }
        members = rings.members.reshape(len(rings), -1)
        around = tuple(
            group if number in equal else tuple(sorted(members[group[0]].tolist()))
            for number, group in enumerate(own)
        )
        taken = defaultdict[tuple[int, ...], Fraction](Fraction)
        for private, chance in self.drawn(rings).items():
            rows: list[set[int]] = [set() for _ in own]
            for row, person in enumerate(private):
                rows[of[person]].add(of[row])
            assert all(len(one) == 1 for one in rows), "a tuple has rows of several"
            taken[tuple(one.pop() for one in rows)] += chance
        return Rows(own, around, tuple(taken.items()))


@dataclass
class OneRing(TupleRows):
    """A class of tuples as the splitter could make it; which colour each value has is said by hand."""

    colour_of: tuple[int, ...] = ()  # of each value

    def deals(self, world: World) -> list[tuple[Coloured, ...]]:
        people = tuple(range(len(world)))
        names = itertools.permutations(range(self.table.l))
        return [((people, tuple(name[self.colour_of[v]] for v in world)),) for name in names]

    def bucket(self, people: People, colours: People | None) -> SplitBucket:
        return SplitBucket(np.array(people), np.zeros(len(people), np.int32), np.array(colours, np.int32))


@dataclass
class RowBeliefs:
    """What the adversary believes after each release that there can be."""

    releases: int = 0
    drawn: int = 0  # releases with a ring whose tuples may have rows of others
    uneven: int = 0  # pairs of a person and a row that are not as likely as all others of that row
    row: Fraction = Fraction(0)  # the largest probability of a person and a row
    value: Fraction = Fraction(0)  # the largest probability of a person and a value


def row_beliefs(made: TupleRows) -> RowBeliefs:
    """Over all worlds, deals and assignments; the adversary knows who is in which tuple."""
    found: dict[tuple[Rows, Shown], Counter[tuple[int, int, int]]] = defaultdict(Counter)
    for world in made.table.worlds():
        deals = made.deals(world)
        for deal in deals:
            rows: Rows = made.groups(deal)
            values = [tuple(sorted(world[i] for i in group)) for group in rows.own]
            for taken, chance in rows.taken:
                seen = [()] * len(values)  # type: list[tuple[int, ...]]
                for mine, there in zip(values, taken, strict=True):
                    seen[there] = mine
                weights = found[rows, tuple(seen)]
                weight = chance / len(deals)
                for group, there in zip(rows.own, taken, strict=True):
                    for i in group:
                        weights[i, there, world[i]] += weight  # type: ignore[assignment]
    beliefs = RowBeliefs(len(found))
    for (rows, shown), weights in found.items():
        _believe(beliefs, rows, shown, weights)
    return beliefs


def _believe(beliefs: RowBeliefs, rows: Rows, shown: Shown, weights: Counter[tuple[int, int, int]]) -> None:
    """A row is likely to be that of each person it is made over, all alike, and of nobody else."""
    n = sum(map(len, rows.own))
    total = Fraction(sum(weights.values())) / n
    beliefs.drawn += len(rows.taken) > 1
    of_value = defaultdict[tuple[int, int], Fraction](Fraction)
    for number, (around, values) in enumerate(zip(rows.around, shown, strict=True)):
        for value, count in Counter(values).items():
            for i in range(n):
                chance = weights[i, number, value] / total
                beliefs.uneven += chance != (Fraction(count, len(around)) if i in around else 0)
                beliefs.row = max(beliefs.row, chance / count)
                of_value[i, value] += chance
    beliefs.value = max(beliefs.value, *of_value.values())
