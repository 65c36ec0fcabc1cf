"""Where chance comes from: numbers and orders drawn from a cryptographic source.

The source is an argument everywhere, and the operating system's unless told otherwise; only tests bring one
of their own. A draw that can be repeated protects nobody.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Entropy = Callable[[int], bytes]


def system(size: int) -> bytes:
    """Random bytes from the operating system."""
    return os.urandom(size)


def shuffled(n: int, entropy: Entropy = system) -> NDArray[np.int64]:
    """A uniformly random permutation of 0..n-1.

    Rows are sorted by random 64-bit keys. All orders are equally likely as long as the keys differ; keys
    with a tie (less than one draw in a million for ten million rows) are thrown away and drawn again.
    """
    while True:
        keys = np.frombuffer(entropy(8 * n), dtype=np.uint64)
        order = np.argsort(keys, kind="stable")
        ranked = keys[order]
        if not (ranked[1:] == ranked[:-1]).any():
            return order.astype(np.int64)


def draws_below(limit: int, size: int, entropy: Entropy = system) -> NDArray[np.uint64]:
    """As many independent numbers below `limit`, each equally likely.

    Examples
    --------
    >>> bool((draws_below(10, 1000) < 10).all())
    True
    """
    top = (1 << 64) // limit * limit - 1
    found = np.empty(0, np.uint64)
    while found.size < size:
        words = np.frombuffer(entropy(8 * (size - found.size)), dtype=np.uint64)
        found = np.append(found, words[words <= top])
    return found % np.uint64(limit)


def draw_below(limit: int, entropy: Entropy = system) -> int:
    """A whole number below `limit`, each with the same probability.

    Examples
    --------
    >>> 0 <= draw_below(10) < 10
    True
    """
    while True:
        number = int.from_bytes(entropy(8), "big")
        if number < (1 << 64) // limit * limit:
            return number % limit
