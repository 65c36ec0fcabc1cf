"""Hierarchies as files in ARX's form: what one lacks, and the texts that moving values or levels makes.

A question changes nothing: it answers with the text of a file, which the server writes under a new name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.errors import HierarchyError, InputError
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.builders import Rows, absent_values, levels_text, read_levels
from incrowd.hierarchy.tree import MOST_LEVELS
from incrowd.policy.columns import read_as
from incrowd.schema import EVERYTHING
from incrowd.studio.questions.hierarchies import Of, labels_at, said_of, schema_column, tree_with_groups
from incrowd.studio.questions.open_table import OpenTable, policy_from

SHOWN_ABSENT = 12


def coverage(opened: OpenTable, of: Of, file: str) -> dict[str, Any]:
    """How a file fits a column: which values it lacks, and how many leaves the table does not have."""
    absent, present, rows = _compared(opened, of, file)
    return {
        "file": Path(file).name,
        "absent": len(absent),
        "distinct": len(present),
        "examples": absent[:SHOWN_ABSENT],
        "leaves": len(rows),
        "unused": len(rows) - (len(present) - len(absent)),
        "levels": len(rows[0]) - 1,
    }


def _compared(opened: OpenTable, of: Of, file: str) -> tuple[list[str], list[str], Rows]:
    policy, column = policy_from(of["text"], of["folder"]), of["column"]
    said = said_of(policy, column)
    texts = opened.table.column(column)
    met = (texts.texts[place] for place in np.flatnonzero(texts.counts).tolist())
    values = [text for text in met if text is not None and text not in policy.missing]
    how = read_as(said, values, [], column)
    rows = Hierarchy.from_rows(read_levels(Path(of["folder"]) / file), column).rows
    absent = absent_values(rows, values, column, how.kind, how.format)
    return list(dict.fromkeys(absent)), values, rows


def completed(opened: OpenTable, of: Of, file: str) -> str:
    """The file with a line for each value that it lacks, which stays itself below everything."""
    absent, _, rows = _compared(opened, of, file)
    above = len(rows[0]) - 1
    return _checked([*rows, *(((value,) * above + (rows[0][-1],)) for value in absent)], of["column"])


def exported(opened: OpenTable, of: Of) -> str:
    """The hierarchy of a column as the release would have it, as a file."""
    policy, column = policy_from(of["text"], of["folder"]), of["column"]
    rows = schema_column(opened, policy, column, said_of(policy, column)).levels
    if not rows:
        raise HierarchyError(f"{column} has no hierarchy to export; choose one first")
    return levels_text(rows)


def moved(opened: OpenTable, of: Of, level: int, items: Sequence[int], to: str) -> str:
    """The hierarchy with some labels of the level below in another group, which may be a new one."""
    rows = _rows(opened, of)
    _check_level(rows, level)
    _check_label(to)
    names = labels_at(rows, level - 1)
    chosen = {names[number] for number in items if 0 <= number < len(names)}
    if not chosen:
        raise InputError("nothing is ticked; tick the values to move, then name their group")
    first = next(row for row in rows if row[level - 1] in chosen)
    there = next((row for row in rows if row[level] == to), None)
    path = there[level:] if there is not None else (to, *first[level + 1 :])
    return _checked(
        [(*row[:level], *path) if row[level - 1] in chosen else row for row in rows], of["column"]
    )


def renamed(opened: OpenTable, of: Of, level: int, group: str, to: str) -> str:
    """The hierarchy with another name of a group; the name of another group joins both."""
    rows = _rows(opened, of)
    _check_level(rows, level)
    names = labels_at(rows, level)
    if group not in names:
        raise InputError("this group is not there any more; load the page again")
    items = [n for n, name in enumerate(labels_at(rows, level - 1)) if _above(rows, level, name) == group]
    return moved(opened, of, level, items, to)


def _above(rows: Rows, level: int, label: str) -> str:
    return next(row[level] for row in rows if row[level - 1] == label)


def level_added(opened: OpenTable, of: Of, level: int) -> str:
    """The hierarchy with one more level above `level`, on which every group is still by itself."""
    rows = _rows(opened, of)
    _check_level(rows, level)
    if len(rows[0]) >= MOST_LEVELS:
        raise HierarchyError(f"a hierarchy has at most {MOST_LEVELS} levels")
    return _checked([(*row[: level + 1], row[level], *row[level + 1 :]) for row in rows], of["column"])


def level_removed(opened: OpenTable, of: Of, level: int) -> str:
    """The hierarchy without a level."""
    rows = _rows(opened, of)
    _check_level(rows, level)
    if len(rows[0]) <= 3:
        raise HierarchyError("this is the only level of groups; to have none, choose no hierarchy")
    return _checked([(*row[:level], *row[level + 1 :]) for row in rows], of["column"])


def _rows(opened: OpenTable, of: Of) -> Rows:
    return tree_with_groups(opened, of)[1]


def _check_level(rows: Rows, level: int) -> None:
    if not 1 <= level <= len(rows[0]) - 2:
        raise InputError("this level is not there any more; load the page again")


def _check_label(label: str) -> None:
    if not label:
        raise InputError("name the group to move them to")
    if label == EVERYTHING:
        raise InputError("* is everything, and not the name of a group; choose another name")


def _checked(rows: Sequence[Sequence[str]], column: str) -> str:
    """The text of a file, if the rows are a tree."""
    Hierarchy.from_rows(rows, column)
    return levels_text(rows)


QUESTIONS = {
    "hierarchy_coverage": coverage,
    "hierarchy_completed": completed,
    "hierarchy_exported": exported,
    "hierarchy_moved": moved,
    "hierarchy_renamed": renamed,
    "hierarchy_level_added": level_added,
    "hierarchy_level_removed": level_removed,
}
