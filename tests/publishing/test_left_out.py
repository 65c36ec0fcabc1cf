"""Methods that make classes leave out who costs the others most: never for nothing, never for a value."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from support.commands import incrowd
from support.method_names import ACCEPTED, ALONE
from support.requested import Request, requests
from support.unusual_people import K, asked, town, values_along

import incrowd as ic
from incrowd.algorithms.base import all_methods
from incrowd.encode import encode
from incrowd.errors import PolicyError
from incrowd.flow import Partition, Table
from incrowd.measures import published, quasi_identifier_error
from incrowd.measures.totals import one_way_totals
from incrowd.policy import Policy
from incrowd.publishing.pipeline import Release, publish_to
from incrowd.publishing.suppression import Saved, Suppression, leaves_out
from incrowd.reports.datasheet import datasheet
from incrowd.tables import write_csv

LEAVE_OUT = [name for name, recipe in all_methods().items() if leaves_out(recipe)]
CHOOSE = [name for name in LEAVE_OUT if not all_methods()[name].suppresses]


def kept(release: Release) -> list[int]:
    return sorted(release._draft.grouping.kept.tolist())


def error(release: Release, table: Table, policy: Policy) -> float:
    """E2 of the quasi-identifiers, from the published texts."""
    people = encode(table, policy.schema(table))
    totals = one_way_totals(release._draft.totals, people.attributes)
    return quasi_identifier_error(people, published(release.table, people), totals)


@pytest.mark.parametrize("totals", [False, True])
@pytest.mark.parametrize("method", LEAVE_OUT)
def test_every_method_that_makes_classes_can_leave_records_out(method: str, totals: bool) -> None:
    table, policy = town(), asked(method, totals=totals)
    release = ic.publish(table, policy)
    without = ic.publish(table, asked(method, "", totals=totals))
    gone = len(table) - len(release.table)
    assert release.verdict.facts["suppressed"] == gone <= 6
    assert release.manifest["rows"] == {
        "published": len(release.table),
        "suppressed": gone,
        "max_suppression": "0.05",
    }
    names = [release.table.column(name).rows() for name in ("age", "pay", "sex")]
    assert min(Counter(zip(*names, strict=True)).values()) >= K
    if method in CHOOSE:
        assert release.saved is not None
        assert release.saved.error == pytest.approx(error(release, table, policy))
        assert release.saved.without == pytest.approx(error(without, table, policy))
        assert not release.saved.worse
        assert release.saved.left_out == gone
    else:
        assert release.saved is None


def test_it_saves_something_here() -> None:
    """So the others do not hold because nobody is ever left out."""
    found = {method: ic.publish(town(), asked(method)).saved for method in CHOOSE}
    assert all(saved is not None and saved.left_out for saved in found.values())
    assert all(saved is not None and saved.error < (saved.without or 0) for saved in found.values())


@given(
    requests(models=["k"], rows=(8, 16), means=False, copies=(1, 2)), st.sampled_from(["0.1", "0.3", "0.9"])
)
@settings(max_examples=30)
def test_the_release_is_never_worse_and_combinations_stay_together(request: Request, share: str) -> None:
    accept = [*request.policy.accept, *(["uneven-persons"] if request.policy.entity else [])]
    with_ = request.policy.with_(max_suppression=share, accept=accept)
    try:
        full = ic.publish(request.table, request.policy.with_(accept=accept))
    except ic.errors.Infeasible:
        reject()
    release = ic.publish(request.table, with_)
    assert release.verdict.passed
    assert error(release, request.table, with_) <= error(full, request.table, with_) + 1e-12
    there = set(kept(release))
    assert len(request) - len(there) <= float(share) * len(request)
    codes = release._draft.people.everyone.codes.tolist()
    left, stay = ({tuple(codes[i]) for i in some} for some in (set(range(len(request))) - there, there))
    assert not left & stay


def tried(everyone: Any, most: int, groups: Callable[[Any], Partition]) -> tuple[Partition, Saved]:
    return Suppression(everyone, most, groups, groups).chosen(lambda done: None)


def test_nobody_is_left_out_where_that_makes_it_worse() -> None:
    """A method that makes one class of everybody as soon as anybody is missing."""
    table = town()
    people = encode(table, asked().schema(table))

    def groups(some: Any) -> Partition:
        whole = len(some) == len(people)
        labels = np.arange(len(some)) // K if whole else np.zeros(len(some))
        return Partition(labels.astype(np.int32))

    partition, saved = tried(people, 6, groups)
    assert saved.left_out == 0
    assert saved.error == saved.without
    assert (partition.labels >= 0).all()
    assert "nobody" in saved.sentence()


@pytest.mark.parametrize("more", [{}, {"l": 3}, {"t": "0.4"}])
@pytest.mark.parametrize("method", ["mondrian", "topdown", "hilbert"])
def test_values_have_no_say_in_who_is_left_out(method: str, more: dict[str, Any]) -> None:
    table, policy = town(), asked(method, privacy=more)
    worlds = [table, values_along(table, "age"), values_along(table, "pay")]
    found = [kept(ic.publish(world, policy)) for world in worlds]
    assert len(found[0]) < len(table)
    assert found[1] == found[2] == found[0]


@pytest.mark.parametrize("method", [name for name in CHOOSE if all_methods()[name].strict])
def test_the_order_of_records_has_no_say_in_who_is_left_out(method: str) -> None:
    table, order = town(), list(range(120))
    random.Random(2).shuffle(order)
    found = kept(ic.publish(table, asked(method)))
    shuffled = kept(ic.publish(table.take(np.array(order)), asked(method)))
    assert sorted(order[i] for i in shuffled) == found


@pytest.mark.parametrize("method", sorted(set(ALONE) - set(LEAVE_OUT)))
def test_other_methods_refuse_it_and_name_those_that_do_not(method: str) -> None:
    beside = {"l": 2} if all_methods()[method].needs_l else {}
    accept = ACCEPTED[method]
    with pytest.raises(PolicyError, match=f"{method} leaves nobody out.*mondrian"):
        ic.publish(town(), asked(method, privacy=beside, accept=accept))


def test_classes_that_keep_l_may_gain_nothing_and_then_it_is_said() -> None:
    worse = Saved(100, 5, 5, 0.2, 0.1)
    assert worse.worse
    assert "leave out max_suppression" in worse.warning()
    assert not Saved(100, 5, 5, 0.1, 0.2).worse
    assert not Saved(100, 5, 5, 0.1, None).worse
    assert "nothing could be published" in Saved(100, 5, 5, 0.1, None).sentence()


def test_what_the_others_cannot_keep_is_refused_with_a_way_out() -> None:
    """All who have the second value are left out, whatever it is."""
    table = town()
    gone = sorted(set(range(len(table))) - set(kept(ic.publish(table, asked()))))
    columns = {name: table.column(name).rows() for name in table.names}
    columns["ill"] = ["gout" if i in gone else "flu" for i in range(len(table))]
    with pytest.raises(ic.errors.Infeasible, match="leave out max_suppression"):
        ic.publish(Table.of(columns), asked(privacy={"l": 2}))


# ---- on disk


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Table, Policy]:
    folder = tmp_path_factory.mktemp("left_out")
    table, policy = town(), asked(totals=True)
    ic.publish(table, policy, folder / "release")
    return folder / "release", table, policy


def test_a_written_release_is_verified_measured_and_tells_how_many(
    written: tuple[Path, Table, Policy],
) -> None:
    folder, table, policy = written
    assert ic.verify(folder, table, policy).passed
    gone = len(table) - (len((folder / "data.csv").read_text(encoding="utf-8").splitlines()) - 1)
    assert gone > 0
    assert f"{gone} of 120 records were left out" in (folder / "README.md").read_text(encoding="utf-8")
    assert ic.measure(folder, table)["suppressed"] == gone
    about = ic.query(folder, "SELECT COUNT(*)").to_dict()["about"]
    assert f"{gone} records have none" in about
    kept_there = json.loads((folder.parent / "release.audit" / "audit.json").read_text(encoding="utf-8"))
    assert kept_there["suppression"]["left_out"] == gone


def test_whoever_runs_it_again_names_all_who_were_left_out(written: tuple[Path, Table, Policy]) -> None:
    folder, table, policy = written
    found = {each.name: each for each in ic.attack(folder, table, policy).results}
    again = found["suppression-rerun"]
    assert again.attack.won > 0
    assert again.attack.won == again.attack.tried == again.details["left_out"] == again.details["named"]
    assert again.bound is None
    assert found["rerun"].outcome != "broken"
    assert found["suppression"].attack.won <= again.attack.won


def test_the_command_line_and_the_report_say_how_many(tmp_path: Path) -> None:
    write_csv(town(), tmp_path / "town.csv")
    roles = ("--qi", "age,pay,sex", "--sensitive", "ill", "-k", K, "--max-suppression", "0.05")
    said = incrowd("publish", tmp_path / "town.csv", "-o", tmp_path / "out", *roles)
    assert said.code == 0, said.err
    assert "suppressed: 1 of 120 records; in two-column tables" in " ".join(said.out.split())
    measured = incrowd("measure", tmp_path / "out", "--original", tmp_path / "town.csv")
    assert "Left out: 1 of 120 records" in measured.out
    page = tmp_path / "page.html"
    assert incrowd("report", tmp_path / "out", "-o", page).code == 0
    assert "1 record was suppressed" in page.read_text(encoding="utf-8")


def test_totals_are_of_those_who_have_a_row(written: tuple[Path, Table, Policy]) -> None:
    folder, _, _ = written
    rows = json.loads((folder / "release.json").read_text(encoding="utf-8"))["rows"]["published"]
    lines = [line.rsplit(",", 1) for line in (folder / "totals.csv").read_text("utf-8").splitlines()[1:]]
    for name in ("age", "pay", "sex"):
        counts = [int(count) for said, count in lines if said.startswith(f"{name},")]
        assert sum(counts) == rows
        assert min(counts) >= K


Spoil = Callable[[Path, dict[str, Any]], None]


def told(**changes: int) -> Spoil:
    def spoil(_folder: Path, manifest: dict[str, Any]) -> None:
        for name, by in changes.items():
            manifest["rows"][name] += by

    return spoil


def without_a_row(by: int) -> Spoil:
    """A row of a large class is taken away, and the manifest tells of `by` more who have none."""

    def spoil(folder: Path, manifest: dict[str, Any]) -> None:
        lines = (folder / "data.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        sizes = Counter(line.rsplit(",", 1)[0] for line in lines)
        large = next(i for i, line in enumerate(lines) if sizes[line.rsplit(",", 1)[0]] > K)
        (folder / "data.csv").write_text("".join([*lines[:large], *lines[large + 1 :]]), encoding="utf-8")
        told(published=-1, suppressed=by)(folder, manifest)

    return spoil


def in_the_row_of_others(folder: Path, manifest: dict[str, Any]) -> None:
    """Whoever was left out is back, with the own value in a row of a class of young people."""
    links = json.loads((folder.parent / "release.audit" / "links.json").read_text(encoding="utf-8"))
    [gone] = set(range(120)) - set(links["record_of_each_row"])
    lines = (folder / "data.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    row = next(line for line in sorted(lines) if line.startswith(('"[20,2', "20,", "21,")))
    back = row.rsplit(",", 1)[0] + f",{town().column('ill').rows()[gone]}\n"
    (folder / "data.csv").write_text("".join([*lines, back]), encoding="utf-8")
    told(published=1, suppressed=-1)(folder, manifest)


def hidden(_folder: Path, manifest: dict[str, Any]) -> None:
    manifest["rows"]["suppressed"] = None


def unlimited(_folder: Path, manifest: dict[str, Any]) -> None:
    manifest["rows"]["max_suppression"] = "1"


FORGERIES: dict[str, tuple[str, Spoil]] = {
    "one more left out than told": ("rows", without_a_row(by=0)),
    "the limit exceeded by one": ("rows", without_a_row(by=1)),
    "a number that is too small": ("rows", told(suppressed=-1)),
    "a number that is too large": ("rows", told(suppressed=1)),
    "a number of rows that is too small": ("rows", told(published=-1)),
    "somebody who was left out has the row of another": ("truth", in_the_row_of_others),
    "the number is not told": ("manifest", hidden),
    "another limit": ("manifest", unlimited),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_rejected(name: str, tmp_path: Path) -> None:
    table, policy = town(), asked(share="0.0084")
    folder = publish_to(table, policy, tmp_path / "release").folder
    manifest = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    assert manifest["rows"]["suppressed"] == 1 == int(0.0084 * 120)
    caught_by, spoil = FORGERIES[name]
    spoil(folder, manifest)
    (folder / "README.md").write_text(datasheet(manifest), encoding="utf-8")
    for file in manifest["files"]:
        data = (folder / file).read_bytes()
        manifest["files"][file] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / "release.json").write_text(text, encoding="utf-8")
    verdict = ic.verify(folder, table, policy)
    assert not verdict.passed
    assert verdict.failures[0].name == caught_by, verdict.failures


def test_totals_of_everybody_are_rejected(tmp_path: Path) -> None:
    table, policy = town(), asked(totals=True)
    folder = publish_to(table, policy, tmp_path / "release").folder
    other = publish_to(table, asked(share="", totals=True), tmp_path / "other").folder
    manifest = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    data = (other / "totals.csv").read_bytes()
    (folder / "totals.csv").write_bytes(data)
    manifest["files"]["totals.csv"] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / "release.json").write_text(text, encoding="utf-8")
    assert [failed.name for failed in ic.verify(folder, table, policy).failures] == ["totals"]


def test_compare_shows_how_many_are_left_out() -> None:
    found = ic.compare(town(), asked(), ["mondrian", "ring"], [K])
    assert [trial.result.left_out for trial in found.trials if trial.result is not None] == [1, 0]
    assert "ring" in found.notes[0]
    assert "mondrian" not in found.notes[0]
