"""The Parquet files of a ledger, as tables that an engine reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from incrowd.engines.labelled import LABEL
from incrowd.engines.session import DuckSession, parquet_sql, quoted
from incrowd.engines.table_files import TextTable
from incrowd.errors import Refused
from incrowd.schema import LARGE_EFFECTIVE, LARGE_PEOPLE


@dataclass(frozen=True, slots=True)
class LedgerFiles:
    """Everybody whom a series knows, and the rows that a release was made of."""

    people: Path
    effective: Path

    @classmethod
    def of(cls, audit: Path) -> LedgerFiles:
        return cls(audit / LARGE_PEOPLE, audit / LARGE_EFFECTIVE)


def effective_table(session: DuckSession, files: LedgerFiles, entity: str) -> TextTable:
    """The effective table of a ledger; `entity` is its column of numbers of people."""
    source = parquet_sql(files.effective)
    described = session.rows(f"DESCRIBE SELECT * FROM {source}")
    names, types = tuple(row[0] for row in described), tuple(row[1] for row in described)
    if entity not in names:
        raise Refused(
            f"the last release of the series tells people apart by another column than {entity}; "
            "a series keeps its columns"
        )
    cells = ", ".join(f"{quoted(name)} AS c{at}" for at, name in enumerate(names))
    rows = session.number(f"SELECT count(*) FROM {source}")
    return TextTable(names, f"(SELECT {cells} FROM {source}) t", types, rows, published=frozenset(names))


def with_cohorts(session: DuckSession, files: LedgerFiles, names: Sequence[str], entity: str) -> TextTable:
    """The same, with the cohort of each row as its label."""
    table = effective_table(session, files, entity)
    cells = ", ".join(f"e.{quoted(name)} AS c{at}" for at, name in enumerate(table.names))
    table.relation = (
        f"(SELECT {cells}, p.cohort AS {LABEL} FROM {parquet_sql(files.effective)} e "
        f"JOIN {parquet_sql(files.people)} p ON p.number = e.{quoted(entity)}) t"
    )
    table.published = frozenset(names) - {entity}
    return table
