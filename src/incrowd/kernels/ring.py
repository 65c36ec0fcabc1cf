"""A sorted row of records cut into runs (Figure 8), rings over its parts (Figure 5), what rings disclose.

See `partitions.lexicographic` and `nonhomogeneous.ring`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.arrays import Bools, Codes, Ints
from incrowd.kernels.jit import inlined, kernel

RANGE, TREE, SET = 0, 1, 2
MOST = 512  # records of a part whose rows may differ where that is looked at


@kernel
def first_differences(codes: Codes, order: Codes, by: Ints, differs: Codes) -> None:
    """Sorted codes (n, d), columns in their order (d,) -> differs (n,): where a record leaves the one before.

    It is a place in `by`: d for an equal record, 0 for the first one.
    """
    n, d = codes.shape
    for i in range(n):
        here, x = order[i], 0
        if i:
            before = order[i - 1]
            while x < d and codes[here, by[x]] == codes[before, by[x]]:
                x += 1
        differs[i] = x


@inlined
def end_of_run(differs: Codes, first: int, last: int, x: int) -> Any:
    """Where the run of one value of column x ends that begins at `first`."""
    i = first + 1
    while i < last and differs[i] != x:
        i += 1
    return i


@kernel
def cut_runs(differs: Codes, d: int, k: int, most: int, begins: Bools) -> None:
    """Differences (n,) -> begins (n,): does a part begin here? Unions of up to `most` records are merged.

    Runs never lose their order, so each is an interval, and mending one moves a border. A run is settled
    as soon as the next one has its first border, which nothing moves later.
    """
    n = differs.size
    stack = np.empty((n // k + 2, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, 0
    top = 1
    while top:
        top -= 1
        first, last, x = stack[top, 0], stack[top, 1], stack[top, 2]
        begins[first] = True
        if last - first < 2 * k:  # its runs would all be merged again
            continue
        begin = first  # of the last run; `end` is where it ends
        end = end_of_run(differs, first, last, x)
        while end - begin < k:  # the first run has only a next one
            beyond = end_of_run(differs, end, last, x)
            end = beyond if beyond - begin <= most else begin + k
        while True:
            start = end
            if start < last:
                end = end_of_run(differs, start, last, x)
                if end - start < k:
                    if end - begin <= most:
                        continue
                    start = end - k
                begins[start] = True
            if x + 1 < d and end_of_run(differs, begin, start, x) == start:
                stack[top, 0], stack[top, 1], stack[top, 2] = begin, start, x + 1
                top += 1
            if start == last:
                break
            begin = start


@kernel
def lay_rings(codes: Codes, order: Codes, starts: Ints, members: Codes, label: Codes, alike: Bools) -> None:
    """Parts of a row -> members (n, k): everyone and the k-1 that follow in their part, as a circle.

    Also label (n,), the part of each record, and alike (n,): are all records of its part equal?
    """
    d, k = codes.shape[1], members.shape[1]
    for p in range(starts.size - 1):
        first, size = starts[p], starts[p + 1] - starts[p]
        equal = True
        for i in range(1, size):
            for j in range(d):
                equal &= codes[order[first + i], j] == codes[order[first], j]
        for i in range(size):
            record, at = order[first + i], i
            label[record], alike[record] = p, equal
            for slot in range(k):
                members[record, slot] = order[first + at]
                at += 1
                if at == size:
                    at = 0


@inlined
def left_over(one: Ints, other: Ints, shape: int, span: int) -> Any:
    """How many values a cell names that another does not, where 2 stands for more; and a single cell: -1.

    Cells are the codes of two neighbourhoods in one column, as bits (span words), smallest and largest place.
    """
    low, high = span, span + 1
    if one[low] == one[high]:
        return -1
    if shape == TREE:
        return 0
    found = 0
    for w in range(span):
        bits = one[w] & ~other[w]
        while bits and found < 2:
            bits &= bits - 1
            found += 1
    return found


@inlined
def gives_away(cells: Ints, size: int, shapes: Ints, varies: Bools, apart: Bools, span: int) -> bool:
    """Do the rows of a ring, compared with each other, name a whole record?

    A row does by itself if all its cells but one are single values. Two rows do if in each column the first
    has a single value, or exactly one that the second has not. `apart` are the columns that differ from
    row to row; the others say what the whole part has.
    """
    d = shapes.size
    for a in range(size):
        wide = 0
        for j in range(d):
            single = not varies[j] or (apart[j] and cells[a, j, span] == cells[a, j, span + 1])
            wide += not single
        if wide <= 1:
            return True
        for b in range(size):
            named = b != a
            for j in range(d):
                if not named:
                    break
                if not varies[j]:
                    continue
                if apart[j]:
                    rest = left_over(cells[a, j], cells[b, j], shapes[j], span)
                    named = rest == -1 or rest == 1
                else:
                    named = False
            if named:
                return True
    return False


@inlined
def find_varying(codes: Codes, order: Codes, first: int, last: int, varies: Bools) -> int:
    """Columns that are not the same for all records of a part -> how many there are."""
    found = 0
    for j in range(codes.shape[1]):
        varies[j] = False
        for i in range(first + 1, last):
            if codes[order[i], j] != codes[order[first], j]:
                varies[j] = True
                found += 1
                break
    return found


@inlined
def lists_records(codes: Codes, rows: Codes, shapes: Ints, sparse: int) -> bool:
    """Do the cells over these records leave fewer than `sparse` times as many combinations of their values?

    Or does one column vary alone, and name its values? Equal records stand side by side.
    """
    size, d = rows.size, codes.shape[1]
    distinct = 1
    for i in range(1, size):
        for j in range(d):
            if codes[rows[i], j] != codes[rows[i - 1], j]:
                distinct += 1
                break
    varying, last, combinations = 0, 0, 1.0
    for j in range(d):
        values = np.unique(codes[rows, j])
        if values.size > 1:
            varying, last = varying + 1, j
            combinations *= values.size if shapes[j] != TREE else values[-1] - values[0] + 1
    if varying < 2:
        return varying == 1 and shapes[last] != TREE
    return combinations < sparse * distinct


@kernel
def join_lists(codes: Codes, order: Codes, starts: Ints, shapes: Ints, sparse: int, owner: Ints) -> None:
    """Parts of a row -> owner (parts,): the first that each is merged with, so that none lists its records.

    From left to right, parts of equal records left out; what is left over at the end joins those before, as
    many as it takes.
    """
    rows, varies = np.empty(order.size, order.dtype), np.empty(codes.shape[1], np.bool_)
    closed, count = np.empty(starts.size, np.int64), 0
    filled, current = 0, -1
    for p in range(starts.size - 1):
        owner[p] = p
        if find_varying(codes, order, starts[p], starts[p + 1], varies) == 0:
            continue
        if not filled:
            current = p
        owner[p] = current
        size = starts[p + 1] - starts[p]
        rows[filled : filled + size] = order[starts[p] : starts[p + 1]]
        filled += size
        if not lists_records(codes, rows[:filled], shapes, sparse):
            closed[count], count, filled = current, count + 1, 0
    while filled and count:
        count, filled, left = count - 1, 0, current
        current = closed[count]
        for p in range(current, starts.size - 1):
            if owner[p] == left:
                owner[p] = current
            if owner[p] == current:
                size = starts[p + 1] - starts[p]
                rows[filled : filled + size] = order[starts[p] : starts[p + 1]]
                filled += size
        if not lists_records(codes, rows[:filled], shapes, sparse):
            filled = 0


@inlined
def fill(cell: Ints, rank: Ints, i: int, k: int, size: int, span: int) -> None:
    """The cell over k records of a ring from the i-th on."""
    for w in range(span):
        cell[w] = 0
    low, high, at = rank[i], rank[i], i
    for _ in range(k):
        r = rank[at]
        cell[r // 63] |= np.int64(1) << np.int64(r % 63)
        low, high = min(low, r), max(high, r)
        at += 1
        if at == size:
            at = 0
    cell[span], cell[span + 1] = low, high


@inlined
def lay_cells(
    codes: Codes, rows: Codes, k: int, j: int, shape: int, span: int, rank: Ints, cells: Ints
) -> Any:
    """The cells of a ring in column j -> how many values fewer they name than the whole part does."""
    size, saved = rows.size, np.int64(0)
    values = np.unique(codes[rows, j])
    for i in range(size):
        rank[i, j] = np.searchsorted(values, codes[rows[i], j])
    for i in range(size):
        cell = cells[i, j]
        fill(cell, rank[:, j], i, k, size, span)
        held = cell[span + 1] - cell[span] + 1
        if shape == SET:
            held = 0
            for w in range(span):
                bits = cell[w]
                while bits:
                    bits &= bits - 1
                    held += 1
        saved += values.size - held
    return saved


@kernel
def tell_less(codes: Codes, order: Codes, starts: Ints, k: int, shapes: Ints, whole: Bools) -> None:
    """Parts of a row -> whole (n, d): which cells must say what their part has, so that no record is named.

    Columns give up differing from row to row one after the other, ranges before all, since their ends tell
    most, then the one whose rows save least, until comparing rows gives nothing away. Parts of equal
    records, and those in which one column varies, are left as they are.
    """
    d = codes.shape[1]
    varies, apart = np.empty(d, np.bool_), np.empty(d, np.bool_)
    longest = 0
    for p in range(starts.size - 1):
        if find_varying(codes, order, starts[p], starts[p + 1], varies) > 1:
            longest = max(longest, min(starts[p + 1] - starts[p], MOST))
    span = (longest + 62) // 63
    rank, saved = np.empty((longest, d), np.int64), np.empty(d, np.int64)
    cells = np.empty((longest, d, span + 2), np.int64)
    for p in range(starts.size - 1):
        first, size = starts[p], starts[p + 1] - starts[p]
        if find_varying(codes, order, first, first + size, varies) < 2:
            continue
        for j in range(d):
            apart[j] = varies[j] and size <= MOST and shapes[j] != RANGE
        rows = order[first : first + size]
        if size <= MOST:
            for j in range(d):
                if varies[j]:
                    saved[j] = lay_cells(codes, rows, k, j, shapes[j], span, rank, cells)
            while gives_away(cells, size, shapes, varies, apart, span):
                least = -1
                for j in range(d):
                    if apart[j] and (least < 0 or saved[j] < saved[least]):
                        least = j
                if least < 0:
                    break
                apart[least] = False
        for i in range(size):
            for j in range(d):
                whole[order[first + i], j] = varies[j] and not apart[j]
