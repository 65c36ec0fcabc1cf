"""Means of equivalence classes beside a range, recomputed from the records behind each class.

A mean is exact to one decimal place more than the column has, rounded half to even. Of few values a mean
and a range together give the values away (SPEC 5), so a class with fewer than five rows, or fewer than
five values that are not missing, shows none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np

from incrowd.verifier.columns import Ints
from incrowd.verifier.csv_file import Codes
from incrowd.verifier.failure import require
from incrowd.verifier.values import number

FEWEST_VALUES = 5
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True, eq=False)
class MeanColumn:
    """A mean's texts on the rows, and the column's texts on the records that the rows are about.

    ``shown[p]`` and ``own[p]`` are places in `shown_texts` and `own_texts`; None is NULL.
    """

    name: str
    shown: Codes
    shown_texts: Sequence[str | None]
    own: Codes
    own_texts: Sequence[str | None]

    def check(self, row_class: Ints, missing: frozenset[str], small_too: bool) -> None:
        values = [None if text is None or text in missing else number(text) for text in self.own_texts]
        places = 1 + max((_places(value) for value in values if value is not None), default=0)
        classes = _ClassSums.of(row_class, self.own, values)
        where = f"column {self.name}"
        for group, text in self._shown_by(row_class):
            enough = min(classes.rows[group], classes.values[group]) >= FEWEST_VALUES
            if not text:
                require(not enough, f"{where}: a class with enough values does not show its mean")
                continue
            require(
                enough or small_too, f"{where}: a class with fewer than {FEWEST_VALUES} values shows its mean"
            )
            require(_states(text, classes.mean(group), places), f"{where}: a mean is wrong")

    def _shown_by(self, row_class: Ints) -> Iterator[tuple[int, str]]:
        """Each class with each of the texts that its rows show."""
        size = len(self.shown_texts)
        for pair in np.unique(row_class * size + self.shown).tolist():
            yield pair // size, self.shown_texts[pair % size] or ""


@dataclass(frozen=True, slots=True, eq=False)
class _ClassSums:
    """Rows, values that are not missing, and their exact sum, for each class."""

    rows: list[int]
    values: list[int]
    sums: list[Fraction]

    @classmethod
    def of(cls, row_class: Ints, own: Codes, values: Sequence[int | Fraction | None]) -> _ClassSums:
        classes = int(row_class.max()) + 1
        counts, sums = [0] * classes, [Fraction(0)] * classes
        pairs, times = np.unique(row_class * len(values) + own, return_counts=True)
        for pair, often in zip(pairs.tolist(), times.tolist(), strict=True):
            value = values[pair % len(values)]
            if value is not None:
                counts[pair // len(values)] += often
                sums[pair // len(values)] += often * value
        return cls(np.bincount(row_class).tolist(), counts, sums)

    def mean(self, group: int) -> Fraction:
        require(self.values[group] > 0, "a class without values shows a mean")
        return self.sums[group] / self.values[group]


def _places(value: int | Fraction) -> int:
    """How many decimal places a number needs, one for 1.50."""
    return next(places for places in count() if (value * 10**places).denominator == 1)


def _states(text: str, mean: Fraction, places: int) -> bool:
    """Is the text the mean, rounded half to even, with no more than so many decimal places?"""
    written = _DECIMAL.fullmatch(text)
    if not written or len(written[1] or ".") - 1 > places:
        return False
    return Fraction(text) == Fraction(round(mean * 10**places), 10**places)
