"""Figures of whole publications, verifier included: from a file of the census to a written release."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import Figure, cpu, peak_mb
from tables import CENSUS, opened, real_data

from incrowd import Policy, publish

ROWS, K = 100_000, 10
GOALS = {"ring": 9.0, "incognito": None}


def published(kd: float) -> Iterator[Figure]:
    """All columns of the first people of the census; eight are quasi-identifiers, the others sensitive."""
    folder = real_data()
    if folder is None:
        print("publish: skipped, no real tables (set INCROWD_DATA)", file=sys.stderr)
        return
    source = folder / "acs2024_census"
    with TemporaryDirectory() as scratch, opened(source / "census.csv.gz") as lines:
        table = Path(scratch) / "census.csv"
        table.write_text("".join(islice(lines, ROWS + 1)), encoding="utf-8")
        with table.open(encoding="utf-8") as written:
            header = written.readline().strip().split(",")
        others = [name for name in header if name not in CENSUS]
        for method, goal in GOALS.items():
            quasi: dict[str, dict[str, Any]] = {
                name: {"hierarchy": str(source / "hierarchies" / f"{name}.csv")}
                if method == "incognito"
                else {"type": "numeric" if name == "AGEP" else "categorical"}
                for name in CENSUS
            }
            policy = Policy(quasi_identifiers=quasi, sensitive=others, method=method, privacy={"k": K})
            out = Path(scratch) / method
            seconds = cpu(partial(publish, table, policy, out, replace=True), 2)
            size = f"n={ROWS} d=8 k={K}"
            yield Figure(f"publish, {method} (census)", size, seconds / kd, "kd", goal, memory=peak_mb())
