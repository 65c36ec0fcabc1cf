"""Figures 8 to 13 of Wang, Liu, "Hiding Distinguished Ones into Crowd", EDBT 2009."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from incrowd.algorithms.outliers.expc import COMPONENTS
from incrowd.contracts import Watch
from incrowd.errors import InputError
from incrowd.reports.chart import Chart, Line
from incrowd.reproduce.nonhomogeneous.data import SEED
from incrowd.reproduce.outcome import Outcome, Sheet
from incrowd.reproduce.outliers.data import NEEDED, QUASI, Workers, load_workers
from incrowd.reproduce.outliers.findings import Panel, judge
from incrowd.reproduce.outliers.trials import (
    AS_PUBLISHED,
    EXPANSION,
    EXPC,
    GNOF,
    GOF,
    INCOGNITO,
    REMOVED,
    WHOLE,
    Ask,
    Point,
    Trials,
    compiled,
    rates,
    trials,
)

TITLE = "Hiding Distinguished Ones into Crowd: Figures 8 to 13"
PRINTED_P, PRINTED_D = "0.8", "0.85"
FEW, ALL = 5, len(QUASI)
THREE = (EXPC, GNOF, GOF)
SECONDS, RECORDS, LOSS = "processor seconds", "records in a group", "IL, sum over five quasi-identifiers"


@dataclass(frozen=True, slots=True)
class Scale:
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

    def ask(self, n: int, **other: Any) -> Ask:
        return replace(Ask(n, FEW, self.p, self.d, self.k), **other)

    @property
    def all_columns(self) -> Ask:
        return self.ask(self.wide_n, columns=ALL, d=self.wide)

    def asked(self) -> list[tuple[str, Ask]]:
        """Every point of every figure, and what is in none."""
        names = (*THREE, REMOVED, INCOGNITO)
        found = [(name, self.ask(n)) for n in self.sizes for name in names]
        found += [(EXPC, self.ask(self.n, k=k, d=d)) for d in self.ds for k in self.ks]
        found += [(EXPC, self.ask(self.n, k=k, p=p)) for p in self.ps for k in self.ks]
        return found + self.others()

    def others(self) -> list[tuple[str, Ask]]:
        """Points beside the figures: the setting as printed, all quasi-identifiers, other forms of ExpC."""
        found = [(EXPC, self.ask(self.whole_n, d=PRINTED_D)), (EXPC, self.ask(self.whole_n))]
        found += [(WHOLE, self.ask(self.whole_n)), (AS_PUBLISHED, self.ask(self.whole_n))]
        if self.wide_n:
            found += [(name, self.all_columns) for name in (*THREE, REMOVED, INCOGNITO)]
        return found

    def rated(self) -> tuple[Ask, ...]:
        """Where it is counted who stands out."""
        found = [self.ask(self.n, d=d) for d in sorted({PRINTED_D, *self.ds}, key=float)]
        found += [self.ask(self.n, p=p) for p in self.ps]
        if self.wide_n:
            found += [self.ask(self.wide_n, columns=ALL, d=d) for d in (PRINTED_D, self.wide)]
        return tuple(dict.fromkeys(found))


FULL = Scale(
    (10_000, 20_000, 30_000, 40_000, 50_000, 100_000),
    10_000,
    (5, 10, 15, 20),
    ("1.1", "1.15", "1.2", "1.3"),
    ("0.75", "0.8", "0.85", "0.9"),
    5000,
    1000,
)
QUICK = Scale((1000, 2000, 3000), 2000, (5, 15), ("1.1", "1.2"), ("0.8", "0.9"), 0, 200)


def reproduce(quick: bool, folder: Path | None, watch: Watch) -> Outcome:
    """Run all figures.

    Raises
    ------
    InputError
        If the census or one of its hierarchies is not there: the paper has no other table.
    """
    missing = [why for stored in NEEDED if (why := stored.missing_from(folder))]
    if folder is None or missing:
        raise InputError(f"outliers needs a real table; {missing[0]}")
    watch("read the census")
    skipped = [f"more than {QUICK.sizes[-1]:,} people, and most points: left out by --quick"] if quick else []
    return run(load_workers(folder), QUICK if quick else FULL, skipped, watch)


def run(people: Workers, scale: Scale, skipped: Sequence[str], watch: Watch) -> Outcome:
    """Every point, every table and picture of them, every statement."""
    told = watch("find out who stands out")
    standing = rates(people, scale.rated())
    told(1.0)
    compiled(people, scale.ask(min(scale.whole_n, 200)))
    found = trials(people, scale.asked(), watch("group people in every way"))
    return outcome(found, standing, scale, skipped)


def outcome(found: Trials, standing: Mapping[Ask, float], scale: Scale, skipped: Sequence[str]) -> Outcome:
    """Tables, statements and pictures of what was run."""
    pictures = tuple(panels(found, scale))
    residue = {name: tuple(found[name, scale.ask(n)].residue / n for n in scale.sizes) for name in THREE}
    facts = {
        "seed": SEED,
        "standing": [{**_told(ask), "share": share} for ask, share in standing.items()],
        "points": [{"approach": name, **_told(ask), **_facts(point)} for (name, ask), point in found.items()],
        "figures": [panel.as_dict() for panel in pictures],
    }
    sheets = (_over_n(found, scale), _standing(standing), _others(found, scale), *map(_sheet, pictures))
    charts = {f"figure{panel.name}.svg": _chart(panel) for panel in pictures}
    return Outcome("outliers", TITLE, sheets, judge(pictures, residue), facts, charts, skipped=tuple(skipped))


def panels(found: Trials, scale: Scale) -> Iterator[Panel]:
    """Every picture."""

    def over_n(name: str, says: str, unit: str, names: Sequence[str], of: Callable[[Point], float]) -> Panel:
        lines = {each: tuple(of(found[each, scale.ask(n)]) for n in scale.sizes) for each in names}
        return Panel(name, f"Figure {name}: {says}", "n", scale.sizes, unit, lines)

    def over_k(name: str, says: str, unit: str, field: str, of: Callable[[Point], float]) -> Panel:
        values = scale.ps if field == "p" else scale.ds
        lines = {
            f"{field} = {value}": tuple(
                of(found[EXPC, scale.ask(scale.n, k=k, **{field: value})]) for k in scale.ks
            )
            for value in values
        }
        held = f"d={scale.d}" if field == "p" else f"p={scale.p}"
        return Panel(name, f"Figure {name}: {says}, {held}, n={scale.n:,}", "k", scale.ks, unit, lines)

    yield over_n("8", "all approaches", SECONDS, (*THREE, INCOGNITO), lambda point: point.total)
    for letter, name in zip("abc", THREE, strict=True):
        lines = {
            part: tuple(found[name, scale.ask(n)].seconds[part] for n in scale.sizes) for part in COMPONENTS
        }
        yield Panel(f"9{letter}", f"Figure 9{letter}: components of {name}", "n", scale.sizes, SECONDS, lines)
    yield over_n("10", "expansion", SECONDS, THREE, lambda point: point.seconds[EXPANSION])
    yield over_n("11", "mean group", RECORDS, THREE, lambda point: point.size)
    yield over_k("12a", "ExpC", SECONDS, "d", lambda point: point.total)
    yield over_k("12b", "ExpC", SECONDS, "p", lambda point: point.total)
    yield over_n("13a", "loss", LOSS, (*THREE, REMOVED), lambda point: point.loss)
    yield over_k("13b", "loss of ExpC", LOSS, "p", lambda point: point.loss)
    yield over_k("13c", "loss of ExpC", LOSS, "d", lambda point: point.loss)


def _told(ask: Ask) -> dict[str, Any]:
    return {"n": ask.n, "columns": ask.columns, "p": ask.p, "d": ask.d, "k": ask.k}


def _facts(point: Point) -> dict[str, Any]:
    names = ("groups", "size", "residue", "suppressed", "removed", "loss", "zero")
    return {"seconds": dict(point.seconds), **{name: getattr(point, name) for name in names}}


_HEADER = ("seconds", "groups", "mean", "residue", "no row", "removed", "IL", "IL, zero-based")


def _row(point: Point) -> tuple[str, ...]:
    if not point.groups:
        return (f"{point.total:.2f}", *([""] * 7))
    counts = (point.residue, point.suppressed, point.removed)
    return (
        f"{point.total:.2f}",
        f"{point.groups:,}",
        f"{point.size:.1f}",
        *(f"{count:,}" for count in counts),
        f"{point.loss:.3f}",
        f"{point.zero:.3f}",
    )


def _over_n(found: Trials, scale: Scale) -> Sheet:
    names = (*THREE, REMOVED, INCOGNITO)
    rows = [(f"{n:,}", name, *_row(found[name, scale.ask(n)])) for n in scale.sizes for name in names]
    about = (
        f"Five quasi-identifiers, p={scale.p}, d={scale.d}, k={scale.k}. Those whom no group could hide have "
        f"no row; they cost {FEW} each, as do those who are removed."
    )
    return Sheet("All approaches over n", ("n", "", *_HEADER), tuple(rows), about)


def _standing(standing: Mapping[Ask, float]) -> Sheet:
    rows = [(f"{ask.columns}", f"{ask.n:,}", ask.p, ask.d, f"{share:.2%}") for ask, share in standing.items()]
    about = f"The paper has p={PRINTED_P} and d={PRINTED_D} over nine columns."
    return Sheet("Who stands out", ("quasi-identifiers", "n", "p", "d", "outliers"), tuple(rows), about)


def _others(found: Trials, scale: Scale) -> Sheet:
    rows = [
        (name, f"{ask.columns}", f"{ask.n:,}", ask.d, *_row(found[name, ask])) for name, ask in scale.others()
    ]
    about = (
        "The setting as printed; ExpC without limits of tries, and as it is published; all quasi-identifiers."
    )
    header = ("", "quasi-identifiers", "n", "d", *_HEADER)
    return Sheet("Beside the figures", header, tuple(rows), about)


def _sheet(panel: Panel) -> Sheet:
    rows = [(name, *(f"{value:.3g}" for value in line)) for name, line in panel.lines.items()]
    header = (panel.over, *(f"{value:,}" for value in panel.values))
    return Sheet(panel.title, header, tuple(rows), panel.unit + ".")


def _chart(panel: Panel) -> Chart:
    lines = [
        Line(name, tuple(zip(map(float, panel.values), line, strict=True)), look)
        for look, (name, line) in enumerate(panel.lines.items())
    ]
    return Chart(panel.title, panel.over, panel.unit, tuple(lines))
