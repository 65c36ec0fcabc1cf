"""What a classifier learns from a release, against the open table: `learn`."""

from __future__ import annotations

from typing import Any

from incrowd.commands.learn import learn
from incrowd.schema import Source
from incrowd.studio.job_process import Reporter


def run(
    reporter: Reporter, table: dict[str, str], policy: str, release: str, *, target: str, asked: str = ""
) -> dict[str, Any]:
    """Predictions of one column, trained on the original and on the release."""
    found = learn(release, Source(**table), [target], policy if asked else None, watch=reporter.watch)
    return found.to_dict() | {"headline": found.headline()}
