"""What candidates disclose of a sensitive value: each person's posterior, and its extremes.

A candidate is a row that the person can be behind while everybody else has a row too. All candidates count
alike. People who have the same candidates have one belief, so it is worked out once for them: `Pools`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.registry import Rate
from incrowd.attacks.target import Flags, Floats, Ints, Pools, Target, pools_of, runs
from incrowd.errors import TableError
from incrowd.flow import Codes, Sensitive, Table, TextColumn
from incrowd.graph import Components, Graph
from incrowd.hierarchy import Hierarchy
from incrowd.schema import Claim

AT_ONCE = 4_000_000  # counts of a value among candidates that are held at once
Kind = TypeVar("Kind", bound=np.generic)
BOUNDS_BELIEF = ("frequency-l-diversity", "transparent-l-diversity", "candidate-l-diversity")
NEAR = 0.01  # numbers so near, as a share of their range, are as good as one


@dataclass(frozen=True, eq=False)
class SensitiveValues:
    """One sensitive column: the value of each record, ``own`` (n,), and of each published row, ``shown``.

    Values are numbered below `size`, leaves of a tree as in the tree; ``place`` (size,) are numbers on a
    line, nan where there is none. ``l`` is what was promised: no belief above 1/l. ``t`` and ``distance``:
    no belief farther from the table.
    """

    name: str
    own: Ints
    shown: Ints
    size: int
    tree: Hierarchy | None = None
    place: Floats | None = None
    l: Fraction | None = None  # noqa: E741  as everybody calls it
    t: Fraction | None = None
    distance: str = "equal"

    @cached_property
    def prior(self) -> Ints:
        """How many published rows have each value."""
        return np.bincount(self.shown, minlength=self.size)

    @property
    def bound(self) -> Fraction | None:
        return None if self.l is None else 1 / self.l

    def promised(self, claims: Iterable[Claim]) -> SensitiveValues:
        """With what a release claims of this column. Other kinds of l leave beliefs above 1/l possible."""
        values = self
        for claim in claims:
            if claim.column == self.name and claim.model in BOUNDS_BELIEF:
                values = replace(values, l=Fraction(str(claim.parameters["l"])))
            if claim.column == self.name and claim.model == "t-closeness":
                t, distance = claim.parameters["t"], str(claim.parameters.get("distance"))
                values = replace(values, t=Fraction(str(t)), distance=distance)
        return values


def values_of(
    column: Sensitive, original: TextColumn, shown: TextColumn, place: Floats | None = None
) -> SensitiveValues:
    """The codes of a sensitive column for records and rows: rows have the same texts as the original."""
    code = code_of_texts(column, original)
    rows = np.array([code.get(text, -1) for text in shown.texts], dtype=np.int64)[shown.codes]
    if (rows < 0).any():
        raise TableError(f"the published column {column.name} has values that the original has not")
    return SensitiveValues(column.name, column.codes.astype(np.int64), rows, column.size, column.tree, place)


def code_of_texts(column: Sensitive, original: TextColumn) -> Mapping[str | None, int]:
    """The code of each text of a sensitive column, -1 where no record has it; an empty text is missing."""
    codes = np.full(len(original.texts), -1, np.int64)
    codes[original.codes] = column.codes
    code = dict(zip(original.texts, codes.tolist(), strict=True))
    code[None] = code[""] = max(code.get(None, -1), code.get("", -1))
    return code


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What the candidates of each record say, one entry for each record; `able` are those who have some.

    ``top`` is the commonest value, ``share`` its share, ``different`` how many values there are. ``risen``
    is the value whose share rose most above that in the table, ``gain`` by how much, ``ratio`` the largest
    ratio of any. ``near`` says that all values lie within a hundredth of the range, ``kin`` that all lie
    under one node below the root, ``distance`` how far the values are from those of the table.
    """

    values: SensitiveValues
    closed: bool  # `Target.closed`
    able: Flags
    top: Ints
    share: Floats
    different: Ints
    risen: Ints
    gain: Floats
    ratio: Floats
    near: Flags
    kin: Flags
    distance: Floats

    def right(self, guesses: Ints) -> Rate:
        """How often these guesses (n,) at the own value are right, of those who have candidates."""
        won = (guesses[self.able] == self.values.own[self.able]).sum()
        return Rate(int(won), int(self.able.sum()), self.closed)


def beliefs(target: Target, values: SensitiveValues) -> Beliefs:
    """What everybody's candidates say about a sensitive column."""
    counts, of = counted(target.graph, values.shown, values.size, target.pools), target.pools.of
    parts = [_believed(values, some) for some in counts]
    columns = (np.concatenate(column)[of] for column in zip(*parts, strict=True))
    return Beliefs(values, target.closed, *columns)


def homogeneous(target: Target, values: SensitiveValues) -> SensitiveValues:
    """The control: the same rows, and whoever could have each other's share one value."""
    graph, found = target.graph, target.found
    own, shown = found.record[graph.record_of], found.row[graph.row_of]
    size = max(values.size, 1)
    return replace(values, own=own.astype(np.int64) % size, shown=shown.astype(np.int64) % size)


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """How many candidates of some pools have each value that any of them has.

    Pool i has the values ``value[starts[i]:starts[i + 1]]``, rising, each ``count`` times.
    """

    starts: Ints
    value: Ints
    count: Ints

    @classmethod
    def of_table(cls, counts: Ints) -> ValueCounts:
        """From a table of pools and values (p, size)."""
        pool, value = np.nonzero(counts)
        return cls(np.searchsorted(pool, np.arange(len(counts) + 1)), value, counts[pool, value])

    def __len__(self) -> int:
        return self.starts.size - 1

    @cached_property
    def pool(self) -> Ints:
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def total(self) -> Ints:
        return self.each(np.add, self.count, 0)

    def each(self, reduced: np.ufunc, of: NDArray[Kind], none: object) -> NDArray[Kind]:
        """What belongs to each pool, reduced to one; `none` for pools without candidates."""
        found, some = np.full(len(self), none, of.dtype), np.flatnonzero(np.diff(self.starts))
        if some.size:
            found[some] = reduced.reduceat(of, self.starts[some])
        return found

    def first_largest(self, of: Ints | Floats) -> Ints:
        """Where the largest of each pool stands, the first of equal ones; 0 for pools without candidates."""
        best = self.each(np.maximum, of, 0)
        where = np.where(of >= best[self.pool], np.arange(of.size), of.size)
        return self.each(np.minimum, where, 0)

    def tables(self, size: int) -> Iterator[Ints]:
        """Tables of values (p, size), of some pools at a time."""
        for first in range(0, len(self), step := max(AT_ONCE // max(size, 1), 1)):
            here = slice(self.starts[first], self.starts[min(first + step, len(self))])
            table = np.zeros((min(step, len(self) - first), size), np.int64)
            table[self.pool[here] - first, self.value[here]] = self.count[here]
            yield table


def counted(graph: Graph, shown: Ints | Codes, size: int, held: Pools) -> Iterator[ValueCounts]:
    """How many candidates of each pool have each value, `shown` in each row: of some pools at a time."""
    size, pools = max(size, 1), held.starts.size - 1
    pairs, times = np.unique(graph.row_of.astype(np.int64) * size + shown, return_counts=True)
    begin = np.searchsorted(pairs // size, np.arange(graph.published + 1))
    weight = np.diff(begin)[held.rows]
    upto = np.concatenate([[0], np.cumsum(weight)])[held.starts]  # pairs of the pools before each
    first = 0
    while first < pools:
        last = max(int(np.searchsorted(upto, upto[first] + AT_ONCE, "right")) - 1, first + 1)
        here = slice(held.starts[first], held.starts[last])
        rows, many = held.rows[here], weight[here]
        pool = np.repeat(np.arange(last - first), np.diff(held.starts[first : last + 1]))
        at = runs(begin[rows], many)
        key, own = np.unique(np.repeat(pool, many) * size + pairs[at] % size, return_inverse=True)
        count = np.bincount(own.reshape(-1), times[at], key.size).astype(np.int64)
        yield ValueCounts(np.searchsorted(key, size * np.arange(last - first + 1)), key % size, count)
        first = last


def fewest_values(graph: Graph, found: Components, shown: Table, names: Sequence[str]) -> dict[str, int]:
    """For each sensitive column the fewest different values among one person's candidates."""
    held, fewest = pools_of(graph, found), dict[str, int]()
    for column, name in ((shown.column(name), name) for name in names if name in shown.names):
        counts = counted(graph, column.codes, len(column.texts), held)
        different = np.concatenate([np.diff(some.starts) for some in counts])
        if different.any():
            fewest[name] = int(different[different > 0].min())
    return fewest


def _believed(values: SensitiveValues, counts: ValueCounts) -> tuple[NDArray[np.generic], ...]:
    """The entries of `Beliefs` for some pools."""
    total, different = counts.total, np.diff(counts.starts)
    prior = values.prior / max(int(values.prior.sum()), 1)
    if not counts.value.size:
        none = np.zeros(len(counts))
        whole = none.astype(np.int64)
        flags = total > 0
        return flags, whole, none, different, whole, none, none, flags, flags, none
    share = counts.count / total[counts.pool]
    before = prior[counts.value]
    top, risen = counts.first_largest(counts.count), counts.first_largest(share - before)
    return (
        *(total > 0, counts.value[top], share[top], different, counts.value[risen]),
        *((share - before)[risen], counts.each(np.maximum, share / before, 0.0)),
        *(_near(values, counts), _kin(values, counts), distances(values, counts, share, prior)),
    )


def _near(values: SensitiveValues, counts: ValueCounts) -> Flags:
    """Are all values numbers within a hundredth of the range of those that occur?"""
    if values.place is None:
        return np.zeros(len(counts), np.bool_)
    place = values.place
    real = ~np.isnan(place)
    used = place[real & (values.prior > 0)]
    if not used.size or used.max() == used.min():
        return np.zeros(len(counts), np.bool_)
    low = counts.each(np.minimum, np.where(real, place, -np.inf)[counts.value], np.inf)
    high = counts.each(np.maximum, np.where(real, place, np.inf)[counts.value], -np.inf)
    near: Flags = high - low <= NEAR * (used.max() - used.min())
    return near


def _kin(values: SensitiveValues, counts: ValueCounts) -> Flags:
    """Are all values leaves under one node below the root?"""
    tree = values.tree
    if tree is None:
        return np.zeros(len(counts), np.bool_)
    leaves = len(tree.leaves)
    low, high = counts.each(np.minimum, counts.value, 0), counts.each(np.maximum, counts.value, leaves)
    inside = high < leaves
    node = tree.coverings(
        np.where(inside, low, 0).astype(np.int32), np.where(inside, high, 0).astype(np.int32)
    )
    kin: Flags = inside & (node > 0) & (tree.sizes()[node] < leaves)
    return kin


def distances(values: SensitiveValues, counts: ValueCounts, share: Floats, prior: Floats) -> Floats:
    """The least work that turns each belief into the table's distribution (Li et al., ICDE 2007).

    `share` is that of each count. Where all values are equally far, those that no candidate has need not be
    looked at: they lack all of their share.
    """
    tree = values.tree
    if values.distance == "ordered" or (values.distance == "hierarchical" and tree is not None):
        shares = (table / np.maximum(table.sum(axis=1), 1)[:, None] for table in counts.tables(prior.size))
        return np.concatenate([_work(values, some - prior, prior) for some in shares])
    before = prior[counts.value]
    lacking = 1.0 - counts.each(np.add, before, 0.0)
    half: Floats = (counts.each(np.add, np.abs(share - before), 0.0) + np.maximum(lacking, 0.0)) / 2
    return half


def _work(values: SensitiveValues, over: Floats, prior: Floats) -> Floats:
    """The same for tables of differences (p, size), by the order of values or by their tree."""
    tree = values.tree
    if values.distance == "ordered" or tree is None:
        over = over[:, prior > 0]  # neighbours are those that occur
        work: Floats = np.abs(np.cumsum(over, axis=1)).sum(axis=1) / max(over.shape[1] - 1, 1)
        return work
    leaves = len(tree.leaves)
    upto = np.concatenate([np.zeros((len(over), 1)), np.cumsum(over[:, :leaves], axis=1)], axis=1)
    length = (tree.level[tree.parent] - tree.level) / (2 * tree.height)
    inside = np.abs(upto[:, tree.high + 1] - upto[:, tree.low]) @ length
    whole: Floats = inside + np.abs(over[:, leaves:]).sum(axis=1) / 2  # missing hangs from the root
    return whole
