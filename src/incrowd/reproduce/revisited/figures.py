"""Table I and Figures 2 and 3 of Gionis, Mazza, Tassa, "k-Anonymization Revisited", ICDE 2008."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from incrowd.contracts import Watch
from incrowd.reproduce.figure import Figure
from incrowd.reproduce.outcome import Outcome, Sheet
from incrowd.reproduce.revisited.data import ADT_TABLE, CMC_TABLE, KS, art, art_files, printed
from incrowd.reproduce.revisited.findings import PRINTED_ROWS, statements
from incrowd.reproduce.revisited.trials import ALGORITHMS, MEASURES, Curve, LossTrial, curves, trial
from incrowd.reproduce.stored import SEED

TITLE = "k-Anonymization Revisited: Table I, Figures 2 and 3"
QUICK_ROWS = 1000
SIZES, SEEDS = (1000, 2000, 5000, 10000), (1, 2, 3)  # of ART, where its size is varied
PRINTED = ", printed"  # after the name of a line that is not ours
FIGURES = {"EM": ("figure2", "bits per cell"), "LM": ("figure3", "share of the domain per cell")}


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
    trials = []
    for name, table in data.items():
        for measure in MEASURES:
            progress = watch(f"{name}, {len(table):,} records, {measure}")
            trials.append(trial(name, table, measure, KS, [*ALGORITHMS], progress))
    found: tuple[Curve, ...] = ()
    if not quick:
        best = {each.measure: each.best for each in trials if each.data == "ART"}
        found = curves(best, KS, SIZES, SEEDS, watch("ART of other sizes"))
    return outcome(trials, found, skipped, art_files(rows))


def outcome(
    trials: Sequence[LossTrial], found: Sequence[Curve], skipped: Sequence[str], files: dict[str, str]
) -> Outcome:
    """Tables, statements and pictures of what was run."""
    sheets = [_table_one(trials), _every_algorithm(trials)]
    facts: dict[str, Any] = {"seed": SEED, "k": list(trials[0].ks), "trials": [*map(_facts, trials)]}
    if found:
        sheets.append(_by_size(found))
        facts["sizes"] = [curve.as_dict() for curve in found]
    charts = {
        f"{FIGURES[t.measure][0]}-{t.data.lower()}.svg": _figure(t).chart(theirs=PRINTED) for t in trials
    }
    return Outcome(
        "revisited", TITLE, tuple(sheets), statements(trials), facts, charts, files, tuple(skipped)
    )


def _table_one(trials: Sequence[LossTrial]) -> Sheet:
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


def _beside(trial: LossTrial, row: str, k: int, loss: float) -> str:
    theirs = printed(trial.data, trial.measure, row, k)
    return f"{loss:.3f}/{'-' if theirs is None else f'{theirs:.2f}'}"


def _every_algorithm(trials: Sequence[LossTrial]) -> Sheet:
    rows = [
        (f"{t.data} {t.measure}", name, *(f"{loss:.3f}" for loss in losses), f"{sum(losses):.3f}")
        for t in trials
        for name, losses in t.losses.items()
    ]
    header = ("", "algorithm", *(f"k={k}" for k in trials[0].ks), "sum")
    about = "The best is the one of (8) to (11) with the least sum; (nc) is reported, but not chosen from."
    return Sheet("Every algorithm", header, tuple(rows), about)


def _facts(trial: LossTrial) -> dict[str, Any]:
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


def _figure(trial: LossTrial) -> Figure:
    """Ours, and the printed numbers beside them."""
    lines: dict[str, tuple[float, ...]] = {}
    for row, losses in trial.table.items():
        theirs = [printed(trial.data, trial.measure, row, k) for k in trial.ks]
        known = tuple(loss for loss in theirs if loss is not None)
        lines |= {row: losses} | ({row + PRINTED: known} if len(known) == len(theirs) else {})
    name = FIGURES[trial.measure][0].removeprefix("figure")
    title = f"Figure {name}: {trial.data}, {trial.rows:,} records, {trial.measure}"
    return Figure(name, title, "k", trial.ks, FIGURES[trial.measure][1], lines)


def _by_size(found: Sequence[Curve]) -> Sheet:
    """The curves as a table: mean and, in brackets, the least and most of the draws."""
    sizes = list(found[0].draws)
    rows = []
    for curve in found:
        cells = [_cell(curve.draws[size]) for size in sizes]
        theirs, near = printed("ART", curve.measure, curve.row, curve.k), curve.implied_rows
        shown = "-" if near is None else f"{near:,.0f}"
        rows.append(
            (curve.measure, curve.row, str(curve.k), *cells, f"{theirs:.2f}" if theirs else "-", shown)
        )
    header = ("measure", "row", "k", *(f"n={size:,}" for size in sizes), "printed", "n that loses as printed")
    about = (
        f"Mean of {len(found[0].draws[sizes[0]])} draws (least to most). "
        f"The paper does not say how many records it drew; {implied_words(found)}."
    )
    return Sheet("How the loss on ART depends on n", header, tuple(rows), about)


def _cell(losses: Sequence[float]) -> str:
    return f"{fmean(losses):.3f} ({min(losses):.3f}-{max(losses):.3f})"


def implied_words(found: Sequence[Curve]) -> str:
    rows = sorted(rows for curve in found if (rows := curve.implied_rows) is not None)
    if not rows:
        return "no size that was tried loses what is printed"
    return (
        f"ours lose what is printed at n={median(rows):,.0f} in the median over {len(rows)} numbers "
        f"({rows[0]:,.0f} to {rows[-1]:,.0f})"
    )
