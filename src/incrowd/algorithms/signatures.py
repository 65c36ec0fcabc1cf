"""m-invariance (Xiao, Tao, SIGMOD 2007) without counterfeits: everybody's class always has the same values.

The *signature* of a person is the set of sensitive values in their class. In every release a class has at
least m values, each of them once, and nobody is ever shown with another signature. So whoever puts all
releases together is left with m values for everybody.

In each release

* all people with one signature share a bucket. It is *balanced* if it has equally many people of each value,
  and only as many are shown as balance it;
* newcomers balance it where their values are short there. Where the paper prints counterfeits, rows that
  describe nobody, people of the other values are withheld until somebody comes;
* of other newcomers new buckets are made, of the most frequent values first; who fits in none waits;
* each bucket is split into classes with one person of each value.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from incrowd.algorithms.base import SERIES_METHOD, Algorithm, records_by_label
from incrowd.algorithms.transparent.split import ColourSplit, Ground
from incrowd.cohorts import NEVER, NONE, Codes, Flags, Ints, Now, SeriesState
from incrowd.contracts import AnyLimit, Guard, Limit, register
from incrowd.errors import PolicyError, Refused
from incrowd.flow import Microdata, Partition
from incrowd.long_work import Progress

Signature = tuple[int, ...]  # values, ascending
Split = Callable[[Ints], Sequence[Ints]]  # people by value (s, g) -> g classes of s people


def advanced_by_signatures(state: SeriesState, now: Now, m: int, split: Split) -> SeriesState:
    """The state after the next release; an atom of it are all people with one signature."""
    before = state.with_people(now.present.size)
    here, (values,) = now.present & ~now.erased, now.values
    shown = _shown_values(before)
    _check_unchanged(shown, values, here)
    atom, cohort, made = before.atom.copy(), np.full(here.size, NONE, np.int32), 0
    for number, people in _buckets(before, here, shown, values, m):
        atom[people] = number
        for members in split(people):
            cohort[members] = made
            made += 1
    waiting = here & (cohort == NONE)
    since = np.where(waiting, np.where(before.since == NONE, before.releases, before.since), NONE)
    told = np.where(cohort != NONE, values, NONE).astype(np.int32)
    as_of = np.full(made, before.releases, np.int32)
    kept = (*before.values, (told,))
    return SeriesState(before.releases + 1, atom, cohort, as_of, since.astype(np.int32), kept)


def _shown_values(state: SeriesState) -> Codes:
    """The value that releases showed of each person, -1 for none."""
    found = np.full(state.atom.size, NONE, np.int32)
    for (values,) in state.values:
        found = np.maximum(found, values)
    return found


def _check_unchanged(shown: Codes, values: Codes, here: Flags) -> None:
    changed = int((here & (shown != NONE) & (shown != values)).sum())
    if changed:
        raise Refused(
            f"{changed} people have another sensitive value than a release showed, and m-invariance is for "
            "values that never change; take a method such as mondrian, with l, in a series of its own"
        )


def _buckets(
    state: SeriesState, here: Flags, shown: Codes, values: Codes, m: int
) -> Iterator[tuple[int, Ints]]:
    """The number of each signature and who of it gets a row: as many of each value (s, g)."""
    queues = _newcomers(np.flatnonzero(here & (state.atom == NEVER)), values)
    found, numbers = dict[Signature, list[list[int]]](), dict[Signature, int]()
    had_row = state.cohort != NONE
    for atom in np.unique(state.atom[state.atom != NEVER]).tolist():
        everybody = np.flatnonzero(state.atom == atom)
        signature: Signature = tuple(np.unique(shown[everybody]).tolist())
        members = everybody[here[everybody]]
        members = members[np.argsort(~had_row[members], kind="stable")]
        numbers[signature] = atom
        found[signature] = balanced(
            [members[values[members] == v].tolist() for v in signature],
            [queues.get(v, deque()) for v in signature],
        )
    for signature, often in new_buckets({v: len(queue) for v, queue in queues.items()}, m):
        numbers.setdefault(signature, 1 + max(numbers.values(), default=NEVER))
        rows = found.setdefault(signature, [[] for _ in signature])
        for value, row in zip(signature, rows, strict=True):
            row.extend(queues[value].popleft() for _ in range(often))
    for signature, rows in found.items():
        if rows[0]:
            yield numbers[signature], np.array(rows, np.int64)


def _newcomers(people: Ints, values: Codes) -> dict[int, deque[int]]:
    """By value; who came first stands first."""
    found: dict[int, deque[int]] = {}
    for person, value in zip(people.tolist(), values[people].tolist(), strict=True):
        found.setdefault(value, deque()).append(person)
    return found


def balanced(members: Sequence[list[int]], newcomers: Sequence[deque[int]]) -> list[list[int]]:
    """As many people of each value of a bucket, with newcomers where these bring others back.

    Examples
    --------
    >>> balanced([[1, 2], [3]], [deque(), deque([7, 8])])
    [[1, 2], [3, 7]]
    >>> balanced([[1, 2], [3]], [deque([9]), deque()])
    [[1], [3]]
    """
    rows = [list(people) for people in members]
    level, most = min(map(len, rows)), max(map(len, rows))
    while level < most:
        short = [at for at, row in enumerate(rows) if len(row) <= level]
        if not all(newcomers[at] for at in short):
            break
        for at in short:
            rows[at].append(newcomers[at].popleft())
        level += 1
    return [row[:level] for row in rows]


def new_buckets(counts: Mapping[int, int], m: int) -> Iterator[tuple[Signature, int]]:
    """Signatures for newcomers with these values, at least m of them, and how many people of each value.

    As many people as can be get a place. The most frequent values go first, as few and as often at once as
    leave no value to more than 1/m of the others.

    Examples
    --------
    >>> list(new_buckets({0: 5, 1: 2, 2: 1}, 2))
    [((0, 1), 2), ((0, 2), 1)]
    """
    most = _most_classes(list(counts.values()), m)
    left = {value: min(often, most) for value, often in counts.items()}
    while any(left.values()):
        order = sorted(left, key=lambda value: (-left[value], value))
        width, often = _largest_step([left[value] for value in order], m)
        chosen = order[:width]
        for value in chosen:
            left[value] -= often
        yield tuple(sorted(chosen)), often


def _most_classes(counts: Sequence[int], m: int) -> int:
    """How many classes of m values can be made: no value is in one twice.

    Examples
    --------
    >>> _most_classes([5, 2, 1], 2)
    3
    """
    low, high = 0, sum(counts) // m
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(often, middle) for often in counts) >= m * middle:
            low = middle
        else:
            high = middle - 1
    return low


def _largest_step(counts: Sequence[int], m: int) -> tuple[int, int]:
    """How many of the most frequent values, and how often, so that none is too frequent among the rest.

    `counts` fall, and none is above 1/m of their sum; then some step exists: all of the most frequent ones.
    """
    whole = sum(counts)
    for width in range(m, len(counts) + 1):
        following = counts[width] if width < len(counts) else 0
        often = min(counts[width - 1], (whole - m * following) // width)
        if width > m:
            often = min(often, (whole - m * counts[0]) // (width - m))
        if often > 0:
            return width, often
    raise ArithmeticError("a value is too frequent")


def near_people(data: Microdata, row: Ints) -> Split:
    """Splits by quasi-identifiers: ``row[p]`` is the record of person p."""
    ground = Ground.under(data)

    def split(people: Ints) -> list[Ints]:
        values, classes = people.shape
        if classes == 1:
            return [people[:, 0]]
        everybody = people.ravel()
        colours = np.repeat(np.arange(values, dtype=np.int32), classes)
        labels = ColourSplit(ground, values, 1, True).classes(data.codes[row[everybody]], colours)
        return [everybody[members] for members in records_by_label(labels)]

    return split


@register(SERIES_METHOD, "m-invariance")
@dataclass(frozen=True)
class MInvariance(Algorithm):
    """Classes with m values, each once; in a series nobody's values ever change. `k` is the paper's m."""

    paper: ClassVar[str] = "Xiao, Tao: m-Invariance, SIGMOD 2007"
    section: ClassVar[str] = "docs/claims/m-invariance.md"
    guarantee: ClassVar[str] = "in all releases together everybody is left with at least m sensitive values"
    adversary: ClassVar[str] = (
        "knows everyone's quasi-identifiers, who is in the table at every time, and all releases"
    )
    needs: ClassVar[str] = "a series, l, and one sensitive column whose values never change; k is at most l"
    not_claimed: ClassVar[str] = (
        "k over several releases; anything against somebody who re-runs the program or knows values of others"
    )
    needs_l: ClassVar[bool] = True
    only_in_series: ClassVar[bool] = True
    strict: ClassVar[bool] = False
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(2)}

    @classmethod
    def smallest_group(cls, _k: int, l: object) -> int:  # noqa: E741  the paper's letter
        """l is the paper's m."""
        if not isinstance(l, int) or l < 2:
            raise PolicyError(
                "m-invariance needs l, its m: a whole number from 2 on; write l under [privacy]"
            )
        return l

    def group(self, data: Microdata, _guards: tuple[Guard, ...], _progress: Progress) -> Partition:
        """As in the first release of a series; who fits in no class has no row."""
        everybody = np.ones(len(data), np.bool_)
        now = Now(everybody, ~everybody, (data.sensitive[0].codes,))
        split = near_people(data, np.arange(len(data)))
        return Partition(advanced_by_signatures(SeriesState.empty(), now, self.k, split).cohort)
