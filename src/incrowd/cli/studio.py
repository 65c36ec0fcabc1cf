"""The command `studio`: a page on this computer that walks from a table to a verified release."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary
from incrowd.errors import InputError

MOST_UPLOAD = "2GB"
UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
NEEDED = "the studio needs more packages: pip install 'incrowd[web]'"


@app.command()
def studio(
    table: Annotated[
        Path | None, typer.Argument(help="The table, or a project; without it the page lists tables.")
    ] = None,
    project: Annotated[
        Path | None, typer.Option("--project", help="The folder of the project; NAME.incrowd by default.")
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address, which works once.")
    ] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; free by default.")] = 0,
    idle: Annotated[
        float, typer.Option("--idle", min=0.01, help="Minutes without an action after which it ends.")
    ] = 30.0,
    max_upload: Annotated[
        str, typer.Option("--max-upload", help="The largest file that can be dropped, such as 500MB.")
    ] = MOST_UPLOAD,
    link: Annotated[
        bool, typer.Option("--link", help="Print another address for the studio that runs here.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """A page on this computer: choose roles, see risks, compare, publish, check. Nothing leaves it.

    Example: incrowd studio patients.csv
    """
    with boundary(as_json):
        server = _server()
        from incrowd.studio import links

        if link:
            address = links.new_link(links.running(Path.cwd(), port or None))
            _print(address, as_json)
            return
        limits = {"max_upload": float(_bytes(max_upload)), "idle": idle}
        server.serve(
            table,
            project=project,
            port=port,
            browser=not no_browser,
            limits=limits,
            say=lambda sentence: _print(sentence, as_json),
        )


def _server() -> ModuleType:
    try:
        from incrowd.studio import server
    except ModuleNotFoundError as missing:
        if missing.name is not None and missing.name.partition(".")[0] in ("starlette", "uvicorn", "anyio"):
            raise InputError(NEEDED) from None
        raise
    return server


def _print(sentence: str, as_json: bool) -> None:
    """The address, or a word on the end."""
    if sentence.startswith("http"):
        if as_json:
            screen.print_json({"address": sentence})
        else:
            typer.echo(sentence)
    else:
        typer.echo(sentence, err=True)


def _bytes(text: str) -> int:
    """A size as people write it: 500MB."""
    plain = text.strip().upper()
    unit = next((unit for unit in UNITS if plain.endswith(unit)), "")
    number = plain.removesuffix(unit).strip()
    if not number.isdecimal() or not number.isascii() or len(number) > 12:
        raise InputError("--max-upload is a whole number of KB, MB or GB, such as 500MB")
    return int(number) * UNITS.get(unit, 1)
