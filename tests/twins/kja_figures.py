"""What the figures on k-join-anonymity show, by plain loops: NCP and DM by person, relative errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Point = tuple[float, ...]
Box = list[tuple[float, float]]


def members(labels: Sequence[int]) -> dict[int, list[int]]:
    """Who is in each group; nobody is in group -1."""
    found: dict[int, list[int]] = {}
    for person, label in enumerate(labels):
        if label >= 0:
            found.setdefault(label, []).append(person)
    return found


def box(points: Sequence[Point]) -> Box:
    return [(min(side), max(side)) for side in zip(*points, strict=True)]


def ncp(
    points: Sequence[Point], own: Sequence[bool], labels: Sequence[int], widths: Sequence[float]
) -> float:
    """The mean over own people of the perimeter of the box over everybody in their group."""
    total = 0.0
    for group in members(labels).values():
        sides = box([points[i] for i in group])
        perimeter = 2 * sum((high - low) / width for (low, high), width in zip(sides, widths, strict=True))
        total += perimeter * sum(own[i] for i in group)
    return total / sum(own)


def dm(own: Sequence[bool], labels: Sequence[int]) -> float:
    """The mean over own people of how many own people are in their group."""
    return sum(sum(own[i] for i in group) ** 2 for group in members(labels).values()) / sum(own)


def error(
    points: Sequence[Point],
    own: Sequence[bool],
    labels: Sequence[int],
    sensitive: Sequence[int],
    asked: Sequence[Box],
) -> float:
    """The mean over queries of |actual - estimate| / actual."""
    errors = []
    for query in asked:
        actual = sum(
            mine and share([(x, x) for x in point], query) for point, mine in zip(points, own, strict=True)
        )
        errors.append(abs(actual - estimate(points, own, labels, sensitive, query)) / actual)
    return sum(errors) / len(errors)


def estimate(
    points: Sequence[Point], own: Sequence[bool], labels: Sequence[int], sensitive: Sequence[int], query: Box
) -> float:
    """Own people of a sensitive group, shared out evenly over its rows, each anywhere in its box."""
    whole: Mapping[int, list[int]] = members(sensitive)
    total = 0.0
    for group in members(labels).values():
        home = whole[sensitive[group[0]]]
        each = sum(own[i] for i in home) / len(home)
        total += len(group) * each * share(box([points[i] for i in group]), query)
    return total


def share(sides: Box, query: Box) -> float:
    """Which share of a box lies in another; a side without length is inside or not."""
    found = 1.0
    for (low, high), (lower, upper) in zip(sides, query, strict=True):
        if low == high:
            found *= lower <= low <= upper
        else:
            found *= max(0.0, min(high, upper) - max(low, lower)) / (high - low)
    return found
