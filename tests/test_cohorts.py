"""Cohorts: against the definition, and what they promise."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.series_lines import LineOfNights, ListedLine, Night, nights
from twins import series as twin

from incrowd.cohorts import NONE, Now, SeriesState, SeriesTerms, advanced
from incrowd.errors import PolicyError

Release = list[tuple[list[int], int, dict[int, int]]]

TERMS = st.builds(
    SeriesTerms,
    k=st.integers(1, 3),
    l=st.integers(1, 3),
    wait=st.integers(0, 2),
    tau=st.sampled_from(["0.5", "1", "3"]),
    left=st.sampled_from(["repeat", "companions"]),
    hold=st.integers(0, 2),
)


def played(line: list[Night], terms: SeriesTerms) -> list[Release]:
    """Every release as classes of people, with their dates and what the rows say."""
    state, found = SeriesState.empty(), list[Release]()
    for night, today in enumerate(line):
        ids = range(len(today.places))
        there, gone = (np.array([p in some for p in ids]) for some in (today.present, today.erased))
        values = (np.array(today.values, np.int32),)
        state = advanced(state, Now(there, gone, values), terms, LineOfNights(line[: night + 1], terms.l))
        release: Release = []
        for c, date in enumerate(state.as_of.tolist()):
            people = np.flatnonzero(state.cohort == c).tolist()
            release.append((people, date, {p: line[date].values[p] for p in people}))
        found.append(release)
    return found


def by_definition(line: list[Night], terms: SeriesTerms) -> list[Release]:
    past: list[Release] = []
    for night, today in enumerate(line):
        then = [set(each.present - each.erased) for each in line[:night]]
        asked: dict[str, Any] = {
            **{"k": terms.k, "l": terms.l, "least": terms.least, "wait": terms.wait, "left": terms.left},
            **{"hold": terms.hold, "tau": Fraction(str(terms.tau)), "present_then": then},
        }
        given_now = (set(today.present), set(today.erased), dict(enumerate(today.values)))
        past.append(twin.next_release(past, *given_now, asked, ListedLine(line[: night + 1])))
    return past


def sorted_classes(release: Release) -> list[tuple[list[int], int, dict[int, int]]]:
    return sorted(release, key=lambda each: each[0])


@settings(max_examples=400)
@given(nights(), TERMS)
def test_cohorts_are_those_of_the_definition(line: list[Night], terms: SeriesTerms) -> None:
    ours, theirs = played(line, terms), by_definition(line, terms)
    assert [sorted_classes(release) for release in ours] == [sorted_classes(release) for release in theirs]


@settings(max_examples=400)
@given(nights(most=24, releases=7), TERMS)
def test_all_releases_together_keep_k_and_l(line: list[Night], terms: SeriesTerms) -> None:
    releases = played(line, terms)
    assert not twin.faults(releases, terms.k, terms.l)
    for night, release in enumerate(releases):
        rows = [p for people, _, _ in release for p in people]
        assert len(rows) == len(set(rows))
        assert not set(rows) & line[night].erased
        for people, date, said in release:
            current = date == night and set(people) <= line[night].present
            assert current or (people, date, said) in releases[night - 1]


@settings(max_examples=60)
@given(nights(most=24, releases=6), TERMS)
def test_who_waits_long_enough_gets_a_row_or_is_too_few(line: list[Night], terms: SeriesTerms) -> None:
    """Whoever never had a row and waited so long is shown, unless newcomers are too few or not diverse."""
    state = SeriesState.empty()
    for night, today in enumerate(line):
        ids = range(len(today.places))
        there, gone = (np.array([p in some for p in ids]) for some in (today.present, today.erased))
        before = state
        state = advanced(
            state,
            Now(there, gone, (np.array(today.values, np.int32),)),
            terms,
            LineOfNights(line[: night + 1], terms.l),
        )
        new = there & ~gone & (before.with_people(len(ids)).atom == 0)
        unseen = np.flatnonzero(new & (state.cohort == NONE))
        long = unseen[night - state.since[unseen] >= terms.wait]
        if long.size and terms.l == 1:
            assert np.flatnonzero(new).size < terms.least


def test_each_release_alone_would_give_somebody_away() -> None:
    """The control: classes made anew each time, two by two, single somebody out."""
    said = dict.fromkeys(range(4), 0)
    first: Release = [([0, 1], 0, said), ([2, 3], 0, said)]
    second: Release = [([0, 2], 1, said), ([1, 3], 1, said)]
    assert not twin.faults([first], 2, 1)
    assert len(twin.faults([first, second], 2, 1)) == 4


SMALL_TERMS = st.builds(
    SeriesTerms,
    k=st.just(2),
    size=st.sampled_from([0, 3]),
    wait=st.integers(0, 1),
    tau=st.sampled_from(["0.5", "9"]),
    left=st.sampled_from(["repeat", "companions"]),
    hold=st.integers(0, 2),
) | st.builds(SeriesTerms, k=st.just(3), left=st.sampled_from(["repeat", "companions"]))
RETURN = [  # on a line of six: two leave and return, and one is erased
    Night(frozenset(range(6)), frozenset(), (0, 0, 0, 5, 5, 5), (0,) * 6),
    Night(frozenset({2, 3, 4, 5}), frozenset(), (0, 0, 0, 5, 5, 5), (0,) * 6),
    Night(frozenset(range(5)), frozenset({5}), (0, 0, 1, 5, 5, 5), (0,) * 6),
    Night(frozenset(range(5)), frozenset({5}), (0, 0, 1, 5, 5, 5), (0,) * 6),
]


@settings(max_examples=60)
@given(nights(most=7, releases=4, kinds=2), SMALL_TERMS)
@example(RETURN, SeriesTerms(k=2))
@example(RETURN, SeriesTerms(k=2, left="companions"))
@example(RETURN, SeriesTerms(k=2, size=3, tau="0.5", hold=1))
def test_nobody_is_likelier_to_have_a_private_history_than_one_of_k(
    line: list[Night], terms: SeriesTerms
) -> None:
    """All ways to hand out whole private histories that give the same files, enumerated.

    Somebody links rows of different releases by private values, at worst all of them: values here are long
    enough to tell everybody apart.
    """
    releases = played(line, terms)
    people = len(line[0].places)

    def files(owner: tuple[int, ...]) -> list[Counter[tuple[int, tuple[int, int]]]]:
        """Each release as classes with private values in them; person p has those of owner[p]."""
        return [
            Counter((c, (owner[p], date)) for c, (members, date, _) in enumerate(release) for p in members)
            for release in releases
        ]

    real, ways, behind = files(tuple(range(people))), 0, Counter[tuple[int, int]]()
    for owner in permutations(range(people)):
        if files(owner) == real:
            ways += 1
            behind.update(enumerate(owner))
    shown = {p for release in releases for members, _, _ in release for p in members}
    assert all(behind[p, q] * terms.k <= ways for p in shown for q in range(people))


@pytest.mark.parametrize(
    "words",
    [
        {"k": 0},
        {"k": 3, "size": 2},
        {"k": 2, "wait": -1},
        {"k": 2, "left": "stay"},
        {"k": 2, "tau": "-1"},
        {"k": 2, "hold": -1},
    ],
)
def test_terms_that_mean_nothing_are_refused(words: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        SeriesTerms(**words)
