"""What a reproduction found: figures, tables, statements that held or did not; as JSON and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from incrowd.reports.chart import Chart, ChartLine


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that the paper says, whether it held here, and by which numbers."""

    says: str
    held: bool
    detail: str

    @property
    def word(self) -> str:
        return "held" if self.held else "NOT HELD"

    def to_dict(self) -> dict[str, Any]:
        return {"says": self.says, "held": self.held, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of texts, with a sentence on how to read it."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    about: str = ""

    def markdown(self) -> str:
        lines = [f"## {self.title}", "", *([self.about, ""] if self.about else []), _row(self.header)]
        return "\n".join([*lines, _row(["---"] * len(self.header)), *map(_row, self.rows), ""])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


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

    def to_dict(self, *more: str) -> dict[str, Any]:
        """The numbers, with further fields by name."""
        return {
            "figure": self.name,
            **{name: getattr(self, name) for name in more},
            "over": self.over,
            "values": list(self.values),
            "lines": {name: list(line) for name, line in self.lines.items()},
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that came of one paper.

    The first of the `sheets` is the paper's own table; `facts` are the numbers behind all of them, `charts`
    and `files` further files by name.
    """

    name: str
    title: str
    sheets: tuple[Sheet, ...]
    statements: tuple[Statement, ...]
    facts: Mapping[str, Any]
    charts: Mapping[str, Chart] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "paper": self.name,
            "title": self.title,
            **self.facts,
            "statements": [statement.to_dict() for statement in self.statements],
            "skipped": list(self.skipped),
        }

    def markdown(self) -> str:
        """Everything as one page; pictures are beside it."""
        lines = [f"# {self.title}", ""]
        lines += [f"Skipped: {why}." for why in self.skipped] + [""] * bool(self.skipped)
        lines += [self.sheets[0].markdown(), "## Statements of the paper", "", _row(("", "says", "found"))]
        lines += [_row(["---"] * 3), *(_row((s.word, s.says, s.detail)) for s in self.statements), ""]
        lines += [sheet.markdown() for sheet in self.sheets[1:]]
        pictures = [f"![{chart.title}]({name})" for name, chart in self.charts.items()]
        return "\n".join([*lines, *pictures]).rstrip() + "\n"
