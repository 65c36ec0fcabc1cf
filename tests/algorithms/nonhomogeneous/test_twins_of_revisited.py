"""The slow twins of Algorithms 3 to 6 give the worked example, so that they can judge the fast ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden import vectors
from twins import nonhomogeneous as twins

VECTORS = vectors("revisited")
TINY = VECTORS["algorithms_tiny"]
RECORDS = [tuple(record) for record in TINY["input"]["D"]]
FAMILIES = [[frozenset(subset) for subset in family] for family in TINY["input"]["families"]]


def crowding(measure: str) -> twins.Crowding:
    cost = twins.loss_measure(FAMILIES) if measure == "LM" else twins.entropy_measure(RECORDS)
    return twins.Crowding(RECORDS, FAMILIES, cost)


def plain(table: list[twins.Row]) -> list[Any]:
    return [[sorted(cell) for cell in row] for row in table]


@pytest.mark.parametrize("case", TINY["expected"])
def test_the_worked_example(case: str) -> None:
    measure, k = case.split(",")[0], int(case.split("k=")[1])
    setting, expected = crowding(measure), TINY["expected"][case]
    for name, make in (("alg3", twins.nearest), ("alg4", twins.expansion)):
        table = [setting.closure(crowd) for crowd in make(setting, k)]
        assert plain(table) == expected[name]["table"]
        assert setting.loss(table) == pytest.approx(expected[name]["k1_loss"], abs=1e-8)
        both = twins.one_k(setting, table, k)
        assert plain(both) == expected[f"{name}+5"]["table"]
        assert setting.loss(both) == pytest.approx(expected[f"{name}+5"]["loss"], abs=1e-8)
        everywhere = twins.global_one_k(setting, both, k)
        assert plain(everywhere) == expected[f"{name}+5+6"]["table"]
    assert twins.best_k1(setting, k) == pytest.approx(expected["optimal_k1"]["loss"], abs=1e-8)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(RECORDS), min_size=2, max_size=6), st.integers(2, 3))
def test_paths_find_the_matches_that_enumeration_finds(records: list[twins.Record], k: int) -> None:
    k = min(k, len(records))
    setting = twins.Crowding(records, FAMILIES, twins.loss_measure(FAMILIES))
    table = [setting.closure(crowd) for crowd in twins.expansion(setting, k)]
    assert twins.effective_by_paths(records, table) == twins.effective(records, table)
