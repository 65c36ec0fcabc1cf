"""The command that a screen shows, run as it stands there."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.studio_visitor import Visitor

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
