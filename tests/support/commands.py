"""The command line, run inside the test's own process."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from incrowd.cli.app import app


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
    ran = CliRunner().invoke(app, [str(word) for word in words], prog_name="incrowd")
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
