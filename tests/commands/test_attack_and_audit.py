"""The commands `attack` and `audit`: what they find, how they end, and what they refuse."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.test_bad_inputs import check_refused, lay
from cli.test_bad_inputs import place as place  # a fixture
from support.bad_requests import Bad, csv, policy
from support.commands import Ran, asked, incrowd, listing

from incrowd.commands.attack import attack
from incrowd.commands.audit import audit
from incrowd.examples import write_example
from incrowd.policy import Policy
from incrowd.publishing.pipeline import publish_to

ATTACKS = ["order", "degree", "matching", "probability", "rerun"]
CORRUPTIONS = [f"corruption-{known}" for known in range(1, 6)]
OTHERS = ["rows", "singling", "downcoding"]
VALUES = [
    f"{name}-{column}"
    for column in ("diagnosis", "cost")
    for name in ("homogeneity", "skewness", "definetti", *(f"background-{known}" for known in (1, 2, 3)))
]
CLASSES = ("k", "1k", "k1", "kk", "global_1k", "global_k1", "k_factor")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Patients and their policy, and releases. Nobody may change them."""
    folder = write_example(tmp_path_factory.mktemp("clinic"), rows=400)
    for form in ("csv", "parquet"):
        assert incrowd("publish", *asked(folder), "-o", folder / form, "--format", form).code == 0
    return folder


def attacked(clinic: Path, form: str = "csv", *more: object) -> Ran:
    return incrowd("attack", clinic / form, "--original", clinic / "patients.csv", *more)


# ---- attack


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_attack_a_release(clinic: Path, form: str) -> None:
    before = listing(clinic)
    ran = attacked(clinic, form, "--json")
    assert (ran.code, ran.err) == (0, "")
    said = ran.json
    assert [found["name"] for found in said["attacks"]] == [*ATTACKS, *CORRUPTIONS, *OTHERS, *VALUES]
    assert (said["records"], said["rows"], said["k"], said["method"]) == (400, 400, 10, "mondrian")
    assert (said["holds"], said["outcome"], said["inconclusive"], said["untried"]) == (True, "held", {}, [])
    idle = [found["name"] for found in said["attacks"] if not found["works"]]
    assert set(idle) <= {"downcoding"}  # nothing is promised about it: few people hardly tell it from chance
    assert said["notes"] == []
    of = {found["name"]: found for found in said["attacks"]}
    assert of["degree"]["details"]["fewest_candidates"] >= 10
    assert of["rerun"]["details"]["persons_whose_row_is_there"] == 400
    assert listing(clinic) == before


def test_an_interrupt_keeps_what_was_found_and_is_never_held(clinic: Path) -> None:
    asked_for = (clinic / "csv", clinic / "patients.csv")
    whole = attack(*asked_for)
    assert (whole.stopped, whole.holds, whole.untried) == (False, True, ())
    for after in (1, 9):
        found = attack(*asked_for, on_result=Interrupt(after), stoppable=True)
        assert (found.stopped, found.holds) == (True, False)
        assert found.results == whole.results[:after]
        assert found.untried
        assert {one.name for one in found.untried} <= set(found.doubts)


class Interrupt:
    """Ctrl-C after so many results."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, _result: object) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


def test_an_interrupt_goes_to_a_caller_that_does_not_ask_for_it(clinic: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        attack(clinic / "csv", clinic / "patients.csv", on_result=Interrupt(1))


def test_an_interrupt_before_the_first_result_is_an_interrupt(clinic: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        attack(clinic / "csv", clinic / "patients.csv", on_result=Interrupt(0), stoppable=True)


def test_attack_for_people(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    ran = attacked(clinic)
    assert (ran.code, ran.err) == (0, "")
    names = (*ATTACKS, *OTHERS, *VALUES)
    assert all(name in ran.out for name in (*names, "success", "control", "bound", "held"))
    assert ran.out.splitlines()[-1] == "HELD: 5 attacks held, 0 broke, 0 inconclusive."


def test_attack_with_the_policy_instead_of_the_audit(clinic: Path, place: Path) -> None:
    shutil.copytree(clinic / "csv", place / "bare")
    bare = incrowd("attack", "bare", "--original", clinic / "patients.csv")
    assert (bare.code, "-p" in bare.err) == (2, True)
    ran = incrowd("attack", "bare", "--original", *asked(clinic), "--json")
    assert (ran.code, ran.json["holds"]) == (0, True)


def test_attack_takes_the_truth_from_the_audit(clinic: Path, place: Path) -> None:
    """With links everybody counts; without, those whom no other rows fit."""
    for name in ("csv", "csv.audit"):
        shutil.copytree(clinic / name, place / name)
    found = attack(place / "csv", clinic / "patients.csv")
    assert found.known >= 390  # by what rows say; without that, by private values of one record alone, 100
    assert "no links" in found.truth
    links = json.dumps({"record_of_each_row": list(range(400))})
    (place / "csv.audit" / "links.json").write_text(links)
    found = attack(place / "csv", clinic / "patients.csv")
    assert (found.known, found.truth) == (400, "the links in the audit")


def weak(clinic: Path, place: Path) -> None:
    """A folder that claims k = 10 and publishes everybody as they are, in the order of the original."""
    shutil.copytree(clinic / "csv", place / "weak")
    names = (clinic / "csv" / "data.csv").read_text().splitlines()[0].split(",")
    import csv as reader

    with (clinic / "patients.csv").open(encoding="utf-8", newline="") as file:
        rows = list(reader.DictReader(file))
    with (place / "weak" / "data.csv").open("w", encoding="utf-8", newline="") as file:
        out = reader.writer(file, lineterminator="\n")
        out.writerow(names)
        out.writerows([row[name] or "missing" for name in names] for row in rows)


def test_attack_breaks_a_weak_release(clinic: Path, place: Path) -> None:
    weak(clinic, place)
    ran = incrowd("attack", "weak", "--original", *asked(clinic), "--json")
    assert ran.code == 1
    broken = [found["name"] for found in ran.json["attacks"] if found["outcome"] == "broken"]
    assert set(broken) >= {"order", "degree", "matching", "probability"}
    assert (ran.json["outcome"], ran.json["holds"]) == ("broken", False)
    shown = incrowd("attack", "weak", "--original", *asked(clinic))
    assert shown.code == 1
    assert "BROKEN by order, degree, matching, probability" in shown.out
    last = shown.out.splitlines()[-1]
    assert last.startswith("BROKEN: ")
    assert f" {len(broken)} broke, " in last


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Non-homogeneous rows without private values: only the links of the audit tell whose they are."""
    folder = tmp_path_factory.mktemp("ring")
    lines = ["age,zip", *(f"{20 + 7 * i % 60},{100 + 13 * i % 80}" for i in range(120))]
    (folder / "t.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    (folder / "p.toml").write_text(
        'quasi_identifiers = ["age", "zip"]\nmethod = "ring"\n[privacy]\nk = 5\n', encoding="utf-8"
    )
    assert incrowd("publish", folder / "t.csv", "-p", folder / "p.toml", "-o", folder / "out").code == 0
    return folder


def test_attack_where_nobody_can_be_scored_is_inconclusive(ring: Path, place: Path) -> None:
    """Exit code 3, and the last lines say what would decide it: the audit with its links is not there."""
    shutil.copytree(ring / "out", place / "alone")
    words = ("attack", "alone", "--original", ring / "t.csv", "-p", ring / "p.toml")
    ran = incrowd(*words, "--json")
    assert (ran.code, ran.json["outcome"], ran.json["holds"]) == (3, "inconclusive", False)
    assert ran.json["known"] == 0
    doubt = ran.json["inconclusive"]["order"]
    (order,) = [found for found in ran.json["attacks"] if found["name"] == "order"]
    assert (order["outcome"], order["reason"], order["remedy"]) == ("inconclusive", *doubt.values())
    assert "links" in doubt["remedy"]
    shown = incrowd(*words)
    assert shown.code == 3
    last = shown.out.splitlines()[-1]
    why = " ".join(shown.out.rpartition("\nInconclusive: ")[2].split())
    assert last == f"INCONCLUSIVE: 2 attacks held, 0 broke, {len(ran.json['inconclusive'])} inconclusive."
    assert re.match(r"[a-z, ]*\brerun: ", why)  # beside others that the same would decide
    assert " Needed: " in why
    assert "nobody was scored" in shown.out


def test_attack_scores_everybody_by_links(ring: Path) -> None:
    found = attack(ring / "out", ring / "t.csv")
    assert (found.known, found.truth) == (120, "the links in the audit")
    of = {result.name: result for result in found.results}
    assert [of[name].outcome for name in ("order", "degree", "matching")] == ["held"] * 3
    assert of["rerun"].attack.tried == 120
    assert found.outcome != "broken"


def test_a_method_that_cannot_be_run_again_is_a_note(clinic: Path, place: Path) -> None:
    for name in ("csv", "csv.audit"):
        shutil.copytree(clinic / name, place / name)
    manifest = json.loads((place / "csv" / "release.json").read_text())
    manifest["method"]["name"] = "magic"
    (place / "csv" / "release.json").write_text(json.dumps(manifest))
    found = attack(place / "csv", clinic / "patients.csv")
    assert "rerun" not in [result.name for result in found.results]
    (untried,) = found.untried
    assert (untried.name, untried.outcome) == ("rerun", "inconclusive")
    assert "cannot be run again" in untried.reason
    assert (found.outcome, list(found.doubts)) == ("inconclusive", ["rerun"])


def test_diverse_releases_are_run_again_with_their_guards(clinic: Path, place: Path) -> None:
    words = ("-o", "out", "--l", "3", "--t", "0.5", "-k", "8")
    assert incrowd("publish", *asked(clinic), *words).code == 0
    ran = incrowd("attack", "out", "--original", clinic / "patients.csv", "--json")
    (found,) = [found for found in ran.json["attacks"] if found["name"] == "rerun"]
    assert found["details"]["persons_whose_row_is_there"] == 400
    assert ran.json["k"] == 8


# ---- audit


def write(folder: Path, **tables: str) -> None:
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)


AGES = "age;sex\n20;F\n25;F\n30;M\n40;M\n"


def test_audit_reads_the_cells_of_other_tools(place: Path) -> None:
    """By hand: two classes of two, as ARX writes them."""
    write(place, o=AGES, p="age;sex\n[20, 30[;F\n[20, 30[;F\n*;M\n*;M\n".replace("30[", "29]"))
    ran = incrowd("audit", "o.csv", "p.csv", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["columns"] == ["age", "sex"]
    assert ran.json["columns_guessed"] is True
    assert ran.json["classes"] == dict.fromkeys(CLASSES, 2)
    assert ran.json["level"] == {"lambda": "1/2", "low": 0.5, "high": 0.5, "level": 2.0}
    assert ran.json["largest_posterior"]["exact"] == "1/2"
    assert (ran.json["suppressed"], ran.json["persons_with_one_match"]) == (0, 0)
    assert any("guessed" in note for note in ran.json["notes"])


def test_audit_finds_anonymity_that_no_comparison_of_texts_sees(place: Path) -> None:
    """No two rows are equal, yet everybody fits two rows and each row two persons."""
    rows = 'age;sex\n[20,25];F\n[20,26];F\n"[30,40]";{M}\n[29, 40];{F|M}\n'
    write(place, o=AGES, p=rows)
    ran = incrowd("audit", "o.csv", "p.csv", "--k", "2", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["classes"] == {**dict.fromkeys(CLASSES, 2), "k": 1}
    assert ran.json["below_k"] == dict.fromkeys(
        ("persons_by_degree", "rows_by_degree", "persons_by_matches", "rows_by_matches"), 0
    )


def test_audit_of_table_4_shows_who_is_exposed(place: Path) -> None:
    """(2,2)-anonymous, and yet one person has one match: exit code 1 with --k 2, 0 without."""
    ranges = ['"[1,5]"', '"[2,3]"', '"[3,4]"', '"[3,4]"', '"[1,5]"']
    write(place, o="a\n1\n2\n3\n4\n5\n", p="\n".join(["a", *ranges, ""]))
    ran = incrowd("audit", "o.csv", "p.csv", "--k", "2", "--json")
    assert ran.code == 1
    assert (ran.json["classes"]["kk"], ran.json["classes"]["global_1k"]) == (2, 1)
    assert ran.json["persons_with_one_match"] == 1
    assert ran.json["below_k"]["persons_by_degree"] == 0
    assert ran.json["below_k"]["persons_by_matches"] == 1
    assert ran.json["largest_posterior"]["exact"] == "1"
    assert ran.json["level"]["lambda"] == "1"
    assert incrowd("audit", "o.csv", "p.csv").code == 0
    shown = incrowd("audit", "o.csv", "p.csv", "-k", "2")
    assert (shown.code, "NOT everybody has 2 matches." in shown.out) == (1, True)


def test_audit_counts_rows_that_were_left_out(place: Path) -> None:
    write(place, o=AGES, p="age;sex\n[20,25];F\n[20,25];F\n")
    ran = incrowd("audit", "o.csv", "p.csv", "--json")
    assert ran.code == 0
    assert (ran.json["rows"], ran.json["suppressed"]) == (2, 2)
    assert ran.json["classes"]["global_k1"] == 2


def test_audit_takes_the_columns_that_are_named(place: Path) -> None:
    write(place, o=AGES, p="age;sex\n*;F\n*;F\n*;M\n*;M\n")
    ran = incrowd("audit", "o.csv", "p.csv", "--qi", "age", "--json")
    assert (ran.json["columns"], ran.json["classes"]["k"]) == (["age"], 4)
    assert ran.json["columns_guessed"] is False


def test_audit_reads_words_for_missing(place: Path) -> None:
    write(place, o="age\n20\n?\n30\n40\n", p='age\n"[20,30]"\n?\n"[20,30]"\n40\n')
    ran = incrowd("audit", "o.csv", "p.csv", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["persons_with_one_match"] == 2


def test_audit_with_a_policy_counts_sensitive_values(place: Path) -> None:
    write(place, o="age,ill\n20,a\n30,b\n40,c\n40,c\n", p='age,ill\n"[20,30]",a\n"[20,30]",b\n40,c\n40,c\n')
    Path("p.toml").write_text('quasi_identifiers = ["age"]\nsensitive = ["ill"]\n')
    ran = incrowd("audit", "o.csv", "p.csv", "-p", "p.toml", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["fewest_values"] == {"ill": 1}
    assert ran.json["notes"] == []


def test_audit_says_how_far_sensitive_numbers_range(place: Path) -> None:
    rows = 'age,pay\n"[20,30]",100\n"[20,30]",107.5\n"[40,50]",3\n"[40,50]",\n"[40,50]",90\n"[40,50]",95\n'
    write(place, o="age,pay\n20,100\n30,107.5\n40,3\n40,\n50,90\n45,95\n", p=rows)
    Path("p.toml").write_text('quasi_identifiers = ["age"]\n[sensitive]\npay = { type = "numeric" }\n')
    ran = incrowd("audit", "o.csv", "p.csv", "-p", "p.toml", "--epsilon", "5", "--json")
    assert ran.code == 0, ran.err
    ends = {"distinct": 2, "least_range": "7.5", "largest_range": "92", "known": 5}
    assert ran.json["ranges"] == {"pay": {**ends, "epsilon": "5", "m": "1.5"}}
    shown = incrowd("audit", "o.csv", "p.csv", "-p", "p.toml").out
    assert "range over 7.5 ((k,e)-anonymity)" in " ".join(shown.split())
    ran = incrowd("audit", "o.csv", "p.csv", "-p", "p.toml", "--epsilon", "-1")
    assert (ran.code, "at least 0" in ran.err) == (2, True)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_audit_a_release_of_ours(clinic: Path, form: str) -> None:
    words = ("audit", clinic / "patients.csv", clinic / form)
    for more in ((), asked(clinic)[1:]):
        ran = incrowd(*words, *more, "--k", 10, "--json")
        assert (ran.code, ran.err) == (0, "")
        assert min(ran.json["classes"].values()) >= 10
        assert set(ran.json["fewest_values"]) == {"diagnosis", "cost"}
    some = incrowd(*words, "--qi", "age,sex", "--json")
    assert some.json["columns"] == ["age", "sex"]
    data = clinic / form / f"data.{form}"
    file = incrowd("audit", clinic / "patients.csv", data, *asked(clinic)[1:], "--json")
    assert file.json["classes"] == ran.json["classes"]


def test_audit_for_people(clinic: Path) -> None:
    ran = incrowd("audit", clinic / "patients.csv", clinic / "csv", "--k", "10")
    assert (ran.code, ran.err) == (0, "")
    assert all(name in ran.out for name in (*CLASSES, "lambda*", "diagnosis", "Everybody has 10 matches."))


def test_a_huge_table_gets_bounds(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["incrowd.graph.components"], "MOST_EDGES", 10)  # a function has its name
    found = audit(clinic / "patients.csv", clinic / "csv", Policy.load(clinic / "policy.toml"))
    assert found.level["lambda"] is None
    assert found.level["low"] <= found.level["high"] <= 0.1
    assert "bounded" in found.notes[0]


@pytest.mark.parametrize("command", ["attack", "audit"])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_has_an_example(command: str, flag: str) -> None:
    ran = incrowd(command, flag)
    assert ran.code == 0
    assert f"Example: incrowd {command} " in ran.out
    assert "--json" in ran.out


# ---- wrong requests

AUDIT = ("audit", "t.csv", "m.csv")
MARKED = csv()
BAD = (
    Bad("attack without original", ("--original",), words=("attack", "d")),
    Bad("attack what is not there", ("d does not exist",), words=("attack", "d", "--original", "t.csv")),
    Bad("attack a file", ("is no folder",), words=("attack", "t.csv", "--original", "t.csv")),
    Bad(
        "attack no release", ("no release",), words=("attack", "d", "--original", "t.csv"), files={"d/x": ""}
    ),
    Bad(
        "attack without audit",
        ("no audit", "-p"),
        words=("attack", "d", "--original", "t.csv"),
        files={"d/release.json": "{}"},
    ),
    Bad(
        "attack without the original",
        ("u.csv", "does not exist"),
        words=("attack", "d", "--original", "u.csv", "-p", "p.toml"),
        files={"d/release.json": "{}"},
    ),
    Bad(
        "attack without claims",
        ("claims", "cannot be read"),
        words=("attack", "d", "--original", "t.csv", "-p", "p.toml"),
        files={"d/release.json": "{}"},
    ),
    Bad(
        "attack without a method",
        ("by which method",),
        words=("attack", "d", "--original", "t.csv", "-p", "p.toml"),
        files={"d/release.json": '{"claims": []}'},
    ),
    Bad("audit without the original", ("u.csv", "does not exist"), words=("audit", "u.csv", "t.csv")),
    Bad("audit what is not there", ("m.csv", "does not exist"), words=AUDIT),
    Bad("audit a folder", ("no release",), words=("audit", "t.csv", "d"), files={"d/x": ""}),
    Bad("audit k of 0", ("k must be", "at least 1"), words=("audit", "t.csv", "t.csv", "--k", "0")),
    Bad("audit k as text", ("--k", "integer"), words=("audit", "t.csv", "t.csv", "--k", "few")),
    Bad("audit no shared column", ("no column in common",), words=AUDIT, files={"m.csv": "a,b\nzqA,zqB\n"}),
    Bad(
        "audit an unknown column",
        ("not in the original: agee", "did you mean 'age'"),
        words=("audit", "t.csv", "t.csv", "--qi", "agee"),
    ),
    Bad(
        "audit roles twice",
        ("policy", "--qi", "not both"),
        words=("audit", "t.csv", "t.csv", "-p", "p.toml", "--qi", "age"),
    ),
    Bad(
        "audit unreadable cells",
        ("zip", "1 distinct cells", "hierarchies"),
        words=(*AUDIT, "--qi", "zip"),
        files={"m.csv": "zip\nzqTown7\n"},
    ),
    Bad(
        "audit more rows than records",
        ("41 rows", "40"),
        words=(*AUDIT, "--qi", "zip"),
        files={"m.csv": MARKED + "zqName0,73000,zqZip0,zqIll0,zqVisit0\n"},
    ),
    Bad(
        "audit no generalisation",
        ("not a generalisation of the original", "40"),
        words=(*AUDIT, "--qi", "zip"),
        files={"m.csv": "zip\n" + "zqZip1\n" * 40},
    ),
    Bad(
        "audit with a policy that does not fit",
        ("put each under",),
        words=("audit", "t.csv", "t.csv", "-p", "q.toml"),
        files={"q.toml": policy().replace('keep = ["visit"]', "")},
    ),
)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.id)
def test_refused_in_one_message(bad: Bad, place: Path) -> None:
    lay(place, bad)
    before = listing(place)
    ran = incrowd(*bad.words)
    check_refused(ran, bad)
    assert listing(place) == before
    said: Any = incrowd(*bad.words, "--json")
    assert said.code == 2
    if ran.err.startswith("incrowd: "):
        assert said.json == {"error": ran.err.removeprefix("incrowd: ")[:-1], "exit_code": 2}


def test_a_label_that_also_means_missing_is_a_label(tmp_path: Path) -> None:
    """The policy calls the text Unknown missing, and the hierarchy has a node of that name."""
    (tmp_path / "jobs.csv").write_text("cook;Food;*\nwaiter;Food;*\nspy;Unknown;*\nagent;Unknown;*\n")
    jobs = ["cook", "waiter"] * 4 + ["spy", "agent"] * 4
    table = tmp_path / "people.csv"
    table.write_text("job,ill\n" + "".join(f"{job},{i % 2}\n" for i, job in enumerate(jobs)))
    parts = {"quasi_identifiers": {"job": {"hierarchy": "jobs.csv"}}, "sensitive": ["ill"]}
    asked = Policy.from_dict(
        {**parts, "missing": ["", "Unknown"], "privacy": {"k": 5}, "method": "mondrian"}, folder=tmp_path
    )
    written = publish_to(table, asked, tmp_path / "out")
    assert "Unknown" in (written.folder / "data.csv").read_text()
    alone, folder = (audit(table, what, asked) for what in (written.folder / "data.csv", written.folder))
    assert alone.classes == folder.classes
    assert alone.classes["global_1k"] == 8
