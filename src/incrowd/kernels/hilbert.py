"""The Hilbert order of codes, and the cheapest way to cut a row of records. See `partitions.hilbert`.

How a row is dealt into groups of different values is in `kernels.eligible`.

Loops go over blocks of records innermost, so that they become vector instructions.
"""

from __future__ import annotations

import numpy as np

from incrowd.kernels.arrays import Bools, Codes, Ints
from incrowd.kernels.jit import kernel

BLOCK = 512  # records; what is kept for a block stays in the cache
ROOM = 2**22  # costs that are kept at a time: for a very large k, blocks get shorter
NEVER = 2**62  # costs more than anything


@kernel
def curve_words(codes: Codes, bits: int, words: Ints) -> None:
    """Codes (n, d) below 2^bits -> places on Skilling's Hilbert curve, as words (w, n) of up to 63 bits.

    J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707, 2004.
    """
    n, d = codes.shape
    x = np.empty((d, BLOCK), np.int32)
    head, flip = x[0], np.empty(BLOCK, np.int32)
    for first in range(0, n, BLOCK):
        m = min(BLOCK, n - first)
        for j in range(d):
            for i in range(m):
                x[j, i] = codes[first + i, j]
        for b in range(bits - 1, 0, -1):
            lower = (1 << b) - 1
            for j in range(d):
                own = x[j]
                for i in range(m):  # turn the lower bits of the head, or exchange them with ours
                    turn = lower & -((own[i] >> b) & 1)
                    swap = (head[i] ^ own[i]) & (lower ^ turn)
                    head[i] ^= turn ^ swap
                    own[i] ^= swap
        for j in range(1, d):
            for i in range(m):
                x[j, i] ^= x[j - 1, i]
        for i in range(m):
            flip[i] = 0
        for b in range(bits - 1, 0, -1):
            lower = (1 << b) - 1
            for i in range(m):
                flip[i] ^= lower & -((x[d - 1, i] >> b) & 1)
        place = 0
        for b in range(bits - 1, -1, -1):
            for j in range(d):
                w = place // 63
                for i in range(m):
                    words[w, first + i] = words[w, first + i] * 2 + (((x[j, i] ^ flip[i]) >> b) & 1)
                place += 1


@kernel
def cheapest_cuts(
    codes: Codes, order: Codes, places: Codes, starts: Ints, k: int, clock: Ints, begins: Bools
) -> None:
    """Cut a row (n,) into parts of k to 2k-1, n >= k -> begins (n,): does a part begin here?

    Code c of column j lies at ``places[starts[j] + c]``. A part costs its size times the width of its box,
    and the sum over all parts is least. Of equal sums the smaller last part wins.
    """
    n, d = codes.shape
    back = 2 * k - 2  # records before the block that its parts may hold
    block = max(min(BLOCK, ROOM // k), 16)
    at = np.zeros((d, block + back), np.int32)
    low, high = np.empty(block, np.int32), np.empty(block, np.int32)
    cost = np.zeros((k, block), np.int64)
    least, size = np.full(n + 1, NEVER), np.empty(n + 1, np.int32)
    least[0] = 0
    for first in range(0, n, block):
        m = min(block, n - first)
        shift = back - first
        for i in range(max(first - back, 0), first + m):
            row = order[i]
            for j in range(d):
                at[j, i + shift] = places[starts[j] + codes[row, j]]
        for j in range(d):
            for i in range(m):
                low[i] = high[i] = at[j, back + i]
            for s in range(2, 2 * k):
                reach = at[j, back + 1 - s :]
                for i in range(m):
                    low[i] = min(low[i], reach[i])
                    high[i] = max(high[i], reach[i])
                if s >= k:
                    paid = cost[s - k]
                    for i in range(m):
                        paid[i] = (paid[i] if j else 0) + s * np.int64(high[i] - low[i])
        for i in range(m):
            end = first + i + 1
            best, chosen = NEVER, k
            for s in range(k, min(2 * k - 1, end) + 1):
                total = least[end - s] + cost[s - k, i]
                if total < best:
                    best, chosen = total, s
            least[end], size[end] = best, chosen
        clock[1] += m
    end = n
    while end:
        end -= size[end]
        begins[end] = True


@kernel
def extend_cuts(codes: Codes, places: Codes, starts: Ints, k: int, least: Ints, sizes: Codes) -> None:
    """`cheapest_cuts` of a row in pieces: m records -> sizes (m,) of the best part that ends at each.

    Codes (2k-2+m, d) begin with the 2k-2 records before the piece, or anything where there are none.
    ``least[:2k]`` are the costs up to the last 2k ends before it, `NEVER` where there is none; those up to
    each record follow (2k+m,).
    """
    d, back, m = codes.shape[1], 2 * k - 2, sizes.size
    block = max(min(BLOCK, ROOM // k), 16)
    at = np.empty((d, block + back), np.int32)
    low, high = np.empty(block, np.int32), np.empty(block, np.int32)
    cost = np.zeros((k, block), np.int64)
    for first in range(0, m, block):
        count = min(block, m - first)
        for i in range(back + count):
            for j in range(d):
                at[j, i] = places[starts[j] + codes[first + i, j]]
        for j in range(d):
            for i in range(count):
                low[i] = high[i] = at[j, back + i]
            for s in range(2, 2 * k):
                reach = at[j, back + 1 - s :]
                for i in range(count):
                    low[i] = min(low[i], reach[i])
                    high[i] = max(high[i], reach[i])
                if s >= k:
                    paid = cost[s - k]
                    for i in range(count):
                        paid[i] = (paid[i] if j else 0) + s * np.int64(high[i] - low[i])
        for i in range(count):
            end = 2 * k + first + i
            best, chosen = NEVER, k
            for s in range(k, 2 * k):
                total = least[end - s] + cost[s - k, i]
                if total < best:
                    best, chosen = total, s
            least[end], sizes[first + i] = best, chosen


@kernel
def starts_of_parts(sizes: Codes, starts: Ints) -> int:
    """Sizes (n,) of the part that ends at each record -> where parts start, from the right -> how many."""
    end, found = sizes.size, 0
    while end:
        end -= sizes[end - 1]
        starts[found] = end
        found += 1
    return found
