"""Small tables of people with columns of every kind, what is asked for them, and another reading of cells.

Nothing of incrowd reads a cell or counts a class here.
"""

from __future__ import annotations

import atexit
import random
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from incrowd.flow import Table
from incrowd.policy import Policy

Texts = list[str | None]
PLACES = {
    "Ulm": ("Ulm", "south", "DE", "*"),
    "Bonn": ("Bonn", "west", "DE", "*"),
    "Köln": ("Köln", "west", "DE", "*"),
    "a|b*": ("a|b*", "odd", "FR", "*"),
    "Nice": ("Nice", "sea", "FR", "*"),
}
GRADES = ["low", "mid", "high"]
WARDS = [["a", "b"], ["c", "d"]]
# How each quasi-identifier is described, and what its cells hold.
COLUMNS: dict[str, tuple[dict[str, Any], Sequence[str]]] = {
    "age": ({"type": "numeric"}, ["", "7", "20", "20.5", "31", "-4", "1e2"]),
    "height": ({"type": "numeric", "mean": True}, ["", "150", "151", "160.25", "199"]),
    "day": (
        {"type": "date", "format": "dd.mm.yyyy"},
        ["", "01.02.2024", "29.02.2024", "31.12.1999", "05.05.2024"],
    ),
    "grade": ({"type": "ordered", "values": GRADES}, ["", *GRADES]),
    "sex": ({"type": "categorical"}, ["", "F", "M", "a|b", "missing", "*", "=1+1", "{x}", "\\"]),
    "floor": ({"type": "numeric", "publish": "set"}, ["", "1", "2", "3"]),
    "place": ({"hierarchy": "places.csv"}, ["", *PLACES]),
    "zip": ({"hierarchy": {"prefix": [4, 2]}}, ["", "0123", "0199", "0242", "9000", "9010"]),
    "ward": ({"type": "categorical", "family": WARDS}, ["a", "b", "c", "d"]),
}
MODELS: dict[str, dict[str, Any]] = {
    "k": {},
    "distinct": {"l": 2},
    "entropy": {"l": "1.5", "l_kind": "entropy"},
    "recursive": {"l": 2, "l_kind": "recursive", "c": 3},
    "closeness": {"t": "0.6"},
}


@cache
def folder() -> Path:
    """Where the hierarchy of places lies."""
    made = tempfile.TemporaryDirectory()
    atexit.register(made.cleanup)
    rows = "\n".join(";".join(row) for row in PLACES.values())
    Path(made.name, "places.csv").write_text(rows + "\n", encoding="utf-8")
    return Path(made.name)


@dataclass(frozen=True)
class Request:
    """A table (as columns of texts) and a policy. The kept column `tag` tells records apart."""

    columns: Mapping[str, Texts]
    policy: Policy
    quasi: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.columns["tag"])

    @property
    def table(self) -> Table:
        return Table.of(self.columns)

    def taken(self, rows: Sequence[int]) -> Request:
        """The same records in another order."""
        columns = {name: [texts[i] for i in rows] for name, texts in self.columns.items()}
        return Request(columns, self.policy, self.quasi)

    @property
    def persons(self) -> Texts:
        return self.columns.get("who", self.columns["tag"])


@st.composite
def requests(
    draw: st.DrawFn,
    models: Sequence[str] = tuple(MODELS),
    rows: tuple[int, int] = (4, 30),
    widest: int = 4,
    entities: bool = True,
    copies: Sequence[int] = (1,),
    means: bool = True,
) -> Request:
    """Records with many ties, one to `widest` quasi-identifiers, and any promise.

    `copies` says how often the quasi-identifiers of a record are repeated: 4 times make classes for any k.
    """
    names = sorted(COLUMNS if means else COLUMNS.keys() - {"height"})
    quasi = draw(st.lists(st.sampled_from(names), min_size=1, max_size=widest, unique=True))
    n = draw(st.integers(*rows))
    columns: dict[str, Texts] = {"name": [f"person {i}" for i in range(n)]}
    times = draw(st.sampled_from(copies))
    kinds = -(-n // times)
    for name in quasi:
        texts = draw(st.lists(st.sampled_from(COLUMNS[name][1]), min_size=kinds, max_size=kinds))
        columns[name] = [texts[i % kinds] for i in range(n)]
    if not any(columns.get("zip", ["0123"])):
        columns["zip"][0] = "0123"  # a hierarchy of prefixes cannot be built over nothing
    columns["ill"] = draw(st.lists(st.sampled_from(["flu", "ulcer", ""]), min_size=n, max_size=n))
    columns["tag"] = [f"t{i}" for i in range(n)]
    entity = entities and draw(st.booleans())
    if entity:
        columns["who"] = [f"w{w}" for w in draw(st.lists(st.integers(0, n // 2), min_size=n, max_size=n))]
    privacy = {"k": draw(st.integers(2, 4)), **MODELS[draw(st.sampled_from(models))]}
    return Request(columns, asked(quasi, privacy, entity), tuple(quasi))


def asked(quasi: Sequence[str], privacy: Mapping[str, Any], entity: bool = False) -> Policy:
    """The policy for a table with these quasi-identifiers."""
    parts: dict[str, Any] = {
        "identifiers": ["name"],
        "quasi_identifiers": {name: COLUMNS[name][0] for name in quasi},
        "sensitive": ["ill"],
        "keep": ["tag"],
        "accept": ["near-unique-keep"],
        "privacy": dict(privacy),
    }
    return Policy.from_dict(parts | ({"entity": "who"} if entity else {}), folder())


def people(n: int = 240, quasi: Sequence[str] = ("age", "height", "sex", "place")) -> Request:
    """A larger table with gaps, for k = 4."""
    rng = random.Random(3)
    pools: Mapping[str, Sequence[str]] = {
        "age": ["", *map(str, range(20, 60))],
        "height": ["", *(f"{x}.5" for x in range(150, 190))],
        "sex": ["", "F", "M", "a|b"],
        "place": ["Ulm", "Bonn", "Köln", "Nice"],
    }
    columns: dict[str, list[str | None]] = {"name": [f"person {i}" for i in range(n)]}
    ill: Texts = [rng.choice(["flu", "ulcer", "gout", "cough"]) for _ in range(n)]
    columns |= {name: [rng.choice(pools[name]) for _ in range(n)] for name in quasi}
    columns["ill"] = ill
    columns["tag"] = [f"t{i}" for i in range(n)]
    return Request(columns, asked(quasi, {"k": 4}), tuple(quasi))


# The test's own reading of published cells

_ATOM = re.compile(r"(?:\\.|[^\\|])*", re.DOTALL)


def atoms(cell: str) -> list[str]:
    """What a cell is made of: the members of a set, or itself."""
    if not cell.startswith("{"):
        return [cell]
    found, at, inside = [], 0, cell[1:-1]
    while True:
        match = _ATOM.match(inside, at)
        assert match is not None
        found.append(match[0])
        at = match.end() + 1
        if at > len(inside):
            return found


def plain(atom: str) -> str:
    return "missing" if atom == "\\missing" else re.sub(r"\\(.)", r"\1", atom, flags=re.DOTALL)


def worth(name: str, text: str) -> Any:
    """What a text of the original, or an end of a published interval, is worth."""
    if name in ("age", "height", "floor"):
        return Decimal(text)
    if name != "day":
        return text
    return datetime.strptime(text, "%d.%m.%Y").date() if "." in text else date.fromisoformat(text)


def holds(name: str, cell: str | None, text: str | None) -> bool:
    """Does the cell of a column hold a record's value?"""
    assert cell is not None
    return cell == "*" or any(_atom_holds(name, atom, text or "") for atom in atoms(cell))


def _atom_holds(name: str, atom: str, text: str) -> bool:
    if atom == "missing" or not text:
        return atom == "missing" and not text
    if atom.startswith("["):
        low, high = atom[1:-1].split(",")
        return bool(worth(name, low) <= worth(name, text) <= worth(name, high))
    if name == "place":
        return plain(atom) in PLACES[text]
    if name == "zip":
        return plain(atom) in (text, text[:2] + "__")
    return bool(worth(name, plain(atom)) == worth(name, text))


def rows_of(table: Table) -> Iterator[dict[str, str | None]]:
    """Published rows as mappings."""
    columns = [column.rows() for column in table.columns]
    for cells in zip(*columns, strict=True):
        yield dict(zip(table.names, cells, strict=True))


def classes_of(request: Request, table: Table) -> list[list[int]]:
    """The records of each class: rows that say the same, as an outsider sees them."""
    found: dict[tuple[str | None, ...], list[int]] = {}
    for row in rows_of(table):
        assert row["tag"] is not None
        record = request.columns["tag"].index(row["tag"])
        found.setdefault(tuple(row[name] for name in request.quasi), []).append(record)
    return list(found.values())
