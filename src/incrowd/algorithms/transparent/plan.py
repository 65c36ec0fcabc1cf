"""PLAN: which buckets the values of a stratum are dealt into, from their counts alone.

A bucket has l colours with equally many people each, and every value is in one colour of its bucket. What
does not fit is planned again; at last a group may stay as it is. Whoever knows the release knows the counts
of a stratum, so that the plan tells nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from itertools import product

Counts = Mapping[int, int]  # how many people of each value


@dataclass(frozen=True, slots=True)
class PlannedBucket:
    """How many people of each value go into a bucket, by colour; a single colour stays one group as it is."""

    colours: tuple[Counts, ...]

    @property
    def size(self) -> int:
        return sum(sum(colour.values()) for colour in self.colours)


def plan(counts: Sequence[int], l: int, k: int) -> list[PlannedBucket]:  # noqa: E741  the paper's letter
    """The buckets for so many people of each value; of equally frequent values the earlier comes first.

    No value may have more than 1/l of all people. Every bucket has at least k of them, or all.

    Examples
    --------
    >>> [bucket.colours for bucket in plan([2, 2, 1, 1], l=2, k=2)]
    [({0: 2, 2: 1}, {1: 2, 3: 1})]
    """
    left: Counts = {value: count for value, count in enumerate(counts) if count}
    k = max(k, l)
    found = []
    while left:
        bucket, left = _first_bucket(left, l, k)
        found.append(bucket)
    return found


def _first_bucket(counts: Counts, l: int, k: int) -> tuple[PlannedBucket, Counts]:  # noqa: E741
    """The largest bucket that leaves a rest which keeps k and l, and that rest."""
    whole = PlannedBucket((counts,))
    if whole.size < 2 * k:
        return whole, {}
    bins = packed(counts, l)
    level = _largest_level(bins, whole.size, l, k)
    if l * level < k:
        return whole, {}
    rests = [levelled(colour, sum(colour.values()) - level) for colour in bins]
    pairs = zip(bins, rests, strict=True)
    colours = tuple(_without(colour, rest) for colour, rest in pairs)
    return PlannedBucket(colours), {value: rest[value] for rest in rests for value in rest}


def _without(counts: Counts, rest: Counts) -> Counts:
    kept = {value: count - rest.get(value, 0) for value, count in counts.items()}
    return {value: count for value, count in kept.items() if count}


def _largest_level(bins: Sequence[Counts], n: int, l: int, k: int) -> int:  # noqa: E741
    """How many people each colour can have: nobody is left over, or at least k, no value above 1/l of them.

    With one person less in each colour l more are left over, and of no value more than one: what can be left
    over stays so, and the largest number is found by halving.
    """
    top = min(sum(colour.values()) for colour in bins)
    if n == l * top:
        return top

    def leaves_enough(level: int) -> bool:
        rest = n - l * level
        return rest >= k and l * max(_height(colour, sum(colour.values()) - level) for colour in bins) <= rest

    low, high = 0, top  # with 0 all is left over
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if leaves_enough(middle) else (low, middle - 1)
    return low


def packed(counts: Counts, l: int) -> list[dict[int, int]]:  # noqa: E741
    """Values in l bins of nearly equal size: the most frequent first into the smallest bin, then exchanges.

    Examples
    --------
    >>> sorted(sorted(values) for values in packed({0: 3, 1: 3, 2: 2, 3: 2, 4: 2}, 2))
    [[0, 1], [2, 3, 4]]
    """
    heap = [(0, number) for number in range(l)]
    heapify(heap)
    bins: list[dict[int, int]] = [{} for _ in range(l)]
    for value in sorted(counts, key=lambda value: (-counts[value], value)):
        load, number = heap[0]
        bins[number][value] = counts[value]
        heapreplace(heap, (load + counts[value], number))
    while _exchanged(bins):
        pass
    return bins


def _exchanged(bins: list[dict[int, int]]) -> bool:
    """Move a value from the largest bin to the smallest, or exchange two, if that evens them out."""
    loads = [sum(colour.values()) for colour in bins]
    high, low = bins[loads.index(max(loads))], bins[loads.index(min(loads))]
    gap = max(loads) - min(loads)
    away, back = _one_of_each_count(high), _one_of_each_count(low)
    moves = [
        (abs(gap - 2 * (more - less)), -more, less)
        for more, less in product(away, (0, *back))
        if 0 < more - less < gap
    ]
    if not moves:
        return False
    _, more, less = min(moves)
    low[away[-more]] = high.pop(away[-more])
    if less:
        high[back[less]] = low.pop(back[less])
    return True


def _one_of_each_count(colour: Counts) -> dict[int, int]:
    """For each number of people the first value that has it."""
    return {count: value for value, count in sorted(colour.items(), reverse=True)}


def _height(counts: Counts, taken: int) -> int:
    """The least number such that taking at most so many of each value gives `taken`."""
    height, above = 0, sorted(counts.values())
    for place, count in enumerate(above):
        values = len(above) - place
        if (count - height) * values >= taken:
            return height - (-taken // values)
        taken -= (count - height) * values
        height = count
    return height


def levelled(counts: Counts, taken: int) -> dict[int, int]:
    """How many of each value to take so that none is taken more often than need be; later values give more.

    Examples
    --------
    >>> levelled({0: 5, 1: 1, 2: 3}, 6)
    {0: 2, 1: 1, 2: 3}
    """
    height = _height(counts, taken)
    found = {value: min(count, height) for value, count in counts.items()}
    over = sum(found.values()) - taken
    for value in sorted(found):
        if over and found[value] == height:
            found[value] -= 1
            over -= 1
    return {value: count for value, count in found.items() if count}
