"""Hierarchies built from one line of a policy, against plain arithmetic."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.errors import HierarchyError, IncrowdError, PolicyError
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.builders import build_levels, complete, grow
from incrowd.schema import Kind

SECRET = "four-and-twenty"


def levels(
    spec: dict[str, object], values: list[str], kind: Kind = Kind.CATEGORICAL
) -> dict[str, tuple[str, ...]]:
    """Labels above each leaf, after a check that the rows are those of a tree."""
    rows = build_levels(spec, values, kind, column="col")
    assert Hierarchy.from_rows(rows).rows == rows
    assert all(row[-1] == "*" for row in rows)
    return {row[0]: row[1:-1] for row in rows}


def test_prefix() -> None:
    assert levels({"prefix": [5, 4, 2]}, ["90210", "90123", "01234"]) == {
        "01234": ("01234", "0123_", "01___"),
        "90123": ("90123", "9012_", "90___"),
        "90210": ("90210", "9021_", "90___"),
    }


def test_prefix_of_values_of_different_length() -> None:
    """One prefix is one label, whatever follows; a value with nothing to hide keeps its name."""
    assert levels({"prefix": [4, 2]}, ["12", "1234", "12345", "123456"]) == {
        "12": ("12", "12"),
        "1234": ("1234", "12____"),
        "12345": ("1234__", "12____"),
        "123456": ("1234__", "12____"),
    }


def test_mask() -> None:
    assert levels({"mask": [1, 3]}, ["1234", "1299", "7"]) == {
        "1234": ("123_", "1___"),
        "1299": ("129_", "1___"),
        "7": ("_", "_"),  # nothing is left of it, but it is not everything
    }


@settings(deadline=None)
@given(st.lists(st.text("01*", max_size=6), min_size=1, unique=True), st.sets(st.integers(1, 7), min_size=1))
def test_any_prefixes_and_masks_nest(values: list[str], lengths: set[int]) -> None:
    for spec in ({"prefix": sorted(lengths, reverse=True)}, {"mask": sorted(lengths)}):
        rows = build_levels(spec, values, Kind.CATEGORICAL, column="col")
        assert sorted(row[0] for row in rows) == sorted(values)
        assert len(rows[0]) == len(lengths) + 2


def naive_interval(
    value: Fraction, width: Fraction, origin: Fraction, grid: Fraction
) -> tuple[Fraction, Fraction]:
    low = origin + (value - origin) // width * width
    return low, low + width - grid


def edges(label: str) -> tuple[Fraction, Fraction]:
    low, high = (
        label.split(" to ") if " to " in label else label.split("-") if "-" in label[1:] else (label, label)
    )
    return Fraction(low), Fraction(high)


@settings(deadline=None)
@given(
    st.lists(st.integers(-3000, 3000), min_size=1, max_size=20),
    st.sampled_from([0, 1, 2]),
    st.integers(1, 40),
    st.lists(st.integers(2, 4), max_size=2),
    st.integers(-50, 50),
)
def test_intervals_are_floor_arithmetic(
    numbers: list[int], places: int, width: int, factors: list[int], origin: int
) -> None:
    widths = [width]
    for factor in factors:
        widths.append(widths[-1] * factor)
    values = {Fraction(number, 10**places) for number in numbers}
    texts = [f"{number / 10**places:.{places}f}" for number in numbers]
    rows = build_levels(
        {"intervals": widths, "origin": origin}, [*dict.fromkeys(texts)], Kind.NUMERIC, column="x"
    )
    finest = max((len(str(row[0]).partition(".")[2]) for row in rows), default=0)
    grid = Fraction(1, 10**finest)
    assert [Fraction(row[0]) for row in rows] == sorted(values)
    for row in rows:
        for label, size in zip(row[1:], widths, strict=False):
            assert edges(label) == naive_interval(Fraction(row[0]), Fraction(size), Fraction(origin), grid)
    assert Hierarchy.from_rows(rows).leaves == tuple(row[0] for row in rows)


def test_interval_labels() -> None:
    assert levels({"intervals": [5, 10]}, ["24", "25", "29", "30", "-6", "-5", "0"], Kind.NUMERIC) == {
        "-6": ("-10 to -6", "-10 to -1"),
        "-5": ("-5 to -1", "-10 to -1"),
        "0": ("0-4", "0-9"),
        "24": ("20-24", "20-29"),
        "25": ("25-29", "20-29"),
        "29": ("25-29", "20-29"),
        "30": ("30-34", "30-39"),
    }
    assert levels({"intervals": [5]}, ["24.9", "25", "20"], Kind.NUMERIC) == {
        "20": ("20.0-24.9",),
        "24.9": ("20.0-24.9",),
        "25": ("25.0-29.9",),
    }
    assert levels({"intervals": ["0.5", 1]}, ["1", "1.5"], Kind.NUMERIC) == {
        "1": ("1.0-1.4", "1.0-1.9"),
        "1.5": ("1.5-1.9", "1.0-1.9"),
    }
    assert levels({"intervals": [1, 2]}, ["3"], Kind.NUMERIC) == {"3": ("3", "2-3")}


def test_numbers_are_read_before_they_are_grouped() -> None:
    rows = build_levels({"intervals": [5]}, ["10", "9.0", "09", "1e1"], Kind.NUMERIC, column="x")
    assert [row[0] for row in rows] == ["9", "10"]


def test_long_numbers_keep_every_digit() -> None:
    value = str(2**63 + 1)
    assert levels({"intervals": [2]}, [value], Kind.NUMERIC)[value] == (f"{2**63}-{2**63 + 1}",)


def test_cuts() -> None:
    spec: dict[str, object] = {"cuts": [[0, 18, 65, 120], [0, 65, 120]]}
    assert levels(spec, ["0", "17", "18", "64", "65", "120"], Kind.NUMERIC) == {
        "0": ("0-17", "0-64"),
        "17": ("0-17", "0-64"),
        "18": ("18-64", "0-64"),
        "64": ("18-64", "0-64"),
        "65": ("65-120", "65-120"),
        "120": ("65-120", "65-120"),
    }
    with pytest.raises(HierarchyError, match="2 distinct values of col lie outside"):
        levels(spec, ["-1", "50", "121"], Kind.NUMERIC)


@settings(deadline=None)
@given(st.lists(st.dates(), min_size=1, unique=True))
def test_dates_are_those_of_the_calendar(days: list[date]) -> None:
    spans = ["day", "month", "quarter", "year", "decade"]
    built = levels({"dates": spans}, [day.isoformat() for day in days], Kind.DATE)
    for day in days:
        year = str(day.year).zfill(4)
        quarter = "_111222333444"[day.month]
        assert built[day.isoformat()] == (
            day.isoformat(),
            f"{year}-{day.month:02}",
            f"{year}-Q{quarter}",
            year,
            str(day.year - day.year % 10).zfill(4) + "s",
        )
    assert list(built) == sorted(day.isoformat() for day in days)


def test_dates_in_another_format() -> None:
    rows = build_levels(
        {"dates": ["month", "year"]}, ["31.12.2023", "1.1.2024"], Kind.DATE, "dd.mm.yyyy", "born"
    )
    assert rows == (("2023-12-31", "2023-12", "2023", "*"), ("2024-01-01", "2024-01", "2024", "*"))
    assert grow(rows, Kind.DATE, "dd.mm.yyyy").rows == rows
    assert grow([("1.1.2024", "*"), ("31.12.2023", "*")], Kind.DATE, "dd.mm.yyyy").leaves == (
        "2023-12-31",
        "2024-01-01",
    )
    with pytest.raises(HierarchyError, match="one day in ISO form and another"):
        grow([("2024-01-02", "*")], Kind.DATE, "yyyy-dd-mm", "born")


def test_ordered() -> None:
    spec: dict[str, object] = {"ordered": ["none", "low", "mid", "high", "max"], "groups": [2, 4]}
    assert levels(spec, ["mid", "none"]) == {
        "none": ("none..low", "none..high"),
        "low": ("none..low", "none..high"),
        "mid": ("mid..high", "none..high"),
        "high": ("mid..high", "none..high"),
        "max": ("max", "max"),
    }
    with pytest.raises(HierarchyError, match="col lacks 1 of the column's 2 distinct values"):
        levels(spec, ["mid", SECRET])


def test_flat() -> None:
    assert levels({"flat": True}, ["b", "a"]) == {"a": (), "b": ()}


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ({}, Kind.CATEGORICAL),
        ({"flat": False}, Kind.CATEGORICAL),
        ({"flat": True, "prefix": [1]}, Kind.CATEGORICAL),
        ({"flat": True, "origin": 1}, Kind.CATEGORICAL),
        ({"origin": 1}, Kind.NUMERIC),
        ({"prefx": [1]}, Kind.CATEGORICAL),
        ({"prefix": []}, Kind.CATEGORICAL),
        ({"prefix": 3}, Kind.CATEGORICAL),
        ({"prefix": [2, 3]}, Kind.CATEGORICAL),
        ({"prefix": [2, 0]}, Kind.CATEGORICAL),
        ({"prefix": [True]}, Kind.CATEGORICAL),
        ({"prefix": ["2"]}, Kind.CATEGORICAL),
        ({"prefix": [1]}, Kind.NUMERIC),
        ({"mask": [2, 1]}, Kind.CATEGORICAL),
        ({"intervals": [5]}, Kind.CATEGORICAL),
        ({"intervals": [5, 12]}, Kind.NUMERIC),
        ({"intervals": [5, 5]}, Kind.NUMERIC),
        ({"intervals": [0]}, Kind.NUMERIC),
        ({"intervals": [-5]}, Kind.NUMERIC),
        ({"intervals": ["many"]}, Kind.NUMERIC),
        ({"intervals": [float("inf")]}, Kind.NUMERIC),
        ({"intervals": [5], "origin": "x"}, Kind.NUMERIC),
        ({"intervals": [5], "groups": [2]}, Kind.NUMERIC),
        ({"cuts": [[0, 9], [0, 5, 9]]}, Kind.NUMERIC),
        ({"cuts": [[0, 5, 9], [0, 5]]}, Kind.NUMERIC),
        ({"cuts": [[0]]}, Kind.NUMERIC),
        ({"cuts": [0, 9]}, Kind.NUMERIC),
        ({"cuts": [[9, 0]]}, Kind.NUMERIC),
        ({"dates": ["year", "month"]}, Kind.DATE),
        ({"dates": ["week"]}, Kind.DATE),
        ({"dates": ["year"]}, Kind.NUMERIC),
        ({"ordered": ["1"]}, Kind.NUMERIC),
        ({"ordered": ["1", None], "groups": [2]}, Kind.CATEGORICAL),
        ({"ordered": ["1"], "groups": [2, 3]}, Kind.CATEGORICAL),
    ],
    ids=str,
)
def test_a_builder_that_makes_no_sense_is_refused(spec: dict[str, object], kind: Kind) -> None:
    values = ["2024-01-01"] if kind is Kind.DATE else ["1"]
    with pytest.raises(PolicyError, match="the hierarchy of col"):
        build_levels(spec, values, kind, column="col")


def test_a_column_without_values_has_no_hierarchy() -> None:
    with pytest.raises(HierarchyError, match="col has no values"):
        build_levels({"flat": True}, [], Kind.CATEGORICAL, column="col")


def test_complete_counts_and_never_quotes() -> None:
    complete([("a", "*"), ("b", "*")], ["a", "b"], "col")
    complete([("1", "*")], ["01", "1.0"], "col", Kind.NUMERIC)
    with pytest.raises(HierarchyError, match=r"col lacks 2 of the column's 3 .* 1 leaves") as caught:
        complete([("a", "*")], ["a", SECRET, SECRET + "!"], "col")
    assert SECRET not in str(caught.value)


def test_leaves_follow_the_numbers() -> None:
    """Leaves that are no numbers, such as a word for missing, come last."""
    tree = grow([("?", "Unknown", "*"), ("10", "A", "*"), ("9", "A", "*")], Kind.NUMERIC)
    assert tree.leaves == ("9", "10", "?")
    with pytest.raises(HierarchyError, match="names a leaf twice"):
        grow([("1", "*"), ("01", "*")], Kind.NUMERIC, column="col")


@pytest.mark.parametrize("spec", [{"intervals": [5]}, {"cuts": [[0, 5]]}])
def test_values_that_cannot_be_read_are_counted(spec: dict[str, object]) -> None:
    with pytest.raises(IncrowdError, match="1 of its 2") as caught:
        build_levels(spec, ["1", SECRET], Kind.NUMERIC, column="col")
    assert SECRET not in str(caught.value)


def test_ages_are_top_coded() -> None:
    """The open interval is one label at every level, and holds all that begins at top or later."""
    spec: dict[str, object] = {"intervals": [5, 10, 20], "top": 90}
    assert levels(spec, ["3", "79", "85", "90", "103"], Kind.NUMERIC) == {
        "3": ("0-4", "0-9", "0-19"),
        "79": ("75-79", "70-79", "60-79"),
        "85": ("85-89", "80-89", "80+"),
        "90": ("90+", "90+", "80+"),
        "103": ("90+", "90+", "80+"),
    }
    with pytest.raises(PolicyError, match="an interval must begin at top"):
        levels({"intervals": [5], "top": 92}, ["3"], Kind.NUMERIC)


def test_significant_digits() -> None:
    assert levels({"digits": [2, 1, 0]}, ["0", "7", "-12345", "12345", "12999"], Kind.NUMERIC) == {
        "-12345": ("-12999 to -12000", "-19999 to -10000", "-99999 to -10000"),
        "0": ("0", "0", "0"),
        "7": ("7", "7", "1-9"),
        "12345": ("12000-12999", "10000-19999", "10000-99999"),
        "12999": ("12000-12999", "10000-19999", "10000-99999"),
    }
    assert levels({"digits": [2]}, ["0.123", "4.5"], Kind.NUMERIC) == {
        "0.123": ("0.120-0.129",),
        "4.5": ("4.500-4.599",),
    }


@settings(deadline=None)
@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=20), st.integers(1, 4))
def test_significant_digits_keep_the_front_of_a_number(numbers: list[int], count: int) -> None:
    for leaf, (label,) in levels({"digits": [count]}, [*map(str, {*numbers})], Kind.NUMERIC).items():
        low, high = edges(label)
        assert low <= int(leaf) <= high
        fronts = {str(abs(int(end)))[:count].ljust(count, "0") for end in (low, high)}
        assert len(fronts) == 1
        assert len(str(abs(int(low)))) == len(str(abs(int(high)))) == len(leaf.lstrip("-"))


def test_spans_of_years() -> None:
    spec: dict[str, object] = {"dates": ["year", "5 years", "10 years"]}
    assert levels(spec, ["1985-02-03", "1989-12-31", "2001-01-01"], Kind.DATE) == {
        "1985-02-03": ("1985", "1985-1989", "1980-1989"),
        "1989-12-31": ("1989", "1985-1989", "1980-1989"),
        "2001-01-01": ("2001", "2000-2004", "2000-2009"),
    }


@pytest.mark.parametrize(
    "spans",
    [["5 years", "year"], ["5 years", "8 years"], ["0 years"], ["5 Years"], ["10 years", "decade"], [5]],
)
def test_spans_of_years_that_do_not_nest(spans: list[object]) -> None:
    with pytest.raises(PolicyError, match="dates"):
        levels({"dates": spans}, ["2001-01-01"], Kind.DATE)


def test_british_postcodes() -> None:
    assert levels({"postcodes": ["outward", "area"]}, ["SW1A 1AA", "sw1a2ab", "M1 1AE", "B33"]) == {
        "B33": ("B33", "B"),
        "M1 1AE": ("M1", "M"),
        "SW1A 1AA": ("SW1A", "SW"),
        "sw1a2ab": ("SW1A", "SW"),
    }
    with pytest.raises(HierarchyError, match="1 of the 2 distinct values of col are no British postcodes"):
        levels({"postcodes": ["area"]}, ["SW1A 1AA", SECRET])
    with pytest.raises(PolicyError, match="some of outward, area, in this order"):
        levels({"postcodes": ["area", "outward"]}, ["SW1A 1AA"])


def test_diagnoses() -> None:
    assert levels({"icd10": ["category", "chapter"]}, ["E11.9", "C7A.0", "D48", "D50.1", "Z00"]) == {
        "C7A.0": ("C7A", "C00-D49"),
        "D48": ("D48", "C00-D49"),
        "D50.1": ("D50", "D50-D89"),
        "E11.9": ("E11", "E00-E90"),
        "Z00": ("Z00", "Z00-Z99"),
    }


def test_rare_values() -> None:
    rows = build_levels({"rare": 3}, ["a", "b", "c"], Kind.CATEGORICAL, holders={"a": 3, "b": 2, "c": 1})
    assert rows == (("a", "a", "*"), ("b", "Other", "*"), ("c", "Other", "*"))
    named = build_levels({"rare": 2}, ["Other", "x"], Kind.CATEGORICAL, holders={"Other": 5, "x": 1})
    assert {row[1] for row in named} == {"Other (level 1)"}  # a value of that name is one of the others


@pytest.mark.parametrize("least", [1, 0, True, "10", [10]])
def test_rare_needs_a_number_of_persons(least: object) -> None:
    with pytest.raises(PolicyError, match="rare"):
        build_levels({"rare": least}, ["a"], Kind.CATEGORICAL, column="col", holders={"a": 3})
