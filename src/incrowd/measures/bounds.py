"""A lower bound on the information loss (GCP) of every k-anonymous release of a table: docs/bounds.md.

Two bounds. Where every row fits at least k records, each row costs no less than the cheapest cell that holds
its record and k records in all. Where rows are equivalence classes, or an assignment with chances of at most
1/k exists, values of records whose k largest average no more than any cell costs add up to a bound, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import floor, fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError, option
from incrowd.flow import Attribute, Microdata, distinct_rows
from incrowd.kernels import cell_bounds, slab_prices
from incrowd.long_work import Progress, silent
from incrowd.measures.relaxations import FIXED, MEMBERS, WINDOW, Relaxation, fitted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NONE, QUICK, TIGHT = EFFORTS = ("none", "quick", "tight")
CLASSES, ROWS = "classes", "rows"
MARGIN = 1 - 1e-9  # sums of floats are off by far less than this
MOST_RISE = 2.0  # of a value in a round
DIGITS = 10**4
MIXERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
SPOKEN_OF = {
    CLASSES: "no {k}-anonymous release of this table",
    ROWS: "no release of this table whose rows each fit {k} records",
}


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is counted: points times cells that are looked at in a round, and rounds of raising values."""

    in_levels: int
    in_slabs: int
    brackets: int
    rounds: int


LIMITS = {
    QUICK: Effort(in_levels=125_000_000, in_slabs=6_000_000, brackets=0, rounds=0),
    TIGHT: Effort(in_levels=400_000_000, in_slabs=25_000_000, brackets=4, rounds=16),
}
PER_CELL, PER_SLAB = 1_000, 5_000  # points that cost as much as the work for a choice, however few it has
MOST_POINTS = 5_000_000  # distinct records; beyond, one look at each is more than a few seconds


@dataclass(frozen=True, slots=True)
class LossBound:
    """What the GCP of no release of a kind can be below, or why that is not known.

    ``kind`` is "classes" (equivalence classes, and rows with chances of at most 1/k) or "rows" (each row fits
    k records). ``effort`` is how hard it was tried.
    """

    k: int
    kind: str
    effort: str
    least: float | None = None
    why_not: str = ""

    @property
    def shown(self) -> str:
        """Four decimals, rounded down."""
        return "" if self.least is None else f"{floor(self.least * DIGITS) / DIGITS:.4f}"

    @property
    def sentence(self) -> str:
        if self.least is None:
            return f"lower bound on the information loss not computed: {self.why_not}"
        return f"{SPOKEN_OF[self.kind].format(k=self.k)} can be below {self.shown}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "measure": "gcp",
            "least": self.least,
            "k": self.k,
            "kind": self.kind,
            "effort": self.effort,
            "why_not": self.why_not,
            "sentence": self.sentence,
        }


def check_effort(effort: str) -> None:
    if effort not in EFFORTS:
        raise InputError(f"{option('bound')} takes none, quick or tight")


def loss_bound(
    data: Microdata, k: int, effort: str = QUICK, kind: str = CLASSES, progress: Progress = silent
) -> LossBound:
    """A lower bound on the GCP of every release of a table in which records are hidden among k.

    Records that are left out count as lost, as in the measure. Cells are those that the columns permit:
    ranges, sets or members of the family, and nodes of the hierarchy, each with missing beside them.

    Examples
    --------
    >>> from incrowd.schema import Kind, Shape
    >>> age = Attribute("age", Kind.NUMERIC, Shape.RANGE, ("20", "30", "60"), np.array([20.0, 30.0, 60.0]))
    >>> data = Microdata(np.array([[0], [1], [2], [2]], dtype=np.int32), (age,))
    >>> loss_bound(data, k=2, effort="tight").shown
    '0.1249'
    """
    check_effort(effort)
    if effort == NONE:
        return LossBound(k, kind, effort, why_not="it was not asked for")
    if len(data) < k:
        return LossBound(k, kind, effort, why_not="the table has fewer than k records")
    search = _Search.of(data, k, LIMITS[effort])
    if search is None:
        return LossBound(k, kind, effort, why_not="the table has too many different records")
    y = search.alone()
    best = search.total(y)
    rounds = LIMITS[effort].rounds if kind == CLASSES else 0
    for done in range(rounds):
        progress(done / rounds)
        ratio = np.minimum(search.ratios(y, MOST_RISE * y), MOST_RISE)
        best = max(best, search.total(y * np.minimum(ratio, 1.0)))
        y = y * np.where((ratio > 1) & (done % 2 == 1), np.sqrt(ratio), ratio)
    progress(1.0)
    return LossBound(k, kind, effort, least=best)


@dataclass(frozen=True, eq=False)
class _Search:
    """Distinct records with weights, and the cells that are looked at: all at once, or slab by slab."""

    k: int
    given: cell_bounds.Weighted
    whole: float  # what a record costs of which nothing is known
    levels: cell_bounds.Levels | None
    ends: cell_bounds.Levels | None  # the finest and the coarsest cells of each column alone
    slabs: tuple[tuple[Ints, Ints, Floats], ...] = ()

    @classmethod
    def of(cls, data: Microdata, k: int, effort: Effort) -> _Search | None:
        attributes, d = data.attributes, len(data.attributes)
        first, which = distinct_rows(list(data.codes.T), [len(a) for a in attributes], len(data))
        if first.size > MOST_POINTS:
            return None
        points = np.ascontiguousarray(data.codes[first])
        bits = np.zeros(first.size, np.int64)
        for j, attribute in enumerate(attributes[:63]):
            bits |= (points[:, j] == attribute.missing).astype(np.int64) << j
        given = cell_bounds.Weighted(points, np.bincount(which), bits)
        whole = sum(len(attribute) > 1 for attribute in attributes) / d
        columns = fitted(attributes, effort.in_levels // (first.size + PER_CELL))
        if all(kind.search == FIXED for kinds in columns for kind in kinds):
            ends = [[kinds[0], *kinds[1:][-1:]] for kinds in columns]
            return cls(k, given, whole, _levels(columns, d), _levels(ends, d))
        columns = fitted(attributes, effort.in_slabs // (first.size + PER_SLAB), effort.brackets)
        return cls(k, given, whole, None, None, tuple(_slabs(k, given, attributes, columns)))

    def alone(self) -> Floats:
        """What each record costs at least if its row holds k records: the ratio of ones."""
        ones = np.ones(self.given.weight.size)
        reach = np.full(ones.size, np.inf)
        if self.ends is not None:  # a few of the cells first: what is dearer than these need not be looked at
            reach = self._in_levels(self.ends, ones, reach)
        found: Floats = np.minimum(np.minimum(self.ratios(ones, reach), reach), self.whole)
        return found

    def ratios(self, y: Floats, reach: Floats) -> Floats:
        """What the cheapest cell around each point costs, divided by the mean of its k largest values.

        Cells that cost more than all of their points reach may be left out; of equal y, reach is any.
        """
        if self.levels is not None:
            return self._in_levels(self.levels, y, reach)
        ratio = self._start()
        for starts, order, price in self.slabs:
            cell_bounds.ratios_in_groups(self.k, starts, order, price, self.given.weight, y, ratio)
        return ratio

    def _start(self) -> Floats:
        """Whoever is k times in the table costs nothing."""
        return np.where(self.given.weight >= self.k, 0.0, cell_bounds.NEVER)

    def _in_levels(self, levels: cell_bounds.Levels, y: Floats, reach: Floats) -> Floats:
        ratio = self._start()
        falling = np.argsort(-reach, kind="stable")
        given = cell_bounds.Weighted(
            self.given.points[falling], self.given.weight[falling], self.given.missing[falling]
        )
        found = ratio[falling]
        cell_bounds.ratios_in_levels(self.k, y[falling], reach[falling], given, levels, _room(y.size), found)
        ratio[falling] = found
        return ratio

    def total(self, y: Floats) -> float:
        """The mean of values that are true, each at most what a suppressed record costs; rounded down."""
        weight = self.given.weight
        return MARGIN * fsum((np.minimum(y, self.whole) * weight).tolist()) / int(weight.sum())


def _room(points: int) -> cell_bounds.CellTable:
    slots = 1 << max(points, 16).bit_length() + 1
    return cell_bounds.CellTable(
        stamp=np.zeros(slots, np.int64),
        key=np.zeros(slots, np.uint64),
        mass=np.zeros(slots, np.int64),
        top=np.zeros(slots),
        held=np.zeros(slots, np.int64),
    )


def _levels(columns: list[list[Relaxation]], d: int) -> cell_bounds.Levels:
    """All kinds of all columns end to end. The column with most kinds should be last: it changes fastest."""
    sizes = [kinds[0].part.size for kinds in columns]
    counts = [len(kinds) for kinds in columns]
    flat = [kind for kinds in columns for kind in kinds]
    return cell_bounds.Levels(
        options=np.array(counts),
        size=np.array(sizes),
        start=_begin([count * size for count, size in zip(counts, sizes, strict=True)]),
        part=np.concatenate([_mixed(j, kind.part) for j, kinds in enumerate(columns) for kind in kinds]),
        price=np.concatenate([kind.price / d for kind in flat]),
        needs=np.array([kind.needs for kind in flat]),
        first=_begin(counts),
    )


def _begin(sizes: list[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


def _mixed(j: int, part: Ints) -> NDArray[np.uint64]:
    """A number for each part of column j that looks random."""
    mixed = (part.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(j << 40)
    for factor, shift in zip(MIXERS, (30, 27), strict=True):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _slabs(
    k: int, given: cell_bounds.Weighted, attributes: tuple[Attribute, ...], columns: list[list[Relaxation]]
) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Points that may be in a cell together, and their prices, for every choice of one kind in each."""
    d, most = len(columns), max(map(len, attributes))
    often, codes, rising = (np.zeros(most, np.int64) for _ in range(3))
    room = slab_prices.SlabValues(often, codes, np.zeros(most), rising)
    mixed = [[_mixed(j, kind.part) for kind in kinds] for j, kinds in enumerate(columns)]
    for chosen in product(*(range(len(kinds)) for kinds in columns)):
        key = np.zeros(given.weight.size, np.uint64)
        for j, t in enumerate(chosen):
            key += mixed[j][t][given.points[:, j]]
        kinds = [columns[j][t] for j, t in enumerate(chosen)]
        needs = sum(1 << j for j, kind in enumerate(kinds[:63]) if kind.needs)
        slabs = _grouped(k, key, given, needs)
        if slabs is None:
            continue
        price = np.zeros(slabs.order.size)
        for j, kind in enumerate(kinds):
            column = np.ascontiguousarray(given.points[:, j])
            _add_prices(k, d, attributes[j], kind, column, slabs, room, price)
        yield _by_price(k, slabs, price)


def _grouped(
    k: int, key: NDArray[np.uint64], given: cell_bounds.Weighted, needs: int
) -> slab_prices.Slabs | None:
    """The points of equal key, where they stand for k records and hold what is needed."""
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.concatenate([[True], np.diff(key[order]) != 0]))
    mass = np.add.reduceat(given.weight[order], begins)
    enough = mass >= k
    if needs:
        enough &= np.bitwise_or.reduceat(given.missing[order], begins) & needs == needs
    if not enough.any():
        return None
    sizes = np.diff(np.append(begins, order.size))
    kept = order[np.repeat(enough, sizes)]
    return slab_prices.Slabs(kept, np.concatenate([[0], np.cumsum(sizes[enough])]), given.weight)


def _add_prices(
    k: int,
    d: int,
    attribute: Attribute,
    kind: Relaxation,
    column: NDArray[np.int32],
    slabs: slab_prices.Slabs,
    room: slab_prices.SlabValues,
    price: Floats,
) -> None:
    if kind.search == WINDOW:
        place = (attribute.position - attribute.position[attribute.real][0]) / attribute.span
        floor_of_kind = float(kind.price[0])
        slab_prices.add_range_prices(
            k, 1 / d, floor_of_kind, attribute.missing, place, column, slabs, room, price
        )
    elif kind.search == MEMBERS:
        slab_prices.add_set_prices(k, 1 / d / (len(attribute) - 1), column, slabs, room, price)
    else:
        price += kind.price[column[slabs.order]] / d


def _by_price(k: int, slabs: slab_prices.Slabs, price: Floats) -> tuple[Ints, Ints, Floats]:
    """Slabs without the points that no cell can hold, by rising price."""
    slab = np.repeat(np.arange(slabs.starts.size - 1), np.diff(slabs.starts))
    reached = price <= 2.0
    slab, order, price = slab[reached], slabs.order[reached], price[reached]
    mass = np.bincount(slab, slabs.weight[order], slabs.starts.size - 1)
    enough = mass[slab] >= k
    slab, order, price = slab[enough], order[enough], price[enough]
    rising = np.lexsort((price, slab))
    starts = (
        np.flatnonzero(np.concatenate([[True], np.diff(slab) != 0, [True]]))
        if slab.size
        else np.zeros(1, np.int64)
    )
    return starts, order[rising], price[rising]
