"""Random assignments, all equally likely: walks that pass rows on, and swaps of two.

Walk: a record loses its row. It picks one of the rows that hold it, whose owner then picks, and so on until
somebody picks the row that was lost. Each picks among its rows evenly, equal ones counted one by one, so a
walk is as likely as the same walk backwards: no assignment is preferred, and every one can be reached.

Swap: a record picks one of its rows; if its own row holds the owner, the two swap. The way back is as
likely again. Swaps alone do not reach everything, but they stir all of a large component for what one walk
costs.

The numbers are those of a multiply-with-carry generator (Marsaglia): whole numbers that never outgrow 64
bits, the same with and without compiling. Nothing here has to be unpredictable.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Codes, Ints
from incrowd.kernels.jit import inlined, kernel

GAVE_UP = -1
_FACTOR = 1965537969  # times 2^32, less one, a safe prime: the period is its half


class SampledComponent(NamedTuple):
    """One component, with n records and n rows, equal ones one by one.

    Record i is of kind ``kind[i]``, row j of kind ``row_kind[j]``. Kind u has edges
    ``indptr[u]..indptr[u+1]-1``. Edge e leads to rows of kind ``indices[e]``, ascending, which are those
    from ``first[e]`` on; ``upto[e]`` counts the rows of its kind's edges before it, ``degree[u]`` all of
    them.
    """

    kind: Ints
    row_kind: Ints
    indptr: Ints
    indices: Codes
    first: Ints
    upto: Ints
    degree: Ints


class State(NamedTuple):
    """An assignment: the row of each record, the record of each row, and by which edge; and the dice (2,)."""

    row: Ints
    owner: Ints
    edge: Ints
    dice: Ints


@inlined
def below(limit: int, dice: Ints) -> Any:
    """A number below `limit`, itself below 2^31; its bias is less than limit / 2^32."""
    mixed = _FACTOR * dice[0] + dice[1]
    dice[0] = mixed & 0xFFFFFFFF
    dice[1] = mixed >> 32
    return (dice[0] * limit) >> 32


@inlined
def edge_at(part: SampledComponent, kind: int, place: int) -> Any:
    """The edge of a kind that leads to its row number `place`."""
    low, high = part.indptr[kind], part.indptr[kind + 1] - 1
    while low < high:
        middle = (low + high + 1) // 2
        if part.upto[middle] <= place:
            low = middle
        else:
            high = middle - 1
    return low


@inlined
def edge_to(part: SampledComponent, kind: int, row_kind: int) -> Any:
    """The edge from a kind of records to a kind of rows, or -1."""
    low, high = part.indptr[kind], part.indptr[kind + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if part.indices[middle] < row_kind:
            low = middle + 1
        else:
            high = middle
    return low if part.indices[low] == row_kind else np.int64(-1)


@kernel
def swap(part: SampledComponent, state: State) -> None:
    """Let a record swap rows with the owner of one that it picks, if both rows hold both."""
    record = below(part.kind.size, state.dice)
    kind = part.kind[record]
    place = below(part.degree[kind], state.dice)
    edge = edge_at(part, kind, place)
    row, own = part.first[edge] + place - part.upto[edge], state.row[record]
    other = state.owner[row]
    back = edge_to(part, part.kind[other], part.row_kind[own])
    if back >= 0:
        state.row[record], state.owner[row], state.edge[row] = row, record, edge
        state.row[other], state.owner[own], state.edge[own] = own, other, back


@kernel
def walk(part: SampledComponent, state: State, most: int) -> Any:
    """From one assignment to another -> steps taken, or -1 after `most`: then the state is no assignment."""
    record = below(part.kind.size, state.dice)
    lost = state.row[record]
    for step in range(1, most + 1):
        kind = part.kind[record]
        place = below(part.degree[kind], state.dice)
        edge = edge_at(part, kind, place)
        row = part.first[edge] + place - part.upto[edge]
        robbed = state.owner[row]
        state.row[record] = row
        state.owner[row] = record
        state.edge[row] = edge
        if row == lost:
            return step
        record = robbed
    return GAVE_UP


@kernel
def sample(part: SampledComponent, state: State, samples: int, swaps: int, most: int, tally: Ints) -> Any:
    """Count (m,) how many rows each edge gives away, over some assignments -> steps of the walks, or -1.

    Between two of them are swaps, then a walk.
    """
    steps = 0
    for _ in range(samples):
        for _ in range(swaps):
            swap(part, state)
        taken = walk(part, state, most - steps)
        if taken == GAVE_UP:
            return GAVE_UP
        steps += taken
        for row in range(state.edge.size):
            tally[state.edge[row]] += 1
    return steps


def dice(seed: int, chain: int) -> Any:
    """A generator of its own for each chain: two numbers that are mixed well, whatever the seed."""
    mixed = (seed * 0x9E3779B97F4A7C15 + (chain + 1) * 0xBF58476D1CE4E5B9) % 2**64
    for shift in (30, 27, 31):
        mixed = (mixed ^ (mixed >> shift)) * 0x94D049BB133111EB % 2**64
    return np.array([mixed & 0xFFFFFFFF, 1 + (mixed >> 32) % (_FACTOR - 2)], dtype=np.int64)
