"""Texts become values exactly, or not at all."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.errors import PolicyError, TableError
from incrowd.schema import Kind
from incrowd.values import (
    number_text,
    offsets,
    read_column,
    read_date,
    read_number,
    reading_of,
    value_text,
)

SECRET = "four-and-twenty"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("-1", "-1"),
        ("+3", "3"),
        ("01", "1"),
        ("1.50", "1.5"),
        ("1.0", "1"),
        ("1.", "1"),
        (".5", "0.5"),
        ("1e3", "1000"),
        ("1E-3", "0.001"),
        ("1e+0002", "100"),
        ("-0", "0"),
        ("-0.00", "0"),
        ("0e39", "0"),
        ("9007199254740993", "9007199254740993"),
        ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
        ("9" * 40, "9" * 40),
        ("1e39", "1" + "0" * 39),
        ("1e-39", "0." + "0" * 38 + "1"),
        ("1.2345678901234567e+25", "12345678901234567000000000"),
    ],
)
def test_a_number_has_one_text(text: str, canonical: str) -> None:
    number = read_number(text)
    assert number is not None
    assert Fraction(number) == Fraction(Decimal(text))
    assert number_text(number) == canonical
    assert read_number(canonical) == number


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "nan", "NaN", "inf", "-Infinity", "sNaN", "1,000", "1 000", "1_000", " 1", "1 ", "1\n"),
        *("--1", "+-1", "1e", "e3", ".", "-", "+", "0x10", "１２", "²", "½", "1.2.3", "12a", "\x001"),
        *("1e40", "1e-40", "1e400", "1e" + "9" * 9, "1" * 41, "0." + "0" * 40, "0" * 41),
    ],
)
def test_not_a_number(text: str) -> None:
    assert read_number(text) is None
    with pytest.raises(TableError, match="1 of its 2 distinct values"):
        read_column(["5", text], Kind.NUMERIC, column="age")


@settings(deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20))
def test_equal_numbers_have_equal_texts(number: Decimal) -> None:
    forms = {f"{number:f}", f"{number:E}", f"{number:+f}", f"{number:f}0"}
    assert {Fraction(read_number(form) or 0) for form in forms} == {Fraction(number)}
    assert len({number_text(read_number(form) or 0) for form in forms}) == 1


@settings(deadline=None)
@given(st.lists(st.from_regex(r"\A-{0,2}[0-9]{0,3}[-.,_]?[0-9]{0,2}\Z"), max_size=8))
def test_many_texts_are_read_as_one_by_one(texts: list[str]) -> None:
    """The sweep for plain integers takes and refuses the same texts as the reader of one."""
    single = [read_number(text) for text in texts]
    if None in single:
        with pytest.raises(TableError, match=f"^age .* {single.count(None)} of its {len(texts)} distinct"):
            read_column(texts, Kind.NUMERIC, column="age")
    else:
        assert read_column(texts, Kind.NUMERIC, column="age") == single


@pytest.mark.parametrize("text", ["2024-01-31", "2024-02-29", "0001-01-01", "9999-12-31"])
def test_iso_dates(text: str) -> None:
    day = read_date(text)
    assert day is not None
    assert value_text(day) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "2023-02-29", "2024-1-31", "20240131", "2024-W05-3", "2024-01-31T00:00", "2024-01-31 00:00:00"),
        *(
            "2024/01/31",
            "0000-01-01",
            "10000-01-01",
            "２０２４-01-31",
            "2024-13-01",
            " 2024-01-31",
            "2024-01-31Z",
        ),
    ],
)
def test_not_an_iso_date(text: str) -> None:
    assert read_date(text) is None


@settings(deadline=None)
@given(
    st.dates(min_value=date(1000, 1, 1)),
    st.sampled_from([("dd.mm.yyyy", "%d.%m.%Y"), ("yyyymmdd", "%Y%m%d"), ("mm/dd/yyyy", "%m/%d/%Y")]),
)
def test_dates_in_other_formats(day: date, form: tuple[str, str]) -> None:
    notation, written = form
    assert read_date(day.strftime(written), notation) == day
    assert read_column([day.strftime(written)], Kind.DATE, notation, "born") == [day]
    assert read_date(datetime(2024, 1, 2, 3, 4).isoformat(" "), notation) is None


@pytest.mark.parametrize("form", ["dd.mm.yy", "yyyy", "dd.mm.", "yyyy-mm-dd hh:mm", "%d.%m.%Y", "d.m.y"])
def test_a_date_format_says_exactly_a_day(form: str) -> None:
    with pytest.raises(PolicyError, match="born has a format that is not a known notation"):
        read_column(["2024-01-31"], Kind.DATE, form, "born")


def test_iso_needs_no_format() -> None:
    assert read_column(["2024-01-31"], Kind.DATE, "", "born") == [date(2024, 1, 31)]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        ([], Kind.CATEGORICAL),
        (["0", "-1", "10"], Kind.NUMERIC),
        (["0.5", "-0.25", "1e3"], Kind.NUMERIC),
        (["01234", "90210"], Kind.CATEGORICAL),
        (["90210", "01234"], Kind.CATEGORICAL),
        (["1", "00"], Kind.CATEGORICAL),
        (["1", "-01"], Kind.CATEGORICAL),
        (["1", "?"], Kind.CATEGORICAL),
        (["1", "nan"], Kind.CATEGORICAL),
        (["NO", "no"], Kind.CATEGORICAL),
        (["2024-01-31", "1999-12-31"], Kind.DATE),
        (["2024-01-31", "2024-02-30"], Kind.CATEGORICAL),
        (["2024-01-31", "7"], Kind.CATEGORICAL),
        (["7", "2024-01-31"], Kind.CATEGORICAL),
        (["12:30:45"], Kind.CATEGORICAL),
        (["1" * 41], Kind.CATEGORICAL),
    ],
)
def test_the_kind_of_a_column(texts: list[str], kind: Kind) -> None:
    assert reading_of(texts).kind is kind
    assert reading_of(iter(texts)).kind is kind


def test_one_text_at_the_end_decides() -> None:
    assert reading_of([*map(str, range(10_000)), "x"]).kind is Kind.CATEGORICAL


@pytest.mark.parametrize("kind", [Kind.NUMERIC, Kind.DATE])
def test_errors_count_and_never_quote(kind: Kind) -> None:
    with pytest.raises(TableError) as caught:
        read_column([SECRET, "7", SECRET + "!"] if kind is Kind.NUMERIC else [SECRET], kind, column="dose")
    assert "dose" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("kind", [Kind.CATEGORICAL, Kind.ORDERED])
def test_other_kinds_are_their_texts(kind: Kind) -> None:
    assert read_column(["01", "", " x"], kind) == ["01", "", " x"]


@settings(deadline=None)
@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=3), min_size=1, max_size=9))
def test_offsets_are_exact_differences(numbers: list[Decimal]) -> None:
    values = sorted(number for number in numbers if abs(number) < 10**30)
    assert offsets(values) == [float(Fraction(value) - Fraction(values[0])) for value in values]


def test_offsets_at_the_limits() -> None:
    """Neighbours beyond 2^53 stay apart, and the largest range that can be read stays finite."""
    assert offsets([2**63, 2**63 + 1]) == [0.0, 1.0]
    wide = [read_number(text) or 0 for text in ("-" + "9" * 40, "1e-39", "9" * 40)]
    assert offsets(wide)[-1] < float("inf")
    assert offsets(wide) == sorted(offsets(wide))
    assert offsets([date(1, 1, 1), date(9999, 12, 31)]) == [0.0, float(3652058)]
    assert offsets([]) == []
    with pytest.raises(TypeError):
        offsets(["a"])


@settings(deadline=None)
@given(st.lists(st.dates(), min_size=1, max_size=9))
def test_offsets_of_dates_are_days(days: list[date]) -> None:
    days = sorted(days)
    assert [days[0] + timedelta(days=offset) for offset in offsets(days)] == days
