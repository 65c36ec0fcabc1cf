"""The command line, run inside the test's own process."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer.main
import typer.testing

from incrowd.cli.app import app

# The command line is built once: typer's runner would do it again for every command.
setattr(typer.testing, "_get_command", functools.cache(typer.main.get_command))  # noqa: B010


@dataclass(frozen=True)
class Ran:
    """What a command left behind on the screen."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def incrowd(*words: object) -> Ran:
    """Run ``incrowd WORDS``. An error that reaches this function is an error of the command line."""
    ran = typer.testing.CliRunner().invoke(app, [str(word) for word in words], prog_name="incrowd")
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    return Ran(ran.exit_code, ran.stdout, ran.stderr)


def asked(clinic: Path) -> tuple[Path, str, Path]:
    """The words that name the example's table and its policy."""
    return clinic / "patients.csv", "-p", clinic / "policy.toml"


def listing(folder: Path) -> dict[str, tuple[int, str]]:
    """Everything below a folder: mode and digest by name."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in sorted(folder.rglob("*"))
    }
