"""Records sorted by group, so that a column's smallest and largest codes are two reductions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Codes, Neighbourhoods

MANY = 1_000_000  # entries from which on compiling a loop pays off
SPARSE = 8  # times as many possible keys as there are: from there on sorting them is quicker than a table


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
    def around(cls, neighbourhoods: Neighbourhoods) -> Groups:
        """One group for each record: its crowd."""
        owner = np.repeat(np.arange(len(neighbourhoods)), neighbourhoods.sizes)
        return cls(neighbourhoods.members.astype(np.int64), owner, neighbourhoods.starts[:-1])

    def and_(self, others: Groups) -> Groups:
        """These groups, and then the others."""
        return Groups(
            np.concatenate([self.order, others.order]),
            np.concatenate([self.owner, others.owner + len(self)]),
            np.concatenate([self.starts, others.starts + self.order.size]),
        )

    def __len__(self) -> int:
        return self.starts.size

    @property
    def first(self) -> NDArray[np.int64]:
        """One record of each group."""
        return self.order[self.starts]

    def bounds(self, codes: Codes) -> tuple[Codes, Codes]:
        """Smallest and largest code of each group."""
        if self.order.size > MANY:
            from incrowd.kernels import segments

            low, high = np.empty(len(self), np.int32), np.empty(len(self), np.int32)
            segments.bounds(codes, self.order, self.starts, low, high)
            return low, high
        ordered = codes[self.order]
        return np.minimum.reduceat(ordered, self.starts), np.maximum.reduceat(ordered, self.starts)


def numbered(keys: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number keys below `size` in their order -> where each number is first met, and the number of each key.

    Examples
    --------
    >>> [part.tolist() for part in numbered(np.array([7, 2, 7]), 10)]
    [[1, 0], [1, 0, 1]]
    """
    if size > SPARSE * keys.size:
        _, first, of = np.unique(keys, return_index=True, return_inverse=True)
        return first, of
    seen = np.zeros(size, np.bool_)
    seen[keys] = True
    of = (np.cumsum(seen) - 1)[keys]
    first = np.empty(int(np.count_nonzero(seen)), np.int64)
    first[of[::-1]] = np.arange(keys.size - 1, -1, -1)
    return first, of
