"""Slow twins of rings, and of parts in which no value is frequent, in plain Python and without incrowd."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import prod

from twins.ordering import Axis, Point, domain

Part = list[int]


def ring(parts: Sequence[Part], k: int) -> dict[int, list[int]]:
    """For each record the k records that its row is made of."""
    return {
        part[i]: [part[(i + step) % len(part)] for step in range(k)]
        for part in parts
        for i in range(len(part))
    }


def ring_in_groups(groups: Sequence[Part], row: Sequence[int], k: int) -> dict[int, list[int]]:
    """The same in groups, the records of each as they stand in a row."""
    return ring([sorted(group, key=row.index) for group in groups], k)


def most_frequent(values: Sequence[int]) -> int:
    return max(Counter(values).values())


def eligible(part: Sequence[int], values: Sequence[int], k: int, l: int, per_neighbourhood: bool) -> bool:  # noqa: E741
    most = max(Counter(values[i] for i in part).values(), default=0)
    if len(part) < k:
        return False
    return most <= (k // l) * (len(part) // k) if per_neighbourhood else most * l <= len(part)


def diverse_partition(
    points: Sequence[Point], axes: Sequence[Axis], good: Callable[[Part], bool], k: int, near: int
) -> list[Part]:
    """Runs of one column after the other, each merged with another until it is good."""
    by = sorted(range(len(axes)), key=lambda j: (domain(axes[j]), j))
    order = sorted(range(len(points)), key=lambda i: ([points[i][j] for j in by], i))
    place = {i: at for at, i in enumerate(order)}

    def cut(members: Part, deeper: Sequence[int]) -> list[Part]:
        if not deeper or len(members) < 2 * k:
            return [members]
        column = deeper[0]
        runs: list[tuple[Part, bool]] = []
        for i in members:
            if runs and points[runs[-1][0][-1]][column] == points[i][column]:
                runs[-1][0].append(i)
            else:
                runs.append(([i], True))
        at = 0
        while at < len(runs):
            if good(runs[at][0]):
                at += 1
                continue
            others = sorted((x for x in range(len(runs)) if x != at), key=lambda x: (abs(x - at), x))
            others = [x for x in others if abs(x - at) <= near]
            fitting = [x for x in others if good(runs[at][0] + runs[x][0])]
            other = (fitting or others)[0]
            first, last = min(at, other), max(at, other)
            both = sorted(runs[first][0] + runs[last][0], key=place.__getitem__)
            runs[first] = (both, False)
            del runs[last]
            at = first if not good(both) else first + (first == at)
        found: list[Part] = []
        for run, single in runs:
            found += cut(run, deeper[1:]) if single else [run]
        return found

    return sorted(cut(order, by), key=lambda part: place[part[0]])


def ring_order(counts: Sequence[int]) -> list[int]:
    """Values of an eligible part so that, round the ring, none comes twice among l."""
    size, blocks = sum(counts), max(counts)
    lengths = [size // blocks + (block < size % blocks) for block in range(blocks)]
    values = [v for v in sorted(range(len(counts)), key=lambda v: -counts[v]) for _ in range(counts[v])]
    slots: list[list[int]] = [[] for _ in range(blocks)]
    for offset in range(max(lengths)):
        for block in range(blocks):
            if offset < lengths[block]:
                slots[block].append(values.pop(0))
    return [value for slot in slots for value in slot]


def given_away(rows: Sequence[Sequence[frozenset[int]]], kinds: Sequence[str]) -> set[tuple[int, ...]]:
    """Whole records that the rows of one part name when they are compared with each other."""

    def named(cell: frozenset[int], other: frozenset[int], kind: str) -> set[int]:
        if len(cell) == 1:
            return set(cell)
        if kind == "tree":
            return set()
        if kind == "range":
            low, high = min(cell), max(cell)
            return {end for end, out in ((low, low < min(other)), (high, high > max(other))) if out}
        return set(cell - other)

    found = set()
    for one in rows:
        wide = [j for j, cell in enumerate(one) if len(cell) > 1]
        if not wide:
            found.add(tuple(min(cell) for cell in one))
        if len(wide) == 1 and kinds[wide[0]] != "tree":
            for value in one[wide[0]] if kinds[wide[0]] == "set" else {min(one[wide[0]]), max(one[wide[0]])}:
                found.add(tuple(value if j == wide[0] else min(cell) for j, cell in enumerate(one)))
        for other in rows:
            told = [named(cell, beside, kind) for cell, beside, kind in zip(one, other, kinds, strict=True)]
            if all(len(values) == 1 for values in told):
                found.add(tuple(min(values) for values in told))
    return found


def lists(points: Sequence[Point], kinds: Sequence[str], sparse: int = 2) -> bool:
    """Does one column alone vary and name its values, or are there few combinations besides the records?"""
    columns = list(zip(*points, strict=True))
    varying = [j for j, column in enumerate(columns) if len(set(column)) > 1]
    if len(varying) < 2:
        return len(varying) == 1 and kinds[varying[0]] != "tree"
    sizes = [
        max(columns[j]) - min(columns[j]) + 1 if kinds[j] == "tree" else len(set(columns[j])) for j in varying
    ]
    return prod(sizes) < sparse * len(set(points))
