"""A diverse draw: what is promised where every record has a row of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.method_names import PARTITIONS
from support.patients import OUTSIDE, Values, coded, microdata, tables
from support.tables_of_codes import rare_values
from twins import randomized_diversity as naive_drawn

from incrowd.commands.publish import publish
from incrowd.contracts import Eligible, Promise, catalogue
from incrowd.errors import PolicyError
from incrowd.flow import Codes, Table
from incrowd.models import DrawnDiversity, FrequencyDiversity, from_policy
from incrowd.models.k_anonymity import MATCHING, KFactor, OneK
from incrowd.models.l_diversity import Drawable
from incrowd.policy import Policy

DRAWN = st.tuples(st.integers(2, 4), st.integers(2, 6)).map(
    lambda pair: DrawnDiversity(pair[0], max(pair), "illness")
)
FEW = st.lists(st.integers(0, 4), min_size=1, max_size=11)


def everyone(values: Values) -> Codes:
    return np.arange(len(values), dtype=np.int32)


@given(FEW, DRAWN)
@settings(deadline=None, max_examples=200)
def test_what_can_be_cut_is_found_by_counting(values: Values, model: DrawnDiversity) -> None:
    data = microdata(values)
    expected = naive_drawn.can_be_cut(values, model.l, model.k)
    assert model.rule(data).allows(everyone(values)) == expected
    assert (model.infeasible(data) == "") == expected


@given(FEW, st.integers(2, 6))
@settings(deadline=None, max_examples=100)
def test_reached_is_the_largest_l(values: Values, k: int) -> None:
    found = DrawnDiversity(2, k, "illness").rule(microdata(values)).reached(everyone(values))
    kept = [l for l in range(1, k + 1) if naive_drawn.can_be_cut(values, l, k)]  # noqa: E741
    assert found == max(kept, default=0)


@given(tables(), DRAWN)
@settings(deadline=None, max_examples=100)
def test_together_they_reach_as_much(table: tuple[Values, list[Codes]], model: DrawnDiversity) -> None:
    values, (one, other) = table
    rule = model.rule(microdata(values))
    assert rule.reached(np.concatenate([one, other])) >= min(rule.reached(one), rule.reached(other))
    assert not rule.allows(coded([]))


@given(st.data(), DRAWN)
@settings(deadline=None, max_examples=150)
def test_dealing_out_is_a_way_to_cut(data: st.DataObject, model: DrawnDiversity) -> None:
    """The proof beside the rule, run: value by value, round and round."""
    n = data.draw(st.integers(model.k, 40))
    values = data.draw(rare_values(n, (model.k // model.l) * (n // model.k), kinds=OUTSIDE + 1))
    assert model.rule(microdata(values)).allows(everyone(values))
    dealt = sorted(values, key=lambda value: (-values.count(value), value))
    parts = [dealt[part :: len(values) // model.k] for part in range(len(values) // model.k)]
    for part in parts:
        assert len(part) >= model.k
        assert max(map(part.count, part)) * model.l <= model.k
        assert naive_drawn.keeps_frequency(part, model.l)


@given(tables(), st.integers(2, 5))
@settings(deadline=None, max_examples=50)
def test_guards_tell_what_groupers_look_for(table: tuple[Values, list[Codes]], l: int) -> None:  # noqa: E741
    values, _ = table
    data = microdata(values)
    for model in (FrequencyDiversity(l, "illness"), DrawnDiversity(l, 5, "illness")):
        (guard,) = model.guards(data)
        assert isinstance(guard, Eligible)
        assert (guard.l, guard.size) == (l, len(set(values)))
        assert sorted(set(guard.codes.tolist())) == list(range(guard.size))
        same = [[a == b for b in values] for a in values]
        assert same == (guard.codes[:, None] == guard.codes).tolist()
    assert isinstance(guard, Drawable)
    assert guard.k == 5


def test_its_claim_says_l_and_k() -> None:
    model = DrawnDiversity(2, 4, "illness")
    (claim,) = model.claims(microdata([0, 1, 2, 3]))
    assert (claim.model, claim.parameters, claim.column) == (model.name, {"l": 2, "k": 4}, "illness")
    assert catalogue(MATCHING)[claim.model](**claim.parameters, column=claim.column) == model
    assert isinstance(model, Promise)
    assert any("drawn by chance" in text for text in claim.assumptions)
    assert any("part was settled by chance" in text for text in claim.assumptions)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        pytest.param([0, 1, 2], "n=3 < k=4: the table has fewer rows than k", id="too-few"),
        pytest.param(
            [0, 0, 0, 1, 1, 1, 2, 2],
            "illness: the whole table reaches l=2 by a draw from k=4, l=3",
            id="rounded-down",  # three in eight are a share below 1/2, but two parts of four take one each
        ),
        pytest.param(
            [0] * 9 + [1], "illness: the whole table reaches l=0 by a draw from k=4, l=3", id="all-alike"
        ),
        pytest.param([], "illness: the table has no rows", id="nobody"),
    ],
)
def test_infeasible_says_how_far_it_goes(values: Values, words: str) -> None:
    assert DrawnDiversity(3, 4, "illness").infeasible(microdata(values)) == words


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: DrawnDiversity(1, 4, "x"), "l must be a whole number of at least 2, got 1"),
        (lambda: DrawnDiversity(2, 1, "x"), "k must be a whole number of at least 2, got 1"),
        (lambda: DrawnDiversity(5, 4, "x"), "k must be at least l=5, got 4"),
        (lambda: DrawnDiversity(True, 4, "x"), "l must be a whole number"),
    ],
)
def test_limits(make: Callable[[], object], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        make()


@pytest.mark.parametrize("part", ["l", "k"])
def test_limits_reject_what_they_call_bad(part: str) -> None:
    for bad in DrawnDiversity.limits[part].bad_values():
        fields: dict[str, Any] = {"l": 2, "k": 4, "column": "x", part: bad}
        with pytest.raises(PolicyError, match=f"{part} must be"):
            DrawnDiversity(**fields)


def test_persons_with_several_rows_are_refused() -> None:
    with pytest.raises(PolicyError, match="k counts rows, not persons"):
        DrawnDiversity(2, 2, "illness").guards(microdata([0, 1], persons=[0, 0]))


# In classes


@pytest.mark.parametrize("method", [name for name in PARTITIONS if name != "anatomy"])  # which has no classes
def test_every_partition_keeps_frequent_values_apart(method: str) -> None:
    """A third of all have one illness, in one corner of the table: k alone would leave them together."""
    ills = ["flu"] * 20 + ["gout", "ulcer", "cough", ""] * 10
    columns = {"age": [str(20 + i // 2) for i in range(60)], "sex": ["F", "M", "M"] * 20, "ill": ills}
    quasi = ["age", "sex"]
    asked = {"k": 4, "l": 3, "l_kind": "frequency"}
    policy = Policy(quasi_identifiers=quasi, sensitive=["ill"], privacy=asked, method=method)
    release = publish(Table.of(columns), policy)
    shown = {name: release.table.column(name) for name in (*quasi, "ill")}
    rows = list(zip(*([c.texts[i] for i in c.codes] for c in shown.values()), strict=True))
    classes = {row[:2]: [other[2] for other in rows if other[:2] == row[:2]] for row in rows}
    assert all(naive_drawn.keeps_frequency(values, 3) for values in classes.values())
    assert release.verdict.facts["reached"]["frequency-l-diversity (ill)"] >= 3


# From the words of a policy


@pytest.mark.parametrize(
    ("privacy", "k", "l"),
    [
        pytest.param({"k": 5, "l": 3}, 5, 3, id="plain"),
        pytest.param({"k": 5, "l": 3, "l_kind": "frequency", "t": None}, 5, 3, id="named"),
        pytest.param({"k": 2, "l": 3}, 3, 3, id="l-is-the-least-k"),
    ],
)
def test_policy_words(privacy: dict[str, object], k: int, l: int) -> None:  # noqa: E741
    assert from_policy(privacy, ["x"], "k-factor", diverse=True) == (KFactor(k), DrawnDiversity(l, k, "x"))


def test_without_l_a_diverse_method_promises_k_alone() -> None:
    assert from_policy({"k": 5}, ["x", "y"], "k-factor", diverse=True) == (KFactor(5),)
    assert from_policy({"k": 5}, [], "1k-anonymity", diverse=True) == (OneK(5),)


@pytest.mark.parametrize(
    ("privacy", "sensitive", "size", "words"),
    [
        ({"k": 5, "l": 3, "l_kind": "distinct"}, ["x"], "k-factor", 'one meaning, l_kind = "frequency"'),
        ({"k": 5, "l": 3, "l_kind": "entropy"}, ["x"], "k-factor", 'one meaning, l_kind = "frequency"'),
        ({"k": 5, "l": 3, "l_kind": "recursive", "c": 2}, ["x"], "k-factor", "one meaning"),
        ({"k": 5, "l": 3}, ["x", "y"], "k-factor", "keeps l for one sensitive column, and there are 2"),
        ({"k": 5, "l": 3}, [], "k-factor", "no column is sensitive"),
        ({"k": 5, "t": "0.2"}, ["x"], "k-factor", "t is about classes"),
        ({"k": 5, "l": 3, "t": "0.2"}, ["x"], "k-factor", "t is about classes"),
        ({"k": 5, "l": 3}, ["x"], "1k-anonymity", "less was asked for"),
        ({"k": 5, "l": 1}, ["x"], "k-factor", "l must be a whole number of at least 2"),
        ({"k": 5, "l": "2.5"}, ["x"], "k-factor", "l must be a whole number of at least 2"),
        ({"k": 1, "l": 3}, ["x"], "k-factor", "k must be a whole number of at least 2, got 1"),
        ({"k": "5", "l": 3}, ["x"], "k-factor", "k must be a whole number of at least 2"),
    ],
)
def test_policy_errors(privacy: dict[str, object], sensitive: list[str], size: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        from_policy(privacy, sensitive, size, diverse=True)


def test_another_method_refuses_l() -> None:
    with pytest.raises(PolicyError, match="l is about classes, and this method makes none"):
        from_policy({"k": 5, "l": 3}, ["x"], "k-factor")
