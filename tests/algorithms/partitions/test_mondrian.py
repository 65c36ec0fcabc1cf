"""Mondrian against its slow twin, the paper's vectors and its bounds."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.golden import vectors
from support.tables_of_codes import CodeTable, code_tables, groups_of, ks
from twins import definitions as naive

from incrowd import Policy, long_work, publish
from incrowd.algorithms.partitions import mondrian
from incrowd.algorithms.partitions.mondrian import (
    Mondrian,
    RelaxedMondrian,
    StrictMondrian,
    distinct_records,
    queries_of,
    read_workload,
)
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Attribute, Partition, Table
from incrowd.long_work import silent
from incrowd.schema import Kind, Shape

GOLDEN = vectors("multidimensional", "kja")


def group(recipe: Mondrian, table: CodeTable, *guards: Any) -> Partition:
    return recipe.group(table.data, guards, silent)


def points_on(columns: list[list[Any]]) -> CodeTable:
    """Numbers as a table of codes, one list per record."""
    domains = [sorted({row[j] for row in columns}) for j in range(len(columns[0]))]
    codes = [{value: code for code, value in enumerate(domain)} for domain in domains]
    points = [tuple(code[v] for code, v in zip(codes, row, strict=True)) for row in columns]
    return CodeTable(points, [("range", domain) for domain in domains])


@settings(deadline=None, max_examples=300)
@given(
    code_tables(least=ks(1, 5)), ks(1, 5), st.sampled_from(["gain", "widest", "round-robin"]), st.booleans()
)
def test_strict_agrees_with_naive(table: CodeTable, k: int, choose: str, printed: bool) -> None:
    recipe = StrictMondrian(k, choose=choose, median="printed" if printed else "two-sided")
    expected = naive.mondrian(table.points, table.axes, k, choose=choose, printed=printed)
    assert groups_of(group(recipe, table)) == expected


@settings(deadline=None, max_examples=150)
@given(
    code_tables(kinds=["range", "set"], least=ks(1, 5)),
    ks(1, 5),
    st.sampled_from(["gain", "widest", "round-robin"]),
    st.sampled_from(["left", "right"]),
)
def test_relaxed_agrees_with_naive(table: CodeTable, k: int, choose: str, odd: str) -> None:
    partition = group(RelaxedMondrian(k, choose=choose, odd=odd), table)
    expected = naive.mondrian(table.points, table.axes, k, choose=choose, strict=False, odd=odd)
    assert groups_of(partition) == expected
    within = k <= partition.sizes.min() and partition.sizes.max() <= 2 * k - 1
    assert within == GOLDEN["relaxed_bound"]["expected"]["all_sizes_in_[k,2k-1]"]


@settings(deadline=None, max_examples=150)
@given(
    code_tables(least=ks(1, 5)),
    ks(1, 5),
    st.sampled_from(["gain", "widest", "round-robin"]),
    st.booleans(),
    st.integers(2, 5),
)
def test_parts_that_are_cut_side_by_side_are_numbered_as_in_one_run(
    table: CodeTable, k: int, choose: str, strict: bool, threads: int
) -> None:
    recipe = (StrictMondrian if strict else RelaxedMondrian)(k, choose=choose)
    with long_work.with_threads(1):
        expected = group(recipe, table).labels
    with pytest.MonkeyPatch.context() as patch, long_work.with_threads(threads):
        patch.setattr(mondrian, "WORTH_THREADS", 0)
        assert group(recipe, table).labels.tolist() == expected.tolist()


class AtLeastOneOdd:
    """A guard with no meaning but that it vetoes often: a group needs a record of odd index."""

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return bool((rows % 2).any())


@settings(deadline=None, max_examples=150)
@given(code_tables(least=ks(1, 4)), ks(1, 4), st.sampled_from(["gain", "widest", "round-robin"]))
def test_a_vetoed_cut_is_replaced_by_the_next_best_column(table: CodeTable, k: int, choose: str) -> None:
    assume(len(table.points) > 1)
    partition = group(StrictMondrian(k, choose=choose), table, AtLeastOneOdd())
    assert all(any(record % 2 for record in part) for part in groups_of(partition))
    if choose != "gain":  # gain looks at two cuts of a column and gives up both on a veto
        expected = naive.mondrian(
            table.points, table.axes, k, choose=choose, allows=lambda part: any(record % 2 for record in part)
        )
        assert groups_of(partition) == expected


class Anything:
    def allows(self, rows: NDArray[np.int32]) -> bool:
        return True


@settings(deadline=None, max_examples=100)
@given(code_tables(least=ks(1, 5)), ks(1, 5), st.sampled_from(["gain", "widest", "round-robin"]))
def test_a_guard_that_allows_everything_changes_nothing(table: CodeTable, k: int, choose: str) -> None:
    recipe = StrictMondrian(k, choose=choose)
    assert groups_of(group(recipe, table)) == groups_of(group(recipe, table, Anything()))


@settings(deadline=None, max_examples=60)
@given(code_tables(most=12), st.integers(2, 6), st.sampled_from(["gain", "widest", "round-robin"]))
def test_compressing_equal_records_changes_nothing(table: CodeTable, copies: int, choose: str) -> None:
    many = CodeTable(table.points * copies * 3, table.axes)
    found = distinct_records(many.data.codes)
    assert found is not None, "three copies of each record should be worth compressing"
    expected = naive.mondrian(many.points, many.axes, 2, choose=choose)
    assert groups_of(group(StrictMondrian(2, choose=choose), many)) == expected


def test_distinct_records_stay_as_they_are() -> None:
    codes = np.arange(200, dtype=np.int32).reshape(100, 2)
    assert distinct_records(codes) is None


def test_wide_domains_take_the_path_of_narrowing_tallies(rng: np.random.Generator) -> None:
    values = np.sort(rng.choice(2_000_000, 60_000, replace=False))
    table = points_on([[int(v)] for v in rng.permutation(values)])
    partition = group(StrictMondrian(7, choose="widest"), table)
    codes = table.data.codes[:, 0]
    order = np.argsort(codes)
    runs = np.flatnonzero(np.diff(partition.labels[order])) + 1
    assert len(runs) + 1 == len(partition), "groups of one column must be intervals"
    assert 7 <= partition.sizes.min() <= partition.sizes.max() <= 2 * 6 + 1


def test_a_workload_that_nobody_reads_is_refused() -> None:
    with pytest.raises(PolicyError, match="go together"):
        StrictMondrian(2, workload=read_workload(["a0 = 1"]))
    with pytest.raises(PolicyError, match="go together"):
        StrictMondrian(2, choose="workload")


# The paper


@pytest.mark.quick
def test_the_patients_example() -> None:
    vector = GOLDEN["mondrian_patients"]
    table = points_on(vector["input"]["points(age,sex M=0 F=1,zip)"])
    partition = group(StrictMondrian(2, choose="widest"), table)
    assert groups_of(partition) == {frozenset(g) for g in vector["expected"]["groups_0based"]}


@pytest.mark.quick
def test_table_3_needs_the_zip_order_of_the_source() -> None:
    vector = GOLDEN["mondrian_table3"]
    key = next(iter(vector["input"]))
    rows = vector["input"][key]
    expected = vector["expected"]
    assert groups_of(group(StrictMondrian(2, choose="widest"), points_on(rows))) == {
        frozenset(g) for g in expected["groups_0based"]
    }
    printed = {53711: 533449, 53712: 533441, 53710: 533448}
    other = points_on([[printed[zip_code], age] for zip_code, age in rows])
    assert groups_of(group(StrictMondrian(2, choose="widest"), other)) == {
        frozenset(g) for g in expected["with_the_printed_6_digit_zips"]
    }


@pytest.mark.quick
def test_the_median_claim_is_false_and_repaired() -> None:
    vector = GOLDEN["median_claim"]
    table = points_on([[v] for v in vector["input"]["values"]])
    assert len(group(StrictMondrian(2, choose="widest", median="printed"), table)) == 1
    assert groups_of(group(StrictMondrian(2, choose="widest"), table)) == {
        frozenset({0, 1}),
        frozenset({2, 3, 4}),
    }


def test_median_repair_exhaustively() -> None:
    expected = GOLDEN["median_repair"]["expected"]
    tests = printed_fails = repaired_fails = 0
    for n in range(1, 9):
        for values in itertools.combinations_with_replacement((1, 2, 3, 4), n):
            for k in range(1, n // 2 + 1):
                tests += 1
                if not any(k <= sum(v <= x for v in values) <= n - k for x in values):
                    continue
                printed_fails += not naive.median_cuts(values, k, printed=True, both=False)
                table = points_on([[v] for v in values])
                repaired_fails += len(group(StrictMondrian(k, choose="widest"), table)) == 1
    assert printed_fails == expected["violations_le_only"]
    assert repaired_fails == expected["violations_with_lt_fallback"] == 0
    assert tests == expected["tests"]


@pytest.mark.quick
def test_the_size_bound_fails_without_the_repair() -> None:
    table = points_on([[1]] * 49 + [[2]] * 51)
    expected = GOLDEN["bound_fails_simple"]["expected"]
    printed = group(StrictMondrian(2, choose="widest", median="printed"), table)
    assert printed.sizes.tolist() == [expected["size"]]
    assert sorted(group(StrictMondrian(2, choose="widest"), table).sizes.tolist()) == expected["with_repair"]
    small = GOLDEN["bound_fails_without_repair"]
    points = points_on(small["input"]["points"])
    assert group(StrictMondrian(1, median="printed", choose="widest"), points).sizes.max() == 3


@settings(deadline=None, max_examples=200)
@given(
    code_tables(kinds=["range"], least=ks(1, 4)), ks(1, 4), st.sampled_from(["gain", "widest", "round-robin"])
)
def test_sizes_keep_the_bound(table: CodeTable, k: int, choose: str) -> None:
    for members in groups_of(group(StrictMondrian(k, choose=choose), table)):
        inside = [table.points[m] for m in members]
        copies = max(inside.count(point) for point in inside)
        assert k <= len(inside) <= 2 * len(table.axes) * (k - 1) + copies


@pytest.mark.quick
@pytest.mark.parametrize(("d", "k", "m"), list(itertools.product((1, 2, 3), (2, 3), (1, 2, 3))))
def test_the_bound_is_tight(d: int, k: int, m: int) -> None:
    rows = [[0] * d for _ in range(m)]
    for axis, sign, step in itertools.product(range(d), (-1, 1), range(1, k)):
        rows.append([sign * step if j == axis else 0 for j in range(d)])
    expected = GOLDEN["bound_2d(k-1)+m"]["expected"]["tight_examples"][f"d={d},k={k},m={m}"]
    assert len(rows) == expected["n"] == expected["bound"]
    assert len(group(StrictMondrian(k), points_on(rows))) == 1


@pytest.mark.quick
def test_first_cuts_of_figure_1() -> None:
    vector = GOLDEN["figure1_cuts"]
    points = vector["input"]["points(zip,age)"]
    allowable = [
        [j, x]
        for j in (0, 1)
        for x in sorted({p[j] for p in points})
        if 2 <= sum(p[j] <= x for p in points) <= len(points) - 2
    ]
    assert allowable == vector["expected"]["allowable_first_cuts(axis,x: <=x left)"]
    partition = group(StrictMondrian(2, choose="round-robin"), points_on(points))
    first = {frozenset(i for i, p in enumerate(points) if p[0] <= x) for j, x in allowable if j == 0}
    assert any(all(part <= side or not part & side for part in groups_of(partition)) for side in first)


@pytest.mark.quick
def test_leaf_sizes_of_the_joins_paper() -> None:
    vector = GOLDEN["fig3_sizes"]
    table = points_on([[i, i * 7 % 13] for i in range(vector["input"]["n"])])
    partition = group(RelaxedMondrian(vector["input"]["k"], choose="round-robin", odd="right"), table)
    assert sorted(partition.sizes.tolist()) == sorted(vector["expected"]["leaf_sizes"])


# Limits, workloads


def test_fewer_than_k_records_are_refused() -> None:
    with pytest.raises(Infeasible, match=r"n=2 < k=3"):
        group(StrictMondrian(3), points_on([[1], [2]]))


@pytest.mark.parametrize("name", StrictMondrian.limits)
def test_limits_refuse_bad_values(name: str) -> None:
    for bad in StrictMondrian.limits[name].bad_values():
        with pytest.raises(PolicyError, match=name):
            StrictMondrian(**{"k": 2, name: bad})  # type: ignore[arg-type]


def test_all_records_equal_are_one_group_unless_relaxed() -> None:
    table = points_on([[4, 4]] * 9)
    assert len(group(StrictMondrian(2), table)) == 1
    assert sorted(group(RelaxedMondrian(2), table).sizes.tolist()) == [2, 2, 2, 3]


def test_a_workload_draws_cuts_to_its_edges(rng: np.random.Generator) -> None:
    rows = [
        [int(a), int(b)] for a, b in zip(rng.integers(0, 100, 400), rng.integers(0, 30, 400), strict=True)
    ]
    table = points_on(rows)
    edge = read_workload(["a1 BETWEEN 7 AND 11"])

    def doubtful(recipe: Mondrian) -> int:
        return sum(
            len(part)
            for part in groups_of(group(recipe, table))
            if len({7 <= rows[m][1] <= 11 for m in part}) == 2
        )

    assert doubtful(StrictMondrian(5, choose="workload", workload=edge)) == 0
    assert doubtful(StrictMondrian(5, choose="widest")) > 0


def test_a_workload_on_an_unknown_column_is_refused() -> None:
    with pytest.raises(PolicyError, match="a9"):
        group(StrictMondrian(1, choose="workload", workload=read_workload(["a9 = 1"])), points_on([[1], [2]]))


def test_two_minus_signs_do_not_make_a_date() -> None:
    """-1e-5 is a number with a negative exponent: a cut beside it keeps the query certain."""
    texts = ("-1", "-0.00001", "0", "1", "2")
    place = Attribute("place", Kind.NUMERIC, Shape.RANGE, texts, np.array([float(text) for text in texts]))
    allowed = queries_of(read_workload(["place BETWEEN -1e-5 AND 1"]), [place]).upto[0]
    assert np.diff(allowed).tolist() == [0, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (3, "a list of conditions in SQL"),
        ([3], "condition 1 of the workload must be SQL"),
        ([{"where": {"age": {"from": 20, "to": 40}}}], r"must be SQL: workload = .*BETWEEN 20 AND 40"),
        (["age = 1", "age < secret"], "condition 2 of the workload"),
        (["age = 1 OR sex = 'secret'"], "OR is not supported"),
        (["age = 1; age = 2"], "there must be one condition"),
        (["SELECT COUNT(*) WHERE age = 'secret'"], "SELECT in WHERE is not supported"),
        (["age = 'secret"], "write it like age <= 36"),
        ([{"where": "age = 'secret'", "wieght": 2}], "did you mean 'weight'"),
        ([{"where": "age = 'secret'", "weight": 0}], "weight of condition 1"),
        ([{"where": "age = 'secret'", "weight": True}], "weight of condition 1"),
        ([{"where": "age = 'secret'", "weight": float("nan")}], "weight of condition 1"),
    ],
)
def test_what_is_no_workload(option: object, says: str) -> None:
    with pytest.raises(PolicyError, match=says) as refused:
        read_workload(option)
    assert "secret" not in str(refused.value)


def test_a_workload_on_names_is_refused_where_it_needs_an_order() -> None:
    sex = Attribute("sex", Kind.CATEGORICAL, Shape.SET, ("F", "M"), np.arange(2.0))
    assert np.diff(queries_of(read_workload(["SEX <> 'F'"]), [sex]).upto[0]).tolist() == [0, 1]
    with pytest.raises(PolicyError, match="condition 1 of the workload: sex is categorical"):
        queries_of(read_workload(["sex < 'M'"]), [sex])


def test_a_policy_gives_the_workload_in_sql() -> None:
    ages = [str(20 + i * 7 % 41) for i in range(60)]
    table = Table.of({"age": ages, "sex": ["F", "M", "M"] * 20})
    asked = ["age BETWEEN 31 AND 44 AND sex = 'F'", {"where": "AGE <= 26", "weight": 2}]
    policy = Policy.from_dict(
        {
            "quasi_identifiers": ["age", "sex"],
            "privacy": {"k": 3},
            "options": {"choose": "workload", "workload": asked},
        }
    )
    release = publish(table, policy)
    assert release.verdict.passed
    assert "workload" not in release.manifest["method"]["options"]  # it may name values that no cell does
