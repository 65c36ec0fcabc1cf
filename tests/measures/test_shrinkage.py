"""What others save when a combination leaves its class: against the definition, on columns of every kind."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.requested import Request, requests
from twins import suppression as naive

from incrowd.encode import encode
from incrowd.flow import Attribute, Microdata
from incrowd.measures import Combinations, shrinkage
from incrowd.publishing.suppression import _first
from incrowd.schema import Shape


def described(attribute: Attribute) -> naive.Column:
    """A column for the twin, whose values are codes: places of a range, else the codes themselves."""
    codes = [None if code == missing_of(attribute) else code for code in range(len(attribute))]
    found: naive.Column = {"values": codes, "ranged": attribute.shape is Shape.RANGE}
    if attribute.shape is Shape.RANGE:
        places = [None if code is None else Fraction(float(attribute.position[code])) for code in codes]
        found["values"] = places
        if len({place for place in places if place is not None}) < 2:
            found["ranged"] = False  # a column of one value and missing is charged as a set
    if attribute.shape is Shape.TREE and attribute.tree is not None:
        ends = zip(attribute.tree.low.tolist(), attribute.tree.high.tolist(), strict=True)
        found["nodes"] = [list(range(low, high + 1)) for low, high in ends]
    if attribute.family:
        found["family"] = [sorted(each) for each in attribute.family]
    return found


def missing_of(attribute: Attribute) -> int:
    """The code of a missing value that lies beside the others; in a set or a tree it may be one of them."""
    if attribute.shape is Shape.SET:
        return -1
    return -1 if attribute.missing_in_tree else attribute.missing


@given(requests(models=["k"], rows=(2, 16), entities=False), st.data())
def test_savings_are_those_of_the_definition(request: Request, data: st.DataObject) -> None:
    people = encode(request.table, request.policy.schema(request.table))
    drawn = data.draw(st.lists(st.integers(0, 2), min_size=len(people), max_size=len(people)))
    labels = np.unique(np.array(drawn, np.int32), return_inverse=True)[1].astype(np.int32)
    columns = [described(attribute) for attribute in people.attributes]
    records = [
        tuple(column["values"][code] for column, code in zip(columns, row, strict=True))
        for row in people.codes.tolist()
    ]
    classes = [[records[i] for i in np.flatnonzero(labels == g)] for g in range(int(labels.max()) + 1)]
    found = shrinkage(people, labels)
    for i, record in enumerate(records):
        assert found.records[found.of[i]] == records.count(record)
        wanted = naive.saved(columns, classes, record)
        assert abs(found.saved[found.of[i]] - float(wanted)) < 1e-9


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 5)), min_size=1, max_size=12), st.integers(0, 20))
def test_the_dearest_that_fit_are_taken_and_none_that_save_nothing(
    each: list[tuple[int, int]], budget: int
) -> None:
    records, saved = (np.array(part) for part in zip(*each, strict=True))
    found = Combinations(np.repeat(np.arange(records.size), records), records, saved.astype(np.float64))
    order = sorted(
        (u for u in range(len(each)) if saved[u]),
        key=lambda u: (-Fraction(int(saved[u]), int(records[u])), u),
    )
    assert found.dearest() == order
    assert _first(found, budget) == naive.first(order, dict(enumerate(records.tolist())), budget)


def test_the_one_who_stands_apart_saves_most() -> None:
    age = Attribute("age", *_numbers(["20", "21", "22", "90"]))
    people = Microdata(np.array([[0], [1], [2], [3]], np.int32), (age,))
    found = shrinkage(people, np.zeros(4, np.int32))
    assert found.dearest()[0] == 3
    assert found.saved[3] == 3 * (70 - 2) / 70


def _numbers(texts: list[str]) -> tuple[Any, ...]:
    from incrowd.schema import Kind

    return Kind.NUMERIC, Shape.RANGE, tuple(texts), np.array([float(text) for text in texts])
