"""t-closeness: a class looks like the whole table, so that finding somebody's class teaches little.

How far two distributions lie apart is the least work that turns one into the other (earth mover's
distance). Each of the three ground distances is a path length in some tree, and on a tree the least work
is known: across every edge goes exactly the surplus of the side below it. Hence, with P and Q the shares
of class and table below an edge,

    work = sum over edges of length * |P - Q|

which whole numbers decide: with n of N rows in the class, n * N * (P - Q) is N * (count in the class) -
n * (count in the table). Where persons have several rows, n, N and counts are votes as well (`counting`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import AnyLimit, Choice, Guard, Rule, Share, exact, register
from incrowd.errors import PolicyError
from incrowd.flow import Codes, Microdata, Sensitive
from incrowd.hierarchy import Hierarchy
from incrowd.models.counting import Counting, Counts, counted_both_ways, dense
from incrowd.models.k_anonymity import refuse_persons
from incrowd.models.l_diversity import MINIMALITY, ColumnModel
from incrowd.schema import Kind

DISTRIBUTION = "the distribution of the whole table may be known to everyone"
SAFE = 2**62  # below it int64 does not overflow, with a factor of two to spare
Whole = NDArray[np.int64]


class _Ground(Protocol):
    """A ground distance: whole-number work, and the unit that it is counted in."""

    @property
    def unit(self) -> int: ...

    def work(self, values: NDArray[np.integer], counts: Counts) -> int:
        """unit * n * N times the distance between a class and the table, which count n and N together.

        The class has these distinct values, ascending, so often.
        """
        ...


def _all_counts(values: Counting, rows: int) -> Counts:
    """How much each of the values 0..size-1 counts in the whole table of so many rows."""
    met, counts = values.count(np.arange(rows, dtype=np.int32))
    found = np.zeros(values.size, counts.dtype)
    found[met] = counts
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _TreeDistance:
    """Distance by a tree: half the path from leaf to leaf, twice its height being one unit.

    ``paths[v]`` are the edges above value v, an edge being named by its lower node; ``length`` (edges,)
    is a whole number and ``total`` (edges,) counts the table's rows below the edge.
    """

    paths: Codes
    length: Whole
    total: Counts
    whole: int
    unit: int

    @classmethod
    def of(cls, counts: Counts, paths: Codes, length: Whole, unit: int) -> _TreeDistance:
        total = np.zeros(length.size, counts.dtype)
        np.add.at(total, paths.ravel(), counts.repeat(paths.shape[1]))
        return cls(paths, length, total, int(counts.sum()), unit)

    @classmethod
    def flat(cls, counts: Counts) -> _TreeDistance:
        """All different values are equally far apart: a tree of one level."""
        size = counts.size
        return cls.of(counts, np.arange(size, dtype=np.int32)[:, None], np.ones(size, dtype=np.int64), 2)

    @classmethod
    def grown(cls, counts: Counts, met: Codes, tree: Hierarchy) -> _TreeDistance:
        """Values lie as far apart as their smallest common node is high; missing hangs from the root.

        `met` are the codes of the values that are counted: leaves, or beyond these missing.
        """
        leaves, nodes = len(tree.leaves), len(tree.labels)
        outside = np.arange(nodes, nodes + max(int(met.max(initial=-1)) + 1 - leaves, 0), dtype=np.int32)
        parent = np.concatenate([tree.parent, np.zeros_like(outside)])
        level = np.concatenate([tree.level, np.zeros_like(outside)]).astype(np.int64)
        step = np.concatenate([tree.leaf_node, outside])[met]
        paths = np.empty((step.size, tree.height), dtype=np.int32)
        for above in range(tree.height):
            paths[:, above] = step
            step = parent[step]
        return cls.of(counts, paths, level[parent] - level, 2 * tree.height)

    def work(self, values: NDArray[np.integer], counts: Counts) -> int:
        """Edges above nothing of the class are not visited: across them goes all that the table has there.

        Were none visited, that would come to half a unit for every row of the table, the height of the
        tree; so the visited edges correct that sum. No step exceeds 3/2 * unit * n * N.
        """
        n, whole = int(counts.sum()), self.whole
        edges, counts = self._above(values, counts)
        length, total = self.length.take(edges), self.total.take(edges)
        if n * whole * self.unit >= SAFE:
            length, total, counts = (part.astype(object) for part in (length, total, counts))
        mass = n * total
        return n * whole * self.unit // 2 + int(length @ (abs(whole * counts - mass) - mass))

    def _above(self, values: NDArray[np.integer], counts: Counts) -> tuple[NDArray[np.integer], Counts]:
        """The edges above some values, and how much the class has below each."""
        paths = self.paths.take(values, axis=0)
        if paths.shape[1] == 1:
            return paths[:, 0], counts
        order = paths.argsort(axis=None, kind="stable")
        edges, parts = paths.ravel()[order], counts.repeat(paths.shape[1])[order]
        starts = np.flatnonzero(np.diff(edges, prepend=-1))
        return edges[starts], np.add.reduceat(parts, starts)


@dataclass(frozen=True, slots=True, eq=False)
class _RankDistance:
    """Distance by rank, of m values in order: neighbours are 1/(m-1) apart.

    ``below[i]`` counts the table's rows with value i or less, ``sums[i]`` adds up below[0..i-1].
    """

    below: Counts
    sums: Counts

    @classmethod
    def of(cls, counts: Counts) -> _RankDistance:
        below = np.cumsum(counts)
        return cls(below, np.concatenate([np.zeros(1, counts.dtype), np.cumsum(below)]))

    @property
    def unit(self) -> int:
        return max(self.below.size - 1, 1)

    def work(self, values: NDArray[np.integer], counts: Counts) -> int:
        """The sum over i of |N * (rows of the class up to i) - n * below[i]|.

        From one value of the class to the next the first term stays and the second grows, so that its
        sign turns at most once, at `turn`, and two differences of `sums` add up the stretch.
        """
        n, whole, size = int(counts.sum()), int(self.below[-1]), self.below.size
        ends = np.full(values.size + 1, size, dtype=np.int64)
        ends[:-1] = values
        start, end = ends[:-1], ends[1:]
        have = whole * counts.cumsum()
        turn = np.minimum(np.maximum(self.below.searchsorted(have // n, side="right"), start), end)
        edge = self.sums.take(ends)
        reach, sums = 2 * turn - start - end, 2 * self.sums.take(turn) - edge[:-1] - edge[1:]
        if n * whole * size >= SAFE:
            have = have.astype(object)
        return n * int(edge[0] - sums.sum()) + int(have @ reach)


@dataclass(frozen=True, slots=True, eq=False)
class _Close:
    values: Counting
    ground: _Ground
    whole: int
    t: Fraction

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return rows.size > 0 and self.reached(rows) <= self.t

    def reached(self, rows: NDArray[np.int32]) -> Fraction:
        values, counts = self.values.count(rows)
        scale = self.ground.unit * int(counts.sum()) * self.whole
        return Fraction(self.ground.work(values, counts), scale)


@register("model", "t-closeness")
@dataclass(frozen=True)
class Closeness(ColumnModel):
    """In every class the column is distributed almost as in the whole table.

    Parameters
    ----------
    t : decimal
        Largest distance between a class and the table, above 0 and at most 1. Taken exactly as written.
    distance : {"equal", "ordered", "hierarchical"}
        How far two values are apart: all the same; by rank, for numbers, dates and ordered values; or by
        the height of their smallest common node in the column's hierarchy.

    References
    ----------
    Li, Li, Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity", ICDE 2007.

    Examples
    --------
    >>> Closeness(0.2, "equal", "disease") == Closeness("0.2", "equal", "disease")
    True
    """

    t: str | float
    distance: str
    column: str
    more_is_safer: ClassVar[bool] = False
    assumed: ClassVar[tuple[str, ...]] = (MINIMALITY, DISTRIBUTION)
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        "t": Share(Fraction(0), Fraction(1)),
        "distance": Choice(("equal", "ordered", "hierarchical")),
    }

    def rule(self, data: Microdata) -> Rule:
        column = self.sensitive(data)
        met = np.unique(column.codes)  # the values that there are, in the order of their codes

        def counted(values: Counting) -> _Close:
            counts = _all_counts(values, len(data))
            return _Close(values, self._ground(column, met, counts), int(counts.sum()), exact(self.t))

        return counted_both_ways(data, dense(column.codes)[0], counted, self.more_is_safer)

    def _ground(self, column: Sensitive, met: Codes, counts: Counts) -> _Ground:
        """The ground distance; `counts` are those of the values `met`."""
        if self.distance == "equal":
            return _TreeDistance.flat(counts)
        if self.distance == "ordered":
            self._check_order(column)
            return _RankDistance.of(counts)
        if column.tree is None:
            raise PolicyError(
                f"t-closeness: {column.name} has no hierarchy; give it one, or say t_distance = "
                '"equal" or "ordered"'
            )
        return _TreeDistance.grown(counts, met, column.tree)

    def _check_order(self, column: Sensitive) -> None:
        """Do the column's codes follow an order of its values? Leaves follow their tree."""
        if column.tree is not None:
            raise PolicyError(
                f"t-closeness: {column.name} has a hierarchy, which numbers its values in its own way; "
                'say t_distance = "hierarchical", or take the hierarchy away'
            )
        if column.kind is Kind.CATEGORICAL:
            raise PolicyError(
                f"t-closeness: {column.name} is categorical and has no order; say t_distance = "
                '"equal", or give the column the type numeric, date or ordered'
            )


@register("model", "candidate-t-closeness")
@dataclass(frozen=True)
class CandidateCloseness(Closeness):
    """The same where rows differ: of the k rows that may be anybody's, instead of a class."""

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        refuse_persons(data, "this method counts rows, not persons; leave out entity, or use mondrian")
        return super().guards(data)
