"""Suggested roles against roles by hand: on the real tables, and on names that no rule was fitted to."""

from __future__ import annotations

from functools import cache

import pytest
from support.places import DATA
from support.roles_by_hand import ROWS, Judged, Scores, names_by_hand, tables_by_hand

from incrowd import tables
from incrowd.commands.inspect.profile import profiled
from incrowd.flow import Table
from incrowd.schema import Role


@cache
def judged_tables() -> tuple[Judged, ...]:
    found = []
    for name, letters in tables_by_hand().items():
        if not (DATA / name).exists():
            pytest.skip(f"{name} is not there; set INCROWD_DATA to the folder of the real tables")
        columns = profiled(tables.read(DATA / name)).columns
        assert [column.name for column in columns] == list(letters)
        found += [Judged(f"{name} {c.name}", letters[c.name], c.role) for c in columns]
    return tuple(found)


@cache
def judged_names() -> tuple[Judged, ...]:
    """Each name in a table of its own, beside a column that is surely a quasi-identifier."""
    beside = ["F", "M"] * (ROWS // 2)
    return tuple(
        Judged(name, letters, profiled(Table.of({name: values, "sex ": beside})).columns[0].role)
        for name, values, letters in names_by_hand()
    )


def test_roles_of_the_real_tables_reach_the_bar() -> None:
    scores = Scores.of(judged_tables())
    assert scores.quasi[0] >= 0.95 * scores.quasi[1], scores.wrong
    assert scores.known[0] >= 0.95 * scores.known[1], scores.wrong
    assert scores.sensitive[0] >= 0.9 * scores.sensitive[1], scores.wrong
    assert scores.identifiers[0] == scores.identifiers[1], scores.wrong
    assert scores.raw[0] == 0, scores.wrong


def test_roles_of_other_names_reach_the_bar() -> None:
    assert len(judged_names()) >= 250
    scores = Scores.of(judged_names())
    assert scores.quasi[0] >= 0.95 * scores.quasi[1], scores.wrong
    assert scores.sensitive[0] >= 0.8 * scores.sensitive[1], scores.wrong
    assert scores.identifiers[0] >= 0.95 * scores.identifiers[1], scores.wrong
    assert scores.raw[0] == 0, scores.wrong


def test_the_bar_would_be_missed_by_taking_everything_for_known() -> None:
    """The measure itself: the careless answers of before do not pass."""
    every = Scores.of(Judged(one.name, one.letters, Role.QUASI) for one in judged_names())
    raw = Scores.of(Judged(one.name, one.letters, Role.SENSITIVE) for one in judged_names())
    assert every.quasi[0] < 0.7 * every.quasi[1]
    assert every.sensitive[0] == 0
    assert raw.raw[0] > 0.8 * raw.raw[1]
