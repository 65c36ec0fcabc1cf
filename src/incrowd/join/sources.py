"""Which public table is joined: what the policy must say of it, how it is read and told from others."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incrowd import tables
from incrowd.errors import PolicyError
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.policy.parts import Public


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """The public table and the second source as they were read, and what the manifest says of them."""

    public: Table
    check: Table | None
    provenance: Mapping[str, Any]


def check_public(policy: Policy) -> Public:
    """What the policy says of the public table; an error unless people can hide behind its people."""
    said = policy.public
    if said is None:
        raise PolicyError(
            f"{policy.method} joins the table with a public one: write table, id and membership_secret under "
            "[public]"
        )
    if said.membership_secret is not True:
        raise PolicyError(
            f"{policy.method} counts people of the public table towards k, so it does not protect against "
            "somebody who knows who is in the private table; if that is a secret, write "
            "membership_secret = true under [public]"
        )
    return said


def read_sources(policy: Policy, public: object = None, check: object = None) -> Sources:
    """Read the public table and, if there is one, the second source: as given, else as the policy says."""
    said = check_public(policy)
    source = policy.folder / said.table if public is None else public
    table = _read(source)
    if check is None and said.check is not None:
        check = policy.folder / said.check
    second = None if check is None else _read(check)
    return Sources(table, second, provenance(source, table, said, check, second))


def _read(source: object) -> Table:
    return source if isinstance(source, Table) else tables.read(source)


def provenance(
    source: object, table: Table, public: Public, check: object = None, second: Table | None = None
) -> dict[str, Any]:
    """Which public table was joined, for the manifest: enough to see whether another one is the same.

    `check` and `second` are the second source and its table. Of a file there is the SHA-256, of anything else
    its kind.
    """
    said = {**_fingerprint(source, table), "id": public.id}
    said |= {key: text for key in ("source", "date") if (text := getattr(public, key)) is not None}
    if second is not None:
        said["checked_against"] = _fingerprint(check, second)
        if said["checked_against"].get("sha256", "") == said.get("sha256"):
            raise PolicyError("the tables under 'table' and 'check' of [public] are the same, byte for byte")
    return said


def _fingerprint(source: object, table: Table) -> dict[str, Any]:
    if not isinstance(source, str | os.PathLike):
        return {"kind": type(source).__name__, "rows": len(table)}
    with Path(source).open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "rows": len(table)}
