"""Everyone a crowd of their own: Algorithms 3 to 6 of "k-Anonymization Revisited", and the k-regular form.

Rows then differ from person to person and still hold several people each. What protects these people is the
graph of who fits which row, and that nobody can say which of the fitting rows is whose.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from incrowd.algorithms.costs import MEASURES
from incrowd.algorithms.nonhomogeneous.global_1k import global_crowds
from incrowd.algorithms.nonhomogeneous.k_one import Expansion, Nearest
from incrowd.algorithms.nonhomogeneous.one_k import widened
from incrowd.algorithms.nonhomogeneous.regular import exchanged, loss_of, mended, rings
from incrowd.algorithms.partitions.agglomerative import Agglomerative
from incrowd.contracts import (
    AnyLimit,
    Choice,
    Guard,
    Limit,
    Limited,
    Progress,
    Switch,
    need_enough,
    register,
    silent,
)
from incrowd.errors import PolicyError
from incrowd.flow import Microdata, Neighbourhoods

STARTS = {"expansion": Expansion, "nearest": Nearest}


@dataclass(frozen=True)
class Crowding(Limited, ABC):
    """What all of them have in common.

    Parameters
    ----------
    k : int
        How large crowds must be.
    measure : str
        What rows cost: ``lm`` or ``entropy``.
    drawn : bool
        Draw who is behind which row. False leaves every record behind its own row, as printed: whoever
        re-runs the algorithm then knows everybody's row.
    """

    k: int
    measure: str = "lm"
    drawn: bool = True

    alone: ClassVar[str]
    one_sided: ClassVar[bool] = False
    strict: ClassVar[bool] = False  # ties go by the order of records
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        "k": Limit(1),
        "measure": Choice(MEASURES),
        "drawn": Switch(),
    }

    @property
    def regular(self) -> bool:
        """Are the crowds k-regular, so that the draw is even?"""
        return False

    def group(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Neighbourhoods:
        """The crowd that makes each record's row.

        Raises
        ------
        Infeasible
            If there are fewer than k records.
        """
        if guards:
            raise PolicyError("this method keeps k alone; for l, t or an entity use mondrian")
        need_enough(data, self.k)
        return self._neighbourhoods(data, progress)

    @abstractmethod
    def _neighbourhoods(self, data: Microdata, progress: Progress) -> Neighbourhoods:
        """The algorithm."""


@register("grouper", "k1-nearest")
@dataclass(frozen=True)
class KOneNearest(Crowding):
    """Algorithm 3: each record with the k-1 others that are cheapest to pair it with."""

    alone: ClassVar[str] = "k1-anonymity"
    one_sided: ClassVar[bool] = True

    def _neighbourhoods(self, data: Microdata, _progress: Progress) -> Neighbourhoods:
        return Nearest(self.k, self.measure).neighbourhoods(data)


@register("grouper", "k1-expansion")
@dataclass(frozen=True)
class KOneExpansion(Crowding):
    """Algorithm 4: each crowd grows by the record that adds least to the cost of its row."""

    alone: ClassVar[str] = "k1-anonymity"
    one_sided: ClassVar[bool] = True

    def _neighbourhoods(self, data: Microdata, _progress: Progress) -> Neighbourhoods:
        return Expansion(self.k, self.measure).neighbourhoods(data)


@register("grouper", "one-k")
@dataclass(frozen=True)
class OneK(Crowding):
    """Algorithm 5 on the table itself: rows are widened until every record fits k of them."""

    alone: ClassVar[str] = "1k-anonymity"
    one_sided: ClassVar[bool] = True

    def _neighbourhoods(self, data: Microdata, _progress: Progress) -> Neighbourhoods:
        n = len(data)
        themselves = Neighbourhoods(np.arange(n + 1), np.arange(n, dtype=np.int32))
        return widened(data, themselves, self.k, self.measure)


@dataclass(frozen=True)
class TwoSided(Crowding):
    """Crowds that keep k on both sides.

    Parameters
    ----------
    start : str
        Where crowds come from: ``expansion`` (Algorithm 4) or ``nearest`` (Algorithm 3).
    mend : bool
        Make them k-regular, so that every row can be drawn with the same chance 1/k. False is the
        paper's form, which mostly cannot be published safely.
    """

    start: str = "expansion"
    mend: bool = True
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        **Crowding.limits,
        "start": Choice(tuple(STARTS)),
        "mend": Switch(),
    }

    @property
    def regular(self) -> bool:
        return self.mend

    def _neighbourhoods(self, data: Microdata, progress: Progress) -> Neighbourhoods:
        neighbourhoods = self._printed(data, progress)
        return mended(data, neighbourhoods, self.k, self.measure) if self.mend else neighbourhoods

    def _two_sided(self, data: Microdata, progress: Progress) -> Neighbourhoods:
        """(k,k): Algorithm 3 or 4, then 5."""
        neighbourhoods = STARTS[self.start](self.k, self.measure).neighbourhoods(data)
        progress(0.4)
        return widened(data, neighbourhoods, self.k, self.measure)

    @abstractmethod
    def _printed(self, data: Microdata, progress: Progress) -> Neighbourhoods:
        """The paper's algorithm."""


@register("grouper", "kk")
@dataclass(frozen=True)
class BothK(TwoSided):
    """(k,k): Algorithms 3 or 4, then 5."""

    alone: ClassVar[str] = "kk-anonymity"

    def _printed(self, data: Microdata, progress: Progress) -> Neighbourhoods:
        return self._two_sided(data, progress)


@register("grouper", "global-1k")
@dataclass(frozen=True)
class GlobalOneK(TwoSided):
    """Global (1,k): Algorithms 3 or 4, then 5, then 6."""

    alone: ClassVar[str] = "global-1k-anonymity"

    def _printed(self, data: Microdata, progress: Progress) -> Neighbourhoods:
        neighbourhoods = self._two_sided(data, progress)
        progress(0.6)
        return global_crowds(data, neighbourhoods, self.k, self.measure)


@register("grouper", "kfactor")
@dataclass(frozen=True)
class KFactor(Crowding):
    """k-regular crowds, from wherever they lose least.

    Parameters
    ----------
    start : str
        Where they come from: ``clusters`` (rings in agglomerative clusters, improved by exchanges),
        ``expansion`` or ``nearest`` (Algorithms 4 and 3, made k-regular), ``best`` of clusters and expansion.
    """

    start: str = "best"
    alone: ClassVar[str] = "kk-anonymity"
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        **Crowding.limits,
        "start": Choice(("best", "clusters", *STARTS)),
    }

    @property
    def regular(self) -> bool:
        return True

    def _neighbourhoods(self, data: Microdata, progress: Progress) -> Neighbourhoods:
        starts = ("clusters", "expansion") if self.start == "best" else (self.start,)
        found = []
        for done, start in enumerate(starts, 1):
            found.append(self._from(start, data))
            progress(done / len(starts))
        if len(found) == 1:
            return found[0]
        return min(found, key=lambda neighbourhoods: loss_of(data, neighbourhoods, self.measure))

    def _from(self, start: str, data: Microdata) -> Neighbourhoods:
        if start == "clusters":
            clusters = Agglomerative(self.k, "nc", self.measure).group(data, (), silent)
            return exchanged(data, rings(data, clusters, self.k), self.measure)
        return mended(data, STARTS[start](self.k, self.measure).neighbourhoods(data), self.k, self.measure)
