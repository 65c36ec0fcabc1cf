"""Non-homogeneous generalization: Algorithms 3 to 6 of "k-Anonymization Revisited", and a k-regular form.

Rows then differ from person to person and still hold several people each. What protects these people is the
graph of who fits which row, and that nobody can say which of the fitting rows is whose.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from incrowd.algorithms.base import REVISITED, NonHomogeneous, need_enough
from incrowd.algorithms.costs import MEASURES
from incrowd.algorithms.nonhomogeneous.neighbourhoods import (
    Expansion,
    Nearest,
    global_neighbourhoods,
    widened,
)
from incrowd.algorithms.nonhomogeneous.regular import mended
from incrowd.algorithms.nonhomogeneous.tuples import bucket_neighbourhoods
from incrowd.algorithms.transparent.method import TransparentClasses, eligible_rules
from incrowd.assign import Entropy, system
from incrowd.contracts import AnyLimit, Choice, Guard, Limit, Switch, register
from incrowd.errors import PolicyError
from incrowd.flow import Microdata, Neighbourhoods
from incrowd.long_work import Progress, silent

STARTS = {"expansion": Expansion, "nearest": Nearest}


@dataclass(frozen=True)
class Revisited(NonHomogeneous):
    """What all of them have in common.

    Parameters
    ----------
    measure : str
        What rows cost: ``lm`` or ``entropy``.
    drawn : bool
        Draw who is behind which row. False leaves every record behind its own row, as printed: whoever
        re-runs the algorithm then knows everybody's row.
    """

    measure: str = "lm"
    drawn: bool = True

    paper: ClassVar[str] = REVISITED
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        "k": Limit(1),
        "measure": Choice(MEASURES),
        "drawn": Switch(),
    }

    @property
    def regular(self) -> bool:
        return False

    def group(
        self, data: Microdata, guards: tuple[Guard, ...], progress: Progress, entropy: Entropy = system
    ) -> Neighbourhoods:
        """The neighbourhood that each record's row is made over; with l, of tuples in each bucket."""
        if not guards:
            need_enough(data, self.k)
            return self._neighbourhoods(data, progress)
        if not self.regular:
            raise PolicyError("this method keeps k alone as printed; for l leave mend = true, or use kfactor")
        rules = eligible_rules(guards)
        l = rules[0].l  # noqa: E741
        k = self.smallest_group(self.k, l)
        buckets = TransparentClasses(k, need=1).buckets(data, rules, progress, entropy)
        few = replace(self, k=k // l)
        return bucket_neighbourhoods(data, buckets, l, k, lambda tuples: few._neighbourhoods(tuples, silent))

    @abstractmethod
    def _neighbourhoods(self, data: Microdata, progress: Progress) -> Neighbourhoods:
        """The algorithm."""


@dataclass(frozen=True)
class OneSided(Revisited):
    """A model that is about rows only, or about records only: the paper's form, for comparison."""

    one_sided: ClassVar[bool] = True
    model_kept: ClassVar[str] = "k1-anonymity"
    guarantee: ClassVar[str] = "every row fits at least k records"
    adversary: ClassVar[str] = "wants to know whose row this is, and knows nobody else in the table"
    not_claimed: ClassVar[str] = (
        "a record may fit one row only; for comparison, refused unless unsafe-one-sided is accepted"
    )

    @property
    def printed(self) -> bool:
        return True


@register("algorithm", "k1-nearest")
@dataclass(frozen=True)
class KOneNearest(OneSided):
    """Algorithm 3: each record with the k-1 others that are cheapest to pair it with."""

    section: ClassVar[str] = "V-B, Algorithm 3"
    publishes: ClassVar[str] = "for each record the smallest box, node or set over its k nearest"

    def _neighbourhoods(self, data: Microdata, _progress: Progress) -> Neighbourhoods:
        return Nearest(self.k, self.measure).neighbourhoods(data)


@register("algorithm", "k1-expansion")
@dataclass(frozen=True)
class KOneExpansion(OneSided):
    """Algorithm 4: each neighbourhood grows by the record that adds least to the cost of its row."""

    section: ClassVar[str] = "V-B, Algorithm 4"
    publishes: ClassVar[str] = (
        "for each record the smallest box, node or set over a neighbourhood that grew around it"
    )

    def _neighbourhoods(self, data: Microdata, _progress: Progress) -> Neighbourhoods:
        return Expansion(self.k, self.measure).neighbourhoods(data)


@register("algorithm", "one-k")
@dataclass(frozen=True)
class OneKNeighbourhoods(OneSided):
    """Algorithm 5 on the table itself: rows are widened until every record fits k of them."""

    section: ClassVar[str] = "V-B, Algorithm 5"
    publishes: ClassVar[str] = "rows unchanged, some of them generalized"
    guarantee: ClassVar[str] = "every record fits at least k rows"
    adversary: ClassVar[str] = "looks for one person, and knows nobody else in the table"
    not_claimed: ClassVar[str] = (
        "most rows stay unchanged; for comparison, refused unless unsafe-one-sided is accepted"
    )
    model_kept: ClassVar[str] = "1k-anonymity"

    def _neighbourhoods(self, data: Microdata, _progress: Progress) -> Neighbourhoods:
        n = len(data)
        themselves = Neighbourhoods(np.arange(n + 1), np.arange(n, dtype=np.int32))
        return widened(data, themselves, self.k, self.measure)


@dataclass(frozen=True)
class TwoSided(Revisited):
    """Neighbourhoods that keep k on both sides.

    Parameters
    ----------
    start : str
        Where neighbourhoods come from: ``expansion`` (Algorithm 4) or ``nearest`` (Algorithm 3).
    mend : bool
        Make them k-regular, so that every row can be drawn with the same chance 1/k. False is the
        paper's form, which mostly cannot be published safely.
    """

    start: str = "expansion"
    mend: bool = True
    transparent: ClassVar[bool] = True
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        **Revisited.limits,
        "start": Choice(tuple(STARTS)),
        "mend": Switch(),
    }

    @property
    def regular(self) -> bool:
        return self.mend

    @property
    def printed(self) -> bool:
        return not self.mend and not self.drawn

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


@register("algorithm", "kk")
@dataclass(frozen=True)
class KKNeighbourhoods(TwoSided):
    """(k,k): Algorithms 3 or 4, then 5."""

    section: ClassVar[str] = "V-B, Algorithms 3 or 4, and 5; made k-regular, which the paper does not do"
    model_kept: ClassVar[str] = "kk-anonymity"

    def _printed(self, data: Microdata, progress: Progress) -> Neighbourhoods:
        return self._two_sided(data, progress)


@register("algorithm", "global-1k")
@dataclass(frozen=True)
class GlobalOneKNeighbourhoods(TwoSided):
    """Global (1,k): Algorithms 3 or 4, then 5, then 6."""

    section: ClassVar[str] = (
        "V-C, Algorithm 6 after 3 or 4, and 5; made k-regular, which the paper does not do"
    )
    model_kept: ClassVar[str] = "global-1k-anonymity"

    def _printed(self, data: Microdata, progress: Progress) -> Neighbourhoods:
        neighbourhoods = self._two_sided(data, progress)
        progress(0.6)
        return global_neighbourhoods(data, neighbourhoods, self.k, self.measure)
