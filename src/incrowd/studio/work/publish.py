"""A verified release into the project: `publish`. What it says of itself is read from its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from incrowd.commands.publish import publish
from incrowd.errors import Exposure
from incrowd.schema import Source
from incrowd.studio.job_process import Reporter


def run(
    reporter: Reporter, table: dict[str, str], policy: str, output: str, form: str = "csv", **_asked: Any
) -> dict[str, Any]:
    """Publish into a folder that does not exist yet; refused, nothing is there."""
    format, _, typed = form.partition("-")
    try:
        publish(Source(**table), policy, output, format=format, typed=typed == "typed", watch=reporter.watch)
    except Exposure as exposure:  # the page offers to accept it by its name
        reporter.part({"exposure": exposure.name, "reason": exposure.reason})
        raise
    return {"release": Path(output).name}
