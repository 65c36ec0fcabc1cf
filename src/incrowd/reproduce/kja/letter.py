"""Refinement by the letter: every box of the first round takes all public people inside it.

"We retrieve from JT all the records falling inside these boxes" (section 4). Boxes of TopDown overlap, so some
people of the public table are in several, and would be published several times. Then there is no bijection
between people and rows, as Definition 5 asks for; so this is for the reproduction only, and no method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.kja import own_people, with_private_people
from incrowd.algorithms.kja_printed import trimmed
from incrowd.assign import Entropy, shuffled
from incrowd.contracts import Partitioner
from incrowd.flow import Codes, Microdata, Partition, records_by_label
from incrowd.long_work import silent

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PublishedPeople:
    """Whoever has a row, as often as they have one, and the group and group of values of each row."""

    data: Microdata
    partition: Partition

    @property
    def times(self) -> float:
        """How many rows there are for each person who has one."""
        kept = self.data.codes.shape[0]
        return kept / max(kept - self.twice, 1)

    twice: int = 0


def by_the_letter(
    data: Microdata, base: Partitioner, k: int, trim: str, entropy: Entropy, at_once: bool = False
) -> PublishedPeople:
    """Group the private people; then group each box again, with all public people inside it.

    With `at_once` all people who are in some box are grouped again together, each once: "reapply TopDown on
    all data" can be read so. Groups then need not lie inside a box, and have no common group of values.
    """
    order = shuffled(len(data), entropy)
    codes, own = data.codes[order], own_people(data)[order]
    private = np.flatnonzero(own)
    first = base.group(Microdata(codes[private], data.attributes), (), silent).labels
    boxes = [
        np.concatenate([private[group], inside(codes, own, codes[private[group]])])
        for group in records_by_label(first)
    ]
    if at_once:
        boxes = [np.unique(np.concatenate(boxes))]
    return _regrouped(Microdata(codes, data.attributes, own=own), boxes, base, k, trim)


def inside(codes: Codes, own: NDArray[np.bool_], members: Codes) -> Ints:
    """The public people inside the smallest box over some people; all columns are ranges.

    Examples
    --------
    >>> codes = np.array([[0, 3], [2, 1], [1, 2], [1, 9]], np.int32)
    >>> inside(codes, np.array([True, True, False, False]), codes[:2]).tolist()
    [2]
    """
    there = ~own
    for column, low, high in zip(codes.T, members.min(axis=0), members.max(axis=0), strict=True):
        there &= (column >= low) & (column <= high)
    return np.flatnonzero(there)


def _regrouped(
    data: Microdata, boxes: list[Ints], base: Partitioner, k: int, trim: str
) -> PublishedPeople:
    """Every box grouped again; people come once for each box, and only in groups with private people."""
    rows, labels, homes, met = [], [], [], 0
    own = own_people(data)
    for home, people in enumerate(boxes):
        found = np.zeros(people.size, np.int32)
        if people.size >= 2 * k and not own[people].all():
            part = Microdata(np.ascontiguousarray(data.codes[people]), data.attributes)
            found = base.group(part, (), silent).labels
        rows.append(people)
        labels.append(met + found)
        homes.append(np.full(people.size, home, np.int32))
        met += int(found.max()) + 1
    who = np.concatenate(rows)
    copies = Microdata(data.codes[who], data.attributes, own=own[who])
    kept = with_private_people(np.concatenate(labels).astype(np.int32), own[who])
    if trim != "none":
        kept[trimmed(copies, own[who], kept, k, trim)] = -1
    buckets = np.where(kept >= 0, np.concatenate(homes), -1).astype(np.int32)
    published = who[kept >= 0]
    return PublishedPeople(copies, Partition(kept, buckets=buckets), published.size - np.unique(published).size)
