"""The command `report`: one page about a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, check_new, finish, write_new
from incrowd.errors import InputError

if TYPE_CHECKING:
    from incrowd.commands.report import Report

PRIVATE_MODE, PUBLIC_MODE = 0o600, 0o644  # a private page is for its owner alone


@app.command()
def report(
    folder: options.ReleaseDir,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write into this new file: .html, of --assessment .md."),
    ] = None,
    original: Annotated[
        str | None,
        typer.Option("--original", help="The table that the release was made from: a private report."),
    ] = None,
    encoding: options.Encoding = "",
    sheet: options.Sheet = "",
    sql: options.Sql = "",
    policy: options.PolicyFile = None,
    public: options.PublicTable = None,
    check: options.SecondSource = None,
    attacks: Annotated[bool, typer.Option(help="Run the attacks of a private report, or not.")] = True,
    bound: options.Bound = "quick",
    engine: options.LookingEngine = "auto",
    memory: options.EngineMemory = None,
    threads: options.EngineThreads = None,
    assessment: Annotated[
        bool,
        typer.Option(
            "--assessment", help="Paragraphs for an impact assessment (DPIA), as Markdown; with --original."
        ),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """One page about a release: for its readers, or with --original for its publisher alone.

    Example: incrowd report release -o report.html
    """
    with boundary(as_json):
        from incrowd.commands.report import report

        _check_request(folder, output, as_json, assessment, original)
        source = None if original is None else options.source(original, encoding, sheet, sql)
        with screen.watching(as_json) as watch:
            given: dict[str, Any] = {"public": public, "check": check, "attacks": attacks, "bound": bound}
            given |= {"engine": engine, "memory": memory, "threads": threads}
            made = report(folder, source, policy, **given, watch=watch)
        if output is not None:
            page = made.assessment() if assessment else made.html()
            text = page.encode("utf-8", "replace").decode()
            write_new(output, text, PRIVATE_MODE if made.private else PUBLIC_MODE)
        finish(made.to_dict(), as_json, lambda: _tell(output, made), good=made.sound)


def _check_request(
    folder: Path, output: Path | None, as_json: bool, assessment: bool, original: str | None
) -> None:
    """Nothing may be written into a release: it has its files and no others."""
    if assessment and original is None:
        raise InputError("--assessment needs what is measured on the original; pass it with --original")
    if output is None:
        if not as_json and not assessment:
            raise InputError("name the page with -o report.html, or ask for the facts with --json")
        return
    check_new(output, ".md" if assessment else ".html")
    if folder.resolve() in output.resolve().parents:
        raise InputError(f"{output} lies inside the release, which has no other files; name another place")


def _tell(output: Path | None, made: Report) -> None:
    out = screen.console()
    if output is None:
        typer.echo(screen.visible(made.assessment()), nl=False)
    elif made.private:
        out.print(f"Wrote {output}. PRIVATE: it discloses facts about the original. Do not publish it.")
    else:
        out.print(f"Wrote {output}. It discloses nothing beyond the release.")
    if made.attacks == "inconclusive":
        out.print("Attacks were inconclusive; the page says which, and what would decide them.")
    if not made.sound:
        out.print("The release is NOT sound; the page gives the reason.")
