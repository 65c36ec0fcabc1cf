"""Refinement by the letter: every box of the first round takes all public people inside it.

"We retrieve from JT all the records falling inside these boxes" (section 4). Boxes of TopDown overlap, so
some people of the public table are in several, and are published several times. Then rows and people are not
one to one, as Definition 5 asks for; so this is for the reproduction only, and no method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import records_by_label
from incrowd.algorithms.kja import own_people, with_private_people
from incrowd.assign import Entropy, shuffled
from incrowd.contracts import Partitioner
from incrowd.flow import Codes, Microdata, Partition
from incrowd.long_work import silent

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class GroupedPeople:
    """Whoever may have a row, as often as they have one, and the groups; `who` numbers people."""

    data: Microdata
    partition: Partition
    who: Ints | None = None

    def again(self, labels: Codes) -> int:
        """How many rows of these groups are of somebody who has another row."""
        if self.who is None:
            return 0
        published = self.who[labels >= 0]
        return published.size - np.unique(published).size


def by_the_letter(
    data: Microdata, base: Partitioner, k: int, entropy: Entropy, at_once: bool = False
) -> GroupedPeople:
    """Group the private people; then group each box again, with all public people inside it.

    With `at_once` all people who are in some box are grouped again together, each once: "reapply TopDown on
    all data" can be read so. Their groups need not lie inside a box, and have no common group of values.
    """
    order = shuffled(len(data), entropy)
    own = own_people(data)[order]
    mixed = Microdata(data.codes[order], data.attributes, own=own)
    private = np.flatnonzero(own)
    first = base.group(Microdata(mixed.codes[private], data.attributes), (), silent).labels
    public = PublicPeople(mixed)
    boxes = [  # in the order in which people were mixed: private ones first would keep together
        np.sort(np.concatenate([private[group], public.inside(mixed.codes[private[group]])]))
        for group in records_by_label(first)
    ]
    if at_once:
        boxes = [np.unique(np.concatenate(boxes))]
    found = _regrouped(mixed, boxes, base, k)
    return replace(found, who=order[np.concatenate(boxes)])


class PublicPeople:
    """The people of the public table alone, sorted by every column; all columns are ranges.

    Examples
    --------
    >>> from incrowd.reproduce.stored import whole_numbers
    >>> codes = np.array([[0, 3], [2, 1], [1, 2], [1, 9]], np.int32)
    >>> line, own = whole_numbers("x", np.arange(10)), np.array([True, True, False, False])
    >>> public = PublicPeople(Microdata(codes, (line, line), own=own))
    >>> public.inside(codes[:2]).tolist()
    [2]
    """

    def __init__(self, data: Microdata) -> None:
        others = np.flatnonzero(~own_people(data))
        self.codes = data.codes
        self.sorted = [
            others[np.argsort(data.codes[others, j], kind="stable")] for j in range(data.codes.shape[1])
        ]
        self.values = [data.codes[order, j] for j, order in enumerate(self.sorted)]

    def inside(self, members: Codes) -> Ints:
        """Those in the smallest box over some people: of the column with fewest, those in all others."""
        ends = list(zip(members.min(axis=0), members.max(axis=0), strict=True))
        spans = [
            (np.searchsorted(values, low), np.searchsorted(values, high, "right"))
            for values, (low, high) in zip(self.values, ends, strict=True)
        ]
        by = int(np.argmin([stop - start for start, stop in spans]))
        found = self.sorted[by][slice(*spans[by])]
        for j, (low, high) in enumerate(ends):
            if j != by:
                found = found[(self.codes[found, j] >= low) & (self.codes[found, j] <= high)]
        return found


def _regrouped(data: Microdata, boxes: list[Ints], base: Partitioner, k: int) -> GroupedPeople:
    """Every box grouped again; people come once for each box, and only groups with private people are."""
    labels, met = [], 0
    own = own_people(data)
    for people in boxes:
        found = np.zeros(people.size, np.int32)
        if people.size >= 2 * k and not own[people].all():
            part = Microdata(np.ascontiguousarray(data.codes[people]), data.attributes)
            found = base.group(part, (), silent).labels
        labels.append(met + found)
        met += int(found.max()) + 1
    who = np.concatenate(boxes)
    kept = with_private_people(np.concatenate(labels).astype(np.int32), own[who])
    home = np.repeat(np.arange(len(boxes)), [people.size for people in boxes])
    buckets = np.where(kept >= 0, home, -1).astype(np.int32) if len(boxes) > 1 else None
    copies = Microdata(data.codes[who], data.attributes, own=own[who])
    return GroupedPeople(copies, Partition(kept, buckets=buckets))
