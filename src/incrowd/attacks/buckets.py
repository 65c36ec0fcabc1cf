"""deFinetti's attack on rows that are published as they are, with their sensitive values apart."""

from __future__ import annotations

import numpy as np

from incrowd.attacks.beliefs import codes_of_texts
from incrowd.attacks.definetti import learned
from incrowd.attacks.result import AttackResult
from incrowd.attacks.target import Ints, Target
from incrowd.errors import TableError
from incrowd.flow import Sensitive, Table, TextColumn


def among_groups(
    target: Target, group: TextColumn, buckets: Table, column: Sensitive, original: TextColumn
) -> AttackResult:
    """Whose values those of each group are.

    Parameters
    ----------
    target : Target
        The release; guesses are judged where the record of a row is known, or nobody else has its values.
    group : TextColumn
        The group of each published row.
    buckets : Table
        The values: columns ``group``, that of the sensitive column, and ``count``.
    column, original : Sensitive, TextColumn
        The sensitive column of the original, numbered and as texts.

    Raises
    ------
    TableError
        If a group does not have as many values as rows.
    """
    owner, value = lines_apart(group, buckets, column, original)
    order, lines = np.argsort(group.codes, kind="stable"), np.argsort(owner, kind="stable")
    if owner.size != len(group) or (owner[lines] != group.codes[order]).any():
        raise TableError("the groups of the rows do not have as many sensitive values as rows")
    some = np.empty(len(group), np.int64)
    some[order] = value[lines]  # at any row of the group: nothing says at which
    sizes = [len(attribute) for attribute in target.data.attributes]
    return learned(_exact(target), sizes, group.codes, some, _truth(target, column), column.name)


def lines_apart(
    group: TextColumn, buckets: Table, column: Sensitive, original: TextColumn
) -> tuple[Ints, Ints]:
    """The group and the code of each value, as often as it is there; groups are numbered as in the rows."""
    number = {text: place for place, text in enumerate(group.texts)}
    code = dict(zip(original.texts, codes_of_texts(column, original).tolist(), strict=True))
    code[None] = code[""] = max(code.get(None, -1), code.get("", -1))
    groups, values, counts = (buckets.column(name) for name in ("group", column.name, "count"))
    owner = np.array([number.get(text, -1) for text in groups.texts], np.int64)[groups.codes]
    value = np.array([code.get(text, -1) for text in values.texts], np.int64)[values.codes]
    times = np.array([int(text or 0) for text in counts.texts], np.int64)[counts.codes]
    if (owner < 0).any() or (value < 0).any():
        raise TableError("the buckets do not have the sensitive values of the rows or of the original")
    return np.repeat(owner, times), np.repeat(value, times)


def _exact(target: Target) -> Ints:
    """The codes of rows that are published as they are."""
    published = target.published
    if any(
        (cells.count[rows] != 1).any() for cells, rows in zip(published.cells, published.rows, strict=True)
    ):
        raise TableError("with buckets, rows must be published unchanged")
    pairs = zip(published.cells, published.rows, strict=True)
    return np.stack([cells.first[cells.starts[rows]] for cells, rows in pairs], axis=1).astype(np.int64)


def _truth(target: Target, column: Sensitive) -> Ints:
    """The value of each row whose record is known: it was kept, or one record alone says the same."""
    graph = target.graph
    truth = np.full(len(target.published), -1, np.int64)
    alone = (graph.record_weight == 1) & (np.diff(graph.indptr) == 1)
    alone[alone] = graph.row_weight[graph.indices[graph.indptr[:-1][alone]]] == 1
    record = np.flatnonzero(alone[graph.record_of])
    truth[target.first[graph.indices[graph.indptr[graph.record_of[record]]]]] = column.codes[record]
    truth[target.truth[target.known]] = column.codes[target.known]
    return truth
