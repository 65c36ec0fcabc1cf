"""Every stage up to the verifier: from a table and a policy to a draft of a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.algorithms.base import check_feasible
from incrowd.assign import system
from incrowd.encode import encode
from incrowd.errors import Exposure, TableError
from incrowd.flow import Assignment, Microdata, Neighbourhoods, Partition, Regions, Table
from incrowd.generalize import generalize
from incrowd.join import Joined, Sources, encode_joined, join, read_sources
from incrowd.long_work import Notice, Watch, threads, unnoticed, with_threads
from incrowd.measures import (
    OriginalAndRelease,
    Published,
    TwoWayError,
    covered_by,
    joined_weights,
    measure_all,
    measure_own,
    measure_two_way,
    presence,
    published_from_regions,
)
from incrowd.measures.demand import demand
from incrowd.measures.totals import one_way_totals
from incrowd.models.l_diversity import MINIMALITY
from incrowd.policy import Policy
from incrowd.policy.columns import check_exact_columns
from incrowd.policy.exposures import CERTAIN_PRESENCE, SMALL_MEANS, check_names
from incrowd.publishing.disclosure import (
    Disclosure,
    PresenceDisclosure,
    ValueDisclosure,
    check_rows,
    check_values,
    row_disclosure,
    value_disclosure,
)
from incrowd.publishing.hierarchies import files_beside, hierarchies
from incrowd.publishing.render import (
    Buckets,
    PrivateCounts,
    bucketed_values,
    domains_of,
    manifest,
    published_table,
)
from incrowd.publishing.request import Request, diversity_remedy, requested
from incrowd.publishing.rows import Grouping, RandomizedAssignment, assigned, check_suppressed, grouped
from incrowd.publishing.suppression import Saved
from incrowd.publishing.totals import totals
from incrowd.publishing.warnings import (
    isolating_columns,
    silent_shares,
    single_valued_classes,
    single_valued_neighbourhoods,
    warnings_of,
    warnings_of_columns,
    warnings_of_silence,
)
from incrowd.schema import Claim, Role, Schema

Ints = NDArray[np.int64]
LEAST_FOR_MEAN = 5
GUARDED_IN_SERIES = f"l is kept, but {MINIMALITY}"
GUARDED = f"l and t are kept, but {MINIMALITY}; for l against them too, use the method transparent"


NOBODY_ELSE = "here nobody else has a row, and the number of rows shows it; raise k, or join a longer list"
MANY_COLUMNS = 8


@dataclass(frozen=True, eq=False)
class StandIns:
    """A public table, some of whose people have rows: where it is from, and how it was joined."""

    sources: Sources
    joined: Joined


@dataclass(frozen=True, eq=False)
class EncodedPeople:
    """Whoever may have a row: those of the private table, then those of a public one who are not in it."""

    source: object
    table: Table
    schema: Schema
    private: Microdata
    everyone: Microdata
    stand_ins: StandIns | None = None

    def with_rows(self, kept: Ints) -> Microdata:
        """Some of them; with a public table without sensitive values, which its people do not have."""
        if self.stand_ins is not None:
            return Microdata(self.everyone.codes[kept], self.everyone.attributes)
        return self.everyone if kept.size == len(self.everyone) else self.everyone.take(kept)


@dataclass(frozen=True, eq=False)
class Draft:
    """A release that has not been verified.

    ``grouping`` is of all `people`, ``data`` are those of them who have a row, and ``regions`` what their
    rows say. ``values`` is there where sensitive values are published in buckets beside exact rows, ``saved``
    where it was chosen who is left out, ``series`` is what the manifest says of a series.
    """

    request: Request
    people: EncodedPeople
    grouping: Partition | Neighbourhoods
    data: Microdata
    regions: Regions
    randomized: RandomizedAssignment
    buckets: Buckets | None
    values: ValueDisclosure | None
    counts: PrivateCounts | None = None
    saved: Saved | None = None
    series: Mapping[str, Any] | None = None

    @property
    def policy(self) -> Policy:
        return self.request.policy

    @property
    def source(self) -> object:
        return self.people.source

    @property
    def original(self) -> Table:
        return self.people.table

    @property
    def schema(self) -> Schema:
        """That of the original."""
        return self.people.schema

    @property
    def stand_ins(self) -> StandIns | None:
        return self.people.stand_ins

    @property
    def assignment(self) -> Assignment:
        return self.randomized.assignment

    @property
    def behind(self) -> Ints:
        """The person behind each row."""
        return self.grouping.kept[self.assignment.private]

    @property
    def linked(self) -> bool:
        """Can it not be found out again who is behind which row?

        Where boxes overlap, several records may fit a row. That matters where rows are counted by person.
        """
        drawn, allowed = self.randomized.match_probability, self.request.allowed
        several = (drawn, self.buckets, self.stand_ins, allowed, self.data.entity, self.series)
        return bool(self.regions.means) or any(part is not None for part in several)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        return self.request.claims(self.people.private)

    @cached_property
    def table(self) -> Table:
        """The published rows."""
        table = self.original if self.request.allowed is None else self.original.take(self.grouping.kept)
        return published_table(
            table, self._published_schema, self.data, self.regions, self.assignment, self.buckets, self.counts
        )

    @cached_property
    def totals(self) -> Table | None:
        """How many rows have which value, where that is asked for."""
        if not self.policy.totals:
            return None
        promised = (claim.parameters.get("k") for claim in self.claims)  # rings with l may promise a larger k
        return totals(self.data, max(self.policy.k, *(k for k in promised if isinstance(k, int))))

    @cached_property
    def hierarchies(self) -> Table | None:
        """Which label lies under which, where columns have hierarchies."""
        given = (self.schema, self.data.attributes, self.regions.cells, self.totals)
        return hierarchies(*given) if self.schema.trees else None

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What the release says about itself, without the files that are still to be written."""
        domains = domains_of(self.data.attributes, self.regions)
        accepted, shown = self.policy.accept, self._published_schema
        found = manifest(shown, self.table, domains, self.claims, self.request.method, accepted, self.buckets)
        if self.randomized.match_probability is not None:
            found["match_probability"] = self.randomized.match_probability.to_dict()
        if self.stand_ins is not None:
            found["public"] = dict(self.stand_ins.sources.provenance)
        if self.request.allowed is not None:
            found["rows"] = self.request.allowed.to_dict(len(self.table), len(self.original))
        if self.grouping.levels is not None:
            levels = zip(self.data.attributes, self.grouping.levels, strict=True)
            found["levels"] = {column.name: level for column, level in levels if column.tree is not None}
        if self.totals is not None or self.hierarchies is not None:
            found |= files_beside(self.schema, self.policy.totals, self.hierarchies)
        return found if self.series is None else found | {"series": dict(self.series)}

    @property
    def _published_schema(self) -> Schema:
        """The columns that are published in some file: people of a public table have no sensitive values."""
        if self.stand_ins is None or self.buckets is not None:
            return self.schema
        columns = (column for column in self.schema.columns if column.role is not Role.SENSITIVE)
        return Schema(tuple(columns), self.schema.missing)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What the publisher should know."""
        guarded = any(claim.column and MINIMALITY in claim.assumptions for claim in self.claims)
        asked = demand(self.people.private, self.policy.k)
        found: tuple[str, ...] = (
            *warnings_of_columns(self.schema, self.policy.unmentioned(self.original.names)),
            *((GUARDED if self.series is None else GUARDED_IN_SERIES,) if guarded else ()),
            *((asked.sentence(),) if asked.too_much else ()),
            *((self.saved.warning(),) if self.saved is not None and self.saved.worse else ()),
        )
        if self.stand_ins is not None:
            return (*self.stand_ins.joined.counts.warnings(), *found)
        found = (*found, *warnings_of_silence(self.says_nothing, self.schema))
        candidates = self.randomized.candidates
        if candidates is None:
            single = single_valued_classes(self.data, self.regions)
        else:
            single = single_valued_neighbourhoods(self.data, candidates)
        exact = () if self.buckets is not None else isolating_columns(self.original, self.schema)
        remedy = diversity_remedy(self.policy, self.data) if any(single.values()) else ""
        return (*warnings_of(self.schema, self.data, single, self.policy, remedy), *exact, *found)

    @cached_property
    def says_nothing(self) -> dict[str, float]:
        """The share of rows in which each quasi-identifier stands for everything."""
        return silent_shares(self.data, self.regions)

    @cached_property
    def disclosure(self) -> Disclosure | None:
        """What the release discloses beyond its promise; of rows that differ it takes a while to find out."""
        if self.stand_ins is not None:
            joined, everyone = self.stand_ins.joined, self.people.everyone
            inside = covered_by(published_from_regions(self.regions, everyone.attributes), everyone)
            return PresenceDisclosure(presence(self.grouping.labels, joined.own, inside), joined.counts)
        way = self.request.algorithm.assigned_by
        return self.values or row_disclosure(self.grouping, self._shown, self.data, way)

    def measure(self) -> None:
        """Find out now what is asked of a release after it was verified: that takes a while."""
        _ = self.loss, self.two_way, self.warnings, self.disclosure

    @cached_property
    def loss(self) -> dict[str, Any]:
        """Every measure of information loss; who has no row lost everything.

        With a public table, of the private one's people alone.
        """
        everyone, private, k = self.people.everyone, self.people.private, self.policy.k
        if self.stand_ins is None:
            return measure_all(self._shown, everyone, k)
        return measure_own(self._shown, self.behind < len(private), private, k)

    @cached_property
    def two_way(self) -> TwoWayError:
        """How far two-column tables are off that a reader makes of the release."""
        buckets, weights = None if self.buckets is None else self.buckets.table, None
        if self.stand_ins is not None:
            try:
                weights = joined_weights(self.table, buckets)
            except TableError as problem:
                return TwoWayError(why_not=f"{self.policy.method}: {problem}")
        people, rows = self.people.private, self.table
        totals = one_way_totals(self.totals, people.attributes)
        given = (self.original, self.schema, people, self._shown, rows, buckets, weights, totals)
        return measure_two_way(OriginalAndRelease(*given))

    @cached_property
    def _shown(self) -> Published:
        """The rows as a reader reads them."""
        return published_from_regions(self.regions, self.people.everyone.attributes, self.assignment.region)


def draft(
    source: object,
    policy: Policy,
    watch: Watch,
    public: object = None,
    check: object = None,
    notice: Notice = unnoticed,
    ready: Partition | None = None,
    reading: int = 0,
) -> Draft:
    """All stages up to the verifier; `public` and `check` take the place of what the policy names.

    A grouping that is `ready` takes the place of the algorithm's. So many other threads are `reading` at
    first: those of this one would only get in their way.
    """
    check_names(policy.accept)
    request = requested(policy)
    with with_threads(max(threads() - reading, 1)):
        people = _read(source, request, watch, public, check)
    check_feasible(request.promised, people.private)
    if len(people.private.attributes) > MANY_COLUMNS:  # of few columns it is said at the end
        asked = demand(people.private, policy.k)
        if asked.too_much:
            notice(asked.sentence())
    made = Grouping(ready) if ready is not None else _grouped(request, people, watch)
    grouping = made.found
    if people.stand_ins is None:
        check_suppressed(grouping, request.allowed)
    watch("generalize")
    rows, data = grouping.of_kept(), people.with_rows(grouping.kept)
    values = _disclosed_values(rows, data, request)
    buckets, counts = _bucketed(grouping, people), _counted(grouping, people, request)
    means = tuple(column.name for column in people.schema.published if column.mean)
    least = 1 if means and SMALL_MEANS.accepted(policy.accept) else LEAST_FOR_MEAN
    regions = generalize(data, rows, means, least)
    found = Draft(
        request=request,
        people=people,
        grouping=grouping,
        data=data,
        regions=regions,
        randomized=assigned(rows, regions, data, request),
        buckets=buckets,
        values=values,
        counts=counts,
        saved=made.saved,
    )
    if request.algorithm.concealed_by:
        check_rows(found.disclosure, request.algorithm.concealed_by)
    return found


def _grouped(request: Request, people: EncodedPeople, watch: Watch) -> Grouping:
    asked = (people.private, request.allowed, request.policy.totals)
    return grouped(people.everyone, request.algorithm, request.promised, watch, *asked)


def _read(source: object, request: Request, watch: Watch, public: object, check: object) -> EncodedPeople:
    """Read the table, and the public one where the algorithm takes one; join and encode."""
    policy = request.policy
    watch("read")
    table = source if isinstance(source, Table) else tables.read(source, needed=policy.needed_of)
    sources = read_sources(policy, public, check) if request.algorithm.joins else None
    schema = policy.schema(table, None if sources is None else sources.public)
    check_exact_columns(table, schema, policy.accept, request.algorithm.buckets)
    if sources is None or policy.public is None:
        watch("encode")
        data = encode(table, schema)
        return EncodedPeople(source, table, schema, private=data, everyone=data)
    watch("join")
    said = policy.public
    joined = join(table, schema, sources.public, said.id, sources.check, said.conflicts, request.blind)
    watch("encode")
    everyone = encode_joined(table, schema, joined)
    private = Microdata(everyone.codes[: len(table)], everyone.attributes, everyone.sensitive)
    return EncodedPeople(source, table, schema, private, everyone, StandIns(sources, joined))


def _disclosed_values(
    rows: Partition | Neighbourhoods, data: Microdata, request: Request
) -> ValueDisclosure | None:
    """How often sensitive values are guessed by the buckets of exact rows; too often is refused."""
    if rows.buckets is None or not request.algorithm.exact_rows:
        return None
    found = value_disclosure(rows.buckets, data, request.promised)
    check_values(found, request.policy.accept)
    return found


def _bucketed(grouping: Partition | Neighbourhoods, people: EncodedPeople) -> Buckets | None:
    groups = grouping.buckets
    if groups is None or not people.private.sensitive:
        return None
    own, rows = groups[: len(people.table)], groups[grouping.kept]
    return bucketed_values(people.table, people.schema, own, system, rows)


def _counted(
    grouping: Partition | Neighbourhoods, people: EncodedPeople, request: Request
) -> PrivateCounts | None:
    """How many people of each class are private, where that is published; everybody only if accepted."""
    if people.stand_ins is not None and not (grouping.kept >= len(people.table)).any():
        CERTAIN_PRESENCE.refuse(request.policy.accept, NOBODY_ELSE)
    if request.algorithm.most_present_share is None:
        return None
    counts = PrivateCounts.of(grouping.labels[grouping.kept], grouping.kept < len(people.table))
    if counts.certain and not CERTAIN_PRESENCE.accepted(request.policy.accept):
        classes = "class" if counts.certain == 1 else "classes"
        raise Exposure(
            CERTAIN_PRESENCE.name,
            f"in {counts.certain} equivalence {classes} everybody is in the private table, and the numbers "
            "of people would say so; set the option presence to a share below 1, raise k, or join a longer "
            "public table",
        )
    return counts
