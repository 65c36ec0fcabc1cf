"""What stands beside the rows, by hand: totals and hierarchies, and every way we know to spoil them.

All start from the good release of `classes`, with k = 4. Each forgery names the check that must catch it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from forgeries.classes import ZIPS, Release, described, good, manifest_text, of_trees

Lines = list[list[str]]
K = 4
BESIDE: dict[str, tuple[str, Callable[[WithTotals], None]]] = {}


@dataclass
class WithTotals(Release):
    """A release that states totals; tables beside the rows may be spoiled."""

    totals: Lines = field(default_factory=list)
    spoiled: dict[str, Callable[[Lines], Lines]] = field(default_factory=dict)

    def beside(self) -> dict[str, Lines]:
        tables = super().beside() | {"totals.csv": [["column", "value", "rows"], *self.totals]}
        named = {line[1].replace("\\", "") for line in self.totals if line[0] == "zip"}
        above = {label for row in ZIPS for at, label in enumerate(row[:-1]) if named & {*row[: at + 1]}}
        lines = tables["hierarchies.csv"]
        known = {line[1] for line in lines}
        more = [["zip", row[at], row[at + 1], "no" if at else "yes"] for row in ZIPS for at in range(3)]
        new = {line[1]: line for line in more if line[1] in above - known}
        tables["hierarchies.csv"] = [lines[0], *sorted([*lines[1:], *new.values()])]
        for name, spoil in self.spoiled.items():
            tables[name] = spoil(tables[name])
        return tables


def with_totals() -> WithTotals:
    plain = good()
    made = WithTotals(**{name: getattr(plain, name) for name in Release.__dataclass_fields__})
    assert of_trees(made.schema)
    made.totals = [["age", *line] for line in ranges([row[1] for row in made.original], Decimal)]
    days = ["-".join(reversed(row[2].split("."))) for row in made.original]
    made.totals += [["day", *line] for line in ranges(days, str)]
    for place, name in ((3, "sex"), (4, "zip"), (5, "ward")):
        made.totals += [[name, *line] for line in values([row[place] for row in made.original])]
    made.manifest["totals"] = {"file": "totals.csv"}
    return made


def ranges(texts: list[str], order: Callable[[str], Any]) -> Lines:
    """Two halves of the values, and missing by itself."""
    real = sorted((text for text in texts if text), key=order)
    middle = real[len(real) // 2]
    halves = [[t for t in real if order(t) <= order(middle)], [t for t in real if order(t) > order(middle)]]
    lost = len(texts) - len(real)
    assert lost == 0 or lost >= K
    return [
        *([["missing", str(lost)]] if lost else []),
        *([f"[{half[0]},{half[-1]}]", str(len(half))] for half in halves),
    ]


def values(texts: list[str]) -> Lines:
    """Values that enough people have, and the rest."""
    count = Counter(texts)
    stated = {(value.replace("|", "\\|") or "missing"): n for value, n in count.items() if n >= K}
    rest = len(texts) - sum(stated.values())
    while 0 < rest < K:
        rest += stated.pop(min(stated, key=lambda value: stated[value]))
    lines = [[value, str(n)] for value, n in sorted(stated.items())]
    return [*lines, ["*", str(rest)]] if rest else lines


Spoiler = Callable[[WithTotals], None]


def spoiler(caught_by: str) -> Callable[[Spoiler], Spoiler]:
    def enter(spoil: Spoiler) -> Spoiler:
        BESIDE[spoil.__name__] = (caught_by, spoil)
        return spoil

    return enter


def of(r: WithTotals, column: str) -> list[int]:
    return [i for i, line in enumerate(r.totals) if line[0] == column]


@spoiler("totals")
def a_total_is_one_too_large(r: WithTotals) -> None:
    r.totals[0][2] = str(int(r.totals[0][2]) + 1)


@spoiler("totals")
def two_totals_are_exchanged(r: WithTotals) -> None:
    a, b = of(r, "age")[-2:]
    r.totals[a][2], r.totals[b][2] = str(int(r.totals[a][2]) + 1), str(int(r.totals[b][2]) - 1)


@spoiler("totals")
def a_rare_value_has_a_line(r: WithTotals) -> None:
    ages = [row[1] for row in r.original]
    last = of(r, "age")[-1]
    high = r.totals[last][1].strip("[]").split(",")
    rows = [age for age in ages if age and Decimal(high[0]) <= Decimal(age) < Decimal(high[1])]
    alone = ages.count(high[1])
    assert alone < K
    top = max(rows, key=Decimal)
    r.totals[last] = ["age", f"[{high[0]},{top}]", str(len(rows))]
    r.totals.insert(last + 1, ["age", high[1], str(alone)])


@spoiler("totals")
def a_small_remainder(r: WithTotals) -> None:
    """A value less is named, and the rest is about two people."""
    record = next(row for row in r.original if row[3] == "F")
    others = next(row for row in r.original if row is not record and row[3] == "F")
    for row in (record, others):
        row[3] = "rare"
    for line in r.totals:
        if line[:2] == ["sex", "F"]:
            line[2] = str(int(line[2]) - 2)
    r.totals.insert(of(r, "sex")[-1] + 1, ["sex", "*", "2"])
    for row in r.rows:
        row[r.at("sex")] = "*"
    sex = next(column for column in r.manifest["columns"] if column["name"] == "sex")
    sex["domain"] = {"values": []}


@spoiler("totals")
def a_line_is_missing(r: WithTotals) -> None:
    del r.totals[of(r, "sex")[0]]


@spoiler("totals")
def a_line_is_there_twice(r: WithTotals) -> None:
    r.totals.insert(0, list(r.totals[0]))


@spoiler("totals")
def a_line_counts_nobody(r: WithTotals) -> None:
    r.totals.insert(of(r, "sex")[-1] + 1, ["sex", "*", "0"])


@spoiler("totals")
def ranges_overlap(r: WithTotals) -> None:
    a, b = of(r, "age")[-2:]
    low = r.totals[a][1].strip("[]").split(",")[0]
    high = r.totals[b][1].strip("[]").split(",")[1]
    r.totals[b][1] = f"[{low},{high}]"


@spoiler("totals")
def a_column_is_left_out(r: WithTotals) -> None:
    r.totals = [line for line in r.totals if line[0] != "ward"]


@spoiler("totals")
def a_column_that_is_secret(r: WithTotals) -> None:
    r.totals.append(["ill", "flu", "12"])


@spoiler("totals")
def columns_in_another_order(r: WithTotals) -> None:
    r.totals = [*r.totals[len(of(r, "age")) :], *r.totals[: len(of(r, "age"))]]


@spoiler("totals")
def lines_in_another_order(r: WithTotals) -> None:
    a, b = of(r, "sex")[:2]
    r.totals[a], r.totals[b] = r.totals[b], r.totals[a]


@spoiler("totals")
def a_value_that_nobody_has(r: WithTotals) -> None:
    r.totals[of(r, "sex")[0]][1] = "A"


@spoiler("totals")
def a_number_in_another_form(r: WithTotals) -> None:
    r.totals[0][2] = "0" + r.totals[0][2]


@spoiler("totals")
def a_cell_in_another_form(r: WithTotals) -> None:
    line = r.totals[of(r, "sex")[0]]
    line[1] = "{" + line[1] + "}"


@spoiler("totals")
def another_header(r: WithTotals) -> None:
    r.spoiled["totals.csv"] = lambda table: [["column", "value", "people"], *table[1:]]


@spoiler("files")
def no_totals_at_all(r: WithTotals) -> None:
    r.after.append(lambda folder: (folder / "totals.csv").unlink())


@spoiler("manifest")
def totals_in_another_file(r: WithTotals) -> None:
    r.manifest["totals"] = {"file": "data.csv"}


@spoiler("manifest")
def totals_are_not_mentioned(r: WithTotals) -> None:
    del r.manifest["totals"]


@spoiler("hierarchies")
def a_label_nobody_names(r: WithTotals) -> None:
    named = {line[1] for line in r.beside()["hierarchies.csv"]}
    row, at = next((row, at) for row in ZIPS for at in range(3) if row[at] not in named)
    extra = ["zip", row[at], row[at + 1], "no" if at else "yes"]
    r.spoiled["hierarchies.csv"] = lambda table: [table[0], *sorted([*table[1:], extra])]


@spoiler("hierarchies")
def a_label_is_left_out(r: WithTotals) -> None:
    r.spoiled["hierarchies.csv"] = lambda table: table[:-1]


@spoiler("hierarchies")
def a_label_lies_elsewhere(r: WithTotals) -> None:
    r.spoiled["hierarchies.csv"] = lambda table: [*table[:-1], [*table[-1][:2], "*", table[-1][3]]]


@spoiler("hierarchies")
def a_leaf_that_is_none(r: WithTotals) -> None:
    def turned(table: Lines) -> Lines:
        return [*table[:-1], [*table[-1][:3], "yes" if table[-1][3] == "no" else "no"]]

    r.spoiled["hierarchies.csv"] = turned


@spoiler("hierarchies")
def labels_in_another_order(r: WithTotals) -> None:
    r.spoiled["hierarchies.csv"] = lambda table: [table[0], *reversed(table[1:])]


@spoiler("manifest")
def a_hierarchy_is_said_to_be_whole(r: WithTotals) -> None:
    r.manifest["hierarchies"]["whole"] = ["zip"]


def with_datasheet(text: str) -> Callable[[Path], None]:
    """A datasheet is added, and the manifest knows of it."""

    def write(folder: Path) -> None:
        (folder / "README.md").write_text(text, encoding="utf-8")
        said = json.loads((folder / "release.json").read_text(encoding="utf-8"))
        files = {**said["files"], "README.md": described(folder / "README.md")}
        said["files"] = dict(sorted(files.items()))
        (folder / "release.json").write_text(manifest_text(said), encoding="utf-8")

    return write


@spoiler("bytes")
def a_datasheet_of_other_words(r: WithTotals) -> None:
    r.after.append(with_datasheet("# About these data\n\nn3 has the flu.\n"))


def with_bytes(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """The same table in other bytes, and the manifest knows of them."""

    def write(folder: Path) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(change(data))
        assert data != (folder / name).read_bytes()
        said = json.loads((folder / "release.json").read_text(encoding="utf-8"))
        said["files"][name] = described(folder / name)
        (folder / "release.json").write_text(manifest_text(said), encoding="utf-8")

    return write


@spoiler("totals")
def totals_with_a_blank_line_at_the_end(r: WithTotals) -> None:
    r.after.append(with_bytes("totals.csv", lambda data: data + b"\n"))


@spoiler("totals")
def totals_with_quotes_that_nothing_needs(r: WithTotals) -> None:
    r.after.append(with_bytes("totals.csv", lambda data: data.replace(b"sex,", b'"sex",', 1)))


@spoiler("hierarchies")
def hierarchies_with_a_blank_line(r: WithTotals) -> None:
    r.after.append(with_bytes("hierarchies.csv", lambda data: data.replace(b"\nzip", b"\n\nzip", 1)))


@spoiler("hierarchies")
def hierarchies_with_other_line_ends(r: WithTotals) -> None:
    r.after.append(with_bytes("hierarchies.csv", lambda data: data.replace(b"yes\n", b"yes\r\n", 1)))
