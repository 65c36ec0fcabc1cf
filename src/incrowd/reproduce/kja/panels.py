"""What the figures of "k-Anonymity in the Presence of External Databases" show, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from incrowd.reproduce.kja.trials import MONDRIAN, RENTERS_TABLE, TOPDOWN, UNI, JoinPoint
from incrowd.reproduce.samples import Points, ratio

NCP, DM, ERROR, TIME = "NCP", "DM", "ARE", "seconds"  # what a figure shows
RATIO, RANGE = "ratio", "|R|"
RENTERS = RENTERS_TABLE.name
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
class Panel:
    """A part of a figure: which base on which table it shows, and each line by the value it is `over`."""

    name: str
    over: str
    lines: Mapping[str, Points]

    @property
    def number(self) -> int:
        """Of the whole figure, of which this is a part."""
        return int(self.name[:-1])

    @property
    def data(self) -> str:
        return FIGURES[self.number][0]

    @property
    def base(self) -> str:
        return FIGURES[self.number][1]

    @property
    def shows(self) -> str:
        return FIGURES[self.number][2]

    def line(self, way: str = "") -> Points:
        """Of DIR, REF, or the conventional way."""
        return self.lines[self.base + way]

    @property
    def joined(self) -> Mapping[str, Points]:
        """The lines of k-join-anonymity, which are one if people are counted."""
        return {name: line for name, line in self.lines.items() if name != self.base}

    def shares(self, line: Points, other: Points) -> Points:
        """Which share of another line a line is, where the public table has somebody else."""
        return {at: each for at, each in ratio(line, other).items() if at != f"{RATIO}=1"}

    def gains(self, line: Points) -> Points:
        """How many times below the conventional way a line lies."""
        return self.shares(self.line(), line)


@dataclass(frozen=True, slots=True)
class JoinFound:
    """All that was run: parts of figures, and what was run besides them: every way, sample by sample."""

    panels: Mapping[str, Panel]
    default: Mapping[str, Sequence[JoinPoint]]
    printed: Mapping[int, Mapping[str, Sequence[JoinPoint]]]  # TopDown as printed, by ratio
