"""A release and its original in bins: for each published column the truth, and how far rows lie in each bin.

Quasi-identifiers are spread over the values that their cells cover, evenly or by one-way totals. Sensitive
and kept columns are exact; values in buckets are spread by the counts of their bucket.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import Microdata, Table, TextColumn
from incrowd.measures.bins import Bins, counted_bins, text_bins
from incrowd.measures.buckets import BucketTable
from incrowd.measures.counted import frequency
from incrowd.measures.parts import parted
from incrowd.measures.published import Published
from incrowd.measures.raking import OneWayTotal, rake_column
from incrowd.schema import Role, Schema

Ints = NDArray[np.int64]
AnyInts = NDArray[np.integer[Any]]  # of as few bytes as will do
Floats = NDArray[np.float64]
Kind = TypeVar("Kind", bound=np.integer[Any])
Totals = Mapping[str, Sequence[OneWayTotal]]


@dataclass(frozen=True, eq=False)
class SpreadColumn:
    """A published column in bins: the truth, and how far each published row lies in each bin.

    ``truth`` (n,) is the bin of each person, ``cell`` (r,) the cell of each row, ``share`` (c, b) how much of
    each cell lies in each bin. In ``exact`` columns a cell is a bin. Values in buckets have the number of the
    bucket for a cell, and their own bins line by line (``lines``).
    """

    name: str
    truth: AnyInts
    cell: AnyInts
    share: Floats
    exact: bool = False
    lines: Ints | None = None

    @property
    def size(self) -> int:
        return int(self.share.shape[1])

    @cached_property
    def narrow_truth(self) -> AnyInts:
        """The truth in as few bytes as its bins need: it is read once for each other column."""
        return narrow(self.truth, self.size)

    @cached_property
    def narrow_cell(self) -> AnyInts:
        """The cells in as few bytes."""
        return narrow(self.cell, len(self.share))

    @cached_property
    def spans(self) -> Ints:
        """From which bin to before which other one each cell reaches: (c, 2)."""
        some = self.share > 0
        return np.stack([some.argmax(axis=1), self.size - some[:, ::-1].argmax(axis=1)], axis=1)


def narrow(numbers: AnyInts, size: int) -> AnyInts:
    """Numbers from 0 up to below `size`, in one byte each if that is enough."""
    return numbers.astype(np.uint8, copy=False) if size <= 256 else numbers


@dataclass(frozen=True, slots=True, eq=False)
class SpreadTable:
    """All published columns in bins. ``people`` (r,) stand behind each row, ``counts`` behind each line.

    Rows of one ``region`` (r,), where it is known, have the same cells in columns that are not exact.
    """

    columns: tuple[SpreadColumn, ...]
    people: Floats
    counts: Ints | None = None
    region: AnyInts | None = None

    def __post_init__(self) -> None:
        """Refuse columns that do not fit together: compiled loops look at no bounds."""
        if len({column.truth.size for column in self.columns}) > 1:
            raise ValueError("the columns of the original have different numbers of rows")
        if any(column.cell.size != self.people.size for column in self.columns):
            raise ValueError("published columns have more or fewer rows than people stand behind")
        if any(column.cell.max() >= len(column.share) for column in self.columns if column.cell.size):
            raise ValueError("a row has a cell that its column has not")
        if any(part.min(initial=0) < 0 for column in self.columns for part in (column.truth, column.cell)):
            raise ValueError("a bin or a cell has a number below 0")


@dataclass(frozen=True, slots=True, eq=False)
class OriginalAndRelease:
    """What two-column tables of an original and of its release are made from.

    Parameters
    ----------
    original, schema, people
        The original as texts, what its columns are, and its quasi-identifiers as codes.
    shown, rows
        The published rows: their cells, and their texts.
    buckets : Table, optional
        The sensitive values of each bucket, where they are published so.
    weights : array, optional
        How many people of the original stand behind each row, by default one (`weights_of`).
    totals : mapping, optional
        One-way totals by column: cells of these columns are spread so that they come out (`raking`).
    """

    original: Table
    schema: Schema
    people: Microdata
    shown: Published
    rows: Table
    buckets: Table | None = None
    weights: NDArray[Any] | None = None
    totals: Totals | None = None


def spread_table(given: OriginalAndRelease) -> SpreadTable:
    """A release and its original in bins."""
    rows, schema, shown, weights = given.rows, given.schema, given.shown, given.weights
    each = np.ones(len(shown)) if weights is None else np.asarray(weights, np.float64)
    columns = {column.name: column for column in spread_quasi_identifiers(given.people, shown, given.totals)}
    lines = None if given.buckets is None else BucketTable.read(given.buckets, rows.column("group").texts)
    for said in schema.having(Role.SENSITIVE, Role.KEEP):
        source = given.original.column(said.name)
        bins = text_bins(said, source, schema.missing)
        of = narrow(bins.of, bins.size)
        truth = of[source.codes]
        if lines is not None and said.name in lines.values:
            of_line = bins_of(lines.values[said.name], source, bins.of, said.name)
            share = np.zeros((len(lines.names), bins.size))
            np.add.at(share, (lines.group, of_line), lines.count)
            share /= np.maximum(share.sum(axis=1, keepdims=True), 1)
            group = rows.column("group").codes.astype(np.int64)
            columns[said.name] = SpreadColumn(said.name, truth, group, share, lines=of_line)
        elif said.name in rows.names:
            cell = bins_of(rows.column(said.name), source, of, said.name)
            columns[said.name] = SpreadColumn(said.name, truth, cell, np.eye(bins.size), exact=True)
    ordered = tuple(columns[column.name] for column in schema.columns if column.name in columns)
    return SpreadTable(ordered, each, None if lines is None else lines.count, shown.region)


def spread_quasi_identifiers(
    people: Microdata, shown: Published, totals: Totals | None = None
) -> tuple[SpreadColumn, ...]:
    """The quasi-identifiers of people and of published rows in bins."""
    columns = []
    for j, attribute in enumerate(people.attributes):
        bins, share = shares_in_bins(people, shown, j, totals)
        truth = narrow(bins.of, bins.size)[people.codes[:, j]]
        columns.append(SpreadColumn(attribute.name, truth, shown.rows[j], share))
    return tuple(columns)


def shares_in_bins(
    people: Microdata, shown: Published, j: int, totals: Totals | None = None
) -> tuple[Bins, Floats]:
    """The bins of quasi-identifier j, and how much of each published cell (c,) lies in each."""
    attribute = people.attributes[j]
    bins = counted_bins(attribute, frequency(people, j))
    given = () if totals is None else totals.get(attribute.name, ())
    found = parted(attribute, shown.cells[j], bins, [total.side for total in given])
    carried = shown.tallies[j]  # totals count rows, not people
    weight = rake_column(found, carried, given).weights if given else np.ones(found.parts.values.size)
    return bins, found.parts.shares(weight, found.bin, bins.size)


def bins_of(column: TextColumn, original: TextColumn, of: NDArray[Kind], name: str) -> NDArray[Kind]:
    """The bin of each row of a column whose texts are those of the original."""
    if column.texts is original.texts:  # as in a release that has just been made: nothing to look up
        return of[column.codes]
    known = {text: int(of[place]) for place, text in enumerate(original.texts)}
    places = [known.get(text, -1) for text in column.texts]
    met = np.bincount(column.codes, minlength=len(places)) > 0
    strange = sum(place < 0 and some for place, some in zip(places, met.tolist(), strict=True))
    if strange:
        raise TableError(f"{strange} distinct texts of the published column {name} are not in the original")
    return np.array(places, np.int64).astype(of.dtype)[column.codes]
