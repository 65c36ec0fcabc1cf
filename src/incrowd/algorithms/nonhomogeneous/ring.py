"""The ring (NH): each row is made over a record and the k-1 that follow it in a row bent to a circle.

Wong, Mamoulis, Cheung, "Non-homogeneous Generalization in Privacy Preserving Data Publishing", SIGMOD 2010.
The table is cut into parts, each part becomes a ring. Who is behind which row is drawn later: any of k
assignments without a common pair is as likely, so that everybody is behind k rows with chance 1/k each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import NONHOMOGENEOUS, NonHomogeneous
from incrowd.algorithms.nonhomogeneous.diverse import Sought, eligible_parts, printed_order, split_apart
from incrowd.algorithms.partitions.hilbert import Hilbert
from incrowd.algorithms.partitions.lexicographic import RULES, Lexicographic
from incrowd.algorithms.partitions.ordering import CutRow, RowPartition
from incrowd.contracts import AnyLimit, Choice, Eligible, Guard, Limit, Progress, Switch, register
from incrowd.entropy import Entropy, system
from incrowd.errors import PolicyError
from incrowd.flow import Microdata, Neighbourhoods
from incrowd.policy.exposures import UNSAFE_ORDER, KnownExposure
from incrowd.schema import Shape

ORDERS = ("lexicographic", "hilbert")
SPLITS = ("distinct", "printed")
SPARSE = 2  # with hide_rows: how many times as many combinations as records the cells of a part leave
SHAPES = {Shape.RANGE: 0, Shape.TREE: 1, Shape.SET: 2}  # as `kernels.ring` knows them


@register("algorithm", "ring")
@dataclass(frozen=True)
class Ring(NonHomogeneous):
    """Cut a row of records into parts of k or more, and lay a ring over each: everyone is in k rows of k.

    Parameters
    ----------
    order : str
        How records are put in a row and cut: ``lexicographic`` (Figure 8) or ``hilbert``.
    rule : str
        Of the lexicographic order: see `Lexicographic`.
    hide_rows : bool
        Do not let rows of a ring, compared with each other, give away whole records: where they would, some
        columns say the same for all of a part.
    split : str
        With l: ``distinct`` cuts parts until no value is frequent in them, by chance; ``printed`` orders them
        by their values, which gives values away.
    drawn : bool
        Draw who is behind which row. False leaves every record behind its own row, for comparison only.
    """

    k: int
    order: str = "lexicographic"
    rule: str = "text"
    hide_rows: bool = False
    split: str = "distinct"
    drawn: bool = True

    paper: ClassVar[str] = NONHOMOGENEOUS
    section: ClassVar[str] = "5, Figures 5, 7 and 8; 6 for l: the method NH"
    needs: ClassVar[str] = "nothing; l for one sensitive column; no t, entity or means"
    model_kept: ClassVar[str] = "global-1k-anonymity"
    diverse: ClassVar[bool] = True
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        "k": Limit(1),
        "order": Choice(ORDERS),
        "rule": Choice(RULES),
        "hide_rows": Switch(),
        "split": Choice(SPLITS),
        "drawn": Switch(),
    }

    @property
    def regular(self) -> bool:
        """A ring is: each record is in the neighbourhoods of k."""
        return True

    @property
    def printed(self) -> bool:
        return self.split == "printed"

    @property
    def promises_l(self) -> bool:
        """Not where parts are ordered by sensitive values."""
        return self.split != "printed"

    @property
    def concealed_by(self) -> str:
        return "hide_rows" if self.hide_rows else ""

    def exposures(self) -> Mapping[KnownExposure, str]:
        order = {UNSAFE_ORDER: 'leave split = "distinct"'} if self.split == "printed" else {}
        return {**super().exposures(), **order}

    @classmethod
    def smallest_group(cls, k: int, l: object) -> int:  # noqa: E741  the paper's letter
        """l different values need l records."""
        return max(k, l) if isinstance(l, int) else k

    def group(
        self, data: Microdata, guards: tuple[Guard, ...], progress: Progress, entropy: Entropy = system
    ) -> Neighbourhoods:
        """The neighbourhood that each record's row is made over.

        Guards are none, or one that names the values it counts; chance is for cutting by sensitive values.
        """
        if self.hide_rows and (self.order != "lexicographic" or guards):
            raise PolicyError('hide_rows goes with order = "lexicographic" and without l')
        if not guards:
            return self._rings(data, self._plain_parts(data, progress), progress)
        if len(guards) > 1 or not isinstance(guards[0], Eligible):
            raise PolicyError("a ring keeps k, and l for one sensitive column; for all else use mondrian")
        sought = Sought.by(guards[0], self.k, per_neighbourhood=True)
        if self.order == "hilbert":
            parts = Hilbert(self.k).parts(data, guards, progress)
        else:
            parts = eligible_parts(data, sought, progress)
        if self.split == "printed":
            return self._rings(data, printed_order(parts, sought), progress)
        return self._rings(data, split_apart(parts, sought, entropy), progress)

    def _plain_parts(self, data: Microdata, progress: Progress) -> CutRow:
        row: RowPartition = Hilbert(self.k) if self.order == "hilbert" else Lexicographic(self.k, self.rule)
        parts = row.parts(data, (), progress)
        return without_lists(data, parts) if self.hide_rows else parts

    def _rings(self, data: Microdata, parts: CutRow, progress: Progress) -> Neighbourhoods:
        from incrowd.kernels import ring as kernels

        n = len(data)
        members, label = np.empty((n, self.k), np.int32), np.empty(n, np.int32)
        alike = np.empty(n, np.bool_)
        kernels.lay_rings(data.codes, parts.order, parts.starts, members, label, alike)
        whole = self._made_over_parts(data, parts) if self.hide_rows else None
        progress(1.0)
        return Neighbourhoods(np.arange(n + 1) * self.k, members.ravel(), label, whole, alike)

    def _made_over_parts(self, data: Microdata, parts: CutRow) -> NDArray[np.bool_]:
        """Which cells must say what their whole part has, so that comparing rows gives no record away."""
        from incrowd.kernels import ring as kernels

        whole = np.zeros(data.codes.shape, np.bool_)
        kernels.tell_less(data.codes, parts.order, parts.starts, self.k, _shapes(data), whole)
        return whole


def without_lists(data: Microdata, parts: CutRow) -> CutRow:
    """Merge parts that list their records, from left to right and with the next that is not all alike.

    Where one column alone varies, its cells name only what occurs, and so whole records; and where cells
    leave hardly more combinations than there are records, a guess is as good as knowledge.
    """
    from incrowd.kernels import ring as kernels

    owner = np.empty(len(parts), np.int64)
    kernels.join_lists(data.codes, parts.order, parts.starts, _shapes(data), SPARSE, owner)
    sizes = np.diff(parts.starts)
    place = np.argsort(np.repeat(owner, sizes), kind="stable")
    merged = np.bincount(owner, sizes).astype(np.int64)
    return CutRow(parts.order[place], np.concatenate([[0], np.cumsum(merged[merged > 0])]))


def _shapes(data: Microdata) -> NDArray[np.int64]:
    return np.array([SHAPES[attribute.shape] for attribute in data.attributes], np.int64)
