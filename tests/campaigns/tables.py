"""Random small tables and policies of every kind, made without hypothesis so that a number names a case."""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.requested import COLUMNS, MODELS, PLACES

from incrowd.algorithms.base import all_methods
from incrowd.contracts import Choice, ColumnWeights, Switch
from incrowd.policy import Policy
from incrowd.publishing.suppression import leaves_out

METHODS = all_methods()

Texts = list[str]


def pool(name: str, rng: random.Random) -> list[str]:
    """Values of a column: those of the shared tests, or many where the kind allows it."""
    if name == "age" and rng.random() < 0.5:
        return [str(age) for age in range(18, 90)]
    if name == "day" and rng.random() < 0.5:
        return [
            f"{day:02d}.{month:02d}.19{year}" for day in (1, 9, 28) for month in (1, 6) for year in (50, 75)
        ]
    return list(COLUMNS[name][1])


def columns_of(rng: random.Random, quasi: list[str], rows: int, entity: bool) -> dict[str, Texts]:
    columns = {"name": [f"person {i}" for i in range(rows)]}
    for name in quasi:
        values = pool(name, rng)
        columns[name] = [rng.choice(values) for _ in range(rows)]
    if "zip" in columns and not any(columns["zip"]):
        columns["zip"][0] = "0123"
    columns["ill"] = [rng.choice(["flu", "ulcer", "cough", "angina"]) for _ in range(rows)]
    if entity:
        columns["who"] = [f"w{rng.randrange(rows)}" for _ in range(rows)]
    return columns


def write_table(path: Path, columns: Mapping[str, Texts]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def write_places(folder: Path) -> None:
    rows = "\n".join(";".join(row) for row in PLACES.values())
    (folder / "places.csv").write_text(rows + "\n", encoding="utf-8")


def random_request(rng: random.Random, folder: Path, method: str, entity: bool) -> tuple[Path, Policy]:
    """A table in the folder, and a policy that asks for this method."""
    chosen = METHODS[method]
    if chosen.joins:
        return _joined_request(rng, folder, method)
    names = [name for name in sorted(COLUMNS) if not (COLUMNS[name][0].get("mean") and chosen.overlapping)]
    if method == "anatomy":
        names.remove("height")
    quasi = rng.sample(names, rng.randint(1, 3))
    rows = rng.choice([8, 12, 20, 40, 80])
    table = write_table(folder / "table.csv", columns_of(rng, quasi, rows, entity))
    write_places(folder)
    parts: dict[str, Any] = {
        "identifiers": ["name"],
        "quasi_identifiers": {name: COLUMNS[name][0] for name in quasi},
        "sensitive": ["ill"],
        "privacy": {"k": rng.randint(2, 4), **_promise(rng, method)},
        "method": method,
        "options": options_of(rng, method) | weights_of(rng, method, quasi),
        "accept": ["all"] if rng.random() < 0.2 else _needed(method),
    }
    if leaves_out(METHODS[method]) and rng.random() < (0.5 if method == "incognito" else 0.25):
        parts["privacy"]["max_suppression"] = rng.choice(["0.1", "0.25"])
    if entity:
        parts["entity"] = "who"
    if "plain" not in parts["privacy"] and method != "anatomy":
        parts["totals"] = rng.random() < 0.4
    return table, Policy.from_dict(parts, folder)


def options_of(rng: random.Random, method: str) -> dict[str, Any]:
    """Every second time some option that is one of a few words, or a switch."""
    chosen, found = METHODS[method], {}
    if rng.random() < 0.5:
        for name, limit in sorted(chosen.limits.items()):
            allowed: tuple[Any, ...] = limit.words_allowed if isinstance(limit, Choice) else ()
            allowed = (False, True) if isinstance(limit, Switch) else allowed
            if allowed and rng.random() < 0.4:
                found[name] = rng.choice(allowed)
    return found


def weights_of(rng: random.Random, method: str, quasi: list[str]) -> dict[str, Any]:
    """Every second time some column counts more or less, where a method can be told so."""
    if not isinstance(METHODS[method].limits.get("weights"), ColumnWeights) or rng.random() < 0.5:
        return {}
    return {"weights": {rng.choice(quasi): rng.choice([2, "0.25"])}}


def _promise(rng: random.Random, method: str) -> dict[str, Any]:
    chosen = METHODS[method]
    if chosen.needs_plain:
        return {"plain": {"p": "0.8", "d": "0.5"}, "max_suppression": "0.5"}
    if chosen.buckets or method == "transparent":
        return {"l": 2}
    if chosen.transparent:
        return rng.choice([{}, {"l": 2}])
    if chosen.overlapping:
        return {}
    return dict(MODELS[rng.choice(sorted(MODELS))])


def _needed(method: str) -> list[str]:
    return ["exact-rows", "correlated-values"] if method == "anatomy" else ["small-means"]


def _joined_request(rng: random.Random, folder: Path, method: str) -> tuple[Path, Policy]:
    people = rng.randint(12, 40)
    quasi = rng.sample(["age", "sex", "zip"], rng.randint(1, 3))
    everyone = {name: [rng.choice(pool(name, rng)[1:]) for _ in range(people)] for name in quasi}
    everyone["id"] = [f"p{i}" for i in range(people)]
    inside = sorted(rng.sample(range(people), rng.randint(4, people)))
    private = {name: [texts[i] for i in inside] for name, texts in everyone.items()}
    private["ill"] = [rng.choice(["flu", "ulcer", "cough"]) for _ in inside]
    write_table(folder / "public.csv", everyone)
    parts: dict[str, Any] = {
        "identifiers": ["id"],
        "quasi_identifiers": {name: COLUMNS[name][0] for name in quasi},
        "sensitive": ["ill"],
        "privacy": {"k": rng.randint(2, 4), **rng.choice([{}, {}, {"l": 2}])},
        "method": method,
        "options": options_of(rng, method),
        "public": {"table": "public.csv", "id": "id", "membership_secret": True},
        "accept": ["all"],
    }
    return write_table(folder / "table.csv", private), Policy.from_dict(parts, folder)
