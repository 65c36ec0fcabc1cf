"""Figures 10 to 19 of Sacharidis, Mouratidis, Papadias on external databases.

"k-Anonymity in the Presence of External Databases", TKDE 2010.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from incrowd.long_work import Watch
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.kja import trials as ways
from incrowd.reproduce.kja.findings import DM, ERROR, NCP, RANGE, RATIO, TIME, JoinFigure, statements
from incrowd.reproduce.kja.trials import DIR, MONDRIAN, REF, TOPDOWN, JoinPoint, JoinSetting, JoinTrials
from incrowd.reproduce.outcome import Outcome, Sheet
from incrowd.reproduce.stored import SEED

TITLE = "k-Anonymity in the Presence of External Databases: Figures 10 to 19"
RENTERS = ways.RENTERS_TABLE.name
PEOPLE = 10_000
SAMPLES = 5  # of renters; UNI is drawn once
RATIOS = (1, 5, 10, 50, 100)
REAL_RATIOS = (1, 5, 10, 20)  # and then as many as there are
KS = (5, 10, 50, 100, 500)
DS = (2, 3, 4, 5, 6)
RANGES = (2, 5, 10, 20, 50)
DEFAULT_RANGE = 10
FIGURES = {
    10: (RENTERS, MONDRIAN, NCP),
    11: (RENTERS, MONDRIAN, DM),
    12: (RENTERS, TOPDOWN, NCP),
    13: (RENTERS, TOPDOWN, DM),
    14: (RENTERS, MONDRIAN, ERROR),
    15: (RENTERS, TOPDOWN, ERROR),
    16: (ways.UNI, MONDRIAN, NCP),
    17: (ways.UNI, TOPDOWN, NCP),
    18: (RENTERS, MONDRIAN, TIME),
    19: (RENTERS, TOPDOWN, TIME),
}
PRINTED = {  # how many times less than the conventional way, by what is measured, line and k
    (NCP, MONDRIAN + DIR, 50): 3.04,
    (DM, MONDRIAN + DIR, 50): 14.35,
    (NCP, MONDRIAN + REF, 50): 2.15,
    (DM, MONDRIAN + REF, 50): 4.96,
    (NCP, TOPDOWN + DIR, 50): 2.1,
    (DM, TOPDOWN + DIR, 50): 2.22,
    (NCP, TOPDOWN + REF, 50): 3.51,
    (DM, TOPDOWN + REF, 50): 3.4,
    (ERROR, MONDRIAN + REF, 5): 1.88,
    (ERROR, MONDRIAN + REF, 50): 2.74,  # the text says "almost 2.71", of 21.1 and 7.7
    (ERROR, MONDRIAN + REF, 500): 3.24,
    (ERROR, TOPDOWN + REF, 5): 2.28,
    (ERROR, TOPDOWN + REF, 50): 1.74,
    (ERROR, TOPDOWN + REF, 500): 1.66,
}
PRINTED_ERRORS = {  # ARE of the conventional way and of Refinement, by base and k
    (MONDRIAN, 5): (5.1, 2.7),
    (MONDRIAN, 50): (21.1, 7.7),
    (MONDRIAN, 500): (37.6, 11.6),
    (TOPDOWN, 5): (0.41, 0.18),
    (TOPDOWN, 50): (6.1, 3.5),
    (TOPDOWN, 500): (51.2, 30.8),
}
UNITS = {
    NCP: "NCP: perimeter of a person's box",
    DM: "DM: private people in a person's group",
    ERROR: "average relative error",
    TIME: "processor seconds",
}
AXES = {RATIO: "|PD| / |MT|", RANGE: "|R|, % of the domain"}


@dataclass(frozen=True, slots=True)
class JoinScale:
    """How much of a table is run: people of the private table, seeds of samples, values of each parameter."""

    people: int
    seeds: tuple[int, ...]
    values: Mapping[str, tuple[int, ...]]
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


Scales = Mapping[str, JoinScale]


def scale_of(population: ways.Population, quick: bool) -> JoinScale:
    """What is run of a table; with `quick` one sample and few points, and a smaller UNI."""
    most = population.most(PEOPLE)
    if quick:
        few = (1, 10) if not most else tuple(sorted({1, min(10, most), most}))
        return JoinScale(PEOPLE, (SEED,), {RATIO: few, "k": (5, 50, 500), "d": (2, 4), RANGE: (2, 10, 50)})
    seeds = tuple(range(SEED, SEED + (SAMPLES if most else 1)))
    ratios = RATIOS if not most else (*(ratio for ratio in REAL_RATIOS if ratio < most), most)
    return JoinScale(PEOPLE, seeds, {RATIO: ratios, "k": KS, "d": DS, RANGE: RANGES})


def reproduce(quick: bool, folder: Path | None, watch: Watch, kept: Keeper = NOTHING_KEPT) -> Outcome:
    """Run all figures; without the real table, those of UNI."""
    why = ways.RENTERS_TABLE.missing_from(folder)
    skipped = [why] if why else []
    populations = [ways.uniform()] if folder is None or why else [ways.renters(folder), ways.uniform()]
    scales = {each.name: scale_of(each, quick) for each in populations}
    ways.compile_all()
    found: dict[tuple[str, JoinSetting], Mapping[str, JoinPoint]] = {}
    for each in populations:
        found |= _run(each, scales[each.name], quick, watch, kept)
    if quick:
        skipped.append("four of five samples, most points and a large UNI: left out by --quick")
    if RENTERS in scales and (most := scales[RENTERS].default.ratio) < RATIOS[-1]:
        skipped.append(f"renters at larger ratios than {most}: there are no more people")
    return outcome(found, scales, skipped)


def _run(
    population: ways.Population, scale: JoinScale, quick: bool, watch: Watch, kept: Keeper
) -> JoinTrials:
    """Every point; at the default of renters also what is in no figure."""
    real = population.name == RENTERS
    samples = [ways.JoinSample(scale.people, 1, seed) for seed in scale.seeds]
    extras = ways.ways(MONDRIAN, scale.k, trimmed=True) | ways.ways(TOPDOWN, scale.k, trimmed=True)
    if not quick:
        extras |= ways.variants(scale.k)
    progress = watch(f"{population.name}, {scale.people:,} people, {len(samples)} samples")
    at_default = {scale.default: extras} if real else {}
    return ways.trials(population, scale.settings(counting=real), samples, at_default, progress, kept)


def outcome(found: JoinTrials, scales: Scales, skipped: Sequence[str]) -> Outcome:
    """Tables, statements and charts of what was run."""
    figures = tuple(figures_of(found, scales))
    gains = _gain_facts(found, scales)
    sheets = [_gains(gains, scales)]
    if RENTERS in scales:
        sheets += [_errors(found, scales[RENTERS]), _ways(found, scales[RENTERS])]
    sheets += [figure.sheet(about=figure.unit + ".") for figure in figures]
    facts: dict[str, Any] = {
        "people": {name: scale.people for name, scale in scales.items()},
        "seeds": {name: list(scale.seeds) for name, scale in scales.items()},
        "ratio": {name: scale.default.ratio for name, scale in scales.items()},
        "gains": gains,
        "figures": [figure.to_dict("data", "base", "shows") for figure in figures],
    }
    charts = {f"figure{figure.name}.svg": figure.chart() for figure in figures}
    return Outcome("kja", TITLE, tuple(sheets), statements(figures), facts, charts, skipped=tuple(skipped))


def figures_of(found: JoinTrials, scales: Scales) -> Iterator[JoinFigure]:
    """Every figure of tables that were run."""
    for number, (data, base, shows) in FIGURES.items():
        if data not in scales:
            continue
        names = (base, base + REF) if shows == ERROR else (base, base + DIR, base + REF)
        for part, over in zip("abc", (RATIO, "k", RANGE if shows == ERROR else "d"), strict=True):
            values = scales[data].values[over]
            points = [found[data, scales[data].setting(over, value)] for value in values]
            asked = values if over == RANGE else [DEFAULT_RANGE] * len(values)
            lines = {
                name: tuple(shown(point[name], shows, at) for point, at in zip(points, asked, strict=True))
                for name in names
            }
            yield join_figure(f"{number}{part}", over, values, lines)


def join_figure(
    name: str, over: str, values: tuple[int, ...], lines: Mapping[str, tuple[float, ...]]
) -> JoinFigure:
    """A part of a figure by its name."""
    data, base, shows = FIGURES[int(name[:-1])]
    title = f"Figure {name}: {base}, {data}, {shows}"
    return JoinFigure(
        name, title, over, values, UNITS[shows], lines, AXES.get(over, ""), {}, data, base, shows
    )


def shown(point: JoinPoint, shows: str, asked: int = DEFAULT_RANGE) -> float:
    """What a figure shows of a point; of errors those of queries of one size."""
    if shows == ERROR:
        return point.errors[asked]
    return {NCP: point.ncp, DM: point.dm, TIME: point.seconds}[shows]


def gain(lines: Mapping[str, JoinPoint], shows: str, line: str) -> float | None:
    """How many times less than the conventional way; None where it was not run or not asked."""
    base = next(name for name in ways.BASES if line.startswith(name))
    if line not in lines or (shows == ERROR and not lines[line].errors):
        return None
    return shown(lines[base], shows) / shown(lines[line], shows)


def _gain_facts(found: JoinTrials, scales: Scales) -> list[dict[str, Any]]:
    facts = []
    for (shows, line, k), printed in PRINTED.items():
        points = {name: found[name, scale.setting("k", k)] for name, scale in scales.items()}
        ours = {name: gain(each, shows, line) for name, each in points.items()}
        trimmed = gain(points.get(RENTERS, {}), shows, line + ways.TRIMMED)
        facts.append({"shows": shows, "line": line, "k": k, "printed": printed, **ours, "trimmed": trimmed})
    return facts


def _gains(gains: Sequence[Mapping[str, Any]], scales: Scales) -> Sheet:
    rows = []
    for each in gains:
        ours = [_factor(each[name]) for name in (*scales, "trimmed")]
        rows.append((f"{each['line']}, {each['shows']}", f"{each['k']}", f"{each['printed']}", *ours))
    about = (
        "How many times less than the conventional way, at the largest ratio there is ("
        + ", ".join(f"{name} {scale.default.ratio}" for name, scale in scales.items())
        + "; the paper 100), d=4. Trimmed leaves people out as the paper does; our default does not."
    )
    return Sheet("Gains", ("", "k", "printed", *scales, "renters trimmed"), tuple(rows), about)


def _factor(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _errors(found: JoinTrials, scale: JoinScale) -> Sheet:
    rows = []
    for (base, k), theirs in PRINTED_ERRORS.items():
        lines = found[RENTERS, scale.setting("k", k)]
        for name, printed in zip((base, base + REF), theirs, strict=True):
            rows.append((name, f"{k}", f"{printed}", f"{shown(lines[name], ERROR):.3g}"))
    about = "Average relative error (1 is 100 %) of 100 queries that each cover 10 % of the domain."
    return Sheet("Relative errors", ("", "k", "printed", "renters"), tuple(rows), about)


def _ways(found: JoinTrials, scale: JoinScale) -> Sheet:
    """Everything at the default point, also what is in no figure."""
    lines = found[RENTERS, scale.default]
    rows = []
    for name, point in lines.items():
        gains = [gain(lines, shows, name) for shows in (NCP, DM, ERROR)]
        error = f"{shown(point, ERROR):.3g}" if point.errors else ""
        numbers = (f"{point.ncp:.3f}", f"{point.dm:.2f}", error, f"{point.seconds:.2f}")
        rows.append((name, *numbers, *map(_factor, gains)))
    header = ("", NCP, DM, ERROR, "s", f"{NCP} gain", f"{DM} gain", f"{ERROR} gain")
    where = f"Renters, ratio {scale.default.ratio}, k={scale.k}, d={scale.d}"
    about = f"{where}; {ways.RELAXED} cuts halve exactly."
    return Sheet("Every way at the default point", header, tuple(rows), about)
