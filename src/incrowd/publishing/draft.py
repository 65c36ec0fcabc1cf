"""All stages up to the judge: from a table and a policy to a draft of a release."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd import assign, tables
from incrowd.algorithms.catalogue import Method
from incrowd.algorithms.outliers.repair import repaired
from incrowd.contracts import Grouper, NonHomogeneous, Plainness, Promise, Watch
from incrowd.encode import encode
from incrowd.entropy import system
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Assignment, JoinPartition, Microdata, Neighbourhoods, Partition, Regions, Table
from incrowd.generalize import generalize
from incrowd.graph import Graph, consistency
from incrowd.join import Joined, Sources, encode_joined, join, read_sources
from incrowd.measures import covered_by, measure_all, measure_own, presence, published
from incrowd.models import FrequencyDiversity
from incrowd.policy import Policy
from incrowd.policy.exposures import (
    SMALL_MEANS,
    check_exact_rows,
    check_exposures,
    check_names,
    check_overlap,
    check_telling_boxes,
    told_by_classes,
    told_by_neighbourhoods,
    warnings_of,
)
from incrowd.publishing.disclosure import (
    Learnt,
    StandingIn,
    Told,
    check_hidden,
    check_learnt,
    learnt_from,
    told_by,
)
from incrowd.publishing.draw import Drawn, draw
from incrowd.publishing.render import Buckets, bucketed_values, domain_of, manifest, published_table
from incrowd.publishing.request import asked_of
from incrowd.publishing.suppression import (
    Allowance,
    LeftOut,
    allowance_of,
    check_left_out,
    data_of_kept,
    table_of_kept,
)
from incrowd.schema import Claim, Role, Schema

Ints = NDArray[np.int64]
LEAST_FOR_MEAN = 5


@dataclass(frozen=True, eq=False)
class Standing:
    """The people of a public table who stand in: their sources, and which of all people have a row.

    People are those of the private table, in their order, then those of the public one who are not in it.
    """

    sources: Sources
    joined: Joined
    people: Microdata
    partition: JoinPartition

    @property
    def kept(self) -> Ints:
        return self.partition.kept

    @property
    def own(self) -> int:
        return int(self.joined.own.sum())


@dataclass(frozen=True, eq=False)
class Draft:
    """A release that the judge has not seen.

    ``schema`` is that of the original, ``data`` are the people who have a row.
    """

    source: object
    policy: Policy
    original: Table
    schema: Schema
    data: Microdata
    regions: Regions
    drawn: Drawn
    table: Table
    claims: tuple[Claim, ...]
    manifest: Mapping[str, Any]
    warnings: tuple[str, ...]
    buckets: Buckets | None = None
    learnt: Learnt | None = None
    neighbourhoods: Neighbourhoods | None = None
    standing: Standing | None = None
    left_out: LeftOut | None = None

    @property
    def assignment(self) -> Assignment:
        return self.drawn.assignment

    @property
    def behind(self) -> Ints:
        """The person behind each row."""
        private = self.assignment.private
        if self.left_out is not None:
            return self.left_out.kept[private]
        return private if self.standing is None else self.standing.kept[private]

    @property
    def linked(self) -> bool:
        """Can it not be found out again who is behind which row?"""
        several = (self.drawn.odds, self.buckets, self.standing, self.left_out)
        return bool(self.regions.means) or any(part is not None for part in several)

    @cached_property
    def told(self) -> Told | Learnt | StandingIn | None:
        """What the release tells beyond its promise; of rows that differ it takes a while to find out."""
        if self.standing is not None:
            return self._standing_in(self.standing)
        if self.neighbourhoods is None:
            return self.learnt
        size = int(self.neighbourhoods.sizes.min())
        return told_by(self.neighbourhoods, published(self.table, self.data), self.data, size)

    def _standing_in(self, standing: Standing) -> StandingIn:
        people = standing.people
        inside = covered_by(published(self.table, people), people)
        own = standing.joined.own
        return StandingIn(presence(standing.partition.labels, own, inside), standing.joined.counts)

    def loss(self) -> dict[str, Any]:
        """Every measure of what was lost, all of it where somebody is left out.

        With a public table, of the private one's people alone.
        """
        everyone = self.data if self.left_out is None else self.left_out.everyone
        shown, k = published(self.table, everyone), self.policy.k
        if self.standing is None:
            return measure_all(shown, everyone, k)
        own = self.standing.kept < self.standing.own
        mine = Microdata(self.data.codes[own], self.data.attributes)
        return measure_own(shown, self.behind < self.standing.own, mine, k)


@dataclass(frozen=True, eq=False)
class _Made:
    """What the stages between encoding and publishing made, whatever the kind of method."""

    data: Microdata
    regions: Regions
    drawn: Drawn
    buckets: Buckets | None = None
    learnt: Learnt | None = None
    neighbourhoods: Neighbourhoods | None = None
    standing: Standing | None = None
    left_out: LeftOut | None = None
    levels: tuple[int, ...] | None = None


def draft(source: object, policy: Policy, watch: Watch, public: object = None, check: object = None) -> Draft:
    """All stages up to the judge; `public` and `check` take the place of what the policy names."""
    recipe, grouper, promised = asked_of(policy)
    if policy.public is not None and not recipe.joins:
        raise PolicyError(f"{recipe.name} takes no public table; leave out [public]")
    allowed = allowance_of(policy, recipe)
    check_names(policy.accept)
    check_overlap(grouper, policy.accept)
    check_telling_boxes(grouper, policy.accept)
    if recipe.buckets:
        check_exact_rows(policy.accept)
    watch("read")
    table = source if isinstance(source, Table) else tables.read(source)
    sources = read_sources(policy, public, check) if recipe.joins else None
    schema = policy.schema(table, None if sources is None else sources.public)
    check_exposures(table, schema, policy.accept)
    if sources is None:
        data = _encoded(table, schema, promised, watch)
        made = _made(table, schema, data, grouper, promised, policy, allowed, watch)
    else:
        data, made = _joined(table, schema, sources, grouper, promised, policy, watch)
    return _drafted(source, policy, recipe, table, schema, data, promised, made)


def _drafted(
    source: object,
    policy: Policy,
    recipe: Method,
    table: Table,
    schema: Schema,
    data: Microdata,
    promised: Sequence[Promise],
    made: _Made,
) -> Draft:
    """What rows and manifest say. `data` are the people of the private table."""
    shown = _shown(schema, made)
    kept = table if made.left_out is None else table_of_kept(table, made.left_out.kept)
    rows = published_table(kept, shown, made.data, made.regions, made.drawn.assignment, made.buckets)
    claims = tuple(claim for model in promised for claim in model.claims(data))
    pairs = zip(made.data.attributes, made.regions.cells, strict=True)
    domains = {attribute.name: domain_of(attribute, cells) for attribute, cells in pairs}
    said = manifest(shown, rows, domains, claims, _method_words(recipe, policy), policy.accept, made.buckets)
    if made.drawn.odds is not None:
        said["match_probability"] = made.drawn.odds.as_dict()
    if made.standing is not None:
        said["public"] = dict(made.standing.sources.provenance)
    if made.left_out is not None:
        said["rows"] = made.left_out.said()
    if made.levels is not None:
        said["levels"] = _levels_said(made.data, made.levels)
    first = (source, policy, table, schema, made.data, made.regions, made.drawn, rows, claims, said)
    warnings = _warnings(schema, policy, made)
    found = Draft(
        *first, warnings, made.buckets, made.learnt, made.neighbourhoods, made.standing, made.left_out
    )
    if policy.options.get("hide_rows") and isinstance(found.told, Told):
        check_hidden(found.told)
    return found


def _shown(schema: Schema, made: _Made) -> Schema:
    """The columns that are published in some file: people of a public table have no sensitive values."""
    if made.standing is None or made.buckets is not None:
        return schema
    return Schema(tuple(c for c in schema.columns if c.role is not Role.SENSITIVE), schema.missing)


def _warnings(schema: Schema, policy: Policy, made: _Made) -> tuple[str, ...]:
    if made.standing is not None:
        return tuple(made.standing.joined.counts.warnings())
    alike, data = made.drawn.candidates, made.data
    told = told_by_classes(data, made.regions) if alike is None else told_by_neighbourhoods(data, alike)
    return warnings_of(schema, data, told, policy)


def _encoded(table: Table, schema: Schema, promised: Sequence[Promise], watch: Watch) -> Microdata:
    watch("encode")
    data = encode(table, schema)
    _check_feasible(promised, data)
    return data


def _made(
    table: Table,
    schema: Schema,
    data: Microdata,
    grouper: Grouper,
    promised: Sequence[Promise],
    policy: Policy,
    allowed: Allowance | None,
    watch: Watch,
) -> _Made:
    """From one table."""
    partition = hidden(data, grouper, promised, policy.k, watch)
    if isinstance(partition, JoinPartition):
        raise PolicyError(f"{policy.method} needs a public table; name one under [public]")
    left_out = None
    if isinstance(partition, Partition):
        partition, left_out = _without(partition, data, allowed)
        data = data if left_out is None else data_of_kept(data, left_out.kept)
    watch("generalize")
    buckets, learnt = None, None
    if getattr(grouper, "buckets", False) and isinstance(
        partition, Partition
    ):  # of sensitive values; rows are exact
        learnt = learnt_from(partition.labels, data, _l_of(promised))
        check_learnt(learnt, policy.accept)
        buckets = bucketed_values(table, schema, partition.labels, system)
        partition = Partition(np.arange(len(data), dtype=np.int32))
    regions = _regions(data, partition, schema, policy)
    asked = grouper if isinstance(grouper, NonHomogeneous) else None
    crowd = policy.k if asked is None else asked.k
    drawn = draw(partition, asked, crowd, policy.accept, lambda: _graph(table, schema, data, regions), system)
    neighbourhoods, levels = (
        (partition, None) if isinstance(partition, Neighbourhoods) else (None, partition.levels)
    )
    return _Made(data, regions, drawn, buckets, learnt, neighbourhoods, left_out=left_out, levels=levels)


def hidden(
    data: Microdata, grouper: Grouper, promised: Sequence[Promise], k: int, watch: Watch
) -> Partition | Neighbourhoods | JoinPartition:
    """Who hides with whom; groups that would tell of outliers are mended where that is promised."""
    guards = tuple(guard for model in promised for guard in model.guards(data))
    partition = grouper.group(data, guards, watch("hide"))
    plain = next((guard for guard in guards if isinstance(guard, Plainness)), None)
    if plain is None or not isinstance(partition, Partition):
        return partition
    return repaired(partition, data, plain, guards, k, watch("hide outliers"))


def _without(
    partition: Partition, data: Microdata, allowed: Allowance | None
) -> tuple[Partition, LeftOut | None]:
    """The cover of those who have a row, and who that is; None where nobody may lack one."""
    check_left_out(partition, allowed)
    return (
        (partition, None)
        if allowed is None
        else (partition.of_kept(), LeftOut(data, partition.kept, allowed))
    )


def _joined(
    table: Table,
    schema: Schema,
    sources: Sources,
    grouper: Grouper,
    promised: Sequence[Promise],
    policy: Policy,
    watch: Watch,
) -> tuple[Microdata, _Made]:
    """From two tables -> the private one as numbers, and what was made of both."""
    watch("join")
    if policy.public is None:
        raise PolicyError(f"{policy.method} needs a public table; name one under [public]")
    people = join(table, schema, sources.public, policy.public.id, sources.check, policy.public.conflicts)
    watch("encode")
    everyone = encode_joined(table, schema, people)
    own = Microdata(everyone.codes[: len(table)], everyone.attributes, everyone.sensitive)
    _check_feasible(promised, own)
    guards = tuple(guard for model in promised for guard in model.guards(own))
    partition = grouper.group(everyone, guards, watch("hide"))
    if not isinstance(partition, JoinPartition):
        raise PolicyError(f"{policy.method} takes no public table; leave out [public]")
    watch("generalize")
    kept = partition.kept
    shown = Microdata(everyone.codes[kept], everyone.attributes)
    regions = generalize(shown, Partition(partition.labels[kept]))
    buckets = None
    if partition.sensitive is not None and own.sensitive:
        groups = partition.sensitive[: len(table)]
        buckets = bucketed_values(table, schema, groups, system, rows=partition.sensitive[kept])
    drawn = Drawn(assign.whole_classes(kept.size, system))
    standing = Standing(sources, people, everyone, partition)
    return own, _Made(shown, regions, drawn, buckets, standing=standing)


def _levels_said(data: Microdata, levels: Sequence[int]) -> dict[str, int]:
    """The level of each column that has a hierarchy."""
    pairs = zip(data.attributes, levels, strict=True)
    return {attribute.name: level for attribute, level in pairs if attribute.tree is not None}


def _l_of(promised: Sequence[Promise]) -> int:
    return next(model.l for model in promised if isinstance(model, FrequencyDiversity))


def _check_feasible(promised: Sequence[Promise], data: Microdata) -> None:
    reasons = [reason for model in promised if (reason := model.infeasible(data))]
    if reasons:
        raise Infeasible("\n".join(reasons))


def _regions(
    data: Microdata, partition: Partition | Neighbourhoods, schema: Schema, policy: Policy
) -> Regions:
    means = tuple(column.name for column in schema.published if column.mean)
    if means and isinstance(partition, Neighbourhoods):
        raise PolicyError(
            f"{means[0]}: a mean is that of a class, and {policy.method} makes none; leave out mean"
        )
    least = 1 if SMALL_MEANS.accepted(policy.accept) else LEAST_FOR_MEAN
    return generalize(data, partition, means, least)


def _graph(table: Table, schema: Schema, data: Microdata, regions: Regions) -> Graph:
    """The consistency graph of all records and rows, both in the order of the table."""
    unmoved = Assignment(np.arange(len(data)), np.arange(len(data)))
    return consistency(published(published_table(table, schema, data, regions, unmoved), data), data)


def _method_words(recipe: Method, policy: Policy) -> dict[str, Any]:
    return {
        "name": recipe.name,
        "options": json.loads(json.dumps(dict(policy.options), default=str)),
        "paper": recipe.paper,
        "form": "printed" if recipe.printed(policy.options) else "hardened",
    }
