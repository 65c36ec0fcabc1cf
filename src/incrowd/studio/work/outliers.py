"""How many people stand out at which p and d, and a proposal: `outliers`."""

from __future__ import annotations

from typing import Any

from incrowd.commands.outliers import outliers
from incrowd.schema import Source
from incrowd.studio.job_process import Reporter


def run(reporter: Reporter, table: dict[str, str], policy: str) -> dict[str, Any]:
    """The grid, the proposal and the notes as the command prints them; names of columns and counts only."""
    found = outliers(Source(**table), policy, watch=reporter.watch)
    return found.to_dict() | {"headline": found.headline(), "p": found.p}
