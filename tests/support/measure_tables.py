"""Small originals and releases for the tests of the measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from incrowd.flow import Attribute, Microdata, Table
from incrowd.hierarchy import Hierarchy
from incrowd.measures import Published, published
from incrowd.schema import Kind, Shape


def close(value: Any) -> Any:
    """Equal but for the rounding of floats."""
    return pytest.approx(float(value), rel=1e-12, abs=1e-12)


def ranged(name: str, values: Sequence[int], missing: bool = False) -> Attribute:
    texts = ("",) * missing + tuple(str(value) for value in values)
    position = np.array([0.0] * missing + [float(value) for value in values])
    return Attribute(name, Kind.NUMERIC, Shape.RANGE, texts, position, missing=0 if missing else -1)


def flat(name: str, texts: Sequence[str], missing: int = -1) -> Attribute:
    return Attribute(
        name, Kind.CATEGORICAL, Shape.SET, tuple(texts), np.arange(float(len(texts))), missing=missing
    )


def treed(name: str, rows: Sequence[Sequence[str]], beside: bool = False, missing: str = "") -> Attribute:
    """A column with a tree; missing is a leaf of it, beside it, or absent."""
    tree = Hierarchy.from_rows(rows)
    texts = tree.leaves + ("",) * beside
    code = len(tree.leaves) if beside else tree.leaves.index(missing) if missing else -1
    position = np.arange(float(len(texts)))
    return Attribute(name, Kind.CATEGORICAL, Shape.TREE, texts, position, missing=code, tree=tree)


def microdata(attributes: Sequence[Attribute], records: Sequence[Sequence[Any]]) -> Microdata:
    codes = [[a.texts.index(str(v)) for a, v in zip(attributes, record, strict=True)] for record in records]
    return Microdata(np.array(codes, dtype=np.int32).reshape(-1, len(attributes)), tuple(attributes))


def release(data: Microdata, rows: Sequence[Sequence[str | None]]) -> Published:
    names = [attribute.name for attribute in data.attributes]
    return published(Table.of({name: [row[j] for row in rows] for j, name in enumerate(names)}), data)


def numbers_and_sex(records: Sequence[Sequence[Any]]) -> tuple[Attribute, ...]:
    """Attributes for records of numbers and texts: numbers become ranges."""
    columns = [sorted(set(column)) for column in zip(*records, strict=True)]
    return tuple(
        ranged(f"q{j}", values) if isinstance(values[0], int) else flat(f"q{j}", values)
        for j, values in enumerate(columns)
    )


def box(low: Any, high: Any) -> str:
    return str(low) if low == high else f"[{low},{high}]"


def plain_set(values: Sequence[Any]) -> str:
    return str(values[0]) if len(values) == 1 else "{" + "|".join(map(str, values)) + "}"
