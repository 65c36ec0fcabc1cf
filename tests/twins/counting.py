"""Slow twins for counting people in boxes and for presence: plain Python, nothing of incrowd.

A column has ``values`` (all of them in order, None being missing) and says whether it is ``ranged``. A
cell has what it ``covers``, and ``ends`` if it is a range. A side of a box has ``ends`` and ``missing``,
or ``values``; it is None where the box does not ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any


def asked(side: dict[str, Any] | None, value: Any) -> bool:
    if side is None:
        return True
    if "values" in side:
        return value in side["values"]
    low, high = side["ends"]
    return bool(side["missing"]) if value is None else bool(low <= value <= high)


def share(
    column: dict[str, Any], cell: dict[str, Any], side: dict[str, Any] | None, continuous: bool
) -> Fraction:
    """The share of a cell that a side asks for."""
    partitions = cell["covers"]
    if side is not None and "ends" in side and continuous and column["ranged"] and partitions != {None}:
        low, high = cell["ends"]
        real = [value for value in column["values"] if value is not None and low <= value <= high]
        if set(real) == partitions - {None}:  # a range, with nothing left out of it
            inside = length(low, high, *side["ends"]) * len(real)
            return (inside + (None in partitions and side["missing"])) / len(partitions)
    return Fraction(sum(asked(side, value) for value in partitions), len(partitions))


def length(low: int, high: int, lower: Any, upper: Any) -> Fraction:
    """The share of low..high that lies in lower..upper; a point is in or out."""
    if low == high:
        return Fraction(lower <= low <= upper)
    common = min(Fraction(high), Fraction(upper)) - max(Fraction(low), Fraction(lower))
    return max(common, Fraction(0)) / (high - low)


def estimate(
    columns: Sequence[dict[str, Any]],
    rows: Sequence[Sequence[dict[str, Any]]],
    weights: Sequence[Fraction],
    sides: Sequence[dict[str, Any] | None],
    continuous: Sequence[bool],
) -> Fraction:
    total = Fraction(0)
    for row, weight in zip(rows, weights, strict=True):
        part = weight
        for column, cell, side, way in zip(columns, row, sides, continuous, strict=True):
            part *= share(column, cell, side, way)
        total += part
    return total


def actual(records: Sequence[Sequence[Any]], sides: Sequence[dict[str, Any] | None]) -> int:
    return sum(
        all(asked(side, value) for side, value in zip(sides, record, strict=True)) for record in records
    )


def average_error(actual_: Sequence[int], estimated: Sequence[Any], floor: int) -> Fraction | None:
    errors = []
    for a, e in zip(actual_, estimated, strict=True):
        if max(a, floor) > 0:
            errors.append(Fraction(abs(a - e)) / max(a, floor))
    return sum(errors, Fraction(0)) / len(errors) if errors else None


def refined_weights(groups: Sequence[int], people: Sequence[int]) -> list[Fraction]:
    """Every row of a group stands for an even share of its people."""
    return [Fraction(people[group], groups.count(group)) for group in groups]


def whole_side(size: int, share_: float, draw: Callable[[], float]) -> tuple[int, int]:
    """First and last of neighbouring values, about this share of `size`, at least one."""
    whole = 1
    while whole + 0.5 <= share_ * size and whole < size:
        whole += 1
    starts = list(range(size - whole + 1))
    first = starts[int(draw() * len(starts))]
    return first, first + whole - 1


def presence(labels: Sequence[int], own: Sequence[bool]) -> dict[str, Any]:
    """By group the share of the private table, and who is in none."""
    groups = sorted(set(labels) - {-1})
    shares = [
        Fraction(sum(o for label, o in zip(labels, own, strict=True) if label == group), labels.count(group))
        for group in groups
    ]
    return {
        "shares": shares,
        "absent": labels.count(-1),
        "outsiders": list(own).count(False),
        "certain": [group for group, part in zip(groups, shares, strict=True) if part == 1],
        "certainly_present": sum(
            labels.count(group) for group, part in zip(groups, shares, strict=True) if part == 1
        ),
    }


def covered(record: Sequence[Any], rows: Sequence[Sequence[dict[str, Any]]]) -> bool:
    return any(all(value in cell["covers"] for value, cell in zip(record, row, strict=True)) for row in rows)
