"""Lexicographic partition: sort the records, cut the row into runs of equal values, merge short ones.

Figure 8 of Wong, Mamoulis, Cheung, "Non-homogeneous Generalization in Privacy Preserving Data Publishing",
SIGMOD 2010; with a limit on frequent values, section 6. And what all algorithms have in common that put
records in a row and cut it into parts.
"""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import NONHOMOGENEOUS, Polishable, need_enough
from incrowd.algorithms.costs import geometry_of
from incrowd.contracts import AnyLimit, Choice, Eligible, Guard, register
from incrowd.errors import Infeasible
from incrowd.flow import Codes, Microdata, Partition
from incrowd.kernels import ring as kernels
from incrowd.long_work import Progress

Ints = NDArray[np.int64]
UNIT = 720_720_000  # a domain is so wide; 1 to 16 steps divide it, so that small domains lose nothing
RULES = ("text", "pseudocode")
NEAR = 32  # how many runs on either side are tried before the nearest is taken


@dataclass(frozen=True, slots=True, eq=False)
class CutRow:
    """Records in a row, cut: part p holds ``order[starts[p]:starts[p+1]]``."""

    order: Codes
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size - 1

    def partition(self) -> Partition:
        """The same as groups; parts are numbered from left to right."""
        labels = np.empty(self.order.size, np.int32)
        labels[self.order] = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.starts))
        return Partition(labels)


class RowPartition(Polishable):
    """Records put in a row, and the row cut into parts."""

    paper: ClassVar[str] = NONHOMOGENEOUS
    strict: ClassVar[bool] = False  # a cut may part equal records

    def classes(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        return self.parts(data, guards, progress).partition()

    @abstractmethod
    def parts(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> CutRow:
        """The same, with the records in the order in which they were cut."""


def sorted_row(data: Microdata) -> tuple[NDArray[np.intp], Codes]:
    """Columns by the size of their domain (d,), and the records in lexicographic order by them (n,)."""
    by = np.argsort([len(attribute) for attribute in data.attributes], kind="stable")
    sizes = [len(data.attributes[j]) for j in by]
    return by, in_order(packed([data.codes[:, j] for j in by], sizes))


def packed(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> list[NDArray[np.int64]]:
    """Columns of codes as few whole numbers, the first column counting most: sorting these is quicker.

    Examples
    --------
    >>> packed([np.array([0, 2]), np.array([3, 1])], [3, 10])
    [array([ 3, 21])]
    """
    words: list[NDArray[np.int64]] = []
    room = 2**63
    for column, size in zip(columns, sizes, strict=True):
        room *= size
        if room >= 2**63:
            words.append(column.astype(np.int64))
            room = size
        else:
            words[-1] *= size
            words[-1] += column
    return words


def in_order(words: Sequence[NDArray[Any]]) -> Codes:
    """Records by their first word, then the next; equal ones by index."""
    if len(words) == 1:
        return np.argsort(words[0], kind="stable").astype(np.int32)
    return np.lexsort(words[::-1]).astype(np.int32)


def places_of(data: Microdata) -> list[NDArray[np.int32]]:
    """Where the codes of each attribute lie, every domain being `UNIT` wide.

    Ranges are measured in values, missing lying one mean gap below the smallest; leaves of a tree and
    values of a set lie one step apart. Whole numbers, so that equal widths are equal.
    """
    geometry = geometry_of(data)
    places = []
    for first, last in pairwise(geometry.start.tolist()):
        at = geometry.position[first:last]
        if at[-1] == at[0]:  # one number, and perhaps missing
            at = np.arange(last - first, dtype=np.float64)
        wide = float(at[-1] - at[0]) or 1.0
        places.append(np.rint((at - at[0]) / wide * UNIT).astype(np.int32))
    return places


class Stretch(NamedTuple):
    """Records first..last-1 of a row, and the box over them."""

    first: int
    last: int
    low: NDArray[np.int32]
    high: NDArray[np.int32]

    @property
    def cost(self) -> int:
        return (self.last - self.first) * int((self.high - self.low).sum(dtype=np.int64))

    def with_(self, other: Stretch) -> Stretch:
        return Stretch(
            min(self.first, other.first),
            max(self.last, other.last),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    def dearer(self, other: Stretch) -> int:
        """What both cost more as one."""
        return self.with_(other).cost - self.cost - other.cost


def keeping(parts: CutRow, guards: tuple[Guard, ...], data: Microdata) -> CutRow:
    """From left to right, merge each part that a guard does not allow with a neighbour until it is allowed.

    It is the neighbour with which it costs less, by the widths of boxes; the left one of equals.
    """
    if not guards:
        return parts
    order = parts.order
    stretches = stretches_of(data.codes[order], parts.starts, places_of(data))

    def allowed(this: Stretch) -> bool:
        return all(guard.allows(order[this.first : this.last]) for guard in guards)

    return CutRow(order, merged(stretches, allowed))


def stretches_of(codes: Codes, starts: Ints, places: Sequence[NDArray[np.int32]]) -> Iterator[Stretch]:
    """Parts of a row, by where they begin and the codes of their records; `places` is where codes lie."""
    at = np.column_stack([place[codes[:, j]] for j, place in enumerate(places)])
    own = starts[:-1] - starts[0]
    low, high = np.minimum.reduceat(at, own), np.maximum.reduceat(at, own)
    for p, (first, last) in enumerate(pairwise(starts.tolist())):
        yield Stretch(first, last, low[p], high[p])


class _Kept:
    """Stretches that are kept so far, end to end; in little memory, since they may be very many."""

    def __init__(self) -> None:
        self._ends, self._boxes = array("q", [0]), array("i")

    def __bool__(self) -> bool:
        return len(self._ends) > 1

    def push(self, this: Stretch) -> None:
        self._ends.append(this.last)
        self._boxes.extend((*this.low.tolist(), *this.high.tolist()))

    @property
    def last(self) -> Stretch:
        d = len(self._boxes) // (len(self._ends) - 1) // 2
        low, high = np.array(self._boxes[-2 * d :], np.int32).reshape(2, d)
        return Stretch(self._ends[-2], self._ends[-1], low, high)

    def pop(self) -> Stretch:
        this = self.last
        self._ends.pop()
        del self._boxes[-2 * this.low.size :]
        return this

    @property
    def starts(self) -> Ints:
        """Where each begins, and the end."""
        return np.array(self._ends, np.int64)


def merged(parts: Iterable[Stretch], allowed: Callable[[Stretch], bool]) -> Ints:
    """From left to right, merge each part that is not allowed with a neighbour -> where parts begin, and end.

    Parts are taken one after the other: a row need not be in memory.
    """
    ahead, kept = iter(parts), _Kept()
    following = next(ahead, None)
    while following is not None:
        this, following = following, next(ahead, None)
        while (kept or following is not None) and not allowed(this):
            if following is None or (kept and this.dearer(kept.last) <= this.dearer(following)):
                this = this.with_(kept.pop())
            else:
                this, following = this.with_(following), next(ahead, None)
        kept.push(this)
    return kept.starts


@register("algorithm", "lexicographic")
@dataclass(frozen=True)
class Lexicographic(RowPartition):
    """Runs of equal values of one column after the other, those with the smallest domains first.

    Parameters
    ----------
    rule : str
        What becomes of a short run and a neighbour that have exactly 2k records together: the ``text`` of the
        paper moves records, so that both have k, its ``pseudocode`` merges them.
    """

    rule: str = "text"
    section: ClassVar[str] = "5.3.1, Figure 8: the rival HP"
    needs: ClassVar[str] = "nothing; for few columns, or to compare with ring"
    limits: ClassVar[Mapping[str, AnyLimit]] = {**Polishable.limits, "rule": Choice(RULES)}

    @property
    def printed(self) -> bool:
        return self.rule == "pseudocode"

    def parts(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> CutRow:
        need_enough(data, self.k)
        if len(guards) == 1 and isinstance(guards[0], Eligible):
            return eligible_parts(data, Sought.by(guards[0], self.k), progress)
        n, d = data.codes.shape
        by, order = sorted_row(data)
        differs = np.empty(n, np.int32)
        kernels.first_differences(data.codes, order, by, differs)
        begins = np.zeros(n, np.bool_)
        most = 2 * self.k if self.rule == "pseudocode" else 2 * self.k - 1
        kernels.cut_runs(differs, d, self.k, most, begins)
        found = CutRow(order, np.append(np.flatnonzero(begins), n))
        progress(1.0)
        return keeping(found, guards, data)


@dataclass(frozen=True, slots=True, eq=False)
class Sought:
    """What a part must keep: k records, and no value of `codes` (n,) with more than its share 1/l.

    With `per_neighbourhood` a part will be cut into neighbourhoods of k, each of which must keep that, too.
    """

    codes: Codes
    size: int
    l: int  # noqa: E741  the paper's letter
    k: int
    per_neighbourhood: bool = False

    @classmethod
    def by(cls, rule: Eligible, k: int, per_neighbourhood: bool = False) -> Sought:
        return cls(rule.codes, rule.size, rule.l, k, per_neighbourhood)

    def allows(self, counts: Ints) -> NDArray[np.bool_]:
        """Parts as counts of each value (p, size) -> which of them keep it (p,)."""
        sizes, most = counts.sum(axis=1), counts.max(axis=1)
        enough = sizes >= self.k
        if self.per_neighbourhood:
            fits: NDArray[np.bool_] = enough & (most <= (self.k // self.l) * (sizes // self.k))
            return fits
        few: NDArray[np.bool_] = enough & (most * self.l <= sizes)
        return few

    def counts(self, rows: Codes, run: Ints, runs: int) -> Ints:
        """How often each value occurs in each run of rows (runs, size)."""
        flat = np.bincount(run * self.size + self.codes[rows], minlength=runs * self.size)
        return flat.reshape(runs, self.size)


def eligible_parts(data: Microdata, sought: Sought, progress: Progress) -> CutRow:
    """The lexicographic partition with parts that are eligible, records of a part in lexicographic order.

    As Figure 8 the table is cut into runs of one column after the other. A run that is not eligible is merged
    with the nearest one with which it is; where none of the near ones will do, with the nearest, and is
    looked at again. A run of one value is cut further by the next column.
    """
    n, d = data.codes.shape
    everyone = np.arange(n, dtype=np.int32)
    if not n or not sought.allows(sought.counts(everyone, np.zeros(n, np.int64), 1))[0]:
        raise Infeasible(f"not even all {n} records together keep k={sought.k} and l={sought.l}")
    by, order = sorted_row(data)
    done: list[Ints] = []
    settled = 0
    stack = [(np.arange(n), 0)]  # places in the order, and the column to cut by
    while stack:
        places, x = stack.pop()
        if x == d or places.size < 2 * sought.k:
            done.append(places)
            settled += places.size
            progress(settled / n)
            continue
        values = data.codes[order[places], by[x]]
        for piece, single in _cut(places, order[places], values, sought):
            if single:
                stack.append((piece, x + 1))
            else:
                done.append(piece)
                settled += piece.size
    done.sort(key=lambda piece: int(piece[0]))
    sizes = np.array([piece.size for piece in done], np.int64)
    return CutRow(order[np.concatenate(done)], np.concatenate([[0], np.cumsum(sizes)]))


def _cut(places: Ints, rows: Codes, values: Codes, sought: Sought) -> list[tuple[Ints, bool]]:
    """Runs of one value, merged until they are eligible -> places of each, and whether it has one value."""
    edges = np.flatnonzero(np.diff(values, prepend=-1))
    if edges.size == 1:
        return [(places, True)]
    run = np.repeat(np.arange(edges.size), np.diff(np.append(edges, values.size)))
    merged = _Merging(sought.counts(rows, run, edges.size), sought)
    merged.run()
    pieces = np.split(places, edges[1:])
    found = []
    for group in merged.groups():
        together = np.sort(np.concatenate([pieces[i] for i in group])) if len(group) > 1 else pieces[group[0]]
        found.append((together, len(group) == 1))
    return found


class _Merging:
    """Runs in a row, and which of them are one by now."""

    def __init__(self, counts: Ints, sought: Sought) -> None:
        self.counts, self.sought = counts, sought
        self.alive = list(range(len(counts)))
        self.members = {i: [i] for i in self.alive}

    def groups(self) -> list[list[int]]:
        return [sorted(self.members[i]) for i in self.alive]

    def run(self) -> None:
        """From left to right; a run stands where the first of its members stood."""
        allowed = self.sought.allows(self.counts)
        at = 0
        while at < len(self.alive):
            if allowed[self.alive[at]]:
                at += 1
                continue
            at = self._merge(at, self._partner(at), allowed)

    def _partner(self, at: int) -> int:
        """The nearest run with which this one is eligible, else the nearest; the earlier one of equals."""
        near = sorted(
            (abs(other - at), other)
            for other in range(max(0, at - NEAR), min(len(self.alive), at + NEAR + 1))
            if other != at
        )
        others = [other for _, other in near]
        together = self.counts[[self.alive[other] for other in others]] + self.counts[self.alive[at]]
        good = np.flatnonzero(self.sought.allows(together))
        return others[int(good[0])] if good.size else others[0]

    def _merge(self, at: int, partner: int, allowed: NDArray[np.bool_]) -> int:
        """Make both one -> where to go on: at the same run if it is still not eligible."""
        first, last = sorted((at, partner))
        kept, gone = self.alive[first], self.alive[last]
        self.counts[kept] += self.counts[gone]
        self.members[kept] += self.members.pop(gone)
        del self.alive[last]
        allowed[kept] = self.sought.allows(self.counts[kept][None])[0]
        return first if not allowed[kept] else at - (partner < at)
