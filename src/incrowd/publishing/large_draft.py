"""A draft over an engine: what `publishing.draft` has, for tables that do not fit into memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.engines.base import (
    ClassCells,
    OpenedTable,
    SampledRows,
)
from incrowd.errors import TableError
from incrowd.flow import Cells, Microdata, Table
from incrowd.measures import (
    OriginalAndRelease,
    TwoWayError,
    joined_weights,
    measure_two_way,
    published_from_regions,
)
from incrowd.measures.counted import CountedMicrodata
from incrowd.measures.totals import one_way_totals
from incrowd.models.l_diversity import MINIMALITY
from incrowd.publishing.disclosure import PresenceDisclosure
from incrowd.publishing.draft import GUARDED
from incrowd.publishing.hierarchies import files_beside, hierarchies
from incrowd.publishing.large_classes import WeighedRegions, measured
from incrowd.publishing.large_join import (
    StandInRows,
)
from incrowd.publishing.large_rows import RingDisclosure
from incrowd.publishing.render import domains_of, manifest
from incrowd.publishing.request import LEAST_L, Request
from incrowd.publishing.rows import MatchProbability
from incrowd.publishing.totals import counted_totals
from incrowd.publishing.warnings import (
    isolating_values,
    silent_shares,
    warnings_of,
    warnings_of_columns,
    warnings_of_silence,
)
from incrowd.schema import Claim, Role, Schema

Ints = NDArray[np.int64]
NOT_MEASURED = "not computed for tables that do not fit into memory"


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRows:
    """Some rows of a release with the regions of their classes."""

    rows: SampledRows
    regions: WeighedRegions
    of: Ints

    @classmethod
    def of_classes(cls, regions: WeighedRegions, rows: SampledRows) -> DrawnRows:
        return cls(rows, *regions.only(regions.of_class[rows.classes]))


@dataclass(frozen=True, slots=True, eq=False)
class ClassFacts:
    """What the cells and sizes of all classes say. They themselves may be millions, and are not kept."""

    rows: int
    loss: Mapping[str, Any]  # by every measure of information loss that cells and counts give
    domains: Mapping[str, Any]  # that the cells name
    says_nothing: Mapping[str, float]  # the share of rows in which a quasi-identifier stands for everything
    labelled: tuple[Cells | None, ...]  # the cells of columns with a hierarchy
    drawn: DrawnRows | None = None  # rows on which it is seen what the release is worth

    @classmethod
    def of(
        cls,
        regions: WeighedRegions,
        data: CountedMicrodata,
        k: int,
        sample: SampledRows | None = None,
        private: Ints | None = None,
    ) -> ClassFacts:
        """With people of a public table, too, the loss is that of the `private` ones in each region."""
        lossy = regions if private is None else replace(regions, counts=private)
        pairs = zip(data.attributes, regions.cells, strict=True)
        return cls(
            int(regions.counts.sum()),
            dict(measured(lossy, data, k)),
            domains_of(data.attributes, regions),
            silent_shares(data, regions),
            tuple(None if attribute.tree is None else cells for attribute, cells in pairs),
            None if sample is None else DrawnRows.of_classes(regions, sample),
        )


@dataclass(frozen=True, eq=False)
class LargeDraft:
    """A release that has not been verified, whose rows are in an engine."""

    request: Request
    original: OpenedTable
    schema: Schema
    data: CountedMicrodata
    counts: tuple[Ints, ...]  # of each code of each quasi-identifier
    lone: Mapping[str, int]
    seen: ClassFacts
    classes: ClassCells | None  # None as soon as they are written
    blocks: int = 0  # into which the rows were cut by the engine; 0 if all distinct records fitted
    single: Mapping[str, int] | None = None  # rows in classes with a single sensitive value
    disclosure: RingDisclosure | PresenceDisclosure | None = None  # beyond the promise
    stand_ins: StandInRows | None = None  # of a public table
    series: Mapping[str, Any] | None = None  # what the manifest says of a series

    @property
    def rows(self) -> int:
        return self.seen.rows

    @property
    def saved(self) -> None:
        """Nobody is left out."""
        return None

    @property
    def loss(self) -> dict[str, Any]:
        """Every measure of information loss that cells and counts give; of private people alone."""
        return dict(self.seen.loss)

    @cached_property
    def two_way(self) -> TwoWayError:
        """How far two-column tables are off, seen on rows that were drawn."""
        drawn = self.seen.drawn
        if self.stand_ins is not None:
            try:
                joined_weights(Table((), ()), None)
            except TableError as problem:
                return TwoWayError(why_not=f"{self.request.policy.method}: {problem}")
        if drawn is None:
            return TwoWayError(why_not=NOT_MEASURED)
        attributes = self.data.attributes
        private = Table.of(drawn.rows.private)
        shown = published_from_regions(drawn.regions, attributes, drawn.of)
        totals = one_way_totals(self.totals, attributes)
        people = Microdata(drawn.rows.codes, attributes)
        given = OriginalAndRelease(private, self.schema, people, shown, private, totals=totals)
        found = measure_two_way(given)
        return found if len(drawn.rows) == self.rows else replace(found, sampled=len(drawn.rows))

    @property
    def columns(self) -> tuple[str, ...]:
        """The published columns, in order."""
        return tuple(column.name for column in self._published_schema.published)

    @property
    def _published_schema(self) -> Schema:
        """People of a public table have no sensitive values, so none are published."""
        if self.stand_ins is None:
            return self.schema
        columns = (column for column in self.schema.columns if column.role is not Role.SENSITIVE)
        return Schema(tuple(columns), self.schema.missing)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        return self.request.claims(self.data)

    @cached_property
    def totals(self) -> Table | None:
        """How many rows have which value, where that is asked for."""
        if not self.request.policy.totals:
            return None
        return counted_totals(zip(self.data.attributes, self.counts, strict=True), self.request.policy.k)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What the release says about itself, without the files that are still to be written."""
        nothing, policy = Table((), ()), self.request.policy
        shown = self._published_schema
        found = manifest(shown, nothing, self.seen.domains, self.claims, self.request.method, policy.accept)
        found["rows"]["published"] = self.rows
        if self.stand_ins is not None:
            found["public"] = dict(self.stand_ins.people.provenance)
        if self.request.algorithm.overlapping:
            found["match_probability"] = MatchProbability(Fraction(1, self.request.algorithm.k)).to_dict()
        found |= files_beside(self.schema, policy.totals, self.hierarchies)
        return found if self.series is None else found | {"series": dict(self.series)}

    @cached_property
    def hierarchies(self) -> Table | None:
        """The labels of hierarchies that go with the release; None without any."""
        if not self.schema.trees:
            return None
        return hierarchies(self.schema, self.data.attributes, self.seen.labelled, self.totals)

    @property
    def says_nothing(self) -> dict[str, float]:
        """The share of rows in which each quasi-identifier stands for everything."""
        return dict(self.seen.says_nothing)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What the publisher should know."""
        columns = warnings_of_columns(self.schema, self.request.policy.unmentioned(self.original.names))
        if self.stand_ins is not None:
            return (*self.stand_ins.people.counts.warnings(), *columns)
        guarded = any(claim.column and MINIMALITY in claim.assumptions for claim in self.claims)
        least = f"l = {LEAST_L} or more"
        cuts = isinstance(self.request.algorithm, StrictMondrian)
        remedy = f"ask for {least}" if cuts else f"take mondrian with {least}"
        return (
            *warnings_of(self.schema, self.data, dict(self.single or {}), self.request.policy, remedy),
            *isolating_values(self.lone, self.rows, self.schema),
            *columns,
            *((GUARDED,) if guarded else ()),
            *warnings_of_silence(self.says_nothing, self.schema),
        )
