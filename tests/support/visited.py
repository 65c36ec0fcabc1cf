"""Run a command of incrowd and print which of its files it visits on the way to the verifier, as JSON.

A file is visited if a function in it is called, compiled kernels included; importing a module does not count.
The way begins where the table is read and ends where the verifier is entered; `verifier/` is not counted, nor
is what numba calls while it fetches a compiled kernel.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import incrowd

ROOT = f"{Path(incrowd.__file__).parent}/"
FIRST, LAST = ("tables/files.py", "read"), ("verifier/folder.py", "verify")


class Visits:
    """What `sys.setprofile` hears of, from the first call to the last."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.begun = self.ended = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or self.ended or not code.co_filename.startswith(ROOT):
            return
        if _importing(frame) or _called_by_numba(frame):
            return
        file = code.co_filename.removeprefix(ROOT)
        self.begun |= (file, code.co_name) == FIRST
        self.ended |= (file, code.co_name) == LAST
        if self.begun and not file.startswith("verifier/"):
            self.files.add(file)


def _importing(frame: FrameType | None) -> bool:
    """Is this called while a module of incrowd is imported?"""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(ROOT):
            return True
        frame = frame.f_back
    return False


def _called_by_numba(frame: FrameType | None) -> bool:
    """Is this called while numba fetches or compiles a kernel? It asks for what is kept."""
    while frame is not None:
        if f"{os.sep}numba{os.sep}" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def main() -> None:
    from incrowd.cli import main as command

    visits = Visits()
    sys.setprofile(visits)
    try:
        command()
    finally:
        sys.setprofile(None)
        sys.stderr.write(json.dumps({"ended": visits.ended, "files": sorted(visits.files)}))


if __name__ == "__main__":
    main()
