"""Agglomerative clustering: merge the closest two clusters until each has k records.

Algorithms 1 and 2 of Gionis, Mazza, Tassa, "k-Anonymization Revisited", with all distances of that paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import REVISITED, Polishable, need_enough, watched
from incrowd.algorithms.costs import MEASURES, Priced, groups_of, priced
from incrowd.contracts import AnyLimit, Choice, Guard, Switch, register
from incrowd.flow import Codes, Microdata, Partition
from incrowd.kernels import agglomerate, boxes, closure
from incrowd.long_work import Progress

DISTANCES = ("8", "9", "10", "11", "nc")
CLEAR = 1e-8  # costs of different records above this never look like those of equal ones


@register("algorithm", "agglomerative")
@dataclass(frozen=True)
class Agglomerative(Polishable):
    """Merge the closest two clusters; a cluster of k records is done.

    Parameters
    ----------
    distance : str
        What is close, by its number in the paper: ``8`` the growth of the whole loss, ``9`` the cost of the
        union less those of its parts, ``10`` the same over the logarithm of its size, ``11`` their ratio,
        ``nc`` that of Nergiz and Clifton.
    measure : str
        What a row costs: the share of each domain that its cells cover (``lm``), or the bits that are lost
        (``entropy``).
    modified : bool
        Algorithm 2: a cluster that is done gives the records beyond k back.
    """

    distance: str | int = "8"
    measure: str = "lm"
    modified: bool = False

    paper: ClassVar[str] = REVISITED
    section: ClassVar[str] = "V-A, Algorithms 1 and 2"
    needs: ClassVar[str] = "hierarchies for columns of more than 64 categories; slower than mondrian"
    strict: ClassVar[bool] = False  # equal records may part, and ties go by the order of records
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        **Polishable.limits,
        "distance": Choice(DISTANCES),
        "measure": Choice(MEASURES),
        "modified": Switch(),
    }

    def __post_init__(self) -> None:
        if isinstance(self.distance, int) and not isinstance(self.distance, bool):
            object.__setattr__(self, "distance", str(self.distance))
        super().__post_init__()

    def classes(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        need_enough(data, self.k)
        table = priced(data, self.measure)
        labels = self.clusters(table, progress) if self.k > 1 else np.arange(len(data), dtype=np.int32)
        return Partition(allowed(labels, guards, table))

    def clusters(self, table: Priced, progress: Progress) -> NDArray[np.int32]:
        """The cluster of each record of a table, or of a part of it; k >= 2."""
        n, d = table.codes.shape
        pool, alive = self._pool(table)
        rules = agglomerate.MergeRules(DISTANCES.index(str(self.distance)), self.k, self.modified)
        births = 4 * n
        heap = agglomerate.Heap(np.zeros(births), np.zeros((births, 3), np.int64))
        tree = boxes.room_for(n, alive, d, pool.groups.bits.shape[1])
        clock = np.zeros(2, np.int64)
        labels = np.empty(n, np.int32)
        with watched(progress, clock, n):
            agglomerate.agglomerate(pool, tree, heap, rules, table.costs, clock, labels)
        return labels

    def _pool(self, table: Priced) -> tuple[agglomerate.ClusterPool, NDArray[np.bool_]]:
        """Every record a cluster, except that equal ones, which are merged first anyway, are together."""
        n, d = table.codes.shape
        merge = table.step / max(d, 1) > CLEAR
        bunch, order = _bunches(table.codes, self.k) if merge else (np.arange(n), np.arange(n))
        sizes = np.bincount(bunch)
        many = np.flatnonzero(sizes > 1)
        ids = n + np.arange(many.size)
        pairs = 3 * n if self.modified else 2 * n
        singles = groups_of(np.arange(n), table, spare=pairs + 1)
        bunches = groups_of(bunch, table)
        for name in singles._fields:
            getattr(singles, name)[ids] = getattr(bunches, name)[many]
        alive = np.zeros(n + pairs, np.bool_)
        alive[:n] = sizes[bunch] == 1
        alive[ids] = sizes[many] < self.k
        head, tail = np.arange(n + pairs), np.arange(n + pairs)
        last = np.append(np.flatnonzero(np.diff(bunch[order])), n - 1)
        follows = np.full(n, -1)
        follows[order[:-1]] = np.where(bunch[order[1:]] == bunch[order[:-1]], order[1:], -1)
        head[ids], tail[ids] = bunches.first[many], order[last][many]
        ripe = np.zeros(n // self.k + 1, np.int64)
        done = ids[sizes[many] >= self.k]
        ripe[: done.size] = done
        pool = agglomerate.ClusterPool(
            groups=singles,
            head=head,
            tail=tail,
            next_record=follows,
            ripe=ripe,
            tally=np.array([n + many.size, done.size, done.size * self.k]),
        )
        return pool, alive


def _bunches(codes: Codes, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Equal records in bunches of up to k, by index: the bunch of each record, and records by bunch."""
    order = np.lexsort(codes.T)  # stable: equal records stay by index
    new = np.append(True, (np.diff(codes[order], axis=0) != 0).any(axis=1))
    begin = np.maximum.accumulate(np.where(new, np.arange(order.size), 0))
    starts = (np.arange(order.size) - begin) % k == 0
    bunch = np.empty(order.size, np.int64)
    bunch[order] = np.cumsum(starts) - 1
    return bunch, order


def allowed(labels: NDArray[np.int32], guards: tuple[Guard, ...], table: Priced) -> NDArray[np.int32]:
    """Merge each group that a guard does not allow with the one nearest to it by distance 8."""
    if not guards:
        return labels
    groups = groups_of(labels.astype(np.int64), table)
    rows = {g: np.flatnonzero(labels == g).astype(np.int32) for g in range(groups.size.size)}
    wrong = [g for g in rows if not all(guard.allows(rows[g]) for guard in guards)]
    while wrong and len(rows) > 1:
        g = min(wrong, key=lambda each: int(groups.first[each]))
        among = np.fromiter(rows, np.int64, len(rows))
        other = int(closure.nearest_of(closure.BY_MASS, g, groups, among, groups, table.costs))
        closure.absorb(g, other, groups, table.costs)
        rows[g] = np.sort(np.concatenate([rows[g], rows.pop(other)]))
        wrong = [each for each in wrong if each != other]
        if all(guard.allows(rows[g]) for guard in guards):
            wrong.remove(g)
    merged = np.empty_like(labels)
    for number, members in enumerate(rows.values()):
        merged[members] = number
    return merged
