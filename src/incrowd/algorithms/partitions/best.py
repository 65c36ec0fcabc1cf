"""The best of several: methods that make equivalence classes are tried in turn, and the least loss is kept.

The order is fixed, from the fastest to the slowest. Mondrian runs to its end; another method counts only if
it ends in time and loses less, so that more time never gives a worse result. None takes more than half of the
time that is left from those that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic
from typing import Any, ClassVar

import numpy as np

from incrowd.algorithms.base import Algorithm, need_enough
from incrowd.algorithms.deadline import Deadline
from incrowd.algorithms.partitions.agglomerative import Agglomerative
from incrowd.algorithms.partitions.cells import Cells
from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.contracts import AnyLimit, Choice, Guard, Limit, Partitioner, catalogue, register
from incrowd.errors import IncrowdError
from incrowd.flow import Microdata, Partition
from incrowd.generalize import generalize
from incrowd.long_work import Progress, part_of, silent
from incrowd.measures import published_from_regions
from incrowd.results import Attempt
from incrowd.schema import Shape

MEASURES = ("gcp", "entropy")
LATE = "not finished in time"
NOT_BEGUN = "not begun: no time was left"
FEW = 60  # records on which everything is compiled
_COMPILED: set[frozenset[Shape]] = set()  # kinds of columns that this process has met


class _OutOfTimeError(Exception):
    """Ends a method that has taken too long."""


@dataclass(frozen=True)
class Candidate:
    """A method with its options, to be tried."""

    make: Callable[..., Partitioner]
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


# In the order in which they are tried, by the time that they take.
CANDIDATES = (
    Candidate(StrictMondrian, StrictMondrian.name),
    Candidate(StrictMondrian, StrictMondrian.name, {"polish": True}),
    Candidate(Agglomerative, Agglomerative.name, {"distance": "10", "polish": True}),
    Candidate(Cells, Cells.name),
)


@register("algorithm", "best")
@dataclass(frozen=True)
class Best(Algorithm):
    """Try several methods, and keep the equivalence classes that lose least.

    Parameters
    ----------
    seconds : int
        How long may be tried. The first method always runs to its end; another one that takes more than half
        of what is left, or the last one all of it, does not count. What is published depends on the machine.
    measure : str
        Which loss decides.
    """

    seconds: int = 30
    measure: str = "gcp"

    paper: ClassVar[str] = "none; the least information loss among several methods"
    section: ClassVar[str] = "docs/claims/best.md"
    needs: ClassVar[str] = "time: half a minute by default"
    strict: ClassVar[bool] = False  # as those that may win
    timed: ClassVar[bool] = True
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        "k": Limit(1),
        "seconds": Limit(0),
        "measure": Choice(MEASURES),
    }

    def group(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        """The classes of the method that won, with what was tried."""
        need_enough(data, self.k)
        if self.seconds:
            _compile(data)
        deadline = Deadline.after(self.seconds)
        made: list[tuple[Attempt, Partition | None]] = []
        for number, each in enumerate(CANDIDATES):
            share = 1 if number == len(CANDIDATES) - 1 else 2
            seconds = deadline.left() / share if number else inf
            made.append(self._tried(each, data, guards, seconds, _share_of(progress, number)))
        progress(1.0)
        ended = [
            (attempt.loss, number, found)
            for number, (attempt, found) in enumerate(made)
            if attempt.loss is not None and found is not None
        ]
        _, won, best = min(ended, key=lambda each: each[:2])  # of equal ones the first
        tried = (replace(attempt, won=number == won) for number, (attempt, _) in enumerate(made))
        return replace(best, tried=tuple(tried))

    def _tried(
        self,
        each: Candidate,
        data: Microdata,
        guards: tuple[Guard, ...],
        seconds: float,
        progress: Progress,
    ) -> tuple[Attempt, Partition | None]:
        """What a candidate makes in time; if there is no end to it, it may refuse."""
        found, loss, reason, began = None, None, "", monotonic()
        try:
            if seconds <= 0:
                raise _OutOfTimeError(NOT_BEGUN)
            hears = _ended_by(Deadline.after(seconds), progress)
            found = each.make(self.k, **each.options).group(data, guards, hears)
            loss = self.loss(found, data)
        except _OutOfTimeError as end:
            reason = str(end)
        except IncrowdError as problem:
            if seconds == inf:
                raise
            reason = f"refused: {problem}"
        took = monotonic() - began
        return Attempt(each.name, each.options, self.measure, took, loss, reason), found

    def loss(self, found: Partition, data: Microdata) -> float:
        """What the rows of these classes lose."""
        shown = published_from_regions(generalize(data, found), data.attributes)
        return float(catalogue("measure")[self.measure]().value(shown, data))


def _compile(data: Microdata) -> None:
    """Run everything once on a few records: the first run on a machine compiles, and that takes long."""
    shapes = frozenset(attribute.shape for attribute in data.attributes)
    if shapes not in _COMPILED:
        _COMPILED.add(shapes)
        few = data.take(np.arange(min(len(data), FEW)))
        for each in CANDIDATES:
            with suppress(IncrowdError):
                each.make(2, **each.options).group(few, (), silent)


def _share_of(progress: Progress, number: int) -> Progress:
    """The progress of one candidate as a share of all."""
    return part_of(progress, number / len(CANDIDATES), 1 / len(CANDIDATES))


def _ended_by(deadline: Deadline, progress: Progress) -> Progress:
    """Ends the method that reports its progress when the time is over."""

    def heard(done: float) -> None:
        if deadline.over():
            raise _OutOfTimeError(LATE)
        progress(done)

    return heard
