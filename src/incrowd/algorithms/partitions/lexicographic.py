"""Lexicographic partition: sort the records, cut the row into runs of equal values, merge short ones.

Figure 8 of Wong, Mamoulis, Cheung, "Non-homogeneous Generalization in Privacy Preserving Data Publishing",
SIGMOD 2010; with a limit on frequent values, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from incrowd.algorithms.nonhomogeneous.diverse import Sought, eligible_parts
from incrowd.algorithms.partitions.ordering import CutRow, RowPartition, keeping, sorted_row
from incrowd.contracts import AnyLimit, Choice, Eligible, Guard, Limit, Progress, need_enough, register
from incrowd.flow import Microdata

RULES = ("text", "pseudocode")


@register("algorithm", "lexicographic")
@dataclass(frozen=True)
class Lexicographic(RowPartition):
    """Runs of equal values of one column after the other, those with the smallest domains first.

    Parameters
    ----------
    rule : str
        What becomes of a short run and a neighbour that have exactly 2k records together: the ``text`` of the
        paper moves records, so that both have k, its ``pseudocode`` merges them.
    """

    rule: str = "text"
    section: ClassVar[str] = "5.3.1, Figure 8: the rival HP"
    needs: ClassVar[str] = "nothing; for few columns, or to compare with ring"
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(1), "rule": Choice(RULES)}

    @property
    def printed(self) -> bool:
        return self.rule == "pseudocode"

    def parts(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> CutRow:
        from incrowd.kernels import lexicographic as kernels

        need_enough(data, self.k)
        if len(guards) == 1 and isinstance(guards[0], Eligible):
            return eligible_parts(data, Sought.by(guards[0], self.k), progress)
        n, d = data.codes.shape
        by, order = sorted_row(data)
        differs = np.empty(n, np.int32)
        kernels.first_differences(data.codes, order, by, differs)
        begins = np.zeros(n, np.bool_)
        most = 2 * self.k if self.rule == "pseudocode" else 2 * self.k - 1
        kernels.cut_runs(differs, d, self.k, most, begins)
        found = CutRow(order, np.append(np.flatnonzero(begins), n))
        progress(1.0)
        return keeping(found, guards, data)
