"""Records put in a row, and the row cut into parts: what all algorithms have in common that do so."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import NONHOMOGENEOUS, Algorithm
from incrowd.algorithms.geometry import geometry_of
from incrowd.contracts import Guard, Progress
from incrowd.flow import Codes, Microdata, Partition

UNIT = 720_720_000  # a domain is so wide; 1 to 16 steps divide it, so that small domains lose nothing


@dataclass(frozen=True, slots=True, eq=False)
class CutRow:
    """Records in a row, cut: part p holds ``order[starts[p]:starts[p+1]]``."""

    order: Codes
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size - 1

    def partition(self) -> Partition:
        """The same as groups; parts are numbered from left to right."""
        labels = np.empty(self.order.size, np.int32)
        labels[self.order] = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.starts))
        return Partition(labels)


class RowPartition(Algorithm):
    """Records put in a row, and the row cut into parts."""

    paper: ClassVar[str] = NONHOMOGENEOUS
    strict: ClassVar[bool] = False  # a cut may part equal records

    def group(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        return self.parts(data, guards, progress).partition()

    @abstractmethod
    def parts(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> CutRow:
        """The same, with the records in the order in which they were cut."""


def sorted_row(data: Microdata) -> tuple[NDArray[np.intp], Codes]:
    """Columns by the size of their domain (d,), and the records in lexicographic order by them (n,)."""
    by = np.argsort([len(attribute) for attribute in data.attributes], kind="stable")
    sizes = [len(data.attributes[j]) for j in by]
    return by, in_order(packed([data.codes[:, j] for j in by], sizes))


def packed(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> list[NDArray[np.int64]]:
    """Columns of codes as few whole numbers, the first column counting most: sorting these is quicker.

    Examples
    --------
    >>> packed([np.array([0, 2]), np.array([3, 1])], [3, 10])
    [array([ 3, 21])]
    """
    words: list[NDArray[np.int64]] = []
    room = 2**63
    for column, size in zip(columns, sizes, strict=True):
        room *= size
        if room >= 2**63:
            words.append(column.astype(np.int64))
            room = size
        else:
            words[-1] *= size
            words[-1] += column
    return words


def in_order(words: Sequence[NDArray[Any]]) -> Codes:
    """Records by their first word, then the next; equal ones by index."""
    if len(words) == 1:
        return np.argsort(words[0], kind="stable").astype(np.int32)
    return np.lexsort(words[::-1]).astype(np.int32)


def places_of(data: Microdata) -> list[NDArray[np.int32]]:
    """Where the codes of each attribute lie, every domain being `UNIT` wide.

    Ranges are measured in values, missing lying one mean gap below the smallest; leaves of a tree and
    values of a set lie one step apart. Whole numbers, so that equal widths are equal.
    """
    geometry = geometry_of(data)
    places = []
    for first, last in pairwise(geometry.start.tolist()):
        at = geometry.position[first:last]
        if at[-1] == at[0]:  # one number, and perhaps missing
            at = np.arange(last - first, dtype=np.float64)
        wide = float(at[-1] - at[0]) or 1.0
        places.append(np.rint((at - at[0]) / wide * UNIT).astype(np.int32))
    return places


# Guards


class _Stretch(NamedTuple):
    """Records first..last-1 of a row, and the box over them."""

    first: int
    last: int
    low: NDArray[np.int32]
    high: NDArray[np.int32]

    @property
    def cost(self) -> int:
        return (self.last - self.first) * int((self.high - self.low).sum(dtype=np.int64))

    def with_(self, other: _Stretch) -> _Stretch:
        return _Stretch(
            min(self.first, other.first),
            max(self.last, other.last),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    def dearer(self, other: _Stretch) -> int:
        """What both cost more as one."""
        return self.with_(other).cost - self.cost - other.cost


def keeping(parts: CutRow, guards: tuple[Guard, ...], data: Microdata) -> CutRow:
    """From left to right, merge each part that a guard does not allow with a neighbour until it is allowed.

    It is the neighbour with which it costs less, by the widths of boxes; the left one of equals.
    """
    if not guards:
        return parts
    order, starts = parts.order, parts.starts
    at = np.column_stack([p[data.codes[order, j]] for j, p in enumerate(places_of(data))])
    low, high = np.minimum.reduceat(at, starts[:-1]), np.maximum.reduceat(at, starts[:-1])
    borders = starts.tolist()
    ahead = [_Stretch(borders[p], borders[p + 1], low[p], high[p]) for p in range(len(parts) - 1, -1, -1)]
    kept: list[_Stretch] = []
    while ahead:
        this = ahead.pop()
        while (kept or ahead) and not all(guard.allows(order[this.first : this.last]) for guard in guards):
            leftwards = not ahead or (kept and this.dearer(kept[-1]) <= this.dearer(ahead[-1]))
            this = this.with_((kept if leftwards else ahead).pop())
        kept.append(this)
    return CutRow(order, np.array([0, *(each.last for each in kept)], np.int64))
