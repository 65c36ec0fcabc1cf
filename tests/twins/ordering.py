"""Slow twins of groupers that sort records and cut the row, in plain Python and without incrowd.

Points and axes are those of `naive`: ("range", positions), ("set", size), ("tree", paths).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

Point = Sequence[int]
Axis = tuple[str, Any]
UNIT = 720_720_000  # a domain is so wide


def domain(axis: Axis) -> int:
    kind, about = axis
    return int(about) if kind == "set" else len(about)


# Figure 8


def lexicographic(points: Sequence[Point], axes: Sequence[Axis], k: int, rule: str) -> list[list[int]]:
    """Records in the final order, part by part."""
    by = sorted(range(len(axes)), key=lambda j: (domain(axes[j]), j))
    order = sorted(range(len(points)), key=lambda i: ([points[i][j] for j in by], i))
    return partition(order, points, by, k, rule)


def partition(
    members: list[int], points: Sequence[Point], by: Sequence[int], k: int, rule: str
) -> list[list[int]]:
    """Cut into runs of the first attribute in `by`, mend the small ones, go on inside pure ones."""
    column, deeper = by[0], by[1:]
    runs: list[list[int]] = []
    for i in members:
        if runs and points[runs[-1][0]][column] == points[i][column]:
            runs[-1].append(i)
        else:
            runs.append([i])
    at = 0
    while at < len(runs):
        if len(runs[at]) >= k:
            at += 1
            continue
        other = at - 1 if at else at + 1
        left, right = min(at, other), max(at, other)
        together = len(runs[at]) + len(runs[other])
        if together < 2 * k or (rule == "pseudocode" and together == 2 * k):
            runs[left : right + 1] = [runs[left] + runs[right]]
            at = left  # looked at again
        else:
            both = runs[left] + runs[right]
            border = k if at == left else len(both) - k
            runs[left], runs[right] = both[:border], both[border:]
    found = []
    for run in runs:
        mixed = len({points[i][column] for i in run}) > 1
        found += [run] if mixed or not deeper else partition(run, points, deeper, k, rule)
    return found


# Skilling's Hilbert curve


def curve_point(index: int, bits: int, d: int) -> list[int]:
    """The point at a place of the curve: 0 <= index < 2^(bits·d)."""
    x = [0] * d
    for place in range(bits * d):  # the highest bit belongs to the first coordinate
        bit = index >> (bits * d - 1 - place) & 1
        x[place % d] = x[place % d] << 1 | bit
    shifted = x[d - 1] >> 1
    for j in range(d - 1, 0, -1):
        x[j] ^= x[j - 1]
    x[0] ^= shifted
    q = 2
    while q != 1 << bits:
        for j in range(d - 1, -1, -1):
            if x[j] & q:
                x[0] ^= q - 1
            else:
                swap = (x[0] ^ x[j]) & (q - 1)
                x[0] ^= swap
                x[j] ^= swap
        q <<= 1
    return x


def curve_index(point: Point, bits: int) -> int:
    """Where a point lies on the curve."""
    x = list(point)
    d = len(x)
    q = 1 << (bits - 1)
    while q > 1:
        for j in range(d):
            if x[j] & q:
                x[0] ^= q - 1
            else:
                swap = (x[0] ^ x[j]) & (q - 1)
                x[0] ^= swap
                x[j] ^= swap
        q >>= 1
    for j in range(1, d):
        x[j] ^= x[j - 1]
    flip, q = 0, 1 << (bits - 1)
    while q > 1:
        if x[d - 1] & q:
            flip ^= q - 1
        q >>= 1
    index = 0
    for b in range(bits - 1, -1, -1):
        for j in range(d):
            index = index << 1 | ((x[j] ^ flip) >> b & 1)
    return index


def places(axis: Axis) -> list[int]:
    """Where codes lie, the whole domain being UNIT wide."""
    kind, about = axis
    at = list(about) if kind == "range" else list(range(domain(axis)))
    wide = at[-1] - at[0]
    return [round((each - at[0]) / wide * UNIT) if wide else 0 for each in at]


def range_cost(points: Sequence[Point], axes: Sequence[Axis], members: Sequence[int]) -> int:
    """Range NCP of a group: its size times the width of its box."""
    wide = 0
    for j, axis in enumerate(axes):
        at = [places(axis)[points[i][j]] for i in members]
        wide += max(at) - min(at)
    return len(members) * wide


def hilbert(points: Sequence[Point], axes: Sequence[Axis], k: int) -> list[list[int]]:
    """Records in Hilbert order, cut into parts of k to 2k-1 that cost least together."""
    bits = 1
    while 1 << bits < max(map(domain, axes)):
        bits += 1
    order = sorted(range(len(points)), key=lambda i: (curve_index(points[i], bits), i))
    best: list[tuple[int, int] | None] = [
        (0, 0)
    ]  # what the first i records cost, and the size of the last part
    for i in range(1, len(order) + 1):
        options = []
        for size in range(k, min(2 * k - 1, i) + 1):
            before = best[i - size]
            if before is not None:
                options.append((before[0] + range_cost(points, axes, order[i - size : i]), size))
        best.append(min(options, default=None))
    parts, end = [], len(order)
    while end:
        last = best[end]
        assert last is not None
        parts.append(order[end - last[1] : end])
        end -= last[1]
    return parts[::-1]


def all_cuts(row: list[int], k: int) -> Iterator[list[list[int]]]:
    """All ways to cut a row into parts of at least k."""
    if len(row) >= k:
        yield [row]
    for size in range(k, len(row) - k + 1):
        for rest in all_cuts(row[size:], k):
            yield [row[:size], *rest]


def all_partitions(records: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """All ways to put records into groups of at least k."""
    if not records:
        yield []
    for size in range(k - 1, len(records)):
        for others in combinations(records[1:], size):
            for rest in all_partitions([x for x in records[1:] if x not in others], k):
                yield [[records[0], *others], *rest]


# Guards


def merged(
    parts: list[list[int]],
    points: Sequence[Point],
    axes: Sequence[Axis],
    allows: Callable[[list[int]], bool],
) -> list[list[int]]:
    """From left to right, join a part that is not allowed to its cheaper neighbour until it is."""

    def dearer(a: list[int], b: list[int]) -> int:
        return sum(sign * range_cost(points, axes, part) for sign, part in ((1, a + b), (-1, a), (-1, b)))

    at = 0
    while at < len(parts):
        if len(parts) == 1 or allows(parts[at]):
            at += 1
            continue
        beside = [other for other in (at - 1, at + 1) if 0 <= other < len(parts)]
        other = min(beside, key=lambda each: (dearer(parts[at], parts[each]), each))
        left = min(at, other)
        parts[left : left + 2] = [parts[left] + parts[left + 1]]
        at = left
    return parts


# Groups in which no value has more than 1/l

Choose = Callable[[list[int], Sequence[int], int, int], list[int] | None]


def eligible(values: Sequence[int], places: Sequence[int], l: int) -> bool:  # noqa: E741  the paper's letter
    """Does no value have more than 1/l of these places?"""
    mine = [values[place] for place in places]
    return all(mine.count(value) * l <= len(mine) for value in set(mine))


def by_definition(left: list[int], values: Sequence[int], l: int, size: int) -> list[int] | None:  # noqa: E741
    """The earliest `size` places that are eligible and leave an eligible rest: tries all there are."""
    for chosen in combinations(left, size):
        rest = [place for place in left if place not in chosen]
        if eligible(values, chosen, l) and eligible(values, rest, l):
            return list(chosen)
    return None


def in_one_pass(left: list[int], values: Sequence[int], l: int, size: int) -> list[int] | None:  # noqa: E741
    """The same: from left to right, keep room for what must be taken."""
    most, stay = size // l, (len(left) - size) // l
    all_left = [values[place] for place in left]
    must = {value: max(all_left.count(value) - stay, 0) for value in set(all_left)}
    chosen: list[int] = []
    for place in left:
        inside = {value: sum(values[p] == value for p in chosen) for value in must}
        promised = sum(max(must[value] - inside[value], 0) for value in must)
        mine = values[place]
        room = size - len(chosen) - promised > 0 or inside[mine] < must[mine]
        if len(chosen) < size and inside[mine] < most and room:
            chosen.append(place)
    rest = [place for place in left if place not in chosen]
    right = len(chosen) == size and eligible(values, chosen, l) and eligible(values, rest, l)
    return chosen if right else None


def dealt(values: Sequence[int], k: int, l: int, choose: Choose = in_one_pass) -> list[list[int]]:  # noqa: E741
    """Places of a row with these values as groups of at least k in which no value has more than 1/l."""
    left, groups = list(range(len(values))), []
    while len(left) >= l:
        group = None
        if k <= l:
            group = choose(left, values, l, l) or earliest_at_limit(left, values, l)
        else:
            for size in range(k, len(left) - k + 1):
                group = group or choose(left, values, l, size)
        groups.append(group or left)
        left = [place for place in left if place not in groups[-1]]
    for place in left:
        lacking = [group for group in groups if values[place] not in [values[p] for p in group]]
        nearest = min(((abs(p - place), p, i) for i, group in enumerate(lacking) for p in group))
        lacking[nearest[2]].append(place)
    return [sorted(group) for group in groups]


def earliest_at_limit(left: list[int], values: Sequence[int], l: int) -> list[int]:  # noqa: E741
    """Of the values that would have more than 1/l of the rest, the l that come first."""
    chosen: list[int] = []
    for place in left:
        at_limit = sum(values[p] == values[place] for p in left) > (len(left) - l) // l
        if at_limit and values[place] not in [values[p] for p in chosen] and len(chosen) < l:
            chosen.append(place)
    return chosen


def beliefs(
    n: int,
    alphabet: int,
    l: int,  # noqa: E741
    deal: Callable[[Sequence[int]], list[list[int]]],
) -> tuple[Fraction, Fraction]:
    """For who sees groups with their values and tries all tables: the largest belief, and who is known.

    Every row of n values of an alphabet that is eligible is equally likely to begin with. The second is the
    share of people, over all rows, whose value is certain.
    """
    seen: dict[Any, list[tuple[int, ...]]] = {}
    for values in product(range(alphabet), repeat=n):
        if eligible(values, range(n), l):
            groups = sorted(map(sorted, deal(values)))
            shown = tuple((tuple(group), tuple(sorted(values[p] for p in group))) for group in groups)
            seen.setdefault(shown, []).append(values)
    largest, certain = Fraction(0), 0
    for worlds in seen.values():
        for person in range(n):
            mine = [world[person] for world in worlds]
            belief = Fraction(max(map(mine.count, set(mine))), len(mine))
            largest = max(largest, belief)
            certain += len(worlds) if belief == 1 else 0
    return largest, Fraction(certain, n * sum(map(len, seen.values())))
