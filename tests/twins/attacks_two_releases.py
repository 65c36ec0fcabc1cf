"""Slow twins of more attacks, in plain Python and without incrowd: two releases, values ruled out, nodes
that are larger than one of their children."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from math import sqrt

Rows = Sequence[set[int]]  # for each record the rows that it can be behind
Said = Sequence[Hashable]  # for each row the private values


# ---- two releases


def left(mine: set[int], said: Said, theirs: set[int], other: Said) -> set[int]:
    """The rows of one release that the other one does not rule out."""
    return {row for row in mine if any(said[row] == other[there] for there in theirs)}


def linked(said: Said, other: Said) -> dict[Hashable, tuple[int, int]]:
    """The one row of each release that has these private values."""
    once = [value for value in set(said) if list(said).count(value) == list(other).count(value) == 1]
    return {value: (list(said).index(value), list(other).index(value)) for value in once}


def who_fits(first: Rows, second: Rows, rows: tuple[int, int]) -> set[int]:
    return {i for i in range(len(first)) if rows[0] in first[i] and rows[1] in second[i]}


def expected_in_both(
    mine: Mapping[str, int],
    theirs: Mapping[str, int],
    common: int,
    table: Mapping[str, int],
) -> dict[str, float]:
    """How many with each value are probably among those whom two groups have in common."""
    a, b, n = sum(mine.values()), sum(theirs.values()), sum(table.values())
    found = {}
    for value in set(mine) & set(theirs):
        q = table[value] / n * (a - common) * (b - common) / common
        s = mine[value] + theirs[value] + q
        found[value] = (s - sqrt(max(s * s - 4 * mine[value] * theirs[value], 0.0))) / 2
    return found


# ---- values ruled out


def after_ruling_out(values: Sequence[int], known: int) -> float:
    """The largest probability of a value among candidates, whichever others an adversary rules out."""
    counts = Counter(values)
    best = 0.0
    for value, many in counts.items():
        others = sorted((c for other, c in counts.items() if other != value), reverse=True)
        best = max(best, many / (many + sum(others[known:])))
    return best


# ---- nodes of trees


def under_children(
    said: frozenset[int], people: Sequence[int], nodes: Sequence[frozenset[int]]
) -> Counter[frozenset[int]]:
    """How many of the people are under each child of a node; nodes are sets of leaves."""
    below = [node for node in nodes if node < said]
    children = [node for node in below if not any(node < other for other in below)]
    return Counter(child for leaf in people for child in children if leaf in child)
