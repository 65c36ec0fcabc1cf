"""Figures 10 to 19 of Sacharidis, Mouratidis, Papadias on external databases.

"k-Anonymity in the Presence of External Databases", TKDE 2010.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from incrowd.long_work import Watch
from incrowd.reproduce.judging import Tables, judged
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.kja import trials as ways
from incrowd.reproduce.kja.findings import CLAIMS, ERRORS, GAINS
from incrowd.reproduce.kja.panels import (
    DM,
    ERROR,
    FIGURES,
    NCP,
    RANGE,
    RATIO,
    RENTERS,
    TIME,
    JoinFound,
    Panel,
)
from incrowd.reproduce.kja.trials import (
    DIR,
    MONDRIAN,
    PRINTED,
    REF,
    TOPDOWN,
    JoinPoint,
    JoinSetting,
    JoinTrials,
)
from incrowd.reproduce.outcome import Figure, Outcome, Sheet
from incrowd.reproduce.samples import MeanOfSamples, Samples
from incrowd.reproduce.stored import SEED

TITLE = "k-Anonymity in the Presence of External Databases: Figures 10 to 19"
PEOPLE = 4_300  # of whom renters have a hundred times as many
SAMPLES = 5
RATIOS = (1, 5, 10, 50, 100)
KS = (5, 50, 500)  # every other one of the paper, and so are d: five samples of all would take twice as long
DS = (2, 4, 6)
RANGES = (2, 5, 10, 20, 50)
DEFAULT_RANGE = 10
PRINTED_PEOPLE = 2_000  # TopDown as printed takes a time that grows with the square
PRINTED_RATIOS = (5, 10)
UNITS = {
    NCP: "NCP: perimeter of a person's box",
    DM: "DM: private people in a person's group",
    ERROR: "average relative error",
    TIME: "processor seconds",
}
AXES = {
    RATIO: "people of the public table for each of the private one, |PD| / |MT|",
    "k": "k: people who share a row, at least",
    "d": "d: quasi-identifiers",
    RANGE: "|R|: share of the domain that a query covers, %",
}


@dataclass(frozen=True, slots=True)
class JoinScale:
    """How much of a table is run: people of the private table, seeds of samples, values of each parameter.

    `printed` is how many people there are where TopDown's printed rule is run, and at which ratios.
    """

    people: int
    seeds: tuple[int, ...]
    values: Mapping[str, tuple[int, ...]]
    printed: tuple[int, tuple[int, ...]]
    k: int = 50
    d: int = 4

    @property
    def default(self) -> JoinSetting:
        """The largest ratio that there is, and what the paper fixes."""
        return JoinSetting(self.values[RATIO][-1], self.k, self.d)

    def setting(self, over: str, value: int) -> JoinSetting:
        return self.default if over == RANGE else replace(self.default, **{over: value})

    def settings(self, counting: bool) -> dict[JoinSetting, tuple[int, ...]]:
        """Every point of every figure once, with the sizes of queries that are asked there."""
        asked: dict[JoinSetting, tuple[int, ...]] = {}
        for over in (RATIO, "k", "d"):
            for value in self.values[over]:
                asked[self.setting(over, value)] = (DEFAULT_RANGE,) if counting and over != "d" else ()
        return asked | {self.default: tuple(sorted({*self.values[RANGE], DEFAULT_RANGE})) if counting else ()}

    def words(self) -> str:
        return f"{self.people:,} people, {len(self.seeds)} samples, ratios to {self.default.ratio}"


Scales = Mapping[str, JoinScale]


def scale_of(population: ways.PeopleSource, quick: bool) -> JoinScale:
    """What is run of a table; with `quick` as many samples of few people, and few points."""
    seeds = tuple(range(SEED, SEED + SAMPLES))
    people = PEOPLE // 5 if quick else PEOPLE
    most = population.most(people) or RATIOS[-1]
    if quick:
        few: dict[str, tuple[int, ...]] = {"k": (5, 50), "d": (2, 4), RANGE: (2, 10, 50)}
        return JoinScale(people, seeds, {RATIO: (1, min(10, most)), **few}, (people // 2, (min(5, most),)))
    ratios = tuple(sorted({min(ratio, most) for ratio in RATIOS}))
    values = {RATIO: ratios, "k": KS, "d": DS, RANGE: RANGES}
    return JoinScale(people, seeds, values, (min(PRINTED_PEOPLE, people), PRINTED_RATIOS))


def reproduce(quick: bool, folder: Path | None, watch: Watch, kept: Keeper = NOTHING_KEPT) -> Outcome:
    """Run all figures; without the real table, those of UNI."""
    why = ways.RENTERS_TABLE.missing_from(folder)
    populations = [ways.uniform()] if folder is None or why else [ways.renters(folder), ways.uniform()]
    scales = {each.name: scale_of(each, quick) for each in populations}
    ways.compile_all()
    found = {each.name: _run(each, scales[each.name], watch, kept) for each in populations}
    printed: JoinTrials = {}
    if RENTERS in scales:
        printed = _run_printed(populations[0], scales[RENTERS], watch, kept)
    skipped = [why] if why else []
    if quick:
        skipped.append("most people and most points: left out by --quick")
    return outcome(found, printed, scales, skipped, quick)


def _run(population: ways.PeopleSource, scale: JoinScale, watch: Watch, kept: Keeper) -> JoinTrials:
    """Every point; at the default of renters also what is in no figure."""
    real = population.name == RENTERS

    def lines(setting: JoinSetting) -> dict[str, ways.Grouping]:
        usual = ways.ways(MONDRIAN, setting.k) | ways.ways(TOPDOWN, setting.k)
        return usual | ways.variants(setting.k) if real and setting == scale.default else usual

    samples = [ways.JoinSample(scale.people, 1, seed) for seed in scale.seeds]
    progress = watch(f"{population.name}, {scale.words()}")
    return ways.trials(population, scale.settings(counting=real), samples, lines, progress, kept)


def _run_printed(population: ways.PeopleSource, scale: JoinScale, watch: Watch, kept: Keeper) -> JoinTrials:
    """TopDown with its printed rule: fewer people and ratios, since it takes long."""
    people, ratios = scale.printed
    settings = {JoinSetting(ratio, scale.k, scale.d): () for ratio in ratios}
    samples = [ways.JoinSample(people, 1, seed) for seed in scale.seeds]
    progress = watch(f"{population.name}, {people:,} people, TopDown as printed")
    lines = lambda setting: ways.ways(PRINTED, setting.k)  # noqa: E731  # one word for what _run has above
    return ways.trials(population, settings, samples, lines, progress, kept.of(PRINTED))


def outcome(
    found: Mapping[str, JoinTrials], printed: JoinTrials, scales: Scales, skipped: Sequence[str], quick: bool
) -> Outcome:
    """Tables, statements and charts of what was run."""
    panels = {panel.name: panel for panel in panels_of(found, scales)}
    default = found[RENTERS][scales[RENTERS].default] if RENTERS in scales else {}
    by_ratio = {setting.ratio: lines for setting, lines in printed.items()}
    figures = [figure_of(panel) for panel in panels.values()]
    sheets = [_gains(panels, scales)]
    if RENTERS in scales:
        sheets += [_errors(panels), _ways(default, scales[RENTERS]), _printed(by_ratio, scales[RENTERS])]
    sheets += [figure.sheet(about=figure.unit + ".") for figure in figures]
    facts: dict[str, Any] = {
        "people": {name: scale.people for name, scale in scales.items()},
        "seeds": {name: list(scale.seeds) for name, scale in scales.items()},
        "ratio": {name: scale.default.ratio for name, scale in scales.items()},
        "figures": [
            {"data": panel.data, "base": panel.base, "shows": panel.shows, **figure.to_dict()}
            for panel, figure in zip(panels.values(), figures, strict=True)
        ],
    }
    why = {} if RENTERS in scales else {RENTERS: skipped[0]}
    tables = Tables({name: f"{name}: {scale.words()}" for name, scale in scales.items()}, why)
    stated = judged("kja", CLAIMS, JoinFound(panels, default, by_ratio), tables, quick)
    charts = {f"figure{figure.name}.svg": figure.chart() for figure in figures}
    return Outcome("kja", TITLE, tuple(sheets), stated, facts, charts, skipped=tuple(skipped))


def panels_of(found: Mapping[str, JoinTrials], scales: Scales) -> Iterator[Panel]:
    """Every part of a figure of tables that were run."""
    for number, (data, base, shows) in FIGURES.items():
        if data not in scales:
            continue
        scale, names = scales[data], (base, base + REF) if shows == ERROR else (base, base + DIR, base + REF)
        for part, over in zip("abc", (RATIO, "k", RANGE if shows == ERROR else "d"), strict=True):
            yield Panel(
                f"{number}{part}",
                over,
                {
                    name: {
                        f"{over}={value}": [
                            shown(point, shows, value if over == RANGE else DEFAULT_RANGE)
                            for point in found[data][scale.setting(over, value)][name]
                        ]
                        for value in scale.values[over]
                    }
                    for name in names
                },
            )


def figure_of(panel: Panel) -> Figure:
    """A part as means with their intervals."""
    lines: dict[str, dict[int, Samples]] = {
        name: {int(at.partition("=")[2]): each for at, each in line.items()}
        for name, line in panel.lines.items()
    }
    title = f"Figure {panel.name}: {panel.base}, {panel.data}, {panel.shows}"
    return Figure.of_samples(
        panel.name, title, panel.over, UNITS[panel.shows], lines, AXES.get(panel.over, panel.over)
    )


def shown(point: JoinPoint, shows: str, asked: int = DEFAULT_RANGE) -> float:
    """What a figure shows of a point; of errors those of queries of one size."""
    if shows == ERROR:
        return point.errors[asked]
    return {NCP: point.ncp, DM: point.dm, TIME: point.seconds}[shows]


def _gains(panels: Mapping[str, Panel], scales: Scales) -> Sheet:
    """Beside the printed numbers; of UNI those of NCP at the default."""
    of = {(data, base, shows): number for number, (data, base, shows) in FIGURES.items()}
    rows = []
    for (shows, line, k), printed in GAINS.items():
        ours = []
        for name in scales:
            panel = panels.get(f"{of.get((name, line[:-3], shows))}b")
            ours.append("" if panel is None else _gain(panel, line, k))
        rows.append((f"{line}, {shows}", f"{k}", f"{printed}", *ours))
    about = (
        "How many times less than the conventional way, d=4, at the largest ratio that was run ("
        + "; ".join(f"{name}: {scale.words()}" for name, scale in scales.items())
        + "; the paper: 10,000 people, ratio 100). Refinement by its letter, all trimmed."
    )
    return Sheet("Gains", ("", "k", "printed", *scales), tuple(rows), about)


def _gain(panel: Panel, line: str, k: int) -> str:
    gains = panel.gains(panel.lines[line]).get(f"k={k}")
    return "" if gains is None else _interval(gains)


def _interval(samples: Samples) -> str:
    return MeanOfSamples.of("", samples).words.removeprefix(": ")


def _errors(panels: Mapping[str, Panel]) -> Sheet:
    rows = []
    for (base, k), theirs in ERRORS.items():
        panel = panels["14b" if base == MONDRIAN else "15b"]
        for name, printed in zip((base, base + REF), theirs, strict=True):
            if f"k={k}" in panel.lines[name]:
                rows.append((name, f"{k}", f"{printed}", _interval(panel.lines[name][f"k={k}"])))
    about = "Average relative error (1 is 100 %) of 100 queries that each cover 10 % of the domain."
    return Sheet("Relative errors", ("", "k", "printed", "renters"), tuple(rows), about)


def _ways(lines: Mapping[str, Sequence[JoinPoint]], scale: JoinScale) -> Sheet:
    """Everything at the default point, also what is in no figure."""
    rows = []
    for name, points in lines.items():
        base = next(lines[base] for base in ways.BASES if name.startswith(base))
        shows = (NCP, DM, ERROR) if points[0].errors else (NCP, DM)
        gains = [_factor(base, points, what) for what in shows]
        again = fmean(point.again / point.rows for point in points)
        rows.append(
            (
                name,
                *(_mean(points, what) for what in (NCP, DM, TIME)),
                *gains,
                *[""] * (3 - len(gains)),
                f"{again:.1%}",
            )
        )
    header = (
        "",
        NCP,
        DM,
        "s",
        f"{NCP} gain",
        f"{DM} gain",
        f"{ERROR} gain",
        "rows of people who have another",
    )
    about = f"Renters, {scale.words()}, k={scale.k}, d={scale.d}; {ways.RELAXED} cuts halve exactly."
    return Sheet("Every way at the default point", header, tuple(rows), about)


def _printed(by_ratio: Mapping[int, Mapping[str, Sequence[JoinPoint]]], scale: JoinScale) -> Sheet:
    rows = [
        (
            f"{name}, ratio {at}",
            *(_mean(points, what) for what in (NCP, DM, TIME)),
            *(_factor(lines[PRINTED], points, what) for what in (NCP, DM)),
        )
        for at, lines in by_ratio.items()
        for name, points in lines.items()
    ]
    where = f"Renters, {scale.printed[0]:,} people, k={scale.k}, d={scale.d}"
    about = f"{where}: each record goes where one perimeter grows least."
    return Sheet(
        "TopDown with its printed rule", ("", NCP, DM, "s", f"{NCP} gain", f"{DM} gain"), tuple(rows), about
    )


def _mean(points: Sequence[JoinPoint], shows: str) -> str:
    return f"{fmean(shown(point, shows) for point in points):.3g}"


def _factor(base: Sequence[JoinPoint], points: Sequence[JoinPoint], shows: str) -> str:
    """The gain with its interval."""
    return _interval([shown(a, shows) / shown(b, shows) for a, b in zip(base, points, strict=True)])
