"""What the ledger of a series takes with DuckDB, beside cutting, drafting and verifying: two releases.

People are invented: seven quasi-identifiers and one sensitive column. In the second month 5 % more are there,
3 % have left and 2 % have another value. One copy is DuckDB's own copy of the first month's file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import Figure, cpu, forget_peak, peak_mb

ROWS = int(os.environ.get("INCROWD_LEDGER_PEOPLE", "1000000"))
HELD_FROM = 10_000_000  # people: then 15 s are to be enough, where a copy takes 4.8
GOAL = 15 / 4.8
K = 10
QUASI = {"age": 90, "sex": 2, "state": 50, "race": 6, "status": 5, "school": 16, "hours": 60}
# What is the ledger's own: who is who, what becomes of each cohort, and the files. Cutting newcomers, and
# cohorts that are cut again, is the method's; rows of these are what it is given.
OWN = (
    *("identify", "known_here", "new_ids", "away", "forget_ids"),
    *("erase", "last_atom", "counts", "decide", "undecided", "renew", "newcomers"),
    *("waited", "least_since", "publish_new", "settle", "cohort_sizes", "said", "write", "forget"),
)


def ledger_figures(_kd: float) -> Iterator[Figure]:
    from incrowd.engines.resources import Resources
    from incrowd.publishing.large_series import publish_large_next
    from incrowd.publishing.pipeline import Form
    from incrowd.publishing.series import Continued

    with TemporaryDirectory() as name:
        folder = Path(name)
        months = [folder / "first.parquet", folder / "second.parquet"]
        for month, path in enumerate(months):
            draw(path, month)
        copied = cpu(partial(copy, months[0], folder / "copy.parquet"), 2)
        after = None
        for month, path in enumerate(months):
            how = (Continued(after=after), Form("parquet"), Resources.of("1500MB", 2))
            work = partial(publish_large_next, path, policy(), folder / f"r{month}", *how)
            forget_peak()
            own, steps = timed(work)
            after = folder / f"r{month}"
            said = ", ".join(f"{step} {seconds:.1f}" for step, seconds in steps.items() if seconds > 0.05)
            print(f"release {month}: {said}", flush=True)
            goal = GOAL if ROWS >= HELD_FROM else None
            size = f"n={ROWS} d={len(QUASI)} k={K}"
            yield Figure(f"ledger, release {month}", size, own / copied, "copies", goal, memory=peak_mb())


def draw(target: Path, month: int) -> None:
    """The people of a month; what somebody has follows from a hash of their number."""
    import duckdb

    def value(column: int, size: int) -> str:
        # the square falls off, so that some values are frequent and others rare
        moved = (
            f"(hash(i * 7 + 3) % 50 = 0 AND hash(i * 7 + 4) % {len(QUASI)} = {column})" if month else "false"
        )
        drawn = f"hash(i * 64 + {column} + CASE WHEN {moved} THEN 32 ELSE 0 END)"
        share = f"(({drawn} % 1000003) / 1000003.0)"
        return f"floor({share} * {share} * {size})::INTEGER::VARCHAR"

    first, people = (round(ROWS * 0.03), round(ROWS * 1.05)) if month else (0, ROWS)
    columns = ", ".join(f"{value(at, size)} AS {name}" for at, (name, size) in enumerate(QUASI.items()))
    with duckdb.connect(config={"threads": 2}) as session:
        session.execute(
            f"COPY (SELECT 'p' || lpad(hash(i)::VARCHAR, 20, '0') AS id, {columns}, "
            "(hash(i * 64 + 63) % 30)::VARCHAR AS illness "
            f"FROM range({people}) t(i) WHERE hash(i * 5 + 1) % {people} >= {first}) "
            f"TO '{target}' (ROW_GROUP_SIZE 500000)"
        )


def copy(source: Path, target: Path) -> None:
    import duckdb

    with duckdb.connect(config={"threads": 2}) as session:
        session.execute(f"COPY (SELECT * FROM '{source}') TO '{target}'")


def policy() -> Any:
    from incrowd.policy import Policy

    quasi = {name: {"type": "numeric" if name in ("age", "hours") else "categorical"} for name in QUASI}
    return Policy.from_dict(
        {
            "entity": "id",
            "quasi_identifiers": quasi,
            "sensitive": ["illness"],
            "privacy": {"k": K},
            "series": {},
        }
    )


def timed(work: Callable[[], Any]) -> tuple[float, dict[str, float]]:
    """Processor seconds of all that is the ledger's own while something is done, and of each part."""
    from incrowd.engines.series_people import SeriesPeople

    spent = dict.fromkeys(OWN, 0.0)
    kept = {name: getattr(SeriesPeople, name) for name in OWN}

    def watched(name: str) -> Callable[..., Any]:
        def run(*given: Any, **more: Any) -> Any:
            start = time.process_time()
            try:
                return kept[name](*given, **more)
            finally:
                spent[name] += time.process_time() - start

        return run

    for name in OWN:
        setattr(SeriesPeople, name, watched(name))
    try:
        start = time.process_time()
        work()
        spent["everything"] = time.process_time() - start
    finally:
        for name, method in kept.items():
            setattr(SeriesPeople, name, method)
    return sum(spent[name] for name in OWN), spent
