"""Rings: every match has chance 1/k, one known person tells little, and the paper's own examples.

Many small rings are drawn at once, as components of one graph: each is a draw of its own.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from graph.test_graph import fraction
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.stats import chi2
from support.golden import golden
from support.night import NIGHT
from twins import assign as naive_rings

from incrowd import assign
from incrowd.assign import by_kinds, figure_seven, one_of_disjoint_matchings

ALPHA = 1e-6
DRAWS = 100_000 if NIGHT else 40_000
Rows = NDArray[np.int64]
Draw = Callable[[NDArray[np.int32]], Rows]
RINGS = pytest.mark.parametrize(("n", "k"), [(5, 3), (8, 3), (8, 4), (20, 10)])


def graph(name: str) -> tuple[Any, Any]:
    return golden("nonhomogeneous_graphs", name)


def drawn(draw: Draw, edges: NDArray[np.int32], draws: int = DRAWS) -> Rows:
    """The row of each record (draws, n), in batches that stay small."""
    n, batches = len(edges), []
    for size in [20_000] * (draws // 20_000):
        copies = (edges[None] + n * np.arange(size, dtype=np.int32)[:, None, None]).reshape(
            -1, edges.shape[1]
        )
        batches.append(draw(copies).reshape(size, n) % n)
    return np.concatenate(batches)


def ring(n: int, k: int) -> NDArray[np.int32]:
    return np.array(naive_rings.ring(n, k), np.int32)


def even(rows: Rows, edges: NDArray[np.int32]) -> bool:
    """Does everybody have each of their rows as often as it is among their edges, up to chance?"""
    worst = 1.0
    for record, mine in enumerate(edges.tolist()):
        times = Counter(mine)
        seen = Counter(rows[:, record].tolist())
        assert set(seen) <= set(times), "a record got a row that it may not have"
        expected = {row: len(rows) * count / len(mine) for row, count in times.items()}
        statistic = sum((seen[row] - much) ** 2 / much for row, much in expected.items())
        worst = min(worst, float(chi2.sf(statistic, len(times) - 1)) if len(times) > 1 else 1.0)
    return worst * len(edges) > ALPHA


def follows(rows: Rows, chances: naive_rings.Chances, records: tuple[int, ...] | None = None) -> bool:
    """Are assignments, or the rows of some records, as frequent as these chances say?"""
    places = tuple(range(rows.shape[1])) if records is None else records
    expected: Counter[tuple[int, ...]] = Counter()
    for assignment, chance in chances.items():
        expected[tuple(assignment[i] for i in places)] += chance  # type: ignore[assignment]
    seen = Counter(map(tuple, rows[:, places].tolist()))
    if not set(seen) <= set(expected):
        return False
    much = {key: float(chance) * len(rows) for key, chance in expected.items()}
    statistic = sum((seen[key] - m) ** 2 / m for key, m in much.items())
    return float(chi2.sf(statistic, len(much) - 1)) > ALPHA


@pytest.fixture
def walks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small rings are drawn as all other graphs are."""
    monkeypatch.setattr(assign, "SMALL_RINGS", {})


# ---- mistakes that one could make; each is seen by a test that our draw passes


def picked(worlds: list[naive_rings.Assignment], edges: NDArray[np.int32], same: bool = False) -> Rows:
    """One of these assignments for each copy of a ring, or the same for all, evenly."""
    n = len(worlds[0])
    copies = len(edges) // n
    dice = np.random.default_rng(copies)
    which = dice.integers(len(worlds), size=1 if same else copies)
    rows: Rows = np.array(worlds)[np.broadcast_to(which, copies)] + n * np.arange(copies)[:, None]
    return rows.reshape(-1)


def any_assignment(n: int, k: int) -> Draw:
    return partial(picked, naive_rings.assignments(naive_rings.ring(n, k)))


def any_shift(n: int, k: int) -> Draw:
    return partial(picked, naive_rings.shifts(n, k))


def the_first(edges: NDArray[np.int32]) -> Rows:
    """Figure 7 without the index: a walked matching, and always that."""
    parts = assign._RegularGraph.of(edges)
    held = assign._matching(parts.edges, assign._RandomBytes(os.urandom, 1 << 16))
    return np.take_along_axis(edges, held[:, None].astype(np.int64), axis=1)[:, 0].astype(np.int64)


# ---- one person


@RINGS
def test_every_match_has_the_same_chance(n: int, k: int) -> None:
    assert even(drawn(one_of_disjoint_matchings, ring(n, k)), ring(n, k))


@pytest.mark.parametrize(("n", "k"), [(5, 3), (8, 3), (7, 4)])
@pytest.mark.usefixtures("walks_only")
def test_every_match_has_the_same_chance_by_walks_and_halves(n: int, k: int) -> None:
    assert even(drawn(one_of_disjoint_matchings, ring(n, k)), ring(n, k))


@pytest.mark.parametrize(("n", "k"), [(5, 3), (8, 3)])
@pytest.mark.parametrize("permuted", [True, False])
def test_figure_seven_is_even_too(n: int, k: int, permuted: bool) -> None:
    assert even(drawn(partial(figure_seven, permuted=permuted), ring(n, k)), ring(n, k))


@pytest.mark.parametrize(("n", "k"), [(5, 3), (8, 3), (8, 4)])
def test_any_assignment_would_not_be_even(n: int, k: int) -> None:
    assert not even(drawn(any_assignment(n, k), ring(n, k)), ring(n, k))


@RINGS
def test_always_the_first_matching_would_not_be_even(n: int, k: int) -> None:
    assert not even(drawn(lambda edges: edges[:, 0].astype(np.int64), ring(n, k)), ring(n, k))


@pytest.mark.parametrize(("n", "k"), [(5, 3), (8, 3)])
def test_a_walked_matching_alone_would_not_be_even(n: int, k: int) -> None:
    assert not even(drawn(the_first, ring(n, k)), ring(n, k))


@pytest.mark.parametrize(("n", "k"), [(4, 2), (6, 5), (7, 6), (9, 7)])
@pytest.mark.parametrize("seed", [1, 2])
def test_other_regular_graphs_are_even(n: int, k: int, seed: int) -> None:
    """Random ones, some with double edges."""
    dice = np.random.default_rng(seed)
    edges = np.stack([dice.permutation(n) for _ in range(k)], axis=1).astype(np.int32)
    assert even(drawn(one_of_disjoint_matchings, edges), edges)


def test_a_person_of_a_kind_is_behind_each_row_of_a_kind_as_often_as_they_fit() -> None:
    """Records of kinds 0 0 1 and rows of kinds 0 1 1: places, double edges and equals are drawn together."""
    fits = np.array([[0, 0, 1], [0, 1, 2], [1, 2, 2]], np.int32)
    draws, copies = 20_000, np.arange(20_000, dtype=np.int32)
    record_kind = (np.array([0, 0, 1], np.int32) + 2 * copies[:, None]).ravel()
    row_kind = (np.array([0, 1, 1], np.int32) + 2 * copies[:, None]).ravel()
    many = (fits[None] + 3 * copies[:, None, None]).reshape(-1, 3)
    made = by_kinds(many, record_kind, row_kind)
    row_of = np.empty(3 * draws, np.int64)
    row_of[made.private] = made.region
    rows = row_of.reshape(-1, 3) % 3
    for record, of_kind_0 in ((0, Fraction(1, 2)), (1, Fraction(1, 2)), (2, Fraction(0))):
        seen = int((rows[:, record] == 0).sum())
        spread = (draws * float(of_kind_0 * (1 - of_kind_0))) ** 0.5
        assert abs(seen - draws * float(of_kind_0)) <= 5 * spread
    others = Counter(rows[:, 2].tolist())
    assert abs(others[1] - draws / 2) < 5 * draws**0.5 / 2, "which of two equal rows is even as well"


# ---- two persons


@pytest.mark.usefixtures("walks_only")
def test_two_persons_of_a_ring_are_drawn_as_the_exact_law_says() -> None:
    """All fifteen pairs of matches, for every pair of records: ours agree, shifts do not."""
    law = naive_rings.of_degree_three(naive_rings.ring(5, 3))
    ours, shifted = (drawn(d, ring(5, 3)) for d in (one_of_disjoint_matchings, any_shift(5, 3)))
    assert even(shifted, ring(5, 3)), "one by one, shifts are right"
    for pair in itertools.combinations(range(5), 2):
        assert follows(ours, law, pair)
        assert not follows(shifted, law, pair)


@pytest.mark.parametrize(("n", "k"), [(8, 3), (8, 4), (20, 10)])
@pytest.mark.usefixtures("walks_only")
def test_two_persons_of_a_ring_are_not_bound_together(n: int, k: int) -> None:
    """Every row of one goes with every other row of another; of a shift, k pairs of k * k are possible."""

    def together(draw: Draw) -> int:
        rows = drawn(draw, ring(n, k))
        return len(set(map(tuple, rows[:, [0, n // 2]].tolist())))

    shared = len(set(ring(n, k)[0]) & set(ring(n, k)[n // 2]))
    assert together(one_of_disjoint_matchings) == k * k - shared
    assert together(any_shift(n, k)) == k


def test_two_rings_know_nothing_of_each_other() -> None:
    """An index drawn once for all components is even for everybody, and would still be seen."""
    pair = ring(5, 3)
    both = np.concatenate([pair, pair + 5]).astype(np.int32)
    uniform: naive_rings.Chances = {
        (a, 5 + b): Fraction(1, 9) for a in pair[0].tolist() for b in pair[0].tolist()
    }

    def heads(draw: Draw) -> Rows:
        return drawn(draw, both)[:, [0, 5]]

    assert follows(heads(one_of_disjoint_matchings), uniform)
    two = [(*a, *(5 + row for row in a)) for a in naive_rings.shifts(5, 3)]
    assert not follows(heads(partial(picked, two)), uniform)


# ---- exact laws


@pytest.mark.usefixtures("walks_only")
def test_all_assignments_are_drawn_as_the_exact_law_says() -> None:
    law = naive_rings.of_degree_three(naive_rings.ring(5, 3))
    assert len(law) == 13
    assert {chance for rows in naive_rings.marginals(law) for chance in rows.values()} == {Fraction(1, 3)}
    rows = drawn(one_of_disjoint_matchings, ring(5, 3))
    assert follows(rows, law)
    uniform = dict.fromkeys(law, Fraction(1, 13))
    assert not follows(rows, uniform)
    assert not follows(drawn(any_assignment(5, 3), ring(5, 3)), law)


def test_the_walk_is_what_its_exact_law_says() -> None:
    graph = naive_rings.ring(5, 3)
    assert follows(drawn(the_first, ring(5, 3)), naive_rings.walked(graph))


def test_double_edges_are_drawn_as_the_exact_law_says() -> None:
    edges = ((0, 0, 1), (0, 1, 2), (1, 2, 2))
    law = naive_rings.of_degree_three(edges)
    assert follows(drawn(one_of_disjoint_matchings, np.array(edges, np.int32)), law)


def test_the_exact_law_of_figure_seven() -> None:
    given_, expected = graph("fig7_exact_53")
    first = naive_rings.figure_seven(naive_rings.ring(given_["n"], given_["k"]))
    by_shift = naive_rings.marginals(first)[0]
    for shift, said in expected["first_run_only_marginals_by_shift"].items():
        assert by_shift[-int(shift) % 5] == fraction(said)
    law = naive_rings.one_of_all_in_turn(naive_rings.ring(5, 3), naive_rings.figure_seven)
    assert len(law) == expected["support"]
    for text, said in expected["assignment_probabilities"].items():
        assert law[tuple(int(row) - 1 for row in text.strip("[]").split(","))] == fraction(said)
    one = fraction(expected["marginal_every_ring_edge"])
    assert {chance for rows in naive_rings.marginals(law) for chance in rows.values()} == {one}
    assert follows(drawn(partial(figure_seven, permuted=False), ring(5, 3)), law)
    assert not follows(drawn(figure_seven, ring(5, 3)), law), "a random start has another law, as even"


def test_any_assignment_of_the_ring_of_figure_5() -> None:
    given_, expected = graph("figure5_ring")
    n, k = given_["n"], given_["k"]
    assert [[x + 1 for x in crowd] for crowd in naive_rings.neighbourhoods(n, k)] == expected["PS_1based"]
    worlds = naive_rings.assignments(naive_rings.ring(n, k))
    assert len(worlds) == expected["n_assignments"]
    for i, rows in enumerate(naive_rings.marginals(dict.fromkeys(worlds, Fraction(1, len(worlds))))):
        assert rows[i] == fraction(expected["P(t_i=t'_i)"])
        assert rows[(i - 1) % n] == fraction(expected["P(t_i=t'_{i-1})"])
        assert rows[(i - 2) % n] == fraction(expected["P(t_i=t'_{i-2})"])


def test_every_assignment_is_one_of_disjoint_ones() -> None:
    given_, expected = graph("lemma1_ring53")
    edges = naive_rings.ring(given_["n"], given_["k"])
    worlds = naive_rings.assignments(edges)
    rests = [naive_rings.without(edges, a) for a in worlds]
    assert all(map(naive_rings.assignments, rests)) is expected["every_assignment_extends"]
    pairs = [(rest, b) for rest in rests for b in naive_rings.assignments(rest)]
    ends = [naive_rings.assignments(naive_rings.without(rest, b)) for rest, b in pairs]
    assert all(ends) is expected["every_disjoint_pair_extends"]
    assert sum(map(len, ends)) == 6 * expected["n_factorisations"], "each in all orders of its three"


def test_the_first_assignment_of_figure_6() -> None:
    given_, expected = graph("figure6_first")
    row = tuple(given_["assignment_1based"][str(i)] - 1 for i in range(1, given_["n"] + 1))
    edges = naive_rings.ring(given_["n"], given_["k"])
    assert (row in naive_rings.assignments(edges)) is expected["valid"]
    assert row in naive_rings.of_degree_three(edges)


def test_table_3_is_a_ring() -> None:
    given_, expected = graph("table3_is_ring")

    def said(crowd: list[list[Any]]) -> list[Any]:
        zips, sexes, ages = zip(*crowd, strict=True)
        same = next((length for length in range(6, 0, -1) if len({z[:length] for z in zips}) == 1), 0)
        sex = sexes[0] if len(set(sexes)) == 1 else "*"
        return [zips[0][:same] + "*" * (6 - same), sex, [min(ages), max(ages)]]

    rows = []
    for part in given_["partitions"]:
        neighbourhoods = naive_rings.neighbourhoods(len(part), given_["k"])
        rows += [said([given_["T"][part[x]] for x in crowd]) for crowd in neighbourhoods]
    assert rows == expected["T_star"]


# ---- small rings have laws of their own


def small_ring(n: int, k: int) -> naive_rings.Chances:
    """The law that is written down for a small ring."""
    entries = (entry.split(":") for entry in assign.SMALL_RINGS[n, k].split())
    return naive_rings.turned([(int(weight), list(map(int, back))) for weight, back in entries])


@pytest.mark.parametrize(("n", "k"), list(assign.SMALL_RINGS))
def test_laws_of_small_rings_give_every_match_one_in_k(n: int, k: int) -> None:
    law, edges = small_ring(n, k), naive_rings.ring(n, k)
    assert set(law) <= set(naive_rings.assignments(edges))
    assert sum(law.values()) == 1
    for record, rows in enumerate(naive_rings.marginals(law)):
        assert rows == dict.fromkeys(edges[record], Fraction(1, k))


@pytest.mark.parametrize(("n", "k"), list(assign.SMALL_RINGS))
def test_small_rings_are_drawn_by_their_laws_whatever_they_are_called(
    n: int, k: int, rng: np.random.Generator
) -> None:
    """Named anew, a ring has the law of its records in some order, forwards or backwards."""
    record, row = rng.permutation(n), rng.permutation(n)
    edges = np.empty((n, k), np.int32)
    edges[record] = row[ring(n, k)]
    found = drawn(one_of_disjoint_matchings, edges)
    assert even(found, edges)
    back = (np.arange(n) - np.argsort(row)[found[:, record]]) % n
    back = np.where(rng.random((len(found), 1)) < 0.5, back, k - 1 - back[:, ::-1])
    assert follows((np.arange(n) - back) % n, naive_rings.all_round(small_ring(n, k), k))


@pytest.mark.parametrize(("n", "k"), list(assign.SMALL_RINGS))
def test_no_law_of_a_small_ring_could_tell_much_less(n: int, k: int) -> None:
    """For k=3 no law tells less after one known pair. For k=4 some do, by less than 6 %."""
    ours, _ = naive_rings.worst_after_one(small_ring(n, k))
    least = least_after_one(n, k)
    assert least <= float(ours) * (1 + 1e-9) <= least * (1 + 1e-6 if k == 3 else 1.06)
    if k == 4:
        assert after_two(small_ring(n, k)) <= Fraction(2, 3)  # by walks and halves 0.84


def least_after_one(n: int, k: int) -> float:
    """The least that the worst pair can have, over all laws with 1/k for every match: a linear program."""
    worlds = np.array(naive_rings.assignments(naive_rings.ring(n, k)))
    pairs, equal = [], []
    for i, j in itertools.product(range(n), range(n)):
        mine = worlds[:, i] == j
        if mine.any():
            equal.append(mine)
            pairs += [
                mine & (worlds[:, a] == b)
                for a, b in itertools.product(range(i + 1, n), range(n))
                if (mine & (worlds[:, a] == b)).any()
            ]
    above = np.column_stack([np.array(pairs) * float(k), -np.ones(len(pairs))])
    exactly = np.column_stack([np.array(equal, float), np.zeros(len(equal))])
    goal = np.append(np.zeros(len(worlds)), 1.0)
    found = linprog(goal, above, np.zeros(len(above)), exactly, np.full(len(equal), 1 / k))
    return float(found.fun)


def after_two(law: naive_rings.Chances) -> Fraction:
    """The largest chance of a match if two others are known."""
    known: dict[Any, Fraction] = {}
    three: dict[Any, Fraction] = {}
    for assignment, chance in law.items():
        for pair in itertools.combinations(enumerate(assignment), 2):
            known[pair] = known.get(pair, Fraction(0)) + chance
            for other in set(enumerate(assignment)) - set(pair):
                three[pair, other] = three.get((pair, other), Fraction(0)) + chance
    return max(chance / known[pair] for (pair, _), chance in three.items())


# ---- corruption


def test_what_one_known_person_tells_about_another() -> None:
    """Ours, Figure 7 from the identity, walks, any assignment and a shift, from best to worst."""
    given_, expected = graph("corruption_53")
    edges = naive_rings.ring(given_["n"], given_["k"])
    worlds = naive_rings.assignments(edges)
    printed = naive_rings.one_of_all_in_turn(edges, naive_rings.figure_seven)
    largest, pairs = naive_rings.worst_after_one(printed)
    assert largest == fraction(expected["worst_posterior_mechanism"]) == Fraction(8269, 12960)
    known, inferred = (tuple(x - 1 for x in expected["witness_1based"][key]) for key in ("known", "inferred"))
    assert (known, inferred) in pairs
    any_world, _ = naive_rings.worst_after_one(dict.fromkeys(worlds, Fraction(1, len(worlds))))
    assert any_world == fraction(expected["worst_posterior_uniform_over_all_assignments"])
    shift, _ = naive_rings.worst_after_one(dict.fromkeys(naive_rings.shifts(5, 3), Fraction(1, 3)))
    assert shift == expected["columns_mechanism"]
    walks, _ = naive_rings.worst_after_one(naive_rings.of_degree_three(edges))
    assert largest < walks == Fraction(19069199, 25945920) < any_world < shift
    ours, _ = naive_rings.worst_after_one(small_ring(5, 3))
    assert ours == Fraction(4, 7) < largest


def test_whoever_is_known_the_others_keep_candidates() -> None:
    _, expected = graph("corruption_connectivity")
    for name, said in expected["table"].items():
        n, k, size = (int(part.split("=")[1]) for part in name.split(","))
        if said["cases"] > 10_000:  # the three largest only repeat what smaller ones say
            continue
        cases, least, whole = 0, n, True
        for known in naive_rings.revealed(n, k, size):
            left = naive_rings.left_over(naive_rings.ring(n, k), known)
            found = naive_rings.effective(left)
            cases += 1
            least = min(least, *found) if found else least
            whole = whole and found == [len(rows) for rows in left]
        assert cases == said["cases"], name
        assert whole is said["all_remaining_edges_effective"], name
        assert least == said["min_effective"] >= said["k-|Q|"] == k - size, name


def test_how_many_nodes_a_ring_can_lose() -> None:
    """Any k-2, not k-1 as the paper says."""
    _, expected = graph("ring_vertex_connectivity")
    for name, said in expected["max_q_such_that_any_q_nodes_can_be_removed"].items():
        n, k = (int(part.split("=")[1]) for part in name.split(","))
        for size, holds in ((said, True), (said + 1, False)):
            gone = itertools.combinations(range(n), size)
            assert all(naive_rings.connected_without(n, k, nodes) for nodes in gone) is holds, name
        assert said == k - 2
