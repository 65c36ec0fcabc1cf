"""What a column's texts mean: exact numbers, dates, and the tree of a generalization hierarchy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import count, pairwise
from typing import Any

from incrowd.schema import EVERYTHING, Column, Kind
from incrowd.verifier.failure import CheckFailed, require
from incrowd.verifier.notation import day_in, number_in

_NUMBER = re.compile(r"[+-]?([0-9]{1,60}(\.[0-9]{0,60})?|\.[0-9]{1,60})([eE][+-]?[0-9]{1,2})?")


def number(text: str) -> int | Fraction:
    """The exact number that a text stands for.

    Examples
    --------
    >>> number("0.1") + number("2e-1") == number("0.3")
    True
    """
    require(_NUMBER.fullmatch(text) is not None, "a text is not a number")
    return int(text) if text.isdigit() else Fraction(text)


def value(column: Column, text: str) -> Any:
    """What a text of the column means; equal meanings are equal, and sort in the column's order."""
    if column.kind is Kind.NUMERIC:
        return number_in(column.format, text) if column.format else number(text)
    if column.kind is Kind.ORDERED:
        require(text in column.order, "a value is not listed in the order of the column")
        return column.order.index(text)
    if column.kind is Kind.DATE:
        return day_in(column.format, text) if column.format else _moment(text)
    return text


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise CheckFailed("a text is not a date") from None


def places(value: int | Fraction) -> int:
    """How many decimal places a number needs, one for 1.50."""
    return next(places for places in count() if (value * 10**places).denominator == 1)


def decimal_text(value: int | Fraction, places: int) -> str:
    """A number with so many decimal places, rounded half to even.

    Examples
    --------
    >>> decimal_text(Fraction(-1, 40), 2), decimal_text(7, 0)
    ('-0.02', '7')
    """
    units: int = round(value * 10**places)
    digits = f"{abs(units):0{places + 1}d}"
    sign = "-" if units < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else sign + digits


def written(meaning: object) -> str:
    """The one text of what `value` gives: a decimal without exponent or needless zeros, a day, or a text."""
    if isinstance(meaning, int | Fraction):
        return decimal_text(meaning, places(meaning))
    return str(meaning.date()) if isinstance(meaning, datetime) else str(meaning)


@dataclass(frozen=True, slots=True)
class HierarchyTree:
    """A hierarchy with its leaves in depth-first order, so that every node is a span of leaves.

    ``leaf[text]`` is a leaf's place, ``span[label]`` the first and last leaf under a label, and
    ``starts[h]`` the first leaves of the nodes h levels up. ``root`` is the label of the top;
    ``above[label]`` is the next one above another.
    """

    leaf: dict[str, int]
    span: dict[str, tuple[int, int]]
    starts: tuple[tuple[int, ...], ...]
    root: str
    above: dict[str, str]

    @property
    def height(self) -> int:
        return len(self.starts) - 1


def tree_of(levels: Sequence[Sequence[str]]) -> HierarchyTree:
    """Read the rows of a hierarchy (leaf first, top last).

    Examples
    --------
    >>> tree_of([("a", "x"), ("b", "y"), ("c", "x")]).span["x"]
    (0, 1)
    """
    rows = [tuple(row) for row in levels]
    require(len(set(map(len, rows))) == 1, "the hierarchy has rows of different lengths")
    if len({row[-1] for row in rows}) > 1 or len(rows[0]) == 1:
        rows = [(*row, EVERYTHING) for row in rows]
    require(len({row[0] for row in rows}) == len(rows), "the hierarchy has the same leaf twice")
    rows = _depth_first(rows)
    spans = _spans(rows)
    starts = tuple(
        tuple(sorted({low for (level, _), (low, _) in spans.items() if level == height}))
        for height in range(len(rows[0]))
    )
    called = _names(spans)
    names = {called[key]: span for key, span in spans.items()}
    top = rows[0][-1]
    levelled = f"{top} (level {len(rows[0]) - 1})"
    root = levelled if levelled in names else top
    ways = [[called[key] for key in enumerate(row)] for row in rows]
    above = {low: high for way in ways for low, high in pairwise(way) if low != high}
    return HierarchyTree({row[0]: place for place, row in enumerate(rows)}, names, starts, root, above)


def _depth_first(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    parent: dict[tuple[int, str], str] = {}
    met: dict[tuple[int, str], int] = {}
    for row in rows:
        for level, label in enumerate(row):
            met.setdefault((level, label), len(met))
            above = row[level + 1] if level + 1 < len(row) else ""
            require(
                parent.setdefault((level, label), above) == above,
                "the hierarchy is not a tree: a label has two parents",
            )
    return sorted(rows, key=lambda row: [met[level, row[level]] for level in reversed(range(len(row)))])


def _spans(rows: list[tuple[str, ...]]) -> dict[tuple[int, str], tuple[int, int]]:
    spans: dict[tuple[int, str], tuple[int, int]] = {}
    for place, row in enumerate(rows):
        for level, label in enumerate(row):
            spans[level, label] = (spans.get((level, label), (place, 0))[0], place)
    return spans


def _names(spans: dict[tuple[int, str], tuple[int, int]]) -> dict[tuple[int, str], str]:
    """Labels as they are published, by level: one that means two things says it, unless it is a leaf."""
    meanings: dict[str, set[tuple[int, int]]] = {}
    for (_, label), span in spans.items():
        meanings.setdefault(label, set()).add(span)
    return {
        (level, label): label if level == 0 or len(meanings[label]) == 1 else f"{label} (level {level})"
        for level, label in spans
    }
