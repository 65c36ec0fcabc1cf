"""DEAL and FORGET: who of each value goes into which bucket, by chance; then values become colours.

This is the only place that knows the value of a person. What it hands on is a set of people with colours
whose numbers were permuted by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.transparent.plan import PlannedBucket, plan
from incrowd.assign import Entropy, shuffled
from incrowd.flow import Codes

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Bucket:
    """People, ascending, and their colours 0..l-1, equally many of each; None where they stay one group."""

    people: Ints
    colours: Codes | None


def dealt(people: Ints, values: Codes, l: int, k: int, entropy: Entropy) -> list[Bucket]:  # noqa: E741
    """The buckets of a stratum: `values` are those of its `people`.

    Chance is asked for an order of the values, which settles ties between equally frequent ones; then for an
    order of the people of each value; then, for each bucket, for an order of its colours.
    """
    present, of = np.unique(values, return_inverse=True)
    value = order_of_values(present.size, entropy)[of.reshape(-1)]
    sorted_out = np.split(people[np.argsort(value, kind="stable")], np.cumsum(np.bincount(value))[:-1])
    hands = [hand[shuffled(hand.size, entropy)] for hand in sorted_out]
    buckets = plan([hand.size for hand in hands], l, k)
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
