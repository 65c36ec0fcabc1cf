"""Releases by anatomy on disk: written in every form, judged again, measured, attacked, told in words."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from algorithms.test_anatomy import clinic, policy
from support.commands import incrowd
from support.requested import rows_of

from incrowd.commands.attack import attack
from incrowd.commands.audit import audit
from incrowd.commands.measure import measure
from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.errors import InputError, NotVerified
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing.pipeline import Form, publish_to
from incrowd.release.audit import LINKS
from incrowd.release.data_files import read_buckets, read_rows
from incrowd.release.folder import ReleaseFolder

FORMS = {"csv": Form(), "parquet": Form("parquet"), "typed": Form("parquet", typed=True)}
EACH_FORM = pytest.mark.parametrize("form", FORMS)


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clinic as a file, its policy, and a release of each form. Nobody may change them."""
    folder = tmp_path_factory.mktemp("clinic")
    table = clinic()
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        rows = zip(*(column.rows() for column in table.columns), strict=True)
        csv.writer(file).writerows([table.names, *rows])
    for name, form in FORMS.items():
        publish_to(folder / "people.csv", policy(), folder / name, form)
    return folder


def copied(laid: Path, form: str, to: Path, audit: bool = True) -> Path:
    shutil.copytree(laid / form, to / "out")
    if audit:
        shutil.copytree(laid / f"{form}.audit", to / "out.audit")
    return to / "out"


@EACH_FORM
def test_what_is_written_says_the_same_in_every_form(laid: Path, form: str) -> None:
    rows = list(rows_of(read_rows(laid / form, lambda: policy().schema(clinic()))))
    lines = list(rows_of(read_buckets(laid / form)))
    ending = FORMS[form].format
    found = sorted(path.name for path in (laid / form).iterdir())
    assert found == sorted(["README.md", f"data.{ending}", "release.json", f"sensitive.{ending}"])
    table = [column.rows() for column in clinic().columns]
    assert Counter((row["age"], row["sex"]) for row in rows) == Counter(zip(*table[1:3], strict=True))
    values: Counter[str] = Counter()
    for line in lines:
        values[line["ill"] or ""] += int(line["count"] or 0)
    assert values == Counter(table[3])
    assert Counter(row["group"] for row in rows) == Counter(
        line["group"] for line in lines for _ in range(int(line["count"] or 0))
    )
    said = json.loads((laid / form / "release.json").read_text())
    assert said["apart"] == {"file": f"sensitive.{ending}", "groups": len({r["group"] for r in rows})}
    assert set(said["files"]) == {"README.md", f"data.{ending}", f"sensitive.{ending}"}
    assert [c.get("apart") for c in said["columns"]] == [None, None, True]


def test_formulas_are_protected_in_both_files(laid: Path) -> None:
    text = (laid / "csv" / "sensitive.csv").read_text()
    assert ",'=x," in text
    assert ",'-," in text
    assert ",=x," not in text


def test_no_name_is_told(laid: Path) -> None:
    for path in [*(laid / "csv").iterdir(), *(laid / "typed").iterdir()]:
        assert b"person 1" not in path.read_bytes()


@EACH_FORM
@pytest.mark.parametrize("asked", [True, False], ids=["policy", "audit"])
def test_it_is_judged_again(laid: Path, form: str, asked: bool) -> None:
    verdict = verify(laid / form, laid / "people.csv", policy() if asked else None)
    assert verdict.passed, verdict.failures
    assert (laid / f"{form}.audit" / LINKS).exists()


def test_without_links_the_judge_says_that_it_cannot_decide(laid: Path, tmp_path: Path) -> None:
    folder = copied(laid, "csv", tmp_path, audit=False)
    verdict = verify(folder, laid / "people.csv", policy())
    assert verdict.failures[0].name == "sensitive"
    assert "without the links in the audit folder" in verdict.failures[0].detail


def test_where_rows_differ_links_are_not_needed(tmp_path: Path) -> None:
    table = Table.of({"age": [str(i) for i in range(60)], "ill": ["abc"[i % 3] for i in range(60)]})
    path = tmp_path / "people.csv"
    path.write_text("age,ill\n" + "".join(f"{i},{'abc'[i % 3]}\n" for i in range(60)))
    asked = policy(identifiers=[], quasi_identifiers=["age"])
    written = publish_to(path, asked, tmp_path / "out")
    shutil.rmtree(written.audit)
    assert verify(tmp_path / "out", path, asked).passed
    assert len(table) == 60


def test_another_promise_is_not_confirmed(laid: Path) -> None:
    more = policy(privacy={"k": 2, "l": 3})
    assert verify(laid / "csv", laid / "people.csv", more).failures[0].name == "manifest"
    other = policy(method="mondrian", privacy={"k": 2, "l": 2, "l_kind": "frequency"})
    assert verify(laid / "csv", laid / "people.csv", other).failures[0].name == "files"


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_second_file_that_is_gone_or_cut_is_noticed(laid: Path, form: str, tmp_path: Path) -> None:
    folder = copied(laid, form, tmp_path)
    values = folder / f"sensitive.{form}"
    values.write_bytes(values.read_bytes()[:-20])
    if form == "csv":
        assert verify(folder, laid / "people.csv", None).failures[0].name == "files"
    else:
        with pytest.raises(NotVerified, match="cannot be read"):
            verify(folder, laid / "people.csv", None)
    values.unlink()
    assert verify(folder, laid / "people.csv", None).failures[0].name == "files"


@pytest.mark.parametrize("form", ["csv", "typed"])
def test_it_is_measured(laid: Path, form: str) -> None:
    found = measure(laid / form, laid / "people.csv", None)
    assert found["loss"]["gcp"] == 0
    assert found["k"] == 2
    groups = found["sensitive_groups"]
    assert (groups["smallest"], groups["fewest_values"], groups["largest_share"]) == (
        2,
        {"ill": 2},
        {"ill": "1/2"},
    )
    assert any("buckets, separate from the rows" in note for note in found["notes"])


def test_only_such_releases_have_groups(tmp_path: Path) -> None:
    publish_to(clinic(), policy(method="mondrian"), tmp_path / "out")
    assert ReleaseFolder.open(tmp_path / "out").bucket_counts is None


@pytest.mark.parametrize("text", ["", "group,ill,count\n", "group,ill,count\n1,flu,x\n", "a,b,c\n1,flu,1\n"])
def test_values_that_cannot_be_read_are_wrong_input(laid: Path, text: str, tmp_path: Path) -> None:
    folder = copied(laid, "csv", tmp_path)
    (folder / "sensitive.csv").write_text(text)
    with pytest.raises(InputError):
        measure(folder, laid / "people.csv", None)


def test_it_is_attacked(laid: Path) -> None:
    """Rows are found, as was accepted; nothing was promised about that, but about the values of a bucket."""
    found = attack(laid / "csv", laid / "people.csv")
    assert found.holds
    assert found.k is None
    assert found.known == 120
    of = {result.name: result for result in found.results}
    assert of["degree"].attack.won == 50  # so many different rows are there, and one of each is named
    assert of["order"].attack.won < 20
    assert [(each.name, each.outcome) for each in found.untried] == [("rerun", "not applicable")]
    assert (of["groups-ill"].outcome, of["groups-ill"].bound) == ("held", Fraction(1, 2))
    assert any("no value has more than 1/2 of a bucket" in note for note in found.notes)


def test_it_is_audited(laid: Path) -> None:
    found = audit(laid / "people.csv", laid / "typed")
    assert found.values == {"ill": 2}
    assert found.classes["k"] == 1
    assert any("buckets, separate from the rows" in note for note in found.notes)


# ---- in Python


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_come_back_as_they_came(library: str) -> None:
    frames: Any = pytest.importorskip(library)
    table = clinic()
    columns: dict[str, Any] = {name: table.column(name).rows() for name in table.names}
    columns["ill"] = [len(text or "") + i % 2 for i, text in enumerate(columns["ill"])]
    release = publish(frames.DataFrame(columns), policy())
    assert isinstance(release.table, frames.DataFrame)
    assert isinstance(release.sensitive, frames.DataFrame)
    assert list(release.table.columns) == ["age", "sex", "group"]
    assert list(release.sensitive.columns) == ["group", "ill", "count"]
    assert release.sensitive["ill"].dtype == frames.DataFrame(columns)["ill"].dtype
    assert sum(map(int, release.sensitive["count"].to_list())) == 120


def test_null_and_empty_are_one_value() -> None:
    """A CSV file cannot tell them apart, so one group must not name both."""
    texts: list[str | None] = ["", None, "a", "b", None, "", "a", "b", "c", "c", "d", "d"]
    table = Table.of({"age": [str(i) for i in range(12)], "ill": texts})
    asked = policy(identifiers=[], quasi_identifiers=["age"], privacy={"k": 12, "l": 3})
    release = publish(table, asked)
    lines = {line["ill"] or "": line["count"] for line in rows_of(release.sensitive)}
    assert lines == {"": "4", "a": "2", "b": "2", "c": "2", "d": "2"}


# ---- on the command line


def test_the_story_says_what_is_not_protected(laid: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(
        'identifiers = ["name"]\nsensitive = ["ill"]\n[quasi_identifiers]\nage = {}\nsex = {}\n'
        "[privacy]\nk = 2\nl = 2\n"
    )
    words = ["publish", laid / "people.csv", "-p", tmp_path / "policy.toml", "-o", tmp_path / "out"]
    refused = incrowd(*words, "--method", "anatomy")
    assert (refused.code, "--accept exact-rows" in refused.err) == (1, True)
    ran = incrowd(*words, "--method", "anatomy", "--accept", "exact-rows,correlated-values")
    assert ran.code == 0
    told = " ".join(ran.out.split())
    groups = ReleaseFolder.open(tmp_path / "out").bucket_counts
    assert groups is not None
    assert f"120 rows unchanged, with sensitive values in {groups.groups} buckets" in told
    assert "frequency-l-diversity for ill (l = 2)" in told
    assert "NOT protected: who is in the table, and which row is whose (accepted: exact-rows)" in told
    assert "class" not in told
    seen = incrowd("verify", tmp_path / "out", "--original", laid / "people.csv")
    assert (seen.code, "each bucket lists exactly the sensitive values" in " ".join(seen.out.split())) == (
        0,
        True,
    )


# ---- real data, counted from the written files


def test_adult(real_data: Path, tmp_path: Path) -> None:
    source = real_data / "adult_arx" / "adult_arx.csv"
    with source.open(encoding="utf-8", newline="") as file:
        names, *original = csv.reader(file)
    at = names.index("occupation")
    quasi = [name for name in names if name != "occupation"]
    asked = Policy(
        quasi_identifiers=quasi,
        sensitive=["occupation"],
        privacy={"k": 10, "l": 6},
        method="anatomy",
        accept=["exact-rows", "correlated-values"],
    )
    written = publish_to(source, asked, tmp_path / "out")
    with (tmp_path / "out" / "data.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    with (tmp_path / "out" / "sensitive.csv").open(encoding="utf-8", newline="") as file:
        top, *lines = csv.reader(file)
    assert (header, top) == ([*quasi, "group"], ["group", "occupation", "count"])
    exact = Counter(tuple(row[:at] + row[at + 1 :]) for row in original)
    assert Counter(tuple(row[:-1]) for row in rows) == exact
    sizes = Counter(row[-1] for row in rows)
    assert min(sizes.values()) >= 10
    assert all(int(count) * 6 <= sizes[group] for group, _, count in lines)
    told: Counter[str] = Counter()
    for _, value, count in lines:
        told[value] += int(count)
    assert told == Counter(row[at] for row in original)
    assert verify(written.folder, source, asked).passed
