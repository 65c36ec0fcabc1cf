"""The model "plain": what a policy may ask for, what is claimed, and when nothing can be done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from incrowd.contracts import Model, Plainness
from incrowd.encode import encode
from incrowd.errors import PolicyError
from incrowd.flow import Microdata, Table
from incrowd.models import KAnonymity, Plain, from_policy
from incrowd.policy import Policy
from incrowd.schema import Column, Kind, Role, Schema

ASKED = {"p": "0.8", "d": "0.85"}


def clinic(pay: list[str], age: list[str] | None = None) -> Microdata:
    ages = age or [str(20 + i) for i in range(len(pay))]
    columns = (Column("age", Role.QUASI, Kind.NUMERIC), Column("pay", Role.SENSITIVE, Kind.NUMERIC))
    return encode(Table.of({"age": ages, "pay": pay}), Schema(columns))


def test_a_policy_becomes_the_model() -> None:
    plain = {**ASKED, "columns": ["pay", "age"], "weights": {"pay": 2}, "margin": 0, "rescale": False}
    policy = Policy(quasi_identifiers=["age"], sensitive=["pay"], privacy={"k": 4, "plain": plain})
    size, model = from_policy(policy.privacy.model_dump(exclude={"max_suppression"}), ["pay"])
    assert size == KAnonymity(4)
    assert model == Plain("0.8", "0.85", 4, "0", rescale="no", columns={"pay": "2.0", "age": 1})
    assert isinstance(model, Model)
    assert Policy.from_dict(policy.to_dict()) == policy


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ({"p": 0, "d": 1}, "privacy.plain.p must be above 0"),
        ({"p": 1.5, "d": 1}, "privacy.plain.p must be above 0 and at most 1"),
        ({"p": "0.8"}, "privacy.plain.d"),
        ({**ASKED, "form": "corners"}, "privacy.plain.form"),
        ({**ASKED, "distinct": 1}, "privacy.plain.distinct"),
        ({**ASKED, "weights": {"pay": 0}}, "privacy.plain.weights.pay"),
        ({**ASKED, "weights": ["pay"]}, "privacy.plain.weights must be a table"),
        ({**ASKED, "column": ["pay"]}, "privacy.plain.column is not known"),
    ],
)
def test_policies_are_checked_as_they_are_read(plain: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        Policy(quasi_identifiers=["age"], sensitive=["pay"], privacy={"k": 4, "plain": plain})


@pytest.mark.parametrize(
    ("privacy", "sensitive", "size", "words"),
    [
        ({"k": 4, "plain": ASKED}, [], "k-anonymity", "no column is sensitive"),
        ({"k": 4, "plain": {"p": "0.8"}}, ["pay"], "k-anonymity", "d is missing"),
        ({"k": 4, "plain": ASKED}, ["pay"], "k-factor", "plain is about equivalence classes"),
        ({"k": 4, "l": 2, "plain": ASKED}, ["pay"], "sensitive-groups", "plain is about equivalence classes"),
        ({"k": 4, "plain": ASKED | {"margin": "0.8"}}, ["pay"], "k-anonymity", "margin must be below"),
    ],
)
def test_requests_that_mean_nothing(
    privacy: dict[str, object], sensitive: list[str], size: str, words: str
) -> None:
    with pytest.raises(PolicyError, match=words):
        from_policy(privacy, sensitive, size)


def test_no_public_table_beside_it() -> None:
    with pytest.raises(PolicyError, match="plain does not go with a public table"):
        from_policy({"k": 4, "plain": ASKED}, ["pay"], "k-join-anonymity", buckets=True)


def test_the_claim_says_every_column_and_its_weight() -> None:
    (claim,) = Plain(0.8, "0.850", 3, weights={"pay": 2}).claims(clinic(["1", "2", "3"]))
    assert claim.to_dict()["parameters"] == {
        "p": "0.8",
        "d": "0.85",
        "margin": "0.05",
        "form": "both",
        "distinct": 3,
        "removal": "once",
        "rescale": "yes",
        "columns": {"age": "1", "pay": "2"},
    }
    assert "inside it" in claim.adversary
    (printed,) = Plain("0.8", "0.85", 3, form="corner").claims(clinic(["1", "2", "3"]))
    assert "inside it" not in printed.adversary


def test_the_guard_vetoes_few_values_only() -> None:
    """Old and young together are not plain, whoever is added; that is no veto."""
    data = clinic(["1", "2", "1", "2", "1", "1"], age=["20", "21", "22", "23", "24", "90"])
    model = Plain("0.8", "0.9", 2, margin=0, removal="none")
    (guard,) = model.guards(data)
    assert isinstance(guard, Plainness)
    rows = [np.array(group, np.int32) for group in ([0, 1], [0, 2], [1, 5])]
    assert [guard.allows(group) for group in rows] == [True, False, True]
    assert [guard.plain(group) for group in rows] == [True, False, False]
    rule = model.rule(data)
    assert [rule.allows(group) for group in rows] == [True, False, False]
    assert [rule.reached(group) for group in rows] == [2, 1, 2]
    assert guard.space.size == 6


@pytest.mark.parametrize(
    ("pay", "more", "words"),
    [
        (
            ["1", "1", "2", "2"],
            {"distinct": 3},
            "2 different sensitive values < distinct=3: the table has too few",
        ),
        (["1", "2", "3", "99"], {"distinct": 4, "p": "0.7"}, "without those whose sensitive values"),
        (["1", "50", "99"], {"p": "0.3", "d": "0.1"}, "n=3: the sensitive values of all"),
        ([], {}, "no rows"),
        (["1", "2", "1", "2"], {}, ""),
    ],
)
def test_why_nothing_can_be_done(pay: list[str], more: dict[str, Any], words: str) -> None:
    wanted: dict[str, Any] = {"p": "0.9", "d": "0.9", "distinct": 2, "margin": 0} | more
    why = Plain(**wanted).infeasible(clinic(pay))
    assert (words in why) if words else why == ""
    assert "99" not in why


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(PolicyError, match="did you mean 'pay' for 'payy'"):
        Plain("0.8", "0.8", 2, columns=("age", "payy")).guards(clinic(["1", "2"]))
