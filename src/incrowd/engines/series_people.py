"""Everybody of a series, in a session of DuckDB: who is here, in which cohort and atom, since when waiting.

The table `series_state` has a line for each person: the number that they keep, the place of their row today,
both halves of their digest, and what the last ledger says of them. It is asked by GROUP BYs; what is decided
comes back as tables of cohorts and of some people, and the next ledger is written from all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.base import Lookup
from incrowd.engines.labelled import LABEL, FilledTable, filled
from incrowd.engines.ledger_files import LedgerFiles
from incrowd.engines.session import DuckSession, parquet_sql, quoted, quoted_text
from incrowd.engines.table_files import TextTable
from incrowd.errors import TableError
from incrowd.flow import Codes

Ints = NDArray[np.int64]
Digests = Callable[[Sequence[str]], NDArray[np.uint64]]  # texts -> both halves of each digest (m, 2)
IDS_AT_ONCE = 1_000_000
STATE = "series_state"
HERE = "(place IS NOT NULL AND NOT erased)"
UNDECIDED = "number IN (SELECT number FROM series_some)"
NEW = f"(atom = 0 AND cohort < 0 AND {HERE})"  # who waits for a first row
WROTE = "(FORMAT parquet)"


@dataclass(frozen=True, slots=True, eq=False)
class SomePeople:
    """Some people, by their numbers in ascending order."""

    number: Codes
    atom: Ints
    cohort: Codes
    since: Codes
    present: NDArray[np.bool_]
    erased: NDArray[np.bool_]


class SeriesPeople:
    """The people of a series while its next release, of this number, is made from today's table."""

    def __init__(
        self,
        session: DuckSession,
        folder: Path,
        today: TextTable,
        entity: str,
        number: int,
        before: LedgerFiles | None,
    ) -> None:
        self._session, self._folder, self._today, self._entity = session, folder, today, entity
        self.number, self._before = number, before
        self.known = 0  # people of the last ledger
        self._placed = f"(SELECT *, row_number() OVER () - 1 AS place_ FROM {today.relation})"

    # Who is who

    def identify(self, digests: Digests, missing: frozenset[str]) -> None:
        """Give everybody the number that they have, and newcomers the next ones, in the order of digests."""
        self._read_ids(digests, missing)
        if self._before is None:  # sessions keep the order of sorted rows, so that these need no window
            self._session.run(
                f"CREATE OR REPLACE TEMP TABLE {STATE} AS SELECT "
                "(row_number() OVER () - 1)::INTEGER AS number, place, high, low, 0::BIGINT AS atom, "
                "-1 AS cohort, -1 AS as_of, -1 AS since, false AS erased "
                "FROM (SELECT * FROM series_ids ORDER BY high, low)"
            )
        else:
            self._join(parquet_sql(self._before.people))
        self._session.run("DROP TABLE series_ids")

    @property
    def _ids(self) -> Path:
        """The ids of today's rows, with their places."""
        return self._folder / "ids.parquet"

    def forget_ids(self) -> None:
        """From here on people have numbers alone."""
        self._ids.unlink()

    def known_here(self) -> int:
        """How many people of the last ledger are in today's table."""
        return self._session.number(
            f"SELECT count(*) FROM {STATE} WHERE place IS NOT NULL AND number < {self.known}"
        )

    def new_ids(self, most: int) -> list[str]:
        """The ids of people whom the last ledger does not know, so many at most, in the order of digests."""
        found = self._session.arrays(
            f"SELECT id FROM {parquet_sql(self._ids)} JOIN (SELECT place FROM {STATE} WHERE "
            f"place IS NOT NULL AND number >= {self.known} ORDER BY number LIMIT {most}) USING (place)"
        )
        return [str(text) for text in found["id"].tolist()]

    def away(self, digests: NDArray[np.uint64]) -> int:
        """How many of these are people of the last ledger who are not in today's table."""
        self._session.load("series_meant", {"high": digests[:, 0], "low": digests[:, 1]})
        found = self._session.number(
            f"SELECT count(*) FROM {STATE} JOIN series_meant USING (high, low) WHERE place IS NULL"
        )
        self._session.run("DROP TABLE series_meant")
        return found

    def also_in(self, ledger: LedgerFiles, digests: NDArray[np.uint64]) -> int:
        """How many of these are people of a ledger."""
        self._session.load("series_meant", {"high": digests[:, 0], "low": digests[:, 1]})
        found = self._session.number(
            f"SELECT count(*) FROM {parquet_sql(ledger.people)} JOIN series_meant USING (high, low)"
        )
        self._session.run("DROP TABLE series_meant")
        return found

    def _join(self, people: str) -> None:
        self._session.run(
            f"CREATE OR REPLACE TEMP TABLE {STATE} AS SELECT o.number, d.place, "
            "coalesce(o.high, d.high) AS high, coalesce(o.low, d.low) AS low, "
            "coalesce(o.atom, 0) AS atom, coalesce(o.cohort, -1) AS cohort, coalesce(o.as_of, -1) AS as_of, "
            "coalesce(o.since, -1) AS since, coalesce(o.erased, false) AS erased "
            f"FROM series_ids d FULL JOIN {people} o ON d.high = o.high AND d.low = o.low"
        )
        known = self.known = self._session.number(f"SELECT count(*) FROM {people}")
        self._session.run(
            f"UPDATE {STATE} SET number = n.number FROM (SELECT place, "
            f"({known} + row_number() OVER (ORDER BY high, low) - 1)::INTEGER AS number FROM {STATE} "
            f"WHERE number IS NULL) n WHERE {STATE}.number IS NULL AND {STATE}.place = n.place"
        )

    def _read_ids(self, digests: Digests, missing: frozenset[str]) -> None:
        """The digest of every row's id, in the table series_ids; ids that are no ids are refused."""
        session, path, entity = self._session, self._ids, self._entity
        table = FilledTable(self._today.names, f"{self._placed} t", self._today.types, self._today.rows)
        table.looked_up, table.called = self._today.looked_up, self._today.called
        cells = f"{table.text(entity)} AS id, place_::INTEGER AS place"
        session.save(f"SELECT {cells} FROM {table.joined([entity])}", path, compression="uncompressed")
        session.run("CREATE OR REPLACE TEMP TABLE series_ids (place INTEGER, high UBIGINT, low UBIGINT)")
        without, halves = 0, []
        for first in range(0, self._today.rows, IDS_AT_ONCE):
            found = session.arrays(
                f"SELECT id, place FROM read_parquet({quoted_text(str(path))}, file_row_number = true) "
                f"WHERE file_row_number BETWEEN {first} AND {first + IDS_AT_ONCE - 1}"
            )
            ids = found["id"].tolist()
            without += sum(map(missing.__contains__, ids))
            both = digests(ids)
            session.append("series_ids", {"place": found["place"], "high": both[:, 0], "low": both[:, 1]})
            halves.append(both[:, 0])
        if without:
            raise TableError(f"{entity}: {without} rows have no id, and a series must know whose they are")
        self._check_once(np.sort(np.concatenate(halves)))

    def _check_once(self, halves: NDArray[np.uint64]) -> None:
        if halves.size != self._today.rows:
            raise TableError("the table changed while it was read; nothing was published")
        if not (halves[1:] == halves[:-1]).any():
            return
        several = self._session.number(
            "SELECT count(*) FROM (SELECT 1 FROM series_ids GROUP BY high, low HAVING count(*) > 1)"
        )
        if several:
            raise TableError(
                f"{self._entity}: {several} people have several rows, and a series takes one row a person; "
                "merge them first"
            )

    def erase(self, digests: NDArray[np.uint64]) -> int:
        """Mark people whose rows must go -> how many of them nobody knows."""
        self._session.load("series_gone", {"high": digests[:, 0], "low": digests[:, 1]})
        known = self._session.number(f"SELECT count(*) FROM {STATE} JOIN series_gone USING (high, low)")
        self._session.run(
            f"UPDATE {STATE} SET erased = true FROM series_gone g "
            f"WHERE {STATE}.high = g.high AND {STATE}.low = g.low"
        )
        self._session.run("DROP TABLE series_gone")
        return len(digests) - known

    # Cohorts

    def counts(self) -> Mapping[str, Ints]:
        """Of each cohort of the last release: size, here, erased, as_of."""
        found = self._session.arrays(
            f"SELECT cohort, count(*) AS size, count(*) FILTER (WHERE {HERE}) AS here, "
            "count(*) FILTER (WHERE erased) AS erased, min(as_of) AS as_of "
            f"FROM {STATE} WHERE cohort >= 0 GROUP BY cohort"
        )
        cohort = found.pop("cohort").astype(np.int64)
        each: dict[str, Ints] = {}
        for name, counted in found.items():
            each[name] = np.zeros(int(cohort.max(initial=-1)) + 1, np.int64)
            each[name][cohort] = counted
        return each

    def last_atom(self) -> int:
        return self._session.number(f"SELECT max(atom) FROM {STATE}")

    def most_frequent(self, lookup: Lookup, cohorts: int) -> Ints:
        """How many people of each cohort have the value that most of it have today (c,)."""
        with_values = self._with_codes("cohort >= 0", lookup)
        found = self._session.arrays(
            "SELECT cohort, max(n) AS n FROM (SELECT cohort, code, count(*) AS n "
            f"FROM {with_values} GROUP BY cohort, code) GROUP BY cohort"
        )
        most = np.zeros(cohorts, np.int64)
        most[found["cohort"]] = found["n"]
        return most

    def newcomers(self) -> int:
        return self._session.number(f"SELECT count(*) FROM {STATE} WHERE {NEW}")

    def most_frequent_new(self, lookup: Lookup) -> int:
        """How many of all who wait for a first row have the value that most of them have."""
        return self._session.number(
            f"SELECT max(n) FROM (SELECT count(*) AS n FROM {self._with_codes(NEW, lookup)} GROUP BY code)"
        )

    def _with_codes(self, where: str, lookup: Lookup) -> str:
        """Some people who are here, each with today's code of a sensitive column."""
        table = self.rows_of_today(where)
        load_lookup(self._session, "series_values", lookup)
        return (
            f"(SELECT cohort, code FROM {table.joined([lookup.name])} "
            f"JOIN series_values v ON v.text = {table.text(lookup.name)}) r"
        )

    # Rows

    def rows_of_today(self, where: str, label: str = "number", names: Sequence[str] = ()) -> TextTable:
        """Today's rows of some people, with a label and what the state says of them."""
        rows = self._session.number(f"SELECT count(*) FROM {STATE} WHERE place IS NOT NULL AND {where}")
        relation = (
            f"(SELECT t.*, {label} AS {LABEL}, cohort, since FROM {self._placed} t JOIN "
            f"(SELECT * FROM {STATE} WHERE place IS NOT NULL AND {where}) s ON s.place = t.place_) t"
        )
        return filled(self._today, relation, names, rows)

    def decide(self, cohorts: Mapping[str, NDArray[Any]]) -> None:
        """What becomes of cohorts: those that are kept with their new number and date; -1 for the others."""
        columns = {"cohort": np.arange(cohorts["now"].size, dtype=np.int32), **cohorts}
        types = {"cohort": "INTEGER", "now": "INTEGER", "date": "INTEGER"}
        self._session.load("series_cohorts", columns, types)

    def undecided(self, most: int) -> SomePeople | int:
        """Everybody whose cohort is not kept, and those without one whose atom has somebody here.

        If there are more than so many, how many there are.
        """
        waiting = f"SELECT atom FROM {STATE} WHERE cohort < 0 AND atom <> 0 AND {HERE}"
        chosen = (
            f"FROM {STATE} WHERE (cohort >= 0 AND cohort IN (SELECT cohort FROM series_cohorts "
            f"WHERE now < 0)) OR (cohort < 0 AND atom <> 0 AND atom IN ({waiting}))"
        )
        self._session.run(f"CREATE OR REPLACE TEMP TABLE series_some AS SELECT number {chosen}")
        many = self._session.number("SELECT count(*) FROM series_some")
        if many > most:
            return many
        found = self._session.arrays(
            "SELECT number, atom, cohort, since, (place IS NOT NULL)::TINYINT AS present, "
            f"erased::TINYINT AS erased FROM {STATE} JOIN series_some USING (number) ORDER BY number"
        )
        flags = (found["present"] != 0, found["erased"] != 0)
        number, cohort, since = (found[name].astype(np.int32) for name in ("number", "cohort", "since"))
        return SomePeople(number, found["atom"].astype(np.int64), cohort, since, *flags)

    def shown_in(self, effective: Path, name: str, lookup: Lookup) -> tuple[Codes, Codes]:
        """Who of those undecided had a row in an earlier release, and the code that it showed of a column."""
        load_lookup(self._session, "series_values", lookup)
        found = self._session.arrays(
            f"SELECT number, code FROM (SELECT {quoted(self._entity)}::INTEGER AS number, "
            f"{quoted(name)} AS text FROM {parquet_sql(effective)}) e JOIN series_some USING (number) "
            "JOIN series_values v USING (text) ORDER BY number"
        )
        return found["number"].astype(np.int32), found["code"].astype(np.int32)

    # The next ledger

    def renew(self, people: SomePeople, atom: Ints, cohort: Codes, date: Codes) -> None:
        """What was decided on the undecided."""
        self._session.load(
            "series_renewed",
            {"number": people.number, "atom": atom, "cohort": cohort, "as_of": date},
        )

    def publish_new(self, classes: str, decided: Mapping[str, NDArray[Any]]) -> None:
        """The cohort and atom of each class of newcomers, -1 for those who wait; `classes`: label and g."""
        self._session.load("series_classes", decided)
        self._session.run(
            f"CREATE OR REPLACE TEMP TABLE series_new AS SELECT {LABEL} AS number, n.atom, n.cohort "
            f"FROM {classes} JOIN series_classes n USING (g) WHERE n.cohort >= 0"
        )

    def waited(self) -> bool:
        """Has somebody waited for a first row since an earlier release?"""
        return bool(self._session.number(f"SELECT count(*) FROM {STATE} WHERE {NEW} AND since >= 0"))

    def least_since(self, classes: str) -> Ints:
        """Of each class of newcomers: since which release somebody has waited."""
        waits = f"CASE WHEN s.since < 0 THEN {self.number} ELSE s.since END"
        found = self._session.arrays(
            f"SELECT g, min({waits}) AS since FROM {classes} "
            f"JOIN {STATE} s ON s.number = {LABEL} GROUP BY g ORDER BY g"
        )
        return found["since"].astype(np.int64)

    def settle(self, new: bool) -> None:
        """Put what was decided into the state: `now_` and `date_` are the cohort and date of this release."""
        newcomers = "series_new" if new else "(SELECT 0 AS number, 0 AS atom, 0 AS cohort WHERE false)"
        self._session.run(
            f"CREATE OR REPLACE TEMP TABLE series_next AS SELECT s.number, s.place, s.high, s.low, "
            "coalesce(r.atom, n.atom, s.atom)::BIGINT AS atom, "
            "coalesce(r.cohort, n.cohort, c.now, -1)::INTEGER AS cohort, "
            f"CASE WHEN n.cohort IS NOT NULL THEN {self.number} ELSE coalesce(r.as_of, c.date, -1) END"
            "::INTEGER AS as_of, s.since, s.erased "
            f"FROM {STATE} s LEFT JOIN series_cohorts c ON c.cohort = s.cohort AND c.now >= 0 "
            f"LEFT JOIN series_renewed r ON r.number = s.number LEFT JOIN {newcomers} n "
            "ON n.number = s.number"
        )

    def standing(self, names: Sequence[str]) -> TextTable:
        """A row for everybody who has one, as of the date of their cohort; the label is their cohort.

        The relation also has the column who, their number. Its cells are texts already.
        """
        cells = ", ".join(f"{{}} AS c{at}" for at in range(len(names)))
        today = filled(self._today, f"{self._placed} t", names, 0)
        current = (
            f"SELECT n.number AS who, n.cohort AS {LABEL}, {cells.format(*map(today.text, names))} "
            f"FROM {today.joined(names)} JOIN series_next n ON n.place = t.place_ "
            f"WHERE n.cohort >= 0 AND n.as_of = {self.number}"
        )
        shown = [current]
        if self._before is not None:
            texts = cells.format(*(f"e.{quoted(name)}" for name in names))
            shown.append(
                f"SELECT n.number AS who, n.cohort AS {LABEL}, {texts} "
                f"FROM {parquet_sql(self._before.effective)} e JOIN series_next n "
                f"ON n.number = e.{quoted(self._entity)} WHERE n.cohort >= 0 AND n.as_of < {self.number}"
            )
        rows = self._session.number("SELECT count(*) FROM series_next WHERE cohort >= 0")
        relation = f"({' UNION ALL '.join(shown)}) t"
        return TextTable(tuple(names), relation, ("VARCHAR",) * len(names), rows, published=frozenset(names))

    def shown_before(self, names: Sequence[str]) -> TextTable:
        """The rows of the last release; the label is the cohort that they were of."""
        assert self._before is not None  # noqa: S101  there was a release to hold classes of
        cells = ", ".join(f"e.{quoted(name)} AS c{at}" for at, name in enumerate(names))
        relation = (
            f"(SELECT {cells}, s.cohort AS {LABEL} FROM {parquet_sql(self._before.effective)} e "
            f"JOIN {STATE} s ON s.number = e.{quoted(self._entity)}) t"
        )
        rows = self._session.number(f"SELECT count(*) FROM {STATE} WHERE cohort >= 0")
        return TextTable(tuple(names), relation, ("VARCHAR",) * len(names), rows, published=frozenset(names))

    def write(self, target: LedgerFiles, names: Sequence[str]) -> None:
        """The people of the next ledger, and its effective table: the entity's column has their numbers."""
        waits = (
            f"CASE WHEN cohort >= 0 OR NOT {HERE} THEN -1 WHEN since < 0 THEN {self.number} ELSE since END"
        )
        self._session.run(
            "COPY (SELECT number, high, low, atom, cohort, as_of, "
            f"({waits})::INTEGER AS since, place IS NOT NULL AS present, erased FROM series_next) "
            f"TO {quoted_text(str(target.people))} {WROTE}"
        )
        published = [name for name in names if name != self._entity]
        shown = self.standing(published)
        cells = ", ".join(
            f"who AS {quoted(name)}" if name == self._entity else f"{shown.text(name)} AS {quoted(name)}"
            for name in names
        )
        path = quoted_text(str(target.effective))
        self._session.run(f"COPY (SELECT {cells} FROM {shown.relation}) TO {path} {WROTE}")

    def said(self) -> dict[str, int]:
        """Who waits, lingers or is withheld, and the oldest date: of the release that is being made."""
        found = self._session.rows(
            f"SELECT count(*) FILTER (WHERE {HERE} AND cohort < 0 AND atom = 0), "
            "count(*) FILTER (WHERE cohort >= 0 AND place IS NULL), "
            f"count(*) FILTER (WHERE {HERE} AND cohort < 0 AND atom <> 0), "
            f"coalesce(min(as_of) FILTER (WHERE cohort >= 0), {self.number}) FROM series_next"
        )[0]
        return dict(zip(("waiting", "lingering", "withheld", "oldest"), map(int, found), strict=True))

    def cohort_sizes(self) -> Ints:
        """How many people each cohort of the release that is being made has."""
        found = self._session.arrays(
            "SELECT cohort, count(*) AS n FROM series_next WHERE cohort >= 0 GROUP BY cohort"
        )
        sizes = np.zeros(int(found["cohort"].max(initial=-1)) + 1, np.int64)
        sizes[found["cohort"]] = found["n"]
        return sizes

    def forget(self) -> None:
        """What follows reads the files alone."""
        for name in (*("cohorts", "some", "renewed", "classes", "new", "next", "state", "values"),):
            self._session.run(f"DROP TABLE IF EXISTS series_{name}")


def load_lookup(session: DuckSession, table: str, lookup: Lookup) -> None:
    texts = np.empty(len(lookup.texts), object)
    texts[:] = lookup.texts
    session.load(table, {"text": texts, "code": lookup.codes}, {"text": "VARCHAR", "code": "INTEGER"})
