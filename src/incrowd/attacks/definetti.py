"""The deFinetti attack, and the commonest value of a bucket: what groups disclose of sensitive values.

Where exact rows are published in groups, and beside them only which sensitive values each group has, one
group alone leaves everything open. All groups together do not: values that keep company with some rows
rather than others show it. A naive Bayes model is fitted by turns: how likely each value is for each row,
given how the columns go with the values; and how the columns go with the values, given how likely they are.

References
----------
Kifer, "Attacks on privacy and deFinetti's theorem", SIGMOD 2009.
Sacharidis, Mouratidis, Papadias, "k-Anonymity in the Presence of External Databases", TKDE 2010, section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.beliefs import SensitiveValues, code_of_texts
from incrowd.attacks.candidates import PROSECUTOR
from incrowd.attacks.joined import JoinTarget
from incrowd.attacks.registry import AttackResult, Rate, attack
from incrowd.attacks.target import Floats, Ints, Target
from incrowd.errors import TableError
from incrowd.flow import Sensitive, Table, TextColumn, distinct_rows
from incrowd.measures.buckets import BucketTable

ROUNDS = 50
BALANCES = 4  # how often rows and values are evened out within a round; the next round goes on from there
SETTLED = 1e-4  # a round that changes no likelihood by more, at the mean, is the last
MOST_CHOICES = 10_000_000  # pairs of a row and a value of its group that are held at once


@dataclass(frozen=True, eq=False)
class Guessed:
    """What was guessed for each row, how often it is right, and how often the group's commonest value is."""

    rate: Rate
    blind: Rate
    guesses: Ints
    rounds: int


@dataclass(frozen=True, eq=False)
class ValueGroups:
    """Exact rows (n, d) of codes below `sizes`, the group of each, and the values of one sensitive column.

    ``value`` (n,) holds the values of each group in any order; ``truth`` (n,) is that of each row, -1 where
    it is not known; `value` if None.
    """

    column: str
    codes: NDArray[np.integer]
    sizes: Sequence[int]
    group: NDArray[np.integer]
    value: NDArray[np.integer]
    truth: NDArray[np.integer] | None = None


@dataclass(frozen=True, eq=False)
class _Choices:
    """Each kind of row with each value of its group, laid out as `kernels.definetti` wants it.

    Rows that are equal and in one group are of one kind: all that is ever said of them is equal. ``of`` (n,)
    is the kind of each row, ``rows`` how many rows of each kind there are, ``value`` and ``count`` the values
    of each group and how often it has them.
    """

    of: Ints
    codes: NDArray[np.int32]
    rows: Floats
    kinds: Ints
    pairs: Ints
    start: Ints
    value: NDArray[np.int32]
    count: Floats

    @classmethod
    def build(
        cls, codes: NDArray[np.integer], group: NDArray[np.integer], value: Ints, values: int
    ) -> _Choices:
        first, of = _kinds(codes, group)
        by_group = np.argsort(group[first], kind="stable")
        place = np.empty_like(by_group)
        place[by_group] = np.arange(by_group.size)
        first, of = first[by_group], place[of]
        found, count = np.unique(group * values + value, return_counts=True)
        all_groups = np.arange(int(group.max(initial=-1)) + 2)
        pairs = np.searchsorted(found // max(values, 1), all_groups)
        many = np.diff(pairs)[group[first]]
        return cls(
            of,
            np.ascontiguousarray(np.asarray(codes)[first], np.int32),
            np.bincount(of, minlength=first.size).astype(np.float64),
            np.searchsorted(group[first], all_groups),
            pairs,
            np.cumsum(many) - many,
            (found % max(values, 1)).astype(np.int32),
            count.astype(np.float64),
        )

    @property
    def group_of_kind(self) -> Ints:
        return np.repeat(np.arange(self.kinds.size - 1), np.diff(self.kinds))

    @property
    def each(self) -> tuple[Ints, Ints]:
        """The kind, and the place among the values of all groups, of every choice (c,)."""
        group = self.group_of_kind
        many = np.diff(self.pairs)[group]
        kind = np.repeat(np.arange(many.size), many)
        return kind, np.arange(kind.size) - np.repeat(self.start - self.pairs[group], many)

    def likeliest(self, likely: Floats) -> Ints:
        """For each row which of the values has the largest likelihood (c,), the first of equal ones."""
        from incrowd.kernels.definetti import likeliest

        best = np.empty(self.rows.size, np.int64)
        likeliest(self.kinds, self.pairs, self.start, self.value, likely, best)
        return best[self.of]


@dataclass(frozen=True, eq=False)
class _Table:
    """Where rows of a value with a code of a column are counted, for all columns in one array of `size`.

    Most columns have a place for every code with every value, from ``place[j]`` on. Where most combinations
    do not occur, those that do are numbered: ``number`` (c, s).
    """

    codes: NDArray[np.int32]
    place: Ints
    number: NDArray[np.int32]
    size: int

    @classmethod
    def build(cls, choices: _Choices, values: int) -> _Table:
        kind, pair = choices.each
        sizes = [int(column.max(initial=-1)) + 1 for column in choices.codes.T]
        # every place takes a logarithm in every round, whether the combination occurs or not
        dense = [j for j, size in enumerate(sizes) if size * values <= kind.size // 4]
        place = np.cumsum([0, *(sizes[j] * values for j in dense)])
        end, number = int(place[-1]), []
        for j in sorted(set(range(len(sizes))) - set(dense)):
            key = choices.codes[kind, j].astype(np.int64) * values + choices.value[pair]
            met, of = np.unique(key, return_inverse=True)
            number.append((end + of.reshape(-1)).astype(np.int32))
            end += met.size
        numbers = np.stack(number, axis=1) if number else np.empty((kind.size, 0), np.int32)
        return cls(np.ascontiguousarray(choices.codes[:, dense]), place[:-1].astype(np.int64), numbers, end)


def definetti(
    codes: NDArray[np.integer],
    sizes: Sequence[int],
    group: NDArray[np.integer],
    value: NDArray[np.integer],
    truth: NDArray[np.integer] | None = None,
) -> Guessed:
    """Guess the value of each row, knowing only which values its group has; arguments as in `ValueGroups`.

    Only which values a whole group has is looked at; which of its rows they stand at does not matter. Guesses
    are compared with the `truth`.

    Examples
    --------
    >>> value = np.array([0, 1, 0, 2, 1, 2] * 20)
    >>> sex_and_job = np.stack([value % 2, value], axis=1)
    >>> definetti(sex_and_job, [2, 3], np.arange(120) // 2, value).rate.won
    120
    """
    truth = value if truth is None else truth
    group = np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int64)
    known, value = np.unique(value, return_inverse=True)
    choices = _Choices.build(codes, group, value.reshape(-1).astype(np.int64), known.size)
    kind, pair = choices.each
    blind = choices.count[pair]
    likely = blind / np.bincount(group)[choices.group_of_kind][kind]
    of_all = float(choices.rows[kind].sum())
    del kind, pair
    table, rounds, moved = _Table.build(choices, known.size), 0, 1.0
    while rounds < ROUNDS and moved >= SETTLED:
        rounds, moved = rounds + 1, _improve(likely, choices, table, sizes, known.size) / of_all
    guesses = known[choices.likeliest(likely)]
    truly = _right(guesses, truth), _right(known[choices.likeliest(blind)], truth)
    return Guessed(*truly, guesses, rounds)


def _improve(likely: Floats, choices: _Choices, table: _Table, sizes: Sequence[int], values: int) -> float:
    """Another round: likelihoods as they follow from themselves -> by how much they moved, added up.

    A value fits a row by the product of P(column | value), every count being one larger. How common a value
    is need not enter: groups say how often they have it.
    """
    from incrowd.kernels.definetti import count_choices, fit_choices

    weight, seen = np.zeros(values), np.zeros(table.size)
    where = choices.kinds, choices.pairs, choices.start, choices.value
    count_choices(*where, table.codes, choices.rows, table.place, table.number, likely, weight, seen)
    np.log1p(seen, out=seen)
    against: Floats = np.log(weight[:, None] + np.asarray(sizes, np.float64)).sum(axis=1)
    counted = table.place, table.number, seen, against
    return fit_choices(*where, choices.count, table.codes, choices.rows, *counted, BALANCES, likely)


def _kinds(codes: NDArray[np.integer], group: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Where each kind of row is first met, and which kind each row is."""
    columns = [group, *np.asarray(codes).T]
    return distinct_rows(columns, [int(each.max(initial=0)) + 1 for each in columns], group.size)


def _right(guesses: Ints, truth: NDArray[np.integer]) -> Rate:
    known = truth >= 0
    return Rate(int((guesses == truth)[known].sum()), int(known.sum()))


def choices_of(
    group: NDArray[np.integer], value: NDArray[np.integer], codes: NDArray[np.integer] | None = None
) -> int:
    """How many pairs of a row and a value of its group there are: what an attack takes in memory.

    With `codes` equal rows of a group count once, as they do there.
    """
    group = np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int64)
    pairs = np.unique(group * (int(value.max(initial=0)) + 1) + value)
    distinct = np.bincount(pairs // (int(value.max(initial=0)) + 1), minlength=1)
    rows = group if codes is None else group[_kinds(codes, group)[0]]
    return int((np.bincount(rows, minlength=1) * distinct).sum())


@attack("definetti", 230, ("value_groups",), each_column=True)
def learned(groups: ValueGroups) -> AttackResult:
    """The attack with its control: the same rows, groups as large, and one column more that shows the value.

    Blind is whoever says the commonest value of the group. Nothing is promised about this adversary.
    """
    codes, sizes, group, value = groups.codes, groups.sizes, groups.group, groups.value
    name, knows = f"definetti-{groups.column}", "every row's group, and which values each group has"
    needed = choices_of(group, value, codes)
    if needed > MOST_CHOICES or not len(codes):
        why = {"skipped": f"{needed:,} pairs of a row and a value of its group" if needed else "no rows"}
        return AttackResult(name, "deFinetti", knows, Rate(0, 0), Rate(0, 0), None, None, why)
    found = definetti(codes, sizes, group, value, groups.truth)
    values = np.unique(value, return_inverse=True)[1].reshape(-1, 1)
    showing = np.concatenate([np.asarray(codes), values], axis=1)
    control = definetti(showing, [*sizes, int(values.max()) + 1], group, value)
    details = {"groups": int(np.unique(group).size), "rounds": found.rounds}
    return AttackResult(name, "deFinetti", knows, found.rate, found.blind, control.rate, None, details)


VALUES_OF_GROUPS = "everyone's quasi-identifiers, who is in the private table, and the values of each group"


@dataclass(frozen=True, slots=True, eq=False)
class BucketValues:
    """One sensitive column of buckets: value ``value[i]`` is one of the bucket ``group[i]``."""

    group: Ints
    value: Ints

    @classmethod
    def of(cls, lines: BucketTable, column: Sensitive, original: TextColumn) -> BucketValues:
        """Each value, numbered as in the original, as often as its bucket has it."""
        values, code = lines.values[column.name], code_of_texts(column, original)
        value = np.array([code.get(text, -1) for text in values.texts], np.int64)[values.codes]
        if (value < 0).any():
            raise TableError("the sensitive values in buckets are not those of the original")
        return cls(np.repeat(lines.group, lines.count), np.repeat(value, lines.count))

    def top(self, groups: int) -> tuple[Ints, Ints, Ints]:
        """The commonest value of each bucket, its count, and of how many; the least of equals."""
        pairs, often = np.unique(np.stack([self.group, self.value]), axis=1, return_counts=True)
        ranked = np.lexsort((pairs[1], -often, pairs[0]))
        first = ranked[np.flatnonzero(np.diff(pairs[0][ranked], prepend=-1))]
        common, count = np.full(groups, -1, np.int64), np.zeros(groups, np.int64)
        common[pairs[0][first]], count[pairs[0][first]] = pairs[1][first], often[first]
        return common, count, np.bincount(self.group, minlength=groups)


@attack("groups", 250, ("bucketed", "values", "bucket_values"), each_column=True)
def in_group(scene: JoinTarget, values: SensitiveValues, lines: BucketValues) -> AttackResult:
    """The commonest value of the victim's bucket; `values` are those of the private table's people."""
    if scene.group is None:
        raise TableError("there are no groups of sensitive values")
    who, label = scene.of_own
    classes, own = label.astype(np.int64), values.own
    groups = scene.group[scene.target.truth[who]].astype(np.int64)
    won, sure, largest = commonest(groups, own[who], lines)
    # The control: values by classes, in which some stand alone, as a release in one step would have them.
    control, exposed, _ = commonest(classes, own[who], BucketValues(classes, own[who]))
    common = int(np.bincount(own).argmax()) if own.size else 0
    guess = Rate(int((own[who] == common).sum()), who.size)
    details = {
        "persons_exposed": sure,
        "largest_share": float(largest),
        "persons_exposed_if_by_classes": exposed,
    }
    everybody = who.size == own.size  # then each bucket's values are all there, whoever has which
    rates = replace(won, exact=everybody), guess, control
    name = f"groups-{values.name}"
    return AttackResult(name, PROSECUTOR, VALUES_OF_GROUPS, *rates, values.bound, details)


def commonest(groups: Ints, own: Ints, lines: BucketValues) -> tuple[Rate, int, Fraction]:
    """How often the commonest value of a bucket is one's own, for how many surely, and its largest share.

    `groups` and `own` (n,) are the bucket and the value of each person.

    Examples
    --------
    >>> lines = BucketValues(np.array([0, 0, 0, 1]), np.array([2, 2, 5, 7]))
    >>> rate, surely, largest = commonest(np.array([0, 0, 0, 1]), np.array([2, 5, 2, 7]), lines)
    >>> rate.won, rate.tried, surely, largest
    (3, 4, 1, Fraction(1, 1))
    """
    if not groups.size:
        return Rate(0, 0), 0, Fraction(0)
    size = int(max(groups.max(), lines.group.max(initial=-1))) + 1
    common, count, of = lines.top(size)
    right = Rate(int((common[groups] == own).sum()), groups.size)
    sure = int((count[groups] == of[groups]).sum())
    pairs = np.unique(np.stack([count[groups], of[groups]]), axis=1).T.tolist()
    return right, sure, max(Fraction(often, many) for often, many in pairs)


# ---- groups for deFinetti's attack


def classes_as_groups(target: Target, values: SensitiveValues) -> ValueGroups | None:
    """Groups are who could have each other's rows: whole classes, mostly. None if somebody has no row."""
    data = target.data
    if len(data) != len(target.published):
        return None
    sizes = [len(attribute) for attribute in data.attributes]
    group = target.found.record[target.graph.record_of]
    return ValueGroups(values.name, data.codes, sizes, group, values.own)


def buckets_as_groups(
    target: Target, group: TextColumn, buckets: Table, column: Sensitive, original: TextColumn
) -> ValueGroups:
    """Groups are the buckets, `group` that of each published row.

    Guesses count where the record of a row is known, or one record alone has its values.
    """
    lines = BucketValues.of(BucketTable.read(buckets, group.texts), column, original)
    order, by_group = np.argsort(group.codes, kind="stable"), np.argsort(lines.group, kind="stable")
    if lines.group.size != len(group) or (lines.group[by_group] != group.codes[order]).any():
        raise TableError("the groups of the rows do not have as many sensitive values as rows")
    some = np.empty(len(group), np.int64)
    some[order] = lines.value[by_group]  # at any row of the group: nothing says at which
    sizes = [len(attribute) for attribute in target.data.attributes]
    return ValueGroups(column.name, _exact(target), sizes, group.codes, some, _truth(target, column))


def _exact(target: Target) -> Ints:
    """The codes of rows that are published as they are."""
    pairs = list(zip(target.published.cells, target.published.rows, strict=True))
    if any((cells.count[rows] != 1).any() for cells, rows in pairs):
        raise TableError("rows whose sensitive values are in buckets must be published as they are")
    return np.stack([cells.first[cells.starts[rows]] for cells, rows in pairs], axis=1).astype(np.int64)


def _truth(target: Target, column: Sensitive) -> Ints:
    """The value of each row whose record is known: it was kept, or one record alone has its values."""
    graph = target.graph
    truth = np.full(len(target.published), -1, np.int64)
    alone = (graph.record_weight == 1) & (np.diff(graph.indptr) == 1)
    alone[alone] = graph.row_weight[graph.indices[graph.indptr[:-1][alone]]] == 1
    record = np.flatnonzero(alone[graph.record_of])
    truth[target.first[graph.indices[graph.indptr[graph.record_of[record]]]]] = column.codes[record]
    truth[target.truth[target.known]] = column.codes[target.known]
    return truth
