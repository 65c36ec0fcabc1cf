"""Categories without a hierarchy: the set of a group's values, closed in the family where one is given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Attribute, Cells, Codes, ValueSets
from incrowd.generalize.groups import Groups

BITS = 62  # values up to which a set is one number
DENSE = 2**27  # groups times values up to which presence is a table


def set_cells(attribute: Attribute, codes: Codes, groups: Groups) -> tuple[Cells, NDArray[np.int64]]:
    """The distinct sets of a column, and which of them each group has. Missing is a member like others."""
    few = len(attribute) <= BITS
    members, of = _by_bits(codes, groups) if few else _by_bytes(codes, groups, len(attribute))
    if attribute.family:
        members, of = _closed(attribute.family, members, of)
    return _cells(attribute, members), of


def _by_bits(codes: Codes, groups: Groups) -> tuple[list[Codes], NDArray[np.int64]]:
    """Distinct sets where each value can have a bit of its own, and the set of each group."""
    bits = np.left_shift(np.int64(1), codes[groups.order])
    masks, of = np.unique(np.bitwise_or.reduceat(bits, groups.starts), return_inverse=True)
    places = np.arange(BITS)
    return [np.flatnonzero((mask >> places) & 1).astype(np.int32) for mask in masks], of


def _by_bytes(codes: Codes, groups: Groups, size: int) -> tuple[list[Codes], NDArray[np.int64]]:
    """The same for any number of values."""
    sets = _sets_of_groups(codes, groups, size)
    distinct: dict[bytes, int] = {}
    members: list[Codes] = []
    of = np.empty(len(groups), np.int64)
    for g in range(len(groups)):
        codes_here = sets.of(g)
        at = distinct.setdefault(codes_here.tobytes(), len(members))
        if at == len(members):
            members.append(codes_here)
        of[g] = at
    return members, of


def _sets_of_groups(codes: Codes, groups: Groups, size: int) -> ValueSets:
    """The values of each group, ascending."""
    key = groups.owner * size + codes[groups.order]
    if len(groups) * size <= DENSE:
        present = np.zeros(len(groups) * size, np.bool_)
        present[key] = True
        pairs = np.flatnonzero(present)
    else:
        pairs = np.unique(key)
    counts = np.bincount(pairs // size, minlength=len(groups))
    return ValueSets(np.concatenate([[0], np.cumsum(counts)]), (pairs % size).astype(np.int32))


def _closed(
    family: tuple[frozenset[int], ...], members: list[Codes], of: NDArray[np.int64]
) -> tuple[list[Codes], NDArray[np.int64]]:
    """Replace each set by the smallest permissible one that holds it."""
    by_size = sorted(family, key=len)
    closed: dict[frozenset[int], int] = {}
    to = np.empty(len(members), np.int64)
    for i, codes in enumerate(members):
        wanted = frozenset(codes.tolist())
        smallest = next(member for member in by_size if wanted <= member)
        to[i] = closed.setdefault(smallest, len(closed))
    return [np.array(sorted(member), np.int32) for member in closed], to[of]


def _cells(attribute: Attribute, members: list[Codes]) -> Cells:
    sizes = np.array([codes.size for codes in members], np.int64)
    flat = np.concatenate(members) if members else np.zeros(0, np.int32)
    return Cells(
        low=np.array([codes[0] for codes in members], np.int32),
        high=np.array([codes[-1] for codes in members], np.int32),
        missing=np.array([attribute.missing in codes for codes in members], np.bool_),
        sets=ValueSets(np.concatenate([[0], np.cumsum(sizes)]), flat),
    )
