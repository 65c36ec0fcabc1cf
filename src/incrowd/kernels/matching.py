"""One perfect matching of a regular bipartite graph, in which every edge is equally likely.

Even degree: pair the edges of every record and every row at random; they form circuits, and along a circuit
every second edge is kept, which half by a fair coin. What is kept is regular with half the degree.

Odd degree: draw a perfect matching by random walks. From an unmatched record take a random edge, jump to
the record that holds its row, and so on until a row is free; then shift everybody along the path. In a
regular graph that takes n log n steps, whatever the graph (Goel, Kapralov, Khanna 2010).

Every kernel that needs chance takes random bytes, returns how far it read, or -1 where they ran out, and goes
on from `here` when it is called again with others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import AnyInts, Bools, Bytes, Codes, Int, Ints
from incrowd.kernels.jit import inlined, kernel

NOBODY = -1
OUT_OF_BYTES = -1


@inlined
def below(limit: int, dice: Bytes, at: int) -> Any:
    """A number below `limit` < 2^31 from random bytes -> (number, next byte), or next -1. No bias.

    Words of one, two or four bytes are scaled to the limit; those that would give a number more words than
    another are refused (Lemire 2019), less than one in four.
    """
    width = 1 if limit <= 64 else (2 if limit <= 16384 else 4)
    bits = 8 * width
    while at + width <= dice.size:
        word = np.int64(dice[at])
        for more in range(1, width):
            word = word << 8 | np.int64(dice[at + more])
        at += width
        scaled = word * limit
        low = scaled & ((1 << bits) - 1)
        if low >= limit or low >= (1 << bits) % limit:
            return scaled >> bits, at
    return np.int64(0), np.int64(OUT_OF_BYTES)


@kernel
def pair_up(slots: AnyInts, here: Ints, dice: Bytes, at: int) -> Any:
    """Pair the entries of each line of `slots` (n, even) at random: 0 with 1, 2 with 3 -> next byte."""
    n, degree = slots.shape
    for line in range(here[0], n):
        for slot in range(1, degree - 1, 2):
            step, at = below(degree - slot, dice, at)
            if at == OUT_OF_BYTES:
                here[0] = line
                return at
            slots[line, slot], slots[line, slot + step] = slots[line, slot + step], slots[line, slot]
    here[0] = n
    return at


@kernel
def incidence(edges: Codes, listed: AnyInts, filled: Codes) -> None:
    """Number the edges (n, d) one after the other, and list (rows, d) the numbers of each row's."""
    n, degree = edges.shape
    for record in range(n):
        for slot in range(degree):
            row = edges[record, slot]
            listed[row, filled[row]] = record * degree + slot
            filled[row] += 1


@kernel
def partners(listed: AnyInts, partner: AnyInts) -> None:
    """Each edge's partner (m,) at its row, from edges listed in pairs (rows, d)."""
    for row in range(listed.shape[0]):
        for slot in range(0, listed.shape[1], 2):
            one, other = listed[row, slot], listed[row, slot + 1]
            partner[one] = other
            partner[other] = one


@kernel
def halve(edges: Codes, partner: AnyInts, kept: Codes, here: Ints, dice: Bytes, at: int) -> Any:
    """Keep one edge (m/2,) of every pair at a record, and so one of every pair at a row -> next byte.

    `edges` (m,) are the rows of edges, of which 2i and 2i+1 are a pair of one record; `partner` (m,) is the
    other edge of a pair at a row; `kept` are rows and starts as NOBODY.
    """
    for first in range(here[0], kept.size):
        if kept[first] == NOBODY:
            if at == dice.size:
                here[0] = first
                return np.int64(OUT_OF_BYTES)
            edge = np.int64(2 * first + (dice[at] & 1))  # a fair coin for each circuit
            at += 1
            while kept[edge >> 1] == NOBODY:
                kept[edge >> 1] = edges[edge]
                edge = np.int64(partner[edge] ^ 1)  # the partner goes, so the other edge of its pair stays
    here[0] = kept.size
    return at


@kernel
def match(edges: Codes, held: Codes, owner: Codes, exit_slot: Codes, here: Ints, dice: Bytes, at: int) -> Any:
    """A random perfect matching of `edges` (n, d) -> next byte.

    `held` (n,) is the slot of a record's row among its edges, `owner` (rows,) the record that holds a row;
    all three start as NOBODY. `exit_slot` (n,) is the slot by which each record was left last, which cuts
    loops out of the way. `here` is (record to be matched, record that the walk has come to).
    """
    n, degree = edges.shape
    for start in range(here[0], n):
        record = np.int64(here[1]) if start == here[0] else np.int64(start)
        while record != NOBODY:
            taken = held[record]
            slot, at = below(degree if taken == NOBODY else degree - 1, dice, at)
            if at == OUT_OF_BYTES:
                here[0], here[1] = start, record
                return at
            # Any edge but the one it holds, counted from the one after the last exit: just as even, and a
            # source of chance that is stuck still finds a way out.
            after = exit_slot[record] + 1
            if taken != NOBODY and slot >= (taken - after if taken >= after else taken - after + degree):
                slot += 1
            slot += after
            if slot >= degree:
                slot -= degree
            exit_slot[record] = slot
            record = np.int64(owner[edges[record, slot]])
        shift(start, edges, held, owner, exit_slot)
    here[0] = n
    return at


@inlined
def shift(start: int, edges: Codes, held: Codes, owner: Codes, exit_slot: Codes) -> None:
    """Give every record on the way the row by which it was left."""
    record = np.int64(start)
    while record != NOBODY:
        slot = exit_slot[record]
        row = edges[record, slot]
        held[record] = slot
        robbed = np.int64(owner[row])
        owner[row] = record
        record = robbed


@kernel
def settle(
    edges: Codes, held: Codes, over: Bools, label: Codes, record_at: Codes, row_at: Codes, row: Ints
) -> Any:
    """Give components that are `over` (c,) the rows they hold, take them from the others -> records left.

    `edges` (n, d) become (left, d-1) in place; `label`, `record_at` and `row_at` (n,), as `gather` made them,
    shrink too. A component has as many rows as records and both lie together, so whatever goes before a
    component moves its records and its rows by the same number.
    """
    n, degree = edges.shape
    flat = edges.reshape(-1)
    at, gone = 0, 0
    for record in range(n):
        if over[label[record]]:
            row[record_at[record]] = row_at[edges[record, held[record]]]
            continue
        if at == 0 or label[record] != label[at - 1]:
            gone = record - at
        write = at * (degree - 1)
        for slot in range(degree):
            if slot != held[record]:
                flat[write] = edges[record, slot] - gone
                write += 1
        label[at], record_at[at], row_at[at] = label[record], record_at[record], row_at[record]
        at += 1
    return at


@kernel
def components(edges: Codes, root: Codes, degree: Codes) -> Any:
    """The smallest row of each row's component (rows,) and the degree of rows -> is every row in bounds?

    `edges` (n, k) are the rows of each record; `root` starts as every row itself, `degree` as 0.
    """
    for record in range(edges.shape[0]):
        one = np.int64(0)
        for slot in range(edges.shape[1]):
            other = np.int64(edges[record, slot])
            if other < 0 or other >= root.size:
                return False
            degree[other] += 1
            if slot == 0:
                one = other
            if root[other] != one:
                one, other = find(root, one), find(root, other)
                one, other = min(one, other), max(one, other)
                root[other] = one
    for row in range(root.size):
        root[row] = root[root[row]]
    return True


@inlined
def find(root: Codes, row: Int) -> Any:
    """The root of a row; everybody on the way is led past one."""
    while root[row] != row:
        root[row] = root[root[row]]
        row = np.int64(root[row])
    return row


@kernel
def gather(edges: Codes, root: Codes, record_at: Codes, row_at: Codes, label: Codes, out: Codes) -> Any:
    """Number records and rows anew, component by component -> how many there are.

    `record_at`, `row_at` (n,) say who has each number, `label` (n,) of which component it is, `out` (n, k)
    are the edges in these numbers. Inside a component the old order stays.
    """
    n = root.size
    record_next, row_next, place = np.zeros(n, np.int32), np.zeros(n, np.int32), np.empty(n, np.int32)
    for row in range(n):
        row_next[root[row]] += 1
    at, count = 0, 0
    for row in range(n):
        size = row_next[row]
        if size:
            record_next[row] = row_next[row] = at
            label[at : at + size] = count
            at += size
            count += 1
    for row in range(n):
        place[row] = row_next[root[row]]
        row_next[root[row]] += 1
        row_at[place[row]] = row
    for record in range(n):
        new = record_next[root[edges[record, 0]]]
        record_next[root[edges[record, 0]]] += 1
        record_at[new] = record
        for slot in range(edges.shape[1]):
            out[new, slot] = place[edges[record, slot]]
    return count


@kernel
def small_rings(edges: Codes, label: Codes, most: int, record: Codes, row: Codes, size: Codes) -> None:
    """Which components (c,) are rings of k < N <= `most` records -> `size`: N, or 0.

    `edges` (n, k) and `label` (n,) are as `gather` makes them. If a ring begins at s, then ``record[s:s+N]``
    are its records and ``row[s:s+N]`` its rows in turn: record i has the rows i-k+1 .. i, counted round.

    Rows of a record are bits of a number. Of N > k+1 records two are neighbours if and only if they share k-1
    rows; of k+1 records any order will do. Whatever was found is checked edge by edge.
    """
    n, k = edges.shape
    fits = np.zeros(most, np.int64)
    first = 0
    while first < n:
        last = first + 1
        while last < n and label[last] == label[first] and last - first <= most:
            last += 1
        if k < last - first <= most:
            for i in range(first, last):
                fits[i - first] = 0
                for slot in range(k):
                    fits[i - first] |= 1 << (edges[i, slot] - first)
            if in_turn(fits[: last - first], k, record[first:last], row[first:last]):
                size[label[first]] = last - first
                for i in range(first, last):
                    record[i] += first
                    row[i] += first
        here = label[first]
        while last < n and label[last] == here:
            last += 1
        first = last


@inlined
def in_turn(fits: Ints, k: int, record: Codes, row: Codes) -> Any:
    """Records and rows of a ring (N,) in turn, from the bits of each record's rows -> is it one?"""
    n = fits.size
    record[0], used = 0, 1
    for i in range(1, n):
        record[i] = NOBODY
        for other in range(n):
            if not used >> other & 1 and ones(fits[record[i - 1]] & fits[other]) == k - 1:
                record[i] = other
                used |= 1 << other
                break
        if record[i] == NOBODY:
            return False
    for i in range(n):  # a row ends where the next record has it no more
        ends = fits[record[i]] & ~fits[record[(i + 1) % n]]
        if ones(ends) != 1:
            return False
        place = 0
        while ends >> place != 1:
            place += 1
        row[(i - k + 1) % n] = place
    for i in range(n):
        expected = 0
        for step in range(k):
            expected |= 1 << row[(i - step) % n]
        if fits[record[i]] != expected or ones(expected) != k:
            return False
    return True


@inlined
def ones(bits: int) -> Any:
    """How many bits are set."""
    count = 0
    while bits:
        bits &= bits - 1
        count += 1
    return count


class FigureSeven(NamedTuple):
    """Room for walks: `waits` (2, n) are the records of L and whether each is still in it.

    `trail` (3, n) are the records and rows of the walk, and U, each row with the number of the last walk that
    was there. `here` is (size of L, number of walks).
    """

    waits: Ints
    trail: Ints
    here: Ints


@kernel
def figure_seven(
    edges: Codes, degree: int, row: Ints, owner: Ints, walks: FigureSeven, dice: Bytes, at: int
) -> Any:
    """Turn a bijection into an assignment as Figure 7 does, cycle by cycle -> next byte.

    `edges` (n, k): the first `degree` of each record are left. `row` (n,) and its inverse `owner` are the
    bijection. A walk for which bytes run out is begun again.
    """
    waits, trail, here = walks.waits, walks.trail, walks.here
    while here[0] > 0:
        pick, after = below(here[0], dice, at)
        if after == OUT_OF_BYTES:
            return after
        start = waits[0, pick]
        if not waits[1, start]:
            here[0] -= 1
            waits[0, pick] = waits[0, here[0]]
            at = after
            continue
        here[1] += 1
        slot, after = below(degree, dice, after)
        if after == OUT_OF_BYTES:
            return after
        depth = 0
        trail[0, 0], trail[1, 0] = start, edges[start, slot]
        trail[2, trail[1, 0]] = here[1]
        while trail[1, depth] != row[start]:
            record = owner[trail[1, depth]]
            slot, after = unseen(edges, record, degree, trail, here[1], dice, after)
            if after == OUT_OF_BYTES:
                return after
            if slot == NOBODY:
                depth -= 1  # backtrack; in a regular graph the first step is never exhausted
            else:
                depth += 1
                trail[0, depth], trail[1, depth] = record, edges[record, slot]
                trail[2, trail[1, depth]] = here[1]
        for step in range(depth + 1):
            record = trail[0, step]
            row[record] = trail[1, step]
            owner[trail[1, step]] = record
            waits[1, record] = 0
        at = after
    return at


@inlined
def unseen(edges: Codes, record: int, degree: int, trail: Ints, walk: int, dice: Bytes, at: int) -> Any:
    """A random edge to a row where this walk was not -> (slot or -1, next byte)."""
    choices = 0
    for slot in range(degree):
        choices += trail[2, edges[record, slot]] != walk
    if choices == 0:
        return np.int64(NOBODY), np.int64(at)
    step, at = below(choices, dice, at)
    for slot in range(degree):
        if trail[2, edges[record, slot]] != walk:
            if step == 0:
                return np.int64(slot), at
            step -= 1
    return np.int64(NOBODY), at


@kernel
def remove(edges: Codes, degree: int, row: Ints) -> None:
    """Move the edge of each record to its row behind those that are left: to slot degree-1."""
    last = degree - 1
    for record in range(edges.shape[0]):
        for slot in range(degree):
            if edges[record, slot] == row[record]:
                edges[record, slot], edges[record, last] = edges[record, last], edges[record, slot]
                break
