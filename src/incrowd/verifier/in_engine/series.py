"""A series whose ledgers are in a database: chain, dates, repetitions, erasures, and everybody's history.

The same checks as in memory, by SQL. The rows of every release are compared with its effective table again.
Who has which row is taken from the ledger: which class a cohort has is a witness, and checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.schema import Claim, Role, Schema
from incrowd.verifier.chain import LedgerChain, check_read_alike
from incrowd.verifier.claims.registry import MODELS
from incrowd.verifier.claims.subject import _meaning
from incrowd.verifier.columns import Numbering, Restoring, RowSource, restored
from incrowd.verifier.csv_file import CsvRows
from incrowd.verifier.failure import require, whole
from incrowd.verifier.folder import CSV
from incrowd.verifier.in_engine.ledgers import FILES, LedgerChecks, LedgerTables
from incrowd.verifier.in_engine.parted import PartedTruth
from incrowd.verifier.in_engine.ranked_columns import ClassWitness, RankedColumn
from incrowd.verifier.in_engine.relations import Relation, SqlSession, joins, load_numbers, rows_relation
from incrowd.verifier.in_engine.truth import RECORD, ROW
from incrowd.verifier.in_engine.whole_numbers import ranked_column

OF_SERIES = ("series-k", "series-l")
PLACED = "cohorts_"  # the class of each cohort, as words of its cells


@dataclass(frozen=True, slots=True, eq=False)
class EarlierInEngine:
    """An earlier release of a series, its audit and its columns; `rows` are those of Parquet files."""

    folder: Path
    audit: Path
    schema: Schema
    rows: Relation | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SeriesInEngine:
    """A release of a series and its audit, and the table of `today`, whose people `entity` tells apart.

    `earlier` are the releases before it, the first one first. One that is `staged` is not yet the successor
    of the last of them.
    """

    today: Relation | RowSource
    entity: str
    release: Path
    audit: Path
    earlier: Sequence[EarlierInEngine] = ()
    staged: bool = False


class CohortTruth(PartedTruth):
    """Truth where the ledger says which cohort a record is of, and the witness which cells a cohort has.

    The original has a column who_; `people` is the relation of number, cohort and as_of.
    """

    def __init__(
        self,
        session: SqlSession,
        original: Relation,
        released: Relation,
        quasi: Sequence[RankedColumn],
        private: Sequence[str],
        people: str,
    ) -> None:
        super().__init__(session, original, released, quasi, private)
        alias = original.sql.split()[-1]
        joined = f"SELECT {alias}.*, p.cohort AS cohort_, p.as_of AS date_ FROM {original.sql}"
        joined += f" JOIN {people} p ON p.number = {alias}.who_"
        self._with_cohorts = Relation(f"({joined}) {alias}", original.names, original.columns)

    def count(self) -> None:
        """As ever; records also by the cohort that they are of, in the table lines_."""
        session, record = self._session, f"{self._record_words}{self._and_parts}"
        self._read_shown()
        for table, numbered, words in (
            ("rows_", self._numbered(self._released, ROW), f"{self._cell_words}{self._and_parts}"),
            ("lines_", self._numbered(self._with_cohorts, RECORD, "cohort_ AS class"), f"{record}, class"),
        ):
            session.run(
                f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT {words}, count(*) AS n "
                f"FROM ({numbered}) GROUP BY ALL"
            )
            given = self._released if table == "rows_" else self._original
            there = session.number(f"SELECT count(*) FROM {given.sql}")
            counted = session.number(f"SELECT sum(n) FROM {table}")
            require(counted == there, "some rows or records have a text that has no number, or no cohort")
        session.run(
            f"CREATE OR REPLACE TEMP TABLE records_ AS SELECT {record}, sum(n)::BIGINT AS n FROM lines_ "
            "GROUP BY ALL"
        )

    def check_witness(self, witness: ClassWitness) -> None:
        """Every record lies in the cells of its cohort's class."""
        session, d = self._session, self._columns
        self._read_classes(witness)
        twice = session.number("SELECT count(*) - count(DISTINCT class) FROM classes_")
        require(not twice, f"{twice} classes of the witness have the number of another one")
        for j in d:
            rank = self._ranks.field(j, f"lines_.{RECORD}")
            self._check_held(
                j, f"SELECT {rank} AS v, classes_.c{j} AS c FROM lines_ JOIN classes_ USING (class)"
            )
        shown = self._cells_of("classes_.")
        session.run(
            f"CREATE OR REPLACE TEMP TABLE witness_ AS SELECT {self._record_words}{self._and_parts}, "
            f"{shown}, n FROM lines_ JOIN classes_ USING (class)"
        )
        session.run(f"CREATE OR REPLACE TEMP TABLE {PLACED} AS SELECT class, {shown} FROM classes_")
        session.run("DROP TABLE lines_")
        session.run("DROP TABLE classes_")

    def write_history(self, table: str, schema: Schema, columns: Sequence[str]) -> None:
        """A table of all who have a row: who, class, date, and values v0, v1, … of sensitive columns."""
        session, parts = self._session, ""
        values = []
        for i, name in enumerate(columns):
            (column,) = [each for each in schema.having(Role.SENSITIVE) if each.name == name]
            text = f"coalesce({self._original.columns[name]}, '')"
            texts = [row[0] for row in session.rows(f"SELECT t FROM parts{self._private.index(name)}_")]
            meant = Numbering()
            numbers = np.array([meant[_meaning(column, each, schema.missing)] for each in texts], np.int64)
            load_numbers(session, f"meant{i}_", texts, numbers)
            parts += joins([f"meant{i}_"], [text], [False])
            values.append(f", meant{i}_.number AS v{i}")
        session.run(
            f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT who_ AS who, numbered_.number AS class, "
            f"date_ AS date{''.join(values)} FROM {self._with_cohorts.source}{parts} "
            f"JOIN {PLACED} ON {PLACED}.class = cohort_ JOIN numbered_ USING ({self._cell_words})"
        )


class SeriesChecks:
    """The checks of a series. What a check learns, later ones use."""

    def __init__(
        self,
        session: SqlSession,
        series: SeriesInEngine,
        schema: Schema,
        claims: Sequence[Claim],
        stated: Any,
    ) -> None:
        self._session, self._series, self._schema, self._stated = session, series, schema, stated
        self._places = [(each.folder, each.audit) for each in series.earlier]
        self._places.append((series.release, series.audit))
        self._columns = [claim.column for claim in claims if claim.model == "series-l"]
        schemas = self._schemas = [*(each.schema for each in series.earlier), schema]
        ledgers = [LedgerTables.of(audit, of) for (_, audit), of in zip(self._places, schemas, strict=True)]
        self._ledgers, self._checks = ledgers, LedgerChecks(session, ledgers)
        self._key = b""
        self._atoms = False

    def chain(self) -> str:
        chain = LedgerChain(self._places, self._series.staged, FILES)
        self._key = chain.key(chain.check())
        return f"{len(self._places)} releases"

    def effective(self) -> str:
        check_read_alike(self._schemas)
        for at in range(len(self._ledgers)):
            self._checks.check_people(at)
            self._checks.check_rows(at)
            if at:
                self._checks.check_repeated(at)
        today = self._checks.read_today(self._series.today, self._series.entity, self._key)
        self._checks.check_current(today)
        counts = self._checks.counts()
        said = self._stated if isinstance(self._stated, dict) else {}
        require(
            all(said.get(key) == count and type(said.get(key)) is int for key, count in counts.items()),
            "the manifest states other numbers of people who wait, linger or are withheld, or another date",
        )
        for at, each in enumerate(self._series.earlier):
            self._earlier(at, each)
        return f"{counts['lingering']} lingering, {counts['waiting']} waiting, {counts['withheld']} withheld"

    def erased(self) -> str:
        gone = [self._checks.check_erased(at) for at in range(len(self._ledgers))]
        return f"{gone[-1]} people"

    # Histories

    def _earlier(self, at: int, each: EarlierInEngine) -> None:
        """The rows of an earlier release are true of its effective table: who had which class."""
        original = self._ledgers[at].rows(self._session)
        private = [column.name for column in each.schema.having(Role.SENSITIVE, Role.KEEP)]
        quasi = [column.name for column in each.schema.having(Role.QUASI)]
        released = each.rows if each.rows is not None else self._csv(each.folder, [*quasi, *private])
        columns = [
            ranked_column(self._session, column, (original, released), each.schema.missing, j)
            for j, column in enumerate(each.schema.having(Role.QUASI))
        ]
        truth = self._truth(at, original, released, columns, private)
        truth.count()
        truth.check_witness(ClassWitness("", self._ledgers[at].classes))
        truth.compare()
        truth.number_classes()
        truth.write_history(f"history{at}_", each.schema, self._columns)

    def _csv(self, folder: Path, wanted: Sequence[str]) -> Relation:
        rows = CsvRows(folder / CSV, delimiter=",", canonical=True)
        by_name = dict(zip(map(restored, rows.names), rows.names, strict=True))
        numbers = {by_name[name]: Restoring(Numbering(), restored) for name in wanted}
        found = rows_relation(self._session, rows, numbers, "earlier_")
        columns = {restored(name): column for name, column in found.columns.items()}
        joined = {restored(name): tables for name, tables in found.joined.items()}
        return Relation(found.sql, tuple(by_name), columns, joined)

    def _truth(
        self,
        at: int,
        original: Relation,
        released: Relation,
        quasi: Sequence[RankedColumn],
        private: Sequence[str],
    ) -> CohortTruth:
        people = self._ledgers[at].people
        return CohortTruth(self._session, original, released, quasi, private, people)

    def truth_of_last(
        self, original: Relation, released: Relation, quasi: Sequence[RankedColumn], private: Sequence[str]
    ) -> CohortTruth:
        return self._truth(len(self._ledgers) - 1, original, released, quasi, private)

    @property
    def witness(self) -> ClassWitness:
        """Of the last release."""
        return ClassWitness("", self._ledgers[-1].classes)

    def add_last(self, truth: CohortTruth) -> None:
        """Histories with the last release: the table histories_, the class and date in each as one number."""
        number = len(self._ledgers) - 1
        truth.write_history(f"history{number}_", self._schema, self._columns)
        many, joined = len(self._ledgers), ""
        shown = []
        for at in range(many):
            shown.append(f"coalesce(history{at}_.class * {many} + history{at}_.date, -1) AS h{at}")
            joined += f" LEFT JOIN history{at}_ ON history{at}_.who = p.number"
        self._session.run(
            f"CREATE OR REPLACE TEMP TABLE histories_ AS SELECT p.number AS who, {', '.join(shown)} "
            f"FROM {self._ledgers[-1].people} p{joined}"
        )
        self._atoms = True

    def claim(self, claim: Claim) -> int:
        """What the series reaches."""
        exact = set(claim.parameters) == set(MODELS[claim.model].parameters)
        require(exact, "the claim does not have exactly the parameters of its model")
        require(self._atoms, "the histories of people were not read")
        return self._k(claim) if claim.model == "series-k" else self._l(claim)

    @property
    def _history(self) -> str:
        return ", ".join(f"h{at}" for at in range(len(self._ledgers)))

    def _k(self, claim: Claim) -> int:
        ever = " OR ".join(f"h{at} >= 0" for at in range(len(self._ledgers)))
        fewest = self._session.number(
            f"SELECT min(n) FROM (SELECT count(*) AS n FROM histories_ WHERE {ever} GROUP BY {self._history})"
        )
        k = whole(claim, "k")
        require(fewest >= k, f"in all releases together {fewest} people have a history of their own, k = {k}")
        return fewest

    def _l(self, claim: Claim) -> int:
        least, reached = whole(claim, "l"), []
        value = f"v{self._columns.index(claim.column)}"
        for at in range(len(self._ledgers)):
            counted = (
                f"SELECT {self._history}, {value} AS v, count(*) AS n FROM history{at}_ "
                f"JOIN histories_ USING (who) GROUP BY ALL"
            )
            reached.append(
                self._session.number(
                    f"SELECT min(people // most) FROM (SELECT sum(n)::BIGINT AS people, max(n) AS most "
                    f"FROM ({counted}) GROUP BY {self._history})"
                )
            )
            require(
                reached[-1] >= least,
                f"in release {at} a value makes up more than 1/{least} of people with one history",
            )
        return min(reached)


def effective_rows(session: SqlSession, audit: Path, schema: Schema) -> Relation:
    """The effective table of a ledger: what the release beside it is about."""
    return LedgerTables.of(audit, schema).rows(session)
