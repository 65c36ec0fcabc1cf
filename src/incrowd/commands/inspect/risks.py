"""Who stands out as the table is: alone in known columns, or by sensitive values published unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from itertools import combinations
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from incrowd.commands.inspect.relations import rows_alone_in
from incrowd.flow import Codes, distinct_rows
from incrowd.measures.published import group_sizes
from incrowd.policy.columns import UNIQUE_SHARE

LARGEST_COMBINATION = 3
MOST_COLUMNS_COMBINED = 12
MOST_ROWS_READ = 200_000_000  # over all combinations: about two seconds
MOST_COMBINATIONS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Combination:
    """Columns that are known together, and how many rows are then the only one of their kind."""

    columns: tuple[str, ...]
    unique: int


@dataclass(frozen=True, slots=True)
class Risk:
    """How many rows have how much company if some columns are known together, as the table stands.

    Sizes of classes are persons where somebody may have several rows, else rows. ``highest`` is the largest
    prosecutor risk: one by the smallest size, or the largest share that one person has of a class.
    ``mean_size`` is the mean over rows of the size of their class: how many people are left to guess among.
    ``below_k`` counts the rows in classes of fewer than `k`, where a k is asked for.
    """

    columns: tuple[str, ...]
    rows: int
    classes: int
    unique: int
    below_5: int
    below_10: int
    smallest: int
    largest: int
    highest: float
    mean_size: float
    k: int | None = None
    below_k: int | None = None


def isolating(
    codes: Mapping[str, Codes], persons: NDArray[np.int64], most_rows_read: int
) -> tuple[Combination, ...]:
    """Sensitive columns, and pairs of them, in which many rows have a value that nobody else has."""
    least = UNIQUE_SHARE * len(persons)
    alone = {name: rows_alone_in([column], persons) for name, column in codes.items()}
    telling = sorted(codes, key=lambda name: (-alone[name], _agreement(codes[name])))
    width = _affordable(len(telling), len(persons), most_rows_read)
    quiet = [name for name in telling[:width] if alone[name] <= least]
    every: dict[tuple[str, ...], int] = {(name,): rows for name, rows in alone.items()}
    for pair in combinations(quiet, 2):
        every[pair] = rows_alone_in([codes[name] for name in pair], persons)
    found = [Combination(columns, rows) for columns, rows in every.items() if rows > least]
    return tuple(sorted(found, key=lambda one: (len(one.columns), -one.unique))[:MOST_COMBINATIONS_SHOWN])


def _class_sizes(columns: Iterable[Codes]) -> NDArray[np.int64]:
    """How many rows share each combination of values that occurs."""
    codes = list(columns)
    return group_sizes(codes, [int(column.max()) + 1 for column in codes])


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted of columns, so that those that are asked for again are not read again."""

    values: dict[str, tuple[int, int]] = field(default_factory=dict)
    unique: dict[frozenset[str], int] = field(default_factory=dict)

    def of(self, names: Iterable[str]) -> Counted:
        """What is about these columns alone."""
        kept = frozenset(names)
        return Counted(
            {name: counts for name, counts in self.values.items() if name in kept},
            {columns: rows for columns, rows in self.unique.items() if columns <= kept},
        )


def telling_combinations(
    codes: Mapping[str, Codes],
    most_rows_read: int,
    counted: Counted | None = None,
    sizes: Iterable[int] = range(2, LARGEST_COMBINATION + 1),
    most: int = MOST_COMBINATIONS_SHOWN,
) -> tuple[tuple[Combination, ...], str]:
    """Pairs and triples of the most telling columns that single out most rows.

    No combination of values can single out more than one row: so those that have too few to reach the best
    ones are not counted.

    Examples
    --------
    >>> known = {"age": np.array([0, 1, 2, 2]), "sex": np.array([0, 0, 0, 1]), "job": np.array([0, 1, 1, 1])}
    >>> telling_combinations(known, 100, most=1)[0]
    (Combination(columns=('age', 'sex'), unique=4),)
    """
    counted = Counted() if counted is None else counted
    for name in codes:
        if name not in counted.values:
            counted.values[name] = _values(codes[name])
    telling = sorted(codes, key=lambda name: counted.values[name][1])
    width = _affordable(len(telling), len(next(iter(codes.values()), ())), most_rows_read)
    every = [columns for size in sizes for columns in combinations(telling[:width], size)]
    possible = [prod(counted.values[name][0] for name in columns) for columns in every]
    best: list[int] = []
    found: dict[int, int] = {}  # by the place in `every`, which decides between equals
    for place in sorted(range(len(every)), key=lambda place: -possible[place]):
        if len(best) == most and possible[place] < best[0]:
            break
        columns = frozenset(every[place])
        if columns not in counted.unique:
            counted.unique[columns] = int((_class_sizes(codes[name] for name in every[place]) == 1).sum())
        found[place] = counted.unique[columns]
        if len(best) < most:
            heappush(best, found[place])
        else:
            heappushpop(best, found[place])
    first = sorted(found, key=lambda place: (-found[place], len(every[place]), place))[:most]
    left_out = len(telling) - width
    bounded = (
        f"pairs and triples of the {width} most identifying quasi-identifiers only" if left_out > 0 else ""
    )
    return tuple(Combination(every[place], found[place]) for place in first), bounded


def _values(codes: Codes) -> tuple[int, int]:
    """How many values there are, and how many ordered pairs of rows agree: the fewer, the more it tells."""
    counts = np.bincount(codes)
    return int((counts > 0).sum()), _pairs_alike(counts)


def _agreement(codes: Codes) -> int:
    """Ordered pairs of rows with the same value: the fewer, the more the column tells."""
    return _pairs_alike(np.bincount(codes))


def _pairs_alike(counts: NDArray[np.int64]) -> int:
    return sum(count * count for count in counts.tolist())


def _affordable(columns: int, rows: int, most_rows_read: int) -> int:
    """How many columns may be combined; three at least."""
    width = min(columns, MOST_COLUMNS_COMBINED)
    while width > LARGEST_COMBINATION and (comb(width, 2) + comb(width, 3)) * rows > most_rows_read:
        width -= 1
    return width


def risk_of(
    codes: Mapping[str, Codes], rows: int, k: int | None = None, persons: NDArray[np.int64] | None = None
) -> Risk:
    """The risk of columns of codes (n,), each without gaps; `persons` (n,) says whose row each is.

    Examples
    --------
    >>> known = {"age": np.array([0, 0, 1]), "sex": np.array([0, 0, 0])}
    >>> risk = risk_of(known, 3, k=2)
    >>> risk.unique, risk.highest, risk.below_k
    (1, 1.0, 1)
    """
    if persons is None:
        sizes = held = _class_sizes(codes.values()) if codes else np.array([rows])
        highest = 1 / int(sizes.min())
    else:
        sizes, held, highest = _class_persons(list(codes.values()), persons)
    return Risk(
        columns=tuple(codes),
        rows=rows,
        classes=sizes.size,
        unique=int(held[sizes == 1].sum()),
        below_5=int(held[sizes < 5].sum()),
        below_10=int(held[sizes < 10].sum()),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        highest=highest,
        mean_size=int((held * sizes).sum()) / rows,
        k=k,
        below_k=None if k is None else int(held[sizes < k].sum()),
    )


def _class_persons(
    codes: list[Codes], persons: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
    """For each class its persons and its rows; and the largest share of a class that is one person's."""
    of = distinct_rows(codes, [int(column.max()) + 1 for column in codes], persons.size)[1]
    held, count = np.bincount(of), int(persons.max()) + 1
    pairs, own = np.unique(of * count + persons, return_counts=True)
    return np.bincount(pairs // count), held, float((own / held[pairs // count]).max())
