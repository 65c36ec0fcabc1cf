"""Tests and a verifier to change: which tests see a mutant, and whether one of them notices it.

The control runs every test once with nothing changed, and records how long it takes and which lines of the
verifier it runs. A mutant gets a forked child, in which the code of its function is exchanged and the tests
that run its line are run, the likeliest first, up to the first that fails. A mutant that acts on import gets
a new process. A test that takes far more of the processor than it should has not ended; that is noticed, too.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import math
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NoReturn, TextIO

import pytest
from _pytest.runner import runtestprotocol
from campaigns.mutants import SOURCE, Mutant, every_mutant, module_file, mutated
from hypothesis import Phase, is_hypothesis_test, settings

PROGRAM = Path(__file__).with_name("mutation_testing.py")
EXAMPLES = 25  # of a property, at most: survivors are then looked at by hand
PLACEBO = 20  # tests that are run once more with nothing changed, as those of a mutant are
ENOUGH = 40  # tests of the whole verifier that a mutant meets: the most different that run its line
DIRECT = 200  # lines of the verifier; tests that run fewer look at one part of it, and come first
ENDING = 20  # tests that end at a mutant's statement, which come first, too
LONG = 1.0  # seconds of the processor; tests that take longer come after all others
PATIENCE = 2.0  # seconds of the processor that any test may take, ten times its own time beside them
WAITING = 900  # seconds on the wall that all tests of a mutant may take
ROOM = 6 * 2**30  # bytes of addresses that a mutant may ask for beyond what is there
SURVIVED, NOTICED, ENDLESS, UNREACHED = "survives", "noticed", "never ends", "no test runs it"
PUT_OFF = "put off"


@dataclass
class Known:
    """What the control found out: how long each test takes, and which lines it runs."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)

    def add(self, other: Known) -> None:
        self.seconds |= other.seconds
        self.lines |= other.lines
        self.failed |= other.failed
        self.modules += other.modules

    def seeing(self, mutant: Mutant) -> list[str]:
        """The tests that run a mutant's statement; on import all that run its module, or one that imports it.

        First come tests that run little else of the verifier, and some that go no further than this
        statement. Of the others, those that run the same lines of the module are much alike: one of each
        kind comes first, then a second of each. Long ones come last.
        """
        (first, last), files = mutant.lines, [str(module_file(mutant.module))]
        if not mutant.function:
            files += _importing(mutant.module)
        found = {
            test: [line for file in files for line in own.get(file, [])] for test, own in self.lines.items()
        }
        if mutant.function:
            found = {test: own for test, own in found.items() if any(first <= line <= last for line in own)}
        found = {test: own for test, own in found.items() if own}
        after = min((line for own in found.values() for line in own if line > last), default=0)
        ending = sorted((test for test, own in found.items() if after not in own), key=self.runs)[:ENDING]
        near = {*ending, *(test for test in found if self.runs(test)[0] < DIRECT)}
        alike: Counter[tuple[int, ...]] = Counter()
        turn = {}
        for test in sorted(found, key=self.runs):
            alike[tuple(found[test])] += 1
            turn[test] = 0 if test in near else alike[tuple(found[test])]
        order = sorted(turn, key=lambda test: (self.seconds[test] > LONG, turn[test], self.runs(test)))
        return [test for test in order if test in near] + [test for test in order if test not in near][
            :ENOUGH
        ]

    def runs(self, test: str) -> tuple[int, str]:
        """How many lines of the verifier a test runs, and its name."""
        return sum(map(len, self.lines[test].values())), test


def _importing(module: str) -> list[str]:
    """The files of the verifier that import a module: a number at its head may count there."""
    return [str(file) for file in SOURCE.rglob("*.py") if f"from {module} import" in file.read_text("utf-8")]


class Laboratory:
    """Collected tests and a verifier to change. Everything is done in forked children."""

    def __init__(self, session: pytest.Session, known: Known | None = None) -> None:
        for test in {getattr(item, "obj", None) for item in session.items}:
            if is_hypothesis_test(test):
                _calm(test)
        self.items = {item.nodeid: item for item in session.items}
        self.config = session.config
        self.functions = _functions()
        self.killers: dict[str, list[str]] = defaultdict(list)
        self.known = known or Known()

    def control(self) -> None:
        """Run tests that are not known yet with nothing changed.

        What they import late is imported here, so that children need not.
        """
        items = [item for test, item in self.items.items() if test not in self.known.seconds]
        if items:
            said = self._child(lambda tell: tell(json.dumps(vars(self._traced(items)))))
            self.known.add(Known(**json.loads(said)))
        for name in self.known.modules:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        gc.collect()
        gc.freeze()
        self._placebo()

    def _placebo(self) -> None:
        """A child in which nothing is changed must notice nothing; else whatever fails is not the mutant."""
        some = [test for test in self.items if test not in self.known.failed][:PLACEBO]
        said = self._child(lambda tell: self.run(some, tell)).splitlines()
        if said[-1:] != [SURVIVED]:
            test = said[-2] if said[-1:] == [NOTICED] else "placebo"
            self.known.failed[test] = "fails with nothing changed"

    def _traced(self, items: Sequence[pytest.Item]) -> Known:
        known, inside = Known(), str(SOURCE)
        seen: dict[str, set[int]] = defaultdict(set)

        def line(frame: FrameType, _event: str, _argument: Any) -> Any:
            seen[frame.f_code.co_filename].add(frame.f_lineno)
            return line

        def call(frame: FrameType, _event: str, _argument: Any) -> Any:
            return line if frame.f_code.co_filename.startswith(inside) else None

        for item, following in zip(items, [*items[1:], None], strict=True):
            seen.clear()
            before = time.process_time()
            sys.settrace(call)
            problem = self._failure(item, following)
            sys.settrace(None)
            known.seconds[item.nodeid] = time.process_time() - before
            known.lines[item.nodeid] = {file: sorted(lines) for file, lines in seen.items()}
            if problem:
                known.failed[item.nodeid] = problem
        known.modules = sorted(name for name in sys.modules if name.startswith(("scipy", "numpy", "incrowd")))
        return known

    def _failure(self, item: pytest.Item, following: pytest.Item | None) -> str:
        reports = runtestprotocol(item, log=False, nextitem=following)
        return next((str(report.longrepr)[-2000:] for report in reports if report.failed), "")

    def _child(self, work: Callable[[Callable[[str], None]], None]) -> str:
        """What a forked child says; empty if it broke off."""
        with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as folder:
            said = Path(folder, "said.txt")
            child = os.fork()
            if child == 0:
                self._live(work, Path(folder), said)
            os.waitpid(child, 0)
            return said.read_text(encoding="utf-8") if said.exists() else ""

    def _live(self, work: Callable[[Callable[[str], None]], None], folder: Path, said: Path) -> NoReturn:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            self.config._tmp_path_factory._basetemp = folder / "tests"  # type: ignore[attr-defined]
            folder.joinpath("tests").mkdir()
            with said.open("w", encoding="utf-8") as file:
                work(telling(file))
        finally:
            os._exit(0)

    def judge(self, mutant: Mutant, most: float = math.inf) -> tuple[str, str]:
        """How it ended, and which test noticed; tests beyond `most` seconds together are put off."""
        tests = [
            test for test in self.known.seeing(mutant) if test in self.items
        ]  # an old log may know others
        if not tests:
            return UNREACHED, ""
        tests = self._likely_first(mutant, tests)
        if not mutant.function:
            return (PUT_OFF, "") if most < math.inf else self._anew(mutant, tests)
        total = accumulate(self.known.seconds[test] for test in tests)
        soon = [test for test, until in zip(tests, total, strict=True) if until <= most]
        said = self._child(lambda tell: self._against(mutant, soon, tell))
        if not said:  # code that no longer says `super` cannot take the place of what does
            return self._anew(mutant, soon)
        end, test = self._end(mutant, said.splitlines())
        return (PUT_OFF, "") if end == SURVIVED and len(soon) < len(tests) else (end, test)

    def _likely_first(self, mutant: Mutant, tests: list[str]) -> list[str]:
        """Tests that noticed mutants of the same function or module, then good releases, then the others."""
        killers = [*self.killers[mutant.function][:8], *self.killers[mutant.module][:8]]
        seeing = set(tests)
        good = [test for test in tests if "accepted[" in test and "forgery" not in test]
        return list(dict.fromkeys([test for test in killers if test in seeing] + good[:4] + tests))

    def _end(self, mutant: Mutant, said: list[str]) -> tuple[str, str]:
        if not said:
            raise RuntimeError(f"{mutant.id} was never run")
        if said[-1:] == [SURVIVED]:
            return SURVIVED, ""
        test = said[-2] if said[-1:] == [NOTICED] else said[-1]
        for killers in (self.killers[mutant.function], self.killers[mutant.module]):
            if test in killers:
                killers.remove(test)
            killers.insert(0, test)
        return (NOTICED if said[-1:] == [NOTICED] else ENDLESS), test

    def _against(self, mutant: Mutant, tests: Sequence[str], tell: Callable[[str], None]) -> None:
        if not self._exchange(mutant):
            raise ValueError(f"{mutant.id} cannot be put in its place")
        self.run(tests, tell)

    def run(self, tests: Sequence[str], tell: Callable[[str], None]) -> None:
        """Tell each test before it is run, and then how it ended."""
        _limit()
        items = [self.items[test] for test in tests]
        for item, following in zip(items, [*items[1:], None], strict=True):
            tell(item.nodeid + "\n")
            signal.setitimer(signal.ITIMER_PROF, PATIENCE + 10 * self.known.seconds[item.nodeid])
            if self._failure(item, following):
                tell(NOTICED + "\n")
                return
        tell(SURVIVED + "\n")

    def _exchange(self, mutant: Mutant) -> bool:
        """Put the mutant's code into the functions that are there; was there any?"""
        file = str(module_file(mutant.module))
        old = dict(_codes(compile(Path(file).read_text(encoding="utf-8"), file, "exec")))
        new = dict(_codes(compile(mutated(mutant, Path(file).read_text(encoding="utf-8")), file, "exec")))
        done = False
        for function in self.functions[file]:
            name = function.__code__.co_qualname, function.__code__.co_firstlineno
            if name in new and new[name] != old[name]:
                function.__code__ = new[name]
                done = True
        for module in [module for name, module in sys.modules.items() if name.startswith("incrowd.verifier")]:
            for thing in vars(module).values():
                if hasattr(thing, "cache_clear"):
                    thing.cache_clear()
        return done

    def _anew(self, mutant: Mutant, tests: Sequence[str]) -> tuple[str, str]:
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            asked, told = Path(folder, "asked.json"), Path(folder, "told.txt")
            seconds = {test: self.known.seconds[test] for test in tests}
            asked.write_text(json.dumps([every_mutant().index(mutant), seconds]), encoding="utf-8")
            child = os.fork()
            if child == 0:
                os.execv(sys.executable, [sys.executable, str(PROGRAM), "--anew", str(asked), str(told)])
            os.waitpid(child, 0)
            said = told.read_text(encoding="utf-8").splitlines() if told.exists() else [NOTICED]
        return self._end(mutant, ["import", NOTICED] if said == [NOTICED] else said)


def telling(file: TextIO) -> Callable[[str], None]:
    """Write at once: whoever writes may be killed any time."""

    def tell(text: str) -> None:
        file.write(text)
        file.flush()

    return tell


def _calm(test: Any) -> None:
    """The same examples every time, not too many, and none made smaller."""
    own = test._hypothesis_internal_use_settings
    test._hypothesis_internal_use_settings = settings(
        own,
        max_examples=min(own.max_examples, EXAMPLES),
        phases=[Phase.explicit, Phase.generate],
        derandomize=True,
        database=None,
    )


def _limit() -> None:
    """A mutant that never ends, or wants all memory, is killed by the system."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(WAITING)  # for one that waits for what never comes and takes no time of the processor


def _functions() -> dict[str, list[FunctionType]]:
    """The functions of the verifier that are there, by file."""
    found: dict[str, list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename.startswith(str(SOURCE)):
            found[thing.__code__.co_filename].append(thing)
    return found


def _codes(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield (each.co_qualname, each.co_firstlineno), each
            yield from _codes(each)
