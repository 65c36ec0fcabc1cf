"""Judging and measuring what is already written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from incrowd import tables
from incrowd.audit import links_of, parts_of, schema_from_dict
from incrowd.encode import encode
from incrowd.errors import InputError, NotVerified, TableError
from incrowd.flow import Table
from incrowd.graph import components, consistency, levels
from incrowd.measure import measure_all, per_attribute
from incrowd.measure import published as read_published
from incrowd.methods import asked_of
from incrowd.pipeline import Watch, unwatched
from incrowd.policy import Policy
from incrowd.readback import TableRows, original_rows, read_release, read_sensitive
from incrowd.schema import MANIFEST, Claim, Schema, Verdict
from incrowd.stage import audit_folder
from incrowd.verify import verify


def verify_release(folder: Path, original: Path, policy: Policy | None, watch: Watch = unwatched) -> Verdict:
    """Judge a release folder against the table it was made from.

    With a policy, the release must claim exactly what the policy asks for. Without one, roles and
    hierarchies are taken from the audit beside the release and claims from its manifest.
    """
    check_is_release(folder)
    watch("read")
    table = tables.read(original)
    schema = schema_of(folder, table, policy)
    claims = _claims_to_hold(folder) if policy is None else _claims_asked(policy, table, schema)
    return verify(
        folder,
        original_rows(original, table),
        schema,
        claims,
        published=_parquet_rows(folder, schema),
        apart=_parquet_values(folder),
        hint=links_of(audit_folder(folder.resolve()), len(table)),
        parts=parts_of(audit_folder(folder.resolve()), len(table)),
        progress=watch("verify"),
    )


def _parquet_rows(folder: Path, schema: Schema) -> TableRows | None:
    """The rows that the judge cannot read by itself."""
    if not (folder / "data.parquet").exists():
        return None
    if (folder / "data.csv").exists():
        raise NotVerified(f"{folder} holds two data files, and a release has one")
    try:
        return TableRows(read_release(folder, schema))
    except TableError as problem:
        raise NotVerified(f"the release cannot be read, so it is not what it claims: {problem}") from None


def _parquet_values(folder: Path) -> TableRows | None:
    if not (folder / "data.parquet").exists() or not (folder / "sensitive.parquet").exists():
        return None
    try:
        return TableRows(read_sensitive(folder))
    except TableError as problem:
        raise NotVerified(f"the release cannot be read, so it is not what it claims: {problem}") from None


def schema_of(folder: Path, table: Table, policy: Policy | None) -> Schema:
    if policy is not None:
        return policy.schema(table)
    path = audit_folder(folder.resolve()) / "schema.json"
    try:
        return schema_from_dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(f"there is no audit beside {folder}; pass the policy with -p") from None
    except (OSError, ValueError, RecursionError):
        raise InputError(f"the audit beside {folder} cannot be read; pass the policy with -p") from None


def check_is_release(folder: Path) -> None:
    """What is no release at all is a wrong request; what is wrong inside one is for the judge."""
    if not folder.is_dir():
        reason = "is no folder" if folder.exists() else "does not exist"
        raise InputError(f"{folder} {reason}; a release is a folder with {MANIFEST} in it")
    if not (folder / MANIFEST).exists():
        raise InputError(f"{folder} is no release: it has no {MANIFEST}")


def manifest_of(folder: Path) -> Mapping[str, Any]:
    try:
        said = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise InputError(f"{folder / MANIFEST} cannot be read") from None
    if not isinstance(said, dict):
        raise InputError(f"{folder / MANIFEST} is no manifest")
    return said


def _claims_to_hold(folder: Path) -> tuple[Claim, ...]:
    """What a release says of itself. To say it wrongly, or nothing, is to fail."""
    try:
        claims = claims_said(folder)
    except InputError as problem:
        raise NotVerified(str(problem)) from None
    if not claims:
        raise NotVerified(f"{folder / MANIFEST} claims nothing, so there is nothing to confirm")
    return claims


def claims_said(folder: Path) -> tuple[Claim, ...]:
    try:
        return tuple(
            Claim(
                model=str(said["model"]),
                parameters=dict(said["parameters"]),
                column=str(said.get("column", "")),
                adversary=said["adversary"],
                assumptions=tuple(said["assumptions"]),
            )
            for said in manifest_of(folder)["claims"]
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"the claims in {folder / MANIFEST} cannot be read") from None


@dataclass(frozen=True)
class GroupsSaid:
    """What a release says whose sensitive values stand apart from the rows.

    ``fewest`` is for each sensitive column the fewest different values of a group, ``share`` the largest
    share that one value has in a group.
    """

    groups: int
    smallest: int
    fewest: Mapping[str, int]
    share: Mapping[str, Fraction]

    @property
    def note(self) -> str:
        most = max(self.share.values(), default=Fraction(1))
        return (
            f"sensitive values stand apart from the rows, in {self.groups:,} groups, the smallest of "
            f"{self.smallest:,}; no value has more than {most} of a group. What all groups together tell of "
            "how values go with quasi-identifiers is the attack definetti's"
        )

    def as_dict(self) -> dict[str, Any]:
        shares = {name: str(share) for name, share in self.share.items()}
        return {
            "groups": self.groups,
            "smallest": self.smallest,
            "fewest_values": dict(self.fewest),
            "largest_share": shares,
        }


def groups_said(folder: Path) -> GroupsSaid | None:
    """The groups of a release whose sensitive values stand apart; None of any other."""
    if "apart" not in manifest_of(folder):
        return None
    table = read_sensitive(folder)
    try:
        group, said = table.column("group"), table.column("count")
        counts = np.array([int(text or "") for text in said.texts], np.int64)[said.codes]
        if not counts.size or counts.min() < 1:
            raise ValueError("no counts")
    except (ValueError, OverflowError):
        raise InputError(f"the sensitive values in {folder} cannot be read") from None
    sizes = np.zeros(len(group.texts), np.int64)
    np.add.at(sizes, group.codes, counts)
    fewest, share = {}, {}
    for name in table.names[1:-1]:
        column = table.column(name)
        pairs, of = np.unique(
            group.codes.astype(np.int64) * len(column.texts) + column.codes, return_inverse=True
        )
        often = np.zeros(pairs.size, np.int64)
        np.add.at(often, of, counts)
        owner = pairs // len(column.texts)
        fewest[name] = int(np.bincount(owner).min())
        most = np.argmax(often / sizes[owner])
        share[name] = Fraction(int(often[most]), int(sizes[owner[most]]))
    return GroupsSaid(sizes.size, int(sizes.min()), fewest, share)


def _claims_asked(policy: Policy, table: Table, schema: Schema) -> tuple[Claim, ...]:
    data = encode(table, schema)
    _, _, promised = asked_of(policy)
    return tuple(claim for model in promised for claim in model.claims(data))


def measure_release(
    published: Path, original: Path, policy: Policy | None, watch: Watch = unwatched
) -> dict[str, Any]:
    """Every measure of a release, or of a table that another tool wrote in our cell syntax."""
    if published.is_dir():
        check_is_release(published)
    elif policy is None:
        raise InputError("to measure a table that is no release, pass its policy with -p")
    watch("read")
    table = tables.read(original)
    if policy is None or published.is_dir():
        schema = schema_of(published, table, policy)
        rows, k = read_release(published, schema), _k_said(published)
    else:
        schema, rows, k = policy.schema(table), tables.read(published), policy.k
    data = encode(table, schema)
    watch("measure")
    found = read_published(rows, data)
    apart = groups_said(published) if published.is_dir() else None
    sizes = found.class_sizes
    measured = {
        "rows": len(rows),
        "classes": int(sizes.size),
        "smallest_class": int(sizes.min()) if sizes.size else 0,
        "k": k,
        "loss": measure_all(found, data, k),
        "columns": per_attribute(found, data),
    }
    watch("match")
    graph = consistency(found, data)
    odds, reached, notes = levels(graph, components(graph))
    if apart is not None:
        measured["sensitive_groups"] = apart.as_dict()
        notes = (*notes, apart.note)
    return measured | {"anonymity": reached, "match_probability": odds, "notes": list(notes)}


def _k_said(folder: Path) -> int:
    sizes = [claim.parameters["k"] for claim in claims_said(folder) if "k" in claim.parameters]
    if not sizes or not isinstance(sizes[0], int) or any(size != sizes[0] for size in sizes):
        raise InputError(f"{folder / MANIFEST} does not say for which k the release was made")
    return sizes[0]
