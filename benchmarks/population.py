"""How far estimates of population risk are off where the population is known: the table of docs/risk.md.

Whole tables are taken for populations, samples are drawn from them, and what is estimated from a sample is
compared with the truth. Pitman's and Zayatz's estimators stand beside ours.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import exp, lgamma, log, log1p

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from tables import real_data

from incrowd import tables
from incrowd.flow import Table, distinct_rows
from incrowd.measures.population import population_risk

Ints = NDArray[np.int64]
FRACTIONS = (0.005, 0.01, 0.05, 0.1, 0.2, 0.5)
LEAST = 10  # fewer people who are unique in the population make a ratio of chance
FILES = {
    "census": "acs2024_census/census.csv.gz",
    "renters": "acs2024_renters/renters.csv.gz",
    "adult": "adult/adult.csv",
    "diabetes": "diabetes130/diabetes130.csv.gz",
    "toronto": "toronto_covid/toronto_covid.csv",
}
COLUMNS: tuple[tuple[str, str], ...] = (
    ("census", "PUMA AGEP SEX"),
    ("census", "AGEP SEX RAC1P SCHL"),
    ("census", "PUMA AGEP SEX MAR"),
    ("census", "PUMA AGEP SEX RAC1P MAR"),
    ("census", "STATE AGEP SEX OCCP MAR"),
    ("census", "STATE AGEP SEX RAC1P SCHL CIT"),
    ("census", "AGEP OCCP SEX RAC1P HISP SCHL MAR"),
    ("census", "STATE AGEP SEX RAC1P HISP SCHL MAR COW"),
    ("census", "PUMA AGEP SEX RAC1P HISP SCHL MAR COW"),
    ("renters", "age sex state"),
    ("renters", "age sex family_size state"),
    ("renters", "age sex family_size state years_education"),
    ("adult", "age sex race education"),
    ("adult", "age sex race marital-status native-country"),
    ("adult", "age sex education occupation hours-per-week"),
    ("adult", "age workclass education marital-status occupation race sex native-country"),
    ("diabetes", "race gender age diag_1"),
    ("diabetes", "race gender age admission_type_id payer_code medical_specialty"),
    ("toronto", "age_group client_gender neighbourhood_name outcome"),
    ("toronto", "age_group client_gender fsa episode_date"),
)
# Columns that nobody looked at when the estimator was chosen.
HELD_OUT: tuple[tuple[str, str], ...] = (
    ("census", "PUMA INDP SEX"),
    ("census", "AGEP SCHL WKHP"),
    ("census", "PUMA SCHL HISP NP"),
    ("census", "STATE AGEP INDP COW WKHP"),
    ("census", "PUMA CIT TEN NP MAR HICOV"),
    ("census", "STATE SEX OCCP INDP SCHL"),
    ("census", "AGEP SEX MAR MIL DIS TEN NP CIT"),
    ("renters", "family_size state years_education"),
    ("renters", "age rent state"),
    ("adult", "education education-num occupation hours-per-week"),
    ("adult", "relationship marital-status workclass native-country race"),
    ("diabetes", "gender age discharge_disposition_id admission_source_id time_in_hospital"),
    ("diabetes", "diag_1 diag_2 age"),
    ("toronto", "fsa neighbourhood_name age_group"),
    ("toronto", "source_of_infection age_group reported_date"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Columns of a whole table, and how many people share each one's values."""

    codes: NDArray[np.int32]
    labels: Ints
    sizes: Ints


@dataclass(frozen=True, slots=True)
class Trial:
    """One sample: ratios of estimates and truth; None where an estimate was declined."""

    right: float | None
    covered: bool
    unique: float | None
    pitman: float | None
    zayatz: float | None


def populations(wanted: Iterable[str], held_out: bool) -> Iterator[Population]:
    folder = real_data()
    read: dict[str, Table] = {}
    if folder is None:
        raise SystemExit("the real tables are not there; name their folder with INCROWD_DATA")
    for name, columns in HELD_OUT if held_out else COLUMNS:
        if name not in wanted:
            continue
        table = read.get(name) or read.setdefault(name, tables.read(folder / FILES[name]))
        some = np.arange(len(table))
        if name == "diabetes":  # several encounters of one patient are not several people
            some = np.unique(table.column("patient_nbr").codes, return_index=True)[1]
        codes = np.stack([table.column(column).codes[some] for column in columns.split()], axis=1)
        labels = distinct_rows(list(codes.T), (codes.max(axis=0) + 1).tolist(), len(codes))[1]
        yield Population(codes, labels, np.bincount(labels))


def sample(people: Population, fraction: float, uneven: bool, rng: np.random.Generator) -> Trial | None:
    """Draw people, evenly or half of the first column's values three times as often, and estimate."""
    n = len(people.codes)
    if uneven:
        often = people.codes[:, 0] % 2 == 0
        chance = np.where(often, 1.5 * fraction, 0.5 * fraction)
        drawn = np.flatnonzero(rng.random(n) < chance)
        weights = 1 / chance[drawn]
    else:
        drawn = rng.choice(n, round(n * fraction), replace=False)
        weights = np.full(drawn.size, n / drawn.size)
    labels, codes = people.labels[drawn], people.codes[drawn]
    found = population_risk(labels, weights, codes)
    met = np.bincount(labels, minlength=people.sizes.size)
    sizes = people.sizes[met == 1]
    truth, unique = met[met == 1].sum() / max(int(sizes.sum()), 1), int((sizes == 1).sum())
    if found.right is None or found.interval is None or unique < LEAST:
        return None
    some = met[met > 0]
    low, high = found.interval
    estimate = found.unique_in_population
    return Trial(
        None if estimate is None else found.right / truth,
        low <= truth <= high,
        None if estimate is None else estimate / unique,
        None if uneven else pitman(some, n) / unique,
        None if uneven else zayatz(some, fraction) / unique,
    )


def pitman(sizes: Ints, population: int) -> float:
    """Population uniques in the sample by Pitman's model, by maximum likelihood (Hoshino 2001)."""
    n = int(sizes.sum())
    counts = np.bincount(sizes)[1:]
    classes, records, steps = np.arange(1, sizes.size), np.arange(1, n), np.arange(1, counts.size)

    def theta_of(alpha: float) -> float:
        def slope(theta: float) -> float:
            return float((1 / (theta + classes * alpha)).sum() - (1 / (theta + records)).sum())

        return _root(slope, 1e-3, 1e9)

    def slope(alpha: float) -> float:
        within = np.concatenate([[0.0], np.cumsum(1 / (steps - alpha))])
        return float((classes / (theta_of(alpha) + classes * alpha)).sum() - counts @ within)

    alpha = _root(slope, 1e-4, 1 - 1e-4)
    theta = theta_of(alpha)
    share = lgamma(theta + 1) - lgamma(theta + alpha)
    share += lgamma(population + theta + alpha - 1) - lgamma(population + theta)
    return exp(log(n) + share)


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a function becomes negative; an end if that is nowhere between."""
    if falling(low) <= 0:
        return low
    return high if falling(high) >= 0 else float(brentq(falling, low, high, rtol=1e-4))


def zayatz(sizes: Ints, fraction: float) -> float:
    """Population uniques in the sample if its classes were distributed as those of the population."""
    counts = np.bincount(sizes)[1:].astype(np.float64)
    size = np.arange(1, counts.size + 1)
    alone = size * fraction * np.exp((size - 1) * log1p(-fraction))
    return float(counts[0] ** 2 * fraction / (counts @ alone))


def row(name: str, trials: Sequence[Trial]) -> str:
    """A line of the table: of each estimate the median, least and largest ratio to the truth."""
    columns = [f"{name} | {len(trials)}"]
    for key in ("right", "unique", "pitman", "zayatz"):
        ratios = [ratio for trial in trials if (ratio := getattr(trial, key)) is not None]
        if key == "unique":
            covered = sum(trial.covered for trial in trials) / max(len(trials), 1)
            columns += [f"{covered:.0%}", str(len(ratios))]
        shown = (float(np.median(ratios)), min(ratios), max(ratios)) if ratios else ()
        columns.append("{:.2f} ({:.2f}-{:.2f})".format(*shown) if shown else "")
    return f"| {' | '.join(columns)} |"


HEADER = "| sample | samples | right | inside | estimated | unique there | Pitman | Zayatz |"


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench population", description=__doc__)
    parser.add_argument("--draws", type=int, default=5, help="samples of each population and fraction")
    parser.add_argument("--tables", nargs="+", default=list(FILES), choices=list(FILES))
    parser.add_argument("--held-out", action="store_true", help="columns that no choice was made by")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(words)
    rng = np.random.default_rng(asked.seed)
    every = list(populations(asked.tables, asked.held_out))
    print(HEADER)
    print("|" + "---|" * HEADER.count(" | ") + "---|")
    for uneven in (False, True):
        for fraction in FRACTIONS:
            found = (sample(p, fraction, uneven, rng) for p in every for _ in range(asked.draws))
            name = f"{fraction:.1%}{', uneven' if uneven else ''}"
            print(row(name, [trial for trial in found if trial is not None]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
