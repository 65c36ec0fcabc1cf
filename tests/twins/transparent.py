"""Slow twins of l by frequency, and of plan and deal of `transparent`: plain lists, nothing of incrowd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

Bytes = Callable[[int], bytes]
Colours = list[dict[int, int]]


def keeps_frequency(values: Sequence[Any], l: int) -> bool:  # noqa: E741
    """Is no value behind more than one in l?"""
    return bool(values) and all(values.count(value) * l <= len(values) for value in values)


def plan(counts: Sequence[int], l: int, k: int) -> list[Colours]:  # noqa: E741
    """Buckets as counts of values by colour; one colour where a group stays as it is. Every size is tried."""
    left = {value: count for value, count in enumerate(counts) if count}
    k, buckets = max(k, l), []
    while left:
        colours, rest = first_bucket(left, l, k)
        buckets.append(colours)
        left = rest
    return buckets


def first_bucket(counts: dict[int, int], l: int, k: int) -> tuple[Colours, dict[int, int]]:  # noqa: E741
    n = sum(counts.values())
    if n >= 2 * k:
        bins = packed(counts, l)
        for level in range(min(sum(own.values()) for own in bins), 0, -1):
            rests = [levelled(own, sum(own.values()) - level) for own in bins]
            rest = {value: count for own in rests for value, count in own.items()}
            left = sum(rest.values())
            if not left or (left >= k and max(rest.values()) * l <= left):
                if l * level < k:
                    break
                kept = [{v: own[v] - rest.get(v, 0) for v in own if own[v] > rest.get(v, 0)} for own in bins]
                return kept, rest
    return [dict(counts)], {}


def packed(counts: dict[int, int], l: int) -> Colours:  # noqa: E741
    """The most frequent first, always into the smallest bin; then the largest and smallest are evened out."""
    bins: Colours = [{} for _ in range(l)]
    for value in sorted(counts, key=lambda v: (-counts[v], v)):
        smallest = min(range(l), key=lambda b: (sum(bins[b].values()), b))
        bins[smallest][value] = counts[value]
    while True:
        loads = [sum(own.values()) for own in bins]
        high, low = bins[loads.index(max(loads))], bins[loads.index(min(loads))]
        gap = max(loads) - min(loads)
        moves = []
        for away in high:
            for back in (None, *low):
                less = 0 if back is None else low[back]
                if 0 < high[away] - less < gap:
                    place = -1 if back is None else back
                    moves.append((abs(gap - 2 * (high[away] - less)), -high[away], less, away, place))
        if not moves:
            return bins
        _, _, _, away, back_value = min(moves)
        low[away] = high.pop(away)
        if back_value >= 0:
            high[back_value] = low.pop(back_value)


def levelled(counts: dict[int, int], taken: int) -> dict[int, int]:
    """Take one after the other, of the value of which fewest were taken so far; of equals from the last."""
    found = dict.fromkeys(counts, 0)
    for _ in range(taken):
        open_ = [value for value in counts if found[value] < counts[value]]
        found[min(open_, key=lambda value: (found[value], -value))] += 1
    return {value: count for value, count in found.items() if count}


def order(n: int, entropy: Bytes) -> list[int]:
    """0..n-1 sorted by keys of eight bytes each; the stream must have no two equal ones."""
    stream = entropy(8 * n)
    keys = [int.from_bytes(stream[8 * i : 8 * i + 8], "little") for i in range(n)]
    assert len(set(keys)) == n
    return sorted(range(n), key=keys.__getitem__)


def dealt(values: Sequence[int], l: int, k: int, entropy: Bytes) -> list[dict[int, int]]:  # noqa: E741
    """For each bucket the colour of each of its people, -1 where they stay one group."""
    present = sorted(set(values))
    place = order(len(present), entropy)
    hands = [[] for _ in present]  # type: list[list[int]]
    for person, value in enumerate(values):
        hands[place[present.index(value)]].append(person)
    hands = [[hand[i] for i in order(len(hand), entropy)] for hand in hands]
    buckets = []
    for colours in plan([len(hand) for hand in hands], l, k):
        own = [[hands[value].pop(0) for value in c for _ in range(c[value])] for c in colours]
        number = order(len(own), entropy) if len(own) > 1 else [-1]
        buckets.append({person: number[c] for c, people in enumerate(own) for person in people})
    return buckets


def plan_several(kinds: Sequence[tuple[int, ...]], counts: Sequence[int], l: int, k: int) -> list[Colours]:  # noqa: E741
    """The same for people with a value in each of several columns: counts of kinds by colour."""
    first = [
        [next(i for i, other in enumerate(kinds) if other[c] == kind[c]) for c in range(len(kind))]
        for kind in kinds
    ]
    left = {kind: count for kind, count in enumerate(counts) if count}
    k, buckets = max(k, l), []
    while left:
        colours, left = first_of_several(left, first, l, k)
        buckets.append(colours)
    return buckets


def first_of_several(
    counts: dict[int, int],
    values: Sequence[Sequence[int]],
    l: int,  # noqa: E741
    k: int,
) -> tuple[Colours, dict[int, int]]:
    n, columns = sum(counts.values()), range(len(values[0]))
    best: tuple[int, Colours, dict[int, int]] = (0, [], {})
    if n >= 2 * k:
        bins = []
        for c in columns:
            often: dict[int, int] = {}
            for kind, count in counts.items():
                often[values[kind][c]] = often.get(values[kind][c], 0) + count
            bins.append(packed(often, l))
        for shift in product(range(l), repeat=len(bins) - 1):
            blocks = [
                {
                    kind: count
                    for kind, count in counts.items()
                    if all(values[kind][c] in bins[c][(b + (0, *shift)[c]) % l] for c in columns)
                }
                for b in range(l)
            ]
            for level in range(min(sum(own.values()) for own in blocks), best[0], -1):
                rest = {
                    kind: count for kind, count in counts.items() if not any(kind in own for own in blocks)
                }
                for own in blocks:
                    rest = leave_over(own, sum(own.values()) - level, values, rest)
                most = max(
                    (
                        sum(rest[i] for i in rest if values[i][c] == v)
                        for c in columns
                        for v in [values[j][c] for j in rest]
                    ),
                    default=0,
                )
                if not rest or (sum(rest.values()) >= k and most * l <= sum(rest.values())):
                    kept = [
                        {i: own[i] - rest.get(i, 0) for i in own if own[i] > rest.get(i, 0)} for own in blocks
                    ]
                    best = (level, kept, rest)
                    break
    if l * best[0] < k:
        return [dict(counts)], {}
    return best[1], best[2]


def leave_over(
    own: dict[int, int], many: int, values: Sequence[Sequence[int]], rest: dict[int, int]
) -> dict[int, int]:
    """Leave so many over, one after the other: whose commonest value, then all, are left over most rarely."""
    found = dict(rest)

    def rarely(kind: int) -> tuple[int, int, int]:
        often = [
            sum(count for other, count in found.items() if values[other][c] == values[kind][c])
            for c in range(len(values[kind]))
        ]
        return max(often), sum(often), -kind

    for _ in range(many):
        kind = min((i for i in own if found.get(i, 0) < own[i]), key=rarely)
        found[kind] = found.get(kind, 0) + 1
    return found
