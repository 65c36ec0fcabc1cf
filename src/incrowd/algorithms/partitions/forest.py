"""The forest algorithm: grow trees of near records, then cut them into groups of k to 3k-3.

The baseline of Gionis, Mazza, Tassa, "k-Anonymization Revisited"; after Aggarwal and others, "Anonymizing
Tables", ICDT 2005, with a decomposition of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import K_EQUAL_ROWS, REVISITED, Polishable, need_enough, watched
from incrowd.algorithms.costs import MEASURES, Priced, groups_of, priced
from incrowd.algorithms.partitions.agglomerative import allowed
from incrowd.contracts import AnyLimit, Choice, Guard, register
from incrowd.errors import PolicyError
from incrowd.flow import Microdata, Partition
from incrowd.kernels import forest
from incrowd.long_work import Progress

MOST = 20_000  # records; the time grows with their square


@register("algorithm", "forest")
@dataclass(frozen=True)
class Forest(Polishable):
    """Join each record to its nearest one until trees have k records; cut trees with more than 3k-3.

    Parameters
    ----------
    measure : str
        What a row costs: the share of each domain that its cells cover (``lm``), or the bits that are lost
        (``entropy``), for which no bound is known.
    """

    measure: str = "lm"

    paper: ClassVar[str] = REVISITED
    section: ClassVar[str] = "V, after Aggarwal et al.: Anonymizing Tables"
    guarantee: ClassVar[str] = K_EQUAL_ROWS + "; with k alone, groups have at most 3k-3 records (of k=2: 3)"
    needs: ClassVar[str] = (
        "at most 20,000 records; hierarchies for columns of more than 64 categories; for comparison"
    )
    strict: ClassVar[bool] = False  # ties go by the order of records
    limits: ClassVar[Mapping[str, AnyLimit]] = {**Polishable.limits, "measure": Choice(MEASURES)}

    def classes(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        need_enough(data, self.k)
        if len(data) > MOST:
            raise PolicyError(
                f"forest looks at all pairs of records; it takes at most {MOST}, and there are {len(data)}; "
                "use agglomerative, which loses less"
            )
        table = priced(data, self.measure)
        if self.k == 1:
            return Partition(allowed(np.arange(len(data), dtype=np.int32), guards, table))
        labels = np.empty(len(data), np.int32)
        for number, members in enumerate(Trees(self._edges(table, progress)).pieces(self.k)):
            labels[members] = number
        return Partition(allowed(labels, guards, table))

    def _edges(self, table: Priced, progress: Progress) -> NDArray[np.int64]:
        n = table.codes.shape[0]
        to, clock = np.empty(n, np.int64), np.zeros(2, np.int64)
        with watched(progress, clock, n):
            forest.grow_forest(self.k, groups_of(np.arange(n), table), table.costs, clock, to)
        return to


class Trees:
    """A forest being cut. Vertices from n on are copies that hold branches together and are no record.

    Examples
    --------
    >>> list(Trees(np.array([1, 2, 3, 4, -1])).pieces(2))  # a path of five
    [[0, 1, 2], [3, 4]]
    """

    def __init__(self, to: NDArray[np.int64]) -> None:
        self.n = to.size
        self.beside: list[set[int]] = [set() for _ in range(self.n)]
        for u, v in enumerate(to.tolist()):
            if v >= 0:
                self.beside[u].add(v)
                self.beside[v].add(u)
        self.parent = [-1] * self.n
        self.below = [0] * self.n  # records in the branch that hangs from the parent here
        self.roots = np.flatnonzero(to < 0).tolist()

    def pieces(self, k: int) -> Iterator[list[int]]:
        """Cut until no piece has more than 3k-3 records (of two: three); each keeps k."""
        whole = [(root, False) for root in reversed(self.roots)]
        while whole:
            start, known = whole.pop()
            members = [] if known else self._survey(start)
            if self.below[start] > 3 * k - 3:
                whole += self._cut(start, k)
            else:
                yield sorted(v for v in members or self._survey(start) if v < self.n)

    def _survey(self, start: int) -> list[int]:
        """Hang the tree up at a vertex, count what is below each, and list its vertices."""
        self.parent[start] = -1
        order = [start]
        for v in order:
            for w in self.beside[v]:
                if w != self.parent[v]:
                    self.parent[w] = v
                    order.append(w)
            self.below[v] = int(v < self.n)
        for v in reversed(order[1:]):
            self.below[self.parent[v]] += self.below[v]
        return order

    def _cut(self, start: int, k: int) -> list[tuple[int, bool]]:
        """Part a tree with more than 3k-3 records -> a vertex of each part, and whether it hangs from there.

        Walks into the largest branch until k records lie outside of it.
        """
        total, v = self.below[start], start
        while True:
            branch, size = self._branches(v, total)[0]
            if total - size >= k:
                break
            v = branch
        if size >= k:
            self.beside[v].remove(branch)
            self.beside[branch].remove(v)
            hangs = self.parent[branch] == v
            self.parent[branch] = -1 if hangs else self.parent[branch]
            return [(v, False), (branch, hangs)]
        copy, held = self._copy(), 0
        for branch, size in self._branches(v, total):
            self.beside[v].remove(branch)
            self.beside[branch].remove(v)
            self.beside[branch].add(copy)
            self.beside[copy].add(branch)
            held += size
            if held >= k:
                break
        return [(v, False), (copy, False)]

    def _branches(self, v: int, total: int) -> list[tuple[int, int]]:
        """The neighbours of a vertex with the records behind each, most first, then by index."""
        up = self.parent[v]
        sizes = [(w, total - self.below[v] if w == up else self.below[w]) for w in self.beside[v]]
        return sorted(sizes, key=lambda each: (-each[1], each[0]))

    def _copy(self) -> int:
        self.beside.append(set())
        self.parent.append(-1)
        self.below.append(0)
        return len(self.beside) - 1
