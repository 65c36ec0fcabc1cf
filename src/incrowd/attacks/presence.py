"""Membership disclosure: who of a public table is in the private one, and what is left to who knows it.

The release alone makes some likelier to be there. An adversary may know more than the promise allows for:
who is in the private table, or which people of the public table do not exist, having planted them.

Minimality: who stands alone at the border of a box is there because the algorithm needed them in it. Two
boxes are made with an eye on the private table. In the paper's trimming, people of the public table are left
out where that makes a box smaller, so that whoever still stands alone at the border of a class with more than
k is of the private table. And where the private table is grouped first, the box of a whole group is no larger
than its people.

References
----------
Nergiz, Atzori, Clifton, "Hiding the presence of individuals from shared databases", SIGMOD 2007. Sacharidis,
Mouratidis, Papadias, "k-Anonymity in the Presence of External Databases", TKDE 2010, sections 3.1 and 4.
Wong, Fu, Wang, Pei, "Minimality attack in privacy preserving data publishing", VLDB 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from incrowd.attacks.candidates import PROSECUTOR
from incrowd.attacks.joined import JoinTarget
from incrowd.attacks.registry import AttackResult, Details, Rate, attack, one_of
from incrowd.attacks.target import Flags, Floats, Ints, runs
from incrowd.errors import TableError
from incrowd.flow import Attribute, Codes
from incrowd.schema import Shape

MARGIN = Fraction(1, 50)  # how much more often than at random claims of presence may be right
FINEST = 10**6
ONE_OF_EACH_CLASS = (
    "the public table, about how many people the private one has, and that each class has one of them"
)


@dataclass(frozen=True, slots=True, eq=False)
class PresenceClaims:
    """Who is claimed to be in the private table (n,), and how often that would be right at random."""

    who: Flags
    base: Fraction

    @property
    def bound(self) -> Fraction:
        return self.base + MARGIN

    def right(self, own: Flags) -> Rate:
        """Where there is nothing to claim nobody is found, and that is certain."""
        claims = int(self.who.sum())
        return Rate(int((self.who & own).sum()), claims, exact=not claims)


@attack("presence", 110, ("joined",))
def presence(scene: JoinTarget) -> AttackResult:
    """The likelier half of those whom the release holds."""
    claims, own = likelier_half(scene), scene.own
    covered = scene.covered
    outsiders = int((~own).sum())
    absent = int((~own & ~covered).sum())
    details: Details = {
        "claims": int(claims.who.sum()),
        "certainly_absent": absent,
        "certainly_absent_share": absent / outsiders if outsiders else 0.0,
        "base_rate": float(base_rate(scene)),
    }
    shares = published_shares(scene)
    if shares is not None and shares.size:
        details["largest_share_said"] = float(shares.max())
    guess = Rate(int((own & covered).sum()), int(covered.sum()))
    control = PresenceClaims(scene.raw.covered, Fraction(0)).right(own)
    rates = claims.right(own), guess, control
    return AttackResult("presence", "table linkage", ONE_OF_EACH_CLASS, *rates, claims.bound, details)


def base_rate(scene: JoinTarget) -> Fraction:
    """The share of people of the private table among those whom some row holds."""
    covered = int(scene.covered.sum())
    return Fraction(int((scene.own & scene.covered).sum()), covered) if covered else Fraction(0)


def published_shares(scene: JoinTarget) -> Floats | None:
    """The shares of the private table that are published: of classes, else of buckets."""
    if scene.shares is not None:
        return scene.shares
    if scene.group is None or scene.people is None:
        return None
    return scene.people / np.maximum(np.bincount(scene.group, minlength=scene.people.size), 1)


def likelier_half(scene: JoinTarget) -> PresenceClaims:
    """Half of the covered people, those who are likelier than others to be there; more where equally likely.

    Of a class it is known that somebody of the private table is in it: if each is with chance s, it is
    s / (1 - (1 - s)^m) of m rows, most in small ones. The counts of buckets give s for each; else s
    is the same for all. Where rows say how many people of their class are private, it is just their share.
    """
    share = _share_of_class(scene)
    fits = np.minimum(1.0, scene.rows / np.maximum(scene.held, 1))  # who is held may be behind no row
    somebody = 1 - (1 - np.minimum(share, 1.0)) ** scene.rows if scene.shares is None else np.ones(1)
    likely = fits * share / np.maximum(somebody, np.finfo(float).tiny)
    chance = _best(scene, np.round(likely, 12))  # equal fractions may be floats that differ in a last digit
    covered = np.flatnonzero(scene.covered)
    who = np.zeros(chance.size, np.bool_)
    if not covered.size:
        return PresenceClaims(who, Fraction(0))
    least = np.sort(chance[covered])[covered.size // 2]
    who[covered] = chance[covered] >= least
    if scene.people is None and scene.shares is None:
        return PresenceClaims(who, base_rate(scene))
    at_random = float(_best(scene, fits * share)[who].mean())
    return PresenceClaims(who, Fraction(at_random).limit_denominator(FINEST))


def _share_of_class(scene: JoinTarget) -> Floats:
    """The share of people of the private table in each class, as far as it is published."""
    shares = published_shares(scene)
    if shares is None:
        return np.full(scene.rows.size, float(base_rate(scene)))
    if scene.shares is None and scene.group is not None:
        shares = shares[scene.group]
    of_rows = np.bincount(scene.target.graph.row_of, shares, scene.rows.size)
    share: Floats = of_rows / scene.rows
    return share


def _best(scene: JoinTarget, chance: Floats) -> Floats:
    """The largest number of a class that holds each person, 0 where none does (n,)."""
    kinds, classes = scene.inside
    best = np.zeros(scene.target.graph.record_weight.size)
    np.maximum.at(best, kinds, chance[classes])
    return best[scene.kind]


def members_of(scene: JoinTarget, kinds: Ints) -> Flags:
    """Everybody of these kinds (n,)."""
    met = np.zeros(scene.target.graph.record_weight.size, np.bool_)
    met[kinds] = True
    return met[scene.kind]


@attack("membership", 140, ("joined",))
def membership(scene: JoinTarget) -> AttackResult:
    """One of the private people of the victim's class: people of the public table are not meant."""
    found = _without_others(scene)
    details: Details = {"persons_alone": int((found.left == 1).sum()), "smallest_crowd": found.smallest}
    if scene.target.k is not None:
        details["persons_below_k"] = found.short
    bound = None  # the promise is made to those for whom membership is a secret
    rates = found.rate, found.blind, _without_others(scene.raw).rate
    knows = "everyone's quasi-identifiers, and who is in the private table"
    return AttackResult("membership", PROSECUTOR, knows, *rates, bound, details)


@attack("planted", 150, ("joined", "classes", "planted"))
def planted(scene: JoinTarget, labels: Codes, invented: Flags) -> AttackResult:
    """One of the people of the victim's class who exist, for the one who invented the others (`fakes`)."""
    found = fakes(labels, scene.own, invented, scene.target.k or 1)
    rates = found.rate, found.blind, _without_others(scene.raw).rate
    details = {"planted_used": found.used, "persons_below_k": found.short, "smallest_crowd": found.smallest}
    knows = "the public table, and who of it does not exist"
    return AttackResult("planted", "Sybil", knows, *rates, scene.target.bound, details)


def _without_others(scene: JoinTarget) -> Fakes:
    """What is left of everybody's class if nobody of the public table is meant."""
    classes = scene.of_own[1]
    own = np.ones(classes.size, np.bool_)
    return fakes(classes, own, ~own, scene.target.k or 1)


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
        return one_of(self.left)

    @property
    def blind(self) -> Rate:
        """Without classes: one of all."""
        return one_of(np.full(self.left.size, self.left.size))


def fakes(labels: Codes, own: Flags, planted: Flags, k: int) -> Fakes:
    """What is left of everybody's class for the one who planted people in the public table.

    `labels` (n,) is the group of each person of both tables, -1 for people without a row; `own` and `planted`
    (n,) say who is in the private table, and who does not exist.

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


RULE = "everyone's quasi-identifiers, the public table, and how people are left out"
TWO_STEPS = "everyone's quasi-identifiers, the public table, and that groups are made of private people first"


@attack("trimming", 120, ("joined",), ("trimmed",))
def trimming(scene: JoinTarget, trimmed: JoinTarget | None = None) -> AttackResult:
    """Who stands alone at the border of a class with more than k rows.

    The control, `trimmed`, is the same release with people left out as printed.
    """
    claims = PresenceClaims(alone_at_border(scene), base_rate(scene))
    control = None
    if trimmed is not None:
        control = PresenceClaims(alone_at_border(trimmed), base_rate(trimmed)).right(trimmed.own)
    return _result("trimming", RULE, scene, claims, control)


@attack("outline", 130, ("bucketed",))
def outline(scene: JoinTarget) -> AttackResult:
    """Who alone has a value that the outline of a whole bucket shows."""
    claims = PresenceClaims(alone_in_outline(scene), base_rate(scene))
    raw = scene.raw
    alone = JoinTarget(raw.target, raw.listed, raw.target.graph.row_of)
    control = PresenceClaims(alone_in_outline(alone), base_rate(scene)).right(scene.own)
    return _result("outline", TWO_STEPS, scene, claims, control)


def alone_at_border(scene: JoinTarget) -> Flags:
    """People at a side of the box of a class with more than k rows, where nobody else stands (n,).

    Both ends of a range are the value of somebody who has a row of the class, and so is each value of a
    set. A node of a tree says less: there, nobody may be inside who could have no row of the class.
    """
    kinds, classes = scene.inside
    weight = scene.target.graph.record_weight
    large = (scene.rows > (scene.target.k or 1)) & ~scene.shared
    full = scene.rows == scene.held
    claimed = [np.empty(0, np.int64)]
    for j, attribute in enumerate(scene.target.data.attributes):
        here = large[classes] & (full[classes] | (attribute.shape is not Shape.TREE))
        alone = _alone_at_ends(scene.codes[kinds, j], classes, weight[kinds], scene.rows.size)
        claimed.append(kinds[here & alone])
    return members_of(scene, np.concatenate(claimed))


def alone_in_outline(scene: JoinTarget) -> Flags:
    """People who alone have an end of a range, or a value of a set, of all rows of their group (n,).

    The private people of a group lie inside its rows, and its ranges and sets are no wider than they are.
    """
    if scene.group is None:
        return np.zeros(scene.own.size, np.bool_)
    kinds, groups = _in_groups(scene, scene.group)
    weight = scene.target.graph.record_weight[kinds]
    claimed = [np.empty(0, np.int64)]
    for j, attribute in enumerate(scene.target.data.attributes):
        if attribute.shape is not Shape.TREE:
            claimed.append(kinds[_needed(attribute, scene.codes[kinds, j], groups, weight)])
    return members_of(scene, np.concatenate(claimed))


def _needed(attribute: Attribute, codes: Codes, groups: Ints, weight: Ints) -> Flags:
    """Of pairs of a person and a group: whether the group's cell says a value that only they have."""
    size = int(groups.max(initial=-1)) + 1
    if attribute.shape is Shape.SET:
        value = groups * len(attribute) + codes
        alone: Flags = np.bincount(value, weight)[value] == 1
        return alone
    missing = codes == attribute.missing
    needed = np.zeros(codes.size, np.bool_)
    for some in (missing, ~missing):  # missing is named besides the range
        needed[some] = _alone_at_ends(codes[some], groups[some], weight[some], size)
    return needed


def _alone_at_ends(codes: Codes, boxes: Ints, weight: Ints, size: int) -> Flags:
    """Which pairs of a person and a box are such that nobody else in the box stands at this end of it."""
    low, high = np.full(size, np.iinfo(np.int32).max), np.full(size, -1)
    np.minimum.at(low, boxes, codes)
    np.maximum.at(high, boxes, codes)
    alone = np.zeros(codes.size, np.bool_)
    for end in (low, high):
        here = codes == end[boxes]
        alone |= here & (np.bincount(boxes[here], weight[here], size)[boxes] == 1)
    return alone


def _in_groups(scene: JoinTarget, group: Codes) -> tuple[Ints, Ints]:
    """Kinds of people and the groups that have a row which holds them, as pairs."""
    kinds, classes = scene.inside
    size = int(group.max(initial=0)) + 1
    shown = np.unique(scene.target.graph.row_of.astype(np.int64) * size + group)
    starts = np.searchsorted(shown // size, np.arange(scene.rows.size + 1))
    many = np.diff(starts)[classes]
    groups = shown[runs(starts[classes], many)] % size
    pairs = np.unique(np.repeat(kinds, many) * size + groups)
    return pairs // size, pairs % size


def _result(
    name: str, knows: str, scene: JoinTarget, claims: PresenceClaims, control: Rate | None
) -> AttackResult:
    right = claims.right(scene.own)
    own = int(scene.own.sum())
    details: Details = {
        "claims": right.tried,
        "persons_given_away": int(right.won),
        "given_away_share": int(right.won) / own if own else 0.0,
        "base_rate": float(claims.base),
    }
    covered = scene.covered
    guess = Rate(int((scene.own & covered).sum()), int(covered.sum()))
    rates, links = (right, guess, control), "the audit folder with its links beside the release"
    needs = links if control is None else AttackResult.control_needs
    return AttackResult(name, "minimality", knows, *rates, claims.bound, details, needs)
