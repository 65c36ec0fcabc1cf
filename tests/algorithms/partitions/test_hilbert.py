"""Hilbert order and the cheapest cuts against slow twins, the curve's own laws, and all partitions."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from algorithms.partitions.test_lexicographic import NeedsBoth, listed, with_missing
from algorithms.test_anatomy import Rule
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.places import ROOT
from support.tables_of_codes import CodeTable, code_tables, groups_of, ks, ls, rare_values
from twins import ordering as naive_orders

from incrowd.algorithms.partitions.hilbert import Hilbert, _waiting, curve_order
from incrowd.algorithms.partitions.lexicographic import places_of
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Attribute, Microdata
from incrowd.kernels import eligible
from incrowd.kernels import hilbert as kernels
from incrowd.long_work import silent
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
@given(code_tables(least=ks(1, 8)), ks(1, 8))
def test_agrees_with_naive(table: CodeTable, k: int) -> None:
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


def in_pieces(table: CodeTable, k: int, step: int) -> list[list[int]]:
    """The parts of the same row, of which `step` records come at a time."""
    codes, n = table.data.codes[curve_order(table.data)], len(table.points)
    where = places_of(table.data)
    starts = np.cumsum([0, *(each.size for each in where)])
    before = np.concatenate([np.zeros((2 * k - 2, codes.shape[1]), np.int32), codes])
    least, sizes = np.full(2 * k, kernels.NEVER), np.empty(n, np.int32)
    least[-1] = 0
    for first in range(0, n, step):
        last = min(first + step, n)
        costs = np.concatenate([least, np.zeros(last - first, np.int64)])
        piece = np.ascontiguousarray(before[first : last + 2 * k - 2])
        kernels.extend_cuts(piece, np.concatenate(where), starts, k, costs, sizes[first:last])
        least = costs[-2 * k :]
    found = np.empty(n // k + 1, np.int64)
    many = kernels.starts_of_parts(sizes, found)
    return [part.tolist() for part in np.split(curve_order(table.data), found[: many - 1][::-1])]


@settings(max_examples=200)
@given(code_tables(least=ks(1, 8)), ks(1, 8), st.integers(1, 30))
def test_a_row_that_comes_in_pieces_is_cut_alike(table: CodeTable, k: int, step: int) -> None:
    assert in_pieces(table, k, step) == cut(table, k)


@settings(max_examples=200)
@given(code_tables(least=ks(1, 8)), ks(1, 8))
def test_parts_have_k_to_2k_less_one(table: CodeTable, k: int) -> None:
    parts = cut(table, k)
    assert all(k <= len(part) <= 2 * k - 1 for part in parts)
    assert groups_of(Hilbert(k).group(table.data, (), silent)) == set(map(frozenset, parts))


@settings(max_examples=150)
@given(code_tables(most=12, least=ks(1, 4)), ks(1, 4))
def test_no_cut_of_the_row_is_cheaper(table: CodeTable, k: int) -> None:
    """Not even one with larger parts."""
    parts = cut(table, k)
    row = [i for part in parts for i in part]
    assert cost(table, parts) == min(cost(table, other) for other in naive_orders.all_cuts(row, k))


@settings(max_examples=100)
@given(ks(2, 4).flatmap(lambda k: st.lists(st.integers(0, 7), min_size=k, max_size=8)), ks(2, 4))
def test_of_one_column_only_nested_groups_can_be_cheaper(codes: list[int], k: int) -> None:
    table = CodeTable([(code,) for code in codes], [("range", [0, 1, 3, 4, 9, 10, 20, 30])])

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
@given(code_tables(most=25, least=ks(1, 4)), ks(1, 4))
def test_guards_are_kept_by_merging_neighbours(table: CodeTable, k: int) -> None:
    assume(len(table.points) > 1)
    guard = NeedsBoth(len(table.points))
    expected = naive_orders.merged(
        cut(table, k), table.points, table.axes, lambda part: guard.allows(np.array(part))
    )
    assert cut(table, k, guard) == expected
    assert all(guard.allows(np.array(part)) for part in expected)


# Groups in which no value has more than 1/l


@st.composite
def eligible_values(
    draw: st.DrawFn,
    most: int,
    k: st.SearchStrategy[int],
    l: st.SearchStrategy[int],  # noqa: E741  the paper's letter
) -> list[int]:
    """At least k values, none with more than its share 1/l."""
    n = draw(st.integers(max(draw(k), draw(l)), most))
    return draw(rare_values(n, n // draw(l)))


def rule_of(values: Sequence[int], l: int) -> Rule:  # noqa: E741  the paper's letter
    dense = sorted(set(values))
    return Rule(np.array([dense.index(value) for value in values], np.int32), len(dense), l)


def dealt(values: list[int], k: int, l: int) -> list[list[int]]:  # noqa: E741
    """Groups of records that lie on the curve in the order of the list, in the order they were made in."""
    n = len(values)
    data = CodeTable([(i,) for i in range(n)], [("range", list(range(n)))]).data
    labels = Hilbert(k).group(data, (rule_of(values, l),), silent).labels
    return [np.flatnonzero(labels == group).tolist() for group in range(labels.max() + 1)]


@settings(max_examples=300)
@given(eligible_values(10, ks(1, 6), ls(2, 4)), ks(1, 6), ls(2, 4))
def test_one_pass_finds_what_is_earliest_by_definition(values: list[int], k: int, l: int) -> None:  # noqa: E741
    """The twins among themselves: going through the row once, and trying all sets of records."""
    expected = naive_orders.dealt(values, k, l, naive_orders.by_definition)
    assert naive_orders.dealt(values, k, l) == expected


@settings(max_examples=500)
@given(eligible_values(40, ks(1, 12), ls(1, 5)), ks(1, 12), ls(1, 5))
def test_groups_are_dealt_as_by_naive(values: list[int], k: int, l: int) -> None:  # noqa: E741
    assert dealt(values, k, l) == naive_orders.dealt(values, k, l)


@settings(max_examples=200)
@given(code_tables(least=ks(1, 8)), st.data(), ks(1, 8), st.integers(2, 4))
def test_groups_of_any_table_follow_the_curve(
    table: CodeTable,
    data: st.DataObject,
    k: int,
    l: int,  # noqa: E741
) -> None:
    n = len(table.points)
    assume(n >= l)
    values = data.draw(rare_values(n, n // l))
    assert naive_orders.eligible(values, range(n), l)
    row = curve_order(table.data).tolist()
    expected = naive_orders.dealt([values[i] for i in row], k, l)
    found = groups_of(Hilbert(k).group(table.data, (rule_of(values, l),), silent))
    assert found == {frozenset(row[place] for place in group) for group in expected}


@pytest.mark.parametrize(("k", "l"), [(2, 2), (4, 4), (7, 3), (12, 4), (30, 5)])
@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "mixed"])
@pytest.mark.parametrize("tight", [True, False], ids=["tight", "loose"])
def test_many_records_keep_all_that_is_claimed(
    k: int,
    l: int,  # noqa: E741
    ordered: bool,
    tight: bool,
    rng: np.random.Generator,
) -> None:
    """One value has exactly 1/l of all, if tight; and like values lie together, if ordered."""
    n = 6000 if tight else 6011
    few = n // l if tight else n // (2 * l)
    values = np.append(np.zeros(few, int), rng.integers(1, 40, n - few))
    values = np.sort(values) if ordered else rng.permutation(values)
    groups = dealt(values.tolist(), k, l)
    sizes = list(map(len, groups))
    assert sum(sizes) == n
    rule = rule_of(values.tolist(), l)
    assert all(rule.allows(np.array(group, np.int32)) for group in groups)
    if k <= l:
        assert len(groups) == n // l
        assert sum(size - l for size in sizes) == n % l
        assert all(len(set(values[group])) == len(group) for group in groups)
    else:
        assert all(k <= size <= -(-k // l) * l for size in sizes[:-1] if size * 4 < n)
        assert sum(size > -(-k // l) * l for size in sizes) <= 2, "only the last ones may be larger"


def test_a_value_at_its_limit_is_taken_from_far_away() -> None:
    assert dealt([1, 2, 1, 2, 0, 0, 0, 0], 2, 2) == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert dealt([0, 1, 2, 1, 2, 0, 0, 0], 2, 2) == [[0, 1], [2, 5], [3, 6], [4, 7]]
    assert dealt([0, 1, 2, 1, 2, 0, 0, 3], 2, 2) == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_who_is_left_over_goes_to_the_nearest_group_without_their_value() -> None:
    assert dealt([1, 0, 2, 0, 3, 4, 1], 2, 2) == [[0, 1], [2, 3], [4, 5, 6]]
    assert dealt([0, 0, 1, 2, 2], 2, 2) == [[0, 3], [1, 2, 4]], "3 is nearer, but has the value"


def test_of_groups_equally_near_the_left_one_is_taken() -> None:
    value = np.array([0, 1, 2, 3, 4, 2])
    row = _waiting(value, np.bincount(value))
    for groups, expected in (([0, 0, -1, 1, 1, 0], 1), ([1, 0, -1, 2, 2, 3], 0), ([1, 1, -1, 0, 0, 2], 1)):
        row.group[:] = groups
        eligible.settle(row, 4)
        assert row.group.tolist() == [*groups[:2], expected, *groups[3:]]


@pytest.mark.parametrize(("values", "k", "l"), [([0, 0, 1], 2, 2), ([0, 0, 0, 1, 1, 2], 1, 3)])
def test_a_value_that_is_too_frequent_is_refused(values: list[int], k: int, l: int) -> None:  # noqa: E741
    with pytest.raises(Infeasible, match=r"one sensitive value has \d of \d records, more than 1/\d of them"):
        dealt(values, k, l)
    with pytest.raises(Infeasible, match="n=4 < k=5"):
        dealt([0, 1, 0, 1], 5, 2)


@dataclass(frozen=True)
class WithK(Rule):
    k: int = 2


@pytest.mark.parametrize("case", ["a k of its own", "two guards", "no rule"])
def test_other_guards_are_kept_by_merging(case: str) -> None:
    values = [0, 0, 1, 2, 2, 1, 0, 1]
    table = CodeTable([(i,) for i in range(8)], [("range", list(range(8)))])
    plain = rule_of(values, 2)
    guards: dict[str, tuple[Any, ...]] = {
        "a k of its own": (WithK(plain.codes, plain.size, 2),),
        "two guards": (plain, NeedsBoth(8)),
        "no rule": (NeedsBoth(8),),
    }
    found = Hilbert(2).group(table.data, guards[case], silent)
    assert groups_of(found) == set(map(frozenset, cut(table, 2, *guards[case])))
    assert groups_of(found) != groups_of(Hilbert(2).group(table.data, (plain,), silent))


def test_occupations_of_real_people(real_data: Path) -> None:
    """Census records with their occupation: every group is eligible, and most lie near on the curve."""
    columns = ("AGEP", "SEX", "SCHL", "MAR", "WKHP", "OCCP")
    with gzip.open(real_data / "acs2024_census" / "census.csv.gz", "rt", encoding="utf-8") as lines:
        rows = [
            [row[c] for c in columns] for row, _ in zip(csv.DictReader(lines), range(40_000), strict=False)
        ]
    working = np.array([row for row in rows if row[-1]])
    coded = [np.unique(column, return_inverse=True) for column in working.T]
    codes = np.column_stack([codes for _, codes in coded[:-1]]).astype(np.int32)
    attributes = tuple(
        Attribute(
            name, Kind.CATEGORICAL, Shape.SET, tuple(texts.tolist()), np.arange(texts.size, dtype=float)
        )
        for name, (texts, _) in zip(columns, coded[:-1], strict=False)
    )
    data = Microdata(codes, attributes)
    rule = Rule(coded[-1][1].astype(np.int32), coded[-1][0].size, 8)
    for k in (8, 20):
        partition = Hilbert(k).group(data, (rule,), silent)
        order, starts = partition.members()
        assert partition.sizes.min() >= k
        assert partition.sizes.max() < 2 * k + rule.l
        assert all(rule.allows(order[a:b].astype(np.int32)) for a, b in pairwise(starts.tolist()))
        place = np.argsort(curve_order(data))[order]
        spans = np.maximum.reduceat(place, starts[:-1]) - np.minimum.reduceat(place, starts[:-1])
        assert np.median(spans) <= 2 * k


# What groups tell that were dealt by their values


def test_who_knows_the_algorithm_may_be_certain() -> None:
    """Of 0 0 1 1 2 2 there is no other row that would have been dealt like that. So said in the claim."""
    assert dealt([0, 0, 1, 1, 2, 2], 2, 2) == [[0, 2], [1, 4], [3, 5]]
    found = [naive_orders.beliefs(n, 3, 2, lambda row: naive_orders.dealt(row, 2, 2)) for n in range(4, 9)]
    page = (ROOT / "docs" / "claims" / "hilbert.md").read_text(encoding="utf-8")
    assert f"| largest posterior | {' | '.join(str(largest) for largest, _ in found)} |" in page
    assert f"| people whose value is certain | {' | '.join(f'{float(c):.1%}' for _, c in found)} |" in page
    assert found[0][0] == Fraction(1, 2)
    assert found[2][0] == 1


@pytest.mark.parametrize(("n", "largest"), [(5, Fraction(1, 2)), (6, 1)])
def test_merging_by_values_tells_them_too(n: int, largest: Fraction) -> None:
    points, axes = [(i,) for i in range(n)], [("range", list(range(n)))]
    cuts = naive_orders.hilbert(points, axes, 2)

    def merged(row: Sequence[int]) -> list[list[int]]:
        return naive_orders.merged(list(cuts), points, axes, lambda part: naive_orders.eligible(row, part, 2))

    assert naive_orders.beliefs(n, 3, 2, merged)[0] == largest


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
