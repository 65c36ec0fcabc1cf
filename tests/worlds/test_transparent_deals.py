"""`transparent` and tuples of `ring`: all worlds of tables of up to eight people, and all their deals.

What is found is what the proof says, and exactly that: whoever re-runs the program believes of everybody in a
class, or in a tuple, that they have a value with its share among the values of that class. So nobody has one
with more than 1/l, and 1/l is reached wherever a value is as frequent as it may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from support.night import NIGHT
from support.transparent_deals import Classes, Groups, Released, Tuples, by_order, posterior
from support.transparent_worlds import (
    Small,
    classes_of,
    compositions,
    drawn_table,
    people,
    tuples_of,
    values_of,
)

from incrowd.algorithms.transparent.method import SplitBucket
from incrowd.assign import system

BOTH = pytest.mark.parametrize("made", [Classes, Tuples])
IN_A_ROW = tuple((i,) for i in range(8))
IN_A_PLANE = ((0, 0), (0, 1), (1, 0), (1, 3), (3, 1), (4, 4), (4, 4), (5, 2))
NAMED = {
    "two of each": Small(IN_A_ROW, values_of((2, 2, 2, 2)), 2, 2),
    "a rest to deal": Small(IN_A_PLANE, values_of((3, 3, 2)), 2, 2),
    "half of one value": Small(IN_A_PLANE, values_of((4, 2, 1, 1)), 2, 4),
    "strata": Small(IN_A_PLANE, values_of((2, 2, 2, 1, 1)), 2, 3, 4),
    "seven": Small(IN_A_PLANE[:7], values_of((2, 2, 1, 1, 1)), 2, 2, 7),
    "three colours": Small(IN_A_ROW[:7], values_of((2, 2, 2, 1)), 3, 3),
}
MANY_WORLDS = {
    "all differ": Small(IN_A_PLANE, values_of((1,) * 8), 2, 2, 8),
    "three colours of eight": Small(IN_A_PLANE, values_of((2, 2, 2, 1, 1)), 3, 3, 8),
    "four colours": Small(IN_A_ROW, values_of((2, 2, 2, 2)), 4, 4),
    "eight alike": Small(((0,),) * 8, values_of((3, 2, 2, 1)), 2, 2),
}
CASES = {**NAMED, **MANY_WORLDS} if NIGHT else NAMED


def exactly_as_stated(found: Released) -> Fraction:
    """Everybody's odds are those of their group; the largest of all."""
    beliefs = posterior(found)
    assert beliefs.releases
    assert beliefs.uneven == 0, found.table
    assert beliefs.largest * found.table.l <= 1, found.table
    return beliefs.largest


@BOTH
@pytest.mark.parametrize("name", CASES)
def test_beliefs_are_the_shares_that_a_release_shows(made: type[Released], name: str) -> None:
    found = made(CASES[name])
    assert exactly_as_stated(found) * found.table.l == 1


@BOTH
@pytest.mark.parametrize("name", [name for name in NAMED if name != "strata"])  # of which each has its order
def test_what_the_program_draws_was_gone_through(
    made: type[Released], name: str, rng: np.random.Generator
) -> None:
    """The program as it is, with the system's chance: some order of values gives what it gives."""
    table, run = NAMED[name], classes_of if made is Classes else tuples_of
    world = tuple(int(value) for value in rng.permutation(table.values))
    some = {view for found in by_order(made(table), world) for view in found}
    assert {run(table, world, system) for _ in range(10)} <= some


# Tables that nobody chose


@pytest.mark.parametrize("n", [5, 6, 7, 8])
@BOTH
def test_no_table_gives_more_away(made: type[Released], n: int, rng: np.random.Generator) -> None:
    """Tables of so many people; by night a hundred of each size."""
    exactly_as_stated(made(drawn_table(rng, n, 5_000 if NIGHT else 1_000)))


EVERY = [(n, least) for n in range(4, 9 if NIGHT else 7) for least in (2, 3, 4)]


@BOTH
@pytest.mark.parametrize(("n", "l"), EVERY)
def test_no_frequencies_give_more_away(made: type[Released], n: int, l: int) -> None:  # noqa: E741
    """However many people have each value, in every order of values; by night for up to eight people."""
    rng, reached = np.random.default_rng(n), Fraction(0)
    for counts in compositions(n, n // l):
        k, stratum = int(rng.integers(2, n // 2 + 1)), int(rng.choice([1, n]))
        found = made(Small(people(rng, n), values_of(counts), l, k, stratum))
        reached = max(reached, exactly_as_stated(found))
    assert reached * l == 1 or 0 < n % l == n - l  # then nobody can be parted, nor share evenly


def test_beliefs_are_counted_right() -> None:
    """The control: classes that follow values are seen to be uneven."""

    class Betraying(Classes):
        def groups_of(self, buckets: Sequence[SplitBucket]) -> Groups:
            (bucket,) = buckets
            assert bucket.colours is not None
            rolled = np.where(bucket.colours == bucket.colours[0], np.roll(bucket.people, 1), bucket.people)
            return tuple(sorted(tuple(sorted(pair)) for pair in rolled.reshape(-1, 2).tolist()))

    found = posterior(Betraying(Small(IN_A_ROW[:4], values_of((2, 2)), 2, 2)))
    assert found.uneven
