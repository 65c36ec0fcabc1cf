"""Dates as texts write them, by notations from a closed list: ``dd/mm/yyyy``, ``Mon dd, yyyy``, ….

``yyyy mm dd`` stand for digits (of one-digit days and months the zero may be left out), ``Mon`` for the
English name of a month, short or in full. Two endings say more:

* `` time``: a time of day may follow, perhaps with its zone. It is ignored: the day is as written.
* `` from 1930``: what two digits of a year mean: the years 1930 to 2029.

Notations of months stand for the first day. Days are also counted: by spreadsheets and by Unix clocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache

ISO = "yyyy-mm-dd"
TIME, FROM = " time", " from "

DAYS = (
    *(ISO, "yyyy/mm/dd", "yyyy.mm.dd", "yyyymmdd"),
    *("dd/mm/yyyy", "mm/dd/yyyy", "dd-mm-yyyy", "mm-dd-yyyy", "dd.mm.yyyy", "dd mm yyyy", "mm dd yyyy"),
    *("dd-Mon-yyyy", "dd Mon yyyy", "dd/Mon/yyyy", "ddMonyyyy", "dd Mon, yyyy"),
    *("Mon dd, yyyy", "Mon dd yyyy", "Mon-dd-yyyy", "yyyy-Mon-dd", "yyyy Mon dd"),
)
MONTHS = (
    "yyyy-mm",
    "yyyy/mm",
    "mm/yyyy",
    "mm-yyyy",
    "Mon yyyy",
    "Mon-yyyy",
    "Mon, yyyy",
    "yyyy Mon",
    "yyyy-Mon",
)
SHORT_YEARS = (
    *("dd/mm/yy", "mm/dd/yy", "yy/mm/dd", "dd-mm-yy", "mm-dd-yy", "yy-mm-dd", "dd.mm.yy", "yy.mm.dd"),
    *("dd-Mon-yy", "dd Mon yy", "dd/Mon/yy", "ddMonyy", "Mon dd, yy", "Mon-yy", "Mon yy"),
)
# Never read unless the policy says so: either nobody is known to write so, or they are numbers as a rule.
RARE = ("mm.dd.yyyy", "yyyy-dd-mm")
STATED_DAYS = ("ddmmyyyy", "mmddyyyy", "yyyymm", "mm.yyyy", *RARE)
STATED_SHORT = ("yymmdd", "ddmmyy", "mmddyy")
EXCEL, SECONDS, MILLISECONDS = "Excel serial", "Unix seconds", "Unix milliseconds"
COUNTED = (EXCEL, SECONDS, MILLISECONDS)

FIRST_CENTURY, LAST_CENTURY = 1000, 9900

_NAMES = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december"),
)
MONTH_OF = {name[:3]: place for place, name in enumerate(_NAMES, 1)}
_MON = "|".join(f"{name[:3]}{'t?' if name == 'september' else ''}\\.?|{name}" for name in _NAMES)
_PARTS = {
    "yyyy": "(?P<year>[0-9]{4})",
    "yy": "(?P<short>[0-9]{2})",
    "mm": "(?P<month>[0-9]{1,2})",
    "dd": "(?P<day>[0-9]{1,2})",
    "Mon": f"(?P<name>{_MON})",
}
_TOKEN = re.compile("yyyy|yy|mm|dd|Mon")
_CLOCK = (
    r"(?:[T ] ?(?P<hour>[0-9]{1,2}):(?P<minute>[0-5][0-9])"
    r"(?::(?P<second>(?:[0-5][0-9]|60)(?:[.,][0-9]{1,9})?))?"
    r"|(?<=[0-9])T(?P<hours>[0-9]{2})(?P<minutes>[0-5][0-9])(?P<seconds>[0-5][0-9])?)"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?(?: ?(?P<zone>[Zz]|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?))?"
)
_FLAGS = re.IGNORECASE | re.ASCII  # else a long s would be an s, and not be found again
_WITH_CLOCK = re.compile(rf"(?P<before>.{{4,30}}?){_CLOCK}", _FLAGS)
_PERIOD = re.compile(r"[1-9][0-9]{3}")
_WHOLE = re.compile(r"[0-9]{1,14}")
_SERIAL = re.compile(r"([0-9]{1,7})(?:\.[0-9]{1,12})?")
_EXCEL_ZERO, _UNIX_ZERO = date(1899, 12, 30), date(1970, 1, 1)
_LEAP_BUG = 60  # the day that 1900 did not have: earlier serials are a day off, so they are not read

Reader = Callable[[str], date | None]


def read_date(text: str, notation: str = "") -> date | None:
    """The day that a text says, or None. An empty notation is ISO, YYYY-MM-DD, and nothing beside it.

    Examples
    --------
    >>> read_date("2024-02-29"), read_date("2024-02-29 10:00"), read_date("1.3.2024", "dd.mm.yyyy")
    (datetime.date(2024, 2, 29), None, datetime.date(2024, 3, 1))
    """
    if notation:
        return date_reader(notation)(text)
    try:
        if len(text) == 10 and text[4] == text[7] == "-":  # fromisoformat alone would also take week dates
            return date.fromisoformat(text)
    except ValueError:
        pass
    return None


def is_date_notation(notation: str) -> bool:
    """Is it of the closed list?

    Examples
    --------
    >>> [is_date_notation(n) for n in ("dd/mm/yyyy time", "dd/mm/yy", "dd/mm/yy from 1930", "%d.%m.%Y")]
    [True, False, True, False]
    """
    if notation in COUNTED:
        return True
    day, period = _period(notation)
    day = day.removesuffix(TIME)
    if day in SHORT_YEARS + STATED_SHORT:
        return period is not None
    return period is None and FROM not in notation and day in DAYS + MONTHS + STATED_DAYS


def _period(notation: str) -> tuple[str, int | None]:
    """What stands before `` from 1930``, and the year."""
    day, _, year = notation.partition(FROM)
    known = _PERIOD.fullmatch(year) is not None and FIRST_CENTURY <= int(year) <= LAST_CENTURY
    return day, int(year) if known else None


@lru_cache(maxsize=512)
def date_reader(notation: str) -> Reader:
    """What reads texts of a notation.

    Examples
    --------
    >>> date_reader("Mon dd, yyyy")("January 29, 2012"), date_reader("dd-Mon-yy from 1930")("29-JAN-31")
    (datetime.date(2012, 1, 29), datetime.date(1931, 1, 29))
    """
    if notation in COUNTED:
        return {EXCEL: _excel, SECONDS: _seconds, MILLISECONDS: _milliseconds}[notation]
    day, period = _period(notation)
    timed = day.endswith(TIME)
    layout = re.compile(_layout(day.removesuffix(TIME)) + (f"(?:{_CLOCK})?" if timed else ""), _FLAGS)
    named, whole = "Mon" in day, "dd" in day
    short = period is not None

    def read(text: str) -> date | None:
        met = layout.fullmatch(text)
        if met is None or (timed and not _is_time(met)):
            return None
        year = _full_year(int(met["short"]), period) if short else int(met["year"])
        month = MONTH_OF[met["name"][:3].lower()] if named else int(met["month"])
        try:
            return date(year, month, int(met["day"]) if whole else 1)
        except ValueError:
            return None

    return read


def _full_year(short: int, period: int | None) -> int:
    first = period or 0
    return first + (short - first) % 100


def _layout(day: str) -> str:
    """The pattern of a notation. Where nothing separates digits, each part has all of its digits."""
    parts = dict(_PARTS)
    if day.isalpha() and "Mon" not in day:
        parts |= {"mm": "(?P<month>[0-9]{2})", "dd": "(?P<day>[0-9]{2})"}
    if "Mon" in day:
        parts["dd"] += "(?:st|nd|rd|th)?"
    places, pattern, end = _TOKEN.finditer(day), "", 0
    for found in places:
        pattern += re.escape(day[end : found.start()]) + parts[found[0]]
        end = found.end()
    return pattern


def _is_time(met: re.Match[str]) -> bool:
    hour = int(met["hour"] or met["hours"] or 1)
    return 1 <= hour <= 12 if met["half"] else hour <= 23


def split_time(text: str) -> tuple[str, str, str] | None:
    """What stands before a time of day; the time, in one form; and its zone. None if there is no time.

    Examples
    --------
    >>> split_time("29/01/2012 12:00:00 AM"), split_time("2012-01-29T10:30+01:00"), split_time("2012-01-29")
    (('29/01/2012', '00:00', ''), ('2012-01-29', '10:30', '+01:00'), None)
    """
    met = _WITH_CLOCK.fullmatch(text)
    if met is None or not _is_time(met):
        return None
    hour, minute = int(met["hour"] or met["hours"]), met["minute"] or met["minutes"]
    if met["half"]:
        hour = hour % 12 + (12 if met["half"] in "Pp" else 0)
    second = (met["second"] or met["seconds"] or "").replace(",", ".")
    second = second.rstrip("0").rstrip(".") if "." in second else second
    return (
        met["before"],
        f"{hour:02}:{minute}" + (f":{second}" if second.strip("0") else ""),
        met["zone"] or "",
    )


def split_times(texts: Sequence[str]) -> list[tuple[str, str, str] | None]:
    """`split_time` of many texts; a time that occurs again is looked at once."""
    first = split_time(texts[0])
    if first is None or texts[0][len(first[0])] in first[0]:
        return [split_time(text) for text in texts]
    sign = texts[0][len(first[0])]  # no day of such a notation holds it, so the first one begins the time
    known: dict[str, tuple[str, str, str] | None] = {}
    found: list[tuple[str, str, str] | None] = []
    for text in texts:
        day, _, rest = text.partition(sign)
        if rest not in known:
            known[rest] = split_time(f"2000-01-01{sign}{rest}")
        clock = known[rest]
        found.append((day, *clock[1:]) if clock and 4 <= len(day) <= 30 else split_time(text))
    return found


def candidates(text: str) -> Iterator[str]:
    """The notations that may be suggested and read a text: of days, of months, with two digits of a year."""
    for notation in DAYS + MONTHS:
        if date_reader(notation)(text) is not None:
            yield notation
    for notation in SHORT_YEARS:
        if date_reader(f"{notation}{FROM}1930")(text) is not None:
            yield f"{notation}{FROM}1930"


def _excel(text: str) -> date | None:
    found = _SERIAL.fullmatch(text)
    return _after(_EXCEL_ZERO, int(found[1])) if found and int(found[1]) > _LEAP_BUG else None


def _seconds(text: str) -> date | None:
    return _after(_UNIX_ZERO, int(text) // 86_400) if _WHOLE.fullmatch(text) else None


def _milliseconds(text: str) -> date | None:
    return _after(_UNIX_ZERO, int(text) // 86_400_000) if _WHOLE.fullmatch(text) else None


def _after(zero: date, days: int) -> date | None:
    try:
        return zero + timedelta(days)
    except OverflowError:
        return None
