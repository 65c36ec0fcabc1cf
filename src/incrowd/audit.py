"""What is kept privately beside a release, so that it can be judged again later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError
from incrowd.schema import Column, Kind, Role, Schema, Shape

LINKS = "links.json"


def links_of(audit: Path, rows: int) -> NDArray[np.int64] | None:
    """Which record is behind each row, where the audit says so.

    It is kept with releases that publish means or crowds of one's own: where rows overlap, whose each is
    cannot be found out again. The judge uses it as a hint and never trusts it; a damaged one is none.
    """
    try:
        said = json.loads((audit / LINKS).read_text(encoding="utf-8"))["record_of_each_row"]
        links = np.array(said, dtype=np.int64)
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
    known = links.shape == (rows,) and np.array_equal(np.sort(links), np.arange(rows))
    return links if known else None


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
            )
            for said in content["columns"]
        )
        return Schema(columns, frozenset(content["missing"]))
    except (KeyError, TypeError, ValueError):
        raise InputError("the audit's schema.json is damaged; pass the policy with -p") from None
