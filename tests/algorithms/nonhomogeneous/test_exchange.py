"""Exchanges: prices against their definition, what every exchange keeps, and that none is left that pays."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.tables_of_codes import CodeTable, code_tables, ks
from twins import definitions as naive
from twins import factor as twins

from incrowd.algorithms.costs import priced
from incrowd.algorithms.nonhomogeneous.exchange import Exchange
from incrowd.algorithms.nonhomogeneous.regular import rings
from incrowd.algorithms.partitions.agglomerative import Agglomerative
from incrowd.flow import Codes
from incrowd.kernels import assignment
from incrowd.kernels import exchange as kernels
from incrowd.long_work import silent

MEASURES = st.sampled_from(["lm", "entropy"])


def begun(table: CodeTable, k: int, measure: str = "lm") -> Exchange:
    """Rings in clusters."""
    clusters = Agglomerative(k, measure=measure).group(table.data, (), silent)
    members = rings(table.data, clusters, k).members.reshape(-1, k)
    return Exchange.of(priced(table.data, measure), members)


def shuffled(table: CodeTable, k: int, chance: Any, measure: str = "lm") -> Exchange:
    """A ring of all records in any order: much is left to be gained."""
    order = list(range(len(table.points)))
    chance.shuffle(order)
    members = np.empty((len(order), k), np.int32)
    for at, record in enumerate(order):
        members[record] = [order[(at + step) % len(order)] for step in range(k)]
    return Exchange.of(priced(table.data, measure), members)


def costs_of(table: CodeTable, members: Codes, measure: str = "lm") -> list[float]:
    return [naive.row_cost(table.points, crowd, table.axes, measure) for crowd in members.tolist()]


def check_prices(table: CodeTable, work: Exchange, measure: str) -> None:
    """All prices of a row that a kernel finds, against rows made anew."""
    rows, desk, costs, n = work.rows, work.desk, work.table.costs, len(table.points)
    assert rows.cost.tolist() == pytest.approx(costs_of(table, rows.members, measure), abs=1e-9)
    for v, crowd in enumerate(rows.members.tolist()):
        assert kernels.lay(0, v, rows, desk, costs) == pytest.approx(rows.cost[v], abs=1e-9)
        assert desk.without[0, 0] == np.inf
        others = np.array([y for y in range(n) if y not in crowd], np.int64)
        found = np.empty(others.size)
        for slot, x in enumerate(crowd[1:], 1):
            rest = [member for member in crowd if member != x]
            alone = naive.row_cost(table.points, rest, table.axes, measure)
            assert desk.without[0, slot] == pytest.approx(alone, abs=1e-9)
            kernels.part_with(0, x, rows, desk, costs)
            bounds = desk.rest_low, desk.rest_high, desk.rest_bits
            kernels.cost_with_each(0, others, np.inf, *bounds, rows.codes, costs, found)
            wanted = [naive.row_cost(table.points, [*rest, y], table.axes, measure) for y in others.tolist()]
            assert found.tolist() == pytest.approx(wanted, abs=1e-9)
            changed = [kernels.cost_changed(0, x, y, rows.codes, desk, costs) for y in others.tolist()]
            assert changed == pytest.approx(wanted, abs=1e-9)


@settings(max_examples=60)
@given(code_tables(most=9, least=ks(2, 5)), ks(2, 5), MEASURES, st.randoms(use_true_random=False))
def test_prices_are_those_of_rows_made_anew(table: CodeTable, k: int, measure: str, chance: Any) -> None:
    check_prices(table, shuffled(table, k, chance, measure), measure)


def test_prices_of_columns_too_large_for_a_table() -> None:
    positions = [7 * code + code % 3 for code in range(900)]
    half = [frozenset(range(450)), frozenset(range(450, 900))]
    paths = [[frozenset({leaf}), half[leaf // 450], half[0] | half[1]] for leaf in range(900)]
    points: list[tuple[int, ...]] = [(code, (37 * code) % 900) for code in (3, 11, 200, 450, 451, 899)]
    table = CodeTable(points, [("range", positions), ("tree", paths)])
    members = np.array([[(i + step) % 6 for step in range(3)] for i in range(6)], np.int32)
    check_prices(table, Exchange.of(priced(table.data, "lm"), members), "lm")


@settings(max_examples=80)
@given(code_tables(most=40, least=ks(2, 5)), ks(2, 5), MEASURES, st.randoms(use_true_random=False))
def test_one_can_end_after_every_step(table: CodeTable, k: int, measure: str, chance: Any) -> None:
    """Always a k-factor, never dearer than before, and every saving is one."""
    work = shuffled(table, k, chance, measure)
    before = work.cost
    for sweep in range(3):
        for saved in work.steps(sweep):
            assert twins.is_factor(work.rows.members.tolist(), k)
            assert work.rows.members[:, 0].tolist() == list(range(len(table.points)))
            assert saved >= 0
            assert work.cost == pytest.approx(before - saved, abs=1e-7)
            before = work.cost
    assert work.cost == pytest.approx(sum(costs_of(table, work.rows.members, measure)), abs=1e-7)


def swaps(members: list[list[int]]) -> Any:
    """All ways in which two rows can give each other one member, never their own record."""
    for v, w in combinations(range(len(members)), 2):
        mine = [x for x in members[v] if x not in members[w] and x != v]
        theirs = [y for y in members[w] if y not in members[v] and y != w]
        yield from ((v, w, x, y) for x, y in product(mine, theirs))


@settings(max_examples=60)
@given(code_tables(most=11, least=ks(2, 4)), ks(2, 4), st.randoms(use_true_random=False))
def test_no_swap_is_left_that_saves_anything(table: CodeTable, k: int, chance: Any) -> None:
    work = shuffled(table, k, chance)
    work.run()
    members = work.rows.members.tolist()
    now = costs_of(table, work.rows.members)
    tried = 0
    for v, w, x, y in swaps(members):
        changed = [[*(i for i in members[v] if i != x), y], [*(i for i in members[w] if i != y), x]]
        after = sum(naive.row_cost(table.points, crowd, table.axes, "lm") for crowd in changed)
        assert after >= now[v] + now[w] - 1e-8
        tried += 1
    assume(tried)


def test_a_swap_that_pays_is_made() -> None:
    """Two rings far apart, of which two rows hold one of the other: a single swap mends both."""
    table = CodeTable([(code,) for code in range(6)], [("range", [0, 1, 2, 100, 101, 102])])
    rows = np.array([[0, 4], [1, 2], [2, 0], [3, 1], [4, 5], [5, 3]], np.int32)
    work = Exchange.of(priced(table.data, "lm"), rows)
    saved = kernels.swap_all(np.arange(6), work.rows, work.desk, work.table.costs)
    assert work.rows.members.tolist() == [[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3]]
    assert saved == pytest.approx((101 + 99 - 1 - 1) / 102)
    assert work.cost == pytest.approx(8 / 102)


@settings(max_examples=60)
@given(code_tables(most=24, least=ks(2, 5)), ks(2, 5), MEASURES)
def test_rings_in_clusters_are_regular_and_exchanges_never_lose(
    table: CodeTable, k: int, measure: str
) -> None:
    clusters = Agglomerative(k, measure=measure).group(table.data, (), silent)
    ring = rings(table.data, clusters, k)
    for record, label in enumerate(clusters.labels):
        crowd = ring.members.reshape(-1, k)[record]
        assert crowd[0] == record
        assert (clusters.labels[crowd] == label).all()
    one, other = begun(table, k, measure), begun(table, k, measure)
    before = one.cost
    assert one.run() == pytest.approx(before - one.cost, abs=1e-7)
    assert one.cost <= before + 1e-9
    found = one.neighbourhoods()
    assert ring.regular
    assert found.regular
    other.run()
    assert (other.neighbourhoods().members == found.members).all()
    if measure == "lm":
        classes = [np.flatnonzero(clusters.labels == label).tolist() for label in clusters.labels]
        rows = [naive.row_cost(table.points, crowd, table.axes, "lm") for crowd in classes]
        assert before <= sum(rows) + 1e-9


@settings(max_examples=60)
@given(st.integers(1, 6), st.data())
def test_assignments_are_the_cheapest(m: int, data: st.DataObject) -> None:
    entry = st.integers(-3, 9)
    cost = data.draw(st.lists(st.lists(entry, min_size=m, max_size=m), min_size=m, max_size=m))
    taker = assignment.assigned(np.array(cost, np.float64), m).tolist()
    assert sorted(taker) == list(range(m))
    assert sum(cost[row][column] for column, row in enumerate(taker)) == twins.cheapest_assignment(cost)
