"""Reconstruction: original rows from the release alone, by sets and ends of ranges.

A set names only values that occur behind it, and so do the ends of a range. Where all but one column of a
row are single values, each value that the last one names completes a record (first rule). Where two rows
are made over neighbourhoods that differ by one record, what one has and the other has not is that record
(second rule): the windows of a ring do. Nothing is known about anybody; nobody is linked to a row. But that a
combination is in the table at all may be what was to be hidden, and it hands the quasi-identifiers to
whoever lacks them for another attack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.registry import AttackResult, Rate, attack
from incrowd.attacks.singling import GOLDEN, splitmix
from incrowd.attacks.target import Ints, Target, runs
from incrowd.flow import Attribute, Microdata, distinct_rows
from incrowd.kernels import rebuild
from incrowd.measures import CellCoverage, Published
from incrowd.schema import Shape

LARGEST = 64  # values of a set that is compared with others by what is left without one of them
PARTNERS = 2_000  # rows that one row is compared with
KEPT = 32  # claims that are kept of one row
AT_ONCE = 1 << 16  # rows whose claims are held in memory before those that are equal become one


@dataclass(frozen=True, slots=True)
class GivenAway:
    """Distinct combinations that were claimed, how many occur, and the records of those rarer than k."""

    records: int
    claims: int
    right: int

    @property
    def precision(self) -> float:
        return self.right / self.claims if self.claims else 0.0


@attack("rows", 70, ("records",))
def rows(target: Target) -> AttackResult:
    """Combinations of values that are in the original, claimed from the release alone."""
    data, k = target.data, target.k or 2
    claims = claimed(target.published)
    found = _counted(claims, data, k)
    blind = _counted(_blind(target.published, len(claims)), data, k)
    control = given_away(target.control.published, data, k)
    n = len(data)
    rates = Rate(found.records, n), Rate(blind.records, n), Rate(control.records, n)
    details = {
        "rows_given_away": found.records,
        "share": found.records / n if n else 0.0,
        "claims": found.claims,
        "precision": found.precision,
        "precision_of_guess": blind.precision,
    }
    return AttackResult("rows", "reconstruction", "the release alone", *rates, None, details)


def given_away(published: Published, data: Microdata, k: int) -> GivenAway:
    """How many records a release gives back: their combination is claimed, and fewer than k share it.

    Combinations that k records share are no secret: any k-anonymous table may show them as they are. The
    original, `data`, only counts the right claims.
    """
    return _counted(claimed(published), data, k)


def claimed(published: Published) -> Ints:
    """The distinct combinations of codes that both rules claim: (c, d)."""
    said = _said(published)
    if not said.rows.shape[0]:
        return np.zeros((0, len(published.attributes)), np.int64)
    found = [_completed(said), *_differences(said, published)]
    return _distinct(np.concatenate(found), [len(a) for a in published.attributes])


# ---- what the cells name


def _said(published: Published) -> rebuild.PublishedCells:
    """Distinct rows, cells of all columns numbered in one row."""
    named = [_named(*pair) for pair in zip(published.attributes, published.cells, strict=True)]
    shift = np.cumsum([0, *(len(cells) for cells in published.cells)])
    table = np.stack([np.asarray(column, np.int64) for column in published.rows], axis=1)
    distinct = _distinct(table, [len(cells) for cells in published.cells])
    return rebuild.PublishedCells(
        (distinct + shift[:-1]).astype(np.int32),
        np.array([attribute.shape is Shape.RANGE for attribute in published.attributes]),
        _ends(np.concatenate([np.diff(starts) for starts, _ in named])),
        np.concatenate([values for _, values in named]),
        _ends(np.concatenate([np.diff(cells.starts) for cells in published.cells])),
        np.concatenate([cells.first for cells in published.cells]),
        np.concatenate([cells.last for cells in published.cells]),
        np.concatenate([cells.count == 1 for cells in published.cells]),
    )


def _named(attribute: Attribute, cells: CellCoverage) -> tuple[Ints, NDArray[np.int32]]:
    """The values that each cell says to occur: where they start, and the values, ascending."""
    alone = cells.count == 1
    if attribute.shape is Shape.SET:
        # A family's sets are given beforehand: that one is published does not say that all its values occur.
        wide = alone if attribute.family else np.ones(len(cells), np.bool_)
        sizes = (cells.last - cells.first + 1).astype(np.int64) * wide[cells.owner]
        values = runs(cells.first.astype(np.int64), sizes)
        return _ends(np.bincount(cells.owner, sizes, len(cells))), values.astype(np.int32)
    low, high = (np.where(alone, cells.first[cells.starts[:-1]], end) for end in (cells.low, cells.high))
    ranged = attribute.shape is Shape.RANGE
    place = np.append(attribute.position, 0.0)
    ends = np.stack(
        [
            np.where(cells.missing & ranged & ~alone, attribute.missing, -1),
            np.where(alone | (ranged & (place[low] == cells.lower)), low, -1),
            np.where(~alone & ranged & (place[high] == cells.upper) & (high != low), high, -1),
        ],
        axis=1,
    )
    return _ends((ends >= 0).sum(axis=1)), np.sort(ends, axis=1)[np.sort(ends, axis=1) >= 0].astype(np.int32)


def _completed(said: rebuild.PublishedCells) -> Ints:
    """First rule: every column but at most one is a single value, and the last names values."""
    d = said.rows.shape[1]
    alone = said.plain[said.rows]
    open_ = np.flatnonzero((~alone).sum(axis=1) <= 1)
    last = np.argmin(alone[open_], axis=1)  # the first column, which names one value, if all are single
    cell = said.rows[open_, last]
    counts = said.named[cell + 1] - said.named[cell]
    of = np.repeat(np.arange(open_.size), counts)
    claims = np.empty((of.size, d), np.int64)
    for j in range(d):
        mine = said.rows[open_[of], j]
        claims[:, j] = said.value[np.minimum(said.named[mine], said.value.size - 1)]
    claims[np.arange(of.size), last[of]] = said.value[runs(said.named[cell], counts)]
    return claims


# ---- rows that may differ by one record


class _SetKeys(NamedTuple):
    """One set column: where its cells lead, and how many rows each of its cells would be compared with."""

    number: int
    near: rebuild.NearCells
    partners: Ints


def _differences(said: rebuild.PublishedCells, published: Published) -> list[Ints]:
    """Second rule: every row with those that share all but one value of a set."""
    n = said.rows.shape[0]
    named = (np.diff(said.named)[said.rows] > 0).all(axis=1)  # rows that name no value complete no record
    wide = ((~said.plain[said.rows]).sum(axis=1) > 1) & named
    sets = [j for j, a in enumerate(published.attributes) if a.shape is Shape.SET and not a.family]
    columns = [_column(said, j) for j in sets]
    best, fewest = np.full(n, -1), np.full(n, np.iinfo(np.int64).max)
    for column in columns:
        count = column.partners[said.rows[:, column.number]]
        better = wide & (count < fewest) & ~said.plain[said.rows[:, column.number]]
        best[better], fewest[better] = column.number, count[better]
    sizes = [len(attribute) for attribute in published.attributes]
    return [part for c in columns for part in _compared(said, c, np.flatnonzero(best == c.number), sizes)]


def _compared(
    said: rebuild.PublishedCells, column: _SetKeys, asked: Ints, sizes: Sequence[int]
) -> Iterator[Ints]:
    limits = np.array([PARTNERS, KEPT])
    for first in range(0, asked.size, AT_ONCE):
        some = asked[first : first + AT_ONCE]
        into = np.empty((KEPT * some.size + 1, said.rows.shape[1]), np.int32)
        found = rebuild.by_keys(said, some, column.number, column.near, limits, into)
        yield _distinct(into[:found].astype(np.int64), sizes)


def _column(said: rebuild.PublishedCells, j: int) -> _SetKeys:
    """A key for each set, and one for what is left of it without each of its values.

    Sets that differ by one value share a key. Keys are sums of hashes; a chance collision costs a comparison.
    """
    cells = np.unique(said.rows[:, j])
    rows_of = np.argsort(said.rows[:, j], kind="stable")
    total = said.named.size - 1
    at = _ends(np.bincount(said.rows[:, j], minlength=total))
    sizes = np.diff(said.named)[cells]
    cells, sizes = cells[sizes <= LARGEST], sizes[sizes <= LARGEST]
    of = np.repeat(np.arange(cells.size), sizes)
    hashed = splitmix((said.value[runs(said.named[cells], sizes)].astype(np.uint64) + np.uint64(1)) * GOLDEN)
    whole = np.zeros(cells.size, np.uint64)
    np.add.at(whole, of, hashed)
    key, by, met = _sorted_keys(np.concatenate([whole, whole[of] - hashed]))
    owner = np.concatenate([cells, cells[of]])
    starts = _ends(np.bincount(key, minlength=met))
    cores = key[cells.size :]  # already in the order of the cells
    held = _ends(np.bincount(cells[of], minlength=total))
    rows_near = np.bincount(key, np.diff(at)[owner], met)
    partners = np.bincount(cells[of], rows_near[cores], total).astype(np.int64)
    large = np.ones(total, np.bool_)
    large[cells] = False
    partners[large] = np.iinfo(np.int64).max
    return _SetKeys(j, rebuild.NearCells(starts, owner[by], held, cores, at, rows_of), partners)


def _sorted_keys(hashed: NDArray[np.uint64]) -> tuple[Ints, Ints, int]:
    """A number for each key, all places sorted by it and then by themselves, and how many numbers there are.

    The last bits of a key make room for its place: to sort numbers is far quicker than to sort places by
    them, and keys that become one thereby cost a comparison like any chance collision.
    """
    bits = np.uint64(max(hashed.size - 1, 1).bit_length())
    packed = ((hashed >> bits) << bits) | np.arange(hashed.size, dtype=np.uint64)
    packed.sort()
    by = (packed & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)
    new = np.append(True, np.diff(packed >> bits) != 0)[: hashed.size]
    key = np.empty(hashed.size, np.int64)
    key[by] = np.cumsum(new) - 1
    return key, by, int(new.sum())


# ---- counting what is right


def _counted(claims: Ints, data: Microdata, k: int) -> GivenAway:
    sizes = [len(attribute) for attribute in data.attributes]
    both = np.concatenate([data.codes.astype(np.int64), claims])
    first, of = distinct_rows(list(both.T), sizes, len(both))
    count = np.bincount(of[: len(data)], minlength=first.size)[of[len(data) :]]
    return GivenAway(int(count[(count > 0) & (count < k)].sum()), len(claims), int((count > 0).sum()))


def _blind(published: Published, guesses: int) -> Ints:
    """As many combinations as were claimed, of values that are named: each column's come from other rows.

    Column j takes the row that lies j+1 strides further, so that no two columns come from one row.
    """
    n, d = len(published), len(published.attributes)
    if not n or not guesses:
        return np.zeros((0, d), np.int64)
    places = np.linspace(0, n - 1, guesses).astype(np.int64)
    found = np.zeros((guesses, d), np.int64)
    able = np.ones(guesses, np.bool_)
    for j, (attribute, cells) in enumerate(zip(published.attributes, published.cells, strict=True)):
        starts, values = _named(attribute, cells)
        cell = published.rows[j][(places + j * (n // (d + 1) + 1)) % n]
        counts = starts[cell + 1] - starts[cell]
        able &= counts > 0
        at = starts[cell] + np.arange(guesses) % np.maximum(counts, 1)
        found[:, j] = np.append(values, 0)[np.minimum(at, values.size)]
    return _distinct(found[able], [len(attribute) for attribute in published.attributes])


def _distinct(table: Ints, sizes: Sequence[int]) -> Ints:
    return table[distinct_rows(list(table.T), sizes, len(table))[0]]


def _ends(counts: NDArray[np.number]) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts.astype(np.int64))])
