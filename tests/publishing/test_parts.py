"""Releases whose rows are in several Parquet files: as Spark writes them, here shuffled by DuckDB."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from engines.test_same_classes import PEOPLE, POLICY
from support.engine_tables import by_engine, in_memory

import incrowd
from incrowd import tables
from incrowd.engines import writing
from incrowd.engines.in_duckdb import DuckEngine
from incrowd.engines.session import parquet_sql
from incrowd.errors import IncrowdError
from incrowd.publishing.large import LargeRelease

PARTS = ["part-00000.parquet", "part-00001.parquet"]


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LargeRelease:
    """Five files of 24 rows, in two parts of at least 48."""
    real = DuckEngine._shuffle

    def in_parts(engine: DuckEngine) -> None:
        real(engine)
        whole = engine.folder / "whole.parquet"
        engine._shuffled.path.rename(whole)
        engine._shuffled.path.mkdir()
        for part in range(5):
            rows = f"SELECT * FROM {parquet_sql(whole)} LIMIT 24 OFFSET {24 * part}"
            engine.local.save(rows, engine._shuffled.path / f"{part}.parquet")

    monkeypatch.setattr(DuckEngine, "_shuffle", in_parts)
    monkeypatch.setattr(writing, "ROWS_A_PART", 48)
    return by_engine(PEOPLE, POLICY, tmp_path)


def test_every_command_reads_the_parts(release: LargeRelease, tmp_path: Path) -> None:
    folder, original = release.folder, tmp_path / "table.parquet"
    assert sorted(path.name for path in (folder / "data").iterdir()) == PARTS
    assert Counter(tables.read(folder / "data")) == in_memory(PEOPLE, POLICY)
    assert {f"data/{part}" for part in PARTS} < {*release.manifest["files"]}
    assert incrowd.verify(folder, original, POLICY).passed
    assert incrowd.measure(folder, original)["loss"]["gcp"] == pytest.approx(release.loss()["gcp"])
    assert incrowd.report(folder).sound
    assert "the files in `data`" in (folder / "README.md").read_text()
    assert {path.stat().st_mode & 0o777 for path in (folder / "data").iterdir()} == {0o644}
    assert (folder / "data").stat().st_mode & 0o777 == 0o755
    assert {path.stat().st_mtime for path in folder.rglob("*")} == {folder.stat().st_mtime}


def _gap(data: Path) -> None:
    (data / PARTS[1]).rename(data / "part-00002.parquet")


def _more(data: Path) -> None:
    (data / "part-00002.parquet").write_bytes((data / PARTS[0]).read_bytes())


def _hidden(data: Path) -> None:
    (data / ".note").write_text("who is who")


def _swapped(data: Path) -> None:
    first, second = ((data / part).read_bytes() for part in PARTS)
    (data / PARTS[0]).write_bytes(second)
    (data / PARTS[1]).write_bytes(first)


def _link(data: Path) -> None:
    elsewhere = data.parent.parent / "elsewhere.parquet"
    shutil.move(data / PARTS[1], elsewhere)
    (data / PARTS[1]).symlink_to(elsewhere)


def _beside(data: Path) -> None:
    shutil.copy(data / PARTS[0], data.parent / "data.parquet")


FORGED = {
    "gap": _gap,
    "more": _more,
    "hidden": _hidden,
    "swapped": _swapped,
    "link": _link,
    "beside": _beside,
}


@pytest.mark.parametrize("name", FORGED)
def test_no_other_files_are_accepted(name: str, release: LargeRelease, tmp_path: Path) -> None:
    forge: Callable[[Path], None] = FORGED[name]
    forge(release.folder / "data")
    try:
        verdict = incrowd.verify(release.folder, tmp_path / "table.parquet", POLICY, engine="duckdb")
    except IncrowdError:
        return
    assert "files" in [check.name for check in verdict.failures]


def test_a_manifest_cannot_leave_a_part_out(release: LargeRelease, tmp_path: Path) -> None:
    path = release.folder / "release.json"
    said = json.loads(path.read_text())
    del said["files"][f"data/{PARTS[1]}"]
    path.write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n")
    verdict = incrowd.verify(release.folder, tmp_path / "table.parquet", POLICY, engine="duckdb")
    assert "files" in [check.name for check in verdict.failures]
