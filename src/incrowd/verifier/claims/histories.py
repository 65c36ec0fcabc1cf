"""Histories of people over all releases of a series, and the claims about those who share one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.schema import Claim
from incrowd.verifier.claims.subject import ClaimSubject, EquivalenceClasses, Histogram
from incrowd.verifier.columns import Ints, folded
from incrowd.verifier.failure import CheckFailed, require, whole


@dataclass(frozen=True, slots=True, eq=False)
class ShownRelease:
    """The rows of a release: whose each is, and the date as of which it shows them."""

    classes: EquivalenceClasses
    person: Ints
    date: Ints


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


def _of(subject: ClaimSubject) -> Histories:
    if not isinstance(subject.histories, Histories):
        raise CheckFailed("the claim is about a series, and its other releases are not there")
    return subject.histories
