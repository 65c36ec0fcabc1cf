"""Columns that distance is measured over: where each value lies, as an exact whole number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm, sqrt

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import exact
from incrowd.distance_outliers.setting import Setting
from incrowd.errors import PolicyError, unknown
from incrowd.flow import Attribute, Codes, Microdata, Sensitive
from incrowd.schema import Kind
from incrowd.values import Value, read_date, read_texts

Place = int | None
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One column: code c lies at ``places[c]``, None for missing and for values that lie nowhere.

    ``index`` is the column's number among the attributes, or among the sensitive columns.
    """

    name: str
    index: int
    quasi: bool
    codes: Codes
    places: tuple[Place, ...]
    missing: int
    texts: tuple[str, ...]
    weight: Fraction

    def __len__(self) -> int:
        return len(self.places)

    def ends(self, rows: NDArray[np.bool_]) -> tuple[int, int]:
        """The smallest place among these records, and the span; a span of nought counts as one."""
        met = np.flatnonzero(np.bincount(self.codes[rows], minlength=1)).tolist()
        real = [place for code in met if (place := self.places[code]) is not None]
        return (min(real), max(max(real) - min(real), 1)) if real else (0, 1)

    def scaled(self, origin: int, span: int) -> Floats:
        """Where each code lies, so that squares of differences add up to the squared distance."""
        far = [float("nan") if place is None else (place - origin) / span for place in self.places]
        return np.array(far, np.float64) * sqrt(self.weight)


def axes_of(data: Microdata, setting: Setting) -> tuple[Axis, ...]:
    """The columns that take part: quasi-identifiers in their order, then sensitive columns.

    Raises
    ------
    PolicyError
        A column is not there, or none of them is sensitive.
    """
    columns: list[Attribute | Sensitive] = [*data.attributes, *data.sensitive]
    names = [column.name for column in columns]
    wanted = setting.columns or tuple(names)
    strange = [name for name in (*wanted, *dict(setting.weights)) if name not in names]
    if strange:
        raise PolicyError(
            "plain: " + unknown("in the list of quasi-identifiers and sensitive columns", strange, names)
        )
    found = []
    for i, column in enumerate(columns):
        if column.name in wanted:
            quasi = isinstance(column, Attribute)
            index = i if quasi else i - len(data.attributes)
            codes = data.codes[:, i] if quasi else data.sensitive[index].codes
            found.append(_axis(column, index, codes, exact(setting.weight(column.name))))
    if not found or found[-1].quasi:
        raise PolicyError(
            "plain: at least one of the columns that distance is measured over must be sensitive"
        )
    return tuple(found)


def _axis(column: Attribute | Sensitive, index: int, codes: Codes, weight: Fraction) -> Axis:
    quasi = isinstance(column, Attribute)
    size = len(column) if isinstance(column, Attribute) else column.size
    texts = column.texts or tuple(map(str, range(size)))
    codes = np.ascontiguousarray(codes)
    if column.texts:
        places = _places(column, codes)
    else:  # made by hand, without texts: codes are all there is
        places = list(range(size))
    if column.missing >= 0:
        places[column.missing] = None
    return Axis(column.name, index, quasi, codes, tuple(places), column.missing, texts, weight)


def _places(column: Attribute | Sensitive, codes: Codes) -> list[Place]:
    if column.kind is Kind.NUMERIC:
        return _whole(read_texts(column.texts, Kind.NUMERIC))
    if column.kind is Kind.DATE:
        days = [read_date(text) for text in column.texts]
        return [None if day is None else day.toordinal() for day in days]
    if column.kind is Kind.ORDERED and column.order:
        rank = {text: place for place, text in enumerate(column.order)}
        return [rank.get(text) for text in column.texts]
    if column.tree is not None or column.kind is Kind.ORDERED:
        return list(range(len(column.texts)))  # leaves are numbered depth first
    met = np.flatnonzero(np.bincount(codes)).tolist()
    occurring = sorted(column.texts[code] for code in met if code != column.missing)
    rank = {text: place for place, text in enumerate(occurring)}
    return [rank.get(text) for text in column.texts]


def _whole(values: Sequence[Value | None]) -> list[Place]:
    """Numbers in a unit in which all of them are whole; None where a text is no number."""
    numbers = [value if isinstance(value, int | Decimal) else None for value in values]
    whole = [number for number in numbers if not isinstance(number, Decimal)]
    if len(whole) == len(numbers):
        return list(whole)
    fractions = [None if number is None else Fraction(number) for number in numbers]
    unit = lcm(*(number.denominator for number in fractions if number is not None))
    return [None if number is None else int(number * unit) for number in fractions]
