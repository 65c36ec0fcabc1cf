"""The campaign of mutants: all of them in order, each noticed by a test or explained in ``survivors.json``.

An explanation of what no longer survives, or is no longer there, is a fault, too.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

from campaigns.campaign import Campaign, Fault
from campaigns.mutants import Key, every_mutant, explained

SERVER = Path(__file__).with_name("mutation_testing.py")
# Modules all of whose mutants were judged: each is noticed or explained. By day some of these are drawn.
SETTLED = ("claims.classes", "claims.closeness", "failure", "means")
NOTICED = ("noticed", "never ends")
# How a reason begins: the same for every table; only how long it takes or how much memory; only the words of
# a message or remark; only tables too large to test; a second check stands behind it.
REASONS = ("same", "speed", "words", "size", "second check")


class Server:
    """A process that judges mutants. It has first run all its tests with nothing changed."""

    def __init__(self, *words: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER), "--serve", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        failed = json.loads(self._answer())
        if failed:
            self.stop()
            raise Fault("the control fails", f"with nothing changed: {failed}")

    def judge(self, number: int) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{number}\n")
        self._process.stdin.flush()
        end: str = json.loads(self._answer())[0]
        return end

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.stop()
            raise Fault("the control fails", "the process that judges mutants broke off")
        return line

    def stop(self) -> None:
        self._process.communicate()


@functools.cache
def server(*words: str) -> Server:
    return Server(*words)


def orphans() -> list[Key]:
    """Explained mutants that do not exist."""
    there = {mutant.key for mutant in every_mutant()}
    return [key for key in explained() if key not in there]


def case(number: int) -> str:
    """Judge the mutant of a number; after the last one come explanations without a mutant."""
    if number >= len(every_mutant()):
        raise Fault("explained, but no such mutant", ": ".join(orphans()[number - len(every_mutant())]))
    return judged(number, server())


def judged(number: int, by: Server) -> str:
    mutant, end = every_mutant()[number], by.judge(number)
    reason = explained().get(mutant.key)
    if end not in NOTICED:
        if reason is None:
            raise Fault("mutant survives", f"{mutant.id}: {end}")
        return f"survives: {reason.split(':')[0]}"
    if reason is not None:
        raise Fault("explained, but noticed", mutant.id)
    return end


MUTANTS = Campaign(
    "mutants of the verifier",
    "no unexplained survivor",
    case,
    nightly=len(every_mutant()) + len(orphans()),
    in_ci=3,
    listed=True,
)
