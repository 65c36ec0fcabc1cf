"""m-invariance: against the definition, by enumeration, and on the hospital of its paper."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.series_lines import Night, nights
from twins import signatures as twin

from incrowd.algorithms.signatures import advanced_by_signatures, new_buckets
from incrowd.cohorts import Now, SeriesState
from incrowd.errors import Refused

Classes = list[list[int]]
COUNTS = st.dictionaries(st.integers(0, 9), st.integers(0, 12), min_size=1)


def one_value_each(line: list[Night]) -> list[Night]:
    """The same nights, on which nobody's value changes."""
    return [replace(night, values=line[0].values) for night in line]


def played(line: list[Night], m: int) -> list[Classes]:
    """Every release as classes of people; those of each value are taken in the order of their places."""
    state, found = SeriesState.empty(), list[Classes]()
    for night in line:
        ids = range(len(night.places))
        present, erased = (np.array([p in some for p in ids]) for some in (night.present, night.erased))
        places = np.array(night.places)

        def split(people: NDArray[np.int64], places: NDArray[np.int64] = places) -> list[NDArray[np.int64]]:
            return list(np.stack([row[np.argsort(places[row], kind="stable")] for row in people]).T)

        now = Now(present, erased, (np.array(night.values, np.int32),))
        state = advanced_by_signatures(state, now, m, split)
        cohorts = range(state.as_of.size)
        found.append([np.flatnonzero(state.cohort == c).tolist() for c in cohorts])
    return found


@settings(max_examples=150)
@given(nights(most=24, releases=6), st.integers(2, 4))
def test_signatures_are_those_of_the_definition(line: list[Night], m: int) -> None:
    line = one_value_each(line)
    values = list(line[0].values)
    theirs = twin.played([(set(night.present), set(night.erased)) for night in line], values, m)
    releases = played(line, m)
    for release, shown in zip(releases, theirs, strict=True):
        ours = {p: frozenset(values[q] for q in people) for people in release for p in people}
        assert ours == shown
    assert not twin.faults(releases, values, m)


@given(COUNTS, st.integers(2, 4))
def test_new_buckets_are_those_of_the_definition(counts: dict[int, int], m: int) -> None:
    ours = list(new_buckets(counts, m))
    assert ours == [(tuple(sorted(chosen)), often) for chosen, often in twin.buckets(counts, m)]
    placed = Counter(value for chosen, often in ours for value in chosen for _ in range(often))
    assert all(placed[value] <= often for value, often in counts.items())


@settings(max_examples=40)
@given(nights(most=6, releases=4, kinds=3), st.integers(2, 3))
def test_no_value_of_anybody_is_likelier_than_one_in_m(line: list[Night], m: int) -> None:
    """All ways to hand out values that give the same classes with the same values, enumerated."""
    line = one_value_each(line)
    releases, people = played(line, m), len(line[0].places)
    assume(any(releases))

    def files(values: tuple[int, ...]) -> list[list[list[int]]]:
        return [[sorted(values[p] for p in members) for members in release] for release in releases]

    real, ways, behind = files(line[0].values), 0, Counter[tuple[int, int]]()
    for values in product(range(3), repeat=people):
        if files(values) == real:
            ways += 1
            behind.update(enumerate(values))
    shown = {p for release in releases for members in release for p in members}
    assert all(behind[p, value] * m <= ways for p in shown for value in range(3))


def test_a_value_that_changes_is_refused() -> None:
    everybody = np.ones(2, np.bool_)
    first = Now(everybody, ~everybody, (np.array([0, 1], np.int32),))
    state = advanced_by_signatures(SeriesState.empty(), first, 2, lambda people: [people[:, 0]])
    with pytest.raises(Refused, match="2 people have another sensitive value"):
        advanced_by_signatures(
            state, replace(first, values=(np.array([1, 0], np.int32),)), 2, lambda people: [people[:, 0]]
        )


# A hospital as in the paper's introduction: patients of two quarters, put together anew from the definitions

FIRST = {
    **{"Bob": "dyspepsia", "Alice": "bronchitis", "Andy": "flu", "David": "gastritis", "Gary": "flu"},
    **{"Helen": "gastritis", "Jane": "dyspepsia", "Ken": "flu", "Linda": "gastritis", "Paul": "dyspepsia"},
    "Steve": "gastritis",
}
SECOND = {
    **{"Bob": "dyspepsia", "David": "gastritis", "Emily": "flu", "Jane": "dyspepsia", "Linda": "gastritis"},
    **{"Gary": "flu", "Mary": "gastritis", "Ray": "dyspepsia", "Steve": "gastritis", "Tom": "gastritis"},
    "Vince": "flu",
}
ALONE = [  # two quarters, each 2-unique alone: whoever has both knows what Bob has
    [["Bob", "Alice"], ["Andy", "David"], ["Gary", "Helen"], ["Jane", "Ken", "Linda"], ["Paul", "Steve"]],
    [["Bob", "David"], ["Emily", "Jane", "Linda"], ["Gary", "Mary"], ["Ray", "Steve"], ["Tom", "Vince"]],
]
TOGETHER = [  # 2-invariant; counterfeits beside Bob, and beside Jane and Linda, would show these three, too
    ALONE[0],
    [["David", "Emily"], ["Gary", "Mary"], ["Ray", "Steve"], ["Tom", "Vince"]],
]
PATIENTS = sorted({**FIRST, **SECOND})
ILLS = sorted(set(FIRST.values()))
VALUES = [ILLS.index({**FIRST, **SECOND}[name]) for name in PATIENTS]


def numbered(releases: list[list[list[str]]]) -> list[Classes]:
    return [[[PATIENTS.index(name) for name in group] for group in release] for release in releases]


def test_two_quarters_of_the_hospital_alone_give_bob_away() -> None:
    bob = PATIENTS.index("Bob")
    assert ("another signature", 1, bob) in twin.faults(numbered(ALONE), VALUES, 2)
    assert not [fault for fault in twin.faults(numbered(ALONE), VALUES, 2) if fault[0] == "not unique"]
    assert not twin.faults(numbered(TOGETHER), VALUES, 2)


def test_after_the_papers_first_quarter_bob_waits_for_somebody_with_bronchitis() -> None:
    """Alice left, who had it; in the paper a counterfeit takes her place. Tom has nobody beside him yet."""
    number = {frozenset(group): place + 1 for place, group in enumerate(ALONE[0])}
    atom = np.array([next((n for group, n in number.items() if name in group), 0) for name in PATIENTS])
    values = np.array(VALUES, np.int32)
    signature = {n: frozenset(FIRST[name] for name in group) for group, n in number.items()}
    same = {n: min(m for m, other in signature.items() if other == kinds) for n, kinds in signature.items()}
    atom = np.array([same.get(n, 0) for n in atom.tolist()], np.int64)
    had = np.where(atom > 0, values, -1).astype(np.int32)
    none = np.full(values.size, -1, np.int32)
    state = SeriesState(1, atom, np.where(atom > 0, 0, -1).astype(np.int32), none[:1] * 0, none, ((had,),))
    present = np.array([name in SECOND for name in PATIENTS])
    found = advanced_by_signatures(
        state, Now(present, ~present & False, (values,)), 2, lambda people: list(people.T)
    )
    without = {name for name, cohort in zip(PATIENTS, found.cohort.tolist(), strict=True) if cohort < 0}
    assert without & SECOND.keys() == {"Bob", "Tom"}
    classes = [np.flatnonzero(found.cohort == c).tolist() for c in range(found.as_of.size)]
    assert not twin.faults([numbered(ALONE)[0], classes], VALUES, 2)
