"""Any partition made plain: what the repair leaves is plain, and keeps k and every guard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.plain_tables import PlainTable, plain_tables
from twins import plain as naive_plain

from incrowd import Policy, publish
from incrowd.algorithms.outliers.repair import MERGES, TRIES, repaired
from incrowd.algorithms.partitions.agglomerative import Agglomerative
from incrowd.algorithms.partitions.hilbert import Hilbert
from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.algorithms.partitions.single import SingleDimensional
from incrowd.distance_outliers import Setting
from incrowd.flow import Partition, Table
from incrowd.long_work import silent


def groups_of(partition: Partition) -> list[Any]:
    return [np.flatnonzero(partition.labels == g) for g in range(len(partition))]


@given(table=plain_tables(), k=st.integers(1, 3), seed=st.integers(0, 99))
@settings(max_examples=80, deadline=None)
def test_any_partition_becomes_plain(table: PlainTable, k: int, seed: int) -> None:
    labels = np.random.default_rng(seed).integers(0, 4, len(table.rows))
    partition = Partition(np.unique(labels, return_inverse=True)[1].astype(np.int32))
    guard = table.guard
    found = repaired(partition, table.data, guard, (guard,), k, silent)
    assert (found.labels[guard.space.removed] == -1).all()
    assert all(guard.plain(rows) and rows.size >= k for rows in groups_of(found))
    before = {tuple(rows) for rows in groups_of(partition)}
    kept = {tuple(rows) for rows in groups_of(found)}
    fine = {rows for rows in before if len(rows) >= k and guard.plain(np.array(rows))}
    assert fine != before or guard.space.removed.any() or kept == before
    twin = naive_plain.repair(
        naive_plain.ExpC(table.twin, k, delta=0, tries=TRIES, merges=MERGES),
        [[int(i) for i in rows] for rows in groups_of(partition)],
    )
    assert kept == {tuple(sorted(group)) for group in twin.groups}
    assert sorted(twin.suppressed + twin.removed) == np.flatnonzero(found.labels < 0).tolist()


def planted() -> PlainTable:
    """Sixty people of few incomes, and three with large ones at the edge."""
    rng = np.random.default_rng(3)
    rows = [(int(a), int(b)) for a, b in rng.integers(0, (20, 10), (60, 2))] + [(20, 10), (19, 10), (20, 9)]
    rows = [*rows, *((i, i % 11) for i in range(21))]
    values = (
        [int(x) for x in rng.integers(0, 12, 60)] + [60, 58, 11] + [int(x) for x in rng.integers(0, 12, 21)]
    )
    columns: list[tuple[str, Any, bool]] = [
        ("range", list(range(21)), False),
        ("range", list(range(11)), False),
    ]
    return PlainTable(columns, rows, values, Setting(p="0.8", d="0.8", distinct=3, margin="0.05"))


@pytest.mark.parametrize("recipe", [StrictMondrian(4), Agglomerative(4), Hilbert(4), SingleDimensional(4)])
def test_groups_of_other_methods_become_plain(recipe: Any) -> None:
    table = planted()
    guard = table.guard
    partition = recipe.group(table.data, (guard,), silent)
    found = repaired(partition, table.data, guard, (guard,), 4, silent)
    assert not guard.space.removed.all()
    assert (found.labels[guard.space.removed] == -1).all()
    assert (found.slabs is None) == (partition.slabs is None)
    if found.slabs is None:
        assert len(found)
        assert all(guard.plain(rows) and rows.size >= 4 for rows in groups_of(found))
        assert (found.labels < 0).sum() < 30


@pytest.mark.parametrize(
    "method", ["expc", "gnof", "gof", "remove-outliers", "mondrian", "single", "incognito"]
)
def test_the_judge_finds_releases_plain(method: str) -> None:
    rng = np.random.default_rng(1)
    age, zips, pay = rng.integers(30, 60, 150), rng.integers(100, 130, 150), rng.integers(20, 60, 150)
    pay[0] = 900
    columns = {"age": age, "zip": zips, "pay": pay}
    table = Table.of({name: [str(int(x)) for x in column] for name, column in columns.items()})
    policy = Policy(
        quasi_identifiers={"age": {"type": "numeric"}, "zip": {"type": "numeric"}},
        sensitive=["pay"],
        privacy={"k": 4, "max_suppression": "0.9", "plain": {"p": "0.8", "d": "0.8"}},
        method=method,
    )
    release = publish(table, policy)
    assert release.verdict.passed
    assert 75 < len(release.table) < 150
