"""What classes of numbers reach by (k,e) and (epsilon,m), against the definitions."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden import vectors
from twins.proximity import epsilon_m_anonymous, k_e_anonymous

from incrowd.measures.proximity import proximity

PEOPLE = vectors("outliers")["figure_boxes"]["input"]
NUMBER = st.fractions(-5, 30, max_denominator=4)
STEP = Fraction(1, 1000)


@given(
    classes=st.lists(st.lists(NUMBER, min_size=1, max_size=7), min_size=1, max_size=4),
    epsilon=st.fractions(0, 9, max_denominator=3),
)
@settings(max_examples=200, deadline=None)
def test_what_is_reached_is_the_most_that_the_definitions_allow(
    classes: list[list[Fraction]], epsilon: Fraction
) -> None:
    found = proximity(classes, epsilon)
    assert found is not None
    assert found.m is not None
    assert k_e_anonymous(classes, found.values, found.least_range)
    assert not k_e_anonymous(classes, found.values + 1, found.least_range)
    assert not k_e_anonymous(classes, found.values, found.least_range + STEP)
    assert epsilon_m_anonymous(classes, epsilon, found.m)
    assert not epsilon_m_anonymous(classes, epsilon, found.m + STEP)
    assert found.largest_range == max(max(c) - min(c) for c in classes)
    assert found.known == sum(map(len, classes))


def test_nothing_is_reached_without_numbers_and_texts_are_decimals() -> None:
    assert proximity([]) is None
    assert proximity([[]]) is None
    found = proximity([[Fraction(1, 2), Fraction(2)], []], Fraction(1))
    assert found is not None
    assert found.to_dict() == {
        "distinct": 2,
        "least_range": "1.5",
        "largest_range": "1.5",
        "known": 2,
        "epsilon": "1",
        "m": "2",
    }
    third = proximity([[Fraction(1), Fraction(1), Fraction(9)]], Fraction(1))
    assert third is not None
    assert third.to_dict()["m"] == "1.5"


# ---- the paper's argument: all three figures keep these models, one of them hides the outlier


def incomes(which: str) -> list[list[Fraction]]:
    """Of the classes of a figure, in thousands."""
    rows = PEOPLE["rows"]
    return [[Fraction(rows[i - 1][5]) for i in group] for group in PEOPLE["groupings"][which]]


def test_figures_2_and_3_keep_these_models_alike() -> None:
    """Which of them hides Justin says tests/attacks/test_outliers.py: Figure 3 alone."""
    found = {which: proximity(incomes(which), Fraction(4)) for which in ("2a", "2b", "3")}
    shown = {
        which: [each.values, each.least_range, each.largest_range, each.m]
        for which, each in found.items()
        if each is not None
    }
    assert shown == {
        "2a": [3, 30, 1_999_970, 3],
        "2b": [4, 30, 30, 4],
        "3": [4, 90, 105, 4],
    }
    for which in shown:
        assert k_e_anonymous(incomes(which), 3, Fraction(30))
        assert epsilon_m_anonymous(incomes(which), Fraction(4), Fraction(3))


def test_merging_keeps_k_and_e_and_not_m() -> None:
    one, other = [Fraction(0), Fraction(10)], [Fraction(5), Fraction(15)]
    apart, merged = proximity([one, other], Fraction(5)), proximity([one + other], Fraction(5))
    assert apart is not None
    assert merged is not None
    assert [apart.m, merged.m] == [2, Fraction(4, 3)]
    assert merged.values >= apart.values
    assert merged.least_range >= apart.least_range
