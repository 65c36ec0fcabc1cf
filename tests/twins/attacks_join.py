"""Attacks on releases with a public table by their definitions: plain loops over people, rows and worlds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

Point = tuple[int, ...]
Row = tuple[frozenset[int], ...]  # the values that each cell holds
Axis = tuple[str, Any]


def cell(axis: Axis, values: set[int]) -> frozenset[int]:
    """The smallest cell over some values."""
    kind, about = axis
    if kind == "set":
        return frozenset(values)
    if kind == "range":
        return frozenset(range(min(values), max(values) + 1))
    nodes = [node for path in about for node in path if values <= node]
    return frozenset(min((len(node), sorted(node)) for node in nodes)[1])


def rows_over(points: Sequence[Point], labels: Sequence[int], axes: Sequence[Axis]) -> list[Row]:
    """The row of everybody who has one: cells over their group."""
    return [
        tuple(
            cell(axis, {points[i][j] for i, other in enumerate(labels) if other == label})
            for j, axis in enumerate(axes)
        )
        for label in labels
        if label >= 0
    ]


def holds(row: Row, point: Point) -> bool:
    return all(value in held for value, held in zip(point, row, strict=True))


def inside(points: Sequence[Point], rows: Sequence[Row]) -> list[int]:
    return [i for i, point in enumerate(points) if any(holds(row, point) for row in rows)]


def reidentified(points: Sequence[Point], rows: Sequence[Row], listed: Sequence[bool]) -> set[int]:
    """Listed people whom one row holds that holds no other listed one."""
    found = set()
    for i, point in enumerate(points):
        mine = [row for row in rows if holds(row, point)]
        if (
            listed[i]
            and len(mine) == 1
            and [holds(mine[0], p) and listed[x] for x, p in enumerate(points)].count(True) == 1
        ):
            found.add(i)
    return found


def ends(kind: str, points: Sequence[Point], people: Sequence[int], j: int) -> Iterator[int]:
    """Who alone has a value that a cell over these people names for certain."""
    values = Counter(points[i][j] for i in people)
    named = set(values) if kind == "set" else {min(values), max(values)}
    yield from (i for i in people if points[i][j] in named and values[points[i][j]] == 1)


def alone_at_border(
    points: Sequence[Point], rows: Sequence[Row], groups: Sequence[int], axes: Sequence[Axis], k: int
) -> set[int]:
    """Alone at the first or last code of a class with more than k rows, all of one group."""
    claimed = set()
    for row, many in Counter(rows).items():
        here = inside(points, [row])
        if many <= k or len({group for other, group in zip(rows, groups, strict=True) if other == row}) > 1:
            continue
        for j, (kind, _) in enumerate(axes):
            if kind != "tree" or len(here) == many:
                claimed |= set(ends("range", points, here, j))
    return claimed


def alone_in_outline(
    points: Sequence[Point], rows: Sequence[Row], groups: Sequence[int], axes: Sequence[Axis]
) -> set[int]:
    claimed = set()
    for group in set(groups):
        here = inside(points, [row for row, other in zip(rows, groups, strict=True) if other == group])
        for j, (kind, _) in enumerate(axes):
            if kind != "tree":
                claimed |= set(ends(kind, points, here, j))
    return claimed


def chances(
    points: Sequence[Point], rows: Sequence[Row], groups: Sequence[int], people: Sequence[int]
) -> list[Fraction]:
    """How likely everybody is in the private table, 0 where no row holds them.

    The rows of a group are those of `people` of it and of others; a class has one of them, and whom it holds
    may be behind none of its rows.
    """
    share = [Fraction(many, groups.count(group)) for group, many in enumerate(people)]
    found = [Fraction(0)] * len(points)
    for row, many in Counter(rows).items():
        here = inside(points, [row])
        of = [share[group] for other, group in zip(rows, groups, strict=True) if other == row]
        mean = sum(of, Fraction(0)) / many
        likely = (
            min(Fraction(1), Fraction(many, len(here))) * mean / (1 - (1 - mean) ** many) if mean else mean
        )
        for i in here:
            found[i] = max(found[i], likely)
    return found


def neighbourhoods(labels: Sequence[int], own: Sequence[bool], planted: Sequence[bool]) -> list[int]:
    """How many people who exist are in the group of each private person."""
    return [
        sum(other == label and not planted[x] for x, other in enumerate(labels))
        for label, mine in zip(labels, own, strict=True)
        if mine
    ]


def commonest(groups: Sequence[int], values: Sequence[int]) -> tuple[int, int, Fraction]:
    """Who is told right by the commonest value of the group (the least of equals), who surely, how likely."""
    right, sure, most = 0, 0, Fraction(0)
    for group, value in zip(groups, values, strict=True):
        counts = Counter(v for g, v in zip(groups, values, strict=True) if g == group)
        top = min(counts, key=lambda v: (-counts[v], v))
        right += top == value
        sure += len(counts) == 1
        most = max(most, Fraction(counts[top], counts.total()))
    return right, sure, most


# ---- all worlds


def worlds(n: int) -> Iterator[frozenset[int]]:
    """Every set of private people but the empty one."""
    return (
        frozenset(some) for some in chain.from_iterable(combinations(range(n), m) for m in range(1, n + 1))
    )


def trimmed(points: Sequence[Point], own: frozenset[int], k: int) -> frozenset[int]:
    """Who stays if others are left out for the least perimeter; of equals, most stay."""
    others = [i for i in range(len(points)) if i not in own]
    best = min(
        (
            own | set(kept)
            for m in range(len(others) + 1)
            for kept in combinations(others, m)
            if len(own) + m >= k
        ),
        key=lambda stay: (sum(high - low for low, high in box(points, stay)), -len(stay)),
    )
    return frozenset(best)


def box(points: Sequence[Point], people: frozenset[int] | set[int]) -> tuple[tuple[int, int], ...]:
    columns = zip(*(points[i] for i in people), strict=True)
    return tuple((min(values), max(values)) for values in map(list, columns))


def learned(published: dict[frozenset[int], Any], n: int) -> dict[Any, tuple[int, list[int], list[int]]]:
    """For what each world publishes: how many worlds do, who is in all of them, who in none."""
    found = {}
    for what in dict.fromkeys(published.values()):
        same = [world for world, other in published.items() if other == what]
        surely = [i for i in range(n) if all(i in world for world in same)]
        out = [i for i in range(n) if not any(i in world for world in same)]
        found[what] = (len(same), surely, out)
    return found
