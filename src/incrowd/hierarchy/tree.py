"""Generalization hierarchies: trees over a column's values, and their files in ARX's form.

Leaves are numbered depth first. So every node is an interval of leaf codes, and the smallest node that covers
a set of leaves depends only on the smallest and the largest of them: ranges and trees share one code path.
"""

from __future__ import annotations

import csv
import io
import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import HierarchyError
from incrowd.schema import EVERYTHING

Rows = tuple[tuple[str, ...], ...]

MOST_LEVELS = 32
MOST_BYTES = 64 * 2**20
LONGEST_LABEL = 2**16  # characters; the csv module's own limit belongs to the whole process
SEPARATORS = (";", ",")

_QUOTED = re.compile('"[^"]*"')
_FIRST_ROW = re.compile(r'(?:"[^"]*"|[^"\r\n])*')  # which may go on over line breaks inside quotes
_NEEDS_QUOTES = re.compile('[;,"\r\n\ufeff]')


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """A tree of labels. Node 0 is the root; node v covers the leaves ``low[v]..high[v]``.

    Nodes are numbered so that a parent comes before its children; ``parent[0]`` is 0. ``leaf_node[c]``
    is the node of leaf c. ``level[v]`` is how far v lies above the leaves in the written table (0 for a
    leaf). ``height`` is the number of levels above the leaves. Build it with `from_rows`.
    """

    leaves: tuple[str, ...]
    labels: tuple[str, ...]
    parent: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    level: NDArray[np.int32]
    leaf_node: NDArray[np.int32]
    height: int
    rows: Rows

    def __repr__(self) -> str:
        return f"Hierarchy({len(self.leaves)} leaves, {self.height} levels)"

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[str]], column: str = "") -> Hierarchy:
        """Build from rows (leaf, level 1, …, top): one row for each leaf, all of one length.

        A last column that does not hold one label everywhere gets a root ``*`` above it. A label may
        stand at several levels of a row if it means the same leaves there. One that means different
        leaves at different levels (as in ICD codes, where 250 is a code and a category) is told apart by
        its level: ``250 (level 1)``; only leaves and the root ``*`` keep their names. Leaves keep the order
        in which they and their ancestors are first met.

        Examples
        --------
        >>> tree = Hierarchy.from_rows([("F", "*"), ("M", "*")])
        >>> tree.leaves, tree.labels[tree.covering(0, 1)]
        (('F', 'M'), '*')
        """
        where = f"the hierarchy of {column}" if column else "the hierarchy"
        return _grow(_checked_rows(rows, where), where)

    def covering(self, low: int, high: int) -> int:
        """The smallest node over leaves `low` to `high`."""
        node = int(self.leaf_node[low])
        while self.high[node] < high:
            node = int(self.parent[node])
        return node

    def coverings(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int32]:
        """The smallest node over leaves low[i] to high[i], for each i."""
        node = self.leaf_node[low]
        while True:
            short = self.high[node] < high
            if not short.any():
                return node
            node = np.where(short, self.parent[node], node)

    def sizes(self) -> NDArray[np.int32]:
        """How many leaves each node covers."""
        return self.high - self.low + 1

    def under(self) -> dict[str, range]:
        """The leaves under each label, as codes."""
        ends = zip(self.labels, self.low.tolist(), self.high.tolist(), strict=True)
        return {label: range(low, high + 1) for label, low, high in ends}


def _checked_rows(rows: Iterable[Sequence[str]], where: str) -> list[tuple[str, ...]]:
    table = [tuple(row) for row in rows]
    if not table:
        raise HierarchyError(f"{where} has no rows")
    widths = {len(row) for row in table}
    if len(widths) > 1:
        line = next(i for i, row in enumerate(table, 1) if len(row) != len(table[0]))
        raise HierarchyError(f"{where} has rows of different length, first in line {line}")
    if len(table[0]) > MOST_LEVELS:
        raise HierarchyError(f"{where} has {len(table[0])} levels; at most {MOST_LEVELS} are read")
    seen: set[str] = set()
    for line, row in enumerate(table, 1):
        if row[0] in seen:
            raise HierarchyError(f"{where} names a leaf twice, in line {line}")
        seen.add(row[0])
    nameless = [line for line, row in enumerate(table, 1) if row[0] and "" in row]
    if nameless:
        raise HierarchyError(f"{where} has an empty label above a leaf with a name, in line {nameless[0]}")
    if len({row[-1] for row in table}) > 1 or len(table[0]) == 1:
        table = [(*row, EVERYTHING) for row in table]
    return _told_apart(table, where)


def _told_apart(table: list[tuple[str, ...]], where: str) -> list[tuple[str, ...]]:
    unclear = _unclear_labels(table)
    if not unclear:
        return table
    top = len(table[0]) - 1
    # A leaf keeps its name. So does a root `*`, since that is how a release writes the whole domain.
    kept = {0, top} if table[0][top] == EVERYTHING and all(row[0] != EVERYTHING for row in table) else {0}
    taken = {label for row in table for label in row}
    if any(f"{label} (level {i})" in taken for label in unclear for i in range(1, top + 1)):
        raise HierarchyError(f"{where} has labels that stay ambiguous even with their level; rename them")
    return [
        tuple(x if x not in unclear or i in kept else f"{x} (level {i})" for i, x in enumerate(row))
        for row in table
    ]


def _unclear_labels(table: list[tuple[str, ...]]) -> set[str]:
    """Labels that mean different leaves at different levels."""
    meaning: dict[tuple[int, str], list[int]] = {}
    for line, row in enumerate(table):
        for level, label in enumerate(row):
            meaning.setdefault((level, label), []).append(line)
    first: dict[str, list[int]] = {}
    return {label for (_, label), lines in meaning.items() if first.setdefault(label, lines) != lines}


def _grow(table: list[tuple[str, ...]], where: str) -> Hierarchy:
    """Number nodes and leaves by one walk over the rows in the order of their ancestors."""
    height = len(table[0]) - 1
    met: dict[tuple[int, str], int] = {}  # (level, label) -> rank of first meeting, for a stable order
    for row in table:
        for key in enumerate(row):
            met.setdefault(key, len(met))
    above: dict[tuple[int, str], str] = {}
    for line, row in enumerate(table, 1):
        for at in range(height):
            if above.setdefault((at, row[at]), row[at + 1]) != row[at + 1]:
                raise HierarchyError(
                    f"{where} does not nest: line {line} puts a label of level {at} under a second parent"
                )
    ordered = sorted(table, key=lambda row: [met[key] for key in reversed(list(enumerate(row)))])
    labels, nodes, leaf_node = _nodes(ordered)
    parent, low, high, level = np.array(nodes, np.int32).T.copy()
    meaning: dict[str, tuple[int, int]] = {}
    for label, (_, first, last, _) in zip(labels, nodes, strict=True):
        if meaning.setdefault(label, (first, last)) != (first, last):
            raise HierarchyError(
                f"{where} uses one label for two different sets of leaves; rename one of them"
            )
    return Hierarchy(
        leaves=tuple(row[0] for row in ordered),
        labels=tuple(labels),
        parent=parent,
        low=low,
        high=high,
        level=level,
        leaf_node=np.array(leaf_node, np.int32),
        height=height,
        rows=tuple(table),
    )


def _nodes(rows: list[tuple[str, ...]]) -> tuple[list[str], list[list[int]], list[int]]:
    """Rows in depth-first order -> label, and [parent, low, high, level], of each node; node of each leaf."""
    height = len(rows[0]) - 1
    labels: list[str] = []
    nodes: list[list[int]] = []
    leaf_node: list[int] = []
    path: list[int] = []  # open nodes from the root down
    for code, row in enumerate(rows):
        shared = next((i for i, node in enumerate(path) if labels[node] != row[height - i]), len(path))
        del path[shared:]
        for level in range(height - shared, -1, -1):
            labels.append(row[level])
            nodes.append([path[-1] if path else 0, code, code, level])
            path.append(len(nodes) - 1)
        for node in path:
            nodes[node][2] = code
        leaf_node.append(path[-1])
    return labels, nodes, leaf_node


def read_levels(path: str | Path) -> Rows:
    """Read a hierarchy file: UTF-8, no header, one line ``leaf;level 1;…;*`` for each leaf.

    The separator is a semicolon if the first line has one outside quotes, else a comma. What is read is
    a tree, or a `HierarchyError` names the file and the line.
    """
    path = Path(path)
    text = _file_text(path)
    first = _FIRST_ROW.match(text)
    unquoted = _QUOTED.sub("", first[0] if first else "")
    rows = _parsed(text, ";" if ";" in unquoted else ",", path.name)
    Hierarchy.from_rows(rows, path.name)
    return rows


def write_levels(path: str | Path, rows: Iterable[Sequence[str]], separator: str = ";") -> None:
    """Write rows so that `read_levels` gives them back."""
    if separator not in SEPARATORS:
        raise HierarchyError(f"{Path(path).name}: a hierarchy file is separated by ; or , and nothing else")
    Path(path).write_text(levels_text(rows, separator), encoding="utf-8", newline="")


def levels_text(rows: Iterable[Sequence[str]], separator: str = ";") -> str:
    r"""Rows as the text of a hierarchy file.

    Examples
    --------
    >>> levels_text([("Paris", "France", "*"), ("Rome; old", "Italy", "*")])
    'Paris;France;*\n"Rome; old";Italy;*\n'
    """
    lines = (separator.join(_quoted(label, len(row)) for label in row) for row in rows)
    return "".join(f"{line}\n" for line in lines)


def _quoted(label: str, width: int) -> str:
    if _NEEDS_QUOTES.search(label) or (not label and width == 1):
        return '"' + label.replace('"', '""') + '"'
    return label


def _file_text(path: Path) -> str:
    content = _file_bytes(path)
    try:
        text = content.decode("utf-8-sig")
        wrong = content.find(b"\0")
    except UnicodeDecodeError as error:
        wrong = error.start
    if wrong >= 0:
        line = content.count(b"\n", 0, wrong) + 1
        raise HierarchyError(f"{path.name}, line {line}: not UTF-8 text; save the file in that encoding")
    return text


def _file_bytes(path: Path) -> bytes:
    try:
        # Without waiting: to open a pipe for reading would hang until somebody writes into it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        raise HierarchyError(f"the hierarchy file {path.name} does not exist or may not be read") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise HierarchyError(f"the hierarchy file {path.name} is not a regular file")
    with open(descriptor, "rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise HierarchyError(f"{path.name} is larger than {MOST_BYTES // 2**20} MiB; hierarchies are small")
    return content


def _parsed(text: str, separator: str, name: str) -> Rows:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[tuple[str, ...]] = []
    blank = 0
    try:
        for row in reader:
            if blank and row:
                raise HierarchyError(f"{name}, line {blank}: an empty line between others; remove it")
            if any(len(label) > LONGEST_LABEL for label in row):
                raise HierarchyError(
                    f"{name}, line {reader.line_num}: a label of more than {LONGEST_LABEL} characters"
                )
            if row:
                rows.append(tuple(row))
            else:
                blank = blank or reader.line_num
    except csv.Error:
        raise HierarchyError(
            f"{name}, line {reader.line_num}: a quote is not closed, or stands inside a label"
        ) from None
    return tuple(rows)
