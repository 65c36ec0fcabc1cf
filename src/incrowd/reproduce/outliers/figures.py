"""Figures 8 to 13 of Wang, Liu, "Hiding Distinguished Ones into Crowd", EDBT 2009."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from incrowd.algorithms.outliers.expc import COMPONENTS
from incrowd.contracts import Watch
from incrowd.errors import InputError
from incrowd.reproduce.figure import Figure
from incrowd.reproduce.outcome import Outcome, Sheet
from incrowd.reproduce.outliers import trials as approaches
from incrowd.reproduce.outliers.data import NEEDED, QUASI, Workers, load_workers
from incrowd.reproduce.outliers.findings import THREE, statements
from incrowd.reproduce.outliers.trials import EXPC, GroupingPoint, OutlierSetting, OutlierTrials
from incrowd.reproduce.stored import SEED

TITLE = "Hiding Distinguished Ones into Crowd: Figures 8 to 13"
PRINTED_P, PRINTED_D = "0.8", "0.85"
FEW, ALL = 5, len(QUASI)
FIVE = (*THREE, approaches.REMOVED, approaches.INCOGNITO)
SECONDS, RECORDS, LOSS = "processor seconds", "records in a group", "IL, sum over five quasi-identifiers"


@dataclass(frozen=True, slots=True)
class OutlierScale:
    """How much is run: sizes of Figures 8 to 11, then rows, k, d and p of Figures 12 and 13.

    `d` is where about two of a hundred stand out, `wide` the same for all quasi-identifiers, with `wide_n`
    rows (0: not run). `whole_n` are the rows that ExpC without limits is run with.
    """

    sizes: tuple[int, ...]
    n: int
    ks: tuple[int, ...]
    ds: tuple[str, ...]
    ps: tuple[str, ...]
    wide_n: int
    whole_n: int
    p: str = PRINTED_P
    d: str = "1.15"
    wide: str = "1.4"
    k: int = 15

    def ask(self, n: int, **other: Any) -> OutlierSetting:
        return replace(OutlierSetting(n, FEW, self.p, self.d, self.k), **other)

    def asked(self) -> list[tuple[str, OutlierSetting]]:
        """Every point of every figure, and what is in none."""
        found = [(name, self.ask(n)) for n in self.sizes for name in FIVE]
        found += [(EXPC, self.ask(self.n, k=k, d=d)) for d in self.ds for k in self.ks]
        found += [(EXPC, self.ask(self.n, k=k, p=p)) for p in self.ps for k in self.ks]
        return found + self.others()

    def others(self) -> list[tuple[str, OutlierSetting]]:
        """Points beside the figures: the setting as printed, all quasi-identifiers, other forms of ExpC."""
        found = [(EXPC, self.ask(self.whole_n, d=PRINTED_D)), (EXPC, self.ask(self.whole_n))]
        found += [(name, self.ask(self.whole_n)) for name in (approaches.WHOLE, approaches.AS_PUBLISHED)]
        if self.wide_n:
            found += [(name, self.ask(self.wide_n, columns=ALL, d=self.wide)) for name in FIVE]
        return found

    def rated(self) -> tuple[OutlierSetting, ...]:
        """Where outliers are counted."""
        found = [self.ask(self.n, d=d) for d in sorted({PRINTED_D, *self.ds}, key=float)]
        found += [self.ask(self.n, p=p) for p in self.ps]
        if self.wide_n:
            found += [self.ask(self.wide_n, columns=ALL, d=d) for d in (PRINTED_D, self.wide)]
        return tuple(dict.fromkeys(found))


_SIZES = (10_000, 20_000, 30_000, 40_000, 50_000, 100_000)
_DS, _PS = ("1.1", "1.15", "1.2", "1.3"), ("0.75", "0.8", "0.85", "0.9")
FULL = OutlierScale(_SIZES, 10_000, (5, 10, 15, 20), _DS, _PS, 5000, 1000)
QUICK = OutlierScale((1000, 2000, 3000), 2000, (5, 15), ("1.1", "1.2"), ("0.8", "0.9"), 0, 200)


def reproduce(quick: bool, folder: Path | None, watch: Watch) -> Outcome:
    """Run all figures; without the census or one of its hierarchies there is nothing to run, an error."""
    missing = [why for stored in NEEDED if (why := stored.missing_from(folder))]
    if folder is None or missing:
        raise InputError(f"outliers needs a real table; {missing[0]}")
    watch("read the census")
    skipped = [f"more than {QUICK.sizes[-1]:,} people, and most points: left out by --quick"] if quick else []
    return run(load_workers(folder), QUICK if quick else FULL, skipped, watch)


def run(people: Workers, scale: OutlierScale, skipped: Sequence[str], watch: Watch) -> Outcome:
    """Every point, every table and chart of them, every statement."""
    progress = watch("find out who stands out")
    standing = approaches.rates(people, scale.rated())
    progress(1.0)
    approaches.compile_all(people, scale.ask(min(scale.whole_n, 200)))
    found = approaches.trials(people, scale.asked(), watch("group people in every way"))
    return outcome(found, standing, scale, skipped)


def outcome(
    found: OutlierTrials,
    standing: Mapping[OutlierSetting, float],
    scale: OutlierScale,
    skipped: Sequence[str],
) -> Outcome:
    """Tables, statements and charts of what was run."""
    figures = tuple(figures_of(found, scale))
    residue = {name: tuple(found[name, scale.ask(n)].residue / n for n in scale.sizes) for name in THREE}
    facts = {
        "seed": SEED,
        "standing": [{**asdict(setting), "share": share} for setting, share in standing.items()],
        "points": [
            {"approach": name, **asdict(setting), **asdict(point)} for (name, setting), point in found.items()
        ],
        "figures": [figure.as_dict("unit") for figure in figures],
    }
    sheets = (
        _over_n(found, scale),
        _standing(standing),
        _others(found, scale),
        *(figure.sheet(about=figure.unit + ".") for figure in figures),
    )
    charts = {f"figure{figure.name}.svg": figure.chart() for figure in figures}
    held = statements(figures, residue)
    return Outcome("outliers", TITLE, sheets, held, facts, charts, skipped=tuple(skipped))


def figures_of(found: OutlierTrials, scale: OutlierScale) -> Iterator[Figure]:
    """Every figure."""
    Of = Callable[[GroupingPoint], float]

    def over_n(name: str, says: str, unit: str, lines: Mapping[str, tuple[str, Of]]) -> Figure:
        """Each line is what is shown of an approach."""
        made = {
            line: tuple(of(found[approach, scale.ask(n)]) for n in scale.sizes)
            for line, (approach, of) in lines.items()
        }
        return Figure(name, f"Figure {name}: {says}", "n", scale.sizes, unit, made)

    def over_k(name: str, says: str, unit: str, field: str, of: Of) -> Figure:
        lines = {}
        for value in scale.ps if field == "p" else scale.ds:
            settings = [scale.ask(scale.n, k=k, **{field: value}) for k in scale.ks]
            lines[f"{field} = {value}"] = tuple(of(found[EXPC, setting]) for setting in settings)
        fixed = f"d={scale.d}" if field == "p" else f"p={scale.p}"
        return Figure(name, f"Figure {name}: {says}, {fixed}, n={scale.n:,}", "k", scale.ks, unit, lines)

    def each(names: Sequence[str], of: Of) -> dict[str, tuple[str, Of]]:
        return {name: (name, of) for name in names}

    time, loss = attrgetter("total"), attrgetter("loss")
    parts = {part: partial(_component, part) for part in COMPONENTS}
    yield over_n("8", "all approaches", SECONDS, each((*THREE, approaches.INCOGNITO), time))
    for letter, name in zip("abc", THREE, strict=True):
        lines = {part: (name, of) for part, of in parts.items()}
        yield over_n(f"9{letter}", f"components of {name}", SECONDS, lines)
    yield over_n("10", "expansion", SECONDS, each(THREE, parts[approaches.EXPANSION]))
    yield over_n("11", "mean group", RECORDS, each(THREE, attrgetter("size")))
    yield over_k("12a", "ExpC", SECONDS, "d", time)
    yield over_k("12b", "ExpC", SECONDS, "p", time)
    yield over_n("13a", "loss", LOSS, each((*THREE, approaches.REMOVED), loss))
    yield over_k("13b", "loss of ExpC", LOSS, "p", loss)
    yield over_k("13c", "loss of ExpC", LOSS, "d", loss)


def _component(part: str, point: GroupingPoint) -> float:
    return point.seconds[part]


_HEADER = ("seconds", "groups", "mean", "residue", "no row", "removed", "IL", "IL, zero-based")


def _row(point: GroupingPoint) -> tuple[str, ...]:
    if not point.groups:
        return (f"{point.total:.2f}", *([""] * 7))
    counts = (f"{count:,}" for count in (point.residue, point.suppressed, point.removed))
    lost = (f"{point.loss:.3f}", f"{point.zero:.3f}")
    return (f"{point.total:.2f}", f"{point.groups:,}", f"{point.size:.1f}", *counts, *lost)


def _over_n(found: OutlierTrials, scale: OutlierScale) -> Sheet:
    rows = [(f"{n:,}", name, *_row(found[name, scale.ask(n)])) for n in scale.sizes for name in FIVE]
    about = (
        f"Five quasi-identifiers, p={scale.p}, d={scale.d}, k={scale.k}. Those whom no group could hide have "
        f"no row; they cost {FEW} each, as do those who are removed."
    )
    return Sheet("All approaches over n", ("n", "", *_HEADER), tuple(rows), about)


def _standing(standing: Mapping[OutlierSetting, float]) -> Sheet:
    rows = [(f"{at.columns}", f"{at.n:,}", at.p, at.d, f"{share:.2%}") for at, share in standing.items()]
    about = f"The paper has p={PRINTED_P} and d={PRINTED_D} over nine columns."
    return Sheet("Who stands out", ("quasi-identifiers", "n", "p", "d", "outliers"), tuple(rows), about)


def _others(found: OutlierTrials, scale: OutlierScale) -> Sheet:
    rows = [(name, f"{at.columns}", f"{at.n:,}", at.d, *_row(found[name, at])) for name, at in scale.others()]
    about = (
        "The setting as printed; ExpC without limits of tries, and as it is published; all quasi-identifiers."
    )
    return Sheet("Beside the figures", ("", "quasi-identifiers", "n", "d", *_HEADER), tuple(rows), about)
