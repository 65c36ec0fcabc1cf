"""The lexicographic partition against its slow twin and the vectors; what all cut rows share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.golden import vectors
from support.tables_of_codes import CodeTable, code_tables, ks
from twins import ordering as naive_orders

from incrowd.algorithms.partitions.lexicographic import (
    UNIT,
    CutRow,
    Lexicographic,
    in_order,
    keeping,
    packed,
    places_of,
)
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Attribute, Microdata
from incrowd.long_work import silent
from incrowd.schema import Kind, Shape

GOLDEN = vectors("nonhomogeneous_diversity")
RULES = st.sampled_from(["text", "pseudocode"])


def listed(parts: CutRow) -> list[list[int]]:
    return [part.tolist() for part in np.split(parts.order, parts.starts[1:-1])]


def cut(table: CodeTable, k: int, rule: str = "text", *guards: Any) -> list[list[int]]:
    return listed(Lexicographic(k, rule).parts(table.data, guards, silent))


def typed(rows: list[list[int]]) -> CodeTable:
    """A table of the vectors, its domains in the order in which its columns are given."""
    widest = max(max(row) for row in rows) + 1
    axes = [("range", list(range(widest + j))) for j in range(len(rows[0]))]
    return CodeTable([tuple(row) for row in rows], axes)


# Figure 8


@pytest.mark.quick
@pytest.mark.parametrize(
    ("vector", "rule", "expected"),
    [
        ("fig8_equal_2k", "text", "text_rule"),
        ("fig8_equal_2k", "pseudocode", "pseudocode_rule"),
        ("fig8_small", "text", "partitions"),
        ("fig8_small", "pseudocode", "partitions_pseudocode_rule(>2k)"),
    ],
)
def test_the_vectors(vector: str, rule: str, expected: str) -> None:
    given_, parts = GOLDEN[vector]["input"], GOLDEN[vector]["expected"][expected]
    table = typed(given_["T"])
    assert cut(table, given_["k"], rule) == parts
    assert naive_orders.lexicographic(table.points, table.axes, given_["k"], rule) == parts


@settings(max_examples=500)
@given(code_tables(least=ks(1, 8)), ks(1, 8), RULES)
def test_agrees_with_naive(table: CodeTable, k: int, rule: str) -> None:
    assert cut(table, k, rule) == naive_orders.lexicographic(table.points, table.axes, k, rule)


def test_agrees_with_naive_where_runs_are_many(rng: np.random.Generator) -> None:
    columns = [rng.integers(0, size, 700) ** 2 // size for size in (40, 5, 12)]
    points = [tuple(int(value) for value in row) for row in zip(*columns, strict=True)]
    table = CodeTable(points, [("range", list(range(size))) for size in (40, 5, 12)])
    for k in (2, 5, 9):
        for rule in ("text", "pseudocode"):
            assert cut(table, k, rule) == naive_orders.lexicographic(table.points, table.axes, k, rule)


@settings(max_examples=300)
@given(code_tables(least=ks(1, 8)), ks(1, 8), RULES)
def test_parts_are_large_enough_and_the_largest_are_all_alike(table: CodeTable, k: int, rule: str) -> None:
    bound = GOLDEN["fig8_size_bound"]["expected"]
    parts = cut(table, k, rule)
    assert (min(map(len, parts)) >= k) == bound["every_partition_size>=k"]
    most = 2 * k - 1 if rule == "text" else 2 * k
    mixed = [part for part in parts if len(part) > most and len({table.points[i] for i in part}) > 1]
    assert len(mixed) == bound["heterogeneous_partitions_with_size>=2k"]


@settings(max_examples=100)
@given(code_tables(least=ks(1, 6)), ks(1, 6))
def test_the_row_is_sorted_by_the_smallest_domain_first(table: CodeTable, k: int) -> None:
    sizes = [naive_orders.domain(axis) for axis in table.axes]
    by = sorted(range(len(sizes)), key=lambda j: sizes[j])
    row = [i for part in cut(table, k) for i in part]
    assert row == sorted(range(len(row)), key=lambda i: [table.points[i][j] for j in by])


@settings(max_examples=100)
@given(code_tables())
def test_of_one_record_parts_are_equal_records(table: CodeTable) -> None:
    parts = cut(table, 1)
    assert len(parts) == len(set(table.points))
    assert all(len({table.points[i] for i in part}) == 1 for part in parts)


@settings(max_examples=100)
@given(code_tables(least=ks(1, 6)), ks(1, 6), RULES)
def test_groups_are_the_parts(table: CodeTable, k: int, rule: str) -> None:
    labels = Lexicographic(k, rule).group(table.data, (), silent).labels
    assert [np.flatnonzero(labels == g).tolist() for g in range(labels.max() + 1)] == [
        sorted(part) for part in cut(table, k, rule)
    ]


def test_a_short_run_takes_from_a_long_neighbour_the_records_beside_it() -> None:
    """The first run has only a next one; the last run takes from the one before."""
    table = CodeTable([(2,), *[(1,)] * 7, (0,)], [("set", 3)])
    assert cut(table, 3) == [[8, 1, 2], [3, 4, 5], [6, 7, 0]]


# Sorting


@settings(max_examples=100)
@given(st.lists(st.tuples(*[st.integers(0, 2**31 - 2)] * 5), min_size=1, max_size=20), st.booleans())
def test_packed_columns_sort_like_tuples(rows: list[tuple[int, ...]], small: bool) -> None:
    """31 bits go two to a word: five columns take three words."""
    rows = [tuple(value % 3 for value in row) for row in rows] if small else rows
    columns = list(np.array(rows, np.int32).T)
    words = packed(columns, [3 if small else 2**31 - 1] * 5)
    assert len(words) == (1 if small else 3)
    assert in_order(words).tolist() == sorted(range(len(rows)), key=lambda i: rows[i])


# Widths


def with_missing(position: list[float], codes: list[int]) -> Microdata:
    texts = ("missing", *map(str, position))
    place = np.array([np.nan, *position])
    return Microdata(
        np.array(codes, np.int32)[:, None],
        (Attribute("age", Kind.NUMERIC, Shape.RANGE, texts, place, missing=0),),
    )


@settings(max_examples=100)
@given(code_tables(most=2))
def test_places_agree_with_naive(table: CodeTable) -> None:
    assert [each.tolist() for each in places_of(table.data)] == list(map(naive_orders.places, table.axes))


def test_missing_lies_one_mean_gap_below() -> None:
    assert places_of(with_missing([10.0, 20.0, 40.0], [0]))[0].tolist() == [0, UNIT // 4, UNIT // 2, UNIT]
    assert places_of(with_missing([10.0], [0]))[0].tolist() == [0, UNIT]


def test_missing_is_a_value_like_any_other() -> None:
    data = with_missing([10.0, 20.0], [0, 2, 0, 2, 1])
    assert listed(Lexicographic(2).parts(data, (), silent)) == [[0, 2, 4], [1, 3]]


# Limits and guards


class NeedsBoth:
    """Allows groups with records of both halves of the table."""

    def __init__(self, n: int) -> None:
        self.half = n // 2

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return bool((rows < self.half).any() and (rows >= self.half).any())


class FewOf:
    """Allows groups of which at most the table's own share is odd: large groups may be wrong too."""

    def __init__(self, n: int) -> None:
        self.n = n

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return int((rows % 2).sum()) * self.n <= (self.n // 2) * rows.size


@settings(max_examples=200)
@given(code_tables(most=25, least=ks(1, 4)), ks(1, 4), st.sampled_from([NeedsBoth, FewOf]), st.data())
def test_guards_are_kept_by_merging_neighbours(
    table: CodeTable, k: int, kind: type[NeedsBoth] | type[FewOf], data: st.DataObject
) -> None:
    n = len(table.points)
    assume(n > 1)
    guard = kind(n)
    order = data.draw(st.permutations(range(n)))
    borders = sorted(data.draw(st.sets(st.integers(1, n - 1))))
    free = CutRow(np.array(order, np.int32), np.array([0, *borders, n]))
    found = listed(keeping(free, (guard,), table.data))
    assert all(guard.allows(np.array(part, np.int32)) for part in found)
    expected = naive_orders.merged(
        listed(free), table.points, table.axes, lambda part: guard.allows(np.array(part))
    )
    assert found == expected


@settings(max_examples=50)
@given(code_tables(most=25, least=ks(1, 4)), ks(1, 4))
def test_a_guarded_cover_has_only_allowed_groups(table: CodeTable, k: int) -> None:
    assume(len(table.points) > 1)
    guard = NeedsBoth(len(table.points))
    parts = cut(table, k, "text", guard)
    assert all(guard.allows(np.array(part)) and len(part) >= k for part in parts)
    assert [i for part in parts for i in part] == [i for part in cut(table, k) for i in part]


@pytest.mark.parametrize("name", Lexicographic.limits)
def test_limits_refuse_bad_values(name: str) -> None:
    for bad in Lexicographic.limits[name].bad_values():
        with pytest.raises(PolicyError, match=name):
            Lexicographic(**{"k": 2, name: bad})  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [0, 2])
def test_too_few_records_are_refused(n: int) -> None:
    with pytest.raises(Infeasible, match=rf"n={n} < k=3"):
        cut(CodeTable([(0,)] * n, [("set", 2)]), 3)
