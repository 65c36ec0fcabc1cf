"""Population risk: unbiased by design over all samples, and held against populations that are known."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from twins import risk as naive

from incrowd import tables
from incrowd.flow import distinct_rows
from incrowd.measures.population import LEAST_PAIRS, MEASURED, PopulationRisk, population_risk

CHANCES = st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(1)])


@given(st.lists(st.tuples(st.integers(0, 2), CHANCES), min_size=1, max_size=7))
@settings(max_examples=60)
def test_people_behind_unique_ones_are_estimated_without_bias(people: list[tuple[int, Fraction]]) -> None:
    """Over all samples, the denominator is on average the number of people whom a unique one could be."""
    labels, chances = [label for label, _ in people], [chance for _, chance in people]
    estimated, true = Fraction(0), Fraction(0)
    for drawn, likely in naive.samples(chances):
        mine = [labels[i] for i in drawn]
        unique = [label for label in mine if mine.count(label) == 1]
        true += likely * sum(labels.count(label) for label in unique)
        estimated += likely * len(unique)
        estimated += likely * sum(1 / chances[i] - 1 for i in drawn if mine.count(labels[i]) == 2)
    assert estimated == true


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([1, 2, 5])), min_size=1, max_size=30))
def test_the_estimate_is_what_its_definition_says(people: list[tuple[int, int]]) -> None:
    labels = [label for label, _ in people]
    unique = [label for label in labels if labels.count(label) == 1]
    assume(unique)
    found = population_risk(np.array(labels), np.array([float(weight) for _, weight in people]))
    others = sum(weight - 1 for label, weight in people if labels.count(label) == 2)
    assert found.right == pytest.approx(len(unique) / (len(unique) + others))
    assert found.right is not None
    assert found.interval is not None
    low, high = found.interval
    assert 0 < low <= found.right <= high <= 1
    assert found.pairs == sum(labels.count(label) == 2 for label in set(labels))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), min_size=1, max_size=30))
def test_a_person_counts_once_in_a_class(rows: list[tuple[int, int]]) -> None:
    labels, persons = (np.array(column) for column in zip(*rows, strict=True))
    once = np.array(sorted(set(rows)))
    found = population_risk(labels, np.full(labels.size, 4.0), None, persons)
    same = population_risk(once[:, 0], np.full(len(once), 4.0))
    assert (found.unique, found.pairs, found.right, found.interval) == (
        *(same.unique, same.pairs, same.right, same.interval),
    )
    assert found.fraction == pytest.approx(0.25)


def known(codes: np.ndarray, share: float, rng: np.random.Generator) -> tuple[PopulationRisk, float, int]:
    """The estimates from a sample, and the truths of the population that it is drawn from."""
    labels = distinct_rows(list(codes.T), (codes.max(axis=0) + 1).tolist(), len(codes))[1]
    drawn = rng.choice(len(codes), round(share * len(codes)), replace=False)
    weights = np.full(drawn.size, len(codes) / drawn.size)
    found = population_risk(labels[drawn], weights, codes[drawn])
    met = np.bincount(labels[drawn], minlength=int(labels.max()) + 1)
    sizes = np.bincount(labels)[met == 1]
    return found, sizes.size / int(sizes.sum()), int((sizes == 1).sum())


def within(found: PopulationRisk, right: float, unique: int, share: float) -> None:
    assert found.right is not None
    assert found.unique_in_population is not None
    assert found.right == pytest.approx(right, rel=0.35)
    assert found.ratios == MEASURED[share]
    least, most = found.ratios
    assert least <= found.unique_in_population / unique <= most


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_an_invented_population(share: float, rng: np.random.Generator) -> None:
    """Columns that depend on each other, with rare values: a person's second column is near the first."""
    first = rng.geometric(0.05, 60_000) % 80
    columns = [first, (first + rng.integers(0, 12, first.size)) % 80, rng.geometric(0.3, first.size) % 12]
    within(*known(np.stack(columns, axis=1).astype(np.int32), share, rng), share)


@pytest.mark.parametrize(
    ("columns", "share"),
    [("age sex race education", 0.2), ("age workclass education occupation race sex native-country", 0.05)],
)
def test_a_real_population(real_data: Path, columns: str, share: float) -> None:
    table = tables.read(real_data / "adult" / "adult.csv")
    codes = np.stack([table.column(name).codes for name in columns.split()], axis=1)
    within(*known(codes, share, np.random.default_rng(7)), share)


def test_a_sample_of_everybody_says_the_truth() -> None:
    labels = np.repeat(np.arange(40), np.arange(40) % 3 + 1)
    found = population_risk(labels, np.ones(labels.size), labels[:, None].astype(np.int32))
    assert (found.right, found.interval, found.unique_in_population) == (1, (1, 1), found.unique)


def test_what_cannot_be_estimated_is_declined() -> None:
    def declined(labels: np.ndarray, weight: float, persons: np.ndarray | None = None) -> str:
        codes = labels[:, None].astype(np.int32)
        found = population_risk(labels, np.full(labels.size, weight), codes, persons)
        assert found.unique_in_population is None
        assert found.ratios is None
        return found.why_not

    pairs = np.repeat(np.arange(100), np.arange(100) % 2 + 1)
    assert declined(np.repeat(np.arange(9), 2), 10.0) == "nobody is unique in the sample"
    assert "where no estimate was tested" in declined(pairs, 1000.0)
    few = np.repeat(np.arange(100), [2] * (LEAST_PAIRS - 1) + [1] * (101 - LEAST_PAIRS))
    assert "only 9 equivalence classes have two persons" in declined(few, 10.0)
    assert "several rows" in declined(pairs, 10.0, np.arange(pairs.size))


def test_between_two_tested_fractions_the_wider_range_is_said() -> None:
    labels = np.repeat(np.arange(100), np.arange(100) % 2 + 1)
    found = population_risk(labels, np.full(labels.size, 1 / 0.03), labels[:, None].astype(np.int32))
    assert found.ratios == (MEASURED[0.01][0], MEASURED[0.05][1])


def test_without_pairs_a_match_may_always_be_right() -> None:
    found = population_risk(np.arange(50), np.full(50, 100.0))
    assert found.right == 1
    assert found.interval is not None
    assert found.interval[0] < 0.1
    assert found.interval[1] == 1
