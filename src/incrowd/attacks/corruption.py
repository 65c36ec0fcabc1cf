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

from incrowd.attacks.candidates import MEMBERS
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


@attack("corruption", 60, ("records",))
def corruptions(target: Target) -> tuple[AttackResult, ...]:
    """One result for each number of people who are known."""
    return tuple(corruption(target, known) for known in known_counts(target))


def corruption(target: Target, known: int = 1) -> AttackResult:
    """The first row that is left for a victim once `known` people who share its candidates are taken out.

    Nothing is promised about this adversary, so there is no bound; whole classes would give 1/(k - known).
    """
    scene = Accomplices(target)
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

    def _candidates(self, victim: int) -> Ints:
        """The rows that a victim can be behind, in the published order."""
        graph, part = self.target.graph, self._part(victim)
        edges = self.parts.edges(part)
        mine = edges[self.parts.tails[edges] == graph.record_of[victim]]
        holds = np.zeros(graph.row_weight.size, np.bool_)
        holds[graph.indices[mine]] = True
        return np.flatnonzero(holds[graph.row_of])

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
        graph, found, part = self.target.graph, self.target.found, self._part(victim)
        alone, us, vs = self.parts.graph(part)
        persons = np.flatnonzero(found.record[graph.record_of] == part)
        shown = np.flatnonzero(found.row[graph.row_of] == part)
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
        sharing = np.intersect1d(self._sharing(victim), self.sure, assume_unique=True)
        after = np.roll(sharing, -int(np.searchsorted(sharing, victim)))
        return np.sort(after[:known])

    def _sharing(self, victim: int) -> Ints:
        """Everybody else who can be behind a row that the victim can be behind."""
        graph, edges = self.target.graph, self.parts.edges(self._part(victim))
        tails, heads = self.parts.tails[edges], graph.indices[edges]
        wanted = np.zeros(graph.row_weight.size, np.bool_)
        wanted[heads[tails == graph.record_of[victim]]] = True
        wanted[graph.published :] = False  # to be left out is no row
        kinds = np.zeros(graph.record_weight.size, np.bool_)
        kinds[tails[wanted[heads]]] = True
        sharing = kinds[graph.record_of]
        sharing[victim] = False
        return np.flatnonzero(sharing)
