"""Columns of whole numbers with very many values: read and ranked by the database, not text by text.

Only where every text of the original is the one form of a whole number of 64 bits: then its text and its
meaning are the same, and what the database takes for a number cannot be another one. All other columns are
read as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from incrowd.schema import MISSING, Column, Kind, Shape
from incrowd.verifier.cell_regions import CellRegions
from incrowd.verifier.columns import Ints
from incrowd.verifier.failure import require
from incrowd.verifier.in_engine.relations import Relation, SqlSession, text_sql

MANY = 100_000  # values of a column: with fewer, reading them one by one costs little
_BESIDE = f"{{{MISSING}|"  # how a cell begins that holds missing beside numbers


@dataclass(frozen=True, slots=True, eq=False)
class WholeNumberColumn:
    """A quasi-identifier of whole numbers in both tables, whose texts and cells stay in the session."""

    column: Column
    numbers: WholeNumbers
    regions: CellRegions
    ranks: str
    has_null: bool

    @classmethod
    def of(
        cls,
        session: SqlSession,
        column: Column,
        tables: tuple[Relation, Relation],
        missing: frozenset[str],
        j: int,
    ) -> WholeNumberColumn | None:
        """The j-th column of original and release, as the tables ``ranksj_`` and ``cellsj_``; or None."""
        original, released = tables
        ranks = f"ranks{j}_"
        numbers = WholeNumbers.of(session, column, original, missing, ranks)
        if numbers is None:
            return None
        null = session.number(f"SELECT count(*) FROM {ranks} WHERE t IS NULL")
        return cls(column, numbers, numbers.regions(released, f"cells{j}_"), ranks, null > 0)

    @property
    def size(self) -> int:
        return self.numbers.size

    @property
    def cell_count(self) -> int:
        return self.regions.low.size

    def load(self, _session: SqlSession, _j: int) -> None:
        """Texts and cells have their numbers already."""

    def load_values(self, _session: SqlSession, j: int, _witness: object) -> None:
        self.numbers.load_values(self.ranks, f"values{j}_")

    def named(self) -> Mapping[str, Any]:
        return self.numbers.named()


class WholeNumbers:
    """The values of a column, as whole numbers in their order: rank r is ``values[r - 1]``, 0 is missing.

    Texts and cells have their numbers in tables of the session.
    """

    def __init__(self, session: SqlSession, column: Column, values: Ints) -> None:
        self._session, self.column, self.values = session, column, values
        self._low = self._high = 0  # the lowest and highest rank that cells name

    @classmethod
    def of(
        cls, session: SqlSession, column: Column, original: Relation, missing: frozenset[str], ranks: str
    ) -> WholeNumbers | None:
        """Rank the texts of the original in a table of this name; None if they are few, or not so plain."""
        plain = column.kind is Kind.NUMERIC and column.shape is Shape.RANGE
        if not plain or column.format or column.order:
            return None
        text = original.columns[column.name]
        if session.number(f"SELECT approx_count_distinct({text}) FROM {original.source}") < MANY:
            return None
        gone = " OR ".join(["t IS NULL", *(f"t = {text_sql(each)}" for each in sorted(missing))])
        session.run(
            f"CREATE OR REPLACE TEMP TABLE read_ AS SELECT t, ({gone}) AS gone, TRY_CAST(t AS BIGINT) AS x "
            f"FROM (SELECT DISTINCT {text} AS t FROM {original.source})"
        )
        other = session.number(
            "SELECT count(*) FROM read_ WHERE NOT gone AND (x IS NULL OR CAST(x AS VARCHAR) <> t)"
        )
        if other:
            session.run("DROP TABLE read_")
            return None
        values = session.arrays("SELECT x FROM read_ WHERE NOT gone ORDER BY x")["x"].astype(np.int64)
        session.run(
            f"CREATE OR REPLACE TEMP TABLE {ranks} AS SELECT t, CASE WHEN gone THEN 0 "
            "ELSE row_number() OVER (PARTITION BY gone ORDER BY x) END::BIGINT AS number FROM read_"
        )
        session.run("DROP TABLE read_")
        return cls(session, column, values)

    @property
    def size(self) -> int:
        return self.values.size + 1

    def regions(self, released: Relation, cells: str) -> CellRegions:
        """Number the cells of a release in a table of this name, and read them; each has its one form."""
        session, text = self._session, released.columns[self.column.name]
        beside = f"starts_with(t, {text_sql(_BESIDE)}) AND ends_with(t, '}}')"
        begin = len(_BESIDE) + 1
        inner = f"CASE WHEN {beside} THEN substr(t, {begin}, length(t) - {begin}) ELSE t END"
        ends = "string_split(trim(i, '[]'), ',')"
        session.run(
            f"CREATE OR REPLACE TEMP TABLE {cells} AS "
            f"SELECT t, row_number() OVER (ORDER BY t) - 1 AS number, i <> t AS beside, "
            f"TRY_CAST({ends}[1] AS BIGINT) AS a, TRY_CAST({ends}[-1] AS BIGINT) AS b "
            f"FROM (SELECT t, {inner} AS i FROM (SELECT DISTINCT {text} AS t FROM {released.source}))"
        )
        own = "CASE WHEN a = b THEN a::VARCHAR ELSE '[' || a || ',' || b || ']' END"
        form = f"CASE WHEN beside THEN {text_sql(_BESIDE)} || {own} || '}}' ELSE {own} END"
        strange = session.number(
            f"SELECT count(*) FROM {cells} WHERE t IS NULL "
            f"OR (t <> {text_sql(MISSING)} AND (a IS NULL OR b IS NULL OR a > b OR {form} <> t))"
        )
        require(not strange, f"column {self.column.name}: a cell is not written in the one form that it has")
        return self._read(cells)

    def _read(self, cells: str) -> CellRegions:
        found = self._session.arrays(
            f"SELECT coalesce(a, 0) AS a, coalesce(b, 0) AS b, beside, t = {text_sql(MISSING)} AS alone "
            f"FROM {cells} ORDER BY number"
        )
        alone, beside = found["alone"].astype(np.bool_), found["beside"].astype(np.bool_)
        low, high = (self._ranks(found[name].astype(np.int64), alone) for name in ("a", "b"))
        if not alone.all():
            self._low, self._high = int(low[~alone].min()), int(high[~alone].max())
        low[alone], high[alone] = 1, 0
        nothing = np.zeros(0, np.int64)
        return CellRegions(low, high, alone | beside, np.zeros(low.size, np.bool_), nothing, self.size)

    def _ranks(self, numbers: Ints, alone: Any) -> Ints:
        """The ranks of numbers that cells name; each must be one of the original."""
        place = np.searchsorted(self.values, numbers)
        known = self.values[np.minimum(place, self.values.size - 1)] == numbers if self.values.size else alone
        require(
            bool((known | alone).all()),
            f"column {self.column.name}: a published value does not occur in the original table",
        )
        return place.astype(np.int64) + 1

    def load_values(self, ranks: str, target: str) -> None:
        """The ranks of values as a witness writes them, NULL for missing."""
        self._session.run(
            f"CREATE OR REPLACE TEMP TABLE {target} AS SELECT t, number FROM {ranks} WHERE number > 0 "
            "UNION ALL SELECT NULL, 0"
        )

    def named(self) -> Mapping[str, Any]:
        """What the cells name of the domain."""
        if not self._low:
            return {}
        return {"low": str(self.values[self._low - 1]), "high": str(self.values[self._high - 1])}
