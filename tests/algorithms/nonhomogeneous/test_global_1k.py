"""Algorithm 6 against its slow twin, on the worked example, and what it promises."""

from __future__ import annotations

import pytest
from algorithms.nonhomogeneous.test_k_one import ALGORITHMS, rows, setting
from algorithms.nonhomogeneous.test_one_k import tree
from algorithms.nonhomogeneous.test_twins_of_revisited import FAMILIES, RECORDS, TINY, crowding, plain
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tables_of_codes import CodeTable, code_tables, ks
from twins import nonhomogeneous as twins

from incrowd.algorithms.nonhomogeneous.neighbourhoods import global_neighbourhoods, widened


@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=150)
@given(code_tables(most=14, least=ks(1, 4)), ks(1, 4), st.sampled_from(["lm", "entropy"]))
def test_rows_are_widened_as_by_the_twin(name: str, table: CodeTable, k: int, measure: str) -> None:
    crowding = setting(table, measure)
    neighbourhoods = widened(
        table.data, ALGORITHMS[name][0](k, measure).neighbourhoods(table.data), k, measure
    )
    expected = twins.global_one_k(crowding, rows(crowding, neighbourhoods), k)
    assert rows(crowding, global_neighbourhoods(table.data, neighbourhoods, k, measure)) == expected


@pytest.mark.parametrize("case", TINY["expected"])
@pytest.mark.parametrize(("name", "printed"), [("nearest", "alg3"), ("expansion", "alg4")])
def test_the_worked_example(case: str, name: str, printed: str) -> None:
    measure, k = case.split(",")[0], int(case.split("k=")[1])
    points = [tuple(value - 1 for value in record) for record in RECORDS]
    table = CodeTable(points, [tree(family) for family in FAMILIES])
    words = "lm" if measure == "LM" else "entropy"
    neighbourhoods = widened(table.data, ALGORITHMS[name][0](k, words).neighbourhoods(table.data), k, words)
    expected = TINY["expected"][case][f"{printed}+5+6"]
    assert (
        plain(rows(crowding(measure), global_neighbourhoods(table.data, neighbourhoods, k, words)))
        == expected["table"]
    )
