"""Linkage with a public list: a release of people of two tables under attack, and the equijoin with it.

Who is in the private table is secret.

References
----------
Sacharidis, Mouratidis, Papadias, "k-Anonymity in the Presence of External Databases", TKDE 2010, section 1
and Theorem 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.candidates import matching
from incrowd.attacks.registry import AttackResult, Details, Rate, attack
from incrowd.attacks.target import Edges, Flags, Floats, Ints, Target, as_they_are, first_met
from incrowd.errors import TableError
from incrowd.flow import Codes, Microdata

JOURNALIST = "journalist"  # has a list of people, and does not know who of them is in the table
PUBLIC_LIST = "the public table with all quasi-identifiers, and the whole release"
ONE_ROW_EACH = f"{PUBLIC_LIST}; and that every row is about a person of its own"


@dataclass(frozen=True, eq=False)
class JoinTarget:
    """A release in which people of a public table have rows, too.

    ``target`` has the people of both tables, those of the private one first, and the truth about these
    alone. ``listed`` (n,) says who is in the public table. Where sensitive values are in buckets,
    ``group`` (rows,) is the bucket of each row, and ``people`` (g,) how many of the private table each has
    by what is published. Where rows say how many people of their class are private, ``shares`` (rows,) are
    the shares of these.
    """

    target: Target
    listed: Flags
    group: Codes | None = None
    people: Ints | None = None
    shares: Floats | None = None

    def __post_init__(self) -> None:
        n, rows = len(self.target.data), len(self.target.published)
        if self.target.data.own is None or self.listed.shape != (n,):
            raise TableError("everybody must be in a known one of the two tables")
        if (self.target.truth[~self.own] >= 0).any():
            raise TableError("the truth must be about people of the private table")
        if self.group is not None and self.group.shape != (rows,):
            raise TableError("every row must be in a known group")

    def __repr__(self) -> str:
        return f"JoinTarget({self.target}, {int(self.own.sum())} of the private table)"

    @property
    def own(self) -> Flags:
        own = self.target.data.own
        return np.ones(self.listed.size, np.bool_) if own is None else own

    @cached_property
    def kind(self) -> Codes:
        """Which distinct person each is: those with equal codes are one kind."""
        return self.target.graph.record_of

    @cached_property
    def inside(self) -> tuple[Ints, Ints]:
        """Kinds of people and distinct rows that hold them, as pairs."""
        graph = self.target.graph
        real = graph.real
        return graph.tails[real].astype(np.int64), graph.indices[real].astype(np.int64)

    @cached_property
    def codes(self) -> Codes:
        """The codes of each kind of people."""
        graph = self.target.graph
        return self.target.data.codes[first_met(self.kind, graph.record_weight.size)]

    @cached_property
    def rows(self) -> Ints:
        """How many rows each class of equal rows has."""
        graph = self.target.graph
        return graph.row_weight[: graph.published]

    @cached_property
    def held(self) -> Ints:
        """How many people of both tables each class holds."""
        kinds, classes = self.inside
        return np.bincount(classes, self.target.graph.record_weight[kinds], self.rows.size).astype(np.int64)

    @cached_property
    def covered(self) -> Flags:
        """Who lies inside some row (n,); all others are certainly not in the private table."""
        met = np.zeros(self.target.graph.record_weight.size, np.bool_)
        met[self.inside[0]] = True
        return met[self.kind]

    @cached_property
    def shared(self) -> Flags:
        """Which classes have rows of several groups."""
        if self.group is None:
            return np.zeros(self.rows.size, np.bool_)
        row_of = self.target.graph.row_of
        first = self.group[first_met(row_of, self.rows.size)]
        mixed = np.zeros(self.rows.size, np.bool_)
        mixed[row_of[self.group != first[row_of]]] = True
        return mixed

    @cached_property
    def of_own(self) -> tuple[Ints, Codes]:
        """The people of the private table whose row is known, and the class of each; groups part classes."""
        who = self.target.known
        rows = self.target.truth[who]
        key = self.target.graph.row_of[rows].astype(np.int64)
        if self.group is not None:
            key = key * (int(self.group.max(initial=0)) + 1) + self.group[rows]
        return who, np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int32)

    @cached_property
    def raw(self) -> JoinTarget:
        """The private table published as it is, nobody of the public one: what every attack must break."""
        data, own = self.target.data, self.own
        mine = as_they_are(Microdata(data.codes[own], data.attributes))
        truth = np.full(len(data), -1, np.int64)
        truth[own] = np.arange(int(own.sum()))
        return JoinTarget(Target(mine, data, truth, self.target.k), self.listed)


def fitting(target: Target, behind: NDArray[Any]) -> bool:
    """Can these be the people behind the rows: one for each row, each another, and each inside its row?"""
    if behind.shape != (len(target.published),) or behind.dtype != np.int64:
        return False
    if np.unique(behind).size != behind.size or behind.min(initial=0) < 0:
        return False
    if behind.max(initial=-1) >= len(target.data):
        return False
    graph = target.graph
    return bool((graph.edge(graph.record_of[behind], graph.row_of) >= 0).all())


@attack("equijoin", 100, ("joined",))
def equijoins(scene: JoinTarget) -> tuple[AttackResult, AttackResult]:
    """By the rows that hold a person, and by those that are left in some matching."""
    return equijoin(scene), matched(scene)


def equijoin(scene: JoinTarget) -> AttackResult:
    """For each person of the public list a row among those that hold them."""
    victims = _victims(scene)
    details = _counted(scene, scene.target.graph.real)
    if victims.size:
        details["largest_chance"] = 1 / int(smallest_class(scene)[victims].min())
    details["persons_found"] = int(reidentified(scene).sum())
    rates = _found(scene), scene.target.blind(victims.size), _found(scene.raw)
    return AttackResult("equijoin", JOURNALIST, PUBLIC_LIST, *rates, scene.target.bound, details)


def matched(scene: JoinTarget) -> AttackResult:
    """A row among those that the person can be behind while every row has somebody."""
    found = matching(scene.target)
    details = _counted(scene, scene.target.found.effective)
    return replace(found, adversary=JOURNALIST, knows=ONE_ROW_EACH, details=details)


def reidentified(scene: JoinTarget) -> Flags:
    """Whom one row holds that holds nobody else of the public list (n,)."""
    listed = listed_in_rows(scene)
    rows = scene.target.graph.degrees().records
    kinds, classes = scene.inside
    sure = np.zeros(rows.size, np.bool_)
    sure[kinds[(rows[kinds] == 1) & (listed[classes] == 1)]] = True
    found: Flags = sure[scene.kind] & scene.listed
    return found


def listed_in_rows(scene: JoinTarget) -> Ints:
    """How many people of the public list each class of equal rows holds."""
    kinds, classes = scene.inside
    listed = np.bincount(scene.kind[scene.listed], minlength=scene.target.graph.record_weight.size)
    return np.bincount(classes, listed[kinds], scene.rows.size).astype(np.int64)


def smallest_class(scene: JoinTarget) -> Ints:
    """How many rows the smallest class has that holds each person; 0 for whom none does (n,)."""
    kinds, classes = scene.inside
    least = np.full(scene.target.graph.record_weight.size, np.iinfo(np.int64).max)
    np.minimum.at(least, kinds, scene.rows[classes])
    least[least == np.iinfo(np.int64).max] = 0
    return least[scene.kind]


def _victims(scene: JoinTarget) -> Ints:
    """Whom the adversary looks for and who has a row: nobody looks for people that no list names."""
    return np.flatnonzero(scene.listed & scene.own)


def _counted(scene: JoinTarget, edges: Edges) -> Details:
    """How many rows victims have as candidates."""
    victims = _victims(scene)
    rows = scene.target.graph.tally(edges).records[scene.kind[victims]]
    counts: Details = {"fewest_candidates": int(rows.min()) if rows.size else 0}
    if scene.target.k is not None:
        counts["persons_below_k"] = int((rows < scene.target.k).sum())
    return counts


def _found(scene: JoinTarget) -> Rate:
    return scene.target.chance(scene.target.graph.real, scene.listed & scene.own)
