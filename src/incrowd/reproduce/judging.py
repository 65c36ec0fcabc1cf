"""Statements of papers: how a paper declares what it says, and what becomes of it.

One `Claim` for each statement, in a tuple called `CLAIMS`,

    Claim("table1.order", "VII, Table I", "(k,k) loses less than the best agglomerative, for every k",
          lambda found: below(found.ratios(KK, BEST), 1.0), data="ART", printed=None)

and `judged(paper, CLAIMS, found, …)` makes `Statement`s of them. `judge` gets what was measured and returns a
`Finding`, computed by one of the `rules`; nothing else says what held. A claim on a table that is not there,
or that was left out, is undecided and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from incrowd.reproduce.rules import Finding, Verdict, not_run
from incrowd.reproduce.samples import LEVEL

R = TypeVar("R")


@dataclass(frozen=True)  # a generic class with slots cannot be called as Claim[R](…)
class Claim(Generic[R]):
    """What a paper says, and how it is judged.

    `id` is its name within the paper, `data` the table that it is judged on. `inferred`: the paper does not
    say it in so many words; it is a conclusion of ours. `command` is another one that shows it.
    """

    id: str
    section: str
    says: str
    judge: Callable[[R], Finding]
    data: str = ""
    printed: float | str | None = None
    inferred: bool = False
    command: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that a paper says, what was found, and the verdict."""

    id: str
    paper: str
    section: str
    says: str
    printed: float | str | None
    data: str
    found: Finding
    command: str
    inferred: bool = False

    @property
    def verdict(self) -> Verdict:
        return self.found.verdict

    @property
    def claimed(self) -> str:
        """What the paper says, or what we conclude from it."""
        return f"{self.says} (inferred)" if self.inferred else self.says

    @property
    def printed_words(self) -> str:
        """The printed number, if there is one."""
        return "" if self.printed is None else str(self.printed)

    @property
    def ours(self) -> str:
        """Numbers with their intervals, in words."""
        return "; ".join(
            [*([self.found.words] if self.found.words else []), *(e.words for e in self.found.ours)]
        )

    @property
    def interval(self) -> str:
        """Which interval this is."""
        return f"Student-t, {LEVEL:.0%}, of the mean over samples" if self.found.ours else "exact"

    @property
    def word(self) -> str:
        """The verdict, as it stands in a table."""
        return str(self.verdict)

    @property
    def detail(self) -> str:
        """What was found, from the least to the most, and why that decides it."""
        means = [each.mean for each in self.found.ours]
        ends = [f"{end:.3g}" for end in (min(means), max(means))] if means else []
        least_and_most = [" to ".join(dict.fromkeys(ends))] if ends else []
        shown = "; ".join([*([self.found.words] if self.found.words else []), *least_and_most])
        return f"{shown} ({self.reason})" if shown else self.reason

    @property
    def reason(self) -> str:
        against = self.found.counterexample
        return f"{self.found.reason}: {against}" if against else self.found.reason

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "paper": self.paper,
            "section": self.section,
            "says": self.says,
            "inferred": self.inferred,
            "printed": self.printed,
            "ours": {
                "words": self.found.words,
                "points": [each.to_dict() for each in self.found.ours],
                "interval": self.interval,
            },
            "data": self.data,
            "verdict": str(self.verdict),
            "reason": self.found.reason,
            "counterexample": self.found.counterexample or None,
            "command": self.command,
        }


def verdicts(statements: Sequence[Statement]) -> dict[str, int]:
    """How many have each verdict."""
    return {str(word): sum(each.verdict == word for each in statements) for word in Verdict}


def summary(statements: Sequence[Statement]) -> str:
    """The same in words."""
    counts = ", ".join(f"{count} {word}" for word, count in verdicts(statements).items())
    return f"{len(statements)} statements: {counts}."


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a run: those used, each in words (samples, records), and why others were not."""

    used: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


def judged(
    paper: str, claims: Sequence[Claim[R]], found: R, tables: Tables, quick: bool = False
) -> tuple[Statement, ...]:
    """Every claim as a statement with its verdict, in the order that they are declared in."""
    command = f"incrowd reproduce {paper}" + " --quick" * quick

    def state(claim: Claim[R]) -> Statement:
        why = tables.missing.get(claim.data)
        finding = not_run(why) if why else claim.judge(found)
        data = tables.used.get(claim.data, claim.data)
        identity = f"{paper}.{claim.id}"
        shown = claim.command or command
        return Statement(
            identity, paper, claim.section, claim.says, claim.printed, data, finding, shown, claim.inferred
        )

    stated = tuple(state(claim) for claim in claims)
    if len({each.id for each in stated}) < len(stated):
        raise ValueError(f"two statements of {paper} have the same name")
    return stated
