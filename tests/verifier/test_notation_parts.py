"""Numbers and dates in the notations of a policy: texts that are just right, and texts that are not."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest

from incrowd.schema import Column, Kind, Role
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.notation import day_in, number_in
from incrowd.verifier.values import value


def size(notation: str, text: str) -> Fraction | None:
    try:
        return number_in(notation, text)
    except CheckFailed:
        return None


GROUPED, INDIAN, BARE = "1,234.56", "12,34,567.89", "1234.56"


@pytest.mark.parametrize(
    ("notation", "text", "found"),
    [
        (BARE, "5", "5"),
        (BARE, "5.25", "5.25"),
        (BARE, ".5", None),
        (BARE, "5.", None),
        (BARE, ".", None),
        (BARE, "", None),
        (BARE, "1,234", None),
        (BARE, "5.2.5", None),
        (BARE, "²", None),
        (BARE, "9" * 60, "9" * 60),
        (BARE, "9" * 61, None),
        (BARE, "9" * 59 + ".9", "9" * 59 + ".9"),
        (BARE, "9" * 60 + ".9", None),
        (GROUPED, "234", "234"),
        (GROUPED, "1234", "1234"),
        (GROUPED, "12345", None),
        (GROUPED, "1,234", "1234"),
        (GROUPED, "123,456", "123456"),
        (GROUPED, "1234,567", None),
        (GROUPED, ",567", None),
        (GROUPED, "1,23", None),
        (GROUPED, "1,2345", None),
        (GROUPED, "1,23,456", None),
        (GROUPED, "1,234,567", "1234567"),
        (GROUPED, "1,2345,678", None),
        (GROUPED, "1,234,567,8", None),
        (GROUPED, "1,234.5", "1234.5"),
        (INDIAN, "234", "234"),
        (INDIAN, "1234", None),
        (INDIAN, "1,234", "1234"),
        (INDIAN, "12,345", "12345"),
        (INDIAN, "123,456", None),
        (INDIAN, "1,23,456", "123456"),
        (INDIAN, "1,234,567", None),
        (INDIAN, "12,34,56,789", "123456789"),
        (INDIAN, "12,34,567,89", None),
        ("$1,234.56", "$7", "7"),
        ("$1,234.56", "$ 7", "7"),
        ("$1,234.56", "$  7", None),
        ("$1,234.56", "7", None),
        ("$1,234.56", "-$7", "-7"),
        ("$1,234.56", "$-7", "-7"),
        ("$1,234.56", "-$-7", None),
        ("$1,234.56", "+$7", "7"),
        ("$1,234.56", "€7", None),
        ("1.234,56 EUR", "−1.234,5 EUR", "-1234.5"),
        ("1.234,56 EUR", "7EUR", "7"),
        ("1.234,56 EUR", "7", None),
        ("1.234,56 EUR", "7  EUR", None),
        ("1 234,56", "1\u202f234,5", "1234.5"),
        ("1'234.56", "1’234", "1234"),
    ],
)
def test_numbers(notation: str, text: str, found: str | None) -> None:
    assert size(notation, text) == (None if found is None else Fraction(found))


def test_an_example_has_six_digits() -> None:
    with pytest.raises(CheckFailed, match="the notation of a column is not known"):
        number_in("123.45", "1")
    assert number_in("1234.56", "1") == 1


def day(notation: str, text: str) -> str | None:
    try:
        found: date = day_in(notation, text)
    except CheckFailed:
        return None
    return str(found)[:10]


LONG, WORDS, SHORT, TIGHT = "dd/mm/yyyy", "Mon dd, yyyy", "dd.mm.yy from 1930", "yyyymmdd"


@pytest.mark.parametrize(
    ("notation", "text", "found"),
    [
        (LONG, "3/2/2012", "2012-02-03"),
        (LONG, "03/02/2012", "2012-02-03"),
        (LONG, "003/2/2012", None),
        (LONG, "/2/2012", None),
        (LONG, "3/2/12", None),
        (LONG, "3/2/20123", None),
        (LONG, "3-2-2012", None),
        (LONG, "31/2/2012", None),
        (LONG, "3/2/2012 ", None),
        (LONG, "3/2/2012 10:00", None),
        (LONG, "²/2/2012", None),
        (WORDS, "Feb 3, 2012", "2012-02-03"),
        (WORDS, "feb. 3rd, 2012", "2012-02-03"),
        (WORDS, "February 3, 2012", "2012-02-03"),
        (WORDS, "February. 3, 2012", None),
        (WORDS, "Sept. 3, 2012", "2012-09-03"),
        (WORDS, "Sep 3, 2012", "2012-09-03"),
        (WORDS, "Octo 3, 2012", None),
        (WORDS, "May. 3th, 2012", "2012-05-03"),
        (WORDS, "Mai 3, 2012", None),
        (WORDS, "Feb 3xx, 2012", None),
        (SHORT, "1.2.30", "1930-02-01"),
        (SHORT, "1.2.29", "2029-02-01"),
        (SHORT, "1.2.1930", None),
        (TIGHT, "20120203", "2012-02-03"),
        (TIGHT, "2012023", None),
        (TIGHT, "201202031", None),
        ("yyyy-mm", "2012-02", "2012-02-01"),
        ("Excel serial", "61", "1900-03-01"),
        ("Excel serial", "61.5", "1900-03-01"),
        ("Excel serial", "60", None),
        ("Excel serial", "-61", None),
        ("Excel serial", "", None),
        ("Excel serial", "61.x", None),
        ("Unix seconds", "86399", "1970-01-01"),
        ("Unix seconds", "86400", "1970-01-02"),
        ("Unix seconds", "86400.5", None),
        ("Unix seconds", "1", "1970-01-01"),
        ("Unix milliseconds", "86400000", "1970-01-02"),
        ("Unix milliseconds", "86399999", "1970-01-01"),
        ("Unix seconds", "9" * 30, None),
    ],
)
def test_days(notation: str, text: str, found: str | None) -> None:
    assert day(notation, text) == found


TIMES = [
    *(
        "10:15",
        "1:15",
        "10:15:30",
        "10:15:60",
        "23:59",
        "10:15 PM",
        "12:15 a.m.",
        "1:15pm",
        "1:15 p.m",
        "1:15 am.",
    ),
    *("10:15:30.123", "10:15:30,5", "10:15:30.123456789", "10:15Z", "10:15 UTC", "10:15 gmt", "10:15+01:00"),
    *("10:15 -0130", "10:15+02", "00:00"),
]
NO_TIMES = [
    *(
        "24:00",
        "10:60",
        "10:15:61",
        "13:15 PM",
        "0:15 AM",
        "10",
        "10:1",
        "10:155",
        ":15",
        "010:15",
        "10:15:3",
    ),
    *("10:15.5", "10:15:30.", "10:15:30.1234567890", "10:15+1", "10:15+01:0", "10:15:30:1", "10:15 XM", "x"),
    *("10:15+012", "10:15:30.12x", "101530", "10:15:30:10", "10:15+01:", "10:15+01x00"),
]


@pytest.mark.parametrize("clock", TIMES)
def test_a_time_of_day_is_ignored(clock: str) -> None:
    assert day("dd/mm/yyyy time", f"3/2/2012 {clock}") == "2012-02-03"
    assert day("dd/mm/yyyy time", f"3/2/2012T{clock}") == "2012-02-03"


@pytest.mark.parametrize("clock", NO_TIMES)
def test_what_is_no_time_of_day_is_refused(clock: str) -> None:
    assert day("dd/mm/yyyy time", f"3/2/2012 {clock}") is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("20120203T101530", "2012-02-03"),
        ("20120203T1015", "2012-02-03"),
        ("20120203T10153", None),
        ("20120203t1015", "2012-02-03"),
        ("20120203", "2012-02-03"),
        ("20120203 1015", None),
        ("20120203T2515", None),
    ],
)
def test_tight_times(text: str, found: str | None) -> None:
    assert day("yyyymmdd time", text) == found


def test_the_t_of_a_month_is_none_of_a_time() -> None:
    assert day("Mon dd, yyyy time", "August 3, 2012 10:15") == "2012-08-03"
    assert day("dd Mon yyyy time", "3 Oct 2012T10:15") == "2012-10-03"
    assert day("dd Mon yyyy time", "3 Oct 2012") == "2012-10-03"


def test_a_time_stands_after_a_whole_date_and_a_gap() -> None:
    assert day("dd/mm/yyyy time", "3/2/2012x10:15") is None
    assert day("yymm time from 1930", "3002 10:15") == "1930-02-01"
    assert day("dd Mon yy time from 1930", "13 Oct 12") == "2012-10-13"


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (Kind.NUMERIC, "x", "a text is not a number"),
        (Kind.ORDERED, "x", "a value is not listed in the order of the column"),
        (Kind.DATE, "x", "a text is not a date"),
        (Kind.DATE, "2012-02-30", "a text is not a date"),
    ],
)
def test_texts_without_a_meaning_are_refused_in_words(kind: Kind, text: str, words: str) -> None:
    with pytest.raises(CheckFailed, match=words):
        value(Column("size", Role.QUASI, kind, order=("s", "m")), text)
