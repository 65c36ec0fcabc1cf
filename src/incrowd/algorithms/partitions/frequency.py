"""Cutting partitions that do not fit into memory, by frequency sets (section 2.3.1 of the paper).

Columns lie in a file. A partition that is too large is read twice, piece by piece: once for the frequency
set of each column, which gives bounds, median and masses, and once to write its records, sorted by the part
they fall into, to a second file. A partition that fits is handed over to be cut in memory. The cuts are the
same as if everything were in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.costs import geometry_of
from incrowd.contracts import Progress
from incrowd.errors import InputError
from incrowd.flow import Attribute, Microdata
from incrowd.kernels import cuts, mondrian
from incrowd.schema import Shape

PIECE = 1 << 18  # records read at once

Inside = Callable[[NDArray[np.int32], int], NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class FilePart:
    """Records first..last-1 of one of two files, and whose turn it is in a round robin."""

    first: int
    last: int
    turn: int
    file: int

    def __len__(self) -> int:
        return self.last - self.first


def _nameless(folder: Path, shape: tuple[int, int]) -> NDArray[np.int32]:
    """An array in a file without a name, its room on the disk taken beforehand: later would be too late."""
    try:
        with TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, 4 * shape[0] * shape[1])
            return np.memmap(file, np.int32, "r+", shape=shape)
    except OSError as error:
        raise InputError(
            f"memory_rows: cannot spill into {folder.parent}: {error.strerror}; raise it, or make room"
        ) from None


class Spill:
    """All records in files, cut until each partition fits into memory, which holds `fits` records.

    The folder is private; it gets two files of ``4 (d + 1) n`` bytes each. They have no names, so that they
    end with the process, however it ends.
    """

    def __init__(self, data: Microdata, rules: mondrian.CutRules, fits: int, folder: Path) -> None:
        n, d = data.codes.shape
        self.data, self.rules, self.fits = data, rules, fits
        self.files = [_nameless(folder, (d + 1, n)) for _ in range(2)]
        for a in range(0, n, PIECE):
            self.files[0][:d, a : a + PIECE] = data.codes[a : a + PIECE].T
            self.files[0][d, a : a + PIECE] = np.arange(a, min(a + PIECE, n))

    def group(self, inside: Inside, progress: Progress) -> NDArray[np.int32]:
        """Labels of all records; `inside` cuts codes (m, d) that fit, given whose turn it is."""
        d, n = self.files[0].shape[0] - 1, self.files[0].shape[1]
        labels = np.empty(n, np.int32)
        pending = [FilePart(0, n, 0, 0)]
        groups, done = 0, 0
        while pending:
            part = pending.pop()
            smaller = self._cut(part) if len(part) > self.fits else []
            if smaller:
                pending += smaller
                continue
            rows = np.array(self.files[part.file][:, part.first : part.last])
            found = inside(np.ascontiguousarray(rows[:d].T), part.turn)
            labels[rows[d]] = groups + found
            groups += int(found.max()) + 1
            done += len(part)
            progress(done / n)
        return labels

    def _cut(self, part: FilePart) -> list[FilePart]:
        """The parts of a partition after one cut, written to the other file; none if it cannot be cut."""
        counts = self._frequency_sets(part)
        for j in self._order(counts, part.turn):
            places = self._places(self.data.attributes[j], counts[j], len(part))
            if places is not None:
                return self._write(part, j, places)
        return []

    def _frequency_sets(self, part: FilePart) -> list[NDArray[np.int64]]:
        """How often each code of each column occurs."""
        counts = [np.zeros(len(attribute), np.int64) for attribute in self.data.attributes]
        for piece in self._pieces(part):
            for count, codes in zip(counts, piece, strict=False):
                count += np.bincount(codes, minlength=count.size)
        return counts

    def _pieces(self, part: FilePart) -> Iterator[NDArray[np.int32]]:
        for a in range(part.first, part.last, PIECE):
            yield np.array(self.files[part.file][:, a : min(a + PIECE, part.last)])

    def _order(self, counts: list[NDArray[np.int64]], turn: int) -> list[int]:
        """Columns with more than one value, the widest first or the next in turn first."""
        ends = [np.flatnonzero(count)[[0, -1]].tolist() for count in counts]
        d = len(counts)
        if self.rules.choose == mondrian.ROUND_ROBIN:
            order = [(turn + step) % d for step in range(d)]
        else:
            geometry = geometry_of(self.data)
            order = sorted(range(d), key=lambda j: -cuts.extent(j, ends[j][0], ends[j][1], geometry))
        return [j for j in order if ends[j][0] < ends[j][1]]

    def _places(self, attribute: Attribute, counts: NDArray[np.int64], size: int) -> NDArray[np.int64] | None:
        """The part of each code after the cut of a column, None if no cut is allowable."""
        if attribute.shape is Shape.TREE:
            return self._children(attribute, counts)
        upto = np.cumsum(counts)
        middle = int(np.searchsorted(upto, (size + 1) // 2))
        codes = np.arange(counts.size)
        if self.rules.k <= upto[middle] <= size - self.rules.k:
            return (codes > middle).astype(np.int64)
        if self.rules.below_too and self.rules.k <= upto[middle] - counts[middle] <= size - self.rules.k:
            return (codes >= middle).astype(np.int64)
        return None

    def _children(self, attribute: Attribute, counts: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Each inhabited child of the smallest node over a column is a part, if all are large enough."""
        geometry = geometry_of(Microdata(np.zeros((1, 1), np.int32), (attribute,)))
        codes = np.flatnonzero(counts)
        top = cuts.covering(0, int(codes[0]), int(codes[-1]), geometry)
        children = [cuts.child_of(top, int(geometry.leaf[code]), geometry) for code in codes]
        _, part = np.unique(children, return_inverse=True)
        if np.bincount(part, counts[codes]).min() < self.rules.k or part.max() == 0:
            return None
        places = np.zeros(counts.size, np.int64)
        places[codes] = part
        return places

    def _write(self, part: FilePart, column: int, places: NDArray[np.int64]) -> list[FilePart]:
        """Sort a partition by part into the other file, keeping the order of records."""
        sizes = np.zeros(int(places.max()) + 1, np.int64)
        for piece in self._pieces(part):
            sizes += np.bincount(places[piece[column]], minlength=sizes.size)
        starts = part.first + np.concatenate([[0], np.cumsum(sizes)])
        at = starts[:-1].copy()
        target = self.files[1 - part.file]
        for piece in self._pieces(part):
            belongs = places[piece[column]]
            for p in range(sizes.size):
                chosen = piece[:, belongs == p]
                target[:, at[p] : at[p] + chosen.shape[1]] = chosen
                at[p] += chosen.shape[1]
        turn = (column + 1) % len(self.data.attributes)
        ends = starts.tolist()
        return [FilePart(a, b, turn, 1 - part.file) for a, b in pairwise(ends) if a < b]
