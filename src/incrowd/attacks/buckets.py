"""Sensitive values in buckets: the commonest one of a bucket, and what deFinetti's attack learns from all.

References
----------
Sacharidis, Mouratidis, Papadias, "k-Anonymity in the Presence of External Databases", TKDE 2010, section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from incrowd.attacks.beliefs import SensitiveValues, code_of_texts
from incrowd.attacks.candidates import PROSECUTOR
from incrowd.attacks.definetti import ValueGroups
from incrowd.attacks.joined import JoinTarget
from incrowd.attacks.registry import attack
from incrowd.attacks.result import AttackResult, Rate
from incrowd.attacks.target import Ints, Target
from incrowd.errors import TableError
from incrowd.flow import Sensitive, Table, TextColumn
from incrowd.measures.buckets import BucketTable

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
    name, bound = f"groups-{values.name}", None if values.l is None else 1 / values.l
    return AttackResult(name, PROSECUTOR, VALUES_OF_GROUPS, won, guess, control, bound, details)


def commonest(groups: Ints, own: Ints, lines: BucketValues) -> tuple[Rate, int, Fraction]:
    """How often the commonest value of a bucket is one's own, for how many surely, and its largest share.

    `groups` and `own` (n,) are the bucket and the value of each person.

    Examples
    --------
    >>> lines = BucketValues(np.array([0, 0, 0, 1]), np.array([2, 2, 5, 7]))
    >>> commonest(np.array([0, 0, 0, 1]), np.array([2, 5, 2, 7]), lines)
    (Rate(won=3, tried=4), 1, Fraction(1, 1))
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
