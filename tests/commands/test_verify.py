"""Judging a release again later: what the audit is needed for, and that it is not trusted."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from incrowd.commands.verify import verify
from incrowd.errors import NotVerified
from incrowd.policy import Policy
from incrowd.publishing.pipeline import Form, publish_to
from incrowd.release.audit import LINKS

METHODS = ("mondrian", "mondrian-relaxed", "single")


def crowd(path: Path, rng: np.random.Generator) -> Path:
    """A table in which no private part tells who somebody is."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "weight", "sex", "ill"])
        for _ in range(240):
            age, weight = rng.integers(20, 60), rng.integers(50, 90)
            rows.writerow([age, weight, rng.choice(["F", "M"]), rng.choice(["flu", "cold"])])
    return path


def policy(method: str, mean: bool) -> Policy:
    columns = {"age": {"mean": mean}, "weight": {}, "sex": {}}
    return Policy(quasi_identifiers=columns, sensitive=["ill"], method=method, privacy={"k": 6})


@pytest.mark.parametrize("method", METHODS)
def test_means_are_confirmed_later(method: str, tmp_path: Path, rng: np.random.Generator) -> None:
    """Where boxes overlap, only the links in the audit tell whose mean a class shows."""
    table = crowd(tmp_path / "people.csv", rng)
    asked = policy(method, mean=True)
    written = publish_to(table, asked, tmp_path / "out")
    assert (written.audit / LINKS).stat().st_mode & 0o077 == 0
    verdict = verify(written.folder, table, asked)
    assert verdict.passed, verdict.failures


@pytest.mark.parametrize("method", METHODS)
def test_without_means_nobody_is_linked(method: str, tmp_path: Path, rng: np.random.Generator) -> None:
    table = crowd(tmp_path / "people.csv", rng)
    written = publish_to(table, policy(method, mean=False), tmp_path / "out")
    assert not (written.audit / LINKS).exists()
    assert verify(written.folder, table, None).passed


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[1, 2]", '{"record_of_each_row": [0, 0]}', '{"record_of_each_row": "x"}'],
    ids=["empty", "no key", "a list", "too short", "a text"],
)
def test_damaged_links_are_none(content: str, tmp_path: Path, rng: np.random.Generator) -> None:
    table = crowd(tmp_path / "people.csv", rng)
    written = publish_to(table, policy("mondrian", mean=False), tmp_path / "out")
    (written.audit / LINKS).write_text(content)
    assert verify(written.folder, table, None).passed


def test_links_that_lie_are_not_believed(tmp_path: Path, rng: np.random.Generator) -> None:
    """Pairs of rows and records that do not belong together are no evidence for a spoiled release."""
    table = crowd(tmp_path / "people.csv", rng)
    written = publish_to(table, policy("mondrian", mean=True), tmp_path / "out")
    links = json.loads((written.audit / LINKS).read_text())["record_of_each_row"]
    lines = (written.folder / "data.csv").read_text().splitlines(keepends=True)
    swapped = next(i for i in range(2, len(lines)) if lines[i].split(",")[0] != lines[1].split(",")[0])
    links[0], links[swapped - 1] = links[swapped - 1], links[0]
    (written.audit / LINKS).write_text(json.dumps({"record_of_each_row": links}))
    verdict = verify(written.folder, table, None)
    assert "truth" not in {check.name for check in verdict.failures}


@pytest.mark.parametrize("typed", [False, True])
def test_a_parquet_file_says_nothing_beside_its_rows(
    typed: bool, tmp_path: Path, rng: np.random.Generator
) -> None:
    import pyarrow.parquet as pq

    table, asked = crowd(tmp_path / "people.csv", rng), policy("mondrian", mean=False)
    written = publish_to(table, asked, tmp_path / "out", Form("parquet", typed))
    assert verify(written.folder, table, asked).passed
    data = written.folder / "data.parquet"
    rows = pq.read_table(data)
    pq.write_table(rows.replace_schema_metadata({"note": table.read_bytes()}), data)
    said = json.loads((written.folder / "release.json").read_text())
    digest = hashlib.sha256(data.read_bytes()).hexdigest()
    said["files"]["data.parquet"] = {"sha256": digest, "bytes": data.stat().st_size}
    (written.folder / "release.json").write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n")
    with pytest.raises(NotVerified, match="other bytes than this version of the writer"):
        verify(written.folder, table, asked)


def test_a_workload_is_not_published(tmp_path: Path, rng: np.random.Generator) -> None:
    """Its conditions name values that no cell needs to name."""
    table, asked = crowd(tmp_path / "people.csv", rng), policy("mondrian", mean=False)
    asked = asked.with_(options={"choose": "workload", "workload": ["age <= 33 AND weight > 71"]})
    written = publish_to(table, asked, tmp_path / "out")
    assert written.manifest["method"]["options"] == {"choose": "workload"}
    assert verify(written.folder, table, asked).passed
    assert verify(written.folder, table).passed


def test_without_a_policy_it_is_said_how_many_have_no_row(tmp_path: Path) -> None:
    rows = [[str(20 + i % 4), "F", f"{i % 3}"] for i in range(39)] + [["95", "M", "9"]]
    table = tmp_path / "people.csv"
    table.write_text("age,sex,cost\n" + "".join(",".join(row) + "\n" for row in rows))
    roles = {"quasi_identifiers": {name: {"hierarchy": {"prefix": [2, 1]}} for name in ("age", "sex")}}
    asked = Policy(
        **{**roles, "sensitive": ["cost"]}, method="incognito", privacy={"k": 5, "max_suppression": "0.1"}
    )
    written = publish_to(table, asked, tmp_path / "out")
    assert written.verdict.facts["suppressed"] == 1
    [alone] = [check.detail for check in verify(written.folder, table).checks if check.name == "rows"]
    assert alone == "1 of 40 records have no row; only the policy tells whether so many may"
    [with_it] = [
        check.detail for check in verify(written.folder, table, asked).checks if check.name == "rows"
    ]
    assert with_it == ""
