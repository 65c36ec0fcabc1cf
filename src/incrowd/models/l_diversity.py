"""l-diversity: no class gives away the sensitive value of the people in it.

Three readings of "l well-represented values" (Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam,
"l-diversity: privacy beyond k-anonymity", ICDE 2006 and TKDD 2007), a fourth that bounds every guess by
1/l (Xiao and Tao, "Anatomy", VLDB 2006), and the same for whoever re-runs the program, where a method's
classes tell nothing of values. Each is decided in whole numbers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import AnyLimit, Guard, Limit, Limited, Rule, Share, exact, option_names, register
from incrowd.errors import PolicyError, unknown
from incrowd.flow import Codes, Microdata, Sensitive
from incrowd.models.counting import Counting, Counts, InRows, counted_both_ways, dense, tally
from incrowd.models.k_anonymity import (
    KNOWN,
    KNOWS_WHO_IS_IN,
    ONE_ROW_EACH,
    everyone,
    refuse_persons,
)
from incrowd.schema import Claim

ROWS_COUNT = "values are counted in rows: a person with several rows in a class counts several times"
BOTH_WAYS = (
    "a person may have several rows; values are counted in rows, and in persons, each with one vote in the "
    "table that is shared evenly by their rows"
)
MOST_EXACT = 2**24  # counts that are decided in whole numbers of so many digits
MINIMALITY = "not against somebody who re-runs the program (minimality)"
RERUNS = "knows everyone's quasi-identifiers, who is in the table, the whole release and the program"
DEALT = "who of those with one value goes where was drawn by chance that nobody can repeat"
EVEN = "before the release every way to hand out the values was as likely: none goes with quasi-identifiers"
NOT_CORRUPTED = "nobody's sensitive value is known: what one known value tells of others is not counted"


class ColumnModel(Limited, ABC):
    """A promise about the values of one sensitive column in every class."""

    name: ClassVar[str]
    column: str
    monotone: ClassVar[bool] = True
    more_is_safer: ClassVar[bool] = True
    adversary: ClassVar[str] = KNOWS_WHO_IS_IN
    assumed: ClassVar[tuple[str, ...]] = (MINIMALITY,)  # what is taken for granted, beside the counting

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
        counted = ONE_ROW_EACH if data.entity is None else BOTH_WAYS
        column = self.sensitive(data).name
        return (Claim(self.name, parameters, column, self.adversary, (counted, *self.assumed)),)

    def sensitive(self, data: Microdata) -> Sensitive:
        for column in data.sensitive:
            if column.name == self.column:
                return column
        known = [column.name for column in data.sensitive]
        raise PolicyError(
            f"{self.name}: " + unknown("in the list of sensitive columns", [self.column], known)
        )


class ClassModel(ColumnModel):
    """A promise about how the values of a class are distributed, counted in rows and in persons."""

    @abstractmethod
    def counted(self, values: Counting) -> Rule:
        """What every class must keep of values that are counted in one way."""

    def rule(self, data: Microdata) -> Rule:
        codes = dense(self.sensitive(data).codes)[0]
        return counted_both_ways(data, codes, self.counted, self.more_is_safer)


def largest_count(codes: Codes, size: int, rows: NDArray[np.int32]) -> int:
    """How often the most frequent code of these rows occurs; 0 if there are none.

    Examples
    --------
    >>> largest_count(np.array([1, 0, 1, 1]), 2, np.array([0, 1, 2]))
    2
    """
    return int(tally(codes.take(rows), size)[1].max(initial=0))


@dataclass(frozen=True, slots=True, eq=False)
class _DistinctRule:
    values: Counting
    l: int  # noqa: E741  the paper's letter

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return self.reached(rows) >= self.l

    def enough(self, rows: NDArray[np.int32]) -> int:
        """So many that no value is more than 1/l of them: then there are l values."""
        return self.l * int(self.values.count(rows)[1].max(initial=0))

    def reached(self, rows: NDArray[np.int32]) -> int:
        return self.values.count(rows)[1].size


@dataclass(frozen=True, slots=True, eq=False)
class _EntropyRule:
    values: Counting
    l: Fraction  # noqa: E741
    least: int  # the smallest number of values that can reach l
    log_l: float
    log_size: float  # of what l is written with, for the error bound

    @classmethod
    def of(cls, values: Counting, l: Fraction) -> _EntropyRule:  # noqa: E741
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
        counts = self.values.count(rows)[1]
        n = int(counts.sum())
        if counts.size < self.least or not n:
            return False
        if counts.size == self.l:  # only even shares reach the number of values, and near them H hardly moves
            return bool(counts.min() == counts.max())
        log_n = math.log(n)
        surplus = n * (log_n - self.log_l) - _sum_of_logs(counts)
        margin = (counts.size + 16) * 2.0**-52 * n * (log_n + self.log_size + 1.0)
        return surplus > 0 if abs(surplus) > margin else self._allows_exactly(counts)

    def enough(self, rows: NDArray[np.int32]) -> int:
        """So many that no value is more than 1/l of them: then no value is surer than one of l."""
        return math.ceil(self.l * int(self.values.count(rows)[1].max(initial=0)))

    def _allows_exactly(self, counts: Counts) -> bool:
        """n^n >= l^n * product of c^c. Dividing all counts by their common divisor takes the same root
        of both sides, so that ties, which need simple shares, are decided in small numbers. Votes may
        come to numbers with too many digits; so near to a tie they are then not allowed."""
        divisor = math.gcd(*counts.tolist())
        reduced: list[int] = (counts // divisor).tolist()
        n = sum(reduced)
        if n > MOST_EXACT:
            return False
        least: int = self.l.numerator**n * math.prod(c**c for c in reduced)
        return int((n * self.l.denominator) ** n) >= least

    def reached(self, rows: NDArray[np.int32]) -> float:
        """exp(H), for display only: the decision is `allows`."""
        counts = self.values.count(rows)[1]
        if not counts.size:
            return 0.0
        n = int(counts.sum())
        return math.exp(math.log(n) - _sum_of_logs(counts) / n)


def _sum_of_logs(counts: Counts) -> float:
    """The sum of c log c. A count that is no float is rounded to one, which the margin leaves room for."""
    numbers = counts.astype(np.float64)
    return float((numbers * np.log(numbers)).sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Recursive:
    values: Counting
    c: Fraction
    l: int  # noqa: E741

    def allows(self, rows: NDArray[np.int32]) -> bool:
        """Is the most frequent value rarer than c times all but the l-1 most frequent ones together?"""
        counts = np.sort(self.values.count(rows)[1])
        if counts.size < self.l:
            return False
        return self._rarer(int(counts[-1]), int(counts[: 1 - self.l].sum()))

    def reached(self, rows: NDArray[np.int32]) -> int:
        """The largest l that holds with this c; 0 if none does."""
        tails = np.cumsum(np.sort(self.values.count(rows)[1]))[::-1].tolist()  # tails[l-1] = r_l + … + r_m
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


@dataclass(frozen=True, slots=True, eq=False)
class _FrequencyOfVotes:
    values: Counting
    l: int  # noqa: E741

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return self.reached(rows) >= self.l

    def reached(self, rows: NDArray[np.int32]) -> int:
        counts = self.values.count(rows)[1]
        return int(counts.sum() // counts.max()) if counts.size else 0


@register("model", "distinct-l-diversity")
@dataclass(frozen=True)
class DistinctDiversity(ClassModel):
    """Every class holds at least l different values of the column. Missing is a value of its own."""

    l: int  # noqa: E741
    column: str
    limits: ClassVar[Mapping[str, AnyLimit]] = {"l": Limit(2)}

    def counted(self, values: Counting) -> Rule:
        return _DistinctRule(values, self.l)

    def shortfall(self, data: Microdata) -> str:
        return f"{self.column}: only {self.rule(data).reached(everyone(data))} distinct values, l={self.l}"


@register("model", "entropy-l-diversity")
@dataclass(frozen=True)
class EntropyDiversity(ClassModel):
    r"""Every class is at least as uncertain as l equally frequent values.

    .. math:: -\sum_v p_v \log p_v \ge \log l

    l is the effective number of values; ``"2.5"`` or 2.5 is taken exactly as written.
    """

    l: str | float  # noqa: E741
    column: str
    limits: ClassVar[Mapping[str, AnyLimit]] = {"l": Share(Fraction(1), None, low_included=True)}

    def counted(self, values: Counting) -> Rule:
        return _EntropyRule.of(values, exact(self.l))

    def shortfall(self, data: Microdata) -> str:
        """Names the largest l with two decimals that does hold for the whole table."""
        rows = everyone(data)
        cents = math.floor(100 * self.rule(data).reached(rows)) + 1
        while not EntropyDiversity(str(Decimal(cents) / 100), self.column).rule(data).allows(rows):
            cents -= 1
        return (
            f"{self.column}: the whole table as one class reaches l={cents / 100:.2f} by entropy, l={self.l}"
        )


@register("model", "recursive-l-diversity")
@dataclass(frozen=True)
class RecursiveDiversity(ClassModel):
    r"""In every class the most frequent value is not too frequent, and the rare ones not too rare.

    With counts :math:`r_1 \ge r_2 \ge \dots \ge r_m` it asks :math:`r_1 < c\,(r_l + \dots + r_m)`; a class
    with fewer than l values fails. The smaller c, the stricter; it is taken exactly as written.
    """

    c: str | float
    l: int  # noqa: E741
    column: str
    limits: ClassVar[Mapping[str, AnyLimit]] = {"c": Share(Fraction(0), None), "l": Limit(2)}

    def counted(self, values: Counting) -> Rule:
        return _Recursive(values, exact(self.c), self.l)

    def shortfall(self, data: Microdata) -> str:
        values, largest = dense(self.sensitive(data).codes)[1], self.rule(data).reached(everyone(data))
        return (
            f"{self.column}: {values} distinct values; the whole table as one class reaches "
            f"l={largest} with c={self.c}, l={self.l}"
        )


@register("model", "frequency-l-diversity")
@dataclass(frozen=True)
class FrequencyDiversity(ClassModel):
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

    def counted(self, values: Counting) -> Rule:
        """In rows it is `Eligible`, and names what it counts."""
        if isinstance(values, InRows):
            return _Frequency(values.codes, values.size, self.l)
        return _FrequencyOfVotes(values, self.l)

    def shortfall(self, data: Microdata) -> str:
        largest = self.rule(data).reached(everyone(data))
        return f"{self.column}: the whole table as one class reaches l={largest} by frequency, l={self.l}"


@dataclass(frozen=True)
class DrawnDiversity(FrequencyDiversity):
    """The same of buckets that were drawn without looking at people: to draw them again tells nothing."""

    assumed: ClassVar[tuple[str, ...]] = ()


@register("model", "transparent-l-diversity")
@dataclass(frozen=True)
class TransparentDiversity(FrequencyDiversity):
    """Nobody has any value of the column with more than chance 1/l, even for whoever re-runs the program.

    Every class of equal rows keeps l by frequency. Which classes were made tells nothing more, since the
    method looked at colours that permuting does not change. Methods say that they are `transparent`.
    """

    adversary: ClassVar[str] = RERUNS
    assumed: ClassVar[tuple[str, ...]] = (KNOWN, DEALT, EVEN, NOT_CORRUPTED)

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        """One, which is `Eligible`; refused where rows belong to persons."""
        refuse_persons(data, "this method counts rows, not persons; leave out entity, or use mondrian")
        return super().guards(data)


@register("model", "candidate-l-diversity")
@dataclass(frozen=True)
class CandidateDiversity(TransparentDiversity):
    """The same where rows differ: no value is behind more than 1/l of the k rows that may be anybody's.

    Each of these k rows is as likely. Methods say that they promise it `by_candidates`.
    """
