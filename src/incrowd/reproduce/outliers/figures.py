"""Figures 8 to 13 of Wang, Liu, "Hiding Distinguished Ones into Crowd", EDBT 2009."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path

from incrowd.algorithms.outliers.expc import COMPONENTS
from incrowd.long_work import Watch
from incrowd.reproduce.judging import Tables, judged
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.outcome import Figure, Outcome, Sheet
from incrowd.reproduce.outliers import trials as approaches
from incrowd.reproduce.outliers.claims import BOUNDS, CENSUS, CLAIMS, loss, part, size, took
from incrowd.reproduce.outliers.scale import (
    FEW,
    FIVE,
    FULL,
    PRINTED_D,
    PRINTED_P,
    QUICK,
    THREE,
    MeasuredPoints,
    Of,
    OutlierScale,
)
from incrowd.reproduce.outliers.trials import GroupingPoint, OutlierSetting
from incrowd.reproduce.samples import MeanOfSamples
from incrowd.reproduce.stored import SEED

TITLE = "Hiding Distinguished Ones into Crowd: Figures 8 to 13"
SECONDS, RECORDS, LOSS = "processor seconds", "records in a group", "IL, sum over five quasi-identifiers"
UNITS = {"seconds": SECONDS, "counted": "points that records were counted around", "asked": "checks asked"}
PEOPLE = "people in the table"


def reproduce(quick: bool, folder: Path | None, watch: Watch, kept: Keeper = NOTHING_KEPT) -> Outcome:
    """Run all figures; without the census or one of its hierarchies there are the examples alone."""
    missing = [why for stored in approaches.NEEDED if (why := stored.missing_from(folder))]
    if folder is None or missing:
        tables = Tables(missing={CENSUS: missing[0]})
        nothing = MeasuredPoints(QUICK if quick else FULL, {})
        stated = judged("outliers", CLAIMS, nothing, tables, quick)
        sheet = Sheet("All approaches", ("", *_SHOWN), (), missing[0])
        return Outcome("outliers", TITLE, (sheet,), stated, {}, skipped=(missing[0],))
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
    approaches.compile_all(people, scale.ask(min(scale.printed_n, 200)))
    found = approaches.trials(people, scale.asked(), watch("group people in every way"), kept)
    return outcome(MeasuredPoints(scale, found), standing, skipped)


def outcome(
    found: MeasuredPoints, standing: Mapping[OutlierSetting, float], skipped: Sequence[str]
) -> Outcome:
    """Tables, statements and charts of what was run."""
    scale, figures = found.scale, tuple(figures_of(found))
    facts = {
        "seed": SEED,
        "bounds": BOUNDS,
        "standing": [{**asdict(setting), "share": share} for setting, share in standing.items()],
        "points": [
            {"approach": name, **asdict(setting), **asdict(point)}
            for (name, setting), point in found.points.items()
        ],
        "figures": [figure.to_dict("unit") for figure in figures],
    }
    sheets = (
        _places(found),
        _standing(standing),
        _others(found),
        *(figure.sheet(about=figure.unit + ".") for figure in figures),
    )
    charts = {f"figure{figure.name}.svg": figure.chart() for figure in figures}
    used = f"workers of CENSUS (ACS 2024), {scale.samples} samples of {min(scale.sizes):,} to {scale.n:,}"
    statements = judged("outliers", CLAIMS, found, Tables({CENSUS: used}), quick=bool(skipped))
    return Outcome("outliers", TITLE, sheets, statements, facts, charts, skipped=tuple(skipped))


def figures_of(found: MeasuredPoints) -> Iterator[Figure]:
    """Every figure; those of time once more by both counts."""
    scale = found.scale

    def over_n(name: str, says: str, unit: str, lines: Mapping[str, tuple[str, Of]]) -> Figure:
        """Each line is what is shown of an approach."""
        made = {
            line: {n: found.samples(approach, scale.ask(n), of) for n in scale.sizes}
            for line, (approach, of) in lines.items()
        }
        return Figure.of_samples(name, f"Figure {name}: {says}", "n", unit, made, PEOPLE)

    def over_k(name: str, says: str, unit: str, letter: str, of: Of) -> Figure:
        lines = {
            line: {at.k: found.samples(approaches.EXPC, at, of) for at in settings}
            for line, settings in scale.lines(letter).items()
        }
        fixed = f"d={scale.d}" if letter == "p" else f"p={scale.p}"
        title = f"Figure {name}: {says}, {fixed}, n={scale.n:,}"
        return Figure.of_samples(name, title, "k", unit, lines, "k")

    def each(names: Sequence[str], of: Of) -> dict[str, tuple[str, Of]]:
        return {name: (name, of) for name in names}

    for measure, unit in UNITS.items():
        again = "" if measure == "seconds" else f"-{measure}"
        yield over_n(f"8{again}", "all approaches", unit, each(FIVE[:3] + FIVE[4:], took(measure)))
        for letter, name in zip("abc", THREE, strict=True):
            lines = {component: (name, part(measure, component)) for component in COMPONENTS}
            yield over_n(f"9{letter}{again}", f"components of {name}", unit, lines)
        yield over_n(f"10{again}", "expansion", unit, each(THREE, part(measure, approaches.EXPANSION)))
        yield over_k(f"12a{again}", "ExpC", unit, "d", took(measure))
        yield over_k(f"12b{again}", "ExpC", unit, "p", took(measure))
    yield over_n("11", "mean group", RECORDS, each(THREE, size))
    yield over_n("13a", "loss", LOSS, each(FIVE[:4], loss))
    yield over_k("13b", "loss of ExpC", LOSS, "p", loss)
    yield over_k("13c", "loss of ExpC", LOSS, "d", loss)


_SHOWN: Mapping[str, tuple[Of, str]] = {
    "seconds": (took("seconds"), ".3g"),
    "counted": (took("counted"), ",.0f"),
    "asked": (took("asked"), ",.0f"),
    "groups": (attrgetter("groups"), ",.0f"),
    "mean": (size, ".2f"),
    "residue": (attrgetter("residue"), ",.0f"),
    "no row": (attrgetter("suppressed"), ",.0f"),
    "removed": (attrgetter("removed"), ",.0f"),
    "IL": (loss, ".3f"),
    "IL, zero-based": (attrgetter("zero"), ".3f"),
}


def _row(points: Sequence[GroupingPoint]) -> tuple[str, ...]:
    """Means with half the width of their intervals; of Incognito only the time is known."""
    shown = {"seconds"} if not points[0].groups else {*_SHOWN}
    return tuple(
        _mean([of(point) for point in points], form) if name in shown else ""
        for name, (of, form) in _SHOWN.items()
    )


def _mean(values: Sequence[float], form: str) -> str:
    found = MeanOfSamples.of("", [float(value) for value in values])
    half = f" ± {format(found.high - found.mean, form)}" if len(values) > 1 else ""
    return format(found.mean, form) + half


def _places(found: MeasuredPoints) -> Sheet:
    rows = [
        (place, name, *_row([found.points[name, at] for at in found.scale.each(setting)]))
        for place, setting in found.scale.places().items()
        for name in FIVE
    ]
    scale = found.scale
    about = (
        f"Means over {scale.samples} samples ± half an interval of 95 %. Five quasi-identifiers, "
        f"p={scale.p}, k={scale.k}, d={scale.d} where no other is named. Up to {scale.unlimited:,} people "
        f"nothing limits the search. Those whom no group could hide have no row; they cost {FEW} each, as do "
        "those who are removed."
    )
    return Sheet("All approaches", ("", "", *_SHOWN), tuple(rows), about)


def _standing(standing: Mapping[OutlierSetting, float]) -> Sheet:
    rows = [
        (at.coding, f"{at.columns}", f"{at.n:,}", at.p, at.d, f"{share:.2%}")
        for at, share in standing.items()
    ]
    about = f"The paper has p={PRINTED_P} and d={PRINTED_D} over nine columns. One sample."
    header = ("salary", "quasi-identifiers", "n", "p", "d", "outliers")
    return Sheet("Who is an outlier", header, tuple(rows), about)


def _others(found: MeasuredPoints) -> Sheet:
    rows = [
        (name, f"{at.columns}", f"{at.n:,}", at.d, *_row([found.points[name, at]]))
        for name, at in found.scale.others()
    ]
    about = "One sample: p and d as printed; ExpC as it is published; all quasi-identifiers."
    return Sheet("Beside the figures", ("", "quasi-identifiers", "n", "d", *_SHOWN), tuple(rows), about)
