"""The verifier on frequent values: in classes, and where rows are drawn inside parts."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgeries.classes import METHOD, set_of
from forgeries.nonhomogeneous import WITNESSES, K, N, code, ring
from forgeries.randomized_diversity import DRAWN, DRAWN_FORGERIES, Diverse, L, diverse, labels, rings
from hypothesis import given, settings
from hypothesis import strategies as st
from support.catalogued import catalogued
from support.golden import golden
from support.overlapping_tables import Lines
from support.verifier_cases import Case, assert_rejected, long_texts, verified
from twins import randomized_diversity as naive_drawn

from incrowd.commands.measure import measure
from incrowd.commands.verify import verify as verify_release
from incrowd.errors import InputError
from incrowd.flow import Table
from incrowd.release.audit import LINKS, schema_as_dict
from incrowd.release.folder import ReleaseFolder
from incrowd.schema import Check, Claim, Column, Kind, Role, Schema, Verdict
from incrowd.verifier import CsvRows, Expected, Witness, verify

SCHEMA = Schema((Column("code", Role.QUASI), Column("ill", Role.SENSITIVE)))


def verified_folder(release: Diverse, folder: Path, hinted: bool = False) -> Verdict:
    release.write(folder / "release")
    release.write_original(folder / "original.csv")
    links = np.array(release.truth) if hinted else None
    return verify(
        folder / "release",
        CsvRows(folder / "original.csv"),
        Expected(release.schema, release.claims, method=METHOD),
        witness=Witness(links, release.neighbourhoods, release.parts),
    )


# Whole releases


@pytest.mark.parametrize("witness", [False, True], ids=["searched", "witnessed"])
@pytest.mark.parametrize("hinted", [False, True], ids=["found", "hinted"])
def test_a_good_release_is_accepted(tmp_path: Path, hinted: bool, witness: bool) -> None:
    release = diverse()
    release.neighbourhoods = release.neighbourhoods if witness else None
    verdict = verified_folder(release, tmp_path, hinted)
    assert verdict.passed, verdict.failures
    assert verdict.facts["reached"] == {"k-factor": K, DRAWN: L}
    assert DRAWN in verdict.required


@pytest.mark.parametrize("hinted", [False, True], ids=["found", "hinted"])
@pytest.mark.parametrize("name", DRAWN_FORGERIES)
def test_no_forgery_is_accepted(tmp_path: Path, name: str, hinted: bool) -> None:
    caught_by, spoil = DRAWN_FORGERIES[name]
    release = diverse()
    spoil(release)
    verdict = verified_folder(release, tmp_path, hinted)
    assert_rejected(verdict, caught_by, long_texts(release.original))


def at_hand(release: Diverse, **changes: Any) -> Case:
    case = Case(
        Lines(release.original_names, release.original),
        Lines(release.names, release.rows),
        release.schema,
        release.claims,
        neighbourhoods=release.neighbourhoods,
        parts=release.parts,
        match_probability=release.manifest.get("match_probability"),
    )
    return replace(case, **changes)


@pytest.mark.parametrize(
    ("forgery", "said"),
    [
        ("parts with nothing", "to verify it, the parts that the audit folder keeps are needed"),
        ("parts with a row less", "the given parts are not one whole number for each row"),
        ("one_value_too_often", "in one part 2 rows have the same value, but at most k/l = 3/3 may"),
        ("parts with one cut below k", "4 rows fit fewer than 3 records of their part"),
        ("two_rows_that_reach_across_parts", "2 rows fit fewer than 3 records of their part"),
        (
            "a_factor_that_needs_two_parts",
            "the rows cannot be given 3 records of their part each without some record serving more than 3",
        ),
        ("of persons", "drawn-l-diversity counts rows, but here one person may have several rows"),
    ],
)
def test_a_refusal_says_why(forgery: str, said: str) -> None:
    release = diverse()
    DRAWN_FORGERIES[forgery][1](release)
    assert verified(at_hand(release)).failures[0].detail == said


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(labels() * 2**40, id="with-gaps"),
        pytest.param(labels().astype(np.uint8), id="small"),
        pytest.param(labels().astype(np.uint64) + np.uint64(2**63), id="large"),
        pytest.param(-labels(), id="negative"),
        pytest.param(np.random.default_rng(3).permutation(6)[labels()], id="renumbered"),
    ],
)
def test_only_what_parts_tell_apart_matters(parts: Any) -> None:
    release = diverse()
    assert verified(at_hand(release, parts=parts[release.truth])).passed


@pytest.mark.parametrize("name", WITNESSES)
def test_a_wrong_witness_of_a_good_table_only_costs_a_search(name: str) -> None:
    release = diverse()
    witness = WITNESSES[name](rings())
    neighbourhoods = witness[release.truth] if witness.shape[:1] == (N,) else witness
    assert verified(at_hand(release, neighbourhoods=neighbourhoods)).passed


def test_a_right_witness_saves_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "incrowd.verifier.claims.nonhomogeneous._largest_flow", None
    )  # so that a search would break off
    release = diverse()
    assert verified(at_hand(release)).passed
    checks = verified(at_hand(release, neighbourhoods=None)).checks
    assert Check(DRAWN, False, "the check stopped with an error (TypeError)") in checks


def test_a_witness_that_leaves_its_part_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide rows hold more than their part. A ring over all of them proves a k-factor, but no diverse draw."""
    release = diverse(holds=[list(range(N))] * N)
    release.witness(ring(N, K))
    assert verified(at_hand(release, match_probability={"drawn": "1/3", "least": f"1/{N}"})).passed
    monkeypatch.setattr("incrowd.verifier.claims.nonhomogeneous._largest_flow", None)
    found = {check.name: check for check in verified(at_hand(release)).checks}
    assert found["k-factor"].passed
    assert not found[DRAWN].passed


def test_half_of_an_odd_k_is_rounded_down() -> None:
    """Of three rows, two with one value are more than one in two."""
    release = diverse(l=2)
    assert verified(at_hand(release)).facts["reached"][DRAWN] == 3
    release.give(1, release.value(0))
    assert [check.name for check in verified(at_hand(release)).failures] == [DRAWN]


def test_texts_of_one_value_are_one_value() -> None:
    """1 and 1.0 are one number, however they are written."""
    names = ("code", "pay")
    schema = Schema((Column("code", Role.QUASI), replace(SCHEMA.columns[1], name="pay", kind=Kind.NUMERIC)))
    claims = [Claim("drawn-l-diversity", {"l": 2, "k": 2}, "pay")]
    odds = {"drawn": "1/2", "least": "1/2"}
    for pay, kept in (("2", True), ("1.0", False)):
        lines = [("a", "1"), ("a", pay)]
        case = Case(
            Lines(names, lines),
            Lines(names, lines),
            schema,
            claims,
            match_probability=odds,
            parts=np.zeros(2, int),
        )
        assert verified(case).passed is kept


# Against the definition


def case_of(holds: naive_drawn.Holds, values: list[str], parts: Any, claim: Claim) -> Case:
    """Row i is about record i; nothing says that the order was drawn, and there are too few rows to see."""
    n = len(values)
    names = ("code", "ill")
    original = Lines(names, [(code(i), values[i]) for i in range(n)])
    cells = [set_of({code(i) for i in holds[row]}) for row in range(n)]
    rows = Lines(names, list(zip(cells, values, strict=True)))
    return Case(original, rows, SCHEMA, [claim], links=np.arange(n), parts=parts)


def confirms(case: Case) -> bool:
    (check,) = (check for check in verified(case).checks if check.name == DRAWN)
    assert "stopped with an error" not in check.detail
    return check.passed


@st.composite
def small_draws(draw: st.DrawFn) -> tuple[list[list[int]], list[str], list[int]]:
    """Rows over themselves and some others, mostly of their own part; values; parts."""
    n = draw(st.integers(1, 7))
    parts = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    values = draw(st.lists(st.sampled_from("abcde"), min_size=n, max_size=n))
    holds = []
    for i in range(n):
        near = [x for x in range(n) if parts[x] == parts[i]]
        within = draw(st.sets(st.sampled_from(near)) | st.just(set(near)))
        holds.append(sorted({i} | within | draw(st.sets(st.integers(0, n - 1), max_size=2))))
    return holds, values, parts


@given(small_draws(), st.integers(1, 3), st.integers(1, 4))
@settings(deadline=None, max_examples=250)
def test_the_claim_agrees_with_its_definition(drawn: Any, l: int, k: int) -> None:  # noqa: E741
    holds, values, parts = drawn
    claim = Claim("drawn-l-diversity", {"l": l, "k": k}, "ill")
    expected = naive_drawn.drawn_keeps(holds, values, parts, l, k)
    assert confirms(case_of(holds, values, np.array(parts), claim)) == expected


@given(small_draws(), st.integers(1, 3), st.data())
@settings(deadline=None, max_examples=100)
def test_no_witness_changes_the_verdict(drawn: Any, k: int, data: st.DataObject) -> None:
    holds, values, parts = drawn
    n = len(values)
    crowd = st.lists(st.integers(0, n - 1), min_size=k, max_size=k)
    witness = data.draw(st.lists(crowd, min_size=n, max_size=n))
    case = case_of(holds, values, np.array(parts), Claim("drawn-l-diversity", {"l": 1, "k": k}, "ill"))
    expected = naive_drawn.drawn_keeps(holds, values, parts, 1, k)
    assert confirms(replace(case, neighbourhoods=np.array(witness))) == expected


def test_who_was_left_out_is_in_no_part() -> None:
    """Three records, two rows: the third may serve neither, though both hold it."""
    names = ("code", "ill")
    original = Lines(names, [("a", "x"), ("a", "y"), ("a", "z")])
    rows = Lines(names, [("a", "x"), ("a", "y")])
    for k, kept in ((2, True), (3, False)):
        claim = Claim("drawn-l-diversity", {"l": 2, "k": k}, "ill")
        case = Case(original, rows, SCHEMA, [claim], suppressed=1, parts=np.zeros(2, int))
        assert confirms(case) is kept
        assert confirms(replace(case, neighbourhoods=np.array([[0, 1, 2]] * 2))) is kept


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
    assert check.passed == all(naive_drawn.keeps_frequency(values, l) for values in classes)
    if check.passed:
        most = verdict.facts["reached"][name]
        assert all(naive_drawn.keeps_frequency(values, most) for values in classes)
        assert not all(naive_drawn.keeps_frequency(values, most + 1) for values in classes)


@pytest.mark.parametrize("parameters", [{}, {"l": 0}, {"l": "2"}, {"l": True}, {"l": 2, "k": 2}, {"l": 3}])
def test_frequency_diversity_is_not_forged(parameters: dict[str, Any]) -> None:
    lines = Lines(("code", "ill"), [("p", "a"), ("p", "b")])
    claim = Claim("frequency-l-diversity", parameters, "ill")
    verdict = verified(Case(lines, lines, SCHEMA, [claim]))
    assert [check.name for check in verdict.failures] == ["frequency-l-diversity (ill)"]
    assert "stopped with an error" not in verdict.failures[0].detail


# The paper's examples


@pytest.mark.quick
def test_the_papers_ring_is_rejected_and_its_halves_are_accepted() -> None:
    given_, expected = golden("nonhomogeneous_diversity", "ldiv_ring_claim")
    values, l = given_["order"], given_["l"]  # noqa: E741
    holds = ring(6, l)
    every = list(naive_drawn.assignments(holds))
    most = [naive_drawn.most_of_a_value(holds, values, a) for a in every]
    assert len(every) == expected["assignments"]
    assert sum(count > 1 for count in most) == expected["assignments_breaking_3_diversity"]
    worst = expected["witness"]["P_most_likely"]
    assert Fraction(max(most), l) == Fraction(worst["num"], worst["den"])

    claim = Claim("drawn-l-diversity", {"l": l, "k": l}, "ill")
    assert not confirms(case_of(holds, values, np.zeros(6, int), claim))
    assert not confirms(case_of(holds, values, np.repeat([0, 1], 3), claim))  # the ring leaves the halves
    halves = rings([3, 3], l)
    assert confirms(case_of(halves, values, np.repeat([0, 1], 3), claim))
    for assignment in naive_drawn.assignments(halves):
        assert naive_drawn.most_of_a_value(halves, values, assignment) == 1


@pytest.mark.quick
def test_a_ring_of_two_values_is_safe_and_rejected_all_the_same() -> None:
    """With l=2 there are two assignments, and none breaks; parts ask for more than is needed here."""
    given_, expected = golden("nonhomogeneous_diversity", "ldiv_ring_l2")
    values, holds = given_["order"], ring(4, 2)
    every = list(naive_drawn.assignments(holds))
    breaking = [a for a in every if naive_drawn.most_of_a_value(holds, values, a) > 1]
    assert (len(every), len(breaking)) == (expected["assignments"], expected["breaking"])

    claim = Claim("drawn-l-diversity", {"l": 2, "k": 2}, "ill")
    assert not confirms(case_of(holds, values, np.zeros(4, int), claim))
    assert confirms(case_of(rings([2, 2], 2), values, np.repeat([0, 1], 2), claim))
    whole = Claim("drawn-l-diversity", {"l": 2, "k": 4}, "ill")
    assert confirms(case_of([[0, 1, 2, 3]] * 4, values, np.zeros(4, int), whole))


# What the audit says of parts


def written(release: Diverse, folder: Path) -> tuple[Path, Path]:
    """A release with its audit, and the original."""
    catalogued(release, "ring")
    release.write(folder / "release")
    release.write_original(folder / "original.csv")
    audit = folder / "release.audit"
    audit.mkdir()
    (audit / "schema.json").write_text(json.dumps(schema_as_dict(release.schema)), encoding="utf-8")
    links = {"record_of_each_row": release.truth, "part_of_each_row": release.parts.tolist()}
    (audit / LINKS).write_text(json.dumps(links), encoding="utf-8")
    return folder / "release", folder / "original.csv"


def test_a_written_release_is_verified_with_the_parts_of_its_audit(tmp_path: Path) -> None:
    release = diverse()
    folder, original = written(release, tmp_path)
    assert verify_release(folder, original, None).passed
    (tmp_path / "release.audit" / LINKS).unlink()
    assert [check.name for check in verify_release(folder, original, None).failures] == [DRAWN]


def test_a_release_says_its_k_once_or_twice_the_same(tmp_path: Path) -> None:
    release = diverse()
    assert measure(*written(release, tmp_path), None)["k"] == K
    release.manifest["claims"][-1]["parameters"]["k"] = K - 1
    (tmp_path / "odd").mkdir()
    with pytest.raises(InputError, match="for which k"):
        measure(*written(release, tmp_path / "odd"), None)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([0, 0, 1], [0, 0, 1]),
        ([7, 0, 7], [7, 0, 7]),
        ([0, 0], None),
        ([0, 0, -1], None),
        ([0, 0, 1.5], None),
        ([0, 0, 2**70], None),
        ([True, False, True], None),
        (["0", "0", "1"], None),
        ([[0], [0], [1]], None),
        ([[0], [0, 1], 1], None),
        ([None, 0, 1], None),
        ({"0": 1}, None),
        ("001", None),
        (None, None),
    ],
)
def test_parts_in_the_audit_are_taken_with_caution(said: Any, expected: Any, tmp_path: Path) -> None:
    content = {"record_of_each_row": [2, 0, 1], "part_of_each_row": said}
    folder = audited(tmp_path, json.dumps(content).encode())
    found = folder.parts
    assert (found if found is None else found.tolist()) == expected
    assert folder.links is not None
    assert folder.links.tolist() == [2, 0, 1]


def audited(place: Path, links: bytes | None = None) -> ReleaseFolder:
    """A release of three records whose audit says this about its rows."""
    folder = ReleaseFolder(place / "out", Table.of({"age": ["1", "2", "3"]}))
    if links is not None:
        folder.audit.mkdir(exist_ok=True)
        (folder.audit / LINKS).write_bytes(links)
    return folder


@pytest.mark.parametrize("content", ["", "[]", "{}", "7", '{"part_of_each_row": ', "[" * 100_000, "\udcff"])
def test_a_damaged_audit_has_no_parts(content: str, tmp_path: Path) -> None:
    assert audited(tmp_path).parts is None
    folder = audited(tmp_path, content.encode("utf-8", "surrogateescape"))
    assert folder.parts is None
    assert folder.links is None
