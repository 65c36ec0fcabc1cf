"""Cutting a sorted row of records into runs, after Figure 8. See `partitions.lexicographic`."""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.arrays import Bools, Codes, Ints
from incrowd.kernels.jit import inlined, kernel


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
