"""Attacking a written release in which people of a public table stand in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.algorithms.kja_trim import trimmed
from incrowd.attacks import (
    AttackResult,
    JoinTarget,
    Lines,
    Target,
    Values,
    equijoin,
    fitting,
    in_group,
    lines_apart,
    matched,
    membership,
    order,
    outline,
    planted,
    presence,
    trimming,
)
from incrowd.commands.attack_result import BY_LINKS, Attacked, k_of, method_said
from incrowd.commands.verify import claims_said, manifest_of, schema_of
from incrowd.contracts import Watch
from incrowd.errors import InputError
from incrowd.flow import Microdata, Partition, Sensitive, Table, TextColumn
from incrowd.generalize import generalize
from incrowd.join import encode_joined, join
from incrowd.measures import published as read_published
from incrowd.measures import published_from_regions
from incrowd.policy import Policy
from incrowd.release.audit import LINKS
from incrowd.release.readback import read_release, read_sensitive
from incrowd.release.stage import audit_folder

Ints = NDArray[np.int64]

NOT_FOR_TWO_TABLES = (
    "degree, probability, rerun, corruption, rows and definetti were not tried: with people of two tables, "
    "equijoin takes the place of degree, and the others speak of records of one table"
)


def attack_joined(
    folder: Path,
    table: Table,
    policy: Policy | None,
    public: object,
    planted_people: object,
    watch: Watch,
) -> Attacked:
    """Run every attack on a release in which people of a public table stand in."""
    said = manifest_of(folder)["public"]
    if not isinstance(said, dict) or not isinstance(said.get("id"), str):
        raise InputError(f"the manifest of {folder} does not say by which column people were joined")
    crowd, second = _public_tables(folder, policy, public)
    schema = schema_of(folder, table, None) if policy is None else policy.schema(table, crowd)
    people = join(table, schema, crowd, said["id"], second, conflicts="microdata")
    data = encode_joined(table, schema, people)
    shown, claims = read_release(folder, schema), claims_said(folder)
    found = read_published(shown, data)
    target = Target(found, data, np.full(len(data), -1, dtype=np.int64), k_of(claims))
    behind = _people_behind(folder, target)
    truth, source = target.truth.copy(), "nothing: the audit has no links, so only candidates are counted"
    if behind is not None:
        mine = behind < len(table)
        truth[behind[mine]] = np.flatnonzero(mine)
        source = BY_LINKS
    scene = JoinTarget(replace(target, truth=truth), _listed(table, crowd, said["id"], len(data)))
    lines = _lines_of_groups(folder, table, shown, data)
    if lines:
        group = shown.column("group").codes
        sizes = np.bincount(lines[0][1].group, minlength=len(shown.column("group").texts))
        scene = replace(scene, group=group, people=sizes)
    results = _on_two_tables(scene, behind, watch)
    if planted_people is not None:
        results += (_planted(scene, behind, crowd.column(said["id"]).take(people.rows), planted_people),)
    for column, line in lines:
        watch(f"attack: groups of {column.name}")
        promised = Values(column.name, line.value, line.value, column.size).promised(claims)
        results += (in_group(scene, column.name, column.codes.astype(np.int64), line, promised.l),)
    name, known = str(method_said(folder)["name"]), scene.target.known.size
    notes = (NOT_FOR_TWO_TABLES,)
    return Attacked(len(table), len(shown), target.k, name, source, known, results, notes)


def _on_two_tables(scene: JoinTarget, behind: Ints | None, watch: Watch) -> tuple[AttackResult, ...]:
    target = scene.target
    watch("attack: order, equijoin and matching")
    rows_named = (order(target), equijoin(scene), matched(scene))
    watch("attack: presence")
    there = presence(scene)
    watch("attack: trimming")
    shaped = [trimming(scene, None if behind is None else _trimmed(scene, behind))]
    if scene.group is not None:
        watch("attack: outline")
        shaped.append(outline(scene))
    watch("attack: membership")
    return (*rows_named, there, *shaped, membership(scene))


def _planted(scene: JoinTarget, behind: Ints | None, others: TextColumn, ids: object) -> AttackResult:
    """What is left of crowds for the one who invented some people; `others` are ids of who stands in."""
    if behind is None:
        raise InputError("who stands in which class only the audit knows, and it is not there")
    table = tables.read(ids)
    invented = {text for column in table.columns[:1] for text in column.texts}
    flags = np.zeros(scene.own.size, np.bool_)
    flags[~scene.own] = np.array([text in invented for text in others.texts], np.bool_)[others.codes]
    labels = np.full(scene.own.size, -1, np.int32)
    labels[behind] = scene.target.graph.row_of
    return planted(scene, labels, flags)


def _public_tables(folder: Path, policy: Policy | None, public: object) -> tuple[Table, Table | None]:
    """The public table, as given or as the policy says, and the second source if the policy names one."""
    named = None if policy is None else policy.public
    if public is None and (policy is None or named is None):
        raise InputError(
            f"{folder} was made with a public table; pass it with --public, or its policy with -p"
        )
    if policy is None or named is None:
        return tables.read(public), None
    first = tables.read(policy.folder / named.table if public is None else public)
    return first, None if named.check is None else tables.read(policy.folder / named.check)


def _listed(table: Table, public: Table, id: str, people: int) -> NDArray[np.bool_]:
    """Who of all people is in the public table: all who stand in, and whose id it has."""
    there = set(public.column(id).rows()) if id in public.names else set[str | None]()
    listed = np.ones(people, np.bool_)
    if id in table.names:
        listed[: len(table)] = [who in there for who in table.column(id).rows()]
    return listed


def _people_behind(folder: Path, target: Target) -> Ints | None:
    """The person behind each row, where the audit says so of the same people; they must fit their rows."""
    try:
        path = audit_folder(folder.resolve()) / LINKS
        behind = np.array(json.loads(path.read_text(encoding="utf-8"))["record_of_each_row"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return behind if fitting(target, behind) else None


def _lines_of_groups(
    folder: Path, table: Table, shown: Table, data: Microdata
) -> list[tuple[Sensitive, Lines]]:
    """For each sensitive column the values that stand apart, with their groups as the rows number them."""
    if "apart" not in manifest_of(folder):
        return []
    buckets, group = read_sensitive(folder), shown.column("group")
    return [
        (column, Lines(*lines_apart(group, buckets, column, table.column(column.name))))
        for column in data.sensitive
        if column.name in buckets.names
    ]


def _trimmed(scene: JoinTarget, behind: Ints) -> JoinTarget | None:
    """The same classes with people of the public table left out as printed, to see what the attack does."""
    target, data = scene.target, scene.target.data
    if target.k is None:
        return None
    labels = np.full(len(data), -1, np.int32)
    labels[behind] = target.graph.row_of
    labels[trimmed(data, labels, target.k, "greedy")] = -1
    kept = np.flatnonzero(labels >= 0)
    classes = np.unique(labels[kept], return_inverse=True)[1].reshape(-1).astype(np.int32)
    rest = Microdata(data.codes[kept], data.attributes)
    shown = published_from_regions(generalize(rest, Partition(classes)), data.attributes)
    return JoinTarget(Target(shown, data, np.full(len(data), -1, np.int64), target.k), scene.listed)
