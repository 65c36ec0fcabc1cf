"""The verifier on frequent values: in equivalence classes, and in the equal rows of tuples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgeries.classes import METHOD
from forgeries.nonhomogeneous import Overlapping
from forgeries.transparent import TRANSPARENT, TRANSPARENT_FORGERIES, K, L, tuples
from hypothesis import given, settings
from hypothesis import strategies as st
from support.overlapping_tables import Lines
from support.verifier_cases import Case, assert_rejected, long_texts, verified
from twins import transparent as naive_transparent

from incrowd.schema import Claim, Column, Role, Schema, Verdict
from incrowd.verifier import CsvRows, Expected, Witness, verify

SCHEMA = Schema((Column("code", Role.QUASI), Column("ill", Role.SENSITIVE)))


def verified_folder(release: Overlapping, folder: Path, hinted: bool = False) -> Verdict:
    release.write(folder / "release")
    release.write_original(folder / "original.csv")
    links = np.array(release.truth) if hinted else None
    return verify(
        folder / "release",
        CsvRows(folder / "original.csv"),
        Expected(release.schema, release.claims, method=METHOD),
        witness=Witness(links, release.neighbourhoods),
    )


@pytest.mark.parametrize("witness", [False, True], ids=["searched", "witnessed"])
@pytest.mark.parametrize("hinted", [False, True], ids=["found", "hinted"])
def test_a_good_release_is_accepted(tmp_path: Path, hinted: bool, witness: bool) -> None:
    release = tuples()
    release.neighbourhoods = release.neighbourhoods if witness else None
    verdict = verified_folder(release, tmp_path, hinted)
    assert verdict.passed, verdict.failures
    assert verdict.facts["reached"] == {"k-factor": K, TRANSPARENT: L}
    assert TRANSPARENT in verdict.required


@pytest.mark.parametrize("hinted", [False, True], ids=["found", "hinted"])
@pytest.mark.parametrize("name", TRANSPARENT_FORGERIES)
def test_no_forgery_is_accepted(tmp_path: Path, name: str, hinted: bool) -> None:
    caught_by, spoil = TRANSPARENT_FORGERIES[name]
    release = tuples()
    spoil(release)
    verdict = verified_folder(release, tmp_path, hinted)
    assert_rejected(verdict, caught_by, long_texts(release.original))


@given(
    st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from("abcd")), min_size=1, max_size=20),
    st.integers(1, 5),
)
@settings(deadline=None, max_examples=150)
def test_frequency_diversity_agrees_with_its_definition(rows: list[tuple[str, str]], l: int) -> None:  # noqa: E741
    classes = [[ill for code, ill in rows if code == group] for group in {code for code, _ in rows}]
    lines = Lines(("code", "ill"), rows)
    verdict = verified(Case(lines, lines, SCHEMA, [Claim("frequency-l-diversity", {"l": l}, "ill")]))
    name = "frequency-l-diversity (ill)"
    (check,) = (check for check in verdict.checks if check.name == name)
    assert check.passed == all(naive_transparent.keeps_frequency(values, l) for values in classes)
    if check.passed:
        most = verdict.facts["reached"][name]
        assert all(naive_transparent.keeps_frequency(values, most) for values in classes)
        assert not all(naive_transparent.keeps_frequency(values, most + 1) for values in classes)


@pytest.mark.parametrize("parameters", [{}, {"l": 0}, {"l": "2"}, {"l": True}, {"l": 2, "k": 2}, {"l": 3}])
def test_frequency_diversity_is_not_forged(parameters: dict[str, Any]) -> None:
    lines = Lines(("code", "ill"), [("p", "a"), ("p", "b")])
    claim = Claim("frequency-l-diversity", parameters, "ill")
    verdict = verified(Case(lines, lines, SCHEMA, [claim]))
    assert [check.name for check in verdict.failures] == ["frequency-l-diversity (ill)"]
    assert "stopped with an error" not in verdict.failures[0].detail
