"""Attacking what is already written: our releases, and tables that any tool wrote."""

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
from incrowd.attack.values import fewest_values
from incrowd.audit import links_of
from incrowd.contracts import silent
from incrowd.encode import encode
from incrowd.errors import IncrowdError, InputError, TableError, unknown
from incrowd.flow import Microdata, Sensitive, Table, TextColumn
from incrowd.generalize import generalize
from incrowd.graph import Components, Graph, chances, components, consistency, levels
from incrowd.measure import Published
from incrowd.measure import published as read_published
from incrowd.methods import method
from incrowd.pipeline import Watch, unwatched
from incrowd.policy import Policy
from incrowd.profile.table import WELL_KNOWN_MISSING
from incrowd.readback import read_release, read_sensitive
from incrowd.reading import infer_kind, offsets, read_texts
from incrowd.rejudge import check_is_release, claims_said, groups_said, manifest_of, schema_of
from incrowd.release import cell_texts
from incrowd.schema import Claim, Column, Kind, Role, Schema
from incrowd.stage import audit_folder

Ints = NDArray[np.int64]

KINDS_OF_L = {
    "distinct-l-diversity": "distinct",
    "entropy-l-diversity": "entropy",
    "recursive-l-diversity": "recursive",
    "frequency-l-diversity": "frequency",
}

RERUN_OF_EXACT_ROWS = "rerun was not tried: rows are published as they are, and groups were drawn by chance"


# ---- attacking a release of ours


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
        promised = models.from_policy(privacy, sensitive)
        grouper = method(str(said["name"])).grouper(privacy["k"], dict(said.get("options") or {}))
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


# ---- auditing a table that any tool wrote


@dataclass(frozen=True)
class Audit:
    """What a published table protects. Counts are of persons and of rows; ``below`` only if k was asked."""

    records: int
    rows: int
    columns: tuple[str, ...]
    guessed: bool
    classes: Mapping[str, int]
    k: int | None
    below: Mapping[str, int]
    one_match: int
    level: Mapping[str, Any]
    posterior: Mapping[str, Any]
    values: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Has everybody, and every row, k matches that nobody can rule out?"""
        return self.k is None or min(self.classes["global_1k"], self.classes["global_k1"]) >= self.k

    def as_dict(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "rows": self.rows,
            "suppressed": self.records - self.rows,
            "columns": list(self.columns),
            "columns_guessed": self.guessed,
            "classes": dict(self.classes),
            "k": self.k,
            "holds": self.holds,
            "below_k": dict(self.below),
            "persons_with_one_match": self.one_match,
            "level": dict(self.level),
            "largest_posterior": dict(self.posterior),
            "fewest_values": dict(self.values),
            "notes": list(self.notes),
        }


def audit_table(
    original: Path,
    published: Path,
    policy: Policy | None = None,
    k: int | None = None,
    quasi: Sequence[str] = (),
    watch: Watch = unwatched,
) -> Audit:
    """What a published table protects, whoever wrote it.

    Parameters
    ----------
    original, published : path
        Tables in files; the published one may also be a release folder.
    policy : Policy, optional
        Roles, kinds and hierarchies. Without one, `quasi` or else all columns that both tables have are what
        outsiders know, and their kinds are guessed.
    k : int, optional
        Count who has fewer matches than this.
    """
    if k is not None and k < 1:
        raise InputError("k must be a whole number of at least 1")
    if policy is not None and quasi:
        raise InputError("quasi-identifiers are named in the policy, or with --qi, not both")
    watch("read")
    table = tables.read(original)
    schema, shown = _both(table, published, policy, quasi)
    data = encode(table, schema)
    watch("match")
    graph = consistency(read_published(shown, data), data)
    found = components(graph)
    watch("level")
    level, classes, notes = levels(graph, found)
    likely = chances(graph, found, progress=watch("probabilities"))
    matches = found.matches().records[graph.record_of]
    if policy is None and not published.is_dir():
        notes = (
            *notes,
            "kinds of columns were guessed; labels of hierarchies can be read with a policy only",
        )
    if likely.open:
        notes = (*notes, f"the probabilities of {likely.open} persons could not be sampled in time")
    apart = groups_said(published) if published.is_dir() else None
    if apart is not None:
        notes = (*notes, apart.note)
    return Audit(
        records=len(table),
        rows=len(shown),
        columns=tuple(a.name for a in data.attributes),
        guessed=policy is None and not quasi and not published.is_dir(),
        classes=classes,
        k=k,
        below={} if k is None else _below(graph, found, k),
        one_match=int((matches == 1).sum()),
        level=level,
        posterior={} if likely.worst is None else likely.worst.as_dict(),
        values=fewest_values(graph, found, shown, [c.name for c in schema.having(Role.SENSITIVE)])
        if apart is None
        else apart.fewest,
        notes=notes,
    )


def _both(table: Table, published: Path, policy: Policy | None, quasi: Sequence[str]) -> tuple[Schema, Table]:
    """What the columns are, and the published rows as cells."""
    if published.is_dir():
        check_is_release(published)
        schema = schema_of(published, table, policy)
        return _narrowed(schema, quasi), read_release(published, schema)
    shown = tables.read(published, lists=True)
    schema = policy.schema(table) if policy is not None else _guessed(table, shown, quasi)
    gaps = schema.missing - {""}
    columns = tuple(
        TextColumn(c.codes, tuple(None if text in gaps else text for text in c.texts)) for c in shown.columns
    )
    return schema, Table(shown.names, columns)


def _narrowed(schema: Schema, quasi: Sequence[str]) -> Schema:
    """Only some of the quasi-identifiers of a release: what another outsider may know."""
    if not quasi:
        return schema
    names = [column.name for column in schema.having(Role.QUASI)]
    strange = [name for name in quasi if name not in names]
    if strange:
        raise InputError(unknown("a quasi-identifier of the release", strange, names))
    kept = tuple(c for c in schema.columns if c.role is not Role.QUASI or c.name in quasi)
    return Schema(kept, schema.missing)


def _guessed(table: Table, shown: Table, quasi: Sequence[str]) -> Schema:
    """The columns that were named, or else that both tables have, with kinds as `inspect` guesses them."""
    for where, there in (("in the original", table), ("in the published table", shown)):
        absent = [name for name in quasi if name not in there.names]
        if absent:
            raise TableError(unknown(where, absent, there.names))
    names = list(quasi) or [name for name in table.names if name in shown.names]
    if not names:
        raise TableError("the two tables have no column in common; name the columns alike, or pass a policy")
    used = {text for name in names for text in table.column(name).texts if text is not None}
    missing = frozenset({"", *used.intersection(WELL_KNOWN_MISSING)})
    columns = [Column(name, Role.QUASI, infer_kind(_real(table.column(name), missing))) for name in names]
    return Schema(tuple(columns), missing)


def _real(column: TextColumn, missing: frozenset[str]) -> list[str]:
    return [text for text in column.texts if text is not None and text not in missing]


def _below(graph: Graph, found: Components, k: int) -> dict[str, int]:
    degrees = graph.degrees()
    persons, rows = found.exposed(k)
    return {
        "persons_by_degree": int((degrees.records[graph.record_of] < k).sum()),
        "rows_by_degree": int((degrees.rows[graph.row_of] < k).sum()),
        "persons_by_matches": persons.size,
        "rows_by_matches": rows.size,
    }
