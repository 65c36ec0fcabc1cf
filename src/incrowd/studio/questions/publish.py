"""Questions of the screen Publish: what is promised, what no longer fits, and what a release is like."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.algorithms.base import check_feasible
from incrowd.commands.inspect import KnownColumns
from incrowd.commands.inspect.preview import previewed
from incrowd.encode import encode
from incrowd.errors import Exposure, HierarchyError, IncrowdError, Infeasible, InputError, TableError
from incrowd.measures import per_attribute
from incrowd.measures.published import ClassSizes
from incrowd.policy import Policy
from incrowd.policy.columns import check_exact_columns
from incrowd.policy.exposures import EXPOSURES, check_names
from incrowd.publishing.request import requested
from incrowd.release.audit import AUDIT, policy_digest
from incrowd.release.folder import ReleaseFolder
from incrowd.reports import released
from incrowd.reports.datasheet import meaning, not_promised
from incrowd.reports.examples import RecordSearch, examples_with_records
from incrowd.schema import Claim, Role
from incrowd.studio.questions.compare import shown_records
from incrowd.studio.questions.open_table import OpenTable, policy_from
from incrowd.studio.releases import as_sentence
from incrowd.values import same_name

SHOWN_BEFORE = 3  # records of a draft
SCREENS = {HierarchyError: "hierarchies", TableError: "table", Infeasible: "guarantee"}


def readiness(opened: OpenTable, text: str, folder: str) -> dict[str, Any]:
    """What the policy promises of this table, and everything that keeps it from being published.

    It is also what no longer fits after the table was replaced by another one.
    """
    policy = policy_from(text, folder)
    obstacles = list(_obstacles(opened, policy))
    promises: list[dict[str, Any]] = []
    if not obstacles:
        try:
            data = encode(opened.table, policy.schema(opened.table))
            asked = requested(policy)
            check_feasible(asked.promised, data)
            promises = [_promise(claim) for claim in asked.claims(data)]
        except IncrowdError as error:
            obstacles.append(_obstacle(error, opened))
    return {"promises": promises, "obstacles": obstacles, "left_out": policy.privacy.max_suppression}


def _obstacles(opened: OpenTable, policy: Policy) -> Iterator[dict[str, Any]]:
    """One for each column that does not fit; then what is wrong with the whole."""
    known = {same_name(name) for name in opened.table.names}
    absent = [name for name, _ in policy.roles() if name not in known]
    for name in absent:
        yield _said(f"The policy names a column {name}, which the table does not have.", "columns", name)
    unmentioned = policy.unmentioned(opened.table.names) if policy.rest is None else []
    for name in unmentioned:
        yield _said(f"The column {name} has no role.", "columns", name)
    columns = KnownColumns.of(opened.table, policy)
    for name in (*policy.quasi_identifiers, *policy.sensitive):
        if name in absent:
            continue
        try:
            columns.codes(name)
        except IncrowdError as error:
            yield {**_obstacle(error, opened), "screen": "table", "column": name}
    if absent or unmentioned:
        return
    try:
        check_names(policy.accept)
        asked = requested(policy)
        schema = policy.schema(opened.table)
        check_exact_columns(opened.table, schema, policy.accept, asked.algorithm.buckets)
    except IncrowdError as error:
        yield _obstacle(error, opened)


def _obstacle(error: IncrowdError, opened: OpenTable) -> dict[str, Any]:
    if isinstance(error, Exposure):
        said = _said(as_sentence(error.reason, opened.table.names) + ".", "columns", "")
        return {**said, "exposure": error.name}
    screen = next((screen for kind, screen in SCREENS.items() if isinstance(error, kind)), "guarantee")
    text = str(error)
    if isinstance(error, InputError) and "quasi" in text:
        screen = "columns"
    return _said(as_sentence(text, opened.table.names), screen, "")


def _said(sentence: str, screen: str, column: str) -> dict[str, Any]:
    ended = sentence if sentence.endswith(".") else f"{sentence}."
    return {"sentence": ended, "screen": screen, "column": column, "exposure": ""}


def _promise(claim: Claim) -> dict[str, Any]:
    return {
        "model": claim.model,
        "column": claim.column,
        "means": meaning(claim.model, claim.parameters, claim.column),
        "adversary": claim.adversary,
    }


def draft_records(opened: OpenTable, text: str, folder: str) -> dict[str, Any]:
    """Some records before and after: from a draft that is neither verified nor written."""
    return shown_records(previewed(opened.table, policy_from(text, folder), SHOWN_BEFORE))


def digest(_opened: OpenTable | None, text: str, folder: str) -> str:
    """What audits know a policy by, however its file is written."""
    return policy_digest(policy_from(text, folder))


# A release that is there


def release_facts(_opened: OpenTable | None, path: str, stamp: str) -> dict[str, Any]:
    """What a release and its audit say: verdict, claims, loss, what an analyst can ask. No cell is in it.

    `stamp` tells one content of the folder from another, since answers are remembered.
    """
    folder = ReleaseFolder.open(Path(path))
    manifest, audit = folder.manifest, _audit(folder.audit)
    verdict = audit.get("verdict")
    facts = verdict["facts"] if verdict else {}
    rows = manifest["rows"]
    gone = facts.get("suppressed", rows.get("suppressed"))
    return {
        "stamp": stamp,
        "method": manifest["method"]["name"],
        "rows": rows["published"],
        "left_out": gone,
        "left_out_told": rows.get("suppressed", 0) is not None,
        "verdict": verdict,
        "claims": [_claim(claim, facts.get("reached", {})) for claim in folder.claims],
        "loss": audit.get("loss"),
        "two_way": audit.get("two_way"),
        "classes": facts.get("classes"),
        "smallest": facts.get("smallest_class"),
        "odds": manifest.get("match_probability"),
        "warnings": audit.get("warnings", []),
        "suppression": audit.get("suppression"),
        "accepted": [
            {"name": each.name, "meaning": each.meaning}
            for each in EXPOSURES
            if each.accepted(manifest["accepted"])
        ],
        "not_promised": not_promised(manifest),
        "policy": audit.get("policy", {}).get("sha256", ""),
        "table": audit.get("source", {}).get("sha256", ""),
        "tool": manifest["tool"],
    }


def _audit(folder: Path) -> Mapping[str, Any]:
    """What the publisher kept; nothing where there is none, or it cannot be read."""
    try:
        said = json.loads((folder / AUDIT).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _claim(claim: Claim, reached: Mapping[str, Any]) -> dict[str, Any]:
    """A claim with what was asked for and what the verifier counted."""
    named = f"{claim.model} ({claim.column})" if claim.column else claim.model
    asked = next((claim.parameters[name] for name in ("k", "l", "t") if name in claim.parameters), None)
    return {**_promise(claim), "asked": asked, "reached": reached.get(named), "assumed": claim.assumptions}


def release_details(opened: OpenTable, path: str, stamp: str) -> dict[str, Any]:
    """Loss by column, sizes of classes, and records beside their rows; shown, and written nowhere."""
    folder = ReleaseFolder(Path(path), opened.table)
    columns = released.columns_of(folder.manifest, folder.rows)
    lost = per_attribute(folder.shown, folder.data)
    quasi = [column["name"] for column in columns if column["role"] == Role.QUASI]
    usable = _audit(folder.audit).get("two_way", {}).get("columns", {})
    overlapping = "match_probability" in folder.manifest
    return {
        "stamp": stamp,
        "losses": sorted(
            (
                {"name": name, "loss": said["gcp"], "usable": usable.get(name, {}).get("usable")}
                for name, said in lost.items()
            ),
            key=lambda each: each["loss"],
        ),
        "classes": None
        if overlapping
        else released.size_facts(ClassSizes.of(released.classes_of(quasi, folder.rows)[1])),
        "examples": _examples(folder, columns),
    }


def _examples(folder: ReleaseFolder, columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if folder.joined:
        return []
    links = folder.links
    if links is not None and links.size != len(folder.rows):
        links = None
    private = [column["name"] for column in columns if "cells" not in column and not column["apart"]]
    search = RecordSearch(folder.original, folder.data, folder.rows, folder.shown, private, links)
    return [{**one, "cells": _plain(one["cells"])} for one in examples_with_records(columns, search)]


def _plain(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: bool(said) if isinstance(said, np.bool_) else said for key, said in cell.items()}
        for cell in cells
    ]


QUESTIONS = {
    "readiness": readiness,
    "policy_digest": digest,
    "draft_records": draft_records,
    "release_facts": release_facts,
    "release_details": release_details,
}
