"""What claims are checked against: owners, values in their order, votes."""

from __future__ import annotations

import numpy as np

from incrowd.schema import Claim, Column, Kind, Role, Schema
from incrowd.verifier.claims.subject import EquivalenceClasses, Histogram, Owners
from incrowd.verifier.columns import CodedColumn


def test_the_person_with_most_rows_of_each_class_is_found() -> None:
    entity = np.array([0, 2, 2, 1, 2, 1, 1, 0], np.int32)
    owners = Owners.of(entity, np.array([0, 1, 2, 3, 4, 5, 6]), linked=True)
    assert owners is not None
    assert owners.rows_of_owner.tolist() == [1, 3, 3, 3, 3, 3, 3]
    assert owners.largest(np.array([0, 0, 0, 1, 1, 2, 2])).tolist() == [2, 1, 2]
    assert owners.largest(np.array([1, 1, 1, 0, 0, 0, 0])).tolist() == [3, 2]
    assert owners.doubt == ""


def ranks(column: Column, *texts: str) -> tuple[list[int], int]:
    schema = Schema((Column("q", Role.QUASI), column), missing=frozenset(["?"]))
    coded = {column.name: CodedColumn(np.arange(len(texts), dtype=np.int32), texts)}
    classes = EquivalenceClasses(schema, np.zeros(len(texts), np.int64), np.array([1]), coded)
    found, size = classes.values(Claim("t-closeness", {}, column.name))
    return found.tolist(), size


def test_values_are_numbered_in_order_and_missing_first() -> None:
    pay = Column("pay", Role.SENSITIVE, Kind.NUMERIC)
    assert ranks(pay, "20", "?", "3", "3.0", "100") == ([2, 0, 1, 1, 3], 4)
    assert ranks(Column("ill", Role.SENSITIVE), "flu", "?", "") == ([2, 0, 1], 3)


def test_missing_that_an_order_names_has_its_place_there() -> None:
    size = Column("size", Role.SENSITIVE, Kind.ORDERED, order=("s", "?", "m", "l"))
    assert ranks(size, "l", "?", "s", "m") == ([3, 1, 0, 2], 4)


def test_everybody_has_one_vote() -> None:
    """The person with three rows has a third in each; the others have all of theirs."""
    owner_rows = np.array([3, 3, 3, 1, 2, 2])
    found = Histogram.of_votes(np.array([0, 0, 1, 1, 1, 1]), np.array([0, 1, 0, 0, 1, 1]), 2, owner_rows)
    assert found.group.tolist() == [0, 0, 1, 1]
    assert found.value.tolist() == [0, 1, 0, 1]
    assert found.count.tolist() == [2, 2, 2 + 6, 3 + 3]
    assert (len(found), found.rows.tolist(), found.total.tolist()) == (2, [4, 14], [10, 8])
