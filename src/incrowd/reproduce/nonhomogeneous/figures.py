"""Figures 9 to 15 of Wong, Mamoulis, Cheung, "Non-homogeneous Generalization", SIGMOD 2010."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from incrowd.long_work import Watch
from incrowd.reproduce.judging import Tables, judged
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.nonhomogeneous import trials
from incrowd.reproduce.nonhomogeneous.claims import CLAIMS
from incrowd.reproduce.nonhomogeneous.trials import NAMES, NH, PRINTED, Plan, SampledFigure, SampleSetting
from incrowd.reproduce.outcome import Figure, Outcome, Sheet
from incrowd.reproduce.stored import ADULT_TABLE, CENSUS_TABLE, SEED

TITLE = "Non-homogeneous Generalization: Figures 9 to 15"
SAMPLES = 5
AXES = {
    "n": "n: people in the table",
    "d": "d: quasi-identifiers",
    "k": "k: level of anonymity",
    "l": "l: level of diversity",
}
LOOKS = [name for name in NAMES if name != PRINTED]  # which shares that of NH
GCP, SECONDS = "GCP, share of the domain per cell", "processor seconds"
ROWS = 100_000
ADULT_ROWS = 32_561
QUICK_ROWS = 10_000
SIZES = (100_000, 200_000, 300_000, 400_000, 500_000)
DIMENSIONS = (2, 3, 4, 5, 6, 7)
KS = (2, 4, 6, 8, 10, 20, 40, 60, 80, 100)
LS = (2, 3, 4, 5, 6, 7, 8, 9)


def plans(quick: bool) -> tuple[Plan, ...]:
    """Every figure; with `quick`, fewer people and fewer points."""
    n = QUICK_ROWS if quick else ROWS
    sizes = (n // 4, n // 2, n) if quick else SIZES
    ds, ks, ls = ((2, 3, 5, 7), (2, 10, 40, 100), (2, 5, 9)) if quick else (DIMENSIONS, KS, LS)
    adults = n if quick else ADULT_ROWS
    census, adult = CENSUS_TABLE.name, ADULT_TABLE.name
    return (
        Plan(9, census, "n", sizes, SampleSetting(0, 3, 10)),
        Plan(10, census, "d", ds, SampleSetting(n, 0, 10)),
        Plan(11, adult, "d", ds, SampleSetting(adults, 0, 10)),
        Plan(12, census, "k", ks, SampleSetting(n, 3, 0)),
        Plan(13, adult, "k", ks, SampleSetting(adults, 4, 0)),
        Plan(14, census, "d", ds, SampleSetting(n, 0, 5), diverse=True),
        Plan(15, census, "k", ls, SampleSetting(n, 3, 0), diverse=True),
    )


def reproduce(quick: bool, folder: Path | None, watch: Watch, kept: Keeper = NOTHING_KEPT) -> Outcome:
    """Run all figures whose table is there; without one, what the paper shows by small examples is left."""
    why = {stored.name: stored.missing_from(folder) for stored in (CENSUS_TABLE, ADULT_TABLE)}
    skipped = [reason for reason in why.values() if reason]
    watch("read the tables")
    people = {} if folder is None else _people(folder, why)
    for (_, diverse), tables in people.items():
        trials.compile_all(tables[0], diverse, quick)
    asked = [plan for plan in plans(quick) if (plan.table, plan.diverse) in people]
    found = [
        trials.figure(plan, people[plan.table, plan.diverse], watch(plan.title), kept, quick)
        for plan in asked
    ]
    if quick:
        skipped.append(
            f"more than {QUICK_ROWS:,} people, most points and the published ring with l: left out by --quick"
        )
    return outcome(found, _tables(people, why), skipped, quick)


def _people(folder: Path, why: Mapping[str, str]) -> dict[tuple[str, bool], list[trials.SampledTable]]:
    """Samples of the tables by name, and whether they have a sensitive value."""
    found = {}
    seeds = range(SEED, SEED + SAMPLES)
    if not why[CENSUS_TABLE.name]:
        census = trials.load_census(folder, seeds)
        found[CENSUS_TABLE.name, False] = [everybody for everybody, _ in census]
        found[CENSUS_TABLE.name, True] = [workers for _, workers in census]
    if not why[ADULT_TABLE.name]:
        found[ADULT_TABLE.name, False] = trials.load_adult(folder, seeds)
    return found


def _tables(
    people: Mapping[tuple[str, bool], Sequence[trials.SampledTable]], why: Mapping[str, str]
) -> Tables:
    census, adult = CENSUS_TABLE.name, ADULT_TABLE.name
    named = {(census, False): census, (census, True): f"{census}, occupation", (adult, False): adult}
    how = {census: "samples", adult: "orders of its records"}
    used = {
        named[key]: f"{named[key]}: {len(tables)} {how[key[0]]} of {len(tables[0]):,}"
        for key, tables in people.items()
    }
    missing = {name: why[key[0]] for key, name in named.items() if why[key[0]]}
    return Tables(used, missing)


def outcome(
    figures: Sequence[SampledFigure], tables: Tables, skipped: Sequence[str], quick: bool = False
) -> Outcome:
    """Tables, statements and charts of what was run."""
    loss = "GCP: the mean share of its domain that a cell covers, in hundredths; means over samples."
    time = "Processor seconds from codes to cells and, for NH, the draw. HR takes as long as HS."
    parts = "How many records share a group, or are in one ring, on average."
    sheets = (
        _sheet("Loss", loss, figures, "loss", lambda value: f"{100 * value:.3g}"),
        _sheet("Time", time, figures, "seconds", "{:.3f}".format),
        _sheet("Parts", parts, figures, "part", "{:.1f}".format),
    )
    facts = {
        "seed": SEED,
        "figures": [{"sample": i, **each.to_dict()} for one in figures for i, each in enumerate(one.samples)],
    }
    charts = {
        f"figure{drawn.name}.svg": drawn.chart(LOOKS, PRINTED.removeprefix(NH))
        for each in figures
        for drawn in (_drawn(each, "a", "loss", GCP), _drawn(each, "b", "seconds", SECONDS))
    }
    found = {each.plan.number: each for each in figures}
    statements = judged("nonhomogeneous", CLAIMS, found, tables, quick)
    return Outcome("nonhomogeneous", TITLE, sheets, statements, facts, charts, skipped=tuple(skipped))


def _sheet(
    title: str, about: str, figures: Sequence[SampledFigure], field: str, text: Callable[[float], str]
) -> Sheet:
    """One row for each point of each figure."""
    names = [name for name in NAMES if any(name in each.names for each in figures)]
    rows = []
    for each in figures:
        lines = {name: each.line(name, field) if name in each.names else {} for name in names}
        for value in each.plan.values:
            at = f"{each.plan.letter}={value}"
            texts = [text(fmean(line[at])) if at in line else "" for line in lines.values()]
            rows.append((f"{each.plan.number} {each.plan.table}", f"{each.plan.letter}={value:,}", *texts))
    return Sheet(title, ("figure", "at", *names), tuple(rows), about)


def _drawn(each: SampledFigure, part: str, field: str, unit: str) -> Figure:
    plan = each.plan
    lines = {
        name: dict(zip(plan.values, line.values(), strict=True))
        for name in each.names
        if (line := each.line(name, field))
    }
    return Figure.of_samples(f"{plan.number}{part}", plan.title, plan.letter, unit, lines, AXES[plan.letter])
