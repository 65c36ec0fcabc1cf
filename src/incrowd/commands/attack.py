"""Attacking a release that is already written: every adversary, and what each gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd import models, tables
from incrowd.algorithms.catalogue import method
from incrowd.attacks import (
    ATTACKS,
    AttackResult,
    Target,
    Values,
    alone_in_both,
    among_groups,
    backgrounds,
    codes_of_texts,
    corruption,
    disclosures,
    downcoding,
    known_counts,
    pools,
    probability,
    rerun,
    rows,
    singling,
    values_of,
)
from incrowd.commands.attack_composition import attack_composition, read_other
from incrowd.commands.attack_join import attack_joined
from incrowd.commands.attack_outliers import Scene, attack_outliers
from incrowd.commands.attack_result import BY_LINKS, Attacked, k_of, method_said, table_of
from incrowd.commands.verify import check_is_release, claims_said, groups_said, manifest_of, schema_of
from incrowd.contracts import NonHomogeneous, Watch, unwatched
from incrowd.encode import encode
from incrowd.errors import IncrowdError, InputError
from incrowd.flow import JoinPartition, Microdata, Partition, Sensitive, Table, TextColumn
from incrowd.generalize import generalize
from incrowd.measures import Published
from incrowd.measures import published as read_published
from incrowd.policy import Policy
from incrowd.publishing.draft import hidden
from incrowd.publishing.suppression import data_of_kept, table_of_kept
from incrowd.release.audit import links_of
from incrowd.release.readback import read_release, read_sensitive
from incrowd.release.stage import audit_folder
from incrowd.schema import Claim, Kind, Role, Schema
from incrowd.values import offsets, read_texts

Ints = NDArray[np.int64]

KINDS_OF_L = {
    "distinct-l-diversity": "distinct",
    "entropy-l-diversity": "entropy",
    "recursive-l-diversity": "recursive",
    "frequency-l-diversity": "frequency",
    "drawn-l-diversity": "frequency",
}

RERUN_OF_OTHERS = "rerun was not tried: run again, the method suppresses other records"
RERUN_OF_A_JOIN = "rerun was not tried: rows of a class are equal, and nobody's is found by it"
RERUN_OF_EXACT_ROWS = "rerun was not tried: rows are published unchanged, and buckets were drawn at random"


def attack_release(
    folder: Path,
    original: Path,
    policy: Policy | None,
    watch: Watch = unwatched,
    public: object = None,
    planted_people: object = None,
    outliers: str | None = None,
    also: Path | None = None,
) -> Attacked:
    """Run every attack on a release folder.

    Roles and hierarchies come from the policy or from the audit beside the release; what was promised, and
    the method, from its manifest. Who is behind which row comes from the audit, where it was kept; else
    from private values that only one record and one row have. Where people of a public table stand in, that
    is `public`, else the one that the policy names; `planted_people` is a table whose ids do not exist.
    `outliers` (``p,d``) lets the attack on outliers run where nothing is promised about them. `also` is the
    folder of another release of the same people.
    """
    check_is_release(folder)
    watch("read")
    table = tables.read(original)
    if "public" in manifest_of(folder):
        _refuse_with_public(folder, outliers, also)
        return attack_joined(folder, table, policy, public, planted_people, watch)
    if public is not None or planted_people is not None:
        raise InputError(f"{folder} was made without a public table; leave out --public and --planted")
    schema = schema_of(folder, table, policy)
    other = None if also is None else read_other(also, table, policy)
    claims, said = claims_said(folder), method_said(folder)
    shown = read_release(folder, schema)
    data = encode(table, schema)
    truth, source = _truth(folder, table, shown, schema)
    buckets = groups_said(folder)
    kept = np.flatnonzero(truth >= 0) if source == BY_LINKS else np.arange(len(table))
    remade, note = _remade(data, claims, said, kept) if buckets is None else (None, RERUN_OF_EXACT_ROWS)
    records = len(table)
    k, found = k_of(claims), read_published(shown, data)
    scene = Scene(table, data, shown, found, truth, k)  # of everybody, whether or not they have a row
    on_outliers, told = attack_outliers(scene, claims, outliers, watch)
    if kept.size < records:  # who knows who was left out knows more than others
        table, data, truth = table_of_kept(table, kept), data_of_kept(data, kept), truth[kept]
    target = Target(found, data, truth, k)
    results = _every_attack(target, remade, watch)
    if buckets is None:
        results += _on_values(target, _sensitive_values(table, shown, data, schema, claims), watch)
    else:
        results += _on_groups(target, table, shown, read_sensitive(folder), watch)
    results += on_outliers
    notes = [*([note] if note else []), *([] if buckets is None else [buckets.note]), *told]
    if other is not None:
        composed, why = attack_composition(target, scene, schema, other, watch)
        results, notes = results + composed, [*notes, *why]
    return Attacked(
        records, len(shown), target.k, str(said["name"]), source, target.known.size, results, tuple(notes)
    )


def _refuse_with_public(folder: Path, outliers: str | None, also: Path | None) -> None:
    """Refuse what cannot be asked of a release in which people of a public table stand in."""
    if outliers is not None:
        raise InputError(
            f"{folder} was made with a public table, whose people have no sensitive values; "
            "leave out --outliers"
        )
    if also is not None:
        raise InputError(
            f"{folder} was made with a public table, so its rows are about other people, too; "
            "leave out --also"
        )


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
    results += [rows(target), singling(target)]
    if any(attribute.tree is not None for attribute in target.data.attributes):
        results.append(downcoding(target))
    return tuple(results)


def _on_values(target: Target, columns: Sequence[Values], watch: Watch) -> tuple[AttackResult, ...]:
    """What candidates tell about sensitive values."""
    watch("attack: values")
    if not columns:
        return ()
    held = pools(target)
    results = [(*disclosures(target, c, held), *backgrounds(target, c, held)) for c in columns]
    return tuple(result for each in results for result in each)


def _on_groups(
    target: Target, table: Table, shown: Table, buckets: Table, watch: Watch
) -> tuple[AttackResult, ...]:
    """What groups tell about sensitive values that stand apart from exact rows."""
    watch("attack: definetti")
    return tuple(
        among_groups(target, shown.column("group"), buckets, column, table.column(column.name))
        for column in target.data.sensitive
        if column.name in buckets.names
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
        left_out = "0" if "plain" in privacy else str(said["max_suppression"])
        grouper = recipe.grouper(privacy["k"], dict(said.get("options") or {}), left_out)
        size = "k-factor" if isinstance(grouper, NonHomogeneous) else models.KAnonymity.name
        promised = models.from_policy(privacy, sensitive, size, diverse=recipe.diverse)
        partition = hidden(data, grouper, promised, privacy["k"], unwatched)
        if isinstance(partition, JoinPartition):
            return None, RERUN_OF_A_JOIN
        if isinstance(partition, Partition) and not np.array_equal(partition.kept, kept):
            return None, RERUN_OF_OTHERS
        if isinstance(partition, Partition):
            partition, data = partition.of_kept(), data_of_kept(data, kept)
        regions = generalize(data, partition)
    except (IncrowdError, TypeError, KeyError) as problem:
        reason = str(problem) if isinstance(problem, IncrowdError) else "its manifest does not say how"
        return None, f"rerun was not tried, since the method cannot be run again: {reason}"
    return read_published(table_of(data, regions), data), ""


def _privacy(claims: Sequence[Claim]) -> dict[str, Any]:
    """The promise in the words of a policy."""
    words: dict[str, Any] = {"k": k_of(claims)}
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
    columns = claim.parameters["columns"]
    weights = dict(columns) if isinstance(columns, Mapping) else {}
    words = {**claim.parameters, "rescale": claim.parameters["rescale"] == "yes"}
    return {**words, "columns": list(weights), "weights": weights}
