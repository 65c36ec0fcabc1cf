"""In every world that has these quasi-identifiers, whatever the values, the same people are left out."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from support.unusual_people import asked, town, values_along

import incrowd as ic
from incrowd.flow import Table

UNKNOWN = (0, 40, 80, 1)  # three who are unusual, and one who is not


@pytest.mark.parametrize("privacy", [{}, {"l": 3}])
def test_the_same_people_are_left_out_in_all_worlds(privacy: dict[str, Any]) -> None:
    """So who is left out says nothing about anybody's value, and nothing that is not known already."""
    table, policy = values_along(town(), "age"), asked("hilbert", privacy=privacy)
    columns = {name: table.column(name).rows() for name in table.names}
    found = set()
    for values in product(["flu", "cold"], repeat=len(UNKNOWN)):
        for person, value in zip(UNKNOWN, values, strict=True):
            columns["ill"][person] = value
        kept = ic.publish(Table.of(columns), policy)._draft.grouping.kept.tolist()
        found.add(tuple(kept))
    assert len(found) == 1
    assert len(min(found)) < len(table)
