"""From regions to published texts and the manifest that goes with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from incrowd import __version__
from incrowd.errors import PolicyError
from incrowd.flow import Assignment, Attribute, Cells, Microdata, Regions, Table, TextColumn
from incrowd.schema import ESCAPED, EVERYTHING, FORMAT_VERSION, MISSING, Claim, Role, Schema, Shape

_ESCAPES = {ord(sign): "\\" + sign for sign in ESCAPED}


def escaped(text: str) -> str:
    r"""A value or label as it stands in a cell.

    Examples
    --------
    >>> print(escaped("a|b"), escaped("missing"))
    a\|b \missing
    """
    return "\\" + text if text == MISSING else text.translate(_ESCAPES)


def cell_texts(attribute: Attribute, cells: Cells) -> tuple[str, ...]:
    """The text of each distinct cell of a column."""
    if attribute.shape is Shape.RANGE:
        return tuple(_range_text(attribute, cells, i) for i in range(len(cells)))
    if attribute.shape is Shape.TREE:
        return tuple(_tree_text(attribute, cells, i) for i in range(len(cells)))
    return tuple(_set_text(attribute, cells, i) for i in range(len(cells)))


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


def _set_text(attribute: Attribute, cells: Cells, i: int) -> str:
    if cells.sets is None:
        raise ValueError("a set-shaped column needs its sets")
    codes = cells.sets.of(i)
    if codes.size == len(attribute) > 1:
        return EVERYTHING
    real = sorted(escaped(attribute.texts[code]) for code in codes.tolist() if code != attribute.missing)
    members = [MISSING, *real] if attribute.missing in codes else real
    return members[0] if len(members) == 1 else "{" + "|".join(members) + "}"


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


def manifest(
    schema: Schema,
    published: Table,
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
                **({"mean": True} if column.mean else {}),
            }
            for column in schema.published
        ],
        "rows": {"published": len(published), "suppressed": 0},
        "missing": MISSING,
    }
