"""What a command returns: one line, a small table for notebooks, and a dict in words that JSON knows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

Row = Sequence[object]


class Result(ABC):
    """Shows itself in one line (`repr`) and as a table (Jupyter and other notebooks)."""

    @abstractmethod
    def headline(self) -> str:
        """What it comes to, in one sentence."""

    def overview(self) -> tuple[Row, Iterable[Row]]:
        """Header and rows of the table that notebooks show; an empty header shows none."""
        return (), ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything, as the command prints it with --json."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline()}>"

    def _repr_html_(self) -> str:
        header, rows = self.overview()
        shown = f"<p><strong>{escape(self.headline())}</strong></p>"
        return shown + (html_table(header, rows) if header else "")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A method that was tried: what its classes lose by a measure, or the `reason` why it has none."""

    method: str
    options: Mapping[str, object]
    measure: str
    seconds: float = 0.0
    loss: float | None = None
    reason: str = ""
    won: bool = False

    def to_dict(self) -> dict[str, object]:
        return {
            "method": self.method,
            "options": dict(self.options),
            "measure": self.measure,
            "seconds": self.seconds,
            "loss": self.loss,
            "reason": self.reason,
            "won": self.won,
        }


LEAST_SERIES = 4  # columns: fewer are named one by one


def listed(names: Sequence[str]) -> str:
    """Names in one line; those that are numbered without a gap as the first and the last of them.

    Examples
    --------
    >>> listed(["age", "q1", "q2", "q3", "q4", "q6", "sex"])
    'age, q1 to q4, q6, sex'
    """
    runs: list[list[str]] = []
    for name in names:
        if runs and _next_name(runs[-1][-1]) == name:
            runs[-1].append(name)
        else:
            runs.append([name])
    shown = ([f"{run[0]} to {run[-1]}"] if len(run) >= LEAST_SERIES else run for run in runs)
    return ", ".join(name for some in shown for name in some)


def _next_name(name: str) -> str:
    """The name with the number at its end one higher; none if there is no number."""
    front = name.rstrip("0123456789")
    return f"{front}{int(name[len(front) :]) + 1:0{len(name) - len(front)}}" if front != name else ""


def html_table(header: Row, rows: Iterable[Row]) -> str:
    """A table in HTML, every text escaped.

    Examples
    --------
    >>> html_table(["column"], [["<age>"]])
    '<table><thead><tr><th>column</th></tr></thead><tbody><tr><td>&lt;age&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
