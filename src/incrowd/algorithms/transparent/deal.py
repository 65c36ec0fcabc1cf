"""DEAL and FORGET: who of each value goes into which bucket, by chance; then values become colours.

This is the only place that knows the value of a person. What it hands on is a set of people with colours
whose numbers were permuted by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.transparent.plan import PlannedBucket, plan
from incrowd.algorithms.transparent.plan_several import plan_several
from incrowd.assign import Entropy, shuffled
from incrowd.flow import Codes

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Bucket:
    """People, ascending, and their colours 0..l-1, equally many of each; None where they stay one group."""

    people: Ints
    colours: Codes | None


def dealt(people: Ints, values: Codes, l: int, k: int, entropy: Entropy) -> list[Bucket]:  # noqa: E741
    """The buckets of a stratum: `values` are those of its `people`, of one column (n,) or of several (m, n).

    Chance is asked for an order of the values, or of those together that somebody has in several columns,
    which settles ties between equally frequent ones; then for an order of the people of each; then, for each
    bucket, for an order of its colours.
    """
    columns = np.atleast_2d(values)
    present, of = np.unique(columns, axis=1, return_inverse=True)
    order = order_of_values(present.shape[1], entropy)
    value = order[of.reshape(-1)]
    sorted_out = np.split(people[np.argsort(value, kind="stable")], np.cumsum(np.bincount(value))[:-1])
    hands = [hand[shuffled(hand.size, entropy)] for hand in sorted_out]
    counts = [hand.size for hand in hands]
    if len(columns) == 1:
        buckets = plan(counts, l, k)
    else:
        kinds = [tuple(kind) for kind in present.T[np.argsort(order)].tolist()]
        buckets = plan_several(kinds, counts, l, k)
    taken = [0] * len(hands)
    return [_handed_out(bucket, hands, taken, entropy) for bucket in buckets]


def order_of_values(count: int, entropy: Entropy) -> Ints:
    """A place for each value, by chance."""
    return shuffled(count, entropy)


def _handed_out(bucket: PlannedBucket, hands: list[Ints], taken: list[int], entropy: Entropy) -> Bucket:
    """The next people of each value, as many as the bucket wants."""
    colours = []
    for colour in bucket.colours:
        own = []
        for value, count in colour.items():
            own.append(hands[value][taken[value] : taken[value] + count])
            taken[value] += count
        colours.append(np.concatenate(own))
    if len(colours) == 1:
        return Bucket(np.sort(colours[0]), None)
    return _forgotten(colours, entropy)


def _forgotten(colours: list[Ints], entropy: Entropy) -> Bucket:
    """Number the colours by chance, and put the people in an order that tells nothing."""
    number = shuffled(len(colours), entropy).astype(np.int32)
    people = np.concatenate(colours)
    order = np.argsort(people)
    return Bucket(people[order], np.repeat(number, [colour.size for colour in colours])[order])
