"""The facts of a report about a written release: public ones from its files alone, private ones besides."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incrowd import tables
from incrowd.algorithms.catalogue import METHODS
from incrowd.commands.attack import attack_release
from incrowd.commands.measure import measure_release
from incrowd.commands.verify import (
    JOINED,
    check_is_release,
    claims_said,
    groups_said,
    joined_tables,
    manifest_of,
    own_rows,
    schema_of,
    verify_release,
)
from incrowd.contracts import Watch, catalogue, unwatched
from incrowd.encode import encode
from incrowd.errors import IncrowdError, InputError, NotVerified
from incrowd.flow import Table
from incrowd.join import encode_joined, join
from incrowd.measures import Published
from incrowd.measures import published as read_published
from incrowd.policy import Policy
from incrowd.policy.exposures import EVERY, EXPOSURES
from incrowd.release.readback import read_release
from incrowd.reports import released
from incrowd.reports.page import render
from incrowd.reports.spread import before_and_after
from incrowd.reports.words import meaning, not_promised, questions
from incrowd.schema import FORMAT_VERSION, MANIFEST, Claim, Column, Kind, Role, Schema, Shape

DATA = ("data.csv", "data.parquet", "sensitive.csv", "sensitive.parquet")


@dataclass(frozen=True)
class Private:
    """What the private version needs besides the release: the original, and what it was made with."""

    original: Path
    policy: Policy | None = None
    public: Path | None = None
    check: Path | None = None
    attacks: bool = True


@dataclass(frozen=True, eq=False)
class Report:
    """A report as facts, and as a page."""

    facts: Mapping[str, Any]

    @property
    def private(self) -> bool:
        return bool(self.facts["private"])

    @property
    def sound(self) -> bool:
        """Are the files those of the manifest, accepted by the judge, and is no promise broken?"""
        facts = self.facts
        counted = [said["counted"]["agrees"] for said in facts["claims"] if said["counted"]]
        same = [file["agrees"] for file in facts["files"]]
        judged = [facts["verdict"]["passed"]] if self.private else []
        attacked = [facts["attacks"]["holds"]] if facts.get("attacks") else []
        return all([*counted, *same, *judged, *attacked])

    def html(self) -> str:
        """One page that needs nothing else."""
        return render(self.facts)


def report_release(folder: Path, private: Private | None = None, watch: Watch = unwatched) -> Report:
    """Gather what there is to say about a release.

    Without `private` nothing is opened but the folder, so nothing can be told that is not published. With
    it the report adds what was lost, the judge's verdict and what adversaries get; that is not for readers.
    """
    check_is_release(folder)
    watch("read")
    try:
        facts = _public(folder)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise InputError(f"{folder / MANIFEST} and the data beside it cannot be read as a release") from None
    return Report(facts if private is None else facts | _private(folder, private, watch))


def _public(folder: Path) -> dict[str, Any]:
    manifest = _understood(folder)
    rows = read_release(folder, _schema_said(manifest))
    if len(rows) != manifest["rows"]["published"]:
        raise InputError(f"{folder / MANIFEST} does not state how many rows there are beside it")
    quasi = [str(said["name"]) for said in manifest["columns"] if said["role"] == Role.QUASI]
    columns = released.columns_of(manifest, rows)
    labels, sizes = released.classes_of(quasi, rows)
    neighbourhoods = "match_probability" in manifest
    for column in columns:
        if column["role"] == Role.SENSITIVE and not column["apart"] and not neighbourhoods:
            column["by_class"] = released.told_by_class(labels, sizes, rows.column(column["name"]))
    buckets = groups_said(folder)
    fewest = {
        column["name"]: column["by_class"]["fewest_values"] for column in columns if "by_class" in column
    }
    values = fewest if buckets is None else buckets.fewest
    return {
        "private": False,
        "name": folder.resolve().name,
        "tool": str(manifest["tool"]),
        "rows": dict(manifest["rows"]),
        "columns": columns,
        "claims": _claims(folder, int(sizes.min()) if sizes.size else 0, values),
        "not_promised": not_promised(manifest),
        "classes": released.sizes_told(sizes),
        "match_probability": manifest.get("match_probability"),
        "groups": None if buckets is None else buckets.as_dict(),
        "public_table": manifest.get("public"),
        "method": _method(manifest["method"]),
        "accepted": _accepted(manifest["accepted"]),
        "questions": questions(manifest),
        "files": _files(folder, manifest["files"]),
    }


def _schema_said(manifest: Mapping[str, Any]) -> Schema:
    """As much of the schema as the manifest tells: enough to read typed columns."""
    return Schema(
        tuple(
            Column(
                str(said["name"]),
                Role(said["role"]),
                Kind(said["kind"]),
                Shape(said["shape"]) if "shape" in said else Shape.SET,
            )
            for said in manifest["columns"]
        )
    )


def _understood(folder: Path) -> Mapping[str, Any]:
    manifest = manifest_of(folder)
    if (manifest.get("format"), manifest.get("version")) != ("incrowd-release", FORMAT_VERSION):
        raise InputError(f"{folder / MANIFEST} is of another format or version than this program knows")
    return manifest


def _claims(folder: Path, smallest: int, fewest: Mapping[str, int]) -> list[dict[str, Any]]:
    return [
        {
            **claim.as_dict(),
            "means": meaning(claim.model, claim.parameters, claim.column),
            "counted": _counted(claim, smallest, fewest),
        }
        for claim in claims_said(folder)
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
    known = METHODS.get(str(said["name"]))
    about = {} if known is None else {key: known.as_dict()[key] for key in ("section", "publishes", "behind")}
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
        there = name in DATA and (folder / name).is_file()
        digest = _digest(folder / name) if there else ""
        found.append(
            {
                "name": str(name),
                "bytes": about["bytes"],
                "sha256": str(about["sha256"]),
                "agrees": digest == about["sha256"],
            }
        )
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _private(folder: Path, private: Private, watch: Watch) -> dict[str, Any]:
    judged = _verdict(folder, private, watch)
    return {
        "private": True,
        "original": private.original.name,
        "verdict": judged,
        "left_out": judged["facts"].get("suppressed"),
        "measures": {name: part.about.meaning for name, part in catalogue("measure").items()},
        **_measured(folder, private, watch),
        **_attacks(folder, private, watch),
    }


def _verdict(folder: Path, private: Private, watch: Watch) -> dict[str, Any]:
    """What the judge says; what it cannot even read it refuses."""
    try:
        judged = verify_release(
            folder, private.original, private.policy, watch, private.public, private.check
        )
        return judged.as_dict()
    except NotVerified as refused:
        return {"passed": False, "required": [], "checks": [], "facts": {}, "why": str(refused)}


def _measured(folder: Path, private: Private, watch: Watch) -> dict[str, Any]:
    """What was lost. Of what is no release of this table nothing can be measured, and the verdict says so."""
    try:
        asked = (private.original, private.policy, watch, private.public, private.check)
        measured = measure_release(folder, *asked)
        spread = _distributions(folder, private)
        return {"measured": measured, "distributions": spread, "measured_why_not": ""}
    except IncrowdError as problem:
        return {"measured": None, "distributions": {}, "measured_why_not": str(problem)}


def _attacks(folder: Path, private: Private, watch: Watch) -> dict[str, Any]:
    if not private.attacks:
        return {"attacks": None, "attacks_why_not": "they were not asked for"}
    try:
        public = private.public if "public" in manifest_of(folder) else None
        found = attack_release(folder, private.original, private.policy, watch, public)
        return {"attacks": found.as_dict(), "attacks_why_not": ""}
    except IncrowdError as problem:
        return {"attacks": None, "attacks_why_not": str(problem)}


def _distributions(folder: Path, private: Private) -> dict[str, Any]:
    """Before and after, for each quasi-identifier; where two tables are joined, of the private one alone."""
    table = tables.read(private.original)
    joined = joined_tables(folder, private.policy, private.public, private.check)
    public = None if joined is None else joined.table
    schema = schema_of(folder, table, private.policy, public)
    rows = read_release(folder, schema)
    if joined is None:
        data = encode(table, schema)
        shown = read_published(rows, data)
    else:
        people = join(table, schema, joined.table, joined.public.id, joined.second, "microdata")
        data = encode_joined(table, schema, people)
        shown = _of_own(folder, table, read_published(rows, data))
    return {
        attribute.name: before_and_after(attribute, data.codes[: len(table), j], shown, j)
        for j, attribute in enumerate(data.attributes)
    }


def _of_own(folder: Path, table: Table, shown: Published) -> Published:
    """The rows of the private table's people, where the audit knows them; else all."""
    mine = own_rows(folder, len(table))
    if mine is None or mine.size != len(shown):
        return shown
    return Published(shown.attributes, shown.cells, tuple(column[mine] for column in shown.rows))
