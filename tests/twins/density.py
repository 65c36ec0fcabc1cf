"""Local outlier factors in plain Python, as Breunig et al. define them, with the m-distinct-distance.

A record is a tuple of whole numbers, None for missing. Distances are Euclidean over differences divided by
the span of a column; a missing and a known value differ by 1. Squares are fractions, so ties are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

Record = tuple[int | None, ...]


def square(a: Record, b: Record, spans: Sequence[int]) -> Fraction:
    total = Fraction(0)
    for x, y, span in zip(a, b, spans, strict=True):
        if x is None or y is None:
            total += x is not y
        else:
            total += Fraction(x - y, span) ** 2
    return total


def spans_of(records: Sequence[Record]) -> list[int]:
    found = []
    for column in zip(*records, strict=True):
        known = [x for x in column if x is not None]
        found.append(max(max(known) - min(known), 1) if known else 1)
    return found


def local_outlier_factors(records: Sequence[Record], m: int) -> list[float]:
    spans, everyone = spans_of(records), range(len(records))
    far = [[square(a, b, spans) for b in records] for a in records]

    def distance(i: int) -> Fraction:
        """To the m-th nearest combination of values that is not the record's own."""
        return sorted({records[j]: far[i][j] for j in everyone if records[j] != records[i]}.values())[m - 1]

    reach = [distance(i) for i in everyone]
    near = [[j for j in everyone if j != i and far[i][j] <= reach[i]] for i in everyone]
    density = [len(near[i]) / sum(sqrt(max(far[i][j], reach[j])) for j in near[i]) for i in everyone]
    return [sum(density[j] / density[i] for j in near[i]) / len(near[i]) for i in everyone]


def factor_at(records: Sequence[Record], point: Record, m: int) -> float:
    """Of somebody who was at a point, with the spans and the neighbourhoods of the records as they are."""
    spans, everyone = spans_of(records), range(len(records))

    def reach_of(here: Record) -> Fraction:
        there = {r: square(here, r, spans) for r in records if r != here}
        return sorted(there.values())[m - 1]

    def density_of(here: Record, others: Sequence[Record]) -> float:
        near = [o for o in others if square(here, o, spans) <= reach_of(here)]
        return len(near) / sum(sqrt(max(square(here, o, spans), reach_of(o))) for o in near)

    def density_of_record(i: int) -> float:
        return density_of(records[i], [records[j] for j in everyone if j != i])

    if point in records:
        return local_outlier_factors(records, m)[records.index(point)]
    near = [i for i in everyone if square(point, records[i], spans) <= reach_of(point)]
    return sum(map(density_of_record, near)) / len(near) / density_of(point, records)
