"""The forest algorithm against its slow twin, its bounds and the best of all partitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden import vectors
from support.tables_of_codes import CodeTable, code_tables, groups_of, ks
from twins import definitions as naive

from incrowd.algorithms.costs import priced
from incrowd.algorithms.partitions.forest import MOST, Forest, Trees
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Microdata
from incrowd.long_work import silent

GOLDEN = vectors("revisited_limits")


def forest(table: CodeTable, k: int, measure: str = "lm") -> set[frozenset[int]]:
    return groups_of(Forest(k, measure).group(table.data, (), silent))


@settings(deadline=None, max_examples=150)
@given(code_tables(most=20, least=ks(2, 6)), ks(2, 6), st.sampled_from(["lm", "entropy"]))
def test_edges_agree_with_naive(table: CodeTable, k: int, measure: str) -> None:
    to = Forest(k, measure)._edges(priced(table.data, measure), silent)
    found = {(u, int(v)) for u, v in enumerate(to) if v >= 0}
    assert found == set(naive.forest_edges(table.points, table.axes, k, measure))


@st.composite
def trees(draw: st.DrawFn, least: st.SearchStrategy[int]) -> list[int]:
    """Where each vertex of a tree points: to an earlier one."""
    n = draw(st.integers(draw(least), 60))
    near = draw(st.integers(1, n))  # 1 makes a path, n anything down to a star
    return [-1, *(draw(st.integers(max(0, i - near), i - 1)) for i in range(1, n))]


@settings(deadline=None, max_examples=400)
@given(trees(ks(2, 7)), ks(2, 7))
def test_pieces_have_k_to_3k_minus_3_records(to: list[int], k: int) -> None:
    pieces = list(Trees(np.array(to)).pieces(k))
    assert sorted(v for piece in pieces for v in piece) == list(range(len(to)))
    assert all(k <= len(piece) <= max(3 * k - 3, k) for piece in pieces)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_star_is_parted_with_copies_of_its_middle(k: int) -> None:
    pieces = list(Trees(np.array([-1] + [0] * 40)).pieces(k))
    assert len(pieces) > 1
    assert all(k <= len(piece) <= 3 * k - 3 for piece in pieces)


@settings(deadline=None, max_examples=60)
@given(code_tables(most=8, least=ks(2, 4)), ks(2, 4))
def test_the_loss_keeps_the_bound_against_the_best_partition(table: CodeTable, k: int) -> None:
    expected = GOLDEN["forest_bound"]["expected"]
    groups = forest(table, k)
    paid = sum(len(g) * naive.row_cost(table.points, sorted(g), table.axes, "lm") for g in groups)
    best = naive.least_loss(table.points, table.axes, k, "lm")
    assert paid <= (3 * k - 3) * best + 1e-9
    assert max(map(len, groups)) <= expected["max_group_sizes"][str(k)]
    edges = naive.forest_edges(table.points, table.axes, k, "lm")
    weight = sum(naive.row_cost(table.points, edge, table.axes, "lm") for edge in edges)
    assert (weight <= best + 1e-9) == expected["forest_weight_never_above_OPT"]


def test_one_alone_needs_no_crowd_and_too_few_are_refused() -> None:
    table = CodeTable([(0,), (1,), (1,)], [("range", [3, 9])])
    assert len(forest(table, 1)) == 3
    with pytest.raises(Infeasible, match=r"n=3 < k=4"):
        forest(table, 4)


def test_too_many_records_are_refused() -> None:
    table = CodeTable([(0,), (1,)], [("range", [3, 9])]).data
    many = Microdata(np.zeros((MOST + 1, 1), np.int32), table.attributes)
    with pytest.raises(PolicyError, match=f"at most {MOST}, and there are {MOST + 1}"):
        Forest(2).group(many, (), silent)


@pytest.mark.parametrize("name", Forest.limits)
def test_limits_refuse_bad_values(name: str) -> None:
    for bad in Forest.limits[name].bad_values():
        with pytest.raises(PolicyError, match=name):
            Forest(**{"k": 2, name: bad})  # type: ignore[arg-type]
