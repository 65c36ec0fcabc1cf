"""The distinct rows of a release as queries need them, and what is known of the people behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError
from incrowd.flow import Table, distinct_rows
from incrowd.policy import Policy
from incrowd.queries.answering import Ints
from incrowd.queries.columns import PublishedColumn
from incrowd.queries.reading import (
    ClassMeans,
    PublicKnowledge,
    QueriedBuckets,
    as_written,
    generalised,
    mean_decimals,
    read_buckets,
    read_means,
)
from incrowd.release.folder import ReleaseFolder
from incrowd.schema import Role, Schema


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of a release, r of them.

    ``codes`` (r,) are their cells by column, ``count`` (r,) how many rows say the same. ``classes`` (r,)
    numbers rows that are equal in their quasi-identifiers. ``means`` are class means, and which of them each
    row has. ``group`` (r,) is the group of each where sensitive values are in ``buckets``. ``uncertain`` says
    that rows may be of people of a public table, and of how many is not known; with ``at_least_one``, one of
    each class is of the private table.
    """

    columns: Mapping[str, PublishedColumn]
    codes: Mapping[str, NDArray[np.int32]]
    count: Ints
    classes: Ints
    means: Mapping[str, tuple[ClassMeans, NDArray[np.int32]]]
    about: str
    group: Ints | None = None
    buckets: QueriedBuckets | None = None
    uncertain: bool = False
    at_least_one: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that can be asked about."""
        return (*self.columns, *(self.buckets.columns if self.buckets is not None else ()))

    def column(self, name: str) -> PublishedColumn:
        if self.buckets is not None and name in self.buckets.columns:
            return self.buckets.columns[name][0]
        return self.columns[name]


def read_published(release: object, policy: Policy | None) -> DistinctRows:
    """Read the manifest, the rows and the buckets of a release; nothing else is opened."""
    folder = ReleaseFolder.open(release)
    schema = folder.published_schema
    buckets = folder.buckets if folder.bucketed else None
    known = PublicKnowledge.of(policy or folder.policy, schema)
    return distinct_rows_of(folder.rows, schema, known, buckets, folder.manifest)


def distinct_rows_of(
    rows: Table, schema: Schema, public: PublicKnowledge, buckets: Table | None, manifest: Mapping[str, Any]
) -> DistinctRows:
    """The distinct rows of a release, with what the manifest tells of the people behind them."""
    _check_names(rows, schema, buckets)
    columns: dict[str, PublishedColumn] = {}
    means = {}
    for said in schema.columns:
        if buckets is not None and said.role is Role.SENSITIVE:
            continue
        texts = rows.column(said.name).texts
        if said.role is not Role.QUASI:
            columns[said.name] = as_written(said, texts, public)
            continue
        places = mean_decimals(rows.column(f"{said.name}_mean")) if said.mean else 0
        if places:  # else every class has too few known values
            means[said.name] = rows.column(f"{said.name}_mean")
        columns[said.name] = generalised(said, texts, places, public)
    quasi = [column.name for column in schema.having(Role.QUASI)]
    extra = [f"{name}_mean" for name in means] + (["group"] if buckets is not None else [])
    first, which = _distinct(rows, [*columns, *extra])
    group = rows.column("group") if buckets is not None else None
    joined = "public" in manifest
    return DistinctRows(
        columns,
        {name: rows.column(name).codes[first] for name in columns},
        np.bincount(which, minlength=first.size).astype(np.int64),
        _distinct(rows, [*quasi, *(f"{name}_mean" for name in means)])[1][first],
        {name: (read_means(column, name), column.codes[first]) for name, column in means.items()},
        _about(manifest),
        None if group is None else group.codes[first].astype(np.int64),
        None if buckets is None or group is None else read_buckets(buckets, schema, group.texts, public),
        uncertain=joined and buckets is None,
        at_least_one=_method(manifest) == "kja-direct",
    )


def _check_names(rows: Table, schema: Schema, buckets: Table | None) -> None:
    """The rows must have the columns that the manifest speaks of."""
    named = [c.name for c in schema.columns if buckets is None or c.role is not Role.SENSITIVE]
    named += [f"{column.name}_mean" for column in schema.columns if column.mean]
    absent = [
        name for name in (*named, *(["group"] if buckets is not None else [])) if name not in rows.names
    ]
    if absent:
        raise InputError(f"the rows of the release lack columns of its manifest: {', '.join(absent)}")


def _method(manifest: Mapping[str, Any]) -> object:
    said = manifest.get("method")
    return said.get("name") if isinstance(said, dict) else None


def _distinct(rows: Table, names: Sequence[str]) -> tuple[Ints, Ints]:
    columns = [rows.column(name) for name in names]
    return distinct_rows([c.codes for c in columns], [len(c.texts) for c in columns], len(rows))


def _about(manifest: Mapping[str, Any]) -> str:
    """Whom answers speak of: those who have a row, and how many may have none."""
    if "public" in manifest:
        return "the people of the private table; people of a public one have rows among theirs"
    said = manifest.get("rows")
    rows = said if isinstance(said, dict) else {}
    if "max_suppression" in rows:
        return f"the people who have a row; up to {rows['max_suppression']} of all records may have none"
    left = rows.get("suppressed")
    return "the people who have a row" + (
        f"; {left:,} records have none" if isinstance(left, int) and left else ""
    )
