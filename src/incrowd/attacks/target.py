"""A release under attack: what is published, what the adversary knows, and what is true."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.registry import Rate, one_of
from incrowd.errors import TableError
from incrowd.flow import Attribute, Codes, Microdata
from incrowd.graph import Components, Graph, components, consistency
from incrowd.measures import CellCoverage, Published

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Edges = Flags
NO_ROW = -1


@dataclass(frozen=True, eq=False)
class Target:
    """A release under attack.

    ``truth[i]`` is the row that record i is behind, -1 if that is not known or the record was left out.
    ``k`` is what was promised, if anything.
    """

    published: Published
    data: Microdata
    truth: Ints
    k: int | None = None

    def __post_init__(self) -> None:
        shown = self.truth[self.truth >= 0]
        if self.truth.shape != (len(self.data),) or np.unique(shown).size != shown.size:
            raise TableError("the truth must name a row of its own for each record, or none")
        if shown.size and shown.max() >= len(self.published):
            raise TableError("the truth names rows that were not published")

    def __repr__(self) -> str:
        return f"Target({len(self.published)} rows, {len(self.data)} records, {self.known.size} known)"

    @cached_property
    def graph(self) -> Graph:
        return consistency(self.published, self.data)

    @cached_property
    def found(self) -> Components:
        """The components of the graph; the truth, where it is complete, saves a search."""
        return components(self.graph, self.truth)

    @cached_property
    def control(self) -> Target:
        """The same people published as they are, each row behind its own record."""
        return Target(as_they_are(self.data), self.data, np.arange(len(self.data)), self.k)

    @cached_property
    def pools(self) -> Pools:
        return pools_of(self.graph, self.found)

    @property
    def known(self) -> Ints:
        """The records whose row is known."""
        return np.flatnonzero(self.truth >= 0)

    @property
    def bound(self) -> Fraction | None:
        """What k promises; k = 1 promises nothing."""
        return None if self.k is None or self.k < 2 else Fraction(1, self.k)

    @cached_property
    def first(self) -> Ints:
        """Where each distinct row is first met. Rows are in random order: it is any of the equal ones."""
        return first_met(self.graph.row_of, self.graph.published)

    def chance(self, edges: Edges, who: Flags | None = None) -> Rate:
        """How often a row picked at random is the person's own, of those that these edges lead to.

        A person's own row is always among them: so everybody is scored (or those of `who`), and nobody's row
        need be known.
        """
        sizes = self.graph.tally(edges).records[self.graph.record_of]
        return one_of(sizes if who is None else sizes[who])

    def scored(self, rows: Ints, sizes: Ints, sure: Flags) -> Rate:
        """How often the row that was named for a record is its own.

        Those who are `sure` (n,) to be behind one of `sizes` rows that are as good count by the chance to
        pick their own, the others by what is true of them, as far as that is known.
        """
        exact, many = one_of(sizes[sure]), int((~sure).sum())
        if not many:
            return exact
        known = np.flatnonzero(~sure & (self.truth >= 0))
        rate = Rate(int((rows[known] == self.truth[known]).sum()), known.size)
        if not exact.tried:
            return rate
        won = exact.won + (Fraction(rate.won) * many / rate.tried if rate.tried else 0)
        return Rate(won, sure.size, luck=(rate, many))

    def blind(self, tried: int) -> Rate:
        """How often a row picked at random out of all is the person's own."""
        return one_of(np.full(tried, len(self.published)))

    @cached_property
    def closed(self) -> bool:
        """Are everybody's candidates the rows of just those who share them, as in equivalence classes?

        Then how often any guess at a value is right does not depend on who is behind which row.
        """
        pools, weight = self.pools, self.graph.row_weight
        many = np.diff(pools.starts)
        rows = np.bincount(np.repeat(np.arange(many.size), many), weight[pools.rows], many.size)
        return bool((np.bincount(pools.of, minlength=many.size) == rows).all())

    def won(self, rows: Ints) -> Rate:
        """How often the row that was named for a record is its own."""
        known = self.known
        return Rate(int((rows[known] == self.truth[known]).sum()), known.size)

    def guess(self) -> Rate:
        """Without looking: row i for record i. Rows are in random order, so any other rule does as well."""
        return self.won(np.arange(len(self.data)))


@dataclass(frozen=True, eq=False)
class Pools:
    """Pool p has the distinct rows ``rows[starts[p]:starts[p+1]]`` as candidates, record i pool ``of[i]``."""

    of: Ints
    starts: Ints
    rows: Ints


def pools_of(graph: Graph, found: Components) -> Pools:
    """Who has which candidates. In a component where everything is possible, everybody has the same."""
    edges = np.flatnonzero(found.effective & graph.real)
    tails, heads = graph.tails[edges].astype(np.int64), graph.indices[edges].astype(np.int64)
    many = np.bincount(tails, minlength=graph.record_weight.size)
    parts = int(max(found.record.max(initial=0), found.row.max(initial=0))) + 1
    wide = np.bincount(found.row[: graph.published], minlength=parts)
    whole = many == wide[found.record]
    key = np.where(whole, found.record, parts + np.arange(many.size))
    _, first, pool = np.unique(key, return_index=True, return_inverse=True)
    begin = np.concatenate([[0], np.cumsum(many)])
    starts = np.concatenate([[0], np.cumsum(many[first])]).astype(np.int64)
    rows = heads[runs(begin[first], many[first])]
    return Pools(pool.reshape(-1)[graph.record_of].astype(np.int64), starts, rows)


def first_met(of: Codes | Ints, size: int) -> Ints:
    """The first place at which each number below `size` occurs."""
    first = np.full(size, of.size, dtype=np.int64)
    np.minimum.at(first, of, np.arange(of.size))
    return first


def runs(begin: Ints, many: Ints) -> Ints:
    """begin[0], begin[0]+1, … many[0] of them, then those from begin[1], and so on."""
    before = np.cumsum(many) - many
    runs: Ints = np.arange(int(many.sum())) + np.repeat(begin - before, many)
    return runs


def as_they_are(data: Microdata) -> Published:
    """Every record as a row of its own, nothing generalised.

    Examples
    --------
    >>> from incrowd.schema import Kind, Shape
    >>> sex = Attribute("sex", Kind.CATEGORICAL, Shape.SET, ("F", "M"), np.arange(2.0))
    >>> as_they_are(Microdata(np.array([[0], [1], [1]], dtype=np.int32), (sex,))).class_sizes.tolist()
    [1, 2]
    """
    columns = tuple(np.ascontiguousarray(column) for column in data.codes.T)
    return Published(data.attributes, tuple(_values(attribute) for attribute in data.attributes), columns)


def _values(attribute: Attribute) -> CellCoverage:
    """A cell for each value, and one for everything."""
    size = len(attribute)
    code = np.arange(size, dtype=np.int32)
    low, high = np.append(code, np.int32(0)), np.append(code, np.int32(size - 1))
    place = attribute.position
    lies = np.arange(size + 1) == attribute.missing
    return CellCoverage(
        low=np.where(lies, np.int32(-1), low),
        high=np.where(lies, np.int32(-1), high),
        lower=np.append(place, place.min(initial=0.0)),
        upper=np.append(place, place.max(initial=0.0)),
        missing=lies | ((np.arange(size + 1) == size) & (attribute.missing >= 0)),
        count=(high - low + 1).astype(np.int64),
        node=np.full(size + 1, -1, dtype=np.int32),  # nobody measures it
        starts=np.arange(size + 2, dtype=np.int64),
        first=low,
        last=high,
        same=np.arange(size + 1, dtype=np.int32),
    )
