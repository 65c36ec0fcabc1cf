"""Who is behind which row, and in which order rows appear: drawn from a cryptographic source.

A draw that can be repeated protects nobody: a seed, or the state of an ordinary generator, can be found
from a few known identities. Releases draw from the operating system; only tests bring a source of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Assignment

Entropy = Callable[[int], bytes]


def shuffled(n: int, entropy: Entropy = os.urandom) -> NDArray[np.int64]:
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


def whole_classes(n: int, entropy: Entropy = os.urandom) -> Assignment:
    """Rows of one class say the same, so a row can go with its own record: shuffling hides the rest."""
    order = shuffled(n, entropy)
    return Assignment(region=order, private=order)
