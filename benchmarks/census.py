"""Every command on the whole census, as a user runs it: a process of its own, its start included.

One copy is the processor time of DuckDB, reading the same CSV file and writing it again. Growth is the
exponent over n: from a quarter of the rows to all of them. Other lines have half of the columns, or k = 50.
A word after the name keeps to commands that have it in theirs: ``census publish``. Two lines compare wall
time: one thread against all processors, and the first run after an installation (`incrowd kernels`) against
a later one.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
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
METHODS = ("mondrian-relaxed", "hilbert", "lexicographic", "single", "incognito", "topdown", "ring")
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

    @property
    def policy(self) -> Path:
        return self.release.with_suffix(".toml")

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Every command that takes a table or a release, in an order in which each finds what it needs."""
        table, release, names = str(self.table), str(self.release), ",".join(self.quasi)
        roles = ["--qi", names, "--sa", SENSITIVE, "--drop-rest", "-k", str(self.k)]
        original = ["--original", table]
        yield "publish", ["publish", table, *roles, "-o", release]
        for method in METHODS:
            one = ["--method", method, "-o", f"{release}.{method}"]
            yield f"publish by {method}", ["publish", table, *roles, *one]
        yield "verify", ["verify", release, *original]
        yield "measure", ["measure", release, *original]
        yield "attack", ["attack", release, *original]
        yield "audit", ["audit", table, f"{release}/data.csv", "--qi", names, "--k", str(self.k)]
        yield "query", ["query", release, "SELECT COUNT(*) WHERE AGEP <= 36"]
        yield "report", ["report", release, "-o", f"{release}.html"]
        yield "learn", ["learn", release, *original, "--target", "MAR"]
        yield "inspect", ["inspect", table]
        self.policy.write_text(
            f"quasi_identifiers = {[*self.quasi]}\nsensitive = [{SENSITIVE!r}]\nrest = 'drop'\n"
        )
        some = ["--methods", "mondrian,mondrian-relaxed", "--k", str(self.k), "--no-cache"]
        yield "compare", ["compare", table, "-p", str(self.policy), *some]


def census_figures(_kd: float) -> Iterator[Figure]:
    """All commands at full size, then with fewer columns and a larger k."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    wanted = words[1] if len(words) > 1 else ""
    folder = real_data()
    if folder is None:
        print("census: skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    with TemporaryDirectory() as scratch:
        source = folder / "acs2024_census" / "census.csv.gz"
        whole, rows = _table(source, Path(scratch) / "whole.csv", None)
        quarter, some = _table(source, Path(scratch) / "quarter.csv", rows // 4)
        copy = _spent([sys.executable, "-c", COPY, str(whole)]).seconds
        yield from _starts_and_threads(Case(whole, QUASI, 10), Path(scratch))
        smaller = dict(_costs(Case(quarter, QUASI, 10), wanted))
        for case in (Case(whole, QUASI, 10), Case(whole, QUASI[:4], 10), Case(whole, QUASI, 50)):
            usual = (len(case.quasi), case.k) == (len(QUASI), 10)
            for name, cost in _costs(case, wanted):
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


def _starts_and_threads(case: Case, scratch: Path) -> Iterator[Figure]:
    """One thread against all, in wall time, the best of three; and the first run once installed, in CPU."""
    _, words = next(case.commands())
    size = f"n={sum(1 for _ in case.table.open()) - 1} d={len(case.quasi)} k={case.k}"
    walls: dict[str, list[float]] = {"1": [], "all": []}
    for number in range(6):
        several = "all" if number % 2 else "1"
        more = [] if number % 2 else ["--threads", "1"]
        start = time.perf_counter()
        _spent([*INCROWD, *words[:-1], f"{case.release}.{number}", *more])
        walls[several].append(time.perf_counter() - start)
    yield Figure(
        "census: all threads", size, min(walls["1"]) / min(walls["all"]), "speed of one", 1.5, more=True
    )
    (scratch / "kept").mkdir(mode=0o700)
    kept = os.environ | {"NUMBA_CACHE_DIR": str(scratch / "kept")}
    _spent([*INCROWD, "kernels"], kept)  # as an installation does
    first, later = (_spent([*INCROWD, *words[:-1], f"{case.release}.{name}"], kept) for name in "ab")
    yield Figure("census: first run", size, first.seconds / later.seconds, "later runs", 1.5)


def _costs(case: Case, wanted: str) -> Iterator[tuple[str, Cost]]:
    """What each command takes that has a word in its name; the release that others need is made anyway."""
    for name, words in case.commands():
        if wanted in name or name == "publish":
            yield name, _spent([*INCROWD, *words])


def _spent(command: list[str], environment: Mapping[str, str] | None = None) -> Cost:
    """What a process takes, with the processes that it waits for itself. Attacks may end with 1 or 3."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code not in (0, 1, 3):
        raise RuntimeError(f"{command[3]}: {said}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
