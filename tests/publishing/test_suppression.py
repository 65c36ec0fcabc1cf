"""Records that get no row: how many there may be, what the release says of it, and what it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from incrowd.commands.attack import attack
from incrowd.commands.measure import measure
from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Partition, Table
from incrowd.policy import Policy
from incrowd.publishing.pipeline import publish_to
from incrowd.tables import write_csv

AGES = [20, 20, 21, 21, 30, 30, 31, 31, 90]


def request(ages: list[int], **privacy: Any) -> tuple[Table, Policy]:
    table = Table.of({"age": [str(age) for age in ages], "ill": [str(i) for i in range(len(ages))]})
    policy = Policy(
        quasi_identifiers={"age": {}}, sensitive=["ill"], method="incognito", privacy={"k": 2, **privacy}
    )
    return table, policy


def test_a_cover_knows_who_has_a_row() -> None:
    partition = Partition(np.array([1, -1, 0, 1], np.int32), np.array([[5], [6], [7], [5]], np.int32))
    assert partition.kept.tolist() == [0, 2, 3]
    assert partition.sizes.tolist() == [1, 2]
    assert partition.members()[0].tolist() == [2, 0, 3]
    kept = partition.of_kept()
    assert kept.labels.tolist() == [1, 0, 1]
    assert kept.slabs is not None
    assert kept.slabs.tolist() == [[0], [1], [0]]


def test_groups_are_numbered_without_gaps() -> None:
    with pytest.raises(ValueError, match="without gaps"):
        Partition(np.array([0, 2, -1], np.int32))
    with pytest.raises(ValueError, match="without gaps"):
        Partition(np.array([0, -2], np.int32))


def test_without_an_allowance_everybody_has_a_row() -> None:
    release = publish(*request(AGES))
    assert release.manifest["rows"] == {"published": 9, "suppressed": 0}


def test_the_one_who_stands_alone_is_left_out() -> None:
    table, policy = request(AGES, max_suppression="0.2")
    release = publish(table, policy)
    assert sorted(release.table.column("ill").rows()) == [str(i) for i in range(8)]
    assert release.verdict.facts["suppressed"] == 1
    assert release.loss()["gcp"] == pytest.approx(1 / 9)  # who is left out has lost everything


def test_how_many_were_left_out_is_said_where_no_outlier_is_hidden() -> None:
    said = [publish(*request(ages, max_suppression="0.2")).manifest["rows"] for ages in (AGES, AGES[:-1])]
    assert said[0] == {"published": 8, "suppressed": 1, "max_suppression": "0.2"}
    assert said[1] == {"published": 8, "suppressed": 0, "max_suppression": "0.2"}


@pytest.mark.parametrize("share", ["-0.1", "1.1", "many", True])
def test_an_allowance_is_a_share(share: object) -> None:
    with pytest.raises(PolicyError, match="max_suppression"):
        request(AGES, max_suppression=share)


def outliers(**privacy: Any) -> tuple[Table, Policy]:
    ages = [20 + i % 10 for i in range(40)]
    pay = [100 + 7 * i % 40 for i in range(39)] + [5000]
    table = Table.of({"age": [str(age) for age in ages], "pay": [str(each) for each in pay]})
    said = {"k": 3, "plain": {"p": "0.9", "d": "0.95"}, **privacy}
    return table, Policy(
        quasi_identifiers={"age": {}}, sensitive={"pay": {}}, privacy=said, accept=["near-unique-sensitive"]
    )


def test_outliers_are_left_out_by_default() -> None:
    release = publish(*outliers())
    assert "5000" not in release.table.column("pay").rows()
    assert release.manifest["rows"]["max_suppression"] == "0.05"


def test_too_many_are_refused_with_the_number() -> None:
    with pytest.raises(Infeasible, match=r"1 of 40 records would have to be suppressed.*0 of 40"):
        publish(*outliers(max_suppression="0.01"))


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, Path, Policy]:
    table, policy = outliers()
    write_csv(table, tmp_path / "people.csv")
    publish_to(tmp_path / "people.csv", policy, tmp_path / "release")
    return tmp_path / "release", tmp_path / "people.csv", policy


def test_a_written_release_is_judged_measured_and_attacked_again(written: tuple[Path, Path, Policy]) -> None:
    folder, people, policy = written
    assert verify(folder, people, None).passed
    assert verify(folder, people, policy).passed
    assert measure(folder, people, None)["suppressed"] == 1
    attacked = attack(folder, people)
    assert (attacked.records, attacked.rows) == (40, 39)
    found = [result for result in attacked.results if result.name.startswith("outliers")]
    assert all(result.attack.won == 0 for result in found if result.bound is not None)
    assert all(result.outcome != "broken" for result in found)


def test_a_policy_that_allows_less_rejects_it(written: tuple[Path, Path, Policy]) -> None:
    folder, people, policy = written
    verdict = verify(folder, people, policy.with_(max_suppression="0.04"))
    assert verdict.failures[0].name == "manifest"


def test_no_byte_of_the_release_tells_that_somebody_is_missing(written: tuple[Path, Path, Policy]) -> None:
    folder, _, _ = written
    for path in folder.iterdir():
        assert b"5000" not in path.read_bytes()
    said = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    assert said["rows"] == {"published": 39, "suppressed": None, "max_suppression": "0.05"}


def test_the_metadata_are_the_same_without_the_one_who_stood_out() -> None:
    table, policy = outliers()
    rows = np.arange(len(table) - 1)
    others = Table(table.names, tuple(column.take(rows) for column in table.columns))
    said = [json.dumps(publish(each, policy).manifest, sort_keys=True) for each in (table, others)]
    assert said[0] == said[1]


@pytest.mark.parametrize("method", ["mondrian", "expc", "incognito"])
def test_several_sensitive_columns_hide_outliers_too(method: str) -> None:
    """One is a number, one has categories: a value is then a combination of both."""
    n = 60
    table = Table.of(
        {
            "age": [str(20 + i % 12) for i in range(n)],
            "pay": [str(100 + 11 * i % 50) for i in range(n - 1)] + ["9000"],
            "ill": [("cold", "flu", "gout")[i * 7 % 3] for i in range(n)],
        }
    )
    policy = Policy(
        quasi_identifiers={"age": {}},
        sensitive={"pay": {}, "ill": {}},
        accept=["near-unique-sensitive"],
        method=method,
        privacy={"k": 4, "plain": {"p": "0.9", "d": "0.95"}, "max_suppression": "0.2"},
    )
    release = publish(table, policy)
    assert release.verdict.facts["reached"]["plain"] >= 4
    assert "9000" not in release.table.column("pay").rows()
