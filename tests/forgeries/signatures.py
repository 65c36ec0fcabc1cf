"""Every way we know to spoil a series that promises m-invariance: a publisher that does wrong.

All start from two months with m = 3. In the second one p0 has left and two others came. Each forgery names
the check that must catch it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from incrowd.cohorts import NONE, SeriesState

FIRST = {f"p{number}": (20 + 2 * number, "abcd"[number % 4]) for number in range(32)}
SECOND = {who: said for who, said in FIRST.items() if who != "p0"} | {"new": (31, "a"), "q": (32, "b")}

State = Callable[[SeriesState], SeriesState]
STATES: dict[str, tuple[str, State]] = {}
CLAIM = r"m-invariance \(ill\)"


def state(caught_by: str) -> Callable[[State], State]:
    def enter(spoil: State) -> State:
        STATES[spoil.__name__] = (caught_by, spoil)
        return spoil

    return enter


def members(found: SeriesState, cohort: int) -> NDArray[np.int64]:
    return np.flatnonzero(found.cohort == cohort)


def values_of(found: SeriesState, cohort: int) -> set[int]:
    return set(found.values[-1][0][members(found, cohort)].tolist())


def two_signatures(found: SeriesState) -> tuple[int, int]:
    """Two classes of three, with different values."""
    one, *small = [c for c in range(found.as_of.size) if members(found, c).size == 3]
    return one, next(c for c in small if values_of(found, c) != values_of(found, one))


@state(CLAIM)
def somebody_changes_places_with_another_signature(found: SeriesState) -> SeriesState:
    """Both classes still have three values, each once."""
    one, two = two_signatures(found)
    own, theirs = values_of(found, one), values_of(found, two)
    value = found.values[-1][0]
    (a,) = (p for p in members(found, one) if value[p] == min(own - theirs))
    (b,) = (p for p in members(found, two) if value[p] == min(theirs - own))
    cohort = found.cohort.copy()
    cohort[[a, b]] = cohort[[b, a]]
    return replace(found, cohort=cohort)


@state(CLAIM)
def two_groups_are_one_in_which_values_repeat(found: SeriesState) -> SeriesState:
    pairs = combinations(range(found.as_of.size), 2)
    one, two = next((a, b) for a, b in pairs if values_of(found, a) == values_of(found, b))
    cohort = np.where(found.cohort == two, one, found.cohort)
    cohort = np.where(cohort > two, cohort - 1, cohort).astype(np.int32)
    return replace(found, cohort=cohort, as_of=found.as_of[1:])


@state("k-anonymity")
def somebody_is_missing_from_their_group(found: SeriesState) -> SeriesState:
    one, _ = two_signatures(found)
    cohort = found.cohort.copy()
    cohort[members(found, one)[0]] = NONE
    return replace(found, cohort=cohort)


@state(CLAIM)
def somebody_is_missing_from_a_large_group(found: SeriesState) -> SeriesState:
    """What is left has three values, so that only their signature tells."""
    (large,) = [c for c in range(found.as_of.size) if members(found, c).size > 3][:1]
    cohort = found.cohort.copy()
    cohort[members(found, large)[0]] = NONE
    return replace(found, cohort=cohort)


@state("effective")
def a_group_has_an_older_date(found: SeriesState) -> SeriesState:
    as_of = found.as_of.copy()
    as_of[found.cohort[np.flatnonzero(found.cohort != NONE)[-1]]] = 0
    return replace(found, as_of=as_of)
