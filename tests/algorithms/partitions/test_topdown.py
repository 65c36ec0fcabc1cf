"""TopDown against its slow twin, the vector of Figure 4, and what must hold on large and odd tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.golden import vectors
from support.night import NIGHT
from support.tables_of_codes import CodeTable, code_tables, groups_of, ks
from twins.topdown import Twin, topdown

from incrowd import Policy, publish, tables
from incrowd.algorithms.base import all_methods
from incrowd.algorithms.costs import spans_of
from incrowd.algorithms.partitions.topdown import MANY_VISITS, TopDown, TopDownRun, exact_places
from incrowd.encode import encode
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Attribute, Microdata, Partition, Table
from incrowd.kernels import topdown as kernels
from incrowd.kernels import topdown_repair
from incrowd.long_work import silent
from incrowd.schema import Column, Kind, Role, Schema, Shape

FIGURE = vectors("algorithms")["topdown_fig1"]
ASSIGN = st.sampled_from(["weighted", "printed"])
SEEDS = st.sampled_from(["heuristic", "exact"])
MERGE = st.sampled_from(["both", "groups"])
AS_IN_THE_VECTOR: dict[str, Any] = {"assign": "printed", "seeds": "exact", "resplit": False}


def group(recipe: TopDown, table: CodeTable, *guards: Any) -> Partition:
    return recipe.group(table.data, guards, silent)


def exhaustive(k: int, **options: Any) -> TopDown:
    """The method without a cap on what it looks at."""
    return TopDown(k, **options, visits=MANY_VISITS)


def split(recipe: TopDown, data: Microdata) -> tuple[TopDownRun, set[frozenset[int]]]:
    """A run after its first phase, and the groups then."""
    run = TopDownRun(recipe, data)
    run.split(np.zeros(2, np.int64))
    return run, groups_of(Partition(run.labels()))


def numbers(codes: NDArray[Any]) -> Microdata:
    """Whole numbers from 0 that are their own values."""
    attributes = tuple(
        Attribute(f"a{j}", Kind.NUMERIC, Shape.RANGE, tuple(map(str, range(size))), np.arange(size) * 1.0)
        for j, size in enumerate((codes.max(axis=0) + 1).tolist())
    )
    return Microdata(codes.astype(np.int32), attributes)


def figure() -> CodeTable:
    """Both domains are equally wide, as in the vector, which measures without norming."""
    points = [tuple(value - 1 for value in point) for point in FIGURE["input"]["points(A..G)"]]
    return CodeTable(points, [("range", [1, 2, 3, 4, 5])] * 2)


# The paper


def test_the_vector_of_figure_one() -> None:
    k, expected, table = FIGURE["input"]["k"], FIGURE["expected"], figure()
    recipe = exhaustive(k, **AS_IN_THE_VECTOR)
    twin = Twin(table.points, table.axes, k, "printed", "exact")
    assert twin.split(list(range(7))) == expected["phase1"]
    assert split(recipe, table.data)[1] == set(map(frozenset, expected["phase1"]))
    assert groups_of(group(recipe, table)) == set(map(frozenset, expected["final"]))
    assert topdown(table.points, table.axes, k, **AS_IN_THE_VECTOR) == set(map(frozenset, expected["final"]))
    assert 2 * 4 * twin.ncp(*expected["final"]) == expected["NCP_perimeter"]  # the figure's grid has 4 steps


@settings(max_examples=400)
@given(code_tables(most=25, least=ks(1, 6)), ks(1, 6), ASSIGN, SEEDS, MERGE, st.booleans())
def test_agrees_with_naive(
    table: CodeTable, k: int, assign: str, seeds: str, merge: str, resplit: bool
) -> None:
    expected = topdown(table.points, table.axes, k, assign, seeds, merge, resplit)
    recipe = exhaustive(k, assign=assign, seeds=seeds, merge=merge, resplit=resplit)
    assert groups_of(group(recipe, table)) == expected


@settings(max_examples=100)
@given(code_tables(most=40), st.integers(1, 6), ASSIGN, SEEDS)
def test_the_first_phase_agrees_with_naive(table: CodeTable, k: int, assign: str, seeds: str) -> None:
    """Groups as they are split, before anything can be mended."""
    twin = Twin(table.points, table.axes, k, assign, seeds)
    expected = twin.split(list(range(len(table.points))))
    assert split(TopDown(k, assign, seeds), table.data)[1] == set(map(frozenset, expected))


ODD_SPANS = (9, 17, 19, 23, 74, 101, 365)
PRIME_SPANS = (99_991, 99_989, 99_971, 99_961, 99_929, 99_923, 99_907, 36_523)


def odd_table(rng: np.random.Generator, n: int, spans: Sequence[int], gapped: bool = False) -> CodeTable:
    """Few values on each of some spans that do not divide each other, so that sums tie often."""
    axes: list[tuple[str, Any]] = []
    for span in spans:
        inner = rng.choice(np.arange(1, span), min(int(rng.integers(1, 8)), span - 1), replace=False)
        axes.append(("gapped" if gapped else "range", [0, *sorted(inner.tolist()), span]))
    sizes = [len(about) + gapped for _, about in axes]
    return CodeTable([tuple(map(int, rng.integers(0, sizes))) for _ in range(n)], axes)


@pytest.mark.parametrize("gapped", [False, True])
def test_ties_are_those_of_fractions_on_odd_spans(gapped: bool, rng: np.random.Generator) -> None:
    """260 tables, as rounded widths went wrong on: none differs."""
    differ = 0
    for _ in range(130):
        table = odd_table(rng, 20, rng.choice(ODD_SPANS, int(rng.integers(1, 4))).tolist(), gapped)
        assign, seeds = str(rng.choice(["weighted", "printed"])), str(rng.choice(["heuristic", "exact"]))
        expected = topdown(table.points, table.axes, 3, assign, seeds)
        differ += groups_of(group(exhaustive(3, assign=assign, seeds=seeds), table)) != expected
    assert differ == 0


@pytest.mark.parametrize("assign", ["weighted", "printed"])
def test_ties_are_exact_where_no_number_holds_the_denominator(assign: str, rng: np.random.Generator) -> None:
    """Eight spans without a common factor: the common denominator has 132 bits."""
    for _ in range(10):
        table = odd_table(rng, 24, PRIME_SPANS)
        assert TopDownRun(TopDown(3), table.data).spans.slack > 0
        expected = topdown(table.points, table.axes, 3, assign)
        assert groups_of(group(exhaustive(3, assign=assign), table)) == expected


@pytest.mark.parametrize("merge", ["both", "groups"])
@pytest.mark.parametrize("assign", ["weighted", "printed"])
def test_the_tree_finds_what_a_look_at_all_groups_finds(
    assign: str, merge: str, rng: np.random.Generator
) -> None:
    """Many more groups than in small tables: subtrees are left out, emptied and filled again."""
    points = [tuple(map(int, row)) for row in rng.integers(0, (40, 25, 3), (220 if NIGHT else 160, 3))]
    axes: list[tuple[str, Any]] = [
        ("range", [i * i for i in range(40)]),
        ("range", list(range(25))),
        ("set", 3),
    ]
    table = CodeTable(points, axes)
    expected = topdown(points, axes, 7, assign, merge=merge)
    assert groups_of(group(exhaustive(7, assign=assign, merge=merge), table)) == expected


@settings(max_examples=60)
@given(st.data(), st.integers(1, 5), st.integers(2, 40))
def test_the_farthest_pair_by_directions_is_that_of_all_pairs(data: st.DataObject, d: int, m: int) -> None:
    row = st.tuples(*[st.integers(0, 4)] * d)
    points = np.array(data.draw(st.lists(row, min_size=m, max_size=m)), np.int32).reshape(m, d)
    pairs = list(combinations(range(m), 2))
    far = min(pairs, key=lambda pair: (-np.abs(points[pair[0]] - points[pair[1]]).sum(), pair))
    spans = spans_of([7] * d, 2)
    if (points == points[0]).all():
        assert kernels.seeds(points, 0, m, True, spans) == (0, 0)
    else:
        assert kernels.far_by_pairs(points, 0, m, spans) == kernels.far_by_signs(points, 0, m, spans) == far


def test_equal_records_are_chopped_into_pieces_of_k() -> None:
    data = numbers(np.array([[1]] * 11 + [[0]]))
    found = split(TopDown(3), data)[1]
    assert sorted(map(len, found)) == [1, 3, 3, 5]
    assert {frozenset({0, 1, 2}), frozenset({3, 4, 5}), frozenset({6, 7, 8, 9, 10})} < found


def test_the_printed_rule_lets_one_box_swallow_the_rest(rng: np.random.Generator) -> None:
    """Why it is not the default: a box that has grown grows by less, and splits come off in crumbs."""
    data = numbers((rng.beta(2, 5, (700, 4)) * 300).astype(np.int64))
    printed, weighted = (split(TopDown(10, assign), data)[0] for assign in ("printed", "weighted"))
    assert depth(printed) > 100
    assert depth(weighted) < 20


def depth(run: TopDownRun) -> int:
    found = [0] * len(run.tree.node)
    for node in range(1, len(run.tree.node)):
        found[node] = found[int(run.tree.node[node, kernels.PARENT])] + 1
    return max(found)


# Mending


@pytest.mark.parametrize(("merge", "sizes"), [("groups", [7]), ("both", [3, 4])])
def test_a_small_group_takes_from_a_large_one_or_joins_it(merge: str, sizes: list[int]) -> None:
    """Five equal records are one piece; of the two beside them each takes, or all become one."""
    data = numbers(np.array([[0]] * 5 + [[8]] * 2))
    partition = TopDown(3, merge=merge, resplit=False).group(data, (), silent)
    assert sorted(partition.sizes.tolist()) == sizes


def test_a_merged_group_is_split_again_where_that_costs_less() -> None:
    data = numbers(np.array([[0]] * 5 + [[8]] * 2))
    assert sorted(TopDown(3, merge="groups").group(data, (), silent).sizes.tolist()) == [3, 4]


def check_tree(run: TopDownRun) -> None:
    """Every node says of the groups inside what they are."""
    tree = run.tree
    leaves = {int(leaf): topdown_repair.records_of(int(leaf), tree) for leaf in run._groups()}
    place = np.argsort(tree.ids)
    inside: list[list[int]] = [[] for _ in run.tree.node]
    for leaf in leaves:
        node = leaf
        while True:
            inside[node].append(leaf)
            if node == 0:
                break
            node = int(tree.node[node, kernels.PARENT])
    assert sorted(np.concatenate(list(leaves.values())).tolist()) == list(range(tree.ids.size))
    low = {leaf: tree.points[place[rows]].min(axis=0) for leaf, rows in leaves.items()}
    high = {leaf: tree.points[place[rows]].max(axis=0) for leaf, rows in leaves.items()}
    for node, here in enumerate(inside):
        if not here:
            assert tree.tally[node, kernels.MOST] == 0
            continue
        lows, highs = np.array([low[leaf] for leaf in here]), np.array([high[leaf] for leaf in here])
        sizes, wide = [leaves[leaf].size for leaf in here], ((highs - lows) * tree.spans.share).sum(axis=1)
        firsts = [leaves[leaf][0] for leaf in here]
        assert tree.tally[node].tolist() == [min(sizes), max(sizes), min(firsts)]
        assert tree.widest[node] == pytest.approx(wide.max(), abs=tree.spans.slack)
        box = [lows.max(axis=0), highs.min(axis=0), lows.min(axis=0), highs.max(axis=0)]
        assert (tree.box[node] == np.array(box)).all()


@pytest.mark.parametrize(
    "options", [{}, {"merge": "groups"}, {"resplit": False}, {"assign": "printed"}], ids=str
)
def test_the_tree_knows_its_groups_before_and_after(options: Any, rng: np.random.Generator) -> None:
    codes = (rng.beta(2, 5, (600, 3)) * (90, 7, 40)).astype(np.int64)
    run, _ = split(TopDown(8, **options), numbers(codes))
    check_tree(run)
    clock = np.zeros(2, np.int64)
    run.mend(clock)
    check_tree(run)
    assert clock[1] == 600  # progress ends at all
    assert np.bincount(run.labels()).min() >= 8


@settings(max_examples=100)
@given(code_tables(most=40), st.integers(1, 6), ASSIGN, SEEDS, MERGE, st.booleans(), st.integers(1, 9))
def test_a_cap_on_looking_keeps_k(
    table: CodeTable, k: int, assign: str, seeds: str, merge: str, resplit: bool, visits: int
) -> None:
    if len(table.points) >= k:
        assert group(TopDown(k, assign, seeds, merge, resplit, visits), table).sizes.min() >= k


def test_a_cap_on_looking_costs_little(rng: np.random.Generator) -> None:
    data = numbers(rng.integers(0, 500, (2000, 4)))
    capped, whole = (ncp(recipe.group(data, (), silent), data) for recipe in (TopDown(10), exhaustive(10)))
    assert capped != whole
    assert capped < 1.05 * whole


def ncp(partition: Partition, data: Microdata) -> float:
    """The mean share of a domain that a cell covers."""
    at = np.column_stack([p[data.codes[:, j]] / (p[-1] or 1) for j, p in enumerate(exact_places(data))])
    order, starts = partition.members()
    wide = np.maximum.reduceat(at[order], starts[:-1]) - np.minimum.reduceat(at[order], starts[:-1])
    return float((wide.sum(axis=1) * partition.sizes).sum()) / at.size


# Guards, limits, real data


class NeedsBoth:
    """Allows groups with records of both halves of the table."""

    def __init__(self, n: int) -> None:
        self.half = n // 2

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return bool((rows < self.half).any() and (rows >= self.half).any())


@settings(max_examples=100)
@given(code_tables(most=25, least=ks(1, 4)), ks(1, 4))
def test_guards_are_kept_by_merging_as_naive_does(table: CodeTable, k: int) -> None:
    n = len(table.points)
    assume(n > 1)
    guard = NeedsBoth(n)
    twin = Twin(table.points, table.axes, k)
    groups = twin.mended(twin.split(list(range(n))), "both", True)
    kept = twin.guarded(groups, lambda g: guard.allows(np.array(g)))
    assert groups_of(group(exhaustive(k), table, guard)) == set(map(frozenset, kept))


@pytest.mark.parametrize("name", TopDown.limits)
def test_limits_refuse_bad_values(name: str) -> None:
    for bad in TopDown.limits[name].bad_values():
        with pytest.raises(PolicyError, match=name):
            TopDown(**{"k": 2, name: bad})  # type: ignore[arg-type]


def test_too_few_records_are_refused_and_just_enough_are_one_group() -> None:
    with pytest.raises(Infeasible, match=r"n=7 < k=8"):
        group(TopDown(8), figure())
    assert groups_of(group(TopDown(7), figure())) == {frozenset(range(7))}


def test_a_release_can_be_asked_for_by_name() -> None:
    table = Table.of({"age": list("1234567899"), "job": list("aabbccddee"), "ill": list("abcabcabca")})
    quasi = {"age": {"type": "numeric"}, "job": {"type": "categorical"}}
    policy = Policy(quasi_identifiers=quasi, sensitive=["ill"], privacy={"k": 3, "l": 2})
    options = {"assign": "printed", "seeds": "exact", "merge": "groups", "resplit": False, "visits": 5}
    release = publish(table, policy, method="topdown", options=options)
    assert release.verdict.passed
    assert release.manifest["method"]["options"] == options
    assert release.manifest["method"]["form"] == "printed"
    assert not all_methods()["topdown"](2).printed


@pytest.mark.parametrize("k", [5, 50])
def test_adult(real_data: Path, k: int) -> None:
    """All groups have k, lie near, and progress tells the truth."""
    table, names = tables.read(real_data / "adult" / "adult.csv"), ["age", "education", "occupation", "sex"]
    columns = [Column("age", Role.QUASI, Kind.NUMERIC, Shape.RANGE)]
    columns += [Column(name, Role.QUASI, Kind.CATEGORICAL, Shape.SET) for name in names[1:]]
    chosen = Table(tuple(names), tuple(table.column(name) for name in names))
    encoded = encode(chosen, Schema(tuple(columns), frozenset({"", "?"})))
    data = Microdata(encoded.codes[:4000], encoded.attributes)
    told: list[float] = []

    def tell(done: float) -> None:
        told.append(done)

    partition = TopDown(k).group(data, (), tell)
    assert partition.sizes.min() >= k
    assert partition.sizes.sum() == len(data)
    assert told == sorted(told)
    assert told[-1] == 1.0
    halved = TopDown(len(data) // 2).group(data, (), silent)
    assert ncp(partition, data) < {5: 0.1, 50: 0.25}[k] < ncp(halved, data)
