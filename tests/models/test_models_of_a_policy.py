"""From the words of a policy to models."""

from __future__ import annotations

import pytest

from incrowd.contracts import Model
from incrowd.errors import PolicyError
from incrowd.models import (
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    RecursiveDiversity,
    from_policy,
)


@pytest.mark.parametrize(
    ("privacy", "expected"),
    [
        ({"k": 5}, ()),
        ({"k": 5, "l": 3}, (DistinctDiversity(3, "x"), DistinctDiversity(3, "y"))),
        (
            {"k": 5, "l": 2.5, "l_kind": "entropy"},
            (EntropyDiversity("2.5", "x"), EntropyDiversity("2.5", "y")),
        ),
        (
            {"k": 5, "l": 3, "l_kind": "recursive", "c": 2},
            (RecursiveDiversity(2, 3, "x"), RecursiveDiversity(2, 3, "y")),
        ),
        (
            {"k": 5, "l": 3, "l_kind": "frequency"},
            (FrequencyDiversity(3, "x"), FrequencyDiversity(3, "y")),
        ),
        ({"k": 5, "t": 0.2, "l": None}, (Closeness("0.2", "equal", "x"), Closeness("0.2", "equal", "y"))),
        (
            {"k": 5, "t": "0.2", "t_distance": "ordered", "l": 2},
            (
                DistinctDiversity(2, "x"),
                Closeness("0.2", "ordered", "x"),
                DistinctDiversity(2, "y"),
                Closeness("0.2", "ordered", "y"),
            ),
        ),
    ],
)
def test_policy_words(privacy: dict[str, object], expected: tuple[Model, ...]) -> None:
    assert from_policy(privacy, ["x", "y"]) == (KAnonymity(5), *expected)


@pytest.mark.parametrize(
    ("privacy", "sensitive", "words"),
    [
        ({}, ["x"], "k is missing"),
        ({"k": 1}, [], "at least 2, got 1"),
        ({"k": True}, [], "k must be a whole number"),
        ({"k": 5, "el": 3}, ["x"], "not in \\[privacy\\]: el"),
        ({"k": 5, "l": 3}, [], "l is about sensitive values"),
        ({"k": 5, "t": "0.1"}, [], "t is about sensitive values"),
        ({"k": 5, "l_kind": "entropy"}, ["x"], "l_kind means nothing without l"),
        ({"k": 5, "c": 2}, ["x"], "c means nothing without l"),
        ({"k": 5, "t_distance": "equal"}, ["x"], "t_distance means nothing without t"),
        ({"k": 5, "l": 3, "c": 2}, ["x"], "go together"),
        ({"k": 5, "l": 3, "c": 2, "l_kind": "entropy"}, ["x"], "go together"),
        ({"k": 5, "l": 3, "l_kind": "recursive"}, ["x"], "go together"),
        ({"k": 5, "l": 3, "l_kind": "strict"}, ["x"], "one of distinct, entropy, recursive, frequency"),
        ({"k": 5, "l": 2.5, "l_kind": "frequency"}, ["x"], "l must be a whole number"),
        ({"k": 5, "l": 2.5}, ["x"], "l must be a whole number"),
        ({"k": 5, "t": 1.5}, ["x"], "t must be a number above 0 and at most 1, got 1.5"),
        ({"k": 5, "t": 0.5, "t_distance": "far"}, ["x"], "distance must be one of"),
    ],
)
def test_policy_errors(privacy: dict[str, object], sensitive: list[str], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        from_policy(privacy, sensitive)
