"""Drawing who is behind which row: one of k disjoint perfect matchings, each edge with probability 1/k."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2

from incrowd.assign import draw_below, one_of_disjoint_matchings
from incrowd.kernels import matching

ALPHA = 1e-6
Draw = Callable[[], NDArray[np.int64]]


def ring(n: int, k: int) -> NDArray[np.int32]:
    """Record i may have the rows i-k+1 .. i, counted round."""
    return np.array([[(i - step) % n for step in range(k)] for i in range(n)], np.int32)


def regular(permutations: list[list[int]]) -> NDArray[np.int32]:
    """A regular graph as a union of perfect matchings; edges may be double."""
    return np.array(permutations, np.int32).T.copy()


def p_value(draw: Draw, edges: NDArray[np.int32], draws: int) -> float:
    """How likely the least even record would be, if every record had each of its rows evenly."""
    n, k = edges.shape
    seen = np.zeros((n, n), np.int64)
    for _ in range(draws):
        seen[np.arange(n), draw()] += 1
    found = np.take_along_axis(seen, edges.astype(np.int64), axis=1)
    assert found.sum() == n * draws, "a record got a row that it may not have"
    statistic = ((found - draws / k) ** 2 / (draws / k)).sum(axis=1)
    return float(min(1.0, n * chi2.sf(statistic.max(), k - 1)))


@pytest.mark.parametrize(
    ("n", "k", "draws"), [(5, 3, 20_000), (8, 3, 10_000), (8, 4, 10_000), (20, 10, 10_000)]
)
def test_every_edge_has_the_same_chance(n: int, k: int, draws: int) -> None:
    edges = ring(n, k)
    assert p_value(lambda: one_of_disjoint_matchings(edges), edges, draws) > ALPHA


def test_the_test_sees_a_draw_that_is_not_even() -> None:
    """Always the first matching, and any perfect matching, are the mistakes that one would make."""
    edges = ring(5, 3)
    orders = itertools.permutations(range(5))
    everything = [np.array(m) for m in orders if all(row in edges[i] for i, row in enumerate(m))]
    assert len(everything) == 13, "as the paper counts them"
    dice = np.random.default_rng(7)
    uniform = p_value(lambda: everything[dice.integers(13)], edges, 20_000)
    assert uniform < ALPHA
    fixed = p_value(lambda: edges[:, 0].astype(np.int64), edges, 1_000)
    assert fixed < ALPHA


def test_two_people_are_not_bound_together() -> None:
    """A random shift has the right single chances, but one known pair gives everybody away."""
    edges = ring(6, 3)
    draws = 6_000
    pairs = Counter(tuple(one_of_disjoint_matchings(edges)[[0, 3]].tolist()) for _ in range(draws))
    assert len(pairs) == 9, "every row of one person goes with every row of another"


@given(st.integers(1, 7), st.integers(1, 5), st.randoms(use_true_random=False))
def test_a_matching_of_any_regular_graph(n: int, k: int, dice: object) -> None:
    shuffle = dice.shuffle  # type: ignore[attr-defined]
    permutations = []
    for _ in range(k):
        order = list(range(n))
        shuffle(order)
        permutations.append(order)
    edges = regular(permutations)
    row = one_of_disjoint_matchings(edges)
    assert sorted(row.tolist()) == list(range(n))
    assert all(row[i] in edges[i] for i in range(n))


def test_matchings_drawn_one_after_the_other_share_no_edge() -> None:
    """The structure that makes each chance exactly 1/k: k perfect matchings that use every edge once."""
    from incrowd import assign

    edges = ring(7, 4)
    left = edges.copy()
    used: list[tuple[int, int]] = []
    for degree in range(4, 0, -1):
        slots = assign._matching(left, degree, os.urandom)
        matching.remove(left, degree, slots)
        rows = left[:, degree - 1]
        assert sorted(rows.tolist()) == list(range(7))
        used += list(enumerate(rows.tolist()))
    expected = sorted((i, row) for i, rows in enumerate(edges.tolist()) for row in rows)
    assert sorted(used) == expected


def test_running_out_of_random_words_only_draws_more(monkeypatch: pytest.MonkeyPatch) -> None:
    from incrowd import assign

    calls = itertools.count()

    def entropy(size: int) -> bytes:
        """Words that are mostly refused, so that they run out."""
        fresh = np.frombuffer(os.urandom(size), dtype=np.uint32).copy()
        if next(calls) % 2 == 0:
            fresh[:] = 2**32 - 1
        return fresh.tobytes()[:size]

    monkeypatch.setattr(assign, "WORDS", 4)
    slots = assign._matching(ring(9, 3), 3, entropy)
    assert (slots >= 0).all()
    assert next(calls) > 1


def test_an_irregular_graph_is_refused() -> None:
    with pytest.raises(ValueError, match="every row k records"):
        one_of_disjoint_matchings(np.array([[0, 1], [0, 1], [0, 1]], np.int32))


def test_numbers_below_a_limit_are_even() -> None:
    seen = Counter(draw_below(6) for _ in range(12_000))
    statistic = sum((seen[i] - 2000) ** 2 / 2000 for i in range(6))
    assert chi2.sf(statistic, 5) > ALPHA
    high = iter([b"\xff" * 8, (7).to_bytes(8, "big")])
    assert draw_below(6, lambda _: next(high)) == 1, "a number beyond the last whole round is drawn again"
