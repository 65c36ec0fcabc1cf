"""The noun of a predicate: conditions that compare a column with literals, joined by AND."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

from incrowd.errors import InputError, unknown
from incrowd.schema import Kind
from incrowd.values import read_date, read_number

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
