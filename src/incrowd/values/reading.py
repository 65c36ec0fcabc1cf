"""How a whole column is read: as stated, or in the one notation of numbers or dates that fits all its texts.

What is written plainly (2024-02-29, 1234.5) is read as it stands. Anything else is read where one notation
fits every text and nothing has to be made up or given up for it. Where two fit, where a century, a time of
day or a zone would be guessed, the answer is a question: `Ambiguous`, with what a policy could state.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from incrowd.errors import PolicyError, TableError
from incrowd.schema import ESCAPED, MISSING, Kind
from incrowd.values import dates, numbers
from incrowd.values.dates import EXCEL, FROM, ISO, MILLISECONDS, RARE, SECONDS, TIME, date_reader, read_date
from incrowd.values.numbers import (
    EXACT,
    MOST_DIGITS,
    Number,
    number_notation,
    number_reader,
    number_text,
    read_number,
)

_CODE = re.compile(r"[+-]?0[0-9]")  # how a postal code starts and a number does not
_DIGIT = re.compile("[0-9]")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")
_SMALL = re.compile(r"[+-]?[0-9]{1,4}")
_EIGHT = re.compile(r"[0-9]{8}")
_SIX = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])")
_NAME_OF_A_DATE = re.compile(r"date|time|dob|birth|born|day|^dt|dt$|_(?:at|on)$", re.IGNORECASE)
_LIKELY_YEARS = range(1900, 2100)
_SERIALS = (10_000, 73_051)  # 1927 to 2100
_SECONDS = (946_684_800, 2_051_222_400)  # 2000 to 2035
_ESCAPES = {ord(sign): "\\" + sign for sign in ESCAPED}
_MIDNIGHT = "00:00"
_TIMES_DIFFER = "the time of day differs, and only days are published"


Value = int | Decimal | date | str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a column holds, the notation of its texts (empty: plain), and what was ignored in reading them."""

    kind: Kind
    notation: str = ""
    note: str = ""

    def words(self) -> str:
        """As a sentence about the column goes on: "read as …"."""
        if not self.notation:
            return str({Kind.NUMERIC: "number", Kind.DATE: "date"}.get(self.kind, "text"))
        what = "number" if self.kind is Kind.NUMERIC else "date"
        return f"{what} {self.notation.replace(TIME, '')}" + (f", {self.note}" if self.note else "")

    def stated(self) -> str:
        """As an entry of a policy."""
        form = f', format = "{self.notation}"' if self.notation else ""
        return f'{{type = "{self.kind}"{form}}}'


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """More than one reading is possible, or the only one would guess. `kind` holds until it is stated.

    `readings` are what a policy can state; `why` says what the texts leave open. `day_is_certain` where only
    times of day would be given up.
    """

    readings: tuple[Reading, ...]
    why: str
    kind: Kind = Kind.CATEGORICAL
    day_is_certain: bool = False

    @property
    def notation(self) -> str:
        """None is stated, so texts are taken as they stand."""
        return ""

    @property
    def is_date(self) -> bool:
        """Is a date meant, whichever reading is right?"""
        return all(reading.kind is Kind.DATE for reading in self.readings)

    def words(self) -> str:
        """What is open, and how it is settled."""
        ways = " or ".join(reading.stated() for reading in self.readings)
        return f"{self.why}; say how it is read: {ways}"


# As stated


def canonical_format(format: str, kind: Kind, column: str) -> str:
    """The notation that a policy's format names; an error if the closed list does not have it.

    Examples
    --------
    >>> canonical_format("1.234,56EUR", Kind.NUMERIC, "cost")
    '1.234,56 EUR'
    """
    if wrong := format_problem(format, kind):
        raise PolicyError(f"{column} {wrong}")
    return (number_notation(format) or "") if kind is Kind.NUMERIC else format


def kind_of_format(format: str) -> Kind:
    """What a format is of: no notation is one of numbers and one of dates."""
    return Kind.NUMERIC if number_notation(format) else Kind.DATE


def format_problem(format: str, kind: Kind) -> str:
    """What is wrong with a format, as a sentence about its column goes on; empty if it is of the list."""
    if not format or (number_notation(format) if kind is Kind.NUMERIC else dates.is_date_notation(format)):
        return ""
    if kind is Kind.NUMERIC:
        known = ", ".join(numbers.BODIES)
        return (
            f"has a format that is not a known notation of numbers; write one of {known}, if need be with a "
            "currency or a percent sign, such as 1.234,56 EUR"
        )
    return f"has a format that is not a known notation of dates{_probably(format)}"


def _probably(format: str) -> str:
    """What may have been meant."""
    if format.removesuffix(TIME) in dates.SHORT_YEARS + dates.STATED_SHORT:
        return (
            f": two digits leave the century open; say from which year on, as in {format.removesuffix(TIME)}"
            f"{TIME if format.endswith(TIME) else ''}{FROM}1930, which reads the years 1930 to 2029"
        )
    known = dates.DAYS + dates.MONTHS + dates.STATED_DAYS + dates.COUNTED
    near = difflib.get_close_matches(format, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{hint}; write it with dd, mm, yyyy and Mon, such as dd.mm.yyyy (docs/reading.md has the list)"


def same_name(name: str) -> str:
    """The form in which names of columns are compared: é is one character, however it was typed."""
    return unicodedata.normalize("NFC", name)


def value_text(value: Value) -> str:
    """The canonical text of any value; of a date, its ISO form."""
    if isinstance(value, str):
        return value
    return value.isoformat() if isinstance(value, date) else number_text(value)


def escaped(text: str) -> str:
    r"""A value or label as it stands in a cell.

    Examples
    --------
    >>> print(escaped("a|b"), escaped("901***"), escaped("missing"))
    a\|b 901\*\*\* \missing
    """
    return "\\" + text if text == MISSING else text.translate(_ESCAPES)


def read_column(texts: Sequence[str], kind: Kind, format: str = "", column: str = "") -> list[Value]:
    """The values of distinct texts, in their order; an error counts those that are not of this kind."""
    values = read_texts(texts, kind, canonical_format(format, kind, column))
    unread = sum(value is None for value in values)
    if unread:
        raise TableError(
            f"{column} is declared {kind}, but {unread} of its {len(values)} distinct values are no "
            f"{plural(kind, format)}; list those that mean missing under 'missing', declare the column "
            "categorical, or say how they are written: format"
        )
    return [value for value in values if value is not None]


def plural(kind: Kind, format: str) -> str:
    """What texts of a kind are called in a message.

    Examples
    --------
    >>> plural(Kind.DATE, ""), plural(Kind.NUMERIC, "1.234,56 EUR"), plural(Kind.NUMERIC, "")
    ('dates (YYYY-MM-DD)', 'numbers (1.234,56 EUR)', 'numbers')
    """
    if kind is Kind.NUMERIC:
        return f"numbers ({format})" if format else "numbers"
    return f"dates ({format or ISO.upper()})"


def read_texts(texts: Sequence[str], kind: Kind, format: str = "") -> list[Value | None]:
    """Every text's value, or None where it has none. Columns without numbers or dates are their texts."""
    if kind is Kind.NUMERIC:
        return list(plain_numbers(texts)) if not format else list(map(number_reader(format), texts))
    if kind is Kind.DATE:
        return [read_date(text) for text in texts] if not format else list(map(date_reader(format), texts))
    return list(texts)


def offsets(values: Sequence[Value]) -> list[float]:
    """How far each of the sorted numbers (or dates, in days) lies above the first.

    The difference is exact and rounded once, so neither huge numbers nor huge ranges lose their order.
    """
    counts = [_count(value) for value in values]
    if all(isinstance(count, int) for count in counts):  # most are, and then it takes a third of the time
        return [float(count - counts[0]) for count in counts]
    numbers = [*map(Decimal, counts)]
    return [float(EXACT.subtract(number, numbers[0])) for number in numbers]


def _count(value: Value) -> Number:
    if isinstance(value, str):
        raise TypeError("texts lie at no distance from each other")
    return value.toordinal() if isinstance(value, date) else value


# Found out from the texts

TEXT = Reading(Kind.CATEGORICAL)


def reading_of(texts: Iterable[str], name: str = "") -> Reading | Ambiguous:
    """How a column is read, from all of its distinct texts that are not missing.

    One text that fits nothing, or that has the leading zero of a code, makes it text. The column's `name` can
    only raise a question (whole numbers in a column called date), never settle one.

    Examples
    --------
    >>> reading_of(["31/01/2012 00:00", "05/02/2012 00:00"]).words()
    'date dd/mm/yyyy, time 00:00 ignored'
    >>> reading_of(["01/02/2012"]).words()
    'day and month can be told apart in no value; say how it is read: {type = "date", format = "dd/mm/yyyy"}
    or {type = "date", format = "mm/dd/yyyy"}'
    >>> reading_of(["17", "-3.5"]).kind, reading_of(["01234", "90210"]).kind, reading_of(["2024-03-01"]).kind
    (<Kind.NUMERIC: 'numeric'>, <Kind.CATEGORICAL: 'categorical'>, <Kind.DATE: 'date'>)
    """
    known = texts if isinstance(texts, list) else list(texts)
    if not known or not _DIGIT.search(known[0]):
        return TEXT
    first = known[0]
    if read_date(first) is not None and all(read_date(text) is not None for text in known):
        return Reading(Kind.DATE)
    if _EIGHT.fullmatch(first) and (found := _eight_digits(known)):
        return found
    if read_number(first) is not None and not _codes(known) and None not in plain_numbers(known):
        return _plain(known, name)
    return _date(known) or _number(known) or TEXT


def _codes(texts: Sequence[str]) -> bool:
    return any(map(_CODE.match, texts))


def plain_numbers(texts: Sequence[str]) -> Sequence[Number | None]:
    """The numbers that plain texts say."""
    plain = _plain_integers(texts)
    return [read_number(text) for text in texts] if plain is None else plain


def _plain_integers(texts: Sequence[str]) -> list[int] | None:
    """The common case in one sweep: nothing but digits and minus signs. None if it is not that case.

    A minus sign in the wrong place is left for `int` to refuse; signs are the only thing it could meet.
    """
    digits = "".join(texts).replace("-", "")
    if not (digits.isascii() and digits.isdecimal()) or max(map(len, texts)) > MOST_DIGITS:
        return None
    try:
        return list(map(int, texts))
    except ValueError:
        return None


def _fits(read: Callable[[str], object], texts: Sequence[str]) -> bool:
    return all(read(text) is not None for text in texts)


def _plain(texts: Sequence[str], name: str) -> Reading | Ambiguous:
    """Numbers as they stand, unless they may be thousands, or days that are counted."""
    plain = Reading(Kind.NUMERIC)
    dotted = [text for text in texts if "." in text]
    if dotted and all(map(_THOUSANDS.fullmatch, dotted)):
        if all(_SMALL.fullmatch(text) for text in texts if "." not in text):
            ways = (Reading(Kind.NUMERIC, "1234.56"), Reading(Kind.NUMERIC, "1.234,56"))
            return Ambiguous(ways, "the dot may mark decimals or thousands")
        return plain
    for notation, why, holds in _COUNTS:
        if holds(texts, name):
            return Ambiguous((plain, Reading(Kind.DATE, notation)), why, Kind.NUMERIC)
    return plain


def _between(low: int, high: int, texts: Sequence[str]) -> bool:
    return all(text.isdecimal() and low <= int(text) < high for text in texts)


def _is_serial(texts: Sequence[str], name: str) -> bool:
    if not _NAME_OF_A_DATE.search(name):
        return False
    low, high = _SERIALS
    return all(low <= number < high for number in plain_numbers(texts) if number is not None)


_COUNTS: tuple[tuple[str, str, Callable[[Sequence[str], str], bool]], ...] = (
    (SECONDS, "the numbers may be seconds since 1970", lambda texts, _: _between(*_SECONDS, texts)),
    (
        MILLISECONDS,
        "the numbers may be milliseconds since 1970",
        lambda texts, _: _between(1000 * _SECONDS[0], 1000 * _SECONDS[1], texts),
    ),
    (EXCEL, "the numbers may be days as spreadsheets count them", _is_serial),
    (
        "yyyymm",
        "the numbers may be months",
        lambda texts, name: bool(_NAME_OF_A_DATE.search(name)) and all(map(_SIX.fullmatch, texts)),
    ),
)


def _eight_digits(texts: Sequence[str]) -> Reading | Ambiguous | None:
    """Digits that are a day of a likely year, each of them: hardly numbers. None if they may be numbers."""
    if not all(map(_EIGHT.fullmatch, texts)):
        return None

    def likely(notation: str) -> bool:
        days = (date_reader(notation)(text) for text in texts)
        return all(day is not None and day.year in _LIKELY_YEARS for day in days)

    if likely("yyyymmdd"):
        return Reading(Kind.DATE, "yyyymmdd")
    found = tuple(Reading(Kind.DATE, notation) for notation in ("ddmmyyyy", "mmddyyyy") if likely(notation))
    numeric = () if _codes(texts) else (Reading(Kind.NUMERIC),)
    return Ambiguous((*found, *numeric), "the digits may be a day") if found else None


def _date(texts: Sequence[str]) -> Reading | Ambiguous | None:
    """As dates; None if no notation fits every text."""
    may_be_timed = dates.split_time(texts[0]) or ":" in "".join(texts)
    parts = dates.split_times(texts) if may_be_timed else []
    timed = any(parts)
    days: Sequence[str] = texts
    if timed:
        met = (text if part is None else part[0] for text, part in zip(texts, parts, strict=True))
        days = list(dict.fromkeys(met))
    ending = TIME if timed else ""
    fitting = [way for way in dates.candidates(days[0]) if _fits(date_reader(way), days)]
    rare = [way for way in RARE if not fitting and _fits(date_reader(way), days)]
    ways = tuple(Reading(Kind.DATE, _ended(way, ending)) for way in (*fitting, *rare))
    if not ways:
        return None
    if open_ := _open_question(fitting, days):
        return Ambiguous(ways, open_)
    note, doubt = _clock([part and part[1:] for part in parts]) if timed else ("", "")
    if doubt:
        return Ambiguous(ways, doubt, day_is_certain=doubt == _TIMES_DIFFER)
    notes = [note, "published as the first day of the month" if "dd" not in fitting[0] else ""]
    return Reading(Kind.DATE, ways[0].notation, ", ".join(filter(None, notes)))


def _ended(notation: str, ending: str) -> str:
    day, sign, year = notation.partition(FROM)
    return f"{day}{ending}{sign}{year}"


def _open_question(fitting: Sequence[str], days: Sequence[str]) -> str:
    """What notations that fit leave open; nothing if there is one, and it guesses nothing."""
    if not fitting:
        return "day and month stand in an order that is not usual for these signs"
    if any(FROM in way for way in fitting):
        order = ", and the order of its parts" if len(fitting) > 1 else ""
        return f"two digits leave the century open{order} (the year is the first that they may mean)"
    if len(fitting) > 1:
        return "day and month can be told apart in no value"
    if fitting[0] in ("yyyy-mm", "yyyy/mm") and all(_is_next_year(day) for day in days):
        return "they may be months, or years that begin in one and end in the next"
    return ""


def _is_next_year(text: str) -> bool:
    return (int(text[2:4]) + 1) % 100 == int(text[5:])


def _clock(parts: Sequence[tuple[str, str] | None]) -> tuple[str, str]:
    """What to say of times of day that are ignored, or why they cannot be."""
    met = set(parts)
    zones = {part[1] for part in met if part is not None}
    if len(zones) > 1:
        return "", "the values are of several time zones"
    if len(met) > 1:
        return "", _TIMES_DIFFER
    ((time, zone),) = (part for part in met if part is not None)
    if time != _MIDNIGHT and zone:
        return "", "the time of day has a zone in which the day may be another"
    note = "time 00:00 ignored" if time == _MIDNIGHT else "time ignored, the same everywhere"
    return f"{note}, its zone too" if zone else note, ""


def _number(texts: Sequence[str]) -> Reading | Ambiguous | None:
    """As numbers in a notation other than the plain one; None if none fits every text."""
    if max(map(len, texts)) > MOST_DIGITS:
        return None
    fitting = [way for way in numbers.candidates(texts[0]) if all(map(numbers.fits(way), texts))]
    # Notations that fit the same texts mean the same, unless one's decimal sign is the other's thousands.
    points = {numbers.point_of(way): way for way in reversed(fitting)}
    if len(points) > 1 and not any("." in text or "," in text for text in texts):
        points = {"": fitting[0]}
    ways = tuple(Reading(Kind.NUMERIC, way) for way in sorted(points.values(), key=fitting.index))
    if not ways or _codes(texts):
        return None
    if len(ways) > 1:
        return Ambiguous(ways, "the comma or the dot may mark decimals or thousands")
    if _might_be_thousands(texts, numbers.point_of(ways[0].notation)):
        return Ambiguous(ways, "three digits after a comma or dot may be decimals, or thousands")
    return ways[0]


def _might_be_thousands(texts: Sequence[str], point: str) -> bool:
    """Do three digits follow every decimal sign, and no other sign says which it is?"""
    signs = {re.sub(r"[0-9]", "", text) for text in texts}
    after = [text.partition(point)[2] for text in texts if point in text] if point else []
    return bool(after) and signs <= {"", point} and all(len(digits) == 3 for digits in after)
