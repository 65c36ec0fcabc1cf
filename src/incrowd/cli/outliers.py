"""The command `outliers`: who would stand out, before anything is published."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, check_new, finish, write_new

if TYPE_CHECKING:
    from incrowd.commands.outliers import Calibration
    from incrowd.commands.outliers_density import DensityOutliers
    from incrowd.distance_outliers.counting import OutlierCount


@app.command()
def outliers(
    table: options.TableFile,
    policy: options.PolicyFile = None,
    output: options.Picture = None,
    definition: Annotated[
        str, typer.Option(help="distance: (p,d)-outliers; lof: by the local outlier factor (density).")
    ] = "distance",
    encoding: options.Encoding = "",
    sheet: options.Sheet = "",
    sql: options.Sql = "",
    neighbours: Annotated[
        int | None, typer.Option(help="For lof: how many neighbours; 10, 20 and 40 if not given.")
    ] = None,
    memory: options.MemoryLimit = None,
    as_json: options.AsJson = False,
) -> None:
    """How many people are outliers at which p and d, and a proposal for [privacy.plain].

    Example: incrowd outliers patients.csv -p policy.toml -o outliers.svg
    """
    with boundary(as_json):
        from incrowd.commands.outliers import Calibration, outliers
        from incrowd.errors import InputError

        check_new(output, ".svg")
        if definition == "lof" and output is not None:
            raise InputError("there is no picture of local outlier factors; leave out --output")
        source = options.source(table, encoding, sheet, sql)
        with screen.watching(as_json) as watch:
            found = outliers(
                source, policy, definition=definition, neighbours=neighbours, memory=memory, watch=watch
            )
        if not isinstance(found, Calibration):
            by_density = found
            finish(found.to_dict(), as_json, lambda: show_densities(by_density))
            return
        calibration = found
        if output is not None:
            write_new(output, found.chart().svg())
        finish(found.to_dict(), as_json, lambda: show_calibration(calibration, output))


def show_densities(found: DensityOutliers) -> None:
    """The grid, and how many of them `plain` is about."""
    out = screen.console()
    out.print(f"{found.records:,} records. How many have a local outlier factor above (down), by neighbours:")
    header = ("LOF", *(str(m) for m in found.neighbours))
    rows = [(f, *(_percent(found.at(m, f).share) for m in found.neighbours)) for f in found.factors]
    out.print(screen.table("", header, rows))
    rows = [
        (f, *(f"{found.at(m, f).also:,} of {found.at(m, f).outliers:,}" for m in found.neighbours))
        for f in found.factors
    ]
    title = f"Of these, outliers by distance at p = {found.p}, d = {found.d} ({found.distance:,} in all)"
    out.print(screen.table(title, header, rows))
    for note in found.notes:
        out.print(f"Note: {note}.")


def show_calibration(found: Calibration, output: Path | None) -> None:
    """The grid, the line of the proposed p in full, what makes up the distance, and the proposal."""
    out = screen.console()
    out.print(f"{found.records:,} records. How many of them are outliers, by d (down) and p (across):")
    rows = [(d, *(_percent(found.at(p, d).share) for p in found.ps)) for d in found.ds]
    out.print(screen.table("", ("d", *found.ps), rows))
    row = [found.at(found.p, d) for d in found.ds]
    header = ("d", "outliers", "removed", "")
    title = f"With p = {found.p}"
    out.print(screen.table(title, header, [_line(at, _mark(found, at)) for at in row]))
    parts = [(part.column, part.weight, f"{part.share:.1%}") for part in found.parts]
    out.print(screen.table("What makes up the squared distance", ("column", "weight", "part"), parts))
    for note in found.notes:
        out.print(f"Note: {note}.")
    for line in _proposed(found):
        out.print(line)
    if output is not None:
        out.print(f"Wrote {output}.")


def _line(at: OutlierCount, mark: str) -> tuple[str, ...]:
    counted = f" ({at.outliers:,})" if at.asked == at.records else ""
    return (at.d, f"{_percent(at.share)}{counted}", f"{_percent(at.removed_share)} ({at.removed:,})", mark)


def _mark(found: Calibration, at: OutlierCount) -> str:
    marks = {"proposed": found.proposal, "the policy's": found.own, "the paper's": found.paper}
    return ", ".join(mark for mark, marked in marks.items() if marked == at)


def _percent(share: float) -> str:
    """0 is nobody and 100 everybody; what is nearly that is shown as such."""
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{share:.0%}" if share in (0, 1) else f"{min(share, 0.999):.1%}"


def _proposed(found: Calibration) -> Iterator[str]:
    at = found.proposal
    if at is None:
        yield "No proposal."
        return
    yield (
        f"Proposed: {_percent(at.share)} are outliers, and {_percent(at.removed_share)} would be removed "
        f"(a margin of {found.margin} is subtracted from p and d)."
    )
    yield from ("", "[privacy.plain]", f"p = {at.p}", f"d = {at.d}", "")
