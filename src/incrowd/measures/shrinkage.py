"""Shrinkage: how much narrower the rows of others get when people of one combination leave their class.

One person who is far from the others of a class widens the cells of all. How much is known without grouping
anew: only who alone has the smallest or largest value of a column, or alone a value of a set, makes a cell
narrower by leaving.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Attribute, Codes, Microdata, distinct_rows
from incrowd.schema import Shape

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """The distinct combinations of quasi-identifiers, in their order.

    ``of`` (n,) is the combination of each record, ``records`` (u,) how many have it, and ``saved`` (u,) how
    much all others of their classes lose less if these leave: 1 is all that a row can say.
    """

    of: Ints
    records: Ints
    saved: Floats

    def dearest(self) -> list[int]:
        """Those that save others something, most for each record first; of equal ones the first in order."""
        each = np.round(self.saved / self.records, 12)  # so that sums that differ by rounding are equal
        order = np.argsort(-each, kind="stable")
        found: list[int] = order[each[order] > 0].tolist()
        return found


def shrinkage(data: Microdata, labels: Codes) -> Combinations:
    """What others save, in the smallest cells over the groups (n,) of a partition that has everybody."""
    n, d = data.codes.shape
    sizes = [len(attribute) for attribute in data.attributes]
    _, of = distinct_rows(list(data.codes.T), sizes, n)
    records = np.bincount(of)
    pair = labels * np.int64(records.size) + of
    _, first, times = np.unique(pair, return_index=True, return_counts=True)
    group = labels[first].astype(np.int64)
    narrower = np.zeros(first.size)
    for j, attribute in enumerate(data.attributes):
        if len(attribute) > 1:
            narrower += narrower_cells(attribute, group, data.codes[first, j].astype(np.int64))
    others = np.bincount(labels)[group] - times
    saved = np.bincount(of[first], narrower * others / d, records.size)
    return Combinations(of, records, saved.astype(np.float64))


def narrower_cells(attribute: Attribute, group: Ints, codes: Ints) -> Floats:
    """How much the cell of its group shrinks, as a share of the domain, without each member (p,)."""
    if attribute.shape is Shape.SET:
        return _smaller_set(attribute, group, codes)
    beside = len(attribute.tree.leaves) if attribute.tree is not None else -1
    missing = codes == (beside if attribute.shape is Shape.TREE else attribute.missing)
    lacking = np.bincount(group[missing], minlength=int(group.max()) + 1)[group]
    low, high, low_without, high_without = _ends(group, np.where(missing, -1, codes))
    now = _cost(attribute, low, high, lacking > 0)
    return now - _cost(attribute, low_without, high_without, lacking - missing > 0)


def _ends(group: Ints, codes: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Smallest and largest code of each member's group, and the same without the member; -1 if there is none.

    A code of -1 is no value.
    """
    low, low_without = _least(group, np.where(codes < 0, _NONE, codes))
    high, high_without = _least(group, np.where(codes < 0, _NONE, -codes))
    low, low_without = (np.where(end == _NONE, -1, end) for end in (low, low_without))
    high, high_without = (np.where(end == _NONE, -1, -end) for end in (high, high_without))
    return low, high, low_without, high_without


_NONE = 2**40  # in the place of a code: above all of them


def _least(group: Ints, codes: Ints) -> tuple[Ints, Ints]:
    """The smallest code of each member's group, and the smallest of the others of the group."""
    order = np.lexsort((codes, group))
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    place = np.searchsorted(starts, np.arange(group.size), side="right") - 1  # of a member, in order
    second = np.append(codes[order], _NONE)[starts + 1]
    second[np.diff(starts, append=group.size) == 1] = _NONE
    found = np.empty((2, group.size), np.int64)
    found[0, order] = codes[order][starts][place]
    found[1, order] = codes[order][starts][place]
    found[1, order[starts]] = second
    return found[0], found[1]


def _cost(attribute: Attribute, low: Ints, high: Ints, missing: NDArray[np.bool_]) -> Floats:
    """The share of its domain that a cell from `low` to `high` covers, with missing or without."""
    others, some = len(attribute) - 1, low >= 0
    if attribute.shape is Shape.RANGE:
        span = attribute.span
        wide = (attribute.position[high] - attribute.position[low]) / span if span > 0 else np.zeros(low.size)
        return np.minimum(np.where(some, wide + missing / others, 0.0), 1.0)
    tree = attribute.tree
    if tree is None:
        raise ValueError("a tree-shaped attribute needs its hierarchy")
    node = tree.coverings(np.where(some, low, 0), np.where(some, high, 0))
    covered = (tree.sizes()[node] - 1 + missing) / others
    whole = (node == 0) & (len(attribute) > len(tree.leaves))  # the root stands for missing, too
    return np.where(some, np.where(whole, 1.0, covered), 0.0)


def _smaller_set(attribute: Attribute, group: Ints, codes: Ints) -> Floats:
    """The same for a set of values: it shrinks without a value that only one member has."""
    size = len(attribute)
    pair, where, times = np.unique(group * size + codes, return_inverse=True, return_counts=True)
    values = np.bincount(pair // size)[group]
    alone = (times[where] == 1) & (values > 1)
    if not attribute.family:
        return np.where(alone, 1.0 / (size - 1), 0.0)
    found = np.zeros(group.size)
    by_size = sorted(attribute.family, key=len)
    ends = np.searchsorted(pair, np.arange(int(group.max()) + 2) * size)
    for member in np.flatnonzero(alone).tolist():
        held = frozenset((pair[ends[group[member]] : ends[group[member] + 1]] % size).tolist())
        both = (held, held - {int(codes[member])})
        now, then = (next(len(each) for each in by_size if some <= each) for some in both)
        found[member] = (now - then) / (size - 1)
    return found
