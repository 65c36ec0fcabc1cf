"""Several releases of the same people put together: what comes and goes, shared classes, whole histories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from incrowd.attacks.registry import AttackResult, Rate, attack, one_of
from incrowd.attacks.target import Flags, Ints
from incrowd.flow import Codes, distinct_rows

KNOWS = "everyone's quasi-identifiers, who is in the table at every time, and all releases of the series"


@dataclass(frozen=True, slots=True, eq=False)
class SeriesTarget:
    """The class of each person in each release (releases, people), -1 for no row.

    ``shown`` is how the series parted them, ``anew`` how the method parts each table by itself; `k` is
    promised. Of m-invariance ``values`` are the sensitive values of the people, and `k` is its m.
    """

    shown: Codes
    anew: Codes
    k: int
    values: Codes | None = None

    @property
    def with_rows(self) -> Flags:
        """Who had a row in some release."""
        found: Flags = np.logical_or.reduce(self.shown >= 0)
        return found


@attack("series", 320, ("series",))
def series(target: SeriesTarget) -> tuple[AttackResult, ...]:
    """Looks for each person among those who cannot be told from them, and picks one.

    `series-subtraction` compares each release with the one before, `series-intersection` takes what all
    classes of a person share, and `series-linking` follows every row through all releases. The guess picks
    anybody who had a row; in the control the method parts each table anew. Where m-invariance is promised,
    and k is not, `series-values` looks for a person's value instead: one that all their classes have.
    """
    who = target.with_rows
    if target.values is not None:
        return (_values_attack(target, target.values),)
    guess = Rate(Fraction(1), int(who.sum()), exact=True)
    found = []
    for name, candidates in CANDIDATES.items():
        rate, control = (one_of(candidates(classes)[who]) for classes in (target.shown, target.anew))
        rates = (rate, guess, control)
        told = {"releases": len(target.shown), "fewest": int(candidates(target.shown)[who].min())}
        found.append(
            AttackResult(name, "presence-aware", KNOWS, *rates, bound=Fraction(1, target.k), details=told)
        )
    return tuple(found)


def _values_attack(target: SeriesTarget, values: Codes) -> AttackResult:
    who = target.with_rows
    left, anew = (shared_values(classes, values) for classes in (target.shown, target.anew))
    guess = one_of(np.full(int(who.sum()), np.unique(values[who]).size))
    told = {"releases": len(target.shown), "fewest": int(left[who].min())}
    rates = (one_of(left[who]), guess, one_of(anew[who & np.logical_or.reduce(target.anew >= 0)]))
    bound = Fraction(1, target.k)
    return AttackResult("series-values", "presence-aware", KNOWS, *rates, bound=bound, details=told)


def shared_values(classes: Codes, values: Codes) -> Ints:
    """How many values are in every class of a person; all that there are for who never had one."""
    found = np.full(values.size, np.unique(values).size)
    left: dict[int, set[int]] = {}
    for labels in classes:
        inside: dict[int, set[int]] = {}
        people = np.flatnonzero(labels >= 0).tolist()
        for person in people:
            inside.setdefault(int(labels[person]), set()).add(int(values[person]))
        for person in people:
            left[person] = left.get(person, inside[int(labels[person])]) & inside[int(labels[person])]
    for person, shared in left.items():
        found[person] = len(shared)
    return found


def subtraction(classes: Codes) -> Ints:
    """How many share somebody's class, or its absence, in a release and in the one before; at the fewest."""
    people = classes.shape[1]
    fewest = np.full(people, people)
    for before, after in pairwise(classes):
        seen = (before >= 0) | (after >= 0)
        fewest[seen] = np.minimum(fewest, _alike([before, after]))[seen]
    return fewest


def intersection(classes: Codes) -> Ints:
    """How many share somebody's class in every release that shows them."""
    shown = classes >= 0
    first, pattern = distinct_rows(list(shown.astype(np.int64)), [2] * len(shown), shown.shape[1])
    found = np.full(shown.shape[1], shown.shape[1])
    for number, person in enumerate(first.tolist()):
        releases = np.flatnonzero(shown[:, person])
        if releases.size:
            own = pattern == number
            found[own] = _alike(list(classes[releases]))[own]
    return found


def linking(classes: Codes) -> Ints:
    """How many have somebody's whole history."""
    return _alike(list(classes))


CANDIDATES = {
    "series-subtraction": subtraction,
    "series-intersection": intersection,
    "series-linking": linking,
}


def _alike(columns: Sequence[Codes]) -> Ints:
    """How many people have the same numbers in all columns."""
    counted = [column.astype(np.int64) + 1 for column in columns]
    sizes = [int(column.max(initial=0)) + 1 for column in counted]
    _, which = distinct_rows(counted, sizes, counted[0].size)
    found: Ints = np.bincount(which)[which]
    return found
