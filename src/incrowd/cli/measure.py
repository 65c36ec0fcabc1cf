"""The command `measure`: what a release lost, by every measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, finish

SHOWN_PER_COLUMN = ("gcp", "entropy", "tree")  # more would not fit a line; --json has all
MEANINGS = {
    "gcp": "mean share of its domain that a cell covers: 0 nothing was generalized, 1 nothing is left",
    "c_avg": "mean size of an equivalence class, divided by k; 1 is ideal",
    "dm": "discernibility: sum of the squared sizes of equivalence classes",
    "ncp": "normalized certainty penalty: sum of the shares that cells cover",
    "ncp_perimeter": "sum of the perimeters of all rows' boxes, in the units of the columns",
    "entropy": "mean number of bits of a value that a cell hides",
    "il": "information loss (IL) as the outliers paper prints it, summed over columns",
    "il_zero": "the same, but an exact number costs nothing",
    "tree": "mean height of the published nodes in their hierarchies",
}
FAR = 0.25  # of the loss: a bound below that hardly says anything
WEAK = " That is far off and may be weak: it does not say that so much less is possible (docs/bounds.md)."


@app.command()
def measure(
    published: Annotated[Path, typer.Argument(help="A release, or a table that another tool wrote.")],
    original: options.Original,
    policy: options.PolicyFile = None,
    public: options.PublicTable = None,
    check: options.SecondSource = None,
    workload: Annotated[
        Path | None, typer.Option("--workload", help="Queries (TOML): the error of their answers.")
    ] = None,
    bound: options.Bound = "quick",
    engine: options.LookingEngine = "auto",
    memory: options.EngineMemory = None,
    threads: options.EngineThreads = None,
    encoding: options.Encoding = "",
    sheet: options.Sheet = "",
    sql: options.Sql = "",
    as_json: options.AsJson = False,
) -> None:
    """Information loss of a release, by every measure; also of a table made by another tool.

    Example: incrowd measure release --original patients.csv
    """
    with boundary(as_json):
        from incrowd.commands.measure import measure

        given: dict[str, Any] = {"public": public, "check": check, "workload": workload, "bound": bound}
        given |= {"engine": engine, "memory": memory, "threads": threads}
        source = options.source(original, encoding, sheet, sql)
        with screen.watching(as_json) as watch:
            loss = measure(published, source, policy, **given, watch=watch).to_dict()
        finish(loss, as_json, lambda: show(loss))


def show(loss: Mapping[str, Any]) -> None:
    """Every measure with its meaning, then column by column."""
    out = screen.console()
    for line in loss["two_way"]["headline"]:
        out.print(screen.folded(line))
    out.print(screen.folded(f"Information loss (GCP) {loss['loss']['gcp']:.4f}{_least(loss)}"))
    if gone := loss["suppressed"]:
        everybody = loss["rows"] + gone
        out.print(f"Left out: {gone:,} of {everybody:,} records; information loss counts them as lost.")
    rows = [(name, screen.number(value), MEANINGS.get(name, "")) for name, value in loss["loss"].items()]
    classes = f"{loss['classes']:,} equivalence classes, the smallest of {loss['smallest_class']:,}"
    title = f"{loss['rows']:,} rows in {classes}"
    out.print(screen.table(title, ("measure", "value", "meaning"), rows))
    columns = loss["columns"]
    names = SHOWN_PER_COLUMN
    per_column = [(name, *(screen.number(values[m]) for m in names)) for name, values in columns.items()]
    out.print(screen.table("", ("column", *names), per_column))
    _show_tables(loss["two_way"])
    counted = loss["range_counts"]
    if counted["error"] is not None:
        wrong = f"{counted['error']:.1%} on average"
        out.print(f"Counts of people in boxes of {counted['share']:.0%} of the domain are wrong by {wrong}.")
    _show_risk(loss["risk"])
    if "anonymity" in loss:
        reached = [
            (name, f"{loss['anonymity'][name]:,}", meaning) for name, meaning in screen.ANONYMITY.items()
        ]
        out.print(screen.table("Level of anonymity", ("model", "k", "meaning"), reached))
    if "joined" in loss:
        found = loss["joined"]
        out.print(
            f"Measures are of the {found['own']:,} people of the private table; {found['external_rows']:,} "
            "rows are of the public one. A person who fits a row is in the private table with a probability "
            f"from {found['presence']['least']} to {found['presence']['most']}."
        )
    for note in loss["notes"]:
        out.print(f"Note: {note}")
    if "workload" in loss:
        _show_workload(loss["workload"])


def _least(loss: Mapping[str, Any]) -> str:
    """What follows the loss: what no release can be below, or why nobody knows."""
    bound = loss["bound"]
    if bound["effort"] == "none":
        return ""
    far = bound["least"] is not None and bound["least"] < FAR * loss["loss"]["gcp"]
    return f"; {bound['sentence']}.{WEAK if far else ''}"


def _show_risk(told: Mapping[str, Any]) -> None:
    """Risk before and after side by side, then in sentences what a table cannot say."""
    out = screen.console()
    sides = [told["before"], told["after"]]
    if None not in sides:
        rows = [(name, *(shown(side) for side in sides), meaning) for name, (shown, meaning) in RISKS.items()]
        out.print(screen.table("Re-identification risk", ("risk", "before", "after", "meaning"), rows))
    for line in told["sentences"] if None in sides else told["sentences"][2:]:
        out.print(screen.folded(line))


def _share(number: float | None) -> str:
    return "none" if number is None else f"{number:.3f}"


RISKS: dict[str, tuple[Callable[[Mapping[str, Any]], str], str]] = {
    "prosecutor, highest": (
        lambda side: side["prosecutor"]["highest"] or "none",
        "picking a row of the person looked for",
    ),
    "prosecutor, mean": (lambda side: _share(side["prosecutor"]["mean"]), "the same, on average"),
    "people above 0.2": (lambda side: f"{side['prosecutor']['above']['0.2']:,}", "1 in 5"),
    "people above 0.05": (lambda side: f"{side['prosecutor']['above']['0.05']:,}", "1 in 20"),
    "people alone": (lambda side: f"{side['unique']:,}", "nobody else has a row like theirs"),
    "marketer": (lambda side: _share(side["marketer"]), "share of right links if all are linked"),
}


def _show_tables(told: Mapping[str, Any]) -> None:
    """How far tables with each column are off, and what is kept of its connections."""
    rows = [
        (
            name,
            *("" if one[key] is None else f"{one[key]:.1%}" for key in ("one_way", "two_way", "skill")),
            "yes" if one["usable"] else "no",
        )
        for name, one in told["columns"].items()
    ]
    if rows:
        header = ("column", "one-way error", "two-way error", "skill", "can be asked about")
        screen.console().print(screen.table("Tables of one and two columns", header, rows))


def _readable(exact: object) -> str:
    """A number for people, also where it is said as a fraction: 604375/158."""
    divided = isinstance(exact, str) and "/" in exact
    return screen.number(float(Fraction(str(exact))) if divided else exact)


def _show_workload(told: Mapping[str, Any]) -> None:
    out = screen.console()
    if "queries" in told:
        names = ("truth", "lower", "upper", "estimate", "error")
        rows = [
            (one["sql"], *("" if one[name] is None else _readable(one[name]) for name in names))
            for one in told["queries"]
        ]
        out.print(screen.table("Workload", ("query", *names), rows))
        out.print(
            f"Not counted: {told['empty']} with true answer 0 or none, {told['unanswered']} without estimate."
        )
    wrong = "not known" if told["error"] is None else f"{told['error']:.1%}"
    out.print(f"Average relative error of the workload: {wrong}")
