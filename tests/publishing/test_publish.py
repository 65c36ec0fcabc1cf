"""Whole releases: broken engines are caught, other tools' bugs are not ours, real data come out well."""

from __future__ import annotations

import csv
import itertools
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.method_names import BESIDE_K, PARTITIONS
from support.night import combined
from support.requested import Request, classes_of, people, rows_of
from support.verifier_cases import Case, verified
from support.written_forms import FORMS

from incrowd import long_work
from incrowd.algorithms.base import all_methods
from incrowd.commands.measure import measure
from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.errors import InputError, Refused
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing import pipeline
from incrowd.publishing.pipeline import Form, publish_to
from incrowd.release.data_files import read_rows
from incrowd.schema import Claim, Column, Kind, Role, Schema
from incrowd.tables import csv_reader, csv_writer

K = 4


# Bugs of other tools, by name


def crowd(rows: Sequence[Sequence[str]], k: int) -> Case:
    """A release of columns a and b that says the original's values as they are."""
    schema = Schema((Column("a", Role.QUASI, Kind.NUMERIC), Column("b", Role.QUASI)))
    columns = dict(zip(("a", "b"), map(list, zip(*rows, strict=True)), strict=True))
    shown = {name: [text or "missing" for text in texts] for name, texts in columns.items()}
    claims = (Claim("k-anonymity", {"k": k}),)
    return Case(Table.of(columns), Table.of(shown), schema, claims)


def test_missing_is_a_category_of_its_own() -> None:
    """sdcMicro 225: there a gap matched everything, and the output was not k-anonymous without that."""
    rows = [("1", "F"), ("1", "F"), ("1", ""), ("2", "M"), ("2", "M")]
    assert not verified(crowd(rows, 2)).passed
    assert verified(crowd([*rows, ("1", "")], 2)).passed


def test_a_class_of_k_is_enough_and_one_of_k_less_one_is_not() -> None:
    """sdcMicro d5f9192: fewer than k violates k-anonymity, not fewer than or equal to k."""
    assert verified(crowd([("1", "F")] * 3 + [("2", "M")] * 3, 3)).passed
    assert not verified(crowd([("1", "F")] * 4 + [("2", "M")] * 2, 3)).passed


@pytest.mark.parametrize("method", [name for name in PARTITIONS if not all_methods()[name].transparent])
def test_a_table_of_two_crowds_is_cut_in_two(method: str) -> None:
    """The same on the other side: classes of exactly k are made, unless people are dealt by chance."""
    table = Table.of({"a": ["1"] * 3 + ["2"] * 3})
    policy = Policy(quasi_identifiers=["a"], privacy={"k": 3})
    release = publish(table, policy, method=method)
    assert Counter(release.table.column("a").rows()) == {"1": 3, "2": 3}


@pytest.mark.parametrize("gap", [0, 1], ids=["number", "text"])
def test_the_judge_counts_rows_with_gaps(gap: int) -> None:
    """pycanon: grouping drops rows whose key has a gap, so a lone one is never seen."""
    lone = ["9", "X"]
    lone[gap] = ""
    verdict = verified(crowd([("1", "F")] * 5 + [tuple(lone)], 2))
    assert not verdict.passed
    assert verdict.facts["smallest_class"] == 1


@pytest.mark.parametrize("method", PARTITIONS)
@pytest.mark.parametrize("sizes", [(3, 3, 2), (3, 1, 1), (1, 1, 1, 1, 1), (5, 2)], ids=str)
def test_what_is_left_over_is_no_class_below_k(method: str, sizes: Sequence[int]) -> None:
    """Public-Use-File 6: a category "Other" of two, for k = 3."""
    values = [value for value, size in zip("abcde", sizes, strict=False) for _ in range(size)]
    policy = Policy(quasi_identifiers=["a"], sensitive=["ill"], privacy={"k": 3, **BESIDE_K[method]})
    ills = [f"ill {i}" for i in range(len(values))]
    release = publish(Table.of({"a": values, "ill": ills}), policy, method=method)
    assert min(Counter(release.table.column("a").rows()).values()) >= 3


@pytest.mark.parametrize("method", [name for name in PARTITIONS if name not in ("single", "incognito")])
def test_ranges_are_those_of_the_final_class(method: str) -> None:
    """Mondrian 5 of qiyuangong: ranges were those from before cuts in other columns."""
    request = people(200, ("age", "height"))
    release = publish(request.table, request.policy.with_(**BESIDE_K[method]), method=method)
    cells = {row["tag"]: row for row in rows_of(release.table)}
    assert len(classes_of(request, release.table)) > 20
    for members, name in itertools.product(classes_of(request, release.table), request.quasi):
        values = [float(text) for i in members if (text := request.columns[name][i])]
        told = str(cells[request.columns["tag"][members[0]]][name]).strip("{}").removeprefix("missing|")
        if values:
            low, _, high = told.strip("[]").partition(",")
            assert (float(low), float(high or low)) == (min(values), max(values))
        else:
            assert told == "missing"


# What is written


@pytest.mark.parametrize(("method", "form"), combined(PARTITIONS, FORMS))
def test_what_is_written_says_the_same_in_every_form(form: str, method: str, tmp_path: Path) -> None:
    request = people()
    policy = request.policy.with_(method=method, **BESIDE_K[method])
    written = publish_to(request.table, policy, tmp_path / "out", FORMS[form])
    rows = read_rows(tmp_path / "out", lambda: policy.schema(request.table))
    assert rows.names == publish(request.table, policy).table.names
    assert min(map(len, classes_of(request, rows))) >= K
    assert sorted(map(str, rows.column("tag").rows())) == sorted(map(str, request.columns["tag"]))
    assert written.verdict.passed
    assert written.loss()["gcp"] > 0
    manifest = json.loads((tmp_path / "out" / "release.json").read_text())
    assert manifest == json.loads(json.dumps(written.manifest))
    assert manifest["method"]["name"] == method


def test_formats_that_are_none_are_refused() -> None:
    with pytest.raises(InputError, match="csv or parquet"):
        Form("xlsx")
    with pytest.raises(InputError, match="typed columns need Parquet"):
        Form("csv", typed=True)


def test_a_release_in_hand_can_be_written(tmp_path: Path) -> None:
    request = people()
    release = publish(request.table, request.policy)
    assert release.write(tmp_path / "out") == tmp_path / "out"
    with pytest.raises(InputError, match="exists"):
        release.write(tmp_path / "out")
    release.write(tmp_path / "out", format="parquet", typed=True, replace=True)
    assert (tmp_path / "out" / "data.parquet").exists()
    assert release.loss()["dm"] == measured(request, tmp_path)["loss"]["dm"]


def measured(request: Request, folder: Path) -> dict[str, Any]:
    source = folder / "people.csv"
    with source.open("w", newline="", encoding="utf-8") as file:
        rows = zip(*request.columns.values(), strict=True)
        csv.writer(file).writerows([request.columns, *rows])
    assert verify(folder / "out", source, request.policy).passed
    return measure(folder / "out", source).to_dict()


def test_no_draw_is_like_another() -> None:
    """Rows come in another order each time, and the classes are the same."""
    request = people()
    one, other = (publish(request.table, request.policy).table for _ in range(2))
    assert one.column("tag").rows() != other.column("tag").rows()
    assert {frozenset(c) for c in classes_of(request, one)} == {
        frozenset(c) for c in classes_of(request, other)
    }


def test_a_refused_request_writes_nothing(tmp_path: Path) -> None:
    request = people()
    with pytest.raises(Refused):
        publish_to(request.table, request.policy.with_(k=1000), tmp_path / "out")
    with pytest.raises(InputError):
        publish_to(request.table, request.policy.with_(method="no-such"), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


# Real data: Adult as ARX has it, counted from the written file


@pytest.mark.parametrize(("k", "most"), [(5, 0.027), (10, 0.048), (50, 0.125)])
def test_adult_is_anonymous_and_loses_little(k: int, most: float, real_data: Path, tmp_path: Path) -> None:
    source = real_data / "adult_arx" / "adult_arx.csv"
    with source.open(encoding="utf-8", newline="") as file:
        names, *original = csv.reader(file)
    policy = Policy(quasi_identifiers=names[:-1], sensitive=["salary-class"], privacy={"k": k})
    publish_to(source, policy, tmp_path / "out")
    with (tmp_path / "out" / "data.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert (header, len(rows)) == (names, len(original))
    assert min(Counter(tuple(row[:-1]) for row in rows).values()) >= k
    assert Counter(row[-1] for row in rows) == Counter(row[-1] for row in original)
    domains = [set(column) for column in zip(*original, strict=True)][:-1]
    lost = sum(
        sum(share(cell, d) * often for cell, often in told.items()) for d, told in columns(rows, domains)
    )
    assert lost / (len(rows) * len(domains)) <= most


def columns(rows: list[list[str]], domains: list[set[str]]) -> list[tuple[set[str], Counter[str]]]:
    return [(domain, Counter(row[j] for row in rows)) for j, domain in enumerate(domains)]


def share(cell: str, domain: set[str]) -> float:
    """How much of a domain a cell leaves open, from 0 to 1."""
    if cell.startswith("["):
        low, high = cell[1:-1].split(",")
        numbers = sorted(map(int, domain))
        return (int(high) - int(low)) / (numbers[-1] - numbers[0])
    values = domain if cell == "*" else set(cell.strip("{}").split("|"))
    assert values <= domain
    return (len(values) - 1) / (len(domain) - 1)


THREADED = """
sensitive = ["ill"]
[quasi_identifiers]
age = {type = "numeric"}
zip = {type = "categorical"}
[privacy]
k = 4
"""


def threaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A table and a policy; several threads do even the little that there is to do."""
    for module in (long_work, pipeline):
        monkeypatch.setattr(module, "WORTH_THREADS", 0)
    monkeypatch.setattr(pipeline, "WORTH_READING_AHEAD", 0)
    monkeypatch.setattr(csv_reader, "WORTH_COMPILED", 0)
    monkeypatch.setattr(csv_writer, "WORTH_COMPILED", 0)
    monkeypatch.setattr(csv_reader, "BLOCK", 256)
    monkeypatch.setattr(csv_writer, "CHUNK", 7)
    rows = [f"{20 + i * 7 % 50},{i * 5 % 13},{'abc'[i % 3]}" for i in range(150)]
    table, policy = folder / "t.csv", folder / "p.toml"
    table.write_text("\n".join(["age,zip,ill", *rows, ""]), encoding="utf-8")
    policy.write_text(THREADED, encoding="utf-8")
    return table, policy


def test_two_threads_publish_what_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, policy = threaded(tmp_path, monkeypatch)
    made = {}
    for threads in (1, 2, 3):
        release = publish(table, policy, tmp_path / str(threads), threads=threads)
        lines = (tmp_path / str(threads) / "data.csv").read_text(encoding="utf-8").splitlines()
        assert release.verdict.passed
        made[threads] = (lines[0], sorted(lines), release.verdict.to_dict(), release.to_dict()["loss"])
    assert made[1] == made[2] == made[3]


def test_an_original_that_changes_meanwhile_is_seen_though_it_was_read_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, policy = threaded(tmp_path, monkeypatch)
    ask = pipeline._verified

    def later(*given: Any) -> Any:
        table.write_text(table.read_text(encoding="utf-8").replace(",a", ",b"), encoding="utf-8")
        return ask(*given)

    monkeypatch.setattr(pipeline, "_verified", later)
    with pytest.raises(Refused, match="private"):
        publish(table, policy, tmp_path / "out", threads=2)
    assert not (tmp_path / "out").exists()
