"""ExpC and its rivals: groups that disclose no outlier, by expansion around seeds.

Algorithm 1 of Wang, Liu, "Hiding Distinguished Ones into Crowd", and the approaches that the paper compares
it with. Where the printed steps are incomplete, docs/claims/expc.md says how they are read.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import process_time
from typing import ClassVar

import numpy as np

from incrowd.algorithms.base import K_EQUAL_ROWS, OUTLIERS, Algorithm, need_enough, records_by_label, watched
from incrowd.algorithms.outliers.expc_groups import LOSSES, Growth, GrowthRules, Ints
from incrowd.algorithms.outliers.repair import MergingGroups, settled
from incrowd.assign import shuffled
from incrowd.contracts import AnyLimit, Choice, Guard, Limit, Plainness, register
from incrowd.errors import PolicyError
from incrowd.flow import Codes, Microdata, Partition
from incrowd.long_work import Progress, silent

COMPONENTS = ("global outliers", "local outliers", "expansion", "residues")


@dataclass(frozen=True, eq=False)
class OutlierGrouping:
    """What an approach made of a table: records by their numbers, and what each component took.

    That is processor seconds, and checks: how often it was asked whether a point is an outlier (`asked`), and
    around how many points records were counted for that (`counted`): what is known is not counted again.
    Who is an outlier by sensitive values alone is found by sorting, without a check.

    `residue` are the seeds around which no group grew (and outliers that were not grouped at first), some of
    whom were put into groups later; `suppressed` are those who were not. `removed` take no part.
    """

    groups: tuple[Ints, ...]
    suppressed: Ints
    removed: Ints
    residue: Ints
    labels: Codes
    seconds: Mapping[str, float] = field(default_factory=dict)
    asked: Mapping[str, int] = field(default_factory=dict)
    counted: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Expanding(Algorithm):
    """Groups by expansion.

    Parameters
    ----------
    delta : int
        After so many expansions a group that is not plain takes a record that is no outlier as a corner, or
        gives one back. 0 is k.
    order : str
        Which records are seeds first: ``rows`` as they come, or ``random``.
    loss : str
        What is cheap: cells by the share of the domain between their ends (``zero-based``), or with one unit
        more (``printed``, Definition 3.7).
    tries : int
        How many candidates are tried in each step, cheapest first, before the cheapest is taken, and how many
        groups a residue is tried with. 0 is all, as printed.
    patience : int
        How many expansions beyond delta a group may take. 0 is as many as there are records.
    merges : int
        How many groups a residue may make merge. 0 is all.
    strangers : str
        ``last``: those who are outliers by their quasi-identifiers alone, so with any value, are residues
        from the beginning; and in ``expc`` no group grows around an outlier, only over some. ``any``: they
        are as others, as printed.
    values : str
        ``new``: until a group has enough different sensitive values, only records with a new one are
        candidates. ``any``: all are, as printed; where a value is frequent, groups then fill up with it.
    """

    delta: int = 0
    order: str = "rows"
    loss: str = "zero-based"
    tries: int = 16
    patience: int = 1
    merges: int = 8
    strangers: str = "last"
    values: str = "new"

    paper: ClassVar[str] = OUTLIERS
    guarantee: ClassVar[str] = K_EQUAL_ROWS + "; no class reveals an outlier"
    adversary: ClassVar[str] = (
        "knows everyone's quasi-identifiers, who is an outlier, and how the release was made"
    )
    needs: ClassVar[str] = "[privacy.plain]; suppresses records; slow where outliers are many"
    strict: ClassVar[bool] = False  # equal records may part, and ties go by the order of records
    needs_plain: ClassVar[bool] = True
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        "k": Limit(1),
        "delta": Limit(0),
        "order": Choice(("rows", "random")),
        "loss": Choice(LOSSES),
        "tries": Limit(0),
        "patience": Limit(0),
        "merges": Limit(0),
        "strangers": Choice(("last", "any")),
        "values": Choice(("new", "any")),
    }

    @property
    def printed(self) -> bool:
        unlimited = self.tries == self.patience == self.merges == 0
        return unlimited and self.values == "any" and self.loss == "printed"

    def group(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        """The group of each record; -1 for those who are removed or cannot be hidden."""
        need_enough(data, self.k)
        return Partition(self.grouping(data, guards, progress).labels)

    def grouping(
        self, data: Microdata, guards: tuple[Guard, ...], progress: Progress = silent
    ) -> OutlierGrouping:
        """The same with all that became of records on the way."""
        run = _ExpansionRun(self, data, guards, progress)
        self._expand(run)
        return run.finished()

    @abstractmethod
    def _expand(self, run: _ExpansionRun) -> None:
        """Groups around seeds; who is left over is residue."""


@register("algorithm", "expc")
@dataclass(frozen=True)
class ExpC(Expanding):
    """Expansion without a look for local outliers: a group is done when it is plain, whoever is in it."""

    section: ClassVar[str] = "7, Algorithm 1"

    def _expand(self, run: _ExpansionRun) -> None:
        run.grow(run.rest, run.rest)


@register("algorithm", "gnof")
@dataclass(frozen=True)
class NonOutliersFirst(Expanding):
    """Groups of those who are no outliers; then each outlier joins one."""

    section: ClassVar[str] = "8.1, the rival GNOF: groups of those who are no outliers first"

    def _expand(self, run: _ExpansionRun) -> None:
        outliers = run.outliers()
        others = run.rest[~outliers[run.rest]]
        run.grow(others, others)
        run.residue.append(run.ordered(np.flatnonzero(outliers)))


@register("algorithm", "gof")
@dataclass(frozen=True)
class OutliersFirst(Expanding):
    """Groups around outliers, of those who are none; then groups of the rest."""

    section: ClassVar[str] = "8.1, the rival GOF: groups around outliers first"

    def _expand(self, run: _ExpansionRun) -> None:
        outliers = run.outliers()
        others = run.rest[~outliers[run.rest]]
        run.grow(np.flatnonzero(outliers & ~run.lone), others)
        run.grow(others, None)


@register("algorithm", "remove-outliers")
@dataclass(frozen=True)
class RemoveOutliers(Expanding):
    """No outlier stays; groups of the others have enough different values, whether or not they are plain."""

    section: ClassVar[str] = "8.3, the rival that removes all outliers"

    def _expand(self, run: _ExpansionRun) -> None:
        outliers = run.outliers()
        others = run.rest[~outliers[run.rest]]
        run.removed = run.removed | outliers
        run.grow(others, others)


class _ExpansionRun:
    """One table on its way to groups."""

    def __init__(
        self, recipe: Expanding, data: Microdata, guards: tuple[Guard, ...], progress: Progress
    ) -> None:
        plainness = next((guard for guard in guards if isinstance(guard, Plainness)), None)
        if plainness is None:
            raise PolicyError(f"{recipe.name} protects outliers: give [privacy.plain]")
        self.recipe, self.progress = recipe, progress
        self.seconds = dict.fromkeys(COMPONENTS, 0.0)
        self.checks = {component: np.zeros(2, np.int64) for component in COMPONENTS}
        self.space = plainness.space
        self.removed = self.space.gone.copy()
        self.residue: list[Ints] = []
        plain = not isinstance(recipe, RemoveOutliers)
        start = process_time()
        apart = plain and recipe.strangers == "last"
        self.lone = self.space.lone & ~self.removed if apart else np.zeros_like(self.removed)
        self._timed("local outliers", start)
        self.rest: Ints = np.flatnonzero(~self.removed & ~self.lone)
        distinct, fresh = self.space.setting.distinct, recipe.values == "new"
        usual = isinstance(recipe, ExpC) and recipe.strangers == "last"
        limits = (recipe.k, distinct, recipe.delta, recipe.tries, recipe.patience)
        rules = GrowthRules(*limits, fresh, plain, usual)
        start = process_time()
        self.space.of(
            data, self.space.setting, self.space.cloud.scan
        )  # the space is there already; again, to know what it took
        self._timed("global outliers", start)
        start = process_time()
        self.growth = Growth(data, plainness, guards, rules, recipe.loss)
        self._timed("expansion", start)

    def _timed(self, component: str, start: float) -> None:
        self.seconds[component] += process_time() - start

    def _checked(self, component: str) -> None:
        """What growing and inserting have checked since somebody last asked is this component's."""
        self.checks[component] += self.growth.checks - sum(self.checks[each] for each in COMPONENTS[2:])

    def ordered(self, records: Ints) -> Ints:
        return records if self.recipe.order == "rows" else records[shuffled(records.size)]

    def outliers(self) -> Ints:
        start = process_time()
        found: Ints = self.space.outliers() & ~self.space.gone
        self._timed("local outliers", start)
        self.checks["local outliers"] += (len(self.space.rest), len(self.space.cloud.points))
        return found

    def grow(self, seeds: Ints, free: Ints | None) -> None:
        """Groups around seeds, of whoever is free; None for those who still are."""
        start = process_time()
        if free is not None:
            self.growth.release(free)
        clock = np.zeros(2, np.int64)
        with watched(self.progress, clock, seeds.size):
            self.residue.append(self.growth.grow(self.ordered(seeds), clock))
        self._timed("expansion", start)
        self._checked("expansion")

    def finished(self) -> OutlierGrouping:
        """Step 3: everybody who is left over."""
        start = process_time()
        groups = MergingGroups(self.growth, records_by_label(self.growth.labels))
        residue = np.concatenate(self.residue)
        late = np.flatnonzero(self.lone)
        residue = np.concatenate([residue, late[~np.isin(late, residue)]])
        suppressed = settled(groups, residue, self.recipe.tries, self.recipe.merges, silent)
        self._timed("residues", start)
        self._checked("residues")
        asked, counted = ({c: int(both[i]) for c, both in self.checks.items()} for i in range(2))
        return OutlierGrouping(
            groups=tuple(np.sort(rows) for rows in groups.members.values()),
            suppressed=np.array(suppressed, np.int64),
            removed=np.flatnonzero(self.removed),
            residue=residue,
            labels=groups.labels(),
            seconds=self.seconds,
            asked=asked,
            counted=counted,
        )
