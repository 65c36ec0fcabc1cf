"""Series of real tables, a year of months and ninety nights: the figures of docs/series.md.

People of a real table come, leave, return, change and are erased by chance, with one seed. Every release is
published after the one before and verified with it; at the end the attacks on series count everybody's
candidates once more, and how many would have too few if the method parted each table anew.

The tables `adult-values` and `census-values` have a sensitive column of many values, which never changes: for
cohorts and m-invariance side by side.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tables import opened, real_data

import incrowd as ic
from incrowd.attacks.series import linking
from incrowd.commands.attack_series import series_target
from incrowd.flow import Table
from incrowd.release.folder import ReleaseFolder

K = 10
SEED = 20
SIGNATURES = "m-invariance"
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class People:
    """A file, its quasi-identifiers, those that change, the sensitive column, and how many begin."""

    file: str
    quasi: tuple[str, ...]
    changing: tuple[str, ...]
    sensitive: str
    begin: int
    every: int = 1
    m: int = 0  # of m-invariance

    def read(self, folder: Path) -> dict[str, list[str]]:
        with opened(folder / self.file) as lines:
            header, *records = csv.reader(lines)
        some = records[:: self.every]
        return {
            name: [record[header.index(name)] for record in some] for name in (*self.quasi, self.sensitive)
        }


TABLES: Mapping[str, People] = {
    "adult": People(
        "adult/adult.csv",
        ("age", "workclass", "marital-status", "occupation", "race", "sex", "native-country"),
        ("workclass", "marital-status", "occupation"),
        "income",
        20_000,
    ),
    "census": People(
        "acs2024_census/census.csv.gz",
        ("PUMA", "AGEP", "SEX", "RAC1P", "HISP", "SCHL", "MAR", "COW"),
        ("PUMA", "SCHL", "MAR", "COW"),
        "WAGP",
        70_000,
        every=4,
    ),
}


def _of_values(people: People, sensitive: str, m: int) -> People:
    """The same people with another sensitive column, which is no quasi-identifier then, and never changes."""
    quasi, changing = (
        tuple(name for name in names if name != sensitive) for names in (people.quasi, people.changing)
    )
    return replace(people, quasi=quasi, changing=changing, sensitive=sensitive, m=m)


OF_VALUES: Mapping[str, People] = {
    "adult-values": _of_values(TABLES["adult"], "occupation", 4),
    "census-values": _of_values(TABLES["census"], "PINCP", 10),
}
NUMBERS = ("age", "AGEP")


@dataclass(frozen=True)
class Moves:
    """What happens between two releases, as shares of those who began: who come, leave, change; of those away
    who return; so many are erased."""

    releases: int
    come: float
    leave: float = 0.0
    change: float = 0.0
    back: float = 0.0
    erase: int = 0
    anything: bool = False  # any value of any quasi-identifier, not somebody's of those that change


MONTHS = Moves(12, 0.05)
CASES: Mapping[str, Moves] = {
    "come": MONTHS,
    "change": replace(MONTHS, leave=0.03, change=0.02),
    "anything": replace(MONTHS, leave=0.03, change=0.02, anything=True),
    "return": replace(MONTHS, leave=0.03, change=0.02, back=0.05, erase=5),
    "nights": Moves(90, 0.05 / 30, 0.03 / 30, 0.02 / 30, 0.05 / 30, 1),
}
WAITS = {"nights": {"wait": 30, "hold": 30}}
YEAR = {"wait": 3, "hold": 3}


def days(
    people: People, columns: dict[str, list[str]], moves: Moves, seed: int = SEED
) -> Iterator[tuple[Ints, dict[str, Any]]]:
    """Who is in the table, and everybody's values, at the time of each release."""
    dice = np.random.default_rng(seed)
    everyone = dice.permutation(len(columns[people.sensitive]))
    values = {name: np.array(texts, object) for name, texts in columns.items()}
    known = {name: sorted(set(texts)) for name, texts in columns.items()}
    here = np.zeros(everyone.size, np.bool_)
    here[everyone[: people.begin]] = True
    met = people.begin
    yield np.flatnonzero(here), values
    for _ in range(moves.releases - 1):
        away = np.setdiff1d(everyone[:met], np.flatnonzero(here))
        many = {share: round(people.begin * getattr(moves, share)) for share in ("come", "leave", "change")}
        gone = dice.choice(np.flatnonzero(here), many["leave"], replace=False)
        here[away[dice.random(away.size) < moves.back]] = True
        here[gone] = False
        here[everyone[met : met + many["come"]]] = True
        met = min(met + many["come"], everyone.size)
        for who in dice.choice(np.flatnonzero(here), many["change"], replace=False).tolist():
            name = str(dice.choice(people.quasi if moves.anything else people.changing))
            one = values[name]
            among = known[name] if moves.anything else columns[name]
            one[who] = among[dice.integers(len(among))]
        yield np.flatnonzero(here), values


def policy(people: People, waits: Mapping[str, Any]) -> dict[str, Any]:
    quasi = {name: {"type": "numeric" if name in NUMBERS else "categorical"} for name in people.quasi}
    roles = {"entity": "id", "quasi_identifiers": quasi, "sensitive": [people.sensitive], "missing": [""]}
    return {**roles, "privacy": {"k": K}, "series": dict(waits)}


def by_signatures(people: People) -> dict[str, Any]:
    """The policy of m-invariance: it has no other terms than m."""
    return policy(people, {}) | {"method": SIGNATURES, "privacy": {"k": people.m, "l": people.m}}


def run(folder: Path, people: People, data: Path, moves: Moves, asked: Any, seed: int) -> dict[str, Any]:
    """Publish all releases -> what the first and the last one lose, who waits, faults, processor seconds."""
    dice = np.random.default_rng(seed + 1)
    claim = f"{SIGNATURES} ({people.sensitive})" if "method" in asked else "series-k"
    least = people.m if "method" in asked else K
    told: list[dict[str, Any]] = []
    began = time.process_time()
    for number, (who, values) in enumerate(days(people, people.read(data), moves, seed)):
        start = time.process_time()
        table = Table.of({"id": who.astype(str).tolist(), **{n: v[who].tolist() for n, v in values.items()}})
        erase = dice.choice(who, moves.erase, replace=False).astype(str).tolist() if number else []
        release = ic.publish(
            table,
            asked,
            folder / f"r{number}",
            after=folder / f"r{number - 1}" if number else None,
            erase=erase or None,
        )
        said = dict(release.manifest["series"])
        reached = int(release.verdict.facts["reached"][claim])
        seconds = time.process_time() - start
        told.append(
            {
                **{"gcp": float(release.loss()["gcp"]), "rows": int(release.manifest["rows"]["published"])},
                **{"present": who.size, "reached": reached, "cpu": seconds, **said},
            }
        )
        print(
            f"  {number:>3} {told[-1]['gcp']:.4f} reached {reached} {seconds:.1f} s",
            file=sys.stderr,
            flush=True,
        )
    first, last = told[0], told[-1]
    return {
        **{"first": first["gcp"], "last": last["gcp"], "ratio": last["gcp"] / first["gcp"]},
        **{"rows": last["rows"], "waiting": last["waiting"] / last["present"]},
        **{"lingering": last["lingering"] / last["rows"], "withheld": last["withheld"] / last["present"]},
        **{"faults": sum(each["reached"] < least for each in told), "last cpu": last["cpu"]},
        **{"cpu": time.process_time() - began},
        **below(folder / f"r{moves.releases - 1}"),
    }


def below(release: Path) -> dict[str, Any]:
    """People with fewer than k of their history: in the series, and where each table is parted anew."""
    target = series_target(ReleaseFolder.open(release))
    if target is None:
        return {}
    who = target.with_rows
    return {
        "people": int(who.sum()),
        "below k": int((linking(target.shown)[who] < K).sum()),
        "below k anew": float((linking(target.anew)[who] < K).mean()),
    }


def main(words: list[str]) -> None:
    """Print a line for each table, case and seed."""
    parser = argparse.ArgumentParser(prog="./run bench series", description=__doc__)
    parser.add_argument("--table", choices=[*TABLES, *OF_VALUES, "all"], default="all")
    parser.add_argument("--case", choices=[*CASES, "all"], default="all")
    for name in ("wait", "tau", "hold", "size"):
        parser.add_argument(f"--{name}", help=f"{name} under [series]")
    parser.add_argument("--releases", type=int, help="fewer releases")
    parser.add_argument("--begin", type=int, help="how many people begin")
    parser.add_argument("--seed", type=int, nargs="+", default=[SEED], help="draws of people")
    given = parser.parse_args(words)
    data = real_data()
    if data is None:
        sys.exit("no real tables: set INCROWD_DATA")
    print(f"load {os.getloadavg()[0]:.1f} at the beginning")
    everything = {**TABLES, **OF_VALUES}
    for table in everything if given.table == "all" else (given.table,):
        people, cases = everything[table], list(CASES) if table in TABLES else ["change"]
        people = replace(people, begin=given.begin or people.begin)
        for case, seed in product(cases if given.case == "all" else [given.case], given.seed):
            asked = {"wait": given.wait, "hold": given.hold, "size": given.size}
            waits: dict[str, Any] = WAITS.get(case, YEAR) | {n: int(v) for n, v in asked.items() if v}
            waits |= {"tau": given.tau} if given.tau else {}
            policies = {f"cohorts {waits}": policy(people, waits)}
            policies |= {f"{SIGNATURES}, m = {people.m}": by_signatures(people)} if people.m else {}
            moves = replace(CASES[case], releases=given.releases or CASES[case].releases)
            for how, terms in policies.items():
                with tempfile.TemporaryDirectory() as name:
                    found = run(Path(name), people, data, moves, terms, seed)
                said = ", ".join(f"{key} {value:.4g}" for key, value in found.items())
                print(f"{table} {case} seed {seed}, {how}: {said}", flush=True)
