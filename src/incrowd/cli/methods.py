"""The command `methods`: the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, finish

if TYPE_CHECKING:
    from incrowd.algorithms.base import Algorithm


@app.command()
def methods(as_json: options.AsJson = False) -> None:
    """The catalogue: what each method guarantees, against which adversary, and what it does not.

    Example: incrowd methods --json
    """
    with boundary(as_json):
        from incrowd.commands.methods import methods

        found = methods()
        finish(list(found.to_dict().values()), as_json, lambda: show(list(found.values())))


def show(found: Sequence[type[Algorithm]]) -> None:
    """The catalogue."""
    out = screen.console()
    for method in found:
        words = method.to_dict()
        rows = [
            (key.replace("_", " "), str(words[key]))
            for key in ("guarantee", "adversary", "not_claimed", "needs")
        ]
        rows += [("paper", f"{method.paper}, {method.section}")]
        rows += [
            (f"--set {n}=", f"{o['must_be']} (default {screen.parameter(o['default'])})")
            for n, o in words["options"].items()
        ]
        out.print(screen.table(method.name, ("", method.publishes), rows))
