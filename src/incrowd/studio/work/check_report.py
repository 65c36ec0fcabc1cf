"""A page about a release, for its readers or for its publisher alone: `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from incrowd.commands.report import report
from incrowd.schema import Source
from incrowd.studio.job_process import Reporter
from incrowd.studio.project import write_whole


def run(
    reporter: Reporter,
    table: dict[str, str],
    policy: str,
    release: str,
    *,
    page: str,
    private: int = 0,
    asked: str = "",
) -> dict[str, Any]:
    """Write the page into the project; nothing of it is in the result."""
    if private:
        made = report(release, Source(**table), policy if asked else None, watch=reporter.watch)
    else:
        made = report(release, watch=reporter.watch)
    reporter.watch("write")
    write_whole(Path(page), made.html().encode("utf-8", "replace"))
    return {"sound": made.sound, "private": made.private, "headline": made.headline()}
