"""The rules by which statements of papers are judged."""

from __future__ import annotations

from math import inf, isclose
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from incrowd.reproduce.judging import Claim, Tables, judged
from incrowd.reproduce.rules import Verdict, above, all_of, below, exact, not_run, unbroken, within
from incrowd.reproduce.samples import MeanOfSamples, difference, ratio, shares, steps, student

HELD, NOT_HELD, UNDECIDED, FALSE = Verdict


@given(st.floats(0.01, 0.9999), st.integers(1, 40))
def test_student_is_scipys(level: float, freedom: int) -> None:
    assert isclose(student(level, freedom), stats.t.ppf((1 + level) / 2, freedom), rel_tol=1e-5, abs_tol=1e-7)


@given(st.lists(st.integers(-80, 80).map(lambda eighths: eighths / 8), min_size=2, max_size=12))
def test_an_interval_is_scipys(samples: list[float]) -> None:
    ours = MeanOfSamples.of("", samples)
    error = stats.sem(samples)
    low, high = stats.t.interval(0.95, len(samples) - 1, stats.tmean(samples), error) if error else (0.0, 0.0)
    if error:
        assert isclose(ours.low, low, rel_tol=1e-6, abs_tol=1e-6)
        assert isclose(ours.high, high, rel_tol=1e-6, abs_tol=1e-6)
    else:
        assert ours.low == ours.high == ours.mean


def test_one_sample_has_no_interval() -> None:
    ours = MeanOfSamples.of("k=5", [2.0])
    assert (ours.low, ours.high) == (-inf, inf)
    assert ours.to_dict() == {"at": "k=5", "mean": 2.0, "low": None, "high": None, "samples": 1}


AROUND = {"one": [0.9, 1.1, 0.95, 1.05, 1.0]}  # 1, from 0.902 to 1.098


@pytest.mark.parametrize(
    ("finding", "verdict"),
    [
        (within(AROUND, 0.9, 1.1), HELD),
        (below(AROUND, 1.1), HELD),
        (above(AROUND, 0.9), HELD),
        (below(AROUND, 0.9), NOT_HELD),
        (above(AROUND, 1.1), NOT_HELD),
        (below(AROUND, 1.0), UNDECIDED),
        (below({**AROUND, "two": [5.0] * 5}, 1.1), NOT_HELD),
        (below({**AROUND, "two": [5.0] * 5}, 6), HELD),
        (below({"one": [0.5] * 4}, 1.0), UNDECIDED),
        (below({"tie": [1.0] * 5}, 1.0), NOT_HELD),
        (within({"tie": [1.0] * 5}, high=1.0), HELD),
        (within({}, 0, 1), UNDECIDED),
        (exact(True, "36.5"), HELD),
        (exact(False, "35.75"), NOT_HELD),
        (exact(False, "35.75", counterexample="the class [37-38]"), FALSE),
        (unbroken(10, ""), HELD),
        (unbroken(10, "record 7 of sample 1"), FALSE),
        (unbroken(0, ""), UNDECIDED),
        (all_of({"a": exact(True, "1"), "b": within(AROUND, 0.9, 1.1)}), HELD),
        (all_of({"a": exact(True, "1"), "b": below(AROUND, 1.0)}), UNDECIDED),
        (all_of({"a": not_run("no table"), "b": below(AROUND, 0.9)}), NOT_HELD),
    ],
)
def test_verdicts(finding: object, verdict: Verdict) -> None:
    assert getattr(finding, "verdict") == verdict  # noqa: B009


def test_many_points_that_hold_are_seldom_called_false() -> None:
    """Numbers around the bound, 20 points: one in twenty runs is called wrong, not most of them."""
    dice = Random(7)
    wrong = sum(
        within({f"{i}": [dice.gauss(0, 1) for _ in range(5)] for i in range(20)}, high=0).verdict == NOT_HELD
        for _ in range(200)
    )
    assert wrong <= 200 * 0.05  # one side of a two-sided interval: 5 are expected


def test_a_statement_that_is_false_is_seldom_called_held() -> None:
    dice = Random(7)
    points = ({"": [dice.gauss(0, 1) for _ in range(5)]} for _ in range(1000))
    assert sum(within(each, high=-0.0).verdict == HELD for each in points) <= 1000 * 0.05


def test_numbers_of_samples() -> None:
    line, other = {"k=1": [1.0, 2.0], "k=2": [4.0, 0.0]}, {"k=1": [2.0, 2.0], "k=2": [2.0, 0.0], "k=3": [1.0]}
    assert difference(line, other) == {"k=1": [-1.0, 0.0], "k=2": [2.0, 0.0]}
    assert ratio(line, other)["k=1"] == [0.5, 1.0]
    assert ratio({"a": [0.0]}, {"a": [0.0]}) == {}
    assert steps(line) == {"k=1 to k=2": [3.0, -2.0]}
    assert shares([[True, False], [True, True]]) == [0.5, 1.0]


def test_reasons_name_the_points_that_decide() -> None:
    found = below({"k=5": [0.5, 0.6, 0.5, 0.6, 0.5], "k=10": [2.0, 2.1, 2.0, 2.1, 2.0]}, 1)
    assert "at 1 of 2: k=10: 2.04" in found.reason
    assert "k=5" not in found.reason


def test_claims_become_statements() -> None:
    claims = [
        Claim[float]("one", "II", "x is small", lambda x: exact(x < 2, f"{x:g}"), "ART", 1.5),
        Claim[float]("two", "III", "never called", lambda _: exact(True, ""), "ADT", inferred=True),
    ]
    tables = Tables({"ART": "ART, 5 samples"}, {"ADT": "ADT: no folder"})
    one, two = judged("toy", claims, 1.0, tables, quick=True)
    assert one.to_dict() == {
        "id": "toy.one",
        "paper": "toy",
        "section": "II",
        "says": "x is small",
        "inferred": False,
        "printed": 1.5,
        "ours": {"words": "1", "points": [], "interval": "exact"},
        "data": "ART, 5 samples",
        "verdict": "held",
        "reason": "exact",
        "counterexample": None,
        "command": "incrowd reproduce toy --quick",
    }
    assert (two.verdict, two.reason, two.inferred) == (UNDECIDED, "ADT: no folder", True)
    with pytest.raises(ValueError, match="same name"):
        judged("toy", [claims[0], claims[0]], 1.0, tables)
