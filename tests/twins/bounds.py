"""Lower bounds on information loss, said plainly: all cells of a table are listed, in fractions.

A column is a list of cells, each the set of its codes with what it costs; a record is a tuple of codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product

Cell = tuple[frozenset[int], Fraction]
Record = tuple[int, ...]


def range_cells(places: Sequence[int | None]) -> list[Cell]:
    """Intervals of numbers, with missing (None, the first code) beside them or not."""
    first = 1 if places and places[0] is None else 0
    numbers = [place for place in places if place is not None]
    span = numbers[-1] - numbers[0]
    if span == 0:
        return set_cells(len(places))
    step = Fraction(span, max(len(places) - 1, 1))
    cells: list[Cell] = [(frozenset({0}), Fraction(0))] if first else []
    for low, high in combinations(range(len(numbers) + 1), 2):
        width = numbers[high - 1] - numbers[low]
        codes = frozenset(range(low + first, high + first))
        cells.append((codes, Fraction(width, span)))
        if first:
            cells.append((codes | {0}, min(Fraction(1), (width + step) / span)))
    return cells


def set_cells(size: int, family: Sequence[frozenset[int]] = ()) -> list[Cell]:
    """All sets of values, or those of a family, its singletons and the domain."""
    everything = frozenset(range(size))
    if family:
        sets = {everything, *family, *(frozenset({code}) for code in everything)}
    else:
        sets = {frozenset(each) for count in range(1, size + 1) for each in combinations(range(size), count)}
    return [(each, Fraction(len(each) - 1, max(size - 1, 1))) for each in sets]


def tree_cells(nodes: Sequence[frozenset[int]], size: int) -> list[Cell]:
    """The nodes of a tree; with fewer leaves than the column has values, missing alone or beside a node."""
    leaves = frozenset().union(*nodes)
    beside = frozenset(range(size)) - leaves
    sets = {*nodes, *(node | beside for node in nodes), *([beside] if beside else [])}
    return [(each, Fraction(len(each) - 1, max(size - 1, 1))) for each in sets]


def cells_with(
    records: Sequence[Record], columns: Sequence[Sequence[Cell]], k: int
) -> Iterator[tuple[list[int], Fraction]]:
    """Every cell of the table that holds k records: who is inside, and the mean of what its columns cost."""
    for chosen in product(*columns):
        inside = [
            i
            for i, record in enumerate(records)
            if all(code in codes for code, (codes, _) in zip(record, chosen, strict=True))
        ]
        if len(inside) >= k:
            yield inside, sum((cost for _, cost in chosen), Fraction(0)) / len(columns)


def ratios(
    records: Sequence[Record], columns: Sequence[Sequence[Cell]], k: int, y: Sequence[Fraction]
) -> list[Fraction | None]:
    """For each record the least ratio of a cell's cost to the mean of its k largest values, or None."""
    found: list[Fraction | None] = [None] * len(records)
    for inside, cost in cells_with(records, columns, k):
        top = sum(sorted((y[i] for i in inside), reverse=True)[:k], Fraction(0))
        if top > 0:
            for i in inside:
                here, known = k * cost / top, found[i]
                found[i] = here if known is None else min(known, here)
    return found


def cheapest(records: Sequence[Record], columns: Sequence[Sequence[Cell]], k: int) -> list[Fraction]:
    """The cheapest cell around each record that holds k records."""
    every = list(cells_with(records, columns, k))
    return [min(cost for inside, cost in every if i in inside) for i in range(len(records))]


class Costs:
    """What the smallest cell over some records costs."""

    def __init__(self, records: Sequence[Record], columns: Sequence[Sequence[Cell]]) -> None:
        self.records, self.columns = records, columns
        self.of = cache(self._of)

    def _of(self, members: tuple[int, ...]) -> Fraction:
        total = Fraction(0)
        for j, cells in enumerate(self.columns):
            values = {self.records[i][j] for i in members}
            total += min(cost for codes, cost in cells if values <= codes)
        return total / len(self.columns)


def best_classes(costs: Costs, k: int, whole: Fraction | None = None) -> Fraction:
    """The least loss of classes of k or more; `whole` is what a record costs that is left out.

    Classes of 2k or more can be parted without loss, so smaller ones are enough.
    """
    n = len(costs.records)

    @cache
    def least(free: tuple[int, ...]) -> Fraction | None:
        if not free:
            return Fraction(0)
        first, rest = free[0], free[1:]
        found = []
        if whole is not None and (after := least(rest)) is not None:
            found.append(whole + after)
        for size in range(k, min(2 * k, len(free) + 1)):
            for others in combinations(rest, size - 1):
                after = least(tuple(i for i in rest if i not in others))
                if after is not None:
                    found.append(size * costs.of((first, *others)) + after)
        return min(found, default=None)

    total = least(tuple(range(n)))
    assert total is not None
    return total / n


def best_rows(costs: Costs, k: int) -> Fraction:
    """The least loss where each row holds its record and k records in all."""
    n = len(costs.records)
    rows = [
        min(costs.of(tuple(sorted((i, *others)))) for others in combinations(set(range(n)) - {i}, k - 1))
        for i in range(n)
    ]
    return sum(rows, Fraction(0)) / n


def best_regular(costs: Costs, k: int) -> Fraction:
    """The least loss where each row is made over k records and each record is in k rows."""
    n = len(costs.records)

    @cache
    def least(row: int, room: tuple[int, ...]) -> Fraction | None:
        if row == n:
            return Fraction(0)
        if max(room) > n - row:
            return None
        found = []
        for members in combinations([i for i in range(n) if room[i]], k):
            after = least(row + 1, tuple(left - (i in members) for i, left in enumerate(room)))
            if after is not None:
                found.append(costs.of(members) + after)
        return min(found, default=None)

    total = least(0, (k,) * n)
    assert total is not None
    return total / n
