"""Cells spread over the parts that they cover: in bins, and by weights that are fitted to totals.

See `measures.parts` for what parts are. Cell i covers the parts first[r]..last[r] for r in
starts[i]..starts[i+1]-1.
"""

from __future__ import annotations

import numpy as np

from incrowd.kernels.arrays import Floats, Int, Ints
from incrowd.kernels.jit import inlined, kernel

CLOSE = 1e-6  # of all rows, in the wrong total
LOST = 2.0**-30  # of a sum: a smaller difference of two such sums is mostly rounding
HEAVIEST = 1e6  # a weight beyond it, or below its inverse, would not add up any more


@kernel
def in_bins(mass: Floats, of: Ints, starts: Ints, first: Ints, last: Ints, spread: Floats) -> None:
    """Mass (v,) and bin (v,) of parts, runs of cells -> mass of each cell in each bin, (c, b).

    Neighbours of one bin are added at once, by what is summed up to the last of them: cells of sets have very
    many runs, and hardly any reaches over more than a few bins.
    """
    size = mass.size
    upto, ends = np.zeros(size + 1), np.empty(size, np.int64)
    for part in range(size):
        upto[part + 1] = upto[part] + mass[part]
    for part in range(size - 1, -1, -1):
        alike = part + 1 < size and of[part + 1] == of[part]
        ends[part] = ends[part + 1] if alike else part + 1
    for cell in range(starts.size - 1):
        for run in range(starts[cell], starts[cell + 1]):
            part, end = first[run], last[run] + 1
            while part < end:
                upper = min(ends[part], end)
                held = upto[upper] - upto[part]
                if held < upto[upper] * LOST:
                    held = 0.0
                    for each in range(part, upper):
                        held += mass[each]
                spread[cell, of[part]] += held
                part = upper


@inlined
def _spread_once(
    mass: Floats, starts: Ints, first: Ints, last: Ints, rows: Floats, upto: Floats, change: Floats
) -> None:
    """Give `change` the rows for one unit of mass that begin at each part, less those that ended before."""
    upto[0] = 0.0
    for part in range(mass.size):
        upto[part + 1] = upto[part] + mass[part]
    change[:] = 0.0
    for cell in range(rows.size):
        total = 0.0
        for run in range(starts[cell], starts[cell + 1]):
            total += upto[last[run] + 1] - upto[first[run]]
        if total > 0:
            each = rows[cell] / total
            for run in range(starts[cell], starts[cell + 1]):
                change[first[run]] += each
                change[last[run] + 1] -= each


@kernel
def fit(
    values: Floats, group: Ints, starts: Ints, first: Ints, last: Ints, rows: Floats, wanted: Floats,
    rounds: Int,
) -> tuple[Floats, float, int]:  # fmt: skip
    """Values (v,) and total (v,) of parts, runs and rows (c,) of cells, wanted totals (g,) -> weights (g,).

    Also the share of all rows that is in the wrong total, and how many rounds were made. A round spreads all
    cells by the weights, then changes each weight by what its total lacks.
    """
    size, people = values.size, rows.sum()
    weight, found = np.ones(wanted.size), np.zeros(wanted.size)
    mass, upto, change = np.empty(size), np.empty(size + 1), np.empty(size + 1)
    off, done = 1.0, 0
    while done < rounds:
        done += 1
        for part in range(size):
            mass[part] = values[part] * weight[group[part]]
        _spread_once(mass, starts, first, last, rows, upto, change)
        found[:] = 0.0
        per = 0.0
        for part in range(size):
            per += change[part]
            found[group[part]] += mass[part] * max(per, 0.0)
        # what cells over values that weigh nothing have is in no total
        wrong = people - found.sum() + np.abs(wanted - found).sum()
        off = wrong / 2 / people if people > 0 else 0.0
        if off <= CLOSE:
            break
        for total in range(wanted.size):
            if wanted[total] <= 0:
                weight[total] = 0.0
            else:
                step = wanted[total] / found[total] if found[total] > 0 else 1.0
                weight[total] = min(max(weight[total] * step, 1 / HEAVIEST), HEAVIEST)
    return weight, off, done
