"""Minimality: who stands alone at the border of a box is there because the algorithm needed them in it.

Two boxes are made with an eye on the private table. In the paper's trimming, people of the public table are
left out where that makes a box smaller, so that whoever still stands alone at the border of a class with more
than k is of the private table. And where the private table is grouped first, the box of a whole group
is no larger than its people.

References
----------
Sacharidis, Mouratidis, Papadias, "k-Anonymity in the Presence of External Databases", TKDE 2010, section 4.
Wong, Fu, Wang, Pei, "Minimality attack in privacy preserving data publishing", VLDB 2007.
"""

from __future__ import annotations

import numpy as np

from incrowd.attacks.joined import JoinTarget
from incrowd.attacks.presence import PresenceClaims, base_rate, members_of
from incrowd.attacks.registry import attack
from incrowd.attacks.result import AttackResult, Details, Rate
from incrowd.attacks.target import Flags, Ints, runs
from incrowd.flow import Attribute, Codes
from incrowd.schema import Shape

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
        "persons_given_away": right.won,
        "given_away_share": right.won / own if own else 0.0,
        "base_rate": float(claims.base),
    }
    covered = scene.covered
    guess = Rate(int((scene.own & covered).sum()), int(covered.sum()))
    return AttackResult(name, "minimality", knows, right, guess, control, claims.bound, details)
