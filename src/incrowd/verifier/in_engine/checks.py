"""The checks of a release whose tables are in a database: the same ones, in the same order, by SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from incrowd.schema import Claim, Column, Role, Verdict
from incrowd.verifier.checks import Checklist
from incrowd.verifier.claims.join import PUBLIC, SECOND, check_join_schema
from incrowd.verifier.claims.nonhomogeneous import check_match_probability
from incrowd.verifier.claims.registry import MATCHES, claim_name, joins
from incrowd.verifier.columns import Numbering, Restoring, RowSource, restored
from incrowd.verifier.csv_file import CsvRows
from incrowd.verifier.failure import CheckFailed, require
from incrowd.verifier.folder import CSV, HIERARCHIES_FILE, TOTALS_FILE, OpenedFolder, ReleaseFiles
from incrowd.verifier.hierarchies import check_built
from incrowd.verifier.in_engine.claims import check_counted
from incrowd.verifier.in_engine.parted import PartedTruth
from incrowd.verifier.in_engine.people import (
    CountedPeople,
    JoinedOriginals,
    JoinedTruth,
    SampledPeople,
    read_people,
)
from incrowd.verifier.in_engine.ranked_columns import ClassWitness, QuasiColumn, RankedColumn
from incrowd.verifier.in_engine.relations import Relation, SqlSession, has_both, rows_relation
from incrowd.verifier.in_engine.rings import PLACES, RingTruth, WitnessedRings
from incrowd.verifier.in_engine.series import OF_SERIES, CohortTruth, SeriesChecks, SeriesInEngine
from incrowd.verifier.in_engine.truth import TruthInEngine
from incrowd.verifier.in_engine.whole_numbers import ranked_column
from incrowd.verifier.labels import check_hierarchies
from incrowd.verifier.order import check_both_orders, check_order
from incrowd.verifier.request import Expected, Progress, silent
from incrowd.verifier.totals import check_totals_by_count

MOST_IN_ORDER = 200_000  # rows whose order is compared with that of the original


@dataclass(frozen=True, slots=True, eq=False)
class EngineFiles:
    """A release folder; ``rows`` are those of its Parquet files as a relation, None if it is CSV."""

    folder: Path
    rows: Relation | None = None
    datasheet: Callable[[Mapping[str, Any]], str] | None = None


def verify_in_engine(
    session: SqlSession,
    release: EngineFiles,
    original: Relation | RowSource | JoinedOriginals,
    expected: Expected,
    witness: ClassWitness,
    progress: Progress = silent,
    series: SeriesInEngine | None = None,
) -> Verdict:
    """Verify a release folder against the original table, both too large for memory.

    Only releases of equivalence classes or rings in which everybody has a row are confirmed, and of classes
    in which people of a public table have rows, too. Of a `series` the original is the effective table.
    """
    folder = OpenedFolder(ReleaseFiles(release.folder, datasheet=release.datasheet), expected)
    checklist = Checklist()
    checklist.run("files", folder.check_files)
    public = original.table() if isinstance(original, JoinedOriginals) else None
    checklist.run("manifest", lambda: folder.check_manifest(public))
    checks = EngineChecks(session, release, original, expected, witness, folder, checklist.facts, series)
    steps = checks.steps()
    for done, (name, step, basic) in enumerate(steps):
        checklist.run(name, step, basic=basic)
        progress((done + 1) / (len(steps) + 1))
    checklist.run("bytes", lambda: folder.check_bytes(checks.named_domains))
    progress(1.0)
    return checklist.verdict(("files", "manifest", *(name for name, _, _ in steps), "bytes"))


Step = tuple[str, Callable[[], str | None], bool]


class EngineChecks:
    """The checks of one release. What a check learns, later ones use."""

    def __init__(
        self,
        session: SqlSession,
        release: EngineFiles,
        original: Relation | RowSource | JoinedOriginals,
        expected: Expected,
        witness: ClassWitness,
        folder: OpenedFolder,
        facts: dict[str, Any],
        series: SeriesInEngine | None = None,
    ) -> None:
        self._session, self._release, self._given, self._expected = session, release, original, expected
        self._witness, self._folder, self.facts = witness, folder, facts
        self._quasi: list[RankedColumn] = []
        self._original: Relation
        self._released: Relation
        self._truth: TruthInEngine
        self._people: CountedPeople | None = None
        self._in_series, self._series = series, cast(SeriesChecks, None)
        self._sizes = np.zeros(0, np.int64)
        self._in_totals: Mapping[str, frozenset[str]] = {}

    def steps(self) -> list[Step]:
        """All that are required, in order."""
        expected = self._expected
        # What is read of earlier releases is done with before this one is.
        of_series = [("chain", self.chain, True), ("effective", self.effective, True)]
        of_series.append(("erased", self.erased, False))
        found: list[Step] = [
            ("schema", self.schema, True),
            *(of_series if expected.in_series else ()),
            ("cells", self.cells, True),
            ("rows", self.rows, True),
            ("private", self.private, True),
            ("truth", self.truth, True),
            ("order", self.order, False),
            ("domains", self.domains, False),
        ]
        if expected.totals:
            found.append(("totals", self.totals, False))
        if expected.hierarchies:
            found.append(("hierarchies", self.hierarchies, False))
        found += [(claim_name(claim), partial(self.claim, claim), False) for claim in expected.claims]
        if expected.randomized:
            found.append((MATCHES, self.match_probability, False))
        return found

    @cached_property
    def _of_witness(self) -> type[TruthInEngine]:
        """How truth is shown: records of a class, numbers of records behind rows, or rings."""
        if self._expected.in_series:
            return CohortTruth
        named = {row[0] for row in self._session.rows(f"DESCRIBE SELECT * FROM {self._witness.records}")}
        if self._expected.joined:
            return JoinedTruth
        if named.issuperset(PLACES):
            return RingTruth
        return PartedTruth if "n" in named else TruthInEngine

    @property
    def _private(self) -> list[str]:
        """The columns that rows show as they are: none where some rows are of people without such values."""
        if self._expected.joined:
            return []
        return [column.name for column in self._expected.schema.having(Role.SENSITIVE, Role.KEEP)]

    @property
    def _quasi_columns(self) -> tuple[Column, ...]:
        return self._expected.schema.having(Role.QUASI)

    @cached_property
    def _csv(self) -> CsvRows:
        return CsvRows(self._release.folder / CSV, delimiter=",", canonical=True)

    def schema(self) -> None:
        schema, expected = self._expected.schema, self._expected
        rings = self._of_witness is RingTruth
        strange = expected.bucketed or expected.counted or expected.levels
        plain = not strange and (rings or not expected.randomized)
        require(plain, "only equivalence classes and rings are verified by an engine; verify in memory")
        given = self._given if isinstance(self._given, JoinedOriginals) else None
        require(expected.joined or given is None, "a public table is given, but no claim is about it")
        if expected.joined:
            check_join_schema(None if given is None else given.table(), schema)
        require(not schema.having(Role.ENTITY), "rows of one person are not counted by an engine")
        require(not any(c.mean for c in schema.published), "means are not verified by an engine")
        rows = self._release.rows
        names = tuple(map(restored, self._csv.names)) if rows is None else rows.names
        shown = [c.name for c in schema.published if c.role is Role.QUASI or c.name in self._private]
        header = tuple(shown)
        require(len(set(names)) == len(names), "two published columns have the same name")
        require(names == header, "the published columns are not exactly those that the policy publishes")
        known = sorted(column.name for column in schema.columns)
        require(
            sorted(self._given.names) == known,
            "the original table does not have exactly the columns of the policy",
        )

    def cells(self) -> None:
        """Every distinct text of both tables is read."""
        quasi = [column.name for column in self._quasi_columns]
        self._original, self._released = self._read_original(quasi), self._read_released(quasi)
        missing = self._expected.schema.missing
        for column in self._expected.schema.columns:
            check_built(column, None)
        tables = self._original, self._released
        by_text = bool(self._expected.totals)  # these are checked text by text
        for j, column in enumerate(self._quasi_columns):
            self._quasi.append(ranked_column(self._session, column, tables, missing, j, by_text))
        for name in self._private:
            both, held = (has_both(self._session, each, name) for each in (self._released, self._original))
            one = held or not both
            require(one, f"column {name} of the release has both NULL and empty texts, the original not")

    def _read_original(self, quasi: list[str]) -> Relation:
        if isinstance(self._given, JoinedOriginals):
            self._people = read_people(self._session, self._given, self._expected.schema)
            return self._people.relation
        if isinstance(self._given, Relation):
            return self._given
        numbers: dict[str, Any] = {name: Numbering() for name in (*quasi, *self._private)}
        return rows_relation(self._session, self._given, numbers, "original_")

    def _read_released(self, quasi: list[str]) -> Relation:
        if self._release.rows is not None:
            return self._release.rows
        numbers = {name: Restoring(Numbering(), restored) for name in (*quasi, *self._private)}
        by_name = dict(zip(map(restored, self._csv.names), self._csv.names, strict=True))
        found = rows_relation(
            self._session, self._csv, {by_name[name]: each for name, each in numbers.items()}, "released_"
        )
        columns = {restored(name): column for name, column in found.columns.items()}
        joined = {restored(name): tables for name, tables in found.joined.items()}
        return Relation(found.sql, tuple(by_name), columns, joined)

    def rows(self) -> str:
        stated = self._folder.stated
        rows, records = (
            self._session.number(f"SELECT count(*) FROM {table.sql}")
            for table in (self._released, self._original)
        )
        require(rows > 0, "the release has no rows")
        require(stated.rows in (None, rows), "the manifest states a different number of rows")
        self.facts["rows"], self.facts["suppressed"] = rows, 0
        if self._people is not None:
            self._rows_of_two(self._people, rows)
            return ""
        nobody = self._expected.max_suppression in (None, "as stated") and stated.max_suppression is None
        require(nobody, "an engine verifies releases in which everybody has a row; verify in memory")
        all_there = rows == records and not stated.suppressed
        require(all_there, f"there are {rows} rows of {records} records, and nobody may be left out")
        return ""

    def _rows_of_two(self, people: CountedPeople, rows: int) -> None:
        stated = self._folder.stated
        given = {
            PUBLIC: (stated.public_rows, people.public_rows),
            SECOND: (stated.second_rows, people.second_rows),
        }
        for what, (count, found) in given.items():
            require(count in (None, found), f"the manifest states a different number of rows for {what}")
        nobody = stated.suppressed in (None, 0) and stated.max_suppression is None
        nobody = nobody and self._expected.max_suppression in (None, "as stated")
        require(nobody, "with a public table no row may be suppressed")
        own, everyone = people.own, people.everyone
        require(rows >= own, f"there are {rows} rows, fewer than the {own} people of the original table")
        require(rows <= everyone, f"there are {rows} rows, more than the {everyone} people of both tables")

    def private(self) -> None:
        tables = self._original, self._released
        if self._expected.in_series:
            self._truth = self._series.truth_of_last(*tables, self._quasi, self._private)
        else:
            self._truth = self._of_witness(self._session, *tables, self._quasi, self._private)
        self._truth.count()
        invented = self._truth.private_invented()
        more = "rows have sensitive and kept values that occur more often than in the original table"
        require(not invented, f"{invented} {more}")

    def truth(self) -> None:
        self._truth.check_witness(self._witness)
        self._truth.compare()
        self._sizes = self._truth.number_classes()
        self.facts["classes"], self.facts["smallest_class"] = self._sizes.size, int(self._sizes.min())
        if isinstance(self._truth, CohortTruth):
            self._series.add_last(self._truth)
        if self._people is not None and isinstance(self._truth, JoinedTruth):
            own, rows = self._people.own, self.facts["rows"]
            self.facts |= {"people": self._people.everyone, "own": own, "external": rows - own}
            people, private = (counts.tolist() for counts in self._truth.shares())
            shares = sorted({Fraction(*pair) for pair in zip(private, people, strict=True)})
            self.facts["presence"] = {"least": str(shares[0]), "most": str(shares[-1])}

    def order(self) -> str:
        """The order of the rows of some classes, or of all in a smaller table."""
        if isinstance(self._truth, JoinedTruth):
            return self._order_of_two(self._truth.sampled_people(MOST_IN_ORDER))
        place, kind, record_place, record_kind = self._truth.sampled(MOST_IN_ORDER)
        rows, records = np.lexsort((place, kind)), np.lexsort((record_place, record_kind))
        # the i-th row of a kind is matched with the i-th record of it; which one makes no difference
        rank = np.empty(records.size, np.int64)
        rank[np.argsort(record_place[records], kind="stable")] = np.arange(records.size)
        match = np.empty(rows.size, np.int64)
        match[rows] = rank
        in_file = np.argsort(place, kind="stable")
        remark = check_order(kind[in_file], match[in_file], rows.size)
        return remark or self._seen(rows.size)

    def _order_of_two(self, some: SampledPeople) -> str:
        """Who is behind which of equal rows is not known, and makes no difference."""
        remark = check_both_orders(some.row_class, some.match, some.own, some.listed, linked=False)
        return remark or self._seen(some.match.size)

    def _seen(self, rows: int) -> str:
        return "" if rows == self.facts["rows"] else f"seen on {rows:,} rows of whole classes"

    def domains(self) -> None:
        stated = self._folder.stated.domains or {}
        wrong = ", ".join(name for name, domain in self.named_domains.items() if stated.get(name) != domain)
        require(not wrong, f"the manifest states a different domain of {wrong} than the cells name")

    @property
    def named_domains(self) -> dict[str, Mapping[str, Any]]:
        """What the cells of each quasi-identifier name."""
        return {each.column.name: each.named() for each in self._quasi}

    def totals(self) -> None:
        table = CsvRows(self._release.folder / TOTALS_FILE, delimiter=",", canonical=True)
        columns = {
            each.column.name: (each.records.texts, each.records.counts)
            for each in self._quasi
            if isinstance(each, QuasiColumn)
        }
        self._in_totals = check_totals_by_count(
            table,
            restored,
            self._quasi_columns,
            self._expected.schema.missing,
            columns,
            self._expected.claims,
        )

    def hierarchies(self) -> None:
        table = CsvRows(self._release.folder / HIERARCHIES_FILE, delimiter=",", canonical=True)
        named = {
            each.column.name: frozenset(each.named().get("labels", []))
            | self._in_totals.get(each.column.name, frozenset())
            for each in self._quasi
        }
        check_hierarchies(table, restored, self._quasi_columns, self._expected.schema.missing, named)

    def chain(self) -> str:
        if self._in_series is None:
            raise CheckFailed("the ledger of the series and its earlier releases are not there")
        stated, expected = self._folder.stated.series, self._expected
        self._series = SeriesChecks(self._session, self._in_series, expected.schema, expected.claims, stated)
        return self._series.chain()

    def effective(self) -> str:
        return self._series.effective()

    def erased(self) -> str:
        return self._series.erased()

    def claim(self, claim: Claim) -> str:
        if claim.model in OF_SERIES:
            reached: int | str = self._series.claim(claim)
        else:
            reached = self._counted(claim)
        self.facts.setdefault("reached", {})[claim_name(claim)] = reached
        return f"reaches {reached}"

    def _counted(self, claim: Claim) -> int | str:
        """What the rows of this release reach."""
        schema, values_of = self._expected.schema, self._truth.values_of
        only_own = self._expected.joined and not joins([claim])
        require(not only_own, "the claim is about the original table only, but others have rows, too")
        return check_counted(claim, schema, self._sizes, values_of, self._rings)

    @cached_property
    def _rings(self) -> WitnessedRings | None:
        return WitnessedRings(self._truth) if isinstance(self._truth, RingTruth) else None

    def match_probability(self) -> None:
        """What is stated of match probabilities agrees with the claims, and the rings show it."""
        stated, claims = self._folder.stated.match_probability, self._expected.claims
        require(self._rings is not None, "match probabilities are verified of rings alone; verify in memory")
        check_match_probability(stated, claims, cast(Any, self._rings))
