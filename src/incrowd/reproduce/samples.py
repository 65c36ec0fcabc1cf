"""What was measured on several samples: a number for each, their mean with its interval, lines of points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import atan2, cos, inf, isfinite, pi, sin, sqrt
from statistics import fmean, stdev
from typing import Any

LEVEL = 0.95
TINY = 1e-6  # in the place of a 0 that is divided by
Samples = Sequence[float]
Points = Mapping[str, Samples]  # by name ("k=5"), a number for each sample


@dataclass(frozen=True, slots=True)
class MeanOfSamples:
    """A number of ours: the mean over samples and its interval."""

    at: str
    mean: float
    low: float
    high: float
    samples: int

    @classmethod
    def of(cls, at: str, samples: Samples, level: float = LEVEL) -> MeanOfSamples:
        """Student's interval; with one sample it is unknown, from -inf to inf.

        Examples
        --------
        >>> MeanOfSamples.of("k=5", [1.0, 2.0, 3.0, 4.0, 5.0]).words
        'k=5: 3 (1.04 to 4.96)'
        """
        mean = fmean(samples)
        if len(samples) < 2:
            return cls(at, mean, -inf, inf, len(samples))
        half = student(level, len(samples) - 1) * stdev(samples) / sqrt(len(samples))
        return cls(at, mean, mean - half, mean + half, len(samples))

    @property
    def words(self) -> str:
        known = f" ({self.low:.3g} to {self.high:.3g})" if isfinite(self.low) else ""
        return f"{self.at}: {self.mean:.3g}{known}"

    def to_dict(self) -> dict[str, Any]:
        ends = {"low": self.low, "high": self.high} if isfinite(self.low) else {"low": None, "high": None}
        return {"at": self.at, "mean": self.mean, **ends, "samples": self.samples}


@lru_cache(maxsize=256)
def student(level: float, freedom: int) -> float:
    """Student's t: |t| is below it with probability `level`; by bisection of the exact distribution.

    Examples
    --------
    >>> round(student(0.95, 4), 3)
    2.776
    """
    low, high = 0.0, 1e6
    while high - low > 1e-9 * (1 + low):
        middle = (low + high) / 2
        low, high = (low, middle) if _inside(middle, freedom) >= level else (middle, high)
    return high


def _inside(t: float, freedom: int) -> float:
    """How likely |T| is at most t: Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = atan2(t, sqrt(freedom))
    odd = freedom % 2
    term, total = (cos(angle) if odd else 1.0), 0.0
    for i in range(odd + 2, freedom + 1, 2):
        total += term
        term *= cos(angle) ** 2 * (i - 1) / i
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


# Lines


def ratio(line: Points, other: Points) -> dict[str, list[float]]:
    """How many times as much a line has as another on the same sample, at the points of both.

    Points with a sample where neither has anything are left out: nobody wins there.
    """
    pairs = {at: list(zip(line[at], other[at], strict=True)) for at in line if at in other}
    return {at: ratios(line[at], other[at]) for at, both in pairs.items() if all(map(any, both))}


def difference(line: Points, other: Points) -> dict[str, list[float]]:
    """How much more a line has than another on the same sample."""
    return {at: [a - b for a, b in zip(line[at], other[at], strict=True)] for at in line if at in other}


def steps(line: Points) -> dict[str, list[float]]:
    """How much a line grows from one point to the next, on each sample."""
    return {f"{a} to {b}": [y - x for x, y in zip(line[a], line[b], strict=True)] for a, b in pairwise(line)}


def shares(cases: Iterable[Sequence[bool]]) -> list[float]:
    """Of each sample the share of its cases that are so."""
    return [fmean(map(float, each)) for each in cases]


def ratios(line: Samples, other: Samples) -> list[float]:
    """How many times as much a line has as another, value by value."""
    return [a / max(b, TINY) for a, b in zip(line, other, strict=True)]


def spread(values: Samples) -> float:
    """How many times the smallest the largest is."""
    return max(values) / max(min(values), TINY)
