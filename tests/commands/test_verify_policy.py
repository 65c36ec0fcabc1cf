"""Published under one policy, verified under another: rejected, for every key that a policy has.

Where it passes all the same, the reason why both policies ask for the same is in `SAME`.
"""

from __future__ import annotations

import csv
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.places import ROOT

from incrowd.commands.verify import verify
from incrowd.errors import IncrowdError
from incrowd.policy import Policy
from incrowd.publishing.pipeline import publish_to

NAMES = ("id", "name", "age", "sex", "zip", "size", "ward", "day", "ill", "cost", "note")
BASE: dict[str, Any] = {
    "identifiers": ["id", "name"],
    "quasi_identifiers": {"age": {"type": "numeric"}, "sex": {}},
    "sensitive": {"ill": {}},
    "drop": ["zip", "size", "ward", "day", "cost", "note"],
    "privacy": {"k": 5},
}
PLAIN = {"p": "0.9", "d": 2, "columns": ["age", "cost"]}
PUBLIC = {"table": "public.csv", "id": "id", "membership_secret": True}
FAMILY = [["a", "b"], ["c", "d"]]
LEVELS = [
    f"{ill};{kind};*" for ill, kind in (("flu", "cold"), ("cough", "cold"), ("ulcer", "x"), ("gout", "x"))
]


def with_(**changes: Any) -> dict[str, Any]:
    """The base with other parts; a column that is named leaves the list that it was in."""
    parts = deepcopy(BASE)
    for key, value in changes.items():
        old = parts.get(key)
        parts[key] = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
    named = {*parts["quasi_identifiers"], *parts["sensitive"], *parts.get("keep", [])} | {parts.get("entity")}
    for key in ("identifiers", "drop"):
        parts[key] = [name for name in parts[key] if name not in named]
    homeless = set(NAMES) - named - set(parts["identifiers"]) - set(parts["drop"])
    parts["drop"] += sorted(homeless)
    return parts


def quasi(name: str, **said: Any) -> dict[str, Any]:
    return with_(quasi_identifiers={name: said})


def family(sets: list[list[str]]) -> dict[str, Any]:
    """Classes of 60 of 200 in a column of four values: some must share."""
    parts = with_(privacy={"k": 60})
    parts["drop"] = [*(name for name in parts["drop"] if name != "ward"), "age", "sex"]
    return parts | {"quasi_identifiers": {"ward": {"family": sets}}}


def sensitive(name: str, **said: Any) -> dict[str, Any]:
    return with_(sensitive={name: said})


def privacy(**said: Any) -> dict[str, Any]:
    return with_(privacy=said)


def plain(**said: Any) -> dict[str, Any]:
    return with_(privacy={"plain": {**PLAIN, **said}}, sensitive={"cost": {"type": "numeric"}})


def public(**said: Any) -> dict[str, Any]:
    return with_(method="kja-direct", public={**PUBLIC, **said}, sensitive={})


def series(**said: Any) -> dict[str, Any]:
    return with_(entity="id", series=said)


def population(**said: Any) -> dict[str, Any]:
    return with_(population=said)


def differing(conflicts: str) -> dict[str, Any]:
    return public(table="differs.csv", conflicts=conflicts) | {"accept": ["unsafe-join"]}


def held_back() -> dict[str, Any]:
    """A ward that nobody has decided about is not published."""
    parts = with_()
    return {**parts, "drop": [name for name in parts["drop"] if name != "ward"], "undecided": ["ward"]}


ALONE = {"accept": ["near-unique-sensitive"]}
Pair = tuple[dict[str, Any], dict[str, Any]]
PAIRS: dict[str, Pair] = {
    "identifiers": (with_(), with_(identifiers=["id"], drop=[*BASE["drop"], "name"])),
    "sensitive": (with_(), with_(sensitive={}, keep=["ill"], drop=BASE["drop"]) | {"sensitive": {}}),
    "keep": (with_(keep=["ward"]), with_()),
    "drop": (with_(), with_(keep=["ward"])),
    "undecided": (held_back(), with_(keep=["ward"])),
    "rest": ({**with_(), "drop": [], "rest": "drop"}, {**with_(), "drop": []}),
    "missing": (with_(missing=["", "?"]), with_()),
    "entity": (with_(), with_(entity="id")),
    "method": (with_(), with_(method="mondrian-relaxed")),
    "accept": (with_(accept=["small-means"]), with_()),
    "accept, the other way": (with_(), with_(accept=["small-means"])),
    "accept of means": (quasi("age", mean=True) | {"accept": ["small-means"]}, quasi("age", mean=True)),
    "quasi_identifiers": (with_(), quasi("ward")),
    "options": (with_(options={"choose": "widest"}), with_()),
    "options, at their default": (with_(options={"choose": "gain"}), with_()),
    "privacy": (privacy(k=5), privacy(k=4)),
    "totals": (with_(totals=True), with_()),
    "totals, the other way": (with_(), with_(totals=True)),
    "descriptions": (with_(descriptions={"age": "in years"}), with_(descriptions={"age": "in days"})),
    "public": (public(), with_(method="kja-direct", sensitive={})),
    "population": (population(fraction="0.1"), with_()),
    "Population.fraction": (population(fraction="0.1"), population(fraction="0.2")),
    "Population.size": (population(size=2000), population(size=1000)),
    "Population.weight": (population(weight="cost"), population(weight="age")),
    "Quasi.type": (with_(), quasi("age", type="categorical")),
    "Quasi.hierarchy": (
        quasi("zip", hierarchy={"prefix": [3, 2]}),
        quasi("zip", hierarchy={"prefix": [3, 1]}),
    ),
    "Quasi.values": (
        quasi("size", type="ordered", values=["s", "m", "l"]),
        quasi("size", type="ordered", values=["l", "s", "m"]),
    ),
    "Quasi.format": (quasi("day", type="date"), quasi("day", type="date", format="dd.mm.yyyy")),
    "Quasi.family": (family(FAMILY), family([["a", "c"], ["b", "d"]])),
    "Quasi.complete": (
        quasi("ward", family=[["a", "b", "c"], ["b", "c", "d"]], complete=True),
        quasi("ward", family=[["a", "b", "c"], ["b", "c", "d"]]),
    ),
    "Quasi.public": (
        quasi("zip", hierarchy={"prefix": [3, 2]}, public=True),
        quasi("zip", hierarchy={"prefix": [3, 2]}),
    ),
    "Quasi.mean": (quasi("age", mean=True), with_()),
    "Quasi.publish": (with_(), quasi("age", publish="set")),
    "Described.type": (sensitive("cost", type="numeric"), sensitive("cost", type="categorical")),
    "Described.hierarchy": (with_(), sensitive("ill", hierarchy="ills.csv")),
    "Described.values": (
        sensitive("size", type="ordered", values=["s", "m", "l"]),
        sensitive("size", type="ordered", values=["l", "s", "m"]),
    ),
    "Described.format": (
        sensitive("day", type="date") | ALONE,
        sensitive("day", type="date", format="dd.mm.yyyy") | ALONE,
    ),
    "Privacy.k": (privacy(k=6), privacy(k=5)),
    "Privacy.l": (privacy(l=2), privacy()),
    "Privacy.l_kind": (privacy(l=2), privacy(l=2, l_kind="entropy")),
    "Privacy.c": (privacy(l=2, l_kind="recursive", c=3), privacy(l=2, l_kind="recursive", c=4)),
    "Privacy.t": (privacy(t="0.5"), privacy(t="0.6")),
    "Privacy.t_distance": (
        sensitive("ill", hierarchy="ills.csv") | {"privacy": {"k": 5, "t": "0.5"}},
        sensitive("ill", hierarchy="ills.csv")
        | {"privacy": {"k": 5, "t": "0.5", "t_distance": "hierarchical"}},
    ),
    "Privacy.plain": (plain(), sensitive("cost", type="numeric")),
    "Privacy.max_suppression": (
        plain(),
        with_(**{**plain(), "privacy": {"plain": PLAIN, "max_suppression": "0.1"}}),
    ),
    "PlainGroups.p": (plain(), plain(p="0.91")),
    "PlainGroups.d": (plain(), plain(d="2.1")),
    "PlainGroups.columns": (plain(), plain(columns=["age", "cost", "ill"])),
    "PlainGroups.weights": (plain(), plain(weights={"age": 2})),
    "PlainGroups.form": (plain(), plain(form="candidate")),
    "PlainGroups.margin": (plain(), plain(margin=0)),
    "PlainGroups.distinct": (plain(), plain(distinct=3)),
    "PlainGroups.removal": (plain(), plain(removal="none")),
    "PlainGroups.rescale": (plain(), plain(rescale=False)),
    "Public.table": (public(), public(table="others.csv")),
    "Public.id": (public(), public(id="name")),
    "Public.membership_secret": (public(), public(membership_secret=False)),
    "Public.source": (public(source="a register"), public(source="another")),
    "Public.date": (public(date="2024-02-29"), public()),
    "Public.check": (public(check="second.csv"), public()),
    "Public.conflicts": (differing("microdata"), differing("refuse")),
    "series": (series(), with_()),
    "Series.wait": (series(), series(wait=2)),
    "Series.tau": (series(), series(tau=5)),
    "Series.size": (series(), series(size=7)),
    "Series.left": (series(), series(left="companions")),
    "Series.hold": (series(), series(hold=2)),
}
NOT_PUBLISHED = "estimates of risk in the population are for the publisher; nothing of it is published"
SAME = {
    **dict.fromkeys(
        ("population", "Population.fraction", "Population.size", "Population.weight"), NOT_PUBLISHED
    ),
    **dict.fromkeys(
        ("Series.wait", "Series.tau", "Series.size", "Series.left", "Series.hold"),
        "how a series waits is no promise, and not published",
    ),
    "identifiers": "neither an identifier nor a dropped column is published; one that joins is named by id",
    "Quasi.values": "the order only helps to cut; cells are sets, and classes are counted whatever it is",
    "Described.hierarchy": "only t by hierarchy uses it, and that claim is checked with the new one",
    "Described.values": "only t by order uses it, and that claim is checked with the new one",
}


def write(path: Path, names: Any, rows: Any) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *rows])


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(7)
    rows = []
    for i in range(200):
        sex = "?" if i % 40 == 3 else "FM"[i % 2]
        place = f"{rng.integers(1, 3)}{rng.integers(0, 4)}{rng.integers(0, 4)}"
        day = f"2024-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}"
        ill, size = (str(rng.choice(words)) for words in (["flu", "cough", "ulcer", "gout"], list("sml")))
        ward = "aaaabbbccd"[i % 10]
        person = [f"p{i:03}", f"n{i}", rng.integers(20, 60), sex, place, size, ward, day]
        rows.append([*map(str, person), ill, str(rng.integers(100, 200)), f"note {i % 3}"])
    write(folder / "people.csv", NAMES, rows)
    (folder / "ills.csv").write_text("\n".join(LEVELS) + "\n")
    known = [[row[0], row[1], row[2], row[3]] for row in rows]
    others = [[f"q{i:03}", f"o{i}", str(rng.integers(20, 60)), "FM"[i % 2]] for i in range(200)]
    names = ("id", "name", "age", "sex")
    write(folder / "public.csv", names, [*known, *others])
    write(folder / "others.csv", names, [*known, *others[:150]])
    write(folder / "second.csv", names, [*known, *others[20:]])
    changed = [[known[0][0], known[0][1], str(int(known[0][2]) + 1), known[0][3]], *known[1:]]
    write(folder / "differs.csv", names, [*changed, *others])
    return folder


def test_every_key_of_a_policy_is_tried() -> None:
    schema = json.loads((ROOT / "docs" / "policy.schema.json").read_text(encoding="utf-8"))
    keys = set(schema["properties"])
    for part, described in schema["$defs"].items():
        keys |= {f"{part}.{key}" for key in described["properties"]}
    assert {name.split(",")[0].split(" of ")[0] for name in PAIRS} == keys
    assert set(SAME) <= set(PAIRS)


@pytest.mark.parametrize("key", PAIRS)
def test_another_policy_rejects_it(key: str, tables: Path, tmp_path: Path) -> None:
    published, asked = (Policy.from_dict(parts, folder=tables) for parts in PAIRS[key])
    publish_to(tables / "people.csv", published, tmp_path / "out")
    own = verify(tmp_path / "out", tables / "people.csv", published)
    assert own.passed, own.failures
    try:
        passed = verify(tmp_path / "out", tables / "people.csv", asked).passed
    except IncrowdError:
        passed = False
    assert passed == (key in SAME)
