"""A k-d tree over records: which classes hold which records, without comparing each with each.

Records are cut in half again and again, each time along the column in which they lie widest apart; every
part knows the smallest and largest rank of its records. A class goes down from the whole table to the parts
that its cells meet, stops where they cover a part entirely, and looks at single records only at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.verifier.cell_coder import Codes
from incrowd.verifier.cell_regions import CellRegions
from incrowd.verifier.columns import Bools, Ints, within
from incrowd.verifier.failure import CheckFailed

LEAF = 16  # records that are looked at one by one
PAIRS_AT_ONCE = 400_000
MOST_RUNS = 60_000_000  # 8 bytes each, and 50 while matches are searched

Pairs = tuple[Ints, Ints]


@dataclass(frozen=True, slots=True, eq=False)
class KdTree:
    """Distinct records in an order in which every part of the table is a run of places.

    Numbers below ``order.size`` are single places, later ones the parts of each level from the whole
    table down. ``order[p]`` is the record at place p. Part i has the places ``start[i]..stop[i]-1`` and lies
    directly inside ``above[i]`` (the whole table in itself). ``low[j][i]`` and ``high[j][i]`` are its ranks
    in column j, counting from the whole table. The level of the smallest parts is ``depth``.
    """

    order: Ints
    start: Ints
    stop: Ints
    above: Ints
    low: Sequence[Ints]
    high: Sequence[Ints]
    depth: int

    @property
    def whole(self) -> int:
        return self.order.size

    def first_of(self, level: int) -> int:
        """The number of a level's first part; the others follow."""
        return self.whole + (1 << level) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Class ``row[i]`` holds every record of the part ``part[i]``; no record is named twice for a class."""

    parts: KdTree
    row: Codes
    part: Codes

    @property
    def start(self) -> Ints:
        return self.parts.start[self.part]

    @property
    def stop(self) -> Ints:
        return self.parts.stop[self.part]


def cut(ranks: Sequence[Ints], weights: Sequence[float]) -> KdTree:
    """Cut records into parts; a column counts the more, the larger its weight.

    Examples
    --------
    >>> parts = cut([np.arange(40) % 20], [1.0])
    >>> parts.depth, parts.order[:4].tolist(), parts.high[0].tolist()
    (2, [0, 20, 1, 21], [19, 9, 19, 4, 9, 14, 19])
    """
    columns = np.stack(ranks)
    n = columns.shape[1]
    depth = (max(n - 1, 0) // LEAF).bit_length()
    order = np.arange(n)
    bounds, low, high = [], [], []
    for level in range(depth + 1):
        bounds.append(n * np.arange((1 << level) + 1) // (1 << level))
        low.append(np.minimum.reduceat(columns[:, order], bounds[-1][:-1], axis=1))
        high.append(np.maximum.reduceat(columns[:, order], bounds[-1][:-1], axis=1))
        if level < depth:
            widest = np.argmax((high[-1] - low[-1]) * np.array(weights)[:, None], axis=0)
            part = np.repeat(np.arange(1 << level), np.diff(bounds[-1]))
            order = order[np.lexsort((columns[widest[part], order], part))]
    return KdTree(
        order=order,
        start=np.concatenate([np.arange(n), *(ends[:-1] for ends in bounds)]),
        stop=np.concatenate([np.arange(n) + 1, *(ends[1:] for ends in bounds)]),
        above=_above(bounds[-1], depth),
        low=list(np.concatenate(low, axis=1)),
        high=list(np.concatenate(high, axis=1)),
        depth=depth,
    )


def _above(leaves: Ints, depth: int) -> Ints:
    """The part around each place and each part."""
    n, last = int(leaves[-1]), (1 << depth) - 1
    around = np.repeat(n + last + np.arange(1 << depth), np.diff(leaves))
    halves = n + (np.arange(2 * last + 1) - 1) // 2
    return np.concatenate([around, np.maximum(halves, n)])


class RegionSearch:
    """The search for all records that classes hold."""

    def __init__(
        self, ranks: Sequence[Ints], class_cells: Sequence[Ints], regions: Sequence[CellRegions]
    ) -> None:
        self._ranks, self._cells, self._regions = ranks, class_cells, regions
        # Where cells are narrow, a cut keeps most classes out of one half.
        wide = [
            float((r.high[cells] - r.low[cells]).mean()) + 1
            for r, cells in zip(regions, class_cells, strict=True)
        ]
        self.parts = cut(ranks, [1 / max(width, 1.0) for width in wide])

    def runs(self) -> Runs:
        """Everything that classes hold."""
        rows, parts, count = [np.empty(0, np.int32)], [np.empty(0, np.int32)], 0
        for row, part in self._found():
            count += row.size
            if count > MOST_RUNS:
                raise CheckFailed("the rows are consistent with too many records to look at them all")
            rows.append(row.astype(np.int32))
            parts.append(part.astype(np.int32))
        return Runs(self.parts, np.concatenate(rows), np.concatenate(parts))

    def _found(self) -> Iterator[Pairs]:
        """Depth first in batches, so that little is in hand at any time."""
        classes = np.arange(self._cells[0].size)
        waiting = [(0, row, np.full_like(row, self.parts.whole)) for row in _batches(classes)]
        while waiting:
            level, row, part = waiting.pop()
            row, part = self._meeting(row, part)
            covered = self._covered(row, part)
            yield row[covered], part[covered]
            row, part = row[~covered], part[~covered]
            if level == self.parts.depth:
                yield from self._single(row, part)
            else:
                halves = zip(*map(_batches, self._halved(level, row, part)), strict=True)
                waiting += [(level + 1, *pairs) for pairs in halves]

    def _halved(self, level: int, row: Ints, part: Ints) -> Pairs:
        first = self.parts.first_of(level + 1) + 2 * (part - self.parts.first_of(level))
        return np.repeat(row, 2), np.stack([first, first + 1], axis=1).ravel()

    def _meeting(self, row: Ints, part: Ints) -> Pairs:
        """The pairs of a class and a part in which the class might hold a record."""
        for cells, regions, low, high in self._columns():
            place = part - self.parts.whole
            met = regions.meet(cells[row], low[place], high[place])
            row, part = row[met], part[met]
        return row, part

    def _covered(self, row: Ints, part: Ints) -> Bools:
        left = np.arange(row.size)
        for cells, regions, low, high in self._columns():
            place = part[left] - self.parts.whole
            left = left[regions.contain(cells[row[left]], low[place], high[place])]
        covered = np.zeros(row.size, np.bool_)
        covered[left] = True
        return covered

    def _columns(self) -> Iterator[tuple[Ints, CellRegions, Ints, Ints]]:
        return zip(self._cells, self._regions, self.parts.low, self.parts.high, strict=True)

    def _single(self, row: Ints, part: Ints) -> Iterator[Pairs]:
        """The places of the records that classes hold, among those of these parts."""
        for rows, parts in zip(_batches(row, LEAF), _batches(part, LEAF), strict=True):
            start, size = self.parts.start[parts], self.parts.stop[parts] - self.parts.start[parts]
            yield self._tested(np.repeat(rows, size), within(start, size))

    def _tested(self, row: Ints, place: Ints) -> Pairs:
        for cells, regions, ranks in zip(self._cells, self._regions, self._ranks, strict=True):
            held = regions.hold(cells[row], ranks[self.parts.order[place]])
            row, place = row[held], place[held]
        return row, place


def _batches(numbers: Ints, each: int = 1) -> list[Ints]:
    size = max(PAIRS_AT_ONCE // each, 1)
    return [numbers[start : start + size] for start in range(0, numbers.size, size)]
