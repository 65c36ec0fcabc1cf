"""Linkage with a public list: the equijoin with a release in which some of its people have rows.

References
----------
Sacharidis, Mouratidis, Papadias, "k-Anonymity in the Presence of External Databases", TKDE 2010, section 1
and Theorem 2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incrowd.attacks.candidates import matching
from incrowd.attacks.joined import JOURNALIST, Flags, JoinTarget
from incrowd.attacks.rate import Rate
from incrowd.attacks.registry import attack
from incrowd.attacks.result import AttackResult
from incrowd.attacks.target import Edges, Ints

PUBLIC_LIST = "the public table with all quasi-identifiers, and the whole release"

ONE_ROW_EACH = f"{PUBLIC_LIST}; and that every row is about a person of its own"


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
    return AttackResult(
        "equijoin",
        JOURNALIST,
        PUBLIC_LIST,
        _named(scene),
        _won(scene, np.arange(len(scene.target.data))),
        _named(scene.raw),
        scene.target.bound,
        details,
    )


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
    """Whom the adversary looks for and whose row is known: nobody looks for people that no list names."""
    return np.flatnonzero(scene.listed & (scene.target.truth >= 0))


def _counted(scene: JoinTarget, edges: Edges) -> dict[str, int | float | str]:
    """How many rows victims have as candidates."""
    victims = _victims(scene)
    rows = scene.target.graph.tally(edges).records[scene.kind[victims]]
    counts: dict[str, int | float | str] = {"fewest_candidates": int(rows.min()) if rows.size else 0}
    if scene.target.k is not None:
        counts["persons_below_k"] = int((rows < scene.target.k).sum())
    return counts


def _named(scene: JoinTarget) -> Rate:
    return _won(scene, scene.target.named(scene.target.graph.real))


def _won(scene: JoinTarget, rows: Ints) -> Rate:
    victims = _victims(scene)
    return Rate(int((rows[victims] == scene.target.truth[victims]).sum()), victims.size)
