"""Linking: a table with a public list, records with rows by private values, rows of several releases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from incrowd.attacks.target import Ints, Target, first_met, runs
from incrowd.errors import TableError, unknown
from incrowd.flow import Codes, Table, TextColumn
from incrowd.graph import Graph


def joined(public: Table, released: Table, on: Sequence[str]) -> list[tuple[int, int]]:
    """Rows of the public list that have exactly one equal row in the released table, with that row.

    Each such person is re-identified: this is the attack that k-anonymity answers.

    Examples
    --------
    >>> voters = Table.of({"name": ["Lee", "Zan"], "age": ["35", "38"]})
    >>> patients = Table.of({"age": ["35", "36", "36"], "disease": ["flu", "cold", "flu"]})
    >>> joined(voters, patients, ["age"])
    [(0, 0)]
    """
    for table, what in ((public, "in the public list"), (released, "in the released table")):
        lacking = [name for name in on if name not in table.names]
        if lacking:
            raise TableError(unknown(what, lacking, table.names))
    there = defaultdict(list)
    for row, key in enumerate(_keys(released, on)):
        there[key].append(row)
    found = [(person, there.get(key, [])) for person, key in enumerate(_keys(public, on))]
    return [(person, rows[0]) for person, rows in found if len(rows) == 1]


def _keys(table: Table, on: Sequence[str]) -> list[tuple[str | None, ...]]:
    return list(zip(*(table.column(name).rows() for name in on), strict=True))


AT_ONCE = 4_000_000  # candidates with a value, or people with a row, that are held at once


@dataclass(frozen=True, eq=False)
class SharedValues:
    """Combinations of private values, numbered below `size`, for the columns that all releases have.

    ``own`` (n,) is the combination of each record, ``shown[r]`` that of each row of release r.
    ``parts[name]`` (size,) is the value that each combination has in one column.
    """

    own: Ints
    shown: Sequence[Ints]
    size: int
    parts: Mapping[str, Ints]


def shared_values(table: Table, releases: Sequence[Table], names: Sequence[str]) -> SharedValues:
    """Number the private values of an original and its releases alike: texts are published as they are.

    Examples
    --------
    >>> table = Table.of({"illness": ["flu", "cold", "flu"]})
    >>> found = shared_values(table, [table, Table.of({"illness": ["cold", "flu", "flu"]})], ["illness"])
    >>> found.own.tolist(), found.shown[1].tolist()
    ([1, 0, 1], [0, 1, 1])
    """
    (own, *shown), values = _combinations((table, *releases), names)
    return SharedValues(own, shown, len(values), dict(zip(names, values.T, strict=True)))


def known_rows(
    graph: Graph, table: Table, shown: Table, names: Sequence[str], bucket: Codes | None = None
) -> Ints:
    """The row of each record (n,), told by the published cells and private values alone; -1 where it is not.

    A record is behind a row that holds it and has its private values. Where all such rows are equal, and are
    as many as the records that can be behind no others, nobody can tell which of them is whose: any will do.
    Rows of different buckets are not equal; `bucket` is that of each row, where there are any.
    """
    (mine, theirs), values = _combinations((table, shown), names)
    size, many = len(values), np.diff(graph.indptr)[graph.record_of]
    key = graph.row_of.astype(np.int64) * size + theirs
    kinds, kind_of_row, rows = np.unique(key, return_inverse=True, return_counts=True)
    only = np.full(mine.size, -1, np.int64)
    for first, last in chunks(many):
        wide = many[first:last]
        owner = np.repeat(np.arange(first, last), wide)
        heads = graph.indices[runs(graph.indptr[graph.record_of[first:last]].astype(np.int64), wide)]
        wanted = heads * np.int64(size) + mine[owner]
        place = np.searchsorted(kinds, wanted)
        fits = np.append(kinds, -1)[place] == wanted
        only[owner[fits]] = place[fits]
        several = np.bincount(owner[fits] - first, minlength=last - first) > 1
        only[first:last][several] = -1
    kind_of_row = kind_of_row.reshape(-1)
    full = np.append(np.bincount(only[only >= 0], minlength=kinds.size) == rows, False)
    if bucket is not None:
        full[kind_of_row[bucket != bucket[first_met(kind_of_row, kinds.size)][kind_of_row]]] = False
    records, theirs = np.flatnonzero(full[only]), np.flatnonzero(full[kind_of_row])
    truth = np.full(mine.size, -1, np.int64)
    truth[records[np.argsort(only[records], kind="stable")]] = theirs[
        np.argsort(kind_of_row[theirs], kind="stable")
    ]
    return truth


def _combinations(sources: Sequence[Table], names: Sequence[str]) -> tuple[list[Ints], Ints]:
    """The combination of values in each row of each table, numbered alike; and the values of each (m, d)."""
    alike = np.zeros(sum(map(len, sources)), np.int64)  # where no column is named, all have one combination
    columns = [alike, *(_numbered([source.column(name) for source in sources]) for name in names)]
    distinct, of = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return np.split(of.reshape(-1), np.cumsum([len(source) for source in sources[:-1]])), distinct[:, 1:]


def _numbered(columns: Sequence[TextColumn]) -> Ints:
    """Columns one after the other, numbered by their texts; an empty cell is a gap."""
    number = {text: i for i, text in enumerate(sorted({t or "" for c in columns for t in c.texts}))}
    codes = [np.array([number[text or ""] for text in c.texts], dtype=np.int64)[c.codes] for c in columns]
    return np.concatenate(codes)


@dataclass(frozen=True, eq=False)
class Linked:
    """Rows of all releases that are one person's: their combination, and how many people fit all of them.

    ``person`` is who fits if only one does, else -1; ``alone`` (r, m) how many fit each row by itself.
    """

    combination: Ints
    people: Ints
    person: Ints
    alone: Ints


def link(releases: Sequence[Target], private: SharedValues) -> Linked:
    """Rows whose combination no other row of their release has, and who fits all of them."""
    once = [np.bincount(shown, minlength=private.size) == 1 for shown in private.shown]
    combination = np.flatnonzero(np.logical_and.reduce(once))
    rows = []
    for target, shown in zip(releases, private.shown, strict=True):
        where = np.zeros(private.size, dtype=np.int64)
        where[shown] = np.arange(shown.size)
        rows.append(target.graph.row_of[where[combination]].astype(np.int64))
    together, of = np.unique(np.stack(rows, axis=1), axis=0, return_inverse=True)
    people, person = fitting_all(releases, together)
    alone = [target.found.matches().rows[row] for target, row in zip(releases, rows, strict=True)]
    of = of.reshape(-1)
    return Linked(combination, people[of], person[of], np.stack(alone))


def fitting_all(releases: Sequence[Target], rows: Ints) -> tuple[Ints, Ints]:
    """How many people can be behind all of some rows (m, r), one of each release; who, if it is only one.

    The release whose row fewest people fit names them, the others are asked about each.
    """
    lists = [people_of(target) for target in releases]
    wide = np.stack([np.diff(starts)[rows[:, r]] for r, (starts, _) in enumerate(lists)])
    people, person = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), -1, dtype=np.int64)
    fewest = wide.argmin(axis=0)
    for r, (starts, members) in enumerate(lists):
        mine = np.flatnonzero(fewest == r)
        for start, stop in chunks(wide[r][mine]):
            here = mine[start:stop]
            who = members[runs(starts[rows[here, r]], wide[r][here])]
            owner = np.repeat(here, wide[r][here])
            for other, target in enumerate(releases):
                if other != r:
                    edge = target.graph.edge(target.graph.record_of[who], rows[owner, other])
                    fits = np.append(target.found.effective, False)[edge]  # -1 is no edge
                    who, owner = who[fits], owner[fits]
            people += np.bincount(owner, minlength=len(rows))
            person[owner] = who
    return people, np.where(people == 1, person, -1)


def people_of(target: Target) -> tuple[Ints, Ints]:
    """For each distinct row the records that can be behind it: where they start, and the records."""
    graph = target.graph
    edges = np.flatnonzero(target.found.effective & graph.real)
    edges = edges[np.argsort(graph.indices[edges], kind="stable")]
    tails, heads = graph.tails[edges].astype(np.int64), graph.indices[edges]
    members = np.argsort(graph.record_of, kind="stable")
    ends = np.concatenate([[0], np.cumsum(graph.record_weight)])
    counts = np.bincount(heads, graph.record_weight[tails], graph.published).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return starts, members[runs(ends[tails], graph.record_weight[tails])]


def chunks(work: Ints) -> Iterator[tuple[int, int]]:
    """Parts of a list that are about `AT_ONCE` work each."""
    part = np.cumsum(work) // AT_ONCE
    cuts = np.flatnonzero(np.diff(part)) + 1
    ends = [0, *cuts.tolist(), work.size]
    return ((a, b) for a, b in pairwise(ends) if a < b)
