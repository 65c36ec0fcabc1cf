"""The hierarchies that go with a release, so that its readers know which label lies under which."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.cells import read_cell, unescaped
from incrowd.flow import Attribute, Cells, Table
from incrowd.hierarchy import Hierarchy
from incrowd.measures.totals import FILE as TOTALS_FILE
from incrowd.measures.totals import TOTALS
from incrowd.release.hierarchies import FILE, HEADER, HIERARCHIES, NO, YES
from incrowd.schema import EVERYTHING, Role, Schema

Line = tuple[str, str, str, str]


def hierarchies(
    schema: Schema, attributes: Iterable[Attribute], columns: Iterable[Cells | None], totals: Table | None
) -> Table:
    """Labels that cells of columns and totals name and those above them, of public hierarchies all."""
    public, lines = _public(schema), list[Line]()
    for attribute, cells in zip(attributes, columns, strict=True):
        tree = attribute.tree
        if tree is None or cells is None or cells.node is None:
            continue
        if attribute.name in public:
            nodes = np.arange(len(tree.labels))
        else:
            stated = [] if totals is None else _stated(totals, attribute.name)
            place = {label: node for node, label in enumerate(tree.labels)}
            nodes = np.unique([*(node for node in cells.node.tolist() if node > 0), *map(place.get, stated)])
        lines += _lines(attribute, tree, nodes.astype(np.int64))
    return Table.of({name: [line[place] for line in lines] for place, name in enumerate(HEADER)})


def files_beside(schema: Schema, totals: bool, hierarchies: Table | None) -> dict[str, Any]:
    """What the manifest says of totals and hierarchies, where they are published."""
    found: dict[str, Any] = {TOTALS: {"file": TOTALS_FILE}} if totals else {}
    if hierarchies is not None:
        found[HIERARCHIES] = {"file": FILE, "whole": _public(schema)}
    return found


def _public(schema: Schema) -> list[str]:
    return [column.name for column in schema.having(Role.QUASI) if column.public]


def _stated(totals: Table, name: str) -> list[str]:
    cells = [read_cell(value or "") for column, value, _ in totals if column == name]
    return [unescaped(atom) for cell in cells for atom in cell.atoms]


def _lines(attribute: Attribute, tree: Hierarchy, nodes: NDArray[np.int64]) -> list[Line]:
    """One line for each label, sorted. Labels that follow each other up the tree may be the same one."""
    found: dict[str, tuple[str, str]] = {}
    leaves = set(tree.leaves)
    missing = tree.leaf_node[attribute.missing] if attribute.missing_in_tree else 0  # a cell says missing
    for node in nodes[nodes != missing].tolist():
        while node and tree.labels[node] not in found:
            label, above = tree.labels[node], int(tree.parent[node])
            while above and tree.labels[above] == label:
                above = int(tree.parent[above])
            found[label] = (tree.labels[above] if above else EVERYTHING, YES if label in leaves else NO)
            node = above
    return [(attribute.name, label, *found[label]) for label in sorted(found)]
