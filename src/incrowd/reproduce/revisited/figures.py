"""Table I and Figures 2 and 3 of Gionis, Mazza, Tassa, "k-Anonymization Revisited", ICDE 2008."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from incrowd.contracts import Watch
from incrowd.flow import Microdata
from incrowd.reports.chart import Chart, Line
from incrowd.reproduce.outcome import Outcome, Sheet
from incrowd.reproduce.revisited import sizes
from incrowd.reproduce.revisited.art import SEED, art, art_files
from incrowd.reproduce.revisited.data import ADT_TABLE, CMC_TABLE
from incrowd.reproduce.revisited.findings import PRINTED_ROWS, judge
from incrowd.reproduce.revisited.printed import KS, printed
from incrowd.reproduce.revisited.trials import ALGORITHMS, BEST, FOREST, KK, MEASURES, Trial, trial

TITLE = "k-Anonymization Revisited: Table I, Figures 2 and 3"
QUICK_ROWS = 1000
FIGURES = {"EM": ("figure2", "bits per cell"), "LM": ("figure3", "share of the domain per cell")}
LOOKS = (BEST, FOREST, KK)


def reproduce(quick: bool, folder: Path | None, watch: Watch) -> Outcome:
    """Run everything; with `quick`, ART alone and small."""
    rows = QUICK_ROWS if quick else PRINTED_ROWS
    data = {"ART": art(rows)}
    skipped = [] if not quick else ["ADT and CMC, and how loss depends on n: left out by --quick"]
    for real in () if quick else (ADT_TABLE, CMC_TABLE):
        why = real.missing_from(folder)
        if why or folder is None:
            skipped.append(why)
        else:
            data[real.name] = real.load(folder)
    trials = [each for name, table in data.items() for each in _both_measures(name, table, KS, watch)]
    found: tuple[sizes.Curve, ...] = ()
    if not quick:
        best = {each.measure: each.best for each in trials if each.data == "ART"}
        found = sizes.curves(best, KS, sizes.SIZES, sizes.SEEDS, watch("ART of other sizes"))
    return outcome(trials, found, skipped, art_files(rows))


def _both_measures(name: str, data: Microdata, ks: Sequence[int], watch: Watch) -> list[Trial]:
    names = [*ALGORITHMS]
    return [
        trial(name, data, measure, ks, names, watch(f"{name}, {len(data):,} records, {measure}"))
        for measure in MEASURES
    ]


def outcome(
    trials: Sequence[Trial], found: Sequence[sizes.Curve], skipped: Sequence[str], files: dict[str, str]
) -> Outcome:
    """Tables, statements and pictures of what was run."""
    sheets = [_table_one(trials), _every_algorithm(trials)]
    facts: dict[str, Any] = {"seed": SEED, "k": list(trials[0].ks), "trials": [*map(_facts, trials)]}
    if found:
        sheets.append(sizes.sheet(found))
        facts["sizes"] = [curve.as_dict() for curve in found]
    charts = {f"{FIGURES[t.measure][0]}-{t.data.lower()}.svg": _figure(t) for t in trials}
    return Outcome("revisited", TITLE, tuple(sheets), judge(trials), facts, charts, files, tuple(skipped))


def _table_one(trials: Sequence[Trial]) -> Sheet:
    rows = [
        (
            f"{t.data} {t.measure}",
            row,
            *(_beside(t, row, k, loss) for k, loss in zip(t.ks, losses, strict=True)),
        )
        for t in trials
        for row, losses in t.table.items()
    ]
    sizes_said = dict.fromkeys(f"{t.data} n={t.rows:,}" for t in trials)
    about = f"Mean loss of a cell: ours/printed. {', '.join(sizes_said)}."
    if trials[0].rows != PRINTED_ROWS:
        about += f" The printed numbers fit about {PRINTED_ROWS:,} records; fewer lose more."
    if any(t.data != "ART" for t in trials):
        about += " ADT and CMC have permissible sets of our own: look at their trends, not at single numbers."
    return Sheet("Table I", ("", "", *(f"k={k}" for k in trials[0].ks)), tuple(rows), about)


def _beside(trial: Trial, row: str, k: int, loss: float) -> str:
    theirs = printed(trial.data, trial.measure, row, k)
    return f"{loss:.3f}/{'-' if theirs is None else f'{theirs:.2f}'}"


def _every_algorithm(trials: Sequence[Trial]) -> Sheet:
    rows = [
        (f"{t.data} {t.measure}", name, *(f"{loss:.3f}" for loss in losses), f"{sum(losses):.3f}")
        for t in trials
        for name, losses in t.losses.items()
    ]
    header = ("", "algorithm", *(f"k={k}" for k in trials[0].ks), "sum")
    about = "The best is the one of (8) to (11) with the least sum; (nc) is reported, but not chosen from."
    return Sheet("Every algorithm", header, tuple(rows), about)


def _facts(trial: Trial) -> dict[str, Any]:
    theirs = {row: [printed(trial.data, trial.measure, row, k) for k in trial.ks] for row in trial.table}
    return {
        "data": trial.data,
        "rows": trial.rows,
        "measure": trial.measure,
        "sets": "as printed" if trial.data == "ART" else "our own: a trend",
        "best": trial.best,
        "table": {row: {"ours": list(loss), "printed": theirs[row]} for row, loss in trial.table.items()},
        "losses": {name: list(loss) for name, loss in trial.losses.items()},
    }


def _figure(trial: Trial) -> Chart:
    """Ours solid, the printed numbers dashed beside them."""
    lines = []
    for look, row in enumerate(LOOKS):
        ours = tuple(zip(map(float, trial.ks), trial.table[row], strict=True))
        theirs = [
            (float(k), value) for k in trial.ks if (value := printed(trial.data, trial.measure, row, k))
        ]
        lines.append(Line(row, ours, look))
        if theirs:
            lines.append(Line(f"{row}, printed", tuple(theirs), look, ours=False))
    number = FIGURES[trial.measure][0].removeprefix("figure")
    title = f"Figure {number}: {trial.data}, {trial.rows:,} records, {trial.measure}"
    return Chart(title, "k", FIGURES[trial.measure][1], tuple(lines))
