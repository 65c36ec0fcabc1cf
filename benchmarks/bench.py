"""The benchmark table: every figure as a ratio to a reference measured in the same run.

Machines differ and are noisy, so no bare seconds. One kd is the processor time that
`scipy.spatial.cKDTree(x, leafsize=10, balanced_tree=True)` takes for a million rows of six uniform codes
below 1000. Each figure is the best of a few runs; growth compares all rows with a quarter of them, as a
multiple of linear times logarithm for cuts, as an exponent elsewhere.

    ./run bench            everything; so does all
    ./run bench census     every command on the census, and how it grows with n, d and k
    ./run bench "census:" publish
                           of these, the commands with this word in their names
    ./run bench mondrian   only what has this word in its name
    ./run bench studio     the page for data officers: starting, opening, changing a role, publishing
    ./run bench --json     one JSON object for each figure
    ./run bench --help     this text, and the names
    ./run bench minimality --tables 60
                           no speed: how often guarded l gives values away (docs/promise.md)
    ./run bench population --draws 5
                           no speed: how far estimates of population risk are off (docs/risk.md)
    ./run bench suppression [--cells]
                           no speed: what leaving records or cells out saves (docs/suppression.md)
    ./run bench series --table adult --case change
                           a year of months, or ninety nights, of people who come and go (docs/series.md)
    ./run bench bounds [--quick]
                           lower bounds on information loss, with their CPU seconds (docs/bounds.md)
    ./run bench peers [--help]
                           other tools and ours on the same tables (docs/peers.md)
    ./run bench growth [--help]
                           what each method takes over rows, columns and k (docs/benchmarks.md)
"""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
RUNS = 5
# With words of their own.
PROGRAMS = ("minimality", "population", "suppression", "series", "bounds", "peers", "growth")


@dataclass(frozen=True)
class Figure:
    """One line: what was measured, in which unit, and the goal it is held to."""

    name: str
    size: str
    ratio: float
    unit: str
    goal: float | None = None
    growth: float | None = None
    memory: float | None = None
    more: bool = False  # the goal is a least ratio, not a most

    @property
    def met(self) -> str:
        if self.goal is None:
            return ""
        return "yes" if (self.ratio >= self.goal if self.more else self.ratio <= self.goal) else "NO"


def cpu(work: Callable[[], Any], runs: int = RUNS) -> float:
    """Least processor seconds of a few runs, threads included."""
    best = math.inf
    for _ in range(runs):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def forget_peak() -> None:
    """Let the largest memory be that of what follows, not of a reference that ran before."""
    with suppress(OSError):  # Linux alone can
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """Largest memory of this process so far, or since the last `forget_peak`."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def uniform(n: int) -> Codes:
    """Six columns of codes below 1000."""
    return np.random.default_rng(1).integers(0, 1000, (n, 6), dtype=np.int32)


def kd_seconds(codes: Codes) -> float:
    from scipy.spatial import cKDTree

    points = codes.astype(np.float64)
    return cpu(lambda: cKDTree(points, leafsize=10, balanced_tree=True))


@dataclass
class Bench:
    """Collects figures and prints each as soon as it is known."""

    wanted: str
    kd: float
    as_json: bool

    def run(self) -> None:
        from figures import FIGURES

        if not self.as_json:
            print(f"1 kd = {self.kd:.3f} processor seconds here\n")
            print(f"{'figure':<46}{'size':<26}{'ratio':>9} {'unit':<22}{'goal':>6}  met  growth   peak MB")
        for figure in self._figures(FIGURES):
            self._print(figure)

    def _figures(self, known: Any) -> Iterator[Figure]:
        for name, make in known.items():
            if self.wanted in name:
                forget_peak()
                yield from make(self.kd)

    def _print(self, figure: Figure) -> None:
        if self.as_json:
            print(json.dumps(figure.__dict__ | {"met": figure.met}))
            return
        goal = "" if figure.goal is None else f"{figure.goal:g}"
        growth = "" if figure.growth is None else f"{figure.growth:.2f}"
        memory = "" if figure.memory is None else f"{figure.memory:.0f}"
        print(
            f"{figure.name:<46}{figure.size:<26}{figure.ratio:>9.3f} {figure.unit:<22}{goal:>6}  "
            f"{figure.met:<4} {growth:>6} {memory:>9}",
            flush=True,
        )


def main() -> None:
    from figures import FIGURES

    if sys.argv[1:2] and sys.argv[1] in PROGRAMS:
        import_module(sys.argv[1]).main(sys.argv[2:])
        return
    names = "\n".join(f"    {name}" for name in FIGURES)
    if "--help" in sys.argv:
        print(f"{__doc__}\nFigures:\n{names}")
        return
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    wanted = words[0] if words and words[0] != "all" else ""
    if not any(wanted in name for name in FIGURES):
        sys.exit(f"no figure has {wanted!r} in its name; there are:\n{names}")
    Bench(wanted, kd_seconds(uniform(1_000_000)), "--json" in sys.argv).run()


if __name__ == "__main__":
    main()
