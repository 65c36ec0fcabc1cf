"""The judge: compares a published table with its original and with what it claims.

It shares no code with what it judges, reads and counts by itself, and says no by default: a verdict
passes only if every required check ran and found nothing. What goes wrong inside a check is a failure
of that check.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from incrowd.errors import IncrowdError, InputError
from incrowd.schema import Check, Claim, Role, Verdict
from incrowd.verifier.buckets import MODEL as GROUPS
from incrowd.verifier.buckets import (
    WHAT,
    check_lines,
    check_numbers,
    check_places,
    check_values,
    groups_of_rows,
    read_lines,
)
from incrowd.verifier.claims import Classes, check_claim
from incrowd.verifier.consistency import Consistency
from incrowd.verifier.exhibits import Case, Exhibits, Progress, read, silent
from incrowd.verifier.fault import Fault, need
from incrowd.verifier.levels import check_levels
from incrowd.verifier.means import MeanColumn
from incrowd.verifier.odds import check_odds, drawn_from
from incrowd.verifier.order import check_both_orders, check_order
from incrowd.verifier.people import MODEL as JOIN
from incrowd.verifier.people import PUBLIC, SECOND, People
from incrowd.verifier.plain import MODEL as PLAIN
from incrowd.verifier.rows import Ints, fold
from incrowd.verifier.truth import person_of_each_row, record_of_each_row

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
        self._classes: Classes
        self._row_group: Ints | None = None
        self._groups: Classes

    @property
    def required(self) -> tuple[str, ...]:
        means = ("means",) if self._means else ()
        claims = tuple(map(claim_name, self.case.claims))
        domains = () if self.case.domains is None else ("domains",)
        levels = () if self.case.levels is None else ("levels",)
        odds = ("odds",) if drawn_from(self.case.claims) else ()
        buckets = ("sensitive",) if self.case.hides_values else ()
        first = ("schema", "cells", "rows", "private", "truth")
        return (*first, *buckets, "order", *domains, *levels, *means, *claims, *odds)

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
        if self.case.levels is not None:
            docket.run("levels", self._levels, basic=False)
        if self._means:
            docket.run("means", self._mean_texts, basic=False)
        for claim in self.case.claims:
            docket.run(claim_name(claim), partial(self._claim, claim, docket.facts), basic=False)
        if drawn_from(self.case.claims):
            docket.run("odds", self._odds, basic=False)
        self._progress(1.0)

    def _odds(self) -> str:
        return check_odds(self.case.odds, self.case.claims, self._classes.graph)

    def _schema(self) -> str:
        case = self.case
        names = tuple(map(case.undo, case.published.names))
        need(names == case.header, "the published columns are not exactly those that the schema publishes")
        need(len(set(names)) == len(names), "two published columns have one name")
        need(case.hides_values or case.buckets is None, f"{WHAT} is there, and no claim speaks of it")
        need(case.joins or case.public is None, "a public table is there, and no claim speaks of it")
        if case.joins:
            self._schema_of_two()
        known = sorted(column.name for column in case.schema.columns)
        need(sorted(case.original.names) == known, "the original has not exactly the columns of the schema")
        return ""

    def _schema_of_two(self) -> None:
        if self.case.public is None:
            raise Fault("to confirm it, the public table is needed")
        need(not self._means, "a mean would tell of people of both tables at once")
        several = self.case.schema.having(Role.ENTITY)
        need(not several, "with a public table k counts rows, and here a person may have several")
        self.case.public.check_columns(self.case.schema)

    def _cells(self) -> str:
        self._exhibits = read(self.case, self._progress)
        return ""

    def _rows(self) -> str:
        evidence = self._exhibits.evidence
        rows, records = evidence.row_private.size, evidence.record_private.size
        need(rows > 0, "the release has no rows")
        need(self.case.stated_rows in (None, rows), "the release has not as many rows as it says")
        if (people := self._exhibits.people) is not None:
            return self._rows_of_two(people, rows)
        if self.case.max_suppression is not None or self._hides_outliers:
            return self._rows_left_out(rows, records)
        need(self.case.suppressed >= 0, "a negative number of rows is suppressed")
        accounted = f"{rows} rows and {self.case.suppressed} suppressed do not make {records} records"
        need(rows + self.case.suppressed == records, accounted)
        return ""

    @property
    def _hides_outliers(self) -> bool:
        return any(claim.model == PLAIN for claim in self.case.claims)

    def _rows_left_out(self, rows: int, records: int) -> str:
        """Some records may have no row, and nobody is told how many have none."""
        share = self.case.max_suppression
        if share is None:
            raise Fault("how many rows are suppressed tells of those who stand out, and is said")
        need(0 <= share <= 1, "the share of rows that may be suppressed is none")
        need(self.case.suppressed == 0, "it is said how many rows are suppressed, and how many may be")
        need(not drawn_from(self.case.claims), "rows are drawn, and then every record must have one")
        need(rows <= records, f"{rows} rows are more than the {records} records")
        need(records - rows <= share * records, f"{records - rows} of {records} records have no row")
        return ""

    def _rows_of_two(self, people: People, rows: int) -> str:
        """Everybody of the private table has a row, and of the public one who stands in."""
        self._rows_of_sources(people)
        nobody = self.case.suppressed == 0 and self.case.max_suppression is None
        need(nobody, "with a public table no row is suppressed")
        need(rows >= people.own, f"{rows} rows are fewer than the {people.own} people of the original")
        need(rows <= len(people), f"{rows} rows are more than the {len(people)} people of both tables")
        return ""

    def _rows_of_sources(self, people: People) -> None:
        case = self.case
        stated = {
            PUBLIC: (case.stated_public, people.public_rows),
            SECOND: (case.stated_check, people.second_rows),
        }
        for what, (said, found) in stated.items():
            need(said in (None, found), f"{what} has not as many rows as the release says")

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
        people = self._exhibits.people
        if people is None:
            self._match = record_of_each_row(evidence, case.hint)
        else:
            self._match = person_of_each_row(evidence, people.own, case.hint)
        sensitive = {name: (found.codes, found.texts) for name, found in self._exhibits.sensitive.items()}
        graph = Consistency(evidence, self._match, case.neighbourhoods)
        persons, tables = self._persons(), self._exhibits
        self._classes = Classes(
            case.schema, evidence.row_class, persons, sensitive, graph, case.parts, tables=tables
        )
        facts["rows"] = evidence.row_private.size
        # of two tables everybody has a row, and there may be more rows than records
        facts["suppressed"] = 0 if people is not None else tables.own - evidence.row_private.size
        facts["classes"] = self._classes.persons.size
        facts["smallest_class"] = int(self._classes.persons.min())
        if people is not None:
            facts |= self._presence(people)
        return ""

    @property
    def _linked(self) -> bool:
        """Was it handed over who is behind each row, and does it fit?"""
        return self.case.hint is not None and np.array_equal(self.case.hint, self._match)

    def _presence(self, people: People) -> dict[str, Any]:
        """Whose rows there are; where links tell, also the least and largest share of own people."""
        facts: dict[str, Any] = {"people": len(people), "own": people.own}
        facts["external"] = self._match.size - people.own
        if self._linked:
            sizes = self._classes.persons.tolist()
            mine = np.bincount(self._classes.row_class[self._match < people.own], minlength=len(sizes))
            shares = [Fraction(own, size) for own, size in zip(mine.tolist(), sizes, strict=True)]
            facts["presence"] = {"least": str(min(shares)), "most": str(max(shares))}
        return facts

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
        if case.buckets is None or hidden is None or named is None:
            raise Fault(f"{WHAT} is not there")
        need(bool(hidden.codes), "no column is sensitive")
        need(not case.schema.having(Role.ENTITY), "groups count rows, and here a person may have several")
        row_group = groups_of_rows(named.codes, named.texts)
        lines = read_lines(case.buckets, hidden, case.undo)
        people = self._exhibits.people
        check_lines(lines, row_group, case.stated_groups, row_group.size if people is None else people.own)
        check_values(lines, row_group, self._match, hidden, self._linked)
        group, values = lines.spread()
        self._groups = Classes(case.schema, group, lines.sizes, values, self._classes.graph)
        self._row_group = row_group
        facts["groups"], facts["smallest_group"] = lines.sizes.size, int(lines.sizes.min())
        return ""

    def _order(self) -> str:
        evidence, hidden = self._exhibits.evidence, self._exhibits.hidden
        if self._row_group is not None and hidden is not None:
            has = self._match < self._exhibits.own
            check_numbers(self._row_group[has], self._match[has])
            check_places(self._row_group, evidence.row_class, self._match, hidden)
        sizes = [int(codes.max()) + 1 for codes in (evidence.row_private, evidence.row_class)]
        kind = fold([evidence.row_private, evidence.row_class], sizes)
        if (people := self._exhibits.people) is not None:
            return check_both_orders(kind, self._match, people.own, people.public_place, self._linked)
        # Those without a row are left out of the original, too: the others may still be in its order.
        place = np.searchsorted(np.sort(self._match), self._match)
        return check_order(kind, place, place.size)

    def _domains(self) -> str:
        said, named = self.case.domains, self._exhibits.named
        wrong = [name for name in named if said is None or said.get(name) != named[name]]
        need(not wrong, f"the manifest's domain of {', '.join(wrong)} is not what the cells name")
        return ""

    def _levels(self) -> str:
        regions = dict(zip(self._exhibits.domains, self._exhibits.evidence.regions, strict=True))
        check_levels(self.case.levels, self._exhibits.domains, regions, self._exhibits.cells)
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
        of_values = bool(self.case.hides_values and (claim.column or claim.model == GROUPS))
        others = self.case.joins and claim.model != JOIN and not of_values
        need(not others, "it speaks of people of the original, and rows of others stand between theirs")
        reached = check_claim(claim, self._groups if of_values else self._classes)
        facts.setdefault("reached", {})[claim_name(claim)] = reached
        return f"reaches {reached}"
