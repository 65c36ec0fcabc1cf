"""The next cheapest cell, against trying all cells, and against cells that grow in plain Python."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.tables_of_codes import SMALL, UP, CodeTable, ks, mixed_tables, nested
from twins import local_search as naive

from incrowd.algorithms import costs as priced_tables
from incrowd.algorithms.costs import priced
from incrowd.algorithms.levels import levels_of
from incrowd.algorithms.partitions.cells import GrownCells, LevelCells, PointBlock
from incrowd.kernels import cells, grow_cells

NEAR = 1e-9


def block_of(table: CodeTable, k: int, grown: bool = False, small: bool = True) -> PointBlock:
    """All records of a table; with `small` false, no column has a table of pairs."""
    with pytest.MonkeyPatch.context() as patch:
        if not small:
            patch.setattr(priced_tables, "SMALL", 0)
        data = table.data
        costs = priced(data, "lm")
        lattice = None if grown else levels_of(data, costs)
        assert grown or lattice is not None
        return PointBlock(k, costs, lattice, (), np.arange(len(data), dtype=np.int32))


def records(block: PointBlock, points: NDArray[np.int64]) -> list[int]:
    return sorted(int(i) for p in points for i in block.members[p])


def some_taken(block: PointBlock, data: st.DataObject) -> list[int]:
    """Let some points be taken, drawn at random -> the records that are free."""
    m = len(block.free.points)
    taken = np.array(sorted(data.draw(st.sets(st.integers(0, m - 1), max_size=m - 1))), np.int64)
    block.search.take(taken)
    return sorted(set(range(len(block.rows))) - set(records(block, taken)))


@settings(max_examples=150)
@given(mixed_tables(kinds=UP, most=12), st.integers(1, 5), st.booleans(), st.data())
def test_the_cheapest_levels_are_those_of_all_cells(
    table: CodeTable, k: int, small: bool, data: st.DataObject
) -> None:
    block = block_of(table, k, small=small)
    search = block.search
    assert isinstance(search, LevelCells)
    free = some_taken(block, data)
    room = search.room
    for p in block.free.alive[: block.free.left[0]]:
        cost = cells.cheapest_levels(k, p, block.free, search.lattice, room.held, room.price, room.cell)
        at = int(block.members[p][0])
        expected = naive.cheapest_cell(table.points, free, table.axes, k, at)
        if expected is None:
            assert cost == np.inf
            continue
        assert cost == pytest.approx(float(expected), abs=NEAR)
        count, mass = cells.held_by(block.free, room.cell, room.found)
        inside = records(block, room.found[:count])
        assert at in inside
        assert k <= mass == len(inside)
        assert naive.row_loss(table.points, inside, table.axes) <= expected
        assert cells.spread(p, block.free, search.lattice, room.cell) == pytest.approx(cost, abs=NEAR)


@settings(max_examples=150)
@given(mixed_tables(kinds=UP, most=12, least=ks(1, 4)), ks(1, 4), st.booleans())
def test_every_next_cell_of_levels_is_the_cheapest_of_all(table: CodeTable, k: int, small: bool) -> None:
    """Step by step: the least cost of any cell with k free records, with everybody in it who is free."""
    block = block_of(table, k, small=small)
    free = list(range(len(table.points)))
    while True:
        p, points = block.search.cheapest()
        costs = [naive.cheapest_cell(table.points, free, table.axes, k, at) for at in free]
        least = min((cost for cost in costs if cost is not None), default=None)
        if p < 0:
            assert least is None
            break
        assert least is not None
        found = records(block, points)
        fits = [
            cell
            for cell in naive.cells_around(table.points[int(block.members[p][0])], table.axes)
            if naive.inside(table.points, free, cell) == found
        ]
        assert len(found) >= k
        assert min(float(naive.cell_cost(cell, table.axes)) for cell in fits) <= float(least) + NEAR
        block.search.take(points)
        free = [i for i in free if i not in found]
    assert len(free) < k


@settings(max_examples=150)
@given(mixed_tables(kinds=SMALL, most=9), st.integers(1, 4), st.booleans(), st.data())
def test_a_cell_grows_by_what_is_nearest(
    table: CodeTable, need: int, small: bool, data: st.DataObject
) -> None:
    block = block_of(table, 1, grown=True, small=small)
    search = block.search
    assert isinstance(search, GrownCells)
    free = some_taken(block, data)
    for p in np.flatnonzero(block.free.weight).tolist():
        cost, count, mass = grow_cells.grown(need, p, np.inf, block.free, search.room, block.table.costs)
        ends = naive.growths(table.points, free, table.axes, need, int(block.members[p][0]))
        if not ends:
            assert count == 0
            continue
        assert any(cost == pytest.approx(float(end), abs=NEAR) for end in ends)
        assert need <= mass == len(records(block, search.room.found[:count]))
        if min(ends) > 0:
            below = float(min(ends)) * 0.9
            at_least, none, _ = grow_cells.grown(need, p, below, block.free, search.room, block.table.costs)
            assert none == 0
            assert below < at_least <= float(max(ends)) + NEAR


# The node over codes 0 and 1 of `family` holds one more, which is not between them.
BEYOND = CodeTable(
    [(0, 0, 0), (0, 0, 0), (0, 0, 1), (1, 0, 0), (2, 0, 1)],
    [("family", nested([[0, 4], [1, 3, 5]], 6)), ("range", [0]), ("gapped", [0, 1])],
)


@settings(max_examples=150)
@example(BEYOND, 4, False)
@given(mixed_tables(kinds=SMALL, most=9, least=ks(1, 4)), ks(1, 4), st.booleans())
def test_grown_cells_take_everybody_inside_and_the_first_is_the_cheapest(
    table: CodeTable, k: int, small: bool
) -> None:
    """Of a node, whoever is beyond what the cell grew over may stay free."""
    nodes = any(kind not in ("range", "gapped", "set") for kind, _ in table.axes)
    block = block_of(table, k, grown=True, small=small)
    free = list(range(len(table.points)))
    ends = [naive.growths(table.points, free, table.axes, k, at) for at in free]
    first = True
    while True:
        p, points = block.search.cheapest()
        if p < 0:
            break
        found = records(block, points)
        assert len(found) >= k
        over = closure(table, found)
        within = naive.inside(table.points, free, over)
        assert found == within or (nodes and set(found) < set(within))
        if first:
            cost: Fraction = naive.cell_cost(over, table.axes)
            assert cost <= min(map(max, ends)) + Fraction(1, 10**9)
            assert cost >= min(map(min, ends))
        first = False
        block.search.take(points)
        free = [i for i in free if i not in found]
    assert len(free) < k


def closure(table: CodeTable, members: list[int]) -> Any:
    sides = enumerate(table.axes)
    return tuple(naive.cell_over(axis, [table.points[i][j] for i in members]) for j, axis in sides)
