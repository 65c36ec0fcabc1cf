"""Exact distances for claims of plain classes: where the values of a column lie, as whole numbers.

A value of a column has a number. Number 0 is missing and lies nowhere; another may have no place either,
where a permissible set names what no record has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np

from incrowd.schema import EVERYTHING, MISSING, Column, Kind, Shape
from incrowd.verifier.cell_coder import Codes
from incrowd.verifier.cell_regions import CellRegions
from incrowd.verifier.columns import Bools, CodedColumn, Ints
from incrowd.verifier.domain import ColumnDomain
from incrowd.verifier.failure import CheckFailed, require
from incrowd.verifier.values import tree_of, value

ABSENT = 0
Place = int | None


@dataclass(frozen=True, slots=True, eq=False)
class PlainAxis:
    """A column that distance is measured over: value i lies at ``places[i]``, record r has ``records[r]``."""

    places: Sequence[Place]
    records: Ints
    weight: Fraction


def quasi_axis(domain: ColumnDomain, codes: Codes, weight: Fraction) -> PlainAxis:
    """A quasi-identifier. Its values are the domain's ranks; missing is 0 also where it is a leaf."""
    places = _whole(_places_by_rank(domain))
    number = np.arange(domain.size)
    number[list(_stand_ins(domain))] = ABSENT
    axis = PlainAxis(places, number[domain.ranks[codes]], weight)
    lost = sum(places[number] is None for number in np.unique(axis.records).tolist() if number != ABSENT)
    require(not lost, f"column {domain.column.name}: {lost} values of the original have no position")
    return axis


def sensitive_axis(
    column: Column, own: CodedColumn, shown: CodedColumn, missing: frozenset[str], weight: Fraction
) -> tuple[PlainAxis, Ints]:
    """A sensitive column, and the value of each published row. Both tables number the same texts."""
    occurs = [own.texts[i] for i in np.unique(own.codes).tolist()]
    tree = tree_of(column.levels).leaf if column.levels else {}
    flat = {text: place for place, text in enumerate(sorted(set(occurs) - missing))}

    def place_of(text: str) -> int | Fraction | None:
        measured = column.kind in (Kind.NUMERIC, Kind.DATE)
        if text in missing or (measured and not text):  # NULL is read as an empty text
            return None
        if measured or column.kind is Kind.ORDERED:
            return _measured(value(column, text))
        found = (tree if column.levels else flat).get(text)
        require(found is not None, f"column {column.name}: a value has no position")
        return found

    try:
        met = [place_of(text) for text in occurs]
    except CheckFailed as fault:
        raise CheckFailed(f"column {column.name}: {fault}") from None
    distinct = sorted({place for place in met if place is not None})
    number: dict[Any, int] = {None: ABSENT} | {place: 1 + i for i, place in enumerate(distinct)}
    lookup = np.full(max(len(own.texts), len(shown.texts)), -1, np.int64)
    lookup[np.unique(own.codes)] = [number[place] for place in met]
    require(
        bool((lookup[shown.codes] >= 0).all()),
        f"column {column.name}: a published value does not occur in the original",
    )
    return PlainAxis(_whole([None, *distinct]), lookup[own.codes], weight), lookup[shown.codes]


def corner_values(
    domain: ColumnDomain, axis: PlainAxis, regions: CellRegions, cells: Sequence[str]
) -> list[list[int]]:
    """For each cell its smallest and largest value (one if they lie at one place), and missing if it may be.

    A cell that says nothing (``*``) stands for all leaves of a hierarchy, else for all values that occur.
    """
    stand_ins = _stand_ins(domain)
    placed = [i for i, place in enumerate(axis.places) if place is not None and i not in stand_ins]
    place_of = np.full(domain.size, -1, np.int64)  # the rank of each value's place among all
    order = sorted(placed, key=lambda i: axis.places[i] or 0)
    place_of[order] = np.arange(len(order))
    met = np.unique(axis.records)
    everything = np.array(placed) if domain.column.shape is Shape.TREE else met[met != ABSENT]
    # Where values lie in the order of their ranks, the ends of a region are its extremes.
    rising = order == list(range(1, domain.size))

    def held(i: int) -> tuple[Ints, bool]:
        if cells[i] == EVERYTHING:
            return everything, ABSENT in met
        low, high = int(regions.low[i]), int(regions.high[i])
        if regions.spread[i]:
            first, last = np.searchsorted(regions.keys, [i * regions.size, (i + 1) * regions.size])
            ranks = regions.keys[first:last] - i * regions.size
        elif rising:
            ranks = np.unique([low, high]) if low <= high else np.empty(0, np.int64)
        else:
            ranks = np.arange(low, high + 1)
        gone = bool(regions.missing[i]) or any(low <= rank <= high for rank in stand_ins)
        return ranks[place_of[ranks] >= 0], gone

    found = []
    for i in range(len(cells)):
        ranks, gone = held(i)
        ends = [int(ranks[pick(place_of[ranks])]) for pick in (np.argmin, np.argmax)] if ranks.size else []
        differ = len(ends) == 2 and axis.places[ends[0]] != axis.places[ends[1]]
        found.append([*(ends if differ else ends[:1]), *([ABSENT] if gone else [])])
        require(bool(found[-1]), f"column {domain.column.name}: a cell holds no value that has a position")
    return found


def _stand_ins(domain: ColumnDomain) -> frozenset[int]:
    """The leaf that stands for missing, if the hierarchy has one."""
    if domain.column.shape is not Shape.TREE:
        return frozenset()
    leaves = [text for text in domain.ranked if text in domain.absent]
    if not leaves and MISSING not in domain.real:  # else the word is a value of this column
        leaves = [text for text in domain.ranked if text == MISSING]
    return frozenset(domain.ranked[text] for text in leaves[:1])


def _places_by_rank(domain: ColumnDomain) -> list[int | Fraction | None]:
    column = domain.column
    flat = {text: place for place, text in enumerate(sorted(set(domain.real)))}
    by_rank: list[int | Fraction | None] = [None] * domain.size
    for meaning, rank in domain.ranked.items():
        if column.shape is Shape.TREE:
            by_rank[rank] = _leaf(column, meaning, rank)
        elif column.kind is Kind.CATEGORICAL:
            by_rank[rank] = flat.get(meaning)
        else:
            by_rank[rank] = _measured(meaning)
    return by_rank


def _leaf(column: Column, text: str, rank: int) -> int | Fraction | None:
    """Leaves are numbered, unless the column's own values are: a number keeps its place under a hierarchy."""
    if column.kind is Kind.CATEGORICAL:
        return rank - 1
    for spelling in (replace(column, format=""), column):  # a hierarchy has canonical leaves
        try:
            return _measured(value(spelling, text))
        except CheckFailed:
            continue
    return None


def _measured(meaning: Any) -> int | Fraction:
    number: int | Fraction = meaning.toordinal() if isinstance(meaning, datetime) else meaning
    return number


def _whole(places: Sequence[int | Fraction | None]) -> list[Place]:
    """The same places in the column's smallest decimal unit."""
    divisor = math.lcm(*(place.denominator for place in places if place is not None))
    unit = next(10**digits for digits in count() if 10**digits % divisor == 0)
    return [None if place is None else int(place * unit) for place in places]


class ExactDistance:
    """The same distance in whole numbers: differences in the columns' own units, weighed."""

    def __init__(self, axes: Sequence[PlainAxis], scale: Ints, reach: Fraction) -> None:
        self._places = [axis.places for axis in axes]
        self.ends = [_ends(axis, scale) for axis in axes]
        pairs = zip(axes, self.ends, strict=True)
        weights = [Fraction(axis.weight) / (high - low) ** 2 for axis, (low, high) in pairs]
        common = math.lcm(*(number.denominator for number in (*weights, reach**2)))
        self._weights = [int(weight * common) for weight in weights]
        self._most = int(reach**2 * common)

    def near(self, points: Sequence[Ints], records: Sequence[Ints]) -> Bools:
        """Is record i near point i?"""
        columns = zip(self._places, self.ends, points, records, strict=True)
        steps_by_column = [list(_differences(at, high - low, *sides)) for at, (low, high), *sides in columns]
        near = {steps: self._within(steps) for steps in set(zip(*steps_by_column, strict=True))}
        return np.fromiter(map(near.__getitem__, zip(*steps_by_column, strict=True)), np.bool_)

    def _within(self, steps: tuple[int, ...]) -> bool:
        return sum(w * step * step for w, step in zip(self._weights, steps, strict=True)) <= self._most


def _differences(places: Sequence[Place], span: int, one: Ints, other: Ints) -> Iterator[int]:
    """Missing differs from everything else by the whole span."""
    for a, b in zip(one.tolist(), other.tolist(), strict=True):
        here, there = places[a], places[b]
        if a == ABSENT or b == ABSENT or here is None or there is None:
            yield 0 if a == b else span
        else:
            yield abs(here - there)


def _ends(axis: PlainAxis, scale: Ints) -> tuple[int, int]:
    """The smallest and the largest place of some records; a span of nought counts as one."""
    met = [axis.places[i] for i in np.unique(axis.records[scale]).tolist() if i != ABSENT]
    real = [place for place in met if place is not None]
    low, high = min(real, default=0), max(real, default=1)
    return low, max(high, low + 1)
