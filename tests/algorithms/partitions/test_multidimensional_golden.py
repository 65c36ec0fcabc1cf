"""The multidimensional paper's own examples: the joining attack, Tables 2-4, and what queries they answer."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.golden import vectors
from support.places import TESTS

from incrowd.attacks.linked import joined
from incrowd.flow import Table
from incrowd.queries import Queryable
from incrowd.reproduce.multidimensional.trials import predicate_matches
from incrowd.schema import Column, Kind, Role, Schema

VECTORS = vectors("multidimensional")
PATIENTS = VECTORS["table1_join"]["input"]["patients_corrected"]
SCHEMA = Schema(
    (
        Column("age", Role.QUASI, Kind.NUMERIC),
        Column("sex", Role.QUASI),
        Column("zip", Role.QUASI, Kind.NUMERIC),
        Column("disease", Role.SENSITIVE),
    )
)


def texts(rows: list[list[Any]], names: list[str]) -> Table:
    return Table.of({name: [str(row[j]) for row in rows] for j, name in enumerate(names)})


def fraction(value: Any) -> Fraction:
    return Fraction(value["num"], value["den"]) if isinstance(value, dict) else Fraction(value)


def cell(text: str) -> str:
    """The paper writes 35-36 where a release writes [35,36]."""
    return f"[{text.replace('-', ',')}]" if "-" in text else text


def release(rows: list[list[str]], means: list[Any] | None = None) -> Queryable:
    """The rows of a printed table, ready to be asked."""
    shown = {name: [cell(row[j]) for row in rows] for j, name in enumerate(["age", "sex", "zip"])}
    age, sex, code = SCHEMA.columns[:3]
    if means is not None:
        shown["age_mean"] = [f"{float(fraction(mean)):g}" for mean in means]
        age = replace(age, mean=True)
    return Queryable.of(Table.of(shown), Schema((age, sex, code)))


@pytest.mark.quick
def test_lee_is_found_by_joining() -> None:
    vector = VECTORS["table1_join"]
    voters = texts(vector["input"]["voters"], ["name", "age", "sex", "zip"])
    patients = texts(PATIENTS, ["age", "sex", "zip", "disease"])
    pairs = joined(voters, patients, ["age", "sex", "zip"])
    found = [[voters.column("name").rows()[v], patients.column("disease").rows()[p]] for v, p in pairs]
    assert found == vector["expected"]["joined"]


@pytest.mark.quick
def test_the_published_tables_stop_the_join() -> None:
    voters = texts(VECTORS["table1_join"]["input"]["voters"], ["name", "age", "sex", "zip"])
    rows = VECTORS["table3"]["input"]["table"]
    table = Table.of({n: [cell(row[j]) for row in rows] for j, n in enumerate(["age", "sex", "zip"])})
    assert joined(voters, table, ["age", "sex", "zip"]) == []


@pytest.mark.quick
def test_average_age_of_men_comes_from_the_means() -> None:
    vector = VECTORS["table4_queries"]
    rows, expected = vector["input"]["table_corrected"], vector["expected"]
    cells, means = [[row[0], row[2], row[3]] for row in rows], [row[1] for row in rows]
    men = "SELECT AVG(age) WHERE sex = 'M'"
    found = release(cells, means).ask(men)
    assert found.estimate == fraction(expected["Q1_AVG_age_male"]) == fraction(expected["Q1_true"])
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower <= fraction(expected["Q1_true"]) <= found.upper  # type: ignore[operator]
    printed = [36 if row[0] == "37-38" else row[1] for row in rows]
    assert release(cells, printed).ask(men).estimate == fraction(expected["Q1_with_printed_mean_36"])
    assert release(cells, means).ask("SELECT AVG(age) WHERE sex = 'X'").estimate is None


@pytest.mark.quick
def test_young_men_are_counted_exactly_only_from_table_3() -> None:
    expected = VECTORS["table4_queries"]["expected"]
    young_men = "SELECT COUNT(*) WHERE sex = 'M' AND age <= 36"
    table3 = release(VECTORS["table3"]["input"]["table"]).ask(young_men)
    assert table3.exact
    assert table3.lower == expected["Q2_exact_from_Table3"] == expected["Q2_COUNT_male_age<=36"]
    table2 = release(VECTORS["table2_corrected"]["input"]["table"]).ask(young_men)
    assert (table2.lower, table2.upper, table2.exact) == (0, 4, False)
    assert table2.estimate == fraction(expected["Q2_uniform_from_Table2"])


@pytest.mark.quick
def test_which_predicates_match() -> None:
    vector = VECTORS["predicate_match"]
    man = np.array([row[1] == "M" for row in PATIENTS])
    young_man = man & np.array([row[0] <= 36 for row in PATIENTS])
    for table in ("table2", "table3"):
        labels = np.empty(6, np.int32)
        for number, members in enumerate(vector["input"][f"classes_{table}"]):
            labels[members] = number
        assert predicate_matches(man, labels) == vector["expected"]["Q1_matches"][table]
        assert predicate_matches(young_man, labels) == vector["expected"]["Q2_matches"][table]


@pytest.mark.quick
def test_every_vector_of_the_paper_is_used() -> None:
    """A vector that no test names is a vector that nobody checks."""
    tests = "".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    unused = [name for name in VECTORS if name not in tests]
    assert unused == []
