"""What attacking a written release gives, and what its manifest says that every adversary needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incrowd import models
from incrowd.attacks import AttackResult
from incrowd.commands.verify import manifest_of
from incrowd.errors import InputError
from incrowd.schema import Claim

BY_LINKS = "the links in the audit"


@dataclass(frozen=True)
class Attacked:
    """What every adversary got out of a release. ``truth`` says how it is known who is behind which row."""

    records: int
    rows: int
    k: int | None
    method: str
    truth: str
    known: int
    results: tuple[AttackResult, ...]
    notes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return all(result.holds for result in self.results)

    def as_dict(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "rows": self.rows,
            "k": self.k,
            "method": self.method,
            "truth": self.truth,
            "known": self.known,
            "holds": self.holds,
            "attacks": [result.as_dict() for result in self.results],
            "notes": list(self.notes),
        }


def method_said(folder: Path) -> Mapping[str, Any]:
    said = manifest_of(folder).get("method")
    if not isinstance(said, dict) or not isinstance(said.get("name"), str):
        raise InputError(f"the manifest of {folder} does not say by which method it was made")
    rows = manifest_of(folder).get("rows")
    share = rows.get("max_suppression", "0") if isinstance(rows, dict) else "0"
    return {**said, "max_suppression": share}


def k_of(claims: Sequence[Claim]) -> int | None:
    """What was promised about rows; groups of sensitive values apart from them say nothing about rows."""
    claims = [claim for claim in claims if claim.model != models.SensitiveGroups.name]
    sizes = [size for claim in claims if isinstance(size := claim.parameters.get("k"), int)]
    return min(sizes) if sizes and min(sizes) >= 1 else None
