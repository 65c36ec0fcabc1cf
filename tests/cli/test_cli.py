"""The command line: what each command prints, writes and returns."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.commands import asked, incrowd, listing
from support.night import NIGHT
from support.tampering import TAMPERED, manifest_of

from incrowd import __version__
from incrowd.algorithms.base import all_methods
from incrowd.examples import write_example

COMMANDS = (
    *(
        "demo",
        "studio",
        "inspect",
        "policy",
        "publish",
        "verify",
        "series",
        "measure",
        "query",
        "attack",
        "audit",
        "compare",
        "report",
    ),
    *("learn", "outliers", "methods", "reproduce", "kernels"),
)
ROLES = (
    *("--qi", "age,sex", "--qi", "zip", "--sensitive", "diagnosis,cost", "--identifiers", "name, ssn"),
    *("--keep", "visit_type", "--drop", "education,occupation,marital_status,admitted"),
)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Patients and their policy, and a release in each format. Nobody may change them."""
    folder = write_example(tmp_path_factory.mktemp("clinic"), rows=400)
    for form in ("csv", "parquet"):
        assert incrowd("publish", *asked(folder), "-o", folder / form, "--format", form).code == 0
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# Help


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_has_an_example_that_names_the_command(command: str, flag: str) -> None:
    ran = incrowd(command, flag)
    assert ran.code == 0
    assert f"Example: incrowd {command} " in ran.out
    assert "--json" in ran.out


def test_help_lists_every_command_and_where_to_start() -> None:
    ran = incrowd("--help")
    listed = re.findall(r"^  ([a-z]+)  +[A-Z]", ran.out, re.MULTILINE)
    assert (ran.code, tuple(listed)) == (0, COMMANDS)
    assert incrowd("--version").out == f"incrowd {__version__}\n"


# demo


def test_demo_tells_the_whole_story_and_leaves_nothing(place: Path) -> None:
    ran = incrowd("demo")
    assert (ran.code, ran.err, listing(place)) == (0, "", {})
    assert "3,000 patients" in ran.out
    assert "confirmed" in ran.out
    assert "REJECTED" not in ran.out


def test_demo_for_machines_leaves_its_files_where_asked(place: Path) -> None:
    ran = incrowd("demo", "--json", "--folder", "tour")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["verdict"]["passed"]
    assert ran.json["again"]["passed"]
    assert ran.json["risk_before"]["unique"] > 1000
    assert {"patients.csv", "policy.toml", "release", "release.audit"} <= set(os.listdir("tour"))
    assert incrowd("verify", "tour/release", "--original", "tour/patients.csv").code == 0


# inspect


def test_inspect_names_every_column_and_the_next_step(clinic: Path, place: Path) -> None:
    ran = incrowd("inspect", clinic / "patients.csv", "-o", "first.toml")
    assert (ran.code, ran.err) == (0, "")
    assert all(name in ran.out for name in ("name", "ssn", "diagnosis", "visit_type", "400 rows"))
    assert "-p first.toml -o release" in ran.out


def test_inspect_for_machines(clinic: Path, place: Path) -> None:
    ran = incrowd("inspect", clinic / "patients.csv", "--json")
    assert {"rows", "columns", "risk"} <= set(ran.json)
    assert ran.json["rows"] == 400
    assert not listing(place)


def test_inspect_does_not_overwrite(clinic: Path, place: Path) -> None:
    (place / "first.toml").write_text("mine")
    ran = incrowd("inspect", clinic / "patients.csv", "-o", "first.toml")
    assert (ran.code, (place / "first.toml").read_text()) == (2, "mine")


def check_first_policy(table: Path, k: int = 10) -> None:
    assert incrowd("inspect", table, "-o", "first.toml").code == 0
    ran = incrowd("publish", table, "-p", "first.toml", "-o", "out", "--json")
    assert ran.code == 0, ran.out
    assert ran.json["verdict"]["facts"]["smallest_class"] >= k


def test_first_policy_is_taken_by_publish(clinic: Path, place: Path) -> None:
    check_first_policy(clinic / "patients.csv")


@pytest.mark.parametrize("table", ["cmc/cmc.csv", *(["adult/adult.csv"] if NIGHT else [])])
def test_first_policy_of_real_tables_is_taken_by_publish(table: str, place: Path, real_data: Path) -> None:
    check_first_policy(real_data / table)


# publish


def test_publish_by_policy(clinic: Path, place: Path) -> None:
    ran = incrowd("publish", *asked(clinic), "-o", "out")
    assert (ran.code, ran.err) == (0, "")
    assert "Published 400 rows" in ran.out
    assert "promised and verified: k-anonymity (k = 10)" in ran.out
    assert "Next: incrowd verify out --original" in ran.out
    assert set(os.listdir()) == {"out", "out.audit"}
    assert set(os.listdir("out")) == {"README.md", "data.csv", "hierarchies.csv", "release.json"}
    found = rows_of(place / "out" / "data.csv")
    assert len(found) == 400
    assert not {"name", "ssn"} & set(found[0])


def test_publish_for_machines(clinic: Path, place: Path) -> None:
    ran = incrowd("publish", *asked(clinic), "-o", "out", "--json")
    assert (ran.code, ran.err) == (0, "")
    expected = {
        "release",
        "audit",
        "verdict",
        "two_way",
        "loss",
        "manifest",
        "warnings",
        "says_nothing",
        "reading",
    }
    assert set(ran.json) == expected
    assert ran.json["verdict"]["passed"] is True
    assert ran.json["release"] == "out"
    assert ran.json["manifest"] == manifest_of(place / "out")


def test_publish_by_flags(clinic: Path, place: Path) -> None:
    ran = incrowd("publish", clinic / "patients.csv", *ROLES, "-k", 5, "-o", "out", "--json")
    assert ran.code == 0, ran.out
    names = [column["name"] for column in ran.json["manifest"]["columns"]]
    assert names == ["age", "sex", "zip", "visit_type", "diagnosis", "cost"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param(("--k", "20"), lambda said: said["claims"][0]["parameters"] == {"k": 20}, id="k"),
        pytest.param(("--l", "4"), lambda said: said["claims"][1]["parameters"]["l"] == 4, id="l"),
        pytest.param(
            ("--t", "0.90"),
            lambda said: said["claims"][-1]["parameters"]["t"] == "0.9",
            id="t in its shortest form",
        ),
        pytest.param(("--method", "single"), lambda said: said["method"]["name"] == "single", id="method"),
        pytest.param(
            ("--set", "choose=round-robin"),
            lambda said: said["method"]["options"] == {"choose": "round-robin"},
            id="option",
        ),
        pytest.param(("--accept", "all"), lambda said: said["accepted"] == ["all"], id="all accepted"),
        pytest.param(
            ("--accept", "near-unique-keep,small-means"),
            lambda said: said["accepted"] == ["near-unique-keep", "small-means"],
            id="two accepted",
        ),
    ],
)
def test_flags_override_the_policy(
    words: tuple[str, ...], found: Callable[[dict[str, Any]], bool], clinic: Path, place: Path
) -> None:
    ran = incrowd("publish", *asked(clinic), *words, "-o", "out")
    assert ran.code == 0, ran.err
    assert found(manifest_of(place / "out"))


def test_an_exposure_goes_through_once_it_is_accepted_by_name(clinic: Path, place: Path) -> None:
    request = ("publish", clinic / "patients.csv", "--qi", "age", "-k", 5, "-o", "out", "--keep", "name")
    others = "ssn,sex,zip,education,occupation,marital_status,admitted,visit_type,diagnosis,cost"
    refused = incrowd(*request, "--drop", others)
    assert (refused.code, listing(place)) == (1, {})
    name = re.findall(r"--accept ([a-z-]+)", refused.err)[0]
    assert incrowd(*request, "--drop", others, "--accept", name).code == 0
    assert manifest_of(place / "out")["accepted"] == [name]


@pytest.mark.parametrize(
    ("entity", "code"), [('entity = "person"', 1), ('drop = ["person"]', 0)], ids=["known", "not known"]
)
def test_a_kept_value_of_one_person_is_an_exposure_however_many_rows(
    entity: str, code: int, place: Path
) -> None:
    rows = "".join(f"p{i // 3},{i % 9},badge{i // 3}\n" for i in range(90))
    Path("t.csv").write_text("person,age,badge\n" + rows)
    policy = f'{entity}\nkeep = ["badge"]\nquasi_identifiers = ["age"]\nprivacy = {{k = 3}}\n'
    Path("p.toml").write_text(policy)
    ran = incrowd("publish", "t.csv", "-p", "p.toml", "-o", "out")
    assert ran.code == code, ran.err
    assert ("badge" in ran.err and "90 of 90" in ran.err) == bool(code)


@pytest.mark.parametrize("words", [("--format", "parquet"), ("--format", "parquet", "--typed")], ids=" ".join)
def test_parquet_is_verified_and_measured_like_csv(words: tuple[str, ...], clinic: Path, place: Path) -> None:
    ran = incrowd("publish", *asked(clinic), *words, "-o", "out")
    assert ran.code == 0, ran.err
    assert set(os.listdir("out")) == {"README.md", "data.parquet", "hierarchies.csv", "release.json"}
    assert incrowd("verify", "out", "--original", clinic / "patients.csv").code == 0
    loss = incrowd("measure", "out", "--original", clinic / "patients.csv", "--json").json
    assert loss["rows"] == 400


@pytest.mark.parametrize("name", ["T.PARQUET", "T.CSV", "t.tsv", "T.TSV.GZ", "t.txt"])
def test_tables_of_every_name_are_read_by_the_judge_too(name: str, clinic: Path, place: Path) -> None:
    """The judge has a reader of its own, which must take a name for what the first reader took it."""
    import gzip

    rows = rows_of(clinic / "patients.csv")
    if "PARQUET" in name:
        shutil.copy(clinic / "parquet" / "data.parquet", name)
        rows = [{key: row[key] for key in rows_of(clinic / "csv" / "data.csv")[0]} for row in rows]
    else:
        mark = "\t" if "tsv" in name.lower() else ","
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), delimiter=mark, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        raw = text.getvalue().encode()
        Path(name).write_bytes(gzip.compress(raw) if "GZ" in name else raw)
    drop = ",".join(key for key in rows[0] if key not in ("visit_type", "diagnosis"))
    words = ("--drop", drop, "--qi", "visit_type", "--sensitive", "diagnosis", "-k", 5)
    ran = incrowd("publish", name, *words, "-o", "out")
    assert ran.code == 0, ran.err
    assert incrowd("verify", "out", "--original", name).code == 0


def test_a_name_with_a_comma_in_a_table_of_tabs(place: Path) -> None:
    Path("t.tsv").write_text("a,b,c\tage\n" + "".join(f"x\t{i % 7}\n" for i in range(30)))
    Path("p.toml").write_text('drop = ["a,b,c"]\nquasi_identifiers = ["age"]\nprivacy = {k = 3}\n')
    ran = incrowd("publish", "t.tsv", "-p", "p.toml", "-o", "out")
    assert ran.code == 0, ran.err
    assert incrowd("verify", "out", "--original", "t.tsv").code == 0


def test_replace_takes_the_place_of_a_release_and_of_nothing_else(clinic: Path, place: Path) -> None:
    assert incrowd("publish", *asked(clinic), "-o", "out").code == 0
    before = listing(place)
    assert incrowd("publish", *asked(clinic), "-o", "out", "-k", 20).code == 2
    assert incrowd("publish", *asked(clinic), "-o", "out", "-k", 500, "--replace").code == 1
    assert listing(place) == before
    assert incrowd("publish", *asked(clinic), "-o", "out", "-k", 20, "--replace").code == 0
    assert manifest_of(place / "out")["claims"][0]["parameters"] == {"k": 20}
    assert set(os.listdir()) == {"out", "out.audit"}
    assert incrowd("verify", "out", "--original", clinic / "patients.csv").code == 0


# verify


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("with_policy", [False, True])
def test_verify_passes_what_was_published(form: str, with_policy: bool, clinic: Path) -> None:
    words = asked(clinic)[1:] if with_policy else ()
    ran = incrowd("verify", clinic / form, "--original", clinic / "patients.csv", *words)
    assert (ran.code, ran.err) == (0, "")
    assert "All claims of the release hold." in ran.out
    assert "FAILED" not in ran.out
    said = incrowd("verify", clinic / form, "--original", clinic / "patients.csv", *words, "--json")
    assert (said.code, said.json["passed"]) == (0, True)


@pytest.mark.parametrize("with_policy", [False, True])
@pytest.mark.parametrize("how", TAMPERED)
def test_verify_rejects_what_was_tampered_with(
    how: str, with_policy: bool, clinic: Path, place: Path
) -> None:
    form, tamper = TAMPERED[how]
    shutil.copytree(clinic / form, "out")
    shutil.copytree(clinic / f"{form}.audit", "out.audit")
    tamper(place / "out")
    words = asked(clinic)[1:] if with_policy else ()
    ran = incrowd("verify", "out", "--original", clinic / "patients.csv", *words)
    assert ran.code == 1, ran.err
    assert "REJECTED" in ran.out or ran.err.startswith("incrowd: ")
    said = incrowd("verify", "out", "--original", clinic / "patients.csv", *words, "--json")
    assert (said.code, said.err) == (1, "")
    assert said.json.get("passed") is False or said.json["exit_code"] == 1


def test_verify_holds_a_release_to_the_policy(clinic: Path, place: Path) -> None:
    """The same release, judged by what was asked for, not by what it says of itself."""
    stricter = (clinic / "policy.toml").read_text().replace("k = 10", "k = 11")
    shutil.copy(clinic / "education.csv", "education.csv")
    Path("p.toml").write_text(stricter)
    ran = incrowd("verify", clinic / "csv", "--original", clinic / "patients.csv", "-p", "p.toml", "--json")
    assert ran.code == 1
    assert "manifest" in [check["name"] for check in ran.json["checks"] if not check["passed"]]


def test_verify_demands_what_the_command_line_says(clinic: Path, place: Path) -> None:
    """A release that was published with overrides is held to them."""
    table = clinic / "patients.csv"
    assert incrowd("publish", table, *asked(clinic)[1:], "-o", "out", "-k", "20", "--l", "2").code == 0
    words = ("verify", "out", "--original", table, *asked(clinic)[1:])
    assert incrowd(*words).code == 1
    assert incrowd(*words, "-k", "20", "--l", "2").code == 0
    assert incrowd(*words, "-k", "20", "--l", "3").code == 1
    bare = incrowd("verify", "out", "--original", table, "-k", "20")
    assert bare.code == 2
    assert "-p" in bare.err


def test_verify_against_another_original(clinic: Path, place: Path) -> None:
    other = write_example(place / "other", rows=400, seed=8)
    ran = incrowd("verify", clinic / "csv", "--original", other / "patients.csv", *asked(clinic)[1:])
    assert ran.code == 1
    assert "FAILED" in ran.out
    assert "REJECTED" in ran.out


# measure


def test_measure_a_release(clinic: Path) -> None:
    ran = incrowd("measure", clinic / "csv", "--original", clinic / "patients.csv")
    assert (ran.code, ran.err) == (0, "")
    assert all(word in ran.out for word in ("400 rows", "gcp", "c_avg", "zip"))


def test_measure_finds_what_publish_said(clinic: Path) -> None:
    audit = json.loads((clinic / "csv.audit" / "audit.json").read_text(encoding="utf-8"))
    for words in ((), asked(clinic)[1:]):
        found = incrowd("measure", clinic / "csv", "--original", clinic / "patients.csv", "--json", *words)
        assert found.code == 0, found.out
        counts = {"rows", "classes", "smallest_class", "k", "anonymity", "match_probability", "notes"}
        assert set(found.json) == {
            *counts,
            "suppressed",
            "loss",
            "bound",
            "columns",
            "two_way",
            "range_counts",
            "risk",
        }
        assert found.json["k"] == 10
        assert found.json["anonymity"]["k"] == found.json["smallest_class"]
        assert min(found.json["anonymity"].values()) >= 10
        assert found.json["loss"] == pytest.approx(audit["loss"])


def test_measure_a_table_of_another_tool(place: Path) -> None:
    """By hand: ages cover 10 of 20, a quarter of the zips is hidden half; two classes of two."""
    Path("t.csv").write_text("age,sex,ill\n20,F,a\n30,F,b\n40,M,a\n40,M,b\n")
    Path("p.toml").write_text('quasi_identifiers = ["age", "sex"]\nsensitive = ["ill"]\nprivacy = {k = 2}\n')
    Path("m.csv").write_text('age,sex,ill\n"[20,30]",F,a\n"[20,30]",F,b\n40,*,a\n40,*,b\n')
    ran = incrowd("measure", "m.csv", "--original", "t.csv", "-p", "p.toml", "--json")
    assert ran.code == 0, ran.out
    assert (ran.json["classes"], ran.json["smallest_class"], ran.json["k"]) == (2, 2, 2)
    assert ran.json["loss"]["dm"] == 8
    assert ran.json["columns"]["age"]["gcp"] == pytest.approx(0.25)  # 10/20 in half of the rows
    assert ran.json["columns"]["sex"]["gcp"] == pytest.approx(0.5)  # all in half of the rows


# methods


def test_methods_for_people_and_machines() -> None:
    ran = incrowd("methods")
    assert (ran.code, ran.err) == (0, "")
    said = incrowd("methods", "--json").json
    assert [method["name"] for method in said] == list(all_methods())
    for method in said:
        assert method["name"] in ran.out
        assert all(method[key] for key in ("paper", "section", "guarantee", "adversary", "not_claimed"))
        assert all(option["must_be"] for option in method["options"].values())


# Machines


@pytest.mark.parametrize(
    "words",
    [
        ("publish", "no.csv", "-p", "no.toml", "-o", "out"),
        ("inspect", "no.csv"),
        ("verify", "no", "--original", "x"),
    ],
)
def test_errors_for_machines_are_one_document_on_standard_output(words: tuple[str, ...], place: Path) -> None:
    ran = incrowd(*words, "--json")
    assert (ran.code, ran.err) == (2, "")
    assert set(ran.json) == {"error", "exit_code"}
    assert ran.json["exit_code"] == 2


def test_refusals_for_machines_have_exit_code_one(clinic: Path, place: Path) -> None:
    ran = incrowd("publish", *asked(clinic), "-k", 401, "-o", "out", "--json")
    assert (ran.code, ran.json["exit_code"], ran.err) == (1, 1, "")
