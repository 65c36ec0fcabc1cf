"""Slow twins of Direct, both Refinements and trimming, in plain Python; what makes groups is handed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain, combinations, count
from typing import Any

from twins import definitions

Point = Sequence[int]
Groups = list[list[int]]
Base = Callable[[list[int]], Groups]


def direct(people: int, own: Sequence[bool], base: Base) -> Groups:
    """Groups of all people that hold somebody of the private table."""
    return [group for group in base(list(range(people))) if any(own[i] for i in group)]


def direct_with_values(
    points: Sequence[Point],
    axes: Sequence[Any],
    own: Sequence[bool],
    k: int,
    allows: Callable[[list[int]], bool],
) -> Groups:
    """Mondrian by width over all people, whose sides must be allowed; groups with somebody private."""
    found = definitions.mondrian([tuple(point) for point in points], axes, k, choose="widest", allows=allows)
    return [sorted(group) for group in found if any(own[i] for i in group)]


def cut_by_need(
    points: Sequence[Point],
    axes: Sequence[Any],
    need: Callable[[list[int]], int],
    allows: Callable[[list[int]], bool] = lambda _side: True,
    strict: bool = True,
) -> Groups:
    """Mondrian by gain, in which each node says how many both sides must have; a veto ends a node."""
    rule = {"choose": "gain", "strict": strict, "printed": False, "odd": "left", "allows": lambda _side: True}
    found: Groups = []
    where = [tuple(point) for point in points]
    pending = [list(range(len(points)))]
    while pending:
        node = pending.pop()
        least = need(node)
        cut = definitions.chosen_cut(where, node, 0, axes, least, rule) if len(node) >= 2 * least else None
        if cut is None or not all(map(allows, cut[1])):
            found.append(node)
        else:
            pending += cut[1]
    return found


def groups_of_values(
    points: Sequence[Point],
    axes: Sequence[Any],
    own: Sequence[bool],
    classes: Groups,
    need: Callable[[list[int]], int],
    allows: Callable[[list[int]], bool] = lambda _side: True,
) -> Groups:
    """The classes of each group of sensitive values, by number.

    Every private person stands where the middle of the box of their class is. A node is cut where both sides
    have as many private people as it needs, which `need` says of its private people.
    """
    private = [(i, number) for number, people in enumerate(classes) for i in people if own[i]]
    middles = [
        tuple((min(column) + max(column)) // 2 for column in zip(*(points[i] for i in people), strict=True))
        for people in classes
    ]
    found = cut_by_need(
        [middles[number] for _, number in private],
        axes,
        lambda node: need([private[x][0] for x in node]),
        lambda side: allows([private[x][0] for x in side]),
    )
    return [sorted({private[x][1] for x in group}) for group in found]


def enough(values: Sequence[int], k: int, l: int) -> int:  # noqa: E741  the paper's letter
    """k, and l times as many as have the most frequent of these values."""
    return max(k, l * max(values.count(value) for value in values))


def bounded_classes(
    points: Sequence[Point],
    axes: Sequence[Any],
    own: Sequence[bool],
    k: int,
    presence: Fraction,
    strict: bool,
) -> Groups:
    """Classes with private people. A node with n of them is cut where both sides have n / presence people."""

    def need(node: list[int]) -> int:
        private = sum(own[i] for i in node)
        return next(size for size in count(k) if size * presence >= private)

    return [group for group in cut_by_need(points, axes, need, strict=strict) if any(own[i] for i in group)]


def holds(members: Sequence[Point], point: Point, kinds: Sequence[str], gaps: Sequence[int]) -> bool:
    """Is the point inside the smallest box over the members?"""
    for j, kind in enumerate(kinds):
        values = {member[j] for member in members}
        if kind == "set" or point[j] == gaps[j]:
            if point[j] not in values:
                return False
            continue
        real = values - {gaps[j]}
        if not real or not min(real) <= point[j] <= max(real):
            return False
    return True


def refinement(
    points: Sequence[Point],
    own: Sequence[bool],
    base: Base,
    k: int,
    kinds: Sequence[str],
    gaps: Sequence[int],
) -> tuple[Groups, list[int]]:
    """Groups with somebody of the private table, and the number of the first group that each is from."""
    coarse = base([i for i in range(len(points)) if own[i]])
    inside: Groups = [list(group) for group in coarse]
    for i in range(len(points)):
        if own[i]:
            continue
        for number, group in enumerate(coarse):
            if holds([points[x] for x in group], points[i], kinds, gaps):
                inside[number].append(i)
                break
    found: Groups = []
    host: list[int] = []
    for number, group in enumerate(inside):
        joined = len(group) > len(coarse[number]) and len(group) >= 2 * k
        for part in base(group) if joined else [group]:
            if any(own[i] for i in part):
                found.append(sorted(part))
                host.append(number)
    return found, host


def by_the_letter(
    points: Sequence[Point], own: Sequence[bool], base: Base, k: int, at_once: bool = False
) -> list[tuple[int, list[int]]]:
    """Each group with private people, and the box it is from: a box takes all public people inside it.

    With `at_once` everybody who is in some box is in one.
    """
    coarse = base([i for i in range(len(points)) if own[i]])
    sides = [list(zip(*(points[i] for i in group), strict=True)) for group in coarse]
    boxes = [
        [
            i
            for i in range(len(points))
            if i in group
            or (not own[i] and all(min(s) <= x <= max(s) for x, s in zip(points[i], side, strict=True)))
        ]
        for group, side in zip(coarse, sides, strict=True)
    ]
    if at_once:
        boxes = [sorted({i for box in boxes for i in box})]
    return [
        (number, sorted(group))
        for number, box in enumerate(boxes)
        for group in (base(box) if len(box) >= 2 * k and not all(own[i] for i in box) else [box])
        if any(own[i] for i in group)
    ]


def perimeter(points: Sequence[Point]) -> int:
    return sum(2 * (max(column) - min(column)) for column in zip(*points, strict=True))


def best_trim(own: Sequence[Point], others: Sequence[Point], k: int) -> tuple[int, int]:
    """The least perimeter with at least k people, and the most others that it can keep."""
    every = chain.from_iterable(combinations(range(len(others)), size) for size in range(len(others) + 1))
    scores = [
        (perimeter([*own, *(others[i] for i in kept)]), -len(kept))
        for kept in every
        if len(own) + len(kept) >= k
    ]
    least, most = min(scores)
    return least, -most
