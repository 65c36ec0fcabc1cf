"""Prosecutor, marketer and journalist risk before and after publishing, in numbers and in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from incrowd.measures.population import PopulationRisk
from incrowd.measures.risk import ReidentificationRisk

EXACT_ROWS = "rows keep exact quasi-identifiers, so a person's row is found as before"
KNOWS_LESS = (
    "somebody with a list of the population knows less than a prosecutor, who knows who is in the table, so "
    "the journalist risk is never above the prosecutor risk"
)


@dataclass(frozen=True, slots=True)
class RiskSummary:
    """The risk of a table and of what was published of it.

    ``before`` is by the exact quasi-identifiers, ``after`` by the equivalence classes of the release. Where a
    release has no classes to count, ``bound`` is what its claim allows at most, ``by`` names the claim; where
    there is neither, ``why_not`` says why. With a public table ``journalist_before`` and
    ``journalist_after`` count its people, too. ``population`` is an estimate from a sample. ``note`` is what
    must be said besides.
    """

    columns: tuple[str, ...]
    before: ReidentificationRisk
    after: ReidentificationRisk | None = None
    bound: Fraction | None = None
    by: str = ""
    why_not: str = ""
    note: str = ""
    suppressed: int = 0
    journalist_before: ReidentificationRisk | None = None
    journalist_after: ReidentificationRisk | None = None
    population: PopulationRisk | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "before": self.before.to_dict(),
            "after": None if self.after is None else self.after.to_dict(),
            "at_most": None if self.bound is None else str(self.bound),
            "by": self.by,
            "why_not": self.why_not,
            "journalist": {
                "before": None if self.journalist_before is None else self.journalist_before.to_dict(),
                "after": None if self.journalist_after is None else self.journalist_after.to_dict(),
            },
            "population": None if self.population is None else self.population.to_dict(),
            "sentences": list(self.sentences()),
        }

    def sentences(self) -> Iterator[str]:
        """What a data officer should read, in the order of before and after."""
        yield f"Before: {alone(self.before, self.columns)}. {_risks(self.before)}"
        if self.after is not None:
            who = f"the {self.after.persons:,} people with a row"
            lone = f"nobody of {who}" if not self.after.unique else f"{self.after.unique:,} of {who}"
            gone = f"; {were_suppressed(self.suppressed)}" if self.suppressed else ""
            are = "is" if self.after.unique < 2 else "are"
            yield f"After: {lone} {are} alone in an equivalence class{gone}. {_risks(self.after)}"
        elif self.bound is not None:
            yield f"After: prosecutor and marketer risk are at most {self.bound}, {self.by}."
        else:
            yield f"After: no risk can be stated: {self.why_not}."
        if self.note:
            yield f"Note: {self.note}."
        yield from self._journalist()
        yield from self._in_the_population()

    def _journalist(self) -> Iterator[str]:
        if self.journalist_before is not None:
            yield f"Journalist risk with the public table, before: {_numbers(self.journalist_before)}."
        if self.journalist_after is not None:
            yield f"Journalist risk with the public table, after: {_numbers(self.journalist_after)}."

    def _in_the_population(self) -> Iterator[str]:
        found = self.population
        if found is None:
            return
        share = f"The table is a sample of about {percentage(found.fraction)} of its population"
        if found.right is None or found.interval is None:
            yield f"{share}; {found.why_not}."
            return
        low, high = found.interval
        yield (
            f"{share}. Before: whoever matches a person of the population with somebody who is alone in the "
            f"table is right with an estimated probability of {found.right:.2g} ({low:.2g} to {high:.2g})."
        )
        if found.unique_in_population is None or found.ratios is None:
            yield f"How many are alone in the population is not estimated: {found.why_not}."
        elif found.ratios == (1.0, 1.0):
            yield f"All {found.unique:,} who are alone in the table are alone in the population."
        else:
            about, (least, most) = f"{found.unique_in_population:,.0f}", found.ratios
            yield (
                f"Of {found.unique:,} who are alone in the table, about {about} are alone in the population "
                f"(where the truth was known, such estimates were {least} to {most} times it)."
            )
        if self.after is not None or self.bound is not None:
            yield f"After: {KNOWS_LESS}."


def alone(risk: ReidentificationRisk, columns: tuple[str, ...]) -> str:
    """How many people are alone with their values, in one clause.

    Examples
    --------
    >>> import numpy as np
    >>> from incrowd.measures.risk import reidentification_risk
    >>> alone(reidentification_risk(np.array([0, 1, 1, 2])), ("age", "zip"))
    'of 4 people, 2 are alone with their values in these 2 columns'
    """
    these = "this column" if len(columns) == 1 else f"these {len(columns)} columns"
    count = f"{risk.unique:,} {'is' if risk.unique == 1 else 'are'}" if risk.unique else "nobody is"
    return f"of {risk.persons:,} people, {count} alone with their values in {these}"


def _risks(risk: ReidentificationRisk) -> str:
    if risk.highest is None:
        return "There are no rows, so there is no risk."
    above = ", ".join(f"{persons:,} people above {float(limit):g}" for limit, persons in risk.above)
    marketer = "" if risk.marketer is None else f" Marketer risk: {risk.marketer:.3f}."
    return f"Prosecutor risk: {_numbers(risk)}; {above}.{marketer}"


def _numbers(risk: ReidentificationRisk) -> str:
    if risk.highest is None or risk.mean is None:
        return "none, since there are no rows"
    return f"highest {risk.highest}, on average {risk.mean:.3f}"


def percentage(share: float) -> str:
    """A share that may be small, for people.

    Examples
    --------
    >>> percentage(0.0099964), percentage(0.5), percentage(0.00123)
    ('1 %', '50 %', '0.12 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def were_suppressed(count: int) -> str:
    """How many records were suppressed, in words.

    Examples
    --------
    >>> were_suppressed(1), were_suppressed(2000)
    ('1 record was suppressed', '2,000 records were suppressed')
    """
    return f"{count:,} {'record was' if count == 1 else 'records were'} suppressed"
