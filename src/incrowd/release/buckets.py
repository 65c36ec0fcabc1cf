"""Buckets of sensitive values, as Anatomy and k-join-anonymity publish them: group, value, count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.errors import InputError, TableError
from incrowd.flow import Table, distinct_rows
from incrowd.measures.buckets import BucketTable


@dataclass(frozen=True)
class BucketCounts:
    """How many sensitive values buckets have.

    ``fewest`` is for each sensitive column the fewest different values of a bucket, ``share`` the largest
    share that one value has in a bucket.
    """

    groups: int
    smallest: int
    fewest: Mapping[str, int]
    share: Mapping[str, Fraction]

    @property
    def note(self) -> str:
        most = max(self.share.values(), default=Fraction(1))
        return (
            f"sensitive values are in {self.groups:,} buckets, separate from the rows, the smallest of "
            f"{self.smallest:,}; no value has more than {most} of a bucket. What all buckets together "
            "disclose about how values depend on quasi-identifiers is measured by the attack definetti"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "groups": self.groups,
            "smallest": self.smallest,
            "fewest_values": dict(self.fewest),
            "largest_share": {name: str(share) for name, share in self.share.items()},
        }


def bucket_counts(lines: Table, where: Path) -> BucketCounts:
    """Count the values of each bucket."""
    try:
        found = BucketTable.read(lines)
    except TableError:
        raise InputError(f"the sensitive values in {where} cannot be read") from None
    if not found.count.size:
        raise InputError(f"there are no sensitive values in {where}")
    sizes = found.people
    fewest, share = {}, {}
    for name, column in found.values.items():
        first, pair = distinct_rows([found.group, column.codes], [sizes.size, len(column.texts)], len(lines))
        often, owner = np.bincount(pair, found.count).astype(np.int64), found.group[first]
        fewest[name] = int(np.bincount(owner).min())
        most = np.argmax(often / sizes[owner])
        share[name] = Fraction(int(often[most]), int(sizes[owner[most]]))
    return BucketCounts(sizes.size, int(sizes.min()), fewest, share)
