"""Evaluating a predicate on the number line: disjoint intervals in half units.

A place on the line is a whole number of the column's smallest unit, counted twice: then an end that does not
belong to its interval is the odd number beside it, and every comparison is one of whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from incrowd.predicate.condition import Condition, quantity
from incrowd.schema import Kind
from incrowd.values import EXACT, number_text, read_number

Interval = tuple[int | None, int | None]  # ends in half units, both included; None is unbounded
EVERYWHERE: tuple[Interval, ...] = ((None, None),)


def decimals(number: int | Decimal) -> int:
    """How many decimals a number has.

    Examples
    --------
    >>> decimals(12), decimals(Decimal("1.25"))
    (0, 2)
    """
    return 0 if isinstance(number, int) else max(0, -int(number.as_tuple().exponent))


def in_units(value: int | Decimal | date, scale: int) -> int:
    """A number in units of 10^-scale, or a day."""
    if isinstance(value, date):
        return value.toordinal()
    return int(Decimal(value).scaleb(scale, EXACT))


def canonical(text: str, kind: Kind) -> str:
    """The text under which a value stands in a cell, if it can be read as its kind."""
    number = read_number(text) if kind is Kind.NUMERIC else None
    return text if number is None else number_text(number)


@dataclass(frozen=True, slots=True)
class Intervals:
    """Disjoint intervals in half units of 10^-scale, from low to high."""

    ends: tuple[Interval, ...]
    scale: int


def intervals(conditions: Sequence[Condition], kind: Kind, column: str, scale: int) -> Intervals:
    """The part of the line that satisfies all conditions.

    Parameters
    ----------
    scale : int
        The least number of decimals; literals with more make it larger.

    Examples
    --------
    >>> from incrowd.predicate.sql import parse_where
    >>> intervals(parse_where("age < 36").conditions, Kind.NUMERIC, "age", 0).ends
    ((None, 71),)
    >>> intervals(parse_where("age <> 36").conditions, Kind.NUMERIC, "age", 0).ends
    ((None, 71), (73, None))
    """
    read = [tuple(quantity(text, kind, column) for text in one.literals) for one in conditions]
    numbers = [value for values in read for value in values if not isinstance(value, date)]
    scale = max([scale, *map(decimals, numbers)])
    step = 2 if kind is Kind.DATE else 1  # the next day, or whatever lies next to a number
    found: tuple[Interval, ...] = EVERYWHERE
    for one, values in zip(conditions, read, strict=True):
        found = _both(
            found, _satisfying(one.operator, [2 * in_units(value, scale) for value in values], step)
        )
    return Intervals(found, scale)


def _satisfying(operator: str, ends: Sequence[int], step: int) -> tuple[Interval, ...]:
    end = ends[0]
    alone: dict[str, tuple[Interval, ...]] = {
        "=": ((end, end),),
        "<>": ((None, end - step), (end + step, None)),
        "<": ((None, end - step),),
        "<=": ((None, end),),
        ">": ((end + step, None),),
        ">=": ((end, None),),
        "BETWEEN": ((end, ends[-1]),) if end <= ends[-1] else (),
        "IN": tuple((one, one) for one in sorted(set(ends))),
    }
    return alone[operator]


def _both(some: Sequence[Interval], others: Sequence[Interval]) -> tuple[Interval, ...]:
    """The intersection of two lists of disjoint intervals."""
    found = []
    for low, high in some:
        for least, most in others:
            first = least if low is None else low if least is None else max(low, least)
            last = most if high is None else high if most is None else min(high, most)
            if first is None or last is None or first <= last:
                found.append((first, last))
    return tuple(found)
