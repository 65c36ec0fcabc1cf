"""Heavy commands: each in a process of its own, one at a time, with progress and a record on disk.

A job is one line of JSON to the process and lines of JSON back: steps, shares of a step, parts of the
result as they are ready, then the result or a refusal. `jobs/ID.json` holds names, counts and states, never
a cell; so a page that is loaded again shows the same, and after a crash the job is there as interrupted.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from incrowd.studio.bench import LONGEST_LINE, pipes
from incrowd.studio.project import Project, write_whole

PATIENCE = 5.0  # seconds from an interrupt to a kill
TOO_LITTLE = 0.05  # share of the work from which nobody can tell how long the rest takes
RUNNING, DONE, REFUSED, CANCELLED, INTERRUPTED = "running", "done", "refused", "cancelled", "interrupted"


class Busy(Exception):
    """Another job runs."""


@dataclass(frozen=True)
class Job:
    """A heavy command: what was asked, how far it is, and what came of it."""

    id: str
    kind: str  # the module of `incrowd.studio.work` that does it
    screen: str  # where it is shown
    label: str  # what it does, for people: "Measure what each column costs"
    policy: str  # digest of the policy that it was asked with
    table: str  # digest of the table
    asked: Mapping[str, Any] = field(default_factory=dict)
    state: str = RUNNING
    step: str = ""
    share: float | None = None
    compiling: bool = False  # the present step takes longer, this one time
    started: float = 0.0
    since: float = 0.0  # when the work began of which `share` is done
    seconds: float | None = None
    parts: tuple[Any, ...] = ()
    result: Any = None
    refused: str = ""  # the kind of error
    sentence: str = ""

    @property
    def running(self) -> bool:
        return self.state == RUNNING

    def fits(self, policy: str, table: str) -> bool:
        """Was it made with this policy and this table? If not, it is out of date."""
        return (self.policy, self.table) == (policy, table)

    @property
    def time_left(self) -> float | None:
        """Seconds that the present step will probably take, or all steps of which `share` is done."""
        if not self.share or self.share < TOO_LITTLE or not self.running:
            return None
        passed = time.time() - self.since
        return max(passed * (1 - self.share) / self.share, 0.0) if passed > 1 else None


class Jobs:
    """The jobs of a project; the newest of a kind is the one that its screen shows."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._jobs: dict[str, Job] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()
        self._cancelling = False
        self._load()

    @property
    def running(self) -> Job | None:
        return next((job for job in self._jobs.values() if job.running), None)

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def get(self, id: str) -> Job | None:
        return self._jobs.get(id)

    def latest(self, kind: str, **asked: Any) -> Job | None:
        """The job of a kind that was asked for last; with words of its request, of those that have them."""
        found = [
            job
            for job in self._jobs.values()
            if job.kind == kind and all(job.asked.get(key) == value for key, value in asked.items())
        ]
        return max(found, key=lambda job: job.id, default=None)

    async def start(self, job: Job, request: Mapping[str, Any]) -> Job:
        """Run a job; `request` goes to its process only, and may name files. One runs at a time."""
        if self.running is not None:
            raise Busy
        number = max((int(known) for known in self._jobs), default=0) + 1
        now = time.time()
        job = replace(job, id=f"{number:06d}", started=now, since=now)
        await self._note(job)
        self._cancelling = False
        self._task = asyncio.create_task(self._run(job, request))
        return job

    async def cancel(self, id: str) -> None:
        """Ask the process to stop (it may keep what it has), and end it if it does not."""
        job, process = self._jobs.get(id), self._process
        if job is None or not job.running or process is None:
            return
        self._cancelling = True
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        asyncio.get_running_loop().call_later(PATIENCE, self._kill, process)

    async def changes(self, id: str) -> AsyncIterator[Job]:
        """The job each time that it has changed, until it has ended."""
        seen: Job | None = None
        while True:
            async with self._changed:
                while (job := self._jobs.get(id)) is seen and job is not None:
                    await self._changed.wait()
            if job is None:
                return
            seen = job
            yield job
            if not job.running:
                return

    async def close(self) -> None:
        """End what runs; it is interrupted, not cancelled."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)
            self._kill_later(self._process)
        if self._task is not None:
            await self._task

    def _kill_later(self, process: asyncio.subprocess.Process) -> None:
        asyncio.get_running_loop().call_later(PATIENCE, self._kill, process)

    @staticmethod
    def _kill(process: asyncio.subprocess.Process) -> None:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()

    async def _run(self, job: Job, request: Mapping[str, Any]) -> None:
        process = self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "incrowd.studio.job_process"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=LONGEST_LINE,
            start_new_session=True,
        )
        to, of = pipes(process)
        with suppress(OSError):
            to.write(json.dumps({"kind": job.kind, **request}).encode() + b"\n")
            await to.drain()
        last: dict[str, Any] = {}
        async for line in of:
            message = json.loads(line)
            if "goes_on" in message:
                job = replace(job, step=message["goes_on"], compiling=False)
            elif "step" in message:
                job = replace(job, step=message["step"], share=None, since=time.time(), compiling=False)
            elif "compiling" in message:
                job = replace(job, compiling=True)
            elif "share" in message:
                job = replace(job, share=message["share"])
            elif "part" in message:
                job = replace(job, parts=(*job.parts, message["part"]))
            else:
                last = message
            await self._note(job, to_disk="part" in message)
        await process.wait()
        self._process = None
        await self._note(self._ended(job, last))

    def _ended(self, job: Job, last: Mapping[str, Any]) -> Job:
        job = replace(job, seconds=round(time.time() - job.started, 3), share=None, compiling=False)
        if "result" in last:
            state = CANCELLED if last.get("stopped") else DONE
            return replace(job, state=state, result=last["result"])
        if self._cancelling:
            return replace(job, state=CANCELLED, sentence="Cancelled. Nothing was written.")
        if last.get("refused") == "Interrupted" or not last:
            return replace(job, state=INTERRUPTED, sentence="Interrupted. Nothing was written; run it again.")
        return replace(job, state=REFUSED, refused=last["refused"], sentence=last["sentence"])

    async def _note(self, job: Job, to_disk: bool = True) -> None:
        async with self._changed:
            self._jobs[job.id] = job
            self._changed.notify_all()
        if (to_disk or job.state != RUNNING) and not self.project.read_only:
            write_whole(self._path(job.id), json.dumps(asdict(job)).encode())

    def _path(self, id: str) -> Any:
        return self.project.inside("jobs") / f"{id}.json"

    def _load(self) -> None:
        """Jobs of earlier runs; one that was running then was interrupted."""
        for path in sorted(self.project.inside("jobs").glob("[0-9]*.json")):
            try:
                said = json.loads(path.read_bytes())
                job = Job(**(said | {"parts": tuple(said["parts"])}))
            except (ValueError, TypeError, KeyError, OSError):
                continue
            if job.running and not self.project.read_only:
                job = replace(job, state=INTERRUPTED, share=None, sentence="Interrupted; run it again.")
                write_whole(path, json.dumps(asdict(job)).encode())
            self._jobs[job.id] = job
