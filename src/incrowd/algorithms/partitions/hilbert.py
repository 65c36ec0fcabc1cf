"""Hilbert order: put near records side by side on a curve, then cut the row where it costs least.

Ghinita, Karras, Kalnis, Mamoulis, "Fast Data Anonymization with Low Information Loss", VLDB 2007: the
baselines HR and HS of "Non-homogeneous Generalization in Privacy Preserving Data Publishing".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import K_EQUAL_ROWS, need_enough, watched
from incrowd.algorithms.partitions.lexicographic import CutRow, RowPartition, in_order, keeping, places_of
from incrowd.contracts import Eligible, Guard, register
from incrowd.errors import Infeasible
from incrowd.flow import Codes, Microdata, Partition
from incrowd.kernels import eligible as kernels
from incrowd.kernels import hilbert
from incrowd.long_work import Progress

WORD = 63  # bits of the curve that are compared at once


@register("algorithm", "hilbert")
@dataclass(frozen=True)
class Hilbert(RowPartition):
    """Sort along the Hilbert curve; of all cuts into parts of k to 2k-1 records take those that lose least.

    Where no value may have more than 1/l of a group, and nothing else is asked for, groups are dealt instead:
    each takes the earliest records of the row that leave a rest in which no value has more than 1/l.
    """

    section: ClassVar[str] = "7, the rivals HR and HS, after Ghinita et al.: Fast Data Anonymization"
    guarantee: ClassVar[str] = K_EQUAL_ROWS + "; with k alone, groups have at most 2k-1 records"
    needs: ClassVar[str] = 'nothing; numbers as ranges are HR, as sets (publish = "set") HS'

    def classes(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        rule = dealing_rule(guards)
        if rule is None:
            return super().classes(data, guards, progress)
        need_enough(data, self.k)
        return dealt(curve_order(data), rule, self.k, progress)

    def parts(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> CutRow:
        need_enough(data, self.k)
        n = len(data)
        order = curve_order(data)
        places = places_of(data)
        starts = np.cumsum([0, *(each.size for each in places)])
        begins, clock = np.zeros(n, np.bool_), np.zeros(2, np.int64)
        with watched(progress, clock, n):
            hilbert.cheapest_cuts(data.codes, order, np.concatenate(places), starts, self.k, clock, begins)
        return keeping(CutRow(order, np.append(np.flatnonzero(begins), n)), guards, data)


def dealing_rule(guards: tuple[Guard, ...]) -> Eligible | None:
    """The rule that groups are dealt by. One that tells a k of its own counts otherwise."""
    if len(guards) == 1 and isinstance(guards[0], Eligible) and not hasattr(guards[0], "k"):
        return guards[0]
    return None


def dealt(order: Codes, rule: Eligible, k: int, progress: Progress) -> Partition:
    """Deal a row of records into groups in which no value has more than 1/l.

    With k <= l a group is the l earliest records with different values such that in the rest no value has
    more than 1/l: values that would have more are taken first. If there are more than l of these, which can
    only be where fewer than l*l records are left, it is the earliest l of them. Fewer than l records are left
    over. Each of them, from left to right, goes to the group without its value that has the nearest member in
    the row; of two equally near, the left one.

    With k > l a group has the smallest size of at least k such that, if every value has at most 1/l of it,
    every value has at most 1/l of the rest, and the rest is empty or has k. It takes what must be taken, and
    then the earliest of which it may take more.
    """
    n, l = order.size, rule.l  # noqa: E741
    value = rule.codes[order].astype(np.int64)
    count = np.bincount(value, minlength=rule.size)
    most = int(count.max(initial=0))
    if most * l > n or not n:
        raise Infeasible(f"one sensitive value has {most} of {n} records, more than 1/{l} of them")
    row = _waiting(value, count)
    clock = np.zeros(2, np.int64)
    with watched(progress, clock, n):
        groups = kernels.deal(row, l, max(k, l), clock)
    kernels.settle(row, groups)
    labels = np.empty(n, np.int32)
    labels[order] = row.group
    return Partition(labels)


def _waiting(value: NDArray[np.int64], count: NDArray[np.int64]) -> kernels.Waiting:
    """Everybody waits, in the order of the row."""
    n = value.size
    by_value = np.argsort(value, kind="stable")
    after = np.full(n, kernels.NOBODY)
    alike = value[by_value[1:]] == value[by_value[:-1]]
    after[by_value[:-1][alike]] = by_value[1:][alike]
    falling = np.argsort(-count, kind="stable")
    ends = np.cumsum(np.bincount(count, minlength=int(count.max()) + 1)[::-1])[::-1].copy()
    return kernels.Waiting(
        value=value,
        group=np.full(n, kernels.NOBODY),
        after=after,
        first=by_value[np.cumsum(count) - count],
        counts=count,
        rank=np.argsort(falling),
        falling=falling,
        ends=ends,
        inside=np.full((2, count.size), kernels.NOBODY),
    )


def curve_order(data: Microdata) -> Codes:
    """Records along the Hilbert curve over the grid of codes; equal ones by index.

    All columns have as many bits as the largest domain needs.

    Examples
    --------
    >>> from incrowd.schema import Kind, Shape
    >>> from incrowd.flow import Attribute
    >>> side = Attribute("side", Kind.NUMERIC, Shape.RANGE, ("0", "1"), np.array([0.0, 1.0]))
    >>> codes = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], np.int32)
    >>> curve_order(Microdata(codes, (side, side))).tolist()
    [3, 2, 1, 0]
    """
    n, d = data.codes.shape
    bits = max(1, *((len(attribute) - 1).bit_length() for attribute in data.attributes))
    words = np.zeros((-(-bits * d // WORD), n), np.int64)
    hilbert.curve_words(data.codes, bits, words)
    return in_order(list(words))
