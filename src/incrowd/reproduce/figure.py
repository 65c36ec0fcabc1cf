"""A figure of a paper: lines over one parameter, with their table, their chart and their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from incrowd.reports.chart import Chart, ChartLine
from incrowd.reproduce.outcome import Sheet, Statement


@dataclass(frozen=True, slots=True)
class Figure:
    """Lines over values of one parameter, all of one unit; `axis` is what stands below the chart."""

    name: str
    title: str
    over: str
    values: tuple[int, ...]
    unit: str
    lines: Mapping[str, tuple[float, ...]]
    axis: str = ""

    def states(self, says: str, held: bool, detail: str) -> Statement:
        """Something that the paper says of this figure."""
        return Statement(f"Figure {self.name}: {says}", held, detail)

    def sheet(self, form: str = ".3g", about: str = "") -> Sheet:
        """A row for each line."""
        rows = [(name, *(format(value, form) for value in line)) for name, line in self.lines.items()]
        return Sheet(self.title, (self.over, *(f"{value:,}" for value in self.values)), tuple(rows), about)

    def chart(self, looks: Sequence[str] = (), theirs: str = "") -> Chart:
        """Lines in the order of `looks`; a name that ends in `theirs` has the look of the rest, dashed.

        Examples
        --------
        >>> figure = Figure("1", "Loss", "k", (5, 10), "bits", {"NH": (1, 2), "NH printed": (2, 3)})
        >>> [(line.look, line.ours) for line in figure.chart(theirs=" printed").lines]
        [(0, True), (0, False)]
        """
        plain = {name: name.removesuffix(theirs) for name in self.lines}
        order = looks or [*dict.fromkeys(plain.values())]
        lines = [
            ChartLine(
                name,
                tuple(zip(map(float, self.values), line, strict=True)),
                order.index(plain[name]),
                plain[name] == name,
            )
            for name, line in self.lines.items()
        ]
        return Chart(self.title, self.axis or self.over, self.unit, tuple(lines))

    def as_dict(self, *more: str) -> dict[str, Any]:
        """The numbers, with further fields by name."""
        return {
            "figure": self.name,
            **{name: getattr(self, name) for name in more},
            "over": self.over,
            "values": list(self.values),
            "lines": {name: list(line) for name, line in self.lines.items()},
        }
