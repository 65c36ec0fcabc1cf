"""The bundled example: the same everywhere, plausible, and ready for use."""

from __future__ import annotations

import ast
import csv
import hashlib
from collections import Counter
from pathlib import Path

import pytest

import incrowd.examples
from incrowd.examples import GRID, ILLNESSES, TOWNS, clinic, positions, write_example, write_positions
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.schema import Role, Shape

Columns = dict[str, list[str]]


@pytest.fixture(scope="module")
def both() -> tuple[Columns, Columns]:
    return clinic()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def read(path: Path) -> Table:
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return Table.of(dict(zip(names, zip(*rows, strict=True), strict=True)))


def test_the_tables_are_the_same_on_every_machine(tmp_path: Path) -> None:
    write_example(tmp_path)
    assert {path.name: digest(path) for path in tmp_path.glob("*.csv")} == {
        "patients.csv": "4a56f717fe569881",
        "voters.csv": "2d032acc8c80f976",
        "education.csv": "d57f704f41903ebd",
    }


def test_only_the_guaranteed_part_of_the_generator_is_used() -> None:
    tree = ast.parse(Path(incrowd.examples.__file__).read_text(encoding="utf-8"))
    used = [
        n.attr
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute) and ast.unparse(n.value).startswith("random")
    ]
    assert used == ["random", "Random"]


def test_another_seed_other_people() -> None:
    assert clinic(50, seed=1) == clinic(50, seed=1)
    assert clinic(50, seed=1) != clinic(50, seed=2)


def test_sizes_and_overlap(both: tuple[Columns, Columns]) -> None:
    patients, voters = both
    assert {len(column) for column in patients.values()} == {3000}
    assert 6000 < len(voters["ssn"]) < 7500
    assert len(set(patients["ssn"])) == 3000
    assert len(set(voters["ssn"])) == len(voters["ssn"])
    shared = set(patients["ssn"]) & set(voters["ssn"])
    assert len(shared) == 3000


def test_who_is_on_both_lists_is_described_alike(both: tuple[Columns, Columns]) -> None:
    patients, voters = both
    common = ("ssn", "name", "age", "sex", "zip")
    roll = set(zip(*(voters[name] for name in common), strict=True))
    met = sum(row in roll for row in zip(*(patients[name] for name in common), strict=True))
    assert met == len(set(patients["ssn"]) & set(voters["ssn"]))


def test_the_example_needs_protection(both: tuple[Columns, Columns]) -> None:
    patients, _ = both
    known = Counter(zip(*(patients[name] for name in ("age", "sex", "zip")), strict=True))
    assert sum(count == 1 for count in known.values()) > 1000


def test_columns_are_skewed_and_hang_together(both: tuple[Columns, Columns]) -> None:
    patients, _ = both
    diagnoses = Counter(patients["diagnosis"])
    assert set(diagnoses) == set(ILLNESSES)
    assert diagnoses.most_common()[0][1] > 10 * diagnoses.most_common()[-1][1]
    age = [int(text) for text in patients["age"]]
    assert 18 <= min(age) < 25
    assert 85 < max(age) < 100

    def mean_age(diagnosis: str) -> float:
        ages = [a for a, d in zip(age, patients["diagnosis"], strict=True) if d == diagnosis]
        return sum(ages) / len(ages)

    assert mean_age("Heart failure") > mean_age("Migraine") + 15
    women = Counter(
        s for s, d in zip(patients["sex"], patients["diagnosis"], strict=True) if d == "Breast cancer"
    )
    assert women["F"] > 10 * women["M"]
    assert {code[:3] for code in patients["zip"]} == {prefix for prefix, _, _ in TOWNS.values()}
    assert all(len(code) == 5 for code in patients["zip"])


def test_some_answers_are_missing_and_no_key_is(both: tuple[Columns, Columns]) -> None:
    patients, voters = both
    lacking = {name: column.count("") for name, column in patients.items()}
    assert all(30 < lacking[name] < 300 for name in ("education", "occupation", "marital_status"))
    assert sum(lacking.values()) == sum(
        lacking[name] for name in ("education", "occupation", "marital_status")
    )
    assert not any("" in column for column in voters.values())


def test_no_real_number_is_given_out(both: tuple[Columns, Columns]) -> None:
    assert all(ssn.startswith("9") and len(ssn) == 11 for ssn in both[1]["ssn"])


def test_the_policy_suits_the_table(tmp_path: Path) -> None:
    folder = write_example(tmp_path / "new" / "folder", rows=300)
    policy = Policy.load(folder / "policy.toml")
    schema = policy.schema(read(folder / "patients.csv"))
    assert (policy.k, policy.privacy.l) == (10, 3)
    assert [c.name for c in schema.having(Role.IDENTIFIER)] == ["name", "ssn"]
    assert [c.name for c in schema.having(Role.QUASI) if c.shape is Shape.TREE] == [
        "zip",
        "education",
        "admitted",
    ]
    assert [c.name for c in schema.having(Role.SENSITIVE)] == ["diagnosis", "cost"]


def test_the_roll_can_be_the_public_table(both: tuple[Columns, Columns]) -> None:
    patients, voters = both
    assert set(voters) <= set(patients)


def test_positions_are_cells_of_people_who_are_all_seen_by_antennas(tmp_path: Path) -> None:
    asked, devices = positions(300)
    seen = set(zip(devices["device"], devices["x"], devices["y"], devices["hour"], strict=True))
    assert len(seen) == len(set(devices["device"])) == 1500
    assert set(zip(asked["device"], asked["x"], asked["y"], asked["hour"], strict=True)) <= seen
    assert {0 <= int(cell) < GRID for cell in (*devices["x"], *devices["y"])} == {True}
    assert digest(write_positions(tmp_path) / "positions.csv") == digest(
        write_positions(tmp_path / "again") / "positions.csv"
    )
    assert {Policy.load(tmp_path / name).method for name in ("cloak.toml", "join.toml")} == {
        "ring",
        "kja-refine",
    }
