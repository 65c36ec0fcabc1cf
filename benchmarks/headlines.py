"""Figures of what every release is headed by: the error of its two-column tables, of 300,000 people."""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from bench import Figure, cpu, peak_mb
from tables import CENSUS, real_data

from incrowd import Policy, publish
from incrowd.flow import Table
from incrowd.publishing import draft

ROWS, K, GOAL = 300_000, 10, 2.0  # the goal is of Mondrian and ring alike


def headline_figures(kd: float) -> Iterator[Figure]:
    """E2 and skill with and without totals, of methods with few different cells and with very many."""
    folder = real_data()
    if folder is None:
        print("headline: skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    with gzip.open(folder / "acs2024_census" / "census.csv.gz", "rt", newline="") as lines:
        header, *rows = islice(csv.reader(lines), ROWS + 1)
    table = Table.of(dict(zip(header, zip(*rows, strict=True), strict=True)))
    quasi = {name: {"type": "numeric" if name == "AGEP" else "categorical"} for name in CENSUS}
    others = [name for name in header if name not in CENSUS]
    for method in ("mondrian", "ring"):
        for totals in (True, False):
            asked = {"quasi_identifiers": quasi, "sensitive": others, "method": method, "totals": totals}
            seconds = _seconds(table, Policy.from_dict({**asked, "privacy": {"k": K}}))
            name = f"headline, {method}{', totals' if totals else ''}"
            size = f"n={ROWS} {len(header)} columns"
            yield Figure(name, size, seconds / kd, "kd", GOAL, memory=peak_mb())


def _seconds(table: Table, policy: Policy) -> float:
    """Processor seconds of the headline inside `publish`, where cells are known and need not be read."""
    measure, found = vars(draft)["measure_two_way"], list[float]()

    def timed(*given: Any, **more: Any) -> Any:
        measured: list[Any] = []
        found.append(cpu(lambda: measured.append(measure(*given, **more)), 3))
        return measured[0]

    vars(draft)["measure_two_way"] = timed
    try:
        _ = publish(table, policy).two_way
    finally:
        vars(draft)["measure_two_way"] = measure
    return found[0]
