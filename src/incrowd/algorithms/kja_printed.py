"""What only the printed forms of k-join-anonymity need: boxes around private people, and trimming.

Sacharidis, Mouratidis, Papadias, "k-Anonymity in the Presence of External Databases", TKDE 2010, section 4.
Both tell people of the private table from others; they are for reproduction, and refused unless accepted.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import records_by_label
from incrowd.algorithms.partitions.lexicographic import places_of
from incrowd.flow import Codes, Microdata
from incrowd.kernels import kja as kernels
from incrowd.schema import Shape

Ints = NDArray[np.int64]
MOST_BOXES = 100_000  # that are tried for one group; beyond that, one after the other is left out


def around(data: Microdata, own: NDArray[np.bool_], groups: Codes) -> Codes:
    """The groups of private people, joined by each public one inside the box of one; -1 for the others."""
    home = np.full(len(data), -1, np.int32)
    home[own] = groups
    home[~own] = GroupBoxes.over(Microdata(data.codes[own], data.attributes), groups).holding(
        data.codes[~own]
    )
    return home


@dataclass(frozen=True, slots=True, eq=False)
class GroupBoxes:
    """The smallest boxes over groups: bounds (g, d) of codes, whether missing is inside, members of sets.

    ``gap[j]`` is the code of missing in column j, -1 where it is a value like others.
    ``named[g, first[j] + c]`` says for a column of sets that its value c is in group g; other columns have
    first[j] = -1.
    """

    low: Codes
    high: Codes
    gaps: NDArray[np.bool_]
    gap: Ints
    named: NDArray[np.bool_]
    first: Ints

    @classmethod
    def over(cls, data: Microdata, labels: Codes) -> GroupBoxes:
        groups, d = int(labels.max()) + 1, len(data.attributes)
        sets = np.array([attribute.shape is Shape.SET for attribute in data.attributes])
        starts = np.cumsum([0, *np.where(sets, [len(attribute) for attribute in data.attributes], 0)])
        first = np.where(sets, starts[:-1], -1)
        gap = np.where(sets, -1, [-1 if a.missing_in_tree else a.missing for a in data.attributes])
        low, high = np.full((groups, d), 2**31 - 1, np.int32), np.full((groups, d), -1, np.int32)
        gaps, named = np.zeros((groups, d), np.bool_), np.zeros((groups, int(starts[-1])), np.bool_)
        kernels.bounds_of_groups(data.codes, labels, gap, low, high, gaps)
        for j in np.flatnonzero(sets).tolist():
            named[labels, starts[j] + data.codes[:, j]] = True
        return cls(low, high, gaps, gap.astype(np.int64), named, first.astype(np.int64))

    def holding(self, codes: Codes) -> Codes:
        """The first box that holds each of these people (m,), -1 if none does."""
        by, starts, listed = self._shortest_lists(codes)
        found = np.full(len(codes), -1, np.int32)
        boxes = kernels.HeldCodes(self.low, self.high, self.gaps, self.gap, self.named, self.first)
        kernels.first_holders(codes, by, starts, listed, boxes, found)
        return found

    def _shortest_lists(self, codes: Codes) -> tuple[int, Ints, Codes]:
        """The column by which fewest boxes must be tried, and the boxes that hold each of its codes."""
        d = self.low.shape[1]
        counts = [self._holders(j, int(codes[:, j].max(initial=-1)) + 1) for j in range(d)]
        by = int(np.argmin([held[codes[:, j]].sum() for j, held in enumerate(counts)])) if len(codes) else 0
        starts = np.concatenate([[0], counts[by]]).astype(np.int64)
        low, high = self.low[:, by], np.minimum(self.high[:, by], counts[by].size - 1)
        listed = np.empty(int(starts.sum()), np.int32)
        kernels.list_groups(low, high, starts, listed)
        return by, starts, listed

    def _holders(self, j: int, size: int) -> Ints:
        """How many boxes hold each code below `size` of column j, by their bounds alone."""
        change = np.zeros(size + 1, np.int64)
        real = self.low[:, j] <= np.minimum(self.high[:, j], size - 1)
        np.add.at(change, self.low[real, j], 1)
        np.add.at(change, np.minimum(self.high[real, j], size - 1) + 1, -1)
        return np.cumsum(change)[:-1]


def trimmed(data: Microdata, own: NDArray[np.bool_], labels: Codes, k: int, how: str) -> Ints:
    """The people of the public table to be left out of their groups, so that boxes get smaller.

    The paper's form only (section 4). A group that stayed large, or a box that was not made smaller, proves
    that whoever stands at its border is in the private table.
    """
    places = np.column_stack([p[data.codes[:, j]] for j, p in enumerate(places_of(data))]).astype(np.int64)
    gone = []
    for people in records_by_label(labels):
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
