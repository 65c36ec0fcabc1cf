"""How large a class can get: tables that reach the bounds of the multidimensional paper, or break them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.contracts import silent
from incrowd.flow import Microdata
from incrowd.reproduce.multidimensional.data import numbers
from incrowd.reproduce.multidimensional.trials import RELAXED, SINGLE, STRICT, WAYS, Way, bound, records
from incrowd.reproduce.outcome import Sheet, Statement

PRINTED = "strict, at or below the median only"
STAR, HALVES, COMB = "star", "two values", "comb"
STARS = tuple((d, k, m) for d in (1, 2, 3, 8) for k in (2, 10) for m in (1, 4))
TEETH = (50, 200, 800)


@dataclass(frozen=True, slots=True)
class Case:
    """A worst case: how many records stay together, and how many may.

    Single-dimensional cuts have no bound; there it is that of strict ones.
    """

    family: str
    way: str
    d: int
    k: int
    copies: int
    n: int
    largest: int
    bound: int

    @property
    def within(self) -> bool:
        return self.largest <= self.bound

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def table_of(points: Sequence[Sequence[int]]) -> Microdata:
    """Points (n, d) of whole numbers, as a table."""
    columns = [np.unique(column, return_inverse=True) for column in np.array(points).T]
    codes = np.column_stack([place for _, place in columns]).astype(np.int32)
    return Microdata(codes, tuple(numbers(f"x{j + 1}", values) for j, (values, _) in enumerate(columns)))


def star(d: int, k: int, m: int) -> Microdata:
    """m copies of the origin and k-1 points on each half of each axis: no cut leaves k on both sides.

    Examples
    --------
    >>> len(star(2, 3, 1)) == 2 * 2 * (3 - 1) + 1
    True
    """
    arms = [
        [side * step if j == axis else 0 for j in range(d)]
        for axis in range(d)
        for side in (-1, 1)
        for step in range(1, k)
    ]
    return table_of([[0] * d] * m + arms)


def comb(n: int, k: int) -> Microdata:
    """n points in a line, and k copies of one that lies beside its end."""
    return table_of([[0, i] for i in range(n)] + [[1, 0]] * k)


def halves(few: int, many: int) -> Microdata:
    """A column of two values, the larger being the median."""
    return table_of([[1]] * few + [[2]] * many)


def case(family: str, way: str, data: Microdata, k: int) -> Case:
    cutter: Way = StrictMondrian(k, choose="widest", median="printed") if way == PRINTED else WAYS[way](k)
    largest = int(np.bincount(cutter.group(data, (), silent).labels).max())
    d, copies = len(data.attributes), int(np.bincount(records(data)).max())
    most = 2 * k - 1 if way == RELAXED else bound(d, k, copies)
    return Case(family, way, d, k, copies, len(data), largest, most)


def cases(teeth: Sequence[int] = TEETH, stars: Sequence[tuple[int, int, int]] = STARS) -> tuple[Case, ...]:
    """Every worst case, each in the ways that it is about."""
    found = [case(STAR, way, star(d, k, m), k) for d, k, m in stars for way in (STRICT, RELAXED)]
    found += [
        case(HALVES, way, halves(few, many), 2)
        for few, many in ((2, 3), (49, 51))
        for way in (PRINTED, STRICT)
    ]
    found += [case(COMB, way, comb(n, 2), 2) for n in teeth for way in (SINGLE, STRICT, RELAXED)]
    return tuple(found)


def sheet(found: Sequence[Case]) -> Sheet:
    rows = [
        (
            each.family,
            each.way,
            *(f"{number:,}" for number in (each.d, each.k, each.copies, each.n, each.largest)),
            f"({each.bound})" if each.way == SINGLE else f"{each.bound}",
        )
        for each in found
    ]
    about = (
        "star: m copies of the origin, k-1 points on each half axis. two values: 1 and 2, of one column. "
        "comb: points in a line, and k copies of one beside its end. In brackets: the bound of strict cuts."
    )
    return Sheet("Worst cases", ("table", "cuts", "d", "k", "m", "n", "largest", "bound"), tuple(rows), about)


def judge(found: Sequence[Case]) -> tuple[Statement, ...]:
    """What section 2.2.1 and 2.3 say of medians and sizes, on the worst cases."""
    by_way: Mapping[str, list[Case]] = {
        way: [each for each in found if each.way == way] for way in (*WAYS, PRINTED)
    }
    stopped = [each for each in by_way[PRINTED] if each.largest == each.n]
    tight = [each for each in by_way[STRICT] if each.family == STAR and each.largest == each.bound]
    stars = [each for each in by_way[STRICT] if each.family == STAR]
    growth = [each for each in by_way[SINGLE] if each.family == COMB]
    return (
        Statement(
            "Section 2.3: where a cut is allowable, the one at the median is",
            not stopped,
            f"{len(stopped)} of {len(by_way[PRINTED])} tables with two values stay whole; "
            "cut below the median as well, they do not",
        ),
        Statement(
            "Section 2.3: strict cuts, as printed, leave at most 2d(k-1)+m",
            all(each.within for each in by_way[PRINTED]),
            _sizes(by_way[PRINTED]),
        ),
        Statement(
            "Section 2.3: strict cuts leave at most 2d(k-1)+m, if also tried below the median",
            all(each.within for each in by_way[STRICT]),
            f"on {len(by_way[STRICT])} worst cases; reached on {len(tight)} of {len(stars)} stars",
        ),
        Statement(
            "Section 2.3: relaxed cuts leave at most 2k-1",
            all(each.within for each in by_way[RELAXED]),
            f"on {len(by_way[RELAXED])} worst cases",
        ),
        Statement(
            "Section 2.2.1: single-dimensional classes may grow linearly with the table",
            all(each.largest == each.n - each.k for each in growth)
            and not any(each.within for each in growth),
            f"{_sizes(growth)} if strict",
        ),
    )


def _sizes(found: Sequence[Case]) -> str:
    return "; ".join(f"{each.largest:,} of {each.n:,} together, bound {each.bound}" for each in found)
