"""Ledgers of a series in a database: everybody's cohort, date and row of each release, and today's table.

People have numbers that they keep in all ledgers; a ledger that gives a number to somebody else is rejected.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from incrowd.schema import CLASSES, LARGE_EFFECTIVE, LARGE_PEOPLE, Role, Schema
from incrowd.verifier.columns import Numbering, RowSource
from incrowd.verifier.failure import require
from incrowd.verifier.in_engine.relations import Relation, SqlSession, rows_relation, text_sql

FILES = frozenset({LARGE_PEOPLE, LARGE_EFFECTIVE, CLASSES, "schema.json"})
SAYS = ("number", "high", "low", "cohort", "as_of", "erased")
IDS_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class LedgerTables:
    """The files of one ledger as relations; `entity` is the column of the effective table with numbers."""

    audit: Path
    entity: str
    published: tuple[str, ...]

    @classmethod
    def of(cls, audit: Path, schema: Schema) -> LedgerTables:
        named = schema.having(Role.IDENTIFIER)
        require(len(named) == 1, "the effective table does not have one column that tells people apart")
        return cls(audit, named[0].name, tuple(column.name for column in schema.published))

    @property
    def people(self) -> str:
        return f"read_parquet({text_sql(str(self.audit / LARGE_PEOPLE))})"

    @property
    def effective(self) -> str:
        """Rows with who, and the published cells t0, t1, …; nothing is the empty text."""
        cells = "".join(f", coalesce({_quoted(name)}, '') AS t{i}" for i, name in enumerate(self.published))
        source = f"read_parquet({text_sql(str(self.audit / LARGE_EFFECTIVE))})"
        return f"(SELECT {_quoted(self.entity)} AS who{cells} FROM {source})"

    @property
    def classes(self) -> str:
        return f"read_parquet({text_sql(str(self.audit / CLASSES))})"

    def rows(self, session: SqlSession) -> Relation:
        """The effective table as the original of its release; `who_` is the number of each row's person."""
        source = f"read_parquet({text_sql(str(self.audit / LARGE_EFFECTIVE))})"
        described = session.rows(f"DESCRIBE SELECT * FROM {source}")
        columns = {name: _quoted(name) for name, kind, *_ in described if kind == "VARCHAR"}
        is_whole = {*self.published} <= {*columns} and self.entity not in columns
        require(is_whole, "the effective table lacks columns that are published, or they are no texts")
        shown = ", ".join(f"{column} AS x{at}" for at, column in enumerate(columns.values()))
        named = {name: f"effective_rows.x{at}" for at, name in enumerate(columns)}
        rows = f"(SELECT {shown}, {_quoted(self.entity)} AS who_ FROM {source}) effective_rows"
        return Relation(rows, tuple(row[0] for row in described), named)


class LedgerChecks:
    """What the ledgers say of each other and of today's table. `number` is that of the last release."""

    def __init__(self, session: SqlSession, ledgers: Sequence[LedgerTables]) -> None:
        self._session, self._ledgers = session, ledgers

    @property
    def _last(self) -> LedgerTables:
        return self._ledgers[-1]

    @property
    def number(self) -> int:
        return len(self._ledgers) - 1

    def _none(self, sql: str, otherwise: str) -> None:
        """Stop unless a query counts nothing."""
        require(not self._session.number(f"SELECT count(*) FROM {sql}"), otherwise)

    def _same(self, one: str, other: str, otherwise: str) -> None:
        """Stop unless two queries count the same."""
        counted = [self._session.number(f"SELECT count(*) FROM {sql}") for sql in (one, other)]
        require(counted[0] == counted[1], otherwise)

    # Each ledger, and the one before it

    def check_people(self, at: int) -> None:
        """Everybody is there once, with the number that they had."""
        people = self._ledgers[at].people
        known = " OR ".join(f"{name} IS NULL" for name in SAYS)
        self._none(f"{people} WHERE {known}", "a ledger does not say everything of everybody")
        for who in ("number", "high, low"):
            several = f"(SELECT 1 FROM {people} GROUP BY {who} HAVING count(*) > 1)"
            self._none(several, "somebody is twice in a ledger")
        if at:
            before = self._ledgers[at - 1].people
            both = f"{before} o JOIN {people} p USING (number, high, low)"
            self._same(before, both, "a ledger lacks somebody of the one before, or numbers them anew")

    def check_rows(self, at: int) -> None:
        """The effective table has one row for everybody with a class; classes have one date."""
        ledger = self._ledgers[at]
        several = f"(SELECT 1 FROM {ledger.effective} GROUP BY who HAVING count(*) > 1)"
        self._none(several, "somebody has two rows in the effective table")
        shown = f"{ledger.people} WHERE cohort >= 0"
        there = f"{ledger.effective} e JOIN (SELECT * FROM {shown}) p ON p.number = e.who"
        what = "the effective table is not about exactly those who have a class in the ledger"
        self._same(ledger.effective, there, what)
        self._same(shown, there, what)
        mixed = f"(SELECT 1 FROM {shown} GROUP BY cohort HAVING min(as_of) <> max(as_of))"
        self._none(mixed, "a class has rows of different dates")
        outside = f"{shown} AND (as_of < 0 OR as_of > {at})"
        self._none(outside, "a class has a date before or after all releases")

    def check_repeated(self, at: int) -> None:
        """A class with an older date is, person by person and cell by cell, one of the release before."""
        ledger, before = self._ledgers[at], self._ledgers[at - 1]
        old = f"(SELECT * FROM {ledger.people} WHERE cohort >= 0 AND as_of < {at})"
        both = f"{old} n JOIN (SELECT * FROM {before.people} WHERE cohort >= 0) o USING (number)"
        self._same(old, both, "a repeated class has somebody who had no row in the release before")
        self._none(f"{both} WHERE o.as_of <> n.as_of", "a repeated class has another date than before")
        other = " OR ".join(f"a.t{i} <> b.t{i}" for i in range(len(ledger.published)))
        cells = (
            f"{ledger.effective} a JOIN {before.effective} b USING (who) "
            f"JOIN {old} n ON n.number = a.who WHERE {other}"
        )
        self._none(cells, "a repeated class does not show what the release before showed")
        sizes = (
            f"(SELECT cohort AS had, count(*) AS size FROM {before.people} WHERE cohort >= 0 GROUP BY cohort)"
        )
        found = self._session.rows(
            f"SELECT count(*), count(DISTINCT now), count(DISTINCT had), count(*) FILTER (WHERE n <> size) "
            f"FROM (SELECT n.cohort AS now, o.cohort AS had, count(*) AS n FROM {both} GROUP BY ALL) "
            f"JOIN {sizes} USING (had)"
        )[0]
        one = found[0] == found[1] == found[2] and not found[3]
        require(one, "a repeated class has more or fewer people than in the release before")

    def check_erased(self, at: int) -> int:
        """Who is erased stays so, and has no row -> how many are."""
        people = self._ledgers[at].people
        if at:
            before = f"{self._ledgers[at - 1].people} o JOIN {people} p USING (number)"
            self._none(f"{before} WHERE o.erased AND NOT p.erased", "somebody is not erased any more")
        still = self._session.number(f"SELECT count(*) FROM {people} WHERE erased AND cohort >= 0")
        require(not still, f"{still} people who were erased have a row")
        return self._session.number(f"SELECT count(*) FROM {people} WHERE erased")

    # The table of today

    def read_today(self, given: Relation | RowSource, entity: str, key: bytes) -> Relation:
        """Who is in today's table: the table who_ of place and number; rows stay as they are."""
        session, names = self._session, (entity, *self._last.published)
        lacking = set(names) - set(given.names)
        require(not lacking, "the table of today lacks columns that are published")
        today = given
        if not isinstance(today, Relation):
            today = rows_relation(session, today, {name: Numbering() for name in names}, "today_")
        text = today.columns[entity]
        session.run(
            f"CREATE OR REPLACE TEMP TABLE ids_ AS SELECT place_ AS place, coalesce({text}, '') AS id "
            f"FROM {today.placed}"
        )
        rows = session.number("SELECT count(*) FROM ids_")
        session.run("CREATE OR REPLACE TEMP TABLE digests_ (place BIGINT, high UBIGINT, low UBIGINT)")
        for first in range(0, rows, IDS_AT_ONCE):
            some = session.arrays(
                f"SELECT place, id FROM ids_ WHERE place BETWEEN {first} AND {first + IDS_AT_ONCE - 1}"
            )
            halves = np.frombuffer(
                b"".join(hmac.digest(key, text.encode(), hashlib.sha256)[:16] for text in some["id"]), ">u8"
            ).reshape(-1, 2)
            both = {name: halves[:, i].astype(np.uint64) for i, name in enumerate(("high", "low"))}
            session.append("digests_", {"place": some["place"], **both})
        session.run("DROP TABLE ids_")
        session.run(
            f"CREATE OR REPLACE TEMP TABLE who_ AS SELECT d.place, p.number FROM digests_ d "
            f"JOIN {self._last.people} p USING (high, low)"
        )
        session.run("DROP TABLE digests_")
        several = "(SELECT 1 FROM who_ GROUP BY number HAVING count(*) > 1)"
        self._none(several, "somebody has two rows in the table of today")
        known = session.number("SELECT count(*) FROM who_") == rows
        require(known, "somebody of the table of today is not in the ledger")
        return today

    def check_current(self, today: Relation) -> None:
        """Classes of today's date show today's table."""
        last = self._last
        current = f"(SELECT * FROM {last.people} WHERE cohort >= 0 AND as_of = {self.number})"
        there = f"{current} p JOIN who_ USING (number)"
        self._same(current, there, "a current class has somebody who is not in the table of today")
        cells = ", ".join(
            f"coalesce({today.columns[name]}, '') AS s{i}" for i, name in enumerate(last.published)
        )
        now = f"(SELECT place_, {cells} FROM {today.placed})"
        other = " OR ".join(f"t{i} <> s{i}" for i in range(len(last.published)))
        placed = f"(SELECT number, place FROM {there}) c"
        self._none(
            f"{last.effective} e JOIN {placed} ON c.number = e.who JOIN {now} t ON t.place_ = c.place "
            f"WHERE {other}",
            "a current class does not have the values of the table of today",
        )

    def counts(self) -> dict[str, int]:
        """Who waits, lingers or is withheld, and the oldest date."""
        ever = " UNION ".join(f"SELECT who FROM {each.effective}" for each in self._ledgers)
        found = self._session.rows(
            "SELECT count(*) FILTER (WHERE here AND NOT erased AND NOT ever), "
            "count(*) FILTER (WHERE cohort >= 0 AND NOT here), "
            "count(*) FILTER (WHERE here AND NOT erased AND ever AND cohort < 0), "
            "min(as_of) FILTER (WHERE cohort >= 0) FROM (SELECT p.*, w.number IS NOT NULL AS here, "
            f"e.who IS NOT NULL AS ever FROM {self._last.people} p LEFT JOIN who_ w USING (number) "
            f"LEFT JOIN ({ever}) e ON e.who = p.number)"
        )[0]
        require(found[3] is not None, "nobody has a row")
        return dict(zip(("waiting", "lingering", "withheld", "oldest"), map(int, found), strict=True))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
