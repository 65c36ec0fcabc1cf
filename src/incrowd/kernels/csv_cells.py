"""Equal cells of a column of a CSV file. See `tables.csv_reader`."""

from __future__ import annotations

import numpy as np

from incrowd.kernels.arrays import Bytes, Codes
from incrowd.kernels.jit import kernel

_START, _ODD = np.uint64(0xCBF29CE484222325), np.uint64(0x9E3779B97F4A7C15)
_TURN = np.uint64(29)
MOST_STEPS = 8  # for each cell, on average: what takes more was made to collide


@kernel
def number_cells(
    data: Bytes, starts: Codes, ends: Codes, slots: Codes, codes: Codes, leads: Codes
) -> int:  # fmt: skip
    """Cells data[starts:ends] (n,) -> how many distinct ones; -1 if too many share their hashes.

    `codes` (n,) numbers them as they are met, and ``leads[code]`` is the first row of each. `slots` are empty
    (-1) and a power of two, at least twice as many as cells. Equal hashes are told apart byte by byte.
    """
    n, count, steps = starts.size, 0, 0
    last = slots.size - 1
    most = MOST_STEPS * n
    for row in range(n):
        start, end = starts[row], ends[row]
        mixed = _START
        for place in range(start, end):
            mixed = (mixed ^ np.uint64(data[place])) * _ODD
            mixed ^= mixed >> _TURN
        slot = np.int64(mixed & np.uint64(last))
        while True:
            code = slots[slot]
            if code < 0:
                slots[slot] = codes[row] = count
                leads[count] = row
                count += 1
                break
            lead = starts[leads[code]]
            same = ends[leads[code]] - lead == end - start
            if same:
                for place in range(end - start):
                    if data[lead + place] != data[start + place]:
                        same = False
                        break
            if same:
                codes[row] = code
                break
            slot = (slot + 1) & last
            steps += 1
            if steps > most:
                return -1
    return count
