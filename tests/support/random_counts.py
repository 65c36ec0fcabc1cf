"""Random counts with one or two conditions on real tables, for how often intervals hold the truth.

Half of the conditions ask for what a random person has, half for a random distinct value; numbers are also
asked for by ranges. A fixed seed makes the same queries every time.
"""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.places import DATA

from incrowd.policy import Policy

SEED = 20


@dataclass(frozen=True)
class CountedTable:
    """A real table: file, quasi-identifiers with their types (None: categories), a sensitive column."""

    file: str
    quasi: Mapping[str, str | None]
    sensitive: str
    rows: int = 8_000

    @property
    def path(self) -> Path:
        return DATA / self.file

    def policy(self, k: int, totals: bool) -> Policy:
        said: dict[str, Any] = {name: {"type": kind or "categorical"} for name, kind in self.quasi.items()}
        parts = {"quasi_identifiers": said, "sensitive": [self.sensitive], "privacy": {"k": k}}
        return Policy.from_dict({**parts, "missing": ["", "?"], "totals": totals})

    def read(self) -> dict[str, list[str]]:
        """The columns of the first rows, or of every n-th if there are many more."""
        opened = gzip.open if self.file.endswith(".gz") else open
        with opened(self.path, "rt", encoding="utf-8", newline="") as file:
            header, *records = csv.reader(file)
        step = max(1, len(records) // self.rows)
        places = {name: header.index(name) for name in [*self.quasi, self.sensitive]}
        chosen = records[::step][: self.rows]
        return {name: [record[place] for record in chosen] for name, place in places.items()}


TABLES = {
    "adult": CountedTable(
        "adult/adult.csv",
        {
            **dict.fromkeys(["age", "hours-per-week"], "numeric"),
            **dict.fromkeys(["workclass", "education", "marital-status", "occupation", "race", "sex"]),
        },
        "income",
    ),
    "cmc": CountedTable(
        "cmc/cmc.csv",
        {
            **dict.fromkeys(["wife_age", "children"], "numeric"),
            **dict.fromkeys(["wife_education", "husband_education", "wife_religion", "husband_occupation"]),
        },
        "contraceptive_method",
    ),
    "diabetes": CountedTable(
        "diabetes130/diabetes130.csv.gz",
        {
            **dict.fromkeys(["time_in_hospital", "num_medications"], "numeric"),
            **dict.fromkeys(["race", "gender", "age", "admission_type_id", "medical_specialty"]),
        },
        "readmitted",
    ),
    "census": CountedTable(
        "acs2024_census/census.csv.gz",
        {
            **dict.fromkeys(["AGEP", "WKHP"], "numeric"),
            **dict.fromkeys(["SEX", "RAC1P", "SCHL", "MAR", "COW", "ESR"]),
        },
        "HICOV",
    ),
    "renters": CountedTable(
        "acs2024_renters/renters.csv.gz",
        {
            **dict.fromkeys(["age", "total_income", "family_size", "years_education"], "numeric"),
            **dict.fromkeys(["sex", "state"]),
        },
        "rent",
    ),
    "covid": CountedTable(
        "toronto_covid/toronto_covid.csv",
        {
            "episode_date": "date",
            **dict.fromkeys(["age_group", "fsa", "client_gender", "outbreak_associated"]),
        },
        "outcome",
    ),
}


def queries(
    table: CountedTable, columns: Mapping[str, Sequence[str]], predicates: int, count: int
) -> list[str]:
    """Counts with so many conditions, each on another column; the second may be the sensitive one."""
    draw = random.Random(f"{SEED} {table.file} {predicates}")
    names, found = list(table.quasi), list[str]()
    while len(found) < count:
        chosen = draw.sample(names, predicates)
        if predicates > 1 and draw.random() < 0.25:
            chosen[-1] = table.sensitive
        conditions = [_condition(draw, name, columns[name], table.quasi.get(name)) for name in chosen]
        found.append(f"SELECT COUNT(*) WHERE {' AND '.join(conditions)}")
    return found


def _condition(draw: random.Random, name: str, values: Sequence[str], kind: str | None) -> str:
    known = [value for value in values if value not in ("", "?")]
    distinct = sorted(set(known), key=lambda text: (len(text), text) if kind == "numeric" else (0, text))
    one = draw.choice(known) if draw.random() < 0.5 else draw.choice(distinct)
    quote = "" if kind == "numeric" else "'"
    if kind is not None and draw.random() < 0.7:
        other = draw.choice(distinct)
        low, high = sorted([one, other], key=float if kind == "numeric" else str)
        return f'"{name}" BETWEEN {quote}{low}{quote} AND {quote}{high}{quote}'
    return f'"{name}" = {quote}{one}{quote}'
