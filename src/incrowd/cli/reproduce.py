"""The command `reproduce`: a paper's experiments, run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, finish

if TYPE_CHECKING:
    from incrowd.reproduce.outcome import Outcome


@app.command()
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="PAPER",
            help="What to run again: revisited, nonhomogeneous, kja, outliers, multidimensional.",
        ),
    ],
    quick: Annotated[bool, typer.Option("--quick", help="A small part that takes seconds.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write tables and pictures into this new folder.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", envvar="INCROWD_DATA", help="Folder with the real tables."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the results of an earlier run.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Run the experiments of a paper again, beside the numbers that it printed.

    Example: incrowd reproduce revisited --quick -o figures
    """
    with boundary(as_json):
        from incrowd.reproduce import papers
        from incrowd.reproduce.outcome import check_destination, write

        paper = papers.paper(name)
        if output is not None:
            check_destination(output, paper.name, replace)
        with screen.watching(as_json) as watch:
            outcome = papers.reproduce(paper.name, quick, data, watch)
        if output is not None:
            write(outcome, output, replace)
        finish(outcome.to_dict(), as_json, lambda: _show(outcome, output))


def _show(outcome: Outcome, output: Path | None) -> None:
    out = screen.console()
    table = outcome.sheets[0]
    out.print(outcome.title)
    out.print(table.about)
    out.print(screen.table("", table.header, table.rows))
    rows = [(statement.word, statement.says, statement.detail) for statement in outcome.statements]
    out.print(screen.table("Statements of the paper", ("", "says", "found"), rows))
    for why in outcome.skipped:
        out.print(f"Skipped: {why}.")
    if output is not None:
        out.print(
            f"Wrote {output}: {outcome.name}.md, {outcome.name}.json and {len(outcome.charts)} pictures."
        )
