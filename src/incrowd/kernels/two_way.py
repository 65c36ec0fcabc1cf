"""The table of two columns that rows give whose cells are spread over bins. See `measures.two_way`."""

from __future__ import annotations

from incrowd.kernels.arrays import AnyInts, Codes, Floats, Ints
from incrowd.kernels.jit import kernel


@kernel
def add_rows(
    first: Codes, second: Codes, people: Floats, share_a: Floats, share_b: Floats, spans_a: Ints,
    spans_b: Ints, table: Floats,
) -> None:  # fmt: skip
    """Cells of rows (r,), people (r,), shares (c, b), bins from..to of each cell (c, 2) -> table (b, b).

    Most cells lie in few bins, and others would only add zeros. Rows are added in their order.
    """
    for row in range(people.size):
        a, b = first[row], second[row]
        for i in range(spans_a[a, 0], spans_a[a, 1]):
            part = people[row] * share_a[a, i]
            for j in range(spans_b[b, 0], spans_b[b, 1]):
                table[i, j] += part * share_b[b, j]


@kernel
def count_pairs(first: Codes, second: Codes, people: Floats | Ints, table: Floats | Ints) -> None:
    """Cells of rows (r,), people (r,) -> people of each pair of cells (c, c); whole numbers or not."""
    for row in range(people.size):
        table[first[row], second[row]] += people[row]


@kernel
def count_rows(first: AnyInts, second: AnyInts, table: Ints) -> None:
    """Cells of rows (r,) -> rows of each pair of cells (c, c)."""
    for row in range(first.size):
        table[first[row], second[row]] += 1
