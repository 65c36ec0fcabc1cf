"""Algorithm 5 against its slow twin, and Algorithms 3 to 5 on the worked example."""

from __future__ import annotations

import pytest
from algorithms.nonhomogeneous.test_k_one import ALGORITHMS, rows, setting
from algorithms.nonhomogeneous.test_twins_of_revisited import FAMILIES, RECORDS, TINY, crowding, plain
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tables_of_codes import CodeTable, code_tables, ks
from twins import nonhomogeneous as twins

from incrowd.algorithms.nonhomogeneous.neighbourhoods import widened


@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=200)
@given(code_tables(most=14, least=ks(1, 4)), ks(1, 4), st.sampled_from(["lm", "entropy"]))
def test_rows_are_widened_as_by_the_twin(name: str, table: CodeTable, k: int, measure: str) -> None:
    crowding = setting(table, measure)
    neighbourhoods = ALGORITHMS[name][0](k, measure).neighbourhoods(table.data)
    expected = twins.one_k(crowding, rows(crowding, neighbourhoods), k)
    assert rows(crowding, widened(table.data, neighbourhoods, k, measure)) == expected


@settings(max_examples=60)
@given(code_tables(most=40, least=ks(1, 6)), ks(1, 6), st.sampled_from(["lm", "entropy"]))
def test_every_record_fits_k_rows_and_every_row_k_records(table: CodeTable, k: int, measure: str) -> None:
    crowding = setting(table, measure)
    neighbourhoods = ALGORITHMS["expansion"][0](k, measure).neighbourhoods(table.data)
    published = rows(crowding, widened(table.data, neighbourhoods, k, measure))
    for point in table.points:
        assert sum(twins.consistent(point, row) for row in published) >= k
    for row in published:
        assert sum(twins.consistent(point, row) for point in table.points) >= k


def tree(family: list[frozenset[int]]) -> tuple[str, list[list[frozenset[int]]]]:
    """A family of nested sets over 1, 2, … as the paths from its leaves, numbered from 0."""
    sets = [frozenset(value - 1 for value in subset) for subset in family]
    values = sorted(frozenset().union(*sets))
    return "tree", [sorted((s for s in sets if value in s), key=len) for value in values]


@pytest.mark.parametrize("case", TINY["expected"])
@pytest.mark.parametrize(("name", "printed"), [("nearest", "alg3"), ("expansion", "alg4")])
def test_the_worked_example(case: str, name: str, printed: str) -> None:
    measure, k = case.split(",")[0], int(case.split("k=")[1])
    points = [tuple(value - 1 for value in record) for record in RECORDS]
    table = CodeTable(points, [tree(family) for family in FAMILIES])
    words = "lm" if measure == "LM" else "entropy"
    neighbourhoods = ALGORITHMS[name][0](k, words).neighbourhoods(table.data)
    expected = TINY["expected"][case]
    assert plain(rows(crowding(measure), neighbourhoods)) == expected[printed]["table"]
    wide = widened(table.data, neighbourhoods, k, words)
    assert plain(rows(crowding(measure), wide)) == expected[f"{printed}+5"]["table"]
