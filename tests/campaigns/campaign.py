"""A campaign: many cases, each made from a seed and its number alone, so that any can be run again.

A case ends in a word (how it ended), or raises `Fault` with the kind of fault and where to look. Faults that
are known and still open are listed in `open_faults`; any other fails the campaign.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import tempfile
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from campaigns.open_faults import OPEN
from campaigns.warm_reader import warm_readers

# Calls of functions that a case may take: a hang is found by counting, not by the clock. What is compiled for
# the first time does not count.
STEPS = 20_000_000
LONG = 20.0  # seconds of processor time after which they are counted
COMPILING = re.compile(r"/(numba|llvmlite)/")
# Folders of cases: where nothing waits for a disk, if there is such a place.
IN_MEMORY = next((place for place in ("/dev/shm",) if os.access(place, os.W_OK)), None)
KEPT = 20  # cases of each kind of fault that are written down
SAVED = 200  # times in the course of a campaign

Case = Callable[..., str]


class Fault(Exception):
    """A case that ended as none may: the kind of fault in a few words, and what happened."""

    def __init__(self, kind: str, what: str = "") -> None:
        super().__init__(f"{kind}: {what}")
        self.kind, self.what = kind, what


class TooManySteps(BaseException):
    """Not an Exception: nobody on the way may catch it."""


class TakesLong(BaseException):
    """So much processor time that steps had better be counted."""


@dataclass(frozen=True)
class Campaign:
    """What is tried, how often at night and in CI, and what must never happen.

    A case gets a generator of random numbers and a folder of its own; one of a `listed` campaign, which goes
    through a list, gets its number alone.
    """

    name: str
    bar: str
    case: Case
    nightly: int
    in_ci: int
    fresh: bool = False  # its tables must be such as nobody has seen: a seed of the operating system's
    listed: bool = False


@dataclass
class Progress:
    """How far a campaign has come; all that a state file holds about it."""

    seed: int
    done: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[list[Any]]] = field(default_factory=dict)

    def unexplained(self) -> dict[str, int]:
        return {kind: count for kind, count in self.faults.items() if kind not in OPEN}


class State:
    """A file that says how far every campaign has come; a run that was stopped goes on from there."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._known: dict[str, Any] = {}
        if path is not None and path.exists():
            self._known = json.loads(path.read_text(encoding="utf-8"))

    def of(self, name: str, seed: int) -> Progress:
        """What is known of a campaign with this seed; another seed begins anew."""
        known = self._known.get(name)
        return Progress(**deepcopy(known)) if known and known["seed"] == seed else Progress(seed)

    def unfinished(self, name: str, count: int) -> int | None:
        """The seed of a run that was stopped before so many cases."""
        known = self._known.get(name)
        return known["seed"] if known and known["done"] < count else None

    def save(self, name: str, progress: Progress) -> None:
        self._known[name] = asdict(progress)
        if self.path is not None:
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(self._known, indent=1), encoding="utf-8")
            new.replace(self.path)


def run(
    campaign: Campaign, count: int, seed: int, state: State | None = None, shown: bool = False
) -> Progress:
    """Run cases up to the given number, from where the state file says it stopped.

    Cases that failed are tried again first: what they found may be mended.
    """
    state = state or State(None)
    progress = state.of(campaign.name, seed)
    _again(campaign, progress)
    state.save(campaign.name, progress)
    every = max(1, min(100, count // SAVED))
    while progress.done < count:
        _one(campaign, progress, progress.done)
        progress.done += 1
        if progress.done % every == 0 or progress.done == count:
            state.save(campaign.name, progress)
            if shown:
                _show(campaign.name, progress, count)
    return progress


def _again(campaign: Campaign, progress: Progress) -> None:
    failed = [number for cases in progress.examples.values() for number, _ in cases]
    for kind, cases in list(progress.examples.items()):
        progress.faults[kind] -= len(cases)
        if not progress.faults[kind]:  # else there are more than were written down, and they stay
            del progress.faults[kind]
    progress.examples = {kind: [] for kind in progress.faults}
    for number in sorted(failed):
        _one(campaign, progress, number)


def _one(campaign: Campaign, progress: Progress, number: int) -> None:
    try:
        end = run_case(campaign, progress.seed, number)
        progress.ends[end] = progress.ends.get(end, 0) + 1
    except Fault as fault:
        progress.faults[fault.kind] = progress.faults.get(fault.kind, 0) + 1
        kept = progress.examples.setdefault(fault.kind, [])
        if len(kept) < KEPT:
            kept.append([number, fault.what[:300]])


def run_case(campaign: Campaign, seed: int, number: int) -> str:
    """One case in a folder of its own; what is not a `Fault` is one of its own kind.

    Counting steps makes everything half as slow again. So a case is run without, and once more with it only
    if it takes long: the clock says what to look at, the count decides.
    """
    try:
        return _tried(campaign, seed, number, _stopwatched)
    except TakesLong:
        return f"{_tried(campaign, seed, number, _limited)}, slow at first"


def _tried(campaign: Campaign, seed: int, number: int, watched: Callable[[Callable[[], str]], str]) -> str:
    rng = random.Random(f"{campaign.name} {seed} {number}")
    readers = warm_readers(random.Random(f"readers {seed} {number}"))
    with tempfile.TemporaryDirectory(prefix="campaign-", dir=IN_MEMORY) as folder, readers:
        try:
            given = (number,) if campaign.listed else (rng, Path(folder))
            return watched(lambda: campaign.case(*given))
        except TooManySteps:
            raise Fault("hang", f"more than {STEPS:,} steps") from None
        except Fault:
            raise
        except Exception as error:
            raise Fault(f"uncaught {type(error).__name__}", repr(error)) from error


def _stopwatched(work: Callable[[], str]) -> str:
    """Stop work that takes long. Again and again: an exception in a destructor is swallowed.

    What is compiled for the first time is not broken off: numba would be left with half a kernel.
    """

    def stop(_number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if COMPILING.search(frame.f_code.co_filename):
                return
            frame = frame.f_back
        raise TakesLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONG, LONG)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _limited(work: Callable[[], str]) -> str:
    left = STEPS

    def count(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal left
        if event == "call" and not COMPILING.search(frame.f_code.co_filename):
            left -= 1
            if left == 0:
                sys.setprofile(None)
                raise TooManySteps

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return work()
    finally:
        sys.setprofile(before)


def _show(name: str, progress: Progress, count: int) -> None:
    faults = sum(progress.faults.values())
    sys.stderr.write(f"\r{name}: {progress.done:,} of {count:,}, faults {faults:,}   ")
    if progress.done >= count:
        sys.stderr.write("\n")
