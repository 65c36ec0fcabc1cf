"""Children that read Parquet, forked from this process instead of started anew.

A Python of its own for each file takes half a second, which is all that a small case costs. What the child
does, its limits included, is the program's own; only the start is another. `tests/tables` and one in fifty
files here start it as the program does.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from incrowd.tables import parquet_child, parquet_reader

STARTED_ANEW = 50  # one in so many files


class ForkedReader:
    """As much of a `subprocess.Popen` as the parent uses."""

    def __init__(self, descriptor: int) -> None:
        asked, question = os.pipe()
        answer, told = os.pipe()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _serve(descriptor, asked, told)
        os.close(asked)
        os.close(told)
        self.stdin, self.stdout = os.fdopen(question, "wb"), os.fdopen(answer, "rb")

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def __enter__(self) -> ForkedReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdin.close()
        self.stdout.close()
        self.wait()


def _serve(descriptor: int, asked: int, told: int) -> NoReturn:
    """The child's life. Nothing of the parent's may run after it: no cleaning up, no test's `finally`."""
    code = 1
    try:
        sys.setprofile(None)
        signal.setitimer(signal.ITIMER_PROF, 0)
        os.setsid()
        os.chdir("/proc")
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for here, there in ((asked, 0), (told, 1), (nowhere, 2)):
            os.dup2(here, there)
        for other in range(3, 1024):
            if other != descriptor:
                _close(other)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 -- for good
        parquet_child.serve(descriptor)
        sys.stdout.flush()
        code = 0
    finally:
        os._exit(code)


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        return


@contextmanager
def warm_readers(rng: random.Random) -> Iterator[None]:
    """Within it Parquet is read by forked children, but for one file in `STARTED_ANEW`."""
    started = parquet_reader.start_child

    def child(module: str, descriptor: int, *words: str) -> Any:
        anew = rng.randrange(STARTED_ANEW) == 0
        return started(module, descriptor, *words) if anew else ForkedReader(descriptor)

    parquet_reader.start_child = child
    try:
        yield
    finally:
        parquet_reader.start_child = started
