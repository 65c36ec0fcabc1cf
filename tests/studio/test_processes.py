"""The processes of the studio: a bench that dies, jobs that are cancelled, the server killed and started."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from support.canaries import MARK, NUMBERS, write_table
from support.studio_program import Program
from support.studio_visitor import Visitor, patients

from incrowd.kernels.compiling import SENTENCE
from incrowd.policy import Policy
from incrowd.studio import pages
from incrowd.studio.bench import MOST_REMEMBERED, Bench
from incrowd.studio.jobs import Busy, Job, Jobs
from incrowd.studio.project import TableFile, opened

HEAVY = 12_000  # rows of which costs take long enough to be cancelled


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_bench_that_dies_is_opened_again(tmp_path: Path) -> None:
    patients(tmp_path)
    with Visitor(tmp_path, processes=True) as visitor:
        visitor.open("patients.csv")
        for role in ("drop", "keep"):
            pid = visitor.studio.bench.pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            page = visitor.post(f"/columns/{visitor.column('zip')}", role=role).text
            assert re.search(r"[1-9][0-9]*</p><p>of 400 people are", page)  # counted again, from the table
            assert "had ended, and was opened again" in page
            assert visitor.studio.bench.pid not in (None, pid)
            visitor.post("/undo")
        assert visitor.studio.bench.died == 2


def test_what_every_page_asks_is_never_forgotten_and_asked_once_at_a_time() -> None:
    """Answers to what nobody asks again make room, not those that every page needs."""
    asked: list[str] = []

    class Counting(Bench):
        async def _asked_again(self, question: str, about: Mapping[str, Any]) -> Any:
            asked.append(question)
            await asyncio.sleep(0)
            return about

    async def visits() -> None:
        bench = Counting()
        await asyncio.gather(bench.ask("columns"), bench.ask("columns"))
        for number in range(3 * MOST_REMEMBERED):
            await bench.ask("risk", text=number)
            await bench.ask("columns")
        assert bench.known("risk", text=number) == {"text": number}
        assert bench.known("risk", text=0) is None

    with start_blocking_portal() as portal:  # a browser of other tests may have a loop here
        portal.call(visits)
    assert asked.count("columns") == 1


def test_a_job_that_is_cancelled_writes_nothing(tmp_path: Path) -> None:
    patients(tmp_path, HEAVY)
    with Visitor(tmp_path) as visitor:
        visitor.open("patients.csv")
        visitor.post("/columns/costs")
        job = visitor.studio.jobs.latest("costs")
        assert job is not None
        assert job.running
        page = visitor.get("/columns").text
        assert f'data-job="{job.id}"' in page  # the same after the page is loaded again
        assert '<noscript><meta http-equiv="refresh"' in page
        assert "Something else is running" in visitor.post("/columns/costs").text
        with pytest.raises(Busy):
            visitor.run(visitor.studio.jobs.start, job, {})
        visitor.post(f"/jobs/{job.id}/cancel")
        ended = visitor.wait_for_job("costs")
        assert ended.state == "cancelled"
        assert visitor.studio.jobs.pid is None
        assert "Cancelled" in visitor.get("/columns").text
        assert visitor.get("/jobs/000009/events").status_code == 422


def test_compiling_is_said_where_a_job_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))  # where nothing is compiled yet
    patients(tmp_path, 400)
    with Visitor(tmp_path) as visitor:
        visitor.open("patients.csv")
        visitor.post("/publish/start", name="first", form="csv")
        job = visitor.studio.jobs.latest("publish")
        assert job is not None

        async def said() -> str:
            async for each in visitor.studio.jobs.changes(job.id):
                if each.compiling:
                    return pages.time_left(each)
            return ""

        assert visitor.run(said) == SENTENCE
        assert SENTENCE in visitor.get("/publish").text
        visitor.post(f"/jobs/{job.id}/cancel")
        assert not visitor.wait_for_job("publish").compiling


def test_events_tell_how_far_a_job_is(at_table: Visitor) -> None:
    at_table.post("/columns/costs")
    told = at_table.get("/jobs/000001/events")
    assert told.headers["content-type"].startswith("text/event-stream")
    events = [json.loads(line.removeprefix("data: ")) for line in told.text.split("\n\n") if line]
    assert events[-1]["state"] == "done"
    assert at_table.get("/jobs/000001").url.path == "/columns"


def test_a_job_that_was_running_at_a_crash_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    project = opened(tmp_path / "t.incrowd", TableFile(tmp_path / "t.csv"))
    job = Job("000001", "costs", "columns", "Measure", "p", "t", parts=({"k": 5},))
    (project.inside("jobs") / "000001.json").write_text(json.dumps(asdict(job)))
    (project.inside("jobs") / "000002.json").write_text("{ half")
    found = Jobs(project).latest("costs")
    assert found == replace(job, state="interrupted", sentence="Interrupted; run it again.")
    assert json.loads((project.inside("jobs") / "000001.json").read_text())["state"] == "interrupted"


def test_no_marked_cell_is_in_jobs_errors_or_logs(tmp_path: Path) -> None:
    table, policy = write_table(tmp_path)
    with Visitor(tmp_path) as visitor:
        visitor.open(table.name)
        visitor.studio.session.write(
            policy.read_text().replace("zip = {hierarchy = {prefix = [2, 1]}}", "zip = {}"), "x"
        )
        visitor.post("/columns/costs")
        assert visitor.wait_for_job("costs").state == "done"
        refused = visitor.post(
            f"/table/kind/{visitor.column('zip')}", kind="numeric", format="", back="/columns"
        )
        assert "are no numbers" in refused.text
        (notice,) = re.findall(r'<div class="notice bad" role="alert"><p>(.*?)</p>', refused.text)
        project = visitor.studio.open.project.folder
        written = [path for path in project.rglob("*") if path.is_file() and path.parent.name != "history"]
        texts = [path.read_text(encoding="utf-8") for path in written if path.name != "project.toml"]
        for text in (*texts, notice):
            assert MARK not in text
            assert not [number for number in NUMBERS if number in text]


# The program itself


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in found.read_text().split()] if found.exists() else []


def gone(pids: list[int]) -> bool:
    for _ in range(300):
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def test_killed_and_started_again_the_studio_shows_the_last_policy(tmp_path: Path, demo_table: Path) -> None:
    (tmp_path / "patients.csv").write_bytes(demo_table.read_bytes())
    with Program(tmp_path, "patients.csv") as first:
        assert "What is each column?" in first.get("/columns")
        first.send("/columns/4", role="drop")
        first.send("/columns/costs")
        processes = children(first.process.pid)
        first.end(signal.SIGKILL)
    assert gone(processes)  # bench and job end with their parent
    with Program(tmp_path, "patients.csv") as second:
        page = second.get("/columns")
        assert "You chose Drop." in page
        assert 'aria-label="Undo: zip to Drop"' in page
        assert "Interrupted; run it again." in page or "points" in page
        second.send("/undo")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            second.send("/open", link=second.token)  # it works once
        assert second.end(signal.SIGINT) == (0, "", "")
    assert Policy.load(tmp_path / "patients.incrowd" / "policy.toml").drop == ()


def test_only_loopback_listens_and_an_idle_studio_ends(tmp_path: Path, demo_table: Path) -> None:
    (tmp_path / "patients.csv").write_bytes(demo_table.read_bytes())
    with Program(tmp_path, "--idle", "0.03") as program:
        port = int(program.origin.rpartition(":")[2])
        sockets = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        assert {where for where in sockets if where.endswith(f":{port:04X}")} == {f"0100007F:{port:04X}"}
        six = Path("/proc/net/tcp6")
        assert not six.exists() or f":{port:04X} 0000" not in six.read_text()
        _, err = program.process.communicate(timeout=120)
        assert program.process.returncode == 0
        assert "the studio ends" in err


def started(arguments: list[str], folder: Path, **environment: str) -> Any:
    return subprocess.run(
        [str(Path(sys.executable).parent / "incrowd"), "studio", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(["nothing.csv"], "does not exist", id="no-table"),
        pytest.param(["postgresql://me:secret@host/db"], "reaches no server", id="server"),
        pytest.param(["--project", "none.incrowd"], "is no project of the studio", id="no-project"),
        pytest.param(["--max-upload", "many"], "whole number of KB, MB or GB", id="upload"),
        pytest.param(["--link"], "no studio runs here", id="link"),
    ],
)
def test_what_cannot_be_started_says_why(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    ended = started([*arguments, "--no-browser"], tmp_path)
    assert ended.returncode == 2
    assert sentence in ended.stderr
    assert "secret" not in ended.stderr
    assert "Traceback" not in ended.stderr


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "starlette.py").write_text("raise ModuleNotFoundError(name='starlette')\n")
    ended = started([], tmp_path, PYTHONPATH=str(tmp_path))
    assert ended.returncode == 2
    assert "pip install 'incrowd[web]'" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
