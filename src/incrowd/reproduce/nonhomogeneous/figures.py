"""Figures 9 to 15 of Wong, Mamoulis, Cheung, "Non-homogeneous Generalization", SIGMOD 2010."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from incrowd.contracts import Watch
from incrowd.errors import InputError
from incrowd.reproduce.figure import Figure
from incrowd.reproduce.nonhomogeneous import trials
from incrowd.reproduce.nonhomogeneous.data import SampledTable, load_adult, load_census
from incrowd.reproduce.nonhomogeneous.findings import statements
from incrowd.reproduce.nonhomogeneous.trials import NAMES, NH, PRINTED, Plan, SampleFigure, SampleSetting
from incrowd.reproduce.outcome import Outcome, Sheet
from incrowd.reproduce.stored import ADULT_TABLE, CENSUS_TABLE, SEED

TITLE = "Non-homogeneous Generalization: Figures 9 to 15"
LOOKS = [name for name in NAMES if name != PRINTED]  # which shares that of NH
GCP, SECONDS = "GCP, share of the domain per cell", "processor seconds"
ROWS = 100_000
ADULT_ROWS = 32_561
QUICK_ROWS = 20_000
SIZES = (100_000, 200_000, 300_000, 400_000, 500_000)
DIMENSIONS = (2, 3, 4, 5, 6, 7)
KS = (2, 4, 6, 8, 10, 20, 40, 60, 80, 100)
LS = (2, 3, 4, 5, 6, 7, 8, 9)


def plans(quick: bool) -> tuple[Plan, ...]:
    """Every figure; with `quick`, fewer people and fewer points."""
    n = QUICK_ROWS if quick else ROWS
    sizes = (n // 4, n // 2, n) if quick else SIZES
    ds, ks, ls = ((2, 3, 5, 7), (2, 10, 40, 100), (2, 5, 9)) if quick else (DIMENSIONS, KS, LS)
    census, adult = CENSUS_TABLE.name, ADULT_TABLE.name
    return (
        Plan(9, census, "n", sizes, SampleSetting(0, 3, 10)),
        Plan(10, census, "d", ds, SampleSetting(n, 0, 10)),
        Plan(11, adult, "d", ds, SampleSetting(ADULT_ROWS, 0, 10)),
        Plan(12, census, "k", ks, SampleSetting(n, 3, 0)),
        Plan(13, adult, "k", ks, SampleSetting(ADULT_ROWS, 4, 0)),
        Plan(14, census, "d", ds, SampleSetting(n, 0, 5), diverse=True),
        Plan(15, census, "k", ls, SampleSetting(n, 3, 0), diverse=True),
    )


def reproduce(quick: bool, folder: Path | None, watch: Watch) -> Outcome:
    """Run all figures whose table is there; the paper has no artificial one, so with none it is an error."""
    why = {stored.name: stored.missing_from(folder) for stored in (CENSUS_TABLE, ADULT_TABLE)}
    skipped = [reason for reason in why.values() if reason]
    if folder is None or len(skipped) == len(why):
        raise InputError(f"nonhomogeneous needs a real table; {'; '.join(skipped)}")
    people = _people(folder, why)
    asked = [plan for plan in plans(quick) if (plan.table, plan.diverse) in people]
    found = [trials.figure(plan, people[plan.table, plan.diverse], watch(plan.title)) for plan in asked]
    if quick:
        skipped.append(f"more than {QUICK_ROWS:,} people of CENSUS, and most points: left out by --quick")
    return outcome(found, skipped)


def _people(folder: Path, why: Mapping[str, str]) -> dict[tuple[str, bool], SampledTable]:
    """Tables by name, and whether they have a sensitive value."""
    found = {}
    if not why[CENSUS_TABLE.name]:
        found[CENSUS_TABLE.name, False], found[CENSUS_TABLE.name, True] = load_census(folder)
    if not why[ADULT_TABLE.name]:
        found[ADULT_TABLE.name, False] = load_adult(folder)
    return found


def outcome(figures: Sequence[SampleFigure], skipped: Sequence[str]) -> Outcome:
    """Tables, statements and charts of what was run."""
    loss = "GCP: the mean share of its domain that a cell covers, in hundredths."
    time = "Processor seconds from codes to cells and, for NH, the draw. HR takes as long as HS."
    parts = "How many records share a group, or are in one ring, on average."
    sheets = (
        _sheet("Loss", loss, figures, lambda point: f"{100 * point.loss:.3g}"),
        _sheet("Time", time, figures, lambda point: "" if point.seconds is None else f"{point.seconds:.3f}"),
        _sheet("Parts", parts, figures, lambda point: f"{point.part:.1f}"),
    )
    facts = {"seed": SEED, "figures": [each.as_dict() for each in figures]}
    charts = {
        f"figure{drawn.name}.svg": drawn.chart(LOOKS, PRINTED.removeprefix(NH))
        for each in figures
        for drawn in (_drawn(each, "a", "loss", GCP), _drawn(each, "b", "seconds", SECONDS))
    }
    held = statements(figures)
    return Outcome("nonhomogeneous", TITLE, sheets, held, facts, charts, skipped=tuple(skipped))


def _sheet(
    title: str, about: str, figures: Sequence[SampleFigure], text: Callable[[trials.SamplePoint], str]
) -> Sheet:
    """One row for each point of each figure."""
    names = [name for name in NAMES if any(name in each.lines for each in figures)]
    rows = []
    for each in figures:
        for value in each.plan.values:
            texts = [text(each.at(name, value)) if name in each.lines else "" for name in names]
            rows.append((f"{each.plan.number} {each.plan.table}", f"{each.plan.letter}={value:,}", *texts))
    return Sheet(title, ("figure", "at", *names), tuple(rows), about)


def _drawn(each: SampleFigure, part: str, field: str, unit: str) -> Figure:
    lines = {name: line for name in NAMES if name in each.lines and (line := each.line(name, field))}
    plan = each.plan
    return Figure(f"{plan.number}{part}", plan.title, plan.letter, plan.values, unit, lines)
