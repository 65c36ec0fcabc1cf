"""Counting neighbours part by part: bounds, margins, sweeps over all records, and counts for every limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from incrowd.verifier.claims import plain_neighbours as module
from incrowd.verifier.claims.plain_distance import ExactDistance, PlainAxis
from incrowd.verifier.claims.plain_neighbours import (
    Floats,
    NearbyCounts,
    ProductSweep,
    _middle,
    _PlacedColumn,
    _positions,
)
from incrowd.verifier.columns import Ints

NAN = math.nan
POSITION = [NAN, 0.0, 1.0, 3.0, -2.0]  # of the values 0 (missing) to 4
UNIT = 1.5


def steps(one: int, other: int) -> float:
    if one and other:
        return abs(POSITION[one] - POSITION[other])
    return UNIT if one or other else 0.0


def placed(*parts: Sequence[int]) -> _PlacedColumn:
    """A column whose parts have these values."""
    real = [[POSITION[value] for value in part if value] for part in parts]
    return _PlacedColumn(
        np.array(POSITION),
        UNIT,
        np.array([min(at, default=math.inf) for at in real]),
        np.array([max(at, default=-math.inf) for at in real]),
        np.array([0 in part for part in parts]),
    )


@pytest.mark.parametrize(
    "parts",
    [
        [[1, 2, 3, 4], [1, 2], [3], [4, 2]],
        [[0, 1, 2, 3, 4], [0, 1], [2], [0], [3, 4], [0, 3, 2]],
        [[0], [0]],
        [[2]],
    ],
    ids=["all real", "some missing", "all missing", "one"],
)
@pytest.mark.parametrize("values", [[1, 2, 3, 4], [0, 1, 2, 3, 4], [0], [3]])
def test_bounds_are_those_of_what_parts_hold(parts: list[list[int]], values: list[int]) -> None:
    """A real value within the ends of a part is as near as can be, the others exactly so."""
    pairs = [(value, part) for value in values for part in range(len(parts))]
    least, most = placed(*parts).bounds(np.array([v for v, _ in pairs]), np.array([p for _, p in pairs]))
    for (value, part), low, high in zip(pairs, least.tolist(), most.tolist(), strict=True):
        real = [POSITION[other] for other in parts[part] if other]
        inside = bool(value and real) and min(real) <= POSITION[value] <= max(real)
        assert low == (0 if inside else min(steps(value, other) for other in parts[part]))
        assert high == max(steps(value, other) for other in parts[part])


def test_differences_of_single_values() -> None:
    for values in ([0, 1, 2, 3, 4], [1, 2, 3]):
        pairs = [(a, b) for a in values for b in values]
        found = placed(values).between(np.array([a for a, _ in pairs]), np.array([b for _, b in pairs]))
        assert found.tolist() == [steps(a, b) for a, b in pairs]


def test_positions_count_in_spans_from_the_smallest() -> None:
    axis = PlainAxis([None, 10, 15, 20, 10**9, -(10**9)], np.array([1, 2, 3]), Fraction(1, 4))
    found = _positions(axis, 10, 20, Fraction(1))
    assert math.isnan(found[0])
    assert found[1:4].tolist() == [0.0, 0.25, 0.5]
    assert found[4] > 10
    assert found[5] < -10


def test_the_middle_is_that_of_real_values() -> None:
    assert _middle(np.array([NAN, 1.0, 4.0]), np.array([9, 2, 1])) == 2.0
    assert _middle(np.array([NAN]), np.array([9])) == 0.0


# Margins


def field(
    records: Sequence[Sequence[int]], places: list[int | None], weights: Sequence[str], reach: Fraction
) -> NearbyCounts:
    pairs = zip(records, weights, strict=True)
    axes = [PlainAxis(places, np.array(own), Fraction(weight)) for own, weight in pairs]
    everybody = np.arange(len(records[0]))
    return NearbyCounts(axes, everybody, everybody, reach)


@pytest.mark.parametrize("reach", [Fraction(3), Fraction(1, 2), Fraction(1, 10**9)])
def test_floats_decide_with_a_margin(reach: Fraction) -> None:
    """Positions are 0 and 0.5, and 0 and 0.1; the units are 0.5 and 0.1."""
    found = field([[1, 2], [1, 2]], [None, 7, 9], ["0.25", "0.01"], reach)
    largest, distance = 0.5 + 0.5 + 0.1 + 0.1, float(reach)
    assert math.sqrt(found._sure) == pytest.approx(distance * (1 - 1e-9) - 1e-14 * largest, rel=1e-9, abs=0)
    assert math.sqrt(found._hopeless) == pytest.approx(
        distance * (1 + 1e-9) + 1e-14 * largest, rel=1e-9, abs=0
    )
    assert found._cancelled == pytest.approx(1e-13 * largest**2, rel=1e-9, abs=0)
    sweep = found._sweep([np.zeros(1), np.zeros(1)])
    assert sweep._sure == found._sure - found._cancelled
    assert sweep._hopeless == found._hopeless + found._cancelled


def test_nothing_is_sure_within_what_floats_lose() -> None:
    assert field([[1, 2]], [None, 7, 9], ["1"], Fraction(1, 10**15))._sure == -1.0


def test_who_is_decided_is_done() -> None:
    """Amounts of 1, 2, 4, …; whoever is at the very limits of what is sure stays on the safe side."""
    bare = object.__new__(NearbyCounts)
    vars(bare).update(_sure=4.0, _hopeless=9.0)
    point = np.array([0, 0, 0, 1, 1, 2, 3, 3])
    near = np.array([0.0, 9.0, 9.5, 1.0, 2.0, 9.5, 1.0, 4.0])
    far = np.array([4.0, 10.0, 11.0, 3.0, 4.0, 12.0, 5.0, 4.5])
    amount = np.array([1, 2, 4, 8, 16, 32, 1, 1])
    start = (np.arange(10, 14), np.array([0, 0, 1, 1]), point, np.arange(8))
    found = np.zeros(14, np.bool_)
    who, sure, left, other = bare._settle(2, found, start, (near, far), amount)
    # The first has 1 surely and perhaps 2 more, the second too many, the third 1 at most, the fourth 1 to 3.
    assert (who.tolist(), sure.tolist()) == ([10, 13], [1, 1])
    assert (left.tolist(), other.tolist()) == ([0, 1, 1], [1, 6, 7])
    assert np.flatnonzero(found).tolist() == [12]
    who, _, left, other = bare._settle(3, found, start, (near, far), amount)
    assert (who.size, left.size, other.size) == (0, 0, 0)
    assert np.flatnonzero(found).tolist() == [10, 12, 13]


# Sweeps


def squares(points: Sequence[Floats], records: Sequence[Floats], units: Sequence[float]) -> Floats:
    total = np.zeros((points[0].size, records[0].size))
    for one, other, unit in zip(points, records, units, strict=True):
        gone = np.isnan(one)[:, None].astype(int) + np.isnan(other)[None, :]
        apart = np.nan_to_num(one)[:, None] - np.nan_to_num(other)[None, :]
        total += np.where(gone == 1, unit**2, np.where(gone == 2, 0, apart**2))
    return total


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize(("records", "chunks", "tile"), [(4, 3, 1), (512, 4, 2**18), (1, 1, 40)])
def test_sweeps_decide_what_can_be_decided(
    gaps: bool, columns: int, records: int, chunks: int, tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Positions are whole numbers, so that many squares are the limits themselves."""
    for name, number in (("RECORDS", records), ("CHUNKS", chunks), ("TILE", tile)):
        monkeypatch.setattr(module, name, number)
    rng = np.random.default_rng(5)
    units = [2.0, 1.0, 3.0][:columns]
    own, points = ([rng.integers(-3, 4, n).astype(float) for _ in units] for n in (27, 12))
    if gaps:
        own[0][[3, 8, 9]] = points[-1][[0, 5]] = NAN
    weight = rng.integers(1, 4, 27)
    sweep = ProductSweep(own, units, weight, (4.0, 9.0), gaps)
    square = squares(points, own, units)
    near, perhaps = (square <= 4.0) @ weight, (square <= 9.0) @ weight
    for limit in range(int(weight.sum()) + 2):
        many, few = sweep.decided(points, limit)
        assert many.tolist() == (near > limit).tolist()
        assert few.tolist() == (perhaps <= limit).tolist()


# Counts


def test_distances_count_in_spans() -> None:
    """Places 10 to 30, so that a step of 10 is half a span; missing is a whole one away from all others."""
    axis = PlainAxis([None, 10, 20, 30], np.array([1, 2, 3]), Fraction(1))
    pairs = [(1, 2), (1, 3), (3, 2), (0, 1), (0, 0), (2, 2)]
    sides = [[np.array(side)] for side in zip(*pairs, strict=True)]
    for reach, near in (("0.5", [1, 0, 1, 0, 1, 1]), ("0.49", [0, 0, 0, 0, 1, 1]), ("1", [1] * 6)):
        exact = ExactDistance([axis], np.arange(3), Fraction(reach))
        assert exact.near(*sides).tolist() == [bool(each) for each in near]
    assert ExactDistance([axis], np.arange(1), Fraction(1)).near(*sides).tolist() == [0, 0, 0, 1, 1, 1]


def counted(axes: Sequence[PlainAxis], points: Sequence[Ints], reach: Fraction) -> list[int]:
    size = axes[0].records.size
    exact = ExactDistance(axes, np.arange(size), reach)
    return [
        int(exact.near([np.full(size, p[i]) for p in points], [axis.records for axis in axes]).sum())
        for i in range(points[0].size)
    ]


@pytest.mark.parametrize("parts", [0, 1, 64])
@pytest.mark.parametrize("missing", ["none", "one record", "one point", "both"])
@pytest.mark.parametrize(("columns", "n"), [(1, 40), (2, 40), (2, 70), (2, 150)])
def test_counts_are_right_for_every_limit(
    parts: int, missing: str, columns: int, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, number in (("PARTS_EACH", parts), ("RECORDS_A_PART", 10**9), ("PAIRS_AT_ONCE", 9)):
        monkeypatch.setattr(module, name, number)
    monkeypatch.setattr(module, "POINTS_AT_ONCE", 5)
    monkeypatch.setattr(module, "SWEPT_AT_ONCE", 4)
    rng = np.random.default_rng(n)
    places: list[int | None] = [None, *range(-40, 200)]
    own, points = ([rng.integers(41, 100, m) for _ in range(columns)] for m in (n, 11))
    points[0][0] = 240  # far from everybody
    if missing in ("one record", "both"):
        own[-1][own[-1].argmax()] = 0
    if missing in ("one point", "both"):
        points[-1][3] = 0
    axes = [PlainAxis(places, each, Fraction(1, 1 + j)) for j, each in enumerate(own)]
    for reach in (Fraction(1, 2), Fraction(1)):
        many = counted(axes, points, reach)
        found = NearbyCounts(axes, np.arange(n), np.arange(n), reach)
        assert min(many) <= (reach == 1)
        for limit in {-1, 0, n - 1, n, n + 1, *many, *(count - 1 for count in many)}:
            assert found.few(points, limit).tolist() == [count <= limit for count in many]


def test_bounds_of_parts_are_sums_over_columns() -> None:
    found = field([[1, 2, 3, 4] * 10, [*range(1, 41)]], [None, *range(40)], ["1", "1"], Fraction(1, 2))
    points, who, part = [np.array([2, 4]), np.array([0, 9])], np.array([0, 1, 1, 0]), np.array([0, 0, 1, 2])
    near, far = found._bounds(points, who, part)
    bounds = [c.bounds(p[who], part) for c, p in zip(found._columns, points, strict=True)]
    assert near.tolist() == sum(low**2 for low, _ in bounds).tolist()  # type: ignore[union-attr]
    assert far.tolist() == sum(high**2 for _, high in bounds).tolist()  # type: ignore[union-attr]
    assert near.max() > 0


def test_the_middle_comes_first() -> None:
    """Of the values 1 to 5 at 0 to 1 the middle is 0.5; missing is a whole unit away."""
    found = field([[1, 2, 3, 4, 5, 0]], [None, 0, 1, 2, 3, 4], ["4"], Fraction(1, 2))
    away = found.centrality([0], [np.array([0, 1, 2, 3, 4, 5])])
    assert away.tolist() == [4.0, 1.0, 0.25, 0.0, 0.25, 1.0]
