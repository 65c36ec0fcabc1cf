"""A visitor of the studio: a test client with the cookie, the token and the headers of a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Any

from starlette.testclient import TestClient

from incrowd.examples import write_example
from incrowd.studio.app import build
from incrowd.studio.bench import Bench
from incrowd.studio.bench_process import Answers
from incrowd.studio.guard import Keys
from incrowd.studio.releases import releases_of
from incrowd.studio.state import Studio

PORT = 8765
ORIGIN = f"http://127.0.0.1:{PORT}"
SECONDS_TO_OPEN = 60
BROWSER = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


def patients(folder: Path, rows: int = 400) -> Path:
    write_example(folder, rows=rows)
    return folder / "patients.csv"


class NearBench(Bench):
    """The bench without a process of its own: the same lines, answered in the process of the test."""

    def __init__(self) -> None:
        super().__init__()
        self._answers = Answers()

    async def _exchanged(self, asked: bytes) -> bytes:
        return self._answers.line(json.loads(asked))

    async def _end(self) -> None:
        await super()._end()
        self._answers = Answers()


class Visitor:
    """Talks to a studio of its own, started in a folder; plain forms, as without scripts.

    To start a process for the table takes longer than most tests: only those that are about it do so.
    """

    def __init__(self, folder: Path, processes: bool = False, **settings: Any) -> None:
        bench = Bench() if processes else NearBench()
        self.studio = Studio(folder, Keys(PORT), bench=bench, **settings)
        self.client = TestClient(build(self.studio), base_url=ORIGIN, raise_server_exceptions=False)

    def __enter__(self) -> Visitor:
        self.client.__enter__()
        self.client.cookies.set(self.studio.keys.cookie_name, self.studio.keys.cookie)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run(self.studio.close_project)
        self.client.__exit__(kind, error, trace)

    def run(self, function: Any, *arguments: Any) -> Any:
        """Call something of the studio in the loop in which it runs."""
        assert self.client.portal is not None
        return self.client.portal.call(function, *arguments)

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(path, headers={**BROWSER, **headers})

    def post(self, path: str, follow: bool = True, **fields: Any) -> Any:
        """A form of one of our pages."""
        form = {"token": self.studio.keys.form, **fields}
        return self.client.post(
            path, data=form, headers={**BROWSER, "origin": ORIGIN}, follow_redirects=follow
        )

    def drop(self, name: str, content: bytes) -> Any:
        headers = {
            **BROWSER,
            "origin": ORIGIN,
            "content-type": "application/octet-stream",
            "x-file-name": name,
            "x-incrowd-token": self.studio.keys.form,
        }
        return self.client.post("/drop", content=content, headers=headers, follow_redirects=False)

    def open(self, name: str) -> Any:
        """Choose a file on the start page, and wait until it is read."""
        self.get("/")
        number = [path.name for path in self.studio.files].index(name)
        self.post("/start/file", follow=False, file=str(number))
        return self.wait()

    def wait(self) -> Any:
        assert self.run(self.studio.ready, SECONDS_TO_OPEN), self.studio.open.problem
        return self.get("/table")

    def wait_for_job(self, kind: str) -> Any:
        async def ended() -> Any:
            last = self.studio.jobs.latest(kind)
            assert last is not None
            async for job in self.studio.jobs.changes(last.id):
                last = job
            return last

        return self.run(ended)

    @property
    def policy(self) -> Path:
        return self.studio.open.project.policy

    def release(self, name: str = "") -> str:
        """What pages call a release of the project: of this name, else the newest."""
        found = releases_of(self.studio.open.project)
        return next(each.key for each in reversed(found) if name in ("", each.name))

    def column(self, name: str) -> int:
        table = self.studio.open.table
        assert table is not None
        return int(table["columns"].index(name))
