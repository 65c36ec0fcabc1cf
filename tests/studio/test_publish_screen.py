"""Screen 6, Publish: before, running, refused, done; numbers as of the command; no half release."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.places import ROOT
from support.studio_browser import Surfer
from support.studio_commands import run_shown
from support.studio_visitor import Visitor, patients

from incrowd.errors import InputError
from incrowd.policy import Policy
from incrowd.schema import CHECKS
from incrowd.studio.jobs import CANCELLED, DONE, INTERRUPTED, REFUSED, Job
from incrowd.studio.releases import wanted_name

HEAVY = 12_000
RELEASE, LOSS = "The release of this policy", "The loss by column of the last release"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A studio with one release, made with mondrian, l and an entity of its own for each row."""
    folder = tmp_path_factory.mktemp("published")
    patients(folder, 400)
    with Visitor(folder) as visitor:
        visitor.open("patients.csv")
        visitor.run(edit, visitor, [(("method",), "mondrian"), (("privacy", "l"), 2)])
        publish(visitor)
        yield visitor


async def edit(visitor: Visitor, changes: list[Any]) -> None:
    await visitor.studio.edit("by hand", changes=changes)


def publish(visitor: Visitor, name: str = "", form: str = "csv") -> Job:
    visitor.post("/publish/start", name=name, form=form)
    job = visitor.wait_for_job("publish")
    assert isinstance(job, Job)
    return job


def text_of(page: Any) -> str:
    shown = page.text.replace("<wbr>", "")  # where a name may be broken
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", shown)))


def inside(visitor: Visitor) -> set[str]:
    return {path.name for path in visitor.studio.open.project.inside("releases").iterdir()}


def test_before_it_says_what_is_promised(at_table: Visitor) -> None:
    page = at_table.get("/publish")
    text = text_of(page)
    assert "Every equivalence class has at least 10 people" in text
    assert "Everybody in the table has a row." in text
    assert 'value="release-1"' in page.text
    assert "None. A weakness that is known beforehand is refused" in text
    assert re.search(r'<button class="btn main" form="publish-form">Publish and verify', page.text)
    assert "not verified; shown to you alone" in text
    draft = text_of(at_table.get("/publish/draft"))
    assert draft.count("before") == draft.count("after") == 3
    assert draft == text_of(at_table.get("/publish/draft"))
    assert "From the one that loses least" in text_of(at_table.get("/publish?draft=yes"))


def test_its_numbers_are_those_of_the_command_that_it_shows(published: Visitor) -> None:
    page, text = published.get("/publish"), text_of(published.get("/publish"))
    job = published.studio.jobs.latest("publish")
    assert job is not None
    assert (job.state, job.result) == (DONE, {"release": "release-1"})
    assert "release-1: published and verified" in text
    losses = text_of(published.get(f"/releases/{published.release('release-1')}/details"))
    measured = run_shown(published, "publish", LOSS)
    for name, said in measured["columns"].items():
        found = re.search(rf" {name} (?:too coarse to ask )?([\d.]+) %", losses.partition("What was lost")[2])
        assert found is not None
        assert float(found[1]) == pytest.approx(100 * said["gcp"], abs=0.05)
    assert f"{measured['classes']} classes, {measured['smallest_class']} to " in losses
    printed = run_shown(published, "publish", RELEASE)  # makes release-2
    assert Path(printed["release"]).name == "release-2"
    facts = printed["verdict"]["facts"]
    assert (
        f"rows {facts['rows']} left out {facts['suppressed']} classes {facts['classes']} loss (GCP)" in text
    )
    assert f"loss (GCP) {100 * printed['loss']['gcp']:.1f} %" in text
    for claim in printed["manifest"]["claims"]:
        about = f" ({claim['column']})" if claim.get("column") else ""
        asked = next(iter(claim["parameters"].values()))
        assert f"asked {asked} reached {facts['reached'][claim['model'] + about]}" in text
    for line in printed["two_way"]["headline"]:
        assert line in text.replace(" : ", ": ")
    for check in printed["verdict"]["checks"]:
        assert re.search(rf"<b>{re.escape(html.escape(check['name']))}</b>", page.text), check["name"]
    listed = text_of(published.get("/publish"))
    assert "release-2" in listed  # made by the command, and listed all the same
    assert listed.count("this policy and table") == 2


def test_it_says_what_is_given_away_and_what_is_not_promised(published: Visitor) -> None:
    text = text_of(published.get(f"/releases/{published.release('release-1')}"))
    folder = published.studio.open.project.inside("releases")
    for path in (folder / "release-1").iterdir():
        assert path.name in text
    assert "Keep this private release-1.audit/ audit.json" in text
    assert "That nobody learns who is in the table." in text
    assert "checks passed." in text


def test_rows_before_and_after_are_those_of_the_files(published: Visitor) -> None:
    folder = published.studio.open.project.inside("releases") / "release-1"
    published_rows = (folder / "data.csv").read_text()
    page = published.get(f"/releases/{published.release('release-1')}/details").text
    after = [html.unescape(cell) for cell in re.findall(r'<td class="after[^>]*>([^<]+)</td>', page)]
    ranges = [cell for cell in after if re.fullmatch(r"\[\d+,\d+\]", cell)]
    assert ranges
    assert all(f'"{cell}"' in published_rows for cell in ranges)
    assert page == published.get(f"/releases/{published.release('release-1')}/details").text.replace("\r", "")
    assert "What was lost" in published.get(f"/releases/{published.release('release-1')}?all=yes").text


def test_jobs_hold_no_cell(published: Visitor) -> None:
    jobs = published.studio.open.project.inside("jobs")
    kept = "".join(path.read_text() for path in jobs.iterdir())
    rows = (published.studio.folder / "patients.csv").read_text().splitlines()[1:]
    assert not [name for name in {line.split(",")[0] for line in rows} if name in kept]
    assert "Pneumonia" not in kept


def test_an_address_means_the_same_release_when_another_is_gone(published: Visitor) -> None:
    publish(published, "short-lived")
    gone = published.release("short-lived")
    publish(published, "later")
    address = f"/releases/{published.release('later')}"
    assert "later: published and verified" in text_of(published.get(address))
    for path in published.studio.open.project.inside("releases").glob("short-lived*"):
        shutil.rmtree(path)
    assert "later: published and verified" in text_of(published.get(address))
    answer = published.get(f"/releases/{gone}")
    assert (answer.status_code, "not in the list any more" in answer.text) == (422, True)
    for path in published.studio.open.project.inside("releases").glob("later*"):
        shutil.rmtree(path)


def test_a_release_of_another_policy_says_so(published: Visitor) -> None:
    before = published.policy.read_text()
    published.run(edit, published, [(("privacy", "k"), 20)])
    try:
        page = published.get("/publish")
        assert "Publish and verify" in page.text  # this policy has no release yet
        assert "another policy or table" in text_of(page)
        assert ", out of date: published with another policy or table" in text_of(page)
        old = text_of(published.get(f"/releases/{published.release('release-1')}"))
        assert "It was made with another policy or another content of the table." in old
    finally:
        published.post("/undo")
    assert published.policy.read_text() == before
    assert published.get("/releases/99").status_code == 422


def test_a_refused_release_writes_nothing_and_names_a_control(at_table: Visitor) -> None:
    at_table.run(edit, at_table, [(("privacy", "k"), 500)])
    page = at_table.get("/publish")
    assert "This does not fit yet" in page.text
    assert '<button class="btn main" disabled aria-describedby="blocked">' in page.text
    job = publish(at_table)
    assert job.state == REFUSED
    assert job.refused == "Infeasible"
    page = at_table.get("/publish")
    assert "Refused. Nothing was written." in page.text
    assert job.sentence.splitlines()[0][1:] in text_of(page)
    controls = re.search(r'<ul class="controls">(.*?)</ul>', page.text, re.DOTALL)
    assert controls is not None
    assert 'href="/compare">Take another method' in controls[1]
    assert inside(at_table) == set()
    at_table.run(edit, at_table, [(("privacy", "k"), 10)])  # with another policy it does not stand there
    assert "Refused." not in at_table.get("/publish").text


def test_an_exposure_is_accepted_by_its_name_or_not_at_all(at_table: Visitor) -> None:
    at_table.post(f"/columns/{at_table.column('ssn')}", role="keep")
    job = publish(at_table)
    assert (job.state, job.refused) == (REFUSED, "Exposure")
    page = at_table.get("/publish").text
    assert '<button class="btn" name="exposure" value="near-unique-keep">' in page
    assert "--accept" not in text_of(at_table.get("/publish")).partition("Show the policy")[0]
    assert inside(at_table) == set()
    assert "no exposure of this name" in at_table.post("/publish/accept", exposure="all").text
    at_table.post("/publish/accept", exposure="near-unique-keep")
    assert Policy.load(at_table.policy).accept == ("near-unique-keep",)
    assert publish(at_table).state == DONE
    assert "Accepted exposures: near-unique-keep" in text_of(at_table.get("/publish"))
    at_table.post("/publish/accept", exposure="near-unique-keep")
    assert Policy.load(at_table.policy).accept == ()


def test_who_is_left_out_stands_in_the_headline(at_table: Visitor) -> None:
    at_table.run(edit, at_table, [(("method",), "topdown"), (("privacy", "max_suppression"), "0.2")])
    assert publish(at_table).state == DONE
    audit = at_table.studio.open.project.inside("releases") / "release-1.audit" / "audit.json"
    gone = json.loads(audit.read_text())["verdict"]["facts"]["suppressed"]
    assert gone > 0
    title = re.search(r"<h1[^>]*>(.*?)</h1>", at_table.get("/publish").text)
    assert title is not None
    assert title[1] == f"release-1: published and verified, {gone} of 400 records left out"


@pytest.mark.parametrize(
    "name", ["../up", "a/b", ".hidden", "x.audit", "x.AUDIT", "a" * 61, "a b", "a\nb", "-r"]
)
def test_a_name_that_cannot_be_is_refused(at_table: Visitor, name: str) -> None:
    with pytest.raises(InputError, match="the name of a release has up to 60"):
        wanted_name(at_table.studio.open.project, name)
    assert "the name of a release has up to 60" in at_table.post("/publish/start", name=name).text
    assert at_table.studio.jobs.latest("publish") is None


def test_nothing_is_replaced_and_other_formats_are_written(at_table: Visitor) -> None:
    assert publish(at_table, "mine", "parquet-typed").state == DONE
    assert "data.parquet" in {
        path.name for path in (at_table.studio.open.project.inside("releases") / "mine").iterdir()
    }
    assert "there is a release mine already" in at_table.post("/publish/start", name="mine").text
    assert "choose a format from the list" in at_table.post("/publish/start", form="xlsx").text
    assert "mine: published and verified" in text_of(at_table.get("/publish"))


async def group_is_made(visitor: Visitor) -> Job:
    last = visitor.studio.jobs.latest("publish")
    assert last is not None
    async for job in visitor.studio.jobs.changes(last.id):
        if job.step in ("group", "suppress", "generalize", "write", "verify"):
            return job
    raise AssertionError("it ended too soon")


def test_cancel_leaves_nothing_and_a_kill_no_half_release(tmp_path: Path) -> None:
    patients(tmp_path, HEAVY)
    with Visitor(tmp_path) as visitor:
        visitor.open("patients.csv")
        visitor.post("/publish/start", name="", form="csv")
        job = visitor.run(group_is_made, visitor)
        page = visitor.get("/publish").text  # the same after the page is loaded again
        assert f'data-job="{job.id}"' in page
        assert 'class="now" data-stage=' in page
        visitor.post(f"/jobs/{job.id}/cancel")
        assert visitor.wait_for_job("publish").state == CANCELLED
        assert inside(visitor) == set()
        visitor.run(edit, visitor, [(("privacy", "k"), 7)])
        visitor.post("/publish/start", name="", form="csv")
        visitor.run(group_is_made, visitor)
        pid = visitor.studio.jobs.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert visitor.wait_for_job("publish").state == INTERRUPTED
        assert "was interrupted" in visitor.get("/publish").text
    with Visitor(tmp_path) as again:
        again.get("/")
        again.post("/start/project", follow=False, project="0")
        again.wait()
        assert Policy.load(again.policy).k == 7
        page = again.get("/publish").text
        assert "No half release is left; publish again." in page
        assert "Releases of this project" not in page
        assert {name for name in inside(again) if not name.startswith(".incrowd-stage-")} == set()
        assert publish(again).state == DONE
        assert inside(again) == {"release-1", "release-1.audit"}  # what the kill left was swept


def test_the_same_policy_for_a_new_table_tells_what_no_longer_fits(at_table: Visitor) -> None:
    at_table.run(edit, at_table, [(("privacy", "k"), 7)])
    lines = (at_table.studio.folder / "patients.csv").read_text().splitlines()
    place = lines[0].split(",").index("age")
    new = [lines[0].replace("zip", "postcode")]
    for number, line in enumerate(lines[1:]):
        cells = line.split(",")
        cells[place] = "about forty" if number == 3 else cells[place]
        new.append(",".join(cells))
    (at_table.studio.folder / "next.csv").write_text("\n".join(new) + "\n")
    page = at_table.get("/publish").text
    assert '<option value="0">next.csv</option>' in page
    at_table.post("/publish/next", file="0", follow=False)
    at_table.wait()
    assert at_table.studio.open.project.folder.name == "next.incrowd"
    assert Policy.load(at_table.policy).k == 7
    text = text_of(at_table.get("/publish"))
    assert "The policy names a column zip, which the table does not have." in text
    assert "The column postcode has no role." in text
    assert "about forty" not in text
    assert " age is declared numeric, but 1 of its " in text
    assert "This does not fit yet" in text
    at_table.get("/publish")
    assert "has a project already" in at_table.post("/publish/next", file="0").text
    before = at_table.policy.read_text()
    assert "Take zip out of the policy" in text_of(at_table.get("/columns"))
    at_table.post("/columns/absent")
    assert "zip" not in dict(Policy.load(at_table.policy).roles())
    assert "which the table does not have" not in text_of(at_table.get("/publish"))
    assert "the table has every column" in at_table.post("/columns/absent").text
    at_table.post("/undo")
    assert at_table.policy.read_text() == before


def test_checks_are_those_that_are_documented() -> None:
    text = (ROOT / "docs" / "promise.md").read_text(encoding="utf-8")
    table = text.partition("## What the verifier checks")[2].partition("## ")[0]
    named = set(re.findall(r"^\| `([a-z]+)`", table, re.MULTILINE))
    assert named == set(CHECKS)


def test_from_a_table_to_a_verified_release_in_a_browser(surfer: Surfer) -> None:
    with surfer.page() as page:
        surfer.go(page, "/publish")
        page.wait_for_selector(".pairs")
        page.click("text=Publish and verify")
        page.wait_for_selector(".banner h1:has-text('published and verified')")
        page.wait_for_selector(".histogram")
        assert page.locator("[data-job]").count() == 0
        assert "Published and verified: 400 rows." in page.text_content("#said")
    flaws = {}
    for width, dark in ((1280, False), (400, True), (320, False)):
        with surfer.page(width, dark, bypass_csp=True) as page:
            surfer.go(page, "/publish")
            page.click(".earlier-table a")
            page.wait_for_selector(".histogram")
            flaws[f"done {width}"] = (surfer.flaws(page), surfer.too_wide(page))
    with surfer.page(400, bypass_csp=True) as page:
        surfer.go(page, "/columns")
        page.select_option("#role-1", "keep")
        page.wait_for_selector("text=Accept near-unique-keep")
        surfer.go(page, "/publish")
        page.wait_for_selector("text=This does not fit yet")
        flaws["blocked"] = (surfer.flaws(page), surfer.too_wide(page))
        page.click("text=Accept near-unique-keep")
        page.wait_for_selector(".pairs")
        flaws["before"] = (surfer.flaws(page), surfer.too_wide(page))
    assert flaws == dict.fromkeys(flaws, ([], 0))
