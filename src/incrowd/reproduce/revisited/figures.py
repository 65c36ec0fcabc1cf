"""Table I and Figures 2 and 3 of Gionis, Mazza, Tassa, "k-Anonymization Revisited", ICDE 2008."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

from incrowd.long_work import Watch
from incrowd.reproduce.judging import Tables, judged
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.outcome import Figure, Outcome, Sheet
from incrowd.reproduce.revisited import graphs
from incrowd.reproduce.revisited import trials as runs
from incrowd.reproduce.revisited.claims import ART_ROWS, CLAIMS, LossTrials
from incrowd.reproduce.revisited.graphs import GraphPoint
from incrowd.reproduce.revisited.trials import KS, ROWS, Curve, LossSample, LossTrial, printed
from incrowd.reproduce.samples import MeanOfSamples
from incrowd.reproduce.stored import SEED
from incrowd.reproduce.trial import run_each

TITLE = "k-Anonymization Revisited: Table I, Figures 2 and 3"
QUICK_ROWS = 500
SAMPLES = 5
SIZES, SEEDS = (1000, 2000, 5000, 10000), (1, 2, 3)  # of ART, where its size is varied
TIMED_SIZES = (1000, 2000, 4000)
PRINTED = ", printed"  # after the name of a line that is not ours
FIGURES = {"EM": ("figure2", "bits lost per cell"), "LM": ("figure3", "share of the domain lost per cell")}


def reproduce(quick: bool, folder: Path | None, watch: Watch, kept: Keeper = NOTHING_KEPT) -> Outcome:
    """Run everything; with `quick`, ART alone and small."""
    rows = QUICK_ROWS if quick else ART_ROWS
    seeds = range(SEED, SEED + SAMPLES)
    samples = {"ART": [LossSample("ART", seed, runs.art(rows, seed)) for seed in seeds]}
    missing = {}
    for real in (runs.ADT_TABLE, runs.CMC_TABLE):
        why = f"{real.name}: left out by --quick" if quick else real.missing_from(folder)
        if why or folder is None:
            missing[real.name] = why
        else:
            samples[real.name] = [LossSample(real.name, seed, real.load(folder, seed)) for seed in seeds]
    names = [*runs.ALGORITHMS] if not quick else [n for n in runs.ALGORITHMS if n not in runs.NERGIZ_CLIFTON]
    found = LossTrials(
        {
            (name, measure): [
                runs.trial(each, measure, KS, names, watch(f"{name} {measure}, sample {each.seed}"), kept)
                for each in some
            ]
            for name, some in samples.items()
            for measure in runs.MEASURES
        },
        _graphs(samples, (5, 10), watch, kept),
        {} if quick else _times(watch, kept),
    )
    curves: tuple[Curve, ...] = ()
    if not quick:
        best = {each[0].measure: each[0].best for (name, _), each in found.trials.items() if name == "ART"}
        curves = runs.curves(best, KS, SIZES, SEEDS, watch("ART of other sizes"), kept)
    used = {name: _described(some) for name, some in samples.items()}
    return outcome(found, curves, Tables(used, missing), quick, runs.art_files(rows))


def _described(samples: Sequence[LossSample]) -> str:
    first = samples[0]
    how = "the same records in as many orders" if first.name == runs.CMC_TABLE.name else "drawn"
    return f"{first.name}, {len(samples)} samples of {len(first.data):,} records, {how}"


def _graphs(
    samples: Mapping[str, Sequence[LossSample]], ks: Sequence[int], watch: Watch, kept: Keeper
) -> dict[tuple[str, int], list[GraphPoint]]:
    data = {(each.name, each.seed): each.data for some in samples.values() for each in some}
    asked = [(name, len(table), seed, k) for (name, seed), table in data.items() for k in ks]
    found = run_each(
        asked,
        lambda at: graphs.graph_point(data[at[0], at[2]], at[3]),
        watch("who fits which row"),
        kept=kept.of("graphs", GraphPoint),
    )
    return {
        (name, k): [point for at, point in found.items() if (at[0], at[3]) == (name, k)]
        for name in samples
        for k in ks
    }


def _times(watch: Watch, kept: Keeper) -> dict[int, dict[int, graphs.TimePoint]]:
    seeds = range(SEED, SEED + SAMPLES)
    graphs.time_point(200, 0)  # compiles
    asked = [(n, seed) for seed in seeds for n in TIMED_SIZES]
    keeper = kept.of("times", graphs.TimePoint)
    found = run_each(asked, lambda at: graphs.time_point(*at), watch("how times grow"), kept=keeper)
    return {seed: {n: found[n, seed] for n in TIMED_SIZES} for seed in seeds}


def outcome(
    found: LossTrials, curves: Sequence[Curve], tables: Tables, quick: bool, files: Mapping[str, str]
) -> Outcome:
    """Tables, statements and pictures of what was run."""
    sheets = [_table_one(found, tables), _every_algorithm(found), _graph_sheet(found)]
    every = [each for some in found.trials.values() for each in some]
    facts: dict[str, Any] = {"seed": SEED, "k": list(every[0].ks), "trials": [*map(_facts, every)]}
    facts["graphs"] = [
        {"data": name, "k": k, **asdict(point)} for (name, k), some in found.graphs.items() for point in some
    ]
    if curves:
        sheets.append(_by_size(curves))
        facts["sizes"] = [curve.to_dict() for curve in curves]
    charts = {
        f"{FIGURES[measure][0]}-{name.lower()}.svg": _figure(found, name, measure).chart(theirs=PRINTED)
        for name, measure in found.trials
    }
    statements = judged("revisited", CLAIMS, found, tables, quick)
    skipped = [*tables.missing.values(), *(["how loss depends on n: left out by --quick"] if quick else [])]
    return Outcome("revisited", TITLE, tuple(sheets), statements, facts, charts, dict(files), tuple(skipped))


def _table_one(found: LossTrials, tables: Tables) -> Sheet:
    rows = []
    for name, measure in found.trials:
        for row in ROWS:
            line = found.line(name, measure, row)
            cells = [
                _beside(MeanOfSamples.of("", samples), printed(name, measure, row, k))
                for k, samples in zip(KS, line.values(), strict=True)
            ]
            rows.append((f"{name} {measure}", row, *cells))
    about = f"Mean loss of a cell: ours ± its interval of 95 % / printed. {'. '.join(tables.used.values())}."
    if any(name != "ART" for name, _ in found.trials):
        about += " ADT and CMC have permissible sets of our own: look at their trends, not at single numbers."
    return Sheet("Table I", ("", "", *(f"k={k}" for k in KS)), tuple(rows), about)


def _beside(ours: MeanOfSamples, theirs: float | None) -> str:
    return f"{ours.mean:.3f} ± {ours.high - ours.mean:.3f} / {'-' if theirs is None else f'{theirs:.2f}'}"


def _every_algorithm(found: LossTrials) -> Sheet:
    rows = []
    for name, measure in found.trials:
        for algorithm in found.trials[name, measure][0].losses:
            means = [fmean(samples) for samples in found.line(name, measure, algorithm).values()]
            cells = (f"{mean:.3f}" for mean in (*means, sum(means)))
            rows.append((f"{name} {measure}", algorithm, *cells))
    header = ("", "algorithm", *(f"k={k}" for k in KS), "sum")
    about = (
        "Means over samples. The best is the one of (8) to (11) with the least sum; (nc) is not chosen from."
    )
    return Sheet("Every algorithm", header, tuple(rows), about)


def _graph_sheet(found: LossTrials) -> Sheet:
    """Means over samples; of the most rows that a record fits the most."""
    rows = []
    for (name, k), some in found.graphs.items():
        matched = (f"{fmean(point.matched[epsilon] for point in some):.1%}" for epsilon in graphs.EPSILONS)
        steps = [point.one for point in some if point.one is not None]
        one = f"{fmean(steps):.1%}" if steps else "-"
        above = f"{fmean(point.above for point in some):.1%}"
        rows.append((name, f"{k}", f"{max(point.most for point in some)}", above, *matched, one))
    shown = (f"k matches, e={epsilon:g}" for epsilon in graphs.EPSILONS)
    header = ("", "k", "most rows", "above 2k", *shown, "one step")
    about = (
        "(k,k) by Algorithms 4 and 5, LM: how many rows a record fits; who has k matches in "
        "((1+e)k,(1+e)k); of those whose row Algorithm 6 widens the share that needs one step."
    )
    return Sheet("Who fits which row", header, tuple(rows), about)


def _facts(trial: LossTrial) -> dict[str, Any]:
    theirs = {row: [printed(trial.data, trial.measure, row, k) for k in trial.ks] for row in trial.table}
    return {
        "data": trial.data,
        "rows": trial.rows,
        "sample": trial.seed,
        "measure": trial.measure,
        "sets": "as printed" if trial.data == "ART" else "our own: a trend",
        "best": trial.best,
        "table": {row: {"ours": list(loss), "printed": theirs[row]} for row, loss in trial.table.items()},
        "losses": {name: list(loss) for name, loss in trial.losses.items()},
    }


def _figure(found: LossTrials, name: str, measure: str) -> Figure:
    """Ours with their bands, and the printed numbers beside them."""
    number, unit = FIGURES[measure][0].removeprefix("figure"), FIGURES[measure][1]
    rows = found.trials[name, measure][0].rows
    lines = {row: dict(zip(KS, found.line(name, measure, row).values(), strict=True)) for row in ROWS}
    title = f"Figure {number}: {name}, {measure}, {rows:,} records"
    ours = Figure.of_samples(number, title, "k", unit, lines, "k: records that share a row")
    theirs = {row + PRINTED: tuple(runs.TABLE[name, measure][row]) for row in ROWS}
    return replace(ours, lines={**ours.lines, **theirs})


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
