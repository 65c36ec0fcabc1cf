"""The command `learn`: what a classifier learns from a release, against the original."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, finish

if TYPE_CHECKING:
    from incrowd.commands.learn import Learned, Lesson


@app.command()
def learn(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="The release.")],
    original: options.Original,
    target: Annotated[
        options.Names, typer.Option(help="A published column to predict from the others; repeat for more.")
    ] = None,
    policy: options.PolicyFile = None,
    memory: options.MemoryLimit = None,
    encoding: options.Encoding = "",
    sheet: options.Sheet = "",
    sql: options.Sql = "",
    as_json: options.AsJson = False,
) -> None:
    """How much worse a classifier is that was trained on the release instead of the original.

    Example: incrowd learn release --original patients.csv --target diagnosis
    """
    with boundary(as_json):
        from incrowd.commands.learn import learn

        source = options.source(original, encoding, sheet, sql)
        with screen.watching(as_json) as watch:
            learned = learn(release, source, options.split_names(target), policy, memory=memory, watch=watch)
        finish(learned.to_dict(), as_json, lambda: _show(learned))


def _show(learned: Learned) -> None:
    out = screen.console()
    header = ("target", "measure", "commonest", "original", "release", "drop", "95 %")
    title = f"Predictions for {learned.tested:,} records that were held out"
    rows = [row for lesson in learned.lessons for row in _rows(lesson)]
    out.print(screen.table(title, header, rows, least=("95 %",)))
    out.print(f"  trained on {learned.trained:,} records, and on {learned.rows:,} rows; {learned.spread}")
    if learned.sampled:
        out.print(f"  a sample of the {learned.records:,} records; intervals are about what it leaves open")
    for remark in (lesson.remark for lesson in learned.lessons):
        if remark:
            out.print(f"  {remark}")
    if learned.note:
        out.print(f"  note: {learned.note}")


def _rows(lesson: Lesson) -> list[tuple[str, ...]]:
    """The measures of a target; how far accuracy falls, and where that lies, beside the first."""
    from incrowd.commands.learn import lines

    low, high = lesson.interval()
    first, *others = lines(lesson)
    drop = _points(lesson.drop), f"{_points(low)} to {_points(high)}"
    return [(lesson.target, *first, *drop), *(("", *line, "", "") for line in others)]


def _points(difference: float) -> str:
    """Points of a hundred; no zero is negative."""
    return f"{round(100 * difference, 1) + 0.0:.1f}"
