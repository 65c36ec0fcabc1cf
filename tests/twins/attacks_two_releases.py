"""Slow twins of more attacks, in plain Python and without incrowd: several releases, values ruled out, nodes
that are larger than one of their children."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from math import sqrt

Rows = Sequence[set[int]]  # for each record the rows that it can be behind
Said = Sequence[Hashable]  # for each row the private values


# ---- several releases


def left(candidates: Sequence[set[int]], said: Sequence[Said]) -> list[set[int]]:
    """Of each release the rows that no other one rules out; candidates are one person's in each."""
    have = [{said[r][row] for row in rows} for r, rows in enumerate(candidates)]
    return [
        {row for row in rows if all(said[r][row] in others for others in have)}
        for r, rows in enumerate(candidates)
    ]


def linked(said: Sequence[Said]) -> dict[Hashable, tuple[int, ...]]:
    """The one row of each release that has these private values."""
    rows = [list(each) for each in said]
    once = [value for value in set(rows[0]) if all(each.count(value) == 1 for each in rows)]
    return {value: tuple(each.index(value) for each in rows) for value in once}


def who_fits(releases: Sequence[Rows], rows: Sequence[int]) -> set[int]:
    """Who can be behind these rows, one of each release."""
    return {
        i
        for i in range(len(releases[0]))
        if all(row in held[i] for held, row in zip(releases, rows, strict=True))
    }


def expected_in_all(
    groups: Sequence[Mapping[str, int]], common: Sequence[int], table: Mapping[str, int]
) -> dict[str, float]:
    """How many with each value are probably among those whom groups have in common, one after another.

    ``common[r]`` are the people of the groups up to r + 1.
    """
    n, size = sum(table.values()), sum(groups[0].values())
    found = {value: float(many) for value, many in groups[0].items()}
    for theirs, both in zip(groups[1:], common, strict=True):
        after = {}
        for value in set(found) & set(theirs):
            q = table[value] / n * max(size - both, 0) * max(sum(theirs.values()) - both, 0) / both
            s = found[value] + theirs[value] + q
            after[value] = (s - sqrt(max(s * s - 4 * found[value] * theirs[value], 0.0))) / 2
        found, size = after, both
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
