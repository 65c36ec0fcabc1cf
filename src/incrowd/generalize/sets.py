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
    sets, of = _by_bits(codes, groups) if few else _by_codes(codes, groups, len(attribute))
    if attribute.family:
        sets, of = _closed(attribute.family, sets, of)
    return _cells(attribute, sets), of


def _by_bits(codes: Codes, groups: Groups) -> tuple[ValueSets, NDArray[np.int64]]:
    """Distinct sets where each value can have a bit of its own, and the set of each group."""
    bits = np.left_shift(np.int64(1), codes[groups.order])
    masks, of = np.unique(np.bitwise_or.reduceat(bits, groups.starts), return_inverse=True)
    owner, code = np.nonzero((masks[:, None] >> np.arange(BITS)) & 1)
    return _end_to_end(np.bincount(owner, minlength=masks.size), code), of


def _by_codes(codes: Codes, groups: Groups, size: int) -> tuple[ValueSets, NDArray[np.int64]]:
    """The same for any number of values: sets of one length are compared code by code."""
    sets = _sets_of_groups(codes, groups, size)
    lengths = np.diff(sets.starts)
    of = np.empty(len(groups), np.int64)
    found: list[Codes] = []
    counts: list[NDArray[np.int64]] = []
    met = 0
    for length in np.unique(lengths).tolist():
        here = np.flatnonzero(lengths == length)
        rows = sets.codes[sets.starts[here][:, None] + np.arange(length)]
        distinct, which = _distinct_rows(rows)
        of[here] = met + which
        met += len(distinct)
        found.append(distinct.ravel())
        counts.append(np.full(len(distinct), length))
    return _end_to_end(np.concatenate(counts), np.concatenate(found)), of


def _distinct_rows(rows: Codes) -> tuple[Codes, NDArray[np.int64]]:
    """The distinct rows, and which of them each row is."""
    as_one = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, of = np.unique(as_one, return_index=True, return_inverse=True)
    return rows[first], of


def _end_to_end(counts: NDArray[np.int64], codes: NDArray[np.integer]) -> ValueSets:
    return ValueSets(np.concatenate([[0], np.cumsum(counts)]), codes.astype(np.int32))


def _sets_of_groups(codes: Codes, groups: Groups, size: int) -> ValueSets:
    """The values of each group, ascending."""
    if len(groups) * size > DENSE:
        from incrowd.kernels import segments

        values, counts = np.empty(groups.order.size, np.int32), np.empty(len(groups), np.int64)
        filled = segments.distinct(codes, groups.order, groups.starts, values, counts)
        return _end_to_end(counts, values[:filled])
    present = np.zeros(len(groups) * size, np.bool_)
    present[groups.owner * size + codes[groups.order]] = True
    pairs = np.flatnonzero(present)
    return _end_to_end(np.bincount(pairs // size, minlength=len(groups)), pairs % size)


def _closed(
    family: tuple[frozenset[int], ...], sets: ValueSets, of: NDArray[np.int64]
) -> tuple[ValueSets, NDArray[np.int64]]:
    """Replace each set by the smallest permissible one that holds it."""
    by_size = sorted(family, key=len)
    closed: dict[frozenset[int], int] = {}
    to = np.empty(len(sets), np.int64)
    for i in range(len(sets)):
        wanted = frozenset(sets.of(i).tolist())
        smallest = next(member for member in by_size if wanted <= member)
        to[i] = closed.setdefault(smallest, len(closed))
    members = [sorted(member) for member in closed]
    counts = np.array([len(member) for member in members], np.int64)
    return _end_to_end(counts, np.concatenate([np.array(member) for member in members])), to[of]


def _cells(attribute: Attribute, sets: ValueSets) -> Cells:
    return Cells(
        low=sets.codes[sets.starts[:-1]],
        high=sets.codes[sets.starts[1:] - 1],
        missing=np.logical_or.reduceat(sets.codes == attribute.missing, sets.starts[:-1]),
        sets=sets,
    )
