"""Slow twins of cheapest cells first and of polish: losses as fractions, and every step tried.

Axes as for cuts, and some more: ("gapped", numbers) has missing as code 0, one mean gap below the smallest;
("family", paths) and ("hung", paths) are trees of nested sets, and with missing as the last leaf.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from twins.definitions import Axis, Point, covering_node

Class = Sequence[int]


def cell_over(axis: Axis, codes: Sequence[int] | frozenset[int]) -> frozenset[int]:
    """The codes in the smallest cell over some."""
    kind, about = axis
    if kind == "set":
        return frozenset(codes)
    if kind in ("range", "gapped"):
        return frozenset(range(min(codes), max(codes) + 1))
    return covering_node(about, sorted(codes))


def share(axis: Axis, codes: Sequence[int] | frozenset[int]) -> Fraction:
    """The share of its domain, beyond one value, that the smallest cell over some codes covers."""
    kind, about = axis
    if kind in ("range", "gapped"):
        span = max(about) - min(about)
        gap = [min(about) - Fraction(span, len(about))] if kind == "gapped" else []
        at = [*gap, *about]
        return Fraction(at[max(codes)] - at[min(codes)]) / span if span else Fraction(0)
    size = about if kind == "set" else len(about)
    return Fraction(len(cell_over(axis, codes)) - 1, size - 1) if size > 1 else Fraction(0)


def row_loss(
    points: Sequence[Point],
    members: Class,
    axes: Sequence[Axis],
    weights: Mapping[int, Fraction] | None = None,
) -> Fraction:
    """What each row of a class costs."""
    heavy = weights or {}
    shares = (share(axis, [points[i][j] for i in members]) * heavy.get(j, 1) for j, axis in enumerate(axes))
    return sum(shares, Fraction(0)) / len(axes)


def class_loss(points: Sequence[Point], members: Class, axes: Sequence[Axis]) -> Fraction:
    return len(members) * row_loss(points, members, axes) if members else Fraction(0)


def loss(points: Sequence[Point], classes: Sequence[Class], axes: Sequence[Axis]) -> Fraction:
    return sum((class_loss(points, each, axes) for each in classes), Fraction(0))


# ---- steps of polish: what each saves ------------------------------------------------------------------


def _saved(
    points: Sequence[Point], axes: Sequence[Axis], before: Sequence[Class], after: Sequence[Class]
) -> Fraction:
    return loss(points, before, axes) - loss(points, after, axes)


def relocations(
    points: Sequence[Point], classes: Sequence[Class], axes: Sequence[Axis], k: int
) -> Iterator[Fraction]:
    """What it saves to send one record from a class of more than k to another class."""
    for a in classes:
        for b in classes:
            if a is not b and len(a) > k:
                for i in a:
                    yield _saved(points, axes, [a, b], [[m for m in a if m != i], [*b, i]])


def swaps(points: Sequence[Point], classes: Sequence[Class], axes: Sequence[Axis]) -> Iterator[Fraction]:
    """What it saves to let two records change places."""
    for x, a in enumerate(classes):
        for b in classes[:x]:
            for i, j in product(a, b):
                after = [[m for m in a if m != i] + [j], [m for m in b if m != j] + [i]]
                yield _saved(points, axes, [a, b], after)


def dissolutions(
    points: Sequence[Point], classes: Sequence[Class], axes: Sequence[Axis], most: int
) -> Iterator[Fraction]:
    """What it saves at least to take a class of at most so many apart.

    One record after the other goes where it costs least; of equally cheap classes every one is tried.
    """

    def spent(left: Class, others: tuple[tuple[int, ...], ...]) -> Fraction:
        if not left:
            return Fraction(0)
        wider = [(*each, left[0]) for each in others]
        prices = [-_saved(points, axes, [o], [w]) for o, w in zip(others, wider, strict=True)]
        return max(
            price + spent(left[1:], (*others[:b], wider[b], *others[b + 1 :]))
            for b, price in enumerate(prices)
            if price == min(prices)
        )

    for a in classes:
        others = tuple(tuple(b) for b in classes if b is not a)
        if others and len(a) <= most:
            yield class_loss(points, a, axes) - spent(a, others)


# ---- cells: all of them, and those that grow -----------------------------------------------------------

Cell = tuple[frozenset[int], ...]


def inside(points: Sequence[Point], free: Sequence[int], cell: Cell) -> list[int]:
    return [i for i in free if all(code in side for code, side in zip(points[i], cell, strict=True))]


def cell_cost(cell: Cell, axes: Sequence[Axis]) -> Fraction:
    shares = (share(axis, side) for axis, side in zip(axes, cell, strict=True))
    return sum(shares, Fraction(0)) / len(axes)


def cells_around(point: Point, axes: Sequence[Axis]) -> Iterator[Cell]:
    """Every cell of levels that holds a point; all axes have paths."""
    return product(*(axis[1][code] for code, axis in zip(point, axes, strict=True)))


def cheapest_cell(
    points: Sequence[Point], free: Sequence[int], axes: Sequence[Axis], k: int, at: int
) -> Fraction | None:
    """What the cheapest cell around record `at` costs that holds k free records."""
    fit = [c for c in cells_around(points[at], axes) if len(inside(points, free, c)) >= k]
    return min((cell_cost(cell, axes) for cell in fit), default=None)


def growths(
    points: Sequence[Point], free: Sequence[int], axes: Sequence[Axis], need: int, at: int
) -> set[Fraction]:
    """What a cell around record `at` may cost that grows by the nearest record until it holds enough.

    Of records that are equally near any may come first, so that there can be several ends.
    """

    def on(cell: Cell) -> set[Fraction]:
        held = inside(points, free, cell)
        if len(held) >= need:
            return {cell_cost(cell, axes)}
        wider: dict[Cell, Any] = {}
        for i in free:
            if i not in held:
                sides = zip(axes, cell, points[i], strict=True)
                grown = tuple(cell_over(axis, side | {code}) for axis, side, code in sides)
                wider[grown] = cell_cost(grown, axes)
        nearest = [each for each, cost in wider.items() if cost == min(wider.values())]
        return {end for each in nearest for end in on(each)}

    if len(free) < need:
        return set()
    return on(tuple(cell_over(axis, [code]) for axis, code in zip(axes, points[at], strict=True)))
