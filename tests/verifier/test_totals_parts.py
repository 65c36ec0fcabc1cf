"""Totals line by line: what just holds, and what is refused in its own words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from verifier.test_verifier import Lines

from incrowd.schema import Claim, Column, Kind, Role, Schema
from incrowd.verifier import Expected, PublishedTables, verify_rows
from incrowd.verifier.columns import CodedColumn, as_is
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.totals import HEADER, _largest, _read, check_totals, check_totals_by_count

JOB, AGE = Column("q", Role.QUASI), Column("q", Role.QUASI, Kind.NUMERIC)


def checked(
    texts: Sequence[str],
    *lines: tuple[str, str],
    column: Column = JOB,
    ks: Sequence[int] = (1,),
    entity: Sequence[int] | None = None,
    counted: bool = False,
) -> None:
    """Every record has a text of its own place, or texts come with how often they occur."""
    coded = CodedColumn(np.arange(len(texts), dtype=np.int32), texts)
    persons = None if entity is None else np.array(entity, np.int32)
    tables: Any = SimpleNamespace(quasi={"q": coded}, entity=persons)
    claims = [Claim("k-anonymity", {"k": k}) for k in ks] or [Claim("distinct-l-diversity", {"l": 2}, "s")]
    table = Lines(HEADER, [("q", *line) for line in lines])
    if counted:
        often = dict(sorted(Counter(texts).items()))
        by_text = {"q": ([*often], np.array([*often.values()]))}
        check_totals_by_count(table, as_is, [column], frozenset([""]), by_text, claims)
    else:
        check_totals(table, as_is, [column], frozenset([""]), tables, claims)


@pytest.mark.parametrize("counted", [False, True])
def test_totals_that_hold(counted: bool) -> None:
    checked(["a", "a", "b"], ("a", "2"), ("b", "1"), counted=counted)
    checked(["a", "a", "b", ""], ("a", "2"), ("*", "2"), counted=counted)
    checked(["1", "2", "3"], ("[1,2]", "2"), ("3", "1"), column=AGE, counted=counted)
    checked(["1", "2", "", ""], ("missing", "2"), ("[1,2]", "2"), column=AGE, ks=(2, 1), counted=counted)
    checked(["a", "a", "a", "a"], ("a", "4"), ks=(2,), entity=[0, 0, 1, 1])


@pytest.mark.parametrize(
    ("texts", "lines", "more", "words"),
    [
        ("ab", [("a", "1")], {}, "somebody's value is in no line"),
        ("aab", [("a", "1"), ("b", "1")], {}, "not the number of rows"),
        ("aab", [("a", "2"), ("b", "1")], {"ks": (1, 2)}, "about fewer than 2 persons"),
        ("aab", [("a", "2"), ("b", "1")], {"ks": (2, 1)}, "about fewer than 2 persons"),
        ("aab", [("a", "2"), ("b", "1")], {"ks": ()}, "no claim has a k"),
        ("aaaa", [("a", "4")], {"ks": (2,), "entity": [0, 0, 0, 1]}, "about fewer than 2 persons"),
        ("ab", [("{b|a}", "2")], {}, "not written in the one form"),
        ("abc", [("a", "1"), ("{a|b}", "1"), ("*", "1")], {}, "two lines have values in common"),
        ("12", [("[1,2]", "1"), ("2", "1")], {"column": AGE}, "two lines have values in common"),
        ("12", [("2", "1"), ("1", "1")], {"column": AGE}, "not in the order they must have"),
        ("ab", [("b", "1"), ("a", "1")], {}, "not in the order they must have"),
        ("abb", [("*", "2"), ("a", "1")], {}, "not in the order they must have"),
        ("a", [("a", "0")], {}, "lacks something, or counts no rows"),
        ("a", [("a", "01")], {}, "lacks something, or counts no rows"),
    ],
)
def test_totals_that_do_not(
    texts: str, lines: list[tuple[str, str]], more: dict[str, Any], words: str
) -> None:
    with pytest.raises(CheckFailed, match=words):
        checked([*texts], *lines, **more)
    if "entity" not in more:
        with pytest.raises(CheckFailed, match=words):
            checked([*texts], *lines, **more, counted=True)


def test_what_is_wrong_names_its_column() -> None:
    for counted in (False, True):
        with pytest.raises(CheckFailed, match="the table of totals, q: somebody's value is in no line"):
            checked(["a", "b", "c"], ("b", "1"), ("c", "1"), counted=counted)
        with pytest.raises(CheckFailed, match="the table of totals, q: somebody's value is in no line"):
            checked(["a", "b", "c"], ("a", "1"), counted=counted)


def test_columns_come_once() -> None:
    lines = [("a", "x", "1"), ("b", "y", "1")]
    assert list(_read(Lines(HEADER, lines), as_is)) == ["a", "b"]
    with pytest.raises(CheckFailed, match="comes back to a column"):
        _read(Lines(HEADER, [*lines, ("a", "z", "1")]), as_is)
    tables: Any = SimpleNamespace(quasi={}, entity=None)
    with pytest.raises(CheckFailed, match="the table of totals is not there"):
        check_totals(None, as_is, [], frozenset(), tables, [])


def test_the_person_with_most_rows_of_a_line() -> None:
    line = np.array([0, 0, 0, 1, 1, 0])
    assert _largest(line, np.array([0, 0, 1, 2, 2, 2], np.int32)).tolist() == [2, 2]
    assert _largest(line, np.array([1, 1, 1, 0, 1, 1], np.int32)).tolist() == [4, 1]
    assert _largest(line, None).tolist() == [1, 1]


def test_persons_and_empty_texts_are_read() -> None:
    """A person with two rows is one; where rows have NULL and empty texts, the original must have both."""
    columns = (Column("q", Role.QUASI), Column("who", Role.ENTITY), Column("s", Role.SENSITIVE))
    claims = [Claim("k-persons", {"k": 1})]
    original = Lines(["q", "who", "s"], [["a", "1", ""], ["a", "1", ""]])
    found = verify_rows(
        original, PublishedTables(Lines(["q", "s"], [["a", ""]] * 2)), Expected(Schema(columns), claims)
    )
    assert found.passed, found.failures
    assert found.facts["smallest_class"] == 1
    both = Lines(["q", "s"], [["a", ""], ["a", None]])
    for canonical in (False, True):
        found = verify_rows(
            original, PublishedTables(both, canonical=canonical), Expected(Schema(columns), claims)
        )
        assert found.passed != canonical
        if canonical:
            assert "both NULL and empty texts" in found.failures[0].detail
