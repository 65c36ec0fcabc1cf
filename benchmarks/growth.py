"""What each method takes over rows, columns and k: the curves of docs/benchmarks.md.

    ./run bench growth                   every method, then the page; what is known is not measured again
    ./run bench growth --only ring       only methods with this word in their names; --again measures anew
    ./run bench growth --limit 60        CPU seconds for all points of one method (40 unless told)
    ./run bench growth --page            measure nothing, write the page

Whole calls of `incrowd.publish` on the invented clinic, the verifier included, from a file in memory on: CPU
seconds of one process for each method, the first call (which compiles) not counted. A line goes through the
point n = 4,000, d = 4, k = 10.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any, NamedTuple

from peer_page import machine
from peer_tools import cache_folder
from peers import today

import incrowd as ic
from incrowd.algorithms.base import all_methods
from incrowd.examples import write_example
from incrowd.reports.chart import Chart, ChartLine, RateChart

DOCS = Path(__file__).resolve().parents[1] / "docs"
BEGIN, END = "<!-- growth: made by ./run bench growth -->\n", "<!-- end of growth -->"
QUASI = ("age", "sex", "zip", "education", "marital_status")
ROLL = ("age", "sex", "zip")  # what the electoral roll has
ROWS, WIDTHS, KS = (1000, 2000, 4000, 8000, 16000), (2, 3, 4), (5, 10, 20, 50)
USUAL = (4000, 4, 10)
FEW = 300  # people of the first call
LIMIT = 40
WITHOUT = {"best": "takes the seconds that it is given"}


class Point(NamedTuple):
    """A table of n people and d quasi-identifiers, published with k."""

    n: int
    d: int
    k: int


def points() -> list[Point]:
    """From small to large, so that a limit cuts off the largest."""
    n, d, k = USUAL
    found = [Point(rows, d, k) for rows in ROWS]
    found += [Point(n, width, k) for width in WIDTHS] + [Point(n, d, size) for size in KS]
    return sorted(set(found))


def policy_of(method: str, point: Point, tour: Path) -> ic.Policy:
    """What is asked of a method: k, and what else it needs."""
    about = all_methods()[method]
    described = ic.Policy.load(tour / "policy.toml").to_dict()["quasi_identifiers"]
    asked: dict[str, Any] = {
        "identifiers": ["name", "ssn"],
        "quasi_identifiers": {column: described[column] for column in QUASI[: point.d]},
        "sensitive": ["cost" if about.needs_plain else "diagnosis"],
        "rest": "drop",
        "privacy": {"k": point.k},
        "method": method,
        "accept": ["all"],
    }
    if about.needs_plain:
        asked["privacy"]["plain"] = {"p": "0.9", "d": "0.6", "columns": ["age", "cost"]}
    if about.needs_l:
        asked["privacy"]["l"] = 5
    if about.joins:
        joined = ic.Policy.load(tour / "join.toml").to_dict()
        kept = {column: joined["quasi_identifiers"][column] for column in ROLL[: point.d]}
        asked |= {"quasi_identifiers": kept, "public": joined["public"]}
        asked |= {key: joined[key] for key in ("membership_secret", "entity") if key in joined}
        asked["privacy"] |= {key: value for key, value in joined["privacy"].items() if key != "k"}
    return ic.Policy.from_dict(asked, tour)


def measure(method: str, tables: Path) -> None:
    """In a process of its own: one line of JSON for each point as soon as it is known."""
    for number, point in enumerate([Point(FEW, 4, 5), *points()]):
        tour = tables / str(point.n)
        policy = policy_of(method, point, tour)
        began = time.process_time()
        try:
            release = ic.publish(tour / "patients.csv", policy)
        except ic.IncrowdError as refused:
            print(json.dumps([*point, type(refused).__name__]), flush=True)
            continue
        if number and release.verdict.passed:
            print(json.dumps([*point, round(time.process_time() - began, 3)]), flush=True)


def spent(method: str, limit: int, tables: Path) -> dict[str, Any]:
    """All points of a method, as far as the limit lets it come."""
    words = [sys.executable, str(Path(__file__).resolve()), "--one", method, "--tables", str(tables)]
    done = subprocess.run(
        ["sh", "-c", f'ulimit -t {limit}; exec "$@"', "sh", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    stopped = done.returncode in (-signal.SIGKILL, -signal.SIGXCPU)
    if done.returncode and not stopped:
        reason = (done.stderr.strip().splitlines() or ["no words"])[-1]
        raise RuntimeError(f"{method}: {reason}")
    return {"points": found, "limit": limit, "stopped": stopped, "load": os.getloadavg()[0], "date": today()}


# The page


def seconds(found: Mapping[str, Any]) -> dict[Point, float]:
    return {Point(n, d, k): cost for n, d, k, cost in found["points"] if not isinstance(cost, str)}


def along(axis: str) -> Iterator[Point]:
    """The points of one curve."""
    n, d, k = USUAL
    for value in {"n": ROWS, "d": WIDTHS, "k": KS}[axis]:
        yield Point(**{"n": n, "d": d, "k": k, axis: value})


def curve(method: str, axis: str, known: Mapping[Point, float]) -> dict[Point, float]:
    """What is known of one curve; a join has no more columns than the roll."""
    widest = len(ROLL) if all_methods()[method].joins and axis == "d" else max(WIDTHS)
    return {point: known[point] for point in along(axis) if point in known and point.d <= widest}


def exponent(known: Mapping[Point, float]) -> str:
    """Of the time over n, from 2,000 people to 8,000, which most methods reach within the limit."""
    few, many = Point(ROWS[1], *USUAL[1:]), Point(ROWS[3], *USUAL[1:])
    if few not in known or many not in known:
        return "–"
    return f"{log(known[many] / known[few]) / log(many.n / few.n):.1f}"


def text(results: Mapping[str, Mapping[str, Any]], pictures: Sequence[str]) -> str:
    loads = [found["load"] for found in results.values()]
    days = sorted({found["date"] for found in results.values()})
    n, d, k = USUAL
    axes = [f"{axis} = {getattr(point, axis):,}" for axis in "ndk" for point in along(axis)]
    lines = [
        f"Made by `./run bench growth` on {' to '.join(dict.fromkeys((days[0], days[-1])))}; {machine()};",
        f"load {min(loads):.0f} to {max(loads):.0f}, one call each.",
        "CPU seconds of `publish` on the invented clinic, the verifier included, compiled kernels kept.",
        f"One of n (people), d (quasi-identifiers) and k changes, the others are n = {n:,}, d = {d}, k =",
        f"{k}; the exponent is of the time over n, from {ROWS[1]:,} to {ROWS[3]:,} people. –: refused,",
        f"or not reached within {LIMIT} CPU seconds for all points of a method. A join knows the",
        f"columns of the electoral roll, so d is {len(ROLL)} for it where it would be {d}.",
        "",
        f"| method | {' | '.join(axes)} | exponent |",
        f"|---|{'---|' * len(axes)}---|",
    ]
    for method, found in results.items():
        known = seconds(found)
        cells = []
        for axis in "ndk":
            some = curve(method, axis, known)
            cells += [f"{some[point]:.2f}" if point in some else "–" for point in along(axis)]
        lines.append(f"| `{method}` | {' | '.join(cells)} | {exponent(known)} |")
    left_out = "; ".join(f"`{method}` {why}" for method, why in WITHOUT.items())
    lines += ["", f"Left out: {left_out}.", ""]
    lines += [f"![CPU seconds over {name.split('-')[1]}](pictures/{name})" for name in pictures]
    return "\n".join(lines) + "\n"


def charts(results: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Chart]]:
    """Methods that make equivalence classes, and the others, over each of n, d and k."""
    about = all_methods()
    classes = [name for name in results if not (about[name].overlapping or about[name].joins)]
    others = [name for name in results if name not in classes]
    words = {"n": "people", "d": "quasi-identifiers", "k": "k"}
    for kind, methods in (("classes", classes), ("others", others)):
        for axis in "ndk":
            lines = []
            for look, method in enumerate(methods):
                some = curve(method, axis, seconds(results[method]))
                shown = [(float(getattr(at, axis)), cost) for at, cost in some.items()]
                if shown:
                    lines.append(ChartLine(method, tuple(shown), look, look < 6))
            if lines:
                title = "Equivalence classes, buckets" if kind == "classes" else "Overlapping rows, joins"
                chart = RateChart(f"{title}: CPU over {axis}", words[axis], "CPU s", tuple(lines), 0.1)
                yield f"growth-{axis}-{kind}.svg", chart


def write_page(results: Mapping[str, Mapping[str, Any]], docs: Path) -> None:
    """Its part of docs/benchmarks.md, and the pictures."""
    names = []
    for name, chart in charts(results):
        (docs / "pictures" / name).write_text(chart.svg(), encoding="utf-8")
        names.append(name)
    page = (docs / "benchmarks.md").read_text(encoding="utf-8")
    part = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    new, number = part.subn(lambda _: BEGIN + text(results, names) + END, page)
    if number != 1:
        raise ValueError("docs/benchmarks.md has no place for the curves")
    (docs / "benchmarks.md").write_text(new, encoding="utf-8")


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="./run bench growth", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--tables", help=argparse.SUPPRESS)
    asked = parser.parse_args(words)
    if asked.one:
        measure(asked.one, Path(asked.tables))
        return
    folder = cache_folder().with_name("growth")
    folder.mkdir(parents=True, exist_ok=True)
    methods = [method for method in all_methods() if method not in WITHOUT]
    wanted = [
        method
        for method in methods
        if not asked.page
        and asked.only in method
        and (asked.again or not (folder / f"{method}.json").is_file())
    ]
    with tempfile.TemporaryDirectory() as scratch:
        for n in (FEW, *ROWS) if wanted else ():
            write_example(Path(scratch) / str(n), rows=n)
        for method in wanted:
            found = spent(method, asked.limit, Path(scratch))
            (folder / f"{method}.json").write_text(json.dumps(found) + "\n", encoding="utf-8")
            print(f"growth: {method} measured", file=sys.stderr, flush=True)
    known = {method: folder / f"{method}.json" for method in methods}
    results = {method: json.loads(path.read_text()) for method, path in known.items() if path.is_file()}
    if not results:
        sys.exit("growth: nothing is measured yet")
    write_page(results, DOCS)
    print("growth: wrote its part of docs/benchmarks.md, and the pictures", file=sys.stderr)


if __name__ == "__main__":
    main()
