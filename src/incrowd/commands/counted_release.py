"""A release and its original that stay where they are: DuckDB counts them, and counts are measured."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from incrowd.encode import encode_texts
from incrowd.engines.base import Lookup, TooMany
from incrowd.engines.counted import CodedRows, CountedFiles, CountedTable, counted_tables
from incrowd.engines.resources import Resources
from incrowd.engines.table_files import TableFiles
from incrowd.errors import InputError, TableError, option, unknown
from incrowd.flow import Attribute, Codes, Table, TextColumn
from incrowd.measures import CellCoverage, Published, TwoWayError, parse_cells
from incrowd.measures.bins import counted_text_bins
from incrowd.measures.counted import CountedMicrodata, CountedPublished, WeighedMicrodata, WeighedPublished
from incrowd.measures.published import ClassSizes
from incrowd.measures.spread import bins_of, shares_in_bins
from incrowd.measures.totals import one_way_totals
from incrowd.measures.two_way_counts import BinnedColumn, two_way_of_counts
from incrowd.publishing.large_stages import codes_once, distinct_table
from incrowd.release.data_files import rows_path
from incrowd.release.folder import ReleaseFolder
from incrowd.release.stage import private_folder
from incrowd.schema import EVERYTHING, Role, Schema
from incrowd.values import same_name

Ints = NDArray[np.int64]


@dataclass(eq=False)
class CountedRelease:
    """Published rows and their original in a session of DuckDB; what is counted is counted once.

    ``gaps`` are texts of published columns that mean missing, in tables that another tool wrote.
    """

    rows: CountedTable
    people: CountedTable
    resources: Resources
    schema: Schema
    totals: Table | None = None
    gaps: Mapping[str, Collection[str]] = field(default_factory=dict)

    @cached_property
    def _quasi(self) -> tuple[tuple[Attribute, Lookup], ...]:
        found = []
        for column in self.schema.having(Role.QUASI):
            met = self.people.texts(column.name)
            attribute, codes = encode_texts(column, met.texts, met.counts, self.schema.missing)
            found.append((attribute, Lookup(column.name, met.texts, codes, len(attribute))))
        return tuple(found)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return tuple(attribute for attribute, _ in self._quasi)

    @cached_property
    def data(self) -> CountedMicrodata:
        """The original: its domains, and how many records have each value."""
        lookups = [lookup for _, lookup in self._quasi]
        tallies = tuple(_tally(lookup, self.people.texts(lookup.name).counts) for lookup in lookups)
        once = codes_once(lookups)
        return CountedMicrodata(once, self.attributes, rows=self.people.rows, tallies=tallies)

    @cached_property
    def _cells(self) -> tuple[tuple[CellCoverage, Lookup], ...]:
        found = []
        for attribute in self.attributes:
            met, gaps = self.rows.texts(attribute.name), self.gaps.get(attribute.name, ())
            texts = (None if text in gaps else text for text in met.texts)
            read = parse_cells(attribute, (*texts, EVERYTHING))
            found.append((read, Lookup(attribute.name, met.texts, read.same[:-1], len(read))))
        return tuple(found)

    @cached_property
    def coded_people(self) -> CodedRows:
        """The codes of quasi-identifiers of all records."""
        return self.people.coded([lookup for _, lookup in self._quasi], "people")

    @cached_property
    def coded_rows(self) -> CodedRows:
        """The cells of quasi-identifiers of all rows."""
        return self.rows.coded([lookup for _, lookup in self._cells], "rows")

    @property
    def _places(self) -> range:
        return range(len(self.attributes))

    @cached_property
    def exact_sizes(self) -> ClassSizes:
        """How many records have equal quasi-identifiers, before anything was generalized."""
        return ClassSizes(*self.coded_people.class_sizes(self._places))

    @cached_property
    def shown(self) -> CountedPublished:
        """The release: how many rows have each cell, and how large its classes are."""
        if self.rows.rows > self.people.rows:  # as of tables in memory
            raise TableError(
                f"the published table has {self.rows.rows} rows and the original {self.people.rows}; a "
                "release has at most one row for each record, so one of the two is not the table that was "
                "meant"
            )
        lookups = [lookup for _, lookup in self._cells]
        return CountedPublished(
            self.attributes,
            tuple(cells for cells, _ in self._cells),
            tuple(np.zeros(0, np.int32) for _ in lookups),
            tuple(_tally(lookup, self.rows.texts(lookup.name).counts) for lookup in lookups),
            ClassSizes(*self.coded_rows.class_sizes(self._places)),
            self.rows.rows,
        )

    @cached_property
    def weighed(self) -> tuple[WeighedMicrodata, WeighedPublished] | None:
        """The distinct records and the distinct rows with their numbers; None where they do not fit."""
        most = self.resources.most_tuples // 2  # both are in memory at once
        people = self.coded_people.distinct(self._places, most)
        rows = self.coded_rows.distinct(self._places, most)
        if isinstance(people, TooMany) or isinstance(rows, TooMany):
            return None
        cells = tuple(np.ascontiguousarray(column) for column in rows.codes.T)
        return (
            WeighedMicrodata(people.codes, self.attributes, weights=people.weights.astype(np.int64)),
            WeighedPublished(self.attributes, self.shown.cells, cells, rows.weights.astype(np.int64)),
        )

    def why_not_weighed(self) -> str:
        """Why there are no distinct records and rows."""
        return (
            f"there are more than {self.resources.most_tuples // 2:,} different combinations of "
            "quasi-identifiers, too many for the memory that DuckDB may use"
        )

    def two_way(self) -> TwoWayError:
        """How far two-column tables are off: every pair of columns is counted in both tables."""
        try:
            return replace(self._two_way(), totals=self.totals is not None)
        except TableError as problem:
            return TwoWayError(why_not=str(problem))

    def _two_way(self) -> TwoWayError:
        columns, bins, cells = self._binned()
        names = [column.name for column in columns]
        withheld = [column.name for column in self.schema.columns if column.name not in names]
        true, shown = self.people.coded(bins, "bins"), self.rows.coded(cells, "cells")
        most = self.resources.most_tuples

        def people_in(i: int, j: int) -> tuple[Ints, Ints, Ints]:
            return true.pairs(i, j, most)

        def rows_with(i: int, j: int) -> tuple[Ints, Ints, Ints]:
            return shown.pairs(i, j, most)

        return two_way_of_counts(columns, people_in, rows_with, withheld)

    def _binned(self) -> tuple[list[BinnedColumn], list[Lookup], list[Lookup]]:
        """Published columns in bins, and how texts of both tables become bins and cells."""
        totals = one_way_totals(self.totals, self.attributes)
        columns, of_people, of_rows = [], [], []
        place = {attribute.name: j for j, attribute in enumerate(self.attributes)}
        for said in self.schema.columns:
            name = said.name
            if name in place:
                j = place[name]
                bins, share = shares_in_bins(self.data, self.shown, j, totals)
                lookup, cells = self._quasi[j][1], self._cells[j][1]
                bin_of, exact = bins.of[lookup.codes], False
            elif said.role in (Role.SENSITIVE, Role.KEEP) and name in self.rows.names:
                met, there = self.people.texts(name), self.rows.texts(name)
                bins = counted_text_bins(said, met.texts, met.counts, self.schema.missing)
                bin_of, exact, share = bins.of, True, np.eye(bins.size)
                cell = bins_of(_each(there.texts), _each(met.texts), bins.of, name)
                cells = Lookup(name, there.texts, cell.astype(np.int32), bins.size)
            else:
                continue
            binned = Lookup(name, self.people.texts(name).texts, bin_of.astype(np.int32), bins.size)
            margin = _tally(binned, self.people.texts(name).counts)
            carried = _tally(cells, self.rows.texts(name).counts)
            columns.append(BinnedColumn(name, margin, carried, share, exact))
            of_people.append(binned)
            of_rows.append(cells)
        return columns, of_people, of_rows

    def fewest_values(self, column: str) -> int:
        """How many different values of a private column a class of equal rows has at the fewest."""
        return self._with_values(column).values_by_class(self._places, len(self.attributes))[0]

    def values_of_rows(self, column: str) -> tuple[list[Codes], TextColumn] | None:
        """The distinct combinations of cells and a private value, None where they do not fit."""
        d = len(self.attributes)
        found = self._with_values(column).distinct(range(d + 1), self.resources.most_tuples // 2)
        if isinstance(found, TooMany):
            return None
        *cells, value = (np.ascontiguousarray(each) for each in found.codes.T)
        return cells, TextColumn(value, self.rows.texts(column).texts)

    def _with_values(self, column: str) -> CodedRows:
        return self.rows.coded([*(lookup for _, lookup in self._cells), self.rows.lookup(column)], "values")

    def lines(self) -> tuple[WeighedMicrodata, Published, Ints] | None:
        """As `weighed`, with the weights of rows beside them."""
        if self.weighed is None:
            return None
        data, shown = self.weighed
        return data, Published(shown.attributes, shown.cells, shown.rows), shown.counts


def _tally(lookup: Lookup, counts: Ints) -> Ints:
    return np.bincount(lookup.codes, counts, lookup.size).astype(np.int64)  # exact below 2^53


def _each(texts: Sequence[str | None]) -> TextColumn:
    """A column that has each text once."""
    return TextColumn(np.arange(len(texts), dtype=np.int32), tuple(texts))


@contextmanager
def counted_release(
    command: str, folder: ReleaseFolder, resources: Resources, quasi: Sequence[str] = ()
) -> Iterator[CountedRelease]:
    """A release and its original, counted in a private folder beside the release.

    With `quasi`, only these of its quasi-identifiers.
    """
    _check(command, folder)
    with counted_pair(folder.path, release_files(folder), folder.source, resources) as (shown, original):
        check_texts_of(command, folder, shown)
        schema = narrowed(_schema(folder, original), quasi)
        yield CountedRelease(shown, original, resources, schema, folder.totals)


def release_files(folder: ReleaseFolder) -> CountedFiles:
    """The rows of a release, with the columns that its manifest names."""
    path, schema = rows_path(folder.path), folder.published_schema
    apart = (Role.SENSITIVE,) if folder.bucketed else ()
    names = [column.name for column in schema.published if column.role not in apart]
    return CountedFiles(TableFiles.of(path), names, path.name, path.suffix == ".csv")


@contextmanager
def counted_pair(
    published: Path, rows: CountedFiles, original: object, resources: Resources
) -> Iterator[tuple[CountedTable, CountedTable]]:
    """Published rows and their original in one session; what is on the way lies beside the rows."""
    files, place = TableFiles.of(original), published.resolve()
    people = CountedFiles(files, rows.columns, files.name)
    with (
        private_folder(place.with_name(f"{place.name}.counted")) as work,
        counted_tables([rows, people], work, resources) as (shown, opened),
    ):
        yield shown, opened


def _schema(folder: ReleaseFolder, original: CountedTable) -> Schema:
    """By the policy, over the distinct texts of the original, or by the audit beside the release."""
    if folder.policy is None:
        return folder.schema
    published = {same_name(column.name) for column in folder.published_schema.published}
    return folder.policy.schema(texts_of(original, published))


def texts_of(table: CountedTable, names: Collection[str]) -> Table:
    """A table that has every distinct text of some columns: all that a schema is made from."""
    met = {name: table.texts(name) for name in table.names if same_name(name) in names}
    return distinct_table(table.names, met)


def narrowed(schema: Schema, quasi: Sequence[str]) -> Schema:
    """Only some of the quasi-identifiers of a release: what another outsider may know."""
    if not quasi:
        return schema
    names = [column.name for column in schema.having(Role.QUASI)]
    strange = [name for name in quasi if name not in names]
    if strange:
        raise InputError(unknown("a quasi-identifier of the release", strange, names))
    kept = tuple(c for c in schema.columns if c.role is not Role.QUASI or c.name in quasi)
    return Schema(kept, schema.missing)


def check_texts_of(command: str, folder: ReleaseFolder, rows: CountedTable) -> None:
    """Cells must be texts: those of typed columns are put together in memory."""
    typed = [c.name for c in folder.published_schema.having(Role.QUASI) if f"{c.name}_lo" in rows.names]
    if typed:
        raise InputError(
            f"{folder.path} has typed columns, which {command} reads in memory alone: "
            f"take {option('engine', 'memory')}"
        )


def _check(command: str, folder: ReleaseFolder) -> None:
    """Refuse what needs to know who is behind which row."""
    if folder.source is None:
        raise InputError(f"pass the table that the release was made from with {option('original')}")
    reasons = {
        "is joined with a public table": folder.joined,
        "has sensitive values in buckets": folder.bucketed,
        "is of a series": folder.in_series,
        "counts persons with several rows": any(claim.model == "k-persons" for claim in folder.claims),
    }
    for reason in (reason for reason, holds in reasons.items() if holds):
        kept = "; what was measured when it was published stands in its audit" if folder.joined else ""
        raise InputError(
            f"{folder.path} {reason}, and {command} does not count such a release with DuckDB: take "
            f"{option('engine', 'memory')}{kept}"
        )
