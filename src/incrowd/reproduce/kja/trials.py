"""Renters and UNI, joined and grouped in every way of "k-Anonymity in the Presence of External Databases".

The paper's IPUMS is an extract that may not be passed on. In its place stand adults in rented homes of the
American Community Survey of 2024, with the same six attributes. As in the paper the public table has
everybody of the private one, so the joined table is the public one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.kja import Direct, own_people
from incrowd.algorithms.kja_adaptive import AdaptiveRefinement
from incrowd.algorithms.kja_printed import trimmed
from incrowd.algorithms.partitions.mondrian import RelaxedMondrian, StrictMondrian
from incrowd.algorithms.partitions.topdown import TopDown
from incrowd.assign import Entropy, shuffled
from incrowd.contracts import Guard, Partitioner
from incrowd.errors import TableError
from incrowd.flow import Attribute, Codes, Microdata, Partition
from incrowd.long_work import Progress, silent
from incrowd.measures.boxes import How, RangeCount, random_boxes
from incrowd.measures.counting import REFINE, average_relative_error, counts, weights_of
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.kja.letter import GroupedPeople, by_the_letter
from incrowd.reproduce.stored import Stored, drawn_words, whole_numbers
from incrowd.reproduce.trial import inhabited, rows_of, run_each, timed

RENTERS_TABLE = Stored("renters", "acs2024_renters/renters.csv.gz")
COLUMNS = ("age", "total_income", "family_size", "years_education", "rent", "sex")  # the paper's order
COUNTED: Mapping[str, How] = dict.fromkeys(("family_size", "years_education", "sex"), "discrete")
UNI = "UNI"
GRID = 10_000  # so many different values stand for [0, 1]


@dataclass(frozen=True, slots=True)
class JoinSample:
    """Who is drawn: people of the private table, how many times as many in the public one, by which seed."""

    people: int
    ratio: int
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class PeopleSource:
    """Where people are drawn from: each of `codes` (n, d) at most once, or evenly spread values."""

    name: str
    attributes: tuple[Attribute, ...]
    codes: Codes | None = None

    def most(self, people: int) -> int:
        """The largest ratio that there are people for; 0 if any can be had."""
        return 0 if self.codes is None else len(self.codes) // people

    def drawn(self, size: int, seed: int) -> Codes:
        """So many people, in the order in which they were drawn: fewer are the first of more."""
        if self.codes is None:
            return _evenly(size, len(self.attributes), seed)
        if size > len(self.codes):
            raise TableError(f"{self.name} has {len(self.codes):,} rows; {size:,} are needed")
        return self.codes[_shuffled(len(self.codes), seed)[:size]]

    def joined(self, sample: JoinSample, d: int) -> Microdata:
        """The public table with the first d attributes; people of the private one stand first."""
        size = sample.people * sample.ratio
        codes = np.ascontiguousarray(self.drawn(size, sample.seed)[:, :d])
        return Microdata(codes, self.attributes[:d], own=np.arange(size) < sample.people)


def renters(folder: Path) -> PeopleSource:
    """Real people."""
    codes, attributes = RENTERS_TABLE.numbered(folder, COLUMNS)
    return PeopleSource(RENTERS_TABLE.name, attributes, codes)


def uniform() -> PeopleSource:
    """Invented people, as many as are asked for."""
    domain = np.arange(GRID)
    return PeopleSource(UNI, tuple(whole_numbers(f"u{j + 1}", domain) for j in range(len(COLUMNS))))


@lru_cache(maxsize=2)
def _shuffled(n: int, seed: int) -> NDArray[np.int64]:
    dice = Random(f"order {seed}")  # noqa: S311  # nothing is published
    return np.argsort(np.frombuffer(dice.randbytes(8 * n), "<u8"), kind="stable")


@lru_cache(maxsize=1)
def _evenly(size: int, d: int, seed: int) -> Codes:
    words = drawn_words(size, d, f"uniform {seed}")
    return (words.astype(np.int64) * GRID >> 32).astype(np.int32)


MONDRIAN, RELAXED, TOPDOWN, PRINTED = "Mondrian", "Relaxed", "TopDown", "Printed TopDown"
BASES: Mapping[str, Callable[[int], Partitioner]] = {
    MONDRIAN: lambda k: StrictMondrian(k, choose="round-robin"),
    RELAXED: lambda k: RelaxedMondrian(k, choose="round-robin"),
    TOPDOWN: TopDown,
    PRINTED: lambda k: TopDown(k, assign="printed"),
}
# After the name of the base, which alone is the conventional way.
DIR, REF = "DIR", "REF"
FIRST, SMALLEST, ONCE, HARDENED = " first box", " smallest box", " at once", " hardened"
UNTRIMMED = " untrimmed"
QUERIES = 100
Queries = Mapping[int, Sequence[RangeCount]]  # by the share of the domain that they cover, in hundredths
Grouping = Callable[[Microdata], GroupedPeople]


@dataclass(frozen=True, slots=True)
class JoinSetting:
    """How many times as many people are in the public table, k, and how many attributes are used."""

    ratio: int
    k: int
    d: int


@dataclass(frozen=True, slots=True)
class JoinPoint:
    """What came of one way on one joined table: means over people of the private table.

    ``ncp`` is the perimeter of a person's box, with each domain as 1; ``dm`` how many of the private table
    are in a person's group; ``seconds`` what grouping took, without trimming. ``rows`` were published,
    ``again`` of them of somebody who has another. ``errors`` are average relative errors by the share of the
    domain that queries ask for.
    """

    ncp: float
    dm: float
    seconds: float
    rows: int = 0
    again: int = 0
    errors: Mapping[int, float] = field(default_factory=dict)


def ways(base: str, k: int) -> dict[str, Grouping]:
    """The conventional way and both ways of k-join-anonymity, by their names in the figures."""
    made = BASES[base](k)
    return {
        base: lambda data: GroupedPeople(data, conventional(data, made)),
        base + DIR: _joining(Direct(k), made),
        base + REF: lambda data: by_the_letter(data, made, k, _repeatable(data)),
    }


def variants(k: int) -> dict[str, Grouping]:
    """What is not in the figures.

    Those are people who join the first or the smallest box that they fit, and no other; all boxes grouped
    again at once; what `kja-refine-adaptive` does unless asked otherwise; and cuts that halve exactly.
    """
    made = TopDown(k)
    return {
        TOPDOWN + REF + FIRST: _joining(refinement(k), made),
        TOPDOWN + REF + SMALLEST: _joining(refinement(k), SmallestFirst(made)),
        TOPDOWN + REF + ONCE: lambda data: by_the_letter(data, made, k, _repeatable(data), at_once=True),
        **{
            base + REF + HARDENED: _joining(AdaptiveRefinement(k), BASES[base](k))
            for base in (MONDRIAN, TOPDOWN)
        },
        **ways(RELAXED, k),
    }


def refinement(k: int) -> AdaptiveRefinement:
    """As `kja-refine-adaptive` has it: of the public people each joins the first box that they are in."""
    return AdaptiveRefinement(k, first="private")


def _joining(way: Direct | AdaptiveRefinement, base: Partitioner) -> Grouping:
    """People are mixed before they are grouped, here in the same way each time."""
    return lambda data: GroupedPeople(data, way.grouped(data, base, (), silent, _repeatable(data)))


def _repeatable(data: Microdata) -> Entropy:
    return Random(len(data)).randbytes  # noqa: S311  nobody is protected here, and figures can be made again


def conventional(data: Microdata, base: Partitioner) -> Partition:
    """The private table alone, mixed as in a join; values of each group are published together."""
    order = shuffled(len(data), _repeatable(data))
    people = order[own_people(data)[order]]
    labels = np.full(len(data), -1, np.int32)
    labels[people] = base.group(Microdata(data.codes[people], data.attributes), (), silent).labels
    return Partition(labels, buckets=labels)


@dataclass(frozen=True)
class SmallestFirst:
    """A partition with groups numbered by their perimeter: whoever fits several boxes joins the smallest."""

    base: Partitioner

    def group(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        labels = self.base.group(data, guards, progress).labels
        rank = np.argsort(np.argsort(perimeters(data, labels), kind="stable"), kind="stable")
        return Partition(rank[labels].astype(np.int32))


def trial(
    data: Microdata, groupings: Mapping[str, Grouping], queries: Queries, k: int
) -> dict[str, JoinPoint]:
    """Every way on one joined table, trimmed as in the paper; ways with public people also untrimmed."""
    found = {}
    for name, grouping in groupings.items():
        people, seconds = timed(partial(grouping, data))
        own, labels, joined = own_people(people.data), people.partition.labels, name not in BASES
        shorter = labels.copy()
        if joined:
            shorter[trimmed(people.data, own, labels, k, "greedy")] = -1
            found[name + UNTRIMMED] = _point(people, labels, seconds, {})
        found[name] = _point(people, shorter, seconds, queries)
    return found


def _point(people: GroupedPeople, labels: Codes, seconds: float, queries: Queries) -> JoinPoint:
    data, buckets = people.data, people.partition.buckets
    mine = labels[own_people(data)]
    ncp, dm = float(perimeters(data, labels)[mine].mean()), float(np.bincount(mine)[mine].mean())
    shown = None if buckets is None else np.where(labels >= 0, buckets, -1).astype(np.int32)
    errors = relative_errors(data, Partition(labels, buckets=shown), queries)
    return JoinPoint(ncp, dm, seconds, int((labels >= 0).sum()), people.again(labels), errors)


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


def counted(data: Microdata) -> dict[str, How]:
    """The columns of which values are counted, and not lengths."""
    return {a.name: COUNTED[a.name] for a in data.attributes if a.name in COUNTED}


def relative_errors(data: Microdata, partition: Partition, queries: Queries) -> dict[int, float]:
    """The average relative error of each size of queries; none where values are not published by groups."""
    if partition.buckets is None or not queries:
        return {}
    kept = partition.kept
    rows = rows_of(Microdata(data.codes[kept], data.attributes), Partition(partition.labels[kept]))
    people = np.bincount(partition.buckets[own_people(data)])
    weights = weights_of(REFINE, partition.buckets[kept], people)
    found = {
        share: average_relative_error(rows, weights, data, asked, counted(data)).mean
        for share, asked in queries.items()
    }
    return {share: error for share, error in found.items() if error is not None}


def queries_for(data: Microdata, shares: Iterable[int], seed: int) -> Queries:
    """For each size 100 boxes anywhere in the domain; those that nobody is in are drawn again."""
    found = {}
    for share in shares:
        dice = Random(f"queries {share} {seed}").random  # noqa: S311  # nothing is published
        draw = partial(random_boxes, data, share / 100, QUERIES, dice, counted(data))
        found[share] = inhabited(draw, partial(counts, data), QUERIES)
    return found


def compile_all() -> None:
    """Run everything once, so that no time of a figure has compiling in it."""
    data = uniform().joined(JoinSample(200, 3, 0), 2)
    for base in BASES:
        trial(data, ways(base, 5), {}, 5)


JoinTrials = Mapping[JoinSetting, Mapping[str, tuple[JoinPoint, ...]]]  # each line, by sample


def trials(
    population: PeopleSource,
    settings: Mapping[JoinSetting, Sequence[int]],
    samples: Sequence[JoinSample],
    lines: Callable[[JoinSetting], Mapping[str, Grouping]],
    progress: Progress,
    kept: Keeper = NOTHING_KEPT,
) -> JoinTrials:
    """All lines at all settings, on every sample.

    `settings` have the sizes of queries that are asked there. Their ratio overrides that of the sample.
    """

    def run(at: tuple[JoinSample, JoinSetting]) -> dict[str, JoinPoint]:
        sample, setting = at
        data = population.joined(replace(sample, ratio=setting.ratio), setting.d)
        asked = queries_for(data, settings[setting], sample.seed)
        return trial(data, lines(setting), asked, setting.k)

    points = [(sample, setting) for sample in samples for setting in settings]
    found = run_each(
        points, run, progress, work=lambda at: at[1].ratio, kept=kept.of(population.name, JoinPoint)
    )
    return {
        setting: {
            name: tuple(found[sample, setting][name] for sample in samples)
            for name in found[samples[0], setting]
        }
        for setting in settings
    }
