"""Records sorted by group, so that a column's smallest and largest codes are two reductions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Codes, Crowds


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups 0..g-1, end to end: entry e says that record ``order[e]`` is in group ``owner[e]``.

    Group g has the entries ``starts[g]`` up to the next start. In a partition every record has one entry; a
    record may be in several crowds.
    """

    order: NDArray[np.int64]
    owner: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, labels: Codes) -> Groups:
        """The groups of a partition."""
        sizes = np.bincount(labels)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if sizes.size else np.zeros(0, np.int64)
        order = np.argsort(labels, kind="stable")
        return cls(order, labels[order].astype(np.int64), starts)

    @classmethod
    def around(cls, crowds: Crowds) -> Groups:
        """One group for each record: its crowd."""
        owner = np.repeat(np.arange(len(crowds)), crowds.sizes)
        return cls(crowds.members.astype(np.int64), owner, crowds.starts[:-1])

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
