"""Parts in which no sensitive value is frequent, the printed ring over them, and releases of rings with l."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from algorithms.nonhomogeneous.test_ring import GOLDEN, listed
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tables_of_codes import CodeTable, code_tables, ks, rare_values
from twins import assign as naive_rings
from twins import diverse as naive_diverse
from twins import ordering as naive_orders

from incrowd.algorithms.nonhomogeneous.ring import Ring, printed_order
from incrowd.algorithms.partitions import lexicographic
from incrowd.algorithms.partitions.lexicographic import NEAR, CutRow, Lexicographic, Sought, eligible_parts
from incrowd.algorithms.transparent.plan import plan
from incrowd.commands.publish import publish
from incrowd.errors import Exposure, Infeasible, PolicyError
from incrowd.flow import Table
from incrowd.long_work import silent
from incrowd.models.l_diversity import _Frequency
from incrowd.policy import Policy

# CutRow in which no value is frequent


def sought(values: list[int], l: int, k: int, per_neighbourhood: bool) -> Sought:  # noqa: E741
    codes = np.unique(values, return_inverse=True)[1].astype(np.int32)
    return Sought(codes, int(codes.max()) + 1, l, k, per_neighbourhood)


@settings(max_examples=400)
@given(
    code_tables(least=ks(1, 5)),
    st.data(),
    ks(1, 5),
    st.integers(2, 4),
    st.booleans(),
    st.sampled_from([1, 2, NEAR]),
)
def test_eligible_parts_agree_with_naive(
    table: CodeTable,
    data: st.DataObject,
    k: int,
    l: int,  # noqa: E741
    per_neighbourhood: bool,
    near: int,
) -> None:
    k = max(k, l) if per_neighbourhood else k
    n = len(table.points)
    often = data.draw(st.sampled_from([1, n]))  # at most once, which is mostly feasible, or any number
    values = data.draw(rare_values(n, often))

    def good(part: list[int]) -> bool:
        return naive_diverse.eligible(part, values, k, l, per_neighbourhood)

    looked_for = sought(values, l, k, per_neighbourhood)
    if not good(list(range(n))):
        with pytest.raises(Infeasible):
            eligible_parts(table.data, looked_for, silent)
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lexicographic, "NEAR", near)
            parts = listed(eligible_parts(table.data, looked_for, silent))
        assert all(map(good, parts))
        assert parts == naive_diverse.diverse_partition(table.points, table.axes, good, k, near)


def count_vectors(l: int, most: int = 14) -> list[list[int]]:  # noqa: E741
    """Falling counts of values, none with more than its share 1/l."""

    def falling(left: int, largest: int) -> list[list[int]]:
        if not left:
            return [[]]
        return [[c, *rest] for c in range(min(left, largest), 0, -1) for rest in falling(left - c, c)]

    return [counts for n in range(2, most + 1) for counts in falling(n, n // l)]


def part_of(counts: list[int]) -> tuple[list[int], CutRow]:
    values = [value for value, count in enumerate(counts) for _ in range(count)]
    return values, CutRow(np.arange(len(values), dtype=np.int32), np.array([0, len(values)]))


@pytest.mark.quick
def test_every_eligible_part_can_be_ordered_as_printed() -> None:
    tested = failures = 0
    for l in range(2, 7):  # noqa: E741
        for counts in count_vectors(l):
            values, part = part_of(counts)
            order = printed_order(part, sought(values, l, l, True)).order.tolist()
            ring = [values[i] for i in order]
            assert ring == naive_diverse.ring_order(counts)
            repeats = any(len({*(ring + ring)[at : at + l]}) < l for at in range(len(ring)))
            tested, failures = tested + 1, failures + repeats
    assert {"tested": tested, "failures": failures} == GOLDEN["ldiv_ring_order"]["expected"]


@pytest.mark.quick
def test_every_eligible_count_of_values_can_be_planned() -> None:
    """Buckets with l colours of one size, and at last a group in which no value has more than its share."""
    tested = failures = 0
    for l in range(2, 7):  # noqa: E741
        for counts in count_vectors(l):
            buckets = plan(counts, l, l)
            whole = sum(bucket.size for bucket in buckets) == sum(counts)
            sizes = [{sum(colour.values()) for colour in bucket.colours} for bucket in buckets]
            shares = [max(max(c.values()) for c in bucket.colours) * l <= bucket.size for bucket in buckets]
            tested += 1
            failures += not (whole and all(len(size) == 1 for size in sizes) and all(shares))
    assert {"tested": tested, "failures": failures} == GOLDEN["ldiv_split_distinct"]["expected"]


@pytest.mark.quick
def test_the_printed_order_breaks_its_own_claim() -> None:
    """Golden: of the 20 assignments of the ring abcabc 14 give somebody a value with chance 2/3."""
    vector = GOLDEN["ldiv_ring_claim"]
    order, l = vector["input"]["order"], vector["input"]["l"]  # noqa: E741
    graph = naive_rings.ring(len(order), l)
    every = naive_rings.assignments(graph)
    broken = 0
    worst = Fraction(0)
    for rows in every:
        shown = {row: order[record] for record, row in enumerate(rows)}
        most = max(max(Counter(shown[row] for row in mine).values()) for mine in graph)
        broken += most > 1
        worst = max(worst, Fraction(most, l))
    assert len(every) == vector["expected"]["assignments"]
    assert broken == vector["expected"]["assignments_breaking_3_diversity"]
    assert worst == Fraction(2, 3)


def sick(n: int = 60, **more: Any) -> tuple[Table, Policy]:
    columns = {
        "age": [str(20 + i % 17) for i in range(n)],
        "sex": ["FM"[i % 5 > 2] for i in range(n)],
        "ill": ["abcdef"[i * i % 7 % 6] for i in range(n)],
    }
    policy = Policy(quasi_identifiers=["age", "sex"], sensitive=["ill"], method="ring", **more)
    return Table.of(columns), policy


@pytest.mark.parametrize(("k", "l"), [(3, 3), (2, 3), (7, 2), (4, 2)])
def test_a_release_with_l_is_confirmed(k: int, l: int) -> None:  # noqa: E741
    table, policy = sick(privacy={"k": k, "l": l}, options={"stratum": 20})
    release = publish(table, policy)
    assert release.verdict.passed
    crowd = -(-k // l) * l
    claims = {claim["model"]: claim["parameters"] for claim in release.manifest["claims"]}
    assert claims == {"k-factor": {"k": crowd}, "transparent-l-diversity": {"l": l}}
    assert release.manifest["match_probability"]["drawn"] == str(Fraction(1, crowd))


@pytest.mark.parametrize("option", [{"order": "hilbert"}, {"rule": "pseudocode"}, {"groups": "mondrian"}])
def test_orders_go_without_l(option: dict[str, str]) -> None:
    table, policy = sick(privacy={"k": 3, "l": 3}, options=option)
    with pytest.raises(PolicyError, match="order and rule go without l"):
        publish(table, policy)


def test_the_printed_order_must_be_accepted_and_promises_no_l() -> None:
    table, policy = sick(privacy={"k": 3, "l": 3}, options={"split": "printed"})
    with pytest.raises(Exposure) as refused:
        publish(table, policy)
    assert refused.value.name == "unsafe-order"
    release = publish(table, policy.with_(accept=["unsafe-order"]))
    assert [claim["model"] for claim in release.manifest["claims"]] == ["k-factor"]
    assert release.manifest["method"]["form"] == "printed"


def test_with_l_a_ring_takes_no_other_guard() -> None:
    table = CodeTable([(0,), (1,), (1,)], [("set", 2)])
    rule = _Frequency(np.array([0, 1, 2], np.int32), 3, 2)

    class Veto:
        def allows(self, _rows: Any) -> bool:
            return True

    with pytest.raises(PolicyError, match="nothing else beside k"):
        Ring(2).group(table.data, (rule, Veto()), silent)


def test_the_lexicographic_partition_is_the_same_without_l() -> None:
    """A guard that always allows changes nothing but how short runs are mended."""
    table = CodeTable([(i % 3, i % 5) for i in range(30)], [("set", 3), ("set", 5)])
    everyone = naive_orders.lexicographic(table.points, table.axes, 3, "text")
    assert listed(Lexicographic(3).parts(table.data, (), silent)) == everyone


@pytest.mark.quick
def test_an_order_by_values_gives_them_away() -> None:
    """Golden: whoever knows the rule of the order is certain of somebody's value in 84 of 120 worlds."""
    vector = GOLDEN["ldiv_ring_known_order_attack"]
    n, l = vector["input"]["n"], vector["input"]["l"]  # noqa: E741
    orders = [
        order
        for order in sorted(set(itertools.permutations(vector["input"]["value_multiset"])))
        if all(len({order[(at + step) % n] for step in range(l)}) == l for at in range(n))
    ]
    worlds = [(order, rows) for order in orders for rows in naive_rings.assignments(naive_rings.ring(n, l))]
    seen: dict[tuple[str, ...], list[Any]] = {}
    for order, rows in worlds:
        shown = [""] * n
        for record, row in enumerate(rows):
            shown[row] = order[record]
        seen.setdefault(tuple(shown), []).append(order)
    exposed = sum(
        len(orders_left)
        for orders_left in seen.values()
        if any(len({order[person] for order in orders_left}) == 1 for person in range(n))
    )
    assert len(worlds) == vector["expected"]["worlds"]
    assert exposed == vector["expected"]["worlds_where_someone_is_exposed_with_certainty"]
