"""The commands that attack: our own releases, and tables of any tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli import screen
from incrowd.cli.commands import AsJson, Names, Original, PolicyFile, app, boundary, split_names


@app.command()
def attack(
    folder: Annotated[Path, typer.Argument(help="A release.")],
    original: Original,
    policy: PolicyFile = None,
    public: Annotated[
        Path | None, typer.Option(help="The public table that was joined; by default the policy's.")
    ] = None,
    planted: Annotated[
        Path | None, typer.Option(help="A table whose first column names people who do not exist.")
    ] = None,
    outliers: Annotated[
        str | None,
        typer.Option(metavar="P,D", help="Look for outliers at this p and d, if plain is not promised."),
    ] = None,
    also: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Another release of the same people: what both disclose together."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What each adversary learns from a release. Exit code 1 if one exceeds its bound.

    Example: incrowd attack release --original patients.csv
    """
    with boundary(as_json):
        from incrowd.cli.attack_stories import show_attacks
        from incrowd.commands.attack import attack

        with screen.watching(as_json) as watch:
            attacked = attack(
                *(folder, original, policy),
                public=public,
                planted=planted,
                outliers=outliers,
                also=also,
                watch=watch,
            )
        if as_json:
            screen.print_json(attacked.to_dict())
        else:
            show_attacks(attacked)
        if not attacked.holds:
            raise typer.Exit(1)


@app.command()
def audit(
    original: Annotated[Path, typer.Argument(help="The table that it was made from.")],
    published: Annotated[Path, typer.Argument(help="A table that any tool wrote, or a release.")],
    policy: PolicyFile = None,
    qi: Annotated[
        Names, typer.Option(help="Quasi-identifiers; without them and a policy, all shared columns.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", "-k", help="Demand this many matches of everybody.")] = None,
    as_json: AsJson = False,
) -> None:
    """Which k a published table reaches, whatever tool wrote it. With --k, exit code 1 if it is less.

    Example: incrowd audit patients.csv published.csv --qi age,zip --k 5
    """
    with boundary(as_json):
        from incrowd.cli.attack_stories import show_audit
        from incrowd.commands.audit import audit

        with screen.watching(as_json) as watch:
            found = audit(original, published, policy, k=k, quasi_identifiers=split_names(qi), watch=watch)
        if as_json:
            screen.print_json(found.to_dict())
        else:
            show_audit(found)
        if not found.holds:
            raise typer.Exit(1)
