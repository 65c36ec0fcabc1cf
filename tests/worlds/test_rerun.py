"""What a manifest promises holds against somebody who re-runs the program, or it says that it does not.

Every method and option that a policy reaches without accepting anything, alone and with every guard. Tables
are small, so that all worlds can be counted. `./run nightly` takes more of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import pytest
from support.night import NIGHT
from support.promised import (
    GUARDS,
    HANDED_OUT,
    MINIMALITY,
    agrees,
    claims_of,
    policy_of,
    requests_alone,
    requests_guarded,
    sampled_break,
    with_plain,
)
from support.worlds import TooManyDraws, beliefs

from incrowd.algorithms.base import all_methods
from incrowd.errors import Infeasible

TABLES = 40 if NIGHT else 2  # by day the first that can keep it
RUNS = 20_000 if NIGHT else 100


def alone() -> list[Any]:
    return [
        pytest.param(
            name, options, id="-".join([name, *(f"{key}={value}" for key, value in options.items())])
        )
        for name, options in requests_alone()
    ]


def guarded() -> list[Any]:
    return [pytest.param(name, guard, id=f"{name}-{guard}") for name, guard in requests_guarded()]


def searched() -> list[Any]:
    """Methods whose classes are found by local search."""
    polished = [name for name, options in requests_alone() if options == {"polish": True}]
    found = [("cells", {}), *((name, {"polish": True}) for name in polished)]
    return [pytest.param(name, options, id=name) for name, options in found]


def tables(seed: int, count: int) -> Iterator[dict[str, list[str]]]:
    """Random people: few values, so that some are alike."""
    rng = random.Random(seed)
    for _ in range(count):
        size = rng.choice([4, 5, 5, 6]) if NIGHT else rng.choice([4, 5])
        yield {f"q{j}": [str(rng.randrange(6)) for _ in range(size)] for j in range(rng.choice([1, 2]))}


@pytest.mark.parametrize(("method", "options"), alone())
def test_nobody_is_found_behind_a_row(method: str, options: Mapping[str, Any]) -> None:
    """With k alone: whoever re-runs the program picks somebody's row with a probability of at most 1/k."""
    tried = 0
    for people in tables(1, TABLES):
        policy = policy_of(method, people, options)
        values = "012345"[: len(people["q0"])]
        try:
            claims = claims_of(people, values, policy)
        except Infeasible:  # this table cannot keep it; another may
            continue
        if all_methods()[method].overlapping:
            assert not sampled_break(people, policy, Fraction(1, 2), RUNS)
            tried += 1
        else:
            for belief in beliefs(people, values, policy):
                assert all(agrees(claim, belief.row, belief.likeliest, belief.fewest) for claim in claims)
                tried += 1
        if tried and not NIGHT:
            break
    assert tried


@pytest.mark.parametrize(("method", "guard"), guarded())
def test_what_is_claimed_of_values_holds_or_is_said_not_to(method: str, guard: str) -> None:
    """Every claim that is not withdrawn in the manifest's own words holds in all worlds."""
    rng, tried = random.Random(2), 0
    for people in tables(3, TABLES):
        size = len(people["q0"])
        values = rng.choice(HANDED_OUT[size])
        policy = policy_of(method, people, {}, **with_plain(method, GUARDS[guard]))
        try:
            claims = claims_of(people, values, policy)
        except Infeasible:  # this table cannot keep it; another may
            tried += 1
            continue
        held = [claim for claim in claims if MINIMALITY not in claim.assumptions]
        tried += 1
        if not held:
            continue
        try:
            found = beliefs(people, values, policy)
        except TooManyDraws:
            pytest.fail("the draws of this method cannot be enumerated")
        for belief in found:
            for claim in held:
                assert agrees(claim, belief.row, belief.likeliest, belief.fewest), (claim.model, belief)
        if not NIGHT:
            break
    assert tried


@pytest.mark.parametrize(("method", "options"), searched())
def test_local_search_says_that_values_had_a_say(method: str, options: Mapping[str, Any]) -> None:
    """With k alone they have none; with a guard every claim is withdrawn against who re-runs the program."""
    people = next(tables(3, 1))
    values = HANDED_OUT[len(people["q0"])][0]

    def withdrawn(**privacy: Any) -> list[bool]:
        claims = claims_of(people, values, policy_of(method, people, options, **privacy))
        return [MINIMALITY in claim.assumptions for claim in claims]

    assert withdrawn() == [False]
    for guard in ("distinct", "frequency", "entropy", "recursive"):
        assert withdrawn(**GUARDS[guard]) == [True, True]
    assert withdrawn(t=0.9) == [True, True]


def test_a_guard_of_cells_tells_a_value() -> None:
    """The control: the words are needed, since one of these releases gives somebody's value away."""
    people = {"q0": ["5", "0", "3", "3"], "q1": ["3", "3", "3", "4"]}
    found = beliefs(people, "0012", policy_of("cells", people, {}, l=2, l_kind="frequency"))
    assert max(belief.likeliest for belief in found) == 1


# Twelve people, so that rings have three tuples or more: in smaller classes all rows are equal.
AGES = {"q0": [str(age) for age in (1, 2, 4, 5, 7, 9, 11, 12, 14, 17, 18, 20)]}


def test_rings_over_tuples_find_nobody_behind_a_row() -> None:
    """The whole program, sampled; `test_tuple_rows.py` has all that can be drawn, and a control."""
    policy = policy_of("ring", AGES, {}, k=4, l=2)
    claimed = [claim.model for claim in claims_of(AGES, "0123456789ab", policy)]
    assert claimed == ["k-factor", "transparent-l-diversity"]
    assert not sampled_break(AGES, policy, Fraction(1, 4), 6 * RUNS)


def test_whoever_keeps_the_own_row_is_found() -> None:
    """The control: without the randomized assignment, re-running the program tells everybody's row."""
    people = {"q0": ["1", "2", "4", "5", "7"]}
    policy = policy_of("ring", people, {"drawn": False}).with_(accept=["unsafe-identity"])
    assert sampled_break(people, policy, Fraction(1, 2), RUNS)


def test_a_guard_that_reads_values_tells_some_of_them() -> None:
    """The control: with l by a veto on classes, some release gives a value away, and its claim says so."""
    worst, said = Fraction(0), set()
    for people in tables(5, 12):
        values = "00112"[: len(people["q0"])]
        policy = policy_of("mondrian", people, {}, l=2, l_kind="frequency")
        found = beliefs(people, values, policy)
        worst = max([worst, *(belief.likeliest for belief in found)])
        if found:
            said |= {
                claim.model for claim in claims_of(people, values, policy) if MINIMALITY in claim.assumptions
            }
    assert worst > Fraction(1, 2)
    assert said == {"k-anonymity", "frequency-l-diversity"}
