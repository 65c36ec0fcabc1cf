"""How a text becomes a value, exactly: numbers as whole numbers or decimals, dates as days.

Two texts are one value if their canonical texts agree: ``1``, ``01`` and ``1.0`` are the number ``1``.
Nothing passes through a binary float on the way, so 0.1 stays one tenth and long numbers keep every digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Context, Decimal

from incrowd.errors import PolicyError, TableError
from incrowd.schema import Kind

Number = int | Decimal
Value = int | Decimal | date | str

MOST_DIGITS = 40  # of a number as written, and of one written out without its exponent

EXACT = Context(prec=4 * MOST_DIGITS)  # holds every digit of any difference of two readable numbers

_NUMBER = re.compile(r"[+-]?(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?:[eE](?P<exponent>[+-]?[0-9]+))?")
_CODE = re.compile(r"[+-]?0[0-9]")  # how a postal code starts and a number does not
_DIRECTIVE = re.compile(r"%(.)", re.DOTALL)
_WHOLE_DAYS = ({"Y", "m", "d"}, {"Y", "b", "d"}, {"Y", "B", "d"}, {"Y", "j"})
_DECORATION = {"a", "A", "%"}


def read_number(text: str) -> Number | None:
    """The exact number that a text says, or None if it is not the text of a number.

    Signs, leading zeros, decimals and an exponent are read. Not a number, infinity, blanks, grouped
    thousands and numbers of more than 40 digits (written out, so 1e39 is the last power of ten) are not.

    Examples
    --------
    >>> read_number("01"), read_number("-1.50"), read_number("1e3"), read_number("1,000")
    (1, Decimal('-1.5'), 1000, None)
    """
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    whole, part, exponent = found["whole"], found["part"] or "", found["exponent"] or "0"
    if not 1 <= len(whole) + len(part) <= MOST_DIGITS or len(exponent.lstrip("+-0")) > 2:
        return None
    shift = int(exponent)
    if max(len(whole) + shift, 1) + max(len(part) - shift, 0) > MOST_DIGITS:
        return None  # its canonical text could not be read again
    number = Decimal(text).normalize(EXACT)
    return int(number) if number == number.to_integral_value() else number


def number_text(number: Number) -> str:
    """The one canonical text of a number: no exponent, no sign of zero, no trailing zeros.

    Examples
    --------
    >>> [number_text(Decimal(text)) for text in ("1.0", "-0", "1e3", "1.50")]
    ['1', '0', '1000', '1.5']
    """
    if isinstance(number, int):
        return str(number)
    return format(number.normalize(EXACT), "f") if number else "0"


def read_date(text: str, format: str = "") -> date | None:
    """The day that a text says, or None. An empty format means ISO, YYYY-MM-DD; a time of day is refused.

    Examples
    --------
    >>> read_date("2024-02-29"), read_date("2024-02-29 10:00"), read_date("1.3.2024", "%d.%m.%Y")
    (datetime.date(2024, 2, 29), None, datetime.date(2024, 3, 1))
    """
    try:
        if format:
            return datetime.strptime(text, format).date()
        if len(text) == 10 and text[4] == text[7] == "-":  # fromisoformat alone would also take week dates
            return date.fromisoformat(text)
    except ValueError:
        pass
    return None


def check_date_format(format: str, column: str) -> None:
    """Refuse a format that says less than a day (a part would be made up) or more (it would be lost)."""
    directives = [found for found in _DIRECTIVE.findall(format) if found not in _DECORATION]
    once = len(set(directives)) == len(directives)
    if format and not (once and set(directives) in _WHOLE_DAYS):
        raise PolicyError(
            f"the date format of {column} must give year, month and day and nothing else, as "
            "%d.%m.%Y does (%y leaves the century open); for anything else say type = categorical"
        )


def value_text(value: Value) -> str:
    """The canonical text of any value; of a date, its ISO form."""
    if isinstance(value, str):
        return value
    return value.isoformat() if isinstance(value, date) else number_text(value)


def infer_kind(texts: Iterable[str]) -> Kind:
    """What a column holds, from all of its distinct texts that are not missing.

    One text that is no number, or that has the leading zero of a code, makes the column categorical.

    Examples
    --------
    >>> infer_kind(["17", "-3.5"]), infer_kind(["01234", "90210"]), infer_kind(["2024-03-01"])
    (<Kind.NUMERIC: 'numeric'>, <Kind.CATEGORICAL: 'categorical'>, <Kind.DATE: 'date'>)
    """
    known = list(texts)
    if not known:
        return Kind.CATEGORICAL
    if read_date(known[0]) is not None:
        is_date = all(read_date(text) is not None for text in known)
        return Kind.DATE if is_date else Kind.CATEGORICAL
    if read_number(known[0]) is None or any(_CODE.match(text) for text in known):
        return Kind.CATEGORICAL
    return Kind.NUMERIC if None not in _numbers(known) else Kind.CATEGORICAL


def read_column(texts: Sequence[str], kind: Kind, format: str = "", column: str = "") -> list[Value]:
    """The values of distinct texts, in their order; an error counts those that are not of this kind."""
    if kind is Kind.DATE:
        check_date_format(format, column)
    values = read_texts(texts, kind, format)
    unread = sum(value is None for value in values)
    if unread:
        what = "numbers" if kind is Kind.NUMERIC else f"dates ({format or 'YYYY-MM-DD'})"
        raise TableError(
            f"{column} is declared {kind}, but {unread} of its {len(values)} distinct values are no {what}; "
            "list those that mean missing under 'missing', or declare the column categorical"
        )
    return [value for value in values if value is not None]


def read_texts(texts: Sequence[str], kind: Kind, format: str = "") -> list[Value | None]:
    """Every text's value, or None where it has none. Columns without numbers or dates are their texts."""
    if kind is Kind.NUMERIC:
        return list(_numbers(texts))
    if kind is Kind.DATE:
        return [read_date(text, format) for text in texts]
    return list(texts)


def _numbers(texts: Sequence[str]) -> Sequence[Number | None]:
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


def offsets(values: Sequence[Value]) -> list[float]:
    """How far each of the sorted numbers (or dates, in days) lies above the first.

    The difference is exact and rounded once, so neither huge numbers nor huge ranges lose their order.
    """
    numbers = [Decimal(_count(value)) for value in values]
    return [float(EXACT.subtract(number, numbers[0])) for number in numbers]


def _count(value: Value) -> Number:
    if isinstance(value, str):
        raise TypeError("texts lie at no distance from each other")
    return value.toordinal() if isinstance(value, date) else value
