"""Lexicographic partition: sort the records, cut the row into runs of equal values, mend the short ones.

Figure 8 of Wong, Mamoulis, Cheung, "Non-homogeneous Generalization in Privacy Preserving Data Publishing",
SIGMOD 2010. Also what every grouper needs that cuts a row of records: `Parts`, and guards over it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import AnyLimit, Choice, Guard, Limit, Limited, Progress, need_enough, register
from incrowd.flow import Codes, Cover, Microdata
from incrowd.hide.geometry import geometry_of

RULES = ("text", "pseudocode")
UNIT = 720_720_000  # a domain is so wide; 1 to 16 steps divide it, so that small domains lose nothing


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Records in a row, cut: part p holds ``order[starts[p]:starts[p+1]]``."""

    order: Codes
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size - 1

    def cover(self) -> Cover:
        """The same as groups; parts are numbered from left to right."""
        labels = np.empty(self.order.size, np.int32)
        labels[self.order] = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.starts))
        return Cover(labels)


class InARow(Limited, ABC):
    """Records put in a row, and the row cut into parts."""

    strict: ClassVar[bool] = False  # a cut may part equal records

    def group(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Cover:
        """Who hides with whom.

        Raises
        ------
        Infeasible
            If there are fewer than k records.
        """
        return self.parts(data, guards, progress).cover()

    @abstractmethod
    def parts(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Parts:
        """The same, with the records in the order in which they were cut."""


@register("grouper", "lexicographic")
@dataclass(frozen=True)
class Lexicographic(InARow):
    """Runs of equal values of one column after the other, those with the smallest domains first.

    Parameters
    ----------
    k : int
        Every part keeps at least k records.
    rule : str
        What becomes of a short run and a neighbour that have exactly 2k records together: the ``text`` of the
        paper moves records, so that both have k, its ``pseudocode`` merges them.
    """

    k: int
    rule: str = "text"

    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(1), "rule": Choice(RULES)}

    def parts(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Parts:
        from incrowd.kernels import lexicographic as kernels

        need_enough(data, self.k)
        n, d = data.codes.shape
        by = np.argsort([len(attribute) for attribute in data.attributes], kind="stable")
        sizes = [len(data.attributes[j]) for j in by]
        order = in_order(packed([data.codes[:, j] for j in by], sizes))
        differs = np.empty(n, np.int32)
        kernels.first_differences(data.codes, order, by, differs)
        begins = np.zeros(n, np.bool_)
        most = 2 * self.k if self.rule == "pseudocode" else 2 * self.k - 1
        kernels.cut_runs(differs, d, self.k, most, begins)
        found = Parts(order, np.append(np.flatnonzero(begins), n))
        progress(1.0)
        return keeping(found, guards, data)


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


def keeping(parts: Parts, guards: tuple[Guard, ...], data: Microdata) -> Parts:
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
    return Parts(order, np.array([0, *(each.last for each in kept)], np.int64))
