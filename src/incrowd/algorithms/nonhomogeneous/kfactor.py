"""kfactor: k-regular neighbourhoods from polished classes, made cheaper by exchanges.

In each equivalence class a ring, everyone with the k-1 that follow: its rows lie within the row of the class.
Then rows exchange members, also between classes. Classes of large tables are made in blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.costs import Priced, priced
from incrowd.algorithms.nonhomogeneous.exchange import Exchange
from incrowd.algorithms.nonhomogeneous.regular import rings
from incrowd.algorithms.nonhomogeneous.revisited import Revisited
from incrowd.algorithms.partitions.agglomerative import Agglomerative
from incrowd.algorithms.partitions.mondrian import RelaxedMondrian
from incrowd.algorithms.polish import Polish, polished
from incrowd.contracts import AnyLimit, Progress, register, silent
from incrowd.flow import Microdata, Neighbourhoods, Partition

WHOLE = 2**15  # records of which classes are made without blocks
BLOCK = 6000  # records of a block, or fewer than 2k
SWEEPS = 3  # of polish over the borders of blocks
CLASSED, POLISHED = 0.3, 0.6  # shares of the work that are done then, about


@register("algorithm", "kfactor")
@dataclass(frozen=True)
class KFactorNeighbourhoods(Revisited):
    """k-regular neighbourhoods: rings in polished classes, then exchanges."""

    paper: ClassVar[str] = (
        "none: neighbourhoods as in k-Anonymization Revisited, a draw as in Non-homogeneous Generalization"
    )
    section: ClassVar[str] = "docs/claims/kfactor.md"
    model_kept: ClassVar[str] = "kk-anonymity"
    limits: ClassVar[Mapping[str, AnyLimit]] = Revisited.limits

    @property
    def regular(self) -> bool:
        return True

    def _neighbourhoods(self, data: Microdata, progress: Progress) -> Neighbourhoods:
        if self.k == 1:
            return rings(data, Partition(np.arange(len(data), dtype=np.int32)), 1)
        table = priced(data, self.measure)
        classes = Partition(self.classes(data, table, progress))
        progress(POLISHED)
        ring = rings(data, classes, self.k)
        work = Exchange.of(table, ring.members.reshape(len(data), self.k))
        work.run(lambda share: progress(POLISHED + (1 - POLISHED) * share))
        return work.neighbourhoods()

    def classes(self, data: Microdata, table: Priced, progress: Progress = silent) -> NDArray[np.int32]:
        """The class of each record: clusters by distance nc, polished."""
        n, clusters = len(data), Agglomerative(self.k, "nc", self.measure)
        if n <= WHOLE:
            labels = clusters.clusters(table, silent)
            progress(CLASSED)
            work = Polish.of(self.k, table, labels)
            work.run()
            return work.labels()
        blocks = RelaxedMondrian(max(BLOCK // 2, self.k)).group(data, (), silent).labels
        labels, found, done = np.empty(n, np.int32), 0, 0
        for rows in np.split(np.argsort(blocks, kind="stable"), np.cumsum(np.bincount(blocks))[:-1]):
            some = replace(table, codes=np.ascontiguousarray(table.codes[rows]))
            labels[rows] = found + clusters.clusters(some, silent)
            found, done = int(labels[rows].max()) + 1, done + rows.size
            progress(CLASSED * done / n)
        return polished(self.k, table, labels, (), silent, sweeps=SWEEPS)
