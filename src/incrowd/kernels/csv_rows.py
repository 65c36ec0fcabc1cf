"""Rows of a CSV file from cells that are ready to be written. See `tables.csv_writer`."""

from __future__ import annotations

from incrowd.kernels.arrays import Codes, Ints, Words
from incrowd.kernels.jit import kernel

WORD = 8  # bytes that are copied at a time


@kernel
def bytes_of_rows(codes: Codes, base: Ints, starts: Ints) -> int:
    """How many bytes `join_cells` makes of these."""
    total = 0
    for column in range(codes.shape[0]):
        first = base[column]
        for row in range(codes.shape[1]):
            cell = first + codes[column, row]
            total += starts[cell + 1] - starts[cell]
    return total


@kernel
def join_cells(codes: Codes, base: Ints, starts: Ints, cells: Words, out: Words) -> int:
    """Codes (d, r), cells of all columns end to end -> rows, one after the other, and how many bytes.

    Cell c of column j has the bytes from ``starts[base[j] + c]`` up to the next start, the sign behind it
    included. ``cells[i]`` and ``out[i]`` are the eight bytes from i on: so many are copied at a time, and
    what was too much is overwritten by the next cell.
    """
    at = 0
    for row in range(codes.shape[1]):
        for column in range(codes.shape[0]):
            cell = base[column] + codes[column, row]
            first, size = starts[cell], starts[cell + 1] - starts[cell]
            for byte in range(0, size, WORD):
                out[at + byte] = cells[first + byte]
            at += size
    return at
