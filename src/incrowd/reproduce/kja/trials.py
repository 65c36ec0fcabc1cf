"""One joined table, grouped in every way of "k-Anonymity in the Presence of External Databases"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean
from time import process_time

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.kja import Direct, Refinement
from incrowd.algorithms.partitions.mondrian import RelaxedMondrian, StrictMondrian
from incrowd.algorithms.partitions.topdown import TopDown
from incrowd.contracts import Guard, Partitioner, Progress, silent
from incrowd.entropy import Entropy, shuffled
from incrowd.flow import Codes, Microdata, Partition
from incrowd.measures.boxes import RangeCount, random_boxes
from incrowd.measures.counting import REFINE, average_relative_error, counts, weights_of
from incrowd.reproduce.kja.data import Sample, Source, Uniform
from incrowd.reproduce.revisited.trials import rows_of

MONDRIAN, RELAXED, TOPDOWN = "Mondrian", "Relaxed", "TopDown"
BASES: Mapping[str, Callable[[int], Partitioner]] = {
    MONDRIAN: lambda k: StrictMondrian(k, choose="round-robin"),
    RELAXED: lambda k: RelaxedMondrian(k, choose="round-robin"),
    TOPDOWN: TopDown,
}
# After the name of the base, which alone is the conventional way.
DIR, REF, TRIMMED, SMALLEST, HARDENED = "DIR", "REF", " trimmed", " smallest", " hardened"
QUERIES = 100
MOST_DRAWS = 100  # times as many boxes are drawn, at most, to find so many with somebody inside
Queries = Mapping[int, Sequence[RangeCount]]  # by the share of the domain that they cover, in hundredths
Hide = Callable[[Microdata], Partition]


@dataclass(frozen=True, slots=True)
class Setting:
    """How many times as many people are in the public table, k, and how many attributes are used."""

    ratio: int
    k: int
    d: int


@dataclass(frozen=True, slots=True)
class Point:
    """What came of one way on one joined table: means over people of the private table.

    ``ncp`` is the perimeter of a person's box, with each domain as 1; ``dm`` how many of the private table
    are in a person's group. ``errors`` are average relative errors by the share of the domain that queries
    ask for.
    """

    ncp: float
    dm: float
    seconds: float
    errors: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def mean(cls, points: Sequence[Point]) -> Point:
        """Of several samples."""
        errors = {share: fmean(each.errors[share] for each in points) for share in points[0].errors}
        return cls(
            fmean(each.ncp for each in points),
            fmean(each.dm for each in points),
            fmean(each.seconds for each in points),
            errors,
        )


def ways(base: str, k: int, trimmed: bool = False) -> dict[str, Hide]:
    """The conventional way and both ways of k-join-anonymity, by their names in the figures."""
    made = BASES[base](k)
    if trimmed:
        return {
            f"{base}{DIR}{TRIMMED}": _joining(Direct(k, trim="greedy"), made),
            f"{base}{REF}{TRIMMED}": _joining(refinement(k, trim="greedy"), made),
        }
    return {
        base: lambda data: conventional(data, made),
        f"{base}{DIR}": _joining(Direct(k), made),
        f"{base}{REF}": _joining(refinement(k), made),
    }


def variants(k: int) -> dict[str, Hide]:
    """What is not in the figures.

    That is `kja-refine` unless asked otherwise, cuts that halve exactly, and people who join the smallest
    box that they fit.
    """
    hardened = {
        f"{base}{REF}{HARDENED}": _joining(Refinement(k), BASES[base](k)) for base in (MONDRIAN, TOPDOWN)
    }
    smallest = {
        f"{base}{REF}{SMALLEST}": _joining(refinement(k), SmallestFirst(BASES[base](k)))
        for base in (RELAXED, TOPDOWN)
    }
    return {**hardened, **ways(RELAXED, k), **smallest}


def refinement(k: int, trim: str = "none") -> Refinement:
    """As printed: of the public people only those inside the smallest box join a group."""
    return Refinement(k, trim=trim, first="private")


def _joining(way: Direct | Refinement, base: Partitioner) -> Hide:
    """People are mixed before they are grouped, here in the same way each time."""
    return lambda data: way.grouped(data, base, (), silent, _repeatable(data))


def _repeatable(data: Microdata) -> Entropy:
    return Random(len(data)).randbytes  # noqa: S311  nobody is protected here, and figures can be made again


def conventional(data: Microdata, base: Partitioner) -> Partition:
    """The private table alone, mixed as in a join; values of each group are published together."""
    order = shuffled(len(data), _repeatable(data))
    people = order[own_of(data)[order]]
    labels = np.full(len(data), -1, np.int32)
    labels[people] = base.group(Microdata(data.codes[people], data.attributes), (), silent).labels
    return Partition(labels, buckets=labels)


@dataclass(frozen=True)
class SmallestFirst:
    """A partition with groups numbered by their perimeter: whoever fits several boxes joins the smallest.

    The paper does not say which one takes them, and `Refinement` takes the first.
    """

    base: Partitioner

    def group(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        labels = self.base.group(data, guards, progress).labels
        rank = np.argsort(np.argsort(perimeters(data, labels), kind="stable"), kind="stable")
        return Partition(rank[labels].astype(np.int32))


def own_of(data: Microdata) -> NDArray[np.bool_]:
    return np.ones(len(data), np.bool_) if data.own is None else data.own


def trial(data: Microdata, hides: Mapping[str, Hide], queries: Queries) -> dict[str, Point]:
    """Every way on one joined table."""
    found = {}
    for name, hide in hides.items():
        start = process_time()
        partition = hide(data)
        seconds = process_time() - start
        mine = partition.labels[own_of(data)]
        found[name] = Point(
            float(perimeters(data, partition.labels)[mine].mean()),
            float(np.bincount(mine)[mine].mean()),
            seconds,
            relative_errors(data, partition, queries),
        )
    return found


def perimeters(data: Microdata, labels: Codes) -> NDArray[np.float64]:
    """Of the box over each group: twice the sum of its sides, each as a share of the domain."""
    order = np.argsort(labels, kind="stable")
    order = order[labels[order] >= 0]
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    total = np.zeros(starts.size)
    for j, attribute in enumerate(data.attributes):
        place = attribute.position[data.codes[order, j]]
        sides = np.maximum.reduceat(place, starts) - np.minimum.reduceat(place, starts)
        total += 2 * sides / (attribute.span or 1.0)
    return total


def relative_errors(data: Microdata, partition: Partition, queries: Queries) -> dict[int, float]:
    """The average relative error of each size of queries; none where values are not published by groups."""
    if partition.buckets is None or not queries:
        return {}
    kept = partition.kept
    rows = rows_of(Microdata(data.codes[kept], data.attributes), Partition(partition.labels[kept]))
    people = np.bincount(partition.buckets[own_of(data)])
    weights = weights_of(REFINE, partition.buckets[kept], people)
    found = {
        share: average_relative_error(rows, weights, data, asked).mean for share, asked in queries.items()
    }
    return {share: error for share, error in found.items() if error is not None}


def queries_for(data: Microdata, shares: Iterable[int], seed: int) -> Queries:
    """For each size 100 boxes anywhere in the domain; those that nobody is in are drawn again."""
    return {share: _inhabited(data, share, Random(f"queries {share} {seed}").random) for share in shares}  # noqa: S311


def _inhabited(data: Microdata, share: int, draw: Callable[[], float]) -> list[RangeCount]:
    found: list[RangeCount] = []
    for _ in range(MOST_DRAWS):
        boxes = random_boxes(data, share / 100, QUERIES, draw)
        found += [box for box, actual in zip(boxes, counts(data, boxes), strict=True) if actual]
        if len(found) >= QUERIES:
            break
    return found[:QUERIES]


def compiled(bases: Iterable[str]) -> None:
    """Run everything once, so that no time of a figure has compiling in it."""
    data = Uniform().joined(Sample(200, 3, 0), 2)
    for base in bases:
        trial(data, ways(base, 5), {})


Trials = Mapping[tuple[str, Setting], Mapping[str, Point]]  # by source and setting: each line


def trials(
    source: Source,
    settings: Mapping[Setting, Sequence[int]],
    samples: Sequence[Sample],
    extras: Mapping[Setting, Mapping[str, Hide]],
    told: Callable[[float], None],
) -> Trials:
    """All lines at all settings, as means over samples.

    Parameters
    ----------
    settings : mapping
        For each setting the sizes of queries that are asked there. Its ratio overrides that of the sample.
    extras : mapping
        Further ways at some settings.
    """
    found: dict[Setting, list[dict[str, Point]]] = {setting: [] for setting in settings}
    done = 0
    for sample in samples:
        for setting, shares in settings.items():
            data = source.joined(Sample(sample.people, setting.ratio, sample.seed), setting.d)
            asked = queries_for(data, shares, sample.seed)
            lines = {
                name: hide for base in (MONDRIAN, TOPDOWN) for name, hide in ways(base, setting.k).items()
            }
            points = trial(data, lines, asked)
            found[setting].append(points | trial(data, extras.get(setting, {}), asked))
            done += 1
            told(done / (len(settings) * len(samples)))
    return {
        (source.name, setting): {name: Point.mean([each[name] for each in many]) for name in many[0]}
        for setting, many in found.items()
    }
