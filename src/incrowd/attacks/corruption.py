"""Corruption: what somebody who knows the rows of some people learns about others.

Victims are chosen by their place in the table, and so are those who are known, among the people who share a
candidate with the victim. To choose them by their rows would be to peek: they are rows that are not the
victim's.

References
----------
Wong, Mamoulis, Cheung, "Non-homogeneous generalization in privacy preserving data publishing", SIGMOD 2010,
section 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.candidates import MEMBERS
from incrowd.attacks.corrupted_rings import LaidRings, corrupted_rings
from incrowd.attacks.registry import AttackResult, Details, Rate, attack
from incrowd.attacks.target import Ints, Target
from incrowd.graph import Graph, GraphComponents, components, posterior

VICTIMS = 200
MOST_KNOWN = 5
EXACT = 10  # records of a component that is counted; this is done for each victim
EDGES = 20_000_000  # how many edges may be looked at for all victims together


def known_counts(target: Target) -> range:
    """How many known people are worth trying: after k - 1 of them, whole classes protect nobody either."""
    return range(1, min((target.k or 2) - 1, MOST_KNOWN) + 1)


@attack("corruption", 60, ("records",), ("rings",))
def corruptions(target: Target, rings: LaidRings | None = None) -> tuple[AttackResult, ...]:
    """One result for each number of people who are known; one more where rows are those of rings."""
    scene = Accomplices(target)
    found = tuple(corruption(target, known, scene) for known in known_counts(target))
    return found if rings is None else (*found, corrupted_rings(target, rings))


def corruption(target: Target, known: int = 1, scene: Accomplices | None = None) -> AttackResult:
    """The first row that is left for a victim once `known` people who share its candidates are taken out.

    Nothing is promised about this adversary, so there is no bound; whole classes would give 1/(k - known).
    """
    scene = scene or Accomplices(target)
    victims, skipped = scene.victims(known)
    outcomes = [scene.struck(victim, known) for victim in victims.tolist()]
    control = [scene.cornered(victim) for victim in victims.tolist()]
    worst = [chance for _, chance in outcomes if chance is not None]
    details: Details = {"victims": victims.size, "victims_counted": len(worst)}
    if worst:
        details["largest_posterior"] = str(max(worst))
    if target.k is not None and target.k > known:
        details["whole_classes_give"] = str(Fraction(1, target.k - known))
    if skipped:
        details["skipped"] = skipped
    right = int((victims == target.truth[victims]).sum())  # of who says row i for record i
    counts = sum(won for won, _ in outcomes), right, sum(control)
    won, guess, checked = (Rate(count, victims.size) for count in counts)
    name, knows = f"corruption-{known}", f"{MEMBERS}, and the rows of {known} of them"
    return AttackResult(name, "corruption-aided linking", knows, won, guess, checked, None, details)


@dataclass(frozen=True, eq=False)
class Accomplices:
    """The target, and what is looked up again and again."""

    target: Target

    @cached_property
    def parts(self) -> GraphComponents:
        return GraphComponents(self.target.found)

    @cached_property
    def sure(self) -> Ints:
        """The records whose row is known, and is one that they can be behind."""
        graph, known = self.target.graph, self.target.known
        edges = graph.edge(graph.record_of[known], graph.row_of[self.target.truth[known]])
        sure: Ints = known[(edges >= 0) & np.append(self.target.found.effective, False)[edges]]
        return sure

    @cached_property
    def world(self) -> Ints:
        """The row of each record in a world where all is known: the truth, or one that could be true."""
        target, graph = self.target, self.target.graph
        if target.known.size == len(target.published):
            return target.truth
        edge = np.repeat(np.arange(graph.indices.size), target.found.flow)
        rows = np.full(len(graph), -1, dtype=np.int64)  # those of nobody stand last
        rows[: graph.row_of.size] = np.argsort(graph.row_of, kind="stable")
        by_row = np.argsort(graph.indices[edge], kind="stable")
        records = np.argsort(graph.record_of, kind="stable")
        world = np.empty(len(graph), dtype=np.int64)
        world[records[by_row]] = rows
        return world

    def victims(self, known: int) -> tuple[Ints, str]:
        """Records spread evenly over the table; fewer where their components are large, and then why."""
        part = self.target.found.record[self.target.graph.record_of[self.sure]]
        company = np.bincount(part, minlength=1)[part] > known
        able = self.sure[company]
        places = np.linspace(0, max(able.size - 1, 0), min(VICTIMS, able.size)).astype(np.int64)
        some, why = self._affordable(able[np.unique(places)])
        met = np.array([self.known_to(victim, known).size == known for victim in some.tolist()], np.bool_)
        if not met.any() and not why:
            why = "nobody shares candidates with that many people whose rows are known"
        return some[met], why

    def _affordable(self, some: Ints) -> tuple[Ints, str]:
        cost = sum(self.parts.edges(self._part(victim)).size for victim in some.tolist())
        if cost <= EDGES:
            return some, ""
        every = -(-cost // EDGES)
        left = some[::every]
        if cost // some.size > EDGES:
            left = some[:0]
        return left, f"{some.size - left.size} of {some.size} victims: their components have too many edges"

    def _part(self, victim: int) -> int:
        return int(self.target.found.record[self.target.graph.record_of[victim]])

    @cached_property
    def persons(self) -> InParts:
        """The people of each component."""
        return InParts.of(self.target.found.record[self.target.graph.record_of])

    @cached_property
    def shown(self) -> InParts:
        """The published rows of each component."""
        return InParts.of(self.target.found.row[self.target.graph.row_of])

    @cached_property
    def surely(self) -> NDArray[np.bool_]:
        """Of each record whether it is one of those in `sure`."""
        surely = np.zeros(self.target.graph.record_of.size, np.bool_)
        surely[self.sure] = True
        return surely

    def _candidates(self, victim: int) -> Ints:
        """The rows that a victim can be behind, in the published order."""
        graph, part = self.target.graph, self._part(victim)
        edges, shown = self.parts.edges(part), self.shown[part]
        mine = edges[self.parts.tails[edges] == graph.record_of[victim]]
        return shown[np.isin(graph.row_of[shown], graph.indices[mine])]

    def struck(self, victim: int, known: int) -> tuple[bool, Fraction | None]:
        """Is the first row that is left the victim's own? And how likely is the likeliest, if counted?"""
        left, persons, shown = self._without(victim, self.known_to(victim, known))
        found = components(left, self._hint(persons, shown))
        me = int(left.record_of[np.searchsorted(persons, victim)])
        mine = found.effective & (left.tails == me) & left.real
        possible = np.zeros(left.row_weight.size, np.bool_)
        possible[left.indices[mine]] = True
        first = shown[np.flatnonzero(possible[left.row_of])[0]]
        counted = posterior(left, EXACT, found).probability
        likely = [counted[edge] for edge in np.flatnonzero(mine).tolist()]
        worst = None if None in likely else max(chance for chance in likely if chance is not None)
        return bool(first == self.target.truth[victim]), worst

    def _without(self, victim: int, others: Ints) -> tuple[Graph, Ints, Ints]:
        """The victim's component without some people and their rows; whom and which rows it still has."""
        graph, part = self.target.graph, self._part(victim)
        alone, us, vs = self.parts.graph(part)
        persons, shown = self.persons[part], self.shown[part]
        alone = replace(
            alone,
            record_of=np.searchsorted(us, graph.record_of[persons]).astype(np.int32),
            row_of=np.searchsorted(vs, graph.row_of[shown]).astype(np.int32),
        )
        gone = np.searchsorted(persons, others), np.searchsorted(shown, self.target.truth[others])
        left = alone.without(zip(*(places.tolist() for places in gone), strict=True))
        stay, remain = left.record_of >= 0, left.row_of >= 0
        left = replace(left, record_of=left.record_of[stay], row_of=left.row_of[remain])
        return left, persons[stay], shown[remain]

    def _hint(self, persons: Ints, shown: Ints) -> Ints:
        """The truth as places among the rows that are left; it saves a search where it is complete."""
        truth = self.target.truth[persons]
        place = np.searchsorted(shown, truth)
        there = np.append(shown, -1)[place] == truth
        return np.where(there, place, -1)

    def cornered(self, victim: int) -> bool:
        """If everybody is known who shares a candidate: is the first row that is left the victim's own?

        That takes a world in which all is known. Where the truth is not, any that is possible will do.
        """
        rows = self._candidates(victim)
        left = rows[~np.isin(rows, self.world[self._sharing(victim)])]
        return bool(left.size and left[0] == self.world[victim])

    def known_to(self, victim: int, known: int) -> Ints:
        """The next people in the table who share a candidate with the victim, and whose rows are known."""
        sharing = self._sharing(victim)
        sharing = sharing[self.surely[sharing]]
        after = np.roll(sharing, -int(np.searchsorted(sharing, victim)))
        return np.sort(after[:known])

    def _sharing(self, victim: int) -> Ints:
        """Everybody else who can be behind a row that the victim can be behind."""
        graph, part = self.target.graph, self._part(victim)
        edges, persons = self.parts.edges(part), self.persons[part]
        tails, heads = self.parts.tails[edges], graph.indices[edges]
        wanted = heads[(tails == graph.record_of[victim]) & (heads < graph.published)]  # left out is no row
        sharing = persons[np.isin(graph.record_of[persons], tails[np.isin(heads, wanted)])]
        others: Ints = sharing[sharing != victim]
        return others


@dataclass(frozen=True, slots=True, eq=False)
class InParts:
    """What each component holds, ascending: one list, and where each component starts in it."""

    members: Ints
    starts: Ints

    @classmethod
    def of(cls, part: NDArray[np.integer]) -> InParts:
        """From the component of each member."""
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(part))])
        return cls(np.argsort(part, kind="stable"), starts)

    def __getitem__(self, part: int) -> Ints:
        return self.members[self.starts[part] : self.starts[part + 1]]
