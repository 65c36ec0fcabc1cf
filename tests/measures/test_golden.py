"""The measures on the papers' worked examples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden import golden
from support.measure_tables import (
    box,
    close,
    flat,
    microdata,
    numbers_and_sex,
    plain_set,
    ranged,
    release,
    treed,
)

from incrowd.flow import Attribute, Microdata
from incrowd.measures import better, better_rows, measure_all
from incrowd.measures.loss import CertaintyPenalty


def number(value: Any) -> float:
    return value["num"] / value["den"] if isinstance(value, dict) else float(value)


@pytest.mark.quick
@pytest.mark.parametrize("name", ["table2_corrected", "table2_as_printed", "table3"])
def test_classes_of_the_patient_tables(name: str) -> None:
    given_, expected = golden("multidimensional", name)
    patients = [row[:3] for row in golden("multidimensional", "table1_join")[0]["patients_corrected"]]
    data = microdata(numbers_and_sex(patients), patients)
    rows = [[box(*cell.split("-")) if "-" in cell else cell for cell in row] for row in given_["table"]]
    table = release(data, rows)
    assert sorted(table.class_sizes.tolist()) == sorted(len(c) for c in expected["classes_0based"])
    assert bool(table.class_sizes.min() >= given_["k"]) is expected["two_anonymous"]
    found = measure_all(table, data, given_["k"])
    assert found["dm"] == expected["C_DM"]
    assert found["c_avg"] == number(expected["C_AVG"])


@pytest.mark.quick
def test_perimeter_of_figure_2() -> None:
    given_, expected = golden("kja", "fig2_ncp")
    records = list(given_["MT"].values())
    data = microdata(numbers_and_sex(records), records)
    of = {person: expected["boxes"][g] for g, group in enumerate(given_["groups"]) for person in group}
    found = measure_all(
        release(data, [[box(*side) for side in of[person]] for person in given_["MT"]]), data, 3
    )
    assert found["ncp_perimeter"] == expected["ncp_perimeter"] == 2 * expected["ncp_half_perimeter"]
    assert found["dm"] == expected["DM"]


@pytest.mark.quick
def test_measures_of_a_join_count_microdata_only() -> None:
    given_, expected = golden("kja", "fig5_kja_assumed")
    records = list(given_["MT"].values())
    data = microdata(numbers_and_sex(records), records)
    of = {person: expected["boxes"][g] for g, group in enumerate(given_["groups"]) for person in group}
    found = measure_all(
        release(data, [[box(*side) for side in of[person]] for person in given_["MT"]]), data, 3
    )
    assert found["ncp_perimeter"] == expected["modified_ncp"]
    assert found["dm"] == expected["modified_dm"]


@pytest.mark.quick
def test_order_of_usefulness() -> None:
    given_, expected = golden("nonhomogeneous_graphs", "def3_order")
    records = golden("nonhomogeneous_graphs", "table2")[0]["T"]
    zips = [[z, z[:5] + "*", z[:4] + "**", z[:3] + "***", "*"] for z, _, _ in records]
    ages = sorted({age for _, _, age in records})
    data = microdata([treed("zip", zips), flat("sex", ["F", "M"]), ranged("age", ages)], records)
    a, b = (release(data, [[z, s, box(*age)] for z, s, age in given_[table]]) for table in "AB")
    assert better_rows(a, b).tolist() == expected["tuplewise"]
    assert better(a, b) is expected["A_better_than_B"]
    assert better(b, a) is expected["B_better_than_A"]
    assert better(a, a) is expected["A_better_than_A"]


def sets_of(records: Sequence[Sequence[int]], groups: Sequence[Sequence[int]]) -> list[list[str]]:
    """For each group (of record numbers from 0) the set of values of each attribute."""
    columns = [list(zip(*(records[i] for i in group), strict=True)) for group in groups]
    return [[plain_set(sorted(set(values))) for values in group] for group in columns]


def three_by_three(records: Sequence[Sequence[int]]) -> Microdata:
    return microdata([flat(name, ["1", "2", "3"]) for name in "xyz"], records)


@pytest.mark.quick
def test_ring_costs_less_than_the_partition() -> None:
    given_, expected = golden("nonhomogeneous_graphs", "ncp_8_vs_6")
    records = given_["tuples"]
    data = three_by_three(records)
    pairs = [[i - 1 for i in group] for group in given_["groups"] for _ in group]
    unit = 2  # one less than the domain
    partition = CertaintyPenalty().value(release(data, sets_of(records, pairs)), data)
    assert partition * unit == expected["ncp_times_(|A|-1)_partitioned"]
    for order, total in expected["all_cyclic_orders"].items():
        ring = [i - 1 for i in json.loads(order)]
        rows = sets_of(records, [[ring[i], ring[(i + 1) % 4]] for i in range(4)])
        assert CertaintyPenalty().value(release(data, rows), data) * unit == total


@pytest.mark.quick
def test_global_penalty_of_the_ring() -> None:
    given_, expected = golden("nonhomogeneous_graphs", "gcp_example")
    records = given_["tuples"]
    data = three_by_three(records)
    rows = sets_of(records, [[i, (i + 1) % 4] for i in range(4)])
    found = measure_all(release(data, rows), data, given_["k"])
    assert found["ncp"] == number(expected["NCP"])
    assert found["gcp"] == number(expected["GCP"])


def information_loss(attribute: Attribute, cell: str) -> float:
    data = Microdata(np.zeros((1, 1), dtype=np.int32), (attribute,))
    return float(measure_all(release(data, [[cell]]), data, 1)["il"])


@pytest.mark.quick
def test_information_loss_of_single_cells() -> None:
    _, expected = golden("outliers", "IL_definitions")
    age = ranged("age", [20, 30, 40])
    assert information_loss(age, "20") == number(expected["numeric_point_age20_domain20_40"])
    assert information_loss(age, "[20,40]") == expected["numeric_full"]
    for leaves, key in [
        ((4, 8), "USA->America_by_formula_if_4_of_8_leaves"),
        ((5, 9), "by_formula_if_5_of_9_leaves"),
    ]:
        inside, whole = leaves
        country = treed(
            "country", [(f"c{i}", "America" if i < inside else "Elsewhere", "*") for i in range(whole)]
        )
        assert information_loss(country, "America") == close(number(expected[key]))
        assert information_loss(country, "c0") == expected["categorical_leaf"]
        assert information_loss(country, "*") == expected["categorical_root"]


def people(rows: Sequence[Sequence[Any]]) -> dict[int, list[Any]]:
    """Age, sex and zip code of each person of the outlier paper's Fig. 1."""
    return {row[0]: [row[2], {"M": "1", "F": "2"}[row[3]], row[4]] for row in rows}


@pytest.mark.quick
@pytest.mark.parametrize("figure", ["2a", "2b", "3"])
def test_boxes_of_the_outlier_paper(figure: str) -> None:
    given_, expected = golden("outliers", "figure_boxes")
    records = people(given_["rows"])
    data = microdata(numbers_and_sex(list(records.values())), list(records.values()))
    groups, boxes = given_["groupings"][figure], expected["boxes"][figure]
    rows = [
        [box(*age), plain_set(sex) if sex[0] < sex[1] else str(sex[0]), box(*zip_)]
        for group, (age, sex, zip_) in zip(groups, boxes, strict=True)
        for _ in group
    ]
    found = measure_all(release(data, rows), data, 3)
    losses = [
        (a[1] - a[0] + 1) / 21 + (s[1] - s[0]) + (z[1] - z[0] + 1) / 22
        for group, (a, s, z) in zip(groups, boxes, strict=True)
        for _ in group
    ]
    gone = 9 - len(losses)  # Fig. 2(b) and 3 leave Bill out, who costs all three attributes
    assert found["il"] == close((sum(losses) + 3 * gone) / 9)
    assert found["dm"] == sum(len(group) ** 2 for group in groups) + 9 * gone


@pytest.mark.quick
@pytest.mark.parametrize("domain", ["range over all 9 (zip 06001-06022)", "range without Bill (06001-06013)"])
@pytest.mark.parametrize("candidate", [4, 5, 7, 9])
def test_information_loss_of_example_71(domain: str, candidate: int) -> None:
    given_, expected = golden("outliers", "example71_IL")
    records = people(golden("outliers", "figure_boxes")[0]["rows"])
    if "without Bill" in domain:
        del records[6]
    assert loss_with(records, given_["group"], candidate) == close(
        number(expected["IL"][domain][f"+{candidate}"])
    )


@pytest.mark.quick
def test_information_loss_of_example_71_with_the_typing_error() -> None:
    given_, expected = golden("outliers", "example71_IL")
    records = people(golden("outliers", "figure_boxes")[0]["rows"])
    records[7][0] = 30
    for candidate, value in expected["with_Fig6_typo_age7=30"].items():
        assert loss_with(records, given_["group"], int(candidate)) == close(number(value))


def loss_with(records: Mapping[int, Sequence[Any]], group: Sequence[int], candidate: int) -> float:
    data = microdata(numbers_and_sex(list(records.values())), list(records.values()))
    ages, sexes, zips = zip(*(records[i] for i in [*group, candidate]), strict=True)
    row = [box(min(ages), max(ages)), plain_set(sorted(set(sexes))), box(min(zips), max(zips))]
    return float(measure_all(release(data, [row] * len(records)), data, 3)["il"])


@pytest.mark.quick
def test_entropy_is_not_monotone() -> None:
    given_, expected = golden("revisited_limits", "entropy_not_monotone")
    values = [pair.split(":") for pair in given_["values"].split(",")]
    records = [[value] for value, count in values for _ in range(int(count))]
    data = microdata([flat("x", [value for value, _ in values])], records)
    small, large = (
        measure_all(release(data, [[plain_set(family)]] * len(records)), data, 2)["entropy"]
        for family in given_["family"]
    )
    assert small == pytest.approx(expected["H({0,1})"], abs=1e-9)
    assert large == pytest.approx(expected["H({0,1,2})"], abs=1e-9)
    assert large < small


def art_column(name: str) -> tuple[Attribute, list[list[str]]]:
    shares = golden("revisited", "ART")[0]["probabilities"][name]
    texts = [str(i) for i in range(1, len(shares) + 1)]
    return flat(name, texts), [
        [t] for t, share in zip(texts, shares, strict=True) for _ in range(round(share * 100))
    ]


def listed(subset: str) -> list[int]:
    if ".." in subset:
        low, high = map(int, subset.split(".."))
        return list(range(low, high + 1))
    return list(json.loads(subset))


@pytest.mark.quick
@pytest.mark.parametrize("name", ["A1", "A2", "A3", "A4", "A5", "A6"])
def test_subsets_of_the_artificial_data(name: str) -> None:
    expected = golden("revisited", "ART")[1]["per_attribute"][name]
    attribute, records = art_column(name)
    data = microdata([attribute], records)
    for key, measure in [("entropy_of_subset", "entropy"), ("LM_of_subset", "gcp")]:
        for subset, value in expected[key].items():
            found = measure_all(release(data, [[plain_set(listed(subset))]] * 100), data, 2)
            assert found[measure] == pytest.approx(value, abs=1e-6)
    everything = measure_all(release(data, [["*"]] * 100), data, 2)
    assert everything["entropy"] == pytest.approx(expected["H_full"], abs=1e-6)


@pytest.mark.quick
def test_suppressing_the_artificial_data() -> None:
    columns = [art_column(f"A{i}") for i in range(1, 7)]
    records = [[row[0] for row in rows] for rows in zip(*(records for _, records in columns), strict=True)]
    data = microdata([attribute for attribute, _ in columns], records)
    found = measure_all(release(data, [["*"] * 6] * 100), data, 2)
    expected = golden("revisited", "ART")[1]["EM_total_suppression_expected"]
    assert found["entropy"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.quick
@pytest.mark.parametrize("name", ["2-anon", "(1,2)-anon", "(2,1)-anon", "(2,2)-anon"])
def test_loss_of_the_k_type_examples(name: str) -> None:
    given_, expected = golden("revisited", "prop45")
    data = microdata([flat("x", ["1", "2"]), flat("y", ["3", "4"])], given_["D"])
    rows = [[plain_set(cell) for cell in row] for row in given_["tables"][name]]
    found = measure_all(release(data, rows), data, given_["k"])
    assert found["gcp"] == pytest.approx(expected[name]["LM_loss"], abs=1e-6)


@given(st.lists(st.tuples(*[st.sets(st.sampled_from("1234"), min_size=1)] * 3), min_size=1, max_size=12))
@settings(deadline=None)
def test_gcp_is_lm_and_zero_based_loss_is_its_sum(rows: list[tuple[set[str], ...]]) -> None:
    assert "GCP(T*) = Pi_LM" in golden("synthesis", "gcp_equals_lm")[1]["identity"]
    data = microdata([flat(name, "1234") for name in "xyz"], ["123"] * len(rows))
    found = measure_all(release(data, [[plain_set(sorted(cell)) for cell in row] for row in rows]), data, 2)
    lm = sum((len(cell) - 1) / 3 for row in rows for cell in row) / (3 * len(rows))
    assert found["gcp"] == close(lm)
    assert found["il_zero"] == close(3 * lm)
    assert found["il"] == found["il_zero"]  # categories have no +1
