"""How a text becomes a value, exactly: numbers as whole numbers or decimals, dates as days.

Two texts are one value if their canonical texts agree: ``1``, ``01`` and ``1.0`` are the number ``1``.
Nothing passes through a binary float on the way, so 0.1 stays one tenth and long numbers keep every digit.
How a whole column is read, and when somebody must be asked, is decided in `incrowd.values.reading`.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from incrowd.errors import PolicyError, TableError
from incrowd.schema import Kind
from incrowd.values.dates import (
    COUNTED,
    DAYS,
    FROM,
    ISO,
    MONTHS,
    SHORT_YEARS,
    STATED_DAYS,
    STATED_SHORT,
    TIME,
    date_reader,
    is_date_notation,
    read_date,
)
from incrowd.values.numbers import (
    BODIES,
    EXACT,
    MOST_DIGITS,
    Number,
    number_notation,
    number_reader,
    number_text,
    read_number,
)
from incrowd.values.reading import Ambiguous, Reading, plain_numbers, reading_of

__all__ = [
    "EXACT",
    "ISO",
    "MOST_DIGITS",
    "Ambiguous",
    "Number",
    "Reading",
    "Value",
    "canonical_format",
    "format_problem",
    "kind_of_format",
    "number_text",
    "offsets",
    "plural",
    "read_column",
    "read_date",
    "read_number",
    "read_texts",
    "reading_of",
    "value_text",
]

Value = int | Decimal | date | str


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
    if not format or (number_notation(format) if kind is Kind.NUMERIC else is_date_notation(format)):
        return ""
    if kind is Kind.NUMERIC:
        return (
            f"has a format that is not a known notation of numbers; write one of {', '.join(BODIES)}, if "
            "need be with a currency or a percent sign, such as 1.234,56 EUR"
        )
    return f"has a format that is not a known notation of dates{_probably(format)}"


def _probably(format: str) -> str:
    """What may have been meant."""
    if format.removesuffix(TIME) in SHORT_YEARS + STATED_SHORT:
        return (
            f": two digits leave the century open; say from which year on, as in {format.removesuffix(TIME)}"
            f"{TIME if format.endswith(TIME) else ''}{FROM}1930, which reads the years 1930 to 2029"
        )
    known = DAYS + MONTHS + STATED_DAYS + COUNTED
    near = difflib.get_close_matches(format, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{hint}; write it with dd, mm, yyyy and Mon, such as dd.mm.yyyy (docs/reading.md has the list)"


def value_text(value: Value) -> str:
    """The canonical text of any value; of a date, its ISO form."""
    if isinstance(value, str):
        return value
    return value.isoformat() if isinstance(value, date) else number_text(value)


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
    numbers = [Decimal(_count(value)) for value in values]
    return [float(EXACT.subtract(number, numbers[0])) for number in numbers]


def _count(value: Value) -> Number:
    if isinstance(value, str):
        raise TypeError("texts lie at no distance from each other")
    return value.toordinal() if isinstance(value, date) else value
