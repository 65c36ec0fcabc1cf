"""The stages of a draft over an engine, up to the verifier: read, join, encode, group, generalize.

The table is read once as distinct texts of each column, and then as distinct records. Who shares a class is
decided here, by the same kernels and rules as in memory; rows stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.kja import Direct
from incrowd.algorithms.nonhomogeneous.ring import Ring
from incrowd.algorithms.partitions.hilbert import Hilbert
from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.encode import encode_texts, encode_values
from incrowd.engines.base import (
    Engine,
    Frequencies,
    Histogram,
    Lookup,
    OpenedTable,
    Tuples,
)
from incrowd.engines.cut_guards import CutGuards, keeps
from incrowd.engines.labelled import LabelledEngine
from incrowd.engines.ordered import OrderedEngine
from incrowd.engines.resources import Resources
from incrowd.engines.sql_engine import SqlEngine
from incrowd.engines.topcuts import TopCuts
from incrowd.engines.weighted import classes_of, guards_of
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Attribute, Codes, Microdata, Partition, Sensitive, Table, TextColumn
from incrowd.generalize import generalize
from incrowd.long_work import Watch, part_of
from incrowd.measures.counted import CountedMicrodata
from incrowd.models.l_diversity import ClassModel
from incrowd.policy.columns import check_lone_values
from incrowd.policy.exposures import CERTAIN_PRESENCE
from incrowd.publishing.draft import NOBODY_ELSE
from incrowd.publishing.large_classes import ClassCollector
from incrowd.publishing.large_draft import ClassFacts, LargeDraft
from incrowd.publishing.large_join import (
    OF_PEOPLE,
    JoinedClasses,
    JoinedTables,
    PublicFiles,
    StandInRows,
    distinct_public,
    join_people,
)
from incrowd.publishing.large_rows import Guarding, RowMaker, RowsInOrder
from incrowd.publishing.request import Request
from incrowd.schema import Role, Schema
from incrowd.values import same_name

Ints = NDArray[np.int64]
SAMPLE = 200_000  # rows on which two-column tables are compared


class TakesClasses(Protocol):
    """What is told the classes of one block of distinct records after another."""

    def add(self, tuples: Tuples, labels: Codes) -> Codes:
        """-> the number of each tuple's class, of all blocks."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumns:
    """The quasi-identifiers and the sensitive columns that decide on cuts, each with its lookup."""

    attributes: tuple[Attribute, ...]
    quasi: tuple[Lookup, ...]
    sensitive: tuple[Sensitive, ...]
    values: tuple[Lookup, ...] = field(default=())


def drafted(
    engine: Engine,
    request: Request,
    resources: Resources,
    watch: Watch,
    public: PublicFiles | None = None,
) -> LargeDraft:
    """All stages up to the verifier."""
    watch("read")
    table = engine.open()
    if public is not None:
        return _drafted_join(cast(SqlEngine, engine), request, resources, watch, table, public)
    met = {name: engine.domain(name) for name in wanted_names(request, table.names)}
    schema, lone = checked_schema(request, table, met)
    private = [column.name for column in schema.having(Role.SENSITIVE, Role.KEEP)]
    watch("encode")
    coded = coded_columns(schema, met, request)
    counts = _counts(coded, met)
    once = codes_once(coded.quasi)
    data = CountedMicrodata(once, coded.attributes, coded.sensitive, rows=table.rows, tallies=counts)
    _check_feasible(request, coded, met, table.rows)
    engine.encode(coded.quasi, coded.values, private)
    met.clear()  # the texts of the table are not needed any more, and may be very many
    coded = replace(coded, quasi=())
    recipe = request.algorithm
    made = None
    if isinstance(recipe, Hilbert | Ring):
        made = _in_order(engine, recipe, data, _guarding_columns(request, coded), resources, watch)
    found, blocks = (
        cut_classes(engine, request, coded, table.rows, resources, watch)
        if made is None
        else (made.classes, made.blocks)
    )
    watch("generalize")
    rings = made if isinstance(recipe, Ring) else None
    seen = ClassFacts.of(found.regions(), data, request.policy.k, engine.sample(SAMPLE))
    return LargeDraft(
        request,
        table,
        schema,
        data,
        counts,
        lone=lone,
        seen=seen,
        classes=found.cells(),
        blocks=blocks,
        single=None if rings is None else rings.single,
        disclosure=None if rings is None else rings.disclosure(request.algorithm.k),
    )


def drafted_labelled(
    engine: LabelledEngine, request: Request, resources: Resources, watch: Watch, sizes: Ints
) -> LargeDraft:
    """The same where rows have labels, and those of one label share a class; of each label there are so many.

    Labels whose classes say the same are one class.
    """
    table = OpenedTable(engine.table.names, engine.table.rows)
    met = {name: engine.domain(name) for name in wanted_names(request, table.names)}
    schema, lone = checked_schema(request, table, met)
    coded = coded_columns(schema, met, request)
    counts = _counts(coded, met)
    once = codes_once(coded.quasi)
    data = CountedMicrodata(once, coded.attributes, coded.sensitive, rows=table.rows, tallies=counts)
    engine.encode(coded.quasi, (), [column.name for column in schema.having(Role.SENSITIVE, Role.KEEP)])
    watch("generalize")
    collected, classes = ClassCollector(coded.attributes), np.zeros(sizes.size, np.int32)
    blocks = 0
    for labels, codes in engine.labelled(sizes, resources.most_records):
        dense = labels - labels.min()
        classes[labels] = collected.take(generalize(Microdata(codes, coded.attributes), Partition(dense)))
        blocks += 1
    engine.assign_labels(classes)
    seen = ClassFacts.of(collected.regions(), data, request.policy.k, engine.sample(SAMPLE))
    return LargeDraft(
        request,
        table,
        schema,
        data,
        counts,
        lone=lone,
        seen=seen,
        classes=collected.cells(),
        blocks=blocks if blocks > 1 else 0,
    )


def _drafted_join(
    engine: SqlEngine,
    request: Request,
    resources: Resources,
    watch: Watch,
    table: OpenedTable,
    public: PublicFiles,
) -> LargeDraft:
    """The same where people of a public table stand in."""
    tables = JoinedTables.open(engine, request.policy, public)
    schema, _, met = _joined_schema(engine, request, table, tables)
    watch("join")
    people = join_people(engine, schema, tables, met, request.policy)
    own = people.counts.people
    watch("encode")
    found = {column.name: engine.domain(column.name) for column in schema.having(Role.QUASI)}
    everyone = OpenedTable(tuple(found), engine.table.rows)
    coded = coded_columns(Schema(schema.having(Role.QUASI), schema.missing), found, request)
    _check_feasible(request, coded, found, everyone.rows)
    counts = _counts(coded, found)
    claimed = claimed_of(schema).sensitive
    data = CountedMicrodata(codes_once(coded.quasi), coded.attributes, claimed, rows=own)
    engine.encode(coded.quasi, [OF_PEOPLE], ())
    found.clear()
    classes = JoinedClasses(ClassCollector(coded.attributes), replace(resources, tuples=None).most_tuples)
    blocks = cut_classes(engine, request, replace(coded, quasi=()), everyone.rows, resources, watch, classes)[
        1
    ]
    watch("generalize")
    regions = classes.classes.regions()
    if int(regions.counts.sum()) == own:
        CERTAIN_PRESENCE.refuse(request.policy.accept, NOBODY_ELSE)
    presence = classes.presence(regions, coded.attributes)
    joined = StandInRows(people, tables, presence)
    return LargeDraft(
        request,
        table,
        schema,
        data,
        counts,
        lone={},
        seen=ClassFacts.of(regions, data, request.policy.k, private=classes.private(regions)),
        classes=classes.classes.cells(),
        blocks=blocks,
        single={},
        disclosure=joined.disclosure(),
        stand_ins=joined,
    )


def _joined_schema(
    engine: SqlEngine, request: Request, table: OpenedTable, tables: JoinedTables
) -> tuple[Schema, dict[str, int], tuple[dict[str, Frequencies], dict[str, Frequencies]]]:
    """The schema over both tables; lone values of the private one, and the distinct texts of each."""
    met = {name: engine.domain(name) for name in wanted_names(request, table.names)}
    listed = distinct_public(engine, tables, request.policy)
    schema, lone = checked_schema(request, table, met, distinct_table(tables.public.names, listed))
    return schema, lone, (met, listed)


def _in_order(
    engine: Engine,
    recipe: Hilbert | Ring,
    data: CountedMicrodata,
    promised: Sequence[tuple[ClassModel, Guarding]],
    resources: Resources,
    watch: Watch,
) -> RowsInOrder:
    """Sort all rows and cut the sorted row."""
    if not isinstance(engine, OrderedEngine):
        raise PolicyError("this engine does not sort rows; take mondrian")
    maker = RowMaker(engine, recipe, data.attributes, data.rows, promised)
    return maker.made(data.sensitive, resources, watch("group"))


def _guarding_columns(request: Request, coded: CodedColumns) -> list[tuple[ClassModel, Guarding]]:
    """The promises of l, each with its column."""
    places = {lookup.name: Guarding(place, lookup.size) for place, lookup in enumerate(coded.values)}
    return [(model, places[model.column]) for model in _guarding(request)]


def schema_of(
    engine: Engine, request: Request, table: OpenedTable, joined: JoinedTables | None = None
) -> Schema:
    """The schema that a policy gives the table; refused is what `publish` refuses to publish unchanged."""
    if joined is not None:
        return _joined_schema(cast(SqlEngine, engine), request, table, joined)[0]
    met = {name: engine.domain(name) for name in wanted_names(request, table.names)}
    return checked_schema(request, table, met)[0]


def checked_schema(
    request: Request, table: OpenedTable, met: Mapping[str, Frequencies], public: Table | None = None
) -> tuple[Schema, dict[str, int]]:
    """The schema, and in how many rows each private column has a value that no other row has."""
    schema = request.policy.schema(distinct_table(table.names, met), public)
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


def distinct_table(names: Sequence[str], met: Mapping[str, Frequencies]) -> Table:
    """A table that has every distinct text of every column in some row: all that a schema is made from."""
    longest = max((len(found.texts) for found in met.values()), default=1)
    columns = []
    for name in names:
        texts = met[name].texts if name in met else ("",)
        codes = np.zeros(longest, np.int32)
        codes[: len(texts)] = np.arange(len(texts))
        columns.append(TextColumn(codes, texts))
    return Table(tuple(names), tuple(columns))


def coded_columns(schema: Schema, met: Mapping[str, Frequencies], request: Request) -> CodedColumns:
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
    return CodedColumns(tuple(attributes), tuple(quasi), tuple(sensitive), values)


def _counts(coded: CodedColumns, met: Mapping[str, Frequencies]) -> tuple[Ints, ...]:
    """How many rows have each code of each quasi-identifier."""
    return tuple(
        np.bincount(lookup.codes, met[lookup.name].counts, lookup.size).astype(np.int64)
        for lookup in coded.quasi
    )


def codes_once(lookups: Sequence[Lookup]) -> Codes:
    """Codes (m, d) in which every code that occurs stands somewhere in its column."""
    longest = max(lookup.codes.size for lookup in lookups)
    codes = np.empty((longest, len(lookups)), np.int32)
    for j, lookup in enumerate(lookups):
        codes[:, j] = lookup.codes[0]
        codes[: lookup.codes.size, j] = lookup.codes
    return codes


def cut_classes(
    engine: Engine,
    request: Request,
    coded: CodedColumns,
    rows: int,
    resources: Resources,
    watch: Watch,
    joined: TakesClasses | None = None,
) -> tuple[ClassCollector, int]:
    """The classes of all records: cut in memory if the distinct ones fit, else first by the engine."""
    algorithm = request.algorithm
    recipe = StrictMondrian(algorithm.k) if isinstance(algorithm, Direct) else algorithm
    if not isinstance(recipe, StrictMondrian):
        raise PolicyError("the engine cuts by mondrian alone")
    progress = watch("group")
    names, models = [lookup.name for lookup in coded.values], _guarding(request)
    found = engine.distinct(resources.most_tuples)
    collected = ClassCollector(coded.attributes)
    taken: TakesClasses = collected if joined is None else joined
    if isinstance(found, Tuples):
        labels = classes_of(
            recipe, coded.attributes, found, progress, guards_of(request.promised, names, found)
        )
        engine.assign(taken.add(found, labels))
        return collected, 0
    limit = min(resources.most_records, resources.most_tuples)
    top = TopCuts(engine, coded.attributes, recipe.rules(), limit, CutGuards(engine, models, names))
    tree = top.grow(rows, part_of(progress, 0, 0.5))
    leaves = tree.leaves()
    for at, block in enumerate(engine.blocks(tree)):
        turn = top.nodes[block.node].turn
        guards = guards_of(request.promised, names, block.tuples)
        labels = classes_of(recipe, coded.attributes, block.tuples, _unseen, guards, turn)
        engine.assign(taken.add(block.tuples, labels), block.node)
        progress(0.5 + (at + 1) / len(leaves) / 2)
    return collected, len(leaves)


def _unseen(done: float) -> None:
    """The progress of one block among many."""


def _guarding(request: Request) -> list[ClassModel]:
    return [model for model in request.promised if isinstance(model, ClassModel)]


def _check_feasible(request: Request, coded: CodedColumns, met: Mapping[str, Frequencies], rows: int) -> None:
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
