"""A release read again by the verifier, against the open table: `verify`."""

from __future__ import annotations

from typing import Any

from incrowd.commands.verify import verify
from incrowd.errors import NotVerified
from incrowd.schema import CHECKS, Source
from incrowd.studio.job_process import Reporter


def run(
    reporter: Reporter, table: dict[str, str], policy: str, release: str, asked: str = ""
) -> dict[str, Any]:
    """All checks; with `asked` the release must be what the policy asks for, else what it claims itself."""
    try:
        verdict = verify(release, Source(**table), policy if asked else None, watch=reporter.watch)
    except NotVerified as refused:
        return {"passed": False, "checks": [], "headline": str(refused)}
    said = verdict.to_dict()
    checks = [check | {"means": CHECKS.get(check["name"], "")} for check in said["checks"]]
    return {"passed": verdict.passed, "checks": checks, "headline": verdict.headline()}
