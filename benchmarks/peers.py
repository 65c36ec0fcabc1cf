"""Other tools and incrowd on the same tables, measured by one definition: the page docs/peers.md.

    ./run bench peers                    what was not measured yet, then the page
    ./run bench peers --limit 600        stop a run after so many CPU seconds (300 unless told)
    ./run bench peers --only anonypy     only tools with this word in their names (may be repeated)
    ./run bench peers --table adult_arx  only this table (may be repeated); --k 10 likewise
    ./run bench peers --again            measure once more what is known
    ./run bench peers --page             measure nothing, write the page

Each run is a process of its own, from the CSV file to the file it writes; ours verifies its release, too.
Results are kept beside the environments of the peers, so an interrupted comparison goes on where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from peer_measures import domains_of, measured
from peer_page import write_page
from peer_tools import TOOLS, Missing, Table, Tool, cache_folder, command, k_by_pycanon, version_of
from tables import opened, real_data

KS = (5, 10, 50)
LIMIT = 300  # CPU seconds
WARM_UP = 300  # rows, so that no run compiles
ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
CENSUS = ("PUMA", "AGEP", "SEX", "RAC1P", "HISP", "SCHL", "MAR", "COW")
SOURCES = {
    "adult_arx": ("adult_arx", "adult_arx.csv", ADULT, ("age",), "salary-class", None),
    "census, 100,000 rows": ("acs2024_census", "census.csv.gz", CENSUS, ("AGEP",), "WAGP", 100_000),
    "census, 500,000 rows": ("acs2024_census", "census.csv.gz", CENSUS, ("AGEP",), "WAGP", 500_000),
}
EMPTY = "blank"  # written into empty cells, for all tools alike

Result = dict[str, Any]


def prepared(name: str, folder: Path, scratch: Path) -> Table:
    """A table and its hierarchies without empty cells; every n-th row, so that all regions are in it."""
    place, file, columns, numbers, sensitive, wanted = SOURCES[name]
    home = scratch / name.replace(", ", "-").replace(" ", "-")
    home.mkdir(parents=True, exist_ok=True)
    with opened(folder / place / file) as lines:
        rows = [[row[column] or EMPTY for column in (*columns, sensitive)] for row in csv.DictReader(lines)]
    if wanted is not None:
        rows = [rows[number * len(rows) // wanted] for number in range(wanted)]
    with (home / "table.csv").open("w", newline="", encoding="utf-8") as target:
        csv.writer(target, lineterminator="\n").writerows([(*columns, sensitive), *rows])
    for column in columns:
        tree = (folder / place / "hierarchies" / f"{column}.csv").read_text(encoding="utf-8")
        filled = [EMPTY + line if line.startswith(";") else line for line in tree.splitlines()]
        (home / f"{column}.csv").write_text("\n".join(filled) + "\n", encoding="utf-8")
    return Table(name, home / "table.csv", columns, numbers, sensitive, home, len(rows))


def first(table: Table, rows: int, scratch: Path) -> Table:
    """The first rows of a table."""
    path = scratch / "few.csv"
    with table.path.open(encoding="utf-8") as lines:
        path.write_text("".join(islice(lines, rows + 1)), encoding="utf-8")
    return replace(table, path=path, rows=rows)


# A process of its own starts the run and waits for it: the peak that the kernel reports of a child begins
# with the memory of whoever started it, and this program holds whole tables.
STARTER = """
import json, os, signal, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
signal.signal(signal.SIGTERM, lambda *_: process.kill())
_, status, used = os.wait4(process.pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def spent(words: Sequence[str], limit: int) -> tuple[str, float, float, str]:
    """Run a program -> how it ended (done, limit or failed), CPU seconds, peak megabytes, its last words."""
    bounded = ["sh", "-c", f'ulimit -c 0; ulimit -S -t {limit}; exec "$@"', "sh", *words]
    starter = [sys.executable, "-S", "-c", STARTER]
    with subprocess.Popen([*starter, *bounded], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            told, errors = process.communicate()
        except BaseException:
            process.terminate()
            raise
    code, seconds, megabytes = json.loads(told)
    said = errors.decode(errors="replace").strip().splitlines()
    how = "done" if code == 0 else "limit" if code == -signal.SIGXCPU else "failed"
    return how, seconds, megabytes, said[-1] if said else ""


def reason(tool: Tool, last: str) -> str:
    """Why a run failed: our own refusals have a sentence; of others, the kind of error."""
    refusal = "incrowd: "
    if tool.ours and last.startswith(refusal):
        return f"refused: {last.removeprefix(refusal)}"
    kind = last.partition(":")[0]
    return f"it ended with {kind}" if kind.isidentifier() else "it ended with an error"


def one_run(tool: Tool, table: Table, k: int, limit: int, scratch: Path) -> Result:
    """Run a tool on a table, and measure what it wrote."""
    found: Result = {"tool": tool.name, "table": table.name, "n": table.rows, "k": k, "limit": limit}
    if tool.most is not None and table.rows > tool.most:
        return found | {"how": "skipped", "why": f"not tried on more than {tool.most:,} rows"}
    try:
        version = version_of(tool.tool)
        if tool.ours:  # compiles what is not kept yet
            with tempfile.TemporaryDirectory(dir=scratch) as aside:
                words, _ = command(tool, first(table, WARM_UP, Path(aside)), 5, Path(aside))
                spent(words, limit)
        with tempfile.TemporaryDirectory(dir=scratch) as work:
            words, output = command(tool, table, k, Path(work))
            load = os.getloadavg()[0]
            how, seconds, megabytes, last = spent(words, limit)
            found |= {"version": version, "how": how, "load": round(load, 1), "date": today()}
            if how == "failed":
                return found | {"why": reason(tool, last)}
            found |= {"seconds": round(seconds, 2), "megabytes": round(megabytes)}
            return found if how == "limit" else found | _measures(tool, table, output)
    except Missing as missing:
        return found | {"how": "skipped", "why": str(missing)}


def _measures(tool: Tool, table: Table, output: Path) -> Result:
    trees = table.hierarchies if tool.trees else None
    domains = domains_of(table.path, table.columns, table.numbers, trees)
    found = asdict(measured(table.path, output, domains, stars=tool.tool != "arx"))
    if tool.classes:
        found["pycanon"] = k_by_pycanon(output, table.columns)
    return found


def today() -> str:
    return datetime.now(UTC).date().isoformat()


class Kept:
    """Results on disk, one file for each run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, tool: Tool, table: str, k: int) -> Path:
        name = "".join(sign if sign.isalnum() else "-" for sign in f"{table} {tool.name} {k}")
        return self.folder / f"{name}.json"

    def get(self, tool: Tool, table: str, k: int) -> Result | None:
        path = self._path(tool, table, k)
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def put(self, tool: Tool, table: str, k: int, result: Result) -> None:
        path = self._path(tool, table, k)
        new = path.with_suffix(".new")
        new.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        new.replace(path)


def is_known(result: Result | None, limit: int) -> bool:
    """What was skipped, or failed, or was stopped at a smaller limit, is tried again."""
    if result is None or result["how"] in ("skipped", "failed"):
        return False
    return bool(result["how"] != "limit" or result["limit"] >= limit)


def runs(asked: argparse.Namespace) -> Iterator[tuple[str, int, Tool]]:
    words = asked.only or [""]
    for table in asked.table or SOURCES:
        for k in asked.k or KS:
            for tool in TOOLS:
                if any(word in tool.name for word in words):
                    yield table, k, tool


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="./run bench peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("--only", action="append")
    parser.add_argument("--table", action="append", choices=sorted(SOURCES))
    parser.add_argument("--k", type=int, action="append", choices=KS)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--page", action="store_true")
    asked = parser.parse_args(words)
    kept = Kept(cache_folder() / "results")
    if not asked.page:
        folder = real_data()
        if folder is None:
            sys.exit("peers: no real tables (set INCROWD_DATA)")
        measure_all(asked, kept, folder)
    every = [kept.get(tool, table, k) for table in SOURCES for k in KS for tool in TOOLS]
    page = Path(__file__).resolve().parents[1] / "docs"
    write_page([result for result in every if result is not None], page)
    print(f"peers: wrote {page.name}/peers.md and its pictures", file=sys.stderr)


def measure_all(asked: argparse.Namespace, kept: Kept, folder: Path) -> None:
    """All runs that are asked for and not known, each kept as soon as it is done."""
    wanted = list(runs(asked))
    scratch = Path(tempfile.mkdtemp(prefix="incrowd-peers-"))
    tables: dict[str, Table] = {}
    try:
        for number, (name, k, tool) in enumerate(wanted, start=1):
            if not asked.again and is_known(kept.get(tool, name, k), asked.limit):
                continue
            if name not in tables:
                tables[name] = prepared(name, folder, scratch)
            result = one_run(tool, tables[name], k, asked.limit, scratch)
            kept.put(tool, name, k, result)
            said = f"{result['seconds']:.1f} s" if "seconds" in result else result.get("why", "")
            print(
                f"peers: {number} of {len(wanted)}: {name}, k = {k}, {tool.name}: {result['how']}, {said}",
                file=sys.stderr,
                flush=True,
            )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
