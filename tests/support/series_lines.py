"""People on a line, who come, go, move and change their values; and a method that cuts the line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from incrowd.cohorts import diverse

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Night:
    """Who is there, who is to be erased, where everybody is, and everybody's value."""

    present: frozenset[int]
    erased: frozenset[int]
    places: tuple[int, ...]
    values: tuple[int, ...]


@st.composite
def nights(draw: st.DrawFn, most: int = 14, releases: int = 5, kinds: int = 4) -> list[Night]:
    people = draw(st.integers(4, most))
    ids = range(people)
    found: list[Night] = []
    places, values, erased = (
        [draw(st.integers(0, 6)) for _ in ids],
        [draw(st.integers(0, kinds - 1)) for _ in ids],
        set[int](),
    )
    for night in range(draw(st.integers(1, releases))):
        share = draw(st.sampled_from([0.6, 0.85, 1.0]))
        present = {p for p in ids if draw(st.floats(0, 1)) <= share} - erased
        if night:
            gone = [p for p in ids if p not in present]
            erased |= set(draw(st.lists(st.sampled_from(gone), max_size=2))) if gone else set()
            for p in draw(st.lists(st.sampled_from(ids), max_size=3)):
                places[p], values[p] = draw(st.integers(0, 6)), draw(st.integers(0, kinds - 1))
        found.append(Night(frozenset(present), frozenset(erased), tuple(places), tuple(values)))
    return found


def cut_line(
    places: Sequence[int], people: Sequence[int], least: int, allowed: Callable[[list[int]], bool]
) -> list[list[int]]:
    """Runs of at least so many that are allowed, from the left; what is left over joins the last one."""
    order = sorted(people, key=lambda p: (places[p], p))
    parts: list[list[int]] = []
    run: list[int] = []
    for person in order:
        run.append(person)
        if len(run) >= least and allowed(sorted(run)):
            parts.append(run)
            run = []
    if not parts:
        return [sorted(order)]
    last = parts[-1] + run
    if run and not allowed(sorted(last)):
        return [sorted(order)]
    return [sorted(part) for part in (*parts[:-1], last)]


def span(places: Sequence[int], people: Sequence[int]) -> Fraction:
    return Fraction(max(places[p] for p in people) - min(places[p] for p in people), 6)


def outermost(places: Sequence[int], people: Sequence[int]) -> list[int]:
    """By how far they are from the median, of equal ones the first first."""
    middle = sorted(places[p] for p in people)[len(people) // 2] if people else 0
    return sorted(people, key=lambda p: (-abs(places[p] - middle), p))


@dataclass(frozen=True)
class LineOfNights:
    """The method for arrays: `today` is the last of the nights."""

    nights: Sequence[Night]
    l: int = 1  # noqa: E741

    @property
    def places(self) -> Sequence[int]:
        return self.nights[-1].places

    def parts(self, people: Ints, least: int, allowed: Callable[[Ints], bool] | None) -> list[Ints]:
        values = np.array(self.nights[-1].values, np.int32)

        def fine(run: list[int]) -> bool:
            some = np.array(run)
            return diverse(values[some], self.l) and (allowed is None or allowed(some))

        return [np.array(part) for part in cut_line(self.places, people.tolist(), least, fine)]

    def outermost_first(self, people: Ints) -> Ints:
        return np.array(outermost(self.places, people.tolist()), np.int64)

    def losses(self, cohort: NDArray[np.int32], as_of: NDArray[np.int32]) -> list[Fraction]:
        dates = enumerate(as_of.tolist())
        return [span(self.nights[date].places, np.flatnonzero(cohort == c).tolist()) for c, date in dates]

    def mean_loss(self, cohort: NDArray[np.int32], as_of: NDArray[np.int32]) -> Fraction:
        classes: list[Any] = [
            (np.flatnonzero(cohort == c).tolist(), int(date), {}) for c, date in enumerate(as_of)
        ]
        return ListedLine(self.nights).mean_loss(classes)


@dataclass(frozen=True)
class ListedLine:
    """The same for lists, as the twin wants it."""

    nights: Sequence[Night]

    def parts(self, people: list[int], least: int, allowed: Callable[[list[int]], bool]) -> list[list[int]]:
        return cut_line(self.nights[-1].places, people, least, allowed)

    def outermost_first(self, people: list[int]) -> list[int]:
        return outermost(self.nights[-1].places, people)

    def loss(self, people: list[int]) -> Fraction:
        return span(self.nights[-1].places, people)

    def loss_then(self, people: list[int], date: int) -> Fraction:
        return span(self.nights[date].places, people)

    def mean_loss(self, classes: Sequence[Any]) -> Fraction:
        whole = sum(len(people) for people, _, _ in classes)
        lost = sum(
            (len(people) * span(self.nights[date].places, people) for people, date, _ in classes), Fraction(0)
        )
        return lost / whole if whole else Fraction(9)
