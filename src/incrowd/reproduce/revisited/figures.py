"""Table I and Figures 2 and 3 of Gionis, Mazza, Tassa, "k-Anonymization Revisited", ICDE 2008."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from incrowd.long_work import Watch
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.outcome import Figure, OneRun, Outcome, Sheet
from incrowd.reproduce.revisited import trials as runs
from incrowd.reproduce.revisited.trials import BEST, EXPANSION, FOREST, KK, KS, Curve, LossTrial, printed
from incrowd.reproduce.stored import SEED
from incrowd.reproduce.trend import inside, span

PRINTED_ROWS = 5000  # the size of ART at which ours are held beside the printed numbers
FOREST_GAIN = (0.18, 0.51)  # of the paper's own table; its text rounds this to 20 to 50 %
KK_GAIN = (0.08, 0.36)  # and this to 10 to 30 %


def statements(trials: Sequence[LossTrial]) -> tuple[OneRun, ...]:
    """Every statement on every table that was run; those on ART come first."""
    names = dict.fromkeys(trial.data for trial in trials)
    by_name = {name: [trial for trial in trials if trial.data == name] for name in names}
    return tuple(each for name, some in by_name.items() for each in _about(some, name))


def _about(trials: Sequence[LossTrial], name: str) -> Iterator[OneRun]:
    cases = {}
    for trial in trials:
        for k, (best, forest, own) in zip(trial.ks, _rows(trial, BEST, FOREST, KK), strict=True):
            cases[f"{trial.measure} k={k}"] = forest > best > own
    yield _always(f"{name}: the forest loses most, (k,k) least, for every k and measure", cases)
    # only ART has the paper's own sets; of ART only a size near the paper's
    yield from (_not_above(each) for each in trials if (each.data, each.rows) == ("ART", PRINTED_ROWS))
    says = f"{name}: the best agglomerative loses 20-50 % less than the forest"
    yield _gain(says, [pair for each in trials for pair in _rows(each, BEST, FOREST)], FOREST_GAIN)
    says = f"{name}: (k,k) loses 10-30 % less than the best agglomerative"
    yield _gain(says, [pair for each in trials for pair in _rows(each, KK, BEST)], KK_GAIN)
    cases = {
        f"{each.measure} {variant} k={each.ks[i]}": each.losses[variant][i] < each.losses[FOREST][i]
        for each, variant, i in _cases(trials, runs.VARIANTS)
    }
    yield _always(f"{name}: every agglomerative variant loses less than the forest", cases)
    cases = {
        f"{each.measure} k={each.ks[i]}": each.losses[EXPANSION][i] < each.losses[runs.NEAREST][i]
        for each, _, i in _cases(trials, [EXPANSION])
    }
    yield _always(f"{name}: Algorithm 4 with 5 loses less than Algorithm 3 with 5", cases)
    held = all(each.best.startswith(("(10)", "(11)")) for each in trials)
    detail = "; ".join(f"{each.measure}: best is {each.best}" for each in trials)
    yield OneRun(f"{name}: distances (10) and (11) bring the best results", held, detail)
    plain = _cases(trials, [variant for variant in runs.VARIANTS if variant.endswith("Algorithm 1")])
    better = 0
    for each, variant, i in plain:
        better += each.losses[variant.replace("Algorithm 1", "Algorithm 2")][i] < each.losses[variant][i]
    says = f"{name}: Algorithm 2 usually loses less than Algorithm 1"
    yield OneRun(says, 2 * better > len(plain), f"in {better} of {len(plain)} cases")


def _rows(trial: LossTrial, *rows: str) -> list[tuple[float, ...]]:
    """Rows of Table I, for each k."""
    return list(zip(*(trial.table[row] for row in rows), strict=True))


def _always(says: str, cases: Mapping[str, bool]) -> OneRun:
    """Held in every case, each under its name."""
    wrong = [case for case, held in cases.items() if not held]
    shown = ", ".join(wrong[:4]) + (", …" if len(wrong) > 4 else "")
    detail = f"not in {len(wrong)} cases: {shown}" if wrong else f"in all {len(cases)} cases"
    return OneRun(says, not wrong, detail)


def _not_above(trial: LossTrial) -> OneRun:
    """Ours, rounded as the printed numbers are, against them."""
    above = []
    for row in (BEST, KK):
        for k, ours in zip(trial.ks, trial.table[row], strict=True):
            theirs = printed(trial.data, trial.measure, row, k)
            if theirs is not None and round(ours, 2) > theirs:
                above.append((ours / theirs - 1, f"{row} k={k}: {ours:.3f}/{theirs:.2f}"))
    says = f"{trial.data} {trial.measure}: best agglomerative and (k,k) at or below the printed loss"
    if not above:
        return OneRun(says, True, f"with {trial.rows:,} records, to two digits")
    worst = max(above)
    detail = f"{len(above)} of 8 above, by {worst[0]:.1%} at most ({worst[1]}); see how loss depends on n"
    return OneRun(says, False, detail)


def _gain(says: str, pairs: Sequence[tuple[float, ...]], printed: tuple[float, float]) -> OneRun:
    gains = [1 - less / more for less, more in pairs]
    held = inside([round(min(gains), 2), round(max(gains), 2)], printed)
    own = span(printed, "{:.0%}")
    return OneRun(says, held, f"{span(gains, '{:.0%}')} (the paper's own table: {own})")


def _cases(trials: Sequence[LossTrial], names: Iterable[str]) -> list[tuple[LossTrial, str, int]]:
    """Each trial with each algorithm and each place among the k."""
    listed = list(names)
    return [(trial, name, i) for trial in trials for name in listed for i in range(len(trial.ks))]


TITLE = "k-Anonymization Revisited: Table I, Figures 2 and 3"
QUICK_ROWS = 1000
SIZES, SEEDS = (1000, 2000, 5000, 10000), (1, 2, 3)  # of ART, where its size is varied
PRINTED = ", printed"  # after the name of a line that is not ours
FIGURES = {"EM": ("figure2", "bits per cell"), "LM": ("figure3", "share of the domain per cell")}


def reproduce(quick: bool, folder: Path | None, watch: Watch, kept: Keeper = NOTHING_KEPT) -> Outcome:
    """Run everything; with `quick`, ART alone and small."""
    rows = QUICK_ROWS if quick else PRINTED_ROWS
    data = {"ART": runs.art(rows)}
    skipped = [] if not quick else ["ADT and CMC, and how loss depends on n: left out by --quick"]
    for real in () if quick else (runs.ADT_TABLE, runs.CMC_TABLE):
        why = real.missing_from(folder)
        if why or folder is None:
            skipped.append(why)
        else:
            data[real.name] = real.load(folder)
    trials = []
    for name, table in data.items():
        for measure in runs.MEASURES:
            progress = watch(f"{name}, {len(table):,} records, {measure}")
            trials.append(runs.trial(name, table, measure, KS, [*runs.ALGORITHMS], progress, kept))
    found: tuple[Curve, ...] = ()
    if not quick:
        best = {each.measure: each.best for each in trials if each.data == "ART"}
        found = runs.curves(best, KS, SIZES, SEEDS, watch("ART of other sizes"))
    return outcome(trials, found, skipped, runs.art_files(rows))


def outcome(
    trials: Sequence[LossTrial], found: Sequence[Curve], skipped: Sequence[str], files: dict[str, str]
) -> Outcome:
    """Tables, statements and pictures of what was run."""
    sheets = [_table_one(trials), _every_algorithm(trials)]
    facts: dict[str, Any] = {"seed": SEED, "k": list(trials[0].ks), "trials": [*map(_facts, trials)]}
    if found:
        sheets.append(_by_size(found))
        facts["sizes"] = [curve.to_dict() for curve in found]
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
