"""Histories of people over all releases of a series, and the claims about those who share one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.schema import Claim
from incrowd.verifier.claims.subject import ClaimSubject, EquivalenceClasses, Histogram
from incrowd.verifier.columns import Ints, folded
from incrowd.verifier.failure import CheckFailed, require, whole

NONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class ShownRelease:
    """The rows of a release: whose each is, as of which date it shows them, and its group in the ledger."""

    classes: EquivalenceClasses
    person: Ints
    date: Ints
    group: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Histories:
    """All releases of a series, the first one first, about so many people."""

    people: int
    releases: Sequence[ShownRelease]

    def atoms(self) -> Ints:
        """People of one number had the same class, and the same date, in every release, or both no row."""
        columns = []
        for release in self.releases:
            shown = np.zeros(self.people, np.int64)
            shown[release.person] = 1 + folded([release.classes.row_class, release.date])
            columns.append(shown)
        return folded(columns)

    def with_rows(self) -> Ints:
        """Everybody who had a row in some release."""
        found: Ints = np.unique(np.concatenate([release.person for release in self.releases]))
        return found


def series_k(claim: Claim, subject: ClaimSubject) -> int:
    """The fewest people with one history."""
    histories = _of(subject)
    _, sizes = np.unique(histories.atoms()[histories.with_rows()], return_counts=True)
    fewest = int(sizes.min())
    k = whole(claim, "k")
    require(fewest >= k, f"in all releases together {fewest} people have a history of their own, k = {k}")
    return fewest


def series_l(claim: Claim, subject: ClaimSubject) -> int:
    """One over the largest share that a value has among people with one history, in any release."""
    histories, least = _of(subject), whole(claim, "l")
    atoms, reached = histories.atoms(), []
    for number, release in enumerate(histories.releases):
        _, group = np.unique(atoms[release.person], return_inverse=True)
        found = Histogram.of(group.astype(np.int64), *release.classes.values(claim))
        most = np.zeros(len(found), np.int64)
        np.maximum.at(most, found.group, found.count)
        reached.append(int((found.rows // most).min()))
        require(
            reached[-1] >= least,
            f"in release {number} a value makes up more than 1/{least} of people with one history",
        )
    return min(reached)


def m_invariance(claim: Claim, subject: ClaimSubject) -> int:
    """The fewest values of a signature: those of somebody's group, the same in every release that shows them.

    Groups are parts of classes, and the ledgers name them: whoever sees classes alone sees less.
    """
    histories, m = _of(subject), whole(claim, "m")
    known: dict[object, int] = {}
    signature, value = (np.full(histories.people, NONE) for _ in range(2))
    numbers: dict[bytes, int] = {}
    reached = []
    for number, release in enumerate(histories.releases):
        codes, meaning = release.classes.meanings(claim)
        shown = np.array([known.setdefault(thing, len(known)) for thing in meaning], np.int64)[codes]
        order = np.lexsort((shown, release.group))
        group, rows = release.group[order], shown[order]
        starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
        _check_groups(number, release, order, starts)
        again = (group[1:] == group[:-1]) & (rows[1:] == rows[:-1])
        require(not again.any(), f"in release {number} a group has a value twice")
        sizes = np.diff(np.append(starts, rows.size))
        reached.append(int(sizes.min()))
        require(reached[-1] >= m, f"in release {number} a group has {reached[-1]} values, m = {m}")
        own = [numbers.setdefault(part.tobytes(), len(numbers)) for part in np.split(rows, starts[1:])]
        people = release.person[order]
        _check_same(signature, people, np.repeat(own, sizes), f"in release {number}, another signature")
        _check_same(value, people, rows, f"in release {number}, another value")
    return min(reached)


def _check_groups(number: int, release: ShownRelease, order: Ints, starts: Ints) -> None:
    """All rows of a group are in one class."""
    row_class = release.classes.row_class[order]
    inside = np.ones(row_class.size, np.bool_)
    inside[starts] = False
    torn = inside[1:] & (row_class[1:] != row_class[:-1])
    require(not torn.any(), f"in release {number} a group has rows of two classes")


def _check_same(kept: Ints, people: Ints, now: Ints, what: str) -> None:
    """People have what they had before; who had nothing has it from now on."""
    before = kept[people]
    changed = int(((before != NONE) & (before != now)).sum())
    require(not changed, f"{changed} people have, {what} than before")
    kept[people] = now


def _of(subject: ClaimSubject) -> Histories:
    if not isinstance(subject.histories, Histories):
        raise CheckFailed("the claim is about a series, and its other releases are not there")
    return subject.histories
