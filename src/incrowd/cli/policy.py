"""The command `policy`: show a policy file, and edit it with its comments."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, finish
from incrowd.results import listed

if TYPE_CHECKING:
    from incrowd.commands.policy import EditedPolicy


@app.command()
def policy(
    action: Annotated[str, typer.Argument(help="show, set, remove or role.")],
    file: Annotated[Path, typer.Argument(help="Policy file (TOML).")],
    edits: Annotated[
        list[str] | None,
        typer.Argument(help="set: key=value …; remove: key …; role: column=role …"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the changes, write nothing.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show a policy file, or edit it: comments, order and layout stay. What is no policy is not written.

    Example: incrowd policy set policy.toml privacy.k=5 'quasi_identifiers.zip.hierarchy={prefix = [3]}'
    """
    with boundary(as_json):
        from incrowd.commands.policy import edit_policy

        found = edit_policy(file, action, edits or [], dry_run=dry_run)
        finish(found.to_dict(), as_json, lambda: show(found, action, file))


def show(found: EditedPolicy, action: str, file: Path) -> None:
    """The roles and the promise; after an edit the lines that changed."""
    out = screen.console()
    if action == "show":
        return _show_policy(found)
    if not found.diff:
        out.print(f"{file} says so already; nothing was changed.")
        return
    for line in found.diff.splitlines():
        out.print(line)
    if found.written:
        out.print(f"Wrote {file}. To see it whole: incrowd policy show {quote(str(file))}")
    else:
        out.print("Nothing was written.")


def _show_policy(found: EditedPolicy) -> None:
    from incrowd.policy.file import toml_value

    out, policy = screen.console(), found.after.policy
    names: dict[str, list[str]] = {}
    for name, role in policy.roles():
        names.setdefault(role.replace("_", "-"), []).append(name)
    rows = [(role, str(len(columns)), listed(columns)) for role, columns in names.items()]
    out.print(screen.table(found.path.name, ("role", "columns", "which"), rows))
    said = policy.to_dict()
    for column, words in said.get("quasi_identifiers", {}).items():
        if words:
            out.print(f"  {column}: {toml_value(words)}")
    out.print(f"Promise: {toml_value(said.get('privacy', {}))}")
    out.print(f"Method: {policy.method} {toml_value(policy.options) if policy.options else ''}".rstrip())
    if policy.accept:
        out.print(f"Accepted exposures: {', '.join(policy.accept)}")
