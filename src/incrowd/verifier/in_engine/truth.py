"""Truth without matching rows: distinct records lie in the cells of their classes, and counts agree.

A witness names the class of every distinct record. It is not trusted: each of its lines is checked against
the cells of its class, and then every combination of class and private part must occur as often among the
records as among the rows. Then rows and records can be matched one to one, each row true of its record.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from incrowd.verifier.columns import Ints
from incrowd.verifier.failure import CheckFailed, require
from incrowd.verifier.in_engine.ranked_columns import ClassWitness, NumberSql, RankedColumn
from incrowd.verifier.in_engine.relations import Packing, Relation, SqlSession, joins

MOST_JOINED = 1_000_000  # cells whose texts are looked up in one statement, each in memory
SALTS = 8  # hashes that are tried until no two classes have the same
RECORD, ROW = "k", "c"  # names of the words of a record's ranks, and of a row's cells


class TruthInEngine:
    """Both tables as numbers, counted by class and private part, in the session."""

    def __init__(
        self,
        session: SqlSession,
        original: Relation,
        released: Relation,
        quasi: Sequence[RankedColumn],
        private: Sequence[str],
    ) -> None:
        self._session, self._original, self._released = session, original, released
        self._quasi, self._private, self._salt = quasi, private, 0
        self._ranks = Packing.of([each.size for each in quasi])
        self._cells = Packing.of([each.cell_count for each in quasi])
        for j, each in enumerate(quasi):
            each.load(session, j)
        self._parts = Packing.of([self._number_texts(i, name) for i, name in enumerate(private)])

    def _number_texts(self, i: int, name: str) -> int:
        """Number the texts of a private column in both tables, NULL as the empty one -> how many."""
        texts = " UNION ".join(
            f"SELECT DISTINCT coalesce({table.columns[name]}, '') AS t FROM {table.source_of(name)}"
            for table in (self._original, self._released)
        )
        self._session.run(
            f"CREATE OR REPLACE TEMP TABLE parts{i}_ AS SELECT t, "
            f"row_number() OVER (ORDER BY t) - 1 AS number FROM ({texts})"
        )
        return self._session.number(f"SELECT count(*) FROM parts{i}_")

    @property
    def _record_words(self) -> str:
        return ", ".join(self._ranks.names(RECORD))

    @property
    def _cell_words(self) -> str:
        return ", ".join(self._cells.names(ROW))

    @property
    def _and_parts(self) -> str:
        return "".join(f", {name}" for name in self._parts.names("p"))

    # Cells as numbers

    @cached_property
    def _together(self) -> list[list[int]]:
        """Columns whose cells are looked up in one statement: as many as memory has room for."""
        found: list[list[int]] = []
        size = MOST_JOINED
        for j, each in enumerate(self._quasi):
            if size + each.cell_count > MOST_JOINED:
                found.append([])
                size = 0
            found[-1].append(j)
            size += each.cell_count
        return found

    @property
    def _one_by_one(self) -> bool:
        return len(self._together) > 1

    def _number_cells(self, table: str, source: str, texts: Sequence[str], keep: str) -> None:
        """A table with the column `keep` and the number c0, c1, … of each cell of some rows of texts."""
        texts_of, done, before = dict(enumerate(texts)), list[int](), ""
        for step, group in enumerate(self._together):
            later = [j for j in texts_of if j not in (*done, *group)]
            shown = [keep, *(f"c{j}" for j in done), *(f"cells{j}_.number AS c{j}" for j in group)]
            shown += [f"{texts_of[j]} AS t{j}" for j in later]
            looked_up = joins(
                [f"cells{j}_" for j in group], [texts_of[j] for j in group], [False] * len(group)
            )
            made = f"step{step}_" if later else table
            self._session.run(
                f"CREATE OR REPLACE TEMP TABLE {made} AS SELECT {', '.join(shown)} FROM {source}{looked_up}"
            )
            if before:
                self._session.run(f"DROP TABLE {before}")
            before = source = made
            texts_of = {j: f"t{j}" for j in later}
            done += group

    def _read_classes(self, witness: ClassWitness) -> None:
        """The cells of each class of the witness, as numbers: the table classes_."""
        texts = [f"w.c{j}" for j in range(len(self._quasi))]
        self._number_cells("classes_", f"{witness.classes} w", texts, "class")

    def _read_shown(self) -> None:
        """Where cells are too many to be looked up row by row, the table shown_.

        It has the different rows of the release, as numbers, by a hash that no two of them share.
        """
        if not self._one_by_one:
            return
        texts = [self._released.columns[each.column.name] for each in self._quasi]
        listed = ", ".join(f"{text} AS t{j}" for j, text in enumerate(texts))
        names = [f"t{j}" for j in range(len(texts))]
        different = f"SELECT DISTINCT {listed} FROM {self._released.source}"
        self._session.run(f"CREATE OR REPLACE TEMP TABLE different_ AS {different}")
        for self._salt in range(SALTS):
            hashed = f"(SELECT {self._hashed(names)} AS h, * FROM different_) d"
            self._number_cells("cells_of_shown_", hashed, [f"d.{name}" for name in names], "h")
            words = self._cells.sql([f"c{j}" for j in range(len(texts))], ROW)
            self._session.run(
                f"CREATE OR REPLACE TEMP TABLE shown_ AS SELECT h, {words} FROM cells_of_shown_"
            )
            self._session.run("DROP TABLE cells_of_shown_")
            if not self._session.number("SELECT count(*) - count(DISTINCT h) FROM shown_"):
                lost = "(SELECT count(*) FROM different_) - (SELECT count(*) FROM shown_)"
                require(not self._session.number(f"SELECT {lost}"), "a cell of the release has no number")
                self._session.run("DROP TABLE different_")
                return
        raise CheckFailed("rows of the release cannot be told apart by a hash")

    def _hashed(self, texts: Sequence[str]) -> str:
        return f"hash({self._salt}, {', '.join(texts)})"

    # Rows as numbers

    def count(self) -> None:
        """How often each class and private part occurs: the tables rows_ and, by ranks, records_."""
        self._read_shown()
        for table, relation, words in (
            ("rows_", self._released, self._cell_words),
            ("records_", self._original, self._record_words),
        ):
            numbered = self._numbered(relation, RECORD if relation is self._original else ROW)
            self._session.run(
                f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT {words}{self._and_parts}, count(*) AS n "
                f"FROM ({numbered}) GROUP BY ALL"
            )
            there = self._session.number(f"SELECT count(*) FROM {relation.sql}")
            counted = self._session.number(f"SELECT sum(n) FROM {table}")
            require(counted == there, "some rows or records have a text that has no number")

    def _numbered(self, relation: Relation, what: str, place: str = "") -> str:
        """Every row as numbers: words of its quasi-identifiers and of its private part, and its place."""
        of_records = what == RECORD
        texts = [relation.columns[each.column.name] for each in self._quasi]
        parts = [f"parts{i}_" for i in range(len(self._private))]
        private = [f"coalesce({relation.columns[name]}, '')" for name in self._private]
        if not of_records and self._one_by_one:
            shown = [", ".join(f"shown_.{word}" for word in self._cells.names(ROW))]
            joined = f" JOIN shown_ ON shown_.h = {self._hashed(texts)}"
        else:
            numbers = [
                each.of_record(j, text) if of_records else NumberSql.joined(f"cells{j}_", text)
                for j, (each, text) in enumerate(zip(self._quasi, texts, strict=True))
            ]
            packing = self._ranks if of_records else self._cells
            shown = [packing.sql([each.number for each in numbers], what)]
            joined = "".join(each.join for each in numbers)
        shown += [self._parts.sql([f"{part}.number" for part in parts], "p")] if parts else []
        shown += [place] if place else []
        joined += joins(parts, private, [False] * len(parts))
        return f"SELECT {', '.join(shown)} FROM {relation.source}{joined}"

    def private_invented(self) -> int:
        """How many rows have private parts that occur more often than in the original."""
        if not self._private:
            return 0
        parts = self._and_parts.removeprefix(", ")
        return self._session.number(
            f"SELECT sum(n) FROM (SELECT {parts}, sum(n) AS n FROM (SELECT {parts}, n FROM rows_ UNION ALL "
            f"SELECT {parts}, -n FROM records_) GROUP BY ALL HAVING sum(n) > 0)"
        )

    # The witness

    def check_witness(self, witness: ClassWitness) -> None:
        """Every line of the witness is true, and none is about the same record: the table witness_."""
        session, d = self._session, range(len(self._quasi))
        values = self._values_of(witness)
        self._read_classes(witness)
        ranks = self._ranks.sql([each.number for each in values], RECORD)
        shown = self._cells.sql([f"classes_.c{j}" for j in d], ROW)
        session.run(
            f"CREATE OR REPLACE TEMP TABLE witness_ AS SELECT {ranks}, {shown} "
            f"FROM {witness.records} w{''.join(each.join for each in values)} JOIN classes_ USING (class)"
        )
        session.run("DROP TABLE classes_")
        for j in d:
            self._check_held(
                j,
                f"SELECT {self._ranks.field(j, RECORD)} AS v, {self._cells.field(j, ROW)} AS c FROM witness_",
            )
        several = f"SELECT {self._record_words} FROM witness_ GROUP BY ALL HAVING count(*) > 1"
        twice = session.number(f"SELECT count(*) FROM ({several})")
        require(not twice, f"{twice} kinds of records are in more than one class")

    def _check_held(self, j: int, pairs: str) -> None:
        """Every value v that is said to be in a cell c of a column is in it."""
        outside = self._quasi[j].outside(self._session, j, f"({pairs}) pairs")
        name = self._quasi[j].column.name
        require(not outside, f"{outside} values of {name} are not in the cells of their class")

    def _values_of(self, witness: ClassWitness) -> list[NumberSql]:
        """The ranks of the values that the witness, called w, names."""
        for j, each in enumerate(self._quasi):
            each.load_values(self._session, j, witness)
        return [each.of_value(j, f"w.v{j}") for j, each in enumerate(self._quasi)]

    def compare(self) -> None:
        """Every class has the same private parts, as often, among the records and among the rows."""
        session, keys = self._session, f"{self._cell_words}{self._and_parts}"
        placed = self._place_records(keys)
        counted = " + ".join(f"(SELECT coalesce(sum(n), 0) FROM {table})" for table in placed)
        lost = session.number("SELECT sum(n) FROM records_") - session.number(f"SELECT {counted}")
        require(not lost, f"{lost} records are in no class, as far as the witness says")
        there = " UNION ALL ".join(f"SELECT {keys}, -n FROM {table}" for table in placed)
        off = session.number(
            f"SELECT sum(abs(n)) FROM (SELECT {keys}, sum(n) AS n FROM (SELECT {keys}, n FROM rows_ "
            f"UNION ALL {there}) GROUP BY ALL HAVING sum(n) <> 0)"
        )
        for table in placed:
            session.run(f"DROP TABLE {table}")
        require(not off, f"{-(-off // 2)} rows describe no record of their class with their private values")

    def _place_records(self, keys: str) -> list[str]:
        """Tables of the records with the class that the witness gives them, a part in each.

        A join must hold one side in memory, so each part has only as many records as there is room for. The
        number of parts is odd: then all bits of a word say which part a record is in.
        """
        session, word = self._session, self._ranks.names(RECORD)[0]
        records = session.number("SELECT count(*) FROM records_")
        parts = -(-records // session.joined_at_once) | 1
        tables = []
        for part in range(parts):
            some = "" if parts == 1 else f" WHERE {word} % {parts} = {part}"
            sides = [f"(SELECT * FROM {table}{some}) {table}of" for table in ("records_", "witness_")]
            tables.append(f"placed{part}_")
            session.run(
                f"CREATE OR REPLACE TEMP TABLE {tables[-1]} AS SELECT {keys}, n FROM "
                f"{sides[0]} JOIN {sides[1]} USING ({self._record_words})"
            )
        return tables

    # What claims and the order of rows are about

    def number_classes(self) -> Ints:
        """Number the classes of the rows, in the table numbered_ -> how many rows each has."""
        self._session.run(
            f"CREATE OR REPLACE TEMP TABLE numbered_ AS SELECT {self._cell_words}, sum(n)::BIGINT AS n, "
            f"row_number() OVER (ORDER BY {self._cell_words}) - 1 AS number FROM rows_ "
            f"GROUP BY {self._cell_words}"
        )
        return self._session.arrays("SELECT n FROM numbered_ ORDER BY number")["n"].astype(np.int64)

    def values_of(self, name: str) -> tuple[Ints, Sequence[str], Ints]:
        """How often each class has each text of a private column -> class, text, count; texts by number."""
        i = self._private.index(name)
        texts = [row[0] for row in self._session.rows(f"SELECT t FROM parts{i}_ ORDER BY number")]
        found = self._session.arrays(
            f"SELECT numbered_.number AS c, {self._parts.field(i, 'rows_.p')} AS t, "
            f"sum(rows_.n)::BIGINT AS n FROM rows_ JOIN numbered_ USING ({self._cell_words}) "
            "GROUP BY ALL ORDER BY 1, 2"
        )
        counts = np.stack([found[column].astype(np.int64) for column in ("c", "t", "n")])
        return counts[:2], texts, counts[2]

    def sampled(self, most: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Rows and records of some whole classes: place and kind of each, kinds being equal in both tables.

        Classes are taken at equal steps, so that about `most` rows are looked at, or all of a smaller table.
        """
        session = self._session
        step = max(1, -(-session.number("SELECT sum(n) FROM rows_") // most))
        session.run(
            f"CREATE OR REPLACE TEMP TABLE chosen_ AS SELECT * FROM numbered_ WHERE number % {step} = 0"
        )
        session.run(
            f"CREATE OR REPLACE TEMP TABLE sought_ AS SELECT {self._record_words}, number FROM witness_ "
            f"JOIN chosen_ USING ({self._cell_words})"
        )
        shown = self._placed(self._released, ROW, "chosen_", self._cell_words)
        held = self._placed(self._original, RECORD, "sought_", self._record_words)
        found = session.arrays(
            f"SELECT side, place, dense_rank() OVER (ORDER BY number{self._and_parts}) - 1 AS kind FROM "
            f"(SELECT 0 AS side, * FROM ({shown}) UNION ALL SELECT 1 AS side, * FROM ({held}))"
        )
        side = found["side"].astype(np.int64)
        place, kind = found["place"].astype(np.int64), found["kind"].astype(np.int64)
        return place[side == 0], kind[side == 0], place[side == 1], kind[side == 1]

    def _placed(self, relation: Relation, what: str, chosen: str, keys: str) -> str:
        """Place, class and private part of the rows of chosen classes."""
        numbered = self._numbered_in_place(relation, what)
        return f"SELECT place, number{self._and_parts} FROM ({numbered}) JOIN {chosen} USING ({keys})"

    def _numbered_in_place(self, relation: Relation, what: str) -> str:
        names = {name: f"placed.t{at}" for at, name in enumerate(relation.columns)}
        shown = ", ".join(f"{text} AS t{at}" for at, text in enumerate(relation.columns.values()))
        placed = f"(SELECT {shown}, place_ AS place FROM {relation.placed}) placed"
        return self._numbered(Relation(placed, relation.names, names), what, "place")
