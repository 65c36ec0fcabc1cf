"""CutRow and rings in which no sensitive value is frequent: slow twins, vectors, releases."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from algorithms.nonhomogeneous.test_ring import GOLDEN, ORDERS, crowds_of, listed
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from support.tables_of_codes import CodeTable, code_tables, ks, rare_values
from twins import assign as naive_rings
from twins import diverse as naive_diverse
from twins import ordering as naive_orders

from incrowd.algorithms.nonhomogeneous.ring import Ring, printed_order, split_apart
from incrowd.algorithms.partitions import lexicographic
from incrowd.algorithms.partitions.lexicographic import NEAR, CutRow, Lexicographic, Sought, eligible_parts
from incrowd.assign import by_neighbourhoods
from incrowd.commands.publish import publish
from incrowd.contracts import silent
from incrowd.errors import Exposure, Infeasible, PolicyError
from incrowd.flow import Table
from incrowd.models.l_diversity import DrawnDiversity
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
def test_every_eligible_part_can_be_cut_into_parts_of_distinct_values() -> None:
    tested = failures = 0
    for l in range(2, 7):  # noqa: E741
        for counts in count_vectors(l):
            values, part = part_of(counts)
            pieces = listed(split_apart(part, sought(values, l, l, True)))
            whole = sorted(itertools.chain(*pieces)) == list(range(len(values)))
            good = all(len({values[i] for i in piece}) == len(piece) >= l for piece in pieces)
            tested += 1
            failures += not (whole and good and len(pieces) == len(values) // l)
    assert {"tested": tested, "failures": failures} == GOLDEN["ldiv_split_distinct"]["expected"]


@settings(max_examples=200)
@given(st.data(), st.integers(2, 4), st.integers(0, 6))
def test_with_larger_crowds_no_value_is_more_often_in_a_piece_than_its_share(
    data: st.DataObject,
    l: int,  # noqa: E741
    more: int,
) -> None:
    k = l + more
    n = data.draw(st.integers(k, 60))
    values = data.draw(rare_values(n, (k // l) * (n // k), kinds=7))
    assert naive_diverse.eligible(range(n), values, k, l, True)
    part = CutRow(np.arange(len(values), dtype=np.int32), np.array([0, len(values)]))
    pieces = listed(split_apart(part, sought(values, l, k, True)))
    assert len(pieces) == len(values) // k
    for piece in pieces:
        assert len(piece) >= k
        assert piece == sorted(piece)
        assert max(Counter(values[i] for i in piece).values()) * l <= k


def test_who_of_a_value_goes_where_is_drawn() -> None:
    """Three records of value 0 and three of value 1, cut in three: each 0 meets each 1 equally often."""
    values, draws = [0, 0, 0, 1, 1, 1], 30_000
    part = CutRow(np.arange(6, dtype=np.int32), np.array([0, 6]))
    looked_for = sought(values, 2, 2, True)

    def statistic(source: Any) -> float:
        met: Counter[tuple[int, ...]] = Counter()
        for _ in range(draws):
            met.update(map(tuple, listed(split_apart(part, looked_for, source))))
        return float(sum((met[a, b] - draws / 3) ** 2 / (draws / 3) for a in range(3) for b in range(3, 6)))

    limit = float(chi2.isf(1e-6, 4)) * 1.5  # nine counts of which four are free, each with variance 2/9
    assert statistic(os.urandom) < limit
    always = b"".join(number.to_bytes(8, "big") for number in range(6))
    assert statistic(lambda size: always[:size]) > limit


# l by the draw


def guard_of(values: list[int], l: int, k: int) -> Any:  # noqa: E741
    class Told:
        codes = np.unique(values, return_inverse=True)[1].astype(np.int32)
        size = len(set(values))

        def allows(self, rows: Any) -> bool:
            return naive_diverse.eligible(rows.tolist(), values, k, l, True)

        def reached(self, _rows: Any) -> int:
            return 0

    told = Told()
    told.l, told.k = l, k  # type: ignore[attr-defined]
    return told


@settings(max_examples=150)
@given(code_tables(least=ks(2, 6)), st.data(), st.integers(2, 3), ks(2, 6), ORDERS)
def test_nobody_has_a_value_with_more_than_its_chance(
    table: CodeTable,
    data: st.DataObject,
    l: int,  # noqa: E741
    k: int,
    order: str,
) -> None:
    """By counting: of the k rows that are a person's with chance 1/k, at most k/l carry one value."""
    assume(k >= l)
    n = len(table.points)
    values = data.draw(rare_values(n, (k // l) * (n // k), kinds=7))
    assert naive_diverse.eligible(range(n), values, k, l, True)
    neighbourhoods = Ring(k, order).group(table.data, (guard_of(values, l, k),), silent)
    assert neighbourhoods.regular
    found = by_neighbourhoods(neighbourhoods)
    behind = {int(row): int(record) for row, record in zip(found.region, found.private, strict=True)}
    rows = [
        [row for row, crowd in crowds_of(neighbourhoods).items() if record in crowd] for record in range(n)
    ]
    for mine in rows:
        shown = Counter(values[behind[row]] for row in mine)
        assert len(mine) == k
        assert max(shown.values()) * l <= k


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


@pytest.mark.parametrize("order", ["lexicographic", "hilbert"])
@pytest.mark.parametrize(("k", "l"), [(3, 3), (2, 3), (7, 2), (4, 2)])
def test_a_release_with_l_is_confirmed(order: str, k: int, l: int) -> None:  # noqa: E741
    table, policy = sick(privacy={"k": k, "l": l}, options={"order": order})
    release = publish(table, policy)
    assert release.verdict.passed
    crowd = max(k, l)
    claims = {claim["model"]: claim["parameters"] for claim in release.manifest["claims"]}
    assert claims == {"k-factor": {"k": crowd}, "drawn-l-diversity": {"l": l, "k": crowd}}
    assert release.manifest["match_probability"]["drawn"] == str(Fraction(1, crowd))


def test_the_printed_order_must_be_accepted_and_promises_no_l() -> None:
    table, policy = sick(privacy={"k": 3, "l": 3}, options={"split": "printed"})
    with pytest.raises(Exposure) as refused:
        publish(table, policy)
    assert refused.value.name == "unsafe-order"
    release = publish(table, policy.with_(accept=["unsafe-order"]))
    assert [claim["model"] for claim in release.manifest["claims"]] == ["k-factor"]
    assert release.manifest["method"]["form"] == "printed"


def test_l_for_two_columns_is_refused() -> None:
    table, _ = sick()
    policy = Policy(
        quasi_identifiers=["age"], sensitive=["ill", "sex"], method="ring", privacy={"k": 3, "l": 2}
    )
    with pytest.raises(PolicyError, match="one sensitive column"):
        publish(table, policy)


def test_a_ring_takes_no_other_guard() -> None:
    table = CodeTable([(0,), (1,), (1,)], [("set", 2)])

    class Veto:
        def allows(self, _rows: Any) -> bool:
            return True

    with pytest.raises(PolicyError, match="for all else use mondrian"):
        Ring(2).group(table.data, (Veto(),), silent)


def test_the_model_and_the_ring_mean_the_same_by_eligible() -> None:
    model = DrawnDiversity(2, 4, "ill")
    table, policy = sick(privacy={"k": 4, "l": 2})
    from incrowd.encode import encode

    data = encode(table, policy.schema(table))
    (guard,) = model.guards(data)
    codes: Any = guard
    ours = Sought(codes.codes, codes.size, 2, 4, True)
    for size in range(1, 40):
        rows = np.arange(size, dtype=np.int32)
        counts = ours.counts(rows, np.zeros(size, np.int64), 1)
        assert bool(ours.allows(counts)[0]) == guard.allows(rows)


def test_the_lexicographic_partition_is_the_same_without_l() -> None:
    """A guard that always allows changes nothing but how short runs are mended."""
    table = CodeTable([(i % 3, i % 5) for i in range(30)], [("set", 3), ("set", 5)])
    everyone = naive_orders.lexicographic(table.points, table.axes, 3, "text")
    assert listed(Lexicographic(3).parts(table.data, (), silent)) == everyone


# What the parts themselves tell of values

World = tuple[int, ...]


def groupings(world: World, table: CodeTable, l: int) -> list[frozenset[tuple[frozenset[int], World]]]:  # noqa: E741
    """All that may be seen of a world, each as likely: who is in which part, and the values in it."""
    parts = listed(eligible_parts(table.data, sought(list(world), l, l, True), silent))
    seen: list[list[tuple[frozenset[int], World]]] = [[]]
    for part in parts:
        ways = dealt(part, world, len(part) // l)
        seen = [[*before, *way] for before in seen for way in ways]
    return [frozenset(way) for way in seen]


def dealt(part: list[int], world: World, pieces: int) -> list[list[tuple[frozenset[int], World]]]:
    """Every way to deal out a part, by every order of the records of each value."""
    counts = Counter(world[i] for i in part)
    values = sorted(counts, key=lambda value: (-counts[value], value))
    orders = [itertools.permutations([i for i in part if world[i] == value]) for value in values]
    ways = []
    for chosen in itertools.product(*orders):
        cards = list(itertools.chain(*chosen))
        hands = [frozenset(cards[piece::pieces]) for piece in range(pieces)]
        ways.append([(hand, tuple(sorted(world[i] for i in hand))) for hand in hands])
    return ways


def largest_posterior(table: CodeTable, values: World, l: int) -> Fraction:  # noqa: E741
    """How sure somebody's value can be who sees parts and values, knows all records and the algorithm."""
    worlds = sorted(set(itertools.permutations(values)))
    beliefs: dict[Any, Counter[tuple[int, int]]] = {}
    total: Counter[Any] = Counter()
    for world in worlds:
        ways = groupings(world, table, l)
        for way in ways:
            weight = Fraction(1, len(ways))
            total[way] += weight  # type: ignore[assignment]
            told = beliefs.setdefault(way, Counter())
            for person, value in enumerate(world):
                told[person, value] += weight  # type: ignore[assignment]
    return max(
        Fraction(most) / Fraction(total[way]) for way, told in beliefs.items() for most in told.values()
    )


def test_cutting_one_part_by_chance_tells_nothing_beyond_its_values() -> None:
    """Where all records are one part whatever their values, nobody is known better than by 1/l."""
    table = CodeTable([(0,)] * 6, [("set", 1)])
    assert largest_posterior(table, (0, 0, 1, 1, 2, 2), 3) == Fraction(1, 3)
    assert largest_posterior(table, (0, 0, 0, 1, 1, 1), 2) == Fraction(1, 2)


def test_that_parts_were_merged_tells_something() -> None:
    """Runs are merged because of their values: docs/claims/ring.md says so. Here somebody's is certain."""
    table = CodeTable([(i // 2,) for i in range(6)], [("range", [0, 1, 2])])
    assert largest_posterior(table, (0, 0, 0, 1, 1, 1), 2) == Fraction(1, 2)
    assert largest_posterior(table, (0, 0, 0, 1, 1, 2), 2) == 1


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
