"""The private and the public table joined inside an engine: what `incrowd.join` does in memory, as SQL.

Ids are compared exactly, and quasi-identifiers by numbers that equal values share, however they are written.
What becomes of the rows is counted; whoever may have a row is written to a file of the private folder, with
the word that says whether they are of the private table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from incrowd.engines.base import Ints, Lookup
from incrowd.engines.session import Session, parquet_sql, quoted_text
from incrowd.engines.table_files import TextTable
from incrowd.errors import TableError
from incrowd.join import JoinCounts, bare_ids

OWN = "\0own"  # the column of all people that says who is private; no table has such a name
PRIVATE, OTHER = "1", "0"
PEOPLE = "people.parquet"
_NOT_PLAIN = "[^ -~]"  # ids with other signs are bared one by one: capitals are not the same everywhere


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of the tables: the column that identifies people, and the number of each text of each column."""

    table: TextTable
    id: str
    lookups: Sequence[Lookup]


@dataclass(frozen=True, slots=True, eq=False)
class FoundPeople:
    """What became of the rows of the public table.

    `differing` people of the private one are described otherwise by it, by column; of those who are in it,
    `doubtful` counts who lack a value, have an id like another's, or are not confirmed.
    """

    counts: JoinCounts
    differing: Sequence[int]
    not_listed: int
    doubtful: tuple[int, int, int]


class PeopleJoin:
    """Tables mine_, listed_ and marked_ of a session; all but the people in the end are dropped again."""

    def __init__(self, session: Session, missing: frozenset[str], blind: bool) -> None:
        self._session, self._blind = session, blind
        gone = ", ".join(quoted_text(text) for text in sorted({"", *missing}))
        self._gone = f"(id IS NULL OR id IN ({gone}))"
        self._width = 0

    @property
    def _numbers(self) -> list[str]:
        return [f"q{j}" for j in range(self._width)]

    @property
    def _shown(self) -> str:
        return ", ".join(self._numbers)

    def read(self, name: str, side: Side) -> None:
        """A table of ids and numbers."""
        self._width = len(side.lookups)
        joins = ""
        for j, lookup in enumerate(side.lookups):
            texts = np.empty(len(lookup.texts), object)
            texts[:] = lookup.texts
            types = {"text": "VARCHAR", "code": "INTEGER"}
            self._session.load(f"n{j}_", {"text": texts, "code": lookup.codes}, types)
            joins += f" JOIN n{j}_ ON n{j}_.text IS NOT DISTINCT FROM {side.table.text(lookup.name)}"
        cells = ", ".join(f"n{j}_.code AS q{j}" for j in range(self._width))
        relation = side.table.joined(dict.fromkeys([side.id, *(lookup.name for lookup in side.lookups)]))
        self._session.run(
            f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {side.table.text(side.id)} AS id, {cells} "
            f"FROM {relation}{joins}"
        )
        for j in range(self._width):
            self._session.run(f"DROP TABLE n{j}_")
        rows = self._session.number(f"SELECT count(*) FROM {name}")
        if rows != side.table.rows:
            raise TableError(
                f"after joining there are {rows:,} rows, and there were {side.table.rows:,}; did a table "
                "change meanwhile? Nothing was published"
            )

    # The private table

    def nameless(self, name: str) -> int:
        return self._session.number(f"SELECT count(*) FROM {name} WHERE {self._gone}")

    def several(self) -> int:
        """How many people have more than one row in the private table."""
        return self._session.number(
            "SELECT count(*) FROM (SELECT id FROM mine_ GROUP BY id HAVING count(*) > 1)"
        )

    # The public table

    def list_people(self, rows: str, name: str) -> tuple[int, Sequence[int]]:
        """Each id once -> how many people are described differently by their rows, and by column."""
        lows = ", ".join(f"min({q}) AS {q}" for q in self._numbers)
        differing = ", ".join(f"(min({q}) <> max({q}))::INTEGER AS d{j}" for j, q in enumerate(self._numbers))
        self._session.run(
            f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT id, {lows}, {differing} FROM {rows} "
            f"WHERE NOT {self._gone} GROUP BY id"
        )
        several = " + ".join(f"d{j}" for j in range(self._width))
        sums = ", ".join(f"sum(d{j})" for j in range(self._width))
        found = self._session.rows(f"SELECT count(*), {sums} FROM {name} WHERE {several} > 0")[0]
        return int(found[0]), [int(each or 0) for each in found[1:]]

    def mark(self, confirmed: bool) -> None:
        """What is known of everybody in listed_: the table marked_; `confirmed` people must be in second_."""
        self._bare("listed_", "bares_")
        if self._blind:
            alike = "SELECT bare FROM bares_ GROUP BY bare HAVING count(*) > 1"
        else:
            self._bare("mine_", "own_bares_")
            alike = "SELECT DISTINCT bare FROM own_bares_"
        self._session.run(f"CREATE OR REPLACE TEMP TABLE alike_ AS {alike}")
        at_home = "m.id IS NOT NULL"
        like = "a.bare IS NOT NULL" if self._blind else f"(a.bare IS NOT NULL AND NOT {at_home})"
        flags = {
            "home": at_home,
            "complete": " AND ".join(f"l.{q} >= 0" for q in self._numbers),
            "alike": like,
            "sure": "s.id IS NOT NULL" if confirmed else "true",
            **{f"c{j}": f"coalesce(m.{q} <> l.{q}, false)" for j, q in enumerate(self._numbers)},
        }
        shown = ", ".join(f"({sql})::INTEGER AS {name}" for name, sql in flags.items())
        second = ""
        if confirmed:
            said_once = " + ".join(f"d{j}" for j in range(self._width))
            same = " AND ".join(f"s.{q} = l.{q}" for q in self._numbers)
            once = f"(SELECT * FROM second_ WHERE {said_once} = 0) s"
            second = f" LEFT JOIN {once} ON s.id = l.id AND {same}"
        self._session.run(
            f"CREATE OR REPLACE TEMP TABLE marked_ AS SELECT {', '.join(f'l.{q}' for q in self._numbers)}, "
            f"{shown} FROM listed_ l JOIN bares_ b ON b.id = l.id LEFT JOIN alike_ a ON a.bare = b.bare "
            f"LEFT JOIN mine_ m ON m.id = l.id{second}"
        )

    def _bare(self, name: str, bares: str) -> None:
        """Ids as `join.bare_ids` writes them: the table of this name."""
        session = self._session
        odd = session.arrays(f"SELECT id FROM {name} WHERE regexp_matches(id, '{_NOT_PLAIN}')")["id"]
        texts = np.empty(odd.size, object)
        texts[:] = bare_ids(odd.tolist())
        session.load("odd_", {"id": odd.astype(object), "bare": texts}, {"id": "VARCHAR", "bare": "VARCHAR"})
        whole = "CASE WHEN id LIKE '%.0' THEN substr(id, 1, length(id) - 2) ELSE id END"
        plain = f"ltrim(translate(lower({whole}), ' -./_', ''), '0')"
        session.run(
            f"CREATE OR REPLACE TEMP TABLE {bares} AS SELECT id, {plain} AS bare FROM {name} "
            f"WHERE NOT regexp_matches(id, '{_NOT_PLAIN}') UNION ALL SELECT id, bare FROM odd_"
        )

    def counted(self, people: int, rows: int, nameless: int) -> FoundPeople:
        """What became of everybody."""
        sums = {
            "listed": "1",
            "home": "home",
            "incomplete": "(1 - home) * (1 - complete)",
            "alike": "(1 - home) * complete * alike",
            "unconfirmed": "(1 - home) * complete * (1 - alike) * (1 - sure)",
            "external": "(1 - home) * complete * (1 - alike) * sure",
            "lacking": "home * (1 - complete)",
            "like": "home * alike",
            "unsure": "home * (1 - sure)",
            "conflicts": f"CASE WHEN {' + '.join(f'c{j}' for j in range(self._width))} > 0 THEN 1 ELSE 0 END",
            **{f"of{j}": f"c{j}" for j in range(self._width)},
        }
        listed = ", ".join(f"sum({sql})" for sql in sums.values())
        found = self._session.rows(f"SELECT {listed} FROM marked_")[0]
        said = {name: int(count or 0) for name, count in zip(sums, found, strict=True)}
        counts = JoinCounts(
            people=people,
            rows=rows,
            nameless=nameless,
            repeated=rows - nameless - said["listed"],
            both=said["home"],
            conflicts=said["conflicts"],
            incomplete=said["incomplete"],
            alike=said["alike"],
            unconfirmed=said["unconfirmed"],
            external=said["external"],
        )
        differing = [said[f"of{j}"] for j in range(self._width)]
        doubtful = said["lacking"], said["like"], said["unsure"]
        return FoundPeople(counts, differing, people - said["home"], doubtful)

    def write(self, folder: Path, names: Sequence[str], texts: Sequence[Sequence[str]]) -> TextTable:
        """Everybody who may have a row, as a table of texts; `texts` are those of the numbers, by column."""
        joins = ""
        for j, words in enumerate(texts):
            column = np.empty(len(words), object)
            column[:] = words
            numbers: Ints = np.arange(len(words), dtype=np.int64)
            self._session.load(f"w{j}_", {"x": numbers, "t": column}, {"t": "VARCHAR"})
            joins += f" LEFT JOIN w{j}_ ON w{j}_.x = p.q{j}"
        beyond_doubt = "complete * (1 - alike) * sure = 1"
        if self._blind:
            who = f"SELECT {self._shown}, home FROM marked_ WHERE {beyond_doubt}"
        else:
            who = (
                f"SELECT {self._shown}, 1 AS home FROM mine_ UNION ALL "
                f"SELECT {self._shown}, home FROM marked_ WHERE home = 0 AND {beyond_doubt}"
            )
        cells = ", ".join(f"w{j}_.t AS c{j}" for j in range(self._width))
        own = f"CASE WHEN home = 1 THEN '{PRIVATE}' ELSE '{OTHER}' END AS c{self._width}"
        self._session.save(f"SELECT {cells}, {own} FROM ({who}) p{joins}", folder / PEOPLE)
        relation = f"(SELECT * FROM {parquet_sql(folder / PEOPLE)}) t"
        rows = self._session.number(f"SELECT count(*) FROM {relation}")
        for name in [*(f"w{j}_" for j in range(self._width)), "mine_", "marked_", "listed_", "bares_"]:
            self._session.run(f"DROP TABLE {name}")
        types = ("VARCHAR",) * (self._width + 1)
        everyone = (*names, OWN)
        return TextTable(everyone, relation, types, rows, published=frozenset(everyone))
