"""The verifier counts who may be behind which row as the definitions do."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgeries import classes as forgeries
from forgeries.nonhomogeneous import MODELS, OVERLAP_FORGERIES, WITNESSES, N, Overlapping, good, spoilt
from hypothesis import given, settings
from hypothesis import strategies as st
from support.anonymity_classes import classes, largest
from support.golden import golden
from support.overlapping_tables import AGES, JOBS, TABLE, Adjacency, Lines, Tables, tables
from support.verifier_cases import Case, assert_rejected, long_texts, verified
from twins import definitions as naive

from incrowd.graph import Graph
from incrowd.schema import Check, Claim, Column, Kind, Role, Schema, Verdict
from incrowd.verifier import CsvRows, Expected, Witness, verify
from incrowd.verifier.claims import consistency_graph, kd_tree, nonhomogeneous
from incrowd.verifier.domain import ColumnDomain

NAMES = dict(zip(MODELS, ("1k", "k1", "kk", "global_1k", "global_k1", "k_factor"), strict=True))


def verified_folder(release: Overlapping, folder: Path, hinted: bool = False) -> Verdict:
    release.write(folder / "release")
    release.write_original(folder / "original.csv")
    links = np.array(release.truth) if hinted else None
    original = CsvRows(folder / "original.csv")
    expected = Expected(release.schema, release.claims, method=forgeries.METHOD)
    return verify(folder / "release", original, expected, witness=Witness(links, release.neighbourhoods))


# Whole releases


@pytest.mark.parametrize("witness", [False, True], ids=["searched", "witnessed"])
@pytest.mark.parametrize("hinted", [False, True], ids=["found", "hinted"])
def test_a_good_release_is_accepted(tmp_path: Path, hinted: bool, witness: bool) -> None:
    release = good()
    release.say(
        *release.claims, Claim("k-anonymity", {"k": 1}), Claim("distinct-l-diversity", {"l": 1}, "ill")
    )
    release.neighbourhoods = release.neighbourhoods if witness else None
    verdict = verified_folder(release, tmp_path, hinted)
    assert verdict.passed, verdict.failures
    assert verdict.facts["reached"] == dict.fromkeys(MODELS, 3) | {
        "k-anonymity": 1,
        "distinct-l-diversity (ill)": 1,
    }
    assert all(check.detail == "reaches 3" for check in verdict.checks if check.name in MODELS)


@pytest.mark.parametrize("hinted", [False, True], ids=["found", "hinted"])
@pytest.mark.parametrize("name", OVERLAP_FORGERIES)
def test_no_forgery_is_accepted(tmp_path: Path, name: str, hinted: bool) -> None:
    caught_by, spoil = OVERLAP_FORGERIES[name]
    release = good()
    spoil(release)
    verdict = verified_folder(release, tmp_path, hinted)
    assert_rejected(verdict, caught_by, long_texts(release.original))


def test_a_draw_from_fewer_is_accepted_where_that_is_all_that_is_claimed(tmp_path: Path) -> None:
    """Without the claim of a k-factor the odds may be larger, down to no draw at all."""
    for drawn in ("1", "1/2", "1/3"):
        release = good(models=["kk-anonymity"])
        release.manifest["match_probability"] = {"drawn": drawn, "least": "1/3"}
        (tmp_path / drawn.replace("/", "-")).mkdir()
        verdict = verified_folder(release, tmp_path / drawn.replace("/", "-"))
        assert verdict.passed, verdict.failures


def test_a_partition_says_nothing_of_a_draw(tmp_path: Path) -> None:
    release = good(models=["k1-anonymity"])
    release.say(Claim("k-anonymity", {"k": 1}))
    verdict = verified_folder(release, tmp_path)
    assert verdict.failures[0].name == "manifest"
    del release.manifest["match_probability"]
    (tmp_path / "again").mkdir()
    assert verified_folder(release, tmp_path / "again").passed


def test_every_claim_is_forged() -> None:
    assert {caught_by for caught_by, _ in OVERLAP_FORGERIES.values()} >= set(MODELS)


@pytest.mark.parametrize("name", WITNESSES)
def test_a_wrong_witness_of_a_good_table_only_costs_a_search(tmp_path: Path, name: str) -> None:
    release = good()
    release.neighbourhoods = spoilt(name, release)
    verdict = verified_folder(release, tmp_path)
    assert verdict.passed, verdict.failures


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.uint8, np.uint64])
def test_a_right_witness_saves_the_search(monkeypatch: pytest.MonkeyPatch, kind: type) -> None:
    monkeypatch.setattr(
        "incrowd.verifier.claims.nonhomogeneous._largest_flow", None
    )  # so that a search would break off
    release = good(models=["k-factor"])
    assert release.neighbourhoods is not None
    case = at_hand(release)
    assert verified(replace(case, neighbourhoods=release.neighbourhoods.astype(kind))).passed
    assert (
        verified(replace(case, neighbourhoods=None)).failures[0].detail
        == "the check stopped with an error (TypeError)"
    )


def at_hand(release: Overlapping) -> Case:
    rows = Lines(release.names, release.rows)
    odds = release.manifest.get("match_probability")
    return Case(
        Lines(release.original_names, release.original),
        rows,
        release.schema,
        release.claims,
        match_probability=odds,
    )


@pytest.mark.parametrize(
    ("forgery", "said"),
    [
        ("a_row_with_one_record_less", "1 rows fit fewer than 3 records"),
        ("a_record_with_one_row_less", "1 records fit fewer than 3 rows"),
        ("records_with_rows_that_are_no_matches", "8 records match fewer than 3 rows"),
        ("rows_with_records_that_are_no_matches", "8 rows match fewer than 3 records"),
        ("a_factor_with_a_thin_row", "1 rows fit fewer than 3 records"),
        (
            "matches_without_a_factor",
            "the rows cannot be given 3 records each without some record serving more than 3",
        ),
        ("1k-anonymity one too high", "24 records fit fewer than 4 rows"),
        ("k-factor of persons", "k-factor counts rows, but here one person may have several rows"),
        ("of a column", "k-factor is about all rows, not about one column"),
        ("k is huge", f"{N} rows fit fewer than {2**70} records"),
    ],
)
def test_a_refusal_counts(forgery: str, said: str) -> None:
    release = good()
    OVERLAP_FORGERIES[forgery][1](release)
    assert verified(at_hand(release)).failures[0].detail == said


def test_a_plain_partition_keeps_all_six() -> None:
    """Classes of k rows are crowds in every sense."""
    release = forgeries.good()
    claims = [Claim(model, {"k": 4}) for model in ("k-anonymity", *MODELS)]
    undone = [[text.lstrip("'") for text in row] for row in release.rows]
    original = Lines(release.original_names, release.original)
    odds = {"drawn": "1/4"}
    verdict = verified(
        Case(original, Lines(release.names, undone), release.schema, claims, match_probability=odds)
    )
    assert verdict.passed, verdict.failures


# Against the definitions


def has_factor(adjacent: Adjacency, rows: int, k: int) -> bool:
    """Can each row be given k records so that none serves more than k rows? By trying."""

    def served(row: int, left: tuple[int, ...]) -> bool:
        if row == rows:
            return True
        fit = [i for i, near in enumerate(adjacent) if row in near and left[i]]
        choices = itertools.combinations(fit, k)
        return any(served(row + 1, tuple(x - (i in c) for i, x in enumerate(left))) for c in choices)

    return served(0, (k,) * len(adjacent))


def reached(adjacent: Adjacency, rows: int) -> dict[str, int]:
    """The largest k of each class, by trying all assignments."""
    edges = {(i, j) for i, near in enumerate(adjacent) for j in near}
    matches = naive.effective(adjacent, rows)
    one_k, k_one = fewest(edges, 0, len(adjacent)), fewest(edges, 1, rows)
    return {
        "1k-anonymity": one_k,
        "k1-anonymity": k_one,
        "kk-anonymity": min(one_k, k_one),
        "global-1k-anonymity": fewest(matches, 0, len(adjacent)),
        "global-k1-anonymity": fewest(matches, 1, rows),
        "k-factor": max(k for k in range(len(adjacent) + 1) if has_factor(adjacent, rows, k)),
    }


def fewest(edges: set[tuple[int, int]], side: int, n: int) -> int:
    return min(sum(edge[side] == i for edge in edges) for i in range(n))


def small_batches(patch: pytest.MonkeyPatch, pairs: int) -> None:
    """Everything in pieces, so that every seam is met."""
    patch.setattr(kd_tree, "LEAF", 2)
    patch.setattr(kd_tree, "PAIRS_AT_ONCE", pairs)
    patch.setattr(consistency_graph, "RUNS_AT_ONCE", pairs)
    patch.setattr(consistency_graph, "WITNESSES_AT_ONCE", pairs)


@given(tables(6), st.sampled_from([1, 3, 100]))
@settings(deadline=None, max_examples=150)
def test_every_claim_agrees_with_trying_all_assignments(drawn: Tables, pairs: int) -> None:
    """What a table reaches is accepted, and one more is not."""
    expected = reached(drawn.adjacent, drawn.published)
    with pytest.MonkeyPatch.context() as patch:
        small_batches(patch, pairs)
        for model, most in expected.items():
            assert not drawn.check(model, most + 1).passed, model
            if most:
                assert drawn.check(model, most) == Check(model, True, f"reaches {most}")


@given(tables(30, fewer=False), st.integers(1, 4), st.booleans())
@settings(deadline=None, max_examples=150)
def test_every_claim_agrees_with_the_attackers_graph(drawn: Tables, k: int, pieces: bool) -> None:
    expected = classes(Graph.of(drawn.adjacent), k)
    with pytest.MonkeyPatch.context() as patch:
        if pieces:
            small_batches(patch, 7)
        for model, name in NAMES.items():
            assert drawn.check(model, k).passed == expected[name], model


@given(tables(30, fewer=False))
@settings(deadline=None, max_examples=50)
def test_what_is_reached_agrees_with_the_attackers_graph(drawn: Tables) -> None:
    most = largest(Graph.of(drawn.adjacent))
    for model, name in NAMES.items():
        assert drawn.check(model, most[name]) == Check(model, True, f"reaches {most[name]}")
        assert not drawn.check(model, most[name] + 1).passed


@given(tables(5), st.integers(1, 3), st.data())
@settings(deadline=None, max_examples=150)
def test_no_witness_changes_the_verdict(drawn: Tables, k: int, data: st.DataObject) -> None:
    """Any list of records, right or wrong, leaves the claim as true as it is."""
    people = st.integers(0, len(drawn.adjacent) - 1)
    crowd = st.lists(people, min_size=k, max_size=k)
    size = drawn.published
    witness = data.draw(st.lists(crowd, min_size=size, max_size=size))
    expected = has_factor(drawn.adjacent, size, k)
    assert drawn.check("k-factor", k, neighbourhoods=np.array(witness)).passed == expected


def test_who_was_left_out_needs_no_crowd_but_counts_as_exposed() -> None:
    """Two rows for three equal people; the fourth person has none, and needs none to hide the others."""
    names = ("code", "ill")
    records = Lines(names, [("a", "x"), ("a", "x"), ("a", "x"), ("b", "x")])
    schema = Schema((Column("code", Role.QUASI), Column("ill", Role.SENSITIVE)))
    case = Case(records, Lines(names, [("a", "x"), ("a", "x")]), schema, [], suppressed=2)
    found = Tables(case, [[0, 1], [0, 1], [0, 1], []])
    for model, most in zip(MODELS, (0, 3, 0, 0, 3, 3), strict=True):
        assert not found.check(model, most + 1).passed
        assert found.check(model, max(most, 1)).passed == (most > 0)
    witness = np.array([[0, 1, 2], [0, 1, 2]])
    assert found.check("k-factor", 3, neighbourhoods=witness).passed
    assert not found.check("k-factor", 4, neighbourhoods=np.array([[0, 1, 2, 3]] * 2)).passed


# What parts of the table a cell meets and covers


@given(
    st.sampled_from(["30", "[20,40]", "missing", "{missing|[30,40]}", "{missing|50}", "*"]),
    st.integers(0, 4),
    st.integers(0, 4),
)
@settings(deadline=None)
def test_ranges_meet_and_cover(cell: str, one: int, other: int) -> None:
    check_cell(ColumnDomain(TABLE.column("age"), AGES, TABLE.missing), cell, one, other)


@given(
    st.sampled_from(["a", "{a|c|e}", "{b|c|d}", "missing", "{a|missing}", "{b|d|missing}", "*"]),
    st.integers(0, 5),
    st.integers(0, 5),
)
@settings(deadline=None)
def test_sets_meet_and_cover(cell: str, one: int, other: int) -> None:
    check_cell(ColumnDomain(TABLE.column("job"), [*JOBS, ""], TABLE.missing), cell, one, other)


def check_cell(domain: ColumnDomain, cell: str, one: int, other: int) -> None:
    """As holding rank by rank says; among other cells, so that numbers of cells matter."""
    low, high = min(one, other), max(one, other)
    ranks = np.arange(low, high + 1)
    indexed = domain.regions(["*", cell, "missing"])
    for regions in (indexed, replace(indexed, bitmap=None)):
        held = regions.hold(np.ones_like(ranks), ranks)
        assert held.tolist() == indexed.hold(np.ones_like(ranks), ranks).tolist()
        at, first, last = np.array([1]), np.array([low]), np.array([high])
        assert regions.meet(at, first, last).tolist() == [held.any()]
        assert regions.contain(at, first, last).tolist() == [held.all()]


def test_parts_hold_their_records() -> None:
    rng = np.random.default_rng(3)
    ranks = [rng.integers(0, 9, 1000), rng.integers(0, 50, 1000)]
    parts = kd_tree.cut(ranks, [1.0, 0.2])
    assert sorted(parts.order.tolist()) == list(range(1000))
    for part in range(1000, parts.above.size):
        inside = parts.order[parts.start[part] : parts.stop[part]]
        for column, low, high in zip(ranks, parts.low, parts.high, strict=True):
            assert column[inside].min() == low[part - 1000]
            assert column[inside].max() == high[part - 1000]
        around = parts.above[part]
        assert parts.start[around] <= parts.start[part] < parts.stop[part] <= parts.stop[around]
    assert (np.diff(np.unique(parts.stop[parts.above[:1000]])) <= kd_tree.LEAF).all()


# Too much to look at is no proof


@pytest.mark.parametrize(
    ("room", "limit", "model"),
    [
        (kd_tree, "MOST_RUNS", "kk-anonymity"),
        (consistency_graph, "MOST_EDGES", "k-factor"),
        (nonhomogeneous, "MOST_FLOW", "k-factor"),
    ],
)
def test_what_is_too_large_is_refused(
    monkeypatch: pytest.MonkeyPatch, room: Any, limit: str, model: str
) -> None:
    monkeypatch.setattr(room, limit, 10)
    release = good(models=[model])
    failed = verified(at_hand(release)).failures[0]
    assert (failed.name, "too" in failed.detail) == (model, True)


def test_a_wide_table_has_no_square() -> None:
    """Twenty thousand rows that say nothing: 4·10^8 edges, of which none is listed."""
    n = 20_000
    names = ("age", "ill")
    schema = Schema((Column("age", Role.QUASI, Kind.NUMERIC), Column("ill", Role.SENSITIVE)))
    rows = [("*" if i % 2 else "[0,19999]", str(i)) for i in range(n)]
    case = Case(Lines(names, [(str(i), str(i)) for i in range(n)]), Lines(names, rows), schema, [])
    found = Tables(case, [])
    for model in MODELS[:5]:
        assert found.check(model, n) == Check(model, True, f"reaches {n}")


# The papers' graphs


def kept(adjacent: Adjacency, k: int) -> dict[str, bool]:
    """Which claims the verifier confirms of a graph of records and the rows that hold them."""
    n = len(adjacent)
    holds = [[i for i in range(n) if j in adjacent[i]] for j in range(n)]
    return confirmed(at_hand(good(holds, k=k)))


def confirmed(case: Case) -> dict[str, bool]:
    checks = {check.name: check.passed for check in verified(case).checks}
    return {NAMES[model]: checks[model] for model in MODELS}


def ranges(records: Sequence[Sequence[int]], rows: Sequence[Sequence[Sequence[int]]], k: int) -> Case:
    names = [f"q{j}" for j in range(len(records[0]))]
    texts = [[str(c[0]) if c[0] == c[-1] else f"[{c[0]},{c[-1]}]" for c in row] for row in rows]
    schema = Schema(tuple(Column(name, Role.QUASI, Kind.NUMERIC) for name in names))
    claims = [Claim(model, {"k": k}) for model in MODELS]
    return Case(Lines(names, [list(map(str, r)) for r in records]), Lines(names, texts), schema, claims)


@pytest.mark.quick
def test_the_four_tables() -> None:
    given_, expected = golden("revisited", "prop45")
    for name, rows in given_["tables"].items():
        found = confirmed(ranges(given_["D"], rows, given_["k"]))
        assert found == {model: expected[name]["classes"][model] for model in NAMES.values()}


@pytest.mark.quick
def test_neighbours_that_are_no_matches() -> None:
    given_, expected = golden("nonhomogeneous_graphs", "table4")
    found = confirmed(ranges([[t] for t in given_["T"]], [[ends] for ends in given_["ranges"]], 2))
    assert found["kk"] is expected["two_two_anonymous"]
    assert found["global_1k"] is expected["global_1_2_anonymous"]


@pytest.mark.quick
def test_one_k_reveals_most_records() -> None:
    given_, expected = golden("revisited_limits", "one_k_insecure")
    n, k = given_["n"], given_["k"]
    rows = [[[i]] if i < n - k else [[0, n - 1]] for i in range(n)]
    found = confirmed(ranges([[i] for i in range(n)], rows, k))
    assert found == {model: expected["classes"][model] for model in NAMES.values()}


@pytest.mark.quick
def test_a_row_may_have_fewer_records_than_records_have_rows() -> None:
    given_, _ = golden("revisited_limits", "global_not_k1")
    found = kept(given_["adj_0based"], given_["k"])
    assert [name for name, holds in found.items() if holds] == ["1k", "global_1k"]


@pytest.mark.quick
def test_three_matches_each_and_yet_no_factor() -> None:
    given_, expected = golden("revisited_limits", "global_equal_probability")
    found = kept(given_["adj_0based"], given_["k"])
    assert found["global_1k"]
    assert found["global_k1"]
    assert found["k_factor"] is expected["has_3_factor"]
    given_, expected = golden("nonhomogeneous_graphs", "figure4")
    lists = given_["edges_1based_i_to_j (t_i in t'_j, incl. self-loops)"]
    adjacent = [[j - 1 for j in lists[str(i)]] for i in range(1, 10)]
    most = expected["max_k_factor"]
    assert kept(adjacent, most)["k_factor"]
    assert [name for name, holds in kept(adjacent, most + 1).items() if not holds] == ["k_factor"]
