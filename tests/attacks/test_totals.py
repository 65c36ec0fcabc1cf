"""The attack totals: by hand on a small release, and that it is not run where nothing is stated."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import incrowd as ic
from incrowd.attacks.target import Target
from incrowd.attacks.totals import StatedTotals, totals
from incrowd.encode import encode
from incrowd.flow import Table
from incrowd.measures import published
from incrowd.policy import Policy


def scene(lines: list[tuple[str, str, str]]) -> StatedTotals:
    """Six people; one cell tells nothing, the other one value of two."""
    table = Table.of({"city": ["a", "a", "a", "b", "c", "c"]})
    shown = Table.of({"city": ["{a|b}", "{a|b}", "{a|b}", "{a|b}", "c", "c"]})
    policy = Policy(quasi_identifiers=["city"], privacy={"k": 2})
    data = encode(table, policy.schema(table))
    stated = Table.of(dict(zip(("column", "value", "rows"), zip(*lines, strict=True), strict=True)))
    return StatedTotals.of(Target(published(shown, data), data, np.arange(6)), stated)


def test_the_commonest_value_of_a_cell_is_named() -> None:
    found = totals(scene([("city", "a", "3"), ("city", "c", "2"), ("city", "*", "1")]))
    assert found.attack.won == 5  # three of four in the cell, and two who are exact
    assert found.guess.won == Fraction(4, 2) + 2
    assert found.control is not None
    assert found.control.won == found.attack.tried == 6
    assert found.bound is None
    assert found.details["city"] == pytest.approx(5 / 6)


def test_totals_that_say_nothing_add_nothing() -> None:
    found = totals(scene([("city", "*", "6")]))
    assert found.attack.won == found.guess.won


@pytest.mark.parametrize("stated", [False, True])
def test_it_runs_where_totals_are_stated(tmp_path_factory: pytest.TempPathFactory, stated: bool) -> None:
    folder = tmp_path_factory.mktemp("attack") / "release"
    table = Table.of({"age": [str(20 + i % 7) for i in range(42)], "ill": [str(i % 6) for i in range(42)]})
    asked = {"quasi_identifiers": ["age"], "sensitive": ["ill"], "privacy": {"k": 4}, "totals": stated}
    ic.publish(table, asked, folder)
    names = [result["name"] for result in ic.attack(folder, table, asked).to_dict()["attacks"]]
    assert ("totals" in names) == stated
