"""Quasi-identifiers of both tables as numbers, and the witness: what truth in an engine is decided by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from incrowd.schema import Column
from incrowd.verifier.cell_regions import CellRegions
from incrowd.verifier.domain import ColumnDomain
from incrowd.verifier.in_engine.relations import DistinctTexts, SqlSession, joins, load_numbers, text_sql


@dataclass(frozen=True, slots=True)
class ClassWitness:
    """The class of every distinct record, as tables: not trusted.

    ``records`` has the columns v0, v1, … (canonical values of the quasi-identifiers, NULL for missing) and
    ``class``; ``classes`` has ``class`` and the cells c0, c1, …
    """

    records: str
    classes: str

    @classmethod
    def of_files(cls, records: Path, classes: Path) -> ClassWitness:
        """Two Parquet files, as the audit has them."""
        return cls(*(f"read_parquet({text_sql(str(path))})" for path in (records, classes)))


@dataclass(frozen=True, slots=True)
class NumberSql:
    """A number that stands for a text, as SQL, and what must be joined for it."""

    number: str
    join: str = ""

    @classmethod
    def joined(cls, table: str, text: str, null: bool = False) -> NumberSql:
        """From a table of texts and numbers; NULL is found, too, if it may be there."""
        return cls(f"{table}.number", joins([table], [text], [null]))


@dataclass(frozen=True, slots=True, eq=False)
class QuasiColumn:
    """One quasi-identifier in both tables: texts of records as ranks, texts of cells as regions."""

    column: Column
    domain: ColumnDomain
    records: DistinctTexts
    cells: Sequence[str]
    regions: CellRegions

    @property
    def size(self) -> int:
        return self.domain.size

    @property
    def cell_count(self) -> int:
        return len(self.cells)

    def load(self, session: SqlSession, j: int) -> None:
        load_numbers(session, f"ranks{j}_", self.records.texts, self.domain.ranks)
        load_numbers(session, f"cells{j}_", self.cells, np.arange(len(self.cells)))

    def load_values(self, session: SqlSession, j: int, witness: ClassWitness) -> None:
        texts = [row[0] for row in session.rows(f"SELECT DISTINCT v{j} FROM {witness.records}")]
        ranks = [self.domain.rank_of_value(text) for text in texts]
        known = [(text, rank) for text, rank in zip(texts, ranks, strict=True) if rank is not None]
        numbers = np.array([rank for _, rank in known], np.int64)
        load_numbers(session, f"values{j}_", [text for text, _ in known], numbers)

    def of_record(self, j: int, text: str) -> NumberSql:
        return NumberSql.joined(f"ranks{j}_", text, None in self.records.texts)

    def of_value(self, j: int, text: str) -> NumberSql:
        return NumberSql.joined(f"values{j}_", text, True)

    def outside(self, session: SqlSession, _j: int, pairs: str) -> int:
        found = session.arrays(f"SELECT DISTINCT v, c FROM {pairs}")
        inside = self.regions.hold(found["c"].astype(np.int64), found["v"].astype(np.int64))
        return int((~inside).sum())

    def named(self) -> Mapping[str, Any]:
        return self.domain.named()


class RankedColumn(Protocol):
    """A quasi-identifier in both tables: its texts are ranks, its cells are regions."""

    @property
    def column(self) -> Column: ...

    @property
    def regions(self) -> CellRegions: ...

    @property
    def size(self) -> int:
        """How many ranks there are."""
        ...

    @property
    def cell_count(self) -> int: ...

    def load(self, session: SqlSession, j: int) -> None:
        """Make the table ``cellsj_``, the numbers of cells, and what `of_record` needs."""
        ...

    def load_values(self, session: SqlSession, j: int, witness: ClassWitness) -> None:
        """Make what `of_value` needs for the values that the witness names; of unknown ones there is none."""
        ...

    def of_record(self, j: int, text: str) -> NumberSql:
        """The rank of a text of the original."""
        ...

    def of_value(self, j: int, text: str) -> NumberSql:
        """The rank of a value as a witness writes it, NULL for missing."""
        ...

    def outside(self, session: SqlSession, j: int, pairs: str) -> int:
        """How many different pairs of a rank v and a cell c there are whose cell does not hold the rank."""
        ...

    def named(self) -> Mapping[str, Any]:
        """What the cells name of the domain."""
        ...


def named_numbers(numbers: Sequence[NumberSql], name: str) -> str:
    """Some numbers, called name0, name1, …"""
    return ", ".join(f"{each.number} AS {name}{j}" for j, each in enumerate(numbers))
