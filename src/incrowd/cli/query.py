"""The command `query`: questions to a release, answered from its published files."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, finish

if TYPE_CHECKING:
    from incrowd.queries import Answer
    from incrowd.queries.answer import Bound

PLACES = 10**4  # bounds are shown with four decimals, rounded outwards


@app.command()
def query(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="The release.")],
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="A query, such as SELECT COUNT(*) WHERE age <= 36.")
    ],
    policy: options.PolicyFile = None,
    continuous: Annotated[
        bool, typer.Option("--continuous", help="Estimates assume that numbers lie anywhere in a range.")
    ] = False,
    engine: options.LookingEngine = "auto",
    memory: options.EngineMemory = None,
    threads: options.EngineThreads = None,
    as_json: options.AsJson = False,
) -> None:
    """Query a release: certain bounds and an estimate, from its published files alone.

    Example: incrowd query release "SELECT AVG(age) WHERE sex = 'F'"
    """
    with boundary(as_json):
        from incrowd.commands.query import query

        given: dict[str, Any] = {"engine": engine, "memory": memory, "threads": threads}
        answer = query(release, sql, policy, continuous=continuous, **given)
        finish(answer.to_dict(), as_json, lambda: _show(answer))


def _show(answer: Answer) -> None:
    out = screen.console()
    if answer.by:
        _show_groups(answer)
    else:
        guess = "" if answer.exact or answer.estimate is None else f", estimated {_estimate(answer)}"
        nowhere = ", because the release has no such value" if answer.hints and not answer.rows else ""
        out.print(f"{answer.aggregate}: {_bounds(answer)}{guess}{nowhere}")
    for hint in answer.hints:
        out.print(f"  {hint}")
    if not answer.by and answer.rows:
        _show_basis(answer)
    guessed = [one for one in (answer, *answer.groups.values()) if not one.exact and one.assumption]
    assumed = list(dict.fromkeys(one.assumption for one in guessed if one.estimate is not None))
    lacking = list(dict.fromkeys(one.assumption for one in guessed if one.estimate is None))
    for line in (*(f"assumed: {assumption}" for assumption in assumed), *lacking):
        out.print(f"  {line}")
    if any(one.nobody and one.rows and one.aggregate != "COUNT" for one in (answer, *answer.groups.values())):
        out.print("  perhaps nobody fits the condition; the bounds hold if somebody does")
    out.print(f"  about {answer.about}")


def _show_basis(answer: Answer) -> None:
    out = screen.console()
    if answer.interval is not None and not answer.exact:
        out.print(f"  95 % interval: {_interval(answer)}")
    cut = "how many people fit the condition is certain" if answer.matches else "the condition cuts cells"
    out.print(f"  {cut}; rows that may count: {answer.rows:,}")


def _show_groups(answer: Answer) -> None:
    """One line for each value, and what the answer is without groups."""
    out = screen.console()
    title = f"{answer.aggregate} by {answer.by}: {answer.grouped()}"
    if answer.groups:
        header = (answer.by, "at least", "at most", "estimate", "95 % interval")
        rows = [(value, *_group(one)) for value, one in answer.groups.items()]
        shown = [j for j in range(len(header)) if j < 3 or any(row[j] for row in rows)]
        names, cells = [header[j] for j in shown], [[row[j] for j in shown] for row in rows]
        out.print(screen.table(title, names, cells, right=header[1:4]))
    else:
        out.print(title)
    out.print(f"  without groups: {_bounds(answer)}; rows that may count: {answer.rows:,}")


def _group(answer: Answer) -> tuple[str, str, str, str]:
    if answer.exact and answer.lower is not None:
        return (*(_shown(answer.lower, up) for up in (False, True)), "exact", "")  # type: ignore[return-value]
    bounds = [
        "" if end is None else _shown(end, up) for end, up in ((answer.lower, False), (answer.upper, True))
    ]
    guess = _estimate(answer, places=1 if answer.aggregate == "COUNT" else 4)
    return bounds[0], bounds[1], guess, _interval(answer)


def _interval(answer: Answer) -> str:
    """Rounded outwards to whole people."""
    if answer.interval is None:
        return ""
    low, high = answer.interval
    return f"{floor(low):,} to {ceil(high):,}"


def _bounds(answer: Answer) -> str:
    if answer.lower is None or answer.upper is None:
        return "unknown" if answer.rows else "none, since no row fits the condition"
    if answer.exact:
        shown = _shown(answer.lower, up=False)
        return f"exactly {shown}" if shown == _shown(answer.upper, up=True) else f"exactly {answer.lower}"
    return f"from {_shown(answer.lower, up=False)} to {_shown(answer.upper, up=True)}"


def _estimate(answer: Answer, places: int = 4) -> str:
    if answer.estimate is None:
        return ""
    return f"{answer.estimate:,.{places}f}".rstrip("0").rstrip(".")


def _shown(bound: Bound, up: bool) -> str:
    """A bound to read: rounded outwards where it has more than four decimals."""
    if isinstance(bound, date):
        return bound.isoformat()
    scaled = Fraction(bound) * PLACES
    rounded = Fraction(ceil(scaled) if up else floor(scaled), PLACES)
    return (
        f"{float(rounded):,.4f}".rstrip("0").rstrip(".") if rounded.denominator > 1 else f"{int(rounded):,}"
    )
