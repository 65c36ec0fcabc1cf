"""Both tables as columns to learn from: records and rows are described alike.

A record is a region that holds one point. So a classifier that was trained on regions can be asked about
records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import Attribute, Microdata, Table, TextColumn
from incrowd.graph import consistency
from incrowd.measures import Published
from incrowd.measures.buckets import BucketTable
from incrowd.measures.cells import CellCoverage
from incrowd.measures.parts import Parts
from incrowd.measures.raking import rake
from incrowd.measures.totals import Line, line_of_codes, lines_by_column
from incrowd.schema import Column, Kind, Role, Schema, Shape
from incrowd.values import offsets, read_texts, reading_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_VALUES = 50  # of a column that get an indicator each


@dataclass(frozen=True, slots=True, eq=False)
class Learnable:
    """A published column of m values: the value of each record, and the cell of each row.

    Where ``cells`` is None a cell is a value; ``of`` is None where values are in buckets.
    ``place`` (m,) is where numbers and dates lie, nan elsewhere; None for categories. A cell is spread over
    its values evenly, or by the ``weight`` (m,) that totals give them.
    """

    name: str
    at: NDArray[np.int32]
    known: Flags
    place: Floats | None
    of: NDArray[np.int32] | None
    cells: CellCoverage | None = None
    attribute: Attribute | None = None
    weight: Floats | None = None

    def tally(self, kinds: Floats) -> Floats:
        """How many values of each kind each cell holds: kinds (m, q) -> (cells, q).

        Where they have weights, what they weigh; a cell that weighs nothing counts its values.
        """
        if self.cells is None:
            return kinds
        evenly = self._sums(kinds)
        if self.weight is None:
            return evenly
        weighed = self._sums(kinds * self.weight[:, None])
        return np.where(self._sums(self.weight[:, None]) > 0, weighed, evenly)

    def _sums(self, amount: Floats) -> Floats:
        """What the values of each cell add up to: (m, q) -> (cells, q)."""
        if self.cells is None:
            return amount
        below = np.concatenate([np.zeros((1, amount.shape[1])), np.cumsum(amount, axis=0)])
        inside = below[self.cells.last + 1] - below[self.cells.first]
        found: Floats = np.maximum(np.add.reduceat(inside, self.cells.starts[:-1], axis=0), 0.0)
        return found

    def _expected(self, place: Floats) -> Floats:
        """Where the values of each cell lie on average, nan where only missing is left: (m,) -> (cells,)."""
        known = ~np.isnan(place)
        held = self.tally(np.stack([known, np.where(known, place, 0.0)], axis=1).astype(np.float64))
        some = held[:, 0] > 0
        return np.where(some, held[:, 1] / np.where(some, held[:, 0], 1.0), np.nan)

    def features(self, train: Flags) -> tuple[Floats, Floats]:
        """Numbers that describe each value, and each cell, alike: (m, f), (cells, f)."""
        attribute, cells = self.attribute, self.cells
        if attribute is None and self.place is not None:
            return self.place[:, None], self.place[:, None]
        if attribute is not None and cells is not None:
            if attribute.shape is Shape.RANGE:
                position = np.where(self.known, attribute.position, np.nan)
                return self._on_a_line(position, *_real(cells, cells.lower, cells.upper))
            if attribute.shape is Shape.TREE and len(attribute) > MOST_VALUES:
                leaf = np.where(self.known, np.arange(self.known.size), np.nan)  # a node is a run of leaves
                return self._on_a_line(leaf, *_real(cells, cells.low, cells.high))
        often = np.bincount(self.at[train], minlength=self.known.size)
        chosen = np.argsort(-often, kind="stable")[: min(MOST_VALUES, np.count_nonzero(often))]
        kinds = np.zeros((self.known.size, chosen.size))
        kinds[chosen, np.arange(chosen.size)] = 1.0
        if cells is None:
            return kinds, kinds
        return kinds, self.tally(kinds) / self.tally(np.ones((self.known.size, 1)))

    def _on_a_line(self, place: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Both ends of a cell or, where totals give weights, the mean by them; of a value all are itself."""
        if self.weight is None:
            return np.stack([place, place], axis=1), np.stack([low, high], axis=1)
        return place[:, None], self._expected(place)[:, None]

    def classes(self, train: Flags) -> Ints:
        """The class of each value: itself, or whether it lies above the median; -1 where it has none."""
        if self.place is None:
            met = np.bincount(self.at, minlength=self.known.size) > 0
            return np.where(self.known & met, np.arange(self.known.size), -1)
        places = self.place[self.at[train]]
        if np.isnan(places).all():
            return np.full(self.known.size, -1)
        median = np.nanmedian(places)
        above = self.place > median if (places > median).any() else self.place >= median
        return np.where(np.isnan(self.place), -1, above.astype(np.int64))


def _real(cells: CellCoverage, low: NDArray[Any], high: NDArray[Any]) -> tuple[Floats, Floats]:
    return np.where(cells.low < 0, np.nan, low), np.where(cells.low < 0, np.nan, high)


def links_by_fit(found: Published, data: Microdata, columns: Iterable[Learnable]) -> Ints | None:
    """A record for each row, where every record fits one class only; None where some fit more.

    Rows of a class that show equal private values are the same row, so it does not matter whose is whose.
    """
    graph = consistency(found, data)
    if graph.left_out or (np.diff(graph.indptr) != 1).any():
        return None
    private = [(column.at, column.of) for column in columns if column.cells is None and column.of is not None]
    pairs = [(graph.indices[graph.record_of], graph.row_of), *private]
    by_record, by_row = np.lexsort([at for at, _ in pairs]), np.lexsort([of for _, of in pairs])
    if any((at[by_record] != of[by_row]).any() for at, of in pairs):
        return None
    links = np.empty(by_row.size, np.int64)
    links[by_row] = by_record
    return links


def generalised(found: Published, data: Microdata, totals: Table | None = None) -> list[Learnable]:
    """The quasi-identifiers; where a release states totals, with weights that reproduce them."""
    columns, stated = [], {} if totals is None else lines_by_column(totals)
    for j, attribute in enumerate(data.attributes):
        known = np.arange(len(attribute)) != attribute.missing
        place = None
        if attribute.kind in (Kind.NUMERIC, Kind.DATE):
            texts = [text if real else None for text, real in zip(attribute.texts, known, strict=True)]
            place = places(texts, attribute.kind)
        weight = None
        if attribute.name in stated:
            weight = _raked(attribute, found.cells[j], found.rows[j], stated[attribute.name])
        cells = found.rows[j], found.cells[j]
        columns.append(Learnable(attribute.name, data.codes[:, j], known, place, *cells, attribute, weight))
    return columns


def _raked(
    attribute: Attribute, cells: CellCoverage, rows: NDArray[np.int32], lines: Sequence[Line]
) -> Floats:
    """How much each value weighs so that all cells together give the totals."""
    of, counts = line_of_codes(attribute, lines)
    runs = cells.starts, cells.first.astype(np.int64), cells.last.astype(np.int64)
    carried = np.bincount(rows, minlength=len(cells))
    return rake(Parts(np.ones(len(attribute)), *runs), carried, of, counts).weights


def as_written(said: Column, here: TextColumn, there: TextColumn | None, schema: Schema) -> Learnable:
    """A sensitive or kept column, whose texts are the same in both tables."""
    texts = [None if text is None or text in schema.missing else text for text in here.texts]
    present = [text for text in texts if text is not None]
    kind, format = said.kind, said.format
    if said.role is Role.KEEP:
        found = reading_of(present, said.name)
        kind, format = found.kind, found.notation
    place = places(texts, kind, format) if kind in (Kind.NUMERIC, Kind.DATE) else None
    known = np.array([text is not None for text in texts], np.bool_)
    of = None if there is None else _codes(there, here, said.name)[there.codes]
    at = _codes(here, here, said.name)[here.codes]  # NULL and the empty text are one
    return Learnable(said.name, at, known, place, of)


def _codes(there: TextColumn, here: TextColumn, name: str) -> NDArray[np.int32]:
    """The number that each text of the release has in the original."""
    number = {text or "": code for code, text in enumerate(here.texts)}
    codes = np.array([number.get(text or "", -1) for text in there.texts], np.int32)
    strange = int((codes[np.unique(there.codes)] < 0).sum())
    if strange:
        raise TableError(
            f"{strange} distinct values of {name} in the release are not in the original; "
            "was it made from it?"
        )
    return codes


def places(texts: Sequence[str | None], kind: Kind, format: str = "") -> Floats:
    """Where numbers or dates lie, nan where there is none."""
    read = read_texts([text or "" for text in texts], kind, format)
    known = [i for i, (text, value) in enumerate(zip(texts, read, strict=True)) if text and value is not None]
    place = np.full(len(texts), np.nan)
    place[known] = offsets([value for i in known if (value := read[i]) is not None]) if known else []
    return place


def by_group(
    lines: Table, groups: Sequence[str | None], table: Table, columns: Mapping[str, Learnable]
) -> dict[str, Floats]:
    """How many people of each group have each value of the sensitive columns."""
    found, held = BucketTable.read(lines, groups), {}
    for name, column in found.values.items():
        if name in columns:
            held[name] = np.zeros((len(groups), columns[name].known.size))
            codes = _codes(column, table.column(name), name)[column.codes]
            np.add.at(held[name], (found.group, codes), found.count)
    return held
