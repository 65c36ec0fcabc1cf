"""Every command on the whole census, as a user runs it: a process of its own, its start included.

One copy is the processor time of DuckDB, reading the same CSV file and writing it again. Growth is the
exponent over n: from a quarter of the rows to all of them. Other lines have half of the columns, or k = 50.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench import Figure
from tables import opened, real_data

QUASI = ("AGEP", "SEX", "SCHL", "MAR", "RAC1P", "COW", "HISP", "OCCP")
SENSITIVE = "WAGP"
INCROWD = (sys.executable, "-c", "import incrowd; incrowd._command_line()")
COPY = (
    "import duckdb, sys; duckdb.sql(f\"COPY (FROM read_csv('{sys.argv[1]}', all_varchar=true)) "
    "TO '{sys.argv[1]}.copy' (HEADER)\")"
)
GOALS = {"attack": 140.0, "learn": 60.0, "audit": 23.0}  # 90, 40 and 15 s where a copy takes 0.64


class Cost(NamedTuple):
    """Processor seconds and peak memory of a process."""

    seconds: float
    megabytes: float


class Case(NamedTuple):
    """A table of n people and d quasi-identifiers, published with k."""

    table: Path
    quasi: tuple[str, ...]
    k: int

    @property
    def release(self) -> Path:
        return self.table.with_suffix(f".{len(self.quasi)}.{self.k}")

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Every command that takes a table or a release, in an order in which each finds what it needs."""
        table, release, names = str(self.table), str(self.release), ",".join(self.quasi)
        roles = ["--qi", names, "--sa", SENSITIVE, "-k", str(self.k)]
        original = ["--original", table]
        yield "publish", ["publish", table, *roles, "-o", release]
        yield "verify", ["verify", release, *original]
        yield "measure", ["measure", release, *original]
        yield "attack", ["attack", release, *original]
        yield "audit", ["audit", table, f"{release}/data.csv", "--qi", names, "--k", str(self.k)]
        yield "query", ["query", release, "SELECT COUNT(*) WHERE AGEP <= 36"]
        yield "report", ["report", release, "-o", f"{release}.html"]
        yield "learn", ["learn", release, *original, "--target", "MAR"]
        yield "inspect", ["inspect", table]


def census_figures(_kd: float) -> Iterator[Figure]:
    """All commands at full size, then with fewer columns and a larger k."""
    folder = real_data()
    if folder is None:
        print("census: skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    with TemporaryDirectory() as scratch:
        source = folder / "acs2024_census" / "census.csv.gz"
        whole, rows = _table(source, Path(scratch) / "whole.csv", None)
        quarter, some = _table(source, Path(scratch) / "quarter.csv", rows // 4)
        copy = _spent([sys.executable, "-c", COPY, str(whole)]).seconds
        smaller = dict(_costs(Case(quarter, QUASI, 10)))
        for case in (Case(whole, QUASI, 10), Case(whole, QUASI[:4], 10), Case(whole, QUASI, 50)):
            usual = (len(case.quasi), case.k) == (len(QUASI), 10)
            for name, cost in _costs(case):
                growth = log(cost.seconds / smaller[name].seconds) / log(rows / some) if usual else None
                size = f"n={rows} d={len(case.quasi)} k={case.k}"
                goal = GOALS.get(name) if usual else None
                figure = f"census: {name}", size, cost.seconds / copy, "copies by DuckDB", goal, growth
                yield Figure(*figure, cost.megabytes)


def _table(source: Path, target: Path, rows: int | None) -> tuple[Path, int]:
    """The columns that are used, of so many people."""
    with opened(source) as lines, target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*QUASI, SENSITIVE))
        written = 0
        for row in islice(csv.DictReader(lines), rows):
            writer.writerow([row[name] for name in (*QUASI, SENSITIVE)])
            written += 1
    return target, written


def _costs(case: Case) -> Iterator[tuple[str, Cost]]:
    for name, words in case.commands():
        yield name, _spent([*INCROWD, *words])


def _spent(command: list[str]) -> Cost:
    """What a process takes, with the processes that it waits for itself. Attacks may end with 1 or 3."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code not in (0, 1, 3):
        raise RuntimeError(f"{command[3]}: {said}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
