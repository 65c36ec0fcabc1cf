"""Numbers and dates under hierarchies: what labels say of them, if these are public or only in part."""

from __future__ import annotations

import random
from datetime import date, timedelta
from pathlib import Path

import pytest

import incrowd as ic
from incrowd.errors import InputError
from incrowd.flow import Table
from incrowd.queries import Queryable

DICE = random.Random(8)
AGES = [DICE.choice([*range(20, 60), 33, 33, 33]) for _ in range(160)]
DAYS = [date(2024, 1, 1) + timedelta(DICE.randrange(500)) for _ in range(160)]
SEXES = [DICE.choice("FM") for _ in range(160)]
REMEDY = "publish with public = true on age in the policy"


def released(folder: Path, public: bool, totals: bool) -> Queryable:
    table = Table.of({"age": [*map(str, AGES)], "day": [d.isoformat() for d in DAYS], "sex": SEXES})
    said = {
        "age": {"type": "numeric", "hierarchy": {"intervals": [5, 10, 20]}, "public": public},
        "day": {"type": "date", "hierarchy": {"dates": ["month", "year"]}, "public": public},
    }
    asked = {"quasi_identifiers": said, "keep": ["sex"], "privacy": {"k": 4}, "totals": totals}
    ic.publish(table, asked, folder / "release")
    return Queryable.load(folder / "release")


@pytest.mark.parametrize("totals", [False, True])
@pytest.mark.parametrize("public", [False, True])
def test_bounds_hold_the_truth(tmp_path: Path, public: bool, totals: bool) -> None:
    """Numbers and days by every comparison, values that occur and others, labels, and two columns at once."""
    release = released(tmp_path, public, totals)
    for value in range(18, 63, 3):
        cases = {
            f"age < {value}": [age < value for age in AGES],
            f"age >= {value}": [age >= value for age in AGES],
            f"age BETWEEN {value} AND {value + 7}": [value <= age <= value + 7 for age in AGES],
            f"age = {value}": [age == value for age in AGES],
            f"age <> {value}": [age != value for age in AGES],
            f"age IN ({value}, 33)": [age in (value, 33) for age in AGES],
            f"age < {value} AND age <> 33": [age < value and age != 33 for age in AGES],
            f"age <> '30-34' AND age > {value}": [not 30 <= age <= 34 and age > value for age in AGES],
            f"age < {value} AND sex = 'F'": [
                age < value and sex == "F" for age, sex in zip(AGES, SEXES, strict=True)
            ],
            f"day < '{date(2024, 1, 1) + timedelta(9 * value)}'": [
                day < date(2024, 1, 1) + timedelta(9 * value) for day in DAYS
            ],
        }
        for condition, fits in cases.items():
            answer = release.ask(f"SELECT COUNT(*) WHERE {condition}")
            assert isinstance(answer.lower, int)
            assert isinstance(answer.upper, int)
            assert answer.lower <= sum(fits) <= answer.upper, condition
            assert answer.estimate is None or answer.lower <= answer.estimate <= answer.upper, condition


def test_what_the_release_says_of_labels_is_used(tmp_path: Path) -> None:
    """A label holds the labels and values under it, and a cell that is a value is known."""
    release = released(tmp_path, public=False, totals=False)
    inside = sum(30 <= age <= 39 for age in AGES)
    answer = release.ask("SELECT COUNT(*) WHERE age = '30-39'")
    assert answer.exact
    assert answer.lower == inside
    cells = [line.split(",")[0] for line in (tmp_path / "release" / "data.csv").read_text().splitlines()[1:]]
    known = [int(cell) for cell in cells if cell.isdecimal()]
    assert 33 in known
    answer = release.ask("SELECT COUNT(*) WHERE age < 40")
    below = sum(age < 40 for age in known)
    assert (answer.lower, answer.upper) == (below, 160 - len(known) + below)


def test_what_cannot_be_answered_names_the_remedy_and_the_remedy_works(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "whole").mkdir()
    part = released(tmp_path / "part", public=False, totals=False)
    answer = part.ask("SELECT COUNT(*) WHERE age < 40")
    (hint,) = answer.hints
    assert REMEDY in hint
    assert answer.estimate is None
    assert not part.ask("SELECT COUNT(*) WHERE age = '30-39'").hints
    for sql in ("SELECT AVG(age)", "SELECT MAX(age)", "SELECT COUNT(*) GROUP BY age"):
        with pytest.raises(InputError, match=REMEDY):
            part.ask(sql)
    whole = released(tmp_path / "whole", public=True, totals=False)
    answer = whole.ask("SELECT COUNT(*) WHERE age < 40")
    assert not answer.hints
    assert answer.estimate is not None
    assert isinstance(answer.lower, int)
    assert isinstance(answer.upper, int)
    assert answer.upper - answer.lower < 80
    assert whole.ask("SELECT AVG(age)").estimate == pytest.approx(sum(AGES) / 160, rel=0.1)
    assert len(whole.ask("SELECT COUNT(*) GROUP BY age").groups) == len({*AGES})
