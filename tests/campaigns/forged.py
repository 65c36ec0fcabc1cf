"""Forged releases: good ones with one thing changed, digests and sizes corrected, must be rejected.

A change that comes out byte for byte as before is none. Whole rows in another order are another draw of the
same release, and no forger here shuffles.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import json
import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaigns.campaign import IN_MEMORY, Campaign, Fault
from campaigns.tables import write_places, write_table

from incrowd.commands.verify import verify
from incrowd.errors import IncrowdError
from incrowd.policy import Policy
from incrowd.publishing.pipeline import Form, publish_to

METHODS: dict[str, dict[str, Any]] = {
    "mondrian": {"l": 2},
    "topdown": {},
    "hilbert": {"t": "0.6"},
    "incognito": {"max_suppression": "0.1"},
    "ring": {},
    "transparent": {"l": 2},
    "kk": {},
    "anatomy": {"l": 2},
}
ROWS = 60
CSV = Form()


@dataclass
class Release:
    """A release as text that can be changed at will."""

    method: str
    policy: Policy
    table: Path
    manifest: dict[str, Any]
    header: list[str]
    rows: list[list[str]]
    values: str | None
    quasi: tuple[str, ...] = ("age", "sex", "place")
    raw: list[Callable[[Path], None]] = field(default_factory=list)
    with_policy: bool = True
    forged: str = ""

    def column(self, name: str) -> int:
        return self.header.index(name)

    def write(self, folder: Path) -> None:
        """As incrowd writes it, with digests that are right; then what is done to the bytes."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows(self.rows)
        (folder / "data.csv").write_text(text.getvalue(), encoding="utf-8", newline="")
        if self.values is not None:
            (folder / "sensitive.csv").write_text(self.values, encoding="utf-8", newline="")
        for change in self.raw:
            change(folder)
        for name in self.manifest.get("files", {}):
            data = (folder / name).read_bytes()
            self.manifest["files"][name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        manifest = folder / "release.json"
        if not manifest.exists():
            manifest.write_text(
                json.dumps(self.manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
            )


@functools.cache
def good(method: str, number: int, form: Form = CSV) -> Path:
    """A folder with a good release of an invented table; made once for each method, number and form."""
    place = Path(_home().name, f"{method}-{number}-{form.format}-{form.typed}")
    place.mkdir()
    rng = random.Random(f"{method} {number}")
    columns = {
        "name": [f"person {i}" for i in range(ROWS)],
        "age": [str(rng.randint(20, 70)) for _ in range(ROWS)],
        "sex": [rng.choice("FM") for _ in range(ROWS)],
        "place": [rng.choice(["Ulm", "Bonn", "Köln", "Nice"]) for _ in range(ROWS)],
        "ill": [rng.choice(["flu", "ulcer", "cough", "angina"]) for _ in range(ROWS)],
    }
    write_places(place)
    publish_to(write_table(place / "table.csv", columns), asked(method, place), place / "out", form)
    return place


@functools.cache
def _home() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="campaign-", dir=IN_MEMORY)


def asked(method: str, place: Path) -> Policy:
    parts = {
        "identifiers": ["name"],
        "quasi_identifiers": {
            "age": {"type": "numeric"},
            "sex": {"type": "categorical"},
            "place": {"hierarchy": "places.csv"},
        },
        "sensitive": ["ill"],
        "privacy": {"k": 3, **METHODS[method]},
        "method": method,
        "accept": ["exact-rows", "correlated-values"] if method == "anatomy" else [],
        "totals": method in ("mondrian", "ring", "kk"),
    }
    return Policy.from_dict(parts, place)


def read(place: Path, method: str) -> Release:
    with (place / "out" / "data.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    apart = place / "out" / "sensitive.csv"
    return Release(
        method,
        asked(method, place),
        place / "table.csv",
        json.loads((place / "out" / "release.json").read_text(encoding="utf-8")),
        header,
        rows,
        apart.read_text(encoding="utf-8") if apart.exists() else None,
    )


# Forgers: each changes one thing, somewhere


def drop_a_row(rng: random.Random, release: Release) -> None:
    del release.rows[rng.randrange(len(release.rows))]


def drop_a_class(rng: random.Random, release: Release) -> None:
    """Keep what is consistent, and say that the rest was suppressed."""
    key = [release.column(name) for name in release.quasi]
    one = rng.choice(release.rows)
    gone = [one[j] for j in key]
    there = len(release.rows)
    release.rows = [row for row in release.rows if [row[j] for j in key] != gone]
    rows = release.manifest["rows"]
    rows["published"] = len(release.rows)
    if rows["suppressed"] is not None:
        rows["suppressed"] += there - len(release.rows)
    correct_domains(release)


def correct_domains(release: Release) -> None:
    """The domains of the rows that are left, as incrowd states them."""
    for column in release.manifest["columns"]:
        if "domain" not in column:
            continue
        cells = {row[release.column(column["name"])] for row in release.rows}
        texts = {text for cell in cells for text in cell.strip("{}").split("|")}
        if "low" in column["domain"]:
            ends = [int(end) for cell in cells for end in cell.strip("[]").split(",")]
            column["domain"] |= {"low": str(min(ends)), "high": str(max(ends))}
        else:
            named = {
                key: [text for text in texts_ if text in texts] for key, texts_ in column["domain"].items()
            }
            column["domain"] = column["domain"] if "*" in texts else named


def repeat_a_row(rng: random.Random, release: Release) -> None:
    release.rows.insert(rng.randrange(len(release.rows)), list(rng.choice(release.rows)))


def swap_values(rng: random.Random, release: Release) -> None:
    """Two rows that differ in their quasi-identifiers exchange what is sensitive.

    Where classes overlap that may be another true release; only disjoint ones are used.
    """
    if release.method not in ("mondrian", "incognito"):
        return drop_a_row(rng, release)
    at = release.column(release.header[-1])
    key = [release.column(name) for name in release.quasi]
    for _ in range(200):
        a, b = rng.sample(release.rows, 2)
        if a[at] != b[at] and [a[j] for j in key] != [b[j] for j in key]:
            a[at], b[at] = b[at], a[at]
            return


def invent_a_value(rng: random.Random, release: Release) -> None:
    rng.choice(release.rows)[-1] = rng.choice(["", "plague", "flu ", "FLU", "missing", "*", "0"])


def say_more(rng: random.Random, release: Release) -> None:
    """A cell that is narrower than the class's. Overlapping rows may well say more and be right."""
    if release.method in ("ring", "kk", "anatomy"):
        return drop_a_row(rng, release)
    row, name = rng.choice(release.rows), rng.choice(release.quasi)
    narrow = {"age": ["33", "[20,21]"], "sex": ["F", "M"], "place": ["Ulm", "west"]}[name]
    row[release.column(name)] = rng.choice(narrow)


def write_otherwise(rng: random.Random, release: Release) -> None:
    """The same meaning in other signs: a bit for whoever knows where to look."""
    row, at = rng.choice(release.rows), release.column("age")
    cell = row[at]
    forms = [
        cell.replace("[", "[0"),
        cell.replace(",", ", "),
        cell + " ",
        cell.replace("]", ".0]"),
        " " + cell,
    ]
    forms += [cell.replace("]", "e0]"), f"{{{cell}}}", cell + ".0", "+" + cell, "\u200b" + cell, cell + "\n"]
    row[at] = rng.choice(forms)


def end_lines_otherwise(rng: random.Random, release: Release) -> None:
    def change(folder: Path) -> None:
        lines = (folder / "data.csv").read_bytes().split(b"\n")
        for at in rng.sample(range(len(lines) - 1), rng.randint(1, 5)):
            lines[at] += rng.choice([b"\r", b"\n", b" ", b"\t"])
        (folder / "data.csv").write_bytes(b"\n".join(lines))

    release.raw.append(change)


def quote_otherwise(rng: random.Random, release: Release) -> None:
    def change(folder: Path) -> None:
        lines = (folder / "data.csv").read_text(encoding="utf-8").split("\n")
        at = rng.randrange(len(lines) - 1)
        head, _, last = lines[at].rpartition(",")
        lines[at] = f'{head},"{last}"' if not last.endswith('"') else f"{head},{last} "
        (folder / "data.csv").write_text("\n".join(lines), encoding="utf-8", newline="")

    release.raw.append(change)


def encode_otherwise(rng: random.Random, release: Release) -> None:
    name, codec = rng.choice(["data.csv", "release.json"]), rng.choice(["utf-8-sig", "utf-16", "utf-32"])

    def change(folder: Path) -> None:
        if name == "data.csv":
            path = folder / name
            path.write_bytes(path.read_text(encoding="utf-8").encode(codec))
        else:
            data = (folder / "data.csv").read_bytes()
            files = {"data.csv": {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}}
            text = json.dumps(release.manifest | {"files": release.manifest["files"] | files}, indent=2)
            (folder / name).write_bytes(text.encode(codec))

    release.raw.append(change)


def space_the_manifest(rng: random.Random, release: Release) -> None:
    how = rng.choice([{"indent": 1}, {"indent": 2, "sort_keys": True}, {}, {"indent": "\t"}])

    def change(folder: Path) -> None:
        for name in release.manifest["files"]:
            data = (folder / name).read_bytes()
            release.manifest["files"][name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        (folder / "release.json").write_text(json.dumps(release.manifest, **how) + "\n")  # type: ignore[arg-type]

    release.raw.append(change)


def hide_a_text(rng: random.Random, release: Release) -> None:
    """Free text where the manifest has some: the whole original would fit."""
    secret = "person 7 has flu"
    manifest = release.manifest
    place = rng.choice(["tool", "paper", "option", "accepted", "key", "column", "claim", "adversary"])
    if place == "tool":
        manifest["tool"] = secret
    elif place == "paper":
        manifest["method"]["paper"] = secret
    elif place == "option":
        manifest["method"].setdefault("options", {})["note"] = secret
    elif place == "accepted":
        manifest["accepted"] = [secret]
    elif place == "key":
        manifest[secret] = True
    elif place == "column":
        rng.choice(manifest["columns"])["note"] = secret
    elif place == "claim":
        rng.choice(manifest["claims"])["note"] = secret
    else:
        rng.choice(manifest["claims"])["adversary"] = secret


def change_a_number(rng: random.Random, release: Release) -> None:
    """Any number of the manifest outside its claims, by one, or as a number of another kind."""
    places = list(_numbers({key: value for key, value in release.manifest.items() if key != "claims"}))
    holder, key = rng.choice(places)
    value = holder[key]
    holder[key] = rng.choice([value + 1, value - 1, float(value), str(value), -value, None])


def _numbers(thing: Any) -> Any:
    pairs = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ()
    for key, value in pairs:
        if isinstance(value, int) and not isinstance(value, bool) and key not in ("bytes", "version"):
            yield thing, key
        yield from _numbers(value)


def remove_a_key(rng: random.Random, release: Release) -> None:
    gone = rng.choice(sorted(set(release.manifest) - {"files"}))
    release.forged += f" {gone}"
    del release.manifest[gone]


def promise_otherwise(rng: random.Random, release: Release) -> None:
    claim = rng.choice(release.manifest["claims"])
    parameters = claim["parameters"]
    if not parameters:
        claim["model"] = "k-anonymity"
        return
    name = rng.choice(sorted(parameters))
    parameters[name] = rng.choice(["0", "x", None] if name == "t" else [99, "x", None, [3]])


def accept_silently(rng: random.Random, release: Release) -> None:
    """Published with an exposure accepted that the policy does not accept."""
    if not release.with_policy:
        return drop_a_row(rng, release)
    release.manifest["accepted"] = [*release.manifest.get("accepted", []), "small-means"]


def add_a_column(rng: random.Random, release: Release) -> None:
    release.header.append("note")
    for i, row in enumerate(release.rows):
        row.append(str(i % 7))


def spoil_values_apart(rng: random.Random, release: Release) -> None:
    if release.values is None:
        return drop_a_row(rng, release)
    lines = release.values.split("\n")
    at = rng.randrange(1, len(lines) - 1)
    what = rng.random()
    if what < 0.4:
        del lines[at]
    elif what < 0.7:
        lines.insert(at, lines[at])
    else:
        lines[at] = lines[at].rpartition(",")[0] + ",9"
    release.values = "\n".join(lines)


def spoil_what_lies_beside(rng: random.Random, release: Release) -> None:
    """The datasheet, hierarchies, totals: a sentence, a line, a sign more or less."""

    def change(folder: Path) -> None:
        path = folder / rng.choice(sorted(set(release.manifest["files"]) - {"data.csv", "sensitive.csv"}))
        lines = path.read_text(encoding="utf-8").split("\n")
        at = rng.randrange(len(lines))
        how = rng.randrange(4)
        if how == 0:
            lines.insert(at, rng.choice(["person 7 has flu", "place,Ulm,Bonn,yes", ""]))
        elif how == 1:
            lines[at] += rng.choice([" ", "\t", "\r", ".", "\u200b"])
        elif how == 2:
            lines[at] = lines[at].replace("3", "4").replace("yes", "no").replace("Ulm", "Bonn")
        else:
            del lines[at]
        path.write_text("\n".join(lines), encoding="utf-8", newline="")

    release.raw.append(change)


FORGERS: list[Callable[[random.Random, Release], None]] = [
    *(drop_a_row, drop_a_class, repeat_a_row, swap_values, invent_a_value, say_more, write_otherwise),
    *(end_lines_otherwise, quote_otherwise, encode_otherwise, space_the_manifest, hide_a_text),
    *(change_a_number, remove_a_key, promise_otherwise, accept_silently, add_a_column, spoil_values_apart),
    *(spoil_what_lies_beside,),
]


def case(rng: random.Random, folder: Path) -> str:
    method = rng.choice(sorted(METHODS))
    place = good(method, rng.randrange(3))
    release, forge = read(place, method), rng.choice(FORGERS)
    release.with_policy = rng.random() < 0.7
    forge(rng, release)
    shutil.copytree(place / "out", folder / "out")
    (folder / "out" / "release.json").unlink()
    release.write(folder / "out")
    if _files(folder / "out") == _files(place / "out"):
        return "unchanged"
    shutil.copytree(place / "out.audit", folder / "out.audit")
    try:
        passed = verify(folder / "out", release.table, release.policy if release.with_policy else None).passed
    except IncrowdError:
        passed = False
    if not passed:
        return "rejected"
    by = "with" if release.with_policy else "without"
    raise Fault(f"forgery accepted: {forge.__name__}{release.forged}", f"{method}, {by} a policy")


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


FORGED = Campaign("forged releases", "0 accepted", case, nightly=10_000, in_ci=90)
