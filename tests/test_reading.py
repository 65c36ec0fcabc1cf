"""How columns are read: each of these is read as written here, or asked about, and nothing is guessed."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import PolicyError
from incrowd.schema import Kind
from incrowd.values import (
    Ambiguous,
    Reading,
    canonical_format,
    number_text,
    read_number,
    read_texts,
    reading_of,
    value_text,
)
from incrowd.values.dates import (
    DAYS,
    MONTHS,
    SHORT_YEARS,
    STATED_DAYS,
    STATED_SHORT,
    date_reader,
    split_time,
    split_times,
)
from incrowd.values.numbers import BODIES, fits, number_reader

# Columns that one reading fits: their texts, the notation, and what the texts say in canonical form.
DATES = [
    (["2012-01-29", "2012-02-03"], "", ["2012-01-29", "2012-02-03"]),
    (["2012-1-29", "2012-2-3"], "yyyy-mm-dd", ["2012-01-29", "2012-02-03"]),
    (["2012-01-29T00:00:00", "2012-02-03T00:00:00"], "yyyy-mm-dd time", ["2012-01-29", "2012-02-03"]),
    (["2012-01-29 00:00:00.000", "2012-02-03 00:00"], "yyyy-mm-dd time", ["2012-01-29", "2012-02-03"]),
    (["2012-01-29T00:00:00Z", "2012-02-03T00:00:00Z"], "yyyy-mm-dd time", ["2012-01-29", "2012-02-03"]),
    (["2012-01-29 00:00:00+01:00"], "yyyy-mm-dd time", ["2012-01-29"]),
    (["2012-01-29 12:00", "2012-02-03 12:00"], "yyyy-mm-dd time", ["2012-01-29", "2012-02-03"]),
    (["2012/01/29", "2012/2/3"], "yyyy/mm/dd", ["2012-01-29", "2012-02-03"]),
    (["2012.01.29", "2012.02.03"], "yyyy.mm.dd", ["2012-01-29", "2012-02-03"]),
    (["20120129", "19991231"], "yyyymmdd", ["2012-01-29", "1999-12-31"]),
    (["20120129T000000", "20120203T000000"], "yyyymmdd time", ["2012-01-29", "2012-02-03"]),
    (["29/01/2012", "03/02/2012"], "dd/mm/yyyy", ["2012-01-29", "2012-02-03"]),
    (["3/2/2012", "29/1/2012"], "dd/mm/yyyy", ["2012-02-03", "2012-01-29"]),
    (["29/01/2012 00:00", "03/02/2012 00:00"], "dd/mm/yyyy time", ["2012-01-29", "2012-02-03"]),
    (["01/29/2012", "02/03/2012"], "mm/dd/yyyy", ["2012-01-29", "2012-02-03"]),
    (
        ["01/29/2012 12:00:00 AM", "02/03/2012 12:00:00 AM"],
        "mm/dd/yyyy time",
        ["2012-01-29", "2012-02-03"],
    ),
    (["1/29/2012 12:00 a.m.", "2/3/2012 12:00 a.m."], "mm/dd/yyyy time", ["2012-01-29", "2012-02-03"]),
    (["29-01-2012", "03-02-2012"], "dd-mm-yyyy", ["2012-01-29", "2012-02-03"]),
    (["01-29-2012", "02-03-2012"], "mm-dd-yyyy", ["2012-01-29", "2012-02-03"]),
    (["29.01.2012", "3.2.2012"], "dd.mm.yyyy", ["2012-01-29", "2012-02-03"]),
    (["29.01.2012 00:00:00", "03.02.2012 00:00:00"], "dd.mm.yyyy time", ["2012-01-29", "2012-02-03"]),
    (["29-Jan-2012", "03-Feb-2012"], "dd-Mon-yyyy", ["2012-01-29", "2012-02-03"]),
    (["29-JAN-2012 00:00:00", "03-FEB-2012 00:00:00"], "dd-Mon-yyyy time", ["2012-01-29", "2012-02-03"]),
    (["29 January 2012", "3 Feb 2012"], "dd Mon yyyy", ["2012-01-29", "2012-02-03"]),
    (["29th January 2012", "3rd February 2012"], "dd Mon yyyy", ["2012-01-29", "2012-02-03"]),
    (["29/Jan/2012", "03/Feb/2012"], "dd/Mon/yyyy", ["2012-01-29", "2012-02-03"]),
    (["29JAN2012", "3FEB2012"], "ddMonyyyy", ["2012-01-29", "2012-02-03"]),
    (["January 29, 2012", "February 3, 2012"], "Mon dd, yyyy", ["2012-01-29", "2012-02-03"]),
    (["Sept 29, 2012", "May 3, 2012"], "Mon dd, yyyy", ["2012-09-29", "2012-05-03"]),
    (["Jan 29 2012", "Feb. 3 2012"], "Mon dd yyyy", ["2012-01-29", "2012-02-03"]),
    (["Jan-29-2012", "Feb-03-2012"], "Mon-dd-yyyy", ["2012-01-29", "2012-02-03"]),
    (["2012-Jan-29", "2012-Feb-03"], "yyyy-Mon-dd", ["2012-01-29", "2012-02-03"]),
    (["2012 January 29", "2012 Feb 3"], "yyyy Mon dd", ["2012-01-29", "2012-02-03"]),
    (["2012-01", "2012-12", "2013-02"], "yyyy-mm", ["2012-01-01", "2012-12-01", "2013-02-01"]),
    (["2012/01", "2012/12"], "yyyy/mm", ["2012-01-01", "2012-12-01"]),
    (["01/2012", "12/2012"], "mm/yyyy", ["2012-01-01", "2012-12-01"]),
    (["January 2012", "Feb 2012"], "Mon yyyy", ["2012-01-01", "2012-02-01"]),
    (["Jan-2012", "Feb-2012"], "Mon-yyyy", ["2012-01-01", "2012-02-01"]),
]
NUMBERS = [
    (["17", "-3.50", "1e3"], "", ["17", "-3.5", "1000"]),
    (["1.234", "5.6"], "", ["1.234", "5.6"]),
    (["1.234", "0.5"], "", ["1.234", "0.5"]),
    (["1.234", "12345"], "", ["1.234", "12345"]),
    (["12,5", "7", "-0,25"], "1234,56", ["12.5", "7", "-0.25"]),
    (["1,234", "12,5"], "1234,56", ["1.234", "12.5"]),
    (["1,234,567", "1,234"], "1,234.56", ["1234567", "1234"]),
    (["1,234.50", "12"], "1,234.56", ["1234.5", "12"]),
    (["1.234,50", "12"], "1.234,56", ["1234.5", "12"]),
    (["1.234.567", "999"], "1.234,56", ["1234567", "999"]),
    (["1 234", "12"], "1 234.56", ["1234", "12"]),
    (["1 234,5", "12\u00a0345,0", "1\u202f000\u202f000"], "1 234,56", ["1234.5", "12345", "1000000"]),
    (["1'234.50", "12’345"], "1'234.56", ["1234.5", "12345"]),
    (["12,34,567", "1,234"], "12,34,567.89", ["1234567", "1234"]),
    (["$1,234.50", "-$3", "$-4"], "$1,234.56", ["1234.5", "-3", "-4"]),
    (["$12", "$ 13"], "$1234.56", ["12", "13"]),
    (["1.234,50 €", "3 €"], "1.234,56 €", ["1234.5", "3"]),
    (["EUR 1,5", "EUR 22,75"], "EUR 1234,56", ["1.5", "22.75"]),
    (["1 234,50 EUR", "−3 EUR"], "1 234,56 EUR", ["1234.5", "-3"]),
    (["12%", "13.5 %"], "1234.56%", ["12", "13.5"]),
    (["12,5%", "7%"], "1234,56%", ["12.5", "7"]),
]
# Columns that must be asked about, and every notation that is possible.
ASKED = [
    (["01/02/2012", "03/04/2012"], ["dd/mm/yyyy", "mm/dd/yyyy"]),
    (["01/01/2012", "02/02/2012"], ["dd/mm/yyyy", "mm/dd/yyyy"]),
    (["01-02-2012"], ["dd-mm-yyyy", "mm-dd-yyyy"]),
    (["01 02 2012"], ["dd mm yyyy", "mm dd yyyy"]),
    (["01/02/2012 00:00", "03/04/2012 00:00"], ["dd/mm/yyyy time", "mm/dd/yyyy time"]),
    (["1/2/2012 12:00:00 AM"], ["dd/mm/yyyy time", "mm/dd/yyyy time"]),
    (["29/01/99", "03/02/12"], ["dd/mm/yy from 1930"]),
    (["01/29/12", "02/03/12"], ["mm/dd/yy from 1930"]),
    (["01/02/03"], ["dd/mm/yy from 1930", "mm/dd/yy from 1930", "yy/mm/dd from 1930"]),
    (["29-Jan-12", "03-Feb-12"], ["dd-Mon-yy from 1930"]),
    (["29JAN31"], ["ddMonyy from 1930"]),
    (["29.01.99"], ["dd.mm.yy from 1930"]),
    (["99-12-31"], ["yy-mm-dd from 1930"]),
    (["29/01/99 10:00", "03/02/12 10:00"], ["dd/mm/yy time from 1930"]),
    (["Jan-12", "Feb-12"], ["Mon-yy from 1930"]),
    (["2012-01-29T10:15:00", "2012-02-03T11:00:00"], ["yyyy-mm-dd time"]),
    (["2012-01-29T10:15:00Z", "2012-02-03T10:15:00Z"], ["yyyy-mm-dd time"]),
    (["2012-01-29T00:00:00+01:00", "2012-07-03T00:00:00+02:00"], ["yyyy-mm-dd time"]),
    (["2012-01-29", "2012-02-03 10:00"], ["yyyy-mm-dd time"]),
    (["29/01/2012 10:00:00.5", "03/02/2012 10:00:00"], ["dd/mm/yyyy time"]),
    (["01/29/2012 12:00:00 AM", "02/03/2012 12:00:00 PM"], ["mm/dd/yyyy time"]),
    (["12.31.2012", "01.02.2012"], ["mm.dd.yyyy"]),
    (["2012-31-12"], ["yyyy-dd-mm"]),
    (["2010-11", "2011-12"], ["yyyy-mm"]),
    (["31122012", "01022012"], ["ddmmyyyy"]),
    (["10022012"], ["ddmmyyyy", "mmddyyyy", ""]),
    (["1327795200", "1328227200"], ["", "Unix seconds"]),
    (["1327795200000"], ["", "Unix milliseconds"]),
    (["1,234"], ["1234,56", "1,234.56"]),
    (["1,234", "999"], ["1234,56", "1,234.56"]),
    (["1.234"], ["1234.56", "1.234,56"]),
    (["1.234", "999", "-12.500"], ["1234.56", "1.234,56"]),
    (["$1,234"], ["$1234,56", "$1,234.56"]),
    (["1.234 EUR", "999 EUR"], ["1234.56 EUR", "1.234,56 EUR"]),
]
TEXTS = [
    ["01234", "90210"],
    ["29/01/2012", "n.k."],
    ["29/01/2012", "2012-02-03"],
    ["29/01/2012", "01/29/2012"],
    ["2012-02-30"],
    ["31/13/2012", "13/31/2012"],
    ["29/01/2012", "03/02/12"],
    ["10:30", "11:45"],
    ["2012-01-29 25:00"],
    ["2012-01-29 13:00 PM"],
    ["€5", "$5"],
    ["$5", "5"],
    ["5 EUR", "5%"],
    ["1,23,4"],
    ["1,234.567,8"],
    ["12,345,67"],
    ["192.168.0.1"],
    ["555-1234"],
    ["2012-13", "2011-12"],
    ["Jan", "Feb"],
    ["29 Janvier 2012"],
    ["1 2"],
    ["--5"],
    ["$-"],
    ["+"],
    [],
]


def test_there_are_enough_columns_here() -> None:
    assert len(DATES) + len(NUMBERS) + len(ASKED) + len(TEXTS) >= 100


@pytest.mark.parametrize(("texts", "notation", "canonical"), DATES, ids=lambda v: str(v)[:40])
def test_dates_that_are_read(texts: list[str], notation: str, canonical: list[str]) -> None:
    _is_read(texts, Kind.DATE, notation, canonical)


@pytest.mark.parametrize(("texts", "notation", "canonical"), NUMBERS, ids=lambda v: str(v)[:40])
def test_numbers_that_are_read(texts: list[str], notation: str, canonical: list[str]) -> None:
    _is_read(texts, Kind.NUMERIC, notation, canonical)


def _is_read(texts: list[str], kind: Kind, notation: str, canonical: list[str]) -> None:
    for some in (texts, texts[::-1]):  # which text comes first decides nothing
        reading = reading_of(some)
        assert isinstance(reading, Reading)
        assert (reading.kind, reading.notation) == (kind, notation)
    values = read_texts(texts, kind, canonical_format(notation, kind, "x"))
    assert [value_text(value) for value in values if value is not None] == canonical


@pytest.mark.parametrize(("texts", "notations"), ASKED, ids=lambda v: str(v)[:40])
def test_what_is_not_certain_is_asked(texts: list[str], notations: list[str]) -> None:
    for some in (texts, texts[::-1]):
        found = reading_of(some)
        assert isinstance(found, Ambiguous)
        assert [reading.notation for reading in found.readings] == notations
        assert found.why
        assert found.kind is (Kind.NUMERIC if "Unix" in notations[-1] else Kind.CATEGORICAL)
    assert isinstance(found, Ambiguous)
    for reading in found.readings:  # whatever is proposed can be stated, and then reads every value
        form = canonical_format(reading.notation, reading.kind, "x")
        assert None not in read_texts(texts, reading.kind, form)
        assert reading.stated() in found.words()


@pytest.mark.parametrize("texts", TEXTS, ids=lambda v: str(v)[:40])
def test_what_no_notation_fits_stays_text(texts: list[str]) -> None:
    assert reading_of(texts) == reading_of(texts[::-1]) == Reading(Kind.CATEGORICAL)


@pytest.mark.parametrize(
    ("texts", "name", "notation"),
    [
        (["41000", "41001.5"], "visit_date", "Excel serial"),
        (["41000"], "DOB", "Excel serial"),
        (["201203", "201112"], "month_of_birth", "yyyymm"),
    ],
)
def test_a_name_can_raise_a_question(texts: list[str], name: str, notation: str) -> None:
    found = reading_of(texts, name)
    assert isinstance(found, Ambiguous)
    assert [reading.notation for reading in found.readings] == ["", notation]
    assert found.kind is Kind.NUMERIC
    assert reading_of(texts, "income") == Reading(Kind.NUMERIC)


def test_the_name_settles_nothing() -> None:
    assert isinstance(reading_of(["01/02/2012"], "us_date_mm_dd_yyyy"), Ambiguous)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["29/01/2012 00:00"], "date dd/mm/yyyy, time 00:00 ignored"),
        (["2012-01-29 08:30"], "date yyyy-mm-dd, time ignored, the same everywhere"),
        (["2012-01-29T00:00Z"], "date yyyy-mm-dd, time 00:00 ignored, its zone too"),
        (["2012-03"], "date yyyy-mm, published as the first day of the month"),
        (["1.234,50 EUR"], "number 1.234,56 EUR"),
    ],
)
def test_what_was_done_is_said_without_a_value(texts: list[str], words: str) -> None:
    reading = reading_of(texts)
    assert isinstance(reading, Reading)
    assert reading.words() == words


def test_counted_days() -> None:
    assert [*map(date_reader("Excel serial"), ["61", "41000", "41000.75", "60", "-1"])] == [
        date(1900, 3, 1), date(2012, 4, 1), date(2012, 4, 1), None, None,
    ]  # fmt: skip
    assert date_reader("Unix seconds")("1327795200") == date(2012, 1, 29)
    assert date_reader("Unix milliseconds")("1327795199999") == date(2012, 1, 28)


def test_two_digits_of_a_year() -> None:
    read = date_reader("dd/mm/yy from 1930")
    assert [read("01/02/30"), read("01/02/99"), read("01/02/00"), read("01/02/29")] == [
        date(1930, 2, 1), date(1999, 2, 1), date(2000, 2, 1), date(2029, 2, 1),
    ]  # fmt: skip


SAMPLE_NAMES = (
    "Jan",
    "February",
    "mar",
    "APR",
    "May",
    "June",
    "jul.",
    "Aug",
    "Sept",
    "Oct",
    "Nov",
    "December",
)


def written(day: date, notation: str) -> str:
    """A day in a notation, by replacing letters: nothing of the reader is used."""
    base = notation.replace(" from 1930", "")
    for token, text in (
        ("yyyy", f"{day.year:04}"), ("yy", f"{day.year % 100:02}"), ("mm", f"{day.month:02}"),
        ("dd", f"{day.day:02}"), ("Mon", SAMPLE_NAMES[day.month - 1]), (" time", " 11:59:59 PM"),
    ):  # fmt: skip
        base = base.replace(token, text)
    return base


ALL_DAYS = [*DAYS, *MONTHS, *STATED_DAYS, *(f"{way} from 1930" for way in (*SHORT_YEARS, *STATED_SHORT))]


@given(st.dates(date(1930, 1, 1), date(2029, 12, 31)), st.sampled_from(ALL_DAYS), st.booleans())
def test_every_notation_reads_what_is_written_in_it(day: date, notation: str, timed: bool) -> None:
    if timed:
        way, sign, year = notation.partition(" from ")
        notation = f"{way} time{sign}{year}"
    assert canonical_format(notation, Kind.DATE, "x") == notation
    assert date_reader(notation)(written(day, notation)) == (day if "dd" in notation else day.replace(day=1))


@given(
    st.lists(st.dates(date(1900, 1, 1), date(2099, 12, 31)), min_size=1, max_size=20), st.sampled_from(DAYS)
)
def test_a_column_is_read_rightly_or_asked_about(days: list[date], notation: str) -> None:
    """Never another day than was meant; and asked about only if the other order fits as well."""
    texts = [written(day, notation) for day in days]
    found = reading_of(texts)
    if isinstance(found, Ambiguous):
        assert notation in [reading.notation for reading in found.readings]
        assert all(day.day <= 12 for day in days)
    else:
        assert read_texts(texts, found.kind, found.notation) == days


@given(st.decimals(-(10**9), 10**9, places=2), st.sampled_from([*BODIES]))
def test_every_number_notation_reads_what_is_written_in_it(number, notation: str) -> None:  # type: ignore[no-untyped-def]
    plain = f"{abs(number):.2f}"
    whole, part = plain.split(".")
    group, point = {
        "1234.56": ("", "."), "1234,56": ("", ","), "1,234.56": (",", "."), "1.234,56": (".", ","),
        "1 234.56": (" ", "."), "1 234,56": ("\u00a0", ","), "1'234.56": ("'", "."), "1'234,56": ("'", ","),
        "12,34,567.89": (",", "."),
    }[notation]  # fmt: skip
    head, tail = whole[:-3], whole[-3:]
    size = 2 if notation == "12,34,567.89" else 3
    parts: list[str] = []
    while head:
        head, cut = head[:-size], head[-size:]
        parts.insert(0, cut)
    text = ("-" if number < 0 else "") + group.join([*parts, tail]) + point + part
    read = number_reader(notation)(text)
    assert read is not None
    assert number_text(read) == number_text(read_number(str(number)) or 0)


@given(
    st.lists(st.integers(0, 40_000).map(lambda n: date(1950, 1, 1) + timedelta(n)), min_size=1, max_size=5)
)
def test_a_time_that_differs_is_never_dropped_unasked(days: list[date]) -> None:
    texts = [f"{day} {place:02}:30" for place, day in enumerate(days)]
    found = reading_of(texts)
    assert isinstance(found, Ambiguous) == (len(texts) > 1)


@pytest.mark.parametrize(
    ("format", "kind", "hint"),
    [
        ("%d.%m.%Y", Kind.DATE, "such as dd.mm.yyyy"),
        ("dd/mm/yy", Kind.DATE, "from 1930"),
        ("dd/mm/yy time", Kind.DATE, "dd/mm/yy time from 1930"),
        ("dd/mm/yyyy from 1930", Kind.DATE, "not a known notation"),
        ("dd/mm/yy from 30", Kind.DATE, "not a known notation"),
        ("dd/mm/yyy", Kind.DATE, "did you mean 'dd/mm/yyyy'"),
        ("0,00", Kind.NUMERIC, "1.234,56"),
        ("$1,234.56 EUR", Kind.NUMERIC, "1.234,56"),
        ("1.234,56 XYZ", Kind.NUMERIC, "1.234,56"),
    ],
)
def test_a_format_is_of_the_closed_list(format: str, kind: Kind, hint: str) -> None:
    with pytest.raises(PolicyError, match=r"^visit has a format") as error:
        canonical_format(format, kind, "visit")
    assert hint in str(error.value)


CHARACTERS = st.text("0123459.,' +-−$%€EUR\u00a0", max_size=12)
NOTATIONS = [*BODIES, "$1,234.56", "1.234,56 EUR", "EUR 1234,56", "1234.56%", "€1 234,56"]


@given(CHARACTERS, st.sampled_from(NOTATIONS))
def test_what_fits_a_notation_is_what_it_reads(text: str, notation: str) -> None:
    assert (fits(notation)(text) is None) == (number_reader(notation)(text) is None)


GROUPED = st.from_regex(r"\A[1-9][0-9]{0,2}([.,' ][0-9]{3}){0,2}([.,][0-9]{1,3})?\Z")


@given(st.lists(GROUPED, min_size=1, max_size=3))
def test_notations_that_fit_mean_the_same_or_are_asked(texts: list[str]) -> None:
    """A column is read if all notations that fit every text give the same numbers, and asked about if not."""
    read = (tuple(read_texts(texts, Kind.NUMERIC, notation)) for notation in NOTATIONS)
    meanings = {values for values in read if None not in values}
    found = reading_of(texts)
    if isinstance(found, Ambiguous):
        assert len(meanings) > 1
    elif found.kind is Kind.NUMERIC:
        assert meanings == {tuple(read_texts(texts, Kind.NUMERIC, found.notation))}
    else:
        assert not meanings


@given(st.lists(st.sampled_from(["29/01/2012", "1/2/2012", "x"]), max_size=6), st.data())
def test_many_times_are_split_as_one_by_one(days: list[str], data: st.DataObject) -> None:
    clocks = st.sampled_from(["", " 10:00", " 12:00 AM", "T00:00Z", " 25:00", " 10:00 +01:00", " 9:30:15.5"])
    texts = [day + data.draw(clocks) for day in ["03/04/2012", *days]]
    assert split_times(texts) == [split_time(text) for text in texts]
