"""Run the tests of the verifier against its mutants.

``python tests/campaigns/mutation_testing.py --log FILE`` judges all of them and goes on where it was stopped.
The campaign asks for one after the other (``--serve``).
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import importlib.abc
import importlib.util
import json
import math
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS), str(TESTS.parent / "src")]

import pytest  # noqa: E402
from campaigns.mutants import (  # noqa: E402
    SOURCE,
    Key,
    Mutant,
    every_mutant,
    module_file,
    mutants_of,
    mutated,
)
from campaigns.mutation_laboratory import (  # noqa: E402
    ENDLESS,
    NOTICED,
    PUT_OFF,
    Known,
    Laboratory,
    telling,
)

WHERE = ("tests/verifier", "src/incrowd/verifier")
# What settled modules do by definition: enough for mutants of them, and run in a second.
_DEFINED = (
    *("k_anonymity", "distinct_diversity", "entropy_diversity", "recursive_diversity"),
    *("closeness_is_exact", "closeness_of_the_salaries", "means_of_small_classes_need_acceptance"),
)
QUICK = (
    *("tests/verifier/test_limits.py", "tests/verifier/test_closeness_parts.py"),
    *(f"tests/verifier/test_verifier.py::test_{name}" for name in _DEFINED),
)
FIRST_ROUND = 2.0  # seconds of tests for each mutant, before those are looked at that survive so many


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from its changed tree."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Any:
        if name != self.mutant.module:
            return None
        file = module_file(name)
        inside = [str(file.parent)] if file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            name, file, loader=self, submodule_search_locations=inside
        )

    def exec_module(self, module: ModuleType) -> None:
        file = str(module.__file__)
        tree = mutated(self.mutant, Path(file).read_text(encoding="utf-8"))
        exec(compile(tree, file, "exec"), vars(module))


class Plugin:
    """Takes the place of pytest's loop over tests."""

    def __init__(self, work: Callable[[pytest.Session], None]) -> None:
        self.work = work
        self.errors = os.fdopen(os.dup(2), "w", encoding="utf-8")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        try:
            self.work(session)
        except Exception:
            traceback.print_exc(file=self.errors)  # pytest would write it where nobody looks
            raise
        return True


def with_tests(work: Callable[[pytest.Session], None], tests: Sequence[str] = WHERE) -> int:
    """Collect tests and hand the session over."""
    os.chdir(TESTS.parent)
    words = ["-q", "-p", "no:cacheprovider", "--no-header", "--no-summary", "--tb=line"]
    words += ["-W", "ignore::pytest.PytestAssertRewriteWarning", *tests]
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        return int(pytest.main(words, plugins=[Plugin(work)]))


def anew(asked: Path, told: Path) -> None:
    """One mutant that acts on import, in a process of its own."""
    number, seconds = json.loads(asked.read_text(encoding="utf-8"))
    mutant = every_mutant()[number]
    sys.meta_path.insert(0, Finder(mutant))
    # or pytest, which collects their examples, would load this one unchanged and run others twice, so that
    # their classes were two, and tests failed that have nothing to do with the mutant
    for name in sorted({each.module for each in every_mutant()}):
        importlib.import_module(name)

    def work(session: pytest.Session) -> None:
        if not isinstance(sys.modules[mutant.module].__loader__, Finder):
            raise AssertionError(f"{mutant.id} was not loaded")
        laboratory = Laboratory(session, Known(seconds=seconds))
        gc.freeze()
        with told.open("w", encoding="utf-8") as file:
            laboratory.run(
                [test for test in seconds if test in laboratory.items],
                telling(file),
            )

    with_tests(work, sorted({test.split("::")[0] for test in seconds}))


def digest() -> str:
    """Of everything that a result rests on: the verifier and its tests."""
    found = hashlib.sha256()
    for path in sorted([*SOURCE.rglob("*.py"), *TESTS.rglob("*.py")]):
        found.update(path.read_bytes())
    return found.hexdigest()


def newer_than(commit: str) -> list[Mutant]:
    """The mutants of lines that the verifier did not have then."""

    def shown(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=SOURCE, check=True, capture_output=True, text=True).stdout

    then: set[Key] = set()
    for name in shown("ls-tree", "-r", "--name-only", commit, ".").splitlines():
        if name.endswith(".py"):
            source = shown("show", f"{commit}:./{name}")
            then |= {mutant.key for mutant in mutants_of(SOURCE / name, source)}
    return [mutant for mutant in every_mutant() if mutant.key not in then]


def write_log(
    path: Path, again: bool, control_only: bool, mutants: Sequence[Mutant], shown: Callable[[str], object]
) -> None:
    """Judge those mutants that the log does not have, and keep beside it what the control found.

    After a change everything is done anew; `again` keeps of an older log who was noticed, and runs new tests
    only in the control.
    """
    beside = path.with_suffix(".control.json")
    control = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
    if not again and control.get("digest") != digest():
        control = {}
    lines = path.read_text(encoding="utf-8").splitlines() if control and path.exists() else []
    old = {tuple(key): [end, test] for *key, end, test in map(json.loads, lines)}
    known = {key: how for key, how in old.items() if not again or how[0] in (NOTICED, ENDLESS)}

    def work(session: pytest.Session) -> None:
        laboratory = Laboratory(session, Known(**control["known"]) if control else None)
        laboratory.control()
        found = {"digest": digest(), "known": vars(laboratory.known)}
        beside.write_text(json.dumps(found), encoding="utf-8")
        if laboratory.known.failed:
            raise AssertionError(f"the control failed: {laboratory.known.failed}")
        if control_only:
            return
        for most in (FIRST_ROUND, math.inf):
            for number, mutant in enumerate(mutants):
                if known.get(mutant.key, [PUT_OFF])[0] == PUT_OFF:
                    known[mutant.key] = [*laboratory.judge(mutant, most)]
                    with path.open("a", encoding="utf-8") as log:
                        log.write(json.dumps([*mutant.key, *known[mutant.key]], ensure_ascii=False) + "\n")
                    shown(f"\r{number + 1} of {len(mutants)}, round {1 + (most > FIRST_ROUND)}   ")
        whole = [json.dumps([*m.key, *known[m.key]], ensure_ascii=False) for m in mutants]
        path.write_text("\n".join(whole) + "\n", encoding="utf-8")

    with_tests(work)


def serve(quick: bool) -> None:
    """Say what the control found; then for each number that comes how the mutant ended."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    questions = os.fdopen(os.dup(0), encoding="utf-8")  # pytest takes the usual ones away

    def work(session: pytest.Session) -> None:
        laboratory = Laboratory(session)
        laboratory.control()
        answers.write(json.dumps(laboratory.known.failed) + "\n")
        answers.flush()
        for line in questions:
            answers.write(json.dumps(laboratory.judge(every_mutant()[int(line)])) + "\n")
            answers.flush()

    with_tests(work, QUICK if quick else WHERE)


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the tests of the verifier against its mutants.")
    parser.add_argument("--log", type=Path, help="judge every mutant, and write down how each ended")
    parser.add_argument("--again", action="store_true", help="judge only who was not noticed before")
    parser.add_argument("--since", metavar="COMMIT", help="judge only mutants of lines that came later")
    parser.add_argument("--control", action="store_true", help="run the control alone")
    parser.add_argument("--serve", action="store_true", help="judge the mutants whose numbers come in")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="with two files of tests only",
    )
    parser.add_argument("--anew", type=Path, nargs=2, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.anew:
        anew(*words.anew)
    elif words.serve:
        serve(words.quick)
    elif words.log:
        mutants = newer_than(words.since) if words.since else every_mutant()
        write_log(words.log, words.again, words.control, mutants, sys.stderr.write)


if __name__ == "__main__":
    main()
