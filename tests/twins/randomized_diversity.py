"""Slow twins of promises against frequent values, in plain Python and without incrowd. For ten records."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, product
from typing import Any

Holds = Sequence[Sequence[int]]  # for each row the records that it holds


def keeps_frequency(values: Sequence[Any], l: int) -> bool:  # noqa: E741
    """Is no value behind more than one in l?"""
    return bool(values) and all(values.count(value) * l <= len(values) for value in values)


def can_be_cut(values: Sequence[Any], l: int, k: int) -> bool:  # noqa: E741
    """Is there a way to cut these into parts of k and more, none with a value over k/l times? Try all."""

    @cache
    def cut(left: tuple[int, ...]) -> bool:
        if not sum(left):
            return True
        choices = product(*(range(min(count, k // l) + 1) for count in left))
        rests = (tuple(a - b for a, b in zip(left, part, strict=True)) for part in choices if sum(part) >= k)
        return any(map(cut, rests))

    return bool(values) and cut(tuple(sorted(Counter(values).values())))


def drawn_keeps(holds: Holds, values: Sequence[Any], parts: Sequence[int], l: int, k: int) -> bool:  # noqa: E741
    """May row i, which is about record i, be drawn from k rows of its part, k/l of a value at most?"""
    for part in set(parts):
        rows = [i for i in range(len(parts)) if parts[i] == part]
        said = [values[i] for i in rows]
        near = [[rows.index(i) for i in holds[row] if i in rows] for row in rows]
        if max(Counter(said).values()) > k // l or not has_factor(near, k):
            return False
    return True


def has_factor(near: Holds, k: int) -> bool:
    """Can each row be given k of the records that it holds so that none is given more than k times?"""

    def given(row: int, left: tuple[int, ...]) -> bool:
        if row == len(near):
            return True
        fit = [i for i in near[row] if left[i]]
        choices = combinations(fit, k)
        return any(given(row + 1, tuple(x - (i in c) for i, x in enumerate(left))) for c in choices)

    return given(0, (k,) * len(near))


def assignments(holds: Holds) -> Iterator[tuple[int, ...]]:
    """Every way to give each row a record of its own that it holds."""

    def rest(row: int, taken: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if row == len(holds):
            yield taken
            return
        for record in holds[row]:
            if record not in taken:
                yield from rest(row + 1, (*taken, record))

    yield from rest(0, ())


def most_of_a_value(holds: Holds, values: Sequence[Any], assignment: Sequence[int]) -> int:
    """Of all rows that hold one person, how many show the same value? Of the person for whom it is most."""
    shown = [values[record] for record in assignment]
    seen = [[shown[row] for row, near in enumerate(holds) if i in near] for i in range(len(holds))]
    return max(max(Counter(rows).values()) for rows in seen)
