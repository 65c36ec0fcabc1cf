"""A good release with sensitive values in buckets, written by hand, and ways to spoil it.

Rows are exact and all different, so the verifier can find out by itself who is behind each. There are two
sensitive columns, counted together.
"""

from __future__ import annotations

import copy
import csv
import hashlib
import io
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from forgeries.classes import Release, manifest, manifest_text, protected

from incrowd.schema import Claim, Column, Kind, Role, Schema

SCHEMA = Schema(
    (
        Column("name", Role.IDENTIFIER),
        Column("age", Role.QUASI, Kind.NUMERIC),
        Column("ill", Role.SENSITIVE),
        Column("sex", Role.QUASI),
        Column("cost", Role.SENSITIVE, Kind.NUMERIC),
    )
)
ILLS = ("flu", "cough", "ulcer", "=cmd()")
N, K = 100, 4
CLAIMS = (
    Claim("sensitive-groups", {"k": K}),
    Claim("frequency-l-diversity", {"l": 4}, "ill"),
    Claim("distinct-l-diversity", {"l": 4}, "ill"),
    Claim("distinct-l-diversity", {"l": 2}, "cost"),
)
HEADER = ["group", "ill", "cost", "count"]
Group = Sequence[int]


@dataclass
class Bucketed(Release):
    """A release with the lines of its second file."""

    lines: list[list[str]] = field(default_factory=list)
    header: list[str] = field(default_factory=lambda: list(HEADER))

    def write(self, folder: Path) -> None:
        folder.mkdir()
        texts = {
            "data.csv": csv_text([self.names, *self.rows]),
            "sensitive.csv": csv_text([self.header, *self.lines]),
        }
        said = copy.deepcopy(self.manifest)
        said.setdefault("files", {name: described(text) for name, text in texts.items()})
        for name, text in texts.items():
            (folder / name).write_bytes(text)
        (folder / "release.json").write_text(manifest_text(said), encoding="utf-8")
        for spoil in self.after:
            spoil(folder)

    def publish(self, groups: Sequence[Group], numbers: Sequence[int]) -> None:
        """Rows and lines of these groups of records, group g under the number ``numbers[g]``."""
        number = {i: numbers[g] for g, members in enumerate(groups) for i in members}
        self.rows = [[self.original[i][1], self.original[i][3], str(number[i])] for i in self.truth]
        counted = Counter((number[i], r[2], r[4]) for i, r in enumerate(self.original))
        self.lines = [[str(g), protected(ill), cost, str(c)] for (g, ill, cost), c in sorted(counted.items())]
        self.manifest["apart"]["groups"] = len(groups)

    def line(self, count: str = "1") -> list[str]:
        return next(line for line in self.lines if line[3] == count)

    def say(self, *claims: Claim) -> None:
        self.claims = claims
        self.manifest["claims"] = [claim.to_dict() for claim in claims]


def csv_text(rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def described(text: bytes) -> dict[str, object]:
    return {"sha256": hashlib.sha256(text).hexdigest(), "bytes": len(text)}


def people() -> list[list[str]]:
    ills = [ILLS[i // 25] for i in range(N)]
    return [[f"n{i}", str(20 + i % 50), ills[i], "FM"[i // 50], str(i % 2)] for i in range(N)]


def groups_of_four() -> list[list[int]]:
    """One of each illness, and the last group as large as two."""
    groups = [[j, j + 25, j + 50, j + 75] for j in range(25)]
    return [*groups[:22], groups[23], groups[22] + groups[24]]


def numbered(groups: Sequence[Group], seed: int = 3) -> list[int]:
    numbers = list(range(1, len(groups) + 1))
    random.Random(seed).shuffle(numbers)
    return numbers


def good() -> Bucketed:
    original = people()
    truth = list(range(N))
    random.Random(5).shuffle(truth)
    names = ["age", "sex", "group"]
    table = {"age": [row[1] for row in original], "sex": [row[3] for row in original]}
    said = manifest(SCHEMA, CLAIMS, table)
    for column in said["columns"]:
        if column["role"] == "sensitive":
            column["apart"] = True
    said["apart"] = {"file": "sensitive.csv", "groups": 0}
    columns = [c.name for c in SCHEMA.columns]
    release = Bucketed(columns, original, names, [], said, SCHEMA, CLAIMS, truth=truth)
    groups = groups_of_four()
    release.publish(groups, numbered(groups))
    return release


Spoiler = Callable[[Bucketed], None]
BUCKET_FORGERIES: dict[str, tuple[str, Spoiler]] = {}


def forgery(caught_by: str) -> Callable[[Spoiler], Spoiler]:
    def enter(spoil: Spoiler) -> Spoiler:
        BUCKET_FORGERIES[spoil.__name__] = (caught_by, spoil)
        return spoil

    return enter


# The table of sensitive values


@forgery("sensitive")
def a_value_moved_between_groups(r: Bucketed) -> None:
    """The costs of one illness are exchanged between two groups: every sum and total stays as it was."""
    one = r.lines[0]
    other = next(line for line in r.lines if line[1] == one[1] and line[2] != one[2] and line[3] == "1")
    one[2], other[2] = other[2], one[2]


@forgery("sensitive")
def a_count_raised(r: Bucketed) -> None:
    r.lines[0][3] = "2"


@forgery("sensitive")
def counts_shifted_inside_a_group(r: Bucketed) -> None:
    """The sum of the group stays right, the values of everyone do not."""
    double = r.line("2")
    other = next(line for line in r.lines if line[0] == double[0] and line is not double)
    double[3], other[3] = str(int(double[3]) - 1), str(int(other[3]) + 1)


def count_of(text: str) -> Spoiler:
    def spoil(r: Bucketed) -> None:
        r.lines[0][3] = text

    return spoil


for _text in ("0", "-1", "1.0", "1e0", "", "01", " 1", "x", "9" * 17, "9" * 60):
    BUCKET_FORGERIES[f"a count of {_text!r}"] = ("sensitive", count_of(_text))


@forgery("sensitive")
def a_line_dropped(r: Bucketed) -> None:
    del r.lines[3]


@forgery("sensitive")
def a_group_dropped(r: Bucketed) -> None:
    r.lines = [line for line in r.lines if line[0] != "7"]


@forgery("sensitive")
def a_line_twice(r: Bucketed) -> None:
    r.lines.insert(0, r.lines[0])


@forgery("sensitive")
def a_count_of_two_as_two_lines(r: Bucketed) -> None:
    place = r.lines.index(r.line("2"))
    r.lines[place][3] = "1"
    r.lines.insert(place, list(r.lines[place]))


@forgery("sensitive")
def a_line_invented(r: Bucketed) -> None:
    r.lines.insert(0, ["1", "aids", "0", "1"])


@forgery("sensitive")
def a_value_invented(r: Bucketed) -> None:
    r.line()[2] = "77"


@forgery("sensitive")
def no_lines(r: Bucketed) -> None:
    r.lines = []


@forgery("sensitive")
def a_group_that_no_row_names(r: Bucketed) -> None:
    r.lines.append(["25", "flu", "0", "1"])


@forgery("sensitive")
def a_group_without_a_number(r: Bucketed) -> None:
    r.lines[0][0] = "one"


@forgery("sensitive")
def lines_in_the_order_of_records(r: Bucketed) -> None:
    group = {tuple(row[:2]): row[2] for row in r.rows}
    met = {(group[row[1], row[3]], protected(row[2]), row[4]): None for row in r.original}
    counts = {tuple(line[:3]): line[3] for line in r.lines}
    r.lines = [[*key, counts[key]] for key in met]


@forgery("sensitive")
def lines_in_random_order(r: Bucketed) -> None:
    random.Random(1).shuffle(r.lines)


@forgery("sensitive")
def values_of_a_group_not_sorted(r: Bucketed) -> None:
    r.lines[0], r.lines[1] = r.lines[1], r.lines[0]


@forgery("sensitive")
def another_header(r: Bucketed) -> None:
    r.header[0] = "class"


@forgery("sensitive")
def columns_in_another_order(r: Bucketed) -> None:
    r.header[1], r.header[2] = r.header[2], r.header[1]
    r.lines = [[g, cost, ill, c] for g, ill, cost, c in r.lines]


@forgery("sensitive")
def one_more_column(r: Bucketed) -> None:
    r.header.append("name")
    r.lines = [[*line, "n0"] for line in r.lines]


@forgery("sensitive")
def one_column_less(r: Bucketed) -> None:
    r.header.remove("cost")
    r.lines = [[g, ill, c] for g, ill, _, c in r.lines]


@forgery("sensitive")
def a_line_with_one_cell_more(r: Bucketed) -> None:
    r.lines[0].append("n0")


@forgery("sensitive")
def a_formula(r: Bucketed) -> None:
    for line in r.lines:
        line[1] = line[1].removeprefix("'")


# The rows


@forgery("sensitive")
def two_records_exchanged_between_groups(r: Bucketed) -> None:
    """Two rows with different costs take each other's group."""
    one, other = r.truth.index(0), r.truth.index(1)
    r.rows[one][2], r.rows[other][2] = r.rows[other][2], r.rows[one][2]


@forgery("sensitive")
def a_row_in_another_group(r: Bucketed) -> None:
    r.rows[0][2] = next(row[2] for row in r.rows if row[2] != r.rows[0][2])


def group_of(text: str) -> Spoiler:
    def spoil(r: Bucketed) -> None:
        r.rows[0][2] = text

    return spoil


for _text in ("25", "99", "0", "-1", "", "1.0", "one"):
    BUCKET_FORGERIES[f"a row of group {_text!r}"] = ("sensitive", group_of(_text))


@forgery("sensitive")
def groups_with_leading_zeros(r: Bucketed) -> None:
    r.rows = [[*row[:2], "0" + row[2]] for row in r.rows]
    r.lines = [["0" + line[0], *line[1:]] for line in r.lines]


@forgery("sensitive")
def groups_numbered_with_gaps(r: Bucketed) -> None:
    """A number can be a message."""
    r.rows = [[*row[:2], "1000" if row[2] == "24" else row[2]] for row in r.rows]
    r.lines = [["1000" if line[0] == "24" else line[0], *line[1:]] for line in r.lines]


@forgery("schema")
def a_sensitive_column_left_in_the_rows(r: Bucketed) -> None:
    r.names.insert(1, "ill")
    r.rows = [[row[0], protected(r.original[i][2]), *row[1:]] for i, row in zip(r.truth, r.rows, strict=True)]


@forgery("schema")
def no_column_of_groups(r: Bucketed) -> None:
    r.names = r.names[:-1]
    r.rows = [row[:-1] for row in r.rows]


@forgery("schema")
def the_column_of_groups_elsewhere(r: Bucketed) -> None:
    r.names = ["group", "age", "sex"]
    r.rows = [[group, age, sex] for age, sex, group in r.rows]


@forgery("truth")
def a_row_that_is_not_true(r: Bucketed) -> None:
    r.rows[0][0] = str(int(r.rows[0][0]) % 50 + 20 + 1)


@forgery("rows")
def a_row_dropped(r: Bucketed) -> None:
    gone = r.rows.pop()
    r.truth.pop()
    r.manifest["rows"]["published"] -= 1
    assert gone


@forgery("order")
def rows_in_the_order_of_the_original(r: Bucketed) -> None:
    r.truth = list(range(N))
    r.publish(groups_of_four(), numbered(groups_of_four()))


def sort_rows(r: Bucketed, key: Callable[[int], object]) -> None:
    r.truth = sorted(r.truth, key=key)  # type: ignore[arg-type]
    r.publish(groups_of_four(), numbered(groups_of_four()))


@forgery("order")
def rows_sorted_by_a_sensitive_value(r: Bucketed) -> None:
    """The value itself is gone, and yet the place tells it. The original is in another order."""
    random.Random(8).shuffle(r.original)
    sort_rows(r, lambda i: r.original[i][4])


@forgery("order")
def rows_of_each_group_in_the_order_of_its_values(r: Bucketed) -> None:
    """Groups lie mixed, but of two rows of a group the first has the first value."""
    random.Random(8).shuffle(r.original)
    groups = groups_of_four()
    of = {i: g for g, members in enumerate(groups) for i in members}
    waiting = {g: sorted(members, key=lambda i: r.original[i][2]) for g, members in enumerate(groups)}
    r.truth = [waiting[of[i]].pop(0) for i in r.truth]
    r.say(CLAIMS[0])
    r.publish(groups, numbered(groups))


@forgery("order")
def rows_with_frequent_values_first(r: Bucketed) -> None:
    costs = random.Random(8).choices(["7", "3", "5"], [6, 3, 1], k=N)
    for row, cost in zip(r.original, costs, strict=True):
        row[4] = cost
    r.say(CLAIMS[0])
    sort_rows(r, lambda i: (-costs.count(costs[i]), i * 7 % N))


@forgery("order")
def groups_numbered_in_the_order_of_the_original(r: Bucketed) -> None:
    groups = groups_of_four()
    r.publish(groups, range(1, len(groups) + 1))


@forgery("order")
def groups_numbered_from_the_last_to_the_first(r: Bucketed) -> None:
    groups = groups_of_four()
    r.publish(groups, range(len(groups), 0, -1))


# What it claims


@forgery("sensitive-groups")
def a_group_of_fewer_than_k(r: Bucketed) -> None:
    """Three of a group of their own, the fourth with another one; all of it said truly."""
    groups = groups_of_four()
    groups[0], groups[1] = groups[0][:3], [*groups[1], groups[0][3]]
    r.publish(groups, numbered(groups))


@forgery("frequency-l-diversity (ill)")
def a_value_twice_in_a_group_of_four(r: Bucketed) -> None:
    groups = groups_of_four()
    groups[0][1], groups[1][0] = groups[1][0], groups[0][1]
    r.publish(groups, numbered(groups))
    r.say(*(c for c in r.claims if c.model != "distinct-l-diversity"))


@forgery("distinct-l-diversity (ill)")
def three_values_in_a_group(r: Bucketed) -> None:
    a_value_twice_in_a_group_of_four(r)
    r.say(CLAIMS[0], CLAIMS[2])


@forgery("frequency-l-diversity (cost)")
def more_claimed_than_kept(r: Bucketed) -> None:
    r.say(*r.claims, Claim("frequency-l-diversity", {"l": 3}, "cost"))


@forgery("k-anonymity")
def rows_that_claim_to_be_classes(r: Bucketed) -> None:
    """Groups are no classes of rows: everyone stands alone."""
    r.say(*r.claims, Claim("k-anonymity", {"k": 2}))


@forgery("sensitive-groups (ill)")
def groups_of_a_column(r: Bucketed) -> None:
    r.say(replace(CLAIMS[0], column="ill"), *CLAIMS[1:])


@forgery("sensitive")
def persons_with_several_rows(r: Bucketed) -> None:
    """Then groups of k rows may be of fewer persons."""
    columns = list(r.schema.columns)
    r.schema = Schema((replace(columns[0], role=Role.ENTITY), *columns[1:]))


# Files and manifest


@forgery("files")
def no_second_file(r: Bucketed) -> None:
    r.after.append(lambda folder: (folder / "sensitive.csv").unlink())


@forgery("files")
def a_cell_of_the_second_file_changed(r: Bucketed) -> None:
    def spoil(folder: Path) -> None:
        text = (folder / "sensitive.csv").read_text(encoding="utf-8")
        (folder / "sensitive.csv").write_text(text.replace("flu", "cough", 1), encoding="utf-8")

    r.after.append(spoil)


@forgery("files")
def a_third_file(r: Bucketed) -> None:
    r.after.append(lambda folder: (folder / "more.csv").touch())


@forgery("files")
def a_second_file_in_another_format(r: Bucketed) -> None:
    def spoil(folder: Path) -> None:
        (folder / "sensitive.csv").rename(folder / "sensitive.parquet")

    r.after.append(spoil)


@forgery("files")
def a_link_instead_of_a_file(r: Bucketed) -> None:
    def spoil(folder: Path) -> None:
        (folder / "sensitive.csv").rename(folder.parent / "elsewhere.csv")
        (folder / "sensitive.csv").symlink_to(folder.parent / "elsewhere.csv")

    r.after.append(spoil)


@forgery("files")
def a_second_file_that_is_not_described(r: Bucketed) -> None:
    r.manifest["files"] = {"data.csv": described(csv_text([r.names, *r.rows]))}


@forgery("files")
def no_claim_about_groups(r: Bucketed) -> None:
    r.say(*CLAIMS[1:])


@forgery("manifest")
def no_word_about_groups(r: Bucketed) -> None:
    del r.manifest["apart"]


@forgery("manifest")
def a_column_that_is_not_said_to_stand_apart(r: Bucketed) -> None:
    del r.manifest["columns"][1]["apart"]


@forgery("manifest")
def a_column_that_stands_apart_as_a_number(r: Bucketed) -> None:
    r.manifest["columns"][1]["apart"] = 1


@forgery("manifest")
def a_file_that_is_not_there(r: Bucketed) -> None:
    r.manifest["apart"]["file"] = "sensitive.parquet"


@forgery("manifest")
def more_words_about_groups(r: Bucketed) -> None:
    r.manifest["apart"]["largest"] = 8


@forgery("manifest")
def groups_in_words(r: Bucketed) -> None:
    r.manifest["apart"]["groups"] = "24"


@forgery("sensitive")
def another_number_of_groups(r: Bucketed) -> None:
    r.manifest["apart"]["groups"] = 25
