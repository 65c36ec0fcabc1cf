"""What a policy makes of a table: every column with a role, a kind, a shape and its hierarchy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from incrowd.errors import HierarchyError, PolicyError
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.schema import Column, Kind, Role, Shape

TABLE = Table.of({"name": ["Ann", "Bob"], "age": ["30", "41"], "sex": ["F", "M"], "disease": ["flu", "cold"]})


def column(policy: Policy, name: str, table: Table) -> Column:
    return policy.schema(table).column(name)


def one(texts: list[str | None], said: dict[str, Any], **parts: Any) -> Column:
    """The column that a table with one quasi-identifier gets."""
    policy = Policy(quasi_identifiers={"x": said}, **parts)
    return column(policy, "x", Table.of({"x": texts}))


def test_columns_without_a_role_are_named() -> None:
    with pytest.raises(PolicyError, match="have no role, so nothing is published") as caught:
        Policy(quasi_identifiers=["age", "sex"]).schema(TABLE)
    assert "disease" in str(caught.value)
    assert "age" not in str(caught.value)


def test_misspelt_columns_are_suggested() -> None:
    with pytest.raises(PolicyError, match="did you mean 'age' for 'agee'"):
        Policy(quasi_identifiers=["agee"]).schema(TABLE)


def test_names_agree_however_accents_are_typed() -> None:
    schema = Policy(quasi_identifiers=["\u00e2ge"]).schema(Table.of({"a\u0302ge": ["1"]}))
    assert schema.columns[0].name == "a\u0302ge"


@pytest.mark.parametrize(
    ("texts", "said", "kind", "shape"),
    [
        (["1", "2.5"], {}, Kind.NUMERIC, Shape.RANGE),
        (["01", "2"], {}, Kind.CATEGORICAL, Shape.SET),
        (["2024-01-01"], {}, Kind.DATE, Shape.RANGE),
        (["31.12.2024"], {"format": "dd.mm.yyyy"}, Kind.DATE, Shape.RANGE),
        (["1", "2"], {"type": "categorical"}, Kind.CATEGORICAL, Shape.SET),
        (["1", "2"], {"publish": "set"}, Kind.NUMERIC, Shape.SET),
        (["10", "11"], {"hierarchy": {"prefix": [1]}}, Kind.CATEGORICAL, Shape.TREE),
        (["10", "11"], {"hierarchy": {"intervals": [5]}}, Kind.NUMERIC, Shape.TREE),
        (["31.12.2024"], {"format": "dd.mm.yyyy", "hierarchy": {"dates": ["year"]}}, Kind.DATE, Shape.TREE),
        (["lo", "hi"], {"type": "ordered", "values": ["lo", "mid", "hi"]}, Kind.ORDERED, Shape.SET),
        (["1", "", None], {}, Kind.NUMERIC, Shape.RANGE),
        (["", None], {}, Kind.CATEGORICAL, Shape.SET),
    ],
)
def test_kinds_and_shapes(texts: list[str | None], said: dict[str, Any], kind: Kind, shape: Shape) -> None:
    found = one(texts, said)
    assert (found.kind, found.shape) == (kind, shape)
    assert bool(found.levels) == (shape is Shape.TREE)


def test_missing_texts_do_not_decide_the_kind() -> None:
    assert one(["1", "?"], {}).kind is Kind.CATEGORICAL
    assert one(["1", "?"], {}, missing=["?"]).kind is Kind.NUMERIC


def test_texts_that_no_row_has_do_not_count() -> None:
    table = Table.of({"x": ["1", "unheard of"]})
    first = Table(("x",), (table.columns[0].take(table.columns[0].codes[:1]),))
    assert column(Policy(quasi_identifiers=["x"]), "x", first).kind is Kind.NUMERIC


def test_leaves_are_compared_as_values(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("1;low;*\n2;low;*\n", encoding="utf-8")
    said = {"x": {"type": "numeric", "hierarchy": "h.csv"}}
    policy = Policy.from_dict({"quasi_identifiers": said}, folder=tmp_path)
    assert column(policy, "x", Table.of({"x": ["1.0", "02"]})).levels == (
        ("1", "low", "*"),
        ("2", "low", "*"),
    )
    with pytest.raises(HierarchyError, match="lacks 1 of the column's 2"):
        policy.schema(Table.of({"x": ["1", "3"]}))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"publish": "range"}, "only numbers and dates are published as ranges"),
        ({"mean": True}, "only numbers have a mean"),
        ({"type": "ordered", "values": ["a"]}, "has 1 distinct values that its list 'values' does not name"),
    ],
)
def test_what_the_table_contradicts_is_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        one(["a", "b"], said)


def test_a_family_is_for_categories() -> None:
    with pytest.raises(PolicyError, match="a family is for categorical"):
        one(["1", "2"], {"family": [["1", "2"]]})


def test_a_family_is_closed_or_refused() -> None:
    overlapping = [["a", "b", "c"], ["b", "c", "d"]]
    with pytest.raises(HierarchyError, match="lacks 1 intersections"):
        one(["a", "b", "c", "d", "e"], {"family": overlapping})
    completed = one(["a", "b", "c", "d", "e"], {"family": overlapping, "complete": True}).family
    assert completed == (frozenset("bc"), frozenset("abc"), frozenset("bcd"))


def test_a_family_keeps_what_it_names() -> None:
    assert one(["a", "b"], {"family": [["a", "b"]]}).family == (frozenset("ab"),)
    assert one(["a", "b"], {"family": [["a", "z"]]}).family == (frozenset("az"),)


def test_sensitive_columns_can_be_described() -> None:
    policy = Policy(quasi_identifiers=["q"], sensitive={"s": {"type": "ordered", "values": ["lo", "hi"]}})
    found = column(policy, "s", Table.of({"q": ["1"], "s": ["lo"]}))
    assert (found.role, found.kind, found.order) == (Role.SENSITIVE, Kind.ORDERED, ("lo", "hi"))


def test_a_policy_without_quasi_identifiers_is_refused_with_the_table() -> None:
    with pytest.raises(PolicyError, match="nothing to generalise"):
        Policy(keep=["a"]).schema(Table.of({"a": ["1"]}))


def test_an_unreadable_builder_is_refused_before_anything_is_built() -> None:
    with pytest.raises(PolicyError, match="did you mean 'prefix' for 'prefx'"):
        one(["a"], {"hierarchy": {"prefx": [1]}})
