"""What a paper's example is told with: steps of words and tables, made by runs of the program."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from incrowd import tables
from incrowd.commands.verify import verify
from incrowd.errors import NotVerified
from incrowd.flow import Table
from incrowd.graph.components import Components, components
from incrowd.graph.consistency import Graph, consistency
from incrowd.graph.posterior import posterior
from incrowd.policy import Policy
from incrowd.publishing.pipeline import WrittenRelease, publish_to
from incrowd.release.folder import ReleaseFolder
from incrowd.results import Result

Rows = Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A few rows, as the terminal shows them."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, header: Sequence[str], rows: Rows) -> ShownTable:
        return cls(tuple(header), tuple(tuple(map(str, row)) for row in rows))

    @classmethod
    def sorted(cls, table: Table, header: Sequence[str] = ()) -> ShownTable:
        """Published rows, whose own order is random, in an order that is easy to read."""
        header = header or table.names
        columns = [table.column(name).rows() for name in header]
        return cls.of(header, sorted(zip(*columns, strict=True), key=str))


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what it is about, sentences, perhaps a table, and the command that does the same."""

    title: str
    says: tuple[str, ...]
    table: ShownTable | None = None
    command: str = ""

    def to_dict(self) -> dict[str, Any]:
        shown = None if self.table is None else {"header": self.table.header, "rows": self.table.rows}
        return {"title": self.title, "says": list(self.says), "table": shown, "command": self.command}


@dataclass(frozen=True, repr=False)
class Story(Result):
    """A paper's example from the table to what an adversary gets; `source` says whose paper it is."""

    paper: str
    title: str
    source: str
    steps: tuple[Step, ...]

    def headline(self) -> str:
        return f"{self.title}: {len(self.steps)} steps"

    def to_dict(self) -> dict[str, Any]:
        return {
            "paper": self.paper,
            "title": self.title,
            "source": self.source,
            "steps": [step.to_dict() for step in self.steps],
        }


Telling = Callable[["Stage"], Iterator[Step]]


@dataclass(frozen=True, eq=False)
class Shown:
    """A release of the example: what it is, its rows, and who fits which of them."""

    release: WrittenRelease
    folder: ReleaseFolder
    command: str

    @property
    def rows(self) -> Table:
        return self.folder.rows

    @property
    def facts(self) -> dict[str, Any]:
        return dict(self.release.verdict.facts)

    def loss(self, measure: str) -> float:
        return float(self.release.loss()[measure])

    def graph(self) -> Graph:
        """Which record fits which row."""
        return consistency(self.folder.shown, self.folder.data)

    def fitting(self) -> list[list[int]]:
        """The published rows that each record fits."""
        graph = self.graph()
        of_row = [np.flatnonzero(graph.row_of == v) for v in range(graph.row_weight.size)]
        found = []
        for u in graph.record_of.tolist():
            kinds = graph.indices[graph.indptr[u] : graph.indptr[u + 1]].tolist()
            found.append(sorted(int(row) for v in kinds for row in of_row[v]))
        return found

    def components(self) -> Components:
        return components(self.graph())

    @property
    def drawn(self) -> str:
        """The largest probability of a match of the assignment that was drawn."""
        return str(self.release.manifest["match_probability"]["drawn"])

    def worst_match(self) -> str:
        """The largest probability of a match if every assignment is as likely as another."""
        return str(posterior(self.graph()).worst)


@dataclass(frozen=True)
class Stage:
    """The folder in which an example is played."""

    home: Path

    def table(self, name: str, header: Sequence[str], rows: Rows) -> ShownTable:
        """Write a table, and show it."""
        with (self.home / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)
        return ShownTable.of(header, rows)

    def publish(self, source: str, name: str, policy: str) -> Shown:
        """Publish by a policy, whose text is kept, and verify the release once more from its files."""
        (self.home / f"{name}.toml").write_text(policy.lstrip(), encoding="utf-8", newline="\n")
        original, folder = self.home / source, self.home / name
        request = Policy.load(self.home / f"{name}.toml")
        made = publish_to(original, request, folder)
        if not verify(folder, original, request).passed:
            raise NotVerified(f"the release of {source} does not hold")
        opened = ReleaseFolder.open(folder, original, request)
        return Shown(made, opened, f"incrowd publish {source} -p {name}.toml -o {name}")

    def read(self, name: str) -> Table:
        return tables.read(self.home / name)


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else many or one + 's'}"
