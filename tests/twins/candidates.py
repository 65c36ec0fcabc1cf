"""Slow twins of what somebody believes of values where rows differ: plain lists, nothing of incrowd."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction


def components(around: Sequence[Sequence[int]]) -> list[set[int]]:
    """Records and rows that belong together, as numbers of rows."""
    parts: list[tuple[set[int], set[int]]] = []
    for row, records in enumerate(around):
        met = [part for part in parts if part[1] & {*records}]
        joined = ({row}.union(*(part[0] for part in met)), {*records}.union(*(part[1] for part in met)))
        parts = [part for part in parts if part not in met] + [joined]
    return [rows for rows, _ in parts]


def beliefs(
    around: Sequence[Sequence[int]], rows: Sequence[Hashable], values: Sequence[Hashable]
) -> list[dict[Hashable, Fraction]]:
    """How likely each record has each value: row r is made over the records around[r], says rows[r] and shows
    values[r]; a record is as likely behind each row that it is around. Equal rows of a component are in any
    order.
    """
    equal: dict[int, list[int]] = {}
    for part in components(around):
        for row in part:
            equal[row] = [other for other in part if rows[other] == rows[row]]
    found = []
    for record in range(len(around)):
        mine = [row for row, records in enumerate(around) if record in records]
        own: dict[Hashable, Fraction] = defaultdict(Fraction)
        for row in mine:
            for other in equal[row]:
                own[values[other]] += Fraction(1, len(mine) * len(equal[row]))
        found.append(dict(own))
    return found


def middles(tuples: Sequence[Sequence[int]], points: Sequence[Sequence[int]]) -> list[list[int]]:
    """For each tuple of people the lower median of each column."""
    columns = range(len(points[0]))
    return [[sorted(points[i][j] for i in own)[(len(own) - 1) // 2] for j in columns] for own in tuples]
