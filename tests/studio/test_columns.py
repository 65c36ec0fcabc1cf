"""The screen Columns: its numbers are those of the commands that it shows; a change is a step of undo."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.studio_commands import ran
from support.studio_visitor import Visitor
from typer.testing import CliRunner

from incrowd.cli.app import app
from incrowd.policy import Policy
from incrowd.studio.pages import number


def role(visitor: Visitor, name: str, role: str) -> str:
    answer = visitor.post(f"/columns/{visitor.column(name)}", role=role)
    assert answer.status_code == 200
    return str(answer.text)


def facts(page: str) -> list[str]:
    (inside,) = re.findall(r'<dl class="facts">(.*?)</dl>', page, re.DOTALL)
    return [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<dd[^>]*>(.*?)</dd>", inside)]


def test_the_risk_is_that_of_the_command_after_every_change(
    clean: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, to in (
        ("admitted", "drop"),
        ("zip", "keep"),
        ("visit_type", "quasi_identifier"),
        ("age", "drop"),
    ):
        page = role(clean, name, to)
        (risk,) = ran(clean, monkeypatch, "The risk of this policy")["risks"]
        mine = clean.get("/risk").json()
        assert {key: mine[key] for key in risk} == risk
        shown = [risk["unique"], risk["below_5"] - risk["unique"], risk["below_10"] - risk["below_5"]]
        shown += [risk["rows"] - risk["below_10"], risk["smallest"]]
        assert facts(page)[:5] == [number(count) for count in shown]


def test_what_one_column_and_three_tell_is_that_of_the_command(
    clean: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clean.studio.folder)
    page = clean.get("/columns").text.replace("<wbr>", "")
    triples = re.findall(r"<li><span>(\w+) \+ (\w+) \+ (\w+)</span><b>([\d.]+) %</b>", page)
    assert triples
    sets = [",".join(three[:3]) for three in triples] + ["age", "sex", "diagnosis"]
    arguments = [part for known in sets for part in ("--risk", known)]
    policy = str(clean.policy)
    result = CliRunner().invoke(app, ["inspect", "patients.csv", "-p", policy, *arguments, "--json"])
    risks = {tuple(risk["columns"]): risk for risk in json.loads(result.output)["risks"]}
    for *columns, share in triples:
        found = next(risk for known, risk in risks.items() if set(known) == set(columns))
        assert float(share) == pytest.approx(100 * found["unique"] / found["rows"], abs=0.06)
    for name in ("age", "sex", "diagnosis"):
        left = re.findall(
            rf'id="column-{clean.column(name)}".*?≈ ([\d,.]+) (?:people|person)', page, re.DOTALL
        )
        assert left[0] == number(risks[(name,)]["mean_size"])


def test_what_is_published_unchanged_and_finds_people_is_said(visitor: Visitor) -> None:
    """Two sensitive columns that say together who somebody is; more with the second one than without it."""
    lines = [f"{20 + n % 3},{n // 10},{n % 10}" for n in range(100)]
    (visitor.studio.folder / "visits.csv").write_text("age,diagnosis,cost\n" + "\n".join(lines) + "\n")
    visitor.open("visits.csv")
    roles = {"age": "quasi_identifier", "diagnosis": "sensitive", "cost": "sensitive"}
    for name, role in roles.items():
        visitor.post(f"/columns/{list(roles).index(name)}", role=role)
    page = visitor.get("/columns?told=yes").text
    assert "2 columns are sensitive or kept" in page
    assert re.findall(r"<span>diagnosis \+ cost</span><b>([\d.]+ %)</b>", page) == ["100 %"]
    later = visitor.post(
        "/columns/2", role="drop"
    ).text  # the old numbers stay until the new ones are counted
    assert 'hx-get="/columns/told"' in later
    assert 'class="stack stale"' in later
    assert "published unchanged" not in visitor.get("/columns/told").text
    assert 'hx-get="/columns/told"' not in visitor.get("/columns").text


def test_codes_that_become_a_quasi_identifier_stay_codes(visitor: Visitor) -> None:
    lines = [f"{20 + n % 30},{1 + n % 6},{n % 4}" for n in range(120)]
    (visitor.studio.folder / "visits.csv").write_text("age,ward_id,diagnosis\n" + "\n".join(lines) + "\n")
    page = visitor.open("visits.csv").text
    assert "they number or code things" in page
    for other in ("drop", "quasi_identifier"):
        visitor.post("/columns/1", role=other)
    policy = Policy.load(visitor.policy)
    assert policy.quasi_identifiers["ward_id"].type == "categorical"
    undone = visitor.studio.session.before
    assert undone is not None
    assert "ward_id" not in Policy.from_text(undone).quasi_identifiers  # role and kind are one step


def test_a_change_says_what_it_did_and_undo_takes_it_back(clean: Visitor) -> None:
    role(clean, "admitted", "drop")
    before = clean.policy.read_bytes()
    first = clean.get("/risk").json()["unique"]
    page = role(clean, "zip", "drop")
    now = clean.get("/risk").json()["unique"]
    assert f"<b>zip to Drop</b>: {number(first - now)} fewer stand alone" in page
    assert "You chose Drop." in page
    assert 'aria-label="Undo: zip to Drop"' in page
    assert "<ins>" in page
    assert "zip" in Policy.load(clean.policy).drop
    page = clean.post("/undo", back="/columns").text
    assert "Undone: zip to Drop." in page
    assert 'aria-label="Redo: zip to Drop"' in page
    assert clean.policy.read_bytes() == before
    clean.post("/redo")
    assert clean.get("/risk").json()["unique"] == now


def test_several_columns_are_one_step(clean: Visitor) -> None:
    before = clean.policy.read_bytes()
    ticked = [str(clean.column(name)) for name in ("age", "sex", "zip")]
    page = clean.post("/columns/several", column=ticked, role="drop").text
    assert "3 columns to Drop" in page
    assert set(Policy.load(clean.policy).drop) == {"age", "sex", "zip"}
    clean.post("/undo")
    assert clean.policy.read_bytes() == before
    assert "no column is ticked" in clean.post("/columns/several", role="drop").text
    assert "choose a role" in clean.post("/columns/several", column=ticked, role="king").text
    assert clean.policy.read_bytes() == before


def test_suggestions_come_back_with_one_click(clean: Visitor) -> None:
    roles = dict(Policy.load(clean.policy).roles())
    for name, to in (("age", "sensitive"), ("ssn", "entity"), ("cost", "keep")):
        role(clean, name, to)
    clean.post("/columns/suggested")
    assert dict(Policy.load(clean.policy).roles()) == roles


def test_examples_of_identifiers_are_shown_when_asked_only(clean: Visitor) -> None:
    names = clean.studio.folder.joinpath("patients.csv").read_text().splitlines()[1].split(",")[0]
    page = clean.get("/columns").text
    assert names not in page
    assert names in clean.get(f"/columns?examples={clean.column('name')}").text


def test_without_a_quasi_identifier_the_page_says_what_to_do(clean: Visitor) -> None:
    page = ""
    for name, each in dict(Policy.load(clean.policy).roles()).items():
        if each == "quasi_identifier":
            page = role(clean, name, "drop")
    assert "No column is a quasi-identifier." in page
    assert "It needs a quasi-identifier." in page
    assert clean.get("/risk").json() is None
    assert re.search(
        r'class="attention"><a href="/columns"[^>]*title="no column is a quasi-identifier"', page
    )


def test_a_near_unique_keep_names_the_exposure_before_it_blocks(clean: Visitor) -> None:
    page = role(clean, "admitted", "keep")
    assert "Accept near-unique-keep" in page
    page = clean.post("/columns/accept", exposure="near-unique-keep").text
    assert Policy.load(clean.policy).accept == ("near-unique-keep",)
    assert "Accept near-unique-keep" not in page
    assert "not one of these columns" in clean.post("/columns/accept", exposure="all").text
    assert Policy.load(clean.policy).accept == ("near-unique-keep",)


def test_what_cannot_be_is_refused_in_a_sentence(clean: Visitor) -> None:
    role(clean, "ssn", "entity")
    before = clean.policy.read_bytes()
    assert "ssn is the entity, and there is one" in role(clean, "name", "entity")
    assert "there is no such column" in clean.post("/columns/400", role="drop").text
    assert clean.policy.read_bytes() == before


def test_the_costs_are_those_of_the_command_and_the_advice_is_one_step(
    at_table: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = role(at_table, "diagnosis", "quasi_identifier")
    before = at_table.policy.read_bytes()
    page = at_table.post("/columns/costs").text
    job = at_table.wait_for_job("costs")
    assert job.state == "done", job
    wanted = ran(at_table, monkeypatch, "What each column costs")
    assert job.result["columns"] == wanted["columns"]
    page = at_table.get("/columns").text
    for column in wanted["columns"]:
        assert f"{100 * column['cost']:+.2f} points" in page
        assert column["reason"] in page
    moved = {column["name"]: column["advice"] for column in wanted["columns"] if column["advice"]}
    assert moved
    assert "no advice is ticked" in at_table.post("/columns/advice").text
    number = at_table.column("diagnosis")
    assert re.search(rf'name="column" value="{number}"><label', page)  # against one's own choice: not ticked
    at_table.post("/columns/advice", column=[str(at_table.column(name)) for name in moved])
    advised = dict(Policy.load(at_table.policy).roles())
    assert {name: str(advised[name]) for name in moved} == moved
    assert Policy.load(at_table.policy).to_dict() == wanted["improved"]
    page = at_table.get("/columns").text
    assert "Made with other roles; measure again." in page
    assert "measure again first" in at_table.post("/columns/advice").text
    at_table.post("/undo")
    assert at_table.policy.read_bytes() == before


def test_names_are_shown_as_text_whatever_they_are(visitor: Visitor) -> None:
    nasty = ['<img src=x onerror="alert(1)">', "a'b", "{{7*7}}", "x\u202ey", "{% raw %}", "ünï"]
    header = ",".join('"' + name.replace('"', '""') + '"' for name in nasty)
    rows = "\n".join(f"{i},{i % 3},<b>{i % 4}</b>,{i % 2},{i % 5},{i}" for i in range(60))
    (visitor.studio.folder / "nasty.csv").write_text(f"{header}\n{rows}\n", encoding="utf-8")
    visitor.open("nasty.csv")
    for path in ("/table", "/columns"):
        page = visitor.get(path).text
        assert "<img src=x" not in page
        assert "<b>1</b>" not in page
        assert "&lt;img src=x" in page
        assert "{{7*7}}" in page
        assert "\u202e" not in page
    assert visitor.post("/columns/0", role="drop").status_code == 200
    assert nasty[0] in Policy.load(visitor.policy).drop


def test_a_wide_table_has_pages_and_a_search(visitor: Visitor) -> None:
    names = [f"q{i}" for i in range(130)]
    rows = "\n".join(",".join(str((i * j) % 7) for j in range(130)) for i in range(40))
    (visitor.studio.folder / "wide.csv").write_text(",".join(names) + "\n" + rows + "\n")
    visitor.open("wide.csv")
    page = visitor.get("/columns?page=3").text
    assert 'id="column-129"' in page
    assert 'id="column-119"' not in page
    found = visitor.get("/columns?find=q12").text
    assert re.findall(r'<tr id="column-(\d+)"', found) == ["12", *(str(i) for i in range(120, 130))]
    assert "No column is called so" in visitor.get("/columns?find=zzz").text
    assert "q129" in visitor.get("/table?columns=3").text


def test_a_policy_changed_outside_is_noticed(at_table: Visitor) -> None:
    theirs = at_table.policy.read_text() + "\n# by hand\n"
    at_table.policy.write_text(theirs)
    page = at_table.get("/columns").text
    assert "policy.toml was changed outside of the studio" in page
    assert "Say first which of the two counts" in role(at_table, "zip", "drop")
    assert at_table.policy.read_text() == theirs
    at_table.post("/outside", which="theirs")
    assert at_table.studio.session.text == theirs
    at_table.policy.write_text("[broken\n")
    page = at_table.get("/columns").text
    assert "It cannot be used as it is" in page
    assert 'value="theirs"' not in page
    at_table.post("/outside", which="theirs")
    assert at_table.studio.session.text == theirs
    at_table.post("/outside", which="mine")
    assert at_table.policy.read_text() == theirs


def test_a_second_studio_may_only_look(at_table: Visitor) -> None:
    before = at_table.policy.read_bytes()
    with Visitor(at_table.studio.folder) as second:
        second.open("patients.csv")
        assert "Only to look at." in second.get("/columns").text
        assert "only be looked at" in role(second, "zip", "drop")
        assert at_table.policy.read_bytes() == before
        role(at_table, "zip", "drop")
        assert "You chose Drop." in second.get("/columns").text


def test_the_table_of_a_project_may_change(at_table: Visitor) -> None:
    folder = at_table.studio.folder
    role(at_table, "zip", "drop")
    at_table.post("/close")
    table = folder / "patients.csv"
    table.write_text("\n".join(table.read_text().splitlines()[:200]) + "\n")
    page = at_table.open("patients.csv").text
    assert "The table has changed" in page
    assert "You chose Drop." in at_table.get("/columns").text  # the same policy, a new table
    table.write_text("age,other\n1,2\n3,4\n")
    at_table.post("/close")
    at_table.open("patients.csv")
    page = at_table.get("/columns").text
    assert "columns that this table does not have" in page
    assert Path(at_table.policy).read_text()
