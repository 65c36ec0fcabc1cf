"""The command `series`: the history of a series of releases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, check_new, finish, write_new

if TYPE_CHECKING:
    from incrowd.commands.series import SeriesStory


MEANING = (
    "present: people in the table of the day, without the erased; waiting: of them",
    "without a row yet; withheld: had one, and have none now; lingering: rows of",
    "people who left; oldest: the release as of which the oldest rows are.",
)


@app.command()
def series(
    folder: options.ReleaseDir,
    erase: Annotated[
        Path | None,
        typer.Option("--erase", help="What erasing these people would cost: a table as publish takes it."),
    ] = None,
    output: options.Picture = None,
    as_json: options.AsJson = False,
) -> None:
    """The history of a series of releases: people, loss over time, who waits and lingers. Private.

    Example: incrowd series 2026-12 --erase ids.csv
    """
    with boundary(as_json):
        from incrowd.commands.series import series

        check_new(output, ".svg")
        found = series(folder, erase=erase)
        if output is not None:
            write_new(output, found.chart().svg())
        finish(found.to_dict(), as_json, lambda: show(found, output))


def show(found: SeriesStory, output: Path | None) -> None:
    """Every release on a line, and what an erasure would cost."""
    out = screen.console()
    title = f"{found.people:,} people, {found.erased:,} of them erased; over all releases {found.promised}"
    from incrowd.commands.series import COLUMNS

    rows = [
        (each["release"], *(f"{each[name]:,}" for name in COLUMNS[1:-1]), f"{each['gcp']:.4f}")
        for each in found.releases
    ]
    out.print(screen.table(title, COLUMNS, rows))
    for words in MEANING:
        out.print(words)
    if found.erasure is not None:
        out.print(screen.folded(f"If the next table is as the last one: {found.erasure.sentence()}.", ""))
    if output is not None:
        out.print(f"Wrote {output}.")
