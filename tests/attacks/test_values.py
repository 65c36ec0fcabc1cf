"""Reading sensitive values off candidates: homogeneity, skewness, similarity, closeness."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.measure_tables import box, flat, microdata, ranged, release
from twins import attacks as naive

from incrowd.attacks import beliefs as beliefs_module
from incrowd.attacks.beliefs import SensitiveValues, ValueCounts, beliefs, distances, homogeneous, values_of
from incrowd.attacks.disclosure import closeness, column_context, homogeneity, skewness
from incrowd.attacks.registry import AttackResult, Context, Outcome, every_result
from incrowd.attacks.target import Target
from incrowd.errors import TableError
from incrowd.flow import Sensitive, Table
from incrowd.hierarchy import Hierarchy
from incrowd.schema import Claim, Kind

DISEASES = [
    ("ulcer", "stomach", "*"),
    ("gastritis", "stomach", "*"),
    ("flu", "lungs", "*"),
    ("asthma", "lungs", "*"),
]
PATHS = dict(enumerate(DISEASES))


def classes(sizes: list[int], values: list[int], size: int = 0) -> tuple[Target, SensitiveValues]:
    """Classes of these sizes, one letter each, and a value for each record in turn; row i is record i."""
    letters = [chr(ord("a") + c) for c, many in enumerate(sizes) for _ in range(many)]
    data = microdata([flat("q", sorted(set(letters)))], [(letter,) for letter in letters])
    target = Target(
        release(data, [(letter,) for letter in letters]), data, np.arange(len(letters)), min(sizes)
    )
    codes = np.array(values, np.int64)
    return target, SensitiveValues("disease", codes, codes, size or max(values) + 1)


def disclosures(target: Target, values: SensitiveValues) -> list[AttackResult]:
    """Every attack on one sensitive column, as the catalogue has them."""
    context = Context(columns=lambda: [column_context(target, values)])
    return [found for found in every_result(context) if isinstance(found, AttackResult)]


# ---- against the twin


@given(st.data())
def test_beliefs_agree_with_naive(draw: st.DataObject) -> None:
    """Rows that are sets of records' values; candidates by trying every assignment."""
    n = draw.draw(st.integers(1, 5))
    codes = draw.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    more = [draw.draw(st.sets(st.integers(0, 3))) for _ in range(n)]
    values = draw.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    data = microdata([flat("q", "abcd")], [("abcd"[code],) for code in codes])
    said = [sorted({codes[i], *more[i]}) for i in range(n)]
    cells = ["{" + "|".join("abcd"[c] for c in cell) + "}" for cell in said]
    target = Target(release(data, [(cell,) for cell in cells]), data, np.arange(n))
    tree = Hierarchy.from_rows(DISEASES)
    shown = np.array(values, np.int64)
    mine = SensitiveValues("disease", shown, shown, 4, tree, np.array([0.0, 1.0, 50.0, 1000.0]))
    held = naive.candidates([[codes[i] in said[row] for row in range(n)] for i in range(n)])
    table = Counter(values)
    for distance in ("equal", "ordered", "hierarchical"):
        found = beliefs(target, replace(mine, distance=distance))
        for i in range(n):
            have = Counter(values[row] for row in held[i])
            shares = {v: have[v] / have.total() for v in have}
            prior = {v: table[v] / n for v in table}
            gains = {v: shares.get(v, 0.0) - prior[v] for v in prior}
            assert (found.able[i], found.different[i]) == (True, len(have))
            assert have[int(found.top[i])] == max(have.values())
            assert found.share[i] == pytest.approx(max(shares.values()))
            assert found.gain[i] == pytest.approx(max(gains.values()))
            assert gains[int(found.risen[i])] == pytest.approx(max(gains.values()))
            assert found.ratio[i] == pytest.approx(max(shares[v] / prior[v] for v in shares))
            assert found.kin[i] == (len({DISEASES[v][1] for v in have}) == 1)
            spread = {0: 0, 1: 1, 2: 50, 3: 1000}
            places, used = [spread[v] for v in have], [spread[v] for v in table]
            alike = max(places) - min(places) <= 0.01 * (max(used) - min(used))
            assert found.near[i] == (alike and max(used) > min(used))
            slow = {
                "equal": naive.unlike(have, table),
                "ordered": naive.moved(have, table),
                "hierarchical": naive.climbed(have, table, PATHS),
            }
            assert found.distance[i] == pytest.approx(slow[distance], abs=1e-12)


def test_many_pools_are_told_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    target, values = classes([2, 3, 2, 4], [0, 1, 0, 0, 1, 2, 2, 1, 1, 0, 2])
    whole = beliefs(target, values)
    monkeypatch.setattr(sys.modules["incrowd.attacks.beliefs"], "AT_ONCE", 4)
    part = beliefs(target, values)
    assert (whole.top == part.top).all()
    assert (whole.distance == part.distance).all()


def test_people_with_the_same_candidates_share_a_pool() -> None:
    target, _ = classes([2, 3], [0] * 5, 1)
    held = target.pools
    assert held.of.tolist() == [0, 0, 1, 1, 1]
    assert held.starts.tolist() == [0, 1, 2]


def test_few_counts_at_once_are_the_same_beliefs(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pools are taken some at a time: what is believed does not depend on how many."""
    data = microdata([ranged("age", range(40))], [(age,) for age in range(40)])
    boxes = [(box(age // 8 * 8, age // 8 * 8 + 7),) for age in range(40)]
    target = Target(release(data, boxes), data, np.arange(40))
    own = rng.integers(0, 9, 40)
    for distance in ("equal", "ordered"):
        values = SensitiveValues("salary", own, own, 9, place=np.arange(9.0), distance=distance)
        monkeypatch.setattr(beliefs_module, "AT_ONCE", 4_000_000)
        whole = beliefs(target, values)
        monkeypatch.setattr(beliefs_module, "AT_ONCE", 3)
        parts = beliefs(target, values)
        for name in ("top", "share", "different", "risen", "gain", "ratio", "near", "distance"):
            assert getattr(whole, name) == pytest.approx(getattr(parts, name))


# ---- the salary example of Li et al., section 4.3


@pytest.mark.parametrize(("salaries", "far"), [([3, 4, 5], 0.375), ([6, 8, 11], 1 / 6)])
def test_the_printed_distances(salaries: list[int], far: float) -> None:
    counts = ValueCounts.of_table(np.array([[int(salary in salaries) for salary in range(3, 12)]]))
    line = SensitiveValues("salary", np.arange(9), np.arange(9), 9, distance="ordered")
    assert distances(line, counts, counts.count / 3, np.full(9, 1 / 9)).tolist() == pytest.approx([far])


# ---- homogeneity


def test_homogeneity_reads_a_class_of_one_value() -> None:
    target, values = classes([4, 4], [0, 0, 0, 0, 0, 1, 2, 3])
    found = homogeneity(beliefs(target, values))
    assert (found.attack.won, found.guess.won, found.attack.tried) == (5, 5, 8)
    assert found.details == {"persons_with_one_value": 4, "largest_share": 1.0}
    assert (found.bound, found.outcome) == (None, Outcome.NO_BOUND)


def test_homogeneity_breaks_a_false_promise() -> None:
    """l = 4 is claimed, and every class has one value."""
    target, values = classes([30, 30, 30, 30], sorted([0, 1, 2, 3] * 30))
    found = homogeneity(beliefs(target, replace(values, l=Fraction(4))))
    assert (found.bound, found.attack.share) == (Fraction(1, 4), 1.0)
    assert found.outcome is Outcome.BROKEN


def test_homogeneity_keeps_within_a_true_promise() -> None:
    target, values = classes([40, 40], [0, 1, 2, 3] * 20)
    found, *_ = disclosures(target, replace(values, l=Fraction(4)))
    assert found.outcome is Outcome.HELD  # to the letter: a quarter in every class leaves nothing to chance
    assert found.control is not None
    assert (found.attack.share, found.control.share) == (0.25, 1.0)


def test_the_control_gives_everybody_who_could_be_mistaken_one_value() -> None:
    target, values = classes([2, 2, 2], [0, 1, 2, 0, 1, 2])
    made = homogeneous(target, values)
    assert (made.own == made.shown).all()
    assert (made.own.reshape(3, 2)[:, 0] == made.own.reshape(3, 2)[:, 1]).all()
    assert np.unique(made.own).size == 3


# ---- skewness and similarity


def test_skewness_counts_whose_odds_double() -> None:
    """A value that one in ten has makes up half of the first class."""
    target, values = classes([4, 16], [1, 1, 0, 0, *[0] * 16])
    found = skewness(beliefs(target, values))
    assert found.details["largest_gain"] == pytest.approx(0.4)
    assert found.details["largest_ratio"] == pytest.approx(5.0)
    assert found.details["persons_whose_odds_double"] == 4
    # They say 1 of the first class and 0 of the second; blind, that is right by the table's shares.
    assert (found.attack.won, found.guess.won) == (2 + 16, round(4 * 0.1 + 16 * 0.9))


def test_one_organ_is_flagged() -> None:
    target, values = classes([2, 2], [0, 1, 0, 3])
    found = skewness(beliefs(target, replace(values, size=4, tree=Hierarchy.from_rows(DISEASES))))
    assert found.details["persons_under_one_node"] == 2


def test_numbers_that_are_as_good_as_one_are_flagged() -> None:
    target, values = classes([3, 2], [0, 1, 0, 2, 3])
    place = np.array([30_000.0, 30_100.0, 30_200.0, 90_000.0])
    found = skewness(beliefs(target, replace(values, place=place)))
    assert found.details["persons_within_1_percent"] == 3
    gone = skewness(beliefs(target, replace(values, place=np.array([0.0, np.nan, 10.0, 9000.0]))))
    assert gone.details["persons_within_1_percent"] == 0  # one of them may be missing


# ---- closeness


def test_a_class_that_is_too_far_breaks_the_promise() -> None:
    target, values = classes([2, 2], [0, 0, 1, 1])
    claimed = replace(values, t=Fraction(2, 5))
    found = closeness(beliefs(target, claimed), beliefs(target, homogeneous(target, claimed)))
    assert (found.attack.won, found.bound, found.outcome) == (4, Fraction(0), Outcome.BROKEN)
    assert found.details == {"largest_distance": 0.5, "t": 0.4}


def test_a_distance_of_exactly_t_is_kept() -> None:
    target, values = classes([2, 2], [0, 0, 1, 1])
    found = closeness(beliefs(target, replace(values, t=Fraction(1, 2))))
    assert (found.attack.won, found.attack.within(Fraction(0))) == (0, True)


def test_closeness_is_tried_only_where_it_was_promised() -> None:
    target, values = classes([20, 20], [0, 1] * 20)
    names = [found.name for found in disclosures(target, values)]
    backgrounds = [f"background-{known}-disease" for known in (1, 2, 3)]
    assert names == ["homogeneity-disease", "skewness-disease", "definetti-disease", *backgrounds]
    found = {found.name: found for found in disclosures(target, replace(values, t=Fraction(1, 10)))}
    assert found["closeness-disease"].outcome is Outcome.HELD


# ---- reading columns and promises


def test_values_are_numbered_as_in_the_original() -> None:
    table = Table.of({"cost": ["20", "", "10", None, "20"]})
    column = Sensitive("cost", Kind.NUMERIC, np.array([2, 0, 1, 0, 2], np.int32), 3)
    values = values_of(
        column, table.column("cost"), Table.of({"cost": [None, "10", "20", "20", ""]}).column("cost")
    )
    assert values.shown.tolist() == [0, 1, 2, 2, 0]
    assert values.prior.tolist() == [2, 1, 2]
    with pytest.raises(TableError, match="cost"):
        values_of(column, table.column("cost"), Table.of({"cost": ["30"]}).column("cost"))


@pytest.mark.parametrize(
    ("model", "bound"),
    [
        ("frequency-l-diversity", Fraction(3)),
        ("transparent-l-diversity", Fraction(3)),
        ("distinct-l-diversity", None),
        ("entropy-l-diversity", None),
    ],
)
def test_only_some_promises_bound_a_belief(model: str, bound: Fraction | None) -> None:
    _, values = classes([2], [0, 1])
    claims = [Claim(model, {"l": 3}, column="disease"), Claim(model, {"l": 9}, column="other")]
    assert values.promised(claims).l == bound


def test_a_promised_distance_is_taken_exactly() -> None:
    _, values = classes([2], [0, 1])
    claim = Claim("t-closeness", {"t": "0.1", "distance": "ordered"}, column="disease")
    found = values.promised([claim])
    assert (found.t, found.distance, values.t) == (Fraction(1, 10), "ordered", None)


def test_people_without_candidates_are_not_counted() -> None:
    """One row for two records: whoever was left out still fits it."""
    data = microdata([flat("q", "ab")], [("a",), ("a",), ("b",)])
    target = Target(release(data, [("a",), ("a",)]), data, np.array([0, 1, -1]), 2)
    values = SensitiveValues("disease", np.array([0, 1, 1]), np.array([0, 1]), 2)
    found = homogeneity(beliefs(target, values))
    assert found.attack.tried == 2
    names = [found.name for found in disclosures(target, values)]
    assert "definetti-disease" not in names  # no groups, so nothing to learn from
