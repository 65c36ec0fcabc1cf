"""Methods and k on one table: `compare`. Each trial is told when it is verified, and kept in the project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from incrowd.commands.compare import TRIAL, compare
from incrowd.commands.comparison import Level, Skipped, Trial
from incrowd.schema import Source
from incrowd.studio.job_process import Reporter


def run(
    reporter: Reporter,
    table: dict[str, str],
    policy: str,
    tried: dict[str, Sequence[Any]],
    cache: str,
    measure: str = "gcp",
    **_asked: Any,
) -> dict[str, Any]:
    """The comparison as the command prints it; interrupted after a trial, what there is.

    `tried` has the methods, the values of k, and those of l.
    """

    def told(each: Trial | Skipped) -> None:
        reporter.part(as_part(each))

    levels: Sequence[Level] = tried["l"] or [None]
    found = compare(
        Source(**table),
        policy,
        tried["methods"],
        tried["k"],
        levels,
        cache=cache,
        on_trial=told,
        watch=lambda step: (reporter.watch_parts if step.startswith(TRIAL) else reporter.watch)(step),
    )
    return found.to_dict(measure)


def as_part(each: Trial | Skipped) -> dict[str, Any]:
    """A trial as the whole comparison has it, or a method that was skipped."""
    if isinstance(each, Skipped):
        return {"skipped": {"method": each.method, "l": each.l, "reason": each.reason}}
    return {"trial": each.to_dict(False)}
