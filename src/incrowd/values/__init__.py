"""How a text becomes a value, exactly, and a text again: numbers as whole numbers or decimals, dates as days.

Two texts are one value if their canonical texts agree: ``1``, ``01`` and ``1.0`` are the number ``1``.
Nothing passes through a binary float on the way, so 0.1 stays one tenth and long numbers keep every digit.
"""

from __future__ import annotations

from incrowd.values.dates import ISO, read_date
from incrowd.values.numbers import EXACT, MOST_DIGITS, Number, number_text, read_number
from incrowd.values.reading import (
    Ambiguous,
    Reading,
    Value,
    canonical_format,
    escaped,
    format_problem,
    kind_of_format,
    offsets,
    plural,
    read_column,
    read_texts,
    reading_of,
    same_name,
    value_text,
)

__all__ = [
    "EXACT",
    "ISO",
    "MOST_DIGITS",
    "Ambiguous",
    "Number",
    "Reading",
    "Value",
    "canonical_format",
    "escaped",
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
    "same_name",
    "value_text",
]
