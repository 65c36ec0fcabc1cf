"""Forged Parquet releases: the same rows in other bytes, digests and sizes corrected, must be rejected.

Rows are written again with other options of the writer, or by another writer, or bytes are changed, put in or
left out. Whatever a reader then makes of them, the file is not the one that these rows have.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
from campaigns.campaign import Campaign, Fault
from campaigns.forged import asked, good

from incrowd.commands.verify import verify
from incrowd.errors import IncrowdError
from incrowd.publishing.pipeline import Form

METHODS = ("mondrian", "incognito", "ring", "anatomy")
OPTIONS = (
    "KV_METADATA {note: 'person 7 has flu'}",
    "COMPRESSION zstd",
    "COMPRESSION uncompressed",
    "DICTIONARY_SIZE_LIMIT 1",
    "WRITE_BLOOM_FILTER false",
    "PARQUET_VERSION v2",
)


def with_other_options(rng: random.Random, path: Path) -> None:
    options, rows = rng.choice(OPTIONS), duckdb.connect()
    rows.sql(f"CREATE TABLE t AS FROM read_parquet('{path}')")
    rows.sql(f"COPY t TO '{path}' (FORMAT parquet, {options})")
    rows.close()


def by_another_writer(rng: random.Random, path: Path) -> None:
    pq.write_table(pq.read_table(path), path, use_dictionary=rng.random() < 0.5)


def bytes_changed(rng: random.Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 4)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    path.write_bytes(bytes(data))


def bytes_put_in(rng: random.Random, path: Path) -> None:
    """Before the footer, where no offset of a page changes; or anywhere."""
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    at = footer if rng.random() < 0.5 else rng.randrange(len(data))
    path.write_bytes(data[:at] + b"person 7 has flu" + data[at:])


def bytes_left_out(rng: random.Random, path: Path) -> None:
    data = path.read_bytes()
    at = rng.randrange(len(data))
    path.write_bytes(data[:at] + data[at + rng.randint(1, 9) :])


FORGERS: list[Callable[[random.Random, Path], None]] = [
    *(with_other_options, by_another_writer, bytes_changed, bytes_put_in, bytes_left_out)
]


def case(rng: random.Random, folder: Path) -> str:
    method, forge = rng.choice(METHODS), rng.choice(FORGERS)
    place = good(method, 0, Form("parquet", typed=rng.random() < 0.5))
    for name in ("out", "out.audit"):
        shutil.copytree(place / name, folder / name)
    path = rng.choice(sorted((folder / "out").glob("*.parquet")))
    before = path.read_bytes()
    forge(rng, path)
    data = path.read_bytes()
    if data == before:
        return "unchanged"
    _describe(folder / "out" / "release.json", path.name, data)
    policy = asked(method, place) if rng.random() < 0.7 else None
    try:
        passed = verify(folder / "out", place / "table.csv", policy).passed
    except IncrowdError:
        passed = False
    if passed:
        raise Fault(f"forgery accepted: {forge.__name__}", f"{method}, {path.name}")
    return f"rejected: {forge.__name__}"


def _describe(manifest: Path, name: str, data: bytes) -> None:
    said = json.loads(manifest.read_text(encoding="utf-8"))
    said["files"][name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    manifest.write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


FORGED_PARQUET = Campaign("forged Parquet files", "0 accepted", case, nightly=1_000, in_ci=6)
