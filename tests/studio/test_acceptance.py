"""The studio is accepted when these 25 statements hold; each test is named after its number.

Some are about one long visit in a real browser (`tour`): from the start page to a checked release. Others
talk to the same pages without one. Screens have tests of their own beside this file.
"""

from __future__ import annotations

import csv
import http.client
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from studio.test_guard import FORGED
from support.canaries import MARK, NUMBERS, write_table
from support.night import NIGHT
from support.studio_browser import Surfer, program_in
from support.studio_commands import ran
from support.studio_program import Program
from support.studio_visitor import BROWSER, Visitor, patients
from typer.testing import CliRunner

from incrowd.cli.app import app
from incrowd.commands.measure import measure
from incrowd.policy import Policy
from incrowd.studio import views

SCREENS = [f"/{name}" for name, _ in views.STEPS]
NARROW = (400, 320)
# Each screen by night at every width, light and dark; by day once, in turn wide and light or narrow and dark.
EVERY_LOOK = [(width, dark) for width in (1280, *NARROW) for dark in (False, True)]
LOOKS = {
    path: EVERY_LOOK if NIGHT else [((1280, False), (400, True))[place % 2]]
    for place, path in enumerate(SCREENS)
}
FIRST_EDIT = "age"


# One visit, looked at in many ways


@dataclass
class Tour:
    """What was seen on the way from the start page to a checked release."""

    surfer: Surfer
    clicks: int = 0
    titles: list[str] = field(default_factory=list)
    sockets: set[str] = field(default_factory=set)
    listening: set[str] = field(default_factory=set)
    flaws: dict[str, list[str]] = field(default_factory=dict)
    too_wide: dict[str, int] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return Path(f"/proc/{self.surfer.program.process.pid}/cwd").resolve()

    @property
    def project(self) -> Path:
        return self.folder / "incrowd-demo" / "patients.incrowd"

    def look_around(self, page: Any) -> None:
        """The title, and where the processes of the studio are connected to."""
        self.titles.append(page.inner_text("h1"))
        for local, remote, state in connections(self.surfer.program.process.pid):
            (self.listening if state == "0A" else self.sockets).add(local if state == "0A" else remote)

    def click(self, page: Any, what: str, title: str) -> None:
        self.clicks += 1
        page.click(what)
        page.wait_for_selector(f"h1:has-text('{title}')")
        self.look_around(page)


def connections(pid: int) -> list[tuple[str, str, str]]:
    """Local and remote address and state of all TCP sockets of a process and its children."""
    family = [pid, *(int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    inodes = set()
    for each in family:
        try:
            links = [os.readlink(handle.path) for handle in os.scandir(f"/proc/{each}/fd")]
        except OSError:
            continue  # it has ended meanwhile
        inodes |= {link[8:-1] for link in links if link.startswith("socket:")}
    found = []
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[9] in inodes:
                found.append((words[1].split(":")[0], words[2].split(":")[0], words[3]))
    return found


LOOPBACK = "0100007F"  # 127.0.0.1, as the kernel writes it


@pytest.fixture(scope="module")
def tour(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tour]:
    """The demo by mouse, then every screen in light and dark, wide and narrow."""
    with program_in(tmp_path_factory.mktemp("tour")) as program:
        found = Tour(Surfer(browser, program))
        with found.surfer.page() as page:
            found.look_around(page)
            found.click(page, "text=Try the demo table", "Is this the table you mean?")
            for title in ("What is each column?", "made coarser?", "promise", "at what price?", "Publish"):
                found.click(page, ".foot .btn.main", title)
            found.click(page, ".foot .btn.main", "published and verified")
        yield found


def seen(tour: Tour) -> Tour:
    """Every screen at every size, once; axe comes from outside, so these pages do without their policy."""
    if tour.flaws:
        return tour
    with tour.surfer.page(bypass_csp=True) as page:
        tour.surfer.go(page, "/check")
        page.click(".foot .btn.main")
        page.wait_for_selector(".verdict.good")
    for width, dark in EVERY_LOOK:
        paths = [path for path in SCREENS if (width, dark) in LOOKS[path]]
        if not paths:
            continue
        with tour.surfer.page(width, dark, bypass_csp=True) as page:
            for path in paths:
                tour.surfer.go(page, path)
                page.wait_for_selector("text=The release is being read", state="detached")
                page.evaluate(
                    "document.querySelectorAll('main details').forEach((one) => { one.open = true })"
                )
                tour.flaws[f"{path} {width} {dark}"] = tour.surfer.flaws(page)
    with tour.surfer.page(
        NARROW[0]
    ) as page:  # as everybody sees it, with its policy; one page in both widths
        for path in SCREENS:
            tour.surfer.go(page, path)
            for width in NARROW:
                page.set_viewport_size({"width": width, "height": 900})
                if NIGHT:  # and loaded in it
                    tour.surfer.go(page, path)
                tour.too_wide[f"{path} {width}"] = tour.surfer.too_wide(page)
    return tour


def published(visitor: Visitor, name: str) -> Any:
    visitor.post("/publish/start", name=name, form="csv")
    return visitor.wait_for_job("publish")


def said(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


# The statements


def test_01_without_a_table_the_start_page_and_without_the_extra_one_line(tour: Tour) -> None:
    assert tour.titles[0] == "Which table do you want to publish?"
    script = (
        "import sys; sys.modules['starlette'] = None\n"
        "from incrowd.cli.app import main\nsys.argv = ['incrowd', 'studio']\nmain()"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert (ended.stdout + ended.stderr).strip().splitlines() == [
        "incrowd: the studio needs more packages: pip install 'incrowd[web]'"
    ]


def test_02_the_demo_goes_from_table_to_verified_release_in_8_clicks(tour: Tour) -> None:
    assert tour.clicks <= 8
    assert "published and verified" in tour.titles[-1]
    assert (tour.project / "releases" / "release-1" / "release.json").is_file()


def test_03_the_same_by_keyboard_only(browser: Any, tmp_path: Path, demo_table: Path) -> None:
    """To the main button of each screen with Tab, then Enter."""
    (tmp_path / "patients.csv").write_bytes(demo_table.read_bytes())
    with program_in(tmp_path, "patients.csv") as program:
        surfer = Surfer(browser, program)
        with surfer.page() as page:
            page.wait_for_selector("h1:has-text('Is this the table')")
            for title in (
                "What is each",
                "made coarser",
                "promise",
                "what price",
                "Publish",
                "published and",
            ):
                page.evaluate("document.activeElement.blur()")
                page.keyboard.press("Shift+Tab")  # from the end of the page, where the main button is
                for _ in range(6):
                    if page.evaluate("document.activeElement.matches('.foot .btn.main')"):
                        break
                    page.keyboard.press("Shift+Tab")
                page.keyboard.press("Enter")
                page.wait_for_selector(f"h1:has-text('{title}')")
        assert surfer.heard.messages == []


def test_04_no_sideways_scroll_at_400_and_320(tour: Tour) -> None:
    assert {place: width for place, width in seen(tour).too_wide.items() if width} == {}
    assert len(tour.too_wide) == len(SCREENS) * len(NARROW)


def test_05_axe_finds_nothing(tour: Tour) -> None:
    assert {place: flaws for place, flaws in seen(tour).flaws.items() if flaws} == {}
    assert len(tour.flaws) == sum(map(len, LOOKS.values())) >= len(SCREENS)


def test_06_nothing_leaves_this_computer(tour: Tour) -> None:
    assert seen(tour).surfer.heard.outside == []
    assert tour.sockets <= {LOOPBACK}


def test_07_only_loopback_listens(tour: Tour) -> None:
    assert tour.listening == {LOOPBACK}


def test_08_every_address_refuses_forged_requests(desk: Visitor) -> None:
    """Each address that changes something with forgeries of the matrix, which `test_guard` has whole."""
    keys, before = desk.studio.keys, desk.policy.read_bytes()
    cookies = {
        "right": f"{keys.cookie_name}={keys.cookie}",
        "wrong": "x=y",
        "other-port": f"incrowd_1={keys.cookie}",
    }
    tokens = {"right": keys.form, "wrong": "y" * 43}
    addresses = [
        route.path for route in views.routes() if "POST" in (route.methods or ()) and route.path != "/open"
    ]
    assert len(addresses) > 30
    tried = 0
    forged = FORGED if NIGHT else FORGED[::29]
    desk.client.cookies.clear()
    try:
        for address in addresses:
            path = re.sub(r"\{[^}]*\}", "1", address)
            for headers, token, cookie in forged:
                sent = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document", **headers}
                answer = desk.client.post(
                    path,
                    data={"token": tokens.get(token, ""), "role": "drop", "of": "0", "name": "forged"},
                    headers={**sent, "cookie": cookies.get(cookie, "")},
                    follow_redirects=False,
                )
                assert 400 <= answer.status_code < 500, (address, headers, token, cookie)
                tried += 1
    finally:
        desk.client.cookies.set(keys.cookie_name, keys.cookie)
    assert tried >= 500
    assert desk.policy.read_bytes() == before
    assert desk.studio.jobs.running is None
    assert not desk.studio.quitting


def test_09_the_token_works_once_and_cookies_of_other_ports_do_not(tour: Tour) -> None:
    program = tour.surfer.program
    port = int(program.origin.rpartition(":")[2])

    def status(method: str, path: str, body: str = "", **headers: str) -> int:
        asked = http.client.HTTPConnection("127.0.0.1", port)
        kind = {"content-type": "application/x-www-form-urlencoded", "origin": program.origin} if body else {}
        with closing(asked):
            asked.request(method, path, body or None, {**BROWSER, **kind, **headers})
            return asked.getresponse().status

    assert status("POST", "/open", f"link={program.token}") == 403  # the browser of the tour has used it
    (cookie,) = (one for one in tour.surfer._state["cookies"] if one["name"].startswith("incrowd_"))
    assert cookie["name"] == f"incrowd_{port}"
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert status("GET", "/table", cookie=f"incrowd_{port}={cookie['value']}") == 200
    assert status("GET", "/table", cookie=f"incrowd_{port - 1}={cookie['value']}") == 403


def test_10_no_violation_and_nothing_on_the_console(tour: Tour) -> None:
    assert seen(tour).surfer.heard.messages == []


def test_11_a_role_change_updates_the_risk_as_inspect_counts_it(
    clean: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How fast is measured by `./run bench studio`."""
    clean.post(f"/columns/{clean.column('admitted')}", role="drop")
    (risk,) = ran(clean, monkeypatch, "The risk of this policy")["risks"]
    mine = clean.get("/risk").json()
    assert {key: mine[key] for key in risk} == risk


def test_12_risk_is_exact_and_the_last_row_is_reached(tmp_path: Path) -> None:
    """Of a million rows by night."""
    rows = 1_000_000 if NIGHT else 5_000
    patients(tmp_path, rows)
    with Visitor(tmp_path) as visitor:
        visitor.open("patients.csv")
        names = Policy.load(visitor.policy).quasi_identifiers
        with (tmp_path / "patients.csv").open(newline="", encoding="utf-8") as file:
            counts = Counter(tuple(row[name] for name in names) for row in csv.DictReader(file))
        found = visitor.get("/risk").json()
        assert found["unique"] == sum(count == 1 for count in counts.values())
        assert (found["smallest"], found["rows"]) == (min(counts.values()), rows)
        page = visitor.get(f"/table/rows?row={rows}").text
        last = (tmp_path / "patients.csv").read_text(encoding="utf-8").splitlines()[-1].split(",")[1]
        assert last in page
        assert f'<th scope="row" class="n soft">{rows:,}</th>' in page


def test_13_a_hierarchy_preview_is_what_the_release_uses(clean: Visitor) -> None:
    place = clean.column("zip")
    clean.post(f"/hierarchies/{place}", builder="prefix", prefix="3, 2")
    shown = clean.get(f"/hierarchies/{place}/file.csv").text.splitlines()
    job = published(clean, "preview")
    assert job.state == "done", job.sentence
    release = clean.studio.open.project.inside("releases") / "preview"
    said_of = json.loads((release.with_name("preview.audit") / "schema.json").read_text())
    (column,) = (one for one in said_of["columns"] if one["name"] == "zip")
    assert [";".join(row) for row in column["levels"]] == shown
    labels = {label for line in shown for label in line.split(";")}
    with (release / "data.csv").open(newline="", encoding="utf-8") as file:
        cells = {row["zip"] for row in csv.DictReader(file)}
    assert {part for cell in cells for part in cell.strip("{}").split("|")} - {"missing"} <= labels


def test_14_an_incomplete_hierarchy_warns_before_it_replaces(clean: Visitor) -> None:
    place, before = clean.column("sex"), clean.policy.read_bytes()
    page = clean.post(f"/hierarchies/{place}/import", text="F;*\n").text
    assert "1 of 2 values are absent" in said(page)
    assert clean.policy.read_bytes() == before
    clean.post(f"/hierarchies/{place}/replace", how="anyway")
    assert clean.policy.read_bytes() != before
    clean.post("/undo")
    assert clean.policy.read_bytes() == before


def test_15_any_edits_then_undo_all_give_the_first_bytes(clean: Visitor) -> None:
    first = clean.policy.read_bytes()
    start = clean.studio.session.now.number
    chance = random.Random(7)
    names = (clean.studio.open.table or {})["columns"]
    for _ in range(40 if NIGHT else 12):
        name = chance.choice(names)
        how: dict[str, Any] = {
            "path": f"/columns/{clean.column(name)}",
            "role": chance.choice(["keep", "drop", "quasi_identifier", "sensitive"]),
        }
        other: dict[str, Any] = {
            "path": f"/hierarchies/{clean.column('age')}",
            "builder": "intervals",
            "intervals": str(chance.choice([5, 10])),
        }
        third: dict[str, Any] = {"path": "/guarantee", "k": str(chance.choice([3, 5, 7]))}
        fields = chance.choice([how, how, other, third])
        clean.post(fields.pop("path"), **fields)
    assert clean.studio.session.now.number != start
    steps = 0
    while clean.studio.session.now.number != start:
        assert clean.studio.session.undoes
        clean.post("/undo")
        steps += 1
    assert steps > 0
    assert clean.policy.read_bytes() == first


def test_16_comments_and_keys_without_a_control_survive(clean: Visitor) -> None:
    text = "# by hand: ask Maria before changing this\n" + clean.policy.read_text() + "\n# the end\n"
    clean.studio.session.write(text, "by hand")
    clean.post(f"/columns/{clean.column('zip')}", role="drop")
    clean.post(f"/hierarchies/{clean.column('age')}", builder="intervals", intervals="5")
    now = clean.policy.read_text()
    assert now.startswith("# by hand: ask Maria before changing this\n")
    assert now.endswith("# the end\n")
    comments = [line.split("#", 1)[1] for line in text.splitlines() if line.strip().startswith("#")]
    assert [one for one in comments if one not in now] == []


def test_17_the_shown_command_gives_the_same_claims_and_loss(
    clean: Visitor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    job = published(clean, "by-page")
    assert job.state == "done", job.sentence
    monkeypatch.chdir(clean.studio.folder)
    *_, line = re.findall(r"# The release of this policy\n(incrowd .*)", clean.get("/command").text)
    words = shlex.split(line)[1:]
    words[words.index("-o") + 1] = str(tmp_path / "by-command")
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    made = clean.studio.open.project.inside("releases") / "by-page", tmp_path / "by-command"
    mine, theirs = (json.loads((one / "release.json").read_text()) for one in made)
    assert (mine["claims"], mine["method"]) == (theirs["claims"], theirs["method"])
    losses = [measure(one, "patients.csv", bound="none").to_dict()["loss"]["gcp"] for one in made]
    assert losses[0] == pytest.approx(losses[1], abs=1e-9)  # rows are in another order, and so is the sum


def test_earlier_choices_stand_on_every_screen(clean: Visitor) -> None:
    assert published(clean, "chosen").state == "done"  # so Publish shows a release
    for path in (*SCREENS, f"/hierarchies/{clean.column('age')}", f"/releases/{clean.release('chosen')}"):
        said = re.findall(r'<p class="choices">.*?</span>(.*?)</p>', clean.get(path).text)
        assert said == ["7 quasi-identifiers, k = 10, method cells"], path
    clean.studio.session.write(clean.policy.read_text().replace("k = 10", "k = 20"), "another k")
    assert "k = 20" in clean.get("/columns").text
    page = clean.get(f"/releases/{clean.release('chosen')}").text
    assert "It was made with another policy" in page
    assert 'class="choices"' not in page  # what is chosen now says nothing of that release


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A comparison that is looked at twice while it runs, cancelled after its first trial, and run again."""
    folder = tmp_path_factory.mktemp("compared")
    patients(folder, 3_000)
    asked: dict[str, Any] = {"method": ["mondrian", "topdown", "lexicographic"], "k": "5, 10, 20", "l": ""}
    with Visitor(folder) as visitor:
        visitor.open("patients.csv")
        visitor.post("/compare/run", follow=False, **asked)
        job = visitor.studio.jobs.latest("compare")
        assert job is not None

        async def first_part() -> None:
            async for each in visitor.studio.jobs.changes(job.id):
                if each.parts:  # it stands still, so that it cannot be done before it is cancelled
                    assert visitor.studio.jobs.pid is not None
                    os.kill(visitor.studio.jobs.pid, signal.SIGSTOP)
                    return

        visitor.run(first_part)
        looks = [visitor.get("/compare").text for _ in range(2)]
        visitor.post(f"/jobs/{job.id}/cancel")
        assert visitor.studio.jobs.pid is not None
        os.kill(visitor.studio.jobs.pid, signal.SIGCONT)
        ended = visitor.wait_for_job("compare")
        after = visitor.get("/compare").text
        visitor.post("/compare/run", follow=False, **asked)
        again = visitor.wait_for_job("compare")
        yield {"id": job.id, "looks": looks, "ended": ended, "after": after, "again": again}


def test_18_a_cancelled_comparison_keeps_its_trials_and_does_not_repeat_them(
    compared: dict[str, Any],
) -> None:
    ended, again = compared["ended"], compared["again"]
    assert ended.state == "cancelled"
    kept = {(p["trial"]["method"], p["trial"]["k"]): p["trial"] for p in ended.parts if "trial" in p}
    assert 0 < len(kept) < 9
    assert "Cancelled." in compared["after"]
    assert again.state == "done", again.sentence
    trials = {(one["method"], one["k"]): one for one in again.result["trials"]}
    assert len(trials) == 9
    for key, trial in kept.items():  # what was measured the first time, with its time: it was not made again
        assert trials[key]["seconds"] == trial["seconds"]


def test_19_a_reload_in_a_run_shows_the_same_progress(compared: dict[str, Any]) -> None:
    for page in compared["looks"]:
        assert f'data-job="{compared["id"]}"' in page
        assert 'class="trials"' in page  # and the marks that there are


def test_20_kill_9_leaves_the_last_policy_and_no_half_release(tmp_path: Path) -> None:
    patients(tmp_path, 3_000)
    project = tmp_path / "patients.incrowd"
    for moment in (0.0, 0.4, 1.2) if NIGHT else (0.4,):
        with Program(tmp_path, "patients.csv") as program:
            program.get("/columns")
            program.send("/columns/4", role="keep")
            program.send("/columns/4", role="drop")
            program.send("/publish/start", name=f"half-{moment}", form="csv")
            time.sleep(moment)
            program.end(signal.SIGKILL)
        with Program(tmp_path, "patients.csv") as program:
            assert "You chose Drop." in program.get("/columns")
            assert Policy.load(project / "policy.toml").drop == ("zip",)
            for release in (one for one in (project / "releases").iterdir() if not one.name.startswith(".")):
                whole = release.with_name(release.name.removesuffix(".audit"))
                assert (whole / "release.json").is_file()  # whole, or not there
            program.send("/publish/start", name=f"whole-{moment}", form="csv")
            for _ in range(300):
                if "data-job=" not in (page := program.get("/publish")):
                    break
                time.sleep(0.2)
            assert f"whole-{moment}: published and verified" in page
        assert not list((project / "releases").glob(".incrowd-stage-*"))


def test_21_a_refused_publish_writes_nothing_and_names_a_control(clean: Visitor) -> None:
    clean.studio.session.write(clean.policy.read_text().replace("k = 10", "k = 10\nl = 300"), "too much")
    releases = clean.studio.open.project.inside("releases")
    before = sorted(releases.iterdir())
    blocked = clean.get("/publish").text
    assert 'disabled aria-describedby="blocked"' in blocked
    assert re.search(r'id="blocked">.*?<a href="/(guarantee|columns)', blocked, re.DOTALL)
    job = published(clean, "refused")  # sent all the same
    assert job.state == "refused"
    page = clean.get("/publish").text
    assert "Refused. Nothing was written." in page
    assert re.search(r'class="controls">.*?<a href="/(guarantee|columns|compare)', page, re.DOTALL)
    assert sorted(releases.iterdir()) == before


def test_22_left_out_people_stand_in_the_headline(clean: Visitor) -> None:
    text = clean.policy.read_text().replace("k = 10", 'k = 10\nmax_suppression = "0.1"')
    text = re.sub(r'method = "[a-z-]+"', 'method = "incognito"', text)
    clean.studio.session.write(text, "leave some out")
    for name in ("admitted", "occupation", "education", "marital_status", "zip"):
        clean.post(f"/columns/{clean.column(name)}", role="drop")
    clean.post(f"/hierarchies/{clean.column('age')}", builder="intervals", intervals="10, 30")
    clean.post(f"/hierarchies/{clean.column('sex')}", builder="flat")
    job = published(clean, "left-out")
    assert job.state == "done", job.sentence
    audit = clean.studio.open.project.inside("releases") / "left-out.audit" / "audit.json"
    count = json.loads(audit.read_text())["verdict"]["facts"]["suppressed"]
    assert count > 0
    (headline,) = re.findall(r"<h1[^>]*>(.*?)</h1>", clean.get("/publish").text)
    assert headline == f"left-out: published and verified, {count} of 400 records left out"


def test_23_only_policies_hierarchies_releases_and_reports_hold_cells(tmp_path: Path) -> None:
    table, policy = write_table(tmp_path)
    with Visitor(tmp_path) as visitor:
        visitor.open(table.name)
        visitor.studio.session.write(policy.read_text(), "by hand")
        visitor.get("/columns")
        job = published(visitor, "release-1")
        assert job.state in ("done", "refused")
        visitor.get("/publish")
        visitor.get("/check")
        if job.state == "done":
            visitor.post("/check/verify", of=visitor.release())
            visitor.wait_for_job("check_verify")
        of = visitor.release() if job.state == "done" else "0"
        visitor.post(f"/releases/{of}/query", mode="sql", sql=f"SELECT COUNT(*) WHERE zip = '{MARK}'")
        folder = visitor.studio.open.project.folder
        allowed = {"history", "hierarchies", "releases", "reports", "dropped"}
        files = [path for path in folder.rglob("*") if path.is_file()]
        others = [path for path in files if path.relative_to(folder).parts[0] not in allowed]
        assert {path.name for path in others} >= {"project.toml", "policy.toml", "seen.json"}
        for path in others:
            text = path.read_text(encoding="utf-8").replace(str(folder), "")  # the table is called so, too
            if path.name in ("policy.toml", "project.toml"):
                continue
            assert MARK not in text, path.name
            assert [number for number in NUMBERS if number in text] == []


def test_24_a_policy_edited_outside_is_noticed_before_it_is_overwritten(clean: Visitor) -> None:
    theirs = clean.policy.read_text() + "\n# theirs\n"
    clean.policy.write_text(theirs)
    page = clean.post(f"/columns/{clean.column('zip')}", role="drop").text
    assert "was changed outside of the studio" in page
    assert clean.policy.read_text() == theirs
    clean.post("/outside", which="theirs")
    assert clean.studio.session.text == theirs


def test_25_an_idle_studio_ends_and_is_as_it_was(tmp_path: Path, demo_table: Path) -> None:
    (tmp_path / "patients.csv").write_bytes(demo_table.read_bytes())
    with Program(tmp_path, "patients.csv", "--idle", "0.05") as program:
        program.get("/columns")
        program.send("/columns/4", role="drop")
        _, told = program.process.communicate(timeout=60)
        assert program.process.returncode == 0
        assert "Nobody did anything for a while" in told
    with Program(tmp_path, "patients.csv") as program:
        page = program.get("/columns")
        assert "You chose Drop." in page
        assert 'aria-label="Undo: zip to Drop"' in page
