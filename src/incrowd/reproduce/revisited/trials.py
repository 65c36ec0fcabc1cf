"""One table, one measure, every algorithm of "k-Anonymization Revisited", several k; ART of several sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from statistics import fmean
from typing import Any

from incrowd.algorithms.nonhomogeneous.neighbourhoods import Expansion, Nearest, widened
from incrowd.algorithms.partitions.agglomerative import Agglomerative
from incrowd.algorithms.partitions.forest import Forest
from incrowd.contracts import Progress, silent
from incrowd.flow import Microdata, Neighbourhoods, Partition
from incrowd.reproduce.revisited.data import BEST, FOREST, KK, art, printed
from incrowd.reproduce.trial import loss, run_each

Grouping = Callable[[Microdata, int, str], Partition | Neighbourhoods]
MEASURES = {"EM": "entropy", "LM": "lm"}  # the paper's words, and those of the algorithms
NEAREST, EXPANSION = "(k,k): 3+5", "(k,k): 4+5"


def _agglomerative(distance: str, modified: bool) -> Grouping:
    return lambda data, k, measure: Agglomerative(k, distance, measure, modified).group(data, (), silent)


def _forest(data: Microdata, k: int, measure: str) -> Partition:
    return Forest(k, measure).group(data, (), silent)


def _neighbourhoods(first: type[Nearest] | type[Expansion]) -> Grouping:
    return lambda data, k, measure: widened(data, first(k, measure).neighbourhoods(data), k, measure)


def _variants(*distances: str) -> dict[str, Grouping]:
    return {
        f"({distance}), Algorithm {2 if modified else 1}": _agglomerative(distance, modified)
        for distance in distances
        for modified in (False, True)
    }


VARIANTS = _variants("8", "9", "10", "11")  # those that the paper chooses the best of
NERGIZ_CLIFTON = _variants("nc")  # which it names, but did not run
KK_ALGORITHMS = {NEAREST: _neighbourhoods(Nearest), EXPANSION: _neighbourhoods(Expansion)}
ALGORITHMS: Mapping[str, Grouping] = {**VARIANTS, **NERGIZ_CLIFTON, FOREST: _forest, **KK_ALGORITHMS}


@dataclass(frozen=True, slots=True)
class LossTrial:
    """What every algorithm lost on a table by one measure, for each k."""

    data: str
    rows: int
    measure: str
    ks: tuple[int, ...]
    losses: Mapping[str, tuple[float, ...]]

    def least(self, names: Sequence[str]) -> str:
        """The algorithm with the least sum over all k, as the paper chooses."""
        return min((name for name in names if name in self.losses), key=lambda name: sum(self.losses[name]))

    @property
    def best(self) -> str:
        return self.least([*VARIANTS])

    @property
    def table(self) -> dict[str, tuple[float, ...]]:
        """The rows of Table I."""
        chosen = {BEST: self.best, FOREST: FOREST, KK: self.least([*KK_ALGORITHMS])}
        return {row: self.losses[name] for row, name in chosen.items()}


def trial(
    name: str, data: Microdata, measure: str, ks: Sequence[int], names: Sequence[str], progress: Progress
) -> LossTrial:
    """Run these algorithms for these k; `progress` hears how much is done."""

    def losses(algorithm: str) -> tuple[float, ...]:
        run = ALGORITHMS[algorithm]
        return tuple(loss(data, run(data, k, MEASURES[measure]), measure) for k in ks)

    return LossTrial(name, len(data), measure, tuple(ks), run_each(names, losses, progress))


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
    best: Mapping[str, str], ks: Sequence[int], sizes: Sequence[int], seeds: Sequence[int], progress: Progress
) -> tuple[Curve, ...]:
    """Draw ART of each size with each seed and run the algorithms of Table I, the `best` of each measure."""
    draws = [(rows, seed, measure) for rows in sizes for seed in seeds for measure in best]

    def run(draw: tuple[int, int, str]) -> LossTrial:
        rows, seed, measure = draw
        return trial("ART", art(rows, seed), measure, ks, (best[measure], FOREST, EXPANSION), silent)

    found = run_each(draws, run, progress, lambda draw: draw[0] ** 1.5)  # about how the time grows

    def losses(rows: int, measure: str, name: str, i: int) -> tuple[float, ...]:
        return tuple(found[rows, seed, measure].losses[name][i] for seed in seeds)

    return tuple(
        Curve(measure, row, k, {rows: losses(rows, measure, name, i) for rows in sizes})
        for measure in best
        for row, name in ((BEST, best[measure]), (FOREST, FOREST), (KK, EXPANSION))
        for i, k in enumerate(ks)
    )
