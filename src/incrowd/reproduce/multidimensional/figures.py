"""Examples, bounds and quality of "Achieving Multidimensional K-Anonymity by a Greedy Approach".

Murthy and Srinivas retell the algorithm of LeFevre, DeWitt and Ramakrishnan (ICDE 2006). Their text has
worked tables, bounds and claims, but no experiments: the points here are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from incrowd.long_work import Watch
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.multidimensional import bounds, patients
from incrowd.reproduce.multidimensional import trials as cuts
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
from incrowd.reproduce.outcome import Figure, OneRun, Outcome, Sheet
from incrowd.reproduce.stored import ADULT_TABLE, SEED
from incrowd.reproduce.trend import named

# The paper says that its model is "often" better and prints no numbers. Often means here: at more than half
# of the points that were run; for predicates that match, on average over them.
OFTEN = 0.5


def statements(found: CutTrials) -> tuple[OneRun, ...]:
    """Every statement on every table; then the bounds, on all of them."""
    settings = list(dict.fromkeys(setting for _, setting in found))
    names = dict.fromkeys(setting.table for setting in settings)
    quality = [
        each
        for name in names
        for each in _quality(found, name, [setting for setting in settings if setting.table == name])
    ]
    return (*quality, *_bounds(found, settings))


def _quality(found: CutTrials, name: str, settings: Sequence[CutSetting]) -> list[OneRun]:
    def often(says: str, measures: Mapping[str, Callable[[CutPoint], float]]) -> OneRun:
        pairs = {
            what: [(of(found[STRICT, setting]), of(found[SINGLE, setting])) for setting in settings]
            for what, of in measures.items()
        }
        held = all(_better(each) > OFTEN * len(each) for each in pairs.values())
        return OneRun(f"{name}: {says}", held, named(pairs, _compared, "; "))

    general, error = "multidimensional classes are often better by general measures", "relative error"
    return [
        often(general, {"C_DM": lambda point: point.dm, "C_AVG": lambda point: point.avg}),
        often("predicates on all columns are often answered better", {error: lambda p: p.errors[ALL]}),
        often("predicates on one column are often answered better", {error: lambda p: p.errors[ONE]}),
        _matching(found, name, settings),
    ]


def _better(pairs: Sequence[tuple[float, float]]) -> int:
    return sum(a < b for a, b in pairs)


def _compared(pairs: Sequence[tuple[float, float]]) -> str:
    ratios = [a / max(b, 1e-9) for a, b in pairs]
    return f"less at {_better(pairs)} of {len(pairs)}, {min(ratios):.2f} to {max(ratios):.2f} times as much"


def _matching(found: CutTrials, name: str, settings: Sequence[CutSetting]) -> OneRun:
    """By the mean over all points: at most of them few predicates match in any way."""
    means = {
        load: [fmean(found[way, each].matched[load] for each in settings) for way in (STRICT, SINGLE)]
        for load in (ALL, ONE)
    }
    held = all(ours > theirs for ours, theirs in means.values())
    detail = named(means, lambda pair: "{:.1%} against {:.1%}".format(*pair), "; ")
    return OneRun(f"{name}: more predicates match the classes", held, detail)


def _bounds(found: CutTrials, settings: Sequence[CutSetting]) -> list[OneRun]:
    strict = [(found[STRICT, each], each) for each in settings]
    relaxed = [(found[RELAXED, each], 2 * each.k - 1) for each in settings]
    single = [(found[SINGLE, each], each) for each in settings]
    near = max(point.largest / cuts.bound(each.d, each.k, point.copies) for point, each in strict)
    past = sum(point.largest > cuts.bound(each.d, each.k, point.copies) for point, each in single)
    merged = sum(point.largest_class > most for point, most in relaxed)
    many = len(settings)
    full = f"at {many} points; the largest part is at most {near:.0%} of that"
    larger = (
        f"classes of equal rows are larger at {merged}, since parts around copies of a point say the same"
    )
    strictly = "Section 2.3: strict cuts leave at most 2d(k-1)+m, on these tables"
    loosely = "Section 2.3: relaxed cuts leave at most 2k-1, on these tables"
    apart = "Section 2.2.1: single-dimensional classes can be larger than strict ones may be"
    small = all(point.largest <= most for point, most in relaxed)
    return [
        OneRun(strictly, all(point.room >= 0 for point, _ in strict), full),
        OneRun(loosely, small, f"at {many} points; {larger}"),
        OneRun(apart, past > 0, f"at {past} of {many} points"),
    ]


TITLE = "Achieving Multidimensional K-Anonymity by a Greedy Approach: Tables 1 to 4, bounds and quality"
D, K = 5, 10  # what stays when the other changes


@dataclass(frozen=True, slots=True)
class CutScale:
    """How much is run: k, d, rows of an invented table, and predicates of each kind."""

    ks: tuple[int, ...]
    ds: tuple[int, ...]
    rows: int
    queries: int

    def settings(self, table: str, letter: str) -> list[CutSetting]:
        """Over k or over d."""
        if letter == "k":
            return [CutSetting(table, D, k) for k in self.ks]
        return [CutSetting(table, d, K) for d in self.ds]


FULL = CutScale((2, 5, 10, 25, 50, 100, 250, 500), (2, 3, 4, 5, 6, 7, 8), 10_000, 500)
QUICK = CutScale((2, 10, 100), (2, 5, 8), 2000, 50)


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure: its short name for files, its unit, where it stands in a point, and whether it is drawn."""

    name: str
    unit: str
    of: Callable[[CutPoint], float]
    digits: str
    drawn: bool = True


SHOWN = (
    Shown("cdm", "C_DM", lambda point: point.dm, ",.0f"),
    Shown("cavg", "C_AVG", lambda point: point.avg, ".3f"),
    Shown("error", f"relative error, {ALL}", lambda point: point.errors[ALL], ".3f"),
    Shown("error-one", f"relative error, {ONE}", lambda point: point.errors[ONE], ".3f"),
    Shown("matched-one", f"share of predicates that match, {ONE}", lambda p: p.matched[ONE], ".3f", False),
)


def reproduce(quick: bool, folder: Path | None, watch: Watch, kept: Keeper = NOTHING_KEPT) -> Outcome:
    """The paper's tables, the worst cases, and all points on the tables that are there."""
    scale = QUICK if quick else FULL
    skipped = [why] if (why := ADULT_TABLE.missing_from(folder)) else []
    tables = [cuts.uniform(scale.rows), cuts.normal(scale.rows)]
    if folder is not None and not skipped:
        tables.append(cuts.adult(folder))
    if quick:
        skipped.append(
            f"invented tables of more than {scale.rows:,} records, and most points: left out by --quick"
        )
    return run(tables, scale, skipped, watch, kept)


def run(
    tables: Sequence[cuts.NumberTable],
    scale: CutScale,
    skipped: Sequence[str],
    watch: Watch,
    kept: Keeper = NOTHING_KEPT,
) -> Outcome:
    """Every point, every table and picture of them, every statement."""
    progress = watch("cut the patients and the worst cases")
    examples, worst = patients.examine(), bounds.cases()
    progress(1.0)
    found: dict[tuple[str, CutSetting], CutPoint] = {}
    for table in tables:
        settings = [*scale.settings(table.name, "k"), *scale.settings(table.name, "d")]
        found |= cuts.trials(table, settings, scale.queries, watch(f"cut {table.name}"), kept)
    figures = [(shown, figure) for table in tables for shown, figure in figures_of(found, table.name, scale)]
    sheets = (
        *patients.sheets(examples),
        bounds.sheet(worst),
        _sizes(found),
        *(figure.sheet(shown.digits) for shown, figure in figures),
    )
    facts = {
        "seed": SEED,
        "rows": {table.name: len(table) for table in tables},
        "patients": patients.facts(examples),
        "worst": [asdict(each) for each in worst],
        "points": [
            {"cuts": name, **asdict(setting), **asdict(point)} for (name, setting), point in found.items()
        ],
    }
    held = (*patients.statements(examples), *bounds.statements(worst), *statements(found))
    charts = {f"{figure.name}.svg": figure.chart() for shown, figure in figures if shown.drawn}
    return Outcome("multidimensional", TITLE, sheets, held, facts, charts, skipped=tuple(skipped))


def figures_of(found: CutTrials, table: str, scale: CutScale) -> Iterator[tuple[Shown, Figure]]:
    """Every figure of one table: over k, then over d."""
    for shown in SHOWN:
        for letter, values, fixed in (("k", scale.ks, f"d={D}"), ("d", scale.ds, f"k={K}")):
            settings = scale.settings(table, letter)
            lines = {
                name: tuple(float(shown.of(found[name, each])) for each in settings) for name in cuts.WAYS
            }
            name = f"{shown.name}-{letter}-{table.lower()}"
            title = f"{table}: {shown.unit} over {letter}, {fixed}"
            yield shown, Figure(name, title, letter, values, shown.unit, lines)


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
        "The largest part; of relaxed cuts also the largest class of equal rows, and C_DM, C_AVG by parts."
    )
    return Sheet("Largest parts", (*header, "C_DM, parts", "C_AVG, parts"), tuple(rows), about)
