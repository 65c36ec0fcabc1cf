"""Hostile files: tables, hierarchies and policies, spoilt or invented. Only `IncrowdError` may come of it.

Its message is short, shows no cell and no traceback. Files are grown from good ones by cutting, doubling,
swapping and inserting, or put together from the signs that mean something in each format.
"""

from __future__ import annotations

import functools
import gzip
import random
import struct
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from campaigns.campaign import Campaign, Fault

from incrowd import tables
from incrowd.commands.inspect import inspect
from incrowd.errors import IncrowdError
from incrowd.policy import Policy
from incrowd.publishing.pipeline import publish_in_memory

MARK = "Kanari7Roe"  # in every cell of a text column: no message may quote it
LONGEST = 4_000  # signs of a message

TABLE = "name,age,sex,zip,ill\n" + "".join(
    f"{MARK}{i},{20 + i % 9},{'FM'[i % 2]},{MARK}{i % 4},{MARK}-{i % 3}\n" for i in range(24)
)
POLICY = """
identifiers = ["name"]
sensitive = ["ill"]
method = "mondrian"
accept = []
[quasi_identifiers]
age = {type = "numeric"}
sex = {type = "categorical"}
zip = {hierarchy = "levels.csv"}
[privacy]
k = 3
l = 2
[options]
choose = "widest"
"""
LEVELS = "".join(f"{MARK}{i};{'ab'[i % 2]};*\n" for i in range(4))

PIECES = {
    "table": [",", ";", "\t", "|", '"', '""', "\n", "\r\n", "\r", "\0", " ", "\ufeff", "é", "\udce9", "1e999",
              "nan", "-0", "007", "=1+1", "missing", "*", "{a|b}", "[1,2]", "\\", "age", MARK, "9" * 400,
              "\u202e", "\x1b[2J", "2024-02-30", "1/1/24", "NULL", "1_000", "٣", "\ue000k=\ue001"],
    "levels": [";", ",", "\n", "*", "a", "b", '"', MARK, "\0", " ", ";;", "\r\n", "\ufeff", "x" * 2000,
               "{a|b}"],
    "policy": ["=", "[", "]", "{", "}", '"', "'", '"""', "\n", ".", ",", "#", "k", "l", "t", "0", "-1",
               "1e999", "nan", "inf", "true", "1979-05-27", "age", "[privacy]", "[public]", "entity", "keep",
               "\\u0000",
               "[[quasi_identifiers]]", "method", "options", "polish", "a.b.c.d", "99999999999999999999",
               "hierarchy", "prefix", "dates", "mask", "values", "format", "family", "\ufeff", "\0",
               '"../../x"',
               'where', "workload", "max_suppression", "plain", "p", "d", "missing", "weight", "mean",
               "publish"],
}  # fmt: skip


def spoilt(rng: random.Random, text: str, pieces: list[str]) -> bytes:
    """A few operations on a good text, or a text made of pieces alone."""
    if rng.random() < 0.15:
        return _encoded("".join(rng.choice(pieces) for _ in range(rng.randint(0, 60))))
    for _ in range(rng.randint(1, 6)):
        text = rng.choice(OPERATIONS)(rng, text, pieces)[:60_000]
    data = _encoded(text)
    if rng.random() < 0.2:
        data = _flipped(rng, data)
    return data


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _cut(rng: random.Random, text: str, _: list[str]) -> str:
    a, b = sorted(rng.choices(range(len(text) + 1), k=2))
    return text[:a] + text[b:] if rng.random() < 0.7 else text[a:b]


def _inserted(rng: random.Random, text: str, pieces: list[str]) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + rng.choice(pieces) * rng.choice([1, 1, 1, 2, 50]) + text[at:]


def _replaced(rng: random.Random, text: str, pieces: list[str]) -> str:
    old = rng.choice(pieces)
    return text.replace(old, rng.choice(pieces), rng.choice([1, 3, -1]))


def _doubled(rng: random.Random, text: str, _: list[str]) -> str:
    lines = text.splitlines(keepends=True) or [""]
    at = rng.randrange(len(lines))
    return "".join(lines[: at + 1] + [lines[at]] * rng.choice([1, 2, 40]) + lines[at + 1 :])


def _shuffled(rng: random.Random, text: str, _: list[str]) -> str:
    lines = text.splitlines(keepends=True)
    rng.shuffle(lines)
    return "".join(lines)


OPERATIONS: list[Callable[[random.Random, str, list[str]], str]] = [
    *(_cut, _inserted, _inserted, _inserted, _replaced, _doubled, _shuffled)
]


def _flipped(rng: random.Random, data: bytes) -> bytes:
    found = bytearray(data or b"x")
    for _ in range(rng.randint(1, 8)):
        found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found)


# One kind of hostile file each


def a_table(rng: random.Random, folder: Path) -> str:
    suffix = rng.choice([".csv", ".csv", ".tsv", ".txt", ".csv.gz"])
    text = TABLE.replace(",", "\t") if suffix == ".tsv" else TABLE
    data = spoilt(rng, text, PIECES["table"])
    if suffix.endswith("gz"):
        data = gzip.compress(data, mtime=0)
        data = _flipped(rng, data) if rng.random() < 0.5 else data
    path = folder / f"table{suffix}"
    path.write_bytes(data)
    return _used(path, _policy(folder), rng)


def a_hierarchy(rng: random.Random, folder: Path) -> str:
    (folder / "table.csv").write_text(TABLE, encoding="utf-8")
    policy = _policy(folder)
    (folder / "levels.csv").write_bytes(spoilt(rng, LEVELS, PIECES["levels"]))
    return _used(folder / "table.csv", policy, rng)


def a_policy(rng: random.Random, folder: Path) -> str:
    (folder / "table.csv").write_text(TABLE, encoding="utf-8")
    path = _policy(folder)
    path.write_bytes(spoilt(rng, POLICY, PIECES["policy"]))
    return _used(folder / "table.csv", path, rng)


@functools.cache
def _parquet() -> bytes:
    sink = pa.BufferOutputStream()
    rows = [line.split(",") for line in TABLE.splitlines()]
    columns = {name: [row[j] for row in rows[1:]] for j, name in enumerate(rows[0])}
    columns["age"] = [int(age) for age in columns["age"]]  # type: ignore[misc]
    pq.write_table(pa.table(columns), sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def a_parquet(rng: random.Random, folder: Path) -> str:
    data = _parquet()
    what = rng.random()
    if what < 0.4:
        data = _flipped(rng, data)
    elif what < 0.6:
        data = data[: rng.randint(0, len(data))]
    else:  # the length of the footer, and what it says
        footer = struct.unpack("<I", data[-8:-4])[0]
        start = len(data) - 8 - footer
        data = data[:start] + _flipped(rng, data[start:-8]) + data[-8:]
        if rng.random() < 0.3:
            data = data[:-8] + struct.pack("<I", rng.randrange(2**32)) + b"PAR1"
    (folder / "table.parquet").write_bytes(data)
    return _used(folder / "table.parquet", _policy(folder), rng)


def _policy(folder: Path) -> Path:
    (folder / "levels.csv").write_text(LEVELS, encoding="utf-8")
    path = folder / "policy.toml"
    path.write_text(POLICY, encoding="utf-8")
    return path


def _used(table: Path, policy: Path, rng: random.Random) -> str:
    """Read, look at and publish whatever it is; return how far it came."""
    try:
        asked = Policy.load(policy)
        if rng.random() < 0.3:
            inspect(tables.read(table))
        publish_in_memory(table, asked)
    except IncrowdError as error:
        _check_message(str(error), table)
        return f"refused ({type(error).__name__})"
    return "published"


def _check_message(message: str, table: Path) -> None:
    """Short, and without a cell. Names of columns may be anything, so only those of the good table count."""
    if MARK in message and not _in_header(table):
        raise Fault("a message quotes a cell", message)
    if "Traceback" in message or len(message) > LONGEST:
        raise Fault("a message is no sentence", message)


def _in_header(table: Path) -> bool:
    if table.suffix == ".parquet":
        return False
    data = table.read_bytes()
    if table.suffix == ".gz":
        return True  # not worth unpacking what may be damaged
    return MARK.encode() in data.split(b"\n")[0] or data.count(b"\n") < 2 or b'"' in data


KINDS = [*[a_table] * 50, *[a_hierarchy] * 20, *[a_policy] * 29, a_parquet]


def case(rng: random.Random, folder: Path) -> str:
    kind = rng.choice(KINDS)
    return f"{kind.__name__.removeprefix('a_')}: {kind(rng, folder)}"


HOSTILE = Campaign("hostile inputs", "0 uncaught", case, nightly=100_000, in_ci=300)
