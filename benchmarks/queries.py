"""Figures of queries: a thousand of them on a release of the census, after it was read."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bench import Figure, peak_mb
from tables import real_data

from incrowd import Policy, publish
from incrowd.queries import Queryable
from incrowd.tables import read

QUASI = {
    "AGEP": {"type": "numeric"},
    "SEX": {"type": "categorical"},
    "RAC1P": {"type": "categorical"},
    "SCHL": {"type": "categorical"},
    "MAR": {"type": "categorical"},
    "COW": {"type": "categorical"},
}
SENSITIVE = "ESR"
QUESTIONS = 1_000


def _questions(values: dict[str, list[str]]) -> list[str]:
    """Half of them counts, the others sums, averages and ends of ages, with one to three conditions."""
    rng = np.random.default_rng(11)
    asked = []
    for i in range(QUESTIONS):
        low = int(rng.integers(0, 80))
        conditions = [f"AGEP BETWEEN {low} AND {low + int(rng.integers(0, 30))}"]
        for name in rng.permutation(list(values))[: int(rng.integers(0, 3))].tolist():
            some = rng.permutation(values[name])[: int(rng.integers(1, 4))].tolist()
            conditions.append(f"{name} IN ({', '.join(repr(text) for text in some)})")
        what = ("COUNT(*)", "SUM(AGEP)", "COUNT(*)", "AVG(AGEP)", "COUNT(*)", "MAX(AGEP)")[i % 6]
        asked.append(f"SELECT {what} FROM census WHERE {' AND '.join(conditions)}")
    return asked


def query_figures(kd: float) -> Iterator[Figure]:
    """Bounds and estimates of queries that all differ, their SQL included."""
    data = real_data()
    if data is None:
        print("queries: skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    table = read(data / "acs2024_census" / "census.csv.gz", columns=[*QUASI, SENSITIVE])
    policy = Policy(quasi_identifiers=QUASI, sensitive=[SENSITIVE], privacy={"k": 10})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "release")
        publish(table, policy).write(folder)
        start = time.process_time()
        release = Queryable.load(folder)
        loading = time.process_time() - start
    names = [name for name in (*QUASI, SENSITIVE) if name != "AGEP"]
    asked = _questions({name: [t for t in table.column(name).texts if t] for name in names})
    release.ask("SELECT AVG(AGEP)")
    start = time.process_time()
    answers = release.ask_many(asked)
    seconds = time.process_time() - start
    rows = release.published.count.size
    size = f"n={len(table)} d=7 k=10, {rows} distinct rows"
    exact = sum(answer.exact for answer in answers)
    yield Figure(f"{QUESTIONS} queries ({exact} exact)", size, seconds / kd, "kd", 3.0, memory=peak_mb())
    yield Figure("a release read to be asked", size, loading / kd, "kd")
