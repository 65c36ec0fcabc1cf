"""The private audit beside a release: roles and hierarchies, so that it can be verified again later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrowd.errors import InputError, option
from incrowd.schema import Column, Kind, Role, Schema, Shape

LINKS, SCHEMA = "links.json", "schema.json"


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
