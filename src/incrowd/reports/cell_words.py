"""A published cell in words: how to read one, and what a typical one of a column looks like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from incrowd.cells import atoms, range_ends, unescaped
from incrowd.flow import TextColumn
from incrowd.measures.counted import TextCounts, text_counts
from incrowd.schema import EVERYTHING, MISSING
from incrowd.values import Number, read_date, read_number

NAMED = 5  # members of a set that are named; of the others it is said how many there are
_MONTH, _YEAR = 30.436875, 365.2425  # days, on average


def cell_words(cell: str, shape: str) -> str:
    r"""How to read a cell of a quasi-identifier.

    Examples
    --------
    >>> cell_words("[20,40]", "range"), cell_words("30", "range"), cell_words("{missing|[20,40]}", "range")
    ('from 20 to 40', 'exactly this value', 'missing, or from 20 to 40')
    >>> cell_words("{F|M}", "set"), cell_words("041__", "node"), cell_words("*", "set")
    ('one of 2 values: F, M', 'a value under this label, or of this name', 'any value')
    """
    if cell == EVERYTHING:
        return "any value"
    found = atoms(cell)
    real = [atom for atom in found if atom != MISSING]
    if not real:
        return "the value is missing"
    return f"missing, or {_real_words(real, shape)}" if len(real) < len(found) else _real_words(real, shape)


def _real_words(real: Sequence[str], shape: str) -> str:
    if len(real) > 1:
        more = f" and {len(real) - NAMED:,} more" if len(real) > NAMED + 1 else ""
        named = real if not more else real[:NAMED]
        return f"one of {len(real):,} values: {', '.join(map(unescaped, named))}{more}"
    if ends := range_ends(real[0]):
        return f"from {ends[0][0]} to {ends[0][1]}"
    if shape == "node":
        return "a value under this label, or of this name"
    plain = unescaped(real[0])
    return "exactly this value" if plain == real[0] else f"exactly {plain}"


def shown_cell(cell: str) -> str:
    r"""A cell as people read it: without escapes, and of a large set only the first members.

    Examples
    --------
    >>> shown_cell("{a|b|c|d|e|f|g|h}"), shown_cell("[20,40]"), shown_cell(r"\[70-80)")
    ('{a|b|c|d|e|… 3 more}', '[20,40]', '[70-80)')
    """
    found = [unescaped(atom) for atom in atoms(cell)]
    if len(found) == 1:
        return found[0]
    more = [f"… {len(found) - NAMED:,} more"] if len(found) > NAMED + 1 else []
    return "{" + "|".join([*(found[:NAMED] if more else found), *more]) + "}"


def typical_cell(
    column: TextColumn | TextCounts,
    about: Mapping[str, Any],
    widths: Sequence[float | None],
    covered: Sequence[int] | None = None,
) -> str:
    """What the cell in the middle looks like: half of the rows have one that is no wider.

    `about` has the column's shape, kind, and how many values there are; `widths` are those of the column's
    texts (what is not known counts as narrow), `covered` is how many values each covers, where that is known.
    Of cells of one width the most frequent is the example.

    Examples
    --------
    >>> ages = TextColumn(np.array([0, 0, 1], np.int32), ("[20,27]", "*"))
    >>> typical_cell(ages, {"shape": "range", "kind": "numeric", "values": 0}, [0.1, 1.0])
    'a range of 7, such as [20,27]'
    """
    counts = text_counts(column)
    if not counts.sum():
        return ""
    known = np.array([-1.0 if width is None else width for width in widths])
    order = np.argsort(known, kind="stable")
    half = np.searchsorted(np.cumsum(counts[order]), (counts.sum() + 1) // 2)
    alike = [code for code in np.flatnonzero(known == known[order[half]]).tolist() if counts[code]]
    code = min(alike, key=lambda code: (-counts[code], column.texts[code] or ""))
    return _typical_words(column.texts[code] or "", about, None if covered is None else covered[code])


def _typical_words(cell: str, about: Mapping[str, Any], covered: int | None) -> str:
    if cell == EVERYTHING:
        return "nothing is left: *"
    found = atoms(cell)
    real = [atom for atom in found if atom != MISSING]
    such = f"such as {shown_cell(cell)}"
    if real and (ends := range_ends(real[0])):
        return f"{_extent(*ends[0], str(about['kind']))}, {such}"
    if len(found) > 1:
        of = f" of {about['values']:,}" if about["values"] else ""
        return f"a set of {len(found):,}{of} values, {such}"
    if about["shape"] != "node":
        return f"the value itself, {such}"
    if covered is None:
        return f"a value or label, {such}"
    return f"the value itself, {such}" if covered == 1 else f"a label over {covered:,} values, {such}"


def _extent(low: str, high: str, kind: str) -> str:
    """How long a range is, in the column's unit; of dates in days, months or years.

    Examples
    --------
    >>> _extent("20", "27", "numeric"), _extent("2024-01-01", "2024-12-31", "date")
    ('a range of 7', 'a range of about 12 months')
    """
    ends: list[Number | date | None] = [_value(text, kind) for text in (low, high)]
    if isinstance(ends[0], date) and isinstance(ends[1], date):
        days = (ends[1] - ends[0]).days
        if days <= 60:
            return f"a range of {days} days"
        if days < 2 * _YEAR:
            return f"a range of about {round(days / _MONTH)} months"
        return f"a range of about {round(days / _YEAR):,} years"
    if ends[0] is None or ends[1] is None or isinstance(ends[0], date) or isinstance(ends[1], date):
        return "a range"
    return f"a range of {ends[1] - ends[0]:,}"


def _value(text: str, kind: str) -> Number | date | None:
    if kind == "date":
        return read_date(text)
    return read_number(text) if kind == "numeric" else None
