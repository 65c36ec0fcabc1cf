"""Algorithms 3 and 4 against their slow twins."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tables_of_codes import CodeTable, code_tables, ks
from twins import nonhomogeneous as twins

from incrowd.algorithms.nonhomogeneous.neighbourhoods import Expansion, Nearest, NeighbourhoodGrowth
from incrowd.contracts import Limited
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Neighbourhoods

ALGORITHMS: dict[str, tuple[type[NeighbourhoodGrowth], Any]] = {
    "nearest": (Nearest, twins.nearest),
    "expansion": (Expansion, twins.expansion),
}


def families(axes: list[tuple[str, Any]]) -> list[list[frozenset[int]]]:
    """Every set that a column of this kind may publish."""
    found = []
    for kind, about in axes:
        if kind == "tree":
            found.append(sorted({node for path in about for node in path}, key=lambda s: (len(s), sorted(s))))
        elif kind == "range":
            ends = [(a, b) for b in range(len(about)) for a in range(b + 1)]
            found.append([frozenset(range(a, b + 1)) for a, b in ends])
        else:
            sizes = range(1, about + 1)
            found.append([frozenset(chosen) for size in sizes for chosen in combinations(range(about), size)])
    return found


def loss(axes: list[tuple[str, Any]], j: int, cell: frozenset[int]) -> float:
    kind, about = axes[j]
    if kind == "range":
        span = about[-1] - about[0]
        return float((about[max(cell)] - about[min(cell)]) / span) if span else 0.0
    return (len(cell) - 1) / ((about if kind == "set" else len(about)) - 1)


def setting(table: CodeTable, measure: str) -> twins.Crowding:
    cost: Any = twins.entropy_measure(table.points)
    if measure == "lm":
        cost = lambda j, cell: loss(table.axes, j, cell)  # noqa: E731
    return twins.Crowding(table.points, families(table.axes), cost)


def rows(crowding: twins.Crowding, neighbourhoods: Neighbourhoods) -> list[twins.Row]:
    ends = zip(neighbourhoods.starts[:-1], neighbourhoods.starts[1:], strict=True)
    return [crowding.closure(neighbourhoods.members[a:b].tolist()) for a, b in ends]


@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=300)
@given(code_tables(most=14, least=ks(1, 4)), ks(1, 4), st.sampled_from(["lm", "entropy"]))
def test_rows_are_those_of_the_twin(name: str, table: CodeTable, k: int, measure: str) -> None:
    fast, slow = ALGORITHMS[name]
    crowding = setting(table, measure)
    found = rows(crowding, fast(k, measure).neighbourhoods(table.data))
    assert found == [crowding.closure(crowd) for crowd in slow(crowding, k)]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_costs_that_differ_by_rounding_only_are_equal(name: str) -> None:
    """1/9 + 5/9 and 2/9 + 4/9 are not the same float: the smaller index must win all the same."""
    axes: list[tuple[str, Any]] = [
        ("range", [0, 1, 2, 3, 4, 5, 9]),
        ("range", [0, 1, 5, 6, 7, 8, 9]),
        ("set", 2),
    ]
    table = CodeTable([(0, 2, 0), (1, 0, 0), (2, 1, 0)], axes)
    neighbourhoods = ALGORITHMS[name][0](2).neighbourhoods(table.data)
    assert neighbourhoods.members[: neighbourhoods.starts[1]].tolist() == [0, 1]


@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=60)
@given(code_tables(most=40, least=ks(1, 6)), ks(1, 6), st.sampled_from(["lm", "entropy"]))
def test_every_row_fits_k_records(name: str, table: CodeTable, k: int, measure: str) -> None:
    crowding = setting(table, measure)
    for row in rows(crowding, ALGORITHMS[name][0](k, measure).neighbourhoods(table.data)):
        assert sum(twins.consistent(point, row) for point in table.points) >= k


@pytest.mark.parametrize("name", ALGORITHMS)
def test_too_few_records_are_refused(name: str) -> None:
    with pytest.raises(Infeasible, match="n=2 < k=3"):
        ALGORITHMS[name][0](3).neighbourhoods(CodeTable([(0,), (1,)], [("set", 2)]).data)


@pytest.mark.parametrize("limit", NeighbourhoodGrowth.limits)
def test_limits_refuse_bad_values(limit: str) -> None:
    for bad in NeighbourhoodGrowth.limits[limit].bad_values():
        with pytest.raises(PolicyError, match=limit):
            Expansion(**{"k": 2, limit: bad})  # type: ignore[arg-type]
    assert issubclass(Expansion, Limited)
