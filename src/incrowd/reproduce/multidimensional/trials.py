"""Tables of numbers, cut in every way of the multidimensional paper: sizes of classes, errors of queries.

The paper runs no experiments. These tables are in the style of those that its algorithm was first tried on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.partitions.mondrian import Mondrian, RelaxedMondrian, StrictMondrian
from incrowd.algorithms.partitions.single import SingleDimensional
from incrowd.flow import Attribute, Codes, Microdata, distinct_rows
from incrowd.long_work import Progress, silent
from incrowd.measures.boxes import RangeCount, allowed_codes, random_boxes
from incrowd.measures.counting import average_relative_error
from incrowd.measures.loss import AverageClass, Discernibility
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.stored import ADULT_TABLE, SEED, drawn_order, drawn_words, whole_numbers
from incrowd.reproduce.trial import inhabited, rows_of, run_each, timed

COLUMNS = (
    "age",
    "sex",
    "race",
    "marital-status",
    "education-num",
    "native-country",
    "workclass",
    "occupation",
)
MOST_COLUMNS = len(COLUMNS)
DOMAIN = 50  # values of an invented column
SPREAD = 10.0  # standard deviation of a normal column


@dataclass(frozen=True, slots=True, eq=False)
class NumberTable:
    """A table of whole numbers, or a sample of it, to take the first columns of."""

    name: str
    codes: Codes
    attributes: tuple[Attribute, ...]
    seed: int = SEED

    def __len__(self) -> int:
        return len(self.codes)

    def first(self, d: int) -> Microdata:
        return Microdata(np.ascontiguousarray(self.codes[:, :d]), self.attributes[:d])


def uniform(n: int, seed: int = SEED) -> NumberTable:
    """Every value with the same chance, columns independent of each other."""
    return _invented("UNIFORM", n, seed, [1.0] * DOMAIN)


def normal(n: int, seed: int = SEED) -> NumberTable:
    """Values around the middle of the domain more often, columns independent of each other."""
    middle = (DOMAIN - 1) / 2
    return _invented("NORMAL", n, seed, [exp(-(((v - middle) / SPREAD) ** 2) / 2) for v in range(DOMAIN)])


def _invented(name: str, n: int, seed: int, weights: list[float]) -> NumberTable:
    upto = np.cumsum(weights)
    drawn = drawn_words(n, MOST_COLUMNS, f"{name} {seed}") / 2.0**32
    codes = np.searchsorted(upto[:-1] / upto[-1], drawn, side="right").astype(np.int32)
    domain = np.arange(DOMAIN)
    attributes = tuple(whole_numbers(f"x{j + 1}", domain) for j in range(MOST_COLUMNS))
    return NumberTable(name, codes, attributes, seed)


def adult(folder: Path, n: int, seeds: Sequence[int]) -> list[NumberTable]:
    """Samples of ADULT."""
    codes, attributes = ADULT_TABLE.numbered(folder, COLUMNS)
    drawn = (drawn_order(np.arange(len(codes)), f"ADULT {seed}")[:n] for seed in seeds)
    return [
        NumberTable(ADULT_TABLE.name, codes[rows], attributes, seed)
        for rows, seed in zip(drawn, seeds, strict=True)
    ]


SINGLE, STRICT, RELAXED = "single-dimensional", "strict", "relaxed"
Way = SingleDimensional | Mondrian
WAYS: Mapping[str, Callable[[int], Way]] = {
    SINGLE: SingleDimensional,
    STRICT: lambda k: StrictMondrian(k, choose="widest"),
    RELAXED: lambda k: RelaxedMondrian(k, choose="widest"),
}
ALL, ONE = "all columns", "one column"  # what predicates are about
SHARE = 0.1  # of the domain: its volume, or that of the one column


@dataclass(frozen=True, slots=True)
class CutSetting:
    """A table, its first d columns, and k."""

    table: str
    d: int
    k: int


@dataclass(frozen=True, slots=True)
class CutPoint:
    """What came of one way.

    ``dm`` and ``avg`` are C_DM and C_AVG over equivalence classes, ``part_dm`` and ``part_avg`` the same over
    the parts that the cuts left: relaxed parts may say the same. ``largest`` is the largest part,
    ``largest_class`` the largest class. ``copies`` is m, ``room`` how far below 2d(k-1)+m every part stays,
    m being counted in each by itself. ``errors`` and ``matched`` are by workload: the average relative error,
    and the share of predicates that part no class.
    """

    dm: int
    avg: float
    part_dm: int
    part_avg: float
    largest: int
    largest_class: int
    copies: int
    room: int
    errors: Mapping[str, float]
    matched: Mapping[str, float]


CutTrials = Mapping[tuple[str, CutSetting], CutPoint]


@dataclass(frozen=True, slots=True, eq=False)
class Predicates:
    """Predicates, and for each who satisfies it."""

    queries: Sequence[RangeCount]
    satisfied: Sequence[NDArray[np.bool_]]


def bound(d: int, k: int, copies: int) -> int:
    """The most records that strict cuts leave together, `copies` of them being the same point."""
    return 2 * d * (k - 1) + copies


def workloads(data: Microdata, count: int, seed: int = SEED) -> dict[str, Predicates]:
    """Boxes over all columns and over one of them, anywhere in the domain and with somebody inside."""
    dice = Random(f"predicates {seed}")  # noqa: S311  # nothing is published

    def everywhere() -> list[RangeCount]:
        return random_boxes(data, SHARE, 1, dice.random, "discrete")

    def somewhere() -> list[RangeCount]:
        j = dice.randrange(len(data.attributes))
        column = Microdata(data.codes[:, [j]], data.attributes[j : j + 1])
        return random_boxes(column, SHARE, 1, dice.random, "discrete")

    def predicates(draw: Callable[[], list[RangeCount]]) -> Predicates:
        queries = inhabited(draw, lambda boxes: [int(who(data, box).sum()) for box in boxes], count)
        return Predicates(queries, [who(data, query) for query in queries])

    return {ALL: predicates(everywhere), ONE: predicates(somewhere)}


def who(data: Microdata, query: RangeCount) -> NDArray[np.bool_]:
    """Which records lie in a box."""
    inside = np.ones(len(data), np.bool_)
    for j, attribute in enumerate(data.attributes):
        if attribute.name in query.sides:
            inside &= allowed_codes(attribute, query.sides[attribute.name])[data.codes[:, j]]
    return inside


def predicate_matches(satisfied: NDArray[np.bool_], labels: Codes) -> bool:
    """Does a release match a predicate: is no class partly satisfied? Both by record, (n,).

    Examples
    --------
    >>> predicate_matches(np.array([True, True, False]), np.array([0, 0, 1], np.int32))
    True
    """
    sizes = np.bincount(labels)
    hits = np.bincount(labels[satisfied], minlength=sizes.size)
    return bool(((hits == 0) | (hits == sizes)).all())


def trial(data: Microdata, way: Way, k: int, asked: Mapping[str, Predicates]) -> CutPoint:
    """One way on one table."""
    partition = way.group(data, (), silent)
    rows = rows_of(data, partition)
    classes = rows.classes[1].astype(np.int32)
    sizes = np.bincount(partition.labels).astype(np.int64)
    points = records(data)
    same = most_copies(points, partition.labels)
    errors, matched = {}, {}
    for name, load in asked.items():
        found = average_relative_error(rows, None, data, load.queries, "discrete")
        errors[name] = float(found.errors.mean())
        matched[name] = float(np.mean([predicate_matches(each, classes) for each in load.satisfied]))
    return CutPoint(
        Discernibility().value(rows, data),
        AverageClass(k).value(rows, data),
        int((sizes**2).sum()),
        len(data) / (sizes.size * k),
        int(sizes.max()),
        int(rows.class_sizes.max()),
        int(np.bincount(points).max()),
        int((bound(len(data.attributes), k, 0) + same - sizes).min()),
        errors,
        matched,
    )


def records(data: Microdata) -> NDArray[np.int64]:
    """The number of each record's point: equal records have the same."""
    columns = [data.codes[:, j] for j in range(len(data.attributes))]
    return distinct_rows(columns, [len(a) for a in data.attributes], len(data))[1]


def most_copies(points: NDArray[np.int64], labels: Codes) -> NDArray[np.int64]:
    """How many copies of one point each part has, at most.

    Examples
    --------
    >>> most_copies(np.array([0, 0, 0, 1, 2]), np.array([0, 0, 1, 1, 1], np.int32)).tolist()
    [2, 1]
    """
    pairs, copies = np.unique(labels * (points.max() + 1) + points, return_counts=True)
    most = np.zeros(int(labels.max()) + 1, np.int64)
    np.maximum.at(most, pairs // (points.max() + 1), copies)
    return most


def trials(
    table: NumberTable,
    settings: Iterable[CutSetting],
    queries: int,
    progress: Progress,
    kept: Keeper = NOTHING_KEPT,
) -> dict[tuple[str, CutSetting], CutPoint]:
    """Every way at every k and d of one table."""

    @lru_cache(maxsize=1)
    def prepared(d: int) -> tuple[Microdata, dict[str, Predicates]]:
        data = table.first(d)
        return data, workloads(data, queries, table.seed)

    def run(setting: CutSetting) -> dict[str, CutPoint]:
        data, asked = prepared(setting.d)
        return {name: trial(data, way(setting.k), setting.k, asked) for name, way in WAYS.items()}

    found = run_each(
        sorted(settings, key=lambda setting: (setting.d, setting.k)),
        run,
        progress,
        kept=kept.of(f"{table.name} {len(table)} {table.seed} {queries}", CutPoint),
    )
    return {(name, setting): point for setting, points in found.items() for name, point in points.items()}


def strict_seconds(n: int, seed: int) -> float:
    """Processor seconds of strict cuts on UNIFORM, d=5, k=10: the quickest of three runs."""
    data = uniform(n, seed).first(5)
    return min(timed(lambda: WAYS[STRICT](10).group(data, (), silent))[1] for _ in range(3))
