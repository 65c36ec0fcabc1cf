"""PLAN for several sensitive columns: buckets in which every value of each column is in one colour.

The values of each column are packed into l bins. Where bin i of the first column meets bin i + s of the
second, and so on, people have one colour: these l blocks share no value, in any column. For each s there is
such a bucket; together they have everybody. What does not fit is planned again, as with one column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import product

from incrowd.algorithms.transparent.plan import Counts, PlannedBucket, packed

Kind = tuple[int, ...]  # the value of each column


def plan_several(kinds: Sequence[Kind], counts: Sequence[int], l: int, k: int) -> list[PlannedBucket]:  # noqa: E741  the paper's letter
    """The buckets for so many people of each kind; of equally frequent kinds the earlier comes first.

    No value of any column may have more than 1/l of all people. Every bucket has at least k of them, or all.
    Values are known by the first kind that has them: what they are called has no say.

    Examples
    --------
    >>> [bucket.colours for bucket in plan_several([(0, 5), (1, 5), (0, 6), (1, 6)], [4] * 4, l=2, k=4)]
    [({0: 4}, {3: 4}), ({2: 4}, {1: 4})]
    """
    first: list[dict[int, int]] = [{} for _ in kinds[0]]
    for place, kind in enumerate(kinds):
        for known, value in zip(first, kind, strict=True):
            known.setdefault(value, place)
    named = [tuple(known[value] for known, value in zip(first, kind, strict=True)) for kind in kinds]
    left: Counts = {place: count for place, count in enumerate(counts) if count}
    found = []
    while left:
        bucket, left = _first_bucket(left, named, l, max(k, l))
        found.append(bucket)
    return found


def _first_bucket(
    counts: Counts,
    kinds: Sequence[Kind],
    l: int,  # noqa: E741
    k: int,
) -> tuple[PlannedBucket, Counts]:
    """The largest bucket of any shift that leaves a rest which keeps k and l, and that rest."""
    whole = PlannedBucket((counts,))
    if whole.size < 2 * k:
        return whole, {}
    blocks = [_Blocks.of(own, counts, kinds) for own in _coloured(counts, kinds, l)]
    levels = [block.largest_level(whole.size, k) for block in blocks]
    best = levels.index(max(levels))
    if l * levels[best] < k:
        return whole, {}
    return blocks[best].taken(levels[best], counts)


def _coloured(counts: Counts, kinds: Sequence[Kind], l: int) -> Iterator[list[dict[int, int]]]:  # noqa: E741
    """For each shift of the bins of all columns but the first: the kinds of each colour."""
    bins: list[dict[int, int]] = []
    for column in range(len(kinds[0])):
        often: Counter[int] = Counter()
        for kind, count in counts.items():
            often[kinds[kind][column]] += count
        bins.append({value: number for number, own in enumerate(packed(often, l)) for value in own})
    for shifts in product(range(l), repeat=len(bins) - 1):
        colours: list[dict[int, int]] = [{} for _ in range(l)]
        for kind, count in counts.items():
            first, *others = (own[value] for own, value in zip(bins, kinds[kind], strict=True))
            if all((first + shift) % l == other for shift, other in zip(shifts, others, strict=True)):
                colours[first][kind] = count
        yield colours


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The colours of one shift, who of each is left over first, and how often values are left over anyway."""

    colours: list[dict[int, int]]
    kinds: Sequence[Kind]
    left: list[list[int]]  # of each colour, kinds in the order in which their people are left over
    outside: list[Counter[int]]  # of each column, how many people of each value have no colour here

    @classmethod
    def of(cls, colours: list[dict[int, int]], counts: Counts, kinds: Sequence[Kind]) -> _Blocks:
        outside: list[Counter[int]] = [Counter() for _ in kinds[0]]
        inside = {kind for colour in colours for kind in colour}
        for kind, count in counts.items():
            if kind not in inside:
                for own, value in zip(outside, kinds[kind], strict=True):
                    own[value] += count
        return cls(colours, kinds, [_left_in_turn(own, kinds, outside) for own in colours], outside)

    def largest_level(self, n: int, k: int) -> int:
        """How many people each colour can have: nobody is left over, or at least k, and every value rarely.

        With one person less in each colour l more are left over, and of no value more than one, since a value
        is in one colour: what can be left over stays so, and the largest number is found by halving.
        """
        l = len(self.colours)  # noqa: E741
        low, high = 0, min(map(len, self.left))
        if n == l * high:
            return high
        while low < high:
            middle = (low + high + 1) // 2
            enough = n - l * middle >= k and l * self._most(middle) <= n - l * middle
            low, high = (middle, high) if enough else (low, middle - 1)
        return low

    def _most(self, level: int) -> int:
        """How often the commonest value of any column is left over."""
        found = [Counter(own) for own in self.outside]
        for own in self.left:
            for kind in own[: len(own) - level]:
                for column, value in zip(found, self.kinds[kind], strict=True):
                    column[value] += 1
        return max(max(own.values(), default=0) for own in found)

    def taken(self, level: int, counts: Counts) -> tuple[PlannedBucket, Counts]:
        """The bucket with so many people of each colour, and the rest."""
        colours = tuple(dict(sorted(Counter(own[len(own) - level :]).items())) for own in self.left)
        rest = Counter(dict(counts))
        for own in colours:
            rest.subtract(own)
        return PlannedBucket(colours), {kind: count for kind, count in rest.items() if count}


def _left_in_turn(colour: Counts, kinds: Sequence[Kind], outside: Sequence[Counter[int]]) -> list[int]:
    """The people of a colour, each as its kind, in the order in which they are left over.

    Each time one of whose values fewest are left over so far: the commonest counts, then all; of equals the
    later kind. What is left over only grows, so that a heap need be looked at from its top only.
    """
    over = [Counter(own) for own in outside]

    def key(kind: int) -> tuple[int, int, int]:
        often = [own[value] for own, value in zip(over, kinds[kind], strict=True)]
        return max(often), sum(often), -kind

    there, found = dict(colour), []
    heap = [key(kind) for kind in colour]
    heapify(heap)
    while heap:
        kind = -heap[0][2]
        now = key(kind)
        if now != heappop(heap):
            heappush(heap, now)
            continue
        found.append(kind)
        there[kind] -= 1
        for own, value in zip(over, kinds[kind], strict=True):
            own[value] += 1
        if there[kind]:
            heappush(heap, key(kind))
    return found
