"""The screen Check: its verdicts, attacks and answers are those of the commands that it shows."""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from support.night import NIGHT
from support.studio_browser import Surfer
from support.studio_commands import ran
from support.studio_visitor import Visitor, patients

from incrowd.commands.publish import publish
from incrowd.errors import InputError
from incrowd.policy import Policy
from incrowd.studio import releases
from incrowd.studio.attack_rows import MOST_SHOWN, attack_rows, remarks, unpromised, widest
from incrowd.studio.project import TableFile, opened
from incrowd.studio.questions.check import question_sql
from incrowd.studio.views import check


@pytest.fixture(scope="session")
def made(demo_table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of the demo table, with its audit beside it."""
    folder = tmp_path_factory.mktemp("made") / "release-1"
    publish(demo_table, Policy.load(demo_table.parent / "policy.toml").with_(method="mondrian"), folder)
    return folder


def brought(made: Path, folder: Path, name: str = "release-1", audit: bool = True) -> Path:
    """A copy of the release somewhere else, with its audit or without."""
    shutil.copytree(made, folder / name)
    if audit:
        shutil.copytree(made.with_name("release-1.audit"), folder / f"{name}.audit")
    return folder / name


@pytest.fixture
def at_check(at_table: Visitor, made: Path) -> Visitor:
    """A studio with the demo table open, and a release in its project."""
    brought(made, at_table.studio.open.project.inside("releases"))
    return at_table


def did(visitor: Visitor, what: str, **fields: Any) -> str:
    """A heavy one: asked for, and waited for."""
    answer = visitor.post(f"/check/{what}", of=visitor.release(), **fields)
    assert answer.status_code == 200
    job = visitor.wait_for_job(f"check_{what}")
    assert job.state == "done", job.sentence
    return str(visitor.get(f"/check?of={visitor.release()}").text)


def test_without_a_release_it_says_what_to_do(at_table: Visitor) -> None:
    page = at_table.get("/check").text
    assert "There is no release yet" in page
    assert 'href="/publish"' in page
    forged = at_table.post("/check/verify", of="0")
    assert "not in the list any more" in forged.text
    assert at_table.studio.jobs.latest("check_verify") is None


def test_verdict_and_attacks_are_those_of_the_commands(
    at_check: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "k = 10, l = 3, mondrian" in at_check.get("/check").text
    page = did(at_check, "verify")
    said = ran(at_check, monkeypatch, "Verify again")
    assert said["passed"]
    assert "Verified again: it holds everything it claims" in page
    assert f"{len(said['checks'])} of {len(said['checks'])} checks passed" in page
    for each in said["checks"]:
        assert f"<b>{each['name']}</b>" in page
    page = did(at_check, "attack")
    said = ran(at_check, monkeypatch, "Attack")
    job = at_check.studio.jobs.latest("check_attack")
    assert job is not None
    known = {key: job.result[key] for key in said if key != "attacks"}
    assert known == {key: said[key] for key in known}
    assert [{k: v for k, v in each.items() if k != "limit"} for each in job.result["attacks"]] == said[
        "attacks"
    ]
    assert {"held": "Held.", "broken": "Broken."}.get(said["outcome"], "Inconclusive.") in page
    text = unescape(re.sub("<[^>]*>", "", page))
    for name, doubt in said["inconclusive"].items():
        why = re.escape(f" inconclusive: {doubt['reason']}. Needed: {doubt['remedy']}.")
        assert re.search(rf"{re.escape(name)}(, [\w, -]+)?( and \d+ more)? (is|are){why}", text)
    step = next(one for one in re.findall(r'<li class="([a-z-]+)"><a href="/check"', page))
    assert step == ("attention" if said["outcome"] == "broken" else "done")


def test_a_release_that_was_tampered_with_is_rejected_and_old_verdicts_are_out_of_date(
    at_check: Visitor,
) -> None:
    release = at_check.studio.open.project.inside("releases") / "release-1"
    did(at_check, "verify")
    data = release / "data.csv"
    lines = data.read_text().splitlines(keepends=True)
    data.write_text("".join([*lines[:-1], lines[1]]))
    assert "have changed since. Verify again." in at_check.get("/check").text
    page = did(at_check, "verify")
    assert "Rejected: it is not what it claims" in page
    assert "Do not give it away" in page
    assert re.search(
        r'<li class="attention"><a href="/check"[^>]*title="the verifier rejected a release"', page
    )
    (release / "release.json").write_text("{")
    page = did(at_check, "verify")
    assert "Rejected" in page
    assert "its manifest cannot be read" in page


def test_a_release_from_elsewhere_is_checked_against_the_policy_here(at_table: Visitor, made: Path) -> None:
    folder = at_table.studio.folder / "from" / "a-colleague"
    folder.mkdir(parents=True)
    brought(made, folder, audit=False)
    (at_table.studio.folder / "linked").symlink_to(made)
    page = at_table.get("/check").text
    assert "from/a-colleague/release-1" in page
    assert "linked" not in page
    assert "checked against the policy of this project" in page
    (key,) = re.findall(r'<option value="(\w+)" selected>from/a-colleague', page)
    at_table.post("/check/verify", of=key, against="policy")
    job = at_table.wait_for_job("check_verify")
    assert job.state == "done", job.sentence
    assert not job.result["passed"]  # the policy here asks for another method
    assert "manifest" in [each["name"] for each in job.result["checks"] if not each["passed"]]
    page = at_table.get(f"/check?of={key}").text
    assert "Rejected" in page


def test_a_table_of_another_tool_is_audited(at_table: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ages in ranges of ten, written by nobody's program."""
    with (at_table.studio.folder / "patients.csv").open(newline="") as file:
        ages = [(int(row["age"]) // 20 * 20, row["sex"]) for row in csv.DictReader(file)]
    lines = ["age,sex", *(f'"[{low},{low + 19}]",{sex}' for low, sex in ages)]
    (at_table.studio.folder / "other-tool.csv").write_text("\n".join(lines) + "\n")
    (key,) = re.findall(r'<option value="(\w+)">other-tool.csv', at_table.get("/check").text)
    assert "Verify" not in at_table.get(f"/check?of={key}").text.replace("Check", "")
    at_table.post("/check/audit", of=key, against="policy")
    refused = at_table.wait_for_job("check_audit")
    assert refused.state == "refused"  # the policy's other quasi-identifiers are not in this table
    assert refused.sentence in unescape(at_table.get(f"/check?of={key}").text)
    at_table.post("/check/audit", of=key, against="")
    found = at_table.wait_for_job("check_audit")
    assert found.state == "done", found.sentence
    page = at_table.get(f"/check?of={key}").text
    assert "Known to outsiders: age, sex (all columns that both tables have)." in page
    said = ran(at_table, monkeypatch, "Who fits which row", codes=(1,))  # it does not reach the policy's k
    assert said["classes"]["k"] < Policy.from_text(at_table.studio.session.text).k
    assert {key: found.result[key] for key in said} == said
    assert f"<dd>{said['classes']['k']}</dd>" in page


def test_answers_are_those_of_the_command(at_check: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    page = at_check.get("/check").text
    numbers = {name: n for n, name in re.findall(r'id="c(\d+)-name">([^<]+)<', page)}
    age, sex, cost = numbers["age"], numbers["sex"], numbers["cost"]
    asked: dict[str, Any] = {
        "mode": "form",
        f"c{age}-low": "30",
        f"c{age}-high": "60",
        f"c{sex}-is": "F",
    }
    at_check.post(f"/releases/{at_check.release()}/query", aggregate="COUNT", column=cost, **asked)
    page = at_check.get("/check").text
    said = ran(at_check, monkeypatch, "Ask")
    answer = check._looked(at_check.studio).asked
    (noted,) = answer.values()
    assert noted["answer"]["exactly"] == said
    assert f"For certain: {said['lower']} to {said['upper']}." in page
    assert "The estimate assumes that" in page
    assert f'name="c{age}-low" value="30"' in page  # what was asked stays in the form
    at_check.post(f"/releases/{at_check.release()}/query", aggregate="AVG", column=cost, by=sex, **asked)
    said = ran(at_check, monkeypatch, "Ask")
    page = at_check.get("/check").text
    assert "AVG by sex" in page
    assert [unescape(v) for v in re.findall(r'<tr><th scope="row">([^<]*)</th><td class="n">', page)][
        -len(said["groups"]) :
    ] == [group["value"] for group in said["groups"]]
    at_check.post(f"/releases/{at_check.release()}/query", mode="sql", sql="SELECT MAX(age) WHERE sex = 'M'")
    assert ran(at_check, monkeypatch, "Ask")["aggregate"] == "MAX"
    questions_that_cannot_be_answered_say_why(at_check)
    learning_needs_an_extra(at_check, monkeypatch)


UNANSWERED: list[tuple[dict[str, Any], str]] = [
    ({"mode": "sql", "sql": "DROP TABLE x"}, "SELECT"),
    ({"mode": "sql", "sql": " "}, "Nothing was asked"),
    ({"mode": "form", "aggregate": "AVG"}, "Say of which column the AVG is asked."),
    ({"mode": "form", "aggregate": "COUNT", "c0-low": "old"}, "A number was expected"),
    ({"mode": "form", "aggregate": "EVAL"}, "Choose what is asked for"),
]


def questions_that_cannot_be_answered_say_why(visitor: Visitor) -> None:
    for fields, sentence in UNANSWERED:
        page = visitor.post(f"/releases/{visitor.release()}/query", **fields).text
        (problem,) = re.findall(r'<p class="pad bad-text" role="alert">(.*?)</p>', page, re.DOTALL)
        assert sentence in unescape(problem)


def test_names_and_values_are_quoted_in_sql() -> None:
    kinds = {'a"b; --': "categorical", "n": "numeric"}
    asked = [('a"b; --', "=", "x' OR '1'='1"), ("n", ">=", "1e3"), ("n", "<=", "  ")]
    assert (
        question_sql("COUNT", "", asked, 'a"b; --', kinds)
        == """SELECT COUNT(*) WHERE "a""b; --" = 'x'' OR ''1''=''1' AND "n" >= 1000 GROUP BY "a""b; --\""""
    )


def test_reports_are_written_into_the_project_and_run_nothing(at_check: Visitor) -> None:
    at_check.get("/check")
    missing = at_check.get(f"/releases/{at_check.release()}/report")
    assert missing.status_code == 422
    assert "was not written yet" in missing.text
    kinds = ("readers", "private") if NIGHT else ("readers",)  # a private one attacks, too
    for kind in kinds:
        did(at_check, "report", kind=kind)
        answer = at_check.get(f"/releases/{at_check.release()}/report?kind={kind}")
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert "allow-scripts" not in answer.headers["content-security-policy"]
        assert "<script" not in answer.text
        assert answer.headers["cache-control"] == "no-store"
        saved = at_check.get(f"/releases/{at_check.release()}/report?kind={kind}&save=1")
        assert "attachment" in saved.headers["content-disposition"]
    written = "".join(path.read_text() for path in at_check.studio.open.project.inside("jobs").iterdir())
    first = (at_check.studio.folder / "patients.csv").read_text().splitlines()[1].split(",")
    for cell in (*first[:2], "Pneumonia", "Married", "Bachelor"):  # only names and counts are in jobs
        assert cell not in written
    pages = list(at_check.studio.open.project.inside("reports").iterdir())
    assert len(pages) == len(kinds)
    assert {path.stat().st_mode & 0o777 for path in pages} == {0o600}
    for forged in (
        f"/releases/{at_check.release()}/report?kind=other",
        "/releases/7/report",
        f"/releases/{at_check.release()}/report/..%2f..%2fpolicy.toml",
    ):
        assert at_check.get(forged).status_code in (404, 422)


def learning_needs_an_extra(at_check: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without scikit-learn one line says what to install."""
    monkeypatch.setattr(check, "find_spec", lambda _name: None)
    page = at_check.get("/check").text
    assert "pip install 'incrowd[learn]'" in page
    assert 'action="/check/learn"' not in page
    assert (
        "needs scikit-learn" in at_check.post("/check/learn", of=at_check.release(), target="diagnosis").text
    )
    assert at_check.studio.jobs.latest("check_learn") is None


@pytest.mark.skipif(not NIGHT, reason="training takes seconds; by night")
def test_what_is_learnt_is_that_of_the_command(at_check: Visitor) -> None:
    at_check.get("/check")
    page = did(at_check, "learn", target="diagnosis")
    assert re.search(r"<b>diagnosis</b> is predicted right for <b>[\d.]+ %</b>", page)


def test_cancelled_attacks_keep_what_was_found_and_are_not_held(at_check: Visitor) -> None:
    at_check.post("/check/attack", of=at_check.release())
    job = at_check.studio.jobs.latest("check_attack")
    assert job is not None

    async def first_part() -> None:
        async for each in at_check.studio.jobs.changes(job.id):
            if each.parts:  # it stands still, so that it cannot be done before it is cancelled
                assert at_check.studio.jobs.pid is not None
                os.kill(at_check.studio.jobs.pid, signal.SIGSTOP)
                return

    at_check.run(first_part)
    running = at_check.get("/check").text
    assert "Not decided yet." in running
    assert "<b>order</b>" in running
    at_check.post(f"/jobs/{job.id}/cancel")
    assert at_check.studio.jobs.pid is not None
    os.kill(at_check.studio.jobs.pid, signal.SIGCONT)
    at_check.wait_for_job("check_attack")
    page = at_check.get("/check").text
    assert "<b>order</b>" in page
    assert "Not all attacks were tried" in page
    assert "Held." not in page


@pytest.mark.skipif(not NIGHT, reason="attacks take seconds; by night")
def test_two_releases_are_attacked_together(
    at_check: Visitor, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought(made, at_check.studio.open.project.inside("releases"), "release-2")
    for screen in ("check", "publish"):  # either has a form for it, and what was found stands on Check
        page = at_check.get(f"/{screen}").text
        (form,) = re.findall(
            r'<form method="post" action="/check/attack"[^>]*>(?:(?!</form>).)*name="also".*?</form>',
            page,
            re.DOTALL,
        )
        assert at_check.release("release-2") in form
    first, second = at_check.release("release-1"), at_check.release("release-2")
    answer = at_check.post("/check/attack", of=first, also=second)
    assert str(answer.url).endswith(f"/check?of={first}")
    job = at_check.wait_for_job("check_attack")
    assert job.state == "done", job.sentence
    page = at_check.get(f"/check?of={first}").text
    assert "Attacked together with <b>release-2</b>" in page
    assert "The two releases together leave" in page
    assert f'<option value="{second}" selected>release-2' in page
    printed = ran(at_check, monkeypatch, "Attack")
    assert printed["outcome"] == job.result["outcome"]
    found = [each for each in job.result["attacks"] if each["name"].startswith("composition")]
    assert [each["name"] for each in printed["attacks"] if each["name"].startswith("composition")] == [
        each["name"] for each in found
    ]
    stale = "have changed since"
    assert stale not in page
    release_2 = at_check.studio.open.project.inside("releases") / "release-2"
    (release_2 / "README.md").touch()
    assert stale in at_check.get(f"/check?of={first}").text  # the second one's files count, too


def test_two_releases_must_be_two_of_the_list(at_check: Visitor) -> None:
    key = at_check.release()
    assert "choose two different releases" in at_check.post("/check/attack", of=key, also=key).text
    for forged in ("1", "../release-1", "f" * 12):
        assert "not in the list any more" in at_check.post("/check/attack", of=key, also=forged).text
    assert at_check.studio.jobs.latest("check_attack") is None


def test_a_key_stays_with_its_folder_and_links_are_not_followed(tmp_path: Path) -> None:
    table = patients(tmp_path, 5)
    project = opened(tmp_path / "patients.incrowd", TableFile(table))
    own = project.inside("releases")
    for path in (own / "b", own / "c", own / "c.audit", tmp_path / "deep/a/b/c", tmp_path / "deep/.hidden/x"):
        path.mkdir(parents=True)
        (path / "release.json").write_text("{}")
    (tmp_path / "link").symlink_to(own / "b")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "release.json").symlink_to(own / "b" / "release.json")
    mine = releases.releases_of(project)
    assert [(each.name, each.own) for each in mine] == [("b", True), ("c", True)]
    others = releases.releases_below(tmp_path, mine)
    assert [(each.place, each.own) for each in others] == [("deep/a/b/c", False)]
    keys = {each.path: each.key for each in (*mine, *others)}
    assert len(set(keys.values())) == 3
    shutil.rmtree(own / "b")
    project.close()
    project = opened(tmp_path / "patients.incrowd", TableFile(table))
    for each in (*releases.releases_of(project), *others):
        assert each.key == keys[each.path]
        assert releases.meant(each.key, [*mine, *others]).path == each.path
    with pytest.raises(InputError, match="not in the list any more"):
        releases.meant(keys[own / "b"], releases.releases_of(project))
    project.close()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (None, "its manifest cannot be read"),
        ({}, "it does not say what it promises"),
        ({"claims": 3, "method": []}, "it does not say what it promises"),
        ({"claims": [], "method": {"name": "m"}}, "it promises nothing, m"),
        ({"claims": [{"model": "x", "parameters": {}}], "method": {"name": "m"}}, "x, m"),
    ],
)
def test_a_manifest_that_anybody_wrote_is_said_in_words(said: Any, words: str) -> None:
    assert releases.promise_of(said) == words


def test_marks_of_attacks_lie_on_one_scale() -> None:
    rate = {"won": 1, "tried": 10, "share": 0.1, "low": 0.02, "high": 0.4, "exact": False}
    guess = {**rate, "share": 0.0}
    some = [
        {"outcome": outcome, "limit": limit, "attack": rate, "guess": guess}
        for outcome, limit in (("held", 0.5), ("broken", 0.05), ("inconclusive", 0.2))
    ]
    scale = widest(some)
    assert scale == pytest.approx(0.625)
    rows = attack_rows(some, scale)
    assert [row["outcome"] for row in rows] == ["broken", "inconclusive", "held"]
    assert (rows[0]["mark"], rows[0]["line"], rows[2]["line"]) == (16.0, 8.0, 80.0)
    assert widest([]) == 1.0


def told(name: str, share: float, guess: float, limit: float | None = None, **details: int) -> dict[str, Any]:
    """A result as a job keeps it, as far as remarks read it."""
    attack = {"won": 100 * share, "tried": 100, "share": share, "low": share, "high": share, "exact": True}
    outcome = "no bound" if limit is None else "held"
    both = {"attack": attack, "guess": {"share": guess, "tried": 100}, "details": details}
    return {"name": name, "limit": limit, "outcome": outcome, **both}


def test_what_is_learnt_of_sensitive_values_is_said_where_nothing_is_promised() -> None:
    some = [
        told("homogeneity-drug", 0.99, 0.98, persons_with_one_value=70),
        told("homogeneity-cost", 0.4, 0.1, persons_with_one_value=0),
        told("homogeneity-visit", 0.5, 0.1, limit=0.5),
    ]
    (said,) = remarks({"attacks": some, "k": 10})
    assert "Most is learnt of cost" in said
    assert "right for 40.0 % of people, the commonest value of the table for 10.0 %" in said
    assert "In 1 sensitive column" in said
    assert "up to 70 people" in said
    assert remarks({"attacks": some[2:], "k": 10}) == []
    assert remarks({"attacks": [told("homogeneity-cost", 0.1, 0.1)], "k": 10}) == []


def test_of_many_attacks_without_a_bound_those_are_shown_that_gain_most() -> None:
    many = [told(f"skewness-c{n}", n / 1000, 0.0) for n in range(MOST_SHOWN + 7)]
    shown = unpromised([*many, told("degree", 0.9, 0.0, limit=0.9)])
    assert [each["name"] for each in shown] == [f"skewness-c{n}" for n in range(MOST_SHOWN + 6, 6, -1)]


LOOKS = [(width, dark) for width in (1280, 400, 320) for dark in (False, True)]


@pytest.mark.skipif(not NIGHT, reason="one look at all screens is in test_acceptance; more by night")
def test_the_screen_is_accessible_and_fits(surfer: Surfer, made: Path) -> None:
    place = Path(f"/proc/{surfer.program.process.pid}/cwd").resolve()
    brought(made, place)
    with surfer.page(bypass_csp=True) as page:
        surfer.go(page, "/check")
        for wait in (".verdict.good", "table.attacks"):  # the main button is what comes next
            page.click(".foot .btn.main")
            page.wait_for_selector(wait)
        page.fill("[name=c0-low]", "30")
        page.click("#ask form button >> nth=0")
        page.wait_for_selector(".answer")
        assert re.search(r"/check\?of=[0-9a-f]{12}$", page.url)
    found: dict[str, Any] = {}
    for width, dark in LOOKS:
        with surfer.page(width, dark, bypass_csp=True) as page:
            surfer.go(page, "/check")
            page.evaluate("document.querySelectorAll('main details').forEach((box) => { box.open = true })")
            found[f"{width} {dark}"] = (surfer.flaws(page), surfer.too_wide(page))
    assert {place: flaws for place, flaws in found.items() if flaws != ([], 0)} == {}
