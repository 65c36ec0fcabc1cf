"""What two published rows disclose together: the record that one covers and the other does not.

Cells of all columns are numbered in one row. Cell c names the values ``value[named[c]:named[c+1]]``,
ascending, which all occur behind it, and covers the runs ``first[r]..last[r]`` for r in
``runs[c]..runs[c+1]-1``.
"""

from __future__ import annotations

from typing import NamedTuple

from incrowd.kernels.arrays import Bools, Codes, Ints
from incrowd.kernels.jit import inlined, kernel


class PublishedCells(NamedTuple):
    """Distinct rows (n, d) of cells, and what the cells name and cover.

    `plain` (c,) are single values, `ranged` (d,) columns of ranges.
    """

    rows: Codes
    ranged: Bools
    named: Ints
    value: Codes
    runs: Ints
    first: Codes
    last: Codes
    plain: Bools


class NearCells(NamedTuple):
    """Cells that may differ by one value: key x leads to ``cells[starts[x]:starts[x+1]]``.

    Without one value, cell c has the keys ``own[held[c]:held[c+1]]``; it is said by ``rows[at[c]:at[c+1]]``.
    """

    starts: Ints
    cells: Codes
    held: Ints
    own: Ints
    at: Ints
    rows: Ints


@inlined
def covers(said: PublishedCells, cell: int, value: int) -> bool:
    """Does a cell leave this value possible?"""
    low, high = said.runs[cell], said.runs[cell + 1]
    while low < high:
        middle = (low + high) // 2
        if said.last[middle] < value:
            low = middle + 1
        else:
            high = middle
    return bool(low < said.runs[cell + 1] and said.first[low] <= value)


@inlined
def lost(said: PublishedCells, a: int, b: int) -> tuple[int, int]:
    """How many values cell a names that b does not cover, counted up to 2, and the first of them."""
    count, which = 0, -1
    for at in range(said.named[a], said.named[a + 1]):
        if not covers(said, b, said.value[at]):
            count += 1
            if count > 1:
                return count, which
            which = said.value[at]
    return count, which


@inlined
def lone_record(said: PublishedCells, a: int, b: int, into: Codes, at: int) -> bool:
    """Write the record that row a has and row b has not to into[at], if the two differ by one record each.

    A range says little about what lies inside it: with two of them, rows seem to differ by one far too often.
    """
    ranges = 0
    for j in range(said.rows.shape[1]):
        mine, other = said.rows[a, j], said.rows[b, j]
        if said.plain[mine]:
            value = said.value[said.named[mine]]
            if not covers(said, other, value):
                return False
        else:
            ranges += said.ranged[j]
            if mine == other or ranges > 1:
                return False
            count, value = lost(said, mine, other)
            if count != 1:
                return False
        if mine != other and lost(said, other, mine)[0] > 1:
            return False
        into[at, j] = value
    return True


@kernel
def by_keys(
    said: PublishedCells, asked: Ints, column: int, near: NearCells, limits: Ints, into: Codes
) -> int:
    """For the rows `asked`, all rows whose cell in this column shares a key: how many claims stand in `into`.

    `limits` are how many rows one is compared with, and how many claims are kept of it.
    """
    found = 0
    for a in asked:
        mine, tried, last = said.rows[a, column], 0, found + limits[1]
        for own in range(near.held[mine], near.held[mine + 1]):
            key = near.own[own]
            for place in range(near.starts[key], near.starts[key + 1]):
                cell = near.cells[place]
                if cell == mine:
                    continue
                for at in range(near.at[cell], near.at[cell + 1]):
                    if tried == limits[0] or found == last:
                        break
                    tried += 1
                    found += lone_record(said, a, near.rows[at], into, found)
    return found
