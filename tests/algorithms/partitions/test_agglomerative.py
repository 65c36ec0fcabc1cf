"""Agglomerative clustering against its slow twin and the paper's vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.golden import vectors
from support.night import NIGHT
from support.tables_of_codes import CodeTable, code_tables, groups_of, ks
from twins import definitions as naive

from incrowd import Policy, publish
from incrowd.algorithms import costs as priced_tables
from incrowd.algorithms.partitions.agglomerative import DISTANCES, Agglomerative
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Attribute, Microdata, Partition, Table
from incrowd.kernels import closure
from incrowd.kernels.jit import with_door
from incrowd.long_work import silent
from incrowd.schema import Kind, Shape

GOLDEN = vectors("revisited", "revisited_limits")
MEASURES = {"LM": "lm", "EM": "entropy"}


def group(recipe: Agglomerative, table: CodeTable, *guards: Any) -> Partition:
    return recipe.group(table.data, guards, silent)


def nested(sets: list[list[int]]) -> tuple[str, Any]:
    """An axis of nested sets of the values 1, 2, …"""
    nodes = [frozenset(value - 1 for value in each) for each in sets]
    whole = max(nodes, key=len)
    return "tree", [sorted((node for node in nodes if code in node), key=len) for code in sorted(whole)]


def tiny() -> CodeTable:
    given_ = GOLDEN["algorithms_tiny"]["input"]
    points = [tuple(value - 1 for value in row) for row in given_["D"]]
    return CodeTable(points, [nested(family) for family in given_["families"]])


def loss(table: CodeTable, groups: set[frozenset[int]], measure: str) -> float:
    paid = sum(len(g) * naive.row_cost(table.points, sorted(g), table.axes, measure) for g in groups)
    return paid / len(table.points)


@pytest.mark.quick
@pytest.mark.parametrize("case", GOLDEN["algorithms_tiny"]["expected"])
@pytest.mark.parametrize("modified", [False, True])
@pytest.mark.parametrize("distance", DISTANCES)
def test_the_nine_records_of_the_vectors(case: str, distance: str, modified: bool) -> None:
    word, k = case.split(",k=")
    measure, table = MEASURES[word], tiny()
    name = f"agg{distance.upper()}" + "_mod" * modified
    expected = GOLDEN["algorithms_tiny"]["expected"][case][name]
    clusters = {frozenset(cluster) for cluster in expected["clusters"]}
    found = groups_of(group(Agglomerative(int(k), distance, measure, modified), table))
    assert found == clusters
    assert naive.agglomerative(table.points, table.axes, int(k), distance, measure, modified) == clusters
    assert loss(table, found, measure) == pytest.approx(expected["loss"], abs=1e-9)
    best = GOLDEN["algorithms_tiny"]["expected"][case]["optimal_k_anon"]["loss"]
    assert expected["loss"] >= best - 1e-9


@settings(deadline=None, max_examples=400)
@given(
    code_tables(most=25, least=ks(1, 6)),
    ks(1, 6),
    st.sampled_from(DISTANCES),
    st.sampled_from(["lm", "entropy"]),
    st.booleans(),
)
def test_agrees_with_naive(table: CodeTable, k: int, distance: str, measure: str, modified: bool) -> None:
    expected = naive.agglomerative(table.points, table.axes, k, distance, measure, modified)
    assert groups_of(group(Agglomerative(k, distance, measure, modified), table)) == expected


@settings(deadline=None, max_examples=100)
@given(code_tables(kinds=["range", "tree"], most=20, least=ks(2, 4)), ks(2, 4), st.sampled_from(DISTANCES))
def test_domains_without_a_table_of_pairs_cost_the_same(table: CodeTable, k: int, distance: str) -> None:
    """Large domains take another way to the same costs."""
    for measure in ("lm", "entropy"):
        expected = groups_of(group(Agglomerative(k, distance, measure), table))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(priced_tables, "SMALL", 0)
            assert groups_of(group(Agglomerative(k, distance, measure), table)) == expected


@settings(deadline=None, max_examples=60)
@given(code_tables(most=25, least=ks(2, 4)), ks(2, 4), st.sampled_from(DISTANCES))
def test_bunching_equal_records_first_changes_nothing(table: CodeTable, k: int, distance: str) -> None:
    expected = groups_of(group(Agglomerative(k, distance), table))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("incrowd.algorithms.partitions.agglomerative.CLEAR", math.inf)
        assert groups_of(group(Agglomerative(k, distance), table)) == expected


@pytest.mark.parametrize("measure", ["lm", "entropy"])
@pytest.mark.parametrize("modified", [False, True])
@pytest.mark.parametrize("distance", DISTANCES)
def test_the_tree_finds_what_a_look_at_all_pairs_finds(
    distance: str, modified: bool, measure: str, rng: np.random.Generator
) -> None:
    """More records than the tree has in a leaf, many times over: it is built anew and reshaped."""
    columns = [rng.integers(0, size, 160 if NIGHT else 110) for size in (30, 5, 12)]
    points = [tuple(int(value) for value in row) for row in zip(*columns, strict=True)]
    middle = [frozenset(range(a, a + 4)) for a in (0, 4, 8)]
    paths = [[frozenset({c}), middle[c // 4], frozenset(range(12))] for c in range(12)]
    table = CodeTable(points, [("range", [i * i for i in range(30)]), ("set", 5), ("tree", paths)])
    expected = naive_by_rows(table, 5, distance, measure, modified)
    assert groups_of(group(Agglomerative(5, distance, measure, modified), table)) == expected


# What sets of records cost, by their table and the measure: the same for every distance, found once.
COSTS: dict[tuple[tuple[Any, ...], str], dict[frozenset[int], float]] = {}


def naive_by_rows(
    table: CodeTable, k: int, distance: str, measure: str, modified: bool
) -> set[frozenset[int]]:
    """The greedy algorithm once more, remembering distances: the plain twin takes minutes here."""
    if len(COSTS) > 4:  # of a hundred seeds they would fill the memory
        COSTS.clear()
    costs = COSTS.setdefault((tuple(table.points), measure), {})

    def cost(members: frozenset[int]) -> float:
        if members not in costs:
            costs[members] = naive.row_cost(table.points, sorted(members), table.axes, measure)
        return costs[members]

    def apart(a: frozenset[int], b: frozenset[int]) -> float:
        return naive.cluster_distance(distance, cost(a | b), cost(a), cost(b), len(a), len(b))

    pool: set[frozenset[int]] = set()
    pairs: dict[frozenset[frozenset[int]], tuple[float, int, int]] = {}

    def enter(new: frozenset[int]) -> None:
        for other in pool:
            low, high = sorted((min(new), min(other)))
            pairs[frozenset({new, other})] = (apart(new, other), low, high)
        pool.add(new)

    for i in range(len(table.points)):
        enter(frozenset({i}))
    ripe = []
    while len(pool) > 1:
        a, b = min(pairs, key=pairs.__getitem__)
        pool -= {a, b}
        pairs = {pair: key for pair, key in pairs.items() if a not in pair and b not in pair}
        union = a | b
        if len(union) < k:
            enter(union)
            continue
        while modified and len(union) > k:
            out = min(union, key=lambda i: (round(cost(union - {i}), 10), -i))
            union -= {out}
            enter(frozenset({out}))
        ripe.append(union)
    for i in sorted(i for each in pool for i in each):
        at = min(range(len(ripe)), key=lambda g: (apart(frozenset({i}), ripe[g]), min(ripe[g])))
        ripe[at] |= {i}
    return set(ripe)


# What a closure costs


@settings(deadline=None, max_examples=100)
@given(code_tables(most=20), st.sampled_from(["lm", "entropy"]), st.data())
def test_costs_of_closures_agree_with_naive(table: CodeTable, measure: str, data: st.DataObject) -> None:
    n = len(table.points)
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    groups = priced_tables.groups_of(labels, priced_tables.priced(table.data, measure))
    for g in set(labels.tolist()):
        members = np.flatnonzero(labels == g).tolist()
        expected = naive.row_cost(table.points, members, table.axes, measure)
        assert groups.cost[g] == pytest.approx(expected, abs=1e-9)


@pytest.mark.quick
def test_the_artificial_attributes_cost_what_the_paper_says() -> None:
    """Each subset of each attribute, in a table of 100 records with the expected frequencies."""
    vector = GOLDEN["ART"]
    for name, shares in vector["input"]["probabilities"].items():
        expected = vector["expected"]["per_attribute"][name]
        codes = np.repeat(np.arange(len(shares)), [round(100 * share) for share in shares])
        subsets = [s for s in vector["input"]["nontrivial_subsets"][name] if len(s) < len(shares)]
        whole = list(range(1, len(shares) + 1))
        axis = nested([*([value] for value in whole), *subsets, whole])
        data = CodeTable([(int(code),) for code in codes], [axis]).data
        assert len(codes) == 100
        for subset in [*subsets, whole]:
            text = str(subset) if str(subset) in expected["LM_of_subset"] else f"{subset[0]}..{subset[-1]}"
            inside = np.isin(codes + 1, subset).astype(np.int64)
            for measure, word in (("lm", "LM_of_subset"), ("entropy", "entropy_of_subset")):
                cost = priced_tables.groups_of(inside, priced_tables.priced(data, measure)).cost[1]
                assert cost == pytest.approx(expected[word][text], abs=1e-6)


def flat(codes: list[int], size: int, family: tuple[frozenset[int], ...] = ()) -> Microdata:
    """One column of categories."""
    texts = tuple(f"v{i}" for i in range(size))
    about = Attribute("job", Kind.CATEGORICAL, Shape.SET, texts, np.arange(size, dtype=float), family=family)
    return Microdata(np.array(codes, np.int32)[:, None], (about,))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 5), min_size=3, max_size=20),
    st.sampled_from([({0, 4, 5}, {1, 3}), ({1, 3, 5}, {3, 5}), ({0, 2}, {0, 2, 4}, {1, 5})]),
    st.sampled_from(DISTANCES),
    st.sampled_from(["lm", "entropy"]),
)
def test_a_family_of_nested_sets_is_a_tree(
    codes: list[int], sets: tuple[set[int], ...], distance: str, measure: str
) -> None:
    nodes = [*(frozenset({c}) for c in range(6)), *map(frozenset, sets), frozenset(range(6))]
    paths = [sorted((node for node in nodes if code in node), key=len) for code in range(6)]
    partition = Agglomerative(3, distance, measure).group(flat(codes, 6, tuple(nodes)), (), silent)
    points = [(code,) for code in codes]
    assert groups_of(partition) == naive.agglomerative(points, [("tree", paths)], 3, distance, measure, False)


def test_sets_that_overlap_and_too_many_values_are_refused() -> None:
    overlapping = (frozenset({0, 1}), frozenset({1, 2}), frozenset({1}))
    with pytest.raises(PolicyError, match="family of job"):
        Agglomerative(2).group(flat([0, 1, 2], 3, overlapping), (), silent)
    with pytest.raises(PolicyError, match="job is published as sets and has 65 different values"):
        Agglomerative(2).group(flat([0, 1, 2], 65), (), silent)
    assert len(Agglomerative(2).group(flat([0, 63, 0, 63], 64), (), silent)) == 2


# Rules of the paper


@settings(deadline=None, max_examples=100)
@given(code_tables(most=12, least=st.just(3)), st.sampled_from(DISTANCES), st.sampled_from(["lm", "entropy"]))
def test_the_furthest_record_is_the_one_without_which_a_row_costs_least(
    table: CodeTable, distance: str, measure: str
) -> None:
    """Algorithm 2 drops the record with the largest dist(S, S without it)."""
    n = len(table.points)
    whole = naive.row_cost(table.points, range(n), table.axes, measure)
    rests = [
        naive.row_cost(table.points, [m for m in range(n) if m != i], table.axes, measure) for i in range(n)
    ]
    far = [
        whole - rest if distance == "nc" else naive.cluster_distance(distance, whole, whole, rest, n, n - 1)
        for rest in rests
    ]
    if distance == "8":  # |S union S| is |S|, not the sum of both
        far = [n * whole - n * whole - (n - 1) * rest for rest in rests]
    violations = int(rests[int(np.argmax(far))] > min(rests) + 1e-9)
    assert violations == GOLDEN["alg2_rule"]["expected"]["violations"]


@pytest.mark.quick
def test_distance_10_prefers_small_unions_where_merging_gains() -> None:
    vector = GOLDEN["dist10_sign"]
    for size, word in zip(vector["input"]["sizes"], ("value_size2", "value_size8"), strict=True):
        found = naive.cluster_distance("10", 0.0, -vector["input"]["numerator"], 0.0, 1, size - 1)
        assert found == pytest.approx(vector["expected"][word], abs=1e-6)
        gain = -vector["input"]["numerator"]
        kernel = with_door(closure.distance)(closure.BY_LOG, 0.0, gain, 0.0, 1, size - 1)
        assert kernel == pytest.approx(found, abs=1e-9)


# Limits and guards


class NeedsBoth:
    """Allows groups with records of both halves of the table."""

    def __init__(self, n: int) -> None:
        self.half = n // 2

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return bool((rows < self.half).any() and (rows >= self.half).any())


@settings(deadline=None, max_examples=80)
@given(code_tables(most=25, least=ks(1, 4)), ks(1, 4))
def test_guards_are_kept_by_merging(table: CodeTable, k: int) -> None:
    assume(len(table.points) > 1)
    guard = NeedsBoth(len(table.points))
    free = groups_of(group(Agglomerative(k), table))
    kept = groups_of(group(Agglomerative(k), table, guard))
    assert all(guard.allows(np.array(sorted(each), np.int32)) for each in kept)
    assert all(any(each <= merged for merged in kept) for each in free)


def test_a_group_that_is_not_allowed_goes_to_the_nearest() -> None:
    table = CodeTable([(0,), (0,), (9,), (9,), (2,), (2,)], [("range", list(range(10)))])

    class NotTheLast:
        def allows(self, rows: NDArray[np.int32]) -> bool:
            return not np.array_equal(rows, [4, 5])

    found = groups_of(group(Agglomerative(2), table, NotTheLast()))
    assert found == {frozenset({0, 1, 4, 5}), frozenset({2, 3})}


@pytest.mark.parametrize("name", Agglomerative.limits)
def test_limits_refuse_bad_values(name: str) -> None:
    for bad in Agglomerative.limits[name].bad_values():
        with pytest.raises(PolicyError, match=name):
            Agglomerative(**{"k": 2, name: bad})  # type: ignore[arg-type]


def test_a_distance_may_be_a_number_and_too_few_records_are_refused() -> None:
    assert Agglomerative(2, distance=10) == Agglomerative(2, distance="10")
    with pytest.raises(Infeasible, match=r"n=9 < k=10"):
        group(Agglomerative(10), tiny())


def test_a_release_can_be_asked_for_by_name() -> None:
    table = Table.of({"age": list("1234567899"), "ill": list("abcabcabca")})
    policy = Policy(quasi_identifiers={"age": {"type": "numeric"}}, sensitive=["ill"], privacy={"k": 3})
    options = {"distance": 8, "measure": "entropy", "modified": True}
    release = publish(table, policy, method="agglomerative", options=options)
    assert release.verdict.passed
    assert release.manifest["method"]["options"] == options
