"""Who is behind which row, and in which order rows appear: drawn from a cryptographic source.

A draw that can be repeated protects nobody: a seed, or the state of an ordinary generator, can be found
from a few known identities. Releases draw from the operating system; only tests bring a source of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Assignment, Codes, Crowds

Entropy = Callable[[int], bytes]
WORDS = 1 << 12  # random words drawn at once


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


def by_crowds(crowds: Crowds, entropy: Entropy = os.urandom) -> Assignment:
    """A row for each record among those whose crowds it is in, each with the same chance; then shuffled.

    Every crowd lists k records, and every record is in k crowds.

    Examples
    --------
    >>> ring = Crowds(np.array([0, 2, 4, 6]), np.array([0, 1, 1, 2, 2, 0], np.int32))
    >>> sorted(by_crowds(ring).private.tolist())
    [0, 1, 2]
    """
    n = len(crowds)
    rows = np.repeat(np.arange(n, dtype=np.int32), crowds.sizes)
    fits = rows[np.argsort(crowds.members, kind="stable")].reshape(n, -1)
    return _shuffled_rows(one_of_disjoint_matchings(fits, entropy), entropy)


def by_kinds(fits: Codes, record_kind: Codes, row_kind: Codes, entropy: Entropy = os.urandom) -> Assignment:
    """As `by_crowds`, where equal records and equal rows were counted together.

    Parameters
    ----------
    fits : array of shape (n, k)
        Places of rows that each place of a record may have, every row's k times, where places are those of
        records and rows sorted by kind. A place may name a row twice if its kinds fit often enough.
    record_kind, row_kind : array of shape (n,)
        The kind of each record and row. Who of a kind takes which place is drawn too.
    """
    n = record_kind.size
    row = one_of_disjoint_matchings(fits, entropy)
    record_at, row_at = (_places(kind, entropy) for kind in (record_kind, row_kind))
    row_of = np.empty(n, np.int64)
    row_of[record_at] = row_at[row]
    return _shuffled_rows(row_of, entropy)


def _places(kind: Codes, entropy: Entropy) -> NDArray[np.int64]:
    """Everybody sorted by kind, equals in random order."""
    order = shuffled(kind.size, entropy)
    return order[np.argsort(kind[order], kind="stable")]


def _shuffled_rows(row_of: NDArray[np.int64], entropy: Entropy) -> Assignment:
    """Rows in random order, each with the record that it was given to."""
    behind = np.empty(row_of.size, np.int64)
    behind[row_of] = np.arange(row_of.size)
    order = shuffled(row_of.size, entropy)
    return Assignment(region=order, private=behind[order])


def one_of_disjoint_matchings(edges: Codes, entropy: Entropy = os.urandom) -> NDArray[np.int64]:
    """The row of each record, by one of k disjoint perfect matchings of a k-regular graph.

    Which of the k is drawn first, evenly; then that many are made one after the other. The k matchings share
    the edges out among them, so every edge is in the one that counts with probability exactly 1/k, whatever
    the walks prefer. Taking always the first, or any perfect matching at random, would not do that.

    Parameters
    ----------
    edges : array of shape (n, k)
        The rows that each record may have; every row occurs k times in all.

    Examples
    --------
    >>> ring = np.array([[0, 1], [1, 2], [2, 0]], np.int32)
    >>> sorted(one_of_disjoint_matchings(ring).tolist())
    [0, 1, 2]
    """
    from incrowd.kernels import matching

    n, k = edges.shape
    if n == 0 or k == 0 or not (np.bincount(edges.reshape(-1), minlength=n) == k).all():
        raise ValueError("every record must have k rows, and every row k records")
    left = edges.copy()
    row = np.empty(n, np.int32)
    for degree in range(k, k - 1 - draw_below(k, entropy), -1):
        row = _matching(left, degree, entropy)
        matching.remove(left, degree, row)
        row = left[:, degree - 1].astype(np.int32)
    return row.astype(np.int64)


def draw_below(limit: int, entropy: Entropy = os.urandom) -> int:
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


def _matching(edges: Codes, degree: int, entropy: Entropy) -> Codes:
    """A random perfect matching of what is left -> the slot of each record's row among its edges."""
    from incrowd.kernels import matching

    n = edges.shape[0]
    row = np.full(n, matching.NOBODY, np.int32)
    owner = np.full(n, matching.NOBODY, np.int32)
    scratch = np.zeros(n, np.int32)
    done = 0
    while done < n:
        words = np.frombuffer(entropy(4 * max(WORDS, 4 * n)), dtype=np.uint32)
        done, _ = matching.match(edges, degree, row, owner, scratch, words, done)
    return row
