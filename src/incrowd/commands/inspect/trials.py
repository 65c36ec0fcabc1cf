"""Trial releases of a sample: errors of two-column tables with some quasi-identifiers left out or coarser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import method
from incrowd.encode import encode
from incrowd.flow import Attribute, Codes, Microdata, Table
from incrowd.generalize import generalize
from incrowd.long_work import silent
from incrowd.measures import published_from_regions
from incrowd.measures.bins import Bins, attribute_bins, text_bins
from incrowd.measures.cells import CellCoverage
from incrowd.measures.parts import parted
from incrowd.measures.raking import OneWayTotal, rake_column
from incrowd.measures.spread import SpreadColumn, SpreadTable
from incrowd.measures.totals import one_way_totals
from incrowd.measures.two_way import pair_errors, pairs_of
from incrowd.policy import Policy
from incrowd.publishing.totals import totals
from incrowd.schema import Kind, Role, Schema, Shape

COARSE = 3  # values that a coarsened column has

Ints = NDArray[np.int64]
Errors = Mapping[tuple[str, str], tuple[float, float]]


@dataclass(frozen=True, eq=False)
class TriedColumn:
    """A quasi-identifier of the sample, and what is the same in every trial: its bins, and stated totals."""

    attribute: Attribute
    codes: Codes
    bins: Bins
    totals: tuple[OneWayTotal, ...]

    @classmethod
    def of(cls, attribute: Attribute, codes: Codes, k: int, stated: bool) -> TriedColumn:
        alone = Microdata(np.ascontiguousarray(codes[:, None]), (attribute,))
        lines = one_way_totals(totals(alone, k) if stated else None, (attribute,)) or {}
        bins = attribute_bins(attribute, codes)
        return cls(attribute, codes, bins, lines.get(attribute.name, ()))

    @cached_property
    def truth(self) -> Ints:
        return self.bins.of[self.codes]

    def spread(self, cells: CellCoverage, rows: Codes) -> SpreadColumn:
        """The column in bins, given its cells and which of them each row has; by totals if stated."""
        column = parted(self.attribute, cells, self.bins, [line.side for line in self.totals])
        carried = np.bincount(rows, minlength=len(cells))
        weight = np.ones(column.bin.size)
        if self.totals:
            weight = rake_column(column, carried, self.totals).weights
        share = column.parts.shares(weight, column.bin, self.bins.size)
        return SpreadColumn(self.attribute.name, self.truth, rows.astype(np.int64), share)


@dataclass(frozen=True, eq=False)
class TrialSample:
    """The sample: its quasi-identifiers, and its columns that are published as they are."""

    data: Microdata
    columns: Mapping[str, TriedColumn]
    exact: tuple[SpreadColumn, ...]
    k: int
    stated: bool

    @classmethod
    def of(cls, sample: Table, schema: Schema, policy: Policy) -> TrialSample:
        exact = []
        for said in schema.having(Role.SENSITIVE, Role.KEEP):
            column = sample.column(said.name)
            bins = text_bins(said, column, schema.missing)
            exact.append(_exact(said.name, bins.of[column.codes], bins.size))
        data, stated = encode(sample, schema), policy.totals
        k = min(policy.k, len(data))
        pairs = zip(data.attributes, data.codes.T, strict=True)
        columns = {each.name: TriedColumn.of(each, codes, k, stated) for each, codes in pairs}
        return cls(data, columns, tuple(exact), k, stated)

    def tried(self, attribute: Attribute, codes: Codes) -> TriedColumn:
        """Another column of the same records."""
        return TriedColumn.of(attribute, codes, self.k, self.stated)

    def errors(
        self, dropped: Sequence[str] = (), coarse: TriedColumn | None = None, exact: Sequence[str] = ()
    ) -> Errors:
        """The errors of pairs, by name, with Mondrian on the quasi-identifiers that are left.

        Always the same pairs, but for those with a dropped column; of a coarsened one they say nothing.
        """
        columns = [column for name, column in self.columns.items() if name not in (*dropped, *exact)]
        if coarse is not None:
            columns = [coarse if each.attribute.name == coarse.attribute.name else each for each in columns]
        spread = {column.name: column for column in self.exact}
        spread |= {column.name: column for column in _generalized(columns, self.k)}
        for name in exact:
            spread[name] = _exact(name, self.columns[name].truth, self.columns[name].bins.size)
        names = [*self.columns, *(column.name for column in self.exact)]
        place = {name: number for number, name in enumerate(spread)}
        pairs = [(names[i], names[j]) for i, j in pairs_of(len(names))]
        pairs = [pair for pair in pairs if pair[0] in place and pair[1] in place]
        table = SpreadTable(tuple(spread.values()), np.ones(len(self.data)))
        found = pair_errors(table, [(place[a], place[b]) for a, b in pairs])
        return dict(zip(pairs, found, strict=True))


def _exact(name: str, truth: Ints, size: int) -> SpreadColumn:
    return SpreadColumn(name, truth, truth, np.eye(size), exact=True)


def _generalized(columns: Sequence[TriedColumn], k: int) -> list[SpreadColumn]:
    """Quasi-identifiers as Mondrian publishes them, in bins."""
    if not columns:
        return []
    codes = np.ascontiguousarray(np.stack([column.codes for column in columns], axis=1))
    data = Microdata(codes, tuple(column.attribute for column in columns))
    classes = method("mondrian")(k=k).group(data, (), silent)
    shown = published_from_regions(generalize(data, classes), data.attributes)
    said = zip(columns, shown.cells, shown.rows, strict=True)
    return [column.spread(cells, rows) for column, cells, rows in said]


def coarsened(attribute: Attribute, codes: Codes) -> tuple[tuple[Attribute, Codes] | None, Ints]:
    """The column with three values and how many rows each has; None where it has no more already."""
    bins = attribute_bins(attribute, codes)
    counts = bins.counts(codes)
    if bins.size <= COARSE:
        return None, counts
    below = np.cumsum(counts) - counts
    part = np.unique(np.minimum(COARSE * below // max(len(codes), 1), COARSE - 1), return_inverse=True)[1]
    texts = tuple(str(number) for number in range(int(part.max()) + 1))
    few = Attribute(attribute.name, Kind.CATEGORICAL, Shape.SET, texts, np.arange(float(len(texts))))
    return (few, part[bins.of[codes]].astype(np.int32)), np.bincount(part, counts).astype(np.int64)
