"""Bins of a column, so that tables of counts stay small: deciles, the most frequent values, missing.

Bins follow from the original alone, and from counts in whole numbers: the same table has the same bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Attribute, Codes, TextColumn
from incrowd.measures.cells import places_of
from incrowd.schema import Column, Kind, Role
from incrowd.values import read_texts, reading_of

Ints = NDArray[np.int64]

MOST = 10  # bins of a column, missing not counted


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """The bin of each of a column's m codes: ``of`` (m,), below ``size``. Missing has the last bin."""

    of: Ints
    size: int

    def counts(self, codes: Codes) -> Ints:
        """How many records each bin has."""
        return np.bincount(self.of[codes], minlength=self.size)

    def summed(self, counts: Ints) -> Ints:
        """The same by how many records have each code (m,)."""
        found = np.zeros(self.size, np.int64)
        np.add.at(found, self.of, counts)
        return found


def deciles(counts: Ints) -> Ints:
    """The bin of each value, given how many records have each, values from low to high.

    Values are together whose first records stand in the same tenth of all: a value is never parted.

    Examples
    --------
    >>> deciles(np.array([1, 1, 6, 1, 1])).tolist()
    [0, 1, 2, 8, 9]
    """
    total = max(int(counts.sum()), 1)
    below = np.cumsum(counts) - counts
    of: Ints = np.minimum(MOST * below // total, MOST - 1)
    return of


def most_frequent(counts: Ints, texts: Sequence[str]) -> Ints:
    """The bin of each category: one for each of the nine most frequent, ties by text; one for all others.

    Examples
    --------
    >>> most_frequent(np.arange(1, 13), [str(i) for i in range(12)]).tolist()
    [9, 9, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    """
    order = sorted(range(len(texts)), key=lambda code: (-int(counts[code]), texts[code]))
    rank = np.empty(len(texts), np.int64)
    rank[order] = np.arange(len(texts))
    return np.minimum(rank, MOST - 1)


def attribute_bins(attribute: Attribute, codes: Codes) -> Bins:
    """The bins of a quasi-identifier, by the records' codes (n,)."""
    return counted_bins(attribute, np.bincount(codes, minlength=len(attribute)))


def counted_bins(attribute: Attribute, counts: Ints) -> Bins:
    """The same by how many records have each code (m,)."""
    real = np.array([code for code in range(len(attribute)) if code != attribute.missing], np.int64)
    of = np.empty(len(attribute), np.int64)
    places = places_of(attribute, real.tolist()) if attribute.kind in (Kind.NUMERIC, Kind.DATE) else {}
    if places:
        order = np.array(sorted(places, key=places.__getitem__), np.int64)
        of[order] = deciles(counts[order])
    else:
        of[real] = most_frequent(counts[real], [attribute.texts[code] for code in real.tolist()])
    return _closed_up(of, real, attribute.missing)


def text_bins(described: Column, column: TextColumn, missing: frozenset[str]) -> Bins:
    """The bins of a column that is published as it is, one for each of its distinct texts."""
    return counted_text_bins(described, column.texts, column.counts, missing)


def counted_text_bins(
    described: Column, distinct_texts: Sequence[str | None], counts: Ints, missing: frozenset[str]
) -> Bins:
    """The same by how many records have each distinct text."""
    known = [place for place, text in enumerate(distinct_texts) if text is not None and text not in missing]
    texts = [distinct_texts[place] or "" for place in known]
    kind, format = described.kind, described.format
    if described.role is Role.KEEP:  # a policy does not say it
        found = reading_of(texts, described.name)
        kind, format = found.kind, found.notation
    values = read_texts(texts, kind, format)
    ordered = kind in (Kind.NUMERIC, Kind.DATE) and None not in values
    distinct = sorted(set(values)) if ordered else list(dict.fromkeys(values))  # type: ignore[type-var]
    number = {value: code for code, value in enumerate(distinct)}
    codes = np.array([number[value] for value in values], np.int64)
    tally = np.bincount(codes, counts[known], len(distinct)).astype(np.int64)
    by_value = deciles(tally) if ordered else most_frequent(tally, [str(value) for value in distinct])
    bins = _closed_up(by_value, np.arange(len(distinct)), -1)
    of = np.full(len(distinct_texts), bins.size, np.int64)
    of[known] = bins.of[codes]
    return Bins(of, bins.size + (len(known) < len(distinct_texts)))


def _closed_up(of: Ints, real: Ints, missing: int) -> Bins:
    """Bins numbered without gaps, missing last."""
    _, of[real] = np.unique(of[real], return_inverse=True)
    size = int(of[real].max(initial=-1)) + 1
    if missing < 0:
        return Bins(of, size)
    of[missing] = size
    return Bins(of, size + 1)


def bits(counts: Ints) -> float:
    """The entropy of a column, given how many records each bin has.

    Examples
    --------
    >>> bits(np.array([2, 1, 1]))
    1.5
    """
    total = int(counts.sum())
    shares: list[float] = [count / total for count in counts.tolist() if count]
    return -sum(share * log2(share) for share in shares)
