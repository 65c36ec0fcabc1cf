"""The file of hierarchies of a release: which label lies under which, as far as cells and totals name them.

Where a policy says that a hierarchy is public, all of it is there. Else only labels that the release names
anyway, and those above them: it discloses nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from incrowd.errors import TableError
from incrowd.flow import Table
from incrowd.schema import EVERYTHING

HIERARCHIES = "hierarchies"  # the key of the manifest that names the file
FILE = "hierarchies.csv"
HEADER = ("column", "label", "above", "leaf")
YES, NO = "yes", "no"


@dataclass(frozen=True)
class PublishedHierarchy:
    """The labels of one column: the one above each, and which are leaves, that is values.

    What is not `whole` lacks labels: under one there may be values that have no name here.
    """

    above: Mapping[str, str]
    leaves: frozenset[str]
    whole: bool

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """Labels that divide all values: leaves, and each other label for the values that have no name."""
        return tuple(label for label in (*self.above, EVERYTHING) if label in self.leaves or not self.whole)

    @cached_property
    def under(self) -> dict[str, list[int]]:
        """The parts that each label stands for."""
        found: dict[str, list[int]] = {label: [] for label in (*self.above, EVERYTHING)}
        for place, label in enumerate(self.parts):
            found[label].append(place)
            while label != EVERYTHING:
                label = self.above[label]
                found[label].append(place)
        return found


def read_hierarchies(table: Table, whole: Collection[str]) -> dict[str, PublishedHierarchy]:
    """The hierarchy of each column; `whole` names those of which nothing is left out."""
    if table.names != HEADER:
        raise TableError(f"{FILE} does not have the columns {', '.join(HEADER)}")
    above: dict[str, dict[str, str]] = {}
    leaves: dict[str, set[str]] = {}
    for column, label, parent, leaf in table:
        if column is None or label is None or parent is None:
            raise TableError(f"{FILE} has a line with an empty cell")
        above.setdefault(column, {})[label] = parent
        leaves.setdefault(column, set()).update([label] if leaf == YES else [])
    for column, labels in above.items():
        if not set(labels.values()) <= {*labels, EVERYTHING} or _turns(labels):
            raise TableError(f"{FILE}: the labels of {column} are no tree")
    return {
        column: PublishedHierarchy(labels, frozenset(leaves[column]), column in whole)
        for column, labels in above.items()
    }


def _turns(above: Mapping[str, str]) -> bool:
    """Does a way up never reach the top?"""
    done = {EVERYTHING}
    for label in above:
        way: list[str] = []
        while label not in done:
            if label in way:
                return True
            way.append(label)
            label = above[label]
        done.update(way)
    return False
