"""The command `query`: questions to a release, answered from its published files."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    as_json: options.AsJson = False,
) -> None:
    """Query a release: certain bounds and an estimate, from its published files alone.

    Example: incrowd query release "SELECT AVG(age) WHERE sex = 'F'"
    """
    with boundary(as_json):
        from incrowd.commands.query import query

        answer = query(release, sql, policy, continuous=continuous)
        finish(answer.to_dict(), as_json, lambda: _show(answer))


def _show(answer: Answer) -> None:
    out = screen.console()
    guess = "" if answer.exact or answer.estimate is None else f", estimated {_estimate(answer)}"
    out.print(f"{answer.aggregate}: {_bounds(answer)}{guess}")
    if answer.groups:
        rows = [(value, _bounds(one), _estimate(one)) for value, one in answer.groups.items()]
        out.print(screen.table("By value", ("", "certain", "estimate"), rows))
    cut = "the condition cuts no cell" if answer.matches else "the condition cuts cells"
    out.print(f"  {cut}; rows that may count: {answer.rows:,}")
    if not answer.exact and answer.assumption:
        out.print(
            f"  assumed: {answer.assumption}" if answer.estimate is not None else f"  {answer.assumption}"
        )
    if answer.nobody and answer.rows and answer.aggregate != "COUNT":
        out.print("  perhaps nobody fits the condition; the bounds hold if somebody does")
    out.print(f"  about {answer.about}")


def _bounds(answer: Answer) -> str:
    if answer.lower is None or answer.upper is None:
        return "unknown" if answer.rows else "none, since no row fits the condition"
    if answer.exact:
        shown = _shown(answer.lower, up=False)
        return f"exactly {shown}" if shown == _shown(answer.upper, up=True) else f"exactly {answer.lower}"
    return f"from {_shown(answer.lower, up=False)} to {_shown(answer.upper, up=True)}"


def _estimate(answer: Answer) -> str:
    return "" if answer.estimate is None else f"{answer.estimate:,.4f}".rstrip("0").rstrip(".")


def _shown(bound: Bound, up: bool) -> str:
    """A bound to read: rounded outwards where it has more than four decimals."""
    if isinstance(bound, date):
        return bound.isoformat()
    scaled = Fraction(bound) * PLACES
    rounded = Fraction(ceil(scaled) if up else floor(scaled), PLACES)
    return (
        f"{float(rounded):,.4f}".rstrip("0").rstrip(".") if rounded.denominator > 1 else f"{int(rounded):,}"
    )
