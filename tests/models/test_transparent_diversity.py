"""l against somebody who re-runs the program: what is promised, and the words of a policy for it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.method_names import PARTITIONS
from support.patients import Values, microdata, tables
from twins import transparent as naive_transparent

from incrowd.algorithms.base import all_methods
from incrowd.commands.publish import publish
from incrowd.contracts import Eligible, Promise, catalogue
from incrowd.errors import PolicyError
from incrowd.flow import Codes, Table
from incrowd.models import FrequencyDiversity, KAnonymity, TransparentDiversity, from_policy
from incrowd.models.k_anonymity import KFactor, OneK
from incrowd.models.l_diversity import MINIMALITY
from incrowd.policy import Policy


@given(tables(), st.integers(2, 5))
@settings(deadline=None, max_examples=50)
def test_guards_tell_what_groupers_look_for(table: tuple[Values, list[Codes]], l: int) -> None:  # noqa: E741
    values, _ = table
    data = microdata(values)
    for model in (FrequencyDiversity(l, "illness"), TransparentDiversity(l, "illness")):
        (guard,) = model.guards(data)
        assert isinstance(guard, Eligible)
        assert (guard.l, guard.size) == (l, len(set(values)))
        assert sorted(set(guard.codes.tolist())) == list(range(guard.size))
        same = [[a == b for b in values] for a in values]
        assert same == (guard.codes[:, None] == guard.codes).tolist()


def test_its_claim_names_the_adversary_who_re_runs_the_program() -> None:
    model = TransparentDiversity(2, "illness")
    (claim,) = model.claims(microdata([0, 1, 2, 3]))
    assert (claim.model, claim.parameters, claim.column) == (model.name, {"l": 2}, "illness")
    assert catalogue("model")[claim.model](**claim.parameters, column=claim.column) == model
    assert isinstance(model, Promise)
    assert "and the program" in claim.adversary
    assert any("drawn by chance" in text for text in claim.assumptions)
    assert MINIMALITY not in claim.assumptions


def test_guarded_l_is_not_claimed_against_who_re_runs_the_program() -> None:
    (claim,) = FrequencyDiversity(2, "illness").claims(microdata([0, 1, 2, 3]))
    assert "not against somebody who re-runs the program (minimality)" in claim.assumptions


def test_persons_with_several_rows_are_refused() -> None:
    with pytest.raises(PolicyError, match="counts rows, not persons"):
        TransparentDiversity(2, "illness").guards(microdata([0, 1], persons=[0, 0]))


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
    assert all(naive_transparent.keeps_frequency(values, 3) for values in classes.values())
    model = "transparent-l-diversity" if all_methods()[method].transparent else "frequency-l-diversity"
    assert release.verdict.facts["reached"][f"{model} (ill)"] >= 3


# From the words of a policy


@pytest.mark.parametrize(
    ("privacy", "k", "l"),
    [
        pytest.param({"k": 6, "l": 3}, 6, 3, id="plain"),
        pytest.param({"k": 5, "l": 3, "l_kind": "frequency", "t": None}, 6, 3, id="k-is-a-multiple-of-l"),
        pytest.param({"k": 2, "l": 3}, 3, 3, id="l-is-the-least-k"),
    ],
)
def test_policy_words(privacy: dict[str, Any], k: int, l: int) -> None:  # noqa: E741
    found = from_policy(privacy, ["x"], "k-factor", transparent=True)
    assert found == (KFactor(k), TransparentDiversity(l, "x"))
    found = from_policy(privacy, ["x"], transparent=True)
    assert found == (KAnonymity(privacy["k"]), TransparentDiversity(l, "x"))


def test_l_is_promised_for_every_column() -> None:
    both = (TransparentDiversity(3, "x"), TransparentDiversity(3, "y"))
    assert from_policy({"k": 5, "l": 3}, ["x", "y"], "k-factor", transparent=True) == (KFactor(6), *both)
    assert from_policy({"k": 5, "l": 3}, ["x", "y"], transparent=True) == (KAnonymity(5), *both)


def test_without_l_rows_that_differ_promise_k_alone() -> None:
    assert from_policy({"k": 5}, ["x", "y"], "k-factor", transparent=True) == (KFactor(5),)
    assert from_policy({"k": 5}, [], "1k-anonymity", transparent=True) == (OneK(5),)


@pytest.mark.parametrize(
    ("privacy", "sensitive", "size", "words"),
    [
        ({"k": 5, "l": 3, "l_kind": "distinct"}, ["x"], "k-factor", 'one meaning, l_kind = "frequency"'),
        ({"k": 5, "l": 3, "l_kind": "entropy"}, ["x"], "k-anonymity", 'one meaning, l_kind = "frequency"'),
        ({"k": 5, "l": 3, "l_kind": "recursive", "c": 2}, ["x"], "k-factor", "one meaning"),
        ({"k": 5, "l": 3}, [], "k-factor", "no column is sensitive"),
        ({"k": 5}, ["x"], "k-anonymity", "this method is there for l"),
        ({"k": 5, "t": "0.2"}, ["x"], "k-factor", "t is about classes"),
        ({"k": 5, "l": 3, "t": "0.2"}, ["x"], "k-anonymity", "leave out t"),
        ({"k": 5, "l": 3}, ["x"], "1k-anonymity", "less was asked for"),
        ({"k": 5, "l": 1}, ["x"], "k-factor", "l must be a whole number of at least 2"),
        ({"k": 5, "l": "2.5"}, ["x"], "k-factor", "l must be a whole number of at least 2"),
        ({"k": 1, "l": 3}, ["x"], "k-factor", "k must be a whole number of at least 2, got 1"),
        ({"k": "5", "l": 3}, ["x"], "k-factor", "k must be a whole number of at least 2"),
    ],
)
def test_policy_errors(privacy: dict[str, object], sensitive: list[str], size: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        from_policy(privacy, sensitive, size, transparent=True)


def test_another_method_refuses_l() -> None:
    with pytest.raises(PolicyError, match="l is about classes, and this method makes none"):
        from_policy({"k": 5, "l": 3}, ["x"], "k-factor")
