"""The method `transparent`: equivalence classes that keep k, and l against whoever re-runs the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import Algorithm, need_enough
from incrowd.algorithms.transparent.deal import dealt
from incrowd.algorithms.transparent.split import ColourSplit, Ground
from incrowd.algorithms.transparent.strata import strata
from incrowd.assign import Entropy, system
from incrowd.contracts import AnyLimit, Eligible, Guard, Limit, Switch, register
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Codes, Microdata, Partition
from incrowd.long_work import Progress

STRATUM = 2000  # people


@dataclass(frozen=True, slots=True, eq=False)
class SplitBucket:
    """People of a bucket, ascending, their classes and colours; no colours where they stay one class."""

    people: NDArray[np.int64]
    labels: Codes
    colours: Codes | None

    @property
    def classes(self) -> int:
        return int(self.labels.max()) + 1


@dataclass(frozen=True)
class TransparentClasses:
    """Strata, plan, deal, forget, split: classes of at least k with equally many of each of l colours."""

    k: int
    stratum: int = STRATUM
    swaps: bool = True
    need: int = 0  # of each colour in every class; 0 for as many as k asks for

    def buckets(
        self, data: Microdata, guards: tuple[Guard, ...], progress: Progress, entropy: Entropy
    ) -> Iterator[SplitBucket]:
        """All buckets of a table, split; guards name the values that they count, a column each, and one l."""
        rules = eligible_rules(guards)
        l, values = rules[0].l, np.stack([rule.codes for rule in rules])  # noqa: E741
        for rule in rules:
            _need_eligible(data, rule, self.k)
        ground = Ground.under(data)
        split = ColourSplit(ground, l, self.need or -(-self.k // l), self.swaps)
        done = 0
        for stratum in strata(data, values, l, max(self.k, self.stratum), ground):
            for bucket in dealt(stratum, values[:, stratum], l, self.k, entropy):
                people, colours = bucket.people, bucket.colours
                if colours is None:
                    yield SplitBucket(people, np.zeros(people.size, np.int32), None)
                else:
                    yield SplitBucket(people, split.classes(data.codes[people], colours), colours)
            done += stratum.size
            progress(done / len(data))


def eligible_rules(guards: tuple[Guard, ...]) -> tuple[Eligible, ...]:
    """The guards, if each names the values that it counts, and all the same l."""
    rules = tuple(guard for guard in guards if isinstance(guard, Eligible))
    if not rules or len(rules) < len(guards) or len({rule.l for rule in rules}) > 1:
        raise PolicyError("l is kept for sensitive columns, by frequency, and nothing else beside k")
    return rules


def _need_eligible(data: Microdata, rule: Eligible, k: int) -> None:
    need_enough(data, k)
    most = int(np.bincount(rule.codes).max())
    if most * rule.l > len(data):
        raise Infeasible(
            f"one sensitive value has {most} of {len(data)} records, more than 1/{rule.l} of them"
        )


@register("algorithm", "transparent")
@dataclass(frozen=True)
class Transparent(Algorithm):
    """Deal the people of each value into buckets by chance, forget the values, and split by colours.

    Parameters
    ----------
    stratum : int
        How many people are dealt together, at least. With fewer the strata fit people better, and the
        plan fits values worse.
    swaps : bool
        Let people of one colour change places at last, where that saves loss.
    """

    stratum: int = STRATUM
    swaps: bool = True

    paper: ClassVar[str] = "none: incrowd's own"
    section: ClassVar[str] = "docs/claims/transparent.md"
    guarantee: ClassVar[str] = (
        "everyone's quasi-identifiers equal those of at least k-1 others; nobody has any value with a "
        "probability above 1/l, even for somebody who re-runs the program"
    )
    adversary: ClassVar[str] = "knows everyone's quasi-identifiers and the program, and re-runs it"
    needs: ClassVar[str] = "l by frequency, for each sensitive column; no t, entity or plain"
    not_claimed: ClassVar[str] = (
        "anything after somebody's sensitive value became known, or where values are known to go with "
        "quasi-identifiers; that presence is not disclosed; anything about two releases of the same people"
    )
    transparent: ClassVar[bool] = True
    needs_l: ClassVar[bool] = True
    strict: ClassVar[bool] = False
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(1), "stratum": Limit(1), "swaps": Switch()}

    def group(
        self, data: Microdata, guards: tuple[Guard, ...], progress: Progress, entropy: Entropy = system
    ) -> Partition:
        labels, made = np.empty(len(data), np.int32), 0
        recipe = TransparentClasses(self.k, self.stratum, self.swaps)
        for bucket in recipe.buckets(data, guards, progress, entropy):
            labels[bucket.people] = made + bucket.labels
            made += bucket.classes
        return Partition(labels)
