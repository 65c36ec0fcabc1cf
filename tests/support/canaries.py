"""A table in which everything that must not get out carries a mark that occurs nowhere else."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

import pyarrow.parquet as pq

N = 120
SOURCE = "kanari-source.csv"
MARK = "kanari"  # names, notes and persons carry it; so does the name of the source

POLICY = """
identifiers = ["name"]
drop = ["note"]
entity = "person"
sensitive = ["ill"]
accept = ["near-unique-sensitive"]
keep = ["visit"]
[quasi_identifiers]
number = {type = "numeric"}
zip = {hierarchy = {prefix = [2, 1]}}
born = {hierarchy = {dates = ["year"]}}
[privacy]
k = 5
"""


def number(i: int) -> str:
    """No two alike, and long enough not to occur in a digest by chance."""
    return str(710_000_003 + 7_001_009 * (i * 37 % N))


def postcode(i: int) -> str:
    return f"{i % 4}{i % 3}-kanari-{i:03d}"


def birthday(i: int) -> str:
    return (date(1950, 1, 1) + timedelta(days=211 * (i * 53 % N))).isoformat()


HEADER = ("name", "person", "note", "number", "zip", "born", "visit", "ill")
ROWS = tuple(
    (
        f"kanari-name-{i}",
        f"kanari-person-{i // 2}",
        f"kanari-note-{i}",
        number(i),
        postcode(i),
        birthday(i),
        f"visit-{i % 2}",
        f"ill-{i}",  # one for each record: so a published row tells whose it is
    )
    for i in range(N)
)
NUMBERS = tuple(row[3] for row in ROWS)
# Never published as they are: every record has its own, and a class has at least five records.
BLURRED = tuple(text for row in ROWS for text in row[4:6])


def write_table(folder: Path, mark: str = MARK) -> tuple[Path, Path]:
    """The table and its policy; another mark, other names and persons."""
    table, policy = folder / SOURCE, folder / "policy.toml"
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows([*(text.replace(MARK, mark) for text in row[:3]), *row[3:]] for row in ROWS)
    policy.write_text(POLICY, encoding="utf-8")
    return table, policy


def everything_in(folder: Path) -> Iterator[tuple[str, str]]:
    """All that can be got out of a folder: file names, raw bytes, and whatever is packed inside Parquet."""
    for path in sorted(folder.rglob("*")):
        yield path.name, path.name
        if path.is_file():
            yield path.name, path.read_bytes().decode("utf-8", "replace")
        if path.suffix == ".parquet":
            yield from ((path.name, text) for text in inside_parquet(path))


def inside_parquet(path: Path) -> Iterator[str]:
    file = pq.ParquetFile(path)
    yield str(file.schema)
    yield str(file.metadata.metadata)
    for group in range(file.metadata.num_row_groups):
        for place in range(file.metadata.num_columns):
            yield str(file.metadata.row_group(group).column(place))  # with its least and largest value
    for column in file.read().columns:
        yield from (str(cell) for cell in column.to_pylist())
    # A dictionary may hold texts that no row says.
    texts = [field.name for field in file.schema_arrow if str(field.type) in ("string", "large_string")]
    for column in pq.read_table(path, read_dictionary=texts).columns:
        for chunk in column.chunks:
            yield from (str(text) for text in getattr(chunk, "dictionary", ()))


def found_in(marks: Sequence[str], text: str) -> list[str]:
    return [mark for mark in marks if mark in text]
