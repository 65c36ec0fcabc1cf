"""Releases of the same people put together: a series holds, and tables that are parted anew do not."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.series_tables import months, policy, table

from incrowd.attacks.registry import Outcome
from incrowd.attacks.series import SeriesTarget, intersection, linking, series, shared_values, subtraction
from incrowd.commands.attack import attack

CLASSES = st.integers(1, 4).flatmap(
    lambda releases: st.lists(
        st.lists(st.integers(-1, 2), min_size=releases, max_size=releases), min_size=1, max_size=12
    )
)


@given(CLASSES)
def test_candidates_are_those_of_the_definition(histories: list[list[int]]) -> None:
    classes = np.array(histories, np.int32).T
    assert linking(classes).tolist() == [histories.count(own) for own in histories]
    for own, found in zip(histories, intersection(classes).tolist(), strict=True):
        shown = [r for r, number in enumerate(own) if number >= 0]
        assert found == sum(all(other[r] == own[r] for r in shown) for other in histories)
    for own, found in zip(histories, subtraction(classes).tolist(), strict=True):
        pairs = [r for r in range(1, len(own)) if max(own[r - 1 : r + 1]) >= 0]
        counts = [sum(other[r - 1 : r + 1] == own[r - 1 : r + 1] for other in histories) for r in pairs]
        assert found == min(counts, default=len(histories))


@given(CLASSES, st.integers(1, 4))
def test_values_left_are_those_that_all_classes_have(histories: list[list[int]], kinds: int) -> None:
    classes, values = np.array(histories, np.int32).T, [person % kinds for person in range(len(histories))]
    for own, found in zip(histories, shared_values(classes, np.array(values, np.int32)), strict=True):
        left = set(values)
        for release, number in enumerate(own):
            if number >= 0:
                left &= {v for v, other in zip(values, histories, strict=True) if other[release] == number}
        assert found == len(left)


def test_values_of_classes_made_anew_are_found_out() -> None:
    shown = np.array([[0, 0, 1, 1], [1, 1, 0, 0]], np.int32)
    anew = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], np.int32)
    (held,) = series(SeriesTarget(shown, anew, 2, np.array([0, 1, 2, 3], np.int32)))
    assert (held.name, held.outcome, held.attack.share) == ("series-values", Outcome.HELD, 0.5)
    assert held.control is not None
    assert held.control.share == 1
    (broken,) = series(SeriesTarget(anew, anew, 2, np.array([0, 1, 2, 3], np.int32)))
    assert broken.outcome is Outcome.BROKEN


def test_classes_made_anew_single_people_out() -> None:
    shown = np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.int32)
    anew = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], np.int32)
    for result in series(SeriesTarget(shown, anew, 2)):
        assert result.attack.share == 0.5
        assert result.control is not None
        assert result.control.share == 1
        assert result.outcome is Outcome.HELD
    (*_, broken) = series(SeriesTarget(anew, anew, 2))
    assert broken.outcome is Outcome.BROKEN
    assert broken.bound == Fraction(1, 2)


def test_a_series_holds_where_releases_alone_would_not(tmp_path: Path) -> None:
    first = {f"p{number}": (number, "abc"[number % 3]) for number in range(40)}
    second = {who: said for who, said in first.items() if who not in ("p0", "p7", "p20")}
    second |= {f"q{number}": (7 * number, "abc"[number % 3]) for number in range(5)}
    months(tmp_path, [first, second], policy())
    found = attack(tmp_path / "m1", table(second)).to_dict()
    told = {each["name"]: each for each in found["attacks"] if each["name"].startswith("series")}
    assert list(told) == ["series-subtraction", "series-intersection", "series-linking"]
    assert {each["outcome"] for each in told.values()} == {"held"}
    assert told["series-linking"]["details"]["fewest"] >= 3
    assert told["series-linking"]["control"]["share"] > 1 / 3
    alone = attack(tmp_path / "m0", table(first)).to_dict()
    assert not [each for each in alone["attacks"] if each["name"].startswith("series")]
