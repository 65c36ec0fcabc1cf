"""One running studio: where it was started, and the project that is open in it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request

from incrowd.errors import InputError
from incrowd.studio import project as projects
from incrowd.studio.bench import Bench, Refusal
from incrowd.studio.guard import Keys
from incrowd.studio.jobs import Job, Jobs
from incrowd.studio.links import Noted
from incrowd.studio.project import Project, TableFile
from incrowd.studio.session import StudioSession

PATIENCE = 0.3  # seconds after which a page says that something takes time
MAX_UPLOAD = 2 << 30
IDLE_MINUTES = 30.0


@dataclass(frozen=True)
class Notice:
    """A sentence that the next page shows once: what was done, or what was refused and what now."""

    sentence: str
    bad: bool = False
    link: str = ""
    link_words: str = ""


@dataclass
class Opened:
    """The project that is open: its policy, its jobs, and what the bench found in its table."""

    project: Project
    session: StudioSession
    jobs: Jobs
    table: dict[str, Any] | None = None
    problem: str = ""  # why the table could not be read
    another: bool = False  # the table is not the one that the project was last used with
    reading: asyncio.Task[None] | None = None
    step: str = ""  # how far the reading is
    drafts: dict[str, Any] = field(default_factory=dict)  # what was typed on a screen and is not chosen yet
    told: dict[str, Any] | None = None  # what few facts told when it was last counted

    @property
    def digest(self) -> str:
        return "" if self.table is None else str(self.table["digest"])


@dataclass
class Studio:
    """What all pages share. Views call `ask`, `edit` and `start`; nothing else changes the state."""

    folder: Path
    keys: Keys
    noted: Noted | None = None
    max_upload: int = MAX_UPLOAD
    idle_minutes: float = IDLE_MINUTES
    bench: Bench = field(default_factory=Bench)
    opened: Opened | None = None
    notices: list[Notice] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)  # those that the start page has numbered
    last_action: float = field(default_factory=time.monotonic)
    quitting: bool = False
    deaths_told: int = 0  # of the bench
    _editing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _foreseen: asyncio.Task[None] | None = None

    # the open project

    @property
    def open(self) -> Opened:
        """The open project; pages that need one are reached only if there is one."""
        if self.opened is None:
            raise InputError("no table is open; choose one first")
        return self.opened

    @property
    def session(self) -> StudioSession:
        return self.open.session

    @property
    def jobs(self) -> Jobs:
        return self.open.jobs

    async def open_project(self, folder: Path, table: TableFile | None = None) -> None:
        """Open a project, or make one for a table; the table is read meanwhile."""
        await self.close_project()
        project = projects.opened(folder, table)
        try:
            self.opened = Opened(project, StudioSession(project), Jobs(project))
        except InputError:
            project.close()
            raise
        self.read_again()

    def read_again(self) -> None:
        """Read the table of the open project, from now on and in the background."""
        here = self.open
        if here.reading is not None:
            here.reading.cancel()
        here.table, here.problem = None, ""
        here.reading = asyncio.create_task(self._read(here))

    async def _read(self, here: Opened) -> None:
        project = here.project
        file = project.table
        try:
            here.step = "reading the file"
            found = await self.bench.open_table(_words(file))
            here.step = f"{found['rows']:,} rows are read; finding out what each column is"
            if not here.session.started and not project.read_only:
                here.session.begin(await self.bench.ask("first_policy", name=file.name))
            elif not here.session.started:
                raise Refusal("ReadOnly", "Another studio is making the first policy; load this page again.")
            await self._counted(here)
        except Refusal as refusal:
            here.problem = refusal.sentence
            return
        here.another = bool(file.digest) and file.digest != found["digest"]
        project.changed(size=found["size"], digest=found["digest"])
        here.table = found

    async def _counted(self, here: Opened) -> None:
        """What every screen asks first is counted while somebody waits anyway: later pages do not block."""
        await self.bench.ask("columns")
        here.step = "counting who stands alone, over all rows"
        words = {"text": here.session.text, "folder": str(here.project.folder)}
        for question in ("near_unique", "one_column", "risk", "told"):
            with suppress(Refusal):  # a policy that does not fit is said on the pages
                await self.bench.ask(question, **words)

    async def ready(self, patience: float = PATIENCE) -> bool:
        """Has the table been read, or will it be in a moment?"""
        here = self.open
        if here.reading is not None and not here.reading.done():
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(here.reading), patience)
        return here.table is not None

    async def close_project(self) -> None:
        here, self.opened = self.opened, None
        if here is None:
            return
        if here.reading is not None:
            here.reading.cancel()
            with suppress(asyncio.CancelledError):
                await here.reading
        await here.jobs.close()
        await self.bench.close()
        here.project.close()

    # what views do

    async def ask(self, question: str, **about: Any) -> Any:
        """Ask the bench."""
        return await self.bench.ask(question, **about)

    async def ask_policy(self, question: str, **about: Any) -> Any:
        """Ask the bench about the table as the present policy reads it."""
        return await self.bench.ask(question, **self.policy_words(), **about)

    def policy_words(self) -> dict[str, str]:
        """The policy as questions take it."""
        return {"text": self.session.text, "folder": str(self.open.project.folder)}

    async def edit(
        self,
        label: str,
        *,
        changes: Sequence[tuple[Sequence[str], Any]] = (),
        roles: Sequence[tuple[str, str]] = (),
        gone: Sequence[str] = (),
        reads: str = "",
    ) -> None:
        """One choice, one step of undo: keys of the policy set (None takes one out), or roles of columns.

        Columns that are `gone` are no longer named. With `reads` it is refused unless the values of that
        column can be read as the policy then says.
        """
        async with self._editing:
            text = await self.bench.ask(
                "edited", **self.policy_words(), changes=list(changes), roles=list(roles), gone=list(gone)
            )
            if reads:
                folder = str(self.open.project.folder)
                await self.bench.ask("reads", text=text, folder=folder, column=reads)
            await self._foresee(text)
            self.session.write(text, label)

    async def _foresee(self, text: str) -> None:
        """Have the risk of a new policy counted while it is written: the next page asks for it."""
        words = {"text": text, "folder": str(self.open.project.folder)}
        if self.bench.known("risk", **words) is None:
            self._foreseen = asyncio.create_task(self._counted_ahead(words))
            await asyncio.sleep(0)  # the question is on its way before anything is written

    async def _counted_ahead(self, words: Mapping[str, str]) -> None:
        with suppress(Refusal):  # the page that asks again says why
            await self.bench.ask("risk", **words)

    async def start(self, kind: str, screen: str, label: str, **request: Any) -> Job:
        """Run a heavy command as a job: `incrowd.studio.work.KIND`. It gets the table and the policy file."""
        job = Job(
            "",
            kind,
            screen,
            label,
            self.session.digest,
            self.open.digest,
            {
                key: value
                for key, value in request.items()
                if isinstance(value, int | float | bool | str | list)
            },
        )
        return await self.jobs.start(
            job, {"table": self.table_words(), "policy": str(self.open.project.policy), **request}
        )

    def table_words(self) -> dict[str, str]:
        """The table as `Source` takes it."""
        return _words(self.open.project.table)

    def say(self, sentence: str, bad: bool = False, link: str = "", link_words: str = "") -> None:
        """Show a sentence on the next page."""
        self.notices.append(Notice(sentence, bad, link, link_words))

    def taken_notices(self) -> list[Notice]:
        if self.bench.died > self.deaths_told:
            self.deaths_told = self.bench.died
            self.say("The process that holds the table had ended, and was opened again. Nothing was lost.")
        notices, self.notices = self.notices, []
        return notices

    # its end

    def touch(self) -> None:
        self.last_action = time.monotonic()

    def seconds_left(self) -> float:
        """Until it ends by itself; never while a job runs."""
        if self.opened is not None and self.opened.jobs.running is not None:
            self.touch()
        return max(self.idle_minutes * 60 - (time.monotonic() - self.last_action), 0.0)


def _words(file: TableFile) -> dict[str, str]:
    """A table as `Source` takes it."""
    return {"path": str(file.path), "encoding": file.encoding, "sheet": file.sheet, "sql": file.sql}


def studio_of(request: Request) -> Studio:
    found: Studio = request.app.state.studio
    return found


def column_number(request: Request, names: Sequence[str], parameter: str = "number") -> int:
    """The column that an address means: a number that the server gave out."""
    number = int(request.path_params[parameter])
    if not 0 <= number < len(names):
        raise InputError("there is no such column; load the page again")
    return number


def counted(counts: Mapping[str, int]) -> str:
    """Counts in words: 2 identifier · 7 quasi-identifier."""
    return " · ".join(f"{count} {name}" for name, count in counts.items() if count)
