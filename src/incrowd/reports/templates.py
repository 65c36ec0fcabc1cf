"""How pages are filled in: nothing of a table can be taken for a part of the page, and nothing is endless."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from incrowd.reports.svg import visible

LONGEST_TEXT = 2000


def harmless(value: Any, also: str = "") -> Any:
    """A text shortened and visible; `also` are signs that may stay as they are."""
    if hasattr(value, "__html__") or not isinstance(value, str):
        return value
    return visible(value if len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}…", also)


def templates_in(folder: Path, also: str = "") -> Environment:
    """The templates of a folder: texts are escaped, shortened and visible, and an unknown name is a fault."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=partial(harmless, also=also),
    )
