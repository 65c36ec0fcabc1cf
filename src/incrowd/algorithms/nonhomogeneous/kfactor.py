"""kfactor: k-regular neighbourhoods from cheap classes, made cheaper by exchanges.

In each equivalence class a ring, everyone with the k-1 that follow: its rows lie within the row of the class.
Then rows exchange members, also between classes. So no more is lost than by the classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.costs import Priced, cost_of, priced
from incrowd.algorithms.nonhomogeneous.exchange import Exchange
from incrowd.algorithms.nonhomogeneous.regular import rings
from incrowd.algorithms.nonhomogeneous.revisited import Revisited
from incrowd.algorithms.partitions.agglomerative import Agglomerative
from incrowd.algorithms.partitions.cells import Cells
from incrowd.algorithms.polish import Polish, polished
from incrowd.contracts import AnyLimit, register
from incrowd.flow import Microdata, Neighbourhoods, Partition
from incrowd.long_work import Progress, part_of, silent

WHOLE = 2**15  # records up to which clusters are tried, too: they take more than in proportion
NEAR = 1.05  # times the cheapest classes: exchanges hardly save more
CELLS, CLASSED = 0.4, 0.6  # shares of the work that are done then, about


@register("algorithm", "kfactor")
@dataclass(frozen=True)
class KFactorNeighbourhoods(Revisited):
    """k-regular neighbourhoods: rings in cheap classes, then exchanges."""

    paper: ClassVar[str] = (
        "none: neighbourhoods as in k-Anonymization Revisited, a draw as in Non-homogeneous Generalization"
    )
    section: ClassVar[str] = "docs/claims/kfactor.md"
    model_kept: ClassVar[str] = "kk-anonymity"
    transparent: ClassVar[bool] = True
    limits: ClassVar[Mapping[str, AnyLimit]] = Revisited.limits

    @property
    def regular(self) -> bool:
        return True

    def _neighbourhoods(self, data: Microdata, progress: Progress) -> Neighbourhoods:
        if self.k == 1:
            return rings(data, Partition(np.arange(len(data), dtype=np.int32)), 1)
        table = priced(data, self.measure)
        begin = [(cost_of(labels, table), labels) for labels in self.classes(data, table, progress)]
        near = NEAR * min(cost for cost, _ in begin)
        done: list[Exchange] = []
        for cost, labels in begin:
            share = (1 - CLASSED) / len(begin)
            at = CLASSED + share * len(done)
            progress(at)
            if cost <= near:
                ring = rings(data, Partition(labels), self.k)
                done.append(Exchange.of(table, ring.members.reshape(len(data), self.k)))
                done[-1].run(part_of(progress, at, share))
        return min(done, key=lambda work: work.cost).neighbourhoods()  # of equal ones the first

    def classes(
        self, data: Microdata, table: Priced, progress: Progress = silent
    ) -> Iterator[NDArray[np.int32]]:
        """Classes to begin with, a label for each record: of cells, and of polished clusters by distance nc.

        Rows of small classes gain most by exchanges, so it is not known beforehand which are better.
        """
        found = Cells(self.k).group(data, (), part_of(progress, 0, CELLS)).labels
        if self.measure != "lm":  # which cells does not know
            found = polished(self.k, table, found, (), silent)
        yield found
        if len(data) <= WHOLE:
            work = Polish.of(self.k, table, Agglomerative(self.k, "nc", self.measure).clusters(table, silent))
            work.run()
            yield work.labels()
