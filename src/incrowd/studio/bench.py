"""The bench: a process of its own that holds the coded table, and answers what pages ask about it.

The process that talks to the browser never sees the table. It asks in lines of JSON, one question at a
time, and gets numbers and the few cells that a page shows. If the bench dies (memory), that is told, and
the next question opens it again. Questions are in `incrowd.studio.questions`, one module for each subject.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from incrowd.errors import IncrowdError

LONGEST_LINE = 1 << 27
MOST_REMEMBERED = 200


class Refusal(IncrowdError):
    """What the bench or a job says no with: a sentence for the page, and what kind of error it was."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence


class BenchDied(Exception):
    """The process ended in the middle of a question."""


def pipes(process: asyncio.subprocess.Process) -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
    """To and from a process that was started with both."""
    if process.stdin is None or process.stdout is None:
        raise BenchDied
    return process.stdin, process.stdout


def _key(question: str, about: Mapping[str, Any]) -> str:
    return json.dumps([question, about], sort_keys=True, default=str)


class Bench:
    """The client of the bench process. `ask` is all that views use."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()
        self._remembered: dict[str, Any] = {}
        self._table: Mapping[str, Any] | None = None
        self._open = False
        self.died = 0  # how often it had to be opened again

    async def open_table(self, table: Mapping[str, str]) -> dict[str, Any]:
        """Read a table, given as `Source` takes it; say rows, columns, notes of reading, size and digest."""
        async with self._lock:
            await self._end()
            self._remembered.clear()
            self._table = table
            return await self._opened()

    async def ask(self, question: str, **about: Any) -> Any:
        """Ask the process; equal questions about one table are answered once.

        What nobody has asked for longest is forgotten first: what every page asks stays.
        """
        key = _key(question, about)
        if key not in self._remembered:
            async with self._lock:
                if key not in self._remembered:  # somebody else may have asked it meanwhile
                    self._remembered[key] = await self._asked_again(question, about)
        answer = self._remembered[key] = self._remembered.pop(key)
        if len(self._remembered) > MOST_REMEMBERED:
            self._remembered.pop(next(iter(self._remembered)))
        return answer

    def known(self, question: str, **about: Any) -> Any:
        """The answer, if somebody has asked this before; else None, at once."""
        return self._remembered.get(_key(question, about))

    async def close(self) -> None:
        async with self._lock:
            await self._end()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def _asked_again(self, question: str, about: Mapping[str, Any]) -> Any:
        """A bench that died is opened once more; if it dies of the same question again, that is said."""
        if self._process is not None and self._process.returncode is not None:
            self._process, self._open = None, False
            self.died += 1
        for _ in range(2):
            try:
                if self._table is not None and not self._open:
                    await self._opened()
                return await self._asked(question, about)
            except BenchDied:
                self.died += 1
        raise Refusal(
            "BenchDied",
            "The process that holds the table ended twice, probably for lack of memory. Nothing is lost; "
            "close other programs, or publish from the command line with --engine duckdb.",
        )

    async def _opened(self) -> dict[str, Any]:
        found: dict[str, Any] = await self._asked("open_table", self._table or {})
        self._open = True
        return found

    async def _asked(self, question: str, about: Mapping[str, Any]) -> Any:
        line = await self._exchanged(json.dumps({"ask": question, "about": about}).encode() + b"\n")
        answer = json.loads(line)
        if "refused" in answer:
            raise Refusal(answer["refused"], answer["sentence"])
        return answer["answer"]

    async def _exchanged(self, asked: bytes) -> bytes:
        """One line to the process, and its line back."""
        process = await self._started()
        to, of = pipes(process)
        try:
            to.write(asked)
            await to.drain()
            line = await of.readline()
        except asyncio.CancelledError:
            await self._end()  # else the next question would get the answer to this one
            raise
        except (OSError, ValueError):
            line = b""
        if not line.endswith(b"\n"):
            await self._end()
            raise BenchDied
        return line

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._open = False
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "incrowd.studio.bench_process"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=LONGEST_LINE,
                start_new_session=True,  # Ctrl-C is for the studio, which ends its processes itself
            )
        return self._process

    async def _end(self) -> None:
        process, self._process, self._open = self._process, None, False
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
