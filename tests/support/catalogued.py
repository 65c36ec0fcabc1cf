"""A release written by hand in the words of the catalogue, so that it can be verified without a policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from incrowd.encode import encode
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing.request import requested
from incrowd.schema import Role, Schema


def catalogued(release: Any, method: str, public_id: str) -> None:
    """Let the release claim k alone, as a method with a public table does, and name that method.

    Kept columns are dropped, since people of a public table have none.
    """
    columns = [replace(c, role=Role.DROP) if c.role is Role.KEEP else c for c in release.schema.columns]
    release.schema = Schema(tuple(columns), release.schema.missing)
    rows = map(list, zip(*release.original, strict=True))
    data = encode(Table.of(dict(zip(release.original_names, rows, strict=True))), release.schema)
    named = {role: [column.name for column in release.schema.having(role)] for role in Role}
    policy = Policy(
        identifiers=named[Role.IDENTIFIER],
        quasi_identifiers=named[Role.QUASI],
        sensitive=named[Role.SENSITIVE],
        method=method,
        accept=["all"],
        privacy={"k": min(claim.parameters["k"] for claim in release.claims if "k" in claim.parameters)},
        public={"table": "public.csv", "id": public_id, "membership_secret": True},
    )
    request = requested(policy)
    release.claims = request.claims(data)
    release.manifest["claims"] = [claim.to_dict() for claim in release.claims]
    release.manifest["method"] = request.method
    release.manifest["accepted"] = ["all"]
