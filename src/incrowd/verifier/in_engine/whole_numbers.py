"""Columns of whole numbers with very many values: read by the database, not text by text.

Only where every text of the original is the one form of a whole number of 64 bits: then its text and its
meaning are the same, and what the database takes for a number cannot be another one. Ranks are the numbers
themselves, counted from the lowest: no table of texts is needed. All other columns are read as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from incrowd.schema import MISSING, Column, Kind, Shape
from incrowd.verifier.cell_regions import CellRegions
from incrowd.verifier.domain import ColumnDomain
from incrowd.verifier.failure import require
from incrowd.verifier.in_engine.ranked_columns import ClassWitness, NumberSql, QuasiColumn, RankedColumn
from incrowd.verifier.in_engine.relations import BITS_A_WORD, DistinctTexts, Relation, SqlSession, text_sql
from incrowd.verifier.tables import NO_CELL

MANY = 100_000  # values of a column: with fewer, reading them one by one costs little
_BESIDE = f"{{{MISSING}|"  # how a cell begins that holds missing beside numbers


@dataclass(frozen=True, slots=True)
class WholeNumbers:
    """The numbers of a column, from the lowest to the highest; `gone` are the texts that mean missing.

    Rank 0 is missing, rank 1 the lowest number, and so on, whether a number occurs or not.
    """

    lowest: int
    highest: int
    gone: tuple[str, ...]

    @property
    def size(self) -> int:
        return self.highest - self.lowest + 2

    def missing(self, text: str) -> str:
        """Does a text mean missing? As SQL."""
        return f"({' OR '.join([f'{text} IS NULL', *(f'{text} = {text_sql(each)}' for each in self.gone)])})"

    def rank(self, text: str, missing: str) -> str:
        return f"(CASE WHEN {missing} THEN 0 ELSE CAST({text} AS BIGINT) - ({self.lowest}) + 1 END)"


@dataclass(frozen=True, eq=False)
class WholeNumberColumn:
    """A quasi-identifier of whole numbers in both tables, whose texts stay in the session."""

    column: Column
    numbers: WholeNumbers
    session: SqlSession
    cells: str

    @classmethod
    def of(
        cls,
        session: SqlSession,
        column: Column,
        tables: tuple[Relation, Relation],
        missing: frozenset[str],
        j: int,
    ) -> WholeNumberColumn | None:
        """The j-th column of original and release, with the table ``cellsj_``; None if it is not so plain."""
        plain = column.kind is Kind.NUMERIC and column.shape is Shape.RANGE
        if not plain or column.format or column.order:
            return None
        numbers = _read_original(session, tables[0], column.name, tuple(sorted(missing)))
        if numbers is None:
            return None
        _read_cells(session, tables[1], column.name, f"cells{j}_")
        _check_known(session, column.name, f"cells{j}_")
        session.run("DROP TABLE numbers_")
        return cls(column, numbers, session, f"cells{j}_")

    @property
    def size(self) -> int:
        return self.numbers.size

    @cached_property
    def cell_count(self) -> int:
        return self.session.number(f"SELECT count(*) FROM {self.cells}")

    @cached_property
    def regions(self) -> CellRegions:
        return _regions(self.session, self.cells, self.numbers)

    def outside(self, session: SqlSession, _j: int, pairs: str) -> int:
        """Counted where they are: there may be as many pairs as records."""
        number = f"(v - 1) + ({self.numbers.lowest})"
        held = f"CASE WHEN v = 0 THEN beside OR a IS NULL ELSE coalesce({number} BETWEEN a AND b, false) END"
        placed = f"{pairs} JOIN {self.cells} ON {self.cells}.number = c"
        return session.number(f"SELECT count(*) FROM (SELECT DISTINCT v, c FROM {placed} WHERE NOT ({held}))")

    def load(self, _session: SqlSession, _j: int) -> None:
        """Cells have their numbers already, and texts need none."""

    def load_values(self, session: SqlSession, j: int, witness: ClassWitness) -> None:
        """Nothing is loaded; every value must be a number that is neither below nor above all others."""
        ends = f"{self.numbers.lowest} AND {self.numbers.highest}"
        strange = session.number(
            f"SELECT count(*) FROM {witness.records} WHERE v{j} IS NOT NULL "
            f"AND NOT coalesce(TRY_CAST(v{j} AS BIGINT) BETWEEN {ends}, false)"
        )
        name = self.column.name
        require(not strange, f"{strange} lines of the witness have a value of {name} that no record has")

    def of_record(self, _j: int, text: str) -> NumberSql:
        return NumberSql(self.numbers.rank(text, self.numbers.missing(text)))

    def of_value(self, _j: int, text: str) -> NumberSql:
        return NumberSql(self.numbers.rank(text, f"{text} IS NULL"))

    def named(self) -> Mapping[str, Any]:
        """The lowest and the highest number that cells name."""
        low, high = self.session.rows(f"SELECT min(a), max(b) FROM {self.cells}")[0]
        return {} if low is None else {"low": str(int(low)), "high": str(int(high))}


def _read_original(
    session: SqlSession, original: Relation, name: str, gone: tuple[str, ...]
) -> WholeNumbers | None:
    """The numbers of the original, each once in the table numbers_; None if they are few, or not so plain."""
    text = original.columns[name]
    if session.number(f"SELECT approx_count_distinct({text}) FROM {original.source}") < MANY:
        return None
    real = f"NOT {WholeNumbers(0, 0, gone).missing('t')}"
    session.run(
        "CREATE OR REPLACE TEMP TABLE numbers_ AS SELECT TRY_CAST(t AS BIGINT) AS x, "
        f"coalesce(CAST(TRY_CAST(t AS BIGINT) AS VARCHAR) = t, false) AS plain "
        f"FROM (SELECT DISTINCT {text} AS t FROM {original.source}) WHERE {real}"
    )
    found = session.rows("SELECT min(x), max(x), coalesce(bool_and(plain), false) FROM numbers_")[0]
    if found[2] and (int(found[1]) - int(found[0]) + 2).bit_length() < BITS_A_WORD:
        return WholeNumbers(int(found[0]), int(found[1]), gone)
    session.run("DROP TABLE numbers_")
    return None


def _read_cells(session: SqlSession, released: Relation, name: str, cells: str) -> None:
    """Number the cells of a release in a table of this name, with their ends; each has its one form."""
    text, begin = released.columns[name], len(_BESIDE) + 1
    beside = f"starts_with(t, {text_sql(_BESIDE)}) AND ends_with(t, '}}')"
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
    require(not strange, f"column {name}: a cell is not written in the one form that its meaning has")


def _check_known(session: SqlSession, name: str, cells: str) -> None:
    for end in ("a", "b"):
        unknown = session.number(
            f"SELECT count(*) FROM {cells} WHERE {end} IS NOT NULL AND {end} NOT IN (SELECT x FROM numbers_)"
        )
        require(not unknown, f"column {name}: a published value does not occur in the original table")


def _regions(session: SqlSession, cells: str, numbers: WholeNumbers) -> CellRegions:
    """What the cells hold, as ranks."""
    found = session.arrays(
        f"SELECT coalesce(a - ({numbers.lowest}) + 1, 1) AS a, coalesce(b - ({numbers.lowest}) + 1, 0) AS b, "
        f"beside OR a IS NULL AS missing FROM {cells} ORDER BY number"
    )
    low, high = (found[name].astype(np.int64) for name in ("a", "b"))
    nothing, missing = np.zeros(0, np.int64), found["missing"].astype(np.bool_)
    return CellRegions(low, high, missing, np.zeros(low.size, np.bool_), nothing, numbers.size)


def ranked_column(
    session: SqlSession,
    column: Column,
    tables: tuple[Relation, Relation],
    missing: frozenset[str],
    j: int,
    text_by_text: bool = False,
) -> RankedColumn:
    """A quasi-identifier of the original and of the release: inside the database, or by its texts."""
    whole = None if text_by_text else WholeNumberColumn.of(session, column, tables, missing, j)
    if whole is not None:
        return whole
    records, shown = (DistinctTexts.of(session, table, column.name) for table in tables)
    cells = sorted(NO_CELL if text is None else text for text in shown.texts)
    domain = ColumnDomain(column, records.texts, missing)
    return QuasiColumn(column, domain, records, cells, domain.regions(cells, canonical=True))
