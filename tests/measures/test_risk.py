"""Re-identification risk: against its definition said plainly, and in cases that are easily forgotten."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twins import risk as naive

from incrowd.encode import encode
from incrowd.errors import TableError
from incrowd.flow import Table
from incrowd.measures.population import PopulationRisk
from incrowd.measures.risk import THRESHOLDS, exact_classes, linked_by_others, reidentification_risk
from incrowd.measures.risk_summary import RiskSummary
from incrowd.schema import Column, Kind, Role, Schema

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=40)


@given(ROWS)
def test_risk_is_what_its_definition_says(rows: list[tuple[int, int]]) -> None:
    labels, persons = ([*column] for column in zip(*rows, strict=True))
    found = reidentification_risk(np.array(labels), np.array(persons))
    risks, by_row = naive.person_risks(labels, persons), naive.row_risks(labels, persons)
    assert found.highest == max(by_row)
    assert found.mean == pytest.approx(float(sum(risks.values()) / len(risks)))
    assert found.marketer == pytest.approx(float(sum(by_row) / len(by_row)))
    assert found.unique == len(naive.unique_persons(labels, persons))
    assert (found.persons, found.classes, found.rows) == (len(risks), len(set(labels)), len(rows))
    assert dict(found.above) == {limit: sum(risk > limit for risk in risks.values()) for limit in THRESHOLDS}


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_one_row_each_needs_no_persons(labels: list[int]) -> None:
    found = reidentification_risk(np.array(labels))
    assert found == reidentification_risk(np.array(labels), np.arange(len(labels)))
    assert found.marketer == pytest.approx(len(set(labels)) / len(labels))


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=30))
def test_people_of_a_public_table_count_for_the_journalist(rows: list[tuple[int, bool]]) -> None:
    labels, own = np.array([label for label, _ in rows], int), np.array([mine for _, mine in rows], bool)
    found = linked_by_others(labels, own)
    risks = [Fraction(1, int((labels == label).sum())) for label, mine in rows if mine]
    assert found.highest == max(risks, default=None)
    assert found.mean == (pytest.approx(float(sum(risks) / len(risks))) if risks else None)
    assert found.unique == risks.count(Fraction(1))
    assert dict(found.above) == {limit: sum(risk > limit for risk in risks) for limit in THRESHOLDS}


def test_a_class_of_exactly_one_in_five_is_not_above_it() -> None:
    found = reidentification_risk(np.repeat([0, 1], [5, 4]))
    assert dict(found.above) == {Fraction(1, 5): 4, Fraction(1, 20): 9}


def test_no_rows_have_no_risk() -> None:
    found = reidentification_risk(np.zeros(0, np.int64))
    assert (found.highest, found.mean, found.marketer, found.unique) == (None, None, None, 0)
    told = [*RiskSummary(("age",), reidentification_risk(np.array([0])), found).sentences()]
    assert "There are no rows, so there is no risk." in told[1]


def test_missing_is_a_value_of_its_own() -> None:
    """Two people whose age is missing share a class; 30 and 30.0 are one value."""
    table = Table.of({"age": ["30", "30.0", "", "?", "41"]})
    schema = Schema((Column("age", Role.QUASI, Kind.NUMERIC),), frozenset({"", "?"}))
    found = reidentification_risk(exact_classes(encode(table, schema)))
    assert (found.classes, found.unique) == (3, 1)


def test_whose_row_is_said_of_each() -> None:
    with pytest.raises(TableError, match="whose row each is"):
        reidentification_risk(np.array([0, 1]), np.array([0]))


def test_sentences_name_the_whole_population_and_what_is_not_known() -> None:
    before = reidentification_risk(np.array([0, 1, 1]))
    whole = PopulationRisk(1.0, 1, 1, 1.0, (1.0, 1.0), 1.0, (1.0, 1.0))
    told = " ".join(RiskSummary(("age", "zip"), before, why_not="of this", population=whole).sentences())
    assert "Before: of 3 people, 1 is alone with their values in these 2 columns." in told
    assert "After: no risk can be stated: of this." in told
    assert "All 1 who are alone in the table are alone in the population." in told
    assert "never above" not in told, "nothing is known of the release, so nothing bounds the journalist"
