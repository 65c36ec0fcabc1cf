"""Where the verifier decides: just enough is accepted, a hair less is refused, and in words of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from forgeries.classes import METHOD, good
from support.verifier_cases import Case, verified

from incrowd.schema import MANIFEST, Claim, Column, Kind, Role, Schema, Shape, Verdict
from incrowd.verifier import CsvRows, Expected, verify
from incrowd.verifier.claims import classes, plain_neighbours
from incrowd.verifier.claims import closeness as closeness_claims
from incrowd.verifier.claims.join_presence import even_presence
from incrowd.verifier.claims.plain_distance import corner_values, quasi_axis, sensitive_axis
from incrowd.verifier.columns import CodedColumn
from incrowd.verifier.domain import ColumnDomain
from incrowd.verifier.failure import CheckFailed, exactly
from incrowd.verifier.means import ClassSums, check_means


@dataclass
class Lines:
    names: Sequence[str]
    rows: Sequence[Sequence[str | None]]

    def __iter__(self) -> Any:
        return iter(self.rows)


def failure(verdict: Verdict) -> tuple[str, str]:
    return verdict.failures[0].name, verdict.failures[0].detail


def of_values(rows: Sequence[tuple[str, str]], column: Column, claim: Claim, missing: str = "") -> Verdict:
    schema = Schema((Column("group", Role.QUASI), column), missing=frozenset([missing]))
    table = Lines(("group", column.name), rows)
    return verified(Case(table, table, schema, [claim]))


# Claims


@pytest.mark.parametrize("counts", [[3, 1], [2, 2, 1], [5, 1, 1], [7, 3, 2, 1]], ids=str)
@pytest.mark.parametrize("hair", [-1, 1], ids=["less", "more"])
def test_many_digits_decide_entropy_as_whole_numbers_do(
    monkeypatch: pytest.MonkeyPatch, counts: list[int], hair: int
) -> None:
    """n^n >= l^n ∏ c^c; l is taken a hair beside the largest that is reached."""
    n, taken = sum(counts), np.prod([count**count for count in counts], dtype=object)
    reached = Fraction(n) / Fraction(float(taken) ** (1 / n))
    limit = reached.limit_denominator(10**6) + Fraction(hair, 1000)
    enough = Fraction(n) ** n >= limit**n * int(taken)
    assert enough == (hair < 0)
    assert classes._enough_entropy(counts, limit) == enough
    monkeypatch.setattr(classes, "MOST_EXACT", 0)
    assert classes._enough_entropy(counts, limit) == enough


def test_a_tie_is_enough_entropy_up_to_the_largest_class_that_whole_numbers_decide(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(classes, "MOST_EXACT", 3)
    assert classes._enough_entropy([2, 2, 2], Fraction(3))
    assert not classes._enough_entropy([2, 2, 2], Fraction(3) + Fraction(1, 10**30))


def test_what_logarithms_leave_open_is_decided_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too little entropy by just as much as logarithms leave open, and not a hair more."""
    rows, limit = [("U", text) for text in "aaab"], "1.76"
    entropy = np.log(4.0) - (3 * np.log(3.0) + 1 * np.log(1.0)) / 4.0
    monkeypatch.setattr(classes, "CLOSE", float(math.log(Fraction(limit)) - entropy))
    claim = Claim("entropy-l-diversity", {"l": limit}, "ill")
    assert failure(of_values(rows, Column("ill", Role.SENSITIVE), claim))[0] == "entropy-l-diversity (ill)"


@pytest.mark.parametrize("k", [1, 2, 3])
def test_one_in_k_rows_is_the_most_that_a_person_may_have(k: int) -> None:
    """Two persons share a class of four rows: with two each k is 2, with three and one it is 1."""
    schema = Schema((Column("age", Role.QUASI), Column("who", Role.ENTITY)))
    claims = [Claim("k-anonymity", {"k": k})]
    for persons, reached in (("aabb", 2), ("aaab", 1), ("aaabbb", 2)):
        original = Lines(("age", "who"), [("x", person) for person in persons])
        verdict = verified(Case(original, Lines(("age",), [("x",)] * len(persons)), schema, claims))
        assert verdict.passed == (k <= reached), verdict.failures


def test_a_distance_that_nobody_knows_is_refused() -> None:
    claim = Claim("t-closeness", {"t": "1", "distance": "chebyshev"}, "ill")
    verdict = of_values([("U", "a"), ("U", "b")], Column("ill", Role.SENSITIVE), claim)
    assert failure(verdict) == (
        "t-closeness (ill, chebyshev)",
        "the verifier does not know this distance",
    )


def closeness(t: str, distance: str) -> Claim:
    return Claim("t-closeness", {"t": t, "distance": distance}, "ill")


HALVES = [("U", ""), ("U", ""), ("V", "a"), ("V", "b")]
HANGING: dict[str, tuple[tuple[tuple[str, ...], ...], list[tuple[str, str]], str, str]] = {
    "one top": ((("a", "p"), ("b", "p")), HALVES, "0.5", "0.499"),
    "two tops": ((("a", "p"), ("b", "q")), HALVES, "0.5", "0.499"),
    "no tops": ((("a",), ("b",)), HALVES, "0.5", "0.499"),
    "one leaf": ((("a", "p"),), [("U", ""), ("V", "a")], "0.5", "0.499"),
    "one leaf and no top": ((("a",),), [("U", ""), ("V", "a")], "0.5", "0.499"),
    # V has 1/3 too many a: 1/6 goes to b at half the height, 1/6 to missing over the top
    "two levels": (
        (("a", "p", "r"), ("b", "p", "r")),
        [("U", ""), ("U", "a"), ("U", "b"), ("V", "a"), ("V", "a"), ("V", "a")],
        "0.25",
        "0.249",
    ),
}


@pytest.mark.parametrize("name", HANGING)
def test_missing_that_is_no_leaf_hangs_from_the_root(name: str) -> None:
    levels, rows, enough, less = HANGING[name]
    column = Column("ill", Role.SENSITIVE, levels=levels)
    assert of_values(rows, column, closeness(enough, "hierarchical")).passed
    assert not of_values(rows, column, closeness(less, "hierarchical")).passed


def test_a_column_that_is_all_missing_is_close() -> None:
    column = Column("ill", Role.SENSITIVE, levels=(("a", "p"), ("b", "p")))
    assert of_values([("U", ""), ("V", "")], column, closeness("0", "hierarchical")).passed


@pytest.mark.parametrize(
    ("column", "distance", "words"),
    [
        (Column("ill", Role.SENSITIVE), "ordered", "the values of the column have no order"),
        (Column("ill", Role.SENSITIVE), "hierarchical", "the column has no hierarchy"),
        (
            Column("ill", Role.SENSITIVE, levels=(("a", "p"),)),
            "hierarchical",
            "a value of the column is not in its hierarchy",
        ),
    ],
    ids=["no order", "no hierarchy", "no leaf"],
)
def test_a_distance_needs_what_it_is_measured_over(column: Column, distance: str, words: str) -> None:
    verdict = of_values([("U", "a"), ("U", "b")], column, closeness("1", distance))
    assert failure(verdict) == (f"t-closeness (ill, {distance})", words)


@pytest.mark.parametrize(
    "rows", [["U1b", "U1b", "U2a", "U3a", "V4a", "V5b"], ["U1a", "U1a", "U1a", "U2b", "V3a", "V4b"]]
)
def test_closeness_is_counted_in_rows_and_in_votes(rows: list[str]) -> None:
    """By one count both classes have a and b equally often, by the other they have not."""
    schema = Schema((Column("age", Role.QUASI), Column("who", Role.ENTITY), Column("ill", Role.SENSITIVE)))
    original = Lines(("age", "who", "ill"), [tuple(row) for row in rows])
    published = Lines(("age", "ill"), [(row[0], row[2]) for row in rows])
    for t, kept in (("1", True), ("0", False)):
        assert verified(Case(original, published, schema, [closeness(t, "equal")])).passed == kept


@pytest.mark.parametrize("cells", [1, 6])
def test_classes_are_close_however_many_are_looked_at_at_once(
    monkeypatch: pytest.MonkeyPatch, cells: int
) -> None:
    column = Column("ill", Role.SENSITIVE, levels=(("a", "p"), ("b", "p"), ("c", "q")))
    rows = [(text[0], ill) for text in ("Taab", "Uabc", "Vbcc", "Wccc") for ill in text[1:]]
    whole = of_values(rows, column, closeness("1", "hierarchical")).facts["reached"]
    monkeypatch.setattr(closeness_claims, "CELLS_AT_ONCE", cells)
    assert of_values(rows, column, closeness("1", "hierarchical")).facts["reached"] == whole


def test_of_shares_that_floats_cannot_tell_apart_the_largest_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closeness_claims, "CLOSE", 1.0)
    assert closeness_claims.farthest(([1, 2, 0], [3, 3, 3])) == Fraction(2, 3)


def test_presence_needs_rows_that_state_it() -> None:
    claim = Claim("even-presence", {"k": 2, "most": "1", "certain": "no"})
    subject: Any = SimpleNamespace(tables=SimpleNamespace(counts=None))
    with pytest.raises(CheckFailed, match="do not say how many people"):
        even_presence(claim, subject)


def test_a_claim_about_all_rows_names_no_column() -> None:
    claim = Claim("k-anonymity", {"k": 1}, "ill")
    verdict = of_values([("U", "a")], Column("ill", Role.SENSITIVE), claim)
    assert failure(verdict) == (
        "k-anonymity (ill)",
        "k-anonymity is about all rows, not about one column",
    )


@pytest.mark.parametrize(
    "rows", [["1b", "1b", "2a", "3a"], ["1a", "1a", "1a", "2b"]], ids=["in votes", "in rows"]
)
def test_frequency_is_counted_in_rows_and_in_votes(rows: list[str]) -> None:
    """Somebody's rows share one vote: either count alone would see two values equally often."""
    schema = Schema((Column("age", Role.QUASI), Column("who", Role.ENTITY), Column("ill", Role.SENSITIVE)))
    original = Lines(("age", "who", "ill"), [("x", row[0], row[1]) for row in rows])
    published = Lines(("age", "ill"), [("x", row[1]) for row in rows])
    for l, kept in ((1, True), (2, False)):  # noqa: E741
        claim = Claim("frequency-l-diversity", {"l": l}, "ill")
        assert verified(Case(original, published, schema, [claim])).passed == kept


def test_what_is_reached_is_that_of_the_worst_class() -> None:
    column = Column("ill", Role.SENSITIVE)
    rows = [("U", text) for text in "abcde"] + [("V", text) for text in "aaab"]
    entropy = Claim("entropy-l-diversity", {"l": "1.5"}, "ill")
    recursive = Claim("recursive-l-diversity", {"c": "4", "l": 2}, "ill")
    skewed = math.exp(math.log(4) - 3 * math.log(3) / 4)
    for some, claim, reached in (
        (rows, entropy, f"{math.floor(skewed * 1e4) / 1e4:.4f}"),
        (rows[:5], entropy, "5.0000"),
        (rows, recursive, "3.0000"),
        (rows[:5], recursive, "0.2500"),
    ):
        verdict = of_values(some, column, claim)
        assert verdict.passed
        assert list(verdict.facts["reached"].values()) == [reached]


@pytest.mark.parametrize("text", ["1/2", "-1", " 1", "1_0", "", "nan", 0.5, 1, None], ids=repr)
def test_a_decimal_is_written_in_digits(text: Any) -> None:
    with pytest.raises(CheckFailed, match="p is not a decimal number"):
        exactly(text, "p")


@pytest.mark.parametrize("share", [Fraction(-1, 10), Fraction(11, 10)], ids=str)
def test_no_more_than_everybody_may_be_left_out(share: Fraction) -> None:
    table = Lines(("age",), [("x",)])
    schema, claims = Schema((Column("age", Role.QUASI),)), [Claim("k-anonymity", {"k": 1})]
    words = "the share of rows that may be suppressed is not between 0 and 1"
    verdict = verified(Case(table, table, schema, claims, max_suppression=share))
    assert failure(verdict) == ("rows", words)


# Means


def means(own: Sequence[str], shown: str, small_too: bool = False) -> None:
    """One class of these values shows this mean."""
    row_class = np.zeros(len(own), np.int64)
    values = CodedColumn(np.arange(len(own), dtype=np.int32), own)
    column = CodedColumn(np.zeros(len(own), np.int32), [shown])
    sums = ClassSums.of(row_class, values, Column("age", Role.QUASI, Kind.NUMERIC), frozenset([""]))
    check_means("age", row_class, column, sums, small_too)


def test_a_mean_needs_five_values_not_five_rows() -> None:
    means(["1", "2", "3", "4", "5", ""], "3.0")
    means(["1", "2", "3", "4", "", ""], "")
    with pytest.raises(CheckFailed, match="fewer than 5 values shows its mean"):
        means(["1", "2", "3", "4", "", ""], "2.5")
    with pytest.raises(CheckFailed, match="with enough values does not show"):
        means(["1", "2", "3", "4", "5"], "")


def test_where_few_are_accepted_one_value_has_a_mean_and_none_has_not() -> None:
    means(["7", ""], "7.0", small_too=True)
    with pytest.raises(CheckFailed, match="a class without values shows a mean"):
        means(["", ""], "0.0", small_too=True)


# Plain classes


def test_a_value_without_a_place_names_its_column() -> None:
    column, found = Column("pay", Role.SENSITIVE, Kind.NUMERIC), CodedColumn(np.zeros(1, np.int32), ["x"])
    with pytest.raises(CheckFailed, match="column pay: a text is not a number"):
        sensitive_axis(column, found, found, frozenset(), Fraction(1))


def test_corners_where_leaves_are_not_in_the_order_of_their_numbers() -> None:
    """Under p lie 9, 1 and 5: the corners are 1 and 9, not the first and the last leaf."""
    levels = (("9", "p"), ("1", "p"), ("5", "p"), ("2", "q"), ("30", "q"), ("7", "q"))
    column = Column("age", Role.QUASI, Kind.NUMERIC, Shape.TREE, levels=levels)
    texts = [row[0] for row in levels]
    domain = ColumnDomain(column, texts, frozenset())
    axis = quasi_axis(domain, np.arange(6, dtype=np.int32), Fraction(1))
    cells = ["p", "q", "*", "5"]
    found = corner_values(domain, axis, domain.regions(cells), cells)
    places = [[axis.places[value] for value in values] for values in found]
    assert places == [[1, 9], [2, 30], [1, 30], [5]]


def test_halves_are_all_pairs_and_each_names_its_own_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_neighbours, "PAIRS_AT_ONCE", 3)
    who, sure = np.arange(10, 17), np.arange(7)
    point = np.array([0, 0, 1, 2, 2, 2, 2, 3, 4, 4, 5, 5, 6, 6])
    part = np.arange(100, 114)
    pieces = list(plain_neighbours._halves(who, sure, point, part))
    pairs = [pair for w, _, p, t in pieces for pair in zip(w[p].tolist(), t.tolist(), strict=True)]
    assert pairs == list(zip(who[point].tolist(), part.tolist(), strict=True))
    assert np.concatenate([piece[0] for piece in pieces]).tolist() == who.tolist()
    assert np.concatenate([piece[1] for piece in pieces]).tolist() == sure.tolist()
    assert max(piece[0].size for piece in pieces) < 4
    assert all(piece[2].size <= 3 or piece[0].size == 1 for piece in pieces)


# Reading


def test_a_name_may_have_a_line_feed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('"a\nb","c\n\nd",e\n1,2,3\n')
    rows = CsvRows(tmp_path / "t.csv")
    assert list(rows.names) == ["a\nb", "c\n\nd", "e"]
    assert list(rows) == [["1", "2", "3"]]


def test_a_value_of_the_original_that_cannot_be_read_names_its_column() -> None:
    schema = Schema((Column("age", Role.QUASI, Kind.NUMERIC, Shape.RANGE),))
    original, published = Lines(("age",), [("x",), ("3",)]), Lines(("age",), [("3",), ("3",)])
    verdict = verified(Case(original, published, schema, [Claim("k-anonymity", {"k": 1})]))
    assert failure(verdict) == ("cells", "column age of the original table: a text is not a number")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1, 2]", "the manifest is not a JSON object"),
        ('{"version": NaN}', "the manifest holds something that is not a number"),
        ('{"version": -Infinity}', "the manifest holds something that is not a number"),
        ("{", "the manifest is not JSON"),
    ],
    ids=["a list", "nan", "infinite", "broken"],
)
def test_a_manifest_that_is_none(tmp_path: Path, text: str, words: str) -> None:
    release = good()
    release.write(tmp_path / "release")
    release.write_original(tmp_path / "original.csv")
    (tmp_path / "release" / MANIFEST).write_text(text)
    expected = Expected(release.schema, release.claims, method=METHOD)
    verdict = verify(tmp_path / "release", CsvRows(tmp_path / "original.csv"), expected)
    assert failure(verdict) == ("files", words)
