"""The command `audit`: what a published table protects, whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, finish

if TYPE_CHECKING:
    from incrowd.commands.audited import Audit

SHORT = {  # who falls short of k, and how
    "persons_by_degree": "persons fit fewer than {k} rows",
    "rows_by_degree": "rows fit fewer than {k} persons",
    "persons_by_matches": "persons have fewer than {k} matches",
    "rows_by_matches": "rows have fewer than {k} matches",
    "rows_by_equal_rows": "rows occur fewer than {k} times",
}


@app.command()
def audit(
    original: Annotated[str, typer.Argument(help="The table that it was made from.")],
    published: Annotated[Path, typer.Argument(help="A table that any tool wrote, or a release.")],
    policy: options.PolicyFile = None,
    qi: Annotated[
        options.Names, typer.Option(help="Quasi-identifiers; without them and a policy, all shared columns.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", "-k", help="Demand this many matches of everybody.")] = None,
    encoding: options.Encoding = "",
    sheet: options.Sheet = "",
    sql: options.Sql = "",
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="How near two sensitive numbers are alike: for which m it is (epsilon,m)-anonymous."
        ),
    ] = None,
    engine: options.LookingEngine = "auto",
    memory: options.EngineMemory = None,
    threads: options.EngineThreads = None,
    as_json: options.AsJson = False,
) -> None:
    """Which k a published table reaches, whatever tool wrote it. With --k, exit code 1 if it is less.

    Example: incrowd audit patients.csv published.csv --qi age,zip --k 5
    """
    with boundary(as_json):
        from incrowd.commands.audit import audit

        with screen.watching(as_json) as watch:
            found = audit(
                options.source(original, encoding, sheet, sql),
                published,
                policy,
                k=k,
                quasi_identifiers=options.split_names(qi),
                epsilon=epsilon,
                engine=engine,
                memory=memory,
                threads=threads,
                watch=watch,
            )
        finish(found.to_dict(), as_json, lambda: show(found), good=found.holds)


def show(audit: Audit) -> None:
    """Every model with its largest k, who falls short, and how probable the most probable match is."""
    out = screen.console()
    how = "columns of both tables" if audit.guessed else "quasi-identifiers"
    title = f"{audit.rows:,} rows of {audit.records:,} records; {how}: {', '.join(audit.columns)}"
    known = {name: meaning for name, meaning in screen.ANONYMITY.items() if name in audit.classes}
    rows = [(name, f"{audit.classes[name]:,}", meaning) for name, meaning in known.items()]
    out.print(screen.table(title, ("model", "k", "meaning"), rows))
    out.print(f"Suppressed rows: {audit.records - audit.rows:,}")
    if audit.one_match is not None:
        out.print(f"Persons with exactly one match: {audit.one_match:,}")
    for name, count in audit.below.items():
        out.print(f"{count:,} {SHORT[name].format(k=audit.k)}")
    if audit.level:
        out.print(_level(audit.level))
    if audit.posterior:
        out.print(_posterior(audit.posterior))
    for name, fewest in audit.values.items():
        out.print(f"Fewest different values of {name} among the matches of a person: {fewest:,}")
    for name, reached in audit.ranges.items():
        out.print(_range(name, reached.to_dict()))
    for note in audit.notes:
        out.print(f"Note: {note}")
    if audit.k is not None:
        out.print(
            f"Everybody has {audit.k} matches." if audit.holds else f"NOT everybody has {audit.k} matches."
        )


def _range(name: str, reached: Mapping[str, Any]) -> str:
    words = (
        f"Of {name}, equal rows have at least {reached['distinct']:,} different values that range over "
        f"{reached['least_range']} ((k,e)-anonymity), at most over {reached['largest_range']}"
    )
    if "m" in reached:
        words += (
            f"; with epsilon = {reached['epsilon']}, (epsilon,m)-anonymity holds up to m = {reached['m']}"
        )
    return words


def _level(level: Mapping[str, Any]) -> str:
    if level["lambda"] is None:
        low, high = level["low"], level["high"]
        return f"Smallest possible highest match probability (lambda*): between {low:.4f} and {high:.4f}"
    value = f"{level['lambda']} = {level['low']:.4f}; level of anonymity {level['level']:.2f}"
    return f"Smallest possible highest match probability (lambda*): {value}"


def _posterior(found: Mapping[str, Any]) -> str:
    words = "Highest match probability if all assignments are equally likely"
    if found["exact"] is not None:
        return f"{words}: {found['exact']} = {found['value']:.4f}"
    return f"{words}: {found['value']:.4f} (sampled; 95 %: {found['low']:.4f}-{found['high']:.4f})"
