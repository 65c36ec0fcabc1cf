"""Numbers as texts write them: plainly, or with decimal commas, thousands separators, currencies, percent.

A notation is an example of how a number is written, from a closed list: one of the bodies below, alone, with
a currency before or after it, or with a percent sign: ``1.234,56 EUR``, ``$1,234.56``, ``1234,56%``.
Signs of currency and percent are dropped: 12 % is the number 12.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from functools import lru_cache

Number = int | Decimal

MOST_DIGITS = 40  # of a number as written, and of one written out without its exponent

EXACT = Context(prec=4 * MOST_DIGITS)  # holds every digit of any difference of two readable numbers

_NUMBER = re.compile(r"[+-]?(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?:[eE](?P<exponent>[+-]?[0-9]+))?")

_SPACES = "[ \u00a0\u2009\u202f]"  # as typed, and as spreadsheets and typesetters write it
_APOSTROPHES = "['’]"
_MINUS = "−"


def _body(group: str, point: str) -> str:
    """Digits in groups of three from the right (four may stand together, as in Spain), and decimals."""
    return rf"(?:[0-9]{{1,4}}|[0-9]{{1,3}}(?:{group}[0-9]{{3}})+)(?:{point}[0-9]+)?"


# How the digits are written. Simple ones first: of those that mean the same, the first is taken.
BODIES = {
    "1234.56": r"[0-9]+(?:\.[0-9]+)?",
    "1234,56": r"[0-9]+(?:,[0-9]+)?",
    "1,234.56": _body(",", r"\."),
    "1.234,56": _body(r"\.", ","),
    "1 234.56": _body(_SPACES, r"\."),
    "1 234,56": _body(_SPACES, ","),
    "1'234.56": _body(_APOSTROPHES, r"\."),
    "1'234,56": _body(_APOSTROPHES, ","),
    "12,34,567.89": r"(?:[0-9]{1,3}|[0-9]{1,2}(?:,[0-9]{2})*,[0-9]{3})(?:\.[0-9]+)?",
}
_SEPARATORS = str.maketrans(dict.fromkeys(".,\u00a0\u2009\u202f '’"))
_POINTS = {body: "," if body[-3] == "," else "." for body in BODIES}

SIGNS = (
    *("US$", "CA$", "AU$", "NZ$", "HK$", "R$", "S$", "C$", "A$", "$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₫"),
    *("₪", "₦", "₱", "฿", "₴", "zł", "Kč", "kr.", "kr", "Fr.", "Ft", "lei", "лв"),
)
_CODES = """
    AED ARS AUD BDT BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW
    MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR
"""
CODES = tuple(_CODES.split())
PERCENT = "%"

_CURRENCY = "|".join(re.escape(unit) for unit in (*SIGNS, *CODES))
_ANY_SPACE = f"{_SPACES}?"
_ANY_BODY = "|".join(map(re.escape, sorted(BODIES, key=len, reverse=True)))
_FORMAT = re.compile(
    rf"(?:(?P<before>{_CURRENCY}) ?)?(?P<body>{_ANY_BODY})"
    rf"(?: ?(?P<after>{_CURRENCY}|{PERCENT}))?"
)
# A cell, whatever its digits are like. The sign may stand on either side of the currency, but only once.
_CELL = re.compile(
    rf"[+{_MINUS}-]?(?:(?P<before>{_CURRENCY}){_ANY_SPACE})?[+{_MINUS}-]?[0-9][^A-Za-z%$]*?"
    rf"(?:{_ANY_SPACE}(?P<after>{_CURRENCY}|{PERCENT}))?"
)


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


def number_notation(format: str) -> str | None:
    """The notation that a policy's format names, or None if the list has none such.

    Examples
    --------
    >>> number_notation("1.234,56EUR"), number_notation("$ 1234.56"), number_notation("0,00")
    ('1.234,56 EUR', '$1234.56', None)
    """
    found = _FORMAT.fullmatch(format)
    if found is None or (found["before"] and found["after"]):
        return None
    return _written(found["before"] or "", found["body"], found["after"] or "")


def _written(before: str, body: str, after: str) -> str:
    gap = " " if before in CODES else ""
    return f"{before}{gap}{body}{after}" if after in ("", PERCENT) else f"{before}{gap}{body} {after}"


@lru_cache(maxsize=256)
def number_reader(notation: str) -> Callable[[str], Number | None]:
    """What reads texts of a notation (as `number_notation` gives it).

    Examples
    --------
    >>> read = number_reader("1.234,56 EUR")
    >>> read("1.234,50 EUR"), read("-12 EUR"), read("1.234,50"), read("1,234.50 EUR")
    (Decimal('1234.5'), -12, None, None)
    """
    found = _FORMAT.fullmatch(notation)
    if found is None:
        raise ValueError("not a notation of the list")
    body, before, after = found["body"], found["before"], found["after"]
    cell = _pattern(before, body, after)
    point = _POINTS[body]

    def read(text: str) -> Number | None:
        met = cell.fullmatch(text)
        if met is None:
            return None
        before, inner, written = met.groups()
        if before and inner:
            return None
        whole, _, part = written.partition(point)
        sign = "-" if (before or inner) in (_MINUS, "-") else ""
        digits = whole.translate(_SEPARATORS)
        return read_number(f"{sign}{digits}.{part}" if part else sign + digits)

    return read


def _pattern(before: str | None, body: str, after: str | None) -> re.Pattern[str]:
    """Two signs, of which one at most may be there, and the digits."""
    start = rf"{re.escape(before)}{_ANY_SPACE}" if before else ""
    end = rf"{_ANY_SPACE}{re.escape(after)}" if after else ""
    return re.compile(rf"([+{_MINUS}-]?){start}([+{_MINUS}-]?)({BODIES[body]}){end}")


@lru_cache(maxsize=256)
def fits(notation: str) -> Callable[[str], object]:
    """What says, quicker than by reading, whether a text is of a notation: its match, or None."""
    found = _FORMAT.fullmatch(notation)
    if found is None:
        raise ValueError("not a notation of the list")
    once = "" if found["before"] else "(?![+−-]{2})"
    pattern = _pattern(found["before"], found["body"], found["after"]).pattern
    sign = "" if not found["before"] else rf"(?![+−-]{re.escape(found['before'])}{_ANY_SPACE}[+−-])"
    return re.compile(once + sign + pattern).fullmatch


def point_of(notation: str) -> str:
    """The sign before the decimals."""
    found = _FORMAT.fullmatch(notation)
    return "." if found is None else _POINTS[found["body"]]


def candidates(text: str) -> Iterator[str]:
    """The notations that read a text, other than the plain one."""
    found = _CELL.fullmatch(text)
    if found is None or (found["before"] and found["after"]):
        return
    before, after = found["before"] or "", found["after"] or ""
    for body in BODIES:
        notation = _written(before, body, after)
        if number_reader(notation)(text) is not None:
            yield notation
