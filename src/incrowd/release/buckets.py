"""Buckets of sensitive values, as Anatomy and k-join-anonymity publish them: group, value, count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError
from incrowd.flow import Table


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
            f"sensitive values are published in {self.groups:,} buckets, the smallest of {self.smallest:,}; "
            f"no value has more than {most} of a bucket. What all buckets together tell of how values go "
            "with quasi-identifiers is measured by the attack definetti"
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "groups": self.groups,
            "smallest": self.smallest,
            "fewest_values": dict(self.fewest),
            "largest_share": {name: str(share) for name, share in self.share.items()},
        }


def counts_of(lines: Table) -> NDArray[np.int64]:
    """The counts of all lines; a ValueError if some are no counts."""
    said = lines.column("count")
    counts: NDArray[np.int64] = np.array([int(text or "") for text in said.texts], np.int64)[said.codes]
    if not counts.size or counts.min() < 1:
        raise ValueError("no counts")
    return counts


def bucket_counts(lines: Table, where: Path) -> BucketCounts:
    """Count the values of each bucket."""
    try:
        group, counts = lines.column("group"), counts_of(lines)
    except (ValueError, OverflowError):
        raise InputError(f"the sensitive values in {where} cannot be read") from None
    sizes = np.zeros(len(group.texts), np.int64)
    np.add.at(sizes, group.codes, counts)
    fewest, share = {}, {}
    for name in lines.names[1:-1]:
        column = lines.column(name)
        key = group.codes.astype(np.int64) * len(column.texts) + column.codes
        pairs, of = np.unique(key, return_inverse=True)
        often = np.zeros(pairs.size, np.int64)
        np.add.at(often, of, counts)
        owner = pairs // len(column.texts)
        fewest[name] = int(np.bincount(owner).min())
        most = np.argmax(often / sizes[owner])
        share[name] = Fraction(int(often[most]), int(sizes[owner[most]]))
    return BucketCounts(sizes.size, int(sizes.min()), fewest, share)
