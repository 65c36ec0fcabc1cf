"""Rings over tuples: everybody is behind a row with exactly 1/k, and has a value with at most 1/l.

All worlds, all deals, all assignments, for an adversary who re-runs the program and even knows who is in
which tuple. In the program a ring needs ten people or more, for smaller classes have equal rows; single
rings are looked at with as few as six.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from support.night import NIGHT
from support.transparent_worlds import Small, plain_data, values_of
from support.tuple_rows import OneRing, TupleRows, assignments, row_beliefs

from incrowd.algorithms.base import NonHomogeneous as Overlapping
from incrowd.algorithms.base import method
from incrowd.algorithms.nonhomogeneous.ring import tuple_rings
from incrowd.algorithms.nonhomogeneous.tuples import bucket_neighbourhoods
from incrowd.algorithms.transparent.method import SplitBucket
from incrowd.assign import SMALL_RINGS
from incrowd.flow import Neighbourhoods
from incrowd.long_work import silent

AGES = ((0,), (1,), (4,), (9,), (5,), (3,), (3,), (5,), (9,), (4,), (11,), (2,), (7,), (8,))


def ring_of(size: int, values: tuple[int, ...], l: int, k: int, colour_of: tuple[int, ...]) -> OneRing:  # noqa: E741
    return OneRing(Small(AGES[:size], values_of(values), l, k), colour_of=colour_of)


def program(size: int, values: tuple[int, ...], k: int) -> TupleRows:
    return TupleRows(Small(AGES[:size], values_of(values), 2, k))


BY_DAY = {
    "three tuples, all values differ": ring_of(6, (1,) * 6, 2, 4, (0, 0, 0, 1, 1, 1)),
    "three tuples": ring_of(6, (2, 1, 3), 2, 4, (0, 0, 1)),
    "four tuples in windows of three": ring_of(8, (4, 4), 2, 6, (0, 1)),
    "the program, two values": program(10, (5, 5), 4),
    "the program, three values": program(10, (4, 1, 5), 4),
}


@dataclass
class Revisited(OneRing):
    """The same with the neighbourhoods of another method in the place of a ring."""

    method: str = "kfactor"

    def neighbourhoods(self, buckets: Sequence[SplitBucket]) -> Neighbourhoods:
        few = method(self.method)(k=self.k // self.table.l)
        assert isinstance(few, Overlapping)
        data = plain_data(self.table.points)
        return bucket_neighbourhoods(
            data, buckets, self.table.l, self.k, lambda tuples: few.group(tuples, (), silent)
        )


BY_DAY |= {
    f"{name}, four tuples": Revisited(
        Small(AGES[:8], values_of((3, 1, 4)), 2, 4), colour_of=(0, 0, 1), method=name
    )
    for name in ("kfactor", "kk")
}
BY_NIGHT = {
    "global-1k, four tuples": Revisited(
        Small(AGES[:8], values_of((2, 2, 2, 2)), 2, 4), colour_of=(0, 0, 1, 1), method="global-1k"
    ),
    "four tuples, two of each value": ring_of(8, (2, 2, 2, 2), 2, 6, (0, 0, 1, 1)),
    "three colours": ring_of(9, (3, 3, 3), 3, 6, (0, 1, 2)),
    "five tuples in windows of three": ring_of(10, (5, 5), 2, 6, (0, 1)),
    "five tuples in windows of four": ring_of(10, (5, 5), 2, 8, (0, 1)),
    "the program, a rest to deal": program(10, (4, 4, 2), 4),
    "the program, four values": program(10, (3, 3, 2, 2), 4),
    "the program, windows of three": program(14, (7, 7), 6),
}
CASES = {**BY_DAY, **BY_NIGHT} if NIGHT else BY_DAY


@pytest.mark.parametrize("name", CASES)
def test_a_row_is_as_likely_that_of_each_of_k(name: str) -> None:
    made = CASES[name]
    found = row_beliefs(made)
    assert found.drawn
    assert found.uneven == 0
    assert found.row * made.k == 1
    assert found.value * made.table.l <= 1


@pytest.mark.parametrize("name", ["three tuples", "the program, two values"])
def test_tuples_that_keep_their_rows_are_found(name: str) -> None:
    """The control: neither tuples nor people change places."""
    made = type(BY_DAY[name])(**{**vars(BY_DAY[name]), "made": {}, "drawn": kept})
    found = row_beliefs(made)
    assert found.uneven
    assert found.row * made.k > 1


def kept(rings: Neighbourhoods) -> dict[tuple[int, ...], Fraction]:
    return {tuple(range(len(rings))): Fraction(1)}


def one_ring(tuples: int, first: int, window: int) -> tuple[SplitBucket, int]:
    people = np.arange(first, first + 2 * tuples)
    return SplitBucket(people, np.zeros(people.size, np.int32), (people % 2).astype(np.int32)), 2 * window


LAWS = [(3, 2), *SMALL_RINGS] if NIGHT else [(3, 2), (4, 3), (5, 4)]


@pytest.mark.parametrize(("tuples", "window"), LAWS)
def test_every_tuple_gets_each_of_its_rows_as_often(tuples: int, window: int) -> None:
    """By all that the assignment can draw, for rings of classes with up to four tuples in a window."""
    bucket, k = one_ring(tuples, 0, window)
    rings = tuple_rings(Small(AGES[: 2 * tuples], (0,), 2, k).data((0,) * 2 * tuples), [bucket], 2, k)
    assert rings.tuples is not None
    got: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for private, chance in assignments(rings).items():
        for t, r in {(int(rings.tuples[i]), int(rings.tuples[row])) for row, i in enumerate(private)}:
            got[t, r] += chance
    assert len(got) == tuples * window
    assert set(got.values()) == {Fraction(1, window)}


def test_two_rings_are_drawn_apart() -> None:
    """What is known of one ring tells nothing of another."""
    buckets = [one_ring(3, first, 2)[0] for first in (0, 6)]
    rings = tuple_rings(Small(AGES[:12], (0,), 2, 4).data((0,) * 12), buckets, 2, 4)
    both = assignments(rings)
    one, other = (
        {half: sum(c for private, c in both.items() if private[part] == half) for half in halves}
        for part in (slice(0, 6), slice(6, 12))
        if (halves := {private[part] for private in both})
    )
    assert len(one) == len(other) == 2
    for a, b in itertools.product(one, other):
        assert both[(*a, *b)] == one[a] * other[b]
