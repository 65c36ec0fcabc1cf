"""From regions to published texts and the manifest that goes with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd import __version__
from incrowd.assign import Entropy, shuffled
from incrowd.errors import PolicyError
from incrowd.flow import (
    Assignment,
    Attribute,
    Cells,
    Codes,
    Microdata,
    Regions,
    Table,
    TextColumn,
    distinct_rows,
)
from incrowd.long_work import side_by_side
from incrowd.schema import EVERYTHING, FORMAT_VERSION, MISSING, Claim, Column, Role, Schema, Shape
from incrowd.values import escaped

GROUP, COUNT = "group", "count"  # columns of a release with buckets
PEOPLE, PRIVATE = "people", "private"  # columns of a joined release that says how many people are private


def cell_texts(attribute: Attribute, cells: Cells) -> tuple[str, ...]:
    """The text of each distinct cell of a column."""
    if attribute.shape is Shape.RANGE:
        return tuple(_range_text(attribute, cells, i) for i in range(len(cells)))
    if attribute.shape is Shape.TREE:
        return tuple(_tree_text(attribute, cells, i) for i in range(len(cells)))
    return _set_texts(attribute, cells)


def _range_text(attribute: Attribute, cells: Cells, i: int) -> str:
    low, high = int(cells.low[i]), int(cells.high[i])
    if low < 0:
        return MISSING
    interval = attribute.texts[low] if low == high else f"[{attribute.texts[low]},{attribute.texts[high]}]"
    return f"{{{MISSING}|{interval}}}" if cells.missing[i] else interval


def _tree_text(attribute: Attribute, cells: Cells, i: int) -> str:
    tree, node = attribute.tree, -1 if cells.node is None else int(cells.node[i])
    if tree is None or node < 0:
        return MISSING
    if node == 0:
        return EVERYTHING
    if attribute.missing_in_tree and tree.low[node] == tree.high[node] == attribute.missing:
        return MISSING
    label = escaped(tree.labels[node])
    return f"{{{MISSING}|{label}}}" if cells.missing[i] else label


def _set_texts(attribute: Attribute, cells: Cells) -> tuple[str, ...]:
    """Sets with their members in the order of their texts, missing first: the order discloses nothing."""
    if cells.sets is None:
        raise ValueError("a set-shaped column needs its sets")
    words = [MISSING if code == attribute.missing else escaped(x) for code, x in enumerate(attribute.texts)]
    order = sorted(range(len(words)), key=lambda code: (code != attribute.missing, words[code]))
    rank = np.empty(len(words), np.int64)
    rank[order] = np.arange(len(words))
    in_order = [words[code] for code in order]
    owner = np.repeat(np.arange(len(cells)), np.diff(cells.sets.starts))
    members = np.sort(owner * len(words) + rank[cells.sets.codes]) % len(words)
    named = [in_order[place] for place in members.tolist()]
    ends = pairwise(cells.sets.starts.tolist())
    return tuple(_set_text(named[a:b], len(words)) for a, b in ends)


def _set_text(members: list[str], values: int) -> str:
    if len(members) == 1:
        return members[0]
    return EVERYTHING if len(members) == values else "{" + "|".join(members) + "}"


def published_table(
    table: Table,
    schema: Schema,
    data: Microdata,
    regions: Regions,
    assignment: Assignment,
    buckets: Buckets | None = None,
    counts: PrivateCounts | None = None,
) -> Table:
    """The rows of the release: regions in their order, private parts as they are behind them.

    With buckets, a row has the number of its bucket instead of sensitive values; with counts, how many people
    its class has and how many of them are private.
    """
    region = regions.of[assignment.region]
    place = {attribute.name: j for j, attribute in enumerate(data.attributes)}

    def shown(column: Column) -> TextColumn:
        if column.role is not Role.QUASI:
            return table.column(column.name).take(assignment.private)
        j = place[column.name]
        texts = cell_texts(data.attributes[j], regions.cells[j])
        return TextColumn(regions.cell[region, j], texts)

    published = [c for c in schema.published if buckets is None or c.role is not Role.SENSITIVE]
    found = side_by_side([partial(shown, column) for column in published], len(region))
    names: list[str] = []
    columns: list[TextColumn] = []
    for column, own in zip(published, found, strict=True):
        names.append(column.name)
        columns.append(own)
        if column.mean:
            names.append(mean_name(column.name))
            columns.append(_coded(regions.means[column.name]).take(region))
    if buckets is not None:
        names.append(GROUP)
        columns.append(buckets.of_row.take(assignment.private))
    if counts is not None:
        _check_unused((PEOPLE, PRIVATE), schema)
        names += [PEOPLE, PRIVATE]
        columns += [column.take(assignment.private) for column in (counts.people, counts.private)]
    clash = sorted(name for name in set(names) if names.count(name) > 1)
    if clash:
        raise PolicyError(f"{clash[0]} is the name of a published mean and of a column; rename the column")
    return Table(tuple(names), tuple(columns))


@dataclass(frozen=True, eq=False)
class Buckets:
    """Sensitive values that are published in buckets, beside the rows.

    Row and table meet in the number of a group. ``of_row`` is that number for each row, in the order in which
    they were made, ``table`` has a line for each value of a group, and ``first`` a record behind each line.
    """

    of_row: TextColumn
    table: Table
    first: NDArray[np.int64]

    @property
    def groups(self) -> int:
        return len(self.of_row.texts)


@dataclass(frozen=True, eq=False)
class PrivateCounts:
    """For each row, in the order in which they were made, how many people its class has and are private.

    In `certain` classes everybody is.
    """

    people: TextColumn
    private: TextColumn
    certain: int

    @classmethod
    def of(cls, labels: Codes, own: NDArray[np.bool_]) -> PrivateCounts:
        people, private = np.bincount(labels), np.bincount(labels[own], minlength=int(labels.max()) + 1)
        shown = [_coded([*map(str, counts.tolist())]).take(labels) for counts in (people, private)]
        return cls(shown[0], shown[1], int((people == private).sum()))


def bucketed_values(
    table: Table, schema: Schema, groups: Codes, entropy: Entropy, rows: Codes | None = None
) -> Buckets:
    """The table of sensitive values of groups of records, whatever rows say of them.

    Groups are numbered 1, 2, … at random. Lines follow the numbers, and inside a group the texts: their order
    says nothing that they do not say themselves.

    `groups` (n,) are those of the records, from 0 without gaps, `rows` those of the rows, where these are of
    other people too.
    """
    names = [column.name for column in schema.having(Role.SENSITIVE)]
    _check_free(names, schema)
    size = int(groups.max()) + 1
    number = shuffled(size, entropy)  # of each group, counted from 0
    texts = tuple(str(i + 1) for i in range(size))
    ordered = [_by_text(table.column(name)) for name in names]
    lines = [TextColumn(number[groups].astype(np.int32), texts), *ordered]
    first, which = distinct_rows([c.codes for c in lines], [len(c.texts) for c in lines], groups.size)
    counts = np.bincount(which, minlength=first.size)
    columns = [*(line.take(first) for line in lines), _coded([str(c) for c in counts.tolist()])]
    of_row = TextColumn(number[groups if rows is None else rows].astype(np.int32), texts)
    return Buckets(of_row, Table((GROUP, *names, COUNT), tuple(columns)), first)


def _check_unused(added: Sequence[str], schema: Schema) -> None:
    taken = [column.name for column in schema.having(Role.QUASI) if column.name.casefold() in added]
    if taken:
        raise PolicyError(
            f"{taken[0]}: where the release says how many people of a class are private, this is the name of "
            "a column that is added; rename the column"
        )


def _check_free(names: Sequence[str], schema: Schema) -> None:
    taken = [column.name for column in schema.published if column.name.casefold() == GROUP]
    taken += [name for name in names if name.casefold() == COUNT]  # Parquet readers fold case
    if taken:
        raise PolicyError(
            f"{taken[0]}: where sensitive values are published in buckets, this is the name of a "
            "column that is added; rename the column"
        )


def _by_text(column: TextColumn) -> TextColumn:
    """The same with codes in the order of texts; NULL and the empty text are one, as in a CSV file."""
    texts = sorted({text or "" for text in column.texts})
    place = {text: code for code, text in enumerate(texts)}
    codes = np.array([place[text or ""] for text in column.texts], np.int32)[column.codes]
    shown = (None if not text and None in column.texts else text for text in texts)
    return TextColumn(codes, tuple(shown))


def mean_name(name: str) -> str:
    """The column that holds the class mean of another."""
    return f"{name}_mean"


def _coded(texts: Sequence[str]) -> TextColumn:
    distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return TextColumn(np.array([distinct[text] for text in texts], np.int32), tuple(distinct))


def domains_of(attributes: Sequence[Attribute], regions: Regions) -> dict[str, dict[str, Any]]:
    """What the manifest says of the domain of each quasi-identifier."""
    pairs = zip(attributes, regions.cells, strict=True)
    return {attribute.name: _domain_of(attribute, cells) for attribute, cells in pairs}


def _domain_of(attribute: Attribute, cells: Cells) -> dict[str, Any]:
    """What the cells of a column name of its domain: nothing that is not in the rows themselves."""
    if attribute.shape is Shape.RANGE:
        real = cells.low >= 0
        if not real.any():
            return {}
        return {
            "low": attribute.texts[int(cells.low[real].min())],
            "high": attribute.texts[int(cells.high.max())],
        }
    if attribute.shape is Shape.TREE and attribute.tree is not None and cells.node is not None:
        tree = attribute.tree
        leaf = attribute.missing if attribute.missing_in_tree else -1
        missing = int(tree.leaf_node[leaf]) if leaf >= 0 else -1
        nodes = {node for node in cells.node.tolist() if node > 0 and node != missing}
        return {"labels": sorted({tree.labels[node] for node in nodes})}
    sets = cells.sets
    if sets is None:
        raise ValueError("a set-shaped column needs its sets")
    size = np.diff(sets.starts)
    named = np.repeat((size != len(attribute)) | (size == 1), size)  # a set of everything names nothing
    codes = np.unique(sets.codes[named])
    return {"values": sorted(attribute.texts[code] for code in codes.tolist() if code != attribute.missing)}


def manifest(
    schema: Schema,
    published: Table,
    domains: Mapping[str, Any],
    claims: Sequence[Claim],
    method: Mapping[str, Any],
    accepted: Sequence[str],
    buckets: Buckets | None = None,
) -> dict[str, Any]:
    """What the release says about itself; `files`, and the name of one, are added when they are written.

    Nothing in it is not already public: domains are read off the published cells, not off the input.
    """
    return {
        "format": "incrowd-release",
        "version": FORMAT_VERSION,
        "tool": f"incrowd {__version__}",
        "method": dict(method),
        "claims": [claim.to_dict() for claim in claims],
        "accepted": sorted(accepted),
        "columns": [
            {
                "name": column.name,
                "role": str(column.role),
                "kind": str(column.kind),
                **({"shape": str(column.shape)} if column.role is Role.QUASI else {}),
                **({"domain": domains[column.name]} if column.role is Role.QUASI else {}),
                **({"mean": True} if column.mean else {}),
                **({"apart": True} if buckets is not None and column.role is Role.SENSITIVE else {}),
                **({"description": column.description} if column.description else {}),
            }
            for column in schema.published
        ],
        "rows": {"published": len(published), "suppressed": 0},
        "missing": MISSING,
        **({} if buckets is None else {"apart": {"groups": buckets.groups}}),
    }
