"""The lines in the figures of "Non-homogeneous Generalization": what each method loses, how long it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from random import Random
from statistics import correlation, fmean
from time import process_time
from typing import Any

import numpy as np

from incrowd import assign
from incrowd.algorithms.anatomy import Anatomy
from incrowd.algorithms.nonhomogeneous.ring import Ring
from incrowd.algorithms.partitions.hilbert import Hilbert
from incrowd.algorithms.partitions.lexicographic import Lexicographic
from incrowd.contracts import Progress, silent
from incrowd.entropy import Entropy
from incrowd.flow import Codes, Microdata, Neighbourhoods, Partition
from incrowd.generalize import generalize
from incrowd.models.diversity import FrequencyDiversity
from incrowd.models.randomized_diversity import DrawnDiversity
from incrowd.reproduce.nonhomogeneous.data import OCCUPATION, SEED, People, as_ranges
from incrowd.reproduce.revisited.trials import loss

Hide = Callable[[Microdata, int, Entropy], Partition | Neighbourhoods]
HR, HS, HP, NH, PRINTED, AT = "HR", "HS", "HP", "NH", "NH printed", "AT"
RUNS = 5  # of which the quickest counts: the first may have to compile


def _diverse_hilbert(data: Microdata, k: int, _: Entropy) -> Partition:
    return Hilbert(k).group(data, FrequencyDiversity(k, OCCUPATION).guards(data), silent)


def _anatomy(data: Microdata, k: int, entropy: Entropy) -> Partition:
    guards = FrequencyDiversity(k, OCCUPATION).guards(data)
    return Partition(Anatomy(k).drawn_buckets(data, guards, silent, entropy))


def _diverse_ring(split: str) -> Hide:
    def hide(data: Microdata, k: int, entropy: Entropy) -> Neighbourhoods:
        guards = DrawnDiversity(k, k, OCCUPATION).guards(data)
        return Ring(k, split=split).group(data, guards, silent, entropy)

    return hide


ANONYMOUS: Mapping[str, Hide] = {  # HR publishes the groups of HS as ranges
    HS: lambda data, k, _: Hilbert(k).group(data, (), silent),
    HP: lambda data, k, _: Lexicographic(k).group(data, (), silent),
    NH: lambda data, k, _: Ring(k).group(data, (), silent),
}
DIVERSE: Mapping[str, Hide] = {
    HS: _diverse_hilbert,
    NH: _diverse_ring("distinct"),
    PRINTED: _diverse_ring("printed"),
    AT: _anatomy,
}


@dataclass(frozen=True, slots=True)
class Point:
    """What came of one method on one sample: GCP, processor seconds, mean size of the parts.

    `drawing` are the seconds that go into the draw of who is behind which row. HR has no time of its own.
    `once` is the mean size that parts would have if they were cut just so far that no sensitive value occurs
    in one twice; 0 without sensitive values.
    """

    loss: float
    part: float
    seconds: float | None = None
    drawing: float = 0.0
    once: float = 0.0


@dataclass(frozen=True, slots=True)
class Setting:
    """How many rows, quasi-identifiers and people to hide among; with l-diversity `k` is l."""

    n: int
    d: int
    k: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One figure: a table, what is varied over which values, and what is fixed."""

    number: int
    table: str
    over: str
    values: tuple[int, ...]
    fixed: Setting
    diverse: bool = False

    @property
    def letter(self) -> str:
        """What is varied, as the paper calls it."""
        return "l" if self.diverse and self.over == "k" else self.over

    @property
    def settings(self) -> tuple[Setting, ...]:
        return tuple(replace(self.fixed, **{self.over: value}) for value in self.values)

    @property
    def title(self) -> str:
        names = {"n": "n", "d": "d", "k": "l" if self.diverse else "k"}
        held = [f"{names[field]}={getattr(self.fixed, field):,}" for field in names if field != self.over]
        return f"Figure {self.number}: {self.table}, {', '.join(held)}"


@dataclass(frozen=True, slots=True)
class Figure:
    """What came of a plan: for each line a point at each value."""

    plan: Plan
    lines: Mapping[str, tuple[Point, ...]]

    def losses(self, name: str) -> tuple[float, ...]:
        return tuple(point.loss for point in self.lines[name])

    def seconds(self, name: str) -> tuple[float, ...]:
        """Empty if the line has no time of its own."""
        return tuple(point.seconds for point in self.lines[name] if point.seconds is not None)

    def at(self, name: str, value: int) -> Point:
        return self.lines[name][self.plan.values.index(value)]

    def as_dict(self) -> dict[str, Any]:
        return {
            "figure": self.plan.number,
            "data": self.plan.table,
            "over": self.plan.letter,
            "values": list(self.plan.values),
            "fixed": {field: getattr(self.plan.fixed, field) for field in "ndk" if field != self.plan.over},
            "gcp": {name: list(self.losses(name)) for name in self.lines},
            "seconds": {name: list(times) for name in self.lines if (times := self.seconds(name))},
            "drawing": {name: [point.drawing for point in points] for name, points in self.lines.items()},
            "part": {name: [point.part for point in points] for name, points in self.lines.items()},
            "once": {name: [point.once for point in points] for name, points in self.lines.items()},
        }


def figure(plan: Plan, people: People, told: Progress) -> Figure:
    """Run all methods of a figure at all its values."""
    found: dict[str, list[Point]] = {}
    for number, setting in enumerate(plan.settings):
        for name, point in points(people.first(setting.n, setting.d), setting.k, plan.diverse).items():
            found.setdefault(name, []).append(point)
        told((number + 1) / len(plan.settings))
    return Figure(plan, {name: tuple(line) for name, line in found.items()})


def points(data: Microdata, k: int, diverse: bool) -> dict[str, Point]:
    """Every line at one value."""
    found: dict[str, Point] = {}
    for name, hide in (DIVERSE if diverse else ANONYMOUS).items():
        partition, runs = _timed(data, k, hide)
        labels = _labels(partition)
        if not diverse and name == HS:
            found[HR] = Point(loss(as_ranges(data), partition, "LM"), mean_part(labels))
        seconds, drawing = min(runs)
        once = each_value_once(labels, data.sensitive[0].codes) if diverse else 0.0
        found[name] = Point(loss(data, partition, "LM"), mean_part(labels), seconds, drawing, once)
    return found


def _labels(partition: Partition | Neighbourhoods) -> Codes:
    """The group of each record, or the part that its ring is laid over."""
    if isinstance(partition, Partition):
        return partition.labels
    return np.zeros(len(partition), np.int32) if partition.parts is None else partition.parts


def mean_part(labels: Codes) -> float:
    """How many records a part has on average.

    Examples
    --------
    >>> mean_part(np.array([0, 0, 1, 0]))
    2.0
    """
    return labels.size / (int(labels.max()) + 1)


def each_value_once(labels: Codes, values: Codes) -> float:
    """The mean size of parts that are cut into as many as their most frequent value has records.

    Examples
    --------
    >>> each_value_once(np.array([0, 0, 0, 0]), np.array([5, 5, 7, 8]))
    2.0
    """
    counts = np.zeros((int(labels.max()) + 1, int(values.max()) + 1), np.int64)
    np.add.at(counts, (labels, values), 1)
    return labels.size / int(counts.max(axis=1).sum())


def _timed(
    data: Microdata, k: int, hide: Hide
) -> tuple[Partition | Neighbourhoods, list[tuple[float, float]]]:
    """Who hides with whom, and for each run all processor seconds and those of the draw.

    That is from codes to cells, and who is behind them: neither reading, nor writing, nor measuring. Chance
    is repeatable here, so all runs do the same.
    """
    runs = []
    for _ in range(RUNS):
        dice = Random(SEED).randbytes  # noqa: S311  # nothing is published
        start = process_time()
        partition = hide(data, k, dice)
        generalize(data, partition)
        made = end = process_time()
        if isinstance(partition, Neighbourhoods):
            assign.by_neighbourhoods(partition, dice)
            end = process_time()
        runs.append((end - start, end - made))
    return partition, runs


def exponent(values: Sequence[int], times: Sequence[float]) -> float:
    """With which power of the value times grow: least squares over logarithms.

    Examples
    --------
    >>> round(exponent([1, 2, 4], [3.0, 12.0, 48.0]), 6)
    2.0
    """
    return slope([log(value) for value in values], [log(max(time, 1e-6)) for time in times])


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Of the straight line with the least squares."""
    x, y = fmean(xs), fmean(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def straightness(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Which share of the variance a straight line explains.

    Examples
    --------
    >>> straightness([1, 2, 3], [2.0, 4.0, 6.0])
    1.0
    """
    return correlation(xs, ys) ** 2 if len(set(ys)) > 1 else 1.0
