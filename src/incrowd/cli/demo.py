"""The command `demo`: from a raw table to a verified release, step by step."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary
from incrowd.errors import InputError
from incrowd.long_work import cleaned_by

if TYPE_CHECKING:
    from incrowd.flow import Table

SHOWN_ROWS = 5
SHOWN_COLUMNS = ("name", "age", "sex", "zip", "education", "diagnosis")  # fit a line


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Where to keep the files; without it they are deleted.")
    ] = None,
    paper: Annotated[
        str | None,
        typer.Option(
            "--paper",
            help="The running example of a paper instead: multidimensional, revisited, nonhomogeneous, kja, "
            "outliers.",
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """The whole process on an invented table, in under a minute.

    Example: incrowd demo --folder tour
    """
    with boundary(as_json):
        tell = _tour if paper is None else _example(paper)
        if folder is not None:
            _make(folder)
            return tell(folder, as_json, True)
        with tempfile.TemporaryDirectory(prefix="incrowd-demo-") as home, cleaned_by(lambda: _remove(home)):
            tell(Path(home), as_json, False)


def _example(paper: str) -> Callable[[Path, bool, bool], None]:
    """What tells the example of a paper: its table, what goes wrong, what the method does about it."""
    from incrowd.commands.demo.papers import check_paper, paper_story

    check_paper(paper)

    def tell(home: Path, as_json: bool, kept: bool) -> None:
        with screen.watching(as_json) as watch:
            watch("publish")
            story = paper_story(paper, home)
        if as_json:
            screen.print_json(story.to_dict())
            return
        out = screen.console()
        out.print(story.title)
        out.print(f"The running example of {story.source}.")
        for number, step in enumerate(story.steps, 1):
            out.print(f"{number}. {step.title}")
            for sentence in step.says:
                out.print(f"   {sentence}")
            if step.table is not None:
                out.print(screen.table("", step.table.header, step.table.rows))
            if step.command and kept:
                out.print(f"   $ {step.command}")
        out.print(f"All experiments of the paper: incrowd reproduce {paper}")
        if kept:
            out.print(f"The tables, policies and releases are in {home}; the commands above are run there.")

    return tell


def _remove(home: str) -> None:
    shutil.rmtree(home, ignore_errors=True)


def _make(folder: Path) -> None:
    try:
        folder.mkdir()
    except FileExistsError:
        raise InputError(f"{folder} exists; name a new folder") from None
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}") from None


def _tour(home: Path, as_json: bool, kept: bool) -> None:
    """Generate the clinic's patients, look at them, publish them, and verify the release once more."""
    from incrowd import tables
    from incrowd.commands.inspect import inspect
    from incrowd.commands.verify import verify
    from incrowd.examples import write_example
    from incrowd.policy import Policy
    from incrowd.publishing.pipeline import publish_to
    from incrowd.schema import Role

    write_example(home)
    patients, release = home / "patients.csv", home / "release"
    policy = Policy.load(home / "policy.toml")
    with screen.watching(as_json) as watch:
        watch("read")
        table = tables.read(patients)
        profile = inspect(table)
        written = publish_to(patients, policy, release, watch=watch)
        verdict = verify(release, patients, policy, watch=watch)
    if as_json:
        screen.print_json(
            {"risk_before": profile.to_dict()["risk"], **written.to_dict(), "again": verdict.to_dict()}
        )
        return
    out = screen.console()
    names = [column.name for column in policy.schema(table).having(Role.QUASI)]
    out.print(f"1. A clinic has {len(table):,} patients. It wants to hand the table to researchers.")
    telling = profile.combinations[0]
    out.print(
        f"   Leaving out the names is not enough: {', '.join(telling.columns)} alone single out "
        f"{telling.unique:,} of them."
    )
    _show(table)
    out.print(f"2. The policy says: outsiders know {', '.join(names)}. These are the quasi-identifiers.")
    privacy = policy.privacy.model_dump(exclude_none=True)
    out.print(f"   Promised: {', '.join(f'{key} = {value}' for key, value in privacy.items())}. Published:")
    published = tables.unprotected_table(tables.read(release / "data.csv"))
    _show(published)
    facts = written.verdict.facts
    out.print(
        f"3. Every equivalence class (rows with equal quasi-identifiers) has at least "
        f"{facts['smallest_class']} persons; {facts['classes']} classes, information loss (GCP) "
        f"{written.loss()['gcp']:.4f}."
    )
    passed = "confirmed" if verdict.passed else "REJECTED"
    out.print(
        f"   An independent verifier read the files again and {passed} it: {len(verdict.checks)} checks."
    )
    out.print("Next, your own table: incrowd inspect YOUR.csv -o policy.toml")
    if kept:
        out.print(f"The files of this tour are in {home}.")


def _show(table: Table) -> None:
    """The first rows of the columns that fit a line, and which there are besides."""
    out = screen.console()
    shown = [name for name in SHOWN_COLUMNS if name in table.names]
    columns = [table.column(name).rows()[:SHOWN_ROWS] for name in shown]
    rows = [tuple(cell or "" for cell in row) for row in zip(*columns, strict=True)]
    out.print(screen.table("", shown, rows))
    others = [name for name in table.names if name not in shown]
    out.print(f"   (not shown: {', '.join(others)})")
