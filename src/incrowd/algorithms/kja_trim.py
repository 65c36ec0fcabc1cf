"""Leaving out people of the public table where that makes the box of a group smaller: the paper's form only.

Section 4 of Sacharidis, Mouratidis, Papadias, "k-Anonymity in the Presence of External Databases", TKDE 2010.
A group that stayed large, or a box that was not made smaller, then proves that whoever stands at its border
is in the private table.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.partitions.ordering import places_of
from incrowd.flow import Codes, Microdata

Ints = NDArray[np.int64]
TRIMS = ("none", "greedy", "exact")
MOST_BOXES = 100_000  # that are tried for one group; beyond that, one after the other is left out


def trimmed(data: Microdata, labels: Codes, k: int, how: str) -> Ints:
    """The people of the public table to be left out of their groups; those with label -1 are out already."""
    own = np.ones(len(data), np.bool_) if data.own is None else data.own
    places = np.column_stack([p[data.codes[:, j]] for j, p in enumerate(places_of(data))]).astype(np.int64)
    order = np.argsort(labels, kind="stable")
    order = order[labels[order] >= 0]
    gone = []
    for people in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        others = people[~own[people]]
        if others.size and people.size > k:
            kept = kept_of(places[people[own[people]]], places[others], k, how)
            gone.append(np.delete(others, kept))
    return np.concatenate(gone) if gone else np.empty(0, np.int64)


def kept_of(own: Ints, others: Ints, k: int, how: str) -> list[int]:
    """Which of the others (e, d) stay with the own people (m, d), so that there are k and the box is small.

    Examples
    --------
    >>> others = np.array([[0, 5], [3, 2], [4, 3]])
    >>> kept_of(np.array([[1, 5]]), others, 2, "exact"), kept_of(np.array([[1, 5]]), others, 2, "greedy")
    ([0], [2])
    """
    sides = [_sides(own[:, j], others[:, j]) for j in range(own.shape[1])]
    boxes = np.prod([float(len(lows) * len(highs)) for lows, highs in sides])
    if how == "exact" and boxes <= MOST_BOXES:
        return _smallest(own, others, k, sides)
    return _one_after_the_other(own, others, k)


def _sides(own: Ints, others: Ints) -> tuple[list[int], list[int]]:
    """Where a box may begin and end in one column: it holds all own people."""
    low, high = int(own.min()), int(own.max())
    values = set(others.tolist())
    return sorted({low, *(v for v in values if v < low)}), sorted({high, *(v for v in values if v > high)})


def _smallest(own: Ints, others: Ints, k: int, sides: list[tuple[list[int], list[int]]]) -> list[int]:
    """Of all boxes with enough people the one with the least perimeter, of equals that with most people."""
    best: tuple[int, int] | None = None
    kept: list[int] = []
    for box in product(*(product(lows, highs) for lows, highs in sides)):
        width = sum(high - low for low, high in box)
        if best is not None and width > best[0]:
            continue
        low, high = np.array(box).T
        inside = np.flatnonzero(((others >= low) & (others <= high)).all(axis=1))
        score = (width, -inside.size)
        if len(own) + inside.size >= k and (best is None or score < best):
            best, kept = score, inside.tolist()
    return kept


def _one_after_the_other(own: Ints, others: Ints, k: int) -> list[int]:
    """While there are more than k, leave out whoever makes the box smallest, the first of equals."""
    kept = list(range(len(others)))
    while len(own) + len(kept) > k and kept:
        saved = _saved(own, others[kept])
        best = int(np.argmax(saved))
        if saved[best] == 0:
            break
        del kept[best]
    return kept


def _saved(own: Ints, others: Ints) -> Ints:
    """By how much the box gets narrower without each of the others, summed over columns."""
    people = np.concatenate([own, others])
    saved = np.zeros(len(others), np.int64)
    for j in range(people.shape[1]):
        column = np.sort(people[:, j])
        if column.size < 2:
            continue
        saved += np.where(others[:, j] == column[0], column[1] - column[0], 0)
        saved += np.where(others[:, j] == column[-1], column[-1] - column[-2], 0)
    return saved
