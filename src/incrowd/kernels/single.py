"""Single-dimensional cuts: one line through the whole space, allowed only if no region it meets suffers.

An axis is cut into slabs; a region is a product of slabs. Since every allowed cut leaves k records on both
sides of each region it meets, no region is ever empty, and a slab of one axis meets exactly as many
regions as the other axes have combinations of slabs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.arrays import AnyInts, Codes, Ints
from incrowd.kernels.jit import inner, kernel


@kernel
def allowed_codes(codes: AnyInts, order: Codes, region: Codes, k: int, regions: int, count: Codes) -> Any:
    """Between which codes a slab may be cut -> (low, high): {<= x} works for low <= x < high.

    `codes` (m,) ascending and `order` (m,) are the slab's rows, `region` (n,) the region of each row,
    `regions` how many of them meet the slab. `count` is scratch, zero before and after.
    """
    low = kth_code(codes, order, region, k, regions, count, False)
    high = kth_code(codes, order, region, k, regions, count, True)
    return low, high


@inner
def kth_code(
    codes: AnyInts, order: Codes, region: Codes, k: int, regions: int, count: Codes, down: bool
) -> Any:
    """The code at which every region has met its k-th record, going up (or down)."""
    m = codes.size
    ripe = 0
    met = 0
    for step in range(m):
        at = m - 1 - step if down else step
        here = region[order[at]]
        count[here] += 1
        met = step + 1
        if count[here] == k:
            ripe += 1
            if ripe == regions:
                break
    for step in range(met):
        at = m - 1 - step if down else step
        count[region[order[at]]] = 0
    return codes[m - met] if down else codes[met - 1]


@kernel
def nearest_middle(codes: AnyInts, low: int, high: int) -> Any:
    """The row after which to cut so that low <= last left code < high, nearest the middle; -1 if none.

    Of two cuts equally near, the left one wins.
    """
    m = codes.size
    best, miss = -1, m + 1
    for i in range(1, m):
        if codes[i - 1] != codes[i] and low <= codes[i - 1] < high and abs(m - 2 * i) < miss:
            best, miss = i, abs(m - 2 * i)
    return best


@kernel
def cut_regions(order: Codes, region: Codes, fresh: Codes, regions: int) -> Any:
    """Give the rows right of a cut regions of their own -> number of regions.

    `order` (m,) are those rows; `fresh` is scratch, -1 before and after.
    """
    before = regions
    for i in range(order.size):
        old = region[order[i]]
        if fresh[old] < 0:
            fresh[old] = regions
            regions += 1
        region[order[i]] = fresh[old]
    fresh[:before] = -1
    return regions


@kernel
def slab_of(order: Codes, borders: Ints, into: Codes) -> None:
    """Number the slabs of one axis: row order[i] lies in the slab whose borders hold i."""
    slab = 0
    for i in range(order.size):
        while i >= borders[slab + 1]:
            slab += 1
        into[order[i]] = slab


def empty_marks(n: int) -> tuple[Codes, Codes]:
    """Scratch for `allowed_codes` and `cut_regions`."""
    return np.zeros(n, np.int32), np.full(n, -1, np.int32)
