"""kfactor: regular for every table, in blocks too, no dearer than its classes, near the best there is."""

from __future__ import annotations

from functools import partial
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

from incrowd.algorithms import polish
from incrowd.algorithms.costs import Priced, priced
from incrowd.algorithms.nonhomogeneous import kfactor
from incrowd.algorithms.nonhomogeneous.exchange import Exchange
from incrowd.algorithms.nonhomogeneous.kfactor import KFactorNeighbourhoods
from incrowd.algorithms.nonhomogeneous.regular import rings
from incrowd.algorithms.partitions import cells
from incrowd.algorithms.partitions.cells import Cells
from incrowd.errors import PolicyError
from incrowd.flow import Partition
from incrowd.long_work import silent

MEAN_RATIO, WORST_RATIO = 1.05, 1.5  # to the best there is
MEASURES = st.sampled_from(["lm", "entropy"])


def check(table: CodeTable, k: int, measure: str) -> None:
    """A k-factor, the same every time, and with lm no dearer than any of the classes it may begin with."""
    method, data = KFactorNeighbourhoods(k, measure), table.data
    found, again = (method.group(data, (), silent) for _ in range(2))
    assert twins.is_factor(lists(found), k)
    assert (found.members == again.members).all()
    if measure == "lm" and k > 1:
        for labels in method.classes(data, priced(data, measure)):
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
        patch.setattr(cells, "BLOCK", 40)
        patch.setattr(polish, "BLOCK", 40)
        check(table, k, measure)


def test_large_tables_begin_with_cells_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters take more than in proportion to the records."""
    table = small_table(1)
    method, priced_table = KFactorNeighbourhoods(2), priced(table.data, "lm")
    assert len(list(method.classes(table.data, priced_table))) == 2
    monkeypatch.setattr(kfactor, "WHOLE", len(table.data) - 1)
    (labels,) = method.classes(table.data, priced_table)
    assert (labels == Cells(2).group(table.data, (), silent).labels).all()


# In the first table the rows of cells are cheaper in the end, in the second those of clusters.
@pytest.mark.parametrize("better", [0, 1], ids=["cells", "clusters"])
def test_the_cheaper_rows_are_taken(better: int) -> None:
    table, found = table_where(better)
    assert loss(table.data, KFactorNeighbourhoods(3).group(table.data, (), silent)) == pytest.approx(found)


def table_where(better: int) -> tuple[CodeTable, float]:
    """A table in which these classes end lower, by exchanges of their own; and how low."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        points = [tuple(int(x) for x in row) for row in rng.integers(0, 6, (30, 3))]
        table = CodeTable(points, [("range", [0, 1, 2, 5, 9, 10]), ("set", 6), ("set", 6)])
        ends = list(map(partial(exchanged, table), KFactorNeighbourhoods(3).classes(table.data, lm(table))))
        if ends[better] < ends[1 - better] - 1e-6:
            return table, ends[better]
    raise AssertionError("none of the tables")


def exchanged(table: CodeTable, labels: Any) -> float:
    ring = rings(table.data, Partition(labels), 3)
    work = Exchange.of(lm(table), ring.members.reshape(len(table.data), 3))
    work.run()
    return work.cost / len(table.data)


def lm(table: CodeTable) -> Priced:
    return priced(table.data, "lm")


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
