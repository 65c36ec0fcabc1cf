"""Single-dimensional partitioning against its slow twin, the paper's vectors, and guards."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.golden import vectors
from support.tables_of_codes import CodeTable, code_tables, groups_of, ks
from twins import definitions as naive

from incrowd import publish
from incrowd.algorithms.partitions.single import SingleDimensional
from incrowd.contracts import Guard
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Partition, Table
from incrowd.long_work import silent
from incrowd.policy import Policy

GOLDEN = vectors("multidimensional")
CHOICES = ("round-robin", "axis")


def group(table: CodeTable, k: int, choose: str = "round-robin", *guards: Guard) -> Partition:
    return SingleDimensional(k, choose).group(table.data, guards, silent)


def points_on(rows: list[list[int]]) -> CodeTable:
    """Numbers as a table of codes, one list for each record."""
    domains = [sorted(set(column)) for column in zip(*rows, strict=True)]
    points = [tuple(domain.index(x) for domain, x in zip(domains, row, strict=True)) for row in rows]
    return CodeTable(points, [("range", domain) for domain in domains])


@settings(max_examples=300)
@given(code_tables(kinds=["range"]), st.integers(1, 5), st.sampled_from(CHOICES))
def test_agrees_with_naive(table: CodeTable, k: int, choose: str) -> None:
    if len(table.points) >= k:
        expected = naive.single_dimensional(table.points, k, choose)
        assert groups_of(group(table, k, choose)) == expected


@settings(max_examples=200)
@given(code_tables(least=ks(1, 4)), ks(1, 4), st.sampled_from(CHOICES))
def test_every_column_is_recoded_on_its_own(table: CodeTable, k: int, choose: str) -> None:
    """A slab is an interval of codes, equal values share it, and a group is a combination of slabs."""
    partition = group(table, k, choose)
    assert partition.slabs is not None
    assert partition.sizes.min() >= k
    for j in range(partition.slabs.shape[1]):
        found: dict[int, set[int]] = {}
        for point, slab in zip(table.points, partition.slabs[:, j].tolist(), strict=True):
            found.setdefault(slab, set()).add(point[j])
        ends = sorted((min(codes), max(codes)) for codes in found.values())
        assert all(before[1] < after[0] for before, after in itertools.pairwise(ends))
    combinations = np.unique(partition.slabs, axis=0, return_inverse=True)[1].reshape(-1)
    assert groups_of(Partition(combinations.astype(np.int32))) == groups_of(partition)
    filled = np.prod([len(set(partition.slabs[:, j].tolist())) for j in range(partition.slabs.shape[1])])
    assert len(partition) == filled, "no combination of slabs is empty"


@settings(max_examples=100)
@given(code_tables(kinds=["range"], least=ks(1, 4)), ks(1, 4), st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(table: CodeTable, k: int, rng: np.random.Generator) -> None:
    order = list(range(len(table.points)))
    rng.shuffle(order)
    shuffled = CodeTable([table.points[i] for i in order], table.axes)
    back = {frozenset(order[i] for i in members) for members in groups_of(group(shuffled, k))}
    assert back == groups_of(group(table, k))


class NotAllEven:
    """A guard with no meaning but that it vetoes often: a group needs a record of odd index."""

    def __init__(self) -> None:
        self.asked = 0

    def allows(self, rows: NDArray[np.int32]) -> bool:
        self.asked += 1
        return bool((rows % 2).any())


@settings(max_examples=200)
@given(code_tables(kinds=["range"], least=ks(1, 3)), ks(1, 3), st.sampled_from(CHOICES))
def test_guards_are_respected(table: CodeTable, k: int, choose: str) -> None:
    assume(len(table.points) > 1)
    partition = group(table, k, choose, NotAllEven())
    assert partition.sizes.min() >= k
    assert all(any(i % 2 for i in members) for members in groups_of(partition))


def test_a_veto_leaves_no_trace() -> None:
    """What was vetoed is put back, and other columns are still cut."""
    rows = [[i % 2, i // 4] for i in range(8)]  # the first column would part odd from even records
    partition = group(points_on(rows), 2, "round-robin", NotAllEven())
    assert groups_of(partition) == {frozenset(range(4)), frozenset(range(4, 8))}
    assert partition.slabs is not None
    assert partition.slabs[:, 0].tolist() == [0] * 8


@pytest.mark.quick
def test_size_can_grow_with_the_table() -> None:
    vector = GOLDEN["single_dim_linear"]
    rows = [[0, i] for i in range(50)] + [[1, 0], [1, 0]]  # its second axis first, since it is cut first
    partition = group(points_on(rows), vector["input"]["k"], "axis")
    assert len(partition) - 2 == vector["expected"]["further_single_dimensional_cuts"]
    assert partition.sizes.max() == vector["expected"]["largest_region"]


@pytest.mark.quick
def test_figure_1_has_no_second_cut() -> None:
    vector = GOLDEN["figure1_cuts"]
    rows = vector["input"]["points(zip,age)"]
    partition = group(points_on(rows), vector["input"]["k"])
    sides = [sorted({rows[i][0] for i in members}) for members in groups_of(partition)]
    first = max(min(sides))
    assert [0, first] in vector["expected"]["allowable_first_cuts(axis,x: <=x left)"]
    assert len(partition) - 2 == len(vector["expected"]["single_dimensional_cuts_after_first"])


@pytest.mark.quick
@pytest.mark.parametrize("choose", CHOICES)
def test_table_2_of_the_patients(choose: str) -> None:
    """Sex is cut first; then no line is left, and every age is published as the whole slab."""
    vector = GOLDEN["table2_corrected"]
    points = GOLDEN["mondrian_patients"]["input"]["points(age,sex M=0 F=1,zip)"]
    patients = Table.of(
        {
            "sex": ["MF"[sex] for _, sex, _ in points],
            "age": [str(age) for age, _, _ in points],
            "zip": [str(code) for _, _, code in points],
            "who": [str(i) for i in range(len(points))],
        }
    )
    policy = Policy(quasi_identifiers=["sex", "age", "zip"], sensitive=["who"], privacy={"k": 2})
    release = publish(patients, policy, method="single", options={"choose": choose})
    rows = release.table
    assert set(rows.column("age").rows()) == {"[35,38]"}
    classes: dict[str | None, list[int]] = {}
    for sex, who in zip(rows.column("sex").rows(), rows.column("who").rows(), strict=True):
        classes.setdefault(sex, []).append(int(who or -1))
    assert sorted(map(sorted, classes.values())) == vector["expected"]["classes_0based"]
    assert release.loss()["dm"] == vector["expected"]["C_DM"]


def test_too_few_records_and_bad_options_are_refused() -> None:
    with pytest.raises(Infeasible, match="n=3 < k=4"):
        group(points_on([[1], [2], [3]]), 4)
    with pytest.raises(PolicyError, match="choose must be one of round-robin, axis"):
        SingleDimensional(2, "any")


def test_one_value_is_one_group() -> None:
    assert groups_of(group(points_on([[5, 5]] * 6), 2)) == {frozenset(range(6))}


@pytest.mark.parametrize("domain", [30_000, 40_000], ids=["short", "long"])
def test_codes_of_any_width(domain: int) -> None:
    """Short codes sort faster; the result is the same."""
    rng = np.random.default_rng(7)
    codes = rng.permutation(domain)[:200]
    codes[0] = domain - 1
    table = CodeTable([(int(code),) for code in codes], [("range", list(range(domain)))])
    dense = CodeTable([(int(np.sum(codes < code)),) for code in codes], [("range", list(range(200)))])
    assert groups_of(group(table, 7)) == groups_of(group(dense, 7))
