"""How close lower bounds come to what methods reach: the table of docs/bounds.md."""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tables import opened, real_data

from incrowd.encode import encode
from incrowd.flow import Microdata, Table
from incrowd.measures.bounds import CLASSES, QUICK, ROWS, TIGHT, loss_bound
from incrowd.policy import Policy

KS = (5, 10, 50)
ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
CENSUS = ("PUMA", "AGEP", "SEX", "RAC1P", "HISP", "SCHL", "MAR", "COW")
FILES = {
    "adult_arx, trees": ("adult_arx", "adult_arx.csv", ADULT, ADULT),
    "adult_arx, age with a tree": ("adult_arx", "adult_arx.csv", ADULT, ("age",)),
    "adult_arx, all trees but age": ("adult_arx", "adult_arx.csv", ADULT, tuple(set(ADULT) - {"age"})),
    "adult_arx, sets": ("adult_arx", "adult_arx.csv", ADULT, ()),
    "census, trees": ("acs2024_census", "census.csv.gz", CENSUS, CENSUS),
    "census, sets": ("acs2024_census", "census.csv.gz", CENSUS, ("PUMA",)),
}
NUMBERS = ("age", "AGEP")


def table_of(folder: Path, name: str) -> Microdata:
    place, file, columns, trees = FILES[name]
    with opened(folder / place / file) as lines:
        rows = list(csv.DictReader(lines))
    table = Table.of({column: [row[column] for row in rows] for column in columns})
    quasi = {
        column: {"hierarchy": str(folder / place / "hierarchies" / f"{column}.csv")}
        if column in trees
        else {"type": "numeric" if column in NUMBERS else "categorical"}
        for column in columns
    }
    policy = Policy(quasi_identifiers=quasi, privacy={"k": 10})
    return encode(table, policy.schema(table))


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="./run bench bounds", description=__doc__)
    parser.add_argument("--table", choices=sorted(FILES), action="append")
    parser.add_argument("--k", type=int, action="append")
    parser.add_argument("--quick", action="store_true", help="leave the tight ones out")
    asked = parser.parse_args(words)
    folder = real_data()
    if folder is None:
        sys.exit("bounds: no real tables (set INCROWD_DATA)")
    print("| table | k | rows, quick | rows, tight | classes, tight |")
    print("|---|---|---|---|---|")
    for name in asked.table or FILES:
        data = table_of(folder, name)
        loss_bound(Microdata(data.codes[:100], data.attributes), 5, TIGHT)  # compiles
        for k in asked.k or KS:
            found = []
            for effort, kind in ((QUICK, ROWS), (TIGHT, ROWS), (TIGHT, CLASSES)):
                if effort == TIGHT and asked.quick:
                    continue
                began = time.process_time()
                bound = loss_bound(data, k, effort, kind)
                found.append(f"{bound.shown} ({time.process_time() - began:.1f} s)")
            print(f"| {name} | {k} | {' | '.join(found)} |", flush=True)


if __name__ == "__main__":
    main()
