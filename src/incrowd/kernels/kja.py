"""Which people of a public table lie inside the boxes of groups. See `algorithms.kja`."""

from __future__ import annotations

from typing import NamedTuple

from incrowd.kernels.arrays import Bools, Codes, Ints
from incrowd.kernels.jit import inlined, kernel

NOBODY = -1


@kernel
def bounds_of_groups(codes: Codes, labels: Codes, gap: Ints, low: Codes, high: Codes, gaps: Bools) -> None:
    """Codes (n, d) of groups -> low, high (g, d) over all codes but gap[j], and gaps (g, d): does it occur?

    A group that has nothing but gaps in a column keeps low above high.
    """
    n, d = codes.shape
    for i in range(n):
        g = labels[i]
        for j in range(d):
            code = codes[i, j]
            if code == gap[j]:
                gaps[g, j] = True
            else:
                low[g, j] = min(low[g, j], code)
                high[g, j] = max(high[g, j], code)


@kernel
def list_groups(low: Codes, high: Codes, starts: Ints, listed: Codes) -> None:
    """Bounds of one column (g,) -> the groups that hold each code, ascending: listed[starts[c]:starts[c+1]].

    `starts` comes as the number of groups that hold each code, one place further on.
    """
    size = starts.size - 1
    for c in range(size):
        starts[c + 1] += starts[c]
    at = starts[:-1].copy()
    for g in range(low.size):
        for c in range(low[g], high[g] + 1):
            listed[at[c]] = g
            at[c] += 1


class HeldCodes(NamedTuple):
    """Boxes over groups: bounds (g, d), does the gap ``gap[j]`` occur in column j, and members of sets.

    ``named[g, first[j] + c]`` says for a column of sets that value c is in group g; others have first[j] < 0.
    """

    low: Codes
    high: Codes
    gaps: Bools
    gap: Ints
    named: Bools
    first: Ints


@inlined
def lies_in(code: int, g: int, j: int, boxes: HeldCodes) -> bool:
    """Does the group's box hold this code in column j?"""
    if code == boxes.gap[j]:
        return bool(boxes.gaps[g, j])
    if code < boxes.low[g, j] or code > boxes.high[g, j]:
        return False
    return boxes.first[j] < 0 or bool(boxes.named[g, boxes.first[j] + code])


@kernel
def first_holders(codes: Codes, by: int, starts: Ints, listed: Codes, boxes: HeldCodes, found: Codes) -> None:
    """Codes (m, d) -> found (m,): the first group whose box holds each, NOBODY if none does.

    `listed` are the groups that hold each code of column `by`; for its gap, all are tried.
    """
    m, d = codes.shape
    groups = boxes.low.shape[0]
    for i in range(m):
        found[i] = NOBODY
        key = codes[i, by]
        everyone = key == boxes.gap[by]
        a, b = (0, groups) if everyone else (starts[key], starts[key + 1])
        for at in range(a, b):
            g = at if everyone else listed[at]
            inside = True
            for j in range(d):
                if not lies_in(codes[i, j], g, j, boxes):
                    inside = False
                    break
            if inside:
                found[i] = g
                break
