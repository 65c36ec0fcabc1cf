"""Slow twins for leaving records out: plain Python, nothing of incrowd.

A column is a dict: its ``values`` in order (None is missing), whether it is ``ranged``, the ``nodes`` of its
hierarchy (sets of values) or the sets of its ``family``; a record is a tuple of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

Column = dict[str, Any]
Record = tuple[Any, ...]


def cell_loss(column: Column, values: Sequence[Any]) -> Fraction:
    """The share of its domain that the smallest cell over some values covers."""
    domain = column["values"]
    if len(domain) < 2 or not values:
        return Fraction(0)
    known = [value for value in values if value is not None]
    missing = Fraction(None in values and bool(known), len(domain) - 1)
    if column["ranged"]:
        ends = [value for value in domain if value is not None]
        width = max(ends) - min(ends)
        if not known:
            return Fraction(0)
        covered = Fraction(max(known) - min(known)) / Fraction(width) if width else Fraction(0)
        return min(covered + missing, Fraction(1))
    if column.get("nodes") and known:
        node = min((each for each in column["nodes"] if set(known) <= set(each)), key=len)
        everything = set(node) == {value for value in domain if value is not None}
        lowest = [each for each in column["nodes"] if set(each) == set(node)]
        if everything and len(lowest) == 1 and None in domain:  # the root, which stands for missing, too
            return Fraction(1)
        return Fraction(len(node) - 1, len(domain) - 1) + missing
    if column.get("family"):
        return Fraction(
            min(len(each) for each in column["family"] if set(values) <= set(each)) - 1, len(domain) - 1
        )
    return Fraction(len(set(values)) - 1, len(domain) - 1)


def row_loss(columns: Sequence[Column], records: Sequence[Record]) -> Fraction:
    """What the row of a class of records loses: the mean of its cells."""
    losses = [cell_loss(column, [record[j] for record in records]) for j, column in enumerate(columns)]
    return sum(losses, Fraction(0)) / len(columns)


def saved(columns: Sequence[Column], classes: Sequence[Sequence[Record]], leaving: Record) -> Fraction:
    """How much less all others lose if everybody with one combination leaves the classes they are in."""
    found = Fraction(0)
    for members in classes:
        others = [record for record in members if record != leaving]
        if others and len(others) < len(members):
            found += len(others) * (row_loss(columns, members) - row_loss(columns, others))
    return found


def first(order: Sequence[Any], records: dict[Any, int], budget: int) -> list[Any]:
    """The first combinations of an order that fit into a budget of records, one after the other."""
    taken: list[Any] = []
    for combination in order:
        if sum(records[each] for each in taken) + records[combination] <= budget:
            taken.append(combination)
    return taken
