"""Neighbourhoods over tuples: one person of each of l colours, who have equal rows and are assigned together.

With l, people are dealt and coloured as by `transparent`. Whatever is then made of tuples by
quasi-identifiers alone tells nothing of values, as long as it stays inside a bucket, where all tuples are
alike to whoever knows the values: rings, and the neighbourhoods of "k-Anonymization Revisited".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from incrowd.algorithms.partitions.lexicographic import Ints, sorted_row
from incrowd.algorithms.transparent.method import SplitBucket
from incrowd.flow import Microdata, Neighbourhoods

Around = Callable[[Microdata], Neighbourhoods]
Part = tuple[Ints, Ints]  # tuples of people (t, size), and over which tuples rows are made (t, k/size)


def over_tuples(data: Microdata, parts: Iterable[Part], k: int) -> Neighbourhoods:
    """Rows of a tuple are equal. Where a part has no colours, or k people, all its rows are."""
    n = len(data)
    members, part = np.empty((n, k), np.int32), np.empty(n, np.int32)
    tuples, equal = np.full(n, -1, np.int32), np.zeros(n, np.bool_)
    made = 0
    for number, (own, around) in enumerate(parts):
        members[own] = own[around].reshape(len(own), 1, k)
        tuples[own] = made + np.arange(len(own))[:, None]
        part[own], equal[own] = number, own.shape[1] == 1 or own.size == k
        made += len(own)
    whole = np.broadcast_to(equal[:, None], data.codes.shape)
    return Neighbourhoods(np.arange(n + 1) * k, members.ravel(), part, whole, equal, tuples)


def bucket_neighbourhoods(
    data: Microdata,
    buckets: Iterable[SplitBucket],
    l: int,  # noqa: E741  the paper's letter
    k: int,
    around: Around,
) -> Neighbourhoods:
    """In each bucket what `around` makes of its tuples: k/l tuples for each, and everyone is in k/l of them.

    A tuple stands where its people do in the middle, by the lower median of each column.
    """

    def parts() -> Iterator[Part]:
        row = places_in_row(data)
        for bucket in buckets:
            own = [one for _, one in tuples_by_class(bucket, l, row)]
            tuples = np.concatenate(own)
            if bucket.colours is None:
                yield tuples, windows(len(tuples), k)
                continue
            middle = np.sort(data.codes[tuples], axis=1)[:, (l - 1) // 2]
            found = around(Microdata(np.ascontiguousarray(middle), data.attributes))
            yield tuples, found.members.reshape(len(tuples), k // l).astype(np.int64)

    return over_tuples(data, parts(), k)


def tuples_by_class(bucket: SplitBucket, l: int, row: Ints) -> Iterator[tuple[int, Ints]]:  # noqa: E741
    """Of each class its tuples (t, l): people of each colour in the order of the row, the first together.

    Where a bucket has no colours everybody is a tuple.
    """
    colours = np.zeros(bucket.people.size, np.int32) if bucket.colours is None else bucket.colours
    size = 1 if bucket.colours is None else l
    order = np.lexsort((row[bucket.people], colours, bucket.labels))
    for own in np.split(bucket.people[order], np.cumsum(np.bincount(bucket.labels))[:-1]):
        yield size, own.reshape(size, -1).T


def windows(size: int, width: int) -> Ints:
    """Of things in a ring each with those that follow (size, width)."""
    return (np.arange(size)[:, None] + np.arange(width)) % size


def places_in_row(data: Microdata) -> Ints:
    """Where each record stands in lexicographic order."""
    order = sorted_row(data)[1]
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    return place
