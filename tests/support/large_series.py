"""Series of small tables published with DuckDB, and what their ledgers say about people by their ids."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from support.series_tables import People

from incrowd.cohorts import NONE
from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.publishing.pipeline import Release
from incrowd.release.ledger import KeptLedger
from incrowd.schema import Verdict

ENGINE: dict[str, Any] = {"engine": "duckdb", "memory": "300MB", "threads": 1}


def written(path: Path, people: People) -> Path:
    """A table of people as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["id", "name", "age", "ill"])
        lines.writerows([who, f"Name {who}", age, ill] for who, (age, ill) in people.items())
    return path


def large_months(
    folder: Path, tables: Sequence[People], asked: Mapping[str, Any], **more: Any
) -> list[Release]:
    """A release for each table with DuckDB, each after the one before."""
    return [next_month(folder, number, people, asked, **more) for number, people in enumerate(tables)]


def next_month(folder: Path, number: int, people: People, asked: Mapping[str, Any], **more: Any) -> Release:
    table, after = folder / f"t{number}.csv", folder / f"m{number - 1}" if number else None
    written(table, people)
    return publish(str(table), dict(asked), folder / f"m{number}", after=after, **(ENGINE | more))


def large_checked(folder: Path, number: int, asked: Mapping[str, Any] | None = None) -> Verdict:
    table = str(folder / f"t{number}.csv")
    return verify(folder / f"m{number}", table, None if asked is None else dict(asked), memory="300MB")


def told(release: Path, ids: Sequence[str]) -> dict[str, Any]:
    """What a ledger says: cohorts as sets of ids with their dates, atoms, who waits, who is erased."""
    ledger = KeptLedger.open(release).read()
    names = {ledger.head.digest(who): who for who in ids}
    people, state = [names[digest] for digest in ledger.people], ledger.state
    sets: dict[str, Any] = {"cohorts": set(), "atoms": set()}
    for cohort, date in enumerate(state.as_of.tolist()):
        members = frozenset(people[p] for p in np.flatnonzero(state.cohort == cohort))
        sets["cohorts"].add((members, date))
    for atom in np.unique(state.atom).tolist():
        sets["atoms"].add(frozenset(people[p] for p in np.flatnonzero(state.atom == atom)))
    shown = [people[p] for p in np.flatnonzero(state.cohort != NONE)]
    rows = [ledger.effective.column(name).rows() for name in ("age", "ill")]
    return {
        **sets,
        "since": dict(zip(people, state.since.tolist(), strict=True)),
        "present": dict(zip(people, ledger.present.tolist(), strict=True)),
        "erased": dict(zip(people, ledger.erased.tolist(), strict=True)),
        "rows": dict(zip(shown, zip(*rows, strict=True), strict=True)),
        "counts": ledger.counts,
    }


def rewritten(path: Path, select: str) -> None:
    """Write a Parquet file anew by a query over its rows, which are called old."""
    other = path.with_suffix(".other")
    with duckdb.connect() as session:
        old = f"WITH old AS (SELECT * FROM read_parquet('{path}'))"
        session.execute(f"COPY ({old} {select}) TO '{other}' (FORMAT parquet)")
    other.replace(path)
