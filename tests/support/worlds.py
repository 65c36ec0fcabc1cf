"""An adversary who re-runs the program: all tables that a release can come from, and how likely each is.

The adversary knows everybody's quasi-identifiers, the sensitive values as a list without names, the release
with its manifest, and this program. A *world* is one way to hand out the values. All worlds are equally
likely beforehand. The adversary runs the program on each of them, keeps those that give the release, and
counts. What is drawn by chance is enumerated: each draw is replayed with every outcome that it can have.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from incrowd import assign
from incrowd.errors import IncrowdError
from incrowd.flow import Table
from incrowd.long_work import unwatched
from incrowd.policy import Policy
from incrowd.publishing.draft import Draft, draft

SENSITIVE = "d"
REFUSED = "refused"
# Where chance only decides the order of rows or the numbers of buckets, which no view shows.
ORDER_OF_ROWS = ("incrowd.assign", "incrowd.publishing.render")

Row = tuple[str, ...]
View = Hashable
Outcomes = Mapping[View, Fraction]  # what the adversary may see of one world, with probabilities


class TooManyDraws(Exception):
    """More outcomes than can be enumerated."""


class Draws:
    """Replays the program's draws: one path through the tree of all outcomes at a time."""

    def __init__(self) -> None:
        self.path: list[list[int]] = []  # of each draw: the outcome taken, and how many there are
        self.at = 0

    def below(self, limit: int) -> int:
        if self.at == len(self.path):
            self.path.append([0, limit])
        taken, found = self.path[self.at]
        assert found == limit, "a run with the same draws took another way"
        self.at += 1
        return taken

    def shuffled(self, n: int, _entropy: object = None) -> Any:
        left = list(range(n))
        return np.array([left.pop(self.below(len(left))) for _ in range(n)], np.int64)

    def draws_below(self, limit: int, size: int, _entropy: object = None) -> Any:
        return np.array([self.below(limit) for _ in range(size)], np.uint64)

    def draw_below(self, limit: int, _entropy: object = None) -> int:
        return self.below(limit)

    @property
    def chance(self) -> Fraction:
        return Fraction(1, math.prod(limit for _, limit in self.path))

    def next(self) -> bool:
        """Go to the next path; False after the last."""
        self.at = 0
        while self.path and self.path[-1][0] + 1 == self.path[-1][1]:
            self.path.pop()
        if self.path:
            self.path[-1][0] += 1
        return bool(self.path)


DRAWING = ("shuffled", "draws_below", "draw_below")


@cache
def _places(_modules: int) -> tuple[tuple[Any, str], ...]:
    """Where the program has functions that draw; found anew whenever more modules are loaded."""
    return tuple(
        (module, word)
        for name, module in list(sys.modules.items())
        if name.startswith("incrowd") and name not in ORDER_OF_ROWS
        for word in DRAWING
        if word in vars(module)
    )


@contextmanager
def _replayed(draws: Draws) -> Iterator[None]:
    """Every module of the program draws from here, but for the order of rows."""
    own = {word: getattr(assign, word) for word in DRAWING}
    changed = []
    for module, word in _places(len(sys.modules)):
        if getattr(module, word) is own[word]:
            setattr(module, word, getattr(draws, word))
            changed.append((module, word))
    try:
        yield
    finally:
        for module, word in changed:
            setattr(module, word, own[word])


def outcomes(run: Callable[[], View], most: int = 5_000) -> Outcomes:
    """What a run can give, with exact probabilities; `TooManyDraws` if there are more than `most` paths."""
    draws = Draws()
    found: dict[View, Fraction] = defaultdict(Fraction)
    for _ in range(most):
        with _replayed(draws):
            seen = run()
        found[seen] += draws.chance
        if not draws.next():
            assert sum(found.values()) == 1
            return found
    raise TooManyDraws


def seen_by_all(made: Draft) -> View:
    """What is published, without what is drawn for nothing but order: rows, buckets with their values."""
    names = made.table.names
    rows = list(zip(*(made.table.column(name).rows() for name in names), strict=True))
    if made.buckets is None:
        return frozenset(Counter(rows).items())
    return _by_bucket(made, rows, names)


def _by_bucket(made: Draft, rows: Sequence[Row], names: Sequence[str]) -> View:
    assert made.buckets is not None
    values = made.buckets.table
    at, beside = names.index("group"), values.names.index("group")
    listed = list(zip(*(values.column(name).rows() for name in values.names), strict=True))
    found = Counter(
        (
            frozenset(Counter(row[:at] + row[at + 1 :] for row in rows if row[at] == bucket).items()),
            frozenset(each[:beside] + each[beside + 1 :] for each in listed if each[beside] == bucket),
        )
        for bucket in {row[at] for row in rows}
    )
    return frozenset(found.items())


def worlds(values: Sequence[str]) -> list[tuple[str, ...]]:
    """All distinct ways to hand out the values."""
    return sorted(set(itertools.permutations(values)))


def rerun(people: Mapping[str, Sequence[str]], values: Sequence[str], policy: Policy) -> View:
    """What the program publishes in one world; a refusal is seen too."""
    try:
        made = draft(Table.of({**people, SENSITIVE: list(values)}), policy, unwatched)
    except IncrowdError:
        return REFUSED
    return seen_by_all(made)


@dataclass(frozen=True)
class Belief:
    """What the adversary believes after one release: the likeliest value of each person, and more."""

    view: View
    likeliest: Fraction  # the largest probability of a value of somebody
    fewest: int  # the fewest values that somebody may have
    row: Fraction  # the largest probability that somebody is behind a row whose value nobody else has


def beliefs(
    people: Mapping[str, Sequence[str]],
    values: Sequence[str],
    policy: Policy,
    run: Callable[[Sequence[str]], Outcomes] | None = None,
) -> list[Belief]:
    """What follows from each release that any world gives."""
    explored = run or (lambda world: outcomes(lambda: rerun(people, world, policy)))
    found: dict[View, dict[tuple[str, ...], Fraction]] = defaultdict(dict)
    for world in worlds(values):
        for view, chance in explored(world).items():
            found[view][world] = chance
    return [_belief(view, weights) for view, weights in found.items() if view != REFUSED]


def _belief(view: View, weights: Mapping[tuple[str, ...], Fraction]) -> Belief:
    total = sum(weights.values())
    persons = range(len(next(iter(weights))))
    odds: list[dict[str, Fraction]] = [defaultdict(Fraction) for _ in persons]
    for world, weight in weights.items():
        for person in persons:
            odds[person][world[person]] += weight / total
    sizes = Counter(next(iter(weights)))
    return Belief(
        view,
        max(max(each.values()) for each in odds),
        min(len(each) for each in odds),
        max((each[value] for each in odds for value in each if sizes[value] == 1), default=Fraction(0)),
    )


@dataclass
class RowCounts:
    """Of runs in which rows said the same: how often each person was behind rows of each kind."""

    kinds: Counter[Row]
    runs: int = 0
    met: Counter[tuple[int, Row]] = field(default_factory=Counter)


def row_chances(people: Mapping[str, Sequence[str]], policy: Policy, runs: int) -> list[RowCounts]:
    """Who is behind which row, run after run; everybody has a value of their own, which tells it.

    The adversary sees what rows say. Where that is up to chance, only runs in which they say the same count
    together.
    """
    size = len(next(iter(people.values())))
    source = Table.of({**people, SENSITIVE: [str(i) for i in range(size)]})
    found: dict[View, RowCounts] = {}
    for _ in range(runs):
        made = draft(source, policy, unwatched).table
        rows = list(zip(*(made.column(name).rows() for name in people), strict=True))
        kinds = Counter(rows)
        counts = found.setdefault(frozenset(kinds.items()), RowCounts(kinds))
        counts.runs += 1
        counts.met.update(
            zip((int(value or "") for value in made.column(SENSITIVE).rows()), rows, strict=True)
        )
    return list(found.values())
