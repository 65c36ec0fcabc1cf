"""The order of rows: each test of it just passes what chance may make, and refuses one more."""

from __future__ import annotations

import math

import numpy as np
import pytest

from incrowd.verifier import order
from incrowd.verifier.columns import Ints
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.order import (
    KEPT,
    MEMBERS,
    _check_correlation,
    _check_neighbours,
    _check_not_first,
    _check_places,
    _log_choices,
    check_both_orders,
    check_order,
)


def alone(n: int) -> Ints:
    return np.arange(n)


def test_fewer_than_twenty_rows_are_not_tested() -> None:
    assert check_order(alone(19), alone(19), 19) == "not tested: fewer than 20 rows"
    with pytest.raises(CheckFailed, match="order of the original"):
        check_order(alone(20), alone(20), 20)
    place = alone(19)
    assert check_both_orders(alone(19), alone(19), 9, place, True) == "not tested: fewer than 20 rows"
    with pytest.raises(CheckFailed, match="order of the original"):
        check_both_orders(alone(20), alone(20), 9, alone(20), True)


@pytest.mark.parametrize("step", [1, -1])
def test_twelve_neighbours_may_be_chance(step: int) -> None:
    """Pairs that follow each other; then the same with others between them whose places are not known."""

    def pairs(count: int) -> Ints:
        starts = 1000 - 10 * np.arange(count)
        return np.stack([starts, starts + step], axis=1).ravel()

    _check_neighbours(pairs(12))
    with pytest.raises(CheckFailed, match="order of the original"):
        _check_neighbours(pairs(13))
    broken = np.insert(pairs(13), np.arange(1, 26, 2), -9)
    _check_neighbours(broken)
    unknown = pairs(13)
    unknown[0] = -9
    _check_neighbours(unknown)


@pytest.mark.parametrize("pair", [(0, 1), (1, 0)])
def test_the_first_place_is_a_place(pair: tuple[int, int]) -> None:
    starts = np.repeat(10 * np.arange(13), 2)[::-1]
    with pytest.raises(CheckFailed, match="order of the original"):
        _check_neighbours(starts + np.tile(pair, 13))


def test_twelve_rows_in_their_places_may_be_chance() -> None:
    def fixed(count: int) -> Ints:
        place = 1000 - 3 * np.arange(60)
        place[2 * np.arange(count)] = 2 * np.arange(count)
        return place

    _check_neighbours(fixed(12))
    with pytest.raises(CheckFailed, match="order of the original"):
        _check_neighbours(fixed(13))


@pytest.mark.parametrize("odds", [1.0, 2.0, 3.0])
def test_kinds_in_their_places_are_counted(odds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kinds of 30: half of the places agree on average."""
    kind = np.repeat([0, 1], 30)
    monkeypatch.setattr(order, "LOG_ODDS", odds)
    most = 30 + odds + math.sqrt(odds * odds + 4 * odds * 30)  # the mean and the slack
    for moved in range(31):
        match = alone(60)
        match[:moved], match[30 : 30 + moved] = np.arange(30, 30 + moved), np.arange(moved)
        agreeing = 60 - 2 * moved
        if agreeing <= most:
            _check_places(kind, match, np.bincount(kind))
        else:
            with pytest.raises(CheckFailed, match="order of the original"):
                _check_places(kind, match, np.bincount(kind))


def naive_correlation(score: list[float]) -> float:
    n = len(score)
    places = [i - (n - 1) / 2 for i in range(n)]
    scores = [x - sum(score) / n for x in score]
    over = sum(a * b for a, b in zip(places, scores, strict=True))
    length = math.sqrt(sum(a * a for a in places) * sum(b * b for b in scores))
    return abs(over) / length * math.sqrt(n - 1)


def test_correlations_are_those_of_the_formula(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = rng.integers(0, 5, 30).astype(np.float64)
    found = naive_correlation(score.tolist())
    monkeypatch.setattr(order, "MOST_DEVIATIONS", found * (1 + 1e-9))
    _check_correlation(score)
    _check_correlation(-score)
    monkeypatch.setattr(order, "MOST_DEVIATIONS", found * (1 - 1e-9))
    for sign in (1, -1):
        for scale in (1, 1e-6):
            with pytest.raises(CheckFailed, match=MEMBERS):
                _check_correlation(sign * scale * score, MEMBERS)
    _check_correlation(np.ones(30))


def test_correlation_is_looked_at_from_a_hundred_rows_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of two counts at its mean place: rows in order, but no neighbours and no places alike."""
    monkeypatch.setattr(order, "LOG_ODDS", 1e6)
    for rows, refused in ((98, False), (100, True)):
        kind = np.arange(rows) // 2
        if refused:
            with pytest.raises(CheckFailed, match=KEPT):
                check_order(kind, alone(rows), rows)
        else:
            assert check_order(kind, alone(rows), rows) == ""


def test_own_people_are_not_all_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two kinds: two of four and one of two are own, and stand first: 4!/2!2! · 2 of 6!/3!3! choices."""
    kind = np.array([0, 0, 1, 0, 0, 1])
    mine = np.array([True, True, True, False, False, False])
    likely = math.log(12 / 20)
    assert _log_choices(4, 2) == pytest.approx(math.log(6))
    monkeypatch.setattr(order, "LOG_ODDS", -likely + 1e-9)
    _check_not_first(kind, mine)
    monkeypatch.setattr(order, "LOG_ODDS", -likely - 1e-9)
    with pytest.raises(CheckFailed, match=MEMBERS):
        _check_not_first(kind, mine)
    _check_not_first(np.array([1, 1, 0, 0, 0, 0]), np.array([False, True, True, True, False, False]))


def test_those_whom_the_public_table_lacks_come_last(rng: np.random.Generator) -> None:
    """Rows in the order of an outer join: its people, then the others."""
    n = 60
    match = rng.permutation(n)
    place = np.full(n, -1)
    listed = rng.permutation(n)[:40]
    place[listed] = rng.permutation(40)
    behind = np.where(place >= 0, place, 40 + np.arange(n))
    joined = np.argsort(behind)
    with pytest.raises(CheckFailed, match="order of the public table"):
        check_both_orders(alone(n), joined, 30, place, False)
    assert check_both_orders(alone(n), match, 30, place, True) == ""


@pytest.mark.parametrize("table", ["own", "others", "listed"])
def test_orders_of_one_table_are_seen_where_links_tell(table: str, rng: np.random.Generator) -> None:
    n, own = 80, 40
    place = rng.permutation(n)
    place[:10] = -1
    some = {"own": np.arange(own), "others": np.arange(own, n), "listed": np.flatnonzero(place >= 0)}[table]
    match = rng.permutation(n)
    where = np.flatnonzero(np.isin(match, some))
    match[where] = some[np.argsort(place[some])] if table == "listed" else some
    words = {"own": "order of the original", "others": "order of the", "listed": "order of the public"}[table]
    with pytest.raises(CheckFailed, match=words):
        check_both_orders(alone(n), match, own, place, True)


def test_a_few_who_are_listed_keep_no_order_among_the_others(rng: np.random.Generator) -> None:
    """Too few neighbours in the whole file to be noticed there."""
    n, listed = 98, 24
    place = np.full(n, -1)
    some = rng.permutation(n)[:listed]
    place[some] = np.arange(listed)
    match = rng.permutation(n)
    assert check_both_orders(alone(n), match, 40, place, True) == ""
    where = np.flatnonzero(np.isin(match, some))
    # thirteen steps, from the first of them on
    match[where] = some[[22, 15, 20, 17, 23, 14, 19, 16, 21, 18, *range(14)]]
    assert check_both_orders(alone(n), match, 40, place, False) == ""
    with pytest.raises(CheckFailed, match="order of the public table"):
        check_both_orders(alone(n), match, 40, place, True)


@pytest.mark.parametrize(("rows", "refused"), [(98, False), (100, True)])
def test_own_people_stand_early_only_by_chance(rows: int, refused: bool, rng: np.random.Generator) -> None:
    """All but one of them come first; from a hundred rows on that is noticed."""
    own = rows // 2
    match = np.concatenate([rng.permutation(own), own + rng.permutation(own)])
    match[[0, -1]] = match[[-1, 0]]
    place = rng.permutation(rows)
    if refused:
        with pytest.raises(CheckFailed, match=MEMBERS):
            check_both_orders(alone(rows), match, own, place, True)
    else:
        assert check_both_orders(alone(rows), match, own, place, True) == ""
