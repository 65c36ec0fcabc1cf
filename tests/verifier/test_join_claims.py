"""Joins with a public table, part by part: who counts, what rows say of a class, what a manifest states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.verifier_cases import Case, verified

from incrowd.schema import Claim, Column, Kind, Role, Schema, Verdict
from incrowd.verifier import PublicTable
from incrowd.verifier.claims.join import PrivateCounts, check_presence, stated_rows
from incrowd.verifier.claims.join_presence import even_presence
from incrowd.verifier.claims.registry import joins
from incrowd.verifier.columns import CodedColumn, folded
from incrowd.verifier.failure import CheckFailed


@dataclass
class Lines:
    names: Sequence[str]
    rows: Sequence[Sequence[str | None]]

    def __iter__(self) -> Any:
        return iter(self.rows)


# What rows say of their class


def present(
    said: Sequence[tuple[int, int]], mine: Sequence[int], most: str = "1", certain: str = "yes", k: int = 2
) -> str:
    """Rows that say (people, private) of their class; those that say the same are one kind."""
    counts = PrivateCounts(*(np.array(column) for column in zip(*said, strict=True)))
    claim = Claim("even-presence", {"k": k, "most": most, "certain": certain})
    private = np.isin(np.arange(len(said)), mine)
    return check_presence(claim, counts, folded([counts.people, counts.private]), private)


THIRDS = [(3, 1)] * 3 + [(3, 2)] * 3


@pytest.mark.parametrize(
    ("said", "mine", "asked", "words"),
    [
        (THIRDS, [0, 3, 4], {"k": 4}, "a class has fewer than 4 people"),
        ([(2, 1)] * 2 + [(3, 1)] * 3, [0, 2], {"k": 3}, "a class has fewer than 3 people"),
        ([(2, 3)] * 2 + [(2, 1)] * 2, [0, 1, 2], {}, "a class has more private people than people"),
        ([(3, 1)] * 2, [0], {}, "not as many rows as its rows say"),
        (THIRDS, [0, 1, 3], {}, "2 classes have another number of private people"),
        (THIRDS, [0, 3, 4], {"certain": "maybe"}, "neither yes nor no"),
        (THIRDS, [0, 3, 4], {"most": "0.66"}, "a larger share of private people than is claimed"),
        ([(2, 2)] * 2, [0, 1], {"certain": "no"}, "everybody of a class is private"),
    ],
)
def test_shares_that_are_not_kept(
    said: list[tuple[int, int]], mine: list[int], asked: dict[str, Any], words: str
) -> None:
    with pytest.raises(CheckFailed, match=words):
        present(said, mine, **asked)


def test_shares_that_are_just_kept() -> None:
    assert present(THIRDS, [0, 3, 4], most="0.6667", certain="no", k=3) == "2/3"
    assert present([(2, 1)] * 4, [0, 1], most="0.5", certain="no") == "1/2"
    assert present([(2, 2)] * 2, [0, 1]) == "1"


def shares(groups: Sequence[int] | None, mine: Sequence[int], column: str = "") -> str:
    """Four rows of one class that say (2, 1), in these groups."""
    claim = Claim("even-presence", {"k": 2, "most": "1", "certain": "no"}, column)
    coded = None if groups is None else CodedColumn(np.array(groups, np.int32), ["1", "2"])
    tables = SimpleNamespace(
        coded=SimpleNamespace(row_class=np.zeros(4, np.int64)),
        counts=PrivateCounts(np.full(4, 2), np.full(4, 1)),
        groups=coded,
        own=2,
    )
    match = np.where(np.isin(np.arange(4), mine), 0, 9)
    subject: Any = SimpleNamespace(tables=tables, graph=SimpleNamespace(match=match))
    return even_presence(claim, subject)


def test_rows_of_different_groups_are_different_classes() -> None:
    assert shares(None, [0, 1]) == shares([0, 0, 1, 1], [0, 2]) == "1/2"
    with pytest.raises(CheckFailed, match="2 classes have another number"):
        shares([0, 0, 1, 1], [0, 1])
    with pytest.raises(CheckFailed, match="is about all rows, not about one column"):
        shares(None, [0, 1], "ill")


# What a manifest states


PUBLIC = PublicTable(Lines(["id"], []), "id")
SECOND = replace(PUBLIC, check=Lines(["id"], []))
STATED = {"kind": "DataFrame", "rows": 0, "id": "id"}


def test_what_is_stated_of_the_public_table_is_read() -> None:
    assert stated_rows(STATED, PUBLIC) == (0, None)
    assert stated_rows({**STATED, "source": "register", "date": "2024-02-29"}, PUBLIC) == (0, None)
    assert stated_rows({**STATED, "checked_against": {"kind": "x", "rows": 3}}, SECOND) == (0, 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"more": 1}, "does not describe the public table, or has unknown keys"),
        ({"id": "name"}, "a different column that identifies people"),
        ({"source": ""}, "has no name"),
        ({"source": 5}, "has no name"),
        ({"date": "tomorrow"}, "is not a date"),
        ({"date": 5}, "is not a date"),
        ({"date": "20240229"}, "is not a date"),
        ({"kind": ""}, "neither a SHA-256 nor a kind for the public table"),
        ({"kind": 5}, "neither a SHA-256 nor a kind for the public table"),
        ({"rows": -1}, "the number of rows of the public table is not a whole number"),
        ({"rows": True}, "the number of rows of the public table is not a whole number"),
        ({"checked_against": {"kind": "x", "rows": 0}}, "the table that confirmed the public one is needed"),
    ],
)
def test_what_is_stated_wrongly_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(CheckFailed, match=words):
        stated_rows({**STATED, **change}, PUBLIC)


def test_a_digest_is_one() -> None:
    named = {"sha256": "x" * 64, "rows": 0, "id": "id"}
    with pytest.raises(CheckFailed, match="no valid SHA-256 for the public table"):
        stated_rows(named, PUBLIC)
    assert stated_rows({**named, "sha256": "0" * 64}, PUBLIC) == (0, None)


# Who counts


SMALL = Schema((Column("id", Role.IDENTIFIER), Column("age", Role.QUASI, Kind.NUMERIC)))


def joined(
    own: Sequence[str], listed: Sequence[str], rows: int, second: Sequence[str] | None = None
) -> Verdict:
    """Everybody is 30, and so say all rows; the join is blind."""

    def table(ids: Sequence[str]) -> Lines:
        return Lines(["id", "age"], [[name, "30"] for name in ids])

    public = PublicTable(table(listed), "id", None if second is None else table(second))
    claims = [Claim("k-join-anonymity", {"k": 1})]
    return verified(Case(table(own), Lines(["age"], [["30"]] * rows), SMALL, claims, public=public))


def test_nobody_is_suppressed_beside_a_public_table() -> None:
    names = ["id", "age"]
    public = PublicTable(Lines(names, [["a", "30"], ["b", "30"]]), "id")
    claims = [Claim("k-join-anonymity", {"k": 1})]
    rows = Lines(["age"], [["30"]] * 2)
    case = Case(Lines(names, [["a", "30"]]), rows, SMALL, claims, public=public)
    assert verified(case).facts["suppressed"] == 0
    told = "with a public table no row may be suppressed"
    for other in (replace(case, suppressed=1), replace(case, max_suppression=Fraction(1, 2))):
        assert verified(other).failures[0].detail == told
    linked = verified(replace(case, links=np.array([1, 0])))
    assert linked.facts["presence"] == {"least": "1/2", "most": "1/2"}


def test_whoever_is_listed_once_counts() -> None:
    assert joined(["a"], ["b", "a", "b", ""], 2).facts["people"] == 2
    assert joined(["a"], ["a", "b", "7", "07"], 1).facts["people"] == 2, "7 and 07 may be one person"
    assert joined(["a"], ["a", "b", "c"], 1, second=["a", "b"]).facts["people"] == 2


@pytest.mark.parametrize(
    ("own", "listed", "second"),
    [
        (["a"], ["b"], None),
        (["7"], ["7", "07"], None),
        (["7"], ["07"], None),
        (["a", "b"], ["a", "b"], ["a"]),
    ],
    ids=["not there", "in doubt", "written differently", "not confirmed"],
)
def test_everybody_private_is_listed_beyond_doubt(
    own: list[str], listed: list[str], second: list[str] | None
) -> None:
    [first, *_] = joined(own, listed, len(own), second).failures
    assert first.name == "cells"
    words = "1 records of the original table are not, or not beyond doubt, in the public table"
    assert first.detail == words


def test_people_of_a_second_source_are_told_by_what_texts_mean() -> None:
    """30 and 30.0 are one age; what cannot be read means itself."""

    def confirmed(age: str, said: str) -> int:
        public = PublicTable(
            Lines(["id", "age"], [["a", "30"], ["b", age]]),
            "id",
            Lines(["id", "age"], [["a", "30"], ["b", said]]),
        )
        original = Lines(["id", "age"], [["a", "30"]])
        claims = [Claim("k-join-anonymity", {"k": 1})]
        case = Case(original, Lines(["age"], [["30"]]), SMALL, claims, public=public)
        return int(verified(case).facts["people"])

    assert confirmed("31", "31.0") == 2
    assert confirmed("31", "32") == 1


def test_columns_of_any_size_are_folded() -> None:
    columns = [np.array([0, 2, 0, 2]), np.array([5, 0, 5, 1]), np.zeros(4, np.int64)]
    assert folded(columns).tolist() == [0, 1, 0, 2]
    assert folded([np.empty(0, np.int64)]).tolist() == []
    assert Fraction(int(folded([np.array([10**12, 0])])[0])) == 1


@pytest.mark.parametrize("model", ["k-join-anonymity", "even-presence"])
def test_claims_about_both_tables_are_known_as_such(model: str) -> None:
    assert joins([Claim(model, {})])
    assert not joins([Claim("k-anonymity", {})])
