"""Drawing who is behind which row: halves and matchings of regular graphs, and numbers without bias."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2
from twins import assign as naive_rings

from incrowd import assign
from incrowd.assign import draw_below, draws_below, figure_seven, one_of_disjoint_matchings
from incrowd.kernels import jit, matching

ALPHA = 1e-6
BELOW = jit.with_door(matching.below)
Edges = NDArray[np.int32]
Draw = Callable[[Edges], NDArray[np.int64]]


def ring(n: int, k: int) -> Edges:
    """Record i may have the rows i-k+1 .. i, counted round."""
    return np.array([[(i - step) % n for step in range(k)] for i in range(n)], np.int32)


def regular(permutations: list[list[int]]) -> Edges:
    """A regular graph as a union of perfect matchings; edges may be double."""
    return np.array(permutations, np.int32).T.copy()


@st.composite
def graphs(draw: st.DrawFn, most: int = 7, degrees: tuple[int, int] = (1, 9)) -> Edges:
    n, k = draw(st.integers(1, most)), draw(st.integers(*degrees))
    return regular([draw(st.permutations(range(n))) for _ in range(k)])


def dice() -> assign._RandomBytes:
    return assign._RandomBytes(os.urandom, 256)


def pairs(edges: Edges) -> Counter[tuple[int, int]]:
    """How often each record is joined with each row."""
    return Counter((i, row) for i, rows in enumerate(edges.tolist()) for row in rows)


def is_regular(edges: Edges, degree: int) -> bool:
    return edges.shape[1] == degree and bool((np.bincount(edges.ravel()) == degree).all())


def is_matching(row: NDArray[np.int64], edges: Edges) -> bool:
    possible = (edges == row[:, None]).any(axis=1).all()
    return bool(possible) and sorted(row.tolist()) == list(range(len(edges)))


@pytest.mark.parametrize("draw", [one_of_disjoint_matchings, figure_seven])
@given(edges=graphs())
def test_a_matching_of_any_regular_graph(draw: Draw, edges: Edges) -> None:
    before = edges.copy()
    assert is_matching(draw(edges), edges)
    assert (edges == before).all()


@pytest.mark.parametrize("draw", [one_of_disjoint_matchings, figure_seven])
@pytest.mark.parametrize(("n", "k"), [(1000, 7), (1000, 100), (300, 130), (20_000, 3)])
def test_a_matching_of_one_large_graph(draw: Draw, n: int, k: int, rng: np.random.Generator) -> None:
    edges = np.stack([rng.permutation(n) for _ in range(k)], axis=1).astype(np.int32)
    if draw is figure_seven:
        edges = edges[:, :4] if n > 1000 else edges[:, :20].copy()
    assert is_matching(draw(np.ascontiguousarray(edges)), edges)


@given(edges=graphs(degrees=(1, 4)))
def test_a_half_and_the_rest_are_both_regular(edges: Edges) -> None:
    edges = np.concatenate([edges, edges[:, ::-1]], axis=1)
    all_pairs = pairs(edges)
    half = assign._half(edges.copy(), dice())
    assert is_regular(half, edges.shape[1] // 2)
    assert pairs(half) <= all_pairs


def test_either_half_of_a_circuit_is_kept_by_the_lowest_bit_of_a_byte() -> None:
    """A ring of degree 2 is one circuit: one byte decides, and the two halves share no edge."""
    edges = ring(6, 2)
    kept = []
    for byte in range(256):
        half = assign._half(edges.copy(), assign._RandomBytes(lambda size, b=byte: bytes([b]) * size, 256))  # type: ignore[misc]
        kept.append(tuple(half[:, 0].tolist()))
    assert set(kept[::2]) == {tuple(range(6))}
    assert set(kept[1::2]) == {(5, 0, 1, 2, 3, 4)}


@given(edges=graphs(degrees=(1, 7)))
def test_matchings_drawn_one_after_the_other_share_no_edge(edges: Edges) -> None:
    """The structure behind 1/k: k perfect matchings that use every edge once."""
    parts, used = assign._RegularGraph.of(edges), Counter[tuple[int, int]]()
    expected, nothing = pairs(parts.edges), np.zeros(parts.count, np.bool_)
    while parts.degree > 1:
        held = assign._matching(parts.edges, dice())
        rows = np.take_along_axis(parts.edges, held[:, None].astype(np.int64), axis=1)
        assert is_regular(rows, 1)
        used += pairs(rows)
        parts = parts.settled(held, nothing, np.empty(0, np.int64))
    assert used + pairs(parts.edges) == expected


@given(edges=graphs(), chosen=st.randoms(use_true_random=False))
def test_components_that_are_over_leave_the_others_as_they_are(edges: Edges, chosen: object) -> None:
    both = np.concatenate([edges, edges + len(edges), edges[::-1] + 2 * len(edges)]).astype(np.int32)
    mixed = np.array(chosen.sample(range(len(both)), len(both)))  # type: ignore[attr-defined]
    both = both[mixed]
    parts = assign._RegularGraph.of(both)
    assert (np.diff(parts.label) >= 0).all()
    assert (parts.label[parts.edges] == parts.label[:, None]).all()
    held = assign._matching(parts.edges, dice())
    over = np.arange(parts.count) % 2 == 0
    row = np.full(len(both), -1, np.int64)
    named = Counter((int(parts.record_at[i]), int(parts.row_at[j])) for i, j in pairs(parts.edges).elements())
    assert named == pairs(both)
    left = parts.settled(held, over, row)
    after = Counter((int(left.record_at[i]), int(left.row_at[j])) for i, j in pairs(left.edges).elements())
    assert all(row[i] in both[i] for i in np.flatnonzero(row >= 0))
    assert {i for i, _ in after} | set(np.flatnonzero(row >= 0).tolist()) == (
        set(range(len(both))) if edges.shape[1] > 1 else set(np.flatnonzero(row >= 0).tolist())
    )
    assert after <= named


@settings(max_examples=300)
@given(edges=graphs(most=6, degrees=(3, 4)))
def test_small_rings_are_known_for_what_they_are(edges: Edges) -> None:
    """A component is named a ring if and only if some order of its records makes it one, and then in turn."""
    parts = assign._RegularGraph.of(edges)
    k = parts.degree
    record, row, size = (np.zeros(len(parts), np.int32) for _ in range(3))
    matching.small_rings(parts.edges, parts.label, 8, record, row, size)
    for component in range(parts.count):
        own = np.flatnonzero(parts.label == component)
        first, n = int(own[0]), own.size
        graph = tuple(tuple((rows - first).tolist()) for rows in parts.edges[own])
        assert (size[component] > 0) == (n > k and naive_rings.is_ring(graph))
        if size[component]:
            assert sorted(record[own]) == sorted(row[own]) == own.tolist()
            for i in range(n):
                rows = {int(row[first + (i - step) % n]) for step in range(k)}
                assert set(parts.edges[record[first + i]].tolist()) == rows


def test_components_that_stay_keep_their_edges() -> None:
    both = np.concatenate([ring(5, 3), ring(9, 3) + 5, ring(4, 3) + 14, ring(10, 3) + 18]).astype(np.int32)
    parts = assign._RegularGraph.of(both)
    left = parts.only(np.array([False, True, False, True]))
    named = {(int(left.record_at[i]), int(left.row_at[j])) for i, j in pairs(left.edges)}
    assert named == {pair for pair in pairs(both) if 5 <= pair[0] < 14 or pair[0] >= 18}
    for _ in range(20):
        assert is_matching(one_of_disjoint_matchings(both), both)


def test_running_out_of_bytes_only_draws_more() -> None:
    """Half of what comes is mostly refused, in buffers shorter than a walk."""
    calls = itertools.count()

    def entropy(size: int) -> bytes:
        return b"\0" * size if next(calls) % 2 == 0 else os.urandom(size)

    few = assign._RandomBytes(entropy, 3)
    edges = ring(40, 6)
    half = assign._half(edges.copy(), few)
    assert is_regular(half, 3)
    held = assign._matching(half, few)
    assert sorted(half[np.arange(40), held].tolist()) == list(range(40))
    assert next(calls) > 20


@pytest.mark.parametrize("byte", [85, 170, 200])
def test_a_walk_finds_out_though_the_source_is_stuck(byte: int) -> None:
    """Such draws are refused later, by the order of the rows; they must come to an end first."""
    stuck = assign._RandomBytes(lambda size: bytes([byte]) * size, 256)
    for edges in (ring(60, 3), ring(50, 7)):
        held = assign._matching(edges, stuck)
        assert sorted(edges[np.arange(len(edges)), held].tolist()) == list(range(len(edges)))


def test_an_irregular_graph_is_refused() -> None:
    bads: list[list[list[int]]] = [[[0, 1], [0, 1], [0, 1]], [[0, 1], [1, 2]], [[0, -1], [1, 0]], [[], []]]
    for bad in bads:
        edges = np.array(bad, np.int32).reshape(len(bad), -1)
        for draw in (one_of_disjoint_matchings, figure_seven):
            with pytest.raises(ValueError, match="every row k records"):
                draw(edges)
    with pytest.raises(ValueError, match="every row k records"):
        one_of_disjoint_matchings(np.zeros((0, 2), np.int32))


# ---- numbers below a limit


def test_numbers_below_a_limit_are_even() -> None:
    seen = Counter(draw_below(6) for _ in range(12_000))
    statistic = sum((seen[i] - 2000) ** 2 / 2000 for i in range(6))
    assert chi2.sf(statistic, 5) > ALPHA
    high = iter([b"\xff" * 8, (7).to_bytes(8, "big")])
    assert draw_below(6, lambda _: next(high)) == 1, "a number beyond the last whole round is drawn again"


def test_many_numbers_at_once_are_even() -> None:
    seen = np.bincount(draws_below(6, 60_000).astype(np.int64), minlength=6)
    assert chi2.sf(((seen - 10_000) ** 2 / 10_000).sum(), 5) > ALPHA
    words = iter([[2**64 - 1, 7, 2**64 - 5], [2**64 - 4], [9]])
    asked: list[int] = []

    def entropy(size: int) -> bytes:
        asked.append(size)
        return np.array(next(words), np.uint64).tobytes()

    assert draws_below(6, 3, entropy).tolist() == [1, 5, 3], "2^64 - 4 .. 2^64 - 1 are refused"
    assert asked == [24, 8, 8]


@pytest.mark.parametrize("limit", [*range(1, 65), 65, 100, 255, 256, 257, 16384])
def test_every_number_has_as_many_words(limit: int) -> None:
    """All words there are, of one byte or two: refused ones aside, each number comes from as many."""
    words = np.arange(256 if limit <= 64 else 65536)
    stream = words.astype(np.uint8 if limit <= 64 else ">u2").view(np.uint8)
    seen, at = Counter[int](), 0
    step = partial(_below, limit, stream)
    while (drawn := step(at))[1] != matching.OUT_OF_BYTES:
        seen[drawn[0]] += 1
        at = drawn[1]
    assert set(seen) == set(range(limit))
    assert set(seen.values()) == {words.size // limit}


def _below(limit: int, stream: NDArray[np.uint8], at: int) -> tuple[int, int]:
    number, after = BELOW(limit, stream, at)
    return int(number), int(after)


def test_large_limits_take_four_bytes() -> None:
    stream = np.frombuffer(b"\0\0\0\0\x80\0\0\1\xff", np.uint8)
    assert _below(100_000, stream, 0) == (50_000, 8), "word 0 is refused: 100,000 does not divide 2^32"
    assert _below(100_000, stream, 8)[1] == matching.OUT_OF_BYTES
