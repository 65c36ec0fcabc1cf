"""The verifier reads notations by itself, and means the same by them as the publisher."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from incrowd.values.dates import DAYS, MONTHS, SHORT_YEARS, STATED_DAYS, STATED_SHORT, date_reader
from incrowd.values.numbers import BODIES, number_reader
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.notation import day_in, number_in

ALL = [
    *(form + end for form in (*DAYS, *MONTHS, *STATED_DAYS) for end in ("", " time")),
    *(form + end for form in (*SHORT_YEARS, *STATED_SHORT) for end in (" from 1930", " time from 2000")),
    *("Excel serial", "Unix seconds", "Unix milliseconds"),
]
NUMBERS = [
    *BODIES,
    *("$1,234.56", "1.234,56 EUR", "EUR 1 234,56", "1234,56%", "1'234.56 CHF", "kr.1234.56", "1 234,56 zł"),
]
CLOCKS = [" %H:%M", "T%H:%M:%S", " %I:%M:%S %p", " %H:%M:%S.%f+02:00", "T%H%M%S", "", " %H:%MZ"]
PIECES = [
    *"0123456789 .,:-/T+−'’$%",
    *("2012", "29", "01", "12", "00:00", "10:15:30", "11:59 PM", "a.m.", "Z", "+01:00", "UTC", "GMT", " "),
    *(
        "Jan",
        "January",
        "sept",
        "Sep.",
        "MAY",
        "th",
        "st",
        "1.234",
        "1,234",
        "\u00a0",
        "EUR",
        "kr.",
        "zł",
        "²",
    ),
]


def day_of(notation: str, text: str) -> date | None:
    try:
        return day_in(notation, text).date()
    except CheckFailed:
        return None


def size_of(notation: str, text: str) -> Fraction | None:
    try:
        return number_in(notation, text)
    except CheckFailed:
        return None


@st.composite
def near_dates(draw: st.DrawFn) -> tuple[str, str]:
    """A notation, and a text that is written in it but for a few changes."""
    notation = draw(st.sampled_from(ALL))
    day = draw(st.datetimes(datetime(1931, 1, 1), datetime(2028, 12, 31)))
    text = notation.partition(" from ")[0]
    clock = draw(
        st.sampled_from(
            [" %H:%M", "T%H:%M:%S", " %I:%M:%S %p", " %H:%M:%S.%f+02:00", "T%H%M%S", "", " %H:%MZ"]
        )
    )
    parts = {"yyyy": "%Y", "yy": "%y", "mm": "%m", "dd": "%d", "Mon": draw(st.sampled_from(["%b", "%B"]))}
    for part, form in parts.items():
        text = text.replace(part, day.strftime(form))
    text = text.replace(" time", day.strftime(clock))
    if draw(st.booleans()):
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.sampled_from(PIECES)) + text[place + draw(st.integers(0, 2)) :]
    return notation, text


@settings(deadline=None, max_examples=1500)
@given(near_dates())
@example(("ddMonyyyy time", "01Sept2000"))
@example(("dd Mon yyyy time", "01 Sep 2000"))
@example(("Mon yyyy time", "Sept 2000"))
@example(("Mon dd yyyy time", "January 01 2000T 00:00:00"))
@example(("Mon dd yyyy time", "Jan 01 2000T 000000"))
@example(("Mon dd yyyy time", "Jan 01 2000T"))
@example(("yyyy Mon time", "2000 August 12:30"))
@example(("yyyy Mon time", "2000 August12:30"))
@example(("yyyy Mon time", "2000 Augustt 12:30"))
def test_dates_mean_the_same_to_both(case: tuple[str, str]) -> None:
    notation, text = case
    assert day_of(notation, text) == date_reader(notation)(text)


@settings(deadline=None, max_examples=1500)
@given(st.sampled_from(ALL), st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
@example("yyyy Mon", "2029 ")
@example("Mon yyyy", ". 2029")
def test_no_text_is_two_days(notation: str, text: str) -> None:
    assert day_of(notation, text) == date_reader(notation)(text)


@settings(deadline=None, max_examples=1500)
@given(st.sampled_from(NUMBERS), st.lists(st.sampled_from(PIECES), max_size=6).map("".join), st.booleans())
def test_numbers_mean_the_same_to_both(notation: str, text: str, inside: bool) -> None:
    if inside:  # in the currency of the notation
        text = notation.replace(
            next(body for body in sorted(BODIES, key=len)[::-1] if body in notation), text
        )
    ours = number_reader(notation)(text)
    assert size_of(notation, text) == (None if ours is None else Fraction(ours))


@pytest.mark.parametrize(
    ("notation", "text", "number"),
    [
        ("1.234,56 EUR", "1.234.567,5 EUR", Fraction(12345675, 10)),
        ("1,234.56", "-12,345", Fraction(-12345)),
        ("12,34,567.89", "12,34,567", Fraction(1234567)),
        ("1234,56%", "12,5 %", Fraction(25, 2)),
        ("1 234,56", "1\u202f234,5", Fraction(2469, 2)),
        ("$1,234.56", "-$3", Fraction(-3)),
    ],
)
def test_known_numbers(notation: str, text: str, number: Fraction) -> None:
    assert number_in(notation, text) == number
