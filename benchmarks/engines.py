"""Figures of DuckDB as an engine: publishing and verifying, against DuckDB's own copy of the same columns.

A second table has six columns of numbers, and no two equal rows: there the first cuts are made by DuckDB.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import Figure, cpu, forget_peak, peak_mb
from tables import real_data

from incrowd.engines.resources import Resources
from incrowd.long_work import Progress, silent
from incrowd.policy import Policy
from incrowd.publishing.large import publish_large
from incrowd.publishing.pipeline import Form

ROWS = int(os.environ.get("INCROWD_ENGINE_ROWS", "1000000"))  # of people drawn from the census
K = 10
HELD_FROM = 10_000_000  # rows: then the few tuples are at most 5 % of them, and the many about 67 %
NUMBERS = ("age", "schl", "wkhp")
FEW = ("age", "sex", "mar", "schl", "race", "cit", "state")
MANY = (*FEW, "puma", "wkhp")
GOALS = {"few tuples": (FEW, 5.0, 2.2), "many tuples": (MANY, 9.0, 6.0)}


def engine_figures(_kd: float) -> Iterator[Figure]:
    """People whose columns are drawn in three groups from the census: as many as asked for."""
    folder = real_data()
    if folder is None:
        print("engine: skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    with TemporaryDirectory() as scratch:
        table = Path(scratch) / "people.parquet"
        draw(folder / "acs2024_census" / "census.csv.gz", table)
        for name, (quasi, publish_goal, verify_goal) in GOALS.items():
            copied = cpu(partial(copy, table, (*quasi, "occp"), Path(scratch) / "copy.parquet"), 2)
            forget_peak()
            publishing, verifying = published(table, quasi, Path(scratch) / name)
            size, held = f"n={ROWS} d={len(quasi)} k={K}", ROWS >= HELD_FROM
            goals = (publish_goal, verify_goal) if held else (None, None)
            for what, seconds, goal in zip(
                ("publish", "verify"), (publishing, verifying), goals, strict=True
            ):
                memory = peak_mb() if what == "verify" else None
                yield Figure(f"engine {what}, {name}", size, seconds / copied, "copies", goal, memory=memory)


def draw(census: Path, table: Path) -> None:
    import duckdb

    with duckdb.connect(config={"threads": 2}) as session:
        session.execute(
            "CREATE TABLE s AS SELECT row_number() OVER () - 1 AS r, AGEP, SEX, MAR, SCHL, RAC1P, CIT, "
            "STATE, PUMA, coalesce(try_cast(WKHP AS INT), 0) AS WKHP, coalesce(OCCP::VARCHAR, '0') AS OCCP "
            f"FROM '{census}'"
        )
        n = session.execute("SELECT count(*) FROM s").fetchall()[0][0]
        session.execute(
            "COPY (SELECT a.AGEP::VARCHAR age, a.SEX::VARCHAR sex, a.MAR::VARCHAR mar, a.SCHL::VARCHAR schl, "
            "b.RAC1P::VARCHAR race, b.CIT::VARCHAR cit, b.STATE::VARCHAR state, b.PUMA::VARCHAR puma, "
            "w.WKHP::VARCHAR wkhp, a.OCCP::VARCHAR occp FROM (SELECT hash(i * 3 + 1) % $n ia, "
            "hash(i * 3 + 7921) % $n ib, hash(i * 3 + 104729) % $n ic FROM range($rows) t(i)) g "
            "JOIN s a ON a.r = ia JOIN s b ON b.r = ib JOIN s w ON w.r = ic) "
            f"TO '{table}' (ROW_GROUP_SIZE 500000)",
            {"n": n, "rows": ROWS},
        )


def copy(table: Path, columns: tuple[str, ...], target: Path) -> None:
    import duckdb

    with duckdb.connect(config={"threads": 2}) as session:
        session.execute(f"COPY (SELECT {', '.join(columns)} FROM '{table}') TO '{target}'")


def published(table: Path, quasi: tuple[str, ...], place: Path) -> tuple[float, float]:
    """Processor seconds of everything up to the verifier, and of the verifier."""
    policy = Policy(
        quasi_identifiers={q: {"type": "numeric" if q in NUMBERS else "categorical"} for q in quasi},
        sensitive=["occp"],
        rest="drop",
        privacy={"k": K},
        options={"choose": "widest"},
    )
    best = (float("inf"), float("inf"))
    for turn in range(2):  # the first one may compile
        times = {"start": time.process_time()}

        def watch(step: str, times: dict[str, float] = times) -> Progress:
            times[step] = time.process_time()
            return silent

        publish_large(
            table,
            policy,
            place.with_name(f"{place.name} {turn}"),
            Form("parquet"),
            Resources.of("3GB", 2),
            watch,
        )
        found = (times["verify"] - times["start"], times["measure"] - times["verify"])
        best = min(best[0], found[0]), min(best[1], found[1])
    return best


DIFFERENT = int(os.environ.get("INCROWD_DIFFERENT_ROWS", "1000000"))
VALUES = min(1_000_000, DIFFERENT // 10)  # of each column
DIFFERENT_FROM = 100_000_000  # rows: then the goals are held to
NUMBERED = tuple(f"u{j}" for j in range(6))


def different_rows(_kd: float) -> Iterator[Figure]:
    """Cuts where the rows are, by level, against a scan; writing, against a copy.

    With 30 bytes of memory a row, and at least 150 for each distinct text: all are looked up at once.
    """
    from incrowd.engines.sql_engine import SqlEngine

    memory = f"{max(256, DIFFERENT * 30 // 10**6, len(NUMBERED) * VALUES * 150 // 10**6)}MB"
    with TemporaryDirectory() as scratch:
        table = Path(scratch) / "numbers.parquet"
        draw_numbers(table)
        scanned, copied = (
            cpu(partial(scan, table), 2),
            cpu(partial(copy, table, (*NUMBERED, "s"), table.with_name("copy.parquet")), 2),
        )
        levels, cutting, writing = [0], [0.0], [0.0]
        restore = [
            watched(SqlEngine, "node_stats", cutting, levels),
            watched(SqlEngine, "node_tallies", cutting),
            watched(SqlEngine, "publish", writing),
        ]
        forget_peak()
        steps = {"start": time.process_time()}

        def watch(step: str) -> Progress:
            steps[step] = time.process_time()
            return silent

        policy = Policy(
            quasi_identifiers={name: {"type": "numeric"} for name in NUMBERED},
            sensitive=["s"],
            privacy={"k": K},
            options={"choose": "widest"},
        )
        try:
            publish_large(
                table, policy, Path(scratch) / "out", Form("parquet"), Resources.of(memory, 2), watch
            )
        finally:
            for undo in restore:
                undo()
        held, size = DIFFERENT >= DIFFERENT_FROM, f"n={DIFFERENT} d=6 k={K} {memory}"
        goals = (6.0, 10.0) if held else (None, None)
        per_level = cutting[0] / max(levels[0], 1)
        yield Figure("different rows: cuts, a level", size, per_level / scanned, "scans", goals[0])
        yield Figure("different rows: write", size, writing[0] / copied, "copies", goals[1])
        before = steps["verify"] - steps["start"]
        yield Figure("different rows: publish", size, before / copied, "copies")
        verifying = steps["measure"] - steps["verify"]
        yield Figure("different rows: verify", size, verifying / copied, "copies", memory=peak_mb())


def draw_numbers(table: Path) -> None:
    import duckdb

    columns = ", ".join(
        f"(hash(i * 8 + {j}) % {VALUES})::INTEGER AS {name}" for j, name in enumerate(NUMBERED)
    )
    with duckdb.connect(config={"threads": 2}) as session:
        session.execute(
            f"COPY (SELECT {columns}, (hash(i * 8 + 7) % 50)::INTEGER AS s FROM range({DIFFERENT}) t(i)) "
            f"TO '{table}' (ROW_GROUP_SIZE 500000)"
        )


def scan(table: Path) -> None:
    import duckdb

    with duckdb.connect(config={"threads": 2}) as session:
        session.execute(f"SELECT count(*), bit_xor(hash({', '.join(NUMBERED)}, s)) FROM '{table}'")


def watched(
    of: type[Any], name: str, spent: list[float], calls: list[int] | None = None
) -> Callable[[], None]:
    """Add up the processor seconds of a method, and count its calls -> how to stop that."""
    method = getattr(of, name)

    def run(*given: Any, **more: Any) -> Any:
        start = time.process_time()
        try:
            return method(*given, **more)
        finally:
            spent[0] += time.process_time() - start
            if calls is not None:
                calls[0] += 1

    setattr(of, name, run)
    return partial(setattr, of, name, method)
