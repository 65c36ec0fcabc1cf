"""Truth where equal records may have different rows: a witness says how many of a kind are behind which.

A line is about records that are equal in quasi-identifiers and private part, so many of which are behind rows
of one class. Lines are checked: the cells of the class hold the record; all lines of a record together are as
many as the original has of it; all lines of a class with one private part are as many as there are such rows.
Then rows and records can be matched one to one, each row true of its record.
"""

from __future__ import annotations

import numpy as np

from incrowd.verifier.columns import Ints
from incrowd.verifier.failure import require
from incrowd.verifier.in_engine.ranked_columns import ClassWitness, named_numbers
from incrowd.verifier.in_engine.relations import joins
from incrowd.verifier.in_engine.truth import RECORD, ROW, TruthInEngine


class PartedTruth(TruthInEngine):
    """Both tables as numbers, and the table witness_ of record, private part, class and how many."""

    def check_witness(self, witness: ClassWitness) -> None:
        self._read_lines(witness, "TRY_CAST(w.n AS BIGINT) AS n")
        none = self._session.number("SELECT count(*) FROM lines_ WHERE n IS NULL OR n < 1")
        require(not none, f"{none} lines of the witness are about no record")
        for j in self._columns:
            self._check_held(j, f"SELECT v{j} AS v, c{j} AS c FROM lines_")
        self._session.run(
            f"CREATE OR REPLACE TEMP TABLE witness_ AS SELECT {self._ranks_of()}, {self._cells_of()}"
            f"{self._and_parts}, n FROM lines_"
        )
        self._session.run("DROP TABLE lines_")

    @property
    def _columns(self) -> range:
        return range(len(self._quasi))

    def _ranks_of(self, lines: str = "") -> str:
        return self._ranks.sql([f"{lines}v{j}" for j in self._columns], RECORD)

    def _cells_of(self, lines: str = "") -> str:
        return self._cells.sql([f"{lines}c{j}" for j in self._columns], ROW)

    def _read_lines(self, witness: ClassWitness, more: str) -> None:
        """The witness as numbers, in the table lines_: ranks v0, …, cells c0, …, private part, and more."""
        session, d = self._session, self._columns
        values = self._values_of(witness)
        parts = [f"parts{i}_" for i in range(len(self._private))]
        self._read_classes(witness)
        twice = session.number("SELECT count(*) - count(DISTINCT class) FROM classes_")
        require(not twice, f"{twice} classes of the witness have the number of another one")
        shown = [named_numbers(values, "v"), *(f"classes_.c{j}" for j in d), more]
        shown += [self._parts.sql([f"{part}.number" for part in parts], "p")] if parts else []
        private = [f"coalesce(w.p{i}, '')" for i in range(len(parts))]
        session.run(
            f"CREATE OR REPLACE TEMP TABLE lines_ AS SELECT {', '.join(shown)} FROM {witness.records} w"
            f"{''.join(each.join for each in values)}"
            f"{joins(parts, private, [False] * len(parts))} JOIN classes_ USING (class)"
        )
        session.run("DROP TABLE classes_")

    def compare(self) -> None:
        """The lines are as many as the records of each kind, and as many as the rows of each kind."""
        session = self._session
        for table, keys, words in (
            ("records_", self._record_words, "records are behind no row, or behind several, by the witness"),
            ("rows_", self._cell_words, "rows describe no record of their class with their private values"),
        ):
            every = f"{keys}{self._and_parts}"
            off = session.number(
                f"SELECT sum(abs(n)) FROM (SELECT {every}, sum(n) AS n FROM (SELECT {every}, n FROM {table} "
                f"UNION ALL SELECT {every}, -n FROM witness_) GROUP BY ALL HAVING sum(n) <> 0)"
            )
            require(not off, f"{-(-off // 2)} {words}")

    def sampled(self, most: int) -> tuple[Ints, Ints, Ints, Ints]:
        """As for whole classes; the first of equal records are taken to be behind the first class."""
        session, record = self._session, f"{self._record_words}{self._and_parts}"
        step = max(1, -(-session.number("SELECT sum(n) FROM rows_") // most))
        session.run(
            f"CREATE OR REPLACE TEMP TABLE chosen_ AS SELECT * FROM numbered_ WHERE number % {step} = 0"
        )
        session.run(
            f"CREATE OR REPLACE TEMP TABLE met_ AS SELECT DISTINCT {record} FROM witness_ "
            f"JOIN chosen_ USING ({self._cell_words})"
        )
        placed = (
            f"SELECT {record}, number, w.n::BIGINT AS n, "
            f"sum(w.n) OVER (PARTITION BY {record} ORDER BY number)::BIGINT AS upto "
            f"FROM (SELECT {self._cell_words}, {record}, sum(n) AS n FROM witness_ "
            f"JOIN met_ USING ({record}) GROUP BY ALL) w JOIN (SELECT {self._cell_words}, number "
            f"FROM numbered_) m USING ({self._cell_words})"
        )
        session.run(
            f"CREATE OR REPLACE TEMP TABLE sought_ AS SELECT {record}, number, "
            f"unnest(range(upto - n + 1, upto + 1)) AS nth FROM ({placed}) WHERE number % {step} = 0"
        )
        shown = self._placed(self._released, ROW, "chosen_", self._cell_words)
        held = self._nth_records(record)
        found = session.arrays(
            f"SELECT side, place, dense_rank() OVER (ORDER BY number{self._and_parts}) - 1 AS kind FROM "
            f"(SELECT 0 AS side, * FROM ({shown}) UNION ALL SELECT 1 AS side, * FROM ({held}))"
        )
        side = found["side"].astype(np.int64)
        place, kind = found["place"].astype(np.int64), found["kind"].astype(np.int64)
        return place[side == 0], kind[side == 0], place[side == 1], kind[side == 1]

    def _nth_records(self, record: str) -> str:
        """Place, class and private part of the records that are behind rows of chosen classes."""
        placed = self._numbered_in_place(self._original, RECORD)
        ranked = (
            f"SELECT {record}, place, row_number() OVER (PARTITION BY {record} ORDER BY place) AS nth "
            f"FROM ({placed}) JOIN met_ USING ({record})"
        )
        return f"SELECT place, number{self._and_parts} FROM ({ranked}) JOIN sought_ USING ({record}, nth)"
