"""What a reproduction found: figures, tables, statements that held or did not; written as files."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from incrowd.errors import InputError, Refused
from incrowd.reports.chart import Chart, ChartLine
from incrowd.reproduce.judging import Statement, summary
from incrowd.reproduce.samples import MeanOfSamples, Samples

PREFIX = ".incrowd-reproduce-"


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of texts, with a sentence on how to read it."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    about: str = ""

    def markdown(self) -> str:
        lines = [f"## {self.title}", "", *([self.about, ""] if self.about else [])]
        table = (self.header, ["---"] * len(self.header), *self.rows)
        return "\n".join([*lines, *map(markdown_row, table), ""])


def markdown_row(cells: Sequence[str]) -> str:
    """A row of a table in Markdown."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


@dataclass(frozen=True, slots=True)
class Figure:
    """Lines over values of one parameter, all of one unit; `axis` is what stands below the chart.

    `bands` are the intervals of lines that are means over samples: a low and a high end for each value.
    """

    name: str
    title: str
    over: str
    values: tuple[int, ...]
    unit: str
    lines: Mapping[str, tuple[float, ...]]
    axis: str = ""
    bands: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)

    @classmethod
    def of_samples(
        cls,
        name: str,
        title: str,
        over: str,
        unit: str,
        lines: Mapping[str, Mapping[int, Samples]],
        axis: str,
    ) -> Figure:
        """Each line by value, a number for each sample: the mean and its interval of 95 %."""
        found = {line: [MeanOfSamples.of("", each) for each in by.values()] for line, by in lines.items()}
        return cls(
            name,
            title,
            over,
            tuple(next(iter(lines.values()))),
            unit,
            {line: tuple(each.mean for each in some) for line, some in found.items()},
            axis,
            {line: tuple(_ends(each) for each in some) for line, some in found.items()},
        )

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
                self.bands.get(name, ()),
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
            **(
                {"bands": {name: list(map(list, band)) for name, band in self.bands.items()}}
                if self.bands
                else {}
            ),
        }


def _ends(found: MeanOfSamples) -> tuple[float, float]:
    """Of a band; what cannot be negative is not drawn so."""
    if not isfinite(found.low):
        return found.mean, found.mean
    return max(found.low, min(found.mean, 0.0)), found.high


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
        header = ("verdict", "section", "the paper says", "printed", "found")
        lines += [
            self.sheets[0].markdown(),
            "## Statements of the paper",
            "",
            summary(self.statements),
            "",
            markdown_row(header),
            markdown_row(["---"] * len(header)),
            *map(_row, self.statements),
            "",
        ]
        lines += [sheet.markdown() for sheet in self.sheets[1:]]
        pictures = [f"![{chart.title}]({name})" for name, chart in self.charts.items()]
        return "\n".join([*lines, *pictures]).rstrip() + "\n"


def _row(each: Statement) -> str:
    return markdown_row((each.word, each.section, each.claimed, each.printed_words, each.detail))


# Writing into a folder of its own, which appears complete or not at all


def check_destination(folder: Path, name: str, replace: bool) -> None:
    """Refuse a bad destination before minutes of work: nothing but an outcome of this paper is replaced."""
    if folder.name in ("", "..") or "\0" in str(folder):
        raise InputError("the results need a folder of their own; name a new one")
    if not folder.parent.is_dir():
        raise InputError(f"the folder {folder.parent} does not exist; create it first")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder} exists and is no folder; name a new one")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / f"{name}.json").is_file():
        raise InputError(f"{folder} exists and holds no results of {name}; it is not replaced")
    if not replace:
        raise InputError(f"{folder} exists; name a new folder, or replace it with --replace")


def files_of(outcome: Outcome) -> dict[str, str]:
    """Every file by its name."""
    return {
        f"{outcome.name}.json": json.dumps(outcome.to_dict(), indent=2, ensure_ascii=False) + "\n",
        f"{outcome.name}.md": outcome.markdown(),
        **{name: chart.svg() for name, chart in outcome.charts.items()},
        **outcome.files,
    }


def write(name: str, files: Mapping[str, str], folder: Path, replace: bool = False) -> None:
    """Write files beside their destination, then give the folder its name if nothing else came there."""
    check_destination(folder, name, replace)
    try:
        with tempfile.TemporaryDirectory("", PREFIX, folder.parent, ignore_cleanup_errors=True) as home:
            new = Path(home, "new")
            new.mkdir()
            for place, text in files.items():
                (new / place).parent.mkdir(exist_ok=True)
                (new / place).write_text(text, encoding="utf-8", newline="\n")
            _exchange(new, folder)
    except OSError as error:
        raise InputError(f"cannot write into {folder.parent}: {error.strerror}") from None


def _exchange(new: Path, folder: Path) -> None:
    """Move the old folder aside, the new one to its place; if that fails, the old one back."""
    old = new.with_name("old")
    try:
        if folder.exists():
            os.rename(folder, old)
        os.rename(new, folder)
    except BaseException as problem:
        if old.exists() and not folder.exists():
            os.rename(old, folder)
        if isinstance(problem, OSError):
            raise Refused(f"{folder} appeared while the results were made; nothing was replaced") from None
        raise
