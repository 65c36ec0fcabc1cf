"""Examples, bounds and quality of "Achieving Multidimensional K-Anonymity by a Greedy Approach".

Murthy and Srinivas retell the algorithm of LeFevre, DeWitt and Ramakrishnan (ICDE 2006). Their text has
worked tables, bounds and claims, but no experiments: the points here are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from incrowd.contracts import Watch
from incrowd.reports.chart import Chart, Line
from incrowd.reproduce.multidimensional import bounds, findings, patients
from incrowd.reproduce.multidimensional.data import SEED, Points, adult, normal, uniform
from incrowd.reproduce.multidimensional.trials import (
    ALL,
    ONE,
    RELAXED,
    SINGLE,
    STRICT,
    WAYS,
    Ask,
    Point,
    Trials,
    bound,
    trials,
)
from incrowd.reproduce.nonhomogeneous.data import ADULT_TABLE
from incrowd.reproduce.outcome import Outcome, Sheet
from incrowd.reproduce.outliers.findings import Panel

TITLE = "Achieving Multidimensional K-Anonymity by a Greedy Approach: Tables 1 to 4, bounds and quality"
D, K = 5, 10  # what stays when the other changes


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is run: k, d, rows of an invented table, and predicates of each kind."""

    ks: tuple[int, ...]
    ds: tuple[int, ...]
    rows: int
    queries: int

    def asks(self, table: str) -> list[Ask]:
        return [*(Ask(table, D, k) for k in self.ks), *(Ask(table, d, K) for d in self.ds)]


FULL = Scale((2, 5, 10, 25, 50, 100, 250, 500), (2, 3, 4, 5, 6, 7, 8), 10_000, 500)
QUICK = Scale((2, 10, 100), (2, 5, 8), 2000, 50)


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure: its short name for files, its unit, where it stands in a point, and whether it is drawn."""

    name: str
    unit: str
    of: Callable[[Point], float]
    digits: str
    drawn: bool = True


SHOWN = (
    Shown("cdm", "C_DM", lambda point: point.dm, ",.0f"),
    Shown("cavg", "C_AVG", lambda point: point.avg, ".3f"),
    Shown("error", f"relative error, {ALL}", lambda point: point.errors[ALL], ".3f"),
    Shown("error-one", f"relative error, {ONE}", lambda point: point.errors[ONE], ".3f"),
    Shown(
        "matched-one",
        f"share of predicates that match, {ONE}",
        lambda point: point.matched[ONE],
        ".3f",
        False,
    ),
)


def reproduce(quick: bool, folder: Path | None, watch: Watch) -> Outcome:
    """The paper's tables, the worst cases, and all points on the tables that are there."""
    scale = QUICK if quick else FULL
    skipped = [why] if (why := ADULT_TABLE.missing_from(folder)) else []
    tables = [uniform(scale.rows), normal(scale.rows)]
    if folder is not None and not skipped:
        tables.append(adult(folder))
    if quick:
        skipped.append(
            f"invented tables of more than {scale.rows:,} records, and most points: left out by --quick"
        )
    return run(tables, scale, skipped, watch)


def run(tables: Sequence[Points], scale: Scale, skipped: Sequence[str], watch: Watch) -> Outcome:
    """Every point, every table and picture of them, every statement."""
    told = watch("cut the patients and the worst cases")
    examples, worst = patients.examine(), bounds.cases()
    told(1.0)
    found: dict[tuple[str, Ask], Point] = {}
    for table in tables:
        found |= trials(table, scale.asks(table.name), scale.queries, watch(f"cut {table.name}"))
    pictures = [(shown, panel) for table in tables for shown, panel in panels(found, table.name, scale)]
    sheets = (
        *patients.sheets(examples),
        bounds.sheet(worst),
        _sizes(found),
        *(_sheet(shown, panel) for shown, panel in pictures),
    )
    facts = {
        "seed": SEED,
        "rows": {table.name: len(table) for table in tables},
        "patients": patients.facts(examples),
        "worst": [each.as_dict() for each in worst],
        "points": [
            {"table": ask.table, "cuts": name, "d": ask.d, "k": ask.k, **point.as_dict()}
            for (name, ask), point in found.items()
        ],
    }
    statements = (*patients.judge(examples), *bounds.judge(worst), *findings.judge(found))
    charts = {f"{panel.name}.svg": _chart(panel) for shown, panel in pictures if shown.drawn}
    return Outcome("multidimensional", TITLE, sheets, statements, facts, charts, skipped=tuple(skipped))


def panels(found: Trials, table: str, scale: Scale) -> Iterator[tuple[Shown, Panel]]:
    """Every picture of one table: over k, then over d."""
    over_k = [Ask(table, D, k) for k in scale.ks]
    over_d = [Ask(table, d, K) for d in scale.ds]
    for shown in SHOWN:
        for letter, values, asks in (("k", scale.ks, over_k), ("d", scale.ds, over_d)):
            lines = {name: tuple(float(shown.of(found[name, ask])) for ask in asks) for name in WAYS}
            held = f"d={D}" if letter == "k" else f"k={K}"
            title = f"{table}: {shown.unit} over {letter}, {held}"
            name = f"{shown.name}-{letter}-{table.lower()}"
            yield shown, Panel(name, title, letter, values, shown.unit, lines)


def _sizes(found: Trials) -> Sheet:
    """The largest parts against their bounds, and what becomes of relaxed parts that say the same."""
    rows = []
    for ask in dict.fromkeys(ask for _, ask in found):
        single, strict, relaxed = (found[name, ask] for name in (SINGLE, STRICT, RELAXED))
        numbers = (
            *(strict.copies, single.largest, strict.largest, bound(ask.d, ask.k, strict.copies)),
            *(relaxed.largest, 2 * ask.k - 1, relaxed.largest_class),
        )
        parts = (f"{relaxed.part_dm:,}", f"{relaxed.part_avg:.3f}")
        rows.append((ask.table, f"{ask.d}", f"{ask.k}", *(f"{number:,}" for number in numbers), *parts))
    header = ("table", "d", "k", "m", SINGLE, STRICT, "2d(k-1)+m", RELAXED, "2k-1", "relaxed, class")
    about = (
        "The largest part; of relaxed cuts also the largest class of equal rows, and C_DM, C_AVG by parts."
    )
    return Sheet("Largest parts", (*header, "C_DM, parts", "C_AVG, parts"), tuple(rows), about)


def _sheet(shown: Shown, panel: Panel) -> Sheet:
    rows = [(name, *(format(value, shown.digits) for value in line)) for name, line in panel.lines.items()]
    return Sheet(panel.title, (panel.over, *(f"{value:,}" for value in panel.values)), tuple(rows))


def _chart(panel: Panel) -> Chart:
    lines = [
        Line(name, tuple(zip(map(float, panel.values), line, strict=True)), look)
        for look, (name, line) in enumerate(panel.lines.items())
    ]
    return Chart(panel.title, panel.over, panel.unit, tuple(lines))
