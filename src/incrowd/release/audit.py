"""The private audit beside a release: roles and hierarchies, so that it can be verified again later."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from incrowd.errors import InputError, option
from incrowd.policy import Policy
from incrowd.policy.parts import Population
from incrowd.schema import Column, Kind, Role, Schema, Shape, Source
from incrowd.tables.checked_files import sha256_of

AUDIT, LINKS, SCHEMA = "audit.json", "links.json", "schema.json"
POLICY, POPULATION = "policy", "population"  # keys of the audit, about the request


@dataclass(frozen=True, slots=True)
class AuditedRequest:
    """What the audit kept of the request: the public table's provenance, the policy's digest and population.

    All of it is empty where there is no audit, or one that cannot be read.
    """

    provenance: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""
    population_said: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, audit: Path) -> AuditedRequest:
        try:
            kept = json.loads((audit / AUDIT).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return cls()
        public, policy = _part(_part(kept, "manifest"), "public"), _part(kept, POLICY)
        keys: tuple[str, ...] = ("source", "date")
        provenance = {key: str(public[key]) for key in keys if key in public}
        return cls(provenance, str(policy.get("sha256", "")), _part(policy, POPULATION))

    @property
    def population(self) -> Population | None:
        try:
            return Population(**self.population_said) if self.population_said else None
        except ValueError:
            raise InputError(
                f"the population in the audit cannot be read; pass the policy with {option('policy')}"
            ) from None


def _part(kept: object, key: str) -> dict[str, Any]:
    found = kept.get(key) if isinstance(kept, dict) else None
    return found if isinstance(found, dict) else {}


def policy_digest(policy: Policy) -> str:
    """What a policy hashes to in one canonical form, however its file is written."""
    return hashlib.sha256(json.dumps(policy.to_dict(), sort_keys=True).encode()).hexdigest()


def kept_of_policy(policy: Policy) -> dict[str, Any]:
    """What the audit keeps of a policy: enough to recognize it, and to estimate risk in its population."""
    said = policy.to_dict()
    return {"sha256": policy_digest(policy), **({POPULATION: said[POPULATION]} if POPULATION in said else {})}


def fingerprint(source: object) -> dict[str, Any]:
    """What the audit says of the original: a digest of a file, of anything else what it was."""
    given = Source.of(source)
    if given is None or given.file is None or not given.file.is_file():
        return {"kind": type(source).__name__ if given is None else given.name}
    how = {key: said for key in ("encoding", "sheet", "sql") if (said := getattr(given, key))}
    return {"name": given.name, "sha256": sha256_of(given.file), **how}


def schema_as_dict(schema: Schema) -> dict[str, Any]:
    """A schema in words that JSON knows.

    Examples
    --------
    >>> schema = Schema((Column("age", Role.QUASI, Kind.NUMERIC, Shape.RANGE),))
    >>> schema_from_dict(schema_as_dict(schema)) == schema
    True
    """
    return {
        "missing": sorted(schema.missing),
        "columns": [
            {
                "name": column.name,
                "role": str(column.role),
                "kind": str(column.kind),
                "shape": str(column.shape),
                "levels": [list(row) for row in column.levels],
                "order": list(column.order),
                "family": [sorted(subset) for subset in column.family],
                "format": column.format,
                "mean": column.mean,
                "public": column.public,
                "description": column.description,
                "built": dict(column.built),
            }
            for column in schema.columns
        ],
    }


def schema_from_dict(content: Mapping[str, Any]) -> Schema:
    """A schema as `schema_as_dict` wrote it."""
    try:
        columns = tuple(
            Column(
                name=said["name"],
                role=Role(said["role"]),
                kind=Kind(said["kind"]),
                shape=Shape(said["shape"]),
                levels=tuple(tuple(row) for row in said["levels"]),
                order=tuple(said["order"]),
                family=tuple(frozenset(subset) for subset in said["family"]),
                format=said["format"],
                mean=said["mean"],
                public=said["public"],
                description=said["description"],
                built=dict(said["built"]),
            )
            for said in content["columns"]
        )
        return Schema(columns, frozenset(content["missing"]))
    except (KeyError, TypeError, ValueError):
        raise InputError(
            f"the audit's schema.json is damaged; pass the policy with {option('policy')}"
        ) from None
