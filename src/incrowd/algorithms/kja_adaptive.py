"""k-join-anonymity with sensitive values by class, or with cuts that ask how many private people they leave.

Which cuts leave enough of them depends on who is private: so what is made in this way is for reproduction, or
must be accepted by name. Direct with the values of the whole table at once asks for nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import need_enough, records_by_label
from incrowd.algorithms.kja import (
    LEAST_TOGETHER,
    KJoinAnonymization,
    Trimming,
    group_labels,
    numbered,
    own_people,
    with_private_people,
)
from incrowd.algorithms.kja_printed import around
from incrowd.contracts import AnyLimit, Choice, Guard, Partitioner, register
from incrowd.flow import Codes, Microdata, Partition
from incrowd.long_work import Progress, silent
from incrowd.policy.exposures import UNSAFE_ADAPTIVE, UNSAFE_OUTLINE, KnownExposure


@register("algorithm", "kja-direct-values")
@dataclass(frozen=True)
class DirectWithValues(KJoinAnonymization):
    """Direct, with the sensitive values of all private people at once, or of each class.

    Parameters
    ----------
    values : str
        What is published together: the values of the whole private ``table``, which tell nothing of a class;
        or those of each ``class``, which then keeps l and t itself. Which cuts leave enough private people
        on both sides depends on who is private: whoever re-runs the program finds some.
    """

    values: str = "table"
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        **KJoinAnonymization.limits,
        "values": Choice(("table", "class")),
    }
    section: ClassVar[str] = "4, Direct; values, l and t, which it leaves open"
    guarantee: ClassVar[str] = KJoinAnonymization.guarantee + ' (with values = "table")'
    publishes: ClassVar[str] = (
        "the same as kja-direct, and sensitive values apart: of everybody, or by class, with the number of "
        "private people of each"
    )
    buckets: ClassVar[bool] = True

    @property
    def by_class(self) -> bool:
        return self.values == "class"

    @property
    def printed(self) -> bool:
        return False  # the paper publishes no values with Direct

    @property
    def least_bucket(self) -> int | None:
        return LEAST_TOGETHER if self.by_class else None

    @property
    def most_present_share(self) -> str | None:
        """Values of a class say how many of it are private."""
        return "1" if self.by_class else None

    def exposures(self) -> Mapping[KnownExposure, str]:
        return {UNSAFE_ADAPTIVE: 'leave values = "table", or use kja-refine'} if self.by_class else {}

    def _grouped(
        self, data: Microdata, base: Partitioner, guards: tuple[Guard, ...], progress: Progress
    ) -> Partition:
        own = own_people(data)
        need_enough(data, self.k)
        need_enough(Microdata(data.codes[own], data.attributes), LEAST_TOGETHER if self.by_class else self.k)
        enough = _EnoughOwn(own, LEAST_TOGETHER, guards, none=True)  # of nobody it is dropped
        vetoes = (enough,) if self.by_class else ()
        found = group_labels(base.group(Microdata(data.codes, data.attributes), vetoes, progress))
        labels = with_private_people(found, own)
        together = labels if self.by_class else np.where(labels >= 0, 0, -1).astype(np.int32)
        return Partition(labels, buckets=together)


@register("algorithm", "kja-refine-adaptive")
@dataclass(frozen=True)
class AdaptiveRefinement(Trimming):
    """Make groups with k people of the private table, then group each again by k people of either.

    For reproduction: whoever re-runs it finds out that some are in the private table.

    Parameters
    ----------
    first : str
        What the first groups are of. ``both`` tables, each group with k people of the private one: cuts are
        made where people of either table are. The ``private`` one alone, joined by the public people inside
        its boxes, as printed: nobody's box then is larger than without the public table, but boxes end
        where private people do, and whoever alone stands at an end is one of them.
    """

    first: str = "both"
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        **Trimming.limits,
        "first": Choice(("both", "private")),
    }
    section: ClassVar[str] = "3 and 4, Refinement; l, which the paper leaves open"
    guarantee: ClassVar[str] = (
        "everyone's row equals those of at least k-1 other people, some of them of the public table"
    )
    adversary: ClassVar[str] = (
        "knows everyone's quasi-identifiers and the public table, but not who is in the private one; does "
        "not re-run the program"
    )
    publishes: ClassVar[str] = (
        "the same as kja-direct, and sensitive values apart, by the groups of the first round"
    )
    buckets: ClassVar[bool] = True

    def exposures(self) -> Mapping[KnownExposure, str]:
        seen = UNSAFE_OUTLINE if self.first == "private" else UNSAFE_ADAPTIVE
        return {**super().exposures(), seen: "use kja-refine"}

    def _grouped(
        self, data: Microdata, base: Partitioner, guards: tuple[Guard, ...], progress: Progress
    ) -> Partition:
        own = own_people(data)
        private = Microdata(data.codes[own], data.attributes)
        need_enough(private, self.k)
        if self.first == "both":
            enough = _EnoughOwn(own, self.k, guards)
            home = group_labels(base.group(Microdata(data.codes, data.attributes), (enough,), silent))
        else:
            number = np.flatnonzero(own).astype(np.int32)
            asked = tuple(numbered(guard, number) for guard in guards)
            home = around(data, own, group_labels(base.group(private, asked, silent)))
        progress(0.4)
        labels = self._divided(data, home, base, progress)
        return self._finished(data, labels, home)

    def _divided(self, data: Microdata, home: Codes, base: Partitioner, progress: Progress) -> Codes:
        """The groups of each group, where people of the public table joined it."""
        groups = records_by_label(home)
        labels = np.full(len(data), -1, np.int32)
        met = 0
        own = own_people(data)
        for done, people in enumerate(groups):
            found = np.zeros(people.size, np.int32)
            if not own[people].all() and people.size >= 2 * self.k:
                found = group_labels(base.group(Microdata(data.codes[people], data.attributes), (), silent))
            labels[people] = met + found
            met += int(found.max()) + 1
            progress(0.4 + 0.6 * (done + 1) / len(groups))
        return labels


@dataclass(frozen=True, slots=True, eq=False)
class _EnoughOwn:
    """A group must hold k people of the private table, or `none`, and these must keep what guards ask."""

    own: NDArray[np.bool_]
    k: int
    guards: tuple[Guard, ...]
    none: bool = False

    def allows(self, rows: NDArray[np.int32]) -> bool:
        mine = rows[self.own[rows]]
        if self.none and not mine.size:
            return True
        return mine.size >= self.k and all(guard.allows(mine) for guard in self.guards)
