"""The facts of a report, one kind after the other: what is published, the verdict, losses, attacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from incrowd.algorithms.base import all_methods
from incrowd.commands.attack import attack
from incrowd.commands.report_rows import ReportedRows
from incrowd.commands.verify import verify
from incrowd.contracts import catalogue
from incrowd.errors import IncrowdError, InputError, NotVerified
from incrowd.long_work import Watch
from incrowd.measures import Published
from incrowd.policy.exposures import EVERY, EXPOSURES
from incrowd.release.audit import policy_digest
from incrowd.release.folder import JOINED, ReleaseFolder
from incrowd.reports import released
from incrowd.reports.cell_words import typical_cell
from incrowd.reports.datasheet import meaning, not_promised, questions
from incrowd.reports.examples import published_examples
from incrowd.schema import MANIFEST, Claim, Role, Source
from incrowd.tables.checked_files import sha256_of

DATA = (
    *("data.csv", "data.parquet", "sensitive.csv", "sensitive.parquet"),
    *("hierarchies.csv", "totals.csv", "README.md"),
)
PART = re.compile(r"data/part-[0-9]{5,9}\.parquet")  # one of several files of rows


def published_facts(folder: ReleaseFolder, opened: Callable[[ReleaseFolder], ReportedRows]) -> dict[str, Any]:
    """What there is to say of a release from its published files alone."""
    _ = folder.published_schema  # says no to a format that this program does not know
    try:
        return _published(folder, opened(folder))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise InputError(
            f"{folder.path / MANIFEST} and the data beside it cannot be read as a release"
        ) from None


def _published(folder: ReleaseFolder, rows: ReportedRows) -> dict[str, Any]:
    manifest = folder.manifest
    if len(rows) != manifest["rows"]["published"]:
        raise InputError(f"{folder.path / MANIFEST} does not state how many rows there are beside it")
    quasi = [str(said["name"]) for said in manifest["columns"] if said["role"] == Role.QUASI]
    columns = released.columns_of(manifest, rows)
    sizes = rows.sizes(quasi)
    overlapping = "match_probability" in manifest
    for column in columns:
        if column["role"] == Role.SENSITIVE and not column["apart"] and not overlapping:
            column["by_class"] = rows.values_by_class(quasi, column["name"])
    buckets = folder.bucket_counts
    fewest = {
        column["name"]: column["by_class"]["fewest_values"] for column in columns if "by_class" in column
    }
    values = fewest if buckets is None else buckets.fewest
    some = rows.examples()
    return {
        "private": False,
        "name": folder.path.resolve().name,
        "tool": str(manifest["tool"]),
        "rows": dict(manifest["rows"]),
        "columns": columns,
        "examples": published_examples(columns, released.widths_of(manifest, some), some),
        "losses": _widths_by_column(columns),
        "claims": _claims(folder, sizes.smallest, values),
        "not_promised": not_promised(manifest),
        "classes": released.size_facts(sizes),
        "match_probability": manifest.get("match_probability"),
        "groups": None if buckets is None else buckets.to_dict(),
        "public_table": manifest.get("public"),
        "method": _method(manifest["method"]),
        "accepted": _accepted(manifest["accepted"]),
        "questions": questions(manifest),
        "files": _files(folder.path, manifest["files"]),
    }


def _widths_by_column(columns: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How wide cells of each quasi-identifier are, the widest first; what cannot be seen is last."""
    found = [
        {"name": column["name"], "loss": cells["mean_width"], "typical": cells["typical"]}
        for column in columns
        if (cells := column.get("cells"))
    ]
    return sorted(found, key=lambda column: (column["loss"] is None, -(column["loss"] or 0)))


def _claims(folder: ReleaseFolder, smallest: int, fewest: Mapping[str, int]) -> list[dict[str, Any]]:
    return [
        {
            **claim.to_dict(),
            "means": meaning(claim.model, claim.parameters, claim.column),
            "counted": _counted(claim, smallest, fewest),
        }
        for claim in folder.claims
    ]


def _counted(claim: Claim, smallest: int, fewest: Mapping[str, int]) -> dict[str, Any] | None:
    """What anybody can count again without the original: rows of classes, and values in them."""
    if claim.model in ("k-anonymity", JOINED):
        return {"found": smallest, "agrees": smallest >= int(str(claim.parameters["k"])), "of": "rows"}
    if claim.model == "distinct-l-diversity" and claim.column in fewest:
        found = fewest[claim.column]
        return {"found": found, "agrees": found >= int(str(claim.parameters["l"])), "of": "different values"}
    return None


def _method(said: Mapping[str, Any]) -> dict[str, Any]:
    """What the manifest says of the method, and what the catalogue adds."""
    known = all_methods().get(str(said["name"]))
    about = {} if known is None else {key: known.to_dict()[key] for key in ("section", "publishes", "behind")}
    return {
        "name": str(said["name"]),
        "paper": str(said["paper"]),
        "form": str(said["form"]),
        "options": dict(said["options"]),
        **about,
    }


def _accepted(names: list[str]) -> list[dict[str, str]]:
    known = {exposure.name: exposure.meaning for exposure in EXPOSURES}
    known[EVERY] = "whatever is known to expose people was accepted, for research"
    return [{"name": str(name), "meaning": known.get(str(name), "")} for name in names]


def _files(folder: Path, said: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Are the files those that the manifest names? Names that no release has are not opened."""
    found = []
    for name, about in said.items():
        digest = ""
        if (name in DATA or PART.fullmatch(name)) and (folder / name).is_file():
            digest = sha256_of(folder / name)
        sha256, agrees = str(about["sha256"]), digest == about["sha256"]
        found.append({"name": str(name), "bytes": about["bytes"], "sha256": sha256, "agrees": agrees})
    return found


def made_from(folder: ReleaseFolder, verdict: dict[str, Any]) -> dict[str, Any]:
    """What a private page says of the original before anything is measured."""
    source = folder.source
    return {
        "private": True,
        "original": type(source).__name__ if (given := Source.of(source)) is None else given.name,
        "verdict": verdict,
        "made": {"written": date.today().isoformat(), "policy_sha256": _policy_digest(folder)},
        "left_out": verdict["facts"].get("suppressed"),
        "measures": {name: part.about.meaning for name, part in catalogue("measure").items()},
    }


def _policy_digest(folder: ReleaseFolder) -> str:
    """What the policy hashes to: the one that is given, or the one that the audit knows."""
    return folder.audited.digest if folder.policy is None else policy_digest(folder.policy)


def verdict_on(folder: ReleaseFolder, watch: Watch, **engine: Any) -> dict[str, Any]:
    """What the verifier says; what it cannot even read it refuses."""
    try:
        return verify(folder, **engine, watch=watch).to_dict()
    except NotVerified as refused:
        return {"passed": False, "required": [], "checks": [], "facts": {}, "why": str(refused)}


def losses_of(
    manifest: Mapping[str, Any],
    rows: released.PublishedColumns,
    shown: Published,
    measured: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """What each quasi-identifier lost, most first; what a typical cell looks like; can it be asked about?"""
    usable = {name: bool(said["usable"]) for name, said in measured["two_way"]["columns"].items()}
    widths, found = released.widths_of(manifest, rows), []
    for cells, attribute in zip(shown.cells, shown.attributes, strict=True):
        name, tree = attribute.name, attribute.tree is not None
        about = {"shape": str(attribute.shape), "kind": str(attribute.kind), "values": len(attribute)}
        known = [1.0 if count == len(attribute) else count / len(attribute) for count in cells.count.tolist()]
        typical = typical_cell(
            rows.column(name), about, known[:-1] if tree else widths[name], cells.count.tolist()
        )
        lost = measured["columns"][name]["gcp"]
        found.append({"name": name, "loss": lost, "typical": typical, "usable": usable.get(name)})
    return sorted(found, key=lambda column: -column["loss"])


def attacks_on(
    folder: ReleaseFolder, wanted: bool, watch: Watch, memory: str | int | None = None
) -> dict[str, Any]:
    if not wanted:
        return {"attacks": None, "attacks_why_not": "they were not asked for"}
    try:
        return {"attacks": attack(folder, memory=memory, watch=watch).to_dict(), "attacks_why_not": ""}
    except IncrowdError as problem:
        return {"attacks": None, "attacks_why_not": str(problem)}
