"""Known membership and planted people: what is left of classes that people of a public table fill up.

The adversary knows more than the promise allows for: who is in the private table, or which people of the
public table do not exist, having planted them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.attacks.candidates import PROSECUTOR
from incrowd.attacks.joined import Flags, JoinTarget
from incrowd.attacks.rate import Rate
from incrowd.attacks.registry import attack
from incrowd.attacks.result import AttackResult
from incrowd.attacks.target import Ints
from incrowd.errors import TableError
from incrowd.flow import Codes


@attack("membership", 140, ("joined",))
def membership(scene: JoinTarget) -> AttackResult:
    """One of the private people of the victim's class: people of the public table are not meant."""
    who, classes = scene.of_own
    size = own_class_sizes(classes, np.ones(who.size, np.bool_))
    details: dict[str, int | float | str] = {
        "persons_alone": int((size == 1).sum()),
        "smallest_crowd": int(size.min()) if size.size else 0,
    }
    if scene.target.k is not None:
        details["persons_below_k"] = int((size < scene.target.k).sum())
    return AttackResult(
        "membership",
        PROSECUTOR,
        "everyone's quasi-identifiers, and who is in the private table",
        expected(size),
        Rate(min(1, who.size), who.size),
        expected(own_class_sizes(scene.raw.of_own[1], np.ones(scene.raw.of_own[0].size, np.bool_))),
        None,  # the promise is made to those for whom membership is a secret
        details,
    )


@attack("planted", 150, ("joined", "classes", "planted"))
def planted(scene: JoinTarget, labels: Codes, invented: Flags) -> AttackResult:
    """One of the people of the victim's class who exist, for the one who invented the others.

    Parameters
    ----------
    labels, invented : arrays of shape (n,)
        As for `fakes`.
    """
    k = scene.target.k or 1
    found = fakes(labels, scene.own, invented, k)
    return AttackResult(
        "planted",
        "Sybil",
        "the public table, and who of it does not exist",
        found.rate,
        Rate(min(1, found.left.size), found.left.size),
        expected(own_class_sizes(scene.raw.of_own[1], np.ones(scene.raw.of_own[0].size, np.bool_))),
        scene.target.bound,
        {"planted_used": found.used, "persons_below_k": found.short, "smallest_crowd": found.smallest},
    )


def own_class_sizes(labels: Codes, own: Flags) -> Ints:
    """How many private people are in the group of each private person (own,); -1 is in no group.

    Examples
    --------
    >>> own = np.array([True, True, False, True, False])
    >>> own_class_sizes(np.array([0, 0, 0, 1, -1], np.int32), own).tolist()
    [2, 2, 1]
    """
    if (labels[own] < 0).any():
        raise TableError("somebody of the private table is in no group")
    return np.bincount(labels[own])[labels[own]] if own.any() else np.empty(0, np.int64)


def expected(size: Ints) -> Rate:
    """How many are found if each is picked at random from a class of this size: sums of 1/size, rounded.

    Of whole classes it is a whole number, one from each.
    """
    return Rate(min(round(float((1 / np.maximum(size, 1)).sum())), size.size), size.size)


@dataclass(frozen=True, slots=True, eq=False)
class Fakes:
    """What planted people do to classes: ``left`` (own,) are the real people of each private person's class.

    ``used`` planted people have a row, and ``short`` private people have fewer than k left.
    """

    left: Ints
    used: int
    short: int

    @property
    def smallest(self) -> int:
        """The fewest people that are left, 0 if there is nobody."""
        return int(self.left.min()) if self.left.size else 0

    @property
    def rate(self) -> Rate:
        """How often whoever planted them picks the right one."""
        return expected(self.left)


def fakes(labels: Codes, own: Flags, planted: Flags, k: int) -> Fakes:
    """What is left of everybody's class for the one who planted people in the public table.

    Parameters
    ----------
    labels : array of shape (n,)
        The group of each person of both tables, -1 for people without a row.
    own, planted : arrays of shape (n,)
        Who is in the private table, and who does not exist.
    k : int
        What was promised.

    Examples
    --------
    >>> own = np.array([True, False, False, True, False, False])
    >>> planted = np.array([False, True, True, False, False, False])
    >>> found = fakes(np.array([0, 0, 0, 1, 1, 1], np.int32), own, planted, 3)
    >>> found.left.tolist(), found.used, found.short, found.smallest
    ([1, 3], 2, 1, 1)
    """
    if not labels.shape == own.shape == planted.shape or (own & planted).any():
        raise TableError("planted people are of the public table alone, and everybody needs a group or -1")
    if (labels[own] < 0).any():
        raise TableError("somebody of the private table is in no group")
    real = (labels >= 0) & ~planted
    left = np.bincount(labels[real], minlength=int(labels.max(initial=-1)) + 1)[labels[own]]
    return Fakes(left, int((planted & (labels >= 0)).sum()), int((left < k).sum()))
