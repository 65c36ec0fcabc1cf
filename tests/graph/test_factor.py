"""A factor to draw from: what it may use, and how often each pair of equals is then met."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from graph.test_graph import weighted
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from support.anonymity_classes import has_factor

from incrowd import assign
from incrowd.errors import TableError
from incrowd.graph import Graph, factor, lambda_star
from incrowd.kernels.flow import strong_components


@settings(max_examples=200)
@given(weighted(), st.integers(1, 3))
def test_a_factor_uses_pairs_that_fit_and_none_too_often(graph: Graph, k: int) -> None:
    if not has_factor(graph, k):
        with pytest.raises(TableError, match=f"no {k}-factor"):
            factor(graph, k)
        reject()
    places = factor(graph, k)
    assert places.shape == (len(graph), k)
    assert (np.bincount(places.ravel(), minlength=len(graph)) == k).all()
    record_kind, row_kind = np.sort(graph.record_of), np.sort(graph.row_of)
    used = Counter((int(record_kind[i]), int(row_kind[row])) for i, each in enumerate(places) for row in each)
    for (u, v), units in used.items():
        assert graph.edge(np.array([u]), np.array([v]))[0] >= 0
        assert units <= graph.record_weight[u] * graph.row_weight[v]


def test_equals_are_drawn_with_even_odds() -> None:
    """Two equal records and two equal rows beside others: nobody is behind a row with more than 1/2."""
    graph = Graph.of([[0, 1], [0, 2], [1, 2]], [2, 1, 1], [2, 1, 1])
    assert lambda_star(graph) <= Fraction(1, 2)
    places, draws = factor(graph, 2), 4000
    seen: Counter[tuple[int, int]] = Counter()
    for _ in range(draws):
        drawn = assign.by_kinds(places, graph.record_of, graph.row_of)
        seen.update(zip(drawn.private.tolist(), drawn.region.tolist(), strict=True))
    kinds = {(int(graph.record_of[i]), int(graph.row_of[row])) for i, row in seen}
    assert all(graph.edge(np.array([u]), np.array([v]))[0] >= 0 for u, v in kinds)
    assert max(seen.values()) <= draws / 2 + 6 * (draws / 4) ** 0.5


def test_an_arc_named_twice_is_one_arc() -> None:
    """scipy's search may never end on such a graph; and nobody's arrays are reordered to mend it."""
    ends, heads = np.array([0, 3, 5, 6]), np.array([2, 1, 1, 0, 0, 2], np.int32)
    before = heads.copy()
    labels = strong_components(ends, heads)
    assert labels[0] == labels[1] != labels[2]
    assert (heads == before).all()
