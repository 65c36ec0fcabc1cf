"""People of a private and a public table in a database, numbered by the verifier's own SQL.

Everybody of the private table, then those of the public one who count: who have an id, lack no
quasi-identifier, are confirmed, and whose id is not another's written differently; of rows with one id the
first counts. Unless the join was accepted as unsafe, everybody of the private table must count, too, and is
described as the public table says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from incrowd.schema import Column, Role, Schema
from incrowd.verifier.claims.join import PublicTable, _bare, _meaning
from incrowd.verifier.columns import Ints, Numbering, RowSource
from incrowd.verifier.failure import require
from incrowd.verifier.in_engine.relations import (
    DistinctTexts,
    Relation,
    SqlSession,
    load_numbers,
    rows_relation,
    text_sql,
)
from incrowd.verifier.in_engine.truth import RECORD, ROW, TruthInEngine

PEOPLE = "people_"
_PLAIN = "[^ -~]"  # ids without such signs are bared by the database, others one by one


@dataclass(frozen=True, slots=True, eq=False)
class JoinedOriginals:
    """The private and the public table, and the second source that confirms it; `id` is in all of them.

    `files` are those of the public table and the second source, which the manifest must mean byte for byte.
    """

    private: Relation | RowSource
    public: Relation | RowSource
    id: str
    second: Relation | RowSource | None = None
    files: tuple[Path | None, Path | None] = field(default=(None, None))
    blind: bool = True

    @property
    def names(self) -> Sequence[str]:
        return self.private.names

    def table(self) -> PublicTable:
        """What is checked without reading rows: names, and what the manifest says of the files."""
        rows, second = cast(Any, self.public), cast(Any, self.second)
        return PublicTable(rows, self.id, second, *self.files, blind=self.blind)


@dataclass(frozen=True, slots=True, eq=False)
class CountedPeople:
    """How many people and rows there are; everybody is in the table people_, with a place in both tables."""

    own: int
    everyone: int
    public_rows: int
    second_rows: int | None
    relation: Relation


def read_people(session: SqlSession, given: JoinedOriginals, schema: Schema) -> CountedPeople:
    """Read all tables and find out who counts: the table people_ of own, place, listed and texts t0, t1, …"""
    return _PeopleReader(session, given, schema).read()


class _PeopleReader:
    def __init__(self, session: SqlSession, given: JoinedOriginals, schema: Schema) -> None:
        self._session, self._given, self._missing = session, given, sorted(schema.missing)
        self._quasi: tuple[Column, ...] = schema.having(Role.QUASI)

    def read(self) -> CountedPeople:
        session, given = self._session, self._given
        self._placed(given.private, "original_", "own_")
        own = self._check_own()
        self._placed(given.public, "public_", "listed_")
        second_rows = None
        if given.second is not None:
            self._placed(given.second, "second_", "confirming_")
            second_rows = session.number("SELECT count(*) FROM confirming_")
        self._mark()
        self._put_together()
        mine = session.number(f"SELECT count(*) FROM {PEOPLE} WHERE own = 1")
        words = "records of the original table are not, or not beyond doubt, in the public table"
        require(mine == own, f"{own - mine} {words}")
        public_rows = session.number("SELECT count(*) FROM listed_")
        for name in ("own_", "listed_", "marked_", *(("confirming_",) if given.second is not None else ())):
            session.run(f"DROP TABLE {name}")
        names = tuple(column.name for column in self._quasi)
        relation = Relation(PEOPLE, names, {name: f"{PEOPLE}.t{j}" for j, name in enumerate(names)})
        everyone = session.number(f"SELECT count(*) FROM {PEOPLE}")
        return CountedPeople(own, everyone, public_rows, second_rows, relation)

    @property
    def _texts(self) -> list[str]:
        return [f"t{j}" for j in range(len(self._quasi))]

    def _none(self, *more: str) -> str:
        return ", ".join(map(text_sql, sorted({*self._missing, *more})))

    @property
    def _no_id(self) -> str:
        return f"(id IS NULL OR id IN ({self._none('')}))"

    def _placed(self, rows: Relation | RowSource, read: str, table: str) -> None:
        """A table of ids, texts and places; what is not in the session yet is read by the verifier."""
        names = [self._given.id, *(column.name for column in self._quasi)]
        if not isinstance(rows, Relation):
            numbers: dict[str, Any] = {name: Numbering() for name in names}
            rows = rows_relation(self._session, rows, numbers, read)
        pairs = zip(names, ["id", *self._texts], strict=True)
        shown = [f"{rows.columns[name]} AS {short}" for name, short in pairs]
        self._session.run(
            f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT {', '.join(shown)}, place_ AS place "
            f"FROM {rows.placed}"
        )

    def _check_own(self) -> int:
        session = self._session
        nobody = session.number(f"SELECT count(*) FROM own_ WHERE {self._no_id}")
        require(not nobody, "a record of the original table has no id")
        twice = session.number("SELECT count(*) - count(DISTINCT id) FROM own_")
        require(not twice, "two records of the original table have the same id")
        return session.number("SELECT count(*) FROM own_")

    def _mark(self) -> None:
        """The first row of each id of the public table, if it counts: the table marked_."""
        session, given = self._session, self._given
        several = "SELECT bare FROM bares_ GROUP BY bare HAVING count(*) > 1"
        alike = several if given.blind else "SELECT bare FROM bares_ WHERE mine = 1"
        self._bare(f"SELECT id FROM own_ UNION SELECT id FROM listed_ WHERE id NOT IN ({self._none('')})")
        complete = " AND ".join(
            f"l.{t} IS NOT NULL" + (f" AND l.{t} NOT IN ({self._none()})" if self._missing else "")
            for t in self._texts
        )
        confirmed = self._confirmed() if given.second is not None else ""
        session.run(
            f"CREATE OR REPLACE TEMP TABLE marked_ AS SELECT l.* FROM listed_ l "
            "JOIN (SELECT id, min(place) AS place FROM listed_ GROUP BY id) f "
            "ON f.id = l.id AND f.place = l.place "
            f"JOIN bares_ b ON b.id = l.id LEFT JOIN (SELECT DISTINCT bare FROM ({alike})) a "
            f"ON a.bare = b.bare{confirmed} "
            f"WHERE l.id NOT IN ({self._none('')}) AND a.bare IS NULL AND {complete}"
        )

    def _bare(self, known: str) -> None:
        """Every id without what some write and others leave out: the table bares_."""
        session = self._session
        session.run(f"CREATE OR REPLACE TEMP TABLE ids_ AS {known}")
        odd = session.arrays(f"SELECT id FROM ids_ WHERE regexp_matches(id, '{_PLAIN}')")["id"]
        texts = np.empty(odd.size, object)
        texts[:] = [_bare(text) for text in odd.tolist()]
        session.load("odd_", {"id": odd.astype(object), "bare": texts}, {"id": "VARCHAR", "bare": "VARCHAR"})
        short = "CASE WHEN id LIKE '%.0' THEN substr(id, 1, length(id) - 2) ELSE id END"
        plain = f"ltrim(translate(lower({short}), ' -./_', ''), '0')"
        every = (
            f"SELECT id, coalesce({plain}, '') AS bare FROM ids_ "
            f"WHERE id IS NULL OR NOT regexp_matches(id, '{_PLAIN}') UNION ALL SELECT id, bare FROM odd_"
        )
        session.run(
            "CREATE OR REPLACE TEMP TABLE bares_ AS SELECT e.id, e.bare, (o.id IS NOT NULL)::INTEGER AS mine "
            f"FROM ({every}) e LEFT JOIN own_ o ON o.id = e.id"
        )

    def _confirmed(self) -> str:
        """Whom the second source describes in one way, and the public table in the same: as a join."""
        session = self._session
        joins = {"listed_": "", "confirming_": ""}
        for j, column in enumerate(self._quasi):
            texts: list[str | None] = []
            for table in joins:
                relation = Relation(table, (column.name,), {column.name: f"{table}.t{j}"})
                texts += DistinctTexts.of(session, relation, column.name).texts
            met, meant = list(dict.fromkeys(texts)), Numbering()
            numbers: Ints = np.array([meant[_meaning(column, text)] for text in met], np.int64)
            load_numbers(session, f"means{j}_", met, numbers)
            for table in joins:
                joins[table] += f" JOIN means{j}_ ON means{j}_.t IS NOT DISTINCT FROM {table}.t{j}"
        meanings = ", ".join(f"means{j}_.number AS m{j}" for j in range(len(self._quasi)))
        session.run(
            f"CREATE OR REPLACE TEMP TABLE said_ AS SELECT DISTINCT id, {meanings} FROM confirming_"
            f"{joins['confirming_']}"
        )
        session.run(
            "CREATE OR REPLACE TEMP TABLE once_ AS SELECT s.* FROM said_ s JOIN "
            "(SELECT id FROM said_ GROUP BY id HAVING count(*) = 1) o ON o.id = s.id"
        )
        session.run(
            f"CREATE OR REPLACE TEMP TABLE repeated_ AS SELECT listed_.place FROM listed_"
            f"{joins['listed_']} JOIN once_ ON once_.id = listed_.id AND "
            + " AND ".join(f"once_.m{j} = means{j}_.number" for j in range(len(self._quasi)))
        )
        return " JOIN repeated_ r ON r.place = l.place"

    def _put_together(self) -> None:
        mine = ", ".join(f"m.{t}" for t in self._texts)
        outside = (
            f"SELECT 0 AS own, m.place, m.place AS listed, {mine} FROM marked_ m "
            "LEFT JOIN own_ o ON o.id = m.id WHERE o.id IS NULL"
        )
        if self._given.blind:
            both = "own_ o JOIN marked_ m ON m.id = o.id"
            inside = f"SELECT 1 AS own, o.place, m.place AS listed, {mine} FROM {both}"
        else:
            own = ", ".join(f"o.{t}" for t in self._texts)
            inside = (
                f"SELECT 1 AS own, o.place, coalesce(f.place, -1) AS listed, {own} FROM own_ o LEFT JOIN "
                "(SELECT id, min(place) AS place FROM listed_ GROUP BY id) f ON f.id = o.id"
            )
        self._session.run(f"CREATE OR REPLACE TEMP TABLE {PEOPLE} AS {inside} UNION ALL {outside}")


class JoinedTruth(TruthInEngine):
    """Truth where people of a public table have rows, too: every class has as many rows as people.

    The witness says which distinct records have a row, and in which class; who has none is in none.
    """

    def compare(self) -> None:
        session, keys = self._session, self._cell_words
        own = Relation(f"(SELECT * FROM {PEOPLE} WHERE own = 1) {PEOPLE}", (), self._original.columns)
        session.run(
            f"CREATE OR REPLACE TEMP TABLE private_ AS SELECT {self._record_words}, count(*) AS n "
            f"FROM ({self._numbered(own, RECORD)}) GROUP BY ALL"
        )
        there = session.number(f"SELECT sum(n) FROM private_ JOIN witness_ USING ({self._record_words})")
        lost = session.number("SELECT sum(n) FROM private_") - there
        require(not lost, f"{lost} people of the original table have no row, as far as the witness says")
        placed = f"records_ JOIN witness_ USING ({self._record_words})"
        off = session.number(
            f"SELECT sum(abs(n)) FROM (SELECT {keys}, sum(n) AS n FROM (SELECT {keys}, n FROM rows_ "
            f"UNION ALL SELECT {keys}, -n FROM {placed}) GROUP BY ALL HAVING sum(n) <> 0)"
        )
        require(not off, f"{off} rows describe nobody, or people of a class have no row, by the witness")

    def shares(self) -> tuple[Ints, Ints]:
        """For each class, how many people it has and how many of them are private."""
        found = self._session.arrays(
            f"SELECT m.number AS c, m.n AS n, coalesce(sum(p.n), 0)::BIGINT AS own FROM numbered_ m "
            f"JOIN witness_ w USING ({self._cell_words}) LEFT JOIN private_ p USING ({self._record_words}) "
            "GROUP BY m.number, m.n ORDER BY m.number"
        )
        return found["n"].astype(np.int64), found["own"].astype(np.int64)

    def sampled_people(self, most: int) -> SampledPeople:
        """Rows and people of some whole classes, taken at equal steps so that there are about so many."""
        session = self._session
        step = max(1, -(-session.number("SELECT sum(n) FROM rows_") // most))
        session.run(
            f"CREATE OR REPLACE TEMP TABLE chosen_ AS SELECT * FROM numbered_ WHERE number % {step} = 0"
        )
        session.run(
            f"CREATE OR REPLACE TEMP TABLE sought_ AS SELECT {self._record_words}, number FROM witness_ "
            f"JOIN chosen_ USING ({self._cell_words})"
        )
        rows = session.arrays(self._placed(self._released, ROW, "chosen_", self._cell_words))
        numbered = self._numbered(self._original, RECORD, f"{PEOPLE}.own, {PEOPLE}.place, {PEOPLE}.listed")
        people = session.arrays(
            f"SELECT own, place, listed, number FROM ({numbered}) JOIN sought_ USING ({self._record_words})"
        )
        return SampledPeople.of(
            *(rows[name].astype(np.int64) for name in ("place", "number")),
            *(people[name].astype(np.int64) for name in ("own", "place", "listed", "number")),
        )


@dataclass(frozen=True, slots=True, eq=False)
class SampledPeople:
    """Rows in their order: the class of each, and somebody of it; own people have the first numbers.

    Everybody of a class has a row of it; whose each is makes no difference to what is looked at.
    """

    row_class: Ints
    match: Ints
    own: int
    listed: Ints

    @classmethod
    def of(
        cls, row_place: Ints, row_class: Ints, own: Ints, place: Ints, listed: Ints, of_class: Ints
    ) -> SampledPeople:
        in_file = np.argsort(row_place, kind="stable")
        kinds, row_kind = np.unique(row_class[in_file], return_inverse=True)
        people = np.lexsort((place, -own))
        kind = np.searchsorted(kinds, of_class[people])
        match = np.empty(row_kind.size, np.int64)
        match[np.argsort(row_kind, kind="stable")] = np.argsort(kind, kind="stable")
        return cls(row_kind, match, int(own.sum()), listed[people])
