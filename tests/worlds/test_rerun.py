"""What a manifest promises holds against somebody who re-runs the program, or it says that it does not.

Every method and option that a policy reaches without accepting anything, alone and with every guard. Tables
are small, so that all worlds can be counted. `./run nightly` takes more of them.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from support.worlds import SENSITIVE, TooManyDraws, beliefs, row_chances

from incrowd.algorithms.base import Algorithm, all_methods
from incrowd.contracts import Choice, Switch, unwatched
from incrowd.errors import IncrowdError, Infeasible
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing.draft import draft
from incrowd.publishing.request import requested
from incrowd.schema import Claim

NIGHTLY = os.environ.get("INCROWD_SEEDS") == "all"
TABLES = 40 if NIGHTLY else 2
RUNS = 20_000 if NIGHTLY else 100
UNLIKELY = 1e-9  # that a test of a sound program fails by chance
MINIMALITY = "not against somebody who re-runs the program (minimality)"
GUARDS: Mapping[str, Mapping[str, Any]] = {
    "distinct": {"l": 2},
    "frequency": {"l": 2, "l_kind": "frequency"},
    "entropy": {"l": 2, "l_kind": "entropy"},
    "recursive": {"l": 2, "l_kind": "recursive", "c": 2},
    "t": {"t": 0.4},
    "plain": {"plain": {"p": "0.6", "d": "0.3"}},
}
# The values of so many people. Numbers, so that some stand out: plain is about these.
HANDED_OUT = {
    4: ("0012", "0011", "0129", "0001"),
    5: ("00112", "00129", "01122", "00019"),
    6: ("001122", "000119", "001129"),
}
# What each claim says about beliefs: the model, and whether a belief agrees with it.
ROWS = ("k-anonymity", "k-factor")
VALUES = ("frequency-l-diversity", "transparent-l-diversity")
STRUCTURE = ("sensitive-groups", "plain")  # about buckets and distances: for the verifier to count


def agrees(claim: Claim, row: Fraction, likeliest: Fraction, fewest: int) -> bool:
    """Is this what the claim promises? A claim that nothing is known of is not kept."""
    number = {name: value for name, value in claim.parameters.items() if isinstance(value, int)}
    if claim.model in ROWS:
        return row <= Fraction(1, number["k"])
    if claim.model in VALUES:
        return likeliest <= Fraction(1, number["l"])
    if claim.model == "distinct-l-diversity":
        return fewest >= number["l"]
    return claim.model in STRUCTURE


def policy_of(
    method: str, columns: Iterator[str] | Mapping[str, Any], options: Any, **privacy: Any
) -> Policy:
    return Policy.from_dict(
        {
            "quasi_identifiers": {name: {"type": "numeric"} for name in columns},
            "sensitive": [SENSITIVE],
            "method": method,
            "options": dict(options),
            "privacy": {"k": 2, **privacy},
        }
    )


def variants(chosen: type[Algorithm]) -> Iterator[Mapping[str, Any]]:
    """The default, and every other value of each option that has few."""
    yield {}
    for option in fields(chosen):
        limit = chosen.limits.get(option.name)
        values: tuple[object, ...] = limit.words_allowed if isinstance(limit, Choice) else ()
        values = (False, True) if isinstance(limit, Switch) else values
        yield from ({option.name: value} for value in values if value != option.default)


def reachable(policy: Policy) -> bool:
    try:
        requested(policy)
    except IncrowdError:
        return False
    return True


@cache
def alone() -> list[Any]:
    """Methods and options, with k alone."""
    found = [(name, options) for name, chosen in all_methods().items() for options in variants(chosen)]
    return [
        pytest.param(
            name, options, id="-".join([name, *(f"{key}={value}" for key, value in options.items())])
        )
        for name, options in found
        if not (all_methods()[name].joins or all_methods()[name].needs_plain)
        and reachable(policy_of(name, {"q": {}}, options))
    ]


def with_plain(method: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Methods that protect outliers ask for it."""
    return {**GUARDS["plain"], **asked} if all_methods()[method].needs_plain else asked


@cache
def guarded() -> list[Any]:
    """Methods with their default options, with each guard."""
    return [
        pytest.param(name, guard, id=f"{name}-{guard}")
        for name, chosen in all_methods().items()
        for guard, asked in GUARDS.items()
        if not chosen.joins and reachable(policy_of(name, {"q": {}}, {}, **with_plain(name, asked)))
    ]


def tables(seed: int, count: int) -> Iterator[dict[str, list[str]]]:
    """Random people: few values, so that some are alike."""
    rng = random.Random(seed)
    for _ in range(count):
        size = rng.choice([4, 5, 5, 6]) if NIGHTLY else rng.choice([4, 5])
        yield {f"q{j}": [str(rng.randrange(6)) for _ in range(size)] for j in range(rng.choice([1, 2]))}


def claims_of(people: Mapping[str, list[str]], values: str, policy: Policy) -> tuple[Claim, ...]:
    return draft(Table.of({**people, SENSITIVE: list(values)}), policy, unwatched).claims


def tail(hits: int, runs: int, chance: Fraction) -> float:
    """The probability of as many hits or more."""
    terms = (math.comb(runs, i) * chance**i * (1 - chance) ** (runs - i) for i in range(hits, runs + 1))
    return float(sum(terms))


def sampled_break(people: Mapping[str, list[str]], policy: Policy, bound: Fraction, runs: int = RUNS) -> str:
    """Who is behind some row more often than chance allows; empty if nobody is."""
    found = row_chances(people, policy, runs)
    pairs = sum(len(counts.met) for counts in found)
    for counts in found:
        for (person, row), times in counts.met.items():
            expected = min(Fraction(1), bound * counts.kinds[row])
            if times > expected * counts.runs and tail(times, counts.runs, expected) < UNLIKELY / pairs:
                return f"person {person} is behind {counts.kinds[row]} rows {times} of {counts.runs} times"
    return ""


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
            assert not sampled_break(people, policy, Fraction(1, 2))
            tried += 1
            continue
        for belief in beliefs(people, values, policy):
            assert all(agrees(claim, belief.row, belief.likeliest, belief.fewest) for claim in claims)
            tried += 1
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
    assert tried


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
    assert sampled_break(people, policy, Fraction(1, 2))


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
