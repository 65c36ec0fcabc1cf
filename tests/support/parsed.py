"""All Python files of a folder as trees, parsed once for all tests of a process."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path


@cache
def parsed(folder: Path) -> dict[Path, ast.Module]:
    """By path, sorted. Looking for garbage among millions of new nodes takes twice as long as parsing."""
    looking = gc.isenabled()
    gc.disable()
    try:
        return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))}
    finally:
        if looking:
            gc.enable()
