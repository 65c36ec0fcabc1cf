"""Slow twins of Direct, Refinement and trimming, in plain Python; what makes groups is handed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, combinations

Point = Sequence[int]
Groups = list[list[int]]
Base = Callable[[list[int]], Groups]


def direct(people: int, own: Sequence[bool], base: Base) -> Groups:
    """Groups of all people that hold somebody of the private table."""
    return [group for group in base(list(range(people))) if any(own[i] for i in group)]


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
