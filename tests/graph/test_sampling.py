"""Sampled assignments: all equally likely, by count and chi-square; a chain that is not is found out."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from graph.test_graph import edges_of, expanded, ring
from twins import definitions as naive

from incrowd.errors import TableError
from incrowd.graph import Graph, GraphComponents, chances, components, posterior, sample
from incrowd.graph.sampling import CHAINS, Sampled, _part, _state
from incrowd.kernels import sampling
from incrowd.kernels.jit import with_door

FEW = 0.001  # of honest samples are rejected

# Records and rows that occur several times, where picks must count every copy.
HEAVY = Graph.of([[0, 1], [0, 1, 2], [0, 2], [1, 2]], [1, 2, 1, 1], [3, 1, 1])
GRAPHS = {
    "ring 5,3": Graph.of(ring(5, 3)),
    "ring 12,4": Graph.of(ring(12, 4)),
    "path": Graph.of([[0, 1], [0, 1, 2], [1, 2, 3], [2, 3]]),
    "heavy": HEAVY,
}


def uneven(counts: Counter[tuple[int, ...]], kinds: int) -> bool:
    """Do the counts reject that all kinds are equally likely? By chi-square."""
    from scipy.stats import chi2

    expected = counts.total() / kinds
    seen = sum((count - expected) ** 2 / expected for count in counts.values())
    return bool(seen + (kinds - len(counts)) * expected > chi2.isf(FEW, kinds - 1))


def walked(graph: Graph, samples: int, swaps: int = 0, apart: int = 4) -> Counter[tuple[int, ...]]:
    """How often the compiled chain is in each assignment."""
    part = _part(graph)
    state = _state(graph, components(graph).flow, sampling.dice(3, 0))
    counts: Counter[tuple[int, ...]] = Counter()
    for _ in range(samples):
        for _ in range(apart):
            for _ in range(swaps):
                sampling.swap(part, state)
            assert sampling.walk(part, state, 10**6) > 0
        counts[tuple(state.row.tolist())] += 1
        assert state.owner[state.row].tolist() == list(range(len(graph)))
    return counts


def twin(graph: Graph, samples: int, fair: bool, apart: int = 4) -> Counter[tuple[int, ...]]:
    """The walk in plain words. The unfair one prefers the first of its rows.

    (To pick among kinds of rows first, whatever their number, would be fair: backwards it is as likely.)
    """
    dice, adjacent = random.Random(5), expanded(graph)
    row = list(naive.assignments(adjacent, len(graph))[0])
    counts: Counter[tuple[int, ...]] = Counter()
    for step in range(samples * apart):
        record = dice.randrange(len(row))
        lost = row[record]
        owner = {j: i for i, j in enumerate(row)}
        while True:
            rows = adjacent[record]
            picked = dice.choice(rows) if fair or dice.random() < 0.7 else rows[0]
            robbed = owner[picked]
            row[record], owner[picked] = picked, record
            if picked == lost:
                break
            record = robbed
        if step % apart == apart - 1:
            counts[tuple(row)] += 1
    return counts


@pytest.mark.parametrize("swaps", [0, 3])
@pytest.mark.parametrize("name", ["ring 5,3", "path", "heavy"])
def test_assignments_are_equally_likely(name: str, swaps: int) -> None:
    graph = GRAPHS[name]
    worlds = naive.assignments(expanded(graph), len(graph))
    counts = walked(graph, 200 * len(worlds), swaps)
    assert set(counts) <= set(worlds)
    assert not uneven(counts, len(worlds))


def test_a_ring_has_13_assignments() -> None:
    graph = GRAPHS["ring 5,3"]
    counts = walked(graph, 13_000)
    assert len(counts) == 13
    exact = edges_of(graph, posterior(graph).probability)
    for (i, j), chance in exact.items():
        seen = sum(count for world, count in counts.items() if world[i] == j) / 13_000
        assert chance in (Fraction(5, 13), Fraction(4, 13))
        assert seen == pytest.approx(float(chance), abs=0.02)


@pytest.mark.parametrize("name", ["ring 5,3", "path", "heavy"])
def test_the_same_test_rejects_a_chain_that_prefers_some_rows(name: str) -> None:
    graph = GRAPHS[name]
    worlds = len(naive.assignments(expanded(graph), len(graph)))
    assert not uneven(twin(graph, 200 * worlds, fair=True), worlds)
    assert uneven(twin(graph, 200 * worlds, fair=False), worlds)


def test_the_same_test_rejects_picks_that_miss_copies() -> None:
    """Where an edge leads to three equal rows, all three must be picked."""
    part = _part(HEAVY)
    missing = part._replace(degree=np.diff(part.indptr), upto=np.arange(9) - part.indptr[HEAVY.tails])
    state = _state(HEAVY, components(HEAVY).flow, sampling.dice(3, 0))
    counts: Counter[tuple[int, ...]] = Counter()
    for _ in range(3600):
        if sampling.walk(missing, state, 1000) < 0:  # the row that was lost may be out of reach
            state = _state(HEAVY, components(HEAVY).flow, state.dice)
        counts[tuple(state.row.tolist())] += 1
    assert uneven(counts, len(naive.assignments(expanded(HEAVY), len(HEAVY))))


@pytest.mark.parametrize("name", GRAPHS)
def test_estimates_agree_with_counting(name: str) -> None:
    """95 % intervals hold most of the edges, and twice as wide ones all."""
    graph = GRAPHS[name]
    exact = np.array([float(chance or 0) for chance in posterior(graph).probability])
    found = sample(graph)
    assert found is not None
    apart = np.abs(found.value - exact) / found.spread
    assert (apart <= 1).mean() >= 0.7
    assert apart.max() <= 4
    worst = found.worst(graph.real)
    assert worst is not None
    assert worst.low - 0.05 <= exact.max()
    assert worst.high + 0.05 >= exact.max()


def test_the_same_seed_finds_the_same() -> None:
    first, again, other = (sample(GRAPHS["ring 12,4"], seed) for seed in (1, 1, 2))
    assert first is not None
    assert again is not None
    assert other is not None
    assert np.array_equal(first.means, again.means)
    assert not np.array_equal(first.means, other.means)


def test_the_largest_is_measured_by_chains_that_did_not_name_it() -> None:
    """Of very many equal edges, the largest mean is too large; the other half does not know which it was."""
    noise = np.random.default_rng(4).normal(0.2, 0.05, (CHAINS, 5000))
    found = Sampled(noise, 100)
    worst = found.worst(np.ones(5000, np.bool_))
    assert worst is not None
    assert found.value.max() > 0.25
    assert worst.low <= 0.2 <= worst.high


def test_what_never_varied_is_not_certain() -> None:
    found = Sampled(np.ones((CHAINS, 1)), 100)
    assert found.spread[0] == pytest.approx(1 / 800)


# ---- all components together


def test_chances_are_exact_in_small_components_and_where_all_is_possible() -> None:
    adjacent = [*ring(5, 3), *[[5 + j for j in range(30)]] * 30]
    graph = Graph.of(adjacent)
    found = chances(graph)
    exact = posterior(graph)
    assert found.value.tolist() == pytest.approx([float(chance or 0) for chance in exact.probability])
    assert (found.sampled, found.open, found.spread.max()) == (0, 0, 0)
    assert found.worst is not None
    assert found.worst.exact == exact.worst == Fraction(5, 13)


def test_chances_of_a_large_component_are_sampled() -> None:
    graph = Graph.of([*ring(18, 3), [18]])
    found, exact = chances(graph), posterior(graph)
    assert (found.sampled, found.open) == (18, 0)
    error = np.abs(found.value - [float(chance or 0) for chance in exact.probability])
    assert (error <= 3 * found.spread + 1e-12).all()
    assert found.worst is not None
    assert found.worst.exact == 1  # the one who is alone


def test_ineffective_edges_have_no_chance() -> None:
    found = chances(Graph.of([[0], [0, 1, 2], [1, 2]]))
    assert found.value.tolist() == [1, 0, 0.5, 0.5, 0.5, 0.5]


def test_people_who_may_be_left_out() -> None:
    """Three equal people, two rows: each is behind a given row with probability 1/3."""
    from support.measure_tables import flat, microdata, release

    from incrowd.graph import consistency

    data = microdata([flat("job", ["a", "b"])], [("a",), ("a",), ("a",), ("b",)])
    graph = consistency(release(data, [("a",), ("*",)]), data)
    found, exact = chances(graph), posterior(graph)
    assert found.value.tolist() == pytest.approx([float(chance or 0) for chance in exact.probability])
    assert found.worst is not None
    assert found.worst.exact == exact.worst
    guess = sample(graph)
    assert guess is not None
    assert np.abs(guess.value - found.value).max() < 0.1


def test_a_component_that_takes_too_long_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incrowd.graph.sampling.STEPS", 8)
    monkeypatch.setattr("incrowd.graph.sampling.PATIENCE", 1)
    found = chances(Graph.of(ring(18, 3)))
    assert (found.open, found.worst) == (18, None)
    assert found.value.tolist() == pytest.approx([1 / 3] * 54)


def test_parts_are_graphs_of_their_own() -> None:
    graph = Graph.of([*ring(5, 3), [5, 6], [5, 6]])
    parts = GraphComponents(components(graph))
    sizes = {}
    for part in np.flatnonzero(parts.size).tolist():
        alone, us, vs = parts.graph(part)
        sizes[len(alone)] = (us.tolist(), vs.tolist(), bool(parts.whole[part]))
    assert sizes == {5: ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4], False), 2: ([5, 6], [5, 6], True)}


def test_nothing_at_all() -> None:
    found = chances(Graph.of([]))
    assert (found.worst, found.sampled, found.value.size) == (None, 0, 0)
    with pytest.raises(TableError, match="not a generalisation"):
        chances(Graph.of([[0], [0]]))


def test_dice_are_even_and_independent() -> None:
    dice = sampling.dice(7, 0)
    below = with_door(sampling.below)
    rolls = np.array([below(6, dice) for _ in range(60_000)])
    assert np.abs(np.bincount(rolls, minlength=6) - 10_000).max() < 500
    pairs = np.bincount(rolls[1:] * 6 + rolls[:-1], minlength=36)
    assert np.abs(pairs - 60_000 / 36).max() < 250
    assert len({tuple(sampling.dice(seed, chain)) for seed in range(20) for chain in range(20)}) == 400
