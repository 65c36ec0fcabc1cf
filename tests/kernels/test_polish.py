"""What classes cost as their records come and go, against the definition of loss in fractions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.tables_of_codes import AXES, CodeTable, mixed_tables
from twins import local_search as naive

from incrowd.algorithms import costs as priced_tables
from incrowd.algorithms.costs import priced
from incrowd.algorithms.polish import Polish
from incrowd.kernels import polish, swap
from incrowd.kernels.jit import with_door

NEAR = 1e-12

DEARER = with_door(polish.dearer)


@st.composite
def halves(draw: st.DrawFn) -> tuple[CodeTable, list[int], list[int], Polish]:
    """A table in two classes, and both in hand."""
    table = draw(mixed_tables(kinds=sorted(AXES), least=st.just(3)))
    n = len(table.points)
    labels = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    assume(2 <= sum(labels) < n)
    with pytest.MonkeyPatch.context() as patch:
        if draw(st.booleans()):  # then every column is too large for a table of pairs
            patch.setattr(priced_tables, "SMALL", 0)
        work = Polish.of(1, priced(table.data, "lm"), np.array(labels))
    members = [[i for i in range(n) if labels[i] == a] for a in (0, 1)]
    return table, members[0], members[1], work


@settings(max_examples=250)
@given(halves())
def test_rows_cost_their_loss(case: tuple[CodeTable, list[int], list[int], Polish]) -> None:
    table, one, other, work = case
    for a, members in enumerate((one, other)):
        expected = float(naive.row_loss(table.points, members, table.axes))
        assert polish.row_loss(a, work.classes.bounds, work.table.costs) == pytest.approx(expected, abs=NEAR)
        assert work.classes.bounds.cost[a] == pytest.approx(expected, abs=NEAR)
    expected = float(naive.loss(table.points, [one, other], table.axes))
    assert work.cost == pytest.approx(expected, abs=NEAR * len(table.points))


@settings(max_examples=250)
@given(halves(), st.sampled_from([0.0, 0.05, 0.2, 0.5, np.inf]))
def test_a_class_gets_dearer_by_who_joins(
    case: tuple[CodeTable, list[int], list[int], Polish], limit: float
) -> None:
    table, one, other, work = case
    codes, bounds, costs = work.classes.codes, work.classes.bounds, work.table.costs
    before = naive.row_loss(table.points, other, table.axes)
    for i in one:
        more = float(naive.row_loss(table.points, [*other, i], table.axes) - before)
        found = DEARER(1, i, codes, bounds, costs, limit)
        if abs(more - limit) > NEAR:
            assert found == (pytest.approx(more, abs=NEAR) if more < limit else np.inf)


@settings(max_examples=250)
@given(halves())
def test_a_class_gets_cheaper_by_who_leaves(case: tuple[CodeTable, list[int], list[int], Polish]) -> None:
    table, one, other, work = case
    polish.find_seconds(1, work.classes, work.seconds, work.table.costs)
    least = naive.row_loss(table.points, other, table.axes)
    for i in other:
        rest = [m for m in other if m != i]
        alone = naive.row_loss(table.points, rest, table.axes)
        found = polish.cost_without(i, work.classes, work.seconds, work.table.costs)
        assert found == pytest.approx(float(alone), abs=NEAR)
        for j in one:
            expected = float(naive.row_loss(table.points, [*rest, j], table.axes))
            found = swap.cost_instead(i, j, work.classes, work.seconds, work.table.costs)
            assert found == pytest.approx(expected, abs=NEAR)
        least = min(least, alone)
    most = float(naive.row_loss(table.points, other, table.axes) - least)
    found = swap.most_freed(1, work.classes, work.seconds, work.table.costs)
    assert found == pytest.approx(most, abs=NEAR)
