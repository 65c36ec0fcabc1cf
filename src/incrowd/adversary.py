"""Attacking a release that is already written: every adversary, and what each gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd import models, tables
from incrowd.attack import (
    ATTACKS,
    AttackResult,
    Target,
    Values,
    among_groups,
    codes_of_texts,
    corruption,
    disclosures,
    known_counts,
    pools,
    probability,
    rerun,
    rows,
    values_of,
)
from incrowd.audit import links_of
from incrowd.contracts import Crowder, silent
from incrowd.encode import encode
from incrowd.errors import IncrowdError, InputError
from incrowd.flow import Microdata, Sensitive, Table, TextColumn
from incrowd.generalize import generalize
from incrowd.measure import Published
from incrowd.measure import published as read_published
from incrowd.methods import method
from incrowd.pipeline import Watch, unwatched
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


def attack_release(folder: Path, original: Path, policy: Policy | None, watch: Watch = unwatched) -> Attacked:
    """Run every attack on a release folder.

    Roles and hierarchies come from the policy or from the audit beside the release; what was promised, and
    the method, from its manifest. Who is behind which row comes from the audit, where it was kept; else
    from private values that only one record and one row have.
    """
    check_is_release(folder)
    watch("read")
    table = tables.read(original)
    schema = schema_of(folder, table, policy)
    claims, said = claims_said(folder), _method_said(folder)
    shown = read_release(folder, schema)
    data = encode(table, schema)
    truth, source = _truth(folder, table, shown, schema)
    target = Target(read_published(shown, data), data, truth, _k_of(claims))
    apart = groups_said(folder)
    remade, note = _remade(data, claims, said) if apart is None else (None, RERUN_OF_EXACT_ROWS)
    results = _every_attack(target, remade, watch)
    if apart is None:
        results += _on_values(target, _sensitive_values(table, shown, data, schema, claims), watch)
    else:
        results += _on_groups(target, table, shown, read_sensitive(folder), watch)
    notes = (*([note] if note else []), *([] if apart is None else [apart.note]))
    return Attacked(
        len(table), len(shown), target.k, str(said["name"]), source, target.known.size, results, notes
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
    return said


def _k_of(claims: Sequence[Claim]) -> int | None:
    """What was promised about rows; groups of sensitive values apart from them say nothing about rows."""
    claims = [claim for claim in claims if claim.model != models.SensitiveGroups.name]
    sizes = [size for claim in claims if isinstance(size := claim.parameters.get("k"), int)]
    return min(sizes) if sizes and min(sizes) >= 1 else None


def _truth(folder: Path, table: Table, shown: Table, schema: Schema) -> tuple[Ints, str]:
    """The row of each record, and how it is known."""
    truth = np.full(len(table), -1, dtype=np.int64)
    links = links_of(audit_folder(folder.resolve()), len(table)) if len(shown) == len(table) else None
    if links is not None:
        truth[links] = np.arange(links.size)
        return truth, "the links in the audit"
    names = [c.name for c in schema.having(Role.SENSITIVE, Role.KEEP) if c.name in shown.names]
    if not names:
        return truth, "nothing: no private column is published, so only candidates are counted"
    record, row = _alone(table, shown, names)
    truth[record] = row
    return truth, "private values that only one record and one row have"


def _alone(table: Table, shown: Table, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Records and rows whose private part nobody else has, in the same order."""
    columns = [_joint_codes(table.column(name), shown.column(name)) for name in names]
    of = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    mine, theirs = of[: len(table)], of[len(table) :]
    size = int(of.max(initial=-1)) + 1
    once = (np.bincount(mine, minlength=size) == 1) & (np.bincount(theirs, minlength=size) == 1)
    records, rows = np.flatnonzero(once[mine]), np.flatnonzero(once[theirs])
    return records[np.argsort(mine[records])], rows[np.argsort(theirs[rows])]


def _joint_codes(mine: TextColumn, theirs: TextColumn) -> Ints:
    """Both columns numbered alike, one after the other; an empty cell is a gap."""
    number: dict[str, int] = {}
    codes = [
        np.array([number.setdefault(text or "", len(number)) for text in column.texts], dtype=np.int64)
        for column in (mine, theirs)
    ]
    return np.concatenate([codes[0][mine.codes], codes[1][theirs.codes]])


def _remade(
    data: Microdata, claims: Sequence[Claim], said: Mapping[str, Any]
) -> tuple[Published | None, str]:
    """What the release's method makes of the original, row i for record i; or why that is not known."""
    try:
        privacy = _privacy(claims)
        sensitive = list(dict.fromkeys(claim.column for claim in claims if claim.column))
        recipe = method(str(said["name"]))
        grouper = recipe.grouper(privacy["k"], dict(said.get("options") or {}))
        size = "k-factor" if isinstance(grouper, Crowder) else models.KAnonymity.name
        promised = models.from_policy(privacy, sensitive, size, diverse=recipe.diverse)
        guards = tuple(guard for model in promised for guard in model.guards(data))
        regions = generalize(data, grouper.group(data, guards, silent))
    except (IncrowdError, TypeError, KeyError) as problem:
        reason = str(problem) if isinstance(problem, IncrowdError) else "its manifest does not say how"
        return None, f"rerun was not tried, since the method cannot be run again: {reason}"
    columns = [
        TextColumn(regions.cell[regions.of, j], cell_texts(attribute, regions.cells[j]))
        for j, attribute in enumerate(data.attributes)
    ]
    return read_published(Table(tuple(a.name for a in data.attributes), tuple(columns)), data), ""


def _privacy(claims: Sequence[Claim]) -> dict[str, Any]:
    """The promise in the words of a policy."""
    words: dict[str, Any] = {"k": _k_of(claims)}
    for claim in claims:
        if claim.model in KINDS_OF_L:
            words |= {"l_kind": KINDS_OF_L[claim.model], "l": claim.parameters["l"]}
            words |= {"c": claim.parameters["c"]} if "c" in claim.parameters else {}
        if claim.model == "t-closeness":
            words |= {"t": claim.parameters["t"], "t_distance": claim.parameters.get("distance")}
    return words
