"""Originals and releases whose rows are not all in memory: lines that stand for several, or counts alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Microdata, TextColumn
from incrowd.measures.published import ClassSizes, Published

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CountedMicrodata(Microdata):
    """A table whose domains alone are in memory: `codes` has each code once, and there are so many `rows`.

    ``tallies`` say for each column how many rows have each code, where that is known.
    """

    rows: int = 0
    tallies: tuple[Ints, ...] = ()

    def __len__(self) -> int:
        return self.rows


@dataclass(frozen=True, slots=True, eq=False)
class WeighedMicrodata(Microdata):
    """Distinct records, each of which stands for as many as its weight (m,) says."""

    weights: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return int(self.weights.sum())


def record_weights(data: Microdata) -> Ints | None:
    """How many records each line of codes stands for; None: each is one."""
    return data.weights if isinstance(data, WeighedMicrodata) else None


def frequency(data: Microdata, j: int) -> Ints:
    """How many records have each code of column j.

    Examples
    --------
    >>> from incrowd.flow import Attribute
    >>> from incrowd.schema import Kind, Shape
    >>> sex = Attribute("sex", Kind.CATEGORICAL, Shape.SET, ("F", "M"), np.arange(2.0))
    >>> codes = np.array([[0], [1]], dtype=np.int32)
    >>> frequency(WeighedMicrodata(codes, (sex,), weights=np.array([7, 2])), 0).tolist()
    [7, 2]
    """
    if isinstance(data, CountedMicrodata):
        return data.tallies[j]
    weights = record_weights(data)
    if weights is None:
        return data.frequencies[j]
    return np.bincount(data.codes[:, j], weights, len(data.attributes[j])).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class TextCounts:
    """The distinct texts of a column whose rows are not in memory, and how many rows have each."""

    texts: tuple[str | None, ...]
    counts: Ints


def text_counts(column: TextColumn | TextCounts) -> Ints:
    """How many rows have each text of a column."""
    if isinstance(column, TextCounts):
        return column.counts
    return column.counts


@dataclass(frozen=True, eq=False)
class WeighedPublished(Published):
    """Distinct published rows: each line stands for as many as `counts` (m,) says."""

    counts: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return int(self.counts.sum())

    @property
    def line_weights(self) -> Ints:
        return self.counts

    @property
    def class_sizes(self) -> Ints:
        return self.counts

    @property
    def tallies(self) -> tuple[Ints, ...]:
        pairs = zip(self.rows, self.cells, strict=True)
        return tuple(np.bincount(column, self.counts, len(cells)).astype(np.int64) for column, cells in pairs)


@dataclass(frozen=True, eq=False)
class CountedPublished(Published):
    """Published rows of which no line is in memory: how many have each cell, and the sizes of classes."""

    carried: tuple[Ints, ...] = ()
    of_classes: ClassSizes = field(default_factory=lambda: ClassSizes.of(np.zeros(0, np.int64)))
    total: int = 0

    def __len__(self) -> int:
        return self.total

    @property
    def tallies(self) -> tuple[Ints, ...]:
        return self.carried

    @property
    def sizes(self) -> ClassSizes:
        return self.of_classes

    @property
    def class_sizes(self) -> Ints:
        raise ValueError("classes that were counted have sizes, but no order")
