"""Records sorted by group, so that a column's smallest and largest codes are two reductions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Codes


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups 0..g-1: the group of each record, records in the order of groups, where each group starts."""

    labels: Codes
    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, labels: Codes) -> Groups:
        sizes = np.bincount(labels)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if sizes.size else np.zeros(0, np.int64)
        return cls(labels, np.argsort(labels, kind="stable"), starts)

    def __len__(self) -> int:
        return self.starts.size

    @property
    def first(self) -> NDArray[np.int64]:
        """One record of each group."""
        return self.order[self.starts]

    def bounds(self, codes: Codes) -> tuple[Codes, Codes]:
        """Smallest and largest code of each group."""
        ordered = codes[self.order]
        return np.minimum.reduceat(ordered, self.starts), np.maximum.reduceat(ordered, self.starts)

    def any(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Does each group hold a marked record?"""
        return np.bincount(self.labels[mask], minlength=len(self)) > 0
