"""How large a class can get: tables that reach the bounds of the multidimensional paper, or break them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.flow import Microdata
from incrowd.long_work import silent
from incrowd.reproduce.multidimensional.trials import RELAXED, SINGLE, STRICT, WAYS, Way, bound, records
from incrowd.reproduce.outcome import Sheet
from incrowd.reproduce.rules import Finding, exact
from incrowd.reproduce.stored import whole_numbers

PRINTED = "strict, at or below the median only"
STAR, HALVES, COMB = "star", "two values", "comb"
STARS = tuple((d, k, m) for d in (1, 2, 3, 8) for k in (2, 10) for m in (1, 4))
TEETH = (50, 200, 800)


@dataclass(frozen=True, slots=True)
class WorstCase:
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


def table_of(points: Sequence[Sequence[int]]) -> Microdata:
    """Points (n, d) of whole numbers, as a table."""
    columns = [np.unique(column, return_inverse=True) for column in np.array(points).T]
    codes = np.column_stack([place for _, place in columns]).astype(np.int32)
    return Microdata(
        codes, tuple(whole_numbers(f"x{j + 1}", values) for j, (values, _) in enumerate(columns))
    )


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


def case(family: str, way: str, data: Microdata, k: int) -> WorstCase:
    cutter: Way = StrictMondrian(k, choose="widest", median="printed") if way == PRINTED else WAYS[way](k)
    largest = int(np.bincount(cutter.group(data, (), silent).labels).max())
    d, copies = len(data.attributes), int(np.bincount(records(data)).max())
    most = 2 * k - 1 if way == RELAXED else bound(d, k, copies)
    return WorstCase(family, way, d, k, copies, len(data), largest, most)


def cases(
    teeth: Sequence[int] = TEETH, stars: Sequence[tuple[int, int, int]] = STARS
) -> tuple[WorstCase, ...]:
    """Every worst case, each in the ways that it is about."""
    found = [case(STAR, way, star(d, k, m), k) for d, k, m in stars for way in (STRICT, RELAXED)]
    found += [
        case(HALVES, way, halves(few, many), 2)
        for few, many in ((2, 3), (49, 51))
        for way in (PRINTED, STRICT)
    ]
    found += [case(COMB, way, comb(n, 2), 2) for n in teeth for way in (SINGLE, STRICT, RELAXED)]
    return tuple(found)


def sheet(found: Sequence[WorstCase]) -> Sheet:
    rows = []
    for each in found:
        numbers = [f"{number:,}" for number in (each.d, each.k, each.copies, each.n, each.largest)]
        most = f"({each.bound})" if each.way == SINGLE else f"{each.bound}"
        rows.append((each.family, each.way, *numbers, most))
    about = (
        "star: m copies of the origin, k-1 points on each half axis. two values: 1 and 2, of one column. "
        "comb: points in a line, and k copies of one beside its end. In brackets: the bound of strict cuts."
    )
    return Sheet("Worst cases", ("table", "cuts", "d", "k", "m", "n", "largest", "bound"), tuple(rows), about)


Cases = Sequence[WorstCase]


def _of(found: Cases, way: str) -> list[WorstCase]:
    return [each for each in found if each.way == way]


def median_allowable(found: Cases) -> Finding:
    printed = _of(found, PRINTED)
    stopped = [each for each in printed if each.largest == each.n]
    words = f"{len(stopped)} of {len(printed)} tables with two values stay whole"
    against = f"{_sizes(stopped)}; the larger value is the median; cut below it as well, they part"
    return exact(not stopped, words, counterexample=against)


def strict_as_printed(found: Cases) -> Finding:
    printed = _of(found, PRINTED)
    return exact(all(each.within for each in printed), _sizes(printed), counterexample=_sizes(printed))


def strict_below_too(found: Cases) -> Finding:
    strict = _of(found, STRICT)
    stars = [each for each in strict if each.family == STAR]
    tight = [each for each in stars if each.largest == each.bound]
    words = f"on {len(strict)} worst cases; reached on {len(tight)} of {len(stars)} stars"
    return exact(all(each.within for each in strict), words)


def relaxed_bound(found: Cases) -> Finding:
    relaxed = _of(found, RELAXED)
    return exact(all(each.within for each in relaxed), f"on {len(relaxed)} worst cases")


def single_linear(found: Cases) -> Finding:
    growth = [each for each in _of(found, SINGLE) if each.family == COMB]
    linear = all(each.largest == each.n - each.k and not each.within for each in growth)
    return exact(linear, f"{_sizes(growth)} if strict")


def _sizes(found: Cases) -> str:
    return "; ".join(f"{each.largest:,} of {each.n:,} together, bound {each.bound}" for each in found)
