"""Figures 10 to 19 of Sacharidis, Mouratidis, Papadias on external databases.

"k-Anonymity in the Presence of External Databases", TKDE 2010.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from incrowd.contracts import Watch
from incrowd.reports.chart import Chart, Line
from incrowd.reproduce.kja.data import RENTERS_TABLE, SEED, Renters, Sample, Source, Uniform
from incrowd.reproduce.kja.findings import judge
from incrowd.reproduce.kja.panels import (
    DM,
    ERROR,
    NCP,
    RANGE,
    RATIO,
    RENTERS,
    TIME,
    Panel,
    Scale,
    panels,
    shown,
)
from incrowd.reproduce.kja.trials import (
    BASES,
    DIR,
    MONDRIAN,
    REF,
    RELAXED,
    TOPDOWN,
    TRIMMED,
    Hide,
    Point,
    Setting,
    Trials,
    compiled,
    trials,
    variants,
    ways,
)
from incrowd.reproduce.outcome import Outcome, Sheet

TITLE = "k-Anonymity in the Presence of External Databases: Figures 10 to 19"
PEOPLE = 10_000
SAMPLES = 5  # of renters; UNI is drawn once
RATIOS = (1, 5, 10, 50, 100)
REAL_RATIOS = (1, 5, 10, 20)  # and then as many as there are
KS = (5, 10, 50, 100, 500)
DS = (2, 3, 4, 5, 6)
RANGES = (2, 5, 10, 20, 50)
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


def scale_of(source: Source, quick: bool) -> Scale:
    """What is run of a table; with `quick` one sample and few points, and a smaller UNI."""
    most = source.most(PEOPLE)
    ratios = RATIOS if not most else (*(ratio for ratio in REAL_RATIOS if ratio < most), most)
    if quick:
        few = (1, 10) if not most else tuple(sorted({1, min(10, most), most}))
        return Scale(PEOPLE, (SEED,), few, (5, 50, 500), (2, 4), (2, 10, 50))
    seeds = tuple(range(SEED, SEED + (SAMPLES if most else 1)))
    return Scale(PEOPLE, seeds, ratios, KS, DS, RANGES)


def reproduce(quick: bool, folder: Path | None, watch: Watch) -> Outcome:
    """Run all figures; without the real table, those of UNI."""
    why = RENTERS_TABLE.missing_from(folder)
    skipped = [why] if why else []
    sources: list[Source] = [Uniform()]
    if folder is not None and not why:
        sources.insert(0, Renters.load(folder))
    scales = {source.name: scale_of(source, quick) for source in sources}
    compiled(BASES)
    found: dict[tuple[str, Setting], Mapping[str, Point]] = {}
    for source in sources:
        found |= _run(source, scales[source.name], quick, watch)
    if quick:
        skipped.append("four of five samples, most points and a large UNI: left out by --quick")
    if RENTERS in scales and scales[RENTERS].default.ratio < RATIOS[-1]:
        skipped.append(
            f"renters at larger ratios than {scales[RENTERS].default.ratio}: there are no more people"
        )
    return outcome(found, scales, skipped)


def _run(source: Source, scale: Scale, quick: bool, watch: Watch) -> Trials:
    real = source.name == RENTERS
    samples = [Sample(scale.people, 1, seed) for seed in scale.seeds]
    told = watch(f"{source.name}, {scale.people:,} people, {len(samples)} samples")
    extras = {scale.default: _extras(scale.k, quick)} if real else {}
    return trials(source, scale.settings(counting=real), samples, extras, told)


def _extras(k: int, quick: bool) -> dict[str, Hide]:
    """What is tried at the default point only."""
    trimmed = ways(MONDRIAN, k, trimmed=True) | ways(TOPDOWN, k, trimmed=True)
    return trimmed if quick else trimmed | variants(k)


def outcome(found: Trials, scales: Mapping[str, Scale], skipped: Sequence[str]) -> Outcome:
    """Tables, statements and pictures of what was run."""
    pictures = panels(found, scales)
    sheets = [_gains(found, scales)]
    if RENTERS in scales:
        sheets += [_errors(found, scales[RENTERS]), _ways(found, scales[RENTERS])]
    sheets += [_sheet(panel) for panel in pictures]
    facts: dict[str, Any] = {
        "people": {name: scale.people for name, scale in scales.items()},
        "seeds": {name: list(scale.seeds) for name, scale in scales.items()},
        "ratio": {name: scale.default.ratio for name, scale in scales.items()},
        "gains": _gain_facts(found, scales),
        "figures": [panel.as_dict() for panel in pictures],
    }
    charts = {f"figure{panel.name}.svg": _chart(panel) for panel in pictures}
    return Outcome("kja", TITLE, tuple(sheets), judge(pictures), facts, charts, skipped=tuple(skipped))


def gain(lines: Mapping[str, Point], shows: str, line: str) -> float | None:
    """How many times less than the conventional way; None where it was not run or not asked."""
    base = next(name for name in BASES if line.startswith(name))
    if line not in lines or (shows == ERROR and not lines[line].errors):
        return None
    return shown(lines[base], shows) / shown(lines[line], shows)


def _gain_facts(found: Trials, scales: Mapping[str, Scale]) -> list[dict[str, Any]]:
    facts = []
    for (shows, line, k), printed in PRINTED.items():
        ours = {name: gain(_at(found, name, scale, k), shows, line) for name, scale in scales.items()}
        real = _at(found, RENTERS, scales[RENTERS], k) if RENTERS in scales else {}
        trimmed = gain(real, shows, line + TRIMMED)
        facts.append({"shows": shows, "line": line, "k": k, "printed": printed, **ours, "trimmed": trimmed})
    return facts


def _at(found: Trials, source: str, scale: Scale, k: int) -> Mapping[str, Point]:
    return found[source, scale.setting("k", k)]


def _gains(found: Trials, scales: Mapping[str, Scale]) -> Sheet:
    rows = [
        (
            f"{each['line']}, {each['shows']}",
            f"{each['k']}",
            f"{each['printed']}",
            *(_factor(each[name]) for name in scales),
            _factor(each["trimmed"]),
        )
        for each in _gain_facts(found, scales)
    ]
    about = (
        "How many times less than the conventional way, at the largest ratio there is ("
        + ", ".join(f"{name} {scale.default.ratio}" for name, scale in scales.items())
        + "; the paper 100), d=4. Trimmed leaves people out as the paper does; our default does not."
    )
    header = ("", "k", "printed", *scales, "renters trimmed")
    return Sheet("Gains", header, tuple(rows), about)


def _factor(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _errors(found: Trials, scale: Scale) -> Sheet:
    rows = []
    for (base, k), theirs in PRINTED_ERRORS.items():
        lines = _at(found, RENTERS, scale, k)
        for name, printed in zip((base, base + REF), theirs, strict=True):
            rows.append((name, f"{k}", f"{printed}", f"{shown(lines[name], ERROR):.3g}"))
    about = "Average relative error (1 is 100 %) of 100 queries that each cover 10 % of the domain."
    return Sheet("Relative errors", ("", "k", "printed", "renters"), tuple(rows), about)


def _ways(found: Trials, scale: Scale) -> Sheet:
    """Everything at the default point, also what is in no figure."""
    lines = found[RENTERS, scale.default]
    rows = []
    for name, point in lines.items():
        gains = [gain(lines, shows, name) for shows in (NCP, DM, ERROR)]
        error = f"{shown(point, ERROR):.3g}" if point.errors else ""
        said = (f"{point.ncp:.3f}", f"{point.dm:.2f}", error, f"{point.seconds:.2f}")
        rows.append((name, *said, *map(_factor, gains)))
    header = ("", NCP, DM, ERROR, "s", f"{NCP} gain", f"{DM} gain", f"{ERROR} gain")
    about = f"Renters, ratio {scale.default.ratio}, k={scale.k}, d={scale.d}; {RELAXED} cuts halve exactly."
    return Sheet("Every way at the default point", header, tuple(rows), about)


def _sheet(panel: Panel) -> Sheet:
    rows = [(name, *(f"{value:.3g}" for value in line)) for name, line in panel.lines.items()]
    header = (panel.over, *(f"{value:,}" for value in panel.values))
    return Sheet(panel.title, header, tuple(rows), UNITS[panel.shows] + ".")


def _chart(panel: Panel) -> Chart:
    lines = [
        Line(name, tuple(zip(map(float, panel.values), line, strict=True)), look)
        for look, (name, line) in enumerate(panel.lines.items())
    ]
    return Chart(panel.title, AXES.get(panel.over, panel.over), UNITS[panel.shows], tuple(lines))
