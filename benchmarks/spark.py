"""Figures of Spark as an engine: publishing and verifying, against Spark's own copy of the same columns.

Starting Spark is not measured. Processor seconds are those of Java and of the program together.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import Figure
from engines import FEW, MANY, NUMBERS, ROWS, K, draw
from tables import real_data

from incrowd.engines.resources import Resources
from incrowd.engines.spark_start import check_installed, spark_session
from incrowd.errors import InputError
from incrowd.long_work import Progress, silent
from incrowd.policy import Policy
from incrowd.publishing.large import publish_large
from incrowd.publishing.pipeline import Form

GOALS = {"few tuples": (FEW, 7.0), "many tuples": (MANY, None)}
RESOURCES = Resources(6_000_000_000, 2, engine="spark")


def spark_figures(_kd: float) -> Iterator[Figure]:
    """The people that the figures of DuckDB are drawn from, too."""
    folder = real_data()
    try:
        check_installed()
    except InputError as why:
        print(f"spark: skipped, {why}", file=sys.stderr)
        return
    if folder is None:
        print("spark: skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    with TemporaryDirectory() as scratch:
        table, private = Path(scratch) / "people.parquet", Path(scratch) / "private"
        private.mkdir(mode=0o700)
        draw(folder / "acs2024_census" / "census.csv.gz", table)
        with spark_session(private, RESOURCES) as spark:
            for name, (quasi, goal) in GOALS.items():
                copied = min(_copied(spark, table, (*quasi, "occp"), Path(scratch)) for _ in range(3))
                publishing, verifying = _published(table, quasi, Path(scratch) / name)
                size = f"n={ROWS} d={len(quasi)} k={K}"
                yield Figure(f"spark publish, {name}", size, publishing / copied, "copies", goal)
                yield Figure(f"spark verify, {name}", size, verifying / copied, "copies", None)


def used() -> float:
    """Processor seconds of this program and of its Java."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    said = Path(f"/proc/{gateway.proc.pid}/stat").read_text().rpartition(")")[2].split()
    return time.process_time() + (int(said[11]) + int(said[12])) / os.sysconf("SC_CLK_TCK")


def _copied(spark: Any, table: Path, columns: tuple[str, ...], scratch: Path) -> float:
    start = used()
    spark.read.parquet(f"file://{table}").select(*columns).write.mode("overwrite").parquet(
        f"file://{scratch / 'copy'}"
    )
    return used() - start


def _published(table: Path, quasi: tuple[str, ...], place: Path) -> tuple[float, float]:
    """Everything up to the verifier, and the verifier."""
    policy = Policy(
        quasi_identifiers={q: {"type": "numeric" if q in NUMBERS else "categorical"} for q in quasi},
        sensitive=["occp"],
        rest="drop",
        privacy={"k": K},
        options={"choose": "widest"},
    )
    best = (float("inf"), float("inf"))
    for turn in range(3):  # the first ones may compile
        times = {"start": used()}

        def watch(step: str, times: dict[str, float] = times) -> Progress:
            times[step] = used()
            return silent

        publish_large(
            table, policy, place.with_name(f"{place.name} {turn}"), Form("parquet"), RESOURCES, watch
        )
        if os.environ.get("INCROWD_SPARK_STEPS"):
            print({step: round(at - times["start"], 1) for step, at in times.items()}, file=sys.stderr)
        found = (times["verify"] - times["start"], times["measure"] - times["verify"])
        best = min(best[0], found[0]), min(best[1], found[1])
    return best
