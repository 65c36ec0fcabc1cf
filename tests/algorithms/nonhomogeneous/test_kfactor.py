"""kfactor: regular for every table, in blocks too, no dearer than its classes, near the best there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from algorithms.nonhomogeneous.test_k_one import setting
from algorithms.nonhomogeneous.test_regular import lists, loss, small_table
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tables_of_codes import CodeTable, code_tables, ks
from twins import definitions as naive
from twins import factor as twins

from incrowd.algorithms.costs import priced
from incrowd.algorithms.nonhomogeneous import kfactor
from incrowd.algorithms.nonhomogeneous.kfactor import KFactorNeighbourhoods
from incrowd.algorithms.partitions.agglomerative import Agglomerative
from incrowd.contracts import silent
from incrowd.errors import PolicyError

MEAN_RATIO, WORST_RATIO = 1.05, 1.5  # to the best there is
MEASURES = st.sampled_from(["lm", "entropy"])


def check(table: CodeTable, k: int, measure: str) -> None:
    """A k-factor, the same every time, and with lm no dearer than the classes it began with."""
    method, data = KFactorNeighbourhoods(k, measure), table.data
    found, again = (method.group(data, (), silent) for _ in range(2))
    assert twins.is_factor(lists(found), k)
    assert (found.members == again.members).all()
    if measure == "lm" and k > 1:
        labels = method.classes(data, priced(data, measure))
        assert np.bincount(labels).min() >= k
        rows = [np.flatnonzero(labels == label).tolist() for label in labels]
        classes = [naive.row_cost(table.points, row, table.axes, measure) for row in rows]
        assert loss(data, found) <= sum(classes) / len(data) + 1e-9


@settings(max_examples=60)
@given(code_tables(most=30, least=ks(1, 6)), ks(1, 6), MEASURES)
def test_every_table_gets_a_factor(table: CodeTable, k: int, measure: str) -> None:
    check(table, k, measure)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), MEASURES)
def test_classes_made_in_blocks_keep_the_same(seed: int, k: int, measure: str) -> None:
    rng = np.random.default_rng(seed)
    points: list[tuple[int, ...]] = [(int(a), int(b)) for a, b in rng.integers(0, 7, (120, 2))]
    table = CodeTable(points, [("range", [0, 1, 2, 5, 9, 10, 11]), ("set", 7)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kfactor, "WHOLE", 50)
        patch.setattr(kfactor, "BLOCK", 40)
        check(table, k, measure)


def test_blocks_are_bounded_whatever_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rare values in every column leave no cut between equal values; blocks are halved all the same."""
    rng = np.random.default_rng(3)
    points = [tuple(int(x) for x in row) for row in (rng.random((600, 3)) < 0.01)]
    table = CodeTable(points, [("set", 2)] * 3)
    seen: list[int] = []
    clusters = Agglomerative.clusters

    def counted(self: Any, some: Any, progress: Any) -> Any:
        seen.append(len(some.codes))
        return clusters(self, some, progress)

    monkeypatch.setattr(kfactor, "WHOLE", 100)
    monkeypatch.setattr(kfactor, "BLOCK", 100)
    monkeypatch.setattr(Agglomerative, "clusters", counted)
    KFactorNeighbourhoods(5).group(table.data, (), silent)
    assert sum(seen) == 600
    assert max(seen) < 100


@pytest.mark.parametrize("k", [2, 3])
def test_tiny_tables_come_near_the_best(k: int) -> None:
    ratios = []
    for seed in range(20):
        table = small_table(seed)
        best = twins.best_factor(setting(table, "lm"), k)
        found = loss(table.data, KFactorNeighbourhoods(k).group(table.data, (), silent))
        assert found >= best - 1e-9
        ratios.append(found / best)
    assert np.mean(ratios) < MEAN_RATIO
    assert max(ratios) < WORST_RATIO


def test_nobody_can_ask_for_a_start() -> None:
    with pytest.raises(PolicyError, match="start"):
        KFactorNeighbourhoods.configured(3, {"start": "expansion"})
