"""`report`: one page about a release, from the published files alone or with the original."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.algorithms.base import all_methods
from incrowd.attacks.registry import Outcome
from incrowd.commands.attack import attack
from incrowd.commands.measure import measure
from incrowd.commands.verify import verify
from incrowd.contracts import catalogue
from incrowd.errors import IncrowdError, InputError, NotVerified, option
from incrowd.long_work import Watch, unwatched
from incrowd.measures.bounds import QUICK, check_effort
from incrowd.policy import Policy
from incrowd.policy.exposures import EVERY, EXPOSURES
from incrowd.release.audit import policy_digest
from incrowd.release.folder import JOINED, ReleaseFolder
from incrowd.reports import released
from incrowd.reports.assessment import assessment_parts, assessment_text
from incrowd.reports.cell_words import typical_cell
from incrowd.reports.datasheet import meaning, not_promised, questions
from incrowd.reports.examples import RecordSearch, examples_with_records, published_examples
from incrowd.reports.page import render
from incrowd.reports.spread import before_and_after
from incrowd.results import Result, Row
from incrowd.schema import MANIFEST, Claim, Role, Source

DATA = (
    *("data.csv", "data.parquet", "sensitive.csv", "sensitive.parquet"),
    *("hierarchies.csv", "totals.csv", "README.md"),
)
PART = re.compile(r"data/part-[0-9]{5,9}\.parquet")  # one of several files of rows


@dataclass(frozen=True, eq=False, repr=False)
class Report(Result):
    """A report as facts, and as a page."""

    facts: Mapping[str, Any]

    @property
    def private(self) -> bool:
        return bool(self.facts["private"])

    @property
    def sound(self) -> bool:
        """Are the files those of the manifest, accepted by the verifier, and is no promise broken?"""
        facts = self.facts
        counted = [said["counted"]["agrees"] for said in facts["claims"] if said["counted"]]
        same = [file["agrees"] for file in facts["files"]]
        verified = [facts["verdict"]["passed"]] if self.private else []
        return all([*counted, *same, *verified]) and self.attacks != Outcome.BROKEN

    @property
    def attacks(self) -> str:
        """How the attacks ended: held, broken or inconclusive; empty if none was run."""
        return str(self.facts["attacks"]["outcome"]) if self.facts.get("attacks") else ""

    def headline(self) -> str:
        kind = "private page" if self.private else "page for readers"
        attacks = f"; attacks {outcome}" if (outcome := self.attacks) else ""
        return f"{kind} about {self.facts['name']}, {'sound' if self.sound else 'NOT SOUND'}{attacks}"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        return ("promise", "meaning"), ((said["model"], said["means"]) for said in self.facts["claims"])

    def html(self) -> str:
        """One page that needs nothing else."""
        return render(self.facts)

    def assessment(self) -> str:
        """Paragraphs for a data protection impact assessment, as Markdown; only of a private report."""
        if not self.private:
            need = "an impact assessment needs what is measured on the original"
            raise InputError(f"{need}; pass it with {option('original')}")
        return assessment_text(self.facts)

    def to_dict(self) -> dict[str, Any]:
        return dict(self.facts)


def report(
    release: object,
    original: object = None,
    policy: object = None,
    *,
    public: object = None,
    check: object = None,
    attacks: bool = True,
    bound: str = QUICK,
    watch: Watch = unwatched,
) -> Report:
    """Gather what there is to say about a release, as one page.

    Without `original` nothing is opened but the folder, so nothing can be told that is not published. With it
    the report is private: it adds the information loss, the verifier's verdict and what adversaries get.

    Parameters
    ----------
    release : path or ReleaseFolder
        The folder of the release.
    original : path or frame
        The table that it was made from; makes the page for the publisher, which is private.
    policy : Policy, dict or path, optional
        Roles and hierarchies for the private page, where no audit is beside the release.
    public, check : path or frame, optional
        The public table that was joined and its second source.
    attacks : bool
        Run every attack, too, which takes the longest.
    bound : str
        How hard to look for the least possible information loss, as of `measure`; of a private report alone.
    """
    check_effort(bound)
    private = original is not None
    if not private and any(each is not None for each in (policy, public, check)):
        raise InputError(
            f"a report for readers is made from the release alone; pass {option('original')} as well"
        )
    folder = ReleaseFolder.open(release, original, Policy.of(policy), public, check)
    watch("read")
    try:
        facts = _published(folder)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise InputError(
            f"{folder.path / MANIFEST} and the data beside it cannot be read as a release"
        ) from None
    if private:
        facts |= _private(folder, facts["columns"], attacks, bound, watch)
        facts["assessment"] = assessment_parts(facts)
    return Report(facts)


def _published(folder: ReleaseFolder) -> dict[str, Any]:
    _ = folder.published_schema  # says no to a format that this program does not know
    manifest, rows = folder.manifest, folder.rows
    if len(rows) != manifest["rows"]["published"]:
        raise InputError(f"{folder.path / MANIFEST} does not state how many rows there are beside it")
    quasi = [str(said["name"]) for said in manifest["columns"] if said["role"] == Role.QUASI]
    columns = released.columns_of(manifest, rows)
    labels, sizes = released.classes_of(quasi, rows)
    overlapping = "match_probability" in manifest
    for column in columns:
        if column["role"] == Role.SENSITIVE and not column["apart"] and not overlapping:
            column["by_class"] = released.values_by_class(labels, sizes, rows.column(column["name"]))
    buckets = folder.bucket_counts
    fewest = {
        column["name"]: column["by_class"]["fewest_values"] for column in columns if "by_class" in column
    }
    values = fewest if buckets is None else buckets.fewest
    return {
        "private": False,
        "name": folder.path.resolve().name,
        "tool": str(manifest["tool"]),
        "rows": dict(manifest["rows"]),
        "columns": columns,
        "examples": published_examples(columns, released.widths_of(manifest, rows), rows),
        "losses": _widths_by_column(columns),
        "claims": _claims(folder, int(sizes.min()) if sizes.size else 0, values),
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
            with (folder / name).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        sha256, agrees = str(about["sha256"]), digest == about["sha256"]
        found.append({"name": str(name), "bytes": about["bytes"], "sha256": sha256, "agrees": agrees})
    return found


def _private(
    folder: ReleaseFolder, columns: Sequence[Mapping[str, Any]], attacks: bool, bound: str, watch: Watch
) -> dict[str, Any]:
    verdict = _verdict(folder, watch)
    source = folder.source
    return {
        "private": True,
        "original": type(source).__name__ if (given := Source.of(source)) is None else given.name,
        "verdict": verdict,
        "made": {"written": date.today().isoformat(), "policy_sha256": _policy_digest(folder)},
        "left_out": verdict["facts"].get("suppressed"),
        "measures": {name: part.about.meaning for name, part in catalogue("measure").items()},
        **_measured(folder, bound, watch),
        **(_examples(folder, columns) if verdict["passed"] else {}),
        **_attacks(folder, attacks, watch),
    }


def _policy_digest(folder: ReleaseFolder) -> str:
    """What the policy hashes to: the one that is given, or the one that the audit knows."""
    return folder.audited.digest if folder.policy is None else policy_digest(folder.policy)


def _verdict(folder: ReleaseFolder, watch: Watch) -> dict[str, Any]:
    """What the verifier says; what it cannot even read it refuses."""
    try:
        return verify(folder, watch=watch).to_dict()
    except NotVerified as refused:
        return {"passed": False, "required": [], "checks": [], "facts": {}, "why": str(refused)}


def _measured(folder: ReleaseFolder, bound: str, watch: Watch) -> dict[str, Any]:
    """What was lost. Of what is no release of this table nothing can be measured, and the verdict says so."""
    try:
        measured = measure(folder, bound=bound, watch=watch).to_dict()
        return {
            "measured": measured,
            "distributions": _distributions(folder),
            "losses": _losses(folder, measured),
            "measured_why_not": "",
        }
    except IncrowdError as problem:
        return {"measured": None, "distributions": {}, "measured_why_not": str(problem)}


def _losses(folder: ReleaseFolder, measured: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each quasi-identifier lost, most first; what a typical cell looks like; can it be asked about?"""
    usable = {name: bool(said["usable"]) for name, said in measured["two_way"]["columns"].items()}
    widths, found = released.widths_of(folder.manifest, folder.rows), []
    for cells, attribute in zip(folder.shown.cells, folder.data.attributes, strict=True):
        name, tree = attribute.name, attribute.tree is not None
        about = {"shape": str(attribute.shape), "kind": str(attribute.kind), "values": len(attribute)}
        known = [1.0 if count == len(attribute) else count / len(attribute) for count in cells.count.tolist()]
        typical = typical_cell(
            folder.rows.column(name), about, known[:-1] if tree else widths[name], cells.count.tolist()
        )
        lost = measured["columns"][name]["gcp"]
        found.append({"name": name, "loss": lost, "typical": typical, "usable": usable.get(name)})
    return sorted(found, key=lambda column: -column["loss"])


def _examples(folder: ReleaseFolder, columns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Records beside their rows; where it cannot be told whose row one is, rows alone stay."""
    joined = folder.public is not None
    links, mine = (folder.people_behind_rows, folder.own_rows) if joined else (folder.links, None)
    if links is not None and links.size != len(folder.rows):
        links = None
    if joined and (links is None or mine is None):
        return {}
    private = [column["name"] for column in columns if "cells" not in column and not column["apart"]]
    search = RecordSearch(folder.original, folder.data, folder.rows, folder.shown, private, links)
    found = examples_with_records(columns, search, None if mine is None else np.flatnonzero(mine))
    return {"examples": found} if found else {}


def _attacks(folder: ReleaseFolder, wanted: bool, watch: Watch) -> dict[str, Any]:
    if not wanted:
        return {"attacks": None, "attacks_why_not": "they were not asked for"}
    try:
        return {"attacks": attack(folder, watch=watch).to_dict(), "attacks_why_not": ""}
    except IncrowdError as problem:
        return {"attacks": None, "attacks_why_not": str(problem)}


def _distributions(folder: ReleaseFolder) -> dict[str, Any]:
    """Before and after, for each quasi-identifier; where two tables are joined, of the private one alone."""
    data, shown, own = folder.data, folder.shown, len(folder.original)
    if folder.public is not None and folder.own_rows is not None and folder.own_rows.size == len(shown):
        shown = shown.taken(folder.own_rows)
    return {
        attribute.name: before_and_after(attribute, data.codes[:own, j], shown, j)
        for j, attribute in enumerate(data.attributes)
    }
