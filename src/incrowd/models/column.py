"""What the promises about one sensitive column have in common: finding it, and counting its values.

Counting is all that any of them does to a class, up to 100,000 times in one run and mostly for few rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import Guard, Limited, Rule, Share, option_names
from incrowd.errors import PolicyError, unknown
from incrowd.flow import Codes, Microdata, Sensitive
from incrowd.schema import Claim

KNOWS_WHO_IS_IN = "knows everyone's quasi-identifiers, who is in the table, and the whole release"
ONE_ROW_EACH = "each person has one row"
ROWS_COUNT = "values are counted in rows: a person with several rows in a class counts several times"


def tally(codes: NDArray[np.integer], size: int) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
    """The distinct codes, ascending, and how often each occurs; all codes are below `size`.

    Linear for many codes. Few codes of a large domain are sorted instead, so that a small class never
    pays for values it does not hold. `codes` is overwritten.

    Examples
    --------
    >>> [part.tolist() for part in tally(np.array([7, 2, 7]), 1000)]
    [[2, 7], [1, 2]]
    """
    if codes.size >= size:
        counts = np.bincount(codes)
        (values,) = counts.nonzero()
        return values, counts.take(values)
    codes.sort()
    edge = np.empty(codes.size + 1, dtype=np.bool_)
    edge[0] = edge[-1] = True
    np.not_equal(codes[1:], codes[:-1], out=edge[1:-1])
    (at,) = edge.nonzero()
    return codes.take(at[:-1]), at[1:] - at[:-1]


def dense(codes: Codes) -> tuple[Codes, int]:
    """The same codes numbered without gaps, in the same order, and how many there are.

    Examples
    --------
    >>> dense(np.array([5, 0, 5], dtype=np.int32))
    (array([1, 0, 1], dtype=int32), 2)
    """
    seen = np.bincount(codes) > 0
    return (np.cumsum(seen, dtype=np.int32) - 1)[codes], int(np.count_nonzero(seen))


def largest_count(codes: Codes, size: int, rows: NDArray[np.int32]) -> int:
    """How often the most frequent code of these rows occurs; 0 if there are none.

    Examples
    --------
    >>> largest_count(np.array([1, 0, 1, 1]), 2, np.array([0, 1, 2]))
    2
    """
    return int(tally(codes.take(rows), size)[1].max(initial=0))


class ColumnModel(Limited, ABC):
    """A promise about the values of one sensitive column in every class."""

    name: ClassVar[str]
    column: str
    monotone: ClassVar[bool] = True
    more_is_safer: ClassVar[bool] = True
    assumed: ClassVar[tuple[str, ...]] = ()  # what must hold outside the table, beside the counting

    def __post_init__(self) -> None:
        """Keep floats as the decimal text they were written as: the manifest says it so."""
        super().__post_init__()
        for name, limit in self.limits.items():
            number = getattr(self, name)
            if isinstance(limit, Share) and isinstance(number, float):
                object.__setattr__(self, name, str(number))

    @abstractmethod
    def rule(self, data: Microdata) -> Rule:
        """What every class must keep."""

    def shortfall(self, data: Microdata) -> str:
        """How far the table as one class goes; asked only if that is not far enough."""
        return f"{self.column}: all {len(data)} rows as one class do not keep {self.name}"

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        return (self.rule(data),)

    def infeasible(self, data: Microdata) -> str:
        """Why no release keeps the promise: merging classes keeps it, so one class of all rows must."""
        if not len(data):
            return f"{self.column}: the table has no rows"
        return "" if self.rule(data).allows(everyone(data)) else self.shortfall(data)

    def claims(self, data: Microdata) -> tuple[Claim, ...]:
        parameters = {name: getattr(self, name) for name in option_names(self) if name != "column"}
        counted = ONE_ROW_EACH if data.entity is None else ROWS_COUNT
        column = self.sensitive(data).name
        return (Claim(self.name, parameters, column, KNOWS_WHO_IS_IN, (counted, *self.assumed)),)

    def sensitive(self, data: Microdata) -> Sensitive:
        for column in data.sensitive:
            if column.name == self.column:
                return column
        known = [column.name for column in data.sensitive]
        raise PolicyError(
            f"{self.name}: " + unknown("in the list of sensitive columns", [self.column], known)
        )


def everyone(data: Microdata) -> Codes:
    """All rows, as one class."""
    return np.arange(len(data), dtype=np.int32)
