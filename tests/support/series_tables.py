"""Small tables of people who come and go, and series of releases of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.flow import Table
from incrowd.publishing.pipeline import Release
from incrowd.release.stage import LEDGER, audit_folder
from incrowd.schema import Verdict
from incrowd.tables.checked_files import sha256_of

People = Mapping[str, tuple[int, str]]  # by id: age and illness


def table(people: People) -> Table:
    ages, ills = zip(*people.values(), strict=True)
    named = [f"Name {who}" for who in people]
    return Table.of({"id": list(people), "name": named, "age": [str(age) for age in ages], "ill": list(ills)})


def policy(k: int = 3, series: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    privacy = {"k": k, **more.pop("privacy", {})}
    roles = {"entity": "id", "identifiers": ["name"], "quasi_identifiers": {"age": {"type": "numeric"}}}
    return {**roles, "sensitive": ["ill"], "privacy": privacy, "series": dict(series or {}), **more}


def crowd(size: int = 26) -> dict[str, tuple[int, str]]:
    """People of all ages, whose illnesses alternate."""
    return {f"p{number}": (20 + 2 * number, "abc"[number % 3]) for number in range(size)}


def months(folder: Path, tables: Sequence[People], asked: Mapping[str, Any], **more: Any) -> list[Release]:
    """A release for each table, each after the one before."""
    found: list[Release] = []
    for number, people in enumerate(tables):
        after = folder / f"m{number - 1}" if number else None
        found.append(publish(table(people), dict(asked), folder / f"m{number}", after=after, **more))
    return found


def checked(folder: Path, number: int, people: People, asked: Mapping[str, Any] | None = None) -> Verdict:
    return verify(folder / f"m{number}", table(people), None if asked is None else dict(asked))


def rehash(release: Path, **changes: Any) -> None:
    """Let a ledger have the digests of its files again, as a forger would, and say other things."""
    audit = audit_folder(release)
    head = json.loads((audit / LEDGER).read_text())
    head["files"] = {name: sha256_of(audit / name) for name in head["files"]}
    head |= changes
    (audit / LEDGER).write_text(json.dumps(head, indent=2) + "\n")


def failed(verdict: Verdict) -> list[str]:
    return [check.name for check in verdict.failures if not check.detail.startswith("not checked")]
