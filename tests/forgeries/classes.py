"""A good release written by hand, and every way we know to spoil it.

Nothing here uses incrowd's own grouping or writing: the release is made by sorting and cutting, in plain
Python. Each forgery spoils one thing and names the check that must catch it.
"""

from __future__ import annotations

import copy
import csv
import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

from incrowd.schema import Claim, Column, Kind, Role, Schema
from incrowd.verifier import claim_name

ZIPS = tuple((z, z[:2] + "*", z[:1] + "**", "*") for z in ("101", "102", "113", "205", "211", "212"))
ILLS = (
    ("flu", "breath", "*"),
    ("cough", "breath", "*"),
    ("ulcer", "belly", "*"),
    ("gastritis", "belly", "*"),
    ("=cmd()", "odd", "*"),
)
FAMILY = (frozenset({"a", "b"}), frozenset({"c", "d"}))
CLAIMS = (
    Claim("k-anonymity", {"k": 4}),
    Claim("distinct-l-diversity", {"l": 4}, "ill"),
    Claim("entropy-l-diversity", {"l": "3.17"}, "ill"),
    Claim("recursive-l-diversity", {"c": "1.3334", "l": 2}, "ill"),
    Claim("t-closeness", {"t": "0.3715", "distance": "equal"}, "ill"),
    Claim("t-closeness", {"t": "0.3429", "distance": "hierarchical"}, "ill"),
    Claim("t-closeness", {"t": "0.182", "distance": "ordered"}, "cost"),
)
SCHEMA = Schema(
    (
        Column("name", Role.IDENTIFIER),
        Column("age", Role.QUASI, Kind.NUMERIC, mean=True),
        Column("day", Role.QUASI, Kind.DATE, format="dd.mm.yyyy"),
        Column("sex", Role.QUASI),
        Column("zip", Role.QUASI, levels=ZIPS),
        Column("ward", Role.QUASI, family=FAMILY),
        Column("ill", Role.SENSITIVE, levels=ILLS),
        Column("cost", Role.SENSITIVE, Kind.NUMERIC),
        Column("note", Role.KEEP),
        Column("secret", Role.DROP),
    )
)
SIZES = (4, *[7] * 8)
METHOD = {"name": "mondrian", "options": {"choose": "gain"}, "paper": "multidimensional", "form": "hardened"}
KEYS = (
    *("format", "version", "tool", "method", "claims", "accepted", "columns", "rows", "missing", "apart"),
    *("match_probability", "public", "levels", "totals", "hierarchies", "files"),
)
OF_PUBLIC = ("sha256", "kind", "rows", "id", "source", "date", "checked_against")


def manifest_text(said: dict[str, Any]) -> str:
    """A manifest as it is written: known keys in their order."""
    ordered = {key: said[key] for key in KEYS if key in said} | said
    if isinstance(said.get("public"), dict):
        ordered["public"] = {key: said["public"][key] for key in OF_PUBLIC if key in said["public"]}
        ordered["public"] |= said["public"]
    return json.dumps(ordered, indent=2, ensure_ascii=False) + "\n"


@dataclass
class Release:
    """A release and its original, as plain lists that may be spoiled."""

    original_names: list[str]
    original: list[list[str]]
    names: list[str]
    rows: list[list[str]]
    manifest: dict[str, Any]
    schema: Schema = SCHEMA
    claims: tuple[Claim, ...] = CLAIMS
    truth: list[int] = field(default_factory=list)
    after: list[Callable[[Path], None]] = field(default_factory=list)
    accepted: tuple[str, ...] = ()
    levels: bool = False

    def at(self, name: str) -> int:
        return self.names.index(name)

    def column(self, name: str) -> list[str]:
        return [row[self.at(name)] for row in self.rows]

    def key(self, row: list[str]) -> tuple[str, ...]:
        return tuple(row[self.at(c.name)] for c in self.schema.having(Role.QUASI))

    def classes(self) -> list[list[int]]:
        """Rows of each class, the smallest class first."""
        members: dict[tuple[str, ...], list[int]] = {}
        for p, row in enumerate(self.rows):
            members.setdefault(self.key(row), []).append(p)
        return sorted(members.values(), key=lambda rows: (len(rows), rows))

    def wide(self, name: str) -> list[int]:
        """The rows of some class whose cell in this column is more than one value."""
        return next(rows for rows in self.classes() if self.rows[rows[0]][self.at(name)][0] in "[{")

    def set_class(self, rows: list[int], name: str, text: str) -> None:
        for p in rows:
            self.rows[p][self.at(name)] = text

    def write(self, folder: Path) -> None:
        folder.mkdir()
        with (folder / "data.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([self.names, *self.rows])
        for name, table in self.beside().items():
            with (folder / name).open("w", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows(table)
        manifest = copy.deepcopy(self.manifest)
        if "files" not in manifest:
            manifest["files"] = {path.name: described(path) for path in sorted(folder.iterdir())}
        (folder / "release.json").write_text(manifest_text(manifest), encoding="utf-8")
        for spoil in self.after:
            spoil(folder)

    def beside(self) -> dict[str, list[list[str]]]:
        """The tables beside the rows, by their files: hierarchies, as far as cells name their labels."""
        trees = [c for c in self.schema.having(Role.QUASI) if c.levels]
        lines = [[c.name, *line] for c in trees for line in tree_lines(c, named(self.column(c.name)))]
        return {"hierarchies.csv": [["column", "label", "above", "leaf"], *lines]} if trees else {}

    def write_original(self, path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([self.original_names, *self.original])


def described(path: Path) -> dict[str, Any]:
    """A file, as a manifest describes it."""
    return {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "bytes": path.stat().st_size}


def tree_lines(column: Column, labels: list[str]) -> list[list[str]]:
    """Each label with the next one above it, and whether it is a leaf; so for those above it."""
    found = {}
    for row in column.levels:
        for at, text in enumerate(row[:-1]):
            if any(label in row[: at + 1] for label in labels):
                found[text] = [row[at + 1], "no" if at else "yes"]
    return [[text, *found[text]] for text in sorted(found)]


def people(n: int, rng: random.Random) -> list[list[str]]:
    rows = []
    for i in range(n):
        day = f"{rng.randint(1, 28):02}.{rng.randint(1, 12):02}.2024"
        age = "" if i % 17 == 3 else f"{rng.randint(18, 80)}{rng.choice(['', '.5'])}"
        sex = rng.choice(["F", "M", "", "x|y"])
        ill = ILLS[i % 5][0]
        place, ward = rng.choice(ZIPS)[0], rng.choice("abcd")
        rows.append([f"n{i}", age, day, sex, place, ward, ill, str(rng.randint(-3, 9)), f"note {i}", "hush"])
    return rows


def good() -> Release:
    """Sort people, cut them into classes, publish what each class has in common, shuffle."""
    rng = random.Random(7)
    original = people(sum(SIZES), rng)
    order = sorted(range(len(original)), key=lambda i: (original[i][5] in "cd", original[i][4]))
    rows: dict[int, list[str]] = {}
    start = 0
    for size in SIZES:
        members = [original[i] for i in order[start : start + size]]
        cells = generalised(members)
        for i in order[start : start + size]:
            rows[i] = [*cells, *map(protected, original[i][6:9])]
        start += size
    truth = list(rows)
    rng.shuffle(truth)
    names = ["age", "age_mean", "day", "sex", "zip", "ward", "ill", "cost", "note"]
    published = {name: [row[j] for row in rows.values()] for j, name in enumerate(names)}
    return Release(
        original_names=[c.name for c in SCHEMA.columns],
        original=original,
        names=names,
        rows=[rows[i] for i in truth],
        manifest=manifest(SCHEMA, CLAIMS, published),
        truth=truth,
    )


def generalised(members: list[list[str]]) -> list[str]:
    ages = [Decimal(row[1]) for row in members if row[1]]
    days = sorted({"-".join(reversed(row[2].split("."))) for row in members})
    return [
        with_missing(span([str(age) for age in sorted(set(ages))]), len(ages) < len(members)),
        mean(ages) if min(len(ages), len(members)) >= 5 else "",
        span(days),
        set_of({row[3] for row in members}, 4),
        label({row[4] for row in members}),
        ward({row[5] for row in members}),
    ]


def span(values: list[str]) -> str:
    return values[0] if len(values) == 1 else f"[{values[0]},{values[-1]}]"


def with_missing(text: str, missing: bool) -> str:
    return "{missing|" + text + "}" if missing else text


def mean(values: list[Decimal]) -> str:
    return str((sum(values, Decimal(0)) / len(values)).quantize(Decimal("0.01"), ROUND_HALF_EVEN))


def set_of(values: set[str], whole: int = 0) -> str:
    """A set as a cell; of a column with `whole` values, all of them are a star."""
    if len(values) == whole > 1:
        return "*"
    texts = [value.replace("|", "\\|") or "missing" for value in sorted(values)]
    return texts[0] if len(texts) == 1 else "{" + "|".join(texts) + "}"


def label(values: set[str]) -> str:
    level = next(h for h in range(4) if len({row[h] for row in ZIPS if row[0] in values}) == 1)
    text = next(row[level] for row in ZIPS if row[0] in values)
    return text if text == "*" else text.replace("*", "\\*")


def ward(values: set[str]) -> str:
    if len(values) == 1:
        return min(values)
    return next(("{" + "|".join(sorted(s)) + "}" for s in FAMILY if values <= s), "*")


def protected(text: str) -> str:
    return "'" + text if text[:1] in "=@" else text


def named(cells: list[str]) -> list[str]:
    """The values, ends and labels that cells name, with their escapes undone."""
    atoms = [atom for cell in cells for atom in cell.strip("{}").replace("\\|", "\0").split("|")]
    texts = [end for atom in atoms for end in (atom[1:-1].split(",") if atom.startswith("[") else [atom])]
    return [t.replace("\0", "|").replace("\\", "") for t in texts if t not in ("missing", "*")]


def domain(column: Column, cells: list[str]) -> dict[str, Any]:
    texts = named(cells)
    if column.kind is Kind.CATEGORICAL:
        return {"labels" if column.levels else "values": sorted(set(texts))}
    order = Decimal if column.kind is Kind.NUMERIC else str
    return {"low": min(texts, key=order), "high": max(texts, key=order)}


def manifest(schema: Schema, claims: tuple[Claim, ...], table: dict[str, list[str]]) -> dict[str, Any]:
    rows = len(next(iter(table.values())))
    columns = [
        {
            "name": c.name,
            "role": c.role.value,
            "kind": c.kind.value,
            **({"shape": c.shape.value} if c.role is Role.QUASI else {}),
            **({"domain": domain(c, table[c.name])} if c.role is Role.QUASI else {}),
            **({"mean": True} if c.mean else {}),
        }
        for c in schema.published
    ]
    return {
        "format": "incrowd-release",
        "version": 1,
        "tool": "incrowd 0.1.0",
        "method": copy.deepcopy(METHOD),
        "claims": [claim.to_dict() for claim in claims],
        "accepted": [],
        "columns": columns,
        "rows": {"published": rows, "suppressed": 0},
        "missing": "missing",
        **({"hierarchies": {"file": "hierarchies.csv", "whole": []}} if of_trees(schema) else {}),
    }


def of_trees(schema: Schema) -> bool:
    return any(c.levels for c in schema.having(Role.QUASI))


Spoiler = Callable[[Release], None]
FORGERIES: dict[str, tuple[str, Spoiler]] = {}


def forgery(caught_by: str) -> Callable[[Spoiler], Spoiler]:
    def enter(spoil: Spoiler) -> Spoiler:
        FORGERIES[spoil.__name__] = (caught_by, spoil)
        return spoil

    return enter


def claim(name: str, **parameters: int | str) -> Spoiler:
    """The release claims, and is asked for, a little more than it keeps."""

    def spoil(r: Release) -> None:
        claims = tuple(replace(c, parameters=parameters) if claim_name(c) == name else c for c in r.claims)
        r.claims = claims
        r.manifest["claims"] = [c.to_dict() for c in claims]

    return spoil


def writing(name: str, text: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).write_text(text)

    return spoil


# Files


@forgery("files")
def extra_file(r: Release) -> None:
    r.after.append(writing("notes.txt", "x"))


@forgery("files")
def hidden_file(r: Release) -> None:
    r.after.append(writing(".data.csv.swp", "x"))


@forgery("files")
def extra_folder(r: Release) -> None:
    r.after.append(lambda folder: (folder / "audit").mkdir())


@forgery("files")
def data_is_a_symlink(r: Release) -> None:
    def spoil(folder: Path) -> None:
        elsewhere = folder.parent / "elsewhere.csv"
        (folder / "data.csv").rename(elsewhere)
        (folder / "data.csv").symlink_to(elsewhere)

    r.after.append(spoil)


@forgery("files")
def no_manifest(r: Release) -> None:
    r.after.append(lambda folder: (folder / "release.json").unlink())


@forgery("files")
def no_data(r: Release) -> None:
    r.after.append(lambda folder: (folder / "data.csv").unlink())


@forgery("files")
def data_changed_after_the_manifest(r: Release) -> None:
    def spoil(folder: Path) -> None:
        data = folder / "data.csv"
        data.write_bytes(data.read_bytes().replace(b"flu", b"fly", 1))

    r.after.append(spoil)


@forgery("files")
def data_grew_after_the_manifest(r: Release) -> None:
    def spoil(folder: Path) -> None:
        (folder / "data.csv").write_bytes((folder / "data.csv").read_bytes() + b"\n")

    r.after.append(spoil)


@forgery("files")
def manifest_of_another_release(r: Release) -> None:
    r.manifest["files"] = {"data.csv": {"sha256": hashlib.sha256(b"other").hexdigest(), "bytes": 5}}


@forgery("files")
def manifest_lists_a_second_file(r: Release) -> None:
    def spoil(folder: Path) -> None:
        said = json.loads((folder / "release.json").read_text())
        said["files"]["sensitive.csv"] = said["files"]["data.csv"]
        (folder / "release.json").write_text(manifest_text(said))

    r.after.append(spoil)


@forgery("files")
def manifest_is_no_json(r: Release) -> None:
    r.after.append(writing("release.json", "{"))


@forgery("files")
def manifest_says_a_key_twice(r: Release) -> None:
    def spoil(folder: Path) -> None:
        text = (folder / "release.json").read_text()
        (folder / "release.json").write_text('{"version": 1, ' + text[1:])

    r.after.append(spoil)


# Manifest


@forgery("manifest")
def unknown_key(r: Release) -> None:
    r.manifest["comment"] = "n7 is in the first class"


@forgery("manifest")
def missing_key(r: Release) -> None:
    del r.manifest["accepted"]


@forgery("manifest")
def other_version(r: Release) -> None:
    r.manifest["version"] = 2


@forgery("manifest")
def version_is_true(r: Release) -> None:
    r.manifest["version"] = True


@forgery("manifest")
def other_format(r: Release) -> None:
    r.manifest["format"] = "incrowd"


@forgery("manifest")
def unknown_tool(r: Release) -> None:
    r.manifest["tool"] = "incrowd 0.1.0 seed 7"


@forgery("manifest")
def unknown_form(r: Release) -> None:
    r.manifest["method"]["form"] = "safe"


@forgery("manifest")
def method_with_more(r: Release) -> None:
    r.manifest["method"]["seed"] = 7


@forgery("manifest")
def claims_a_smaller_k(r: Release) -> None:
    r.manifest["claims"][0]["parameters"]["k"] = 3


@forgery("manifest")
def claims_a_larger_k(r: Release) -> None:
    r.manifest["claims"][0]["parameters"]["k"] = 40


@forgery("manifest")
def claim_left_out(r: Release) -> None:
    del r.manifest["claims"][1]


@forgery("manifest")
def claim_added(r: Release) -> None:
    r.manifest["claims"].append(Claim("k-anonymity", {"k": 2}).to_dict())


@forgery("manifest")
def claim_against_another_adversary(r: Release) -> None:
    r.manifest["claims"][0]["adversary"] = "nobody"


@forgery("manifest")
def column_with_another_role(r: Release) -> None:
    r.manifest["columns"][-1]["role"] = "sensitive"


@forgery("manifest")
def kept_column_with_a_domain(r: Release) -> None:
    r.manifest["columns"][-1]["domain"] = {"values": []}


@forgery("domains")
def domain_that_says_more_than_the_cells(r: Release) -> None:
    r.manifest["columns"][0]["domain"]["high"] = "130"


@forgery("domains")
def domain_with_a_value_that_no_cell_names(r: Release) -> None:
    r.manifest["columns"][2]["domain"]["values"].append("X")


@forgery("domains")
def no_domain(r: Release) -> None:
    del r.manifest["columns"][3]["domain"]


@forgery("manifest")
def negative_suppression(r: Release) -> None:
    r.manifest["rows"]["suppressed"] = -1


@forgery("manifest")
def missing_is_another_word(r: Release) -> None:
    r.manifest["missing"] = "?"


# Columns


@forgery("schema")
def index_column(r: Release) -> None:
    r.names.insert(0, "")
    for p, row in enumerate(r.rows):
        row.insert(0, str(p))


@forgery("schema")
def identifier_published(r: Release) -> None:
    r.names.append("name")
    for p, row in enumerate(r.rows):
        row.append(r.original[r.truth[p]][0])


@forgery("schema")
def dropped_column_published(r: Release) -> None:
    r.names.append("secret")
    for row in r.rows:
        row.append("hush")


@forgery("schema")
def column_renamed(r: Release) -> None:
    r.names[r.at("ill")] = "illness"


@forgery("schema")
def columns_out_of_order(r: Release) -> None:
    for row in [r.names, *r.rows]:
        row[-1], row[-2] = row[-2], row[-1]


@forgery("schema")
def column_left_out(r: Release) -> None:
    for row in [r.names, *r.rows]:
        del row[-1]


@forgery("schema")
def mean_column_left_out(r: Release) -> None:
    place = r.at("age_mean")
    for row in [r.names, *r.rows]:
        del row[place]


@forgery("schema")
def column_twice(r: Release) -> None:
    for row in [r.names, *r.rows]:
        row.append(row[-1])


@forgery("schema")
def byte_order_mark(r: Release) -> None:
    r.names[0] = "\ufeff" + r.names[0]


# Cells


def cell(name: str, text: str) -> Spoiler:
    """Write this text into a whole class that has more than one value there."""

    def spoil(r: Release) -> None:
        r.set_class(r.wide(name), name, text)

    return spoil


CELLS = {
    "cell_interval_without_end": cell("day", "[2024-01-01,2024-02-02"),
    "cell_interval_with_one_end": cell("day", "[2024-01-01]"),
    "cell_interval_with_open_end": cell("age", "[18,]"),
    "cell_interval_of_one_value": lambda r: r.set_class(
        r.wide("age"), "age", "[{0},{0}]".format(r.original[0][1])
    ),
    "cell_interval_falling": lambda r: r.set_class(r.wide("age"), "age", "[80,18]"),
    "cell_interval_invented_end": cell("age", "[0,999]"),
    "cell_number_invented": cell("age", "1000"),
    "cell_number_is_nan": cell("age", "nan"),
    "cell_number_is_a_word": cell("age", "old"),
    "cell_two_intervals": cell("age", "{[18,30]|[40,50]}"),
    "cell_empty": cell("age", ""),
    "cell_date_not_iso": cell("day", "[2024-1-1,2024-2-2]"),
    "cell_date_invented": cell("day", "[1900-01-01,2024-02-02]"),
    "cell_set_without_end": cell("sex", "{F|M"),
    "cell_set_of_one": cell("sex", "{F}"),
    "cell_set_empty": cell("sex", "{}"),
    "cell_set_with_a_member_twice": cell("sex", "{F|F|M}"),
    "cell_set_with_an_empty_member": cell("sex", "{F|}"),
    "cell_set_in_a_set": cell("sex", "{F|{M|missing}}"),
    "cell_set_with_a_stranger": cell("sex", "{F|M|Z}"),
    "cell_set_with_an_interval": cell("sex", "{F|[F,M]}"),
    "cell_value_not_escaped": cell("sex", "x|y"),
    "cell_escape_without_end": cell("sex", "{F|M\\}"),
    "cell_escape_of_a_letter": cell("sex", "\\F"),
    "cell_everything_in_a_set": cell("sex", "{missing|*}"),
    "cell_label_unknown": lambda r: r.set_class(r.classes()[0], "zip", "3\\*\\*"),
    "cell_label_not_escaped": lambda r: r.set_class(r.classes()[0], "zip", "1**"),
    "cell_two_labels": lambda r: r.set_class(r.classes()[0], "zip", "{101|102}"),
    "cell_set_not_permissible": cell("ward", "{a|c}"),
    "cell_too_many": lambda r: r.rows[3].append("x"),
    "cell_too_few": lambda r: r.rows[3].pop(),
    "cell_formula_not_protected": lambda r: r.rows[r.column("ill").index("'=cmd()")].__setitem__(
        r.at("ill"), "=cmd()"
    ),
    "cell_formula_in_a_note": lambda r: r.rows[0].__setitem__(r.at("note"), "@import"),
}
FORGERIES.update({name: ("cells", spoil) for name, spoil in CELLS.items()})


# Rows


@forgery("rows")
def row_dropped(r: Release) -> None:
    del r.rows[5]


@forgery("rows")
def row_dropped_and_counted(r: Release) -> None:
    del r.rows[5]
    r.manifest["rows"]["published"] -= 1


@forgery("rows")
def row_doubled(r: Release) -> None:
    r.rows.append(list(r.rows[5]))


@forgery("rows")
def row_count_wrong(r: Release) -> None:
    r.manifest["rows"]["published"] += 1


@forgery("manifest")
def nobody_is_said_to_be_suppressed(r: Release) -> None:
    r.manifest["rows"]["suppressed"] = 3


@forgery("rows")
def no_rows_at_all(r: Release) -> None:
    r.rows.clear()


@forgery("private")
def row_replaced_by_its_double(r: Release) -> None:
    r.rows[5] = list(r.rows[6])


@forgery("private")
def sensitive_value_invented(r: Release) -> None:
    r.rows[5][r.at("cost")] = "12"


@forgery("private")
def sensitive_value_blanked(r: Release) -> None:
    r.rows[5][r.at("ill")] = ""


@forgery("private")
def sensitive_number_written_otherwise(r: Release) -> None:
    r.rows[5][r.at("cost")] += ".0"


@forgery("private")
def kept_value_changed(r: Release) -> None:
    r.rows[5][r.at("note")] += "!"


@forgery("private")
def cells_run_together(r: Release) -> None:
    row = r.rows[5]
    row[r.at("cost")], row[r.at("note")] = row[r.at("cost")] + "\x1f" + row[r.at("note")], ""


@forgery("private")
def sensitive_values_swapped(r: Release) -> None:
    first, last = r.classes()[0][0], r.classes()[-1][0]
    place = r.at("cost")
    r.rows[first][place], r.rows[last][place] = r.rows[last][place] + "0", r.rows[first][place]


# Truth


@forgery("truth")
def row_moved_to_another_class(r: Release) -> None:
    here, there = r.classes()[1], r.classes()[-1]
    r.rows[there[0]][:6] = r.rows[here[0]][:6]


@forgery("truth")
def private_parts_swapped_across_classes(r: Release) -> None:
    here, there = r.classes()[1][0], r.classes()[-1][0]
    r.rows[here][6:], r.rows[there][6:] = r.rows[there][6:], r.rows[here][6:]


@forgery("truth")
def missing_taken_out(r: Release) -> None:
    rows = next(rows for rows in r.classes() if r.rows[rows[0]][0].startswith("{missing|"))
    r.set_class(rows, "age", r.rows[rows[0]][0][len("{missing|") : -1])


@forgery("truth")
def class_is_only_missing(r: Release) -> None:
    r.set_class(r.classes()[-1], "age", "missing")


@forgery("truth")
def label_of_a_brother(r: Release) -> None:
    rows = next(rows for rows in r.classes() if r.rows[rows[0]][r.at("zip")] == "2\\*\\*")
    r.set_class(rows, "zip", "1\\*\\*")


@forgery("truth")
def permissible_set_of_others(r: Release) -> None:
    rows = next(rows for rows in r.classes() if r.rows[rows[0]][r.at("ward")] == "{c|d}")
    r.set_class(rows, "ward", "{a|b}")


def shrunk(name: str, low: bool) -> Spoiler:
    """Move one end of a class's interval to the next value that occurs."""

    def spoil(r: Release) -> None:
        rows = next(rows for rows in r.classes() if r.rows[rows[0]][r.at(name)].startswith("["))
        ends = r.rows[rows[0]][r.at(name)][1:-1].split(",")
        place = r.original_names.index(name)
        known = sorted({as_published(row[place]) for row in r.original if row[place]}, key=sorting)
        if low:
            ends[0] = known[known.index(ends[0]) + 1]
        else:
            ends[1] = known[known.index(ends[1]) - 1]
        r.set_class(rows, name, "[" + ",".join(ends) + "]")

    return spoil


def as_published(text: str) -> str:
    return "-".join(reversed(text.split("."))) if text.count(".") == 2 else text


def sorting(text: str) -> Any:
    return text if "-" in text else Decimal(text)


def without_member(r: Release) -> None:
    rows = next(rows for rows in r.classes() if r.rows[rows[0]][r.at("sex")].count("|") > 2)
    text = r.rows[rows[0]][r.at("sex")]
    r.set_class(rows, "sex", text.replace("|M", "").replace("{M|", "{"))


FORGERIES |= {
    "age_shrunk_from_below": ("truth", shrunk("age", True)),
    "age_shrunk_from_above": ("truth", shrunk("age", False)),
    "day_shrunk_from_below": ("truth", shrunk("day", True)),
    "day_shrunk_from_above": ("truth", shrunk("day", False)),
    "set_without_a_member": ("truth", without_member),
}


# Order


def reordered(r: Release, order: list[int]) -> None:
    r.rows, r.truth = [r.rows[p] for p in order], [r.truth[p] for p in order]


@forgery("order")
def input_order(r: Release) -> None:
    reordered(r, sorted(range(len(r.truth)), key=r.truth.__getitem__))


@forgery("order")
def reversed_order(r: Release) -> None:
    reordered(r, sorted(range(len(r.truth)), key=r.truth.__getitem__, reverse=True))


@forgery("order")
def input_order_but_for_the_end(r: Release) -> None:
    order = sorted(range(len(r.truth)), key=r.truth.__getitem__)
    reordered(r, order[:30] + order[:29:-1])


@forgery("order")
def rotated_order(r: Release) -> None:
    order = sorted(range(len(r.truth)), key=r.truth.__getitem__)
    reordered(r, order[25:] + order[:25])


# Means


@forgery("means")
def mean_wrong(r: Release) -> None:
    r.set_class(r.classes()[1], "age_mean", "44.44")


@forgery("means")
def mean_of_one_row_wrong(r: Release) -> None:
    p = r.classes()[1][0]
    r.rows[p][r.at("age_mean")] = str(Decimal(r.rows[p][r.at("age_mean")]) + Decimal("0.01"))


@forgery("means")
def mean_too_precise(r: Release) -> None:
    rows = r.classes()[1]
    r.set_class(rows, "age_mean", r.rows[rows[0]][r.at("age_mean")] + "0")


@forgery("means")
def mean_left_out(r: Release) -> None:
    r.set_class(r.classes()[1], "age_mean", "")


@forgery("means")
def mean_is_no_number(r: Release) -> None:
    r.set_class(r.classes()[1], "age_mean", "1e1")


@forgery("means")
def mean_of_a_tiny_class(r: Release) -> None:
    rows = r.classes()[0]
    ages = [Decimal(age) for p in rows if (age := r.original[r.truth[p]][1])]
    r.set_class(rows, "age_mean", mean(ages))


# Claims: asked for and claimed, but not kept


@forgery("k-anonymity")
def class_below_k(r: Release) -> None:
    """One row says less than its class, which is true, but leaves the class one short."""
    r.rows[r.classes()[0][0]][r.at("sex")] = "*"


@forgery("k-anonymity")
def one_person_fills_a_class(r: Release) -> None:
    """With persons declared, four rows of one person protect nobody."""
    columns = [replace(c, role=Role.ENTITY) if c.name == "name" else c for c in r.schema.columns]
    r.schema = Schema(tuple(columns))
    for p in r.classes()[0]:
        r.original[r.truth[p]][0] = "n0"


@forgery("k-anonymity")
def two_rows_of_one_person(r: Release) -> None:
    """A class of four rows and three persons."""
    columns = [replace(c, role=Role.ENTITY) if c.name == "name" else c for c in r.schema.columns]
    r.schema = Schema(tuple(columns))
    first, second = r.classes()[0][:2]
    r.original[r.truth[first]][0] = r.original[r.truth[second]][0]


@forgery("k-anonymity")
def more_than_one_in_k_rows_of_one_person(r: Release) -> None:
    """A class of seven rows and six persons: enough for k = 4, but a row is one person's with 2/7."""
    columns = [replace(c, role=Role.ENTITY) if c.name == "name" else c for c in r.schema.columns]
    r.schema = Schema(tuple(columns))
    first, second = next(rows for rows in r.classes() if len(rows) == 7)[:2]
    r.original[r.truth[first]][0] = r.original[r.truth[second]][0]


@forgery("a-new-model (ill)")
def unknown_model(r: Release) -> None:
    r.claims = (*r.claims, Claim("a-new-model", {}, "ill"))
    r.manifest["claims"] = [c.to_dict() for c in r.claims]


@forgery("distinct-l-diversity (note)")
def claim_about_a_kept_column(r: Release) -> None:
    r.claims = (*r.claims, Claim("distinct-l-diversity", {"l": 2}, "note"))
    r.manifest["claims"] = [c.to_dict() for c in r.claims]


FORGERIES |= {
    "k_one_too_high": ("k-anonymity", claim("k-anonymity", k=5)),
    "k_is_zero": ("k-anonymity", claim("k-anonymity", k=0)),
    "k_is_a_text": ("k-anonymity", claim("k-anonymity", k="4")),
    "k_with_more": ("k-anonymity", claim("k-anonymity", k=4, persons="no")),
    "l_one_too_high": ("distinct-l-diversity (ill)", claim("distinct-l-diversity (ill)", l=5)),
    "entropy_l_too_high": ("entropy-l-diversity (ill)", claim("entropy-l-diversity (ill)", l="3.171")),
    "entropy_l_below_one": ("entropy-l-diversity (ill)", claim("entropy-l-diversity (ill)", l="0.5")),
    "recursive_c_too_low": (
        "recursive-l-diversity (ill)",
        claim("recursive-l-diversity (ill)", c="1.3333", l=2),
    ),
    "recursive_l_too_high": ("recursive-l-diversity (ill)", claim("recursive-l-diversity (ill)", c="2", l=5)),
    "t_too_low": (
        "t-closeness (ill, equal)",
        claim("t-closeness (ill, equal)", t="0.3714", distance="equal"),
    ),
    "t_is_no_decimal": (
        "manifest",
        claim("t-closeness (ill, equal)", t="1/2", distance="equal"),
    ),
    "t_in_tree_too_low": (
        "t-closeness (ill, hierarchical)",
        claim("t-closeness (ill, hierarchical)", t="0.3428", distance="hierarchical"),
    ),
    "t_in_order_too_low": (
        "t-closeness (cost, ordered)",
        claim("t-closeness (cost, ordered)", t="0.1819", distance="ordered"),
    ),
}
