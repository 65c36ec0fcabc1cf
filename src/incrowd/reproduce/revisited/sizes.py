"""How the loss on ART depends on how many records are drawn, which the paper does not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from statistics import fmean, median
from typing import Any

from incrowd.contracts import Progress
from incrowd.reproduce.outcome import Sheet
from incrowd.reproduce.revisited.art import art
from incrowd.reproduce.revisited.printed import printed
from incrowd.reproduce.revisited.trials import BEST, EXPANSION, FOREST, KK, Trial, trial

SIZES = (1000, 2000, 5000, 10000)
SEEDS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class Curve:
    """What one row of Table I loses at each size, for one measure and k: over several draws."""

    measure: str
    row: str
    k: int
    draws: Mapping[int, tuple[float, ...]]

    @property
    def means(self) -> dict[int, float]:
        return {rows: fmean(losses) for rows, losses in self.draws.items()}

    @property
    def implied_rows(self) -> float | None:
        """How many records would lose what is printed, between two sizes that were tried.

        Over the logarithm of the size the loss is nearly straight.
        """
        target = printed("ART", self.measure, self.row, self.k)
        means = sorted(self.means.items())
        for (low, more), (high, less) in pairwise(means):
            if target is not None and less <= target <= more:
                share = (more - target) / (more - less)
                return exp(log(low) + share * log(high / low))
        return None

    def as_dict(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "row": self.row,
            "k": self.k,
            "losses": {str(rows): list(losses) for rows, losses in self.draws.items()},
            "printed": printed("ART", self.measure, self.row, self.k),
            "implied_rows": self.implied_rows,
        }


def curves(
    best: Mapping[str, str], ks: Sequence[int], sizes: Sequence[int], seeds: Sequence[int], told: Progress
) -> tuple[Curve, ...]:
    """Draw ART of each size with each seed and run the algorithms of Table I, the `best` of each measure."""
    draws = [(rows, seed, measure) for rows in sizes for seed in seeds for measure in best]
    whole, done = sum(rows**1.5 for rows, _, _ in draws), 0.0  # about how the time grows
    trials: dict[tuple[int, str], list[Trial]] = {}
    for rows, seed, measure in draws:
        names = (best[measure], FOREST, EXPANSION)
        found = trial("ART", art(rows, seed), measure, ks, names, lambda _: None)
        trials.setdefault((rows, measure), []).append(found)
        done += rows**1.5
        told(done / whole)
    return tuple(
        Curve(measure, row, k, {rows: _losses(trials[rows, measure], name, i) for rows in sizes})
        for measure in best
        for row, name in ((BEST, best[measure]), (FOREST, FOREST), (KK, EXPANSION))
        for i, k in enumerate(ks)
    )


def _losses(trials: Sequence[Trial], name: str, i: int) -> tuple[float, ...]:
    return tuple(each.losses[name][i] for each in trials)


def sheet(found: Sequence[Curve]) -> Sheet:
    """The curves as a table: mean and, in brackets, the least and most of the draws."""
    sizes = list(found[0].draws)
    rows = []
    for curve in found:
        cells = [_cell(curve.draws[size]) for size in sizes]
        theirs, near = printed("ART", curve.measure, curve.row, curve.k), curve.implied_rows
        shown = "-" if near is None else f"{near:,.0f}"
        rows.append(
            (curve.measure, curve.row, str(curve.k), *cells, f"{theirs:.2f}" if theirs else "-", shown)
        )
    header = ("measure", "row", "k", *(f"n={size:,}" for size in sizes), "printed", "n that loses as printed")
    about = (
        f"Mean of {len(found[0].draws[sizes[0]])} draws (least to most). "
        f"The paper does not say how many records it drew; {implied_words(found)}."
    )
    return Sheet("How the loss on ART depends on n", header, tuple(rows), about)


def _cell(losses: Sequence[float]) -> str:
    return f"{fmean(losses):.3f} ({min(losses):.3f}-{max(losses):.3f})"


def implied(found: Sequence[Curve]) -> list[float]:
    """The sizes at which we lose what is printed, ascending."""
    return sorted(rows for curve in found if (rows := curve.implied_rows) is not None)


def implied_words(found: Sequence[Curve]) -> str:
    rows = implied(found)
    if not rows:
        return "no size that was tried loses what is printed"
    return (
        f"ours lose what is printed at n={median(rows):,.0f} in the median over {len(rows)} numbers "
        f"({rows[0]:,.0f} to {rows[-1]:,.0f})"
    )
