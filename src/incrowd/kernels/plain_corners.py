"""Is a group plain in the corner form? Boxes that grow, their corners, and a table of what is known of nodes.

A node is a corner with a value. Where floats cannot tell whether it is an outlier, a kernel stops and says
which node it is; once that is in the table, it goes on where it was.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Codes, Floats, Ints, Marks
from incrowd.kernels.exact import Spans
from incrowd.kernels.jit import borrowed, inlined, inner, kernel
from incrowd.kernels.outliers import BAD as DECIDED_BAD
from incrowd.kernels.outliers import GOOD, UNSURE, Bound, DistanceForest, Scratch, decide

LINE, NODE, SET = 0, 1, 2
MOST = 2**16  # corners of a group
NO, YES, ASK, CROWDED, CORNERS = 0, 1, 2, 3, 4  # what is found, or why that is not known yet
# in `tally` of GrowingGroup: records, different values, nodes in the table (around which records were
# counted), what failed last (corner, value), how often a node was asked about
MEMBERS, VALUES, KNOWN, HINT, ASKED = 0, 1, 2, 3, 13
TALLY = 16
KIND, START, SIZE, MISSING, PART, APART = 0, 1, 2, 3, 4, 5  # in `column` of CornerDomain
# in `node` of CornerDomain
PARENT, BOTTOM, TOP, WIDTH, MORE, LEAST, MOST_PLACE, HOLDS = range(8)
LOW, HIGH, REAL, MASK = 0, 1, 2, 3  # in `box` of GrowingGroup
COUNT = 3  # in `ends` of GrowingGroup, behind the codes
EMPTY, FINE, BAD = 0, 1, 2  # what the table says of a node
# typed, or what is called with them is compiled once more for each literal number
ALL: Any = np.int64(0)  # the group as it is
WITH: Any = np.int64(1)  # with somebody else
NONE: Any = np.int64(-1)


class CornerDomain(NamedTuple):
    """Quasi-identifiers by code, all attributes end to end; `column` (d, 6) says where each begins.

    ``axis`` is where a code lies, in whole parts of the column's span in ``spans``; ``coordinate`` the same
    for distances (NaN if missing). PART is which of the columns of distances a column is, -1 if none; if
    missing lies outside the permissible sets (APART) it is code 0. `node` (v, 8) are permissible sets: the
    codes BOTTOM to TOP, how wide a cell is without and with missing beside it (WIDTH, MORE), the codes of
    its corners (LEAST, MOST_PLACE; -1 if it holds missing alone), and whether it HOLDS missing. ``values``
    (s, columns of distances) are the sensitive values, which stand in the last columns.
    """

    column: Ints
    spans: Spans
    axis: Ints
    coordinate: Floats
    leaf: Ints
    node: Ints
    values: Floats


class GrowingGroup(NamedTuple):
    """The group that grows: its bounds ``box[0]`` (4, d), and with somebody else ``box[1]``.

    REAL is the smallest code that is not missing, MASK has a bit for each code of a set. ``has`` counts the
    records with each value. The rest is room for work: `ends` for corners, `key` and `point` for a node.
    """

    box: Ints
    has: Ints
    values: Ints
    members: Ints
    tally: Ints
    ends: Ints
    key: Codes
    point: Floats


class KnownNodes(NamedTuple):
    """What is known of nodes, by the codes of a corner and the number of a value."""

    keys: Codes
    state: Marks


class OutlierTest(NamedTuple):
    """Trees over records, and when a point is decided.

    ``outline`` are trees without sensitive columns: who is an outlier there is one with any value.
    """

    forest: DistanceForest
    bound: Bound
    room: Scratch
    outline: DistanceForest
    around: Scratch


@inlined
@borrowed
def place_of(key: Codes, memo: KnownNodes) -> Any:
    """Where a node is in the table, or would be."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for j in range(key.size):
        mixed = (mixed ^ np.uint64(key[j])) * np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(32)
    mask = memo.state.size - 1
    at = np.int64(mixed & np.uint64(mask))
    while memo.state[at]:
        same = True
        for j in range(key.size):
            if memo.keys[at, j] != key[j]:
                same = False
                break
        if same:
            break
        at = (at + 1) & mask
    return at


@inlined
@borrowed
def enter(key: Codes, at: int, state: int, memo: KnownNodes) -> None:
    """Write a node to its place in the table."""
    for j in range(key.size):
        memo.keys[at, j] = key[j]
    memo.state[at] = state


@kernel
@borrowed
def remember(keys: Codes, state: Marks, memo: KnownNodes) -> None:
    """Put nodes (q, d+1) into the table."""
    for q in range(keys.shape[0]):
        if state[q]:
            enter(keys[q], place_of(keys[q], memo), state[q], memo)


@inlined
@borrowed
def no_outlier(domain: CornerDomain, group: GrowingGroup, memo: KnownNodes, test: OutlierTest) -> Any:
    """Is the node at ``group.key`` no outlier? YES, NO, or ASK or CROWDED."""
    key, point, tally = group.key, group.point, group.tally
    tally[ASKED] += 1
    at = place_of(key, memo)
    if memo.state[at]:
        return YES if memo.state[at] == FINE else NO
    if 4 * tally[KNOWN] > 3 * memo.state.size:
        return CROWDED
    d = key.size - 1
    for c in range(point.size):
        point[c] = domain.values[key[d], c]
    for j in range(d):
        column = domain.column[j]
        if column[PART] >= 0:
            point[column[PART]] = domain.coordinate[column[START] + key[j]]
    answer = decide(test.forest, test.bound, point, test.room)
    if answer == UNSURE:
        return ASK
    enter(key, at, FINE if answer == GOOD else BAD, memo)
    tally[KNOWN] += 1
    return YES if answer == GOOD else NO


@inlined
@borrowed
def hopeless(domain: CornerDomain, group: GrowingGroup, memo: KnownNodes, test: OutlierTest) -> Any:
    """Is the corner at ``group.key`` an outlier by its quasi-identifiers alone, so with any value?"""
    key, point, d = group.key, group.point, group.key.size - 1
    key[d] = -1
    group.tally[ASKED] += 1
    at = place_of(key, memo)
    if memo.state[at] == EMPTY:
        if 4 * group.tally[KNOWN] > 3 * memo.state.size:
            return CROWDED
        for j in range(d):
            column = domain.column[j]
            if column[PART] >= 0:
                point[column[PART]] = domain.coordinate[column[START] + key[j]]
        answer = decide(test.outline, test.bound, point[: test.outline.gap.size], test.around)
        enter(key, at, FINE if answer != DECIDED_BAD else BAD, memo)
        group.tally[KNOWN] += 1
    return YES if memo.state[at] == BAD else NO


@inlined
@borrowed
def node_over(start: int, low: int, high: int, leaf: Ints, node: Ints) -> Any:
    """The smallest permissible set over codes low..high."""
    here = leaf[start + low]
    while node[here, TOP] < high:
        here = node[here, PARENT]
    return here


@inner
@borrowed
def lay_corners(box: Ints, domain: CornerDomain, ends: Ints) -> Any:
    """Write the codes at which corners lie -> how many corners there are."""
    corners = 1
    for j in range(ends.shape[0]):
        column, count = domain.column[j], 0
        low, high, real, missing = box[LOW, j], box[HIGH, j], box[REAL, j], column[MISSING]
        gone = low == missing and column[APART] == 1
        if column[PART] < 0:
            ends[j, 0], count, gone = 0, 1, False
        elif gone and high == missing:
            pass
        elif column[KIND] == NODE:
            start = real if column[APART] else low
            node = domain.node[node_over(column[START], start, high, domain.leaf, domain.node)]
            gone |= node[HOLDS] == 1
            if node[LEAST] >= 0:
                ends[j, 0], ends[j, 1] = node[LEAST], node[MOST_PLACE]
                count = 1 if ends[j, 0] == ends[j, 1] else 2
        else:
            ends[j, 0], ends[j, 1] = real, high
            count = 1 if real == high else 2
        if gone:
            ends[j, count] = missing
            count += 1
        ends[j, COUNT] = count
        corners = min(corners * count, MOST + 1)
    return corners


@kernel
@borrowed
def plain(
    row: int, extra: int, domain: CornerDomain, group: GrowingGroup, memo: KnownNodes, test: OutlierTest
) -> Any:
    """Is no corner bad with all values, and no value bad at all corners? YES, NO, or why that is not known.

    Row 1 is the group with the value `extra`; -1 is none. What failed last is looked at first.
    """
    tally, ends = group.tally, group.ends
    corners, values = lay_corners(group.box[row], domain, ends), tally[VALUES]
    if corners > MOST:
        return CORNERS
    if extra >= 0 and group.has[extra] == 0:
        group.values[values] = extra
        values += 1
    d = ends.shape[0]
    for by_value in range(2):
        outer, inner = (values, corners) if by_value else (corners, values)
        begin = tally[HINT + by_value] if tally[HINT + by_value] < outer else 0
        for step in range(outer):
            a = begin + step if begin + step < outer else begin + step - outer
            answer = NO
            for b in range(inner):
                corner = b if by_value else a
                for j in range(d):
                    group.key[j] = ends[j, corner % ends[j, COUNT]]
                    corner //= ends[j, COUNT]
                if b == 0 and by_value == 0:
                    lost = hopeless(domain, group, memo, test)
                    if lost != NO:
                        answer = NO if lost == YES else lost
                        break
                group.key[d] = group.values[a if by_value else b]
                answer = no_outlier(domain, group, memo, test)
                if answer:
                    break
            if answer != YES:
                tally[HINT + by_value] = a
                return answer
    return YES


@kernel
@borrowed
def widen(old: Ints, codes: Ints, column: Ints, new: Ints) -> None:
    """Let a box be another with a record's codes (d,)."""
    for j in range(codes.size):
        code = codes[j]
        new[LOW, j] = min(old[LOW, j], code)
        new[HIGH, j] = max(old[HIGH, j], code)
        new[REAL, j] = old[REAL, j]
        if code != column[j, MISSING]:
            new[REAL, j] = min(old[REAL, j], code)
        if column[j, KIND] == SET:
            new[MASK, j] = old[MASK, j] | (1 << code)


@kernel
@borrowed
def clear(group: GrowingGroup) -> None:
    """Let the group be empty."""
    for i in range(group.tally[VALUES]):
        group.has[group.values[i]] = 0
    group.tally[MEMBERS], group.tally[VALUES] = 0, 0
    for j in range(group.box.shape[2]):
        group.box[0, LOW, j], group.box[0, HIGH, j] = 2**31, -1
        group.box[0, REAL, j], group.box[0, MASK, j] = 2**31, 0


@kernel
@borrowed
def join(record: int, codes: Ints, value: int, column: Ints, group: GrowingGroup) -> None:
    """Let a record join the group."""
    widen(group.box[0], codes, column, group.box[0])
    if group.has[value] == 0:
        group.values[group.tally[VALUES]] = value
        group.tally[VALUES] += 1
    group.has[value] += 1
    group.members[group.tally[MEMBERS]] = record
    group.tally[MEMBERS] += 1
