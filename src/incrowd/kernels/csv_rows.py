"""Rows of a CSV file from cells that are ready to be written. See `tables.csv_writer`."""

from __future__ import annotations

from incrowd.kernels.arrays import Bytes, Codes, Ints
from incrowd.kernels.jit import kernel


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
def join_cells(codes: Codes, base: Ints, starts: Ints, cells: Bytes, out: Bytes) -> int:
    """Codes (d, r), cells of all columns end to end -> rows, one after the other, and how many bytes.

    Cell c of column j is ``cells[starts[base[j] + c] : starts[base[j] + c + 1]]``, with the sign behind it.
    """
    at = 0
    for row in range(codes.shape[1]):
        for column in range(codes.shape[0]):
            cell = base[column] + codes[column, row]
            for byte in range(starts[cell], starts[cell + 1]):
                out[at] = cells[byte]
                at += 1
    return at
