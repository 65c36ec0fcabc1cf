"""Queries by the definition: every table that a release may be about, and what SQL says of each.

A possible value is a number, a text, or None for missing. Ranges of numbers must be listed with
enough numbers between their ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations, permutations, product
from typing import Any

Record = Mapping[str, Any]
Row = Mapping[str, Sequence[Any]]


def holds(value: Any, operator: str, literals: Sequence[Any]) -> bool:
    """One comparison; a missing value satisfies none."""
    if value is None:
        return False
    first = literals[0]
    tests: dict[str, Callable[[], bool]] = {
        "=": lambda: value == first,
        "<>": lambda: value != first,
        "<": lambda: value < first,
        "<=": lambda: value <= first,
        ">": lambda: value > first,
        ">=": lambda: value >= first,
        "BETWEEN": lambda: first <= value <= literals[-1],
        "IN": lambda: value in literals,
    }
    return tests[operator]()


def answer(records: Sequence[Record], aggregate: str, column: str | None, where: Sequence[Any]) -> Any:
    """What SQL says; None is NULL, but that a sum of nobody is 0."""
    found = [record for record in records if all(holds(record[name], op, said) for name, op, said in where)]
    if column is None:
        return len(found)
    values = [record[column] for record in found if record[column] is not None]
    if aggregate == "COUNT":
        return len(values)
    if aggregate == "SUM":
        return sum(map(Fraction, values), Fraction(0))
    if not values:
        return None
    if aggregate == "AVG":
        return sum(map(Fraction, values), Fraction(0)) / len(values)
    return min(values) if aggregate == "MIN" else max(values)


def records_of(row: Row) -> list[Record]:
    return [dict(zip(row, values, strict=True)) for values in product(*row.values())]


def worlds(rows: Sequence[Row]) -> Iterator[Sequence[Record]]:
    """Every row is about one person."""
    yield from product(*map(records_of, rows))


def grouped_worlds(
    rows: Sequence[Row], groups: Sequence[int], people: Mapping[int, Sequence[Record]]
) -> Iterator[Sequence[Record]]:
    """Some rows of a group are of its people, and who of them has which values is open."""
    by_group = []
    for group, values in people.items():
        own = [row for row, of in zip(rows, groups, strict=True) if of == group]
        by_group.append(
            [
                [{**record, **value} for record, value in zip(world, dealt, strict=True)]
                for some in combinations(own, len(values))
                for world in worlds(some)
                for dealt in permutations(values)
            ]
        )
    yield from (list(chain(*parts)) for parts in product(*by_group))


def hidden_worlds(rows: Sequence[Row], classes: Sequence[int]) -> Iterator[Sequence[Record]]:
    """At least one row of every class is of the private table."""
    by_class = []
    for one in sorted(set(classes)):
        own = [row for row, of in zip(rows, classes, strict=True) if of == one]
        by_class.append(
            [
                world
                for size in range(1, len(own) + 1)
                for some in combinations(own, size)
                for world in worlds(some)
            ]
        )
    yield from (list(chain(*parts)) for parts in product(*by_class))


def bounds(
    every: Sequence[Sequence[Record]], aggregate: str, column: str | None, where: Sequence[Any]
) -> Any:
    """The least and largest answer, both None if there is none; and whether nobody may be asked about."""
    said = [answer(world, aggregate, column, where) for world in every]
    known = [value for value in said if value is not None]
    return (min(known), max(known), None in said) if known else (None, None, True)
