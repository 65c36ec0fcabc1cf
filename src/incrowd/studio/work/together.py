"""Two releases of the same people attacked together: `attack --also`."""

from __future__ import annotations

from typing import Any

from incrowd.commands.attack import attack
from incrowd.schema import Source
from incrowd.studio.job_process import Reporter


def run(
    reporter: Reporter, table: dict[str, str], policy: str, release: str, also: str, **_asked: Any
) -> dict[str, Any]:
    """What each adversary gets who has both; roles and hierarchies come from the audits, not the policy."""
    _ = policy
    found = attack(release, Source(**table), also=also, watch=reporter.watch)
    return found.to_dict() | {"headline": found.headline()}
