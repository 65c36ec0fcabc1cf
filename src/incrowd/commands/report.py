"""`report`: one page about a release, from the published files alone or with the original."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from incrowd.attacks.registry import Outcome
from incrowd.commands.measure import measure
from incrowd.commands.report_facts import attacks_on, losses_of, made_from, published_facts, verdict_on
from incrowd.commands.report_rows import RowsInMemory
from incrowd.errors import IncrowdError, InputError, option
from incrowd.long_work import Watch, unwatched
from incrowd.measures.bounds import QUICK, check_effort
from incrowd.policy import Policy
from incrowd.publishing.memory_limit import engine_for_looking
from incrowd.release.folder import ReleaseFolder
from incrowd.reports.assessment import assessment_parts, assessment_text
from incrowd.reports.examples import RecordSearch, examples_with_records
from incrowd.reports.page import render
from incrowd.reports.spread import before_and_after
from incrowd.results import Result, Row


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
    engine: str = "auto",
    memory: str | int | None = None,
    threads: int | None = None,
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
    engine, memory, threads
        As of `measure`. Attacks are run in memory alone; where they do not fit, the page says so.
    """
    check_effort(bound)
    private = original is not None
    if not private and any(each is not None for each in (policy, public, check)):
        raise InputError(
            f"a report for readers is made from the release alone; pass {option('original')} as well"
        )
    folder = ReleaseFolder.open(release, original, Policy.of(policy), public, check)
    sources = [folder, folder.source, folder.public_source, folder.check_source]
    resources = engine_for_looking("report", sources, engine, memory, threads)
    watch("read")
    if resources is not None:
        from incrowd.commands.report_counted import (
            report_counted,
        )  # few releases need what is behind an engine

        return Report(report_counted(folder, resources, (attacks, memory), bound, watch))
    facts = published_facts(folder, RowsInMemory.of)
    if private:
        facts |= _private(folder, facts["columns"], attacks, bound, watch)
        facts["assessment"] = assessment_parts(facts)
    return Report(facts)


def _private(
    folder: ReleaseFolder, columns: Sequence[Mapping[str, Any]], attacks: bool, bound: str, watch: Watch
) -> dict[str, Any]:
    verdict = verdict_on(folder, watch)
    return {
        **made_from(folder, verdict),
        **_measured(folder, bound, watch),
        **(_examples(folder, columns) if verdict["passed"] else {}),
        **attacks_on(folder, attacks, watch),
    }


def _measured(folder: ReleaseFolder, bound: str, watch: Watch) -> dict[str, Any]:
    """What was lost. Of what is no release of this table nothing can be measured, and the verdict says so."""
    try:
        measured = measure(folder, bound=bound, watch=watch).to_dict()
        return {
            "measured": measured,
            "distributions": _distributions(folder),
            "losses": losses_of(folder.manifest, folder.rows, folder.shown, measured),
            "measured_why_not": "",
        }
    except IncrowdError as problem:
        return {"measured": None, "distributions": {}, "measured_why_not": str(problem)}


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


def _distributions(folder: ReleaseFolder) -> dict[str, Any]:
    """Before and after, for each quasi-identifier; where two tables are joined, of the private one alone."""
    data, shown, own = folder.data, folder.shown, len(folder.original)
    if folder.public is not None and folder.own_rows is not None and folder.own_rows.size == len(shown):
        shown = shown.taken(folder.own_rows)
    return {
        attribute.name: before_and_after(
            attribute, np.bincount(data.codes[:own, j], minlength=len(attribute)), shown, j
        )
        for j, attribute in enumerate(data.attributes)
    }
