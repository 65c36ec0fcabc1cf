"""Slow twins for anatomy: plain lists, chance as a stream of bytes, nothing of incrowd."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Bytes = Callable[[int], bytes]


def order(n: int, entropy: Bytes) -> list[int]:
    """0..n-1 sorted by keys of eight bytes each; the stream must have no two equal ones."""
    stream = entropy(8 * n)
    keys = [int.from_bytes(stream[8 * i : 8 * i + 8], "little") for i in range(n)]
    assert len(set(keys)) == n
    return sorted(range(n), key=keys.__getitem__)


def below(limit: int, entropy: Bytes) -> int:
    while True:
        number = int.from_bytes(entropy(8), "big")
        if number < 2**64 // limit * limit:
            return number % limit


def anatomy(values: Sequence[int], l: int, k: int, entropy: Bytes) -> list[list[int]] | None:  # noqa: E741
    """Groups of record numbers, or None where a value has more than n/l records.

    Buckets by value, each shuffled. While at least l are not empty, a group takes one record of each of the l
    largest, of equal ones those with smaller values. What is left goes to random groups without its value.
    Then whole groups are put together at random until all have k.
    """
    n = len(values)
    if not n or max(values.count(value) for value in values) * l > n:
        return None
    shuffled = order(n, entropy)
    buckets = {value: [i for i in shuffled if values[i] == value] for value in sorted(set(values))}
    groups: list[list[int]] = []
    while len([b for b in buckets.values() if b]) >= l:
        largest = sorted(buckets, key=lambda value: (-len(buckets[value]), value))[:l]
        groups.append([buckets[value].pop(0) for value in largest])
    for value, left in buckets.items():
        for record in left:
            lacking = [g for g in groups if value not in [values[i] for i in g]]
            lacking[below(len(lacking), entropy)].append(record)
    return merged(groups, k, entropy) if k > l else groups


def merged(groups: list[list[int]], k: int, entropy: Bytes) -> list[list[int]]:
    found: list[list[int]] = []
    open_: list[int] = []
    for g in order(len(groups), entropy):
        open_ = open_ + groups[g]
        if len(open_) >= k:
            found.append(open_)
            open_ = []
    if open_:
        found[-1] = found[-1] + open_
    return found
