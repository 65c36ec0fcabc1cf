"""How often the interval of an estimated count holds the truth: the table in docs/queries.md.

PYTHONPATH=src:tests python tests/support/interval_coverage.py          all of it (minutes)
PYTHONPATH=src:tests python tests/support/interval_coverage.py cmc      one table
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from support.random_counts import TABLES, queries

import incrowd as ic
from incrowd.flow import Table
from incrowd.predicate.sql import parse
from incrowd.queries import Queryable
from incrowd.queries.workload import Original
from incrowd.release.folder import ReleaseFolder

CELLS = {"method": "cells"}
CLUSTERS = {"method": "agglomerative", "options": {"distance": "10", "polish": True}}
MEASURED: tuple[tuple[str, str, int, Mapping[str, Any]], ...] = (
    ("fitted: Adult", "adult", 20_000, {}),
    ("fitted: CMC", "cmc", 1_473, {}),
    ("fitted: ACS renters", "renters", 20_000, {}),
    ("checked: ACS census", "census", 8_000, {}),
    ("checked: diabetes", "diabetes", 8_000, {}),
    ("checked: Toronto COVID", "covid", 8_000, {}),
    ("`cells`: CMC", "cmc", 1_473, CELLS),
    ("`cells`: Adult", "adult", 5_000, CELLS),
    ("`agglomerative`: Adult", "adult", 20_000, CLUSTERS),
    ("`agglomerative`: ACS renters", "renters", 20_000, CLUSTERS),
    ("`agglomerative`: ACS census", "census", 8_000, CLUSTERS),
)


@dataclass(frozen=True)
class Coverage:
    """Of counts that have an interval and are not exact: how many there are, and lie in it, and its width.

    The width is a mean over counts, as a share of the certain bounds.
    """

    asked: int
    inside: int
    width: float


@cache
def _columns(name: str, rows: int) -> dict[str, Any]:
    """So many rows of a table, which is read whole for them: once for all that is asked of it."""
    return dict(replace(TABLES[name], rows=rows).read())


def covered(
    name: str,
    k: int,
    totals: bool,
    rows: int = 8_000,
    method: Mapping[str, Any] | None = None,
    count: int = 150,
) -> tuple[Coverage, Coverage]:
    """Publish a table and ask `count` counts with one condition, and as many with two."""
    table = replace(TABLES[name], rows=rows)
    columns, policy = _columns(name, rows), table.policy(k, totals)
    policy = ic.Policy.from_dict({**policy.to_dict(), **(method or {})})
    with tempfile.TemporaryDirectory() as folder:
        ic.publish(Table.of(columns), policy, Path(folder, "release"))
        release = Queryable.load(Path(folder, "release"))
        private = ReleaseFolder.open(Path(folder, "release"), Table.of(columns), policy)
        original = Original(private.original, private.schema, private.data, frozenset({"", "?"}))
        one, two = (
            _coverage(release, original, queries(table, columns, predicates, count)) for predicates in (1, 2)
        )
    return one, two


def _coverage(release: Queryable, original: Original, asked: list[str]) -> Coverage:
    inside, widths = 0, list[float]()
    for sql in asked:
        answer, truth = release.ask(sql), original.answer(parse(sql), release)
        assert isinstance(truth, int)
        assert isinstance(answer.lower, int)
        assert isinstance(answer.upper, int)
        if not answer.exact and answer.interval is not None:
            low, high = answer.interval
            inside += int(low) <= truth <= -(-high // 1)  # as it is shown: rounded outwards
            widths.append((high - low) / (answer.upper - answer.lower))
    return Coverage(len(widths), inside, sum(widths) / max(len(widths), 1))


def _said(found: Coverage) -> str:
    return f"{100 * found.inside / found.asked:.0f} ({found.asked})" if found.asked else "none"


def _width(found: tuple[Coverage, Coverage]) -> str:
    asked = sum(each.asked for each in found)
    return f"{sum(each.width * each.asked for each in found) / max(asked, 1):.2f}"


def main(wanted: str = "") -> None:
    for title, name, rows, method in MEASURED:
        for k in (10, 50):
            if wanted in name:
                evenly, raked = (covered(name, k, totals, rows, method, 300) for totals in (False, True))
                told = [_said(each) for each in (*evenly, *raked)] + [_width(evenly), _width(raked)]
                named = f"{title} ({rows:,} rows)" if k == 10 else ""
                sys.stdout.write(f"| {named} | {k} | {' | '.join(told)} |\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:2])
