"""Predicates in SQL: one form of a condition, parsed once, evaluated on codes and on the number line.

A predicate is a conjunction of conditions, each a comparison of a column with literals. Literals stay texts
until the kind of their column reads them. Two evaluations share nothing but that reading: `ValueDomain`
compares value by value (the truth about an original, the cuts of Mondrian), `intervals` computes in half
units (the answers of a release). So the first can find the second wrong.

On the line a place is a whole number of the column's smallest unit, counted twice: then an end that does not
belong to its interval is the odd number beside it, and every comparison is one of whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError, unknown
from incrowd.flow import Attribute
from incrowd.schema import Kind
from incrowd.values import EXACT, Value, number_text, read_date, read_number, read_texts

Operator = Literal["=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN"]


@dataclass(frozen=True, slots=True)
class Name:
    """A column as a query calls it. One without quotes may be written with other capitals."""

    text: str
    quoted: bool = False

    def among(self, names: Sequence[str], place: str) -> str:
        """The column that is meant, of those that are `place`, as in ``in the release``."""
        if self.text in names:
            return self.text
        alike = [own for own in names if own.casefold() == self.text.casefold()]
        if len(alike) == 1 and not self.quoted:
            return alike[0]
        raise InputError(unknown(place, [self.text], names))


@dataclass(frozen=True, slots=True)
class Condition:
    """One column compared with literals, which are texts until the column's kind reads them."""

    column: Name
    operator: Operator
    literals: tuple[str, ...]

    @property
    def by_name(self) -> bool:
        """Are values named one by one, so that labels of a hierarchy may stand for theirs?"""
        return self.operator in ("=", "<>", "IN")


@dataclass(frozen=True, slots=True)
class Predicate:
    """A conjunction: those satisfy it who satisfy every condition. A missing value satisfies none."""

    conditions: tuple[Condition, ...] = ()

    def by_column(self, names: Sequence[str], place: str) -> dict[str, tuple[Condition, ...]]:
        """The conditions of each column that has any, by its own name (`Name.among`)."""
        found: dict[str, tuple[Condition, ...]] = {}
        for one in self.conditions:
            own = one.column.among(names, place)
            found[own] = (*found.get(own, ()), one)
        return found


def quantity(text: str, kind: Kind, column: str) -> int | Decimal | date:
    """The number or day that a literal gives, by the kind of its column."""
    value = read_number(text) if kind is Kind.NUMERIC else read_date(text)
    if value is None:
        what = "numbers" if kind is Kind.NUMERIC else "days, as '2024-02-29'"
        raise InputError(f"{column} holds {what}; compare it with such")
    return value


_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def check_measured(name: str, kind: Kind) -> None:
    """Refuse to add up or to order what lies on no line."""
    if kind not in (Kind.NUMERIC, Kind.DATE):
        raise InputError(f"{name} is {kind}; only numbers and dates have an order here")


@dataclass(frozen=True, slots=True, eq=False)
class ValueDomain:
    """The distinct values of a column by code, None where missing, and the codes under each label.

    Examples
    --------
    >>> age = ValueDomain("age", Kind.NUMERIC, [20, 35, None])
    >>> from incrowd.predicate.sql import parse_where
    >>> age.satisfying(parse_where("age < 36 AND age <> 20").conditions).tolist()
    [False, True, False]
    """

    name: str
    kind: Kind
    values: Sequence[Value | None]
    labels: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, attribute: Attribute) -> ValueDomain:
        """The domain of a quasi-identifier; inner nodes of its hierarchy are labels."""
        read = read_texts(attribute.texts, attribute.kind)
        values = [None if code == attribute.missing else value for code, value in enumerate(read)]
        labels = {}
        if attribute.tree is not None:
            leaves = set(attribute.tree.leaves)
            labels = {label: codes for label, codes in attribute.tree.under().items() if label not in leaves}
        return cls(attribute.name, attribute.kind, values, labels)

    def __len__(self) -> int:
        return len(self.values)

    def satisfying(self, conditions: Sequence[Condition]) -> NDArray[np.bool_]:
        """Which codes satisfy all conditions: (m,). A missing value satisfies none."""
        mask = np.ones(len(self), np.bool_)
        for one in conditions:
            mask &= self._satisfying(one)
        return mask

    def _satisfying(self, one: Condition) -> NDArray[np.bool_]:
        if one.by_name:
            chosen = {code for text in one.literals for code in self._named(text)}
            wanted = one.operator != "<>"
            by_code = [(code in chosen) is wanted for code in range(len(self))]
        else:
            check_measured(self.name, self.kind)
            ends = [quantity(text, self.kind, self.name) for text in one.literals]
            by_code = [value is not None and _ordered(value, one.operator, ends) for value in self.values]
        known = zip(by_code, self.values, strict=True)
        return np.array([yes and value is not None for yes, value in known], np.bool_)

    def _named(self, text: str) -> Sequence[int]:
        """The codes that a literal stands for: those under a label, or one value."""
        if text in self.labels:
            return self.labels[text]
        (value,) = read_texts([text], self.kind)
        return [code for code, own in enumerate(self.values) if own == value]


def _ordered(value: Value, operator: str, ends: Sequence[Any]) -> bool:
    if operator == "BETWEEN":
        return bool(ends[0] <= value <= ends[1])
    return _ORDER[operator](value, ends[0])


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
    """The part of the line that satisfies all conditions; literals with more decimals make `scale` larger.

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
