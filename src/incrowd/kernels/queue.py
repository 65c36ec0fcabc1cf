"""A queue of points by their keys: the least key comes first, of equal ones the lowest number."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Floats, Ints
from incrowd.kernels.jit import inlined, kernel


class Queue(NamedTuple):
    """A binary heap; ``size[0]`` says how much of it is in use."""

    key: Floats
    who: Ints
    size: Ints


def queue_of(count: int) -> Queue:
    """Points 0..count-1, each with the key 0."""
    return Queue(np.zeros(count), np.arange(count), np.array([count]))


@inlined
def _before(queue: Queue, x: int, key: float, who: int) -> Any:
    return queue.key[x] < key or (queue.key[x] == key and queue.who[x] < who)


@kernel
def push(key: float, who: int, queue: Queue) -> None:
    """Let a point wait."""
    x = queue.size[0]
    queue.size[0] += 1
    while x and not _before(queue, (x - 1) // 2, key, who):
        up = (x - 1) // 2
        queue.key[x], queue.who[x] = queue.key[up], queue.who[up]
        x = up
    queue.key[x], queue.who[x] = key, who


@kernel
def pop(queue: Queue) -> Any:
    """Take the first point out -> (key, point)."""
    first = queue.key[0], queue.who[0]
    queue.size[0] -= 1
    last = queue.size[0]
    key, who = queue.key[last], queue.who[last]
    x = 0
    while 2 * x + 1 < last:
        child = 2 * x + 1
        if child + 1 < last and _before(queue, child + 1, queue.key[child], queue.who[child]):
            child += 1
        if not _before(queue, child, key, who):
            break
        queue.key[x], queue.who[x] = queue.key[child], queue.who[child]
        x = child
    queue.key[x], queue.who[x] = key, who
    return first
