"""Figures 8 to 13 of Wang, Liu, "Hiding Distinguished Ones into Crowd", EDBT 2009."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

from incrowd.algorithms.outliers.expc import COMPONENTS
from incrowd.errors import InputError
from incrowd.long_work import Watch
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.outcome import Figure, OneRun, Outcome, Sheet
from incrowd.reproduce.outliers import trials as approaches
from incrowd.reproduce.outliers.trials import (
    EXPC,
    GNOF,
    GOF,
    INCOGNITO,
    REMOVED,
    GroupingPoint,
    OutlierSetting,
)
from incrowd.reproduce.stored import SEED
from incrowd.reproduce.trend import TINY, falls, inside, listed, named, ratios, rises, span

# The paper prints its figures without numbers and says that a time is dominant, negligible or considerable,
# and that a loss is the same. What such words mean here are these bounds; every statement also shows the
# numbers that decided it.
DOMINANT = 0.5  # takes more than this share of the time
CONSIDERABLE = 0.1  # takes at least this share
NEGLIGIBLE = 0.05  # takes at most this share
VERY_SMALL = 0.01  # at most this share of all records
TWICE = (1.5, 2.5)
TWICE_AT = 50_000  # people
SAME, SIMILAR = 0.02, 0.1  # the largest is at most so much above the least
RIVALS = (GNOF, GOF)
THREE = (EXPC, *RIVALS)
COMPONENTS_OF = {EXPC: "9a", GNOF: "9b", GOF: "9c"}


def statements(figures: Sequence[Figure], residue: Mapping[str, Sequence[float]]) -> tuple[OneRun, ...]:
    """Every statement of section 8; `residue` is the share of records that were left over, by n."""
    by_name = {figure.name: figure for figure in figures}
    size, loss = by_name["11"], by_name["13a"]
    return (
        *_time(by_name["8"]),
        *_components(by_name, residue),
        _below(by_name["10"], "expansion of ExpC takes less time than that of GNOF and GOF, always"),
        _below(size, "ExpC always makes the smallest groups"),
        _small_groups_lose_least(size, loss),
        *_times(by_name["12a"], "d"),
        *_times(by_name["12b"], "p"),
        _below(loss, "ExpC always loses least of all four", (*RIVALS, REMOVED)),
        _removal_worst(loss),
        *_losses(by_name["13b"], "p", "always the same", SAME),
        *_losses(by_name["13c"], "d", "similar", SIMILAR),
    )


# Approaches


def _points(figure: Figure, names: Sequence[str] = THREE) -> list[tuple[float, ...]]:
    """Of these approaches, value by value."""
    return list(zip(*(figure.lines[name] for name in names), strict=True))


def _ratios(figure: Figure, names: Sequence[str] = RIVALS) -> dict[str, list[float]]:
    """How many times as much as ExpC others have."""
    return {name: ratios(figure.lines[name], figure.lines[EXPC]) for name in names}


def _below(figure: Figure, says: str, rivals: Sequence[str] = RIVALS) -> OneRun:
    """ExpC has less than each of the others at each value."""
    won = {name: sum(a < b for a, b in _points(figure, (EXPC, name))) for name in rivals}
    many = len(figure.values)
    detail = "; ".join(
        f"{name} {span(each)} times as much, more at {won[name]} of {many}"
        for name, each in _ratios(figure, rivals).items()
    )
    return figure.states(says, min(won.values()) == many, detail)


def _time(figure: Figure) -> Iterator[OneRun]:
    others, ours, expc = [*map(min, _points(figure))], figure.lines[INCOGNITO], figure.lines[EXPC]
    held = all(a < b for a, b in zip(ours, others, strict=True))
    detail = f"{span(ours)} s, the quickest of the others {span(others)} s"
    yield figure.states("Incognito is always the fastest", held, detail)
    yield _below(figure, "ExpC is faster than GNOF and GOF at every n")
    gains = _ratios(figure)
    held = all(each[-1] > max(1.0, each[0]) for each in gains.values())
    detail = named(gains, lambda each: f"{listed(each)} times", "; ")
    says = "the gain of ExpC grows with n"
    yield figure.states(says, held, f"time of the others by that of ExpC: {detail}")
    if TWICE_AT in figure.values:
        there = {name: each[figure.values.index(TWICE_AT)] for name, each in gains.items()}
        says = f"with {TWICE_AT:,} people ExpC is around twice as fast"
        detail = named(there, "{:.2f} times the time".format)
        yield figure.states(says, inside([*there.values()], TWICE), detail)
    yield figure.states("the time of ExpC grows with n", rises(expc), f"{listed(expc)} s")


def _components(by_name: Mapping[str, Figure], residue: Mapping[str, Sequence[float]]) -> Iterator[OneRun]:
    """What takes how much of the time of each approach."""
    looking, growing, settling = (
        {name: _shares(by_name[COMPONENTS_OF[name]], part) for name in names}
        for part, names in zip(COMPONENTS[1:], (RIVALS, THREE, THREE), strict=True)
    )
    says = "Figure 9: outlier detection takes considerable time in GNOF and GOF"
    yield OneRun(says, min(map(min, looking.values())) >= CONSIDERABLE, _percents(looking))
    says = "Figure 9: expansion dominates the time of all three"
    yield OneRun(says, min(map(min, growing.values())) > DOMINANT, _percents(growing))
    says = "Figure 9: residue processing is always negligible"
    yield OneRun(says, max(map(max, settling.values())) <= NEGLIGIBLE, _percents(settling))
    says = "Figure 9: residue tuples are always very few compared with the table"
    few = max(map(max, residue.values())) <= VERY_SMALL
    yield OneRun(says, few, _percents(residue) + " of all records")


def _shares(figure: Figure, part: str) -> list[float]:
    totals = [max(sum(values), TINY) for values in zip(*figure.lines.values(), strict=True)]
    return [value / total for value, total in zip(figure.lines[part], totals, strict=True)]


def _percents(shares: Mapping[str, Sequence[float]]) -> str:
    return named(shares, lambda each: span(each, "{:.1%}"))


def _small_groups_lose_least(sizes: Figure, loss: Figure) -> OneRun:
    """Of the three approaches that keep outliers."""
    pairs = zip(_points(sizes), _points(loss), strict=True)
    same = sum(size.index(min(size)) == lost.index(min(lost)) for size, lost in pairs)
    many = len(sizes.values)
    detail = f"whoever has the smallest groups loses least at {same} of {many}"
    return sizes.states("smaller groups result in smaller loss", same == many, detail)


def _removal_worst(figure: Figure) -> OneRun:
    others, ours = [max(point) for point in _points(figure)], figure.lines[REMOVED]
    worse = sum(a > b for a, b in zip(ours, others, strict=True))
    detail = f"at {worse} of {len(ours)}: {listed(ours)}, the worst of the others {listed(others)}"
    return figure.states("removing outliers always loses most", worse == len(ours), detail)


# Parameters of ExpC


def _times(figure: Figure, letter: str) -> list[OneRun]:
    lines = [*figure.lines.values()]
    steps = [(a, b) for one, next_one in pairwise(lines) for a, b in zip(one, next_one, strict=True)]
    quicker = sum(b < a for a, b in steps)
    says = f"in most cases ExpC gets faster as {letter} grows"
    detail = "; ".join(f"{name}: {listed(line)} s" for name, line in figure.lines.items())
    return [
        figure.states(says, 2 * quicker > len(steps), f"in {quicker} of {len(steps)} steps"),
        figure.states("ExpC gets faster as k grows", all(map(falls, lines)), detail),
    ]


def _losses(figure: Figure, letter: str, word: str, bound: float) -> list[OneRun]:
    lines = [*figure.lines.values()]
    every = [value for line in lines for value in line]
    above = [max(values) / min(values) - 1 for values in zip(*lines, strict=True)]
    detail = "; ".join(f"{name}: {listed(line)}" for name, line in figure.lines.items())
    apart = ", ".join(f"k={k} {each:.1%}" for k, each in zip(figure.values, above, strict=True))
    says = f"the loss is {word} with larger {letter}"
    return [
        figure.states("ExpC always loses less than 1", max(every) < 1, span(every)),
        figure.states("ExpC loses more as k grows", all(map(rises, lines)), detail),
        figure.states(says, max(above) <= bound, f"most to least: {apart}"),
    ]


TITLE = "Hiding Distinguished Ones into Crowd: Figures 8 to 13"
PRINTED_P, PRINTED_D = "0.8", "0.85"
FEW, ALL = 5, len(approaches.QUASI)
FIVE = (*THREE, approaches.REMOVED, approaches.INCOGNITO)
SECONDS, RECORDS, LOSS = "processor seconds", "records in a group", "IL, sum over five quasi-identifiers"


@dataclass(frozen=True, slots=True)
class OutlierScale:
    """How much is run: sizes of Figures 8 to 11, then rows, k, d and p of Figures 12 and 13.

    `d` is where about two of a hundred stand out, `wide` the same for all quasi-identifiers, with `wide_n`
    rows (0: not run). `whole_n` are the rows that ExpC without limits is run with.
    """

    sizes: tuple[int, ...]
    n: int
    ks: tuple[int, ...]
    ds: tuple[str, ...]
    ps: tuple[str, ...]
    wide_n: int
    whole_n: int
    p: str = PRINTED_P
    d: str = "1.15"
    wide: str = "1.4"
    k: int = 15

    def ask(self, n: int, **other: Any) -> OutlierSetting:
        return replace(OutlierSetting(n, FEW, self.p, self.d, self.k), **other)

    def asked(self) -> list[tuple[str, OutlierSetting]]:
        """Every point of every figure, and what is in none."""
        found = [(name, self.ask(n)) for n in self.sizes for name in FIVE]
        found += [(EXPC, self.ask(self.n, k=k, d=d)) for d in self.ds for k in self.ks]
        found += [(EXPC, self.ask(self.n, k=k, p=p)) for p in self.ps for k in self.ks]
        return found + self.others()

    def others(self) -> list[tuple[str, OutlierSetting]]:
        """Points beside the figures: the setting as printed, all quasi-identifiers, other forms of ExpC."""
        found = [(EXPC, self.ask(self.whole_n, d=PRINTED_D)), (EXPC, self.ask(self.whole_n))]
        found += [(name, self.ask(self.whole_n)) for name in (approaches.WHOLE, approaches.AS_PUBLISHED)]
        if self.wide_n:
            found += [(name, self.ask(self.wide_n, columns=ALL, d=self.wide)) for name in FIVE]
        return found

    def rated(self) -> tuple[OutlierSetting, ...]:
        """Where outliers are counted."""
        found = [self.ask(self.n, d=d) for d in sorted({PRINTED_D, *self.ds}, key=float)]
        found += [self.ask(self.n, p=p) for p in self.ps]
        if self.wide_n:
            found += [self.ask(self.wide_n, columns=ALL, d=d) for d in (PRINTED_D, self.wide)]
        return tuple(dict.fromkeys(found))


_SIZES = (10_000, 20_000, 30_000, 40_000, 50_000, 100_000)
_DS, _PS = ("1.1", "1.15", "1.2", "1.3"), ("0.75", "0.8", "0.85", "0.9")
FULL = OutlierScale(_SIZES, 10_000, (5, 10, 15, 20), _DS, _PS, 5000, 1000)
QUICK = OutlierScale((1000, 2000, 3000), 2000, (5, 15), ("1.1", "1.2"), ("0.8", "0.9"), 0, 200)


def reproduce(quick: bool, folder: Path | None, watch: Watch, kept: Keeper = NOTHING_KEPT) -> Outcome:
    """Run all figures; without the census or one of its hierarchies there is nothing to run, an error."""
    missing = [why for stored in approaches.NEEDED if (why := stored.missing_from(folder))]
    if folder is None or missing:
        raise InputError(f"outliers needs a real table; {missing[0]}")
    watch("read the census")
    skipped = [f"more than {QUICK.sizes[-1]:,} people, and most points: left out by --quick"] if quick else []
    return run(approaches.load_workers(folder), QUICK if quick else FULL, skipped, watch, kept)


def run(
    people: approaches.Workers,
    scale: OutlierScale,
    skipped: Sequence[str],
    watch: Watch,
    kept: Keeper = NOTHING_KEPT,
) -> Outcome:
    """Every point, every table and chart of them, every statement."""
    progress = watch("find out who stands out")
    standing = approaches.rates(people, scale.rated())
    progress(1.0)
    approaches.compile_all(people, scale.ask(min(scale.whole_n, 200)))
    found = approaches.trials(people, scale.asked(), watch("group people in every way"), kept)
    return outcome(found, standing, scale, skipped)


def outcome(
    found: approaches.OutlierTrials,
    standing: Mapping[OutlierSetting, float],
    scale: OutlierScale,
    skipped: Sequence[str],
) -> Outcome:
    """Tables, statements and charts of what was run."""
    figures = tuple(figures_of(found, scale))
    residue = {name: tuple(found[name, scale.ask(n)].residue / n for n in scale.sizes) for name in THREE}
    facts = {
        "seed": SEED,
        "standing": [{**asdict(setting), "share": share} for setting, share in standing.items()],
        "points": [
            {"approach": name, **asdict(setting), **asdict(point)} for (name, setting), point in found.items()
        ],
        "figures": [figure.to_dict("unit") for figure in figures],
    }
    sheets = (
        _over_n(found, scale),
        _standing(standing),
        _others(found, scale),
        *(figure.sheet(about=figure.unit + ".") for figure in figures),
    )
    charts = {f"figure{figure.name}.svg": figure.chart() for figure in figures}
    held = statements(figures, residue)
    return Outcome("outliers", TITLE, sheets, held, facts, charts, skipped=tuple(skipped))


def figures_of(found: approaches.OutlierTrials, scale: OutlierScale) -> Iterator[Figure]:
    """Every figure."""
    Of = Callable[[GroupingPoint], float]

    def over_n(name: str, says: str, unit: str, lines: Mapping[str, tuple[str, Of]]) -> Figure:
        """Each line is what is shown of an approach."""
        made = {
            line: tuple(of(found[approach, scale.ask(n)]) for n in scale.sizes)
            for line, (approach, of) in lines.items()
        }
        return Figure(name, f"Figure {name}: {says}", "n", scale.sizes, unit, made)

    def over_k(name: str, says: str, unit: str, field: str, of: Of) -> Figure:
        lines = {}
        for value in scale.ps if field == "p" else scale.ds:
            settings = [scale.ask(scale.n, k=k, **{field: value}) for k in scale.ks]
            lines[f"{field} = {value}"] = tuple(of(found[EXPC, setting]) for setting in settings)
        fixed = f"d={scale.d}" if field == "p" else f"p={scale.p}"
        return Figure(name, f"Figure {name}: {says}, {fixed}, n={scale.n:,}", "k", scale.ks, unit, lines)

    def each(names: Sequence[str], of: Of) -> dict[str, tuple[str, Of]]:
        return {name: (name, of) for name in names}

    time, loss = attrgetter("total"), attrgetter("loss")
    parts = {part: partial(_component, part) for part in COMPONENTS}
    yield over_n("8", "all approaches", SECONDS, each((*THREE, approaches.INCOGNITO), time))
    for letter, name in zip("abc", THREE, strict=True):
        lines = {part: (name, of) for part, of in parts.items()}
        yield over_n(f"9{letter}", f"components of {name}", SECONDS, lines)
    yield over_n("10", "expansion", SECONDS, each(THREE, parts[approaches.EXPANSION]))
    yield over_n("11", "mean group", RECORDS, each(THREE, attrgetter("size")))
    yield over_k("12a", "ExpC", SECONDS, "d", time)
    yield over_k("12b", "ExpC", SECONDS, "p", time)
    yield over_n("13a", "loss", LOSS, each((*THREE, approaches.REMOVED), loss))
    yield over_k("13b", "loss of ExpC", LOSS, "p", loss)
    yield over_k("13c", "loss of ExpC", LOSS, "d", loss)


def _component(part: str, point: GroupingPoint) -> float:
    return point.seconds[part]


_HEADER = ("seconds", "groups", "mean", "residue", "no row", "removed", "IL", "IL, zero-based")


def _row(point: GroupingPoint) -> tuple[str, ...]:
    if not point.groups:
        return (f"{point.total:.2f}", *([""] * 7))
    counts = (f"{count:,}" for count in (point.residue, point.suppressed, point.removed))
    lost = (f"{point.loss:.3f}", f"{point.zero:.3f}")
    return (f"{point.total:.2f}", f"{point.groups:,}", f"{point.size:.1f}", *counts, *lost)


def _over_n(found: approaches.OutlierTrials, scale: OutlierScale) -> Sheet:
    rows = [(f"{n:,}", name, *_row(found[name, scale.ask(n)])) for n in scale.sizes for name in FIVE]
    about = (
        f"Five quasi-identifiers, p={scale.p}, d={scale.d}, k={scale.k}. Those whom no group could hide have "
        f"no row; they cost {FEW} each, as do those who are removed."
    )
    return Sheet("All approaches over n", ("n", "", *_HEADER), tuple(rows), about)


def _standing(standing: Mapping[OutlierSetting, float]) -> Sheet:
    rows = [(f"{at.columns}", f"{at.n:,}", at.p, at.d, f"{share:.2%}") for at, share in standing.items()]
    about = f"The paper has p={PRINTED_P} and d={PRINTED_D} over nine columns."
    return Sheet("Who stands out", ("quasi-identifiers", "n", "p", "d", "outliers"), tuple(rows), about)


def _others(found: approaches.OutlierTrials, scale: OutlierScale) -> Sheet:
    rows = [(name, f"{at.columns}", f"{at.n:,}", at.d, *_row(found[name, at])) for name, at in scale.others()]
    about = (
        "The setting as printed; ExpC without limits of tries, and as it is published; all quasi-identifiers."
    )
    return Sheet("Beside the figures", ("", "quasi-identifiers", "n", "d", *_HEADER), tuple(rows), about)
