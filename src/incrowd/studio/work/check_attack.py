"""What each adversary gets out of a release: `attack`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from incrowd.attacks.registry import AttackResult, NotTried
from incrowd.commands.attack import attack
from incrowd.long_work import STEPS
from incrowd.schema import Source
from incrowd.studio.job_process import Reporter


def run(
    reporter: Reporter, table: dict[str, str], policy: str, release: str, *, asked: str = "", also: str = ""
) -> dict[str, Any]:
    """Every attack with its bound as a number; with `also`, on two releases together.

    Each is told when it is there. Interrupted after the first, what there is: it is then never held.
    """
    found = attack(
        release,
        Source(**table),
        policy if asked else None,
        also=also or None,
        on_result=lambda each: reporter.part(as_part(each)),
        stoppable=True,
        watch=lambda step: (reporter.watch if step in STEPS else reporter.watch_parts)(step),
    )
    doubts = [
        {"names": names, "reason": reason, "remedy": remedy}
        for (reason, remedy), names in found.doubts_alike.items()
    ]
    said = found.to_dict() | {"headline": found.headline(), "doubts": doubts}
    return said | {"attacks": [_with_limit(each) for each in found.results]}


def as_part(each: AttackResult | NotTried) -> dict[str, Any]:
    """A result as the whole has it, or why there is none."""
    return {"untried": each.to_dict()} if isinstance(each, NotTried) else {"attack": _with_limit(each)}


def _with_limit(result: AttackResult) -> dict[str, Any]:
    return result.to_dict() | {"limit": None if result.bound is None else float(Fraction(result.bound))}
