"""Questions about the table itself: some rows, and what each column is and why it is read so."""

from __future__ import annotations

import re
from typing import Any

from incrowd.commands.inspect.profile import ColumnProfile
from incrowd.schema import Kind
from incrowd.studio.questions.open_table import OpenTable
from incrowd.values import read_number

LONGEST_CELL = 200
EXAMPLES = 3
WORDS = "Its values are words, not numbers or dates."
DIGITS = "Its values are texts, some with digits: none is a plain number, nor are they dates written alike."
CODES = "Its values are digits, but they number or code things: they are not added up."
_DIGIT = re.compile("[0-9]")
# Lines that look like numbers, and which of them surely are: to read each text takes ten times as long.
_SHAPE = re.compile(r"^[+-]?[0-9]*+\.?[0-9]*+(?:[eE][+-]?[0-9]++)?$", re.MULTILINE)
_SURELY = re.compile(r"[+-]?[0-9]{1,20}+(?:\.[0-9]{1,20}+)?")


def rows(opened: OpenTable, start: int, count: int, columns: tuple[int, int]) -> list[list[str | None]]:
    """Some rows as they are in the file, of the columns from one place to another."""
    shown = opened.table.columns[columns[0] : columns[1]]
    parts = [
        [_short(column.texts[code]) for code in column.codes[start : start + count].tolist()]
        for column in shown
    ]
    return [list(row) for row in zip(*parts, strict=True)]


def _short(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…"


def columns(opened: OpenTable) -> list[dict[str, Any]]:
    """Every column as `inspect` sees it, before any policy."""
    if "columns" not in opened.remembered:
        opened.remembered["columns"] = [_column(opened, column) for column in opened.profile.columns]
    found: list[dict[str, Any]] = opened.remembered["columns"]
    return found


def _column(opened: OpenTable, found: ColumnProfile) -> dict[str, Any]:
    return {
        "name": found.name,
        "kind": str(found.kind),
        "distinct": found.distinct,
        "missing": found.missing,
        "once": found.once,
        "suggested": str(found.role),
        "reason": found.reason,
        "format": found.format,
        "note": found.note,
        "readings": list(found.readings),
        "why": why_this_kind(opened, found),
        "hierarchy": dict(found.hierarchy),
    }


def why_this_kind(opened: OpenTable, found: ColumnProfile) -> str:
    """How the kind follows from the values, in a sentence with counts and no value."""
    if found.readings:
        return f"{found.note[:1].upper()}{found.note[1:]}. Until you say, it is taken as written."
    if found.kind is Kind.NUMERIC:
        how = f", written {found.format}" if found.format else ""
        return f"All {found.distinct:,} distinct values are numbers{how}."
    if found.kind is Kind.DATE:
        return f"All {found.distinct:,} distinct values are dates, written {found.format or 'yyyy-mm-dd'}."
    markers = {"", None, *opened.profile.missing}
    column = opened.table.column(found.name)
    texts = [text for text in column.texts if text is not None and text not in markers]
    signs = "".join(texts)
    if not _DIGIT.search(signs):
        return WORDS
    others = 0 if signs.isascii() and signs.isdecimal() else _no_numbers(texts, signs)
    if not others:
        return CODES
    if others == len(texts):
        return DIGITS
    what = "is not a number" if others == 1 else "are not numbers"
    return f"{others:,} of {len(texts):,} distinct values {what}."


def _no_numbers(texts: list[str], signs: str) -> int:
    """How many texts are no plain numbers; all are looked at in one sweep, since there can be a million."""
    if "\n" in signs:
        return sum(read_number(text) is None for text in texts)
    alike = _SHAPE.findall("\n".join(texts))
    return len(texts) - sum(bool(_SURELY.fullmatch(text)) or read_number(text) is not None for text in alike)


def examples(opened: OpenTable, column: str, count: int = EXAMPLES) -> list[str]:
    """The first distinct values of a column that do not mean missing."""
    markers = {"", None, *opened.profile.missing}
    found: list[str] = []
    for text in opened.table.column(column).texts:
        if text is not None and text not in markers:
            found.append(text if len(text) <= 40 else f"{text[:40]}…")
        if len(found) == count:
            break
    return found


def missing(opened: OpenTable, markers: list[str]) -> dict[str, Any]:
    """How many cells of each column say one of these texts; and the markers that `inspect` proposes."""
    wanted = {*markers, None}
    counts = {}
    for name, column in zip(opened.table.names, opened.table.columns, strict=True):
        codes = [code for code, text in enumerate(column.texts) if text in wanted]
        counts[name] = int(sum((column.codes == code).sum() for code in codes))
    return {"counts": counts, "proposed": list(opened.profile.missing)}


QUESTIONS = {"rows": rows, "columns": columns, "examples": examples, "missing": missing}
