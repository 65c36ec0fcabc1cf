"""Reading a sensitive value off the group in which a person's row is, where values stand apart from rows.

References
----------
Sacharidis, Mouratidis, Papadias, "k-Anonymity in the Presence of External Databases", TKDE 2010, section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from incrowd.attacks.joined import JoinTarget
from incrowd.attacks.rate import Rate
from incrowd.attacks.result import AttackResult
from incrowd.attacks.target import Ints
from incrowd.errors import TableError


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The sensitive values that stand apart: value ``value[i]`` is one of the group ``group[i]``."""

    group: Ints
    value: Ints

    def top(self, groups: int) -> tuple[Ints, Ints, Ints]:
        """The commonest value of each group, how often it is there, and of how many; the least of equals."""
        pairs, often = np.unique(np.stack([self.group, self.value]), axis=1, return_counts=True)
        ranked = np.lexsort((pairs[1], -often, pairs[0]))
        first = ranked[np.flatnonzero(np.diff(pairs[0][ranked], prepend=-1))]
        common, count = np.full(groups, -1, np.int64), np.zeros(groups, np.int64)
        common[pairs[0][first]], count[pairs[0][first]] = pairs[1][first], often[first]
        return common, count, np.bincount(self.group, minlength=groups)


def in_group(
    scene: JoinTarget,
    name: str,
    own: Ints,
    lines: Lines,
    l: Fraction | None = None,  # noqa: E741
) -> AttackResult:
    """The commonest value of the victim's group.

    Parameters
    ----------
    name : str
        The sensitive column.
    own : array
        The value of each person of the private table.
    lines : Lines
        What the release says of the groups.
    l : Fraction, optional
        What was promised: no value has more than 1/l of a group.
    """
    if scene.group is None:
        raise TableError("there are no groups of sensitive values")
    who, label = scene.of_own
    classes = label.astype(np.int64)
    groups = scene.group[scene.target.truth[who]].astype(np.int64)
    won, sure, largest = told(groups, own[who], lines)
    # The control: values by classes, in which some stand alone, as a release in one step would have them.
    control, exposed, _ = told(classes, own[who], Lines(classes, own[who]))
    common = int(np.bincount(own).argmax()) if own.size else 0
    return AttackResult(
        f"groups-{name}",
        "prosecutor",
        "everyone's quasi-identifiers, who is in the private table, and the values of each group",
        won,
        Rate(int((own[who] == common).sum()), who.size),
        control,
        None if l is None else 1 / l,
        {
            "persons_exposed": sure,
            "largest_share": float(largest),
            "persons_exposed_if_by_classes": exposed,
        },
    )


def told(groups: Ints, own: Ints, lines: Lines) -> tuple[Rate, int, Fraction]:
    """How often the commonest value of a group is one's own, for how many surely, and its largest share.

    Parameters
    ----------
    groups, own : arrays of shape (n,)
        The group and the value of each person.

    Examples
    --------
    >>> lines = Lines(np.array([0, 0, 0, 1]), np.array([2, 2, 5, 7]))
    >>> told(np.array([0, 0, 0, 1]), np.array([2, 5, 2, 7]), lines)
    (Rate(won=3, tried=4), 1, Fraction(1, 1))
    """
    if not groups.size:
        return Rate(0, 0), 0, Fraction(0)
    size = int(max(groups.max(), lines.group.max(initial=-1))) + 1
    common, count, of = lines.top(size)
    right = Rate(int((common[groups] == own).sum()), groups.size)
    sure = int((count[groups] == of[groups]).sum())
    pairs = np.unique(np.stack([count[groups], of[groups]]), axis=1).T.tolist()
    return right, sure, max(Fraction(often, many) for often, many in pairs)
