"""CENSUS and ADULT by every method of "Non-homogeneous Generalization": what it loses, how long it takes.

The paper's CENSUS is an extract of IPUMS that may not be passed on. In its place stand the adults of four
states in the American Community Survey of 2024, with the same attributes but the last: Hispanic origin for
country.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log
from pathlib import Path
from random import Random
from statistics import correlation, linear_regression
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd import assign
from incrowd.algorithms.anatomy import Anatomy
from incrowd.algorithms.nonhomogeneous.ring import Ring
from incrowd.algorithms.partitions.hilbert import Hilbert
from incrowd.algorithms.partitions.lexicographic import Lexicographic
from incrowd.assign import Entropy
from incrowd.contracts import Guard
from incrowd.encode import encode
from incrowd.flow import Codes, Microdata, Neighbourhoods, Partition, Sensitive, Table, TextColumn
from incrowd.generalize import generalize
from incrowd.long_work import Progress, silent
from incrowd.models.l_diversity import FrequencyDiversity
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.samples import TINY
from incrowd.reproduce.stored import (
    ADULT_TABLE,
    CENSUS_COLUMNS,
    CENSUS_TABLE,
    NO_OCCUPATION,
    OCCUPATION,
    SEED,
    drawn_order,
    first_rows,
)
from incrowd.reproduce.trial import loss, run_each, timed
from incrowd.schema import Column, Kind, Role, Schema, Shape

ADULT = ("age", "workclass", "education", "marital-status", "occupation", "relationship", "race")
BAND = 200  # so many occupation codes are one value: 50 values, as many as the paper has
NOT_APPLICABLE = "0"  # a value like any other, and before all others, as censuses code it


@dataclass(frozen=True, slots=True, eq=False)
class SampledTable:
    """A table whose rows are in a drawn order, to take the first n rows and d columns of.

    `occupation` (n,), where there is one, is the sensitive value.
    """

    name: str
    table: Table
    occupation: Codes | None = None

    def __len__(self) -> int:
        return len(self.table)

    def first(self, n: int, d: int) -> Microdata:
        """A sample as numbers: values in their order, published as sets, domains as the sample has them."""
        sample = first_rows(self.table, n, d, f"{self.name} has {{}} rows")
        data = encode(sample, Schema(tuple(_ordered(name, sample) for name in sample.names)))
        if self.occupation is None:
            return data
        values = self.occupation[:n]
        sensitive = Sensitive(OCCUPATION, Kind.CATEGORICAL, values, int(values.max()) + 1)
        return replace(data, sensitive=(sensitive,))


def _ordered(name: str, sample: Table) -> Column:
    """Numbers by value, then all else by text."""
    column = sample.column(name)
    met = {column.texts[place] or NOT_APPLICABLE for place in np.unique(column.codes).tolist()}
    order = sorted(met, key=lambda text: (not text.isdigit(), int(text) if text.isdigit() else 0, text))
    return Column(name, Role.QUASI, Kind.ORDERED, Shape.SET, order=tuple(order))


def as_ranges(data: Microdata) -> Microdata:
    """The same records, published as ranges of codes: also of nominal attributes, as HR does."""
    attributes = tuple(replace(attribute, shape=Shape.RANGE) for attribute in data.attributes)
    return replace(data, attributes=attributes)


def load_census(folder: Path, seeds: Sequence[int]) -> list[tuple[SampledTable, SampledTable]]:
    """Everybody; and those with an occupation, in bands of codes, for l-diversity: for each seed an order."""
    table = CENSUS_TABLE.read(folder, [*CENSUS_COLUMNS, OCCUPATION])
    return [_census(table, drawn_order(np.arange(len(table)), seed)) for seed in seeds]


def _census(table: Table, order: NDArray[np.int64]) -> tuple[SampledTable, SampledTable]:
    column = table.column(OCCUPATION)
    bands = np.array([_band(text) for text in column.texts], np.int32)[column.codes[order]]
    works = bands >= 0
    return (
        SampledTable(CENSUS_TABLE.name, _taken(table, CENSUS_COLUMNS, order)),
        SampledTable(CENSUS_TABLE.name, _taken(table, CENSUS_COLUMNS, order[works]), bands[works]),
    )


def _band(occupation: str | None) -> int:
    return -1 if occupation is None or occupation in NO_OCCUPATION else int(occupation) // BAND


def load_adult(folder: Path, seeds: Sequence[int]) -> list[SampledTable]:
    """All of ADULT, for each seed in an order of its own; it matters to nothing but ties."""
    table = ADULT_TABLE.read(folder, ADULT)
    orders = (drawn_order(np.arange(len(table)), seed) for seed in seeds)
    return [SampledTable(ADULT_TABLE.name, _taken(table, ADULT, order)) for order in orders]


def _taken(table: Table, names: Sequence[str], rows: NDArray[np.int64]) -> Table:
    """Some rows; what does not apply to a person is a value."""
    taken = [table.column(name).take(rows) for name in names]
    filled = (
        TextColumn(column.codes, tuple(text or NOT_APPLICABLE for text in column.texts)) for column in taken
    )
    return Table(tuple(names), tuple(filled))


Grouped = Partition | Neighbourhoods
Grouping = Callable[[Microdata, int, Entropy], Grouped]
NAMES = HR, HS, HP, NH, PRINTED, AT = "HR", "HS", "HP", "NH", "NH printed", "AT"
RUNS = 2  # of which the quicker counts


def _frequent(data: Microdata, k: int) -> tuple[Guard, ...]:
    return FrequencyDiversity(k, OCCUPATION).guards(data)


def _anatomy(data: Microdata, k: int, entropy: Entropy) -> Partition:
    """Buckets as classes: what their quasi-identifiers would lose if they were generalized together."""
    return Partition(Anatomy(k).drawn_buckets(data, _frequent(data, k), silent, entropy))


def _diverse_ring(split: str) -> Grouping:
    def group(data: Microdata, k: int, entropy: Entropy) -> Neighbourhoods:
        guards = _frequent(data, k)
        return Ring(k, split=split).group(data, guards, silent, entropy)

    return group


ANONYMOUS: Mapping[str, Grouping] = {  # HR publishes the groups of HS as ranges
    HS: lambda data, k, _: Hilbert(k).group(data, (), silent),
    HP: lambda data, k, _: Lexicographic(k).group(data, (), silent),
    NH: lambda data, k, _: Ring(k).group(data, (), silent),
}
DIVERSE: Mapping[str, Grouping] = {
    HS: lambda data, k, _: Hilbert(k).group(data, _frequent(data, k), silent),
    NH: _diverse_ring("tuples"),
    PRINTED: _diverse_ring("printed"),
    AT: _anatomy,
}


@dataclass(frozen=True, slots=True)
class SamplePoint:
    """What came of one method on one sample: GCP, processor seconds, mean size of the parts.

    `drawing` are the seconds of the randomized assignment. HR has no time of its own.
    `once` is the mean size that parts would have if they were cut just so far that no sensitive value occurs
    in one twice; 0 without sensitive values.
    """

    loss: float
    part: float
    seconds: float | None = None
    drawing: float = 0.0
    once: float = 0.0


@dataclass(frozen=True, slots=True)
class SampleSetting:
    """How many rows and quasi-identifiers, and k; with l-diversity `k` is l."""

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
    fixed: SampleSetting
    diverse: bool = False

    @property
    def letter(self) -> str:
        """What is varied, as the paper calls it."""
        return "l" if self.diverse and self.over == "k" else self.over

    @property
    def settings(self) -> tuple[SampleSetting, ...]:
        return tuple(replace(self.fixed, **{self.over: value}) for value in self.values)

    @property
    def title(self) -> str:
        names = {"n": "n", "d": "d", "k": "l" if self.diverse else "k"}
        held = [f"{names[field]}={getattr(self.fixed, field):,}" for field in names if field != self.over]
        return f"Figure {self.number}: {self.table}, {', '.join(held)}"


@dataclass(frozen=True, slots=True)
class SampleFigure:
    """What came of a plan: for each line a point at each value."""

    plan: Plan
    lines: Mapping[str, tuple[SamplePoint, ...]]

    def line(self, name: str, field: str = "loss") -> tuple[float, ...]:
        """One number of each point; empty for the time of a line that has none of its own."""
        return tuple(value for point in self.lines[name] if (value := getattr(point, field)) is not None)

    def at(self, name: str, value: int) -> SamplePoint:
        return self.lines[name][self.plan.values.index(value)]

    def to_dict(self) -> dict[str, Any]:
        lines = {
            field: {name: list(line) for name in self.lines if (line := self.line(name, field))}
            for field in ("loss", "seconds", "drawing", "part", "once")
        }
        return {
            "figure": self.plan.number,
            "data": self.plan.table,
            "over": self.plan.letter,
            "values": list(self.plan.values),
            "fixed": {field: getattr(self.plan.fixed, field) for field in "ndk" if field != self.plan.over},
            "gcp": lines.pop("loss"),
            **lines,
        }


@dataclass(frozen=True, slots=True)
class SampledFigure:
    """A figure on several samples."""

    plan: Plan
    samples: tuple[SampleFigure, ...]

    def line(self, name: str, field: str = "loss") -> dict[str, list[float]]:
        """One number of each point, by value and sample; HR, which has no time, has none."""
        lines = [each.line(name, field) for each in self.samples]
        values = [f"{self.plan.letter}={value}" for value in self.plan.values]
        return {at: [line[i] for line in lines] for i, at in enumerate(values) if lines[0]}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in NAMES if name in self.samples[0].lines)


def figure(
    plan: Plan,
    people: Sequence[SampledTable],
    progress: Progress,
    kept: Keeper = NOTHING_KEPT,
    quick: bool = False,
) -> SampledFigure:
    """Run all methods of a figure at all its values, on every sample; `quick` leaves out the slowest."""

    def run(at: tuple[int, SampleSetting]) -> dict[str, SamplePoint]:
        sample, setting = at
        return points(people[sample].first(setting.n, setting.d), setting.k, methods)

    methods = methods_of(plan.diverse, quick)
    asked = [(sample, setting) for sample in range(len(people)) for setting in plan.settings]
    name = f"{plan.table} {'diverse' if plan.diverse else ''}"
    found = run_each(asked, run, progress, lambda at: at[1].n, kept.of(name, SamplePoint))

    def one(sample: int) -> SampleFigure:
        each = [found[sample, setting] for setting in plan.settings]
        return SampleFigure(plan, {name: tuple(point[name] for point in each) for name in each[0]})

    return SampledFigure(plan, tuple(map(one, range(len(people)))))


def methods_of(diverse: bool, quick: bool) -> dict[str, Grouping]:
    """The lines of a figure; `quick` has not the ring that is published with l, which is not the paper's."""
    every = DIVERSE if diverse else ANONYMOUS
    return {name: group for name, group in every.items() if not (quick and diverse and name == NH)}


def compile_all(people: SampledTable, diverse: bool, quick: bool = False) -> None:
    """Run everything once, so that no time of a figure has compiling in it."""
    points(people.first(min(2000, len(people)), 2), 3, methods_of(diverse, quick))


def points(data: Microdata, k: int, methods: Mapping[str, Grouping]) -> dict[str, SamplePoint]:
    """Every line at one value."""
    found: dict[str, SamplePoint] = {}
    diverse = AT in methods
    for name, group in methods.items():
        runs = 1 if diverse and name == NH else RUNS  # which takes longest
        partition, seconds, drawing = min(
            (_timed(data, k, group) for _ in range(runs)), key=lambda run: run[1:]
        )
        labels = _labels(partition)
        if not diverse and name == HS:
            found[HR] = SamplePoint(loss(as_ranges(data), partition, "LM"), mean_part(labels))
        once = each_value_once(labels, data.sensitive[0].codes) if diverse else 0.0
        found[name] = SamplePoint(loss(data, partition, "LM"), mean_part(labels), seconds, drawing, once)
    return found


def _timed(data: Microdata, k: int, group: Grouping) -> tuple[Grouped, float, float]:
    """A partition, all its processor seconds, and those of the randomized assignment.

    That is from codes to cells and the assignment: neither reading, nor writing, nor measuring. Chance is
    repeatable here, so all runs do the same.
    """
    dice = Random(SEED).randbytes  # noqa: S311  # nothing is published

    def cells() -> Grouped:
        partition = group(data, k, dice)
        generalize(data, partition)
        return partition

    partition, seconds = timed(cells)
    if not isinstance(partition, Neighbourhoods):
        return partition, seconds, 0.0
    _, drawing = timed(partial(assign.by_neighbourhoods, partition, dice))
    return partition, seconds + drawing, drawing


def _labels(partition: Grouped) -> Codes:
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


def exponent(values: Sequence[int], times: Sequence[float]) -> float:
    """With which power of the value times grow: least squares over logarithms.

    Examples
    --------
    >>> round(exponent([1, 2, 4], [3.0, 12.0, 48.0]), 6)
    2.0
    """
    return linear_regression([*map(log, values)], [log(max(time, TINY)) for time in times]).slope


def straightness(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Which share of the variance a straight line explains.

    Examples
    --------
    >>> straightness([1, 2, 3], [2.0, 4.0, 6.0])
    1.0
    """
    return correlation(xs, ys) ** 2 if len(set(ys)) > 1 else 1.0
