"""Invented tables: a hospital, the electoral roll of its region, and phones on a grid.

Nobody in them exists. They are made on demand, from nothing but a seed, and are the same on every
machine: of Python's generator only `random()` is used, whose sequence is guaranteed, and of arithmetic
only what is exact or rounds alike everywhere. (It is the one place where the package may use `random`:
nothing here has to be unpredictable.)
"""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

Columns = dict[str, list[str]]

WOMEN = """
Ada Alma Amina Anna Beth Carla Chloe Clara Dana Diana Edith Elena Ella Emma Erin Eva Fatima Flora Freya
Grace Hana Helen Ida Ines Irene Iris Jane Joan Julia Karen Kate Laura Lea Lena Lily Lina Lucia Maria
Marta Maya Mei Mila Mina Nadia Nina Nora Olga Olivia Paula Petra Rita Rosa Ruth Sara Sofia Tanya Vera
Yuki Zoe
"""
MEN = """
Aaron Adam Alan Amir Andre Anton Ben Boris Carl Carlos Chen Daniel David Diego Elias Emil Eric Felix
Finn Frank George Hamid Hans Henry Hugo Ian Ivan Jack James Jan Joel John Jonas Jorge Juan Karl Kenji
Kevin Leo Liam Louis Luca Mark Martin Max Milan Nico Noah Omar Oscar Otto Pablo Paul Peter Rafael Robert
Sam Theo Tom
"""
SURNAMES = """
Abbott Adler Ahmed Archer Bailey Baker Banks Barnes Bauer Bennett Berg Bishop Black Blake Boyd Brandt
Brooks Burke Carter Castro Chan Clarke Cohen Cole Cooper Costa Cruz Dahl Dalton Davis Diaz Dixon Doyle
Duarte Ellis Evans Farmer Fischer Fleming Ford Fox Frost Garcia Gomez Grant Gray Green Haas Hansen
Harper Hayes Hill Holt Hughes Ito Jensen Kaya Keller Khan Kim King Klein Lang Larsen Lee Lopez Lund
Mason Meyer Mills Moore Morris Nakamura Nolan Novak Okafor Olsen Osman Park Patel Perez Price Quinn
Ramos Reed Reyes Rossi Russo Sato Shah Silva Singh Stone Suzuki Tran Turner Vargas Wagner Walsh Wang
Weber West Wolf Wood Yang Young Zhang Zimmer
"""

# Town: the first three digits of its zip codes, how many codes it has, how many people live there.
TOWNS = {
    "Northport": ("041", 14, 40),
    "Lakeside": ("043", 9, 20),
    "Millbrook": ("044", 7, 14),
    "Hillview": ("046", 5, 9),
    "Easton": ("051", 8, 12),
    "Farfield": ("053", 4, 5),
}
EDUCATION = {
    "No diploma": "School",
    "High school": "School",
    "Vocational": "College",
    "Some college": "College",
    "Bachelor": "Degree",
    "Master": "Degree",
    "Doctorate": "Degree",
}
SCHOOLING_OF_THE_OLD = (22, 40, 18, 8, 8, 3, 1)
SCHOOLING_OF_THE_YOUNG = (6, 24, 18, 18, 24, 8, 2)
WORK_WITHOUT_DEGREE = {
    "Retail": 18, "Construction": 14, "Factory": 14, "Transport": 11, "Care": 12, "Office": 13, "Kitchen": 9,
    "Farming": 5, "Security": 4,
}  # fmt: skip
WORK_WITH_DEGREE = {
    "Office": 22, "Teaching": 17, "Engineering": 15, "Nursing": 12, "Management": 14, "Law": 5, "Medicine": 5,
    "Research": 4, "Arts": 6,
}  # fmt: skip
VISITS = {"emergency": 30, "planned": 45, "follow-up": 20, "transfer": 5}


@dataclass(frozen=True, slots=True)
class Illness:
    """How often a diagnosis is made at 18 and at 90, how much more often in women, what it costs."""

    young: int
    old: int
    women: float
    cost: int


ILLNESSES = {
    "Hypertension": Illness(10, 130, 1.0, 900),
    "Type 2 diabetes": Illness(12, 90, 0.9, 1500),
    "Influenza": Illness(90, 50, 1.0, 400),
    "Fracture": Illness(90, 60, 0.8, 3200),
    "Asthma": Illness(80, 25, 1.2, 700),
    "Depression": Illness(75, 30, 1.6, 1800),
    "Migraine": Illness(65, 15, 2.4, 500),
    "Appendicitis": Illness(60, 12, 0.9, 5200),
    "Back pain": Illness(55, 60, 1.1, 800),
    "Pneumonia": Illness(20, 70, 0.9, 4100),
    "Heart failure": Illness(1, 80, 0.8, 7600),
    "Heart attack": Illness(2, 55, 0.5, 9800),
    "Stroke": Illness(1, 55, 0.9, 8900),
    "Arthritis": Illness(6, 70, 1.5, 1100),
    "Kidney stones": Illness(25, 25, 0.6, 2600),
    "Lung cancer": Illness(1, 30, 0.7, 14500),
    "Breast cancer": Illness(0, 1, 40.0, 13200),
    "Epilepsy": Illness(18, 10, 1.0, 1900),
    "Hepatitis": Illness(14, 8, 0.8, 2300),
    "HIV": Illness(8, 2, 0.5, 2900),
}

POLICY = """\
# What may be published about the patients of patients.csv, and how. Every key: docs/policy.md

identifiers = ["name", "ssn"]           # they name a person: never published
sensitive = ["diagnosis", "cost"]       # what nobody may learn about a person
keep = ["visit_type"]                   # harmless: published unchanged
method = "mondrian"

[quasi_identifiers]                     # what an outsider may know about a patient; generalized
age = {type = "numeric"}                # a range, such as [30,39]
sex = {type = "categorical"}            # a set, such as {F|M}
zip = {type = "categorical", hierarchy = {prefix = [5, 4, 3, 2]}}
education = {type = "categorical", hierarchy = "education.csv"}
occupation = {type = "categorical"}
marital_status = {type = "categorical"}
admitted = {type = "date", hierarchy = {dates = ["month", "quarter", "year"]}}

[privacy]
k = 10                                  # every equivalence class has at least 10 persons
l = 3                                   # and at least 3 different diagnoses and costs
"""

JOIN_POLICY = """\
# The same patients, joined with the people of the electoral roll voters.csv. Every key: docs/policy.md

identifiers = ["name", "ssn"]
sensitive = ["diagnosis"]
drop = ["education", "occupation", "marital_status", "admitted", "visit_type", "cost"]
method = "kja-refine"

[quasi_identifiers]                     # all of them are on the roll
age = {type = "numeric"}
sex = {type = "categorical"}
zip = {type = "categorical", hierarchy = {prefix = [5, 4, 3, 2]}}

[privacy]
k = 10

[public]
table = "voters.csv"
id = "ssn"                              # identifies a person in both tables
membership_secret = true                # nobody knows who was in the clinic
source = "electoral roll (invented)"
date = "2024-01-01"
"""


CLOAK_POLICY = """\
# Who asked a map on the phone for what, and where: positions are cloaked. Every key: docs/policy.md

identifiers = ["device"]
sensitive = ["asked_for"]
method = "ring"
options = {order = "hilbert"}           # along a curve that keeps neighbours together

[quasi_identifiers]                     # cells of a grid over the town, 100 m wide, and the hour
x = {type = "numeric"}
y = {type = "numeric"}
hour = {type = "numeric"}

[privacy]
k = 8
"""
_RING = CLOAK_POLICY[CLOAK_POLICY.index("method") : CLOAK_POLICY.index("\n[quasi")]
CLOAK_JOIN_POLICY = (
    CLOAK_POLICY.replace(_RING, 'method = "kja-refine"\n')
    + """
[public]
table = "devices.csv"                   # every phone that was in the town, as the antennas saw it
id = "device"
membership_secret = true                # nobody knows who asked
source = "antennas (invented)"
date = "2024-01-01"
"""
)
GRID = 64  # cells in each direction
PLACES = {(20, 24): 6.0, (34, 30): 9.0, (44, 48): 4.0, (10, 52): 2.0}  # squares where many are, and how many
ASKED_FOR = {"restaurant": 6.0, "pharmacy": 3.0, "bus": 5.0, "bar": 3.0, "clinic": 2.0, "church": 1.0}


class _Dice:
    """Draws that come out alike everywhere."""

    def __init__(self, seed: int) -> None:
        self._next = random.Random(seed).random  # noqa: S311 - invented data need no secrecy

    def chance(self, share: float) -> bool:
        return self._next() < share

    def whole(self, low: int, high: int) -> int:
        return low + int(self._next() * (high - low + 1))

    def one_of(self, things: Sequence[str]) -> str:
        return things[self.whole(0, len(things) - 1)]

    def weighted(self, weights: Mapping[str, float]) -> str:
        things = list(weights)
        left = self._next() * sum(weights.values())
        while left >= weights[things[0]] and len(things) > 1:
            left -= weights[things.pop(0)]
        return things[0]


def clinic(rows: int = 3000, seed: int = 7) -> tuple[Columns, Columns]:
    """Invent the patients of a clinic and the electoral roll of its region.

    All patients are on the roll, and most people on the roll are no patients.

    Parameters
    ----------
    rows : int
        How many patients.
    seed : int
        Another seed, other people.

    Returns
    -------
    patients, voters : dict of lists of texts
        The columns of both tables; they share ``ssn``, ``age``, ``sex``, ``zip`` and ``education``.

    Examples
    --------
    >>> patients, voters = clinic(rows=50)
    >>> len(patients["diagnosis"]), sorted(set(voters) & set(patients))
    (50, ['age', 'education', 'name', 'sex', 'ssn', 'zip'])
    """
    dice = _Dice(seed)
    people = [_person(dice, number) for number in range(rows * 5 // 2)]
    patients = [{**person, **_stay(dice, person)} for person in people[:rows]]
    patients.sort(key=lambda patient: (patient["admitted"], patient["ssn"]))
    voters = [person for i, person in enumerate(people) if dice.chance(0.95) or i < rows]
    voters.sort(key=lambda voter: (voter["name"], voter["ssn"]))
    for patient in patients:
        _forget(dice, patient)
    on_file = ("name", "ssn", "age", "sex", "zip", "education", "occupation", "marital_status")
    of_stay = ("admitted", "visit_type", "diagnosis", "cost")
    on_roll = ("name", "ssn", "age", "sex", "zip", "education")
    return _as_columns(patients, (*on_file, *of_stay)), _as_columns(voters, on_roll)


def _as_columns(people: Sequence[Mapping[str, str]], names: Sequence[str]) -> Columns:
    return {name: [person[name] for person in people] for name in names}


def _person(dice: _Dice, number: int) -> dict[str, str]:
    age = 18 + (dice.whole(0, 79) + dice.whole(0, 60)) * 4 // 7
    sex = "F" if dice.chance(0.48 + age / 1000) else "M"
    town = dice.weighted({town: people for town, (_, _, people) in TOWNS.items()})
    prefix, codes, _ = TOWNS[town]
    education = _education(dice, age, town)
    first, last = WOMEN if sex == "F" else MEN, SURNAMES
    return {
        "name": f"{dice.one_of(first.split())} {dice.one_of(last.split())}",
        "ssn": _ssn(number),
        "age": str(age),
        "sex": sex,
        "zip": f"{prefix}{min(dice.whole(0, codes - 1), dice.whole(0, codes - 1)):02d}",
        "education": education,
        "occupation": _occupation(dice, age, education),
        "marital_status": _marital_status(dice, age),
    }


def _ssn(number: int) -> str:
    """Distinct for distinct numbers below the prime, and in a range that is never given out."""
    digits = f"{(number * 48_271_003 + 12_345_678) % 99_999_989:08d}"
    return f"9{digits[:2]}-{digits[2:4]}-{digits[4:]}"


def _education(dice: _Dice, age: int, town: str) -> str:
    schooling = SCHOOLING_OF_THE_OLD if dice.chance((age - 18) / 80) else SCHOOLING_OF_THE_YOUNG
    education = dice.weighted(dict(zip(EDUCATION, schooling, strict=True)))
    if age < 22 and EDUCATION[education] == "Degree":
        return "Some college"
    if town == "Farfield" and education == "Doctorate":
        return "Master"
    return education


def _occupation(dice: _Dice, age: int, education: str) -> str:
    if age >= 67 or (age >= 62 and dice.chance(0.4)):
        return "Retired"
    if age < 25 and dice.chance(0.45):
        return "Student"
    if dice.chance(0.06):
        return "Unemployed"
    return dice.weighted(WORK_WITH_DEGREE if EDUCATION[education] == "Degree" else WORK_WITHOUT_DEGREE)


def _marital_status(dice: _Dice, age: int) -> str:
    years = age - 18
    return dice.weighted(
        {
            "Single": max(8, 90 - 2 * years),
            "Married": min(60, 5 + 2 * years),
            "Divorced": min(18, years // 2),
            "Widowed": max(0, years - 35),
        }
    )


def _stay(dice: _Dice, person: Mapping[str, str]) -> dict[str, str]:
    """Why someone was in the clinic, when, and what it cost."""
    years, woman = int(person["age"]) - 18, person["sex"] == "F"
    youth = max(72 - years, 0)
    odds = {
        name: (ill.young * youth**2 + ill.old * years**2) * (ill.women if woman else 1.0)
        for name, ill in ILLNESSES.items()
    }
    diagnosis = dice.weighted(odds)
    visit = dice.weighted(VISITS)
    share = dice.whole(60, 140) * (130 if visit == "emergency" else 100)
    return {
        "admitted": (date(2024, 1, 1) + timedelta(days=dice.whole(0, 730))).isoformat(),
        "diagnosis": diagnosis,
        "visit_type": visit,
        "cost": str(ILLNESSES[diagnosis].cost * share // 500_000 * 50),
    }


def _forget(dice: _Dice, patient: dict[str, str]) -> None:
    """Leave out what nobody asked the patient."""
    for name, share in (("education", 0.03), ("occupation", 0.05), ("marital_status", 0.02)):
        if dice.chance(share):
            patient[name] = ""


def write_example(folder: str | Path, rows: int = 3000, seed: int = 7) -> Path:
    """Write patients.csv, voters.csv, education.csv (a hierarchy) and two policies into a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    patients, voters = clinic(rows, seed)
    _write_csv(folder / "patients.csv", patients)
    _write_csv(folder / "voters.csv", voters)
    levels = "".join(f"{leaf};{above};*\n" for leaf, above in EDUCATION.items())
    (folder / "education.csv").write_text(levels, encoding="utf-8", newline="\n")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8", newline="\n")
    (folder / "join.toml").write_text(JOIN_POLICY, encoding="utf-8", newline="\n")
    return folder


def positions(rows: int = 1200, seed: int = 7) -> tuple[Columns, Columns]:
    """Invent who asked a map for what, and where; and all phones that were in the town.

    Examples
    --------
    >>> asked, devices = positions(rows=30)
    >>> len(asked["x"]), len(devices["x"]), sorted(set(asked) - set(devices))
    (30, 150, ['asked_for'])
    """
    dice = _Dice(seed)
    phones = [_phone(dice, number) for number in range(5 * rows)]
    asked = [{**phone, "asked_for": dice.weighted(ASKED_FOR)} for phone in phones[:rows]]
    asked.sort(key=lambda each: (int(each["hour"]), each["device"]))
    phones.sort(key=lambda each: each["device"])
    names = ("device", "x", "y", "hour")
    return _as_columns(asked, (*names, "asked_for")), _as_columns(phones, names)


def _phone(dice: _Dice, number: int) -> dict[str, str]:
    """Most are near a square, some anywhere; by day more than by night."""
    squares = {f"{x} {y}": share for (x, y), share in PLACES.items()}
    at = [int(c) for c in dice.weighted(squares).split()] if dice.chance(0.7) else None
    cells = [dice.whole(0, GRID - 1) if at is None else _near(dice, c) for c in at or (0, 0)]
    hour = dice.whole(8, 20) if dice.chance(0.85) else dice.whole(0, 23)
    return {
        "device": f"D{number * 7919 % 100_003:06}",
        "x": str(cells[0]),
        "y": str(cells[1]),
        "hour": str(hour),
    }


def _near(dice: _Dice, cell: int) -> int:
    return min(max(cell + dice.whole(-3, 3) + dice.whole(-3, 3), 0), GRID - 1)


def write_positions(folder: str | Path, rows: int = 1200, seed: int = 7) -> Path:
    """Write positions.csv, devices.csv and two policies into a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in zip(("positions.csv", "devices.csv"), positions(rows, seed), strict=True):
        _write_csv(folder / name, columns)
    (folder / "cloak.toml").write_text(CLOAK_POLICY, encoding="utf-8", newline="\n")
    (folder / "join.toml").write_text(CLOAK_JOIN_POLICY, encoding="utf-8", newline="\n")
    return folder


def _write_csv(path: Path, columns: Columns) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
