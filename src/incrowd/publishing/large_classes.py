"""Equivalence classes of weighted records, block by block: what each publishes, and how many rows it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import catalogue, option_names
from incrowd.engines.base import ClassCells, ListedCells, RangeCells, Tuples
from incrowd.flow import Attribute, Cells, Codes, Microdata, Partition, Regions, ValueSets, distinct_rows
from incrowd.generalize import generalize
from incrowd.measures.counted import CountedMicrodata, CountedPublished
from incrowd.measures.loss import CellMeasure, EntropyLoss, Measure
from incrowd.measures.published import ClassSizes, cells_of
from incrowd.publishing.render import cell_texts
from incrowd.schema import Shape

Ints = NDArray[np.int64]

CELLS_AT_ONCE = 1_000_000  # of which it is looked at what they cover: about 150 bytes each
NO_ROWS = np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class WeighedRegions(Regions):
    """Regions without records: `counts` says how many rows carry each, `of_class` the region of a class."""

    counts: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    of_class: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def sizes(self) -> Ints:
        return self.counts

    def only(self, rows: Ints) -> tuple[WeighedRegions, Ints]:
        """The regions of some rows alone, with no other cells, and the region of each of these rows."""
        some, of = np.unique(rows, return_inverse=True)
        cells, columns = [], []
        for j, every in enumerate(self.cells):
            used, own = np.unique(self.cell[some, j], return_inverse=True)
            cells.append(every.take(used))
            columns.append(own.astype(np.int32))
        kept = np.arange(some.size)
        cell = np.stack(columns, axis=1)
        counts = self.counts[some]
        return WeighedRegions(kept.astype(np.int32), cell, tuple(cells), counts=counts, of_class=kept), of


class _Column:
    """The cells of one quasi-identifier in all classes so far."""

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        self._parts: list[Cells] = []
        self._of: list[Codes] = []  # cells of classes, numbered through the parts
        self._size = 0

    def add(self, cells: Cells, of_class: Codes) -> None:
        self._parts.append(cells)
        self._of.append(of_class + self._size)
        self._size += len(cells)

    def merged(self) -> tuple[Cells, Codes]:
        """The distinct cells, and the cell of each class; from now on they are one part."""
        if len(self._parts) > 1:  # those of one block are distinct
            whole, of = _end_to_end(self._parts), np.concatenate(self._of)
            self._parts, self._of = [], []  # there may be many millions: not to be kept twice
            first, same = self._distinct(whole)
            self._parts, self._of = [whole.take(first)], [same[of].astype(np.int32)]
            self._size = first.size
        return self._parts[0], self._of[0]

    def _distinct(self, cells: Cells) -> tuple[Ints, Ints]:
        """Where each distinct cell is first met, and which one each is."""
        if self.attribute.shape is Shape.SET:
            met: dict[str, int] = {}
            same = np.array([met.setdefault(text, len(met)) for text in cell_texts(self.attribute, cells)])
            first = np.empty(len(met), np.int64)
            first[same[::-1]] = np.arange(same.size - 1, -1, -1)
            return first, same
        node = np.zeros(len(cells), np.int64) if cells.node is None else cells.node + 1
        size = len(self.attribute) + 2
        columns: list[NDArray[np.integer]] = [cells.low + 1, cells.high + 1, cells.missing.astype(np.int64)]
        return distinct_rows([*columns, node], [size, size, 2, int(node.max(initial=0)) + 1], len(cells))

    def cells(self) -> RangeCells | ListedCells:
        cells, of = self.merged()
        if self.attribute.shape is Shape.RANGE:
            return RangeCells(cells.low[of], cells.high[of], cells.missing[of], self.attribute.texts)
        return ListedCells(of, cell_texts(self.attribute, cells))


def _end_to_end(parts: Sequence[Cells]) -> Cells:
    first = parts[0]
    if len(parts) == 1:
        return first
    sets = None
    if first.sets is not None:
        lengths = np.concatenate([np.diff(part.sets.starts) for part in parts if part.sets is not None])
        codes = np.concatenate([part.sets.codes for part in parts if part.sets is not None])
        sets = ValueSets(np.concatenate([[0], np.cumsum(lengths)]), codes)
    return Cells(
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        np.concatenate([part.missing for part in parts]),
        None
        if first.node is None
        else np.concatenate([part.node for part in parts if part.node is not None]),
        sets,
    )


class ClassCollector:
    """The classes of one block after another, numbered through."""

    def __init__(self, attributes: tuple[Attribute, ...]) -> None:
        self.attributes = attributes
        self._columns = [_Column(attribute) for attribute in attributes]
        self._counts: list[Ints] = []
        self._classes = 0

    def add(self, tuples: Tuples, labels: Codes) -> Codes:
        """The classes of a block -> the number of each tuple's class."""
        return self.take(
            generalize(Microdata(tuples.codes, self.attributes), Partition(labels)), tuples.weights
        )

    def take(self, regions: Regions, weights: Codes | None = None) -> Codes:
        """The regions of a block, of records with these weights -> the number of each record's class."""
        for j, column in enumerate(self._columns):
            column.add(regions.cells[j], regions.cell[:, j])
        self._counts.append(np.bincount(regions.of, weights, len(regions)).astype(np.int64))
        first = self._classes
        self._classes += len(regions)
        return (regions.of + np.int32(first)).astype(np.int32)

    def __len__(self) -> int:
        return self._classes

    def cells(self) -> ClassCells:
        """What each class publishes."""
        values = tuple(
            tuple(None if code == a.missing else text for code, text in enumerate(a.texts))
            for a in self.attributes
        )
        names = tuple(attribute.name for attribute in self.attributes)
        return ClassCells(names, tuple(column.cells() for column in self._columns), values)

    def regions(self) -> WeighedRegions:
        """The same as regions, classes with equal cells as one."""
        merged = [column.merged() for column in self._columns]
        cells = tuple(cells for cells, _ in merged)
        rows = [of for _, of in merged]
        first, same = distinct_rows(rows, [len(each) for each in cells], rows[0].size)
        counts = np.bincount(same, np.concatenate(self._counts), first.size).astype(np.int64)
        cell = np.stack([of[first] for of in rows], axis=1).astype(np.int32)
        every = np.arange(first.size, dtype=np.int32)
        return WeighedRegions(every, cell, cells, counts=counts, of_class=same)


def measured(regions: WeighedRegions, data: CountedMicrodata, k: int) -> dict[str, float | int]:
    """Every measure of information loss that needs cells and counts alone.

    What cells cover is looked at some cells of one column at a time: where classes are many millions, all
    of it would not fit into memory. Nobody is left out, so that no part is charged for it.
    """
    sizes, rows = ClassSizes.of(regions.counts), int(regions.counts.sum())
    measures: dict[str, Measure] = {}
    for name, part in catalogue("measure").items():
        if data.tallies or part is not EntropyLoss:  # it needs to know how many records have each value
            measures[name] = part(k=k) if "k" in option_names(part) else part()
    totals = {name: dict.fromkeys((a.name for a in data.attributes), 0.0) for name in measures}
    found: dict[str, float | int] = {}
    for j, attribute in enumerate(data.attributes):
        of_column = CountedMicrodata(
            data.codes[:, [j]], (attribute,), rows=len(data), tallies=data.tallies[j : j + 1]
        )
        carried = np.bincount(regions.cell[:, j], regions.counts, len(regions.cells[j])).astype(np.int64)
        for first in range(0, carried.size, CELLS_AT_ONCE):
            some = np.arange(first, min(first + CELLS_AT_ONCE, carried.size))
            cells = cells_of(attribute, regions.cells[j].take(some))
            tallies = (np.append(carried[some], 0),)  # nobody has the whole domain, which is the last cell
            seen = CountedPublished((attribute,), (cells,), (NO_ROWS,), tallies, sizes, rows)
            for name, measure in measures.items():
                if isinstance(measure, CellMeasure):
                    totals[name][attribute.name] += measure.total(seen, of_column, 0)
                    found[name] = measure.of_totals(totals[name], seen, of_column)
                else:  # of the sizes of classes alone
                    found[name] = measure.value(seen, of_column)
    return found
