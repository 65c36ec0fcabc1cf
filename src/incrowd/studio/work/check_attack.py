"""What each adversary gets out of a release: `attack`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from incrowd.commands.attack import attack
from incrowd.schema import Source
from incrowd.studio.job_process import Reporter


def run(
    reporter: Reporter, table: dict[str, str], policy: str, release: str, *, asked: str = "", also: str = ""
) -> dict[str, Any]:
    """Every attack with its bound as a number; with `also`, on two releases together."""
    found = attack(
        release, Source(**table), policy if asked else None, also=also or None, watch=reporter.watch
    )
    said = found.to_dict()
    for each in said["attacks"]:
        each["limit"] = None if each["bound"] is None else float(Fraction(each["bound"]))
    return said | {"headline": found.headline()}
