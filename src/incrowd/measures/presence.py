"""Presence in the private table: what rows of people of a public table reveal about it, and their cost.

Where people of a public table stand in, not every published row is about somebody of the private one. How
large the share is in each group is what the release reveals about who is there. And only what happened to
rows of the private table is a loss: the others were never to be published.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import Codes, Microdata, distinct_rows
from incrowd.measures.loss import measure_all
from incrowd.measures.published import Published, covered_regions

if TYPE_CHECKING:
    from incrowd.kernels.boxtree import BoxRegions

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
_PAIRS_AT_ONCE = 2**24  # of a region and a person inside it


@dataclass(frozen=True, slots=True, eq=False)
class Presence:
    """How many people of each group are of the private table: ``people`` of ``rows``, both (g,).

    ``absent`` of the ``outsiders``, who are in the public table alone, lie outside all that is published.
    """

    people: Ints
    rows: Ints
    absent: int
    outsiders: int

    @property
    def shares(self) -> NDArray[np.float64]:
        """For each group the share of people of the private table: how likely someone of it is there."""
        return self.people / self.rows

    @property
    def interval(self) -> tuple[Fraction, Fraction] | None:
        """Between which probabilities anyone's presence lies (delta-presence); someone absent makes it 0."""
        pairs = np.unique(np.stack([self.people, self.rows]), axis=1).T.tolist()
        shares = [Fraction(people, rows) for people, rows in pairs]
        return ((Fraction(0) if self.absent else min(shares)), max(shares)) if shares else None

    @property
    def certain(self) -> NDArray[np.int64]:
        """The groups of people who are all certainly present."""
        return np.flatnonzero(self.people == self.rows)

    @property
    def certainly_present(self) -> int:
        """How many people are in these groups."""
        return int(self.rows[self.certain].sum())


def presence(labels: Codes, own: Flags, covered: Flags | None = None) -> Presence:
    """What groups reveal about who is in the private table (`own`).

    `labels` (n,) are the groups of all people of both tables, numbered from 0 without gaps; -1 for people
    without a row. Sensitive groups give what the release discloses; equivalence classes what is true and not
    disclosed. `covered` (n,) says who lies inside a published row, from `covered_by`. Without it, people
    without a row count as absent; some may lie inside a row of others, and nobody can say so from outside.

    Examples
    --------
    >>> found = presence(np.array([0, 0, 0, 1, 1, -1]), np.array([1, 1, 0, 1, 1, 0], dtype=bool))
    >>> found.interval, found.certain.tolist(), found.absent, found.outsiders
    ((Fraction(0, 1), Fraction(1, 1)), [1], 1, 2)
    >>> found.shares.round(2).tolist()
    [0.67, 1.0]
    """
    if not labels.shape == own.shape == (own if covered is None else covered).shape:
        raise TableError("presence needs the group of each person, and whether they are in the private table")
    kept = labels >= 0
    if (own & ~kept).any():
        raise TableError(f"{int((own & ~kept).sum())} people of the private table have no published row")
    rows = np.bincount(labels[kept])
    if not rows.all():
        raise TableError("groups must be numbered from 0 without gaps")
    people = np.bincount(labels[own], minlength=rows.size)
    outside = ~kept if covered is None else ~kept & ~covered
    return Presence(people, rows, int(outside.sum()), int((~own).sum()))


def covered_by(published: Published, data: Microdata) -> Flags:
    """Which people lie inside some published row: data of n people -> (n,)."""
    from incrowd.kernels import boxtree

    if published.attributes != data.attributes:
        raise TableError("the published table was read against another original than these people")
    if not len(data) or not data.attributes:
        return np.full(len(data), len(published) > 0)
    sizes = [len(attribute) for attribute in data.attributes]
    first, who = distinct_rows(list(data.codes.T), sizes, len(data))
    remaining = np.arange(first.size)
    shown, size = _largest_first(published), 16
    while shown.size and remaining.size:  # soon most who are inside are found, and looked for no more
        tree = boxtree.build(data.codes[first[remaining]])
        missed = np.ones(remaining.size, dtype=np.bool_)
        while shown.size and 4 * missed.sum() > 3 * missed.size:
            rows, shown, size = shown[:size], shown[size:], 2 * size
            for block in _blocks(rows, boxtree.count_inside(tree, _regions(published, rows))):
                missed[boxtree.report_inside(tree, _regions(published, block))[1]] = False
        remaining = remaining[missed]
    outside = np.zeros(first.size, dtype=np.bool_)
    outside[remaining] = True
    return ~outside[who]


def measure_own(published: Published, own: Flags, data: Microdata, k: int) -> dict[str, float | int]:
    """Every measure over the rows of the private table alone, as if no others were published.

    Boxes are those that were published, so they are over all people of a class. ``ncp_perimeter`` and ``dm``
    are the modified ones of the join paper: a person pays for the box, and for the other people of the
    private table who say the same. `own` (rows,) says which rows are about people of the private table; only
    the publisher knows. `data` is the joined table, or the private one alone.
    """
    if own.shape != (len(published),):
        raise TableError("for each published row it must be said whether it is of the private table")
    mine = data if data.own is None else Microdata(data.codes[data.own], data.attributes)
    if own.sum() > len(mine):
        raise TableError(f"{int(own.sum())} rows cannot be about {len(mine)} people of the private table")
    rows = Published(published.attributes, published.cells, tuple(column[own] for column in published.rows))
    return measure_all(rows, mine, k)


def _largest_first(published: Published) -> Ints:
    """One row of each kind, those that cover most values first."""
    shown = published.classes[0]
    pairs = zip(published.rows, published.cells, strict=True)
    volume = sum(np.log(cells.count[column[shown]]) for column, cells in pairs)
    return shown[np.argsort(-volume, kind="stable")]


def _blocks(rows: Ints, people: Ints) -> Iterator[Ints]:
    """Rows in blocks, so that all rows of one together hold not too many people; at least one row in each."""
    block = np.cumsum(people) // _PAIRS_AT_ONCE
    return iter(np.split(rows, np.flatnonzero(np.diff(block)) + 1))


def _regions(published: Published, rows: Ints) -> BoxRegions:
    return covered_regions([column[rows] for column in published.rows], published.cells)
