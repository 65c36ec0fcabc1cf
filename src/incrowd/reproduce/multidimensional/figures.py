"""Examples, bounds and quality of "Achieving Multidimensional K-Anonymity by a Greedy Approach".

Murthy and Srinivas retell the algorithm of LeFevre, DeWitt and Ramakrishnan (ICDE 2006). Their text has
worked tables, bounds and claims, but no experiments: the points here are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from incrowd.long_work import Watch
from incrowd.reproduce.judging import Tables, judged
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.multidimensional import bounds, patients
from incrowd.reproduce.multidimensional import trials as cuts
from incrowd.reproduce.multidimensional.claims import CLAIMS, CutResults
from incrowd.reproduce.multidimensional.trials import (
    ALL,
    ONE,
    RELAXED,
    SINGLE,
    STRICT,
    CutPoint,
    CutSetting,
    CutTrials,
)
from incrowd.reproduce.outcome import Figure, Outcome, Sheet
from incrowd.reproduce.stored import ADULT_TABLE, SEED
from incrowd.reproduce.trial import run_each

TITLE = "Achieving Multidimensional K-Anonymity by a Greedy Approach: Tables 1 to 4, bounds and quality"
D, K = 5, 10  # what stays when the other changes


@dataclass(frozen=True, slots=True)
class CutScale:
    """How much is run: k, d, rows of a sample, predicates of each kind, and sizes whose time is taken."""

    ks: tuple[int, ...]
    ds: tuple[int, ...]
    rows: int
    queries: int
    timed: tuple[int, ...] = ()

    def settings(self, table: str, letter: str) -> list[CutSetting]:
        """Over k or over d."""
        if letter == "k":
            return [CutSetting(table, D, k) for k in self.ks]
        return [CutSetting(table, d, K) for d in self.ds]


FULL = CutScale(
    (2, 5, 10, 25, 50, 100, 250, 500), (2, 3, 4, 5, 6, 7, 8), 10_000, 500, (20_000, 40_000, 80_000)
)
QUICK = CutScale((2, 10, 100), (2, 5, 8), 2000, 50)
SAMPLES = 5
AXES = {"k": "k: records in a class, at least", "d": "d: quasi-identifiers"}


@dataclass(frozen=True, slots=True)
class ShownFigure:
    """A figure: its short name for files, its unit, where it stands in a point, and whether it is drawn."""

    name: str
    unit: str
    of: Callable[[CutPoint], float]
    digits: str
    drawn: bool = True


SHOWN = (
    ShownFigure("cdm", "C_DM: squared class sizes, thousands", lambda point: point.dm / 1000, ",.1f"),
    ShownFigure("cavg", "C_AVG: mean class size by k", lambda point: point.avg, ".3f"),
    ShownFigure("error", f"relative error, {ALL}", lambda point: point.errors[ALL], ".3f"),
    ShownFigure("error-one", f"relative error, {ONE}", lambda point: point.errors[ONE], ".3f"),
    ShownFigure(
        "matched-one", f"share of predicates that match, {ONE}", lambda p: p.matched[ONE], ".3f", False
    ),
)


def reproduce(quick: bool, folder: Path | None, watch: Watch, kept: Keeper = NOTHING_KEPT) -> Outcome:
    """The paper's tables, the worst cases, and all points on samples of the tables that are there."""
    scale = QUICK if quick else FULL
    seeds = range(SEED, SEED + SAMPLES)
    tables = {
        "UNIFORM": [cuts.uniform(scale.rows, seed) for seed in seeds],
        "NORMAL": [cuts.normal(scale.rows, seed) for seed in seeds],
    }
    why = ADULT_TABLE.missing_from(folder)
    if folder is not None and not why:
        tables[ADULT_TABLE.name] = cuts.adult(folder, scale.rows, seeds)
    skipped = [why] if why else []
    if quick:
        skipped.append(f"samples of more than {scale.rows:,} records, and most points: left out by --quick")
    return run(tables, scale, skipped, watch, kept)


def run(
    tables: Mapping[str, Sequence[cuts.NumberTable]],
    scale: CutScale,
    skipped: Sequence[str],
    watch: Watch,
    kept: Keeper = NOTHING_KEPT,
) -> Outcome:
    """Every point, every table and picture of them, every statement."""
    progress = watch("cut the patients and the worst cases")
    examples, worst = patients.examine(), bounds.cases()
    progress(1.0)
    trials: dict[str, list[CutTrials]] = {}
    for name, samples in tables.items():
        settings = [*scale.settings(name, "k"), *scale.settings(name, "d")]
        trials[name] = [
            cuts.trials(each, settings, scale.queries, watch(f"cut {name}, sample {each.seed}"), kept)
            for each in samples
        ]
    results = CutResults(examples, worst, trials, _seconds(scale, watch, kept))
    figures = [(shown, figure) for name in tables for shown, figure in figures_of(trials[name], name, scale)]
    sheets = (
        *patients.sheets(examples),
        bounds.sheet(worst),
        _sizes({key: point for some in trials.values() for key, point in some[0].items()}),
        *(figure.sheet(shown.digits) for shown, figure in figures),
    )
    facts = {
        "seed": SEED,
        "rows": {name: len(samples[0]) for name, samples in tables.items()},
        "patients": patients.facts(examples),
        "worst": [asdict(each) for each in worst],
        "points": [
            {"cuts": name, "sample": i, **asdict(setting), **asdict(point)}
            for some in trials.values()
            for i, found in enumerate(some)
            for (name, setting), point in found.items()
        ],
    }
    used = {name: f"{name}, {len(some)} samples of {len(some[0]):,} records" for name, some in tables.items()}
    missing = {name: why for name in (ADULT_TABLE.name,) if name not in tables for why in skipped[:1]}
    statements = judged("multidimensional", CLAIMS, results, Tables(used, missing), scale is QUICK)
    charts = {f"{figure.name}.svg": figure.chart() for shown, figure in figures if shown.drawn}
    return Outcome("multidimensional", TITLE, sheets, statements, facts, charts, skipped=tuple(skipped))


def _seconds(scale: CutScale, watch: Watch, kept: Keeper) -> dict[int, list[float]]:
    """Of strict cuts, by n and sample."""
    seeds = range(SEED, SEED + SAMPLES)
    asked = [(n, seed) for n in scale.timed for seed in seeds]
    if not asked:
        return {}
    found = run_each(
        asked, lambda at: cuts.strict_seconds(*at), watch("how times grow"), kept=kept.of("times")
    )
    return {n: [found[n, seed] for seed in seeds] for n in scale.timed}


def figures_of(
    samples: Sequence[CutTrials], table: str, scale: CutScale
) -> Iterator[tuple[ShownFigure, Figure]]:
    """Every figure of one table: over k, then over d."""
    for shown in SHOWN:
        for letter, values, fixed in (("k", scale.ks, f"d={D}"), ("d", scale.ds, f"k={K}")):
            settings = scale.settings(table, letter)
            lines = {
                name: {
                    value: [float(shown.of(found[name, each])) for found in samples]
                    for value, each in zip(values, settings, strict=True)
                }
                for name in cuts.WAYS
            }
            name = f"{shown.name}-{letter}-{table.lower()}"
            title = f"{table}: {shown.unit} over {letter}, {fixed}"
            yield shown, Figure.of_samples(name, title, letter, shown.unit, lines, AXES[letter])


def _sizes(found: CutTrials) -> Sheet:
    """The largest parts against their bounds, and what becomes of relaxed parts that say the same."""
    rows = []
    for at in dict.fromkeys(setting for _, setting in found):
        single, strict, relaxed = (found[name, at] for name in (SINGLE, STRICT, RELAXED))
        numbers = (
            *(strict.copies, single.largest, strict.largest, cuts.bound(at.d, at.k, strict.copies)),
            *(relaxed.largest, 2 * at.k - 1, relaxed.largest_class, relaxed.part_dm),
        )
        counts = (f"{number:,}" for number in numbers)
        rows.append((at.table, f"{at.d}", f"{at.k}", *counts, f"{relaxed.part_avg:.3f}"))
    header = ("table", "d", "k", "m", SINGLE, STRICT, "2d(k-1)+m", RELAXED, "2k-1", "relaxed, class")
    about = (
        "Of the first sample: the largest part; of relaxed cuts also the largest class of equal rows, C_DM, "
        "C_AVG by parts."
    )
    return Sheet("Largest parts", (*header, "C_DM, parts", "C_AVG, parts"), tuple(rows), about)
