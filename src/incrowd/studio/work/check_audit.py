"""What a published table protects, whoever wrote it: `audit`."""

from __future__ import annotations

from typing import Any

from incrowd.commands.audit import audit
from incrowd.schema import Source
from incrowd.studio.job_process import Reporter


def run(
    reporter: Reporter, table: dict[str, str], policy: str, release: str, *, asked: str = "", k: int = 0
) -> dict[str, Any]:
    """Who fits which row; `asked` takes roles and hierarchies from the policy."""
    found = audit(Source(**table), release, policy if asked else None, k=k or None, watch=reporter.watch)
    return found.to_dict() | {"headline": found.headline()}
