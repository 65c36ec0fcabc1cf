"""From regions to published texts and the manifest that goes with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from incrowd import __version__
from incrowd.celltext import escaped
from incrowd.errors import PolicyError
from incrowd.flow import Assignment, Attribute, Cells, Microdata, Regions, Table, TextColumn
from incrowd.schema import EVERYTHING, FORMAT_VERSION, MISSING, Claim, Role, Schema, Shape


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
    """Sets with their members in the order of their texts, missing first: the order tells nothing."""
    if cells.sets is None:
        raise ValueError("a set-shaped column needs its sets")
    words = [MISSING if code == attribute.missing else escaped(x) for code, x in enumerate(attribute.texts)]
    order = sorted(range(len(words)), key=lambda code: (code != attribute.missing, words[code]))
    rank = np.empty(len(words), np.int64)
    rank[order] = np.arange(len(words))
    in_order = [words[code] for code in order]
    owner = np.repeat(np.arange(len(cells)), np.diff(cells.sets.starts))
    members = np.sort(owner * len(words) + rank[cells.sets.codes]) % len(words)
    ends = pairwise(cells.sets.starts.tolist())
    return tuple(_set_text(members[a:b].tolist(), in_order) for a, b in ends)


def _set_text(members: list[int], words: list[str]) -> str:
    if len(members) == 1:
        return words[members[0]]
    return EVERYTHING if len(members) == len(words) else "{" + "|".join([words[i] for i in members]) + "}"


def published_table(
    table: Table, schema: Schema, data: Microdata, regions: Regions, assignment: Assignment
) -> Table:
    """The rows of the release: regions in their order, private parts as they are behind them."""
    region = regions.of[assignment.region]
    place = {attribute.name: j for j, attribute in enumerate(data.attributes)}
    names: list[str] = []
    columns: list[TextColumn] = []
    for column in schema.published:
        names.append(column.name)
        if column.role is Role.QUASI:
            j = place[column.name]
            texts = cell_texts(data.attributes[j], regions.cells[j])
            columns.append(TextColumn(regions.cell[region, j], texts))
        else:
            columns.append(table.column(column.name).take(assignment.private))
        if column.mean:
            names.append(mean_name(column.name))
            columns.append(_coded(regions.means[column.name], region))
    clash = sorted(name for name in set(names) if names.count(name) > 1)
    if clash:
        raise PolicyError(f"{clash[0]} is the name of a published mean and of a column; rename the column")
    return Table(tuple(names), tuple(columns))


def mean_name(name: str) -> str:
    """The column that holds the class mean of another."""
    return f"{name}_mean"


def _coded(texts: Sequence[str], region: np.ndarray[Any, np.dtype[np.int32]]) -> TextColumn:
    distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    codes = np.array([distinct[text] for text in texts], np.int32)
    return TextColumn(codes[region], tuple(distinct))


def domain_of(attribute: Attribute, cells: Cells) -> dict[str, Any]:
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
    named = [codes for codes in map(sets.of, range(len(sets))) if not codes.size == len(attribute) > 1]
    codes = np.unique(np.concatenate(named)) if named else np.zeros(0, np.int32)
    return {"values": sorted(attribute.texts[code] for code in codes.tolist() if code != attribute.missing)}


def manifest(
    schema: Schema,
    published: Table,
    domains: Mapping[str, Any],
    claims: Sequence[Claim],
    method: Mapping[str, Any],
    accepted: Sequence[str],
) -> dict[str, Any]:
    """What the release says about itself; `files` is added when they are written.

    Nothing in it is not already public: domains are read off the published cells, not off the input.
    """
    return {
        "format": "incrowd-release",
        "version": FORMAT_VERSION,
        "tool": f"incrowd {__version__}",
        "method": dict(method),
        "claims": [claim.as_dict() for claim in claims],
        "accepted": sorted(accepted),
        "columns": [
            {
                "name": column.name,
                "role": str(column.role),
                "kind": str(column.kind),
                **({"shape": str(column.shape)} if column.role is Role.QUASI else {}),
                **({"domain": domains[column.name]} if column.role is Role.QUASI else {}),
                **({"mean": True} if column.mean else {}),
            }
            for column in schema.published
        ],
        "rows": {"published": len(published), "suppressed": 0},
        "missing": MISSING,
    }
