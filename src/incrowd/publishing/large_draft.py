"""A draft over an engine: what `publishing.draft` does, for tables that do not fit into memory.

The table is read once as distinct texts of each column, and then as distinct records. Who shares a class is
decided here, by the same kernels and rules as in memory; rows stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.nonhomogeneous.ring import Ring
from incrowd.algorithms.partitions.hilbert import Hilbert
from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.encode import encode_texts, encode_values
from incrowd.engines.base import (
    ClassCells,
    Engine,
    Frequencies,
    Histogram,
    Lookup,
    OpenedTable,
    SampledRows,
    Tuples,
)
from incrowd.engines.cut_guards import CutGuards, keeps
from incrowd.engines.ordered import OrderedEngine
from incrowd.engines.resources import Resources
from incrowd.engines.topcuts import TopCuts
from incrowd.engines.weighted import classes_of, guards_of
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Attribute, Codes, Microdata, Sensitive, Table, TextColumn
from incrowd.long_work import Watch
from incrowd.measures import OriginalAndRelease, TwoWayError, measure_two_way, published_from_regions
from incrowd.measures.totals import one_way_totals
from incrowd.models.l_diversity import MINIMALITY, ClassModel
from incrowd.policy.exposures import check_lone_values, isolating_values, warnings_of
from incrowd.publishing.draft import GUARDED
from incrowd.publishing.hierarchies import files_beside, hierarchies
from incrowd.publishing.large_classes import ClassCollector, WeighedRegions, measured
from incrowd.publishing.large_rows import RingDisclosure, RowMaker, RowsInOrder
from incrowd.publishing.render import domains_of, manifest
from incrowd.publishing.request import LEAST_L, Request
from incrowd.publishing.rows import MatchProbability
from incrowd.publishing.silence import silent_shares, warnings_of_columns, warnings_of_silence
from incrowd.publishing.totals import counted_totals
from incrowd.schema import Claim, Role, Schema
from incrowd.values import same_name

Ints = NDArray[np.int64]
SAMPLE = 200_000  # rows on which two-column tables are compared
NOT_MEASURED = "not computed for tables that do not fit into memory"


@dataclass(frozen=True, slots=True, eq=False)
class CountedMicrodata(Microdata):
    """A table whose domains alone are in memory: `codes` has each code once, and there are so many `rows`."""

    rows: int = 0

    def __len__(self) -> int:
        return self.rows


@dataclass(frozen=True, eq=False)
class LargeDraft:
    """A release that has not been verified, whose rows are in an engine."""

    request: Request
    original: OpenedTable
    schema: Schema
    data: CountedMicrodata
    counts: tuple[Ints, ...]  # of each code of each quasi-identifier
    lone: Mapping[str, int]
    regions: WeighedRegions
    classes: ClassCells
    blocks: int = 0  # into which the rows were cut by the engine; 0 if all distinct records fitted
    single: Mapping[str, int] | None = None  # rows in classes with a single sensitive value
    disclosure: RingDisclosure | None = None  # beyond the promise, of rings
    sample: SampledRows | None = None  # on which it is seen what the release is worth

    @property
    def rows(self) -> int:
        return self.original.rows

    @property
    def saved(self) -> None:
        """Nobody is left out."""
        return None

    @cached_property
    def loss(self) -> dict[str, Any]:
        """Every measure of information loss that cells and counts give."""
        return dict(measured(self.regions, self.data, self.request.policy.k))

    @cached_property
    def two_way(self) -> TwoWayError:
        """How far two-column tables are off, seen on rows that were drawn."""
        drawn = self.sample
        if drawn is None:
            return TwoWayError(why_not=NOT_MEASURED)
        attributes = self.data.attributes
        private = Table.of(drawn.private)
        shown = published_from_regions(self.regions, attributes, self.regions.of_class[drawn.classes])
        totals = one_way_totals(self.totals, attributes)
        people = Microdata(drawn.codes, attributes)
        given = OriginalAndRelease(private, self.schema, people, shown, private, totals=totals)
        found = measure_two_way(given)
        return found if len(drawn) == self.rows else replace(found, sampled=len(drawn))

    @property
    def columns(self) -> tuple[str, ...]:
        """The published columns, in order."""
        return tuple(column.name for column in self.schema.published)

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
        domains = domains_of(self.data.attributes, self.regions)
        nothing, policy = Table((), ()), self.request.policy
        found = manifest(self.schema, nothing, domains, self.claims, self.request.method, policy.accept)
        found["rows"]["published"] = self.rows
        if self.request.algorithm.overlapping:
            found["match_probability"] = MatchProbability(Fraction(1, self.request.algorithm.k)).to_dict()
        return found | files_beside(self.schema, policy.totals, self.hierarchies)

    @cached_property
    def hierarchies(self) -> Table | None:
        """The labels of hierarchies that go with the release; None without any."""
        if not self.schema.trees:
            return None
        return hierarchies(self.schema, self.data.attributes, self.regions, self.totals)

    @cached_property
    def says_nothing(self) -> dict[str, float]:
        """The share of rows in which each quasi-identifier stands for everything."""
        return silent_shares(self.data, self.regions)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What the publisher should know."""
        guarded = any(claim.column and MINIMALITY in claim.assumptions for claim in self.claims)
        least = f"l = {LEAST_L} or more"
        cuts = isinstance(self.request.algorithm, StrictMondrian)
        remedy = f"ask for {least}" if cuts else f"take mondrian with {least}"
        return (
            *warnings_of(self.schema, self.data, dict(self.single or {}), self.request.policy, remedy),
            *isolating_values(self.lone, self.rows, self.schema),
            *warnings_of_columns(self.schema, self.request.policy.unmentioned(self.original.names)),
            *((GUARDED,) if guarded else ()),
            *warnings_of_silence(self.says_nothing, self.schema),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Coded:
    """The quasi-identifiers and the sensitive columns that decide on cuts, each with its lookup."""

    attributes: tuple[Attribute, ...]
    quasi: tuple[Lookup, ...]
    sensitive: tuple[Sensitive, ...]
    values: tuple[Lookup, ...] = field(default=())


def drafted(engine: Engine, request: Request, resources: Resources, watch: Watch) -> LargeDraft:
    """All stages up to the verifier."""
    watch("read")
    table = engine.open()
    met = {name: engine.domain(name) for name in wanted_names(request, table.names)}
    schema, lone = _schema(request, table, met)
    private = [column.name for column in schema.having(Role.SENSITIVE, Role.KEEP)]
    watch("encode")
    coded = _coded(schema, met, request)
    counts = tuple(
        np.bincount(lookup.codes, met[lookup.name].counts, lookup.size).astype(np.int64)
        for lookup in coded.quasi
    )
    data = CountedMicrodata(_once(coded.quasi), coded.attributes, coded.sensitive, rows=table.rows)
    _check_feasible(request, coded, met, table.rows)
    engine.encode(coded.quasi, coded.values, private)
    met.clear()  # the texts of the table are not needed any more, and may be very many
    coded = replace(coded, quasi=())
    recipe = request.algorithm
    made = _in_order(engine, recipe, data, resources, watch) if isinstance(recipe, Hilbert | Ring) else None
    found, blocks = (
        _classes(engine, request, coded, table.rows, resources, watch)
        if made is None
        else (made.classes, made.blocks)
    )
    watch("generalize")
    rings = made if isinstance(recipe, Ring) else None
    return LargeDraft(
        request=request,
        original=table,
        schema=schema,
        data=data,
        counts=counts,
        lone=lone,
        regions=found.regions(),
        classes=found.cells(),
        blocks=blocks,
        single=None if rings is None else rings.single,
        disclosure=None if rings is None else rings.disclosure(request.algorithm.k),
        sample=engine.sample(SAMPLE),
    )


def _in_order(
    engine: Engine, recipe: Hilbert | Ring, data: CountedMicrodata, resources: Resources, watch: Watch
) -> RowsInOrder:
    """Sort all rows and cut the sorted row."""
    if not isinstance(engine, OrderedEngine):
        raise PolicyError("this engine does not sort rows; take mondrian")
    maker = RowMaker(engine, recipe, data.attributes, data.rows)
    return maker.made(data.sensitive, resources, watch("group"))


def schema_of(engine: Engine, request: Request, table: OpenedTable) -> Schema:
    """The schema that a policy gives the table; refused is what `publish` refuses to publish unchanged."""
    met = {name: engine.domain(name) for name in wanted_names(request, table.names)}
    return _schema(request, table, met)[0]


def _schema(
    request: Request, table: OpenedTable, met: Mapping[str, Frequencies]
) -> tuple[Schema, dict[str, int]]:
    """The schema, and in how many rows each private column has a value that no other row has."""
    schema = request.policy.schema(_distinct_table(table.names, met))
    private = schema.having(Role.SENSITIVE, Role.KEEP)
    lone = {column.name: int(np.count_nonzero(met[column.name].counts == 1)) for column in private}
    check_lone_values(lone, table.rows, schema, request.policy.accept)
    return schema, lone


def claimed_of(schema: Schema) -> Microdata:
    """All that claims need to know of a table: the names of its sensitive columns."""
    nobody = np.zeros(0, np.int32)
    sensitive = (Sensitive(c.name, c.kind, nobody, 0) for c in schema.having(Role.SENSITIVE))
    return Microdata(np.zeros((0, 0), np.int32), (), tuple(sensitive))


def wanted_names(request: Request, names: Sequence[str]) -> list[str]:
    """The columns of the table that are published, as the table calls them."""
    policy = request.policy
    said = {*policy.quasi_identifiers, *policy.sensitive, *policy.keep}
    return [name for name in names if same_name(name) in said]


def _distinct_table(names: Sequence[str], met: Mapping[str, Frequencies]) -> Table:
    """A table that has every distinct text of every column in some row: all that a schema is made from."""
    longest = max((len(found.texts) for found in met.values()), default=1)
    columns = []
    for name in names:
        texts = met[name].texts if name in met else ("",)
        codes = np.zeros(longest, np.int32)
        codes[: len(texts)] = np.arange(len(texts))
        columns.append(TextColumn(codes, texts))
    return Table(tuple(names), tuple(columns))


def _coded(schema: Schema, met: Mapping[str, Frequencies], request: Request) -> _Coded:
    attributes, quasi = [], []
    for column in schema.having(Role.QUASI):
        found = met[column.name]
        attribute, codes = encode_texts(column, found.texts, found.counts, schema.missing)
        attributes.append(attribute)
        quasi.append(Lookup(column.name, found.texts, codes, len(attribute)))
    guarded = {model.column for model in request.promised if isinstance(model, ClassModel)}
    sensitive = [
        encode_values(column, met[column.name].texts, schema.missing)
        for column in schema.having(Role.SENSITIVE)
    ]
    values = tuple(
        Lookup(each.name, met[each.name].texts, each.codes, each.size)
        for each in sensitive
        if each.name in guarded
    )
    return _Coded(tuple(attributes), tuple(quasi), tuple(sensitive), values)


def _once(lookups: Sequence[Lookup]) -> Codes:
    """Codes (m, d) in which every code that occurs stands somewhere in its column."""
    longest = max(lookup.codes.size for lookup in lookups)
    codes = np.empty((longest, len(lookups)), np.int32)
    for j, lookup in enumerate(lookups):
        codes[:, j] = lookup.codes[0]
        codes[: lookup.codes.size, j] = lookup.codes
    return codes


def _classes(
    engine: Engine, request: Request, coded: _Coded, rows: int, resources: Resources, watch: Watch
) -> tuple[ClassCollector, int]:
    """The classes of all records: cut in memory if the distinct ones fit, else first by the engine."""
    recipe = request.algorithm
    if not isinstance(recipe, StrictMondrian):
        raise PolicyError("the engine cuts by mondrian alone")
    progress = watch("group")
    names, models = [lookup.name for lookup in coded.values], _guarding(request)
    found = engine.distinct(resources.most_tuples)
    collected = ClassCollector(coded.attributes)
    if isinstance(found, Tuples):
        labels = classes_of(
            recipe, coded.attributes, found, progress, guards_of(request.promised, names, found)
        )
        engine.assign(collected.add(found, labels))
        return collected, 0
    limit = min(resources.most_records, resources.most_tuples)
    top = TopCuts(engine, coded.attributes, recipe.rules(), limit, CutGuards(engine, models, names))
    tree = top.grow(rows, lambda done: progress(done / 2))
    leaves = tree.leaves()
    for at, block in enumerate(engine.blocks(tree)):
        turn = top.nodes[block.node].turn
        guards = guards_of(request.promised, names, block.tuples)
        labels = classes_of(recipe, coded.attributes, block.tuples, _unseen, guards, turn)
        engine.assign(collected.add(block.tuples, labels), block.node)
        progress(0.5 + (at + 1) / len(leaves) / 2)
    return collected, len(leaves)


def _unseen(done: float) -> None:
    """The progress of one block among many."""


def _guarding(request: Request) -> list[ClassModel]:
    return [model for model in request.promised if isinstance(model, ClassModel)]


def _check_feasible(request: Request, coded: _Coded, met: Mapping[str, Frequencies], rows: int) -> None:
    """What not even all rows together keep, no release can."""
    if rows < request.policy.k:
        raise Infeasible(f"n={rows} < k={request.policy.k}: there are too few records to hide anyone")
    values = {lookup.name: lookup for lookup in coded.values}
    for model in _guarding(request):
        lookup = values[model.column]
        counts = np.bincount(lookup.codes, met[lookup.name].counts).astype(np.int64)
        codes = np.flatnonzero(counts)
        if not keeps(model, Histogram(codes, counts[codes])):
            raise Infeasible(f"{model.column}: all {rows} rows as one class do not keep {model.name}")
