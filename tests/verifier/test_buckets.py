"""The verifier of sensitive values that stand apart from the rows accepts what is right and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgeries.buckets import BUCKET_FORGERIES, CLAIMS, HEADER, Bucketed, N, good, groups_of_four, numbered
from hypothesis import given, settings
from hypothesis import strategies as st
from support.verifier_cases import Case, assert_rejected, verified
from verifier.test_verifier import Lines, verified_folder

from incrowd.schema import Claim, Column, Kind, Role, Schema, Verdict
from incrowd.verifier.claims.buckets import _deviations, check_group_numbers
from incrowd.verifier.failure import CheckFailed

HINTED = pytest.mark.parametrize("hinted", [False, True], ids=["found", "hinted"])


@HINTED
def test_a_good_release_is_accepted(tmp_path: Path, hinted: bool) -> None:
    verdict = verified_folder(good(), tmp_path, hinted)
    assert verdict.passed, verdict.failures
    assert verdict.facts["groups"] == 24
    assert verdict.facts["smallest_group"] == 4
    assert verdict.facts["smallest_class"] == 1
    assert verdict.facts["reached"] == {
        "sensitive-groups": 4,
        "frequency-l-diversity (ill)": 4,
        "distinct-l-diversity (ill)": 4,
        "distinct-l-diversity (cost)": 2,
    }


@HINTED
@pytest.mark.parametrize("name", BUCKET_FORGERIES)
def test_no_forgery_is_accepted(tmp_path: Path, name: str, hinted: bool) -> None:
    caught_by, spoil = BUCKET_FORGERIES[name]
    release = good()
    private = {text for row in release.original for text in row if len(text) > 2 and text.isalpha()}
    spoil(release)
    verdict = verified_folder(release, tmp_path, hinted)
    assert_rejected(verdict, caught_by, private)


def test_every_check_and_claim_is_forged() -> None:
    caught = {check for check, _ in BUCKET_FORGERIES.values()}
    assert caught >= {"files", "manifest", "schema", "rows", "truth", "sensitive", "order"}
    assert caught >= {"sensitive-groups", "frequency-l-diversity (ill)"}


def twins() -> Bucketed:
    """Two people with the same quasi-identifiers, in different groups and with different values."""
    release = good()
    release.original[1][1] = release.original[0][1]
    groups = groups_of_four()
    release.publish(groups, numbered(groups))
    for column in release.manifest["columns"]:
        if column["name"] == "age":
            column["domain"] = {"low": "20", "high": "69"}
    return release


def exchanged(release: Bucketed) -> Bucketed:
    """The verifier cannot know better if the twins are behind each other's rows."""
    one, other = release.truth.index(0), release.truth.index(1)
    release.truth[one], release.truth[other] = 1, 0
    return release


def test_links_decide_where_several_records_fit_a_row(tmp_path: Path) -> None:
    (tmp_path / "linked").mkdir()
    assert verified_folder(twins(), tmp_path / "linked", hinted=True).passed
    (tmp_path / "mistaken").mkdir()
    mistaken = verified_folder(exchanged(twins()), tmp_path / "mistaken", hinted=True)
    assert mistaken.failures[0].name == "sensitive"
    verdicts = set()
    for turn in range(8):  # the order of rows decides which of the two the verifier takes
        release = twins()
        release.truth = list(np.random.default_rng(turn).permutation(N))
        release.publish(groups_of_four(), numbered(groups_of_four()))
        (tmp_path / str(turn)).mkdir()
        verdict = verified_folder(release, tmp_path / str(turn))
        verdicts.add(verdict.passed)
        if not verdict.passed:
            assert verdict.failures[0].name == "sensitive"
            assert (
                "without the links in the audit folder this cannot be decided" in verdict.failures[0].detail
            )
    assert verdicts == {True, False}


# At hand, against plain counting


SMALL = Schema((Column("age", Role.QUASI, Kind.NUMERIC), Column("ill", Role.SENSITIVE)))
TABLE = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=14)


def case_of(groups: list[int], ills: list[int], lines: list[list[str]], claims: Any) -> Case:
    people = [[str(i), str(ill)] for i, ill in enumerate(ills)]
    rows = [[str(i), str(group + 1)] for i, group in enumerate(groups)]
    return Case(
        Lines(["age", "ill"], people),
        Lines(["age", "group"], rows),
        SMALL,
        claims,
        sensitive=Lines(["group", "ill", "count"], lines),
    )


@settings(max_examples=200, deadline=None)
@given(TABLE, st.integers(1, 4), st.integers(1, 4))
def test_claims_are_counted_as_the_definitions_say(table: list[tuple[int, int]], k: int, l: int) -> None:  # noqa: E741
    names = sorted({group for group, _ in table})
    groups, ills = [names.index(group) for group, _ in table], [ill for _, ill in table]
    counted = Counter(zip(groups, ills, strict=True))
    lines: Any = [[str(g + 1), str(ill), str(c)] for (g, ill), c in sorted(counted.items())]
    claims = [Claim("sensitive-groups", {"k": k}), Claim("frequency-l-diversity", {"l": l}, "ill")]
    verdict = verified(case_of(groups, ills, lines, claims))
    failed = {check.name for check in verdict.failures}
    sizes = Counter(groups)
    often = max(Fraction(c, sizes[g]) for (g, _), c in counted.items())
    assert ("sensitive-groups" in failed) == (min(sizes.values()) < k)
    assert ("frequency-l-diversity (ill)" in failed) == (often * l > 1)
    assert failed <= {"sensitive-groups", "frequency-l-diversity (ill)"}


@settings(max_examples=200, deadline=None)
@given(TABLE, st.data())
def test_any_change_of_a_line_is_noticed(table: list[tuple[int, int]], data: st.DataObject) -> None:
    """All ages differ, so that there is one truth; every table of lines but that one is refused."""
    names = sorted({group for group, _ in table})
    groups, ills = [names.index(group) for group, _ in table], [ill for _, ill in table]
    counted = Counter(zip(groups, ills, strict=True))
    right: Any = [[str(g + 1), str(ill), str(c)] for (g, ill), c in sorted(counted.items())]
    lines: Any = [list(line) for line in right]
    for _ in range(data.draw(st.integers(1, 3))):
        line = data.draw(st.sampled_from(lines))
        place = data.draw(st.integers(0, 2))
        line[place] = data.draw(st.sampled_from(["1", "2", "3", "0", "4", "x", "", None]))
    verdict = verified(case_of(groups, ills, lines, CLAIMS[:1]))
    found = next(check for check in verdict.checks if check.name == "sensitive")
    assert found.passed == (lines == right)
    assert "stopped with an error" not in found.detail


def verified_at_hand(change: Any) -> Verdict:
    table = [["1", "0", "1"], ["1", "1", "1"]]
    case = case_of([0, 0], [0, 1], table, [Claim("sensitive-groups", {"k": 2})])
    return verified(change(case))


def test_a_table_and_a_claim_go_together() -> None:
    assert verified_at_hand(lambda case: case).passed
    without = verified_at_hand(lambda case: replace(case, sensitive=None))
    assert (without.failures[0].name, without.failures[0].detail) == (
        "sensitive",
        "the table of sensitive values is not there",
    )
    unsaid = verified_at_hand(lambda case: replace(case, claims=[Claim("k-anonymity", {"k": 1})]))
    assert unsaid.failures[0].name == "schema"


def test_a_column_called_group_cannot_be_told_from_the_groups() -> None:
    schema = Schema((Column("group", Role.QUASI, Kind.NUMERIC), Column("ill", Role.SENSITIVE)))
    people, rows = Lines(["group", "ill"], [["1", "0"]] * 2), Lines(["group", "group"], [["1", "1"]] * 2)
    case = Case(people, rows, schema, CLAIMS[:1], sensitive=Lines(HEADER, []))
    assert verified(case).failures[0].name == "schema"


def test_places_by_chance_are_no_order(rng: np.random.Generator) -> None:
    """The deviations are those of a standard normal variable, and far from seven."""
    found = []
    for _ in range(400):
        n = int(rng.integers(20, 300))
        group = np.unique(rng.integers(0, n // 4, n), return_inverse=True)[1]
        score = rng.integers(0, 5, n).astype(float) ** 3
        found.append(_deviations(group, score))
    assert max(found) < 5
    assert 0.8 < float(np.mean(np.square(found))) < 1.25


def test_equal_rows_of_a_group_have_no_order() -> None:
    """Who of them is where cannot be seen, whatever the verifier takes them for."""
    ills = [i // 30 for i in range(60)]
    counted: Any = [["1", "0", "30"], ["1", "1", "30"]]
    case = case_of([0] * 60, ills, counted, CLAIMS[:1])
    alike = replace(
        case,
        original=Lines(["age", "ill"], [["7", str(ill)] for ill in ills]),
        published=Lines(["age", "group"], [["7", "1"]] * 60),
    )
    assert verified(alike).passed


def test_numbers_by_chance_are_no_order(rng: np.random.Generator) -> None:
    for _ in range(50):
        group = rng.permutation(np.repeat(np.arange(150), 3))
        check_group_numbers(group, np.arange(group.size))
    with pytest.raises(CheckFailed, match="numbered in the order"):
        check_group_numbers(np.repeat(np.arange(150), 3), np.arange(450))
