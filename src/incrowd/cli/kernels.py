"""The command `kernels`: compile what publishing needs before anybody waits for it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, finish
from incrowd.kernels.compiling import SENTENCE, compiling


@app.command()
def kernels(
    for_all: Annotated[
        bool,
        typer.Option(
            "--for-all",
            help="Keep them beside the program, for all who use this installation and cannot write.",
        ),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Compile what the usual methods need, once on this machine; otherwise the first release does.

    Example: incrowd kernels --for-all
    """
    with boundary(as_json):
        tell = None if as_json else lambda: typer.echo(SENTENCE, err=True)
        with compiling.ahead(tell, for_all):
            _publish_examples()
        from incrowd.kernels.kept import BESIDE, own_folder

        folder = BESIDE if for_all else own_folder()
        found = {"compiled": compiling.functions, "folder": str(folder)}
        finish(found, as_json, lambda: _show(folder))


def _publish_examples() -> None:
    """Invented patients, by the default method with and without guards, and by the one `inspect` proposes."""
    from incrowd.commands.inspect import inspect, policy_text
    from incrowd.examples import write_example
    from incrowd.policy import Policy
    from incrowd.publishing.pipeline import publish_to
    from incrowd.release.ledger import Head

    with tempfile.TemporaryDirectory(prefix="incrowd-kernels-") as place:
        home = Path(place)
        write_example(home)
        table = home / "patients.csv"
        proposed = home / "proposed.toml"
        proposed.write_text(policy_text(inspect(table), table.name), encoding="utf-8", newline="\n")
        guarded = Policy.load(home / "policy.toml")
        plain = guarded.model_copy(update={"privacy": guarded.privacy.model_copy(update={"l": None})})
        for number, policy in enumerate((guarded, plain, Policy.load(proposed))):
            publish_to(table, policy, home / f"release{number}")
    Head.first(k=2, l=1).halves(["somebody"])  # as many people of a series are told apart


def _show(folder: Path) -> None:
    done = (
        f"compiled {compiling.functions} functions" if compiling.functions else "nothing is left to compile"
    )
    screen.console().print(f"{done}; kept in {folder}")
