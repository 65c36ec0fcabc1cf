"""The checks and their order: a published table against its original and against what it claims.

The verifier shares no code with what it verifies, reads and counts by itself, and rejects by default: a
verdict passes only if every required check ran and found nothing. What goes wrong inside a check is a failure
of that check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from incrowd.errors import IncrowdError
from incrowd.schema import Check, Claim, Role, Verdict
from incrowd.verifier.claims.buckets import (
    WHAT,
    check_group_numbers,
    check_lines,
    check_value_order,
    check_values,
    groups_of_rows,
    read_lines,
)
from incrowd.verifier.claims.consistency_graph import ConsistencyGraph
from incrowd.verifier.claims.join import (
    PUBLIC,
    SECOND,
    JoinedPeople,
    PublicTable,
    check_join_schema,
    check_joined_rows,
    presence,
)
from incrowd.verifier.claims.nonhomogeneous import check_match_probability
from incrowd.verifier.claims.registry import (
    BUCKETS,
    MATCHES,
    check_claim,
    claim_name,
    hides_suppression,
    joins,
    requires,
)
from incrowd.verifier.claims.subject import BothTables, ClaimSubject, EquivalenceClasses, Owners
from incrowd.verifier.columns import CodedColumn, Ints, RowSource, folded
from incrowd.verifier.domain import check_levels
from incrowd.verifier.failure import CheckFailed, require
from incrowd.verifier.labels import WHAT as HIERARCHIES
from incrowd.verifier.labels import check_hierarchies
from incrowd.verifier.means import ClassSums, check_means
from incrowd.verifier.order import check_both_orders, check_order
from incrowd.verifier.request import (
    Expected,
    Progress,
    PublishedTables,
    Verification,
    Witness,
    silent,
)
from incrowd.verifier.series import SeriesChecks
from incrowd.verifier.tables import read
from incrowd.verifier.threads import ONE_THREAD, Threads
from incrowd.verifier.totals import WHAT as TOTALS
from incrowd.verifier.totals import check_totals
from incrowd.verifier.truth import person_of_each_row, record_of_each_row

SMALL_MEANS = frozenset({"small-means", "all"})


def verify_rows(
    original: RowSource,
    published: PublishedTables,
    expected: Expected,
    *,
    witness: Witness | None = None,
    public: PublicTable | None = None,
    progress: Progress = silent,
    threads: Threads = ONE_THREAD,
) -> Verdict:
    """Verify tables that are at hand as rows; `verify` is for release folders.

    `original` is the table that the release was made from, `expected` what was asked for. The `public` table
    is for claims of k-join-anonymity only. `progress` is called with how much is done, from 0 to 1.

    Examples
    --------
    >>> from incrowd.schema import Column, Kind, Role, Schema
    >>> class Lines(list):
    ...     names = ("age",)
    >>> schema = Schema((Column("age", Role.QUASI, Kind.NUMERIC),))
    >>> expected = Expected(schema, [Claim("k-anonymity", {"k": 2})])
    >>> published = PublishedTables(Lines([("[20,30]",), ("[20,30]",)]))
    >>> verify_rows(Lines([("20",), ("30",)]), published, expected).passed
    True
    """
    request = Verification(original, published, expected, witness or Witness(), public, threads)
    checklist = Checklist()
    required = ReleaseChecks(request, progress).run(checklist)
    return checklist.verdict(required)


class Checklist:
    """Checks as they are run, in order. After a check that others rest on has failed, none is run."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.facts: dict[str, Any] = {}
        self._broken = ""

    def run(self, name: str, check: Callable[[], str | None], *, basic: bool = True) -> None:
        """Run a check; it raises, or returns a remark."""
        outcome = self._outcome(name, check)
        self.checks.append(outcome)
        if basic and not outcome.passed and not self._broken:
            self._broken = name

    def _outcome(self, name: str, check: Callable[[], str | None]) -> Check:
        if self._broken:
            return Check(name, False, f"not checked, because the check of {self._broken} failed")
        try:
            return Check(name, True, check() or "")
        except (CheckFailed, IncrowdError) as problem:
            return Check(name, False, str(problem))
        except Exception as problem:  # whatever it is, it is no proof; its text might quote a cell
            return Check(name, False, f"the check stopped with an error ({type(problem).__name__})")

    def verdict(self, required: Sequence[str]) -> Verdict:
        return Verdict(tuple(required), tuple(self.checks), self.facts)


@dataclass(frozen=True, slots=True)
class CheckStep:
    """One check: its name, the method of `ReleaseChecks` that runs it, and when it is required.

    After a `basic` check has failed, no later one is run.
    """

    name: str
    run: Callable[[ReleaseChecks], str | None]
    required: Callable[[Verification], bool] = lambda _: True
    basic: bool = True


class ReleaseChecks:
    """The checks of one release. What a check learns, later ones use."""

    def __init__(
        self, request: Verification, progress: Progress, rows_were_read: Callable[[], object] = lambda: None
    ) -> None:
        self.request, self._progress, self._rows_were_read = request, progress, rows_were_read
        self.facts: dict[str, Any] = {}
        self._tables: BothTables
        self._match: Ints
        self._subject: ClaimSubject
        self._row_group: Ints | None = None
        self._groups: ClaimSubject
        self._series: SeriesChecks
        self._in_totals: Mapping[str, frozenset[str]] = {}  # labels that totals name

    def run(self, checklist: Checklist) -> tuple[str, ...]:
        """Run the required checks in order; the names of all that are required."""
        self.facts = checklist.facts
        before = [step for step in BEFORE_CLAIMS if step.required(self.request)]
        after = [step for step in AFTER_CLAIMS if step.required(self.request)]
        claims = self.request.expected.claims
        for step in before:
            checklist.run(step.name, partial(step.run, self), basic=step.basic)
        for claim in claims:
            checklist.run(claim_name(claim), partial(self.claim, claim), basic=False)
        for step in after:
            checklist.run(step.name, partial(step.run, self), basic=step.basic)
        self._progress(1.0)
        return (*(step.name for step in before), *map(claim_name, claims), *(step.name for step in after))

    def schema(self) -> None:
        request, expected = self.request, self.request.expected
        names = tuple(map(request.published.undo, request.published.rows.names))
        exact = "the published columns are not exactly those that the policy publishes"
        require(names == request.header, exact)
        require(len(set(names)) == len(names), "two published columns have the same name")
        buckets = request.published.sensitive is not None
        require(expected.bucketed or not buckets, f"{WHAT} is given, but no claim is about it")
        stated = request.published.totals is not None
        require(expected.totals or not stated, f"{TOTALS} is given, but nobody asked for it")
        public = request.public is not None
        require(expected.joined or not public, "a public table is given, but no claim is about it")
        if expected.joined:
            check_join_schema(request.public, request.schema)
        known = sorted(column.name for column in request.schema.columns)
        original = sorted(request.original.names)
        require(original == known, "the original table does not have exactly the columns of the policy")

    def cells(self) -> None:
        self._tables = read(self.request, self._progress, self._rows_were_read)

    def rows(self) -> str:
        coded, stated = self._tables.coded, self.request.stated
        rows, records = coded.row_private.size, coded.record_private.size
        require(rows > 0, "the release has no rows")
        require(stated.rows in (None, rows), "the manifest states a different number of rows")
        if (people := self._tables.people) is not None:
            self._rows_of_two(people, rows)
        elif self.request.max_suppression is not None:
            return self._rows_left_out(rows, records, self.request.max_suppression)
        else:
            told = "the manifest tells how many rows are suppressed, and so how many are outliers"
            require(not hides_suppression(self.request.expected.claims), told)
            gone = stated.suppressed or 0
            may = gone == 0 or self.request.expected.max_suppression == "as stated"
            all_there = may and rows + gone == records
            require(all_there, f"there are {rows} rows of {records} records, and nobody may be left out")
        return ""

    def _rows_left_out(self, rows: int, records: int, share: Fraction) -> str:
        """Some records may have no row; the manifest tells how many have none, unless outliers are hidden."""
        require(0 <= share <= 1, "the share of rows that may be suppressed is not between 0 and 1")
        drawn = self.request.expected.randomized
        require(not drawn, "with a randomized assignment every record must have a row")
        require(rows <= records, f"there are {rows} rows, more than the {records} records")
        require(records - rows <= share * records, f"{records - rows} of {records} records have no row")
        told = self.request.stated.suppressed
        if hides_suppression(self.request.expected.claims):
            require(told is None, "how many rows are suppressed is told, and so how many are outliers")
        fits = told in (None, records - rows)
        require(
            fits, f"{records - rows} of {records} records have no row, and the manifest tells another number"
        )
        if rows == records or self.request.expected.max_suppression != "as stated":
            return ""
        return f"{records - rows} of {records} records have no row; only the policy tells whether so many may"

    def _rows_of_two(self, people: JoinedPeople, rows: int) -> None:
        stated = self.request.stated
        given = {
            PUBLIC: (stated.public_rows, people.public_rows),
            SECOND: (stated.second_rows, people.second_rows),
        }
        for what, (count, found) in given.items():
            require(count in (None, found), f"the manifest states a different number of rows for {what}")
        nobody = stated.suppressed in (None, 0) and self.request.max_suppression is None
        require(nobody, "with a public table no row may be suppressed")
        check_joined_rows(rows, people)

    def private(self) -> None:
        coded = self._tables.coded
        size = int(max(coded.row_private.max(), coded.record_private.max())) + 1
        had = np.bincount(coded.record_private, minlength=size)
        shown = np.bincount(coded.row_private, minlength=size)
        invented = int(np.maximum(shown - had, 0).sum())
        more = "rows have sensitive and kept values that occur more often than in the original table"
        require(not invented, f"{invented} {more}")

    def truth(self) -> None:
        request, coded, people = self.request, self._tables.coded, self._tables.people
        if people is None:
            self._match = record_of_each_row(coded, request.witness.links, request.threads)
        else:
            self._match = person_of_each_row(coded, people.own, request.witness.links, request.threads)
        persons = self._persons()
        owners = Owners.of(self._tables.entity, self._match, self._linked)
        classes = EquivalenceClasses(request.schema, coded.row_class, persons, self._tables.sensitive, owners)
        graph = ConsistencyGraph(coded, self._match, request.witness.neighbourhoods)
        self._subject = ClaimSubject(classes, graph, self._tables)
        rows = coded.row_private.size
        self.facts["rows"] = rows
        # of two tables everybody has a row, and there may be more rows than records
        self.facts["suppressed"] = 0 if people is not None else self._tables.own - rows
        self.facts["classes"] = persons.size
        self.facts["smallest_class"] = int(persons.min())
        if people is not None:
            self.facts |= {"people": len(people), "own": people.own, "external": rows - people.own}
            if self._linked:
                self.facts["presence"] = presence(coded.row_class, self._match < people.own)

    @property
    def _linked(self) -> bool:
        """Did the witness say who is behind each row, and does it fit?"""
        links = self.request.witness.links
        return links is not None and np.array_equal(links, self._match)

    def _persons(self) -> Ints:
        """The size of each class, counting a person with several rows once."""
        row_class, entity = self._tables.coded.row_class, self._tables.entity
        if entity is None:
            return np.bincount(row_class)
        size = int(entity.max()) + 1
        return np.bincount(np.unique(row_class * size + entity[self._match]) // size)

    def sensitive(self) -> None:
        """The table of sensitive values against the groups of the rows and the records behind the rows."""
        request, original, named = self.request, self._tables.bucketed, self._tables.groups
        table = request.published.sensitive
        if table is None or original is None or named is None:
            raise CheckFailed(f"{WHAT} is not there")
        require(bool(original.codes), "no column is sensitive")
        several = request.schema.having(Role.ENTITY)
        require(not several, "groups count rows, but here one person may have several rows")
        row_group = groups_of_rows(named.codes, named.texts)
        lines = read_lines(table, original, request.published.undo)
        people = self._tables.people
        with_values = row_group.size if people is None else people.own
        check_lines(lines, row_group, request.stated.groups, with_values)
        check_values(lines, row_group, self._match, original, self._linked)
        group, values = lines.spread()
        groups = EquivalenceClasses(request.schema, group, lines.sizes, values)
        self._groups = ClaimSubject(groups, self._subject.graph, self._tables)
        self._row_group = row_group
        self.facts["groups"], self.facts["smallest_group"] = lines.sizes.size, int(lines.sizes.min())

    def order(self) -> str:
        coded, original = self._tables.coded, self._tables.bucketed
        if self._row_group is not None and original is not None:
            own = self._match < self._tables.own
            check_group_numbers(self._row_group[own], self._match[own])
            check_value_order(self._row_group, coded.row_class, self._match, original)
        kind = folded([coded.row_private, coded.row_class])
        if (people := self._tables.people) is not None:
            return check_both_orders(kind, self._match, people.own, people.public_place, self._linked)
        # Those without a row are left out of the original, too: the others may still be in its order.
        with_row = np.bincount(self._match, minlength=self._tables.own)
        place = (np.cumsum(with_row) - 1)[self._match]
        return check_order(kind, place, place.size)

    def domains(self) -> None:
        stated = self.request.stated.domains or {}
        wrong = ", ".join(name for name, domain in self.named_domains.items() if stated.get(name) != domain)
        require(not wrong, f"the manifest states a different domain of {wrong} than the cells name")

    @property
    def named_domains(self) -> dict[str, Any]:
        """What the cells of each quasi-identifier name."""
        return {name: domain.named() for name, domain in self._tables.domains.items()}

    def totals(self) -> None:
        request, expected = self.request, self.request.expected
        hidden = request.max_suppression is not None and hides_suppression(expected.claims)
        require(
            not hidden and not expected.joined, "totals would tell of hidden outliers, or of another table"
        )
        undo, columns = request.published.beside_undo, request.schema.having(Role.QUASI)
        table, missing = request.published.totals, request.schema.missing
        given = (self._tables, expected.claims, self._with_rows)
        try:
            self._in_totals = check_totals(table, undo, columns, missing, *given)
        except CheckFailed as fault:
            if self._with_rows is None or self._linked:
                raise
            unknown = "the links of the audit say who has a row, and were not there, or do not fit"
            raise CheckFailed(f"{fault}; {unknown}") from None

    @property
    def _with_rows(self) -> Ints | None:
        """The records that have a row, where some may have none."""
        return None if self._match.size == self._tables.own else np.sort(self._match)

    def hierarchies(self) -> None:
        request = self.request
        undo, columns = request.published.beside_undo, request.schema.having(Role.QUASI)
        named = {
            name: frozenset(domain.named().get("labels", [])) | self._in_totals.get(name, frozenset())
            for name, domain in self._tables.domains.items()
        }
        table = request.published.hierarchies
        if table is None:
            raise CheckFailed(f"{HIERARCHIES} is not there")
        check_hierarchies(table, undo, columns, request.schema.missing, named)

    def levels(self) -> None:
        regions = dict(zip(self._tables.domains, self._tables.coded.regions, strict=True))
        check_levels(self.request.stated.levels, self._tables.domains, regions, self._tables.cells)

    def means(self) -> None:
        small_too = bool(SMALL_MEANS & set(self.request.expected.accepted))
        row_class = self._tables.coded.row_class
        for column in self.request.means:
            shown, own = self._tables.means[column.name], self._tables.quasi[column.name]
            matched = CodedColumn(own.codes[self._match], own.texts)
            sums = ClassSums.of(row_class, matched, column, self.request.schema.missing)
            check_means(column.name, row_class, shown, sums, small_too)

    def chain(self) -> str:
        series = self.request.series
        if series is None:
            raise CheckFailed("the ledger of the series and its earlier releases are not there")
        self._series = SeriesChecks(series, self.request.schema, self.request.stated.series)
        return self._series.chain()

    def effective(self) -> str:
        said = self._series.effective()
        given = (self._tables, self._match, self._subject.classes, self.request.expected.claims)
        self._subject = replace(self._subject, histories=self._series.histories(*given))
        return said

    def erased(self) -> str:
        return self._series.erased()

    def claim(self, claim: Claim) -> str:
        """A claim about values is checked on the groups of values, where these are published in buckets."""
        expected = self.request.expected
        of_values = expected.bucketed and bool(claim.column or requires([claim], BUCKETS))
        only_own = expected.joined and not joins([claim]) and not of_values
        require(not only_own, "the claim is about the original table only, but others have rows, too")
        reached = check_claim(claim, self._groups if of_values else self._subject)
        self.facts.setdefault("reached", {})[claim_name(claim)] = reached
        return f"reaches {reached}"

    def match_probability(self) -> None:
        stated, claims = self.request.stated.match_probability, self.request.expected.claims
        check_match_probability(stated, claims, self._subject.graph)


BEFORE_CLAIMS = (
    CheckStep("schema", ReleaseChecks.schema),
    CheckStep("cells", ReleaseChecks.cells),
    CheckStep("rows", ReleaseChecks.rows),
    CheckStep("private", ReleaseChecks.private),
    CheckStep("truth", ReleaseChecks.truth),
    CheckStep(BUCKETS, ReleaseChecks.sensitive, lambda request: request.expected.bucketed),
    CheckStep("order", ReleaseChecks.order, basic=False),
    CheckStep(
        "domains", ReleaseChecks.domains, lambda request: request.stated.domains is not None, basic=False
    ),
    CheckStep(
        "levels",
        ReleaseChecks.levels,
        lambda request: request.expected.levels or request.stated.levels is not None,
        basic=False,
    ),
    CheckStep("totals", ReleaseChecks.totals, lambda request: request.expected.totals, basic=False),
    CheckStep(
        "hierarchies",
        ReleaseChecks.hierarchies,
        lambda request: request.published.hierarchies is not None,
        basic=False,
    ),
    CheckStep("means", ReleaseChecks.means, lambda request: bool(request.means), basic=False),
    CheckStep("chain", ReleaseChecks.chain, lambda request: request.expected.in_series),
    CheckStep("effective", ReleaseChecks.effective, lambda request: request.expected.in_series),
    CheckStep("erased", ReleaseChecks.erased, lambda request: request.expected.in_series, basic=False),
)
AFTER_CLAIMS = (
    CheckStep(
        MATCHES, ReleaseChecks.match_probability, lambda request: request.expected.randomized, basic=False
    ),
)
