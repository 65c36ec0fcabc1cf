"""SPLIT: equivalence classes with equally many people of every colour, from quasi-identifiers and colours.

Nothing here is given a value, or a name of a colour. Permuting the colours of a bucket permutes worlds that
are equally likely, and leaves the classes as they are; that is the whole proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.costs import geometry_of, room_to_cut
from incrowd.algorithms.partitions.mondrian import StrictMondrian, queries_of
from incrowd.flow import Codes, Microdata
from incrowd.kernels import cuts, mondrian
from incrowd.kernels import transparent as kernels

Ints = NDArray[np.int64]
WINDOW = 12  # how far partners for an exchange are looked for, along the order of each column
ROUNDS = 2  # how often each order is gone through


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """The domains of a table, and scratch space for kernels: nothing about its people."""

    geometry: cuts.Geometry
    queries: mondrian.Queries
    work: cuts.Work
    small: bool

    @classmethod
    def under(cls, data: Microdata) -> Ground:
        geometry = geometry_of(data)
        work = room_to_cut(len(data), geometry)
        small = max((len(a) for a in data.attributes), default=0) < 2**15
        return cls(geometry, queries_of((), data.attributes), work, small)

    def columns(self, codes: Codes) -> Any:
        """The codes column by column, as kernels read them."""
        return np.ascontiguousarray(codes.T, dtype=np.int16 if self.small else np.int32)

    def buffers(self, columns: Any) -> tuple[mondrian.Points, mondrian.Points]:
        """Points and a spare buffer for them."""
        none, ids = np.zeros(0, np.int32), np.arange(columns.shape[1], dtype=np.int32)
        spare = mondrian.Points(np.empty(columns.shape, columns.dtype), none, np.empty_like(ids))
        return mondrian.Points(columns.copy(), none, ids), spare


@dataclass(frozen=True, slots=True)
class ColourSplit:
    """How a bucket is split: `need` people of each of l colours in every class, with exchanges or without."""

    ground: Ground
    l: int  # noqa: E741  the paper's letter
    need: int
    swaps: bool

    def classes(self, codes: Codes, colours: Codes) -> Codes:
        """The class of each person (m,), from their quasi-identifiers (m, d) and colours (m,)."""
        columns = self.ground.columns(codes)
        labels = self._in_rounds(columns, colours)
        labels = self._at_ranks(columns, colours, labels)
        return self._exchanged(columns, colours, labels) if self.swaps else labels

    def _in_rounds(self, columns: Any, colours: Codes) -> Codes:
        """Cut by Mondrian; who is too many of a colour in a class goes to the next round."""
        labels = np.full(colours.size, -1, np.int32)
        left, made = np.arange(colours.size, dtype=np.int32), 0
        while left.size >= self.l * self.need:
            here, own = columns.take(left, axis=1), colours[left]
            found = self._cut(here, own)
            order, starts = grouped(found)
            kept = np.zeros(left.size, np.bool_)
            kernels.trim(here, order, starts, own, self.l, self.ground.geometry, kept)
            labels[left[kept]] = made + found[kept]
            made, left = made + starts.size - 1, left[~kept]
        if left.size:
            about = self.ground.geometry, self.ground.work
            labels[left] = kernels.nearest(columns, *grouped(labels), left, *about)
        return labels

    def _cut(self, columns: Any, colours: Codes) -> Codes:
        ground, rules = self.ground, StrictMondrian(self.l * self.need).rules()
        found = np.empty(colours.size, np.int32)
        points, spare = ground.buffers(columns)
        about = ground.geometry, ground.queries, ground.work
        kernels.cut_by_colours(points, spare, rules, about, colours, self.need, found)
        return found

    def _at_ranks(self, columns: Any, colours: Codes, labels: Codes) -> Codes:
        """Halve what is still large: each colour in the order of one column, cut at equal ranks."""
        order, starts = grouped(labels)
        found, made = np.empty_like(labels), 0
        for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            rows = order[first:last]
            tuples = rows[np.argsort(colours[rows], kind="stable")].reshape(self.l, -1)
            made = kernels.cut_at_ranks(
                columns, tuples, self.need, self.ground.geometry, self.ground.work, found, made
            )
        return found

    def _exchanged(self, columns: Any, colours: Codes, labels: Codes) -> Codes:
        """Let people of one colour change places, along the order of each column in turn."""
        members, starts = grouped(labels)
        place = np.empty(labels.size, np.int64)
        place[members] = np.arange(labels.size)
        cost, box = np.empty(starts.size - 1), np.empty((2, 2, columns.shape[0]), np.int64)
        classes = kernels.Classes(members, starts, labels.copy(), place, cost, box)
        about = self.ground.geometry, self.ground.work
        kernels.losses(columns, classes, *about)
        d = columns.shape[0]
        for first in [*range(d)] * ROUNDS:
            keys = [columns[(first + j) % d] for j in range(d)]
            near = np.lexsort(keys[::-1]).astype(np.int32)
            kernels.exchange(columns, classes, near, colours, WINDOW, *about)
        return classes.label


def grouped(labels: Codes) -> tuple[Codes, Ints]:
    """Rows by their label, those with a negative one left out, and where each label starts.

    Examples
    --------
    >>> [part.tolist() for part in grouped(np.array([1, -1, 0, 1], np.int32))]
    [[2, 0, 3], [0, 1, 3]]
    """
    order = np.argsort(labels, kind="stable").astype(np.int32)
    order = order[np.count_nonzero(labels < 0) :]
    return order, np.concatenate([[0], np.cumsum(np.bincount(labels[order]))]).astype(np.int64)
