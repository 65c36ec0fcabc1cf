"""Hierarchies that a line of the policy describes: rows that are just right, and rows that are not."""

from __future__ import annotations

from typing import Any

import pytest

from incrowd.schema import Column, Kind, Role
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.hierarchies import check_built

OTHER = "the hierarchy is not the one that the policy describes"


def built(line: dict[str, Any], *rows: tuple[str, ...], kind: Kind = Kind.CATEGORICAL, **more: Any) -> None:
    check_built(Column("zip", Role.QUASI, kind, levels=rows, built=line, **more))


@pytest.mark.parametrize(
    "row", [("ab", "a_"), ("ab", "a_", "*"), ("ab", "a_ (level 1)", "*")], ids=["no top", "top", "level"]
)
def test_rows_have_their_labels_and_perhaps_a_top(row: tuple[str, ...]) -> None:
    built({"prefix": [1]}, row)


@pytest.mark.parametrize(
    "row",
    [("ab",), ("ab", "a_", "x", "*"), ("ab", "b_", "*"), ("ab", "a_ (level 2)", "*"), ("ab", "a_ (level 0)")],
)
def test_rows_with_other_labels_are_refused(row: tuple[str, ...]) -> None:
    with pytest.raises(CheckFailed, match=OTHER):
        built({"prefix": [1]}, row)


def test_the_second_level_says_two() -> None:
    built({"prefix": [2, 1]}, ("abc", "ab_ (level 1)", "a__ (level 2)"))
    with pytest.raises(CheckFailed, match=OTHER):
        built({"prefix": [2, 1]}, ("abc", "ab_", "a__ (level 1)"))


@pytest.mark.parametrize(
    ("kind", "given", "rows"),
    [
        (Kind.CATEGORICAL, ["1.0", "2", "3"], [("1.0", "1.0..2"), ("2", "1.0..2"), ("3", "3")]),
        (Kind.NUMERIC, ["1.0", "2", "3"], [("1", "1..2"), ("2", "1..2"), ("3", "3")]),
        (Kind.ORDERED, ["s", "m", "l"], [("s", "s..m"), ("m", "s..m"), ("l", "l")]),
    ],
)
def test_groups_of_an_order(kind: Kind, given: list[str], rows: list[tuple[str, ...]]) -> None:
    order: dict[str, Any] = {"order": tuple(given)} if kind is Kind.ORDERED else {}
    built({"ordered": given, "groups": [2]}, *rows, kind=kind, **order)
    with pytest.raises(CheckFailed, match=OTHER):
        built({"ordered": given, "groups": [3]}, *rows, kind=kind, **order)


def test_nobody_counts_where_nobody_may() -> None:
    column = Column("zip", Role.QUASI, levels=(("a", "a"), ("b", "Other")), built={"rare": 2})
    check_built(column, {"a": 2, "b": 1})
    with pytest.raises(CheckFailed, match=OTHER):
        check_built(column, {"a": 1, "b": 1})
    with pytest.raises(CheckFailed, match="nobody may count"):
        check_built(column)
    with pytest.raises(CheckFailed, match="nobody knows how"):
        built({"guess": 1}, ("a", "b"))
    with pytest.raises(CheckFailed, match="nobody knows how"):
        built({"prefix": [1], "mask": [1]}, ("a", "b"))


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ({"mask": [1, 2]}, ("abc", "ab_", "a__")),
        ({"intervals": [10]}, ("7", "0-9")),
        ({"intervals": [10], "origin": 5}, ("7", "5-14")),
        ({"intervals": [10], "top": 20}, ("19", "10-19")),
        ({"intervals": [10], "top": 20}, ("20", "20+")),
        ({"intervals": [10], "top": 20}, ("99", "20+")),
        ({"intervals": [1]}, ("7", "7")),
        ({"intervals": [10]}, ("-7", "-10 to -1")),
        ({"intervals": ["0.5"]}, ("0.7", "0.5-0.9")),
        ({"digits": [1]}, ("123", "100-199")),
        ({"digits": [0]}, ("123", "100-999")),
        ({"digits": [3]}, ("123", "123")),
        ({"digits": [4]}, ("123", "123")),
        ({"digits": [1]}, ("-123", "-199 to -100")),
        ({"digits": [1]}, ("0", "0")),
        ({"cuts": [[0, 5, 9]]}, ("4", "0-4")),
        ({"cuts": [[0, 5, 9]]}, ("5", "5-9")),
        ({"cuts": [[0, 5, 9]]}, ("9", "5-9")),
        ({"dates": ["day", "month", "quarter"]}, ("2024-03-31", "2024-03-31", "2024-03", "2024-Q1")),
        ({"dates": ["quarter", "year", "decade"]}, ("2024-04-01", "2024-Q2", "2024", "2020s")),
        ({"dates": ["5 years", "1 years"]}, ("2024-04-01", "2020-2024", "2024")),
        ({"postcodes": ["outward", "area"]}, ("sw1a 1aa", "SW1A", "SW")),
        ({"postcodes": ["outward", "area"]}, ("M1 1AE", "M1", "M")),
        ({"postcodes": ["area"]}, ("B33", "B")),
        ({"icd10": ["category", "chapter"]}, ("e11.9", "E11", "E00-E90")),
        ({"icd10": ["chapter"]}, ("A00", "A00-B99")),
        ({"icd10": ["chapter"]}, ("H60", "H60-H95")),
        ({"icd10": ["chapter"]}, ("H59", "H00-H59")),
        ({"flat": True}, ("a", "*")),
    ],
)
def test_labels_are_worked_out_again(line: dict[str, Any], row: tuple[str, ...]) -> None:
    name = next(iter(line))
    kind = Kind.NUMERIC if name in ("intervals", "digits", "cuts") else Kind.CATEGORICAL
    kind = Kind.DATE if name == "dates" else kind
    built(line, row, kind=kind)
    if name != "flat":
        with pytest.raises(CheckFailed, match=OTHER):
            built(line, (*row[:-1], row[-1] + "x"), kind=kind)


@pytest.mark.parametrize("text", ["1A 1AA", "SWW1 1AA", "", "SW 1AA", "A1 1A"])
def test_what_is_no_postcode(text: str) -> None:
    with pytest.raises(CheckFailed, match="no British postcode"):
        built({"postcodes": ["area"]}, (text, "x"))


@pytest.mark.parametrize("text", ["11A", "A", "AA1", "A1", "A-1"])
def test_what_is_no_code_of_a_disease(text: str) -> None:
    with pytest.raises(CheckFailed, match="no code of ICD-10"):
        built({"icd10": ["category"]}, (text, "x"))


def test_digits_of_small_numbers() -> None:
    built({"digits": [0]}, ("1", "1-9"), ("-1", "-9 to -1"), ("0", "0"), kind=Kind.NUMERIC)
    built({"digits": [0]}, ("0.5", "0.1-0.9"), ("-0.5", "-0.9 to -0.1"), kind=Kind.NUMERIC)
    with pytest.raises(CheckFailed, match=OTHER):
        built({"digits": [0]}, ("1", "-9 to -1"), kind=Kind.NUMERIC)


def test_a_cut_may_hold_one_number() -> None:
    cuts = {"cuts": [["0", "0.1", "1"]]}
    built(cuts, ("0", "0"), ("0.1", "0.1-1.0"), ("0.5", "0.1-1.0"), kind=Kind.NUMERIC)
    with pytest.raises(CheckFailed, match=OTHER):
        built(cuts, ("0", "0.0-0.0"), ("0.1", "0.1-1.0"), kind=Kind.NUMERIC)


@pytest.mark.parametrize(("years", "span"), [("1", "1991"), ("2", "1990-1991"), ("3", "1989-1991")])
def test_spans_of_years(years: str, span: str) -> None:
    built({"dates": [f"{years} years"]}, ("1991-05-06", span), kind=Kind.DATE)
    with pytest.raises(CheckFailed, match=OTHER):
        built({"dates": ["4 years"]}, ("1991-05-06", span), kind=Kind.DATE)
