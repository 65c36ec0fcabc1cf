"""Means of equivalence classes beside a range, recomputed from the records behind each class.

A mean is exact to one decimal place more than the column has, rounded half to even. Of few values a mean
and a range together give the values away (SPEC 5), so a class with fewer than five rows, or fewer than
five values that are not missing, shows none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from incrowd.schema import Column
from incrowd.verifier.columns import CodedColumn, Ints
from incrowd.verifier.failure import require
from incrowd.verifier.values import decimal_text, places, value

FEWEST_VALUES = 5


def check_means(name: str, row_class: Ints, shown: CodedColumn, sums: ClassSums, small_too: bool) -> None:
    """Every class shows its mean if it has enough values (or few are accepted), and then the right one."""
    where, size = f"column {name}", len(shown.texts)
    for pair in np.unique(row_class * size + shown.codes).tolist():
        group, text = pair // size, shown.texts[pair % size]
        enough = min(sums.rows[group], sums.values[group]) >= FEWEST_VALUES
        if not text:
            require(not enough, f"{where}: a class with enough values does not show its mean")
            continue
        few = f"{where}: a class with fewer than {FEWEST_VALUES} values shows its mean"
        require(enough or small_too, few)
        right = text == decimal_text(sums.mean(group), sums.places)
        require(right, f"{where}: a mean is wrong, or not written with {sums.places} decimal places")


@dataclass(frozen=True, slots=True, eq=False)
class ClassSums:
    """Rows, values that are not missing, and their exact sum, for each class; decimal places of a mean."""

    rows: list[int]
    values: list[int]
    sums: list[Fraction]
    places: int

    @classmethod
    def of(cls, row_class: Ints, own: CodedColumn, column: Column, missing: frozenset[str]) -> ClassSums:
        """Row p is about a record that has ``own.texts[own.codes[p]]``; None is NULL."""
        texts: Sequence[str | None] = own.texts
        numbers = [None if text is None or text in missing else value(column, text) for text in texts]
        classes = int(row_class.max()) + 1
        counts, sums = [0] * classes, [Fraction(0)] * classes
        pairs, times = np.unique(row_class * len(numbers) + own.codes, return_counts=True)
        for pair, often in zip(pairs.tolist(), times.tolist(), strict=True):
            size = numbers[pair % len(numbers)]
            if size is not None:
                counts[pair // len(numbers)] += often
                sums[pair // len(numbers)] += often * size
        most = max((places(size) for size in numbers if size is not None), default=0)
        return cls(np.bincount(row_class).tolist(), counts, sums, 1 + most)

    def mean(self, group: int) -> Fraction:
        require(self.values[group] > 0, "a class without values shows a mean")
        return self.sums[group] / self.values[group]
