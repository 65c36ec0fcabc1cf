"""The command `reproduce`: a paper's experiments, run again."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, finish
from incrowd.errors import Refused

GOES_ON = "stopped; what was measured is kept, and the same command goes on from there"

if TYPE_CHECKING:
    from incrowd.reproduce.outcome import Outcome
    from incrowd.reproduce.whole import Whole


@app.command()
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="PAPER",
            help="What to run again: revisited, nonhomogeneous, kja, outliers, multidimensional, or all.",
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
    """Run the experiments of a paper again and judge every statement it makes; `all` puts them on one page.

    An interrupted run goes on where it was if the same command is given again.

    Example: incrowd reproduce all --quick -o figures
    """
    with boundary(as_json):
        from incrowd.reproduce import kept, papers, whole
        from incrowd.reproduce.outcome import check_destination, files_of, write

        if name != whole.ALL:
            papers.paper(name)
        papers.check_data(data)
        if output is not None:
            check_destination(output, name, replace)
        try:
            with (
                kept.kept_beside(output, kept.asked(name, quick, data)) as keeper,
                screen.watching(as_json) as watch,
            ):
                if name == whole.ALL:
                    every = whole.reproduce_all(quick, data, watch, keeper)
                    facts, show = every.to_dict(), partial(_show_all, every, output)
                    files = every.files()
                else:
                    outcome = papers.reproduce(name, quick, data, watch, keeper)
                    facts, show = outcome.to_dict(), partial(_show, outcome, output)
                    files = files_of(outcome)
                if output is not None:
                    write(name, files, output, replace)
        except KeyboardInterrupt:
            if output is None:
                raise
            raise Refused(GOES_ON) from None
        finish(facts, as_json, show)


def _show_all(every: Whole, output: Path | None) -> None:
    from incrowd.reproduce.judging import verdicts

    out = screen.console()
    rows = []
    for outcome in every.outcomes:
        counts = verdicts(outcome.statements)
        rows.append((outcome.name, f"{len(outcome.statements)}", *(f"{count}" for count in counts.values())))
    total = verdicts(every.statements)
    rows.append(("all", f"{len(every.statements)}", *(f"{count}" for count in total.values())))
    out.print(screen.table("Statements of the papers", ("", "statements", *total), rows))
    for name, why in every.not_run.items():
        out.print(f"{name} was not run: {why}.")
    if output is not None:
        out.print(f"Wrote {output}: index.html, all.md, all.json, and a folder for each paper.")


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
