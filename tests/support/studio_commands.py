"""The command that a screen shows, run as it stands there."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.studio_visitor import Visitor
from typer.testing import CliRunner

from incrowd.cli.app import app
from incrowd.studio import views


def shown_command(visitor: Visitor, screen: str, about: str) -> list[str]:
    """Its words, from what the foot of the page shows."""
    visitor.get(f"/{screen}")
    (found,) = (each for each in views.module(screen).commands(visitor.studio) if each.about == about)
    return shlex.split(found.command)


def run_shown(visitor: Visitor, screen: str, about: str) -> dict[str, Any]:
    """What it prints with --json, in the folder where the studio was started."""
    words = shown_command(visitor, screen, about)
    program = str(Path(sys.executable).parent / words[0])
    done = subprocess.run(
        [program, *words[1:], "--json"],
        cwd=visitor.studio.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def ran(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, about: str, *more: str, codes: tuple[int, ...] = (0,)
) -> Any:
    """The same in the test's own process, found in the list of all commands by what it is about."""
    monkeypatch.chdir(visitor.studio.folder)
    (line,) = set(re.findall(rf"# {about}\n(incrowd .*)", visitor.get("/command").text))
    result = CliRunner().invoke(app, [*shlex.split(line)[1:], *more, "--json"])
    assert result.exit_code in codes, result.output
    return json.loads(result.output)
