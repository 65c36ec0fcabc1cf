"""What one known person tells in a ring: measured, against exact laws of tiny rings and a control."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from test_assign import any_assignment, any_shift, small_ring, walks_only
from twins import assign as naive_rings

from incrowd.assign import figure_seven, one_of_disjoint_matchings
from incrowd.attacks import ring as attack
from incrowd.attacks.registry import CAREFUL
from incrowd.attacks.ring import AfterOne, after_one

Draw = Callable[[NDArray[np.int32]], NDArray[np.int64]]
__all__ = ["walks_only"]  # a fixture

# The largest posterior after one known pair, as docs/claims/ring.md prints it: {(N, k): at most}.
PRINTED = {
    (4, 3): 0.500,
    (5, 3): 0.572,
    (6, 3): 0.572,
    (7, 3): 0.566,
    (8, 3): 0.567,
    (5, 4): 0.334,
    (6, 4): 0.352,
    (7, 4): 0.350,
    (8, 4): 0.42,
    (6, 5): 0.27,
    (7, 5): 0.30,
    (8, 5): 0.335,
    (9, 5): 0.315,
    (7, 6): 0.215,
    (8, 6): 0.23,
    (8, 7): 0.18,
}
CLOSER = {3: 0.68, 4: 0.49}  # what the paper's own draw was found to have, for n <= 8


def measured(n: int, k: int, draw: Draw = one_of_disjoint_matchings, draws: int = 40_000) -> AfterOne:
    found = after_one({n: 1}, k, draw, draws)
    assert found is not None
    return found


def close(found: AfterOne, exact: Fraction) -> bool:
    """Within five standard errors; `high` is 3.29 above."""
    return abs(found.share - exact) <= 5 * (found.high - found.share) / CAREFUL + 1e-12


@pytest.mark.parametrize(("n", "k"), [(4, 3), (5, 3), (6, 4)])
def test_small_rings_are_measured_as_their_laws_say(n: int, k: int) -> None:
    exact, _ = naive_rings.worst_after_one(small_ring(n, k))
    assert close(measured(n, k), exact)


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.usefixtures("walks_only")
def test_walks_are_measured_as_their_law_says(n: int) -> None:
    law = naive_rings.of_degree_three(naive_rings.ring(n, 3))
    exact, _ = naive_rings.worst_after_one(naive_rings.all_round(law, 3))
    assert close(measured(n, 3), exact)
    at_one_place, _ = naive_rings.worst_after_one(law)
    assert exact <= at_one_place <= exact + Fraction(1, 100), "where a walk begins tells hardly anything"


def test_any_assignment_is_measured_as_counted() -> None:
    worlds = naive_rings.assignments(naive_rings.ring(5, 3))
    exact, _ = naive_rings.worst_after_one(dict.fromkeys(worlds, Fraction(1, len(worlds))))
    assert close(measured(5, 3, any_assignment(5, 3)), exact)


def test_figure_seven_is_measured_as_the_paper_has_it() -> None:
    """From the identity; a random start, which Figure 7 allows too, tells more."""
    law = naive_rings.one_of_all_in_turn(naive_rings.ring(5, 3), naive_rings.figure_seven)
    exact, _ = naive_rings.worst_after_one(naive_rings.all_round(law, 3))
    from_identity = measured(5, 3, partial(figure_seven, permuted=False), 20_000)
    assert close(from_identity, exact)
    assert measured(5, 3, figure_seven, 20_000).share > from_identity.high


@pytest.mark.parametrize(("n", "k"), [(5, 3), (8, 4), (19, 10)])
def test_a_shift_tells_everything(n: int, k: int) -> None:
    """The control: one known pair gives all others away."""
    found = measured(n, k, any_shift(n, k), 2_000)
    assert found.share == found.high == 1.0


@pytest.mark.parametrize(("n", "k"), list(PRINTED))
def test_no_ring_tells_more_than_is_printed(n: int, k: int) -> None:
    found = measured(n, k)
    error = (found.high - found.share) / CAREFUL
    assert found.share - 5 * error <= PRINTED[n, k]
    assert PRINTED[n, k] <= found.share + 5 * error + 0.015, "and not much less either"
    assert PRINTED[n, k] <= CLOSER.get(k, 1.0)


def test_a_class_of_k_is_known_exactly() -> None:
    def never(_: NDArray[np.int32]) -> NDArray[np.int64]:
        raise AssertionError

    found = after_one({4: 3, 7: 0}, 4, never)
    assert found == AfterOne(1 / 3, 1 / 3, 4, 0, (4,), 1, Fraction(1, 3))
    assert after_one({}, 4, never) is after_one({5: 0}, 4, never) is None
    assert found is not None
    assert found.to_dict()["exact"] == "1/3"


def test_the_worst_size_counts() -> None:
    both = after_one({3: 1, 4: 2, 5: 1}, 3, one_of_disjoint_matchings)
    assert both is not None
    assert (both.size, both.tried, both.sizes, both.exact) == (5, (3, 4, 5), 3, None)
    assert close(both, Fraction(4, 7))


def test_a_ring_needs_two_rows_each_and_k_records() -> None:
    with pytest.raises(ValueError, match="at least two rows"):
        after_one({1: 1}, 1, one_of_disjoint_matchings)
    with pytest.raises(ValueError, match="at least k records"):
        after_one({2: 1}, 3, one_of_disjoint_matchings)


@pytest.mark.parametrize("k", [10, 100, 1000])
def test_work_is_bounded(k: int) -> None:
    """Many sizes or large rings are drawn less often, and it is said which were."""
    drawn = 0

    def count(edges: NDArray[np.int32]) -> NDArray[np.int64]:
        nonlocal drawn
        drawn += edges.size
        return edges[:, 0].astype(np.int64)

    found = after_one(dict.fromkeys(range(k, 2 * k), 1), k, count)
    assert found is not None
    assert drawn <= max(attack.EDGES, attack.FEWEST * 2 * k * k)
    assert found.sizes == k
    assert found.tried[0] == k
    assert found.tried[-1] == 2 * k - 1
    assert len(found.tried) <= attack.SIZES + 1
