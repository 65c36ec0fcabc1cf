"""Texts become codes where the rows are: each column is joined with a table of its distinct texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from incrowd.engines.base import Lookup
from incrowd.engines.session import Session, parquet_sql, remove
from incrowd.engines.table_files import TextTable


@dataclass(frozen=True, slots=True)
class Coded:
    """Columns of coded rows, as SQL with names: `shown` of the codes {0}, {1}, …; `kept` as they are."""

    shown: tuple[str, ...]
    kept: tuple[str, ...]
    private: tuple[str, ...]  # what `kept` reads


def write_codes(
    session: Session, table: TextTable, lookups: Sequence[Lookup], wanted: Coded, target: Path
) -> None:
    """Write the coded rows of a table.

    Texts of as many columns as memory has room for are looked up at once; the others wait in a file.
    """
    relation = table.joined(dict.fromkeys([*(each.name for each in lookups), *wanted.private]))
    cells = {place: table.compared(each.name) for place, each in enumerate(lookups)}
    kept, codes = list(wanted.kept), dict[int, str]()
    waiting: Path | None = None
    for step, group in enumerate(columns_at_once(lookups, session.joined_at_once)):
        joins = "".join(_join(session, table, place, lookups[place], cells.pop(place)) for place in group)
        codes |= {place: f"l{place}.code" for place in group}
        if cells:
            written = target.with_name(f"{target.stem}-{step}.parquet")
            columns = [f"{code} AS d{place}" for place, code in codes.items()]
            columns += [f"{cell} AS t{place}" for place, cell in cells.items()]
        else:
            written = target
            columns = [each.format(*(codes[place] for place in range(len(lookups)))) for each in wanted.shown]
        session.save(f"SELECT {', '.join([*columns, *kept])} FROM {relation}{joins}", written)
        for place in group:  # they may be as large as all distinct texts
            session.run(f"DROP TABLE l{place}")
        if waiting is not None:
            remove(waiting)
        relation, waiting = f"{parquet_sql(written)} c", written
        codes = {place: f"d{place}" for place in codes}
        cells = {place: f"t{place}" for place in cells}
        kept = [each.rsplit(" AS ", 1)[-1] for each in kept]


def columns_at_once(lookups: Sequence[Lookup], most: int) -> list[list[int]]:
    """The places of lookups, those together that one statement may join: so many texts, or one column."""
    found, size = list[list[int]](), 0
    for place, lookup in enumerate(lookups):
        size += len(lookup.texts)
        if not found or size > most:
            found.append([])
            size = len(lookup.texts)
        found[-1].append(place)
    return found


def _join(session: Session, table: TextTable, place: int, lookup: Lookup, cell: str) -> str:
    kind = "BIGINT" if table.is_whole(lookup.name) else "VARCHAR"
    texts = np.empty(len(lookup.texts), object)
    texts[:] = lookup.texts
    session.load(f"l{place}", {"text": texts, "code": lookup.codes}, {"text": kind, "code": "INTEGER"})
    same = "IS NOT DISTINCT FROM" if None in lookup.texts else "="
    return f" JOIN l{place} ON l{place}.text {same} {cell}"
