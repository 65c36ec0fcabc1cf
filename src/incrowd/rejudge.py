"""Judging and measuring what is already written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from incrowd import tables
from incrowd.audit import links_of, schema_from_dict
from incrowd.encode import encode
from incrowd.errors import InputError, NotVerified, TableError
from incrowd.flow import Table
from incrowd.graph import components, consistency, levels
from incrowd.measure import measure_all, per_attribute
from incrowd.measure import published as read_published
from incrowd.methods import asked_of
from incrowd.pipeline import TableRows, Watch, original_rows, read_release, unwatched
from incrowd.policy import Policy
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
        hint=links_of(audit_folder(folder.resolve()), len(table)),
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
    return measured | {"anonymity": reached, "match_probability": odds, "notes": list(notes)}


def _k_said(folder: Path) -> int:
    sizes = [claim.parameters["k"] for claim in claims_said(folder) if "k" in claim.parameters]
    if len(sizes) != 1 or not isinstance(sizes[0], int):
        raise InputError(f"{folder / MANIFEST} does not say for which k the release was made")
    return sizes[0]
