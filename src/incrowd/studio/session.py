"""The policy file as the state of the studio: every choice is one write, and can be undone.

The history holds each text that the policy ever had, with the label of the choice that made it. Undo goes
back to the text before, redo forward again. A choice after an undo opens a branch; the other one stays on
disk. What somebody changes in the file outside of the studio is noticed before it is overwritten.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from incrowd.errors import InputError
from incrowd.studio.project import Project, read_bytes, write_whole

FIRST = "the policy as it was"
OUTSIDE = "changed outside of the studio"


class Conflict(Exception):
    """The policy was changed outside of the studio: somebody must say which one counts."""


class ReadOnly(Exception):
    """Another studio has opened the project: here it is only shown."""


@dataclass(frozen=True)
class PolicyStep:
    """A text that the policy had, the step before it, and what made it."""

    number: int
    parent: int | None
    label: str
    text: str


class StudioSession:
    """The policy of a project, with its history."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._steps: dict[int, PolicyStep] = {}
        self._now: int | None = None
        self._next: dict[int, int] = {}
        self._load()

    # what is

    @property
    def started(self) -> bool:
        """Is there a policy?"""
        return self._now is not None

    @property
    def now(self) -> PolicyStep:
        if self._now is None:
            raise LookupError("there is no policy yet")
        return self._steps[self._now]

    @property
    def text(self) -> str:
        return self.now.text

    @property
    def digest(self) -> str:
        return digest_of(self.text)

    @property
    def undoes(self) -> str:
        """The label of what undo would take back; empty if there is nothing."""
        return self.now.label if self.started and self.now.parent is not None else ""

    @property
    def redoes(self) -> str:
        """The label of what redo would do again; empty if there is nothing."""
        later = self._next.get(self.now.number) if self.started else None
        return "" if later is None else self._steps[later].label

    @property
    def before(self) -> str | None:
        """The text before the last choice; None if there was none."""
        parent = self.now.parent
        return None if parent is None else self._steps[parent].text

    @property
    def branches(self) -> int:
        """How many texts are in the history that undo and redo do not reach."""
        reached = {step.number for step in self._line()}
        later = self._now
        while later is not None:
            reached.add(later)
            later = self._next.get(later)
        return len(set(self._steps) - reached)

    def _line(self) -> list[PolicyStep]:
        """From now back to the first."""
        line, number = [], self._now
        while number is not None:
            line.append(self._steps[number])
            number = self._steps[number].parent
        return line

    def marked(self) -> list[tuple[str, bool]]:
        """The lines of the policy, and which of them the last choice made."""
        step = self.now
        old = [] if step.parent is None else self._steps[step.parent].text.splitlines()
        new = step.text.splitlines()
        if step.parent is None:
            return [(line, False) for line in new]
        changed: set[int] = set()
        for tag, _, _, start, end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
            if tag != "equal":
                changed.update(range(start, end))
        return [(line, number in changed) for number, line in enumerate(new)]

    def outside(self) -> str | None:
        """What the file says, if somebody else changed it; None if it is as we left it."""
        if not self.started:
            return None
        there = read_bytes(self.project.policy)
        if there == self.text.encode():
            return None
        if self.project.read_only:
            self.__init__(self.project)  # type: ignore[misc]  # the other studio has written
            return None
        return "" if there is None else there.decode("utf-8", "replace")

    # what changes it

    def begin(self, text: str, label: str = FIRST) -> None:
        """The first policy of a project."""
        self._check_writable()
        if self.started:
            raise Conflict
        self._put(text, label)

    def write(self, text: str, label: str) -> None:
        """One choice: a new text under its label, unless nothing changes."""
        self._check()
        if text != self.text:
            self._put(text, label)

    def undo(self) -> str:
        """Back to the text before; the label of what was taken back, empty if there was nothing."""
        self._check()
        step = self.now
        if step.parent is None:
            return ""
        self._next[step.parent] = step.number
        self._go(step.parent)
        return step.label

    def redo(self) -> str:
        """Forward again; the label of what was done again."""
        self._check()
        later = self._next.get(self.now.number)
        if later is None:
            return ""
        self._go(later)
        return self._steps[later].label

    def take_outside(self) -> None:
        """The file as somebody else left it counts from now on; ours can be had back by undo."""
        self._check_writable()
        there = self.outside()
        if there:
            self._put(there, OUTSIDE)

    def keep_mine(self) -> None:
        """Our text counts; the other one stays in the history, on a branch of its own."""
        self._check_writable()
        there, mine = self.outside(), self.now.number
        if there is None:
            return
        if there:
            self._keep(PolicyStep(self._free(), mine, OUTSIDE, there))
        self._go(mine)

    def _check_writable(self) -> None:
        if self.project.read_only:
            raise ReadOnly

    def _check(self) -> None:
        self._check_writable()
        if self.outside() is not None:
            raise Conflict

    def _free(self) -> int:
        return max(self._steps, default=-1) + 1

    def _put(self, text: str, label: str) -> None:
        step = PolicyStep(self._free(), self._now, label, text)
        self._keep(step)
        if self._now is not None:
            self._next[self._now] = step.number
        self._next.pop(step.number, None)
        self._go(step.number)

    def _keep(self, step: PolicyStep) -> None:
        said = {"parent": step.parent, "label": step.label, "text": step.text}
        write_whole(self._path(step.number), json.dumps(said, ensure_ascii=False).encode())
        self._steps[step.number] = step

    def _go(self, number: int) -> None:
        """The policy first, then where we are: after a crash between them, the file says it."""
        write_whole(self.project.policy, self._steps[number].text.encode())
        self._now = number
        self._remember()

    def _remember(self) -> None:
        where = {"now": self._now, "next": {str(key): value for key, value in self._next.items()}}
        write_whole(self.project.inside("history") / "where.json", json.dumps(where).encode())

    # after a start

    def _path(self, number: int) -> Any:
        return self.project.inside("history") / f"{number:06d}.json"

    def _load(self) -> None:
        """The history as it is on disk; a policy that lies there without one is its first text."""
        for path in sorted(self.project.inside("history").glob("[0-9]*.json")):
            said = json.loads(path.read_bytes())
            number = int(path.stem)
            self._steps[number] = PolicyStep(number, said["parent"], said["label"], said["text"])
        there = read_bytes(self.project.policy)
        where = read_bytes(self.project.inside("history") / "where.json")
        if where is not None and self._steps:
            said = json.loads(where)
            self._now = said["now"]
            self._next = {int(key): value for key, value in said["next"].items()}
        elif self._steps:
            self._now = min(self._steps)
        self._follow(there)
        if self._now is not None or there is None:
            return
        first = PolicyStep(0, None, FIRST, _text(there))
        if self.project.read_only:
            self._steps[0], self._now = first, 0
        else:
            self._put(first.text, first.label)

    def _follow(self, there: bytes | None) -> None:
        """The step that a crash kept from being noted: next to where we were, and its text is in the file."""
        if self._now is None or there is None or there == self.text.encode():
            return
        here = self._now
        near = [
            step for step in self._steps.values() if step.parent == here or step.number == self.now.parent
        ]
        for step in sorted(near, key=lambda one: -one.number):
            if step.text.encode() == there:
                if step.parent == here:
                    self._next[here] = step.number
                else:
                    self._next[step.number] = here
                self._now = step.number
                return


def _text(there: bytes) -> str:
    try:
        return there.decode()
    except UnicodeDecodeError:
        raise InputError("policy.toml in the project is not UTF-8; save it so, or move it away") from None


def digest_of(text: str) -> str:
    """What a policy is known by in jobs and releases."""
    return sha256(text.encode()).hexdigest()[:16]
