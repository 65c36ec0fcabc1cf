"""The screen Hierarchies: its levels are those of the command and of the release; files are never lost."""

from __future__ import annotations

import csv
import gzip
import html
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from support.places import DATA
from support.studio_visitor import Visitor, patients
from typer.testing import CliRunner

import incrowd as ic
from incrowd import tables
from incrowd.cli.app import app
from incrowd.commands.inspect import KnownColumns
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.builders import read_levels
from incrowd.policy import Policy
from incrowd.studio import hierarchy_drafts
from incrowd.studio import hierarchy_forms as forms
from incrowd.studio.pages import number

EDUCATION = ("No diploma", "High school", "Vocational", "Some college", "Bachelor", "Master", "Doctorate")


def use(visitor: Visitor, name: str, **fields: Any) -> str:
    return str(visitor.post(f"/hierarchies/{visitor.column(name)}", **fields).text)


def policy(visitor: Visitor) -> Policy:
    return Policy.load(visitor.policy)


def hierarchy(visitor: Visitor, name: str) -> Any:
    return policy(visitor).quasi_identifiers[name].hierarchy


def ran(visitor: Visitor, monkeypatch: pytest.MonkeyPatch, about: str) -> Any:
    monkeypatch.chdir(visitor.studio.folder)
    visitor.get("/hierarchies")
    (line,) = re.findall(rf"# {about}\n(incrowd .*)", visitor.get("/command").text)
    result = CliRunner().invoke(app, [*shlex.split(line)[1:], "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def undo_all(visitor: Visitor) -> None:
    while visitor.studio.session.undoes:
        visitor.post("/undo")


FORMS: tuple[tuple[str, dict[str, Any], Any], ...] = (
    ("zip", {"builder": "prefix", "prefix": "4, 3"}, {"prefix": [4, 3]}),
    ("zip", {"builder": "mask", "mask": "1 2"}, {"mask": [1, 2]}),
    (
        "age",
        {"builder": "intervals", "intervals": "5; 10", "origin": "0", "top": "90"},
        {"intervals": [5, 10], "origin": 0, "top": 90},
    ),
    ("age", {"builder": "intervals", "intervals": "0.5, 10"}, {"intervals": ["0.5", 10]}),
    ("age", {"builder": "digits", "digits": "1"}, {"digits": [1]}),
    (
        "age",
        {"builder": "cuts", "cuts": "0, 18, 65, 120\r\n0, 120"},
        {"cuts": [[0, 18, 65, 120], [0, 120]]},
    ),
    (
        "admitted",
        {"builder": "dates", "dates": ["quarter", "year", "decade"], "years": "5"},
        {"dates": ["quarter", "year", "5 years", "decade"]},
    ),
    (
        "education",
        {"builder": "ordered", "ordered": "\r\n".join(EDUCATION), "groups": "2, 4"},
        {"ordered": list(EDUCATION), "groups": [2, 4]},
    ),
    ("sex", {"builder": "flat"}, {"flat": True}),
    ("occupation", {"builder": "rare", "rare": "10"}, {"rare": 10}),
)


@pytest.mark.parametrize(("name", "fields", "spec"), FORMS, ids=lambda part: str(part)[:24])
def test_a_form_says_what_the_policy_then_has_and_undo_takes_it_back(
    name: str, fields: dict[str, Any], spec: Any, at_table: Visitor
) -> None:
    first = at_table.policy.read_bytes()
    page = use(at_table, name, **fields)
    assert hierarchy(at_table, name) == spec
    assert 'class="levels"' in page
    # the form shows what is in the policy: sent again as it is, it changes nothing
    again = forms.fields_of({"hierarchy": spec})
    assert forms.spec_of(again["builder"], again) == forms.spec_of(fields["builder"], again | fields)
    undo_all(at_table)
    assert at_table.policy.read_bytes() == first


def test_levels_and_risk_are_those_of_the_command(at_table: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    use(at_table, "zip", builder="prefix", prefix="4, 3")
    use(at_table, "age", builder="intervals", intervals="5, 10", top="90")
    use(at_table, "occupation", builder="rare", rare="10")
    found = {one["column"]: one for one in ran(at_table, monkeypatch, "The levels of this page")["levels"]}
    assert set(found) == {"zip", "age", "occupation"}
    for name, counts in found.items():
        place = at_table.column(name)
        assert at_table.get(f"/hierarchies/{place}/levels").json() == counts
        page = at_table.get(f"/hierarchies/{place}").text
        heads = re.findall(r"<dt>groups</dt><dd>([\d,]+)</dd><dt>smallest</dt><dd>([\d,]+)</dd>", page)
        shown = [(number(one["labels"]), number(one["smallest"])) for one in counts["levels"]]
        assert heads == shown
        below = [number(one["below_k"]) for one in counts["levels"]]
        assert re.findall(r"<dt>below k = 10</dt><dd[^>]*>([\d,]+)</dd>", page) == below
    risk = ic.inspect("patients.csv", at_table.policy).risk_of(
        list(policy(at_table).quasi_identifiers), levels={"zip": 2, "age": 1}
    )
    page = at_table.get(f"/hierarchies?at{at_table.column('zip')}=2&at{at_table.column('age')}=1").text
    assert "zip at level 2" in text_of(page)
    assert re.findall(r'<p class="big [^>]*>([\d,]+)</p>', page) == [number(risk.unique)]
    facts = re.findall(r'<dl class="facts">(.*?)</dl>', page, re.DOTALL)[0]
    cells = [re.sub(r"<[^>]*>", "", one) for one in re.findall(r"<dd[^>]*>(.*?)</dd>", facts)]
    assert cells == [
        number(count)
        for count in (
            risk.unique,
            risk.below_5 - risk.unique,
            risk.below_10 - risk.below_5,
            risk.rows - risk.below_10,
            risk.below_k or 0,
            risk.smallest,
        )
    ]


def test_the_preview_is_what_the_release_uses(at_table: Visitor, tmp_path: Path) -> None:
    """Of a draft first, then of the release that is published with it."""
    place = at_table.column("zip")
    page = at_table.post(f"/hierarchies/{place}/draft", builder="prefix", prefix="3, 2").text
    shown = re.findall(r'aria-label="Labels of level (\d)">(.*?)</ul>', page, re.DOTALL)
    labels = [re.findall(r"<li[^>]*><span>(.*?)</span>", inside) for _, inside in shown]
    use(at_table, "zip", builder="prefix", prefix="3, 2")
    exported = at_table.get(f"/hierarchies/{place}/file.csv")
    assert exported.headers["content-disposition"] == 'attachment; filename="zip.csv"'
    rows = [line.split(";") for line in exported.text.splitlines()]
    assert [list(dict.fromkeys(row[level] for row in rows)) for level in range(4)] == labels
    ic.publish(tmp_path / "patients.csv", at_table.policy, tmp_path / "release")
    column = policy(at_table).schema(tables.read(tmp_path / "patients.csv")).column("zip")
    assert [list(row) for row in column.levels] == rows
    with (tmp_path / "release" / "data.csv").open(encoding="utf-8", newline="") as file:
        published = {row["zip"] for row in csv.DictReader(file)}
    assert published <= {label for row in rows for label in row}


def drafts_of(folder: Path) -> Path:
    return folder / "patients.incrowd" / "hierarchies" / ".drafts.json"


def test_a_draft_is_there_after_a_restart_until_it_is_used(tmp_path: Path) -> None:
    patients(tmp_path, 200)
    file = "".join(f"{level};{level[0]};*\n" for level in EDUCATION[:-1])  # one value is absent
    with Visitor(tmp_path) as visitor:
        visitor.open("patients.csv")
        zip_, education, age = (visitor.column(name) for name in ("zip", "education", "age"))
        visitor.post(f"/hierarchies/{zip_}/draft", builder="prefix", prefix="3")
        visitor.post(f"/hierarchies/{education}/import", text=file)
        visitor.post(f"/hierarchies/{age}/draft", builder="intervals", intervals="10, 5")  # does not nest
        before = visitor.policy.read_bytes()
        pages = [text_of(visitor.get(f"/hierarchies/{n}").text) for n in (zip_, education, age)]
        assert "1 of 7 values" in pages[1]
    kept = drafts_of(tmp_path)
    assert kept.stat().st_mode & 0o777 == 0o600
    with Visitor(tmp_path) as visitor:
        visitor.open("patients.csv")
        assert "a hierarchy is looked at, and not used yet" in text_of(visitor.get("/table").text)
        assert [text_of(visitor.get(f"/hierarchies/{n}").text) for n in (zip_, education, age)] == pages
        assert visitor.policy.read_bytes() == before
        visitor.post(f"/hierarchies/{age}/discard")
        visitor.post(f"/hierarchies/{education}/replace", how="complete")
        use(visitor, "zip", builder="prefix", prefix="3")
        assert json.loads(kept.read_bytes()) == {}
        visitor.post("/undo")
        assert hierarchy(visitor, "zip") is None
        assert hierarchy(visitor, "education") is not None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[1]",
        b'{"zip": {"builder": "prefix"}}',
        b'{"zip": 3, "age": null}',
        b"[" * 100_000,
        json.dumps({"zip": {**forms.fields_of({}), "builder": "file", "file": "../../other.csv"}}).encode(),
    ],
)
def test_drafts_that_somebody_else_wrote_do_no_harm(tmp_path: Path, content: bytes) -> None:
    patients(tmp_path, 50)
    (tmp_path.parent / "other.csv").write_text("04101;canary;*\n")
    drafts_of(tmp_path).parent.mkdir(parents=True)
    drafts_of(tmp_path).write_bytes(content)
    with Visitor(tmp_path) as visitor:
        visitor.open("patients.csv")
        for name in ("zip", "age"):
            page = visitor.get(f"/hierarchies/{visitor.column(name)}")
            assert page.status_code == 200
            assert "canary" not in page.text


@pytest.mark.parametrize("builder", [one.name for one in forms.BUILDERS])
def test_every_form_is_kept_as_it_was_typed(builder: str) -> None:
    typed = forms.typed_fields({"builder": [builder], "dates": ["month"], "mean": ["yes"]}) | {"file": ""}
    assert hierarchy_drafts._is_form(json.loads(json.dumps(typed)))
    assert hierarchy_drafts._is_form(
        json.loads(json.dumps(forms.fields_of({"hierarchy": "hierarchies/a-1.csv"})))
    )


def test_a_draft_is_shown_and_changes_nothing_until_it_is_used(at_table: Visitor) -> None:
    first = at_table.policy.read_bytes()
    place = at_table.column("zip")
    page = at_table.post(f"/hierarchies/{place}/draft", builder="prefix", prefix="3").text
    assert "Not used yet" in page
    assert 'value="prefix" checked' in page
    assert at_table.policy.read_bytes() == first
    bad = at_table.post(f"/hierarchies/{place}/draft", builder="prefix", prefix="2, 3").text
    assert "each entry of prefix must be smaller than the one before" in bad
    assert "No levels" in bad
    assert at_table.post(f"/hierarchies/{place}", builder="prefix", prefix="x").status_code == 200
    assert "write whole numbers with commas" in at_table.get(f"/hierarchies/{place}").text
    at_table.post(f"/hierarchies/{place}/discard")
    assert "write whole numbers" not in at_table.get(f"/hierarchies/{place}").text
    assert at_table.policy.read_bytes() == first


@pytest.mark.parametrize(
    ("name", "fields", "sentence"),
    [
        ("age", {"builder": "intervals", "intervals": "5, 7"}, "larger multiple of the one before"),
        ("age", {"builder": "cuts", "cuts": "30, 40"}, "lie outside its cuts"),
        ("admitted", {"builder": "dates", "dates": []}, "must be a list with at least one entry"),
        ("education", {"builder": "ordered", "ordered": "Master", "groups": "2"}, "lacks 6 of"),
        ("education", {"builder": "icd10", "icd10": ["chapter"]}, "are no codes of ICD-10"),
        ("zip", {"builder": "file"}, "choose a file first"),
        ("zip", {"builder": "wand"}, "choose one of the ways to generalize"),
        ("education", {"builder": "family", "family": "Master;Nothing"}, ""),
        ("education", {"builder": "family", "family": ""}, "write one set a line"),
    ],
)
def test_what_does_not_fit_is_refused_beside_the_form(
    name: str, fields: dict[str, Any], sentence: str, at_table: Visitor
) -> None:
    first = at_table.policy.read_bytes()
    page = text_of(use(at_table, name, **fields))
    assert sentence in page
    if sentence:
        assert at_table.policy.read_bytes() == first


def test_no_path_comes_from_the_browser(at_table: Visitor, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("".join(f"{value};*\n" for value in EDUCATION))
    first = at_table.policy.read_bytes()
    for path in ("../secret.csv", str(tmp_path / "secret.csv"), "hierarchies/../../secret.csv"):
        use(at_table, "education", builder="file", file=path)
        at_table.post(f"/hierarchies/{at_table.column('education')}/import", chosen=path)
        assert at_table.policy.read_bytes() == first
    page = at_table.get(f"/hierarchies/{at_table.column('education')}").text
    (chosen,) = re.findall(r'<option value="(\d+ secret\.csv)">', page)
    at_table.post(f"/hierarchies/{at_table.column('education')}/import", chosen=chosen)
    at_table.post(f"/hierarchies/{at_table.column('education')}/replace", how="as it is")
    assert hierarchy(at_table, "education") == "hierarchies/education-1.csv"


def test_an_incomplete_file_warns_before_it_replaces_and_undo_restores(at_table: Visitor) -> None:
    place = at_table.column("education")
    full = "".join(f"{value};{'School' if 'i' in value else 'More'};*\n" for value in EDUCATION)
    at_table.post(f"/hierarchies/{place}/import", text=full)
    at_table.post(f"/hierarchies/{place}/replace", how="as it is")
    before, old = at_table.policy.read_bytes(), hierarchy(at_table, "education")
    part = "".join(full.splitlines(keepends=True)[:4])
    page = at_table.post(f"/hierarchies/{place}/import", text=part).text
    assert "3 of 7 values are absent" in text_of(page)
    assert at_table.policy.read_bytes() == before
    assert hierarchy(at_table, "education") == old

    page = at_table.post(f"/hierarchies/{place}/replace", how="anyway").text
    assert "is not complete" in page
    assert hierarchy(at_table, "education") != old
    assert "lacks 3 of the column" in at_table.get("/guarantee").text  # among the steps
    at_table.post("/undo")
    assert at_table.policy.read_bytes() == before
    assert 'class="levels"' in at_table.get(f"/hierarchies/{place}").text

    at_table.post(f"/hierarchies/{place}/import", text=part)
    at_table.post(f"/hierarchies/{place}/replace", how="complete")
    rows = read_levels(at_table.policy.parent / hierarchy(at_table, "education"))
    assert {row[0] for row in rows} == set(EDUCATION)
    assert rows[:4] == tuple(tuple(line.split(";")) for line in part.splitlines())
    assert all(row == (row[0], row[0], "*") for row in rows[4:])


def test_what_is_no_tree_is_not_imported(at_table: Visitor) -> None:
    place = at_table.column("education")
    first = at_table.policy.read_bytes()
    for text, sentence in (
        ("a;b;*\na;c;*\n", "names a leaf twice"),
        ("a;b\nc\n", "rows of different length"),
        ("", "paste the lines of a hierarchy"),
    ):
        assert sentence in at_table.post(f"/hierarchies/{place}/import", text=text).text
    assert at_table.policy.read_bytes() == first


def test_values_move_between_groups_and_the_old_files_stay(at_table: Visitor) -> None:
    place = at_table.column("occupation")
    first = at_table.policy.read_bytes()

    def move(**fields: Any) -> Any:
        return at_table.post(f"/hierarchies/{place}/move", digest=at_table.studio.session.digest, **fields)

    move(do="move", level="1", item=["0", "1"], to="Hands")
    rows = read_levels(at_table.policy.parent / hierarchy(at_table, "occupation"))
    assert [row[1] for row in rows[:3]] == ["Hands", "Hands", rows[2][0]]
    move(do="move", level="1", item=["2"], to="Hands")
    move(do="rename", level="1", group="Hands", to="Manual")
    move(do="add", level="1")
    rows = read_levels(at_table.policy.parent / hierarchy(at_table, "occupation"))
    assert [row[1:] for row in rows[:3]] == [("Manual", "Manual", "*")] * 3
    # the groups of level 1 move on level 2, with all that is under them
    move(do="move", level="2", item=["0", "1"], to="Outside")
    rows = read_levels(at_table.policy.parent / hierarchy(at_table, "occupation"))
    assert [row[2] for row in rows[:5]] == ["Outside"] * 4 + [rows[4][0]]
    Hierarchy.from_rows(rows)
    page = at_table.get(f"/hierarchies/{place}?level=2").text
    assert 'data-group="Outside"' in page
    move(do="remove", level="1")
    assert len(read_levels(at_table.policy.parent / hierarchy(at_table, "occupation"))[0]) == 3
    assert len(list((at_table.policy.parent / "hierarchies").iterdir())) == 6
    for fields, sentence in (
        ({"do": "move", "level": "1", "item": [], "to": "x"}, "nothing is ticked"),
        ({"do": "move", "level": "1", "item": ["0"], "to": "*"}, "* is everything"),
        ({"do": "move", "level": "7", "item": ["0"], "to": "x"}, "this level is not there"),
        ({"do": "rename", "level": "1", "group": "gone", "to": "x"}, "this group is not there"),
    ):
        assert sentence in html.unescape(move(**fields).text)
    stale = at_table.post(f"/hierarchies/{place}/move", digest="old", do="add", level="1")
    assert "has changed since this page was shown" in stale.text
    undo_all(at_table)
    assert at_table.policy.read_bytes() == first


def test_suggestions_are_one_click(at_table: Visitor) -> None:
    page = at_table.get("/hierarchies").text
    assert re.findall(r'action="/hierarchies/(\d+)/suggested"', page)
    at_table.post(f"/hierarchies/{at_table.column('age')}/suggested", back="/hierarchies")
    at_table.post(f"/hierarchies/{at_table.column('admitted')}/suggested")
    assert hierarchy(at_table, "age") == {"intervals": [5, 10, 20], "top": 90}
    assert hierarchy(at_table, "admitted") == {"dates": ["month", "quarter", "year"]}
    again = at_table.post(f"/hierarchies/{at_table.column('age')}/suggested").text
    assert "nothing else is suggested" in again


def test_comments_and_other_keys_stay(at_table: Visitor) -> None:
    text = at_table.policy.read_text()
    text = text.replace(
        'zip = {type = "categorical"}',
        '# by hand: do not touch\nzip = {type = "categorical", publish = "set"}  # mine',
    ).replace("[privacy]", '[descriptions]\nzip = "where they live"\n\n[privacy]')
    at_table.policy.write_text(text)
    at_table.post("/outside", which="theirs")
    use(at_table, "zip", builder="prefix", prefix="3")
    use(at_table, "zip", builder="none", publish="set")
    assert at_table.policy.read_text() == text
    use(at_table, "zip", builder="family", family="04100;04101\n04101;04102", complete="yes")
    found = policy(at_table).quasi_identifiers["zip"]
    assert found.family == (("04100", "04101"), ("04101", "04102"))
    assert found.complete
    assert "# by hand: do not touch" in at_table.policy.read_text()
    assert policy(at_table).descriptions == {"zip": "where they live"}


def test_a_file_that_changes_outside_is_read_again(at_table: Visitor) -> None:
    place = at_table.column("education")
    text = "".join(f"{value};School;*\n" for value in EDUCATION)
    at_table.post(f"/hierarchies/{place}/import", text=text)
    at_table.post(f"/hierarchies/{place}/replace", how="as it is")
    assert at_table.get(f"/hierarchies/{place}/levels").json()["levels"][1]["labels"] == 2  # missing
    path = at_table.policy.parent / hierarchy(at_table, "education")
    path.write_text("".join(f"{value};{value[0]};*\n" for value in EDUCATION))
    assert at_table.get(f"/hierarchies/{place}/levels").json()["levels"][1]["labels"] == 8


def test_without_a_quasi_identifier_it_says_what_to_do(at_table: Visitor) -> None:
    for name in ("age", "sex", "zip", "education", "occupation", "marital_status", "admitted"):
        at_table.post(f"/columns/{at_table.column(name)}", role="drop")
    assert "Give a column this role" in at_table.get("/hierarchies").text
    refused = at_table.get(f"/hierarchies/{at_table.column('age')}")
    assert refused.status_code == 422
    assert "is no quasi-identifier" in refused.text


def test_numbers_that_are_codes_become_text_and_back(visitor: Visitor, tmp_path: Path) -> None:
    lines = [f"{10000 + 7 * n % 900},{n % 3}\n" for n in range(60)]
    (tmp_path / "codes.csv").write_text("height,ill\n" + "".join(lines))
    visitor.open("codes.csv")
    visitor.post("/columns/0", role="quasi_identifier")
    use(visitor, "height", builder="prefix", prefix="3, 1")
    assert (policy(visitor).quasi_identifiers["height"].type, hierarchy(visitor, "height")) == (
        "categorical",
        {"prefix": [3, 1]},
    )
    use(visitor, "height", builder="intervals", intervals="100")
    assert policy(visitor).quasi_identifiers["height"].type in (None, "numeric")


def test_long_lists_are_capped_and_searched(visitor: Visitor, tmp_path: Path) -> None:
    lines = [f"K{n:04},{n % 2}\n" for n in range(600)]
    (tmp_path / "many.csv").write_text("ward,ill\n" + "".join(lines))
    visitor.open("many.csv")
    visitor.post("/columns/0", role="quasi_identifier")
    use(visitor, "ward", builder="prefix", prefix="3")
    page = visitor.get("/hierarchies/0").text
    assert page.count('draggable="true"') == 200
    assert "and 400 more; search for them" in text_of(page)
    found = visitor.get("/hierarchies/0?find=K059").text
    assert re.findall(r'draggable="true" data-item="(\d+)"', found) == [str(n) for n in range(590, 600)]


def test_labels_are_shown_as_text_whatever_they_are(visitor: Visitor, tmp_path: Path) -> None:
    nasty = "<img src=x onerror=alert(1)>"
    lines = [f'"{nasty}",{n}\n' for n in range(30)] + [f"plain,{n}\n" for n in range(30)]
    (tmp_path / "odd.csv").write_text("ward,ill\n" + "".join(lines))
    visitor.open("odd.csv")
    visitor.post("/columns/0", role="quasi_identifier")
    digest = visitor.studio.session.digest
    visitor.post("/hierarchies/0/move", digest=digest, do="move", level="1", item="0", to="<b>&\"'</b>")
    page = visitor.get("/hierarchies/0").text
    assert nasty not in page
    assert "<b>&" not in page
    assert html.escape(nasty) in page


def test_groups_count_what_a_plain_count_finds(tmp_path: Path) -> None:
    """The people of each label, counted in another way."""
    read = tables.read(patients(tmp_path, 120))
    asked = Policy.from_dict(
        {"quasi_identifiers": {"zip": {"hierarchy": {"prefix": [3, 2]}}}, "rest": "drop", "entity": "name"}
    )
    known = KnownColumns.of(read, asked)
    levels = known._tree("zip")
    texts, names = read.column("zip"), read.column("name")
    rows = [(texts.texts[a] or "", b) for a, b in zip(texts.codes, names.codes, strict=True)]
    for level, cut in ((0, 5), (1, 3), (2, 2)):
        people: dict[str, set[int]] = {}
        for text, person in rows:
            people.setdefault(text[:cut].ljust(5, "_"), set()).add(int(person))
        found = {group.label: group.people for group in levels.groups(level, known.persons)}
        assert found == {label: len(them) for label, them in people.items()}


def test_hierarchies_of_others_are_imported_as_they_are(visitor: Visitor, tmp_path: Path) -> None:
    """ARX's files for the admissions of diabetic patients: all of them fit, and come back as they were."""
    folder = DATA / "diabetes130" / "hierarchies"
    if not folder.is_dir():
        pytest.skip("the table diabetes130 and its hierarchies are not here")
    wanted = ("race", "gender", "age", "medical_specialty")
    with gzip.open(folder.parent / "diabetes130.csv.gz", "rt", encoding="utf-8") as file:
        lines = [line for _, line in zip(range(3000), file, strict=False)]
    (tmp_path / "diabetes.csv").write_text("".join(lines))
    visitor.open("diabetes.csv")
    for name in wanted:
        place = visitor.column(name)
        visitor.post(f"/columns/{place}", role="quasi_identifier")
        text = (folder / f"{name}.csv").read_text(encoding="utf-8")
        page = visitor.post(f"/hierarchies/{place}/import", text=text).text
        assert "Every value is there" in page
        visitor.post(f"/hierarchies/{place}/replace", how="as it is")
        exported = visitor.get(f"/hierarchies/{place}/file.csv").text
        separator = ";" if ";" in text.splitlines()[0] else ","
        assert len(exported.splitlines()) == len([line for line in text.splitlines() if separator in line])
