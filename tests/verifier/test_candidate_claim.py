"""The verifier on values in the rows that may be anybody's: the definition, and forgeries."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from forgeries.candidates import (
    CANDIDATE_FORGERIES,
    CANDIDATES,
    CLOSE,
    CLOSE_FORGERIES,
    K,
    L,
    T,
    candidates,
    close,
    overlapping,
    renamed,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.overlapping_tables import Lines
from support.verifier_cases import Case, assert_rejected, long_texts, verified
from twins import candidates as naive_candidates
from verifier.test_transparent_claim import verified_folder

from incrowd.schema import Claim, Column, Kind, Role, Schema

SCHEMA = Schema((Column("age", Role.QUASI, Kind.NUMERIC), Column("ill", Role.SENSITIVE)))


@pytest.mark.parametrize("hinted", [False, True], ids=["found", "hinted"])
def test_good_releases_are_accepted(tmp_path: Path, hinted: bool) -> None:
    for name in ("six", "five", "renamed"):
        (tmp_path / name).mkdir()
    verdict = verified_folder(candidates(), tmp_path / "six", hinted)
    assert verdict.passed, verdict.failures
    assert verdict.facts["reached"] == {"k-factor": K, CANDIDATES: L}
    release = overlapping()
    verdict = verified_folder(release, tmp_path / "five", hinted)
    assert verdict.passed, verdict.failures
    assert verdict.facts["reached"][CANDIDATES] == 5
    renamed(release)
    assert not verified_folder(release, tmp_path / "renamed", hinted).passed


@pytest.mark.parametrize("hinted", [False, True], ids=["found", "hinted"])
@pytest.mark.parametrize("name", CANDIDATE_FORGERIES)
def test_no_forgery_is_accepted(tmp_path: Path, name: str, hinted: bool) -> None:
    caught_by, spoil = CANDIDATE_FORGERIES[name]
    release = candidates()
    spoil(release)
    verdict = verified_folder(release, tmp_path, hinted)
    assert_rejected(verdict, caught_by, long_texts(release.original))


def test_a_close_release_is_accepted(tmp_path: Path) -> None:
    verdict = verified_folder(close(), tmp_path)
    assert verdict.passed, verdict.failures
    assert Fraction(verdict.facts["reached"][CLOSE]) <= Fraction(T)


@pytest.mark.parametrize("name", CLOSE_FORGERIES)
def test_no_forgery_of_t_is_accepted(tmp_path: Path, name: str) -> None:
    caught_by, spoil = CLOSE_FORGERIES[name]
    release = close()
    spoil(release)
    verdict = verified_folder(release, tmp_path)
    assert_rejected(verdict, caught_by, long_texts(release.original))


@st.composite
def rings(draw: st.DrawFn) -> tuple[list[list[int]], list[int], list[str]]:
    """Neighbourhoods over parts of some people, their ages, and their values."""
    k = draw(st.integers(2, 3))
    around: list[list[int]] = []
    for size in draw(st.lists(st.integers(k, 5), min_size=1, max_size=3)):
        first = len(around)
        around += [[first + (i + step) % size for step in range(k)] for i in range(size)]
    n = len(around)
    ages = draw(st.lists(st.integers(20, 24), min_size=n, max_size=n))
    return around, ages, draw(st.lists(st.sampled_from("abcd"), min_size=n, max_size=n))


@given(rings(), st.integers(2, 3))
@settings(deadline=None, max_examples=150)
def test_agrees_with_its_definition(made: tuple[list[list[int]], list[int], list[str]], l: int) -> None:  # noqa: E741
    around, ages, values = made
    n = len(around)
    assume(n > 2)
    cells = [(min(ages[i] for i in row), max(ages[i] for i in row)) for row in around]
    shown = [f"[{low},{high}]" if low < high else str(low) for low, high in cells]
    original = Lines(("age", "ill"), [(str(age), value) for age, value in zip(ages, values, strict=True)])
    published = Lines(("age", "ill"), list(zip(shown, values, strict=True)))
    claims = [
        Claim("candidate-l-diversity", {"l": l}, "ill"),
        Claim("candidate-t-closeness", {"t": "0.5", "distance": "equal"}, "ill"),
    ]
    case = Case(original, published, SCHEMA, claims, neighbourhoods=np.array(around), links=np.arange(n))
    diverse, near = (check for check in verified(case).checks if check.name in (CANDIDATES, CLOSE))
    beliefs = naive_candidates.beliefs(around, shown, values)
    assert diverse.passed == (max(max(own.values()) for own in beliefs) * l <= 1)
    share = {v: Fraction(values.count(v), n) for v in values}
    far = max(sum(abs(own.get(v, Fraction(0)) - share[v]) for v in share) / 2 for own in beliefs)
    assert near.passed == (far <= Fraction(1, 2))
