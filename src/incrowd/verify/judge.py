"""The judge: compares a published table with its original and with what it claims.

It shares no code with what it judges, reads and counts by itself, and says no by default: a verdict
passes only if every required check ran and found nothing. What goes wrong inside a check is a failure
of that check.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from incrowd.errors import IncrowdError, InputError
from incrowd.schema import Check, Claim, Role, Verdict
from incrowd.verify.apart import MODEL as GROUPS
from incrowd.verify.apart import (
    WHAT,
    check_lines,
    check_numbers,
    check_places,
    check_values,
    groups_of_rows,
    read_lines,
)
from incrowd.verify.claims import Crowds, check_claim
from incrowd.verify.consistency import Consistency
from incrowd.verify.exhibits import Case, Exhibits, Progress, read, silent
from incrowd.verify.fault import Fault, need
from incrowd.verify.means import MeanColumn
from incrowd.verify.odds import check_odds, drawn_from
from incrowd.verify.order import check_order
from incrowd.verify.rows import Ints, fold
from incrowd.verify.truth import record_of_each_row

SMALL_MEANS = frozenset({"small-means", "all"})


def judge_rows(case: Case, progress: Progress = silent) -> Verdict:
    """Judge two tables that are at hand as rows; files are for `verify`.

    Examples
    --------
    >>> from incrowd.schema import Column, Kind, Role, Schema
    >>> class Lines(list):
    ...     names = ("age",)
    >>> schema = Schema((Column("age", Role.QUASI, Kind.NUMERIC),))
    >>> claim = Claim("k-anonymity", {"k": 2})
    >>> case = Case(Lines([("20",), ("30",)]), Lines([("[20,30]",), ("[20,30]",)]), schema, [claim])
    >>> judge_rows(case).passed
    True
    """
    docket = Docket()
    trial = Trial(case, progress)
    trial.run(docket)
    return docket.verdict(trial.required)


class Docket:
    """Checks as they are run, in order. After a check that others rest on has failed, none is run."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.facts: dict[str, Any] = {}
        self._broken = ""

    def run(self, name: str, check: Callable[[], str], *, basic: bool = True) -> None:
        """Run a check; it raises, or returns a remark."""
        outcome = self._outcome(name, check)
        self.checks.append(outcome)
        if basic and not outcome.passed and not self._broken:
            self._broken = name

    def _outcome(self, name: str, check: Callable[[], str]) -> Check:
        if self._broken:
            return Check(name, False, f"not checked, because the check of {self._broken} failed")
        try:
            return Check(name, True, check())
        except (Fault, IncrowdError) as problem:
            return Check(name, False, str(problem))
        except Exception as problem:  # whatever it is, it is no proof; its text might quote a cell
            return Check(name, False, f"the check broke off ({type(problem).__name__})")

    def verdict(self, required: Sequence[str]) -> Verdict:
        return Verdict(tuple(required), tuple(self.checks), self.facts)


def claim_name(claim: Claim) -> str:
    """What the check of a claim is called.

    Examples
    --------
    >>> claim_name(Claim("distinct-l-diversity", {"l": 2}, "disease"))
    'distinct-l-diversity (disease)'
    """
    about = [str(part) for part in (claim.column, claim.parameters.get("distance")) if part]
    return f"{claim.model} ({', '.join(about)})" if about else claim.model


class Trial:
    """The checks of one case. What a check learns, later ones use."""

    def __init__(self, case: Case, progress: Progress) -> None:
        if not case.claims:
            raise InputError("the release claims nothing, so there is nothing to confirm")
        self.case = case
        self._progress = progress
        self._means = [column for column in case.schema.published if column.mean]
        self._exhibits: Exhibits
        self._match: Ints
        self._crowds: Crowds
        self._row_group: Ints | None = None
        self._groups: Crowds

    @property
    def required(self) -> tuple[str, ...]:
        means = ("means",) if self._means else ()
        claims = tuple(map(claim_name, self.case.claims))
        domains = () if self.case.domains is None else ("domains",)
        odds = ("odds",) if drawn_from(self.case.claims) else ()
        apart = ("sensitive",) if self.case.hides_values else ()
        first = ("schema", "cells", "rows", "private", "truth")
        return (*first, *apart, "order", *domains, *means, *claims, *odds)

    def run(self, docket: Docket) -> None:
        docket.run("schema", self._schema)
        docket.run("cells", self._cells)
        docket.run("rows", self._rows)
        docket.run("private", self._private)
        docket.run("truth", partial(self._truth, docket.facts))
        if self.case.hides_values:
            docket.run("sensitive", partial(self._sensitive, docket.facts))
        docket.run("order", self._order, basic=False)
        if self.case.domains is not None:
            docket.run("domains", self._domains, basic=False)
        if self._means:
            docket.run("means", self._mean_texts, basic=False)
        for claim in self.case.claims:
            docket.run(claim_name(claim), partial(self._claim, claim, docket.facts), basic=False)
        if drawn_from(self.case.claims):
            docket.run("odds", self._odds, basic=False)
        self._progress(1.0)

    def _odds(self) -> str:
        return check_odds(self.case.odds, self.case.claims, self._crowds.graph)

    def _schema(self) -> str:
        case = self.case
        names = tuple(map(case.undo, case.published.names))
        need(names == case.header, "the published columns are not exactly those that the schema publishes")
        need(len(set(names)) == len(names), "two published columns have one name")
        need(case.hides_values or case.apart is None, f"{WHAT} is there, and no claim speaks of it")
        known = sorted(column.name for column in case.schema.columns)
        need(sorted(case.original.names) == known, "the original has not exactly the columns of the schema")
        return ""

    def _cells(self) -> str:
        self._exhibits = read(self.case, self._progress)
        return ""

    def _rows(self) -> str:
        evidence = self._exhibits.evidence
        rows, records = evidence.row_private.size, evidence.record_private.size
        need(rows > 0, "the release has no rows")
        need(self.case.stated_rows in (None, rows), "the release has not as many rows as it says")
        need(self.case.suppressed >= 0, "a negative number of rows is suppressed")
        accounted = f"{rows} rows and {self.case.suppressed} suppressed do not make {records} records"
        need(rows + self.case.suppressed == records, accounted)
        return ""

    def _private(self) -> str:
        evidence = self._exhibits.evidence
        size = int(max(evidence.row_private.max(), evidence.record_private.max())) + 1
        had = np.bincount(evidence.record_private, minlength=size)
        shown = np.bincount(evidence.row_private, minlength=size)
        invented = int(np.maximum(shown - had, 0).sum())
        need(not invented, f"{invented} rows have sensitive and kept values that no record is left for")
        return ""

    def _truth(self, facts: dict[str, Any]) -> str:
        evidence, case = self._exhibits.evidence, self.case
        self._match = record_of_each_row(evidence, case.hint)
        sensitive = {name: (found.codes, found.texts) for name, found in self._exhibits.sensitive.items()}
        graph = Consistency(evidence, self._match, case.crowds)
        self._crowds = Crowds(case.schema, evidence.row_class, self._persons(), sensitive, graph, case.parts)
        facts["rows"] = evidence.row_private.size
        facts["suppressed"] = case.suppressed
        facts["classes"] = self._crowds.persons.size
        facts["smallest_class"] = int(self._crowds.persons.min())
        return ""

    def _persons(self) -> Ints:
        """The size of each class, counting a person with several rows once."""
        row_class, entity = self._exhibits.evidence.row_class, self._exhibits.entity
        if entity is None:
            return np.bincount(row_class)
        size = int(entity.max()) + 1
        return np.bincount(np.unique(row_class * size + entity[self._match]) // size)

    def _sensitive(self, facts: dict[str, Any]) -> str:
        """The table of sensitive values against the groups that rows name and the records behind the rows."""
        case, hidden, named = self.case, self._exhibits.hidden, self._exhibits.groups
        if case.apart is None or hidden is None or named is None:
            raise Fault(f"{WHAT} is not there")
        need(bool(hidden.codes), "no column is sensitive")
        need(not case.schema.having(Role.ENTITY), "groups count rows, and here a person may have several")
        row_group = groups_of_rows(named.codes, named.texts)
        lines = read_lines(case.apart, hidden, case.undo)
        check_lines(lines, row_group, case.stated_groups)
        linked = case.hint is not None and np.array_equal(case.hint, self._match)
        check_values(lines, row_group, self._match, hidden, linked)
        group, values = lines.spread()
        self._groups = Crowds(case.schema, group, lines.sizes, values, self._crowds.graph)
        self._row_group = row_group
        facts["groups"], facts["smallest_group"] = lines.sizes.size, int(lines.sizes.min())
        return ""

    def _order(self) -> str:
        evidence, hidden = self._exhibits.evidence, self._exhibits.hidden
        if self._row_group is not None and hidden is not None:
            check_numbers(self._row_group, self._match)
            check_places(self._row_group, evidence.row_class, self._match, hidden)
        sizes = [int(codes.max()) + 1 for codes in (evidence.row_private, evidence.row_class)]
        kind = fold([evidence.row_private, evidence.row_class], sizes)
        return check_order(kind, self._match, evidence.record_private.size)

    def _domains(self) -> str:
        said, named = self.case.domains, self._exhibits.named
        wrong = [name for name in named if said is None or said.get(name) != named[name]]
        need(not wrong, f"the manifest's domain of {', '.join(wrong)} is not what the cells name")
        return ""

    def _mean_texts(self) -> str:
        small_too = bool(SMALL_MEANS & set(self.case.accepted))
        row_class = self._exhibits.evidence.row_class
        for column in self._means:
            shown, own = self._exhibits.means[column.name], self._exhibits.quasi[column.name]
            mean = MeanColumn(column.name, shown.codes, shown.texts, own.codes[self._match], own.texts)
            mean.check(row_class, self.case.schema.missing, small_too)
        return ""

    def _claim(self, claim: Claim, facts: dict[str, Any]) -> str:
        of_values = self.case.hides_values and (claim.column or claim.model == GROUPS)
        reached = check_claim(claim, self._groups if of_values else self._crowds)
        facts.setdefault("reached", {})[claim_name(claim)] = reached
        return f"reaches {reached}"
