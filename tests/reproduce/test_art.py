"""The paper's artificial data: probabilities, permissible sets, and what they cost."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare
from support.golden import vectors

from incrowd import Policy, publish, tables
from incrowd.algorithms.partitions.agglomerative import Agglomerative
from incrowd.encode import encode
from incrowd.long_work import silent
from incrowd.reproduce.revisited.trials import ATTRIBUTES, art, art_files, art_policy, art_table
from incrowd.schema import Shape

GOLDEN = vectors("revisited")["ART"]


def as_numbers(subset: tuple[str, ...]) -> list[int]:
    return [int(value.removeprefix("a")) for value in subset]


@pytest.mark.quick
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_probabilities_and_sets_are_those_of_the_paper(name: str) -> None:
    assert list(ATTRIBUTES[name].shares) == GOLDEN["input"]["probabilities"][name]
    *sets, whole = map(as_numbers, ATTRIBUTES[name].family)
    assert sets == GOLDEN["input"]["nontrivial_subsets"][name]
    assert whole == list(range(1, len(ATTRIBUTES[name].shares) + 1))


@pytest.mark.quick
def test_the_paper_has_no_other_attribute() -> None:
    assert set(ATTRIBUTES) == set(GOLDEN["input"]["probabilities"])


@pytest.mark.quick
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_full_attributes_have_the_entropy_of_the_paper(name: str) -> None:
    entropy = -sum(share * math.log2(share) for share in ATTRIBUTES[name].shares)
    assert entropy == pytest.approx(GOLDEN["expected"]["per_attribute"][name]["H_full"], abs=1e-6)


@pytest.mark.parametrize("name", ATTRIBUTES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_values_are_as_frequent_as_they_should_be(name: str, seed: int) -> None:
    rows, shares = 20_000, np.array(ATTRIBUTES[name].shares)
    column = art_table(rows, seed).column(name).rows()
    counts = [column.count(value) for value in ATTRIBUTES[name].values]
    assert chisquare(counts, rows * shares / shares.sum()).pvalue > 1e-6


def test_attributes_are_independent() -> None:
    table, rows = art_table(20_000), 20_000
    columns = [np.array(column.rows()) for column in table.columns]
    for first, one in enumerate(columns):
        for other in columns[first + 1 :]:
            pair = np.unique(np.char.add(np.char.add(one, " "), other), return_counts=True)
            product = [
                (one == a).mean() * (other == b).mean() * rows for a, b in (text.split() for text in pair[0])
            ]
            spare = len(pair[0]) - 1 - (len(set(one)) - 1) * (len(set(other)) - 1)
            assert chisquare(pair[1], np.array(product) * rows / sum(product), ddof=spare).pvalue > 1e-6


def test_a_seed_draws_the_same_table_again() -> None:
    assert (art(200, 5).codes == art(200, 5).codes).all()
    assert (art(200, 5).codes != art(200, 6).codes).any()


def test_microdata_has_the_families_and_knows_values_that_nobody_has() -> None:
    data = art(10)
    for attribute in data.attributes:
        asked = ATTRIBUTES[attribute.name]
        assert attribute.shape is Shape.SET
        assert set(attribute.texts) == set(asked.values)
        sets = {frozenset(attribute.texts[code] for code in each) for each in attribute.family}
        assert sets == {*map(frozenset, asked.family), *(frozenset({value}) for value in asked.values)}


def test_the_policy_reads_the_table_in_the_same_way() -> None:
    table = art_table(300)
    data = encode(table, art_policy().schema(table))
    assert (data.codes == art(300).codes).all()
    assert [attribute.family for attribute in data.attributes] == [a.family for a in art(300).attributes]


def test_the_files_can_be_published(tmp_path: Path) -> None:
    for name, text in art_files(300).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    policy = Policy.load(tmp_path / "art.toml")
    assert policy.to_dict() == art_policy().to_dict()
    release = publish(tables.read(tmp_path / "art.csv"), policy, k=5)
    assert release.verdict.passed
    groups = Agglomerative(5).group(art(300), (), silent)
    assert release.verdict.facts["classes"] <= len(groups)
