"""What leaving out saves, and what it would give away: the tables of docs/suppression.md.

Records: real tables, published with several shares of `max_suppression`. Cells: of the classes of a method,
single cells are replaced by ``*`` where that makes the rows of others narrowest, as many as so many records
have; and it is counted how many people then fit fewer than k rows.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tables import opened, real_data

import incrowd as ic
from incrowd.algorithms.base import method
from incrowd.encode import encode
from incrowd.errors import IncrowdError
from incrowd.flow import Microdata, Partition, Table
from incrowd.generalize import generalize
from incrowd.long_work import silent
from incrowd.measures import Published, measure_all, published, quasi_identifier_error
from incrowd.measures.shrinkage import narrower_cells
from incrowd.measures.totals import held_codes
from incrowd.policy import Policy
from incrowd.publishing.render import cell_texts

K = 10
SHARES = ("0", "0.01", "0.02", "0.05")
NUMBERS = dict.fromkeys(("age", "hours-per-week", "wife_age", "children", "AGEP", "WKHP"), "numeric")
DATES = dict.fromkeys(("episode_date", "reported_date"), "date")
TYPES = {**NUMBERS, **DATES}


@dataclass(frozen=True)
class RealTable:
    """A file with its quasi-identifiers and its sensitive column; others are not published."""

    file: str
    quasi: tuple[str, ...]
    sensitive: str
    rows: int | None = None

    def read(self, folder: Path) -> Table:
        with opened(folder / self.file) as lines:
            header, *records = islice(csv.reader(lines), None if self.rows is None else self.rows + 1)
        names = [*self.quasi, self.sensitive]
        place = [header.index(name) for name in names]
        return Table.of(
            {name: [record[j] for record in records] for name, j in zip(names, place, strict=True)}
        )

    def policy(self, name: str, share: str, totals: bool) -> Policy:
        quasi = {column: {"type": TYPES.get(column, "categorical")} for column in self.quasi}
        privacy = {"k": K, **({} if share == "0" else {"max_suppression": share})}
        return Policy(
            quasi_identifiers=quasi,
            sensitive=[self.sensitive],
            method=name,
            privacy=privacy,
            totals=totals,
            missing=["", "?"],
        )


TABLES: Mapping[str, RealTable] = {
    "adult": RealTable(
        "adult/adult.csv",
        (
            *("age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex"),
            *("hours-per-week", "native-country"),
        ),
        "income",
    ),
    "adult_arx": RealTable(
        "adult_arx/adult_arx.csv",
        (
            *("sex", "age", "race", "marital-status", "education", "native-country", "workclass"),
            "occupation",
        ),
        "salary-class",
    ),
    "toronto": RealTable(
        "toronto_covid/toronto_covid.csv",
        (
            *("age_group", "neighbourhood_name", "fsa", "episode_date", "reported_date"),
            "client_gender",
        ),
        "outcome",
    ),
    "cmc": RealTable(
        "cmc/cmc.csv",
        (
            *("wife_age", "wife_education", "husband_education", "children", "wife_working"),
            "husband_occupation",
        ),
        "contraceptive_method",
    ),
    "census 100K": RealTable(
        "acs2024_census/census.csv.gz",
        ("AGEP", "WKHP", "SEX", "RAC1P", "SCHL", "MAR", "COW", "ESR"),
        "HICOV",
        100_000,
    ),
}


def records(name: str, table: Table, real: RealTable, chosen: str) -> None:
    """Lines for a table: E2, GCP, and how many are left out, by share, without totals and with them."""
    for totals in (False, True):
        found = []
        for share in SHARES:
            release = ic.publish(table, real.policy(chosen, share, totals))
            error, loss = release.two_way.error or 0.0, release.loss()["gcp"]
            gone = len(table) - release.verdict.facts["rows"]
            found.append(f"{100 * error:.2f} / {loss:.4f} / {gone:,}")
        stated = "yes" if totals else "no"
        print(f"| {name} | `{chosen}` | {stated} | {' | '.join(found)} |", flush=True)


def cells(name: str, table: Table, real: RealTable, chosen: str) -> None:
    """A line for a table: E2 of the quasi-identifiers, GCP, and who fits fewer than k rows, by share."""
    people = encode(table, real.policy(chosen, "0", False).schema(table))
    partition = method(chosen).configured(K, {}).group(people, (), silent)
    if not isinstance(partition, Partition):
        raise TypeError("cells can only be left out of classes")
    found = []
    for share in SHARES:
        starred = dearest_cells(people, partition, int(float(share) * people.codes.size))
        shown = published(with_stars(people, partition, starred), people)
        few = len(people) - enough_rows(people, shown, np.asarray(starred.any(axis=1)))
        error, loss = quasi_identifier_error(people, shown), measure_all(shown, people, K)["gcp"]
        found.append(f"{100 * error:.2f} / {loss:.4f} / {few:,}")
    print(f"| {name} | `{chosen}` | {' | '.join(found)} |", flush=True)


def dearest_cells(people: Microdata, partition: Partition, budget: int) -> NDArray[np.bool_]:
    """The cells (n, d) without which the cells of others shrink most; one in each column of a class."""
    labels = partition.labels.astype(np.int64)
    sizes = np.bincount(labels)
    saved = np.zeros(people.codes.shape)
    for j, attribute in enumerate(people.attributes):
        if len(attribute) > 1:
            narrower = narrower_cells(attribute, labels, people.codes[:, j].astype(np.int64))
            saved[:, j] = narrower * (sizes[labels] - 1)
    starred = np.zeros(saved.shape, np.bool_)
    taken: set[tuple[int, int]] = set()
    for place in np.argsort(-saved, axis=None, kind="stable").tolist():
        record, j = divmod(place, len(people.attributes))
        if not budget or saved[record, j] <= 0:
            break
        if (int(labels[record]), j) not in taken:
            taken.add((int(labels[record]), j))
            starred[record, j] = True
            budget -= 1
    return starred


def with_stars(people: Microdata, partition: Partition, starred: NDArray[np.bool_]) -> Table:
    """The rows of the classes, made over what is not starred, and `*` where it is."""
    codes, order, columns = people.codes.copy(), np.argsort(partition.labels, kind="stable"), {}
    for j in range(codes.shape[1]):
        stand_in = np.zeros(len(partition), np.int64)
        rest = order[~starred[order, j]]
        stand_in[partition.labels[rest]] = rest
        gone = np.flatnonzero(starred[:, j])
        codes[gone, j] = people.codes[stand_in[partition.labels[gone]], j]
    regions = generalize(Microdata(codes, people.attributes), partition)
    for j, attribute in enumerate(people.attributes):
        texts = np.array(cell_texts(attribute, regions.cells[j]), object)[regions.cell[regions.of, j]]
        columns[attribute.name] = np.where(starred[:, j], "*", texts).tolist()
    return Table.of(columns)


def enough_rows(people: Microdata, shown: Published, starred: NDArray[np.bool_]) -> int:
    """How many people fit k rows. Whoever has no star fits all rows of the class, as before."""
    few = 0
    held = [
        np.stack([held_codes(cells, line, len(attribute)) for line in range(len(cells))])
        for attribute, cells in zip(shown.attributes, shown.cells, strict=True)
    ]
    for record in np.flatnonzero(starred).tolist():
        fits = np.ones(len(shown), np.bool_)
        for j, code in enumerate(people.codes[record].tolist()):
            fits &= held[j][shown.rows[j], code]
        few += int(fits.sum()) < K
    return len(people) - few


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="./run bench suppression", description=__doc__)
    parser.add_argument("--cells", action="store_true", help="leave out cells instead of records")
    parser.add_argument("--table", choices=sorted(TABLES), action="append")
    parser.add_argument("--method", action="append")
    asked = parser.parse_args(words)
    folder = real_data()
    if folder is None:
        sys.exit("suppression: no real tables (set INCROWD_DATA)")
    shares = " | ".join(f"{100 * float(share):g} %" for share in SHARES)
    print(f"| table | method | {'' if asked.cells else 'totals | '}{shares} |")
    print("|---" * (len(SHARES) + (2 if asked.cells else 3)) + "|")
    for name in asked.table or TABLES:
        table = TABLES[name].read(folder)
        for chosen in asked.method or ["mondrian"]:
            try:
                (cells if asked.cells else records)(name, table, TABLES[name], chosen)
            except IncrowdError as problem:
                print(f"{name}, {chosen}: {problem}", file=sys.stderr)


if __name__ == "__main__":
    main()
