"""TopDown: part the records around two that lie far apart, again and again; then repair what is too small.

Xu, Wang, Pei, Wang, Shi, Fu, "Utility-Based Anonymization Using Local Recoding", KDD 2006, as retold in 2.2
of Sacharidis, Mouratidis, Papadias, "k-Anonymity in the Presence of External Databases".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import EXTERNAL, Polishable, need_enough, watched
from incrowd.algorithms.costs import ExactLine, spans_of
from incrowd.contracts import AnyLimit, Choice, Guard, Limit, Switch, register
from incrowd.flow import Microdata, Partition
from incrowd.kernels import topdown, topdown_repair
from incrowd.long_work import Progress

VISITS = 100
MANY_VISITS = 2**31 - 1


@register("algorithm", "topdown")
@dataclass(frozen=True)
class TopDown(Polishable):
    """Part the records around two far seeds until groups have at most k; then let small groups have k.

    Parameters
    ----------
    assign : str
        Where a record goes: to the seed with which the sum of all perimeters grows least (``weighted``), or,
        as printed, the perimeter of the group (``printed``).
    seeds : str
        The pair with the largest perimeter (``exact``), or the farthest record from the farthest from the
        farthest from the first (``heuristic``).
    merge : str
        What a group of fewer than k may do: be merged with another or take records from a large one
        (``both``), or be merged only (``groups``).
    resplit : bool
        Split a merged group of 2k records or more in two if that costs less.
    visits : int
        How many nodes of the tree over groups are looked at for each small group. All, if records go where
        it is printed: that tree is too deep for a part of it to be near.
    """

    assign: str = "weighted"
    seeds: str = "heuristic"
    merge: str = "both"
    resplit: bool = True
    visits: int = VISITS

    paper: ClassVar[str] = EXTERNAL
    section: ClassVar[str] = "2.2, after Xu et al.: Utility-Based Anonymization Using Local Recoding"
    strict: ClassVar[bool] = False  # equal records may part, and ties go by the order of records
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        **Polishable.limits,
        "assign": Choice(("weighted", "printed")),
        "seeds": Choice(("heuristic", "exact")),
        "merge": Choice(("both", "groups")),
        "resplit": Switch(),
        "visits": Limit(1, MANY_VISITS),
    }

    def classes(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        need_enough(data, self.k)
        run = TopDownRun(self, data)
        clock = np.zeros(2, np.int64)
        with watched(progress, clock, 2 * len(data)):  # once for splitting, once for repairing
            run.split(clock)
            run.mend(clock)
        run.keep(guards)
        return Partition(run.labels())

    @property
    def printed(self) -> bool:
        return self.assign == "printed"

    def rules(self) -> topdown.SplitRules:
        """These options as the kernels read them."""
        return topdown.SplitRules(
            self.k,
            self.assign == "weighted",
            self.seeds == "exact",
            self.merge == "both",
            self.resplit,
            self.visits if self.assign == "weighted" else MANY_VISITS,
        )


def exact_places(data: Microdata) -> list[NDArray[np.int64]]:
    """Where the codes of each attribute lie in its own unit; one number and missing lie a step apart."""
    lines = [ExactLine.of(attribute) for attribute in data.attributes]
    return [line.places if line.places[-1] else np.arange(line.places.size) for line in lines]


class TopDownRun:
    """One table being split and repaired."""

    tree: topdown.SplitTree

    def __init__(self, recipe: TopDown, data: Microdata) -> None:
        self.rules = recipe.rules()
        n, d = data.codes.shape
        places = exact_places(data)
        spans = [int(each[-1]) or 1 for each in places]
        self.spans = spans_of(spans, 4 * n + 8)
        self.points = np.empty((n, d), np.int32 if max(spans) < 2**31 else np.int64)
        for j, each in enumerate(places):
            self.points[:, j] = each[data.codes[:, j]]
        self.ids = np.arange(n, dtype=np.int32)

    def split(self, clock: NDArray[np.int64]) -> None:
        """Make the tree of splits; its leaves are groups of any size."""
        n, d = self.points.shape
        node = np.empty((2 * n, 4), np.int64)
        count = topdown.grow(self.points, self.ids, self.rules, self.spans, node, clock)
        self.tree = topdown.SplitTree(
            points=self.points,
            ids=self.ids,
            node=node[:count].copy(),
            box=np.zeros((count, 4, d), np.int64),
            tally=np.zeros((count, 3), np.int64),
            widest=np.zeros(count),
            follows=np.empty(n, np.int64),
            stack=np.empty(count + 2, np.int64),
            least=np.empty(count + 2),
            spans=self.spans,
        )
        topdown.start(self.tree)

    def mend(self, clock: NDArray[np.int64]) -> None:
        """Let every group have k: smallest first, of equals the one with the smallest record."""
        leaves = self._groups()
        done = int(clock[1])
        while True:
            sizes = self.tree.tally[leaves, topdown.MOST]
            small = (sizes > 0) & (sizes < self.rules.k)
            clock[1] = done + int(sizes[~small].sum())
            if not small.any():
                return
            next_ones = leaves[sizes == sizes[small].min()]
            order = np.argsort(self.tree.tally[next_ones, topdown.FIRST])
            topdown_repair.mend(next_ones[order], self.rules, self.tree, clock)

    def keep(self, guards: tuple[Guard, ...]) -> None:
        """Merge groups that a guard does not allow with the cheapest one until they are allowed.

        By their smallest record.
        """
        if not guards:
            return

        def allowed(leaf: int) -> bool:
            rows = topdown_repair.records_of(leaf, self.tree)
            return all(guard.allows(rows) for guard in guards)

        groups = self._groups()
        order = groups[np.argsort(self.tree.tally[groups, topdown.FIRST])].tolist()
        wrong = {leaf: True for leaf in order if not allowed(leaf)}
        while wrong:
            leaf = next(iter(wrong))
            other = topdown_repair.cheapest(leaf, 0, self.rules, self.tree)
            if other < 0:  # it is the whole table
                return
            topdown_repair.join(leaf, other, False, self.rules, self.tree)
            wrong.pop(int(other), None)
            if allowed(leaf):
                del wrong[leaf]

    def labels(self) -> NDArray[np.int32]:
        """The group of each record, numbered in the order of the tree."""
        labels = np.empty(self.ids.size, np.int32)
        topdown_repair.label_all(self.tree, labels)
        return labels

    def _groups(self) -> NDArray[np.int64]:
        """The leaves that have records."""
        return np.flatnonzero((self.tree.node[:, topdown.LEFT] == 0) & (self.tree.tally[:, topdown.MOST] > 0))
