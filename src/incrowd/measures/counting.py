"""Range-count queries: how many people lie in a box, estimated from published rows, and the error of that.

A row stands for as many people as its weight says, and each of them lies anywhere in its cells with the same
chance. So the estimate is a sum over rows: weight times, for each column, the share of the cell that the box
asks for. Shares of numbers and dates are lengths (``continuous``) or counts of the column's values
(``discrete``); shares of categories are always counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import PolicyError, TableError, unknown
from incrowd.flow import Attribute, Codes, Microdata, Table, distinct_rows
from incrowd.measures.boxes import (
    Among,
    Between,
    RangeCount,
    Ways,
    allowed_codes,
    asked_columns,
    by_length,
    check_names,
    check_ways,
)
from incrowd.measures.buckets import BucketTable
from incrowd.measures.cells import CellCoverage
from incrowd.measures.counted import record_weights
from incrowd.measures.published import Published

Weights = NDArray[np.float64] | NDArray[np.object_]  # people behind each row: floats, or Fractions
Ints = NDArray[np.int64]

ONE_EACH = ("homogeneous", "ring", "factor", "anatomy")  # every row is about one person of the private table
DIRECT, REFINE = "kja-direct", "kja-refine"


def weights_of(
    kind: str,
    groups: Codes | None = None,
    people: NDArray[np.int64] | None = None,
    exact: bool = False,
) -> Weights | None:
    """How many people of the private table stand behind each published row; None means one each.

    In ``kja-refine`` the rows of a sensitive group share its people evenly, for nobody can tell which rows
    are theirs: `groups` (n,) is the group that each row names, `people` (g,) how many people the table of
    sensitive values has in each. With `exact`, numbers are Fractions.

    Examples
    --------
    >>> weights_of("kja-refine", np.array([0, 0, 1, 0]), np.array([2, 1]), exact=True).tolist()
    [Fraction(2, 3), Fraction(2, 3), Fraction(1, 1), Fraction(2, 3)]
    """
    if kind in ONE_EACH:
        return None
    if kind == DIRECT:
        raise TableError(
            "a release by kja-direct does not say how many people of the private table its groups have, "
            "so nobody can be counted from it; kja-refine publishes these numbers"
        )
    if kind != REFINE:
        raise PolicyError(unknown("a kind of release", [kind], [*ONE_EACH, REFINE, DIRECT]))
    if groups is None or people is None:
        raise TableError("a release by kja-refine needs the group of each row and the people of each group")
    if groups.size and not (groups.min() >= 0 and groups.max() < people.size):
        raise TableError("a published row names a group that the table of sensitive values does not have")
    rows = np.bincount(groups, minlength=people.size)
    if (people < 0).any() or (people > rows).any():
        raise TableError("the table of sensitive values has a group with more people than published rows")
    shared = _numbers(people, exact) / _numbers(np.maximum(rows, 1), exact)
    return shared[groups]  # type: ignore[no-any-return]


def joined_weights(rows: Table, buckets: Table | None) -> Weights | None:
    """The same of the rows of a release that is joined with a public table, and its buckets if it has any."""
    if buckets is None or "group" not in rows.names:
        return weights_of(DIRECT)
    lines, named = BucketTable.read(buckets), rows.column("group")
    number = {text: code for code, text in enumerate(lines.names)}
    of_row = np.array([number.get(text, -1) for text in named.texts], np.int32)[named.codes]
    return weights_of(REFINE, of_row, lines.people)


def estimates(
    published: Published, weights: Weights | None, queries: Sequence[RangeCount], how: Ways = "continuous"
) -> NDArray[np.float64]:
    """How many people lie in each box, as far as published rows say; `weights` (n,) come from `weights_of`.

    `how` says whether columns of numbers and dates are ``continuous`` or ``discrete``. Equal rows are counted
    together first.

    References
    ----------
    k-Anonymity in the Presence of External Databases, section 5.

    Examples
    --------
    >>> from incrowd.flow import Table
    >>> from incrowd.measures.published import published
    >>> from incrowd.schema import Kind, Shape
    >>> age = Attribute("age", Kind.NUMERIC, Shape.RANGE, ("20", "30", "60"), np.array([20.0, 30.0, 60.0]))
    >>> data = Microdata(np.array([[0], [1], [2]], dtype=np.int32), (age,))
    >>> release = published(Table.of({"age": ["[20,60]", "[20,60]", "60"]}), data)
    >>> under_thirty = [RangeCount({"age": Between(0, 30)})]
    >>> [float(estimates(release, None, under_thirty, how)[0].round(3)) for how in ("continuous", "discrete")]
    [0.5, 1.333]
    """
    _check(published, weights, queries, how)
    asked = asked_columns(published.attributes, queries)
    tally = _tallied(
        [published.rows[j] for j in asked],
        [len(published.cells[j]) for j in asked],
        len(published),
        None if weights is None else weights.astype(np.float64),
    )
    columns = [(published.attributes[j], published.cells[j]) for j in asked]
    shares = ([_cell_shares(*column, query, how, exact=False) for column in columns] for query in queries)
    return np.array([tally.sum(of_query) for of_query in shares])


def exact_estimate(
    published: Published, weights: Weights | None, query: RangeCount, how: Ways = "continuous"
) -> Fraction:
    """As `estimates`, for one box, in Fractions and row by row: slow, and without any rounding."""
    _check(published, weights, [query], how)
    shares = [
        cell_shares[rows]
        for attribute, cells, rows in zip(published.attributes, published.cells, published.rows, strict=True)
        if (cell_shares := _cell_shares(attribute, cells, query, how, exact=True)) is not None
    ]
    each = _numbers(np.ones(len(published)) if weights is None else weights, exact=True)
    return sum((reduce(mul, row, Fraction(1)) for row in zip(each, *shares, strict=True)), Fraction(0))


def counts(data: Microdata, queries: Sequence[RangeCount]) -> NDArray[np.int64]:
    """How many people really lie in each box; of a joined table, those of the private one."""
    check_names([a.name for a in data.attributes], [name for query in queries for name in query.sides])
    asked = asked_columns(data.attributes, queries)
    codes = data.codes if data.own is None else data.codes[data.own]
    attributes = [data.attributes[j] for j in asked]
    weights = record_weights(data)
    people = None if weights is None else weights.astype(np.float64)
    tally = _tallied([codes[:, j] for j in asked], [len(a) for a in attributes], len(codes), people)
    inside = (
        [allowed_codes(a, query.sides[a.name]) if a.name in query.sides else None for a in attributes]
        for query in queries
    )
    return np.array([round(tally.sum(of_query)) for of_query in inside], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class RelativeError:
    """How far estimates are from the truth: both (q,), by query.

    A query that nobody satisfies has no relative error. With ``floor`` 0 such queries are left out; else
    every error is divided by the actual count or by the floor, whichever is larger.
    """

    actual: NDArray[np.int64]
    estimated: NDArray[np.float64]
    floor: int = 0

    @property
    def empty(self) -> int:
        """How many queries nobody satisfies."""
        return int((self.actual == 0).sum())

    @property
    def errors(self) -> NDArray[np.float64]:
        """|actual - estimate| / actual, of the queries that count."""
        divisor = np.maximum(self.actual, self.floor)
        some = divisor > 0
        return np.abs(self.actual - self.estimated)[some] / divisor[some]

    @property
    def mean(self) -> float | None:
        """The average relative error (1 is 100 percent), None if no query counts."""
        errors = self.errors
        return float(errors.mean()) if errors.size else None


def average_relative_error(
    published: Published,
    weights: Weights | None,
    data: Microdata,
    queries: Sequence[RangeCount],
    how: Ways = "continuous",
    floor: int = 0,
) -> RelativeError:
    """Estimate many boxes from a release (`estimates`), and compare with the original (`RelativeError`)."""
    if published.attributes != data.attributes:
        raise TableError("the published table was read against another original than it is compared with")
    if floor < 0:
        raise PolicyError(f"the floor of a relative error must be at least 0, got {floor}")
    return RelativeError(counts(data, queries), estimates(published, weights, queries, how), floor)


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """Nodes of one depth: their codes in some columns, and where the nodes below each next node start."""

    columns: tuple[tuple[int, Codes], ...]
    starts: Ints


@dataclass(frozen=True, slots=True, eq=False)
class _PrefixTree:
    """Distinct rows as a tree of their common beginnings, leaves first, and the people behind each leaf.

    A share that many rows have in common is multiplied once, after their people were added up.
    """

    people: NDArray[np.float64]
    levels: tuple[_Level, ...]

    def sum(self, shares: Sequence[NDArray[Any] | None]) -> float:
        """The people times the shares of their cells (by column; None is all), added up."""
        value = self.people
        if not value.size:
            return 0.0
        for level in self.levels:
            for j, codes in level.columns:
                share = shares[j]
                if share is not None:
                    value = value * share[codes]
            value = np.add.reduceat(value, level.starts)
        return float(value.sum())


def _tallied(
    columns: Sequence[Codes], sizes: Sequence[int], n: int, weights: NDArray[np.float64] | None
) -> _PrefixTree:
    order = sorted(range(len(columns)), key=sizes.__getitem__)  # few values first: few beginnings
    first, which = distinct_rows([columns[j] for j in order], [sizes[j] for j in order], n)
    people = np.bincount(which, weights, first.size).astype(np.float64)
    return _PrefixTree(people, tuple(_levels([(j, columns[j][first]) for j in order])))


def _levels(columns: Sequence[tuple[int, Codes]]) -> list[_Level]:
    """The tree of sorted distinct rows. A depth that would hardly have fewer nodes is left out."""
    rows = columns[0][1].size if columns else 0
    starts = [np.zeros(min(rows, 1), dtype=np.int64)]  # where the rows with each common beginning start
    fresh = np.arange(rows) == 0
    for _, codes in columns:
        fresh[1:] |= codes[1:] != codes[:-1]
        starts.append(np.flatnonzero(fresh))
    levels, waiting, nodes = [], [], starts[-1]
    for (j, codes), above in zip(reversed(columns), reversed(starts[:-1]), strict=True):
        waiting.append((j, codes[nodes]))
        if 2 * above.size <= nodes.size or above.size <= 1:
            levels.append(_Level(tuple(waiting), np.searchsorted(nodes, above)))
            waiting, nodes = [], above
    return levels


def _check(published: Published, weights: Weights | None, queries: Sequence[RangeCount], how: Ways) -> None:
    names = [attribute.name for attribute in published.attributes]
    check_names(names, [name for query in queries for name in query.sides])
    check_ways(names, how)
    if weights is not None and (weights.shape != (len(published),) or not (weights >= 0).all()):
        raise TableError("there must be one weight for each published row, and none below 0")


def _numbers(values: NDArray[Any], exact: bool) -> NDArray[Any]:
    """Floats, or Fractions of the same values: arithmetic on arrays then serves both."""
    if not exact:
        return values.astype(np.float64)
    return np.array([*map(Fraction, values.tolist()), None], dtype=object)[:-1]


def _cell_shares(
    attribute: Attribute, cells: CellCoverage, query: RangeCount, how: Ways, exact: bool
) -> NDArray[Any] | None:
    """The share of each cell that a query asks for, None where it does not ask."""
    side = query.sides.get(attribute.name)
    if side is None:
        return None
    upto = np.concatenate([[0], np.cumsum(allowed_codes(attribute, side))])
    inside = np.bincount(cells.owner, upto[cells.last + 1] - upto[cells.first], len(cells)).astype(np.int64)
    counted: NDArray[Any] = _numbers(inside, exact) / _numbers(cells.count, exact)
    if isinstance(side, Among) or not by_length(attribute, how):
        return counted
    # Values with gaps between them were named one by one: there is nobody in the gaps.
    gaps = cells.high - cells.low + 1 != cells.count - cells.missing
    shares: NDArray[Any] = np.where(gaps, counted, _lengths(cells, side, exact))
    return shares


def _lengths(cells: CellCoverage, side: Between, exact: bool) -> NDArray[Any]:
    """The share of each cell's length, missing beside it being one of the values that the cell covers."""
    lower, upper = _numbers(cells.lower, exact), _numbers(cells.upper, exact)
    low, high = _numbers(np.array([side.lower, side.upper]), exact)
    width, overlap = upper - lower, np.minimum(upper, high) - np.maximum(lower, low)
    point = (width == 0).astype(np.bool_)
    share = np.where(point, overlap >= 0, np.maximum(overlap, 0) / np.where(point, 1, width))
    count = _numbers(cells.count, exact)
    shares: NDArray[Any] = np.where(cells.missing, (share * (count - 1) + side.missing) / count, share)
    return shares
