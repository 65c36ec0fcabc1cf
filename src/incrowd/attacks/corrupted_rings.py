"""Rings under corruption by somebody who re-runs the program: one known row, and how rings are assigned.

The rings follow from quasi-identifiers. Who knows the row of one person knows how far it lies before the own
one, and how likely it then is that others of the ring have the same. One shift for all gives everybody away.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from incrowd.attacks.candidates import MEMBERS, equal_rows
from incrowd.attacks.registry import AttackResult, Details, Rate, one_of
from incrowd.attacks.ring import Draw, views_of
from incrowd.attacks.target import Ints, Target
from incrowd.flow import Neighbourhoods
from incrowd.measures import Published

VICTIMS = 2_000
EDGES = 400_000  # that are drawn to learn how rings are assigned, for all sizes together
AHEAD = 12  # how far off the known person is looked for


@dataclass(frozen=True, eq=False)
class LaidRings:
    """The rings that the method lays, run again: row i of `remade` is made for record i.

    `neighbourhoods` name the k records of each row in the order of the ring; `draw` assigns rings as the
    release says, and `way` is its name.
    """

    neighbourhoods: Neighbourhoods
    remade: Published
    draw: Draw
    way: str

    @cached_property
    def members(self) -> Ints:
        return self.neighbourhoods.members.reshape(len(self.neighbourhoods), -1).astype(np.int64)

    @property
    def k(self) -> int:
        return int(self.members.shape[1])

    @cached_property
    def sizes(self) -> Ints:
        """How many records the ring of each record has; 0 where nobody is exchanged."""
        parts, alike = self.neighbourhoods.parts, self.neighbourhoods.alike
        if parts is None or alike is None or self.k < 2:
            return np.zeros(len(self.members), np.int64)
        return np.where(alike, 0, np.bincount(parts)[parts])

    def after(self, record: Ints, steps: Ints) -> Ints:
        """Who stands so many places further on in the ring, or before if that is negative."""
        size, found = self.sizes[record], record.copy()
        left = steps % size
        for _ in range(int(left.max(initial=0))):
            found = np.where(left > 0, self.members[found, 1], found)
            left = left - 1
        return found


def corrupted_rings(target: Target, rings: LaidRings) -> AttackResult:
    """Name the row that a victim likeliest has, given that of the person of the ring who tells most of it."""
    graph, k = target.graph, rings.k
    able = np.flatnonzero((rings.sizes > k) & (target.truth >= 0))
    victims = able[np.unique(np.linspace(0, max(able.size - 1, 0), min(VICTIMS, able.size)).astype(np.int64))]
    first = equal_rows(rings.remade, target.published)
    kind = np.where(first >= 0, graph.row_of[first], -1)  # of the row that is made for each record
    size = rings.sizes[victims]
    ahead, then = np.zeros(victims.size, np.int64), np.zeros((victims.size, k), np.int64)
    surest = 0.0
    for ring in np.unique(size).tolist():
        ahead[size == ring], then[size == ring], sure = _law(ring, rings, np.unique(size).size)
        surest = max(surest, sure)
    known = rings.after(victims, ahead)
    there = target.truth[known] >= 0
    victims, known, then = victims[there], known[there], then[there]
    row = graph.row_of[target.truth[known]]  # seen, and where it was made
    makers = np.stack([rings.after(known, np.full(known.size, -s)) for s in range(k)], axis=1)
    back = (kind[makers] == row[:, None]).argmax(axis=1)  # of rows that say the same, the nearest
    maker = rings.after(victims, -then[np.arange(victims.size), back])
    won = int((first[maker] == target.truth[victims]).sum())
    equal = np.where(kind[maker] >= 0, graph.row_weight[kind[maker]], 0)
    details: Details = {"victims": int(victims.size), "assignment": rings.way}
    if victims.size:
        details |= {"largest_posterior": round(surest, 3), "whole_classes_give": str(Fraction(1, k - 1))}
    return AttackResult(
        "corruption-ring",
        "corruption-aided linking, algorithm-aware",
        f"{MEMBERS}, the row of one of them, and the program",
        Rate(won, victims.size),
        Rate(int((victims == target.truth[victims]).sum()), victims.size),
        one_of(equal),  # had everybody the row that was made for them, or all one shift
        None,
        details,
    )


def _law(size: int, rings: LaidRings, sizes: int) -> tuple[int, Ints, float]:
    """Of rings of one size: how far on the person stands who tells most, what each shift tells, how surely.

    ``then[s]`` is the likeliest number of rows before its own that the first person has, if the other has s;
    how sure that is for the most telling s was measured in many rings.
    """
    k = rings.k
    views = views_of(size, k, rings.draw, max(8, EDGES // (sizes * size * k)))[0]
    best, surest, found = -1.0, 0.0, (1, np.zeros(k, np.int64))
    for ahead in range(1, min(size, AHEAD + 1)):
        pairs = (np.roll(views, -ahead, axis=1) * k + views).ravel()
        both = np.bincount(pairs, minlength=k * k).reshape(k, k)  # by who is known, and by the victim
        surest = max(surest, float((both.max(axis=1) / both.sum(axis=1).clip(1)).max()))
        if both.max(axis=1).sum() > best:
            best, found = float(both.max(axis=1).sum()), (ahead, both.argmax(axis=1))
    return *found, surest
