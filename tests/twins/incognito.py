"""Full-domain recoding in plain Python and without incrowd: every level vector is tried.

A column is ("tree", rows, missing) with one row (leaf, level 1, …, top) for each code, ("range", positions,
missing) or ("set", size, False). Where `missing` is set, a tree has one code more, its last, and a range one
code more, its first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

Column = tuple[str, Any, bool]
Node = tuple[int, ...]
Group = frozenset[int]


def size(column: Column) -> int:
    kind, about, missing = column
    return int(about) if kind == "set" else len(about) + missing


def levels(column: Column) -> list[list[Any]]:
    """For each level, from the values to everything: in which part each code lies."""
    kind, about, missing = column
    if kind == "tree":
        return [tree_level(about, missing, h) for h in range(len(about[0]))]
    alone = list(range(size(column)))
    if kind == "set":
        return [[*alone], *([["all"] * size(column)] if size(column) > 1 else [])]
    found: list[list[Any]] = [alone]
    if size(column) > 1:
        width = 2 * min((b - a for a, b in pairwise(about)), default=1)
        while about[-1] - about[0] >= width:
            found.append(["missing"] * missing + [(x - about[0]) // width for x in about])
            width *= 2
        found.append(["all"] * size(column))
    return [
        now for before, now in zip([[], *found], found, strict=False) if len(set(now)) != len(set(before))
    ]


def tree_level(rows: Sequence[Sequence[str]], missing: bool, h: int) -> list[str]:
    labels = [row[h] for row in rows]
    if h and len(set(labels)) == 1:
        return ["all"] * (len(rows) + missing)
    return [*labels, *([""] if missing else [])]


class Twin:
    """A table under a promise."""

    def __init__(
        self,
        points: Sequence[Sequence[int]],
        columns: Sequence[Column],
        k: int,
        share: Fraction = Fraction(0),
        allows: Callable[[list[int]], bool] = lambda _rows: True,
    ) -> None:
        self.points, self.columns, self.k, self.share, self.allows = points, columns, k, share, allows
        self.levels = [levels(column) for column in columns]

    def nodes(self) -> Iterator[Node]:
        yield from product(*(range(len(each)) for each in self.levels))

    def classes(self, node: Node) -> list[list[int]]:
        found: dict[tuple[Any, ...], list[int]] = {}
        for i, point in enumerate(self.points):
            key = tuple(each[h][c] for each, h, c in zip(self.levels, node, point, strict=True))
            found.setdefault(key, []).append(i)
        return list(found.values())

    def keeps(self, groups: Sequence[Sequence[int]]) -> bool:
        """Are few enough left out, and not all?"""
        left = len(self.points) - sum(map(len, groups))
        return bool(groups) and left <= self.share * len(self.points)

    def anonymous(self) -> list[Node]:
        return [
            node
            for node in self.nodes()
            if self.keeps([group for group in self.classes(node) if len(group) >= self.k])
        ]

    def minimal(self) -> list[Node]:
        good = self.anonymous()
        return [
            node
            for node in good
            if not any(
                other != node and all(a <= b for a, b in zip(other, node, strict=True)) for other in good
            )
        ]

    def best(self, measure: str) -> tuple[Node, set[Group]] | None:
        found = []
        for node in self.nodes():
            groups = [rows for rows in self.classes(node) if len(rows) >= self.k and self.allows(rows)]
            if self.keeps(groups):
                found.append((self.cost(node, groups, measure), sum(node), node, groups))
        if not found:
            return None
        _, _, node, groups = min(found, key=lambda each: each[:3])
        return node, {frozenset(group) for group in groups}

    def cost(self, node: Node, groups: Sequence[Sequence[int]], measure: str) -> Fraction:
        kept, n = sum(map(len, groups)), len(self.points)
        if measure == "height":
            return Fraction(sum(node))
        if measure == "classes":
            return Fraction(kept, len(groups))
        if measure == "discernibility":
            return Fraction(sum(len(group) ** 2 for group in groups) + (n - kept) * n)
        rows = [i for group in groups for i in group]
        return self.loss(node, rows) / (n * len(self.columns))

    def loss(self, node: Node, rows: Sequence[int]) -> Fraction:
        """The loss of all cells; who is left out costs as much as if nothing were said."""
        total = Fraction(0)
        for j, column in enumerate(self.columns):
            if size(column) > 1:
                total += len(self.points) - len(rows)
                total += sum(self.cell(j, node[j], self.points[i][j], rows) for i in rows)
        return total

    def cell(self, j: int, h: int, code: int, rows: Sequence[int]) -> Fraction:
        """The share of its domain that the cell of a value covers."""
        kind, about, missing = self.columns[j]
        part, others = self.levels[j][h], size(self.columns[j]) - 1
        if kind != "range":
            return Fraction(sum(each == part[code] for each in part) - 1, others)
        there = {self.points[i][j] for i in rows if part[self.points[i][j]] == part[code]}
        real = sorted(about[c - missing] for c in there if c >= missing)
        gone = int(missing and 0 in there)
        if not real or about[-1] == about[0]:
            return Fraction(len(there) - 1, others)
        return min(Fraction(real[-1] - real[0], about[-1] - about[0]) + Fraction(gone, others), Fraction(1))
