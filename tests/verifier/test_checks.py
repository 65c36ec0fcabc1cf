"""The checks one by one, on tables of a few rows: each refuses by itself, in its own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from incrowd.schema import Claim, Column, Role, Schema, Verdict
from incrowd.verifier import Expected, PublishedTables, Stated, Witness, verify_rows
from incrowd.verifier.claims.registry import MODELS, hides_suppression


@dataclass
class Lines:
    names: Sequence[str]
    rows: Sequence[Sequence[str | None]]

    def __iter__(self) -> Any:
        return iter(self.rows)


SCHEMA = Schema((Column("q", Role.QUASI), Column("other", Role.DROP)))
ONE = Claim("k-anonymity", {"k": 1})
PLAIN = Claim("plain", {})
HIDDEN = "the manifest tells how many rows are suppressed, and so how many are outliers"


def original(*texts: str) -> Lines:
    return Lines(("q", "other"), [(text, "") for text in texts])


def rows(*texts: str) -> Lines:
    return Lines(("q",), [(text,) for text in texts])


def totals(*lines: tuple[str, str]) -> Lines:
    return Lines(("column", "value", "rows"), [("q", *line) for line in lines])


def found(
    records: Lines,
    published: PublishedTables,
    claims: Sequence[Claim] = (ONE,),
    links: Sequence[int] | None = None,
    **expected: Any,
) -> Verdict:
    asked = Expected(SCHEMA, claims, **{"max_suppression": None, **expected})
    witness = Witness(None if links is None else np.array(links))
    return verify_rows(records, published, asked, witness=witness)


def failed(verdict: Verdict) -> tuple[str, str]:
    return verdict.failures[0].name, verdict.failures[0].detail


def test_tables_that_nobody_asked_for_are_refused() -> None:
    beside = PublishedTables(rows("a"), sensitive=Lines(("group", "ill"), [("1", "flu")]))
    words = "the table of sensitive values is given, but no claim is about it"
    assert failed(found(original("a"), beside)) == ("schema", words)
    beside = PublishedTables(rows("a"), totals=totals(("a", "1")))
    words = "the table of totals is given, but nobody asked for it"
    assert failed(found(original("a"), beside)) == ("schema", words)


def test_the_original_has_exactly_the_columns_of_the_policy() -> None:
    wider = Lines(("q", "other", "more"), [("a", "", "")])
    words = "the original table does not have exactly the columns of the policy"
    for table in (wider, Lines(("q",), [("a",)])):
        assert failed(found(table, PublishedTables(rows("a")))) == ("schema", words)


def test_a_release_without_rows_is_none() -> None:
    assert failed(found(original(), PublishedTables(rows()))) == ("rows", "the release has no rows")


def test_progress_ends_with_one() -> None:
    told: list[float] = []
    asked = Expected(SCHEMA, [ONE], max_suppression=None)
    assert verify_rows(original("a"), PublishedTables(rows("a")), asked, progress=told.append).passed
    assert told == sorted(told)
    assert told[-1] == 1


# How many rows there are


def test_nobody_may_be_left_out_even_if_the_manifest_tells_so() -> None:
    told = PublishedTables(rows("a"), stated=Stated(suppressed=1))
    words = "there are 1 rows of 2 records, and nobody may be left out"
    assert failed(found(original("a", "b"), told)) == ("rows", words)
    more = PublishedTables(rows("a", "a"), stated=Stated(suppressed=1))
    assert failed(found(original("a"), more))[0] == "rows"
    said = PublishedTables(rows("a"), stated=Stated(suppressed=0))
    assert found(original("a"), said).passed


def test_without_the_policy_the_number_of_the_manifest_counts() -> None:
    told = PublishedTables(rows("a", "a"), stated=Stated(suppressed=1))
    assert found(original("a", "a", "b"), told, max_suppression="as stated").passed
    for people in (("a",), ("a", "a"), ("a", "a", "a", "b")):
        assert failed(found(original(*people), told, max_suppression="as stated"))[0] == "rows"


def test_where_outliers_are_hidden_no_number_is_told() -> None:
    assert failed(found(original("a"), PublishedTables(rows("a")), [PLAIN])) == ("rows", HIDDEN)
    told = PublishedTables(rows("a"), stated=Stated(suppressed=0))
    verdict = found(original("a"), told, [PLAIN], max_suppression=Fraction(1, 2))
    assert failed(verdict) == (
        "rows",
        "how many rows are suppressed is told, and so how many are outliers",
    )
    untold = found(original("a"), PublishedTables(rows("a")), [PLAIN], max_suppression=Fraction(1, 2))
    assert failed(untold)[0] == "plain"


def test_only_where_outliers_are_hidden() -> None:
    hiding = [name for name in MODELS if hides_suppression([Claim(name, {})])]
    assert hiding == ["plain"]


def test_in_memory_nothing_is_protected_and_nothing_need_be_canonical() -> None:
    handed = PublishedTables(rows("a"))
    assert (handed.protected, handed.canonical) == (False, False)
    assert handed.beside_undo("'=1") == "'=1"


def test_in_memory_any_form_of_a_cell_will_do() -> None:
    twice = PublishedTables(rows("{b|a}", "{b|a}"))  # in files a comes first
    assert found(original("a", "b"), twice).passed
    assert not found(original("a", "b"), replace(twice, canonical=True)).passed


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1)], ids=str)
def test_nobody_or_everybody_may_be_left_out(share: Fraction) -> None:
    assert found(original("a"), PublishedTables(rows("a")), max_suppression=share).passed


def test_rows_are_no_more_than_records() -> None:
    verdict = found(original("a"), PublishedTables(rows("a", "a")), max_suppression=Fraction(1))
    assert failed(verdict) == ("rows", "there are 2 rows, more than the 1 records")


def test_the_number_that_is_told_is_the_number_without_a_row() -> None:
    half, two = Fraction(1, 2), original("a", "a")
    words = "1 of 2 records have no row, and the manifest tells another number"
    for wrong in (0, 2):
        told = PublishedTables(rows("a"), stated=Stated(suppressed=wrong))
        assert failed(found(two, told, max_suppression=half)) == ("rows", words)
    told = PublishedTables(rows("a"), stated=Stated(suppressed=1))
    assert found(two, told, max_suppression=half).passed
    words = "1 of 2 records have no row"
    assert failed(found(two, told, max_suppression=Fraction(1, 3))) == ("rows", words)


def test_what_only_the_policy_tells_is_remarked() -> None:
    """Where the share is the manifest's own, and somebody has no row."""

    def remark(*texts: str, asked: Any = "as stated") -> str:
        stated = Stated(max_suppression=Fraction(1, 2))
        verdict = found(
            original("a", "a"), PublishedTables(rows(*texts), stated=stated), max_suppression=asked
        )
        assert verdict.passed
        return next(check.detail for check in verdict.checks if check.name == "rows")

    assert remark("a") == "1 of 2 records have no row; only the policy tells whether so many may"
    assert remark("a", "a") == remark("a", asked=Fraction(1, 2)) == ""


@pytest.mark.parametrize("left_out", [0, 1])
def test_rows_at_the_places_of_their_records_are_refused(left_out: int) -> None:
    """Every second of 40; those between are exchanged, so that hardly any are neighbours in both tables.

    Who has no row has no place either: without the first record, all others move up.
    """
    texts = [f"{place:02}" for place in range(40)]
    shown = [text if place % 2 else texts[(place + 18) % 40] for place, text in enumerate(texts)]
    records = original(*["nobody"][:left_out], *texts)
    may = Fraction(1, 2) if left_out else None
    verdict = found(records, PublishedTables(rows(*shown)), max_suppression=may)
    words = "the rows are in the order of the original table, or in one that follows it"
    assert failed(verdict) == ("order", words)


# Totals


def test_totals_are_of_those_who_have_a_row() -> None:
    half, three = Fraction(1, 2), original("a", "a", "b")
    table = PublishedTables(rows("a", "a"), totals=totals(("a", "2")))
    assert found(three, table, max_suppression=half, totals=True).passed
    wrong = PublishedTables(rows("a", "a"), totals=totals(("a", "2"), ("b", "1")))
    told = "the table of totals, q: a total is not the number of rows that have such a value"
    unknown = "the links of the audit say who has a row, and were not there, or do not fit"
    asked: dict[str, Any] = {"max_suppression": half, "totals": True}
    assert failed(found(three, wrong, **asked)) == ("totals", f"{told}; {unknown}")
    assert failed(found(three, wrong, links=[1, 0], **asked)) == ("totals", told)
    assert failed(found(three, wrong, links=[2, 0], **asked)) == ("totals", f"{told}; {unknown}")
    everybody = PublishedTables(rows("a", "a"), totals=totals(("a", "1")))
    assert failed(found(original("a", "a"), everybody, totals=True)) == ("totals", told)


def test_totals_tell_nothing_of_hidden_outliers() -> None:
    table = PublishedTables(rows("a"), totals=totals(("a", "1")))
    words = "totals would tell of hidden outliers, or of another table"
    verdict = found(original("a"), table, [ONE, PLAIN], max_suppression=Fraction(1, 2), totals=True)
    assert failed(verdict) == ("totals", words)
    assert found(original("a"), table, max_suppression=Fraction(1, 2), totals=True).passed
