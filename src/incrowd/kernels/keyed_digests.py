"""HMAC-SHA256 of many short texts at once (FIPS 180-4, RFC 2104): digests by which people are known.

A library hashes one text a call, and of ten million ids most of the time would go into calls. Here some texts
go through each round together, side by side. Tests compare every digest with that of the standard library.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.jit import inner, kernel

BLOCK = 64  # bytes
LONGEST = BLOCK - 9  # bytes of a text that fits into one block beside its length
LANES = 512  # texts side by side: what they are made of stays in the processor's nearest cache


def _fractions(root: int, bits: int) -> Any:
    """The first bits of the fractional parts of a root of the first primes: the constants of the standard."""
    primes = [n for n in range(2, 312) if all(n % p for p in range(2, n))]
    found = []
    for prime in primes:
        whole, low, high = prime << (32 * root), 0, 1 << 40
        while high - low > 1:  # an integer root, exactly
            middle = (low + high) // 2
            low, high = (middle, high) if middle**root <= whole else (low, middle)
        found.append(low % (1 << 32))
    return np.array(found[:bits], np.uint32)


BEGIN = _fractions(2, 8)
ROUND = _fractions(3, 64)


@inner
def turned(x: Any, bits: Any) -> Any:
    """The word turned to the right."""
    return np.uint32(np.uint32(x >> np.uint32(bits)) | np.uint32(x << np.uint32(32 - bits)))


@inner
def compress(state: Any, words: Any, h: Any, t: Any) -> None:
    """Put a block of each lane into its state (8, LANES); `words` (16, LANES) are used up."""
    lanes = t.size
    for i in range(8):
        for x in range(lanes):
            h[i, x] = state[i, x]
    for i in range(64):
        w = words[i & 15]
        if i >= 16:
            near, mid, far = words[(i + 1) & 15], words[(i + 9) & 15], words[(i + 14) & 15]
            for x in range(lanes):
                small = turned(near[x], 7) ^ turned(near[x], 18) ^ np.uint32(near[x] >> np.uint32(3))
                large = turned(far[x], 17) ^ turned(far[x], 19) ^ np.uint32(far[x] >> np.uint32(10))
                w[x] = np.uint32(np.uint32(w[x] + small) + np.uint32(mid[x] + large))
        # Nothing is moved: in each round the eight words have other places.
        a, b, c, d = h[(64 - i) & 7], h[(65 - i) & 7], h[(66 - i) & 7], h[(67 - i) & 7]
        e, f, g, last = h[(68 - i) & 7], h[(69 - i) & 7], h[(70 - i) & 7], h[(71 - i) & 7]
        constant = ROUND[i]
        for x in range(lanes):
            mixed = turned(e[x], 6) ^ turned(e[x], 11) ^ turned(e[x], 25)
            chosen = (e[x] & f[x]) ^ (~e[x] & g[x])
            t[x] = np.uint32(np.uint32(last[x] + mixed) + np.uint32(np.uint32(chosen + constant) + w[x]))
        for x in range(lanes):
            d[x] = np.uint32(d[x] + t[x])
        for x in range(lanes):
            mixed = turned(a[x], 2) ^ turned(a[x], 13) ^ turned(a[x], 22)
            most = (a[x] & b[x]) ^ (a[x] & c[x]) ^ (b[x] & c[x])
            last[x] = np.uint32(t[x] + np.uint32(mixed + most))
    for i in range(8):
        for x in range(lanes):
            state[i, x] = np.uint32(state[i, x] + h[i, x])


@kernel
def keyed_digests(key: Any, text: Any, ends: Any, found: Any) -> None:
    """The first two words of 64 bits (n, 2) of the HMAC of each text, which ends before ``ends[i]``.

    The key has one block, filled up with zeros. One sign stands between texts; none is longer than LONGEST.
    """
    words, h = np.empty((16, LANES), np.uint32), np.empty((8, LANES), np.uint32)
    t = np.empty(LANES, np.uint32)
    state = np.empty((8, LANES), np.uint32)
    keyed = np.empty((2, 8), np.uint32)
    for side in range(2):
        pad = np.uint32(0x36363636) if side == 0 else np.uint32(0x5C5C5C5C)
        for i in range(16):
            word = np.uint32(0)
            for byte in range(4):
                word = np.uint32(np.uint32(word << np.uint32(8)) | np.uint32(key[4 * i + byte]))
            words[i, :] = np.uint32(word ^ pad)
        for i in range(8):
            state[i, :] = BEGIN[i]
        compress(state, words, h, t)
        for i in range(8):
            keyed[side, i] = state[i, 0]
    for first in range(0, ends.size, LANES):
        many = min(LANES, ends.size - first)
        words[:] = np.uint32(0)
        for x in range(many):
            start = ends[first + x - 1] + 1 if first + x else 0
            size = ends[first + x] - start
            for at in range(size):
                words[at >> 2, x] |= np.uint32(np.uint32(text[start + at]) << np.uint32(24 - 8 * (at & 3)))
            words[size >> 2, x] |= np.uint32(np.uint32(0x80) << np.uint32(24 - 8 * (size & 3)))
            words[15, x] = np.uint32(8 * (BLOCK + size))
        for i in range(8):
            state[i, :] = keyed[0, i]
        compress(state, words, h, t)
        words[:] = np.uint32(0)
        for i in range(8):
            for x in range(LANES):
                words[i, x] = state[i, x]
        words[8, :] = np.uint32(0x80000000)
        words[15, :] = np.uint32(8 * (BLOCK + 32))
        for i in range(8):
            state[i, :] = keyed[1, i]
        compress(state, words, h, t)
        for x in range(many):
            for side in range(2):
                high, low = np.uint64(state[2 * side, x]), np.uint64(state[2 * side + 1, x])
                found[first + x, side] = np.uint64(high << np.uint64(32)) | low
