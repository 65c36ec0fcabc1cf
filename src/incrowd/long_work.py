"""What long work says while it runs, on how many threads, and how it ends when asked to (INT, TERM, HUP).

To end is to tidy up, say one sentence and exit with 1, never with a traceback. Only the command line installs
this. A signal raises `KeyboardInterrupt` while a command runs, so that
whatever is open is closed on the way out. Three things could go wrong with that, and are seen to:

* Outside a command there is nothing to close: the program ends at once.
* Python swallows an interrupt in a destructor or a callback, prints a traceback and goes on. Then, and at a
  second signal, what is left behind is removed right there and the program ends.
* Between the first and the last step of a commit nobody can say what was published. There a signal waits;
  once the release has its name it comes too late, and the command ends as if it had never come.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from incrowd.system import SIGNALS, processors

Result = TypeVar("Result")
STOPPED = "stopped; nothing was published"
EXIT_CODE = 1
STEPS = {  # what a `Watch` hears, in words for people
    "read": "reading the table",
    "encode": "encoding its values",
    "group": "grouping the records",
    "suppress": "choosing who is left out",
    "repair": "repairing groups that disclose outliers",
    "generalize": "generalizing the rows",
    "write": "writing the files",
    "verify": "verifying the release",
    "measure": "measuring information loss",
    "bound": "bounding the information loss from below",
    "match": "finding who fits which row",
    "level": "finding the level of anonymity",
    "probabilities": "computing match probabilities",
    "inspect": "looking at columns and their combinations",
    "attack": "attacking the release",
}
WORTH_THREADS = 20_000  # rows from which several threads end sooner than one


class Progress(Protocol):
    """Hears now and then how much of the present step is done, from 0 to 1."""

    def __call__(self, done: float) -> None: ...


def silent(done: float) -> None:
    """A progress that nobody watches."""


def part_of(progress: Progress, begin: float, share: float) -> Progress:
    """The progress of a part of a step, which begins there and is so much of it; nobody watches it alone."""
    if progress is silent:
        return silent
    return lambda done: progress(begin + share * done)


Watch = Callable[[str], Progress]  # called at the start of each step, with its name


Notice = Callable[[str], None]  # hears what should be known before the work begins


def unnoticed(_sentence: str) -> None:
    """A notice that nobody reads; it is among the warnings, too."""


def unwatched(_step: str) -> Progress:
    """A watch that shows nothing."""
    return silent


@dataclass
class _State:
    installed: bool = False
    running: bool = False  # is a command running, which can be left by an exception?
    held: int = 0
    wanted: bool = False  # has a signal come?
    told: bool = False
    cleaners: list[Callable[[], object]] = field(default_factory=list)


_state = _State()


def install() -> None:
    """Handle signals from now on; those that the parent wants ignored stay so (nohup)."""
    if _state.installed:
        return
    _state.installed = True
    sys.unraisablehook = _unraisable
    for number in SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _handle)


def _handle(*_: object) -> None:
    if _state.held:
        _state.wanted = True
    elif _state.running and not _state.wanted:
        _state.wanted = True
        raise KeyboardInterrupt
    else:
        _end_here()


def _unraisable(problem: Any) -> None:
    if issubclass(problem.exc_type, KeyboardInterrupt):
        _end_here()
    sys.__unraisablehook__(problem)


def _end_here() -> NoReturn:
    """Leave nothing behind, say so unless it was said, and end without going back to what was going on."""
    ignore()
    clean_up()
    if not _state.told:
        with suppress(OSError):
            os.write(2, f"incrowd: {STOPPED}\n".encode())
    os._exit(EXIT_CODE)


def ignore() -> None:
    """It is too late to stop: the command has done what it does."""
    _state.wanted = False
    if _state.installed:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def running() -> Iterator[None]:
    """A command that may be left by `KeyboardInterrupt`; afterwards signals do nothing."""
    _state.running = _state.installed
    try:
        yield
    finally:
        ignore()
        _state.running = False


@contextmanager
def held() -> Iterator[None]:
    """No interrupt inside; one that came meanwhile is raised at the end."""
    _state.held += 1
    try:
        yield
    finally:
        _state.held -= 1
    check()


def check() -> None:
    """Raise an interrupt that came while interrupts were held, or that was swallowed by others' code."""
    if _state.wanted and _state.running and not _state.held:
        raise KeyboardInterrupt


@contextmanager
def cleaned_by(cleaner: Callable[[], object]) -> Iterator[None]:
    """Something that must not be left behind; cleaning once more must do no harm.

    Left by an exception, it stays on the list: an interrupt may have come on the way out.
    """
    if _state.installed:
        _state.cleaners.append(cleaner)
    yield
    if cleaner in _state.cleaners:
        _state.cleaners.remove(cleaner)


def clean_up() -> None:
    """Do what was not come to on the way out."""
    for cleaner in reversed(_state.cleaners):
        with suppress(OSError):
            cleaner()


def told() -> None:
    """The sentence has been said."""
    _state.told = True


# Several threads: what is done is the same with one.


class _Threads(threading.local):
    """How many threads this thread may use; None is as many as there are processors."""

    allowed: int | None = None


_threads = _Threads()


def threads() -> int:
    """How many threads may work at once. Work that is already one of several has one."""
    if _threads.allowed is not None:
        return _threads.allowed
    return processors()


@contextmanager
def with_threads(number: int | None) -> Iterator[None]:
    """At most so many threads inside; None leaves it as it is."""
    before = _threads.allowed
    _threads.allowed = before if number is None else number
    try:
        yield
    finally:
        _threads.allowed = before


class Ahead(Generic[Result]):
    """Work that is begun before its result is wanted, if there is a thread for it; else when it is wanted.

    It must not matter when it is done, and never to be asked for the result must do no harm.

    Examples
    --------
    >>> Ahead(lambda: 1 + 1).result()
    2
    """

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._thread = threading.Thread(target=self._do, daemon=True) if threads() > 1 else None
        self._results: list[Result] = []
        self._problem: BaseException | None = None
        if self._thread is not None:
            self._thread.start()

    def _do(self) -> None:
        with with_threads(1):
            try:
                self._results.append(self._work())
            except BaseException as problem:
                self._problem = problem

    def result(self) -> Result:
        """What it returned; what it raised is raised."""
        if self._thread is None:
            self._do()
        else:
            self._thread.join()
        if self._problem is not None:
            raise self._problem
        return self._results[0]


def side_by_side(works: Sequence[Callable[[], Result]], rows: int = WORTH_THREADS) -> list[Result]:
    """Do all of these at once, as far as threads are allowed; what each returns, in their order.

    Work over so few `rows` that threads would only get in each other's way is done by one.

    They are begun in their order, the first by this thread, and after one has failed no other is begun: so
    what is raised is what one thread would raise. Only long loops without the interpreter's lock gain by it:
    arrays, kernels, digests.

    Examples
    --------
    >>> side_by_side([lambda: 1 + 1, lambda: 2 + 2])
    [2, 4]
    """
    several = min(threads(), len(works)) if rows >= WORTH_THREADS else 1
    if several < 2:
        return [work() for work in works]
    waiting, results = iter(enumerate(works)), list[Any]([None] * len(works))
    failed: dict[int, BaseException] = {}
    lock = threading.Lock()

    def begun() -> tuple[int, Callable[[], Result]] | None:
        with lock:
            return None if failed else next(waiting, None)

    def do(one: tuple[int, Callable[[], Result]] | None) -> None:
        with with_threads(1):
            while one is not None:
                try:
                    results[one[0]] = one[1]()
                except BaseException as problem:
                    failed[one[0]] = problem
                one = begun()

    # An interrupt comes to this thread alone, which then waits for nobody: others only fill arrays.
    first = begun()
    others = [threading.Thread(target=lambda: do(begun()), daemon=True) for _ in range(several - 1)]
    for other in others:
        other.start()
    do(first)
    if not any(isinstance(problem, KeyboardInterrupt) for problem in failed.values()):
        for other in others:
            other.join()
    if failed:
        raise failed[min(failed)]
    return results
