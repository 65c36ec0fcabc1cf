"""Attacking a release that is already written: every adversary, and what each gets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd import models, tables
from incrowd.attack import (
    ATTACKS,
    AttackResult,
    JoinTarget,
    Lines,
    Target,
    Values,
    alone_in_both,
    among_groups,
    codes_of_texts,
    corruption,
    disclosures,
    equijoin,
    fitting,
    in_group,
    known_counts,
    lines_apart,
    matched,
    membership,
    order,
    outline,
    planted,
    pools,
    presence,
    probability,
    rerun,
    rows,
    trimming,
    values_of,
)
from incrowd.audit import LINKS, links_of
from incrowd.contracts import Crowder
from incrowd.drafting import Watch, hidden, unwatched
from incrowd.encode import encode
from incrowd.errors import IncrowdError, InputError
from incrowd.flow import Cover, JoinCover, Microdata, Regions, Sensitive, Table, TextColumn
from incrowd.generalize import generalize
from incrowd.hide.trimming import trimmed
from incrowd.join import encode_joined, join
from incrowd.leaving import data_of_kept, table_of_kept
from incrowd.measure import Published
from incrowd.measure import published as read_published
from incrowd.methods import method
from incrowd.policy import Policy
from incrowd.readback import read_release, read_sensitive
from incrowd.reading import offsets, read_texts
from incrowd.rejudge import check_is_release, claims_said, groups_said, manifest_of, schema_of
from incrowd.release import cell_texts
from incrowd.schema import Claim, Kind, Role, Schema
from incrowd.stage import audit_folder

Ints = NDArray[np.int64]

KINDS_OF_L = {
    "distinct-l-diversity": "distinct",
    "entropy-l-diversity": "entropy",
    "recursive-l-diversity": "recursive",
    "frequency-l-diversity": "frequency",
    "drawn-l-diversity": "frequency",
}

NOT_FOR_TWO_TABLES = (
    "degree, probability, rerun, corruption, rows and definetti were not tried: with people of two tables, "
    "equijoin takes the place of degree, and the others speak of records of one table"
)
BY_LINKS = "the links in the audit"
RERUN_OF_OTHERS = "rerun was not tried: run again, the method leaves out other records"
RERUN_OF_A_JOIN = "rerun was not tried: rows of a class are equal, and nobody's is found by it"
RERUN_OF_EXACT_ROWS = "rerun was not tried: rows are published as they are, and groups were drawn by chance"


@dataclass(frozen=True)
class Attacked:
    """What every adversary got out of a release. ``truth`` says how it is known who is behind which row."""

    records: int
    rows: int
    k: int | None
    method: str
    truth: str
    known: int
    results: tuple[AttackResult, ...]
    notes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return all(result.holds for result in self.results)

    def as_dict(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "rows": self.rows,
            "k": self.k,
            "method": self.method,
            "truth": self.truth,
            "known": self.known,
            "holds": self.holds,
            "attacks": [result.as_dict() for result in self.results],
            "notes": list(self.notes),
        }


def attack_release(
    folder: Path,
    original: Path,
    policy: Policy | None,
    watch: Watch = unwatched,
    public: object = None,
    planted_people: object = None,
) -> Attacked:
    """Run every attack on a release folder.

    Roles and hierarchies come from the policy or from the audit beside the release; what was promised, and
    the method, from its manifest. Who is behind which row comes from the audit, where it was kept; else
    from private values that only one record and one row have. Where people of a public table stand in, that
    is `public`, else the one that the policy names; `planted_people` is a table whose ids do not exist.
    """
    check_is_release(folder)
    watch("read")
    table = tables.read(original)
    if "public" in manifest_of(folder):
        return _attack_joined(folder, table, policy, public, planted_people, watch)
    if public is not None or planted_people is not None:
        raise InputError(f"{folder} was made without a public table; leave out --public and --planted")
    schema = schema_of(folder, table, policy)
    claims, said = claims_said(folder), _method_said(folder)
    shown = read_release(folder, schema)
    data = encode(table, schema)
    truth, source = _truth(folder, table, shown, schema)
    apart = groups_said(folder)
    kept = np.flatnonzero(truth >= 0) if source == BY_LINKS else np.arange(len(table))
    remade, note = _remade(data, claims, said, kept) if apart is None else (None, RERUN_OF_EXACT_ROWS)
    records = len(table)
    if kept.size < records:  # who knows who was left out knows more than others
        table, data, truth = table_of_kept(table, kept), data_of_kept(data, kept), truth[kept]
    target = Target(read_published(shown, data), data, truth, _k_of(claims))
    results = _every_attack(target, remade, watch)
    if apart is None:
        results += _on_values(target, _sensitive_values(table, shown, data, schema, claims), watch)
    else:
        results += _on_groups(target, table, shown, read_sensitive(folder), watch)
    notes = (*([note] if note else []), *([] if apart is None else [apart.note]))
    return Attacked(
        records, len(shown), target.k, str(said["name"]), source, target.known.size, results, notes
    )


def _attack_joined(
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
    target = Target(found, data, np.full(len(data), -1, dtype=np.int64), _k_of(claims))
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
    name, known = str(_method_said(folder)["name"]), scene.target.known.size
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
    apart, group = read_sensitive(folder), shown.column("group")
    return [
        (column, Lines(*lines_apart(group, apart, column, table.column(column.name))))
        for column in data.sensitive
        if column.name in apart.names
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
    shown = read_published(_table_of(rest, generalize(rest, Cover(classes))), data)
    return JoinTarget(Target(shown, data, np.full(len(data), -1, np.int64), target.k), scene.listed)


def _every_attack(target: Target, remade: Published | None, watch: Watch) -> tuple[AttackResult, ...]:
    results = []
    for attack in ATTACKS:
        if attack is corruption:
            continue
        progress = watch(f"attack: {attack.__name__}")
        results.append(probability(target, progress) if attack is probability else attack(target))
    if remade is not None:
        watch("attack: rerun")
        results.append(rerun(target, remade))
    for known in known_counts(target):
        watch(f"attack: corruption of {known}")
        results.append(corruption(target, known))
    watch("attack: rows")
    return (*results, rows(target))


def _on_values(target: Target, columns: Sequence[Values], watch: Watch) -> tuple[AttackResult, ...]:
    """What candidates tell about sensitive values."""
    watch("attack: values")
    held = pools(target) if columns else None
    return tuple(result for values in columns for result in disclosures(target, values, held))


def _on_groups(
    target: Target, table: Table, shown: Table, apart: Table, watch: Watch
) -> tuple[AttackResult, ...]:
    """What groups tell about sensitive values that stand apart from exact rows."""
    watch("attack: definetti")
    return tuple(
        among_groups(target, shown.column("group"), apart, column, table.column(column.name))
        for column in target.data.sensitive
        if column.name in apart.names
    )


def _sensitive_values(
    table: Table, shown: Table, data: Microdata, schema: Schema, claims: Sequence[Claim]
) -> list[Values]:
    """The sensitive columns that are published, with what was promised of each."""
    pairs = [(column, table.column(column.name)) for column in data.sensitive if column.name in shown.names]
    return [
        values_of(column, original, shown.column(column.name), _places(column, original, schema)).promised(
            claims
        )
        for column, original in pairs
    ]


def _places(column: Sensitive, original: TextColumn, schema: Schema) -> NDArray[np.float64] | None:
    """Where the values of a column of numbers or dates lie, nan where one is missing."""
    if column.tree is not None or column.kind not in (Kind.NUMERIC, Kind.DATE):
        return None
    codes = codes_of_texts(column, original).tolist()
    texts = [text or "" for text in original.texts]
    read = read_texts(texts, column.kind, schema.column(column.name).format)
    known = {
        code: value
        for code, text, value in zip(codes, texts, read, strict=True)
        if code >= 0 and value is not None and text not in schema.missing
    }
    place = np.full(column.size, np.nan)
    place[list(known)] = offsets(list(known.values())) if known else []
    return place


def _method_said(folder: Path) -> Mapping[str, Any]:
    said = manifest_of(folder).get("method")
    if not isinstance(said, dict) or not isinstance(said.get("name"), str):
        raise InputError(f"the manifest of {folder} does not say by which method it was made")
    rows = manifest_of(folder).get("rows")
    share = rows.get("max_suppression", "0") if isinstance(rows, dict) else "0"
    return {**said, "max_suppression": share}


def _k_of(claims: Sequence[Claim]) -> int | None:
    """What was promised about rows; groups of sensitive values apart from them say nothing about rows."""
    claims = [claim for claim in claims if claim.model != models.SensitiveGroups.name]
    sizes = [size for claim in claims if isinstance(size := claim.parameters.get("k"), int)]
    return min(sizes) if sizes and min(sizes) >= 1 else None


def _truth(folder: Path, table: Table, shown: Table, schema: Schema) -> tuple[Ints, str]:
    """The row of each record, and how it is known."""
    truth = np.full(len(table), -1, dtype=np.int64)
    links = links_of(audit_folder(folder.resolve()), len(table))
    if links is not None and links.size == len(shown):
        truth[links] = np.arange(links.size)
        return truth, BY_LINKS
    names = [c.name for c in schema.having(Role.SENSITIVE, Role.KEEP) if c.name in shown.names]
    if not names:
        return truth, "nothing: no private column is published, so only candidates are counted"
    record, row = alone_in_both(table, shown, names)
    truth[record] = row
    return truth, "private values that only one record and one row have"


def _remade(
    data: Microdata, claims: Sequence[Claim], said: Mapping[str, Any], kept: Ints
) -> tuple[Published | None, str]:
    """What the release's method makes of the original, row i for the i-th that was kept; or why not."""
    try:
        privacy = _privacy(claims)
        sensitive = [c.name for c in data.sensitive] if "plain" in privacy else []
        sensitive += [claim.column for claim in claims if claim.column and claim.column not in sensitive]
        recipe = method(str(said["name"]))
        grouper = recipe.grouper(privacy["k"], dict(said.get("options") or {}), str(said["max_suppression"]))
        size = "k-factor" if isinstance(grouper, Crowder) else models.KAnonymity.name
        promised = models.from_policy(privacy, sensitive, size, diverse=recipe.diverse)
        cover = hidden(data, grouper, promised, privacy["k"], unwatched)
        if isinstance(cover, JoinCover):
            return None, RERUN_OF_A_JOIN
        if isinstance(cover, Cover) and not np.array_equal(cover.kept, kept):
            return None, RERUN_OF_OTHERS
        if isinstance(cover, Cover):
            cover, data = cover.of_kept(), data_of_kept(data, kept)
        regions = generalize(data, cover)
    except (IncrowdError, TypeError, KeyError) as problem:
        reason = str(problem) if isinstance(problem, IncrowdError) else "its manifest does not say how"
        return None, f"rerun was not tried, since the method cannot be run again: {reason}"
    return read_published(_table_of(data, regions), data), ""


def _table_of(data: Microdata, regions: Regions) -> Table:
    """Row i for record i."""
    columns = [
        TextColumn(regions.cell[regions.of, j], cell_texts(attribute, regions.cells[j]))
        for j, attribute in enumerate(data.attributes)
    ]
    return Table(tuple(a.name for a in data.attributes), tuple(columns))


def _privacy(claims: Sequence[Claim]) -> dict[str, Any]:
    """The promise in the words of a policy."""
    words: dict[str, Any] = {"k": _k_of(claims)}
    for claim in claims:
        if claim.model in KINDS_OF_L:
            words |= {"l_kind": KINDS_OF_L[claim.model], "l": claim.parameters["l"]}
            words |= {"c": claim.parameters["c"]} if "c" in claim.parameters else {}
        if claim.model == "t-closeness":
            words |= {"t": claim.parameters["t"], "t_distance": claim.parameters.get("distance")}
        if claim.model == "plain":
            words["plain"] = _plain(claim)
    return words


def _plain(claim: Claim) -> dict[str, Any]:
    """The promise about outliers in the words of a policy."""
    weights = dict(claim.parameters["columns"])
    words = {**claim.parameters, "rescale": claim.parameters["rescale"] == "yes"}
    return {**words, "columns": list(weights), "weights": weights}
