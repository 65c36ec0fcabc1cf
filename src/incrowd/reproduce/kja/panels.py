"""Figures 10 to 19 of "k-Anonymity in the Presence of External Databases": which point stands where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from incrowd.reproduce.kja.data import RENTERS_TABLE, UNI
from incrowd.reproduce.kja.trials import DIR, MONDRIAN, REF, TOPDOWN, Point, Setting, Trials

RENTERS = RENTERS_TABLE.name
NCP, DM, ERROR, TIME = "NCP", "DM", "ARE", "seconds"  # what a figure shows
RATIO, RANGE = "ratio", "|R|"
FIELDS = {RATIO: "ratio", "k": "k", "d": "d"}
DEFAULT_RANGE = 10
FIGURES = {
    10: (RENTERS, MONDRIAN, NCP),
    11: (RENTERS, MONDRIAN, DM),
    12: (RENTERS, TOPDOWN, NCP),
    13: (RENTERS, TOPDOWN, DM),
    14: (RENTERS, MONDRIAN, ERROR),
    15: (RENTERS, TOPDOWN, ERROR),
    16: (UNI, MONDRIAN, NCP),
    17: (UNI, TOPDOWN, NCP),
    18: (RENTERS, MONDRIAN, TIME),
    19: (RENTERS, TOPDOWN, TIME),
}


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of a table is run: people of the private table, seeds of samples, values of each parameter."""

    people: int
    seeds: tuple[int, ...]
    ratios: tuple[int, ...]
    ks: tuple[int, ...]
    ds: tuple[int, ...]
    ranges: tuple[int, ...]
    k: int = 50
    d: int = 4

    @property
    def default(self) -> Setting:
        """The largest ratio that there is, and what the paper fixes."""
        return Setting(self.ratios[-1], self.k, self.d)

    def values(self, over: str) -> tuple[int, ...]:
        return {RATIO: self.ratios, "k": self.ks, "d": self.ds, RANGE: self.ranges}[over]

    def setting(self, over: str, value: int) -> Setting:
        return replace(self.default, **{FIELDS[over]: value}) if over in FIELDS else self.default

    def settings(self, counting: bool) -> dict[Setting, tuple[int, ...]]:
        """Every point of every figure once, with the sizes of queries that are asked there."""
        asked: dict[Setting, tuple[int, ...]] = {}
        for over in (RATIO, "k", "d"):
            for value in self.values(over):
                asked[self.setting(over, value)] = (DEFAULT_RANGE,) if counting and over != "d" else ()
        return asked | {self.default: tuple(sorted({*self.ranges, DEFAULT_RANGE})) if counting else ()}


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture: what is shown of which base on which table, and each line over the values."""

    number: int
    letter: str
    source: str
    base: str
    shows: str
    over: str
    values: tuple[int, ...]
    lines: Mapping[str, tuple[float, ...]]

    @property
    def name(self) -> str:
        return f"{self.number}{self.letter}"

    @property
    def title(self) -> str:
        return f"Figure {self.name}: {self.base}, {self.source}, {self.shows}"

    @property
    def plain(self) -> tuple[float, ...]:
        """The line of the conventional way."""
        return self.lines[self.base]

    @property
    def direct(self) -> tuple[float, ...]:
        return self.lines[self.base + DIR]

    @property
    def refined(self) -> tuple[float, ...]:
        return self.lines[self.base + REF]

    @property
    def joined(self) -> dict[str, tuple[float, ...]]:
        """The lines of k-join-anonymity, which are one if people are counted."""
        return {name: line for name, line in self.lines.items() if name != self.base}

    def as_dict(self) -> dict[str, Any]:
        return {
            "figure": self.name,
            "data": self.source,
            "base": self.base,
            "shows": self.shows,
            "over": self.over,
            "values": list(self.values),
            "lines": {name: list(line) for name, line in self.lines.items()},
        }


def panels(found: Trials, scales: Mapping[str, Scale]) -> tuple[Panel, ...]:
    """Every picture of tables that were run."""
    return tuple(
        panel
        for number, (source, base, shows) in FIGURES.items()
        if source in scales
        for panel in _of_figure(number, (source, base, shows), found, scales[source])
    )


def _of_figure(number: int, what: tuple[str, str, str], found: Trials, scale: Scale) -> Iterator[Panel]:
    source, base, shows = what
    overs = (RATIO, "k", RANGE) if shows == ERROR else (RATIO, "k", "d")
    names = (base, base + REF) if shows == ERROR else (base, base + DIR, base + REF)
    for letter, over in zip("abc", overs, strict=True):
        values = scale.values(over)
        lines = {
            name: tuple(
                shown(found[source, scale.setting(over, value)][name], shows, value if over == RANGE else 0)
                for value in values
            )
            for name in names
        }
        yield Panel(number, letter, source, base, shows, over, values, lines)


def shown(point: Point, shows: str, asked: int = 0) -> float:
    """What a figure shows of a point; of errors those of queries of the default size, or of `asked`."""
    if shows == ERROR:
        return point.errors[asked or DEFAULT_RANGE]
    return {NCP: point.ncp, DM: point.dm, TIME: point.seconds}[shows]
