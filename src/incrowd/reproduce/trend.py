"""Trends of lines, and the words for the numbers that a statement was decided by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
TINY = 1e-6  # in the place of a 0 that is divided by


def rises(values: Sequence[float]) -> bool:
    return all(b > a for a, b in pairwise(values))


def falls(values: Sequence[float]) -> bool:
    return all(b < a for a, b in pairwise(values))


def inside(values: Sequence[float], bounds: tuple[float, float]) -> bool:
    return all(bounds[0] <= value <= bounds[1] for value in values)


def ratios(line: Sequence[float], other: Sequence[float]) -> list[float]:
    """How many times as much a line has as another, value by value."""
    return [a / max(b, TINY) for a, b in zip(line, other, strict=True)]


def spread(values: Sequence[float]) -> float:
    """How many times the smallest the largest is."""
    return max(values) / max(min(values), TINY)


def number(value: float) -> str:
    return f"{value:.3g}"


def listed(values: Sequence[float]) -> str:
    return ", ".join(map(number, values))


def ends(values: Sequence[float], form: str = "{:.3g}") -> str:
    """The first and the last."""
    return f"{form.format(values[0])} to {form.format(values[-1])}"


def span(values: Sequence[float], form: str = "{:.3g}") -> str:
    """The least and the most."""
    return ends((min(values), max(values)), form)


def named(values: Mapping[str, T], words: Callable[[T], str], glue: str = ", ") -> str:
    """Each in words, behind its name.

    Examples
    --------
    >>> named({"HS": (1.0, 2.5), "NH": (0.5, 0.25)}, ends)
    'HS 1 to 2.5, NH 0.5 to 0.25'
    """
    return glue.join(f"{name} {words(value)}" for name, value in values.items())
