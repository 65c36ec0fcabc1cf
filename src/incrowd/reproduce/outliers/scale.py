"""What is run for Figures 8 to 13, and what came of it, sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from incrowd.reproduce.outliers import trials as approaches
from incrowd.reproduce.outliers.trials import EXPC, GNOF, GOF, RANKS, WIDTHS, GroupingPoint, OutlierSetting
from incrowd.reproduce.samples import Samples

PRINTED_P, PRINTED_D = "0.8", "0.85"
FEW, ALL = 5, len(approaches.QUASI)
RIVALS = (GNOF, GOF)
THREE = (EXPC, *RIVALS)
FIVE = (*THREE, approaches.REMOVED, approaches.INCOGNITO)
Of = Callable[[GroupingPoint], float]
Asked = tuple[str, OutlierSetting]


@dataclass(frozen=True, slots=True)
class OutlierScale:
    """How much is run, on so many `samples`: sizes of Figures 8 to 11, then rows, k, d and p of 12 and 13.

    Up to `unlimited` rows approaches try all that the paper tries. `d` is where about two of a hundred are
    outliers, the other of `ds` where about six and one are; `widths` are the same for salaries in classes of
    equal width, tried with `around` rows. `wide` is for all quasi-identifiers, with `wide_n` rows (0: not
    run), `printed_n` are the rows for p and d as printed, and for ExpC as it is published.
    """

    sizes: tuple[int, ...]
    unlimited: int
    around: int
    n: int
    ks: tuple[int, ...]
    ds: tuple[str, ...]
    ps: tuple[str, ...]
    widths: tuple[str, ...]
    wide_n: int
    printed_n: int
    samples: int = 5
    p: str = PRINTED_P
    d: str = "1.15"
    wide: str = "1.4"
    k: int = 15

    def ask(self, n: int, **other: Any) -> OutlierSetting:
        asked = OutlierSetting(n, FEW, self.p, self.d, self.k, limited=n > self.unlimited)
        return replace(asked, **other)

    def each(self, setting: OutlierSetting) -> list[OutlierSetting]:
        """The same for every sample."""
        return [replace(setting, sample=sample) for sample in range(self.samples)]

    def growing(self) -> tuple[int, ...]:
        """The sizes that are all run in one way, to see what grows with n."""
        return tuple(n for n in self.sizes if n > self.unlimited)

    def places(self) -> dict[str, OutlierSetting]:
        """Where approaches are compared, by name: every size, other rates of outliers, the other coding."""
        found = {f"n={n:,}": self.ask(n) for n in self.sizes}
        settings = [(RANKS, d) for d in self.ds if d != self.d] + [(WIDTHS, d) for d in self.widths]
        for coding, d in settings:
            found[f"n={self.around:,}, {coding}, d={d}"] = self.ask(self.around, coding=coding, d=d)
        return found

    def lines(self, letter: str) -> dict[str, list[OutlierSetting]]:
        """Of Figures 12 and 13: for each p or d the settings over k."""
        values = self.ps if letter == "p" else self.ds
        return {f"{letter}={v}": [self.ask(self.n, k=k, **{letter: v}) for k in self.ks] for v in values}

    def asked(self) -> list[Asked]:
        """Every point of every figure, and what is in none; what is quick first."""
        found = [(name, at) for at in self.places().values() for name in FIVE]
        for letter in "dp":
            found += [(EXPC, at) for line in self.lines(letter).values() for at in line]
        found = [(name, at) for name, setting in found for at in self.each(setting)]
        found.sort(key=lambda each: (each[1].n, each[1].coding, each[1].sample))
        return found + self.others()

    def others(self) -> list[Asked]:
        """Points beside the figures, on one sample: as printed, as published, all quasi-identifiers."""
        found = [(EXPC, self.ask(self.printed_n, d=PRINTED_D)), (EXPC, self.ask(self.printed_n))]
        found += [(approaches.AS_PUBLISHED, self.ask(self.printed_n))]
        if self.wide_n:
            wide = self.ask(self.wide_n, columns=ALL, d=self.wide, limited=True)
            found += [(name, wide) for name in FIVE]
        return found

    def rated(self) -> tuple[OutlierSetting, ...]:
        """Where outliers are counted."""
        found = [self.ask(self.around, d=d) for d in (PRINTED_D, *self.ds)]
        found += [self.ask(self.around, d=d, coding=WIDTHS) for d in (PRINTED_D, *self.widths)]
        found += [self.ask(self.around, p=p) for p in self.ps]
        if self.wide_n:
            found += [self.ask(self.wide_n, columns=ALL, d=d) for d in (PRINTED_D, self.wide)]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredPoints:
    """All points that were run."""

    scale: OutlierScale
    points: Mapping[Asked, GroupingPoint]

    def samples(self, name: str, setting: OutlierSetting, of: Of) -> Samples:
        """One number for each sample."""
        return [of(self.points[name, at]) for at in self.scale.each(setting)]

    def over(self, name: str, of: Of, sizes: Sequence[int] = ()) -> dict[str, Samples]:
        """By place; of some sizes alone, if any are named."""
        places = self.scale.places()
        named = [f"n={n:,}" for n in sizes] or [*places]
        return {place: self.samples(name, places[place], of) for place in named}

    def over_k(self, line: Sequence[OutlierSetting], of: Of) -> dict[str, Samples]:
        """Of ExpC, by k."""
        return {f"k={at.k}": self.samples(EXPC, at, of) for at in line}


SIZES = (1000, 2000, 5000, 10_000, 20_000, 50_000)
FULL = OutlierScale(
    sizes=SIZES,
    unlimited=5000,
    around=10_000,
    n=50_000,
    ks=(5, 10, 15),
    ds=("1.1", "1.15", "1.2"),
    ps=("0.75", "0.8", "0.85"),
    widths=("1.05", "1.1", "1.15"),
    wide_n=5000,
    printed_n=1000,
)
QUICK = OutlierScale(
    sizes=(200, 600, 1200),
    unlimited=200,
    around=600,
    n=600,
    ks=(3, 5),
    ds=("1.15", "1.2"),
    ps=("0.8", "0.85"),
    widths=("1.1",),
    wide_n=0,
    printed_n=200,
    k=5,
)
