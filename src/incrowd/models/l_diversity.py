"""l-diversity: no class gives away the sensitive value of the people in it.

Three readings of "l well-represented values" (Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam,
"l-diversity: privacy beyond k-anonymity", ICDE 2006 and TKDD 2007), a fourth that bounds every guess by
1/l (Xiao and Tao, "Anatomy", VLDB 2006), and one of a randomized assignment, where there are no classes whose
values could be counted. Each is decided in whole numbers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import (
    AnyLimit,
    Eligible,
    Guard,
    Limit,
    Limited,
    Rule,
    Share,
    exact,
    option_names,
    register,
)
from incrowd.errors import PolicyError, unknown
from incrowd.flow import Codes, Microdata, Sensitive
from incrowd.models.k_anonymity import (
    DRAWN,
    KNOWN,
    KNOWS_WHO_IS_IN,
    MATCHING,
    NO_PERSONS,
    ONE_ROW_EACH,
    dense,
    everyone,
    refuse_persons,
    tally,
)
from incrowd.schema import Claim

ROWS_COUNT = "values are counted in rows: a person with several rows in a class counts several times"
SPLIT = "which people share a part was settled by chance wherever their sensitive values had a say in it"

Counts = NDArray[np.int64]


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


def largest_count(codes: Codes, size: int, rows: NDArray[np.int32]) -> int:
    """How often the most frequent code of these rows occurs; 0 if there are none.

    Examples
    --------
    >>> largest_count(np.array([1, 0, 1, 1]), 2, np.array([0, 1, 2]))
    2
    """
    return int(tally(codes.take(rows), size)[1].max(initial=0))


@dataclass(frozen=True, slots=True, eq=False)
class _ValueCounts:
    """One column, with gapless codes: how often does each value occur in a class?"""

    codes: Codes
    size: int

    def counts(self, rows: NDArray[np.int32]) -> Counts:
        return tally(self.codes.take(rows), self.size)[1]


@dataclass(frozen=True, slots=True, eq=False)
class _DistinctRule:
    values: _ValueCounts
    l: int  # noqa: E741  the paper's letter

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return self.reached(rows) >= self.l

    def enough(self, rows: NDArray[np.int32]) -> int:
        """So many that no value is more than 1/l of them: then there are l values."""
        return self.l * int(self.values.counts(rows).max(initial=0))

    def reached(self, rows: NDArray[np.int32]) -> int:
        return self.values.counts(rows).size


@dataclass(frozen=True, slots=True, eq=False)
class _EntropyRule:
    values: _ValueCounts
    l: Fraction  # noqa: E741
    least: int  # the smallest number of values that can reach l
    log_l: float
    log_size: float  # of what l is written with, for the error bound

    @classmethod
    def of(cls, values: _ValueCounts, l: Fraction) -> _EntropyRule:  # noqa: E741
        above, below = math.log(l.numerator), math.log(l.denominator)
        return cls(values, l, math.ceil(l), above - below, above + below)

    def allows(self, rows: NDArray[np.int32]) -> bool:
        """Is exp(H) >= l, that is n log n - sum c log c >= n log l?

        Floats decide where they must be right, and whole numbers where they might not be. With
        u = 2^-53, a logarithm is off by at most 8u of itself, a product by u, a sum of m terms of one
        sign by (m-1)u of itself. The terms are together at most n log n, and log l is off by at most
        3u(log a + log b + 1) for l = a/b; so the difference is off by less than
        (m + 16) u n (log n + log a + log b + 1). The margin is twice that.
        """
        counts = self.values.counts(rows)
        n = rows.size
        if counts.size < self.least or not n:
            return False
        if counts.size == self.l:  # only even shares reach the number of values, and near them H hardly moves
            return bool(counts.min() == counts.max())
        log_n = math.log(n)
        surplus = n * (log_n - self.log_l) - float((counts * np.log(counts)).sum())
        margin = (counts.size + 16) * 2.0**-52 * n * (log_n + self.log_size + 1.0)
        return surplus > 0 if abs(surplus) > margin else self._allows_exactly(counts)

    def enough(self, rows: NDArray[np.int32]) -> int:
        """So many that no value is more than 1/l of them: then no value is surer than one of l."""
        return math.ceil(self.l * int(self.values.counts(rows).max(initial=0)))

    def _allows_exactly(self, counts: Counts) -> bool:
        """n^n >= l^n * product of c^c. Dividing all counts by their common divisor takes the same root
        of both sides, so that ties, which need simple shares, are decided in small numbers."""
        divisor = int(np.gcd.reduce(counts))
        reduced: list[int] = (counts // divisor).tolist()
        n = sum(reduced)
        least: int = self.l.numerator**n * math.prod(c**c for c in reduced)
        return int((n * self.l.denominator) ** n) >= least

    def reached(self, rows: NDArray[np.int32]) -> float:
        """exp(H), for display only: the decision is `allows`."""
        counts = self.values.counts(rows)
        if not counts.size:
            return 0.0
        return math.exp(math.log(rows.size) - float((counts * np.log(counts)).sum()) / rows.size)


@dataclass(frozen=True, slots=True, eq=False)
class _Recursive:
    values: _ValueCounts
    c: Fraction
    l: int  # noqa: E741

    def allows(self, rows: NDArray[np.int32]) -> bool:
        """Is the most frequent value rarer than c times all but the l-1 most frequent ones together?"""
        counts = np.sort(self.values.counts(rows))
        if counts.size < self.l:
            return False
        return self._rarer(int(counts[-1]), int(counts[: 1 - self.l].sum()))

    def reached(self, rows: NDArray[np.int32]) -> int:
        """The largest l that holds with this c; 0 if none does."""
        tails = np.cumsum(np.sort(self.values.counts(rows)))[::-1].tolist()  # tails[l-1] = r_l + … + r_m
        if not tails:
            return 0
        most = tails[0] - tails[1] if len(tails) > 1 else tails[0]
        return sum(self._rarer(most, tail) for tail in tails)

    def _rarer(self, most: int, tail: int) -> bool:
        return most * self.c.denominator < self.c.numerator * tail


@dataclass(frozen=True, slots=True, eq=False)
class _Frequency:
    codes: Codes
    size: int
    l: int  # noqa: E741

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return rows.size > 0 and largest_count(self.codes, self.size, rows) * self.l <= rows.size

    def enough(self, rows: NDArray[np.int32]) -> int:
        return self.l * largest_count(self.codes, self.size, rows)

    def reached(self, rows: NDArray[np.int32]) -> int:
        return rows.size // max(largest_count(self.codes, self.size, rows), 1)


@register("model", "distinct-l-diversity")
@dataclass(frozen=True)
class DistinctDiversity(ColumnModel):
    """Every class holds at least l different values of the column. Missing is a value of its own."""

    l: int  # noqa: E741
    column: str
    limits: ClassVar[Mapping[str, AnyLimit]] = {"l": Limit(2)}

    def rule(self, data: Microdata) -> Rule:
        return _DistinctRule(_values(self, data), self.l)

    def shortfall(self, data: Microdata) -> str:
        return f"{self.column}: only {_values(self, data).size} distinct values, l={self.l}"


@register("model", "entropy-l-diversity")
@dataclass(frozen=True)
class EntropyDiversity(ColumnModel):
    r"""Every class is at least as uncertain as l equally frequent values.

    .. math:: -\sum_v p_v \log p_v \ge \log l

    l is the effective number of values; ``"2.5"`` or 2.5 is taken exactly as written.
    """

    l: str | float  # noqa: E741
    column: str
    limits: ClassVar[Mapping[str, AnyLimit]] = {"l": Share(Fraction(1), None, low_included=True)}

    def rule(self, data: Microdata) -> _EntropyRule:
        return _EntropyRule.of(_values(self, data), exact(self.l))

    def shortfall(self, data: Microdata) -> str:
        """Names the largest l with two decimals that does hold for the whole table."""
        rule, rows = self.rule(data), everyone(data)
        cents = math.floor(100 * rule.reached(rows)) + 1
        while not _EntropyRule.of(rule.values, Fraction(cents, 100)).allows(rows):
            cents -= 1
        return (
            f"{self.column}: the whole table as one class reaches l={cents / 100:.2f} by entropy, l={self.l}"
        )


@register("model", "recursive-l-diversity")
@dataclass(frozen=True)
class RecursiveDiversity(ColumnModel):
    r"""In every class the most frequent value is not too frequent, and the rare ones not too rare.

    With counts :math:`r_1 \ge r_2 \ge \dots \ge r_m` it asks :math:`r_1 < c\,(r_l + \dots + r_m)`; a class
    with fewer than l values fails. The smaller c, the stricter; it is taken exactly as written.
    """

    c: str | float
    l: int  # noqa: E741
    column: str
    limits: ClassVar[Mapping[str, AnyLimit]] = {"c": Share(Fraction(0), None), "l": Limit(2)}

    def rule(self, data: Microdata) -> Rule:
        return _Recursive(_values(self, data), exact(self.c), self.l)

    def shortfall(self, data: Microdata) -> str:
        values, largest = _values(self, data), self.rule(data).reached(everyone(data))
        return (
            f"{self.column}: {values.size} distinct values; the whole table as one class reaches "
            f"l={largest} with c={self.c}, l={self.l}"
        )


@register("model", "frequency-l-diversity")
@dataclass(frozen=True)
class FrequencyDiversity(ColumnModel):
    """No value of the column makes up more than 1/l of a class. Missing is a value of its own.

    References
    ----------
    Xiao, Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006.
    Wong, Mamoulis, Cheung, "Non-homogeneous generalization in privacy preserving data publishing", SIGMOD
    2010, section 6, where such a class is called l-eligible.
    """

    l: int  # noqa: E741
    column: str
    limits: ClassVar[Mapping[str, AnyLimit]] = {"l": Limit(2)}

    def rule(self, data: Microdata) -> Eligible:
        return _Frequency(*dense(self.sensitive(data).codes), self.l)

    def shortfall(self, data: Microdata) -> str:
        largest = self.rule(data).reached(everyone(data))
        return f"{self.column}: the whole table as one class reaches l={largest} by frequency, l={self.l}"


def _values(model: ColumnModel, data: Microdata) -> _ValueCounts:
    return _ValueCounts(*dense(model.sensitive(data).codes))


@dataclass(frozen=True, slots=True, eq=False)
class Drawable:
    """May records be cut into parts, each of at least k and none with a value more than floor(k/l) times?

    There are at most m = floor(n/k) parts, so no value may occur more than m floor(k/l) times. That is
    enough: dealt out value by value, round and round, m parts get floor or ceil of n/m records, at least k,
    and of each value at most the ceil of an m-th of its records. Two sets of records that can be cut can be
    cut together, so the rule is monotone.
    """

    codes: Codes
    size: int
    l: int  # noqa: E741  the paper's letter
    k: int

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return self.reached(rows) >= self.l

    def reached(self, rows: NDArray[np.int32]) -> int:
        """The largest l that these records keep with this k; 0 if they are fewer than k."""
        parts = rows.size // self.k
        if not parts:
            return 0
        often = -(-largest_count(self.codes, self.size, rows) // parts)  # in the part that has most
        return self.k // often


@register(MATCHING, "drawn-l-diversity")
@dataclass(frozen=True)
class DrawnDiversity(ColumnModel):
    """By the draw, nobody has any value of the column with more than chance 1/l.

    The table falls into parts. Inside each, the draw is from k rows for everybody, and each value occurs at
    most floor(k/l) times: of the k rows that may be a person's, no more than k/l have the same value. k is at
    least l, since of fewer rows none is rare enough.

    Examples
    --------
    >>> DrawnDiversity(3, 2, "disease")
    Traceback (most recent call last):
    incrowd.errors.PolicyError: DrawnDiversity: k must be at least l=3, got 2.
    """

    l: int  # noqa: E741
    k: int
    column: str
    limits: ClassVar[Mapping[str, AnyLimit]] = {"l": Limit(2), "k": Limit(2)}
    assumed: ClassVar[tuple[str, ...]] = (KNOWN, DRAWN, SPLIT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k < self.l:
            raise PolicyError(f"DrawnDiversity: k must be at least l={self.l}, got {self.k}.")

    def rule(self, data: Microdata) -> Drawable:
        return Drawable(*dense(self.sensitive(data).codes), self.l, self.k)

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        """One, which is also `Eligible` and names k; refused where rows belong to persons."""
        refuse_persons(data, NO_PERSONS)
        return (self.rule(data),)

    def shortfall(self, data: Microdata) -> str:
        n = len(data)
        if n < self.k:
            return f"n={n} < k={self.k}: the table has fewer rows than k"
        largest = self.rule(data).reached(everyone(data))
        return f"{self.column}: the whole table reaches l={largest} by a draw from k={self.k}, l={self.l}"
