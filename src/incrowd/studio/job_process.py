"""The process of a job: one request in, steps and the result out; an interrupt ends it like a command."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from typing import IO, Any

from incrowd import long_work
from incrowd.kernels.compiling import compiling
from incrowd.studio import child

NICENESS = 10
SECONDS_BETWEEN = 0.1  # reports of progress


class Reporter:
    """What a work tells the page: steps, shares of them, parts of its result."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._last = 0.0
        self._lock = threading.Lock()

    def watch(self, step: str) -> long_work.Progress:
        """For functions that take a `watch`."""
        self._say({"step": step})
        return self._share

    def watch_parts(self, step: str) -> long_work.Progress:
        """The same where steps are parts of one work, and their shares are shares of it."""
        self._say({"goes_on": step})
        return self._share

    def part(self, found: Any) -> None:
        """Something that is ready before the rest; it is kept also if the rest never comes."""
        self._say({"part": found})

    def compiling(self) -> None:
        """The present step takes longer this one time."""
        self._say({"compiling": True})

    def _share(self, done: float) -> None:
        now = time.monotonic()
        if done >= 1 or now - self._last >= SECONDS_BETWEEN:
            self._last = now
            self._say({"share": round(float(done), 4)})

    def _say(self, message: Mapping[str, Any]) -> None:
        with self._lock:
            child.say(self._out, message)


def run() -> None:
    """Do the work that the first line asks for."""
    os.nice(NICENESS)  # whoever works at this computer comes first
    signal.signal(signal.SIGINT, signal.default_int_handler)
    long_work.install()
    lines, out = child.talk()
    child.quiet_end()
    request = next(child.messages(lines))
    child.end_with_parent(lines)
    reporter = Reporter(out)
    compiling.tell = reporter.compiling
    request.pop("stamp", None)  # kept with the job: of which files its result speaks
    work = importlib.import_module(f"incrowd.studio.work.{request.pop('kind')}")
    try:
        with long_work.running():
            found = work.run(reporter, **request)
        child.say(out, {"result": found, "stopped": isinstance(found, dict) and bool(found.get("stopped"))})
    except KeyboardInterrupt:
        long_work.clean_up()
        child.say(out, {"refused": "Interrupted", "sentence": long_work.STOPPED})
    except Exception as error:
        child.say(out, child.refusal(error))
    sys.exit(0)


if __name__ == "__main__":
    run()
