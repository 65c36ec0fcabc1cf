"""Screen 5, Compare: empty, running, refused, done; numbers as of the command; cancel keeps trials."""

from __future__ import annotations

import html
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.studio_browser import Surfer
from support.studio_commands import run_shown
from support.studio_visitor import Visitor, patients

from incrowd.commands.comparison import MEASURES, Trial, TrialResult
from incrowd.errors import InputError
from incrowd.policy import Policy
from incrowd.studio.jobs import CANCELLED, DONE, Job
from incrowd.studio.questions.compare import trade_off
from incrowd.studio.views.compare import Compared, wanted_ks, wanted_ls

QUICK = ["mondrian", "topdown", "ring"]
HEAVY = 2_000  # rows of which the method cells takes long enough to be cancelled
ABOUT = "The numbers of this page"


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A studio in which three methods were compared; its tests leave the policy as it was."""
    folder = tmp_path_factory.mktemp("compared")
    patients(folder, 400)
    with Visitor(folder) as visitor:
        visitor.open("patients.csv")
        compare(visitor)
        yield visitor


def compare(visitor: Visitor, **fields: Any) -> Job:
    said = {"method": QUICK, "k": "5, 10", "l": "", "measure": "gcp"} | fields
    page = visitor.post("/compare/run", **said)
    assert page.status_code == 200
    job = visitor.wait_for_job("compare")
    assert isinstance(job, Job)
    return job


def text_of(page: Any) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text.replace("<wbr>", ""))))


def latest(visitor: Visitor) -> Job:
    job = visitor.studio.jobs.latest("compare")
    assert job is not None
    return job


def policy(visitor: Visitor) -> Policy:
    return Policy.load(visitor.policy)


def test_without_a_comparison_the_form_proposes_one(at_table: Visitor) -> None:
    page = at_table.get("/compare")
    assert "Nothing has been compared yet" in page.text
    assert re.search(r'value="mondrian" id="method-mondrian" checked', page.text)
    assert re.search(r'value="ring" id="method-ring" checked', page.text)
    assert re.search(r'value="single" id="method-single">', page.text)  # slower ones are not ticked
    assert re.search(r'value="expc" id="method-expc" disabled aria-describedby="why-expc"', page.text)
    assert "skipped: expc protects outliers: give [privacy.plain]" in page.text
    assert 'value="2, 5, 10, 20"' in page.text
    assert "5 Compare , to do" in text_of(page)


def test_methods_that_count_rows_cannot_be_ticked_where_persons_have_several(at_table: Visitor) -> None:
    at_table.post("/guarantee/entity", entity=str(at_table.column("ssn")))
    page = at_table.get("/compare").text
    assert re.search(r'value="mondrian" id="method-mondrian" checked', page)
    for name in ("ring", "kfactor", "kk", "anatomy"):
        assert re.search(rf'value="{name}" id="method-{name}" disabled', page), name
    assert "skipped: entity: with non-homogeneous methods k counts rows, not persons" in page


def test_its_numbers_are_those_of_the_command_that_it_shows(compared: Visitor) -> None:
    printed = run_shown(compared, "compare", ABOUT)
    job = latest(compared)
    assert job.state == DONE
    assert job.result == printed
    page = text_of(compared.get("/compare"))
    for trial in printed["trials"]:
        gcp, e2 = 100 * trial["loss"]["gcp"], 100 * trial["loss"]["e2"]
        shown = rf"{trial['method']} , k = {trial['k']}[^%]* {trial['k']} 1 in {1 / trial['risk']:.4g} "
        row = re.search(shown + r"[\d.]+ % ([\d.]+) % ([\d.]+) % ([\d,]+) ", page)
        assert row is not None, trial["id"]
        assert (float(row[1]), float(row[2])) == pytest.approx((gcp, e2), abs=0.05)
        assert int(row[3].replace(",", "")) == trial["classes"]
    best = sum(trial["frontier"] for trial in printed["trials"])
    assert page.count(", on the frontier") == best


def test_parts_are_the_trials_of_the_result(compared: Visitor) -> None:
    """So that what is there while it runs, or after a kill, is what is there at the end."""
    job = latest(compared)
    while_running = Compared.of(Job(**{**vars(job), "result": None}))
    at_the_end = {trial["id"]: trial for trial in Compared.of(job).trials}
    assert len(while_running.trials) == len(at_the_end) == 6
    for trial in while_running.trials:
        assert {**trial, "frontier": None} == {**at_the_end[trial["id"]], "frontier": None}


def test_quick_methods_are_tried_first_and_of_these_the_own(tmp_path: Path) -> None:
    patients(tmp_path, 60)
    with Visitor(tmp_path) as visitor:
        visitor.open("patients.csv")
        compare(visitor, method=["topdown"], k="10")
        visitor.post("/compare/use", trial="topdown-k10")
        job = compare(visitor, method=["single", "mondrian", "topdown"], k="10")
        assert job.asked["methods"] == ["topdown", "mondrian", "single"]


METHODS = ("mondrian", "hilbert", "ring", "anatomy")
PLACES = st.lists(
    st.tuples(st.sampled_from(METHODS), st.integers(2, 5), st.sampled_from([None, 2]), st.integers(1, 4)),
    min_size=1,
    max_size=8,
    unique_by=lambda place: place[:3],
)


@given(PLACES)
def test_what_is_as_safe_and_loses_less_is_named(places: list[tuple[str, int, int | None, int]]) -> None:
    """Each trial is (method, k, l, loss), and its risk is 1/k; only classes are compared with classes."""
    found = [
        Trial(name, k, level, TrialResult(0.1, 100, 9, k, 0, 1 / k, 1 / k, dict.fromkeys(MEASURES, loss / 4)))
        for name, k, level, loss in places
    ]
    said = [trial.to_dict(False) for trial in found]
    kind = {"mondrian": "classes", "hilbert": "classes", "ring": "rows", "anatomy": "buckets"}
    for trial, (name, k, level, loss) in zip(found, places, strict=True):
        weighed = trade_off(None, said, "gcp", ("none", 2, None), chosen=trial.id)
        able = [
            (other[3], one.id)
            for other, one in zip(places, found, strict=True)
            if other[1] >= k and other[2] == level and other[3] < loss and kind[other[0]] == kind[name]
        ]
        least = min(able)[0] if able else None
        assert weighed["better"] in {id for loss, id in able if loss == least} | ({""} if not able else set())
        assert not weighed["better"] or trial.id not in weighed["frontier"]


def test_a_trial_that_another_beats_names_it(compared: Visitor) -> None:
    trials = latest(compared).result["trials"]
    beaten = [
        (one, other)
        for one in trials
        for other in trials
        if other["k"] >= one["k"]
        and other["risk"] <= one["risk"]
        and other["loss"]["gcp"] < one["loss"]["gcp"]
        and "ring" not in (one["method"], other["method"])  # it promises something else
    ]
    assert beaten
    page = compared.get(f"/compare?trial={beaten[0][0]['id']}").text
    assert "As safe, and loses less:" in page
    assert "Not on the frontier: another trial beats it" in page
    best = min(trials, key=lambda trial: trial["loss"]["gcp"])
    assert "As safe, and loses less:" not in compared.get(f"/compare?trial={best['id']}").text


@pytest.mark.parametrize("limit", [2, 7, 10, 1000])
def test_the_least_loss_below_a_risk_is_proposed(compared: Visitor, limit: int) -> None:
    page = text_of(compared.get(f"/compare?limit={limit}"))
    able = [trial for trial in latest(compared).result["trials"] if trial["risk"] <= 1 / limit + 1e-12]
    if not able:
        assert "No trial is that safe." in page
        assert f"Compare with a k of {limit:,} or more." in page
        return
    best = min(able, key=lambda trial: (trial["loss"]["gcp"], trial["risk"]))
    assert f"Least loss at 1 in {limit} or safer: {best['method']}, k = {best['k']} " in page
    assert "· proposed" in page


def test_marks_are_links_and_the_chosen_one_stands_out(compared: Visitor) -> None:
    page = compared.get("/compare?trial=topdown-k10&limit=5&measure=e2").text
    assert page.count("<a id='wide-") == page.count("<a id='narrow-") == 6
    assert re.findall(r"<a id='wide-([\w-]+)'[^>]* aria-current='true'", page) == ["topdown-k10"]
    assert "href='/compare?trial=ring-k5&amp;limit=5&amp;measure=e2'" in page
    assert page.count("class='limit'") == 4  # a line and its words, in both forms
    assert '<h2 class="named">topdown, k = 10</h2>' in page
    assert "No such" not in compared.get("/compare?trial=nothing'><b>").text


def test_what_a_record_becomes_is_shown_and_kept_nowhere(compared: Visitor) -> None:
    found = text_of(compared.get("/compare/record?trial=mondrian-k10"))
    assert "From a draft, not verified. Shown to you alone, written nowhere." in found
    assert re.search(r"age \d+ → \[\d+,\d+\]|age \d+ → \d+", found)
    inline = text_of(compared.get("/compare?trial=mondrian-k10&record=yes"))
    assert "One in the middle, by what it loses." in inline
    assert "choose again" in compared.get("/compare/record?trial=none-k1").text


def test_no_cell_is_kept_and_results_stay_in_the_project(compared: Visitor) -> None:
    folder = compared.studio.open.project.folder
    cache = folder / "compared"
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert len(list(cache.glob("*.json"))) == 6 + 2  # trials, and a bound for each k
    table = (compared.studio.folder / "patients.csv").read_text().splitlines()[1:]
    names = {line.split(",")[0] for line in table}
    kept = "".join(path.read_text() for path in [*cache.iterdir(), *(folder / "jobs").iterdir()])
    assert not [name for name in names if name in kept]
    assert "Pneumonia" not in kept


def test_a_trial_is_used_as_one_step_that_can_be_undone(compared: Visitor) -> None:
    before = compared.policy.read_text()
    page = compared.post("/compare/use", trial="topdown-k5", back="/compare?trial=topdown-k5")
    assert "The policy now asks for topdown, k = 5." in page.text
    assert (policy(compared).method, policy(compared).k) == ("topdown", 5)
    comments = [line for line in before.splitlines() if line.startswith("#")]
    assert [line for line in compared.policy.read_text().splitlines() if line.startswith("#")] == comments
    assert "In your policy." in page.text
    assert "Out of date" not in page.text  # method and k are what trials are about
    assert run_shown(compared, "compare", ABOUT)["trials"][0]["id"]  # and the command still runs
    compared.post("/undo")
    assert compared.policy.read_text() == before


def test_with_other_roles_trials_are_out_of_date_and_not_used(compared: Visitor) -> None:
    before = compared.policy.read_text()
    compared.post(f"/columns/{compared.column('zip')}", role="drop")
    try:
        page = compared.get("/compare")
        assert "Out of date." in page.text
        assert "5 Compare , out of date" in text_of(page).replace("↻", "5")
        assert 'action="/compare/use"' not in page.text
        refused = compared.post("/compare/use", trial="topdown-k5")
        assert "these trials were made with other roles" in refused.text
        assert policy(compared).method != "topdown"
    finally:
        compared.post("/undo")
    assert compared.policy.read_text() == before
    assert "Out of date." not in compared.get("/compare").text


def test_what_a_method_does_not_take_is_taken_out_and_said(at_table: Visitor) -> None:
    at_table.run(edit, at_table, [(("privacy", "max_suppression"), "0.05"), (("privacy", "l"), 2)])
    compare(at_table, method=["mondrian", "ring"], k="5", l="none, 2")
    assert (
        "these leave nobody out, so that max_suppression means nothing to them"
        in at_table.get("/compare").text
    )
    page = at_table.post("/compare/use", trial="ring-k5")
    asked = policy(at_table)
    assert (asked.method, asked.k, asked.privacy.l, asked.privacy.max_suppression) == ("ring", 5, None, None)
    assert "Taken out, since this method does not take it" in page.text
    assert "privacy.max_suppression" in page.text


async def edit(visitor: Visitor, changes: list[Any]) -> None:
    await visitor.studio.edit("by hand", changes=changes)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"method": []}, "no method is ticked"),
        ({"method": ["nothing"]}, "no method is ticked"),
        ({"method": ["expc"]}, "no method is ticked"),
        ({"k": "many"}, "k takes whole numbers of at least 2"),
        ({"k": "1"}, "k takes whole numbers of at least 2"),
        ({"l": "some"}, "l takes numbers"),
    ],
)
def test_what_cannot_be_compared_is_refused_at_once(
    at_table: Visitor, fields: dict[str, Any], sentence: str
) -> None:
    said = {"method": QUICK, "k": "5", "l": ""} | fields
    assert sentence in at_table.post("/compare/run", **said).text
    assert at_table.studio.jobs.latest("compare") is None


def test_values_are_read_as_people_write_them() -> None:
    assert wanted_ks(" 20,5; 10 5") == [5, 10, 20]
    assert wanted_ls("none 2, 2.5") == [0, 2, "2.5"]
    assert wanted_ls("  ") == []
    with pytest.raises(InputError, match="1 to 12 whole numbers"):
        wanted_ks("")


def test_a_refused_comparison_says_why(at_table: Visitor) -> None:
    job = compare(at_table, k="5000")
    page = text_of(at_table.get("/compare"))
    assert job.state == DONE
    assert "refused:" in page
    assert "Without a mark" in page


def test_without_a_quasi_identifier_nothing_can_be_compared(at_table: Visitor) -> None:
    for name in list(policy(at_table).quasi_identifiers):
        at_table.post(f"/columns/{at_table.column(name)}", role="drop")
    page = at_table.get("/compare").text
    assert "Nothing can be compared yet: no column is a quasi-identifier." in page
    assert "It needs a quasi-identifier." in page


def test_cancel_keeps_finished_trials_and_none_is_made_again(tmp_path: Path) -> None:
    patients(tmp_path, HEAVY)
    with Visitor(tmp_path) as visitor:
        visitor.open("patients.csv")
        wanted: dict[str, Any] = {"method": ["mondrian", "cells"], "k": "5, 10", "l": ""}
        visitor.post("/compare/run", **wanted)
        running = visitor.run(first_part, visitor)
        page = visitor.get("/compare").text  # the same after the page is loaded again
        assert f'data-job="{running.id}"' in page
        assert "<a id='wide-mondrian-k10'" in page  # the policy's own k comes first
        visitor.post(f"/jobs/{running.id}/cancel")
        job = visitor.wait_for_job("compare")
        assert job.state == CANCELLED
        kept = Compared.of(job).trials
        assert 1 <= len(kept) < 4
        assert f"{len(kept)} finished trial" in visitor.get("/compare").text
        cache = visitor.studio.open.project.inside("compared")
        before = {path.name: path.stat().st_mtime_ns for path in cache.iterdir()}
        assert len(before) >= len(kept)
        again = compare(visitor, **wanted)
        assert again.state == DONE
        made = {trial["id"]: trial for trial in Compared.of(again).trials}
        assert len(made) == 4
        assert {
            path.name: path.stat().st_mtime_ns for path in cache.iterdir() if path.name in before
        } == before
        assert [made[trial["id"]]["seconds"] for trial in kept] == [trial["seconds"] for trial in kept]


async def first_part(visitor: Visitor) -> Job:
    async for job in visitor.studio.jobs.changes(latest(visitor).id):
        if job.parts:
            return job
    raise AssertionError("it ended without a trial")


def test_marks_appear_and_arrows_go_along_the_frontier(surfer: Surfer) -> None:
    with surfer.page() as page:
        surfer.go(page, "/compare")
        page.fill("#k", "5, 10")
        page.click("#compare-form button.strong")
        page.wait_for_selector("[data-job]")
        page.wait_for_selector("[data-job]", state="detached")
        marks = page.locator(".wide-chart [role=radio]")
        best = page.locator(".wide-chart a.best")
        assert marks.count() > best.count() >= 2
        assert page.locator(".wide-chart [role=radio][tabindex='0']").count() == 1
        order = sorted(best.all(), key=lambda mark: mark.bounding_box()["x"])
        ids = [mark.get_attribute("id") for mark in order]
        page.focus(f"#{ids[0]}")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#{ids[0]}[aria-checked='true']")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(f"#{ids[1]}[aria-checked='true']")
        assert page.evaluate("document.activeElement.id") == ids[1]
        assert page.url.endswith("trial=" + ids[1].removeprefix("wide-"))
        assert "likeliest match" in page.text_content("#said")
        page.wait_for_selector(".before-after")
        page.click("#limit-10")
        page.wait_for_selector("#proposal")
        page.locator("#proposal a").click()
        page.wait_for_url("**limit=10**")
        if page.locator("#use").count():
            page.click("#use")
        page.wait_for_selector("text=In your policy.")
    flaws = {}
    for width, dark in ((1280, False), (400, True), (320, False)):
        with surfer.page(width, dark, bypass_csp=True) as page:
            surfer.go(page, "/compare?limit=10")
            page.wait_for_selector(".before-after")
            flaws[width] = (surfer.flaws(page), surfer.too_wide(page))
    assert flaws == dict.fromkeys(flaws, ([], 0))


def test_it_works_without_scripts(surfer: Surfer) -> None:
    with surfer.page():
        pass
    with surfer.page(java_script_enabled=False) as page:
        page.goto(f"{surfer.program.origin}/compare")
        for name in ("hilbert", "incognito", "ring", "lexicographic", "cells"):
            page.uncheck(f"#method-{name}")
        page.fill("#k", "5, 10")
        page.click("#compare-form button.strong")
        page.wait_for_selector("text=finished in")  # the page loads itself again
        page.locator(".wide-chart a.mark").first.click()
        assert "trial=" in page.url
        page.fill("#limit", "10")
        page.click(".answerable button")
        assert page.locator("#proposal").count() == 1
        page.click("text=Show it")
        assert page.locator(".before-after").count() == 1
