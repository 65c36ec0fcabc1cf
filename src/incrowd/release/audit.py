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


def links_of(audit: Path, records: int) -> NDArray[np.int64] | None:
    """Which of the records is behind each row, where the audit says so.

    It is kept with releases that publish means, crowds of one's own, sensitive values apart from rows, or
    leave records out: that cannot be found out again. The judge uses it as a hint and never trusts it; a
    damaged one is none.
    """
    links = _of_each_row(audit, "record_of_each_row")
    if links is None or not links.size:
        return None
    named_once = np.unique(links).size == links.size and links.min() >= 0 and links.max() < records
    return links if named_once else None


def parts_of(audit: Path, rows: int) -> NDArray[np.int64] | None:
    """In which part of the table each row was drawn, where the audit says so.

    It is kept where l is promised of crowds of one's own. No row tells its part, and without parts the judge
    cannot confirm l. It checks them and never trusts them; damaged ones are none.
    """
    parts = _of_each_row(audit, "part_of_each_row")
    return parts if parts is not None and parts.size == rows and (parts >= 0).all() else None


def _of_each_row(audit: Path, key: str) -> NDArray[np.int64] | None:
    """Whole numbers that the audit has under this key, for as many rows; None if they are not that."""
    try:
        numbers = np.array(json.loads((audit / LINKS).read_text(encoding="utf-8"))[key])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return numbers if numbers.ndim == 1 and numbers.dtype == np.int64 else None


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
