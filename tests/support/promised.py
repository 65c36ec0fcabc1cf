"""What a manifest promises of small tables, and whether what an adversary believes agrees with it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from functools import cache
from typing import Any

from support.worlds import SENSITIVE, row_chances

from incrowd.algorithms.base import Algorithm, all_methods
from incrowd.contracts import Choice, Switch
from incrowd.errors import IncrowdError
from incrowd.flow import Table
from incrowd.long_work import unwatched
from incrowd.policy import Policy
from incrowd.publishing.draft import draft
from incrowd.publishing.request import requested
from incrowd.schema import Claim

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
VALUES = ("frequency-l-diversity", "transparent-l-diversity", "candidate-l-diversity")
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
def requests_alone() -> list[tuple[str, Mapping[str, Any]]]:
    """Methods and options, with k alone, that a policy reaches without accepting anything."""
    found = [(name, options) for name, chosen in all_methods().items() for options in variants(chosen)]
    return [
        (name, options)
        for name, options in found
        if not (all_methods()[name].joins or all_methods()[name].needs_plain)
        and reachable(policy_of(name, {"q": {}}, options))
    ]


def with_plain(method: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Methods that protect outliers ask for it."""
    return {**GUARDS["plain"], **asked} if all_methods()[method].needs_plain else asked


@cache
def requests_guarded() -> list[tuple[str, str]]:
    """Methods with their default options, with each guard."""
    return [
        (name, guard)
        for name, chosen in all_methods().items()
        for guard, asked in GUARDS.items()
        if not chosen.joins and reachable(policy_of(name, {"q": {}}, {}, **with_plain(name, asked)))
    ]


def claims_of(people: Mapping[str, list[str]], values: str, policy: Policy) -> tuple[Claim, ...]:
    return draft(Table.of({**people, SENSITIVE: list(values)}), policy, unwatched).claims


def tail(hits: int, runs: int, chance: Fraction) -> float:
    """The probability of as many hits or more."""
    terms = (math.comb(runs, i) * chance**i * (1 - chance) ** (runs - i) for i in range(hits, runs + 1))
    return float(sum(terms))


def sampled_break(
    people: Mapping[str, list[str]], policy: Policy, bound: Fraction, runs: int, unlikely: float = UNLIKELY
) -> str:
    """Who is behind some row more often than chance allows; empty if nobody is.

    Corrected for the number of comparisons: a sound program fails in one of 1/`unlikely` of such tables.
    """
    found = row_chances(people, policy, runs)
    pairs = sum(len(counts.met) for counts in found)
    for counts in found:
        for (person, row), times in counts.met.items():
            expected = min(Fraction(1), bound * counts.kinds[row])
            if times > expected * counts.runs and tail(times, counts.runs, expected) < unlikely / pairs:
                return f"person {person} is behind {counts.kinds[row]} rows {times} of {counts.runs} times"
    return ""
