"""Predicates: what SQL is read, and both evaluations against a slow twin, value by value and row by row."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.query import holds

from incrowd.encode import encode
from incrowd.errors import InputError
from incrowd.flow import Table
from incrowd.predicate import Name, Predicate, ValueDomain, in_units, intervals
from incrowd.predicate.sql import parse_where
from incrowd.schema import Column, Kind, Role, Schema
from incrowd.values import read_texts

OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN")
NUMBERS = ("-20", "-1", "-0.00001", "0", "1e-5", "3", "03", "3.0", "3.5", "1e3", "25")
DAYS = ("2023-12-31", "2024-02-28", "2024-02-29", "2024-03-01")
NAMES = ("F", "M", "missing", "a|b", "it's", "*")
LEVELS = {"DE": ("Ulm", "Bonn"), "FR": ("Nice", "Lyon")}


def spelt(text: str, kind: Kind) -> str:
    return text if kind is Kind.NUMERIC else "'" + text.replace("'", "''") + "'"


def sql_of(column: str, operator: str, literals: list[str]) -> str:
    if operator == "BETWEEN":
        return f"{column} BETWEEN {literals[0]} AND {literals[1]}"
    return (
        f"{column} IN ({', '.join(literals)})" if operator == "IN" else f"{column} {operator} {literals[0]}"
    )


def value(text: str, kind: Kind) -> Any:
    if kind is Kind.NUMERIC:
        return Fraction(text)
    return date.fromisoformat(text) if kind is Kind.DATE else text


@st.composite
def conjunctions(draw: st.DrawFn) -> tuple[Kind, list[str | None], list[tuple[str, list[str]]]]:
    """The kind of a column, a text for each row (None is missing), and what it is compared with."""
    kind = draw(st.sampled_from([Kind.NUMERIC, Kind.DATE, Kind.CATEGORICAL]))
    texts = {Kind.NUMERIC: NUMBERS, Kind.DATE: DAYS, Kind.CATEGORICAL: NAMES}[kind]
    rows = draw(st.lists(st.sampled_from([*texts, None]), min_size=1, max_size=12))
    allowed = OPERATORS if kind is not Kind.CATEGORICAL else ("=", "<>", "IN")
    compared = st.tuples(st.sampled_from(allowed), st.lists(st.sampled_from(texts), min_size=2, max_size=3))
    return kind, rows, draw(st.lists(compared, max_size=3))


@settings(deadline=None, max_examples=300)
@given(conjunctions())
def test_codes_satisfy_what_rows_do(case: tuple[Kind, list[str | None], list[tuple[str, list[str]]]]) -> None:
    kind, rows, compared = case
    table = Table.of({"x": [text or "" for text in rows], "y": ["1"] * len(rows)})
    schema = Schema((Column("x", Role.QUASI, kind), Column("y", Role.QUASI, Kind.NUMERIC)))
    data = encode(table, schema)
    sql = " AND ".join(sql_of("x", op, [spelt(text, kind) for text in texts]) for op, texts in compared)
    predicate = parse_where(sql) if sql else Predicate()
    mask = ValueDomain.of(data.attributes[0]).satisfying(predicate.conditions)
    literals = [(op, [value(text, kind) for text in texts]) for op, texts in compared]
    literals = [(op, said[:2] if op == "BETWEEN" else said) for op, said in literals]
    expected = [
        all(holds(None if text is None else value(text, kind), op, said) for op, said in literals)
        for text in rows
    ]
    assert mask[data.codes[:, 0]].tolist() == expected


@settings(deadline=None, max_examples=300)
@given(conjunctions().filter(lambda case: case[0] is not Kind.CATEGORICAL))
def test_both_evaluations_agree(case: tuple[Kind, list[str | None], list[tuple[str, list[str]]]]) -> None:
    """On the line and value by value: two ways that share no arithmetic."""
    kind, rows, compared = case
    values = read_texts([text for text in rows if text is not None], kind)
    sql = " AND ".join(sql_of("x", op, [spelt(text, kind) for text in texts]) for op, texts in compared)
    conditions = parse_where(sql).conditions if sql else ()
    found = intervals(conditions, kind, "x", 5)
    places = [2 * in_units(one, found.scale) for one in values]  # type: ignore[arg-type]
    inside = [
        any((low is None or low <= at) and (high is None or at <= high) for low, high in found.ends)
        for at in places
    ]
    assert ValueDomain("x", kind, values).satisfying(conditions).tolist() == inside


def test_a_label_stands_for_the_values_under_it() -> None:
    rows = tuple((leaf, label, "*") for label, leaves in LEVELS.items() for leaf in leaves)
    schema = Schema((Column("place", Role.QUASI, levels=rows),))
    data = encode(Table.of({"place": ["Ulm", "Nice", "", "Bonn"]}), schema)
    domain = ValueDomain.of(data.attributes[0])

    def found(sql: str) -> list[bool]:
        mask: list[bool] = domain.satisfying(parse_where(sql).conditions)[data.codes[:, 0]].tolist()
        return mask

    assert found("place = 'DE'") == [True, False, False, True]
    assert found("place <> 'DE'") == [False, True, False, False]
    assert found("place IN ('FR', 'Ulm')") == [True, True, False, False]
    assert found("place = 'nowhere'") == [False] * 4


def test_names_may_have_other_capitals_unless_quoted() -> None:
    assert Name("AGE").among(["age", "sex"], "in the table") == "age"
    with pytest.raises(InputError, match="not in the table: AGE"):
        Name("AGE", quoted=True).among(["age", "sex"], "in the table")
    with pytest.raises(InputError, match="not in the table: age"):
        Name("age").among(["Age", "AGE"], "in the table")
    by_column = parse_where("Age > 3 AND sex = 'F' AND age < 9").by_column(["age", "sex"], "in the table")
    assert {name: [one.operator for one in said] for name, said in by_column.items()} == {
        "age": [">", "<"],
        "sex": ["="],
    }


def test_what_lies_on_no_line_has_no_order() -> None:
    with pytest.raises(InputError, match="sex is categorical"):
        ValueDomain("sex", Kind.CATEGORICAL, ["F", "M"]).satisfying(parse_where("sex < 'M'").conditions)
    with pytest.raises(InputError, match="age holds numbers"):
        ValueDomain("age", Kind.NUMERIC, [1]).satisfying(parse_where("age < 'secret'").conditions)
    assert np.array_equal(ValueDomain("age", Kind.NUMERIC, [1, None]).satisfying(()), [True, True])
