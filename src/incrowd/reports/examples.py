"""Example rows of a release: one that lost little, one in the middle, one that lost much.

Rows are ordered by what they lost. Of rows that lost as much, the one with the most frequent cells is taken,
column by column, so that it is a usual one and does not depend on the order of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.cells import unescaped
from incrowd.flow import Microdata, Table
from incrowd.measures import Published
from incrowd.measures.loss import GlobalPenalty, MeasuredColumn
from incrowd.reports.cell_words import cell_words, shown_cell
from incrowd.schema import MISSING

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PLACES = (  # in the order in which they are taken: the last where one that lost much lost no more than others
    (0.5, "A row in the middle"),
    (0.1, "A row that lost little"),
    (0.9, "A row that lost much"),
    (1.0, "The row that lost most"),
)
SHOWN = 3
NEAR = 12  # rows of which it is asked whose they are, the nearest first
CANDIDATES = 8  # records that are looked at for each


def row_widths(widths: Mapping[str, Sequence[float | None]], rows: Table) -> Floats:
    """The mean width of each row's cells, by what is published; what is not known counts as narrow."""
    wide = np.zeros(len(rows))
    for name, known in widths.items():
        shares = np.array([share or 0.0 for share in known])
        wide += shares[rows.column(name).codes] / len(widths)
    return wide


def row_losses(shown: Published, data: Microdata) -> Floats:
    """The information loss (GCP) of each row."""
    measure = GlobalPenalty()
    lost = np.zeros(len(shown))
    for j, attribute in enumerate(shown.attributes):
        if len(attribute) > 1:
            costs = measure.costs(MeasuredColumn(attribute, shown.cells[j], data, j))
            lost += costs[shown.rows[j]] / len(shown.attributes)
    return lost


def chosen_rows(lost: Floats, rows: Table, among: Ints | None = None) -> list[tuple[str, Ints]]:
    """For each example its title, and rows to take, the best first; none that lost as much as another.

    Examples
    --------
    >>> lost, rows = np.array([0.5, 0.1, 0.1, 0.9]), Table.of({"sex": ["*", "F", "M", "*"]})
    >>> [(title, int(likely[0])) for title, likely in chosen_rows(lost, rows)]
    [('A row that lost little', 1), ('A row in the middle', 0), ('A row that lost much', 3)]
    """
    able = np.arange(lost.size) if among is None else among
    if not able.size:
        return []
    order = able[np.argsort(lost[able], kind="stable")]
    found: dict[float, tuple[str, Ints]] = {}
    for share, title in PLACES:
        place = min(int(share * order.size), order.size - 1)
        here = float(lost[order[place]])
        if here not in found and len(found) < SHOWN:
            first = _usual(able[lost[able] == here], rows)
            near = order[np.argsort(np.abs(np.arange(order.size) - place), kind="stable")[:NEAR]]
            found[here] = (title, np.concatenate([[first], near[near != first]]).astype(np.int64))
    return [found[here] for here in sorted(found)]


def _usual(able: Ints, rows: Table) -> int:
    """Of some rows the one with the most frequent cells, column by column; of equally frequent, by text."""
    for column in rows.columns:
        counts = np.bincount(column.codes[able])
        most = np.flatnonzero(counts == counts.max()).tolist()
        able = able[column.codes[able] == min(most, key=lambda code: column.texts[code] or "")]
    return int(able[0])


@dataclass(frozen=True, eq=False)
class RecordSearch:
    """The original beside its published rows, to find whose row one is.

    `private` are the columns that are published as they are. `links` is the record behind each row, where the
    audit knows it; it is used where it fits.
    """

    original: Table
    data: Microdata
    rows: Table
    shown: Published
    private: Sequence[str]
    links: Ints | None = None

    def record_of(self, row: int) -> int | None:
        """A record whose row has certainly these cells, since every row that fits it has them; or None.

        Whose row it is among equal ones has no meaning, so that the first such record is taken.
        """
        if self.links is not None:
            record = int(self.links[row])
            mine = record < len(self.original) and self._fitting(record)[row]
            return record if mine else None
        equal = np.ones(len(self.rows), np.bool_)
        for cells in self.shown.rows:
            equal &= cells == cells[row]
        for record in np.flatnonzero(self._records(row))[:CANDIDATES].tolist():
            if not (self._fitting(record) & ~equal).any():
                return int(record)
        return None

    def _records(self, row: int) -> NDArray[np.bool_]:
        """The records that a row may be about."""
        fits = np.ones(len(self.original), np.bool_)
        for j, cells in enumerate(self.shown.cells):
            inside = np.zeros(len(self.shown.attributes[j]), np.bool_)
            inside[cells.codes(int(self.shown.rows[j][row]))] = True
            fits &= inside[self.data.codes[: len(self.original), j]]
        for name in self.private:
            column, text = self.original.column(name), self._text(self.rows, name, row)
            fits &= np.array([(each or "") == text for each in column.texts], np.bool_)[column.codes]
        return fits

    def _fitting(self, record: int) -> NDArray[np.bool_]:
        """The rows that may be about a record."""
        fits = np.ones(len(self.rows), np.bool_)
        for j, cells in enumerate(self.shown.cells):
            code = self.data.codes[record, j]
            holds = np.zeros(len(cells), np.bool_)
            holds[cells.owner[(cells.first <= code) & (code <= cells.last)]] = True
            fits &= holds[self.shown.rows[j]]
        for name in self.private:
            column, text = self.rows.column(name), self._text(self.original, name, record)
            fits &= np.array([(each or "") == text for each in column.texts], np.bool_)[column.codes]
        return fits

    @staticmethod
    def _text(table: Table, name: str, row: int) -> str:
        column = table.column(name)
        return column.texts[column.codes[row]] or ""

    def is_missing(self, record: int, name: str) -> bool:
        """Does the original say nothing of a quasi-identifier?"""
        names = [attribute.name for attribute in self.data.attributes]
        j = names.index(name)
        return int(self.data.codes[record, j]) == self.data.attributes[j].missing

    def before(self, record: int, name: str) -> str:
        """What the original says."""
        return self._text(self.original, name, record)


def published_examples(
    columns: Sequence[Mapping[str, Any]], widths: Mapping[str, Sequence[float | None]], rows: Table
) -> list[dict[str, Any]]:
    """Rows with how to read each cell, from what is published alone."""
    found = chosen_rows(row_widths(widths, rows), rows)
    return [{"title": title, "cells": _cells(columns, rows, int(likely[0]))} for title, likely in found]


def examples_with_records(
    columns: Sequence[Mapping[str, Any]], search: RecordSearch, own: Ints | None = None
) -> list[dict[str, Any]]:
    """Rows beside the records that they were made from; `own` are the rows of the private table's people."""
    found = []
    for title, likely in chosen_rows(row_losses(search.shown, search.data), search.rows, own):
        pairs = ((int(row), search.record_of(int(row))) for row in likely)
        known = next(((row, record) for row, record in pairs if record is not None), None)
        if known is not None:
            found.append({"title": title, "cells": _cells(columns, search.rows, known[0], search, known[1])})
    return found


def _cells(
    columns: Sequence[Mapping[str, Any]],
    rows: Table,
    row: int,
    search: RecordSearch | None = None,
    record: int = -1,
) -> list[dict[str, Any]]:
    """Each column of a row: its cell and how to read it; with the original, what stood there."""
    found = []
    for column in columns:
        name, quasi = column["name"], column["role"] == "quasi_identifier"
        if column["apart"]:
            text, cell, means = "", "", "in a bucket, in a second file"
        else:
            text = rows.column(name).texts[rows.column(name).codes[row]] or ""
            cell = shown_cell(text) if quasi else text
            means = cell_words(text, column["shape"]) if quasi else "unchanged"
        said = {"column": name, "role": column["role"], "cell": cell, "means": means}
        if search is not None:
            before, value = search.before(record, name), unescaped(text) if quasi else text
            gone = quasi and text == MISSING and search.is_missing(record, name)
            said |= {"before": before, "same": not column["apart"] and (gone or value == before)}
        found.append(said)
    return sorted(found, key=lambda said: said["role"] != "quasi_identifier")
