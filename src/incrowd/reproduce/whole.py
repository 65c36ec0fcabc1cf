"""All papers together: every statement with its verdict on one page, as HTML, Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incrowd import __version__
from incrowd.errors import InputError
from incrowd.long_work import Progress, Watch, unwatched
from incrowd.reports import statements as page
from incrowd.reproduce.judging import Statement, summary, verdicts
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.outcome import Outcome, files_of, markdown_row
from incrowd.reproduce.papers import PAPERS, Paper, reproduce
from incrowd.reproduce.rules import Verdict

ALL = "all"
TITLE = "What five papers say, and what was found"
VERDICTS = tuple(str(verdict) for verdict in Verdict)
NOTE = "ours with their intervals of 95 %, the paper's lines dashed where numbers are printed"


@dataclass(frozen=True, slots=True)
class Whole:
    """What came of every paper, and why of some nothing did."""

    outcomes: tuple[Outcome, ...]
    not_run: Mapping[str, str]
    quick: bool

    @property
    def name(self) -> str:
        return ALL

    @property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(each for outcome in self.outcomes for each in outcome.statements)

    @property
    def about(self) -> str:
        how = "a small part that takes minutes (--quick)" if self.quick else "everything"
        return f"incrowd {__version__}, {how}."

    def to_dict(self) -> dict[str, Any]:
        return {
            "paper": ALL,
            "title": TITLE,
            "version": __version__,
            "quick": self.quick,
            "count": len(self.statements),
            "verdicts": verdicts(self.statements),
            "papers": {each.name: verdicts(each.statements) for each in self.outcomes},
            "not_run": dict(self.not_run),
            "statements": [each.to_dict() for each in self.statements],
        }

    def markdown(self) -> str:
        """One table for each paper."""
        lines = [f"# {TITLE}", "", f"{self.about} {summary(self.statements)}", ""]
        header = (
            "id",
            "section",
            "the paper says",
            "printed",
            "ours",
            "data",
            "verdict",
            "reason",
            "command",
        )
        for outcome in self.outcomes:
            lines += [f"## {outcome.title}", "", markdown_row(header), markdown_row(["---"] * len(header))]
            lines += [markdown_row(_cells(each)) for each in outcome.statements]
            lines += ["", *(f"Left out: {why}." for why in outcome.skipped), ""]
        lines += [f"{name} was not run: {why}." for name, why in self.not_run.items()]
        return "\n".join(lines).rstrip() + "\n"

    def html(self) -> str:
        every = [each.to_dict() for each in self.statements]
        papers = [_paper(outcome) for outcome in self.outcomes]
        papers += [
            {**_nothing(name), "title": PAPERS[name].title, "skipped": [why]}
            for name, why in self.not_run.items()
        ]
        facts = {
            "title": TITLE,
            "about": self.about,
            "tool": f"incrowd {__version__}",
            "total": len(every),
            "verdicts": page.counted(VERDICTS, every),
            "papers": papers,
        }
        return page.render(facts)

    def files(self) -> dict[str, str]:
        """The page in three forms, and all that belongs to a paper in a folder of its own."""
        own = {
            "index.html": self.html(),
            f"{ALL}.md": self.markdown(),
            f"{ALL}.json": json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n",
        }
        for outcome in self.outcomes:
            own |= {f"{outcome.name}/{name}": text for name, text in files_of(outcome).items()}
        return own


def _cells(each: Statement) -> tuple[str, ...]:
    found = (each.ours, each.data, each.word, each.reason, each.command)
    return (each.id, each.section, each.claimed, each.printed_words, *found)


def _paper(outcome: Outcome) -> dict[str, Any]:
    judged = [each.to_dict() for each in outcome.statements]
    return {
        "name": outcome.name,
        "title": outcome.title,
        "skipped": list(outcome.skipped),
        "verdicts": page.counted(VERDICTS, judged),
        "statements": [page.statement_row(each) for each in judged],
        "pictures": [page.picture(chart) for chart in outcome.charts.values()],
        "note": NOTE,
    }


def _nothing(name: str) -> dict[str, Any]:
    return {"name": name, "verdicts": [], "statements": [], "pictures": [], "note": ""}


Run = Callable[[str, bool, Path | None, Watch, Keeper], Outcome]


def reproduce_all(
    quick: bool = False, data: Path | None = None, watch: Watch = unwatched, kept: Keeper = NOTHING_KEPT
) -> Whole:
    """Every paper, one after the other; one whose tables are not there is left out, and the page says so."""
    outcomes, not_run = [], {}
    for number, paper in enumerate(PAPERS.values(), 1):
        try:
            outcomes.append(reproduce(paper.name, quick, data, _heard(watch, number, paper), kept))
        except InputError as why:
            not_run[paper.name] = str(why)
    return Whole(tuple(outcomes), not_run, quick)


def _heard(watch: Watch, number: int, paper: Paper) -> Watch:
    """Steps with the paper that they belong to."""

    def step(name: str) -> Progress:
        return watch(f"{number} of {len(PAPERS)}, {paper.name}: {name}")

    return step
