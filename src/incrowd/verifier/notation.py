"""How a policy says that numbers and dates are written, read by the verifier's own hand.

A notation of numbers is an example (``1.234,56 EUR``): what stands around its digits is the currency, what
stands before its last two digits is the decimal sign, any other sign parts thousands. A notation of dates is
a row of parts (``dd/mm/yyyy``), perhaps with `` time`` (ignored) and `` from 1930`` (what two digits mean).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from string import ascii_letters

from incrowd.verifier.failure import CheckFailed, require

DIGITS = frozenset("0123456789")
MINUS = "-−"
NAMES = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december"),
)
MONTHS = {short: i for i, name in enumerate(NAMES, 1) for short in (name, name[:3])} | {"sept": 9}
ORDINALS = ("st", "nd", "rd", "th")
HALVES = ("am", "pm", "a.m.", "p.m.", "a.m", "p.m", "am.", "pm.")
COUNTED = {
    "Excel serial": (datetime(1899, 12, 30), 1),
    "Unix seconds": (datetime(1970, 1, 1), 86_400),
    "Unix milliseconds": (datetime(1970, 1, 1), 86_400_000),
}
LAST_WRONG_SERIAL = 60  # Excel's 29 February 1900, which never was: earlier ones are a day off
NO_NUMBER, NO_DATE = "a text is not a number in the notation of its column", "a text is not a date"


def number_in(notation: str, text: str) -> Fraction:
    """The number that a text says in a notation.

    Examples
    --------
    >>> number_in("1.234,56 EUR", "-1.234,5 EUR"), number_in("$1,234.56", "$7")
    (Fraction(-2469, 2), Fraction(7, 1))
    """
    before, sample, after = _sample(notation)
    plain = text
    for blank in "\u00a0\u2009\u202f":
        plain = plain.replace(blank, " ")
    plain = plain.replace("’", "'")
    sign, plain = _sign(plain)
    require(plain.startswith(before), NO_NUMBER)
    plain = plain[len(before) :].removeprefix(" " if before else "")
    inner, plain = _sign(plain)
    require(not (sign and inner) and plain.endswith(after), NO_NUMBER)
    plain = plain[: len(plain) - len(after)].removesuffix(" " if after else "")
    size = _amount(sample, plain)
    return -size if (sign or inner) in tuple(MINUS) else size


def _sample(notation: str) -> tuple[str, str, str]:
    """What stands before the digits of an example, the digits with their signs, and what follows."""
    places = [place for place, char in enumerate(notation) if char in DIGITS]
    require(len(places) >= 6, "the notation of a column is not known")
    first, last = places[0], places[-1] + 1
    return notation[:first].strip(), notation[first:last], notation[last:].strip()


def _sign(text: str) -> tuple[str, str]:
    return (text[0], text[1:]) if text[:1] in ("+", *MINUS) else ("", text)


def _amount(sample: str, text: str) -> Fraction:
    point = sample[-3]
    group = next((char for char in sample[:-3] if char not in DIGITS), "")
    whole, found, part = text.partition(point)
    require(bool(whole) and bool(part) == bool(found), NO_NUMBER)
    pieces = whole.split(group) if group else [whole]
    step = 2 if group and sample.count(group) > 1 else 3  # 2 in 12,34,567.89
    if group and len(pieces) == 1:
        require(len(whole) <= (4 if step == 3 else 3), NO_NUMBER)
    if len(pieces) > 1:
        inside = all(len(piece) == step for piece in pieces[1:-1])
        require(1 <= len(pieces[0]) <= step and inside and len(pieces[-1]) == 3, NO_NUMBER)
    digits = "".join(pieces) + part
    require(0 < len(digits) <= 60 and DIGITS.issuperset(digits), NO_NUMBER)
    return Fraction(int(digits), 10 ** len(part))


def day_in(notation: str, text: str) -> datetime:
    """The day that a text says in a notation.

    Examples
    --------
    >>> day_in("dd/mm/yyyy time", "3/2/2012 11:59 PM"), day_in("Mon dd, yy from 1930", "Sept 3rd, 31")
    (datetime.datetime(2012, 2, 3, 0, 0), datetime.datetime(1931, 9, 3, 0, 0))
    """
    try:
        if notation in COUNTED:
            return _counted(*COUNTED[notation], text, notation.startswith("Excel"))
        layout, _, first = notation.partition(" from ")
        timed = layout.endswith(" time")
        layout = layout.removesuffix(" time")
        days = (_day(layout, int(first or "0"), day) for day in (_without_clock(text) if timed else [text]))
        day = next((day for day in days if day is not None), None)
    except (ValueError, OverflowError):
        day = None
    if day is None:
        raise CheckFailed(NO_DATE)
    return day


def _counted(zero: datetime, unit: int, text: str, fractions: bool) -> datetime:
    whole, _, part = text.partition(".")
    require(DIGITS.issuperset(whole + part) and (fractions or whole == text), NO_DATE)
    require(not fractions or int(whole) > LAST_WRONG_SERIAL, NO_DATE)
    return zero + timedelta(int(whole) // unit)


@lru_cache(maxsize=256)
def _parts(layout: str) -> tuple[str, ...]:
    """A layout cut into parts and single signs: dd, /, mm, /, yyyy."""
    parts, rest = [], layout
    while rest:
        part = next((p for p in ("yyyy", "yy", "mm", "dd", "Mon") if rest.startswith(p)), rest[0])
        parts.append(part)
        rest = rest[len(part) :]
    return tuple(parts)


def _day(layout: str, first: int, text: str) -> datetime | None:
    """Go through text and layout side by side."""
    parts, said, rest = _parts(layout), {"dd": 1}, text
    tight = all(part in ("yyyy", "yy", "mm", "dd") for part in parts)
    for part in parts:
        if part == "Mon":
            length = next((place for place, char in enumerate(rest) if char not in ascii_letters), len(rest))
            name, rest = rest[:length].lower(), rest[length:]
            if name not in MONTHS:
                return None
            said["mm"] = MONTHS[name]
            rest = rest.removeprefix(".") if len(name) == 3 or name == "sept" else rest
        elif part in ("yyyy", "yy", "mm", "dd"):
            length = len(part) if tight or part[0] == "y" else _run(rest)
            if not (0 < length <= len(part) and len(rest) >= length and DIGITS.issuperset(rest[:length])):
                return None
            said[part], rest = int(rest[:length]), rest[length:]
            if part == "dd" and "Mon" in parts and rest[:2].lower() in ORDINALS:
                rest = rest[2:]
        else:
            if not rest.startswith(part):
                return None
            rest = rest[1:]
    if rest:
        return None
    year = (
        said["yyyy"]
        if "yyyy" in said
        else next(y for y in range(first, first + 100) if y % 100 == said["yy"])
    )
    return datetime(year, said["mm"], said["dd"])


def _run(text: str) -> int:
    """How many digits a text begins with."""
    return next((place for place, char in enumerate(text) if char not in DIGITS), len(text))


def _without_clock(text: str) -> Iterator[str]:
    """What may be left of a text without its time of day; at last all of it.

    There may be several: the t of August looks like one that begins a time.
    """
    for place, char in enumerate(text):
        if char in "Tt " and place >= 4 and _is_clock(text[place + 1 :], text[place - 1 : place + 1]):
            yield text[:place]
    yield text


def _is_clock(text: str, gap: str) -> bool:
    """Is it hh:mm, hh:mm:ss or (after a digit and a T) hhmmss, perhaps with AM or PM and a zone?"""
    clock = _without_zone(text.removeprefix(" ").lower())
    half = next(
        (word for word in ("am", "pm", "a.m.", "p.m.", "a.m", "p.m", "am.", "pm.") if clock.endswith(word)),
        "",
    )
    clock = clock.removesuffix(half).removesuffix(" " if half else "")
    pieces = clock.split(":")
    tight = gap[0] in DIGITS and gap[1] in "Tt" and text[:1] != " "
    if len(pieces) == 1 and tight and len(clock) in (4, 6):
        pieces = [clock[i : i + 2] for i in range(0, len(clock), 2)]
    if not 2 <= len(pieces) <= 3 or not pieces[0]:
        return False
    whole, dot, fraction = pieces[-1].replace(",", ".").partition(".")
    exact = len(pieces) == 3 and ":" in clock and 0 < len(fraction) <= 9 and DIGITS.issuperset(fraction)
    if dot and not exact:
        return False
    numbers = [*pieces[:-1], whole]
    if not all(0 < len(n) <= 2 and DIGITS.issuperset(n) for n in numbers) or any(
        len(n) != 2 for n in numbers[1:]
    ):
        return False
    hour, minute, second = (*map(int, numbers), 0)[:3]
    return (1 <= hour <= 12 if half else hour <= 23) and minute <= 59 and second <= 60


def _without_zone(clock: str) -> str:
    for word in ("utc", "gmt", "z"):
        if clock.endswith(word):
            return clock.removesuffix(word).removesuffix(" ")
    place = max(clock.rfind("+"), clock.rfind("-"))
    offset = clock[place + 1 :]
    offset = offset[:2] + offset[3:] if offset[2:3] == ":" and len(offset) == 5 else offset
    if place > 0 and len(offset) in (2, 4) and DIGITS.issuperset(offset):
        return clock[:place].removesuffix(" ")
    return clock
