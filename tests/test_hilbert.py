"""Hilbert order and the cheapest cuts against slow twins, the curve's own laws, and all partitions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import naive_orders
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables_of_codes import CodeTable, code_tables, groups_of
from test_lexicographic import NeedsBoth, listed, with_missing

from incrowd.contracts import silent
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Attribute, Microdata
from incrowd.hide.hilbert import Hilbert, curve_order
from incrowd.kernels import hilbert as kernels
from incrowd.schema import Kind, Shape


def cut(table: CodeTable, k: int, *guards: Any) -> list[list[int]]:
    return listed(Hilbert(k).parts(table.data, guards, silent))


def cost(table: CodeTable, parts: list[list[int]]) -> int:
    return sum(naive_orders.range_cost(table.points, table.axes, part) for part in parts)


def places(points: list[list[int]], bits: int) -> list[int]:
    """Where the kernel puts points on the curve."""
    codes = np.array(points, np.int32)
    total = bits * codes.shape[1]
    words = np.zeros((-(-total // 63), len(points)), np.int64)
    kernels.curve_words(codes, bits, words)
    room = [min(63, total - 63 * w) for w in range(len(words))]
    found = [0] * len(points)
    for word, bits_here in zip(words.tolist(), room, strict=True):
        found = [(before << bits_here) + more for before, more in zip(found, word, strict=True)]
    return found


# The curve


@pytest.mark.parametrize(("bits", "d"), [(1, 1), (6, 1), (1, 5), (5, 2), (3, 3), (2, 4), (2, 5)])
def test_the_curve_visits_every_point_in_single_steps(bits: int, d: int) -> None:
    walk = [naive_orders.curve_point(index, bits, d) for index in range(2 ** (bits * d))]
    assert len({tuple(point) for point in walk}) == len(walk)
    for here, there in pairwise(walk):
        assert sum(abs(a - b) for a, b in zip(here, there, strict=True)) == 1
    assert places(walk, bits) == list(range(len(walk)))


@settings(max_examples=300)
@given(st.integers(1, 31), st.integers(1, 9), st.data())
def test_places_on_the_curve_agree_with_naive(bits: int, d: int, data: st.DataObject) -> None:
    """Up to 279 bits, hence five words."""
    point = st.lists(st.integers(0, 2**bits - 1), min_size=d, max_size=d)
    points = data.draw(st.lists(point, min_size=1, max_size=6))
    found = places(points, bits)
    assert found == [naive_orders.curve_index(point, bits) for point in points]
    assert [naive_orders.curve_point(place, bits, d) for place in found] == points


def test_points_far_apart_in_many_blocks(rng: np.random.Generator) -> None:
    points = rng.integers(0, 2**13, (1500, 6)).tolist()
    assert places(points, 13) == [naive_orders.curve_index(point, 13) for point in points]


def test_large_domains_are_compared_word_by_word(rng: np.random.Generator) -> None:
    size, d = 2**14, 5  # 70 bits
    codes = rng.integers(0, size, (300, d)).astype(np.int32)
    codes[100:] = codes[99] & ~1  # equal up to the last bits, which are in the second word
    codes[100:] |= rng.integers(0, 2, (200, d)).astype(np.int32)
    about = Attribute("a", Kind.NUMERIC, Shape.RANGE, ("",) * size, np.arange(size, dtype=float))
    expected = sorted(range(300), key=lambda i: naive_orders.curve_index(codes[i].tolist(), 14))
    assert curve_order(Microdata(codes, (about,) * d)).tolist() == expected


# The cuts


@settings(max_examples=500)
@given(code_tables(), st.integers(1, 8))
def test_agrees_with_naive(table: CodeTable, k: int) -> None:
    if len(table.points) < k:
        return
    assert cut(table, k) == naive_orders.hilbert(table.points, table.axes, k)


@pytest.mark.parametrize("k", [1, 3, 40])
def test_agrees_with_naive_over_many_blocks(
    k: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = [rng.integers(0, size, 1100) for size in (30, 5)]
    points = [tuple(int(value) for value in row) for row in zip(*columns, strict=True)]
    table = CodeTable(points, [("range", [i * i for i in range(30)]), ("set", 5)])
    known = {id(axis): naive_orders.places(axis) for axis in table.axes}
    monkeypatch.setattr(naive_orders, "places", lambda axis: known[id(axis)])  # once is enough
    assert cut(table, k) == naive_orders.hilbert(table.points, table.axes, k)


@settings(max_examples=200)
@given(code_tables(), st.integers(1, 8))
def test_parts_have_k_to_2k_less_one(table: CodeTable, k: int) -> None:
    if len(table.points) < k:
        return
    parts = cut(table, k)
    assert all(k <= len(part) <= 2 * k - 1 for part in parts)
    assert groups_of(Hilbert(k).group(table.data, (), silent)) == set(map(frozenset, parts))


@settings(max_examples=150)
@given(code_tables(most=12), st.integers(1, 4))
def test_no_cut_of_the_row_is_cheaper(table: CodeTable, k: int) -> None:
    """Not even one with larger parts."""
    if len(table.points) < k:
        return
    parts = cut(table, k)
    row = [i for part in parts for i in part]
    assert cost(table, parts) == min(cost(table, other) for other in naive_orders.all_cuts(row, k))


@settings(max_examples=100)
@given(st.lists(st.integers(0, 7), min_size=2, max_size=8), st.integers(2, 4))
def test_of_one_column_only_nested_groups_can_be_cheaper(codes: list[int], k: int) -> None:
    table = CodeTable([(code,) for code in codes], [("range", [0, 1, 3, 4, 9, 10, 20, 30])])
    if len(codes) < k:
        return

    def nested(parts: list[list[int]]) -> bool:
        ends = [(min(codes[i] for i in part), max(codes[i] for i in part)) for part in parts]
        inside = [(a, b) for a in ends for b in ends if a is not b and a[0] < b[0] and b[1] < a[1]]
        return bool(inside)

    plain = [parts for parts in naive_orders.all_partitions(range(len(codes)), k) if not nested(parts)]
    assert cost(table, cut(table, k)) <= min(cost(table, parts) for parts in plain)


def test_of_one_column_nested_groups_can_be_cheaper() -> None:
    """So the order is not without loss, even in one dimension: 0 and 2 around three 1s."""
    table = CodeTable([(0,), (1,), (1,), (1,), (2,)], [("range", [0, 1, 2])])
    assert cut(table, 2) == [[0, 1, 2], [3, 4]]
    assert cost(table, [[0, 1, 2], [3, 4]]) == 5 * naive_orders.UNIT // 2
    best = min(naive_orders.all_partitions(range(5), 2), key=lambda parts: cost(table, parts))
    assert best == [[0, 4], [1, 2, 3]]
    assert cost(table, best) == 4 * naive_orders.UNIT // 2


def test_of_equal_cuts_the_smaller_last_part_wins() -> None:
    table = CodeTable([(0,)] * 7, [("set", 2)])
    assert list(map(len, cut(table, 2))) == [3, 2, 2]


# Missing values, limits and guards


def test_missing_is_a_value_like_any_other() -> None:
    data = with_missing([10.0, 20.0], [0, 2, 0, 2, 1, 1])
    assert listed(Hilbert(2).parts(data, (), silent)) == [[0, 2], [4, 5], [1, 3]]


@settings(max_examples=100)
@given(code_tables(most=25), st.integers(1, 4))
def test_guards_are_kept_by_merging_neighbours(table: CodeTable, k: int) -> None:
    if len(table.points) < max(k, 2):
        return
    guard = NeedsBoth(len(table.points))
    expected = naive_orders.merged(
        cut(table, k), table.points, table.axes, lambda part: guard.allows(np.array(part))
    )
    assert cut(table, k, guard) == expected
    assert all(guard.allows(np.array(part)) for part in expected)


def test_limits_refuse_bad_values() -> None:
    for bad in Hilbert.limits["k"].bad_values():
        with pytest.raises(PolicyError, match="k must be"):
            Hilbert(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [0, 2])
def test_too_few_records_are_refused(n: int) -> None:
    with pytest.raises(Infeasible, match=rf"n={n} < k=3"):
        cut(CodeTable([(0,)] * n, [("set", 2)]), 3)


def test_progress_is_told() -> None:
    told: list[float] = []

    def note(done: float) -> None:
        told.append(done)

    Hilbert(2).parts(CodeTable([(0,), (1,)] * 5, [("set", 2)]).data, (), note)
    assert told[-1] == 1.0
