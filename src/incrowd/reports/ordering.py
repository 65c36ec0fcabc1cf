"""The order of values, for people: numbers, dates, and texts that begin with numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from incrowd.cells import atoms, range_ends, unescaped
from incrowd.schema import EVERYTHING, MISSING
from incrowd.values import read_date, read_number

_BEGINNING = re.compile(r"\D?[0-9]")  # a number, or one after a sign: [10-20), >30
_NUMBERS = re.compile(r"[0-9]+")


def order_of(texts: Sequence[str], kind: str) -> list[int] | None:
    """The places of texts in their order, what is missing last; None if they have none.

    Texts may be values or cells: a range lies where its lower end is, and ``*`` comes after all others.

    Examples
    --------
    >>> order_of(["2024", "1999", ""], "numeric"), order_of(["[70-80)", "[8-10)"], "categorical")
    ([1, 0, 2], [1, 0])
    >>> order_of(["[30,40]", "*", "5"], "numeric"), order_of(["F", "M"], "categorical")
    ([2, 0, 1], None)
    """
    keys = [_key(text, kind) for text in texts]
    if None in keys:
        return None
    return sorted(range(len(texts)), key=lambda place: (keys[place], place))


def _key(text: str, kind: str) -> tuple[int, Any] | None:
    """Where a text lies: first what has a place, then everything, then what is missing."""
    if text in ("", "?", MISSING):
        return 2, 0
    if text == EVERYTHING:
        return 1, 0
    value = _place(text, kind)
    return None if value is None else (0, value)


def _place(text: str, kind: str) -> Any:
    if kind in ("numeric", "date"):
        read = read_date if kind == "date" else read_number
        real = [atom for atom in atoms(text) if atom != MISSING]
        ends = [ends[0] if (ends := range_ends(atom)) else (atom, atom) for atom in real]
        values: list[Any] = [(read(low), read(high)) for low, high in ends]
        return None if any(None in pair for pair in values) else min(values)
    real = [unescaped(atom) for atom in atoms(text) if atom != MISSING]
    if not all(_BEGINNING.match(atom) for atom in real):
        return None
    return min([int(number[:18]) for number in _NUMBERS.findall(atom)] for atom in real)
