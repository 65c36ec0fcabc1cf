"""Who shares a class in the next release of the same people, so that all releases together keep k and l.

The *history* of a person is their class in each release, or none. An *atom* are all people with the same
history. Whoever has all releases, links their rows by private values and subtracts one from another, ends
with an atom: so no atom is ever torn into parts of fewer than k people, or of values that were not l-diverse
in every release in which it had rows.

A *cohort* is the part of one atom that is one class now; its rows have one date. In each release

* a cohort from which nobody is gone is shown as it is now, in smaller cohorts where it has become large; if
  people changed so that it would lose much, it is repeated as it was for some releases, where that is asked
  for;
* if those who are gone, and those who stay, are both an atom that may be, the former lose their rows;
* if somebody must go (an erasure), others go with them, or the whole cohort is withheld;
* otherwise the cohort is repeated as it was: those who left linger.

People without a cohort wait in a pool: those never published until a class of them loses little, or somebody
has waited long enough; those who return, until they, and those of their atom who do not, are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import AnyLimit, Choice, Limit, Limited, Share, exact
from incrowd.errors import PolicyError

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
NONE = -1  # no cohort, no value, not waiting
NEVER = 0  # the atom of all who never had a row
Allowed = Callable[[Ints], bool]


@dataclass(frozen=True)
class SeriesTerms(Limited):
    """What a series promises, and how it waits.

    Parameters
    ----------
    k, l
        Least people of an atom; of its values none is more frequent than 1/l in a release (1: no promise).
    size
        Least people of a class that is made new; 0 for k. A larger one leaves room for those who leave.
    wait
        After so many releases somebody who waits gets a row, whatever their class loses.
    tau
        Until then their class must lose at most so many times what classes lose on average.
    left
        Rows of people who left are repeated (``repeat``), or taken out with companions (``companions``).
    hold
        For so many releases a class is repeated as it was if its people changed so that it would lose more
        than before, and more than `tau` times what classes lose on average.
    """

    k: int
    l: int = 1  # noqa: E741 -- the name that the papers give it
    size: int = 0
    wait: int = 0
    tau: float | str = "1.5"
    left: str = "repeat"
    hold: int = 0
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        "k": Limit(1),
        "l": Limit(1),
        "size": Limit(0),
        "wait": Limit(0),
        "tau": Share(Fraction(0), None, True),
        "left": Choice(("repeat", "companions")),
        "hold": Limit(0),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size and self.size < self.k:
            raise PolicyError(
                f"size is the least number of a new class: at least k = {self.k}, got {self.size}"
            )

    @property
    def least(self) -> int:
        """Least people of a new class."""
        return self.size or self.k


class Grouper(Protocol):
    """What a method does for a series, as people are today; without l it sees quasi-identifiers alone."""

    def parts(self, people: Ints, least: int, allowed: Allowed | None) -> Sequence[Ints]:
        """People in classes of at least so many, diverse today and allowed; else all of them as one class."""
        ...

    def outermost_first(self, people: Ints) -> Ints:
        """The same people, who lies farthest from the others first."""
        ...

    def losses(self, cohort: Codes, as_of: Codes) -> Sequence[Fraction]:
        """What each class loses, as of its date: today, or the one as of which the last release showed it."""
        ...

    def mean_loss(self, cohort: Codes, as_of: Codes) -> Fraction:
        """What the classes that stand lose on average for a person, each as of its date."""
        ...


@dataclass(frozen=True, eq=False)
class SeriesState:
    """Where a series stands after some releases; people are numbered in the order in which they came.

    ``cohort[p]`` is the class of person p, -1 for none, and ``as_of[c]`` the release whose values the rows of
    cohort c show. ``since[p]`` is the release from which on somebody has waited, -1 for nobody.
    ``values[r][j]`` are the codes that sensitive column j showed for each person in release r, -1 for none:
    kept where l is promised.
    """

    releases: int
    atom: Ints
    cohort: Codes
    as_of: Codes
    since: Codes
    values: tuple[tuple[Codes, ...], ...] = ()

    @classmethod
    def empty(cls) -> SeriesState:
        """Before the first release."""
        none = np.empty(0, np.int32)
        return cls(0, np.empty(0, np.int64), none, none, none)

    def with_people(self, people: int) -> SeriesState:
        """The same with newcomers, so that there are so many people."""
        more = people - self.atom.size
        waits = np.concatenate([self.since, np.full(more, NONE, np.int32)])
        atom = np.concatenate([self.atom, np.full(more, NEVER, np.int64)])
        cohort = np.concatenate([self.cohort, np.full(more, NONE, np.int32)])
        nothing = np.full(more, NONE, np.int32)
        values = tuple(tuple(np.concatenate([codes, nothing]) for codes in shown) for shown in self.values)
        return replace(self, atom=atom, cohort=cohort, since=waits, values=values)


@dataclass(frozen=True, eq=False)
class Now:
    """The table of today: who is in it, who must be erased, and the codes of each sensitive column."""

    present: Flags
    erased: Flags
    values: tuple[Codes, ...] = ()


@dataclass(frozen=True, eq=False)
class CohortCounts:
    """Of each cohort of the last release: its people, those here today, the erased, and the date of its rows.

    ``diverse[c]`` says whether today's values of all its people are.
    """

    size: Ints
    here: Ints
    erased: Ints
    as_of: Codes
    diverse: Flags

    def whole(self, terms: SeriesTerms) -> Flags:
        """Nobody is gone, there is nothing to cut, and values are diverse: shown as it is now."""
        found: Flags = (self.size == self.here) & (self.size < 2 * terms.least) & self.diverse
        return found

    def stuck(self, terms: SeriesTerms) -> Flags:
        """Somebody is gone, nobody has to, and those who are gone or those who stay are too few: repeated."""
        gone = self.size - self.here
        must = (gone > 0) if terms.left == "companions" else (self.erased > 0)
        few = (gone < terms.k) | ((self.here > 0) & (self.here < terms.k))
        found: Flags = (gone > 0) & ~must & few
        return found


def advanced(
    state: SeriesState, now: Now, terms: SeriesTerms, method: Grouper, last_atom: int | None = None
) -> SeriesState:
    """The state after the next release.

    It may be that of some people alone, if nobody of their atoms and cohorts is left out and all others are
    in cohorts that are shown or repeated as they are: `last_atom` is then the last atom of everybody.
    """
    return _Next(state.with_people(now.present.size), now, terms, method, last_atom).state()


class _Next:
    """The next release in the making: who is in which cohort so far, and the date of each."""

    def __init__(
        self, before: SeriesState, now: Now, terms: SeriesTerms, method: Grouper, last: int | None
    ) -> None:
        self.before, self.now, self.terms, self.method = before, now, terms, method
        self.here = now.present & ~now.erased
        self.atom = before.atom.copy()
        self._last = int(before.atom.max(initial=NEVER)) if last is None else last
        self.cohort, self.dates = np.full(self.here.size, NONE, np.int32), list[int]()

    def state(self) -> SeriesState:
        today, since = self.before.releases, self.before.since
        for people, date in self._keep_the_simple():
            self._renew(people, date)
        waiting = self.here & (self.cohort == NONE)
        since = np.where(waiting, np.where(since == NONE, today, since), NONE).astype(np.int32)
        self._publish_waiting(since)
        since[self.cohort != NONE] = NONE
        as_of = np.array(self.dates, np.int32)
        values = (*self.before.values, self._values(as_of))
        return SeriesState(today + 1, self.atom, self.cohort, as_of, since, values)

    # Cohorts

    def _keep_the_simple(self) -> Iterator[tuple[Ints, int]]:
        """Show cohorts again that are complete, and repeat those that cannot lose anybody; the others follow.

        Most are of these two kinds, and are found by counting.
        """
        old, as_of = self.before.cohort, self.before.as_of
        size = np.bincount(old[old != NONE], minlength=as_of.size)
        here = np.bincount(old[(old != NONE) & self.here], minlength=as_of.size)
        erased = np.bincount(old[(old != NONE) & self.now.erased], minlength=as_of.size)
        counts = CohortCounts(size, here, erased, as_of, self._diverse_now(old, size))
        whole = counts.whole(self.terms)
        kept = whole | counts.stuck(self.terms)
        number = np.append(np.where(kept, np.cumsum(kept) - 1, NONE), NONE).astype(np.int32)
        self.cohort = number[old]
        current = whole & ~self._held(whole)
        self.dates = np.where(current, self.before.releases, as_of)[kept].tolist()
        rest = np.append(~kept, False)[old]
        for people in members(np.where(rest, old, NONE)):
            yield people, int(as_of[old[people[0]]])

    def _held(self, whole: Flags) -> Flags:
        """Of every cohort: would it lose so much as its people are today that it is repeated for now?"""
        old, as_of, today = self.before.cohort, self.before.as_of, self.before.releases
        asked = whole & (today - as_of <= self.terms.hold)
        found = np.zeros(whole.size, np.bool_)
        if asked.any():
            most = exact(self.terms.tau) * self.method.mean_loss(old, as_of)
            number = np.append(np.where(asked, np.cumsum(asked) - 1, NONE), NONE).astype(np.int32)[old]
            then = self.method.losses(number, as_of[asked])
            now = self.method.losses(number, np.full(int(asked.sum()), today, np.int32))
            found[asked] = [new > most and new > last for new, last in zip(now, then, strict=True)]
        return found

    def _diverse_now(self, cohort: Codes, size: Ints) -> Flags:
        """Of every cohort: are the values of all its people diverse today?"""
        found = np.ones(size.size, np.bool_)
        rows = np.flatnonzero(cohort != NONE)
        for codes in self.now.values if self.terms.l > 1 else ():
            width = int(codes.max(initial=0)) + 2  # who is not in the table has no value, -1
            keys, often = np.unique(cohort[rows] * np.int64(width) + codes[rows] + 1, return_counts=True)
            most = np.zeros(size.size, np.int64)
            np.maximum.at(most, keys // width, often)
            found &= most * self.terms.l <= size
        return found

    def _renew(self, people: Ints, as_of: int) -> None:
        stay, gone = people[self.here[people]], people[~self.here[people]]
        if not gone.size and self._diverse(people):
            self._show(*self._parted(people))
        elif gone.size and self._whole(gone) and self._whole(stay) and self._diverse(stay):
            self._tear(gone, stay)
            self._show(stay)
        elif self._must_go(gone):
            self._take_out(gone, stay)
        else:
            self._show(people, date=as_of)

    def _parted(self, people: Ints) -> Sequence[Ints]:
        """A cohort in smaller ones, each an atom of its own, where it is large enough."""
        if people.size < 2 * self.terms.least:
            return [people]
        parts = self.method.parts(people, self.terms.least, self._was_diverse)
        self._tear(*(parts if len(parts) > 1 else ()))
        return parts

    def _must_go(self, gone: Ints) -> bool:
        """Is there somebody whose row may not be repeated?"""
        return bool(gone.size) and (self.terms.left == "companions" or bool(self.now.erased[gone].any()))

    def _take_out(self, gone: Ints, stay: Ints) -> None:
        """Others go too, up to k; if that will not do, the whole cohort is withheld and stays one atom."""
        order = self.method.outermost_first(stay)
        more = max(self.terms.k - gone.size, 0)
        leaving, rest = np.sort(np.concatenate([gone, order[:more]])), np.sort(order[more:])
        if rest.size and self._whole(leaving) and self._whole(rest) and self._diverse(rest):
            self._tear(leaving, rest)
            self._show(rest)

    # The pool

    def _publish_waiting(self, since: Codes) -> None:
        pool = np.flatnonzero(self.here & (self.cohort == NONE))
        if not pool.size:
            return
        without = np.flatnonzero(self.cohort == NONE)
        without = without[np.argsort(self.atom[without], kind="stable")]
        ends = self.atom[without]
        _, label = np.unique(self.atom[pool], return_inverse=True)
        for people in members(label.astype(np.int32), pool):
            atom = self.atom[people[0]]
            if people.size < self.terms.least or not self._diverse(people):
                continue
            if atom == NEVER:
                self._publish_newcomers(people, since)
                continue
            everybody = without[np.searchsorted(ends, atom) : np.searchsorted(ends, atom, side="right")]
            rest = np.setdiff1d(everybody, people)
            if self._whole(people) and self._whole(rest):
                self._tear(people, rest)
                self._show(*self._parted(people))

    def _publish_newcomers(self, people: Ints, since: Codes) -> None:
        typical = exact(self.terms.tau) * self.method.mean_loss(self.cohort, np.array(self.dates, np.int32))
        parts = list(self.method.parts(people, self.terms.least, None))
        label = np.full(self.cohort.size, NONE, np.int32)
        for number, part in enumerate(parts):
            label[part] = number
        losses = self.method.losses(label, np.full(len(parts), self.before.releases, np.int32))
        for part, loss in zip(parts, losses, strict=True):
            waited = self.before.releases - int(since[part].min())
            if waited >= self.terms.wait or loss <= typical:
                self._tear(part)
                self._show(part)

    # What may be

    def _whole(self, people: Ints) -> bool:
        """May these people, of one atom, be an atom of their own?"""
        return not people.size or (people.size >= self.terms.k and self._was_diverse(people))

    def _diverse(self, people: Ints) -> bool:
        """Are their values diverse today? Nobody's are."""
        return all(diverse(codes[people], self.terms.l) for codes in self.now.values)

    def _was_diverse(self, people: Ints) -> bool:
        """Were they in every release in which they had rows? People of one atom had them together."""
        columns = (codes[people] for shown in self.before.values for codes in shown)
        return all(diverse(codes, self.terms.l) for codes in columns if codes.size and codes[0] != NONE)

    # What comes of it

    def _tear(self, *parts: Ints) -> None:
        """Parts of an atom become atoms of their own."""
        for part in parts:
            if part.size:
                self._last += 1
                self.atom[part] = self._last

    def _show(self, *parts: Ints, date: int | None = None) -> None:
        """Each part is a cohort, by the values of today unless it is repeated."""
        for part in parts:
            if part.size:
                self.cohort[part] = len(self.dates)
                self.dates.append(self.before.releases if date is None else date)

    def _values(self, as_of: Codes) -> tuple[Codes, ...]:
        """What each person's row shows: of today, or what the last release showed where it is repeated."""
        if self.terms.l == 1:
            return ()
        current = np.append(as_of == self.before.releases, False)[self.cohort]
        repeated = (self.cohort != NONE) & ~current
        found = []
        for j, codes in enumerate(self.now.values):
            last = self.before.values[-1][j] if self.before.values else codes
            found.append(np.where(current, codes, np.where(repeated, last, NONE)).astype(np.int32))
        return tuple(found)


def diverse(codes: Codes, least: int) -> bool:
    """Is no value more frequent than 1/l?

    Examples
    --------
    >>> diverse(np.array([3, 3, 5, 9], np.int32), 2), diverse(np.array([3, 3, 5], np.int32), 2)
    (True, False)
    """
    return (
        least == 1
        or not codes.size
        or int(np.unique(codes, return_counts=True)[1].max()) * least <= codes.size
    )


def members(labels: Codes, of: Ints | None = None) -> Iterator[Ints]:
    """The people of each label in order; those without one (-1) are left out."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(int(labels.max(initial=NONE)) + 2))
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if stop > start:
            members = order[start:stop]
            yield members if of is None else of[members]
