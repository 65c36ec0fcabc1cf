"""A good release of rings with values counted in the rows that may be anybody's, and ways to spoil it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from forgeries.nonhomogeneous import N, Overlapping, good, ring
from forgeries.transparent import ILL, claimed, give, of_persons

from incrowd.schema import Claim

L, K = 3, 6  # values come round every five records: of six rows no two have the same one more than twice
CANDIDATES = "candidate-l-diversity (ill)"


def candidates() -> Overlapping:
    """Four rings of six, with values that are all different but for one pair."""
    release = good([row for first in range(0, N, K) for row in ring(K, K, first)], ["k-factor"], K)
    release.say(*release.claims, Claim("candidate-l-diversity", {"l": L}, "ill"))
    release.manifest["match_probability"] = {"drawn": f"1/{K}"}
    return release


def overlapping() -> Overlapping:
    """Four rings of six again, in windows of five: rows differ, and all five have different values."""
    release = good([row for first in range(0, N, 6) for row in ring(6, 5, first)], ["k-factor"], 5)
    for record in range(N):
        give(release, record, f"ill {record % 6}")
    release.say(*release.claims, Claim("candidate-l-diversity", {"l": 5}, "ill"))
    release.manifest["match_probability"] = {"drawn": "1/5"}
    return release


Spoiler = Callable[[Overlapping], None]
CANDIDATE_FORGERIES: dict[str, tuple[str, Spoiler]] = {}


def forgery(caught_by: str) -> Callable[[Spoiler], Spoiler]:
    def enter(spoil: Spoiler) -> Spoiler:
        CANDIDATE_FORGERIES[spoil.__name__] = (caught_by, spoil)
        return spoil

    return enter


@forgery(CANDIDATES)
def a_value_that_three_of_six_have(r: Overlapping) -> None:
    for record in (1, 2):
        give(r, record, r.original[0][ILL + 1])


@forgery(CANDIDATES)
def values_exchanged_between_rings(r: Overlapping) -> None:
    """Every count of the whole table stays right."""
    for record, other in ((1, 10), (2, 15)):
        own, theirs = r.original[record][ILL + 1], r.original[other][ILL + 1]
        assert theirs == r.original[0][ILL + 1]
        give(r, record, theirs)
        give(r, other, own)


@forgery(CANDIDATES)
def without_a_witness(r: Overlapping) -> None:
    r.neighbourhoods = None


@forgery(CANDIDATES)
def a_witness_of_rows_that_hold_others(r: Overlapping) -> None:
    r.witness(ring(N, K))


@forgery(CANDIDATES)
def a_witness_that_names_some_too_often(r: Overlapping) -> None:
    assert r.neighbourhoods is not None
    r.neighbourhoods[:, 0] = r.neighbourhoods[0, 0]


@forgery(CANDIDATES)
def a_witness_of_single_records(r: Overlapping) -> None:
    r.witness([[i] for i in range(N)])


@forgery(CANDIDATES)
def a_witness_of_two_records(r: Overlapping) -> None:
    """A factor, and fewer rows than l."""
    r.witness([pair for first in range(0, N, 2) for pair in ring(2, 2, first)])


def other(**changes: Any) -> Spoiler:
    return claimed(**changes)


CANDIDATE_FORGERIES |= {
    "l one too high": (CANDIDATES, other(parameters={"l": L + 1})),
    "l is zero": (CANDIDATES, other(parameters={"l": 0})),
    "l is true": (CANDIDATES, other(parameters={"l": True})),
    "l is a text": (CANDIDATES, other(parameters={"l": "3"})),
    "l and k": (CANDIDATES, other(parameters={"l": L, "k": K})),
    "no l": (CANDIDATES, other(parameters={})),
    "of a column that is not sensitive": ("candidate-l-diversity (age)", other(column="age")),
    "of persons": (CANDIDATES, of_persons),
}


@forgery("manifest")
def a_manifest_that_claims_more(r: Overlapping) -> None:
    r.manifest["claims"][-1]["parameters"]["l"] = L + 1


def renamed(r: Overlapping) -> None:
    """Without candidates there are no classes either: rows of a ring differ."""
    r.say(*r.claims[:-1], replace(r.claims[-1], model="transparent-l-diversity"))


# t of the same rows

CLOSE = "candidate-t-closeness (ill, equal)"
T = "0.22"  # in rings of six, two of five values are one person's too often by 2/6 - 1/5, or missing


def close() -> Overlapping:
    release = candidates()
    parameters = {"t": T, "distance": "equal"}
    release.say(*release.claims[:-1], Claim("candidate-t-closeness", parameters, "ill"))
    return release


def at(t: object, distance: object = "equal") -> Spoiler:
    return other(parameters={"t": t, "distance": distance})


CLOSE_FORGERIES: dict[str, tuple[str, Spoiler]] = {
    "a value that three of six have": (CLOSE, a_value_that_three_of_six_have),
    "values exchanged between rings": (CLOSE, values_exchanged_between_rings),
    "without a witness": (CLOSE, without_a_witness),
    "a witness of rows that hold others": (CLOSE, a_witness_of_rows_that_hold_others),
    "a witness of two records": (CLOSE, a_witness_of_two_records),
    "t too small": (CLOSE, at("0.01")),
    "t is a word": (CLOSE, at("near")),
    "a distance that nobody knows": ("candidate-t-closeness (ill, far)", at(T, "far")),
    "an order that is none": ("candidate-t-closeness (ill, ordered)", at(T, "ordered")),
    "of persons": (CLOSE, of_persons),
}
